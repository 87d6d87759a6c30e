//! Two threads see whole values where a chip shows whole ones: 2, 4, 8 and 16 bytes that are aligned to their size, by every way to
//! device memory.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use super::device::{buffer, descriptor};
use super::*;
use crate::memory::AllocKind;

/// Bytes of a lane's element.
const STEP: usize = 16;

/// Where the lanes' elements are: one after the other, or the other way round.
#[derive(Clone, Copy, Debug)]
enum Order {
    Up,
    Down,
}

/// One worker's part: a program that it runs again and again on memory that others use.
struct Worker {
    program: Program,
    wave: Wave,
    view: View,
}

impl Worker {
    fn new(code: &[Inst], memory: &Arc<Memory>, fast: bool) -> Self {
        let mut map = BTreeMap::new();
        let mut at = 0;
        for inst in code.iter().copied().chain([inst(Op::s_endpgm, Operand::None, &[imm(0)])]) {
            map.insert(at, Some(inst));
            at += u32::from(inst.size) / 4;
        }
        let program = Program::assemble(&map, &vec![0; at as usize], 0x1000, 0, DEFAULT_MODE, fast);
        let wave = Wave::new(&program);
        Self { program, wave, view: View::new(Arc::clone(memory), Agent::default(), 0..0) }
    }

    fn run(&mut self, set_up: impl Fn(&mut Wave)) -> &Wave {
        self.wave.reset(&self.program);
        self.wave.set_exec(u64::MAX);
        set_up(&mut self.wave);
        // SAFETY: there are no bytes to be valid.
        let scratch = unsafe { Scratch::new(0, 0, 0) };
        let env = Env {
            view: &mut self.view,
            scratch,
            misaligned: Misaligned::default(),
            beyond_lds: crate::BeyondLds::default(),
            sramecc: false,
            start: Instant::now(),
            outside: &Outside::default(),
            seat: crate::units::Seat::FIRST,
        };
        let mut ctx = Ctx { root: &self.program, program: &self.program, lds: &mut [], env };
        assert_eq!(run(&mut self.wave, &mut ctx, 10_000), Stop::End);
        self.wave.settle_all();
        &self.wave
    }
}

/// The ways to device memory: an instruction that loads to a register, or stores from it, the elements at v[0:1], or at v2 from s[8:11].
type Way = fn(load: bool, words: usize, data: Operand) -> Inst;

fn global(load: bool, words: usize, data: Operand) -> Inst {
    let ops = [
        (Op::global_load_dword, Op::global_store_dword),
        (Op::global_load_dwordx2, Op::global_store_dwordx2),
        (Op::global_load_dwordx4, Op::global_store_dwordx4),
    ];
    let (get, put) = ops[words / 2];
    if load {
        inst(get, data, &[v(0), Operand::None, Operand::None])
    } else {
        inst(put, Operand::None, &[v(0), data, Operand::None])
    }
}

fn flat(load: bool, words: usize, data: Operand) -> Inst {
    let ops = [
        (Op::flat_load_dword, Op::flat_store_dword),
        (Op::flat_load_dwordx2, Op::flat_store_dwordx2),
        (Op::flat_load_dwordx4, Op::flat_store_dwordx4),
    ];
    let (get, put) = ops[words / 2];
    if load { inst(get, data, &[v(0)]) } else { inst(put, Operand::None, &[v(0), data]) }
}

fn by_descriptor(load: bool, words: usize, data: Operand) -> Inst {
    let ops = [
        (Op::buffer_load_dword, Op::buffer_store_dword),
        (Op::buffer_load_dwordx2, Op::buffer_store_dwordx2),
        (Op::buffer_load_dwordx4, Op::buffer_store_dwordx4),
    ];
    let (get, put) = ops[words / 2];
    let mods = Mods { offen: true, ..Mods::default() };
    if load { buffer(get, data, v(2), Operand::None, mods) } else { buffer(put, Operand::None, v(2), data, mods) }
}

/// Registers with the addresses of all lanes' elements.
fn addresses(w: &mut Wave, base: u64, order: Order, step: usize) {
    descriptor(w, base, 0, (LANES * STEP) as u32, 0);
    for lane in 0..LANES {
        let place = match order {
            Order::Up => lane,
            Order::Down => LANES - 1 - lane,
        };
        let offset = (place * step) as u64;
        w.row_mut(0)[lane] = (base + offset) as u32;
        w.row_mut(1)[lane] = ((base + offset) >> 32) as u32;
        w.row_mut(2)[lane] = offset as u32;
    }
}

#[test]
fn two_threads_see_whole_values() {
    const LOADS: usize = 8;
    let ways: [(&str, Way); 3] = [("global", global), ("flat", flat), ("buffer", by_descriptor)];
    for (name, way) in ways {
        for words in [1, 2, 4] {
            for order in [Order::Up, Order::Down] {
                for fast in [false, true] {
                    if fast && !cpu::has_avx2() {
                        continue;
                    }
                    let what = format!("{name}, {words} words, {order:?}, AVX2 {fast}");
                    let memory = Arc::new(Memory::new(vec![1 << 20]));
                    let base = memory.alloc((LANES * STEP) as u64, 0, AllocKind::Device).expect("device memory");
                    assert_eq!(base % 16, 0);
                    // Elements of their own size, one after the other, which is also what is moved as one block.
                    let step = 4 * words;
                    // v4 and on has one value, v8 and on another.
                    let stores: Vec<Inst> = (0..8).map(|n| way(false, words, v(4 + 4 * (n % 2)))).collect();
                    let loads: Vec<Inst> = (0..LOADS).map(|n| way(true, words, v(16 + 4 * n as u16))).collect();
                    let over = AtomicBool::new(false);
                    std::thread::scope(|scope| {
                        scope.spawn(|| {
                            let mut writer = Worker::new(&stores, &memory, fast);
                            let mut value = 1_u32;
                            while !over.load(Relaxed) {
                                writer.run(|w| {
                                    addresses(w, base, order, step);
                                    for row in 4..12 {
                                        w.row_mut(row).fill(if row < 8 { value } else { !value });
                                    }
                                });
                                value = value.wrapping_mul(0x9e37_79b1) | 1;
                            }
                        });
                        let mut reader = Worker::new(&loads, &memory, fast);
                        let mut last = [0; LOADS];
                        let mut torn = None;
                        // Until the other thread has been at work for a while.
                        let (mut runs, mut changes, end) = (0, 0, Instant::now() + Duration::from_secs(60));
                        while runs < 200 || changes < 50 && Instant::now() < end {
                            runs += 1;
                            let wave = reader.run(|w| addresses(w, base, order, step));
                            for n in 0..LOADS {
                                let row = |word: usize| wave.row((16 + 4 * n + word) as u16);
                                for lane in 0..LANES {
                                    if (1..words).any(|word| row(word)[lane] != row(0)[lane]) {
                                        torn = Some((lane, [0, 1, 2, 3].map(|word| row(word)[lane])));
                                    }
                                }
                                changes += u32::from(row(0)[0] != last[n]);
                                last[n] = row(0)[0];
                            }
                        }
                        over.store(true, Relaxed);
                        assert_eq!(torn, None, "{what}: lane and words");
                        assert!(changes >= 50, "{what}: the threads hardly met");
                    });
                }
            }
        }
    }
}

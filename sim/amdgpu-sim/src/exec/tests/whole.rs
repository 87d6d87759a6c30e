//! Accesses are not torn between threads where a chip does not tear them: 2, 4, 8 and 16 bytes aligned to their size,
//! with every kind of instruction for device memory. (LDS and scratch belong to one thread: the waves of a workgroup
//! take turns.)

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::device::{buffer, descriptor};
use super::image::{Description, LINE, UINT};
use super::*;
use crate::isa::Image;
use crate::memory::AllocKind;

/// Bytes of a lane's element.
const STEP: usize = 16;

/// The order of the lanes' elements: ascending or descending.
#[derive(Clone, Copy, Debug)]
enum Order {
    Up,
    Down,
}

/// A worker: a program that it runs repeatedly on memory that others use.
struct Worker {
    program: Program,
    wave: Wave,
    view: View,
}

impl Worker {
    fn new(code: &[Inst], memory: &Arc<Memory>, fast: bool) -> Self {
        let mut map = BTreeMap::new();
        let mut at = 0;
        // All set registers must exist, even if the program does not use them.
        let first = inst(Op::v_mov_b32, v(12), &[v(12)]);
        let last = inst(Op::s_endpgm, Operand::None, &[imm(0)]);
        for inst in [first].into_iter().chain(code.iter().copied()).chain([last]) {
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
        // SAFETY: there are no bytes that must be valid.
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

/// A kind of access to device memory: an instruction that loads or stores an element of this size. The address is in
/// v[0:1], in s[12:13] and v3, in v2 relative to s[8:11], or in v12 of the image s[24:31]. `None` if there is no such
/// instruction.
type Way = fn(load: bool, bytes: usize, data: Operand) -> Option<Inst>;

/// The instruction for 1, 2, 4, 8 or 16 bytes.
fn of_width(ops: [(Op, Op); 5], load: bool, bytes: usize) -> Op {
    let (get, put) = ops[bytes.trailing_zeros() as usize];
    if load { get } else { put }
}

fn global_op(load: bool, bytes: usize) -> Op {
    let ops = [
        (Op::global_load_ubyte, Op::global_store_byte),
        (Op::global_load_ushort, Op::global_store_short),
        (Op::global_load_dword, Op::global_store_dword),
        (Op::global_load_dwordx2, Op::global_store_dwordx2),
        (Op::global_load_dwordx4, Op::global_store_dwordx4),
    ];
    of_width(ops, load, bytes)
}

fn global(load: bool, bytes: usize, data: Operand) -> Option<Inst> {
    let op = global_op(load, bytes);
    Some(if load {
        inst(op, data, &[v(0), Operand::None, Operand::None])
    } else {
        inst(op, Operand::None, &[v(0), data, Operand::None])
    })
}

fn global_from_base(load: bool, bytes: usize, data: Operand) -> Option<Inst> {
    let op = global_op(load, bytes);
    Some(if load {
        inst(op, data, &[v(3), Operand::None, s(12)])
    } else {
        inst(op, Operand::None, &[v(3), data, s(12)])
    })
}

fn flat(load: bool, bytes: usize, data: Operand) -> Option<Inst> {
    let ops = [
        (Op::flat_load_ubyte, Op::flat_store_byte),
        (Op::flat_load_ushort, Op::flat_store_short),
        (Op::flat_load_dword, Op::flat_store_dword),
        (Op::flat_load_dwordx2, Op::flat_store_dwordx2),
        (Op::flat_load_dwordx4, Op::flat_store_dwordx4),
    ];
    let op = of_width(ops, load, bytes);
    Some(if load { inst(op, data, &[v(0)]) } else { inst(op, Operand::None, &[v(0), data]) })
}

fn by_descriptor(load: bool, bytes: usize, data: Operand) -> Option<Inst> {
    let ops = [
        (Op::buffer_load_ubyte, Op::buffer_store_byte),
        (Op::buffer_load_ushort, Op::buffer_store_short),
        (Op::buffer_load_dword, Op::buffer_store_dword),
        (Op::buffer_load_dwordx2, Op::buffer_store_dwordx2),
        (Op::buffer_load_dwordx4, Op::buffer_store_dwordx4),
    ];
    Some(at_descriptor(of_width(ops, load, bytes), load, data, 0))
}

/// Elements of whole words, by the format that the instruction names.
fn by_format(load: bool, bytes: usize, data: Operand) -> Option<Inst> {
    let (get, put) = match bytes {
        4 => (Op::tbuffer_load_format_x, Op::tbuffer_store_format_x),
        8 => (Op::tbuffer_load_format_xy, Op::tbuffer_store_format_xy),
        16 => (Op::tbuffer_load_format_xyzw, Op::tbuffer_store_format_xyzw),
        _ => return None,
    };
    let format = words_format(bytes)? | UINT << 4;
    Some(at_descriptor(if load { get } else { put }, load, data, format as u8))
}

fn at_descriptor(op: Op, load: bool, data: Operand, format: u8) -> Inst {
    let mods = Mods { offen: true, format, ..Mods::default() };
    if load { buffer(op, data, v(2), Operand::None, mods) } else { buffer(op, Operand::None, v(2), data, mods) }
}

/// The data format of elements of whole words: one, two or four times 32 bits.
fn words_format(bytes: usize) -> Option<u32> {
    match bytes {
        4 => Some(4),
        8 => Some(11),
        16 => Some(14),
        _ => None,
    }
}

/// Texels of whole words.
fn by_image(load: bool, bytes: usize, data: Operand) -> Option<Inst> {
    words_format(bytes)?;
    let image = Image { dmask: (1 << (bytes / 4)) - 1, unorm: true, ..Image::default() };
    let (dst, stored, op) = match load {
        true => (data, Operand::None, Op::image_load),
        false => (Operand::None, data, Op::image_store),
    };
    let plain = inst(op, dst, &[v(12), stored, s(24), Operand::None]);
    Some(Inst { mods: Mods { image: Some(image), ..plain.mods }, ..plain })
}

/// Registers with the addresses of all lanes' elements.
fn addresses(w: &mut Wave, base: u64, order: Order, step: usize) {
    if let Some(data) = words_format(step) {
        let words = Description::new(LINE, [LANES as u32, 1, 1], data, UINT).words(base);
        words.into_iter().enumerate().for_each(|(i, word)| w.set_slot(24 + i as u16, word));
    }
    descriptor(w, base, 0, (LANES * STEP) as u32, 0);
    w.set_slot(12, base as u32);
    w.set_slot(13, (base >> 32) as u32);
    for lane in 0..LANES {
        let place = match order {
            Order::Up => lane,
            Order::Down => LANES - 1 - lane,
        };
        let offset = (place * step) as u64;
        w.row_mut(0)[lane] = (base + offset) as u32;
        w.row_mut(1)[lane] = ((base + offset) >> 32) as u32;
        w.row_mut(2)[lane] = offset as u32;
        w.row_mut(3)[lane] = offset as u32;
        w.row_mut(12)[lane] = place as u32;
    }
}

/// The first scalar register with the values of v0 and following.
const SCALAR: u16 = 40;

/// Loads of a program.
const LOADS: usize = 8;

/// One thread stores one value and then another to all elements, repeatedly, while another thread loads them. `element`
/// locates a lane's element of load `n`.
fn meet(
    what: &str,
    [stores, loads]: [&[Inst]; 2],
    (order, bytes): (Order, usize),
    fast: bool,
    element: fn(&Wave, usize, usize) -> [u32; 4],
) {
    let memory = Arc::new(Memory::new(vec![1 << 20]));
    let base = memory.alloc((LANES * STEP) as u64, 0, AllocKind::Device).expect("device memory");
    assert_eq!(base % 256, 0);
    /// Ends the other thread's loop on drop, also in a panic.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = Over(&over);
        let other = scope.spawn(|| {
            let mut writer = Worker::new(stores, &memory, fast);
            let mut random = Random::new(bytes as u64);
            while !over.load(Relaxed) {
                // All bytes of a value are the same.
                let value = u32::from_le_bytes([random.next() as u8; 4]);
                writer.run(|w| {
                    addresses(w, base, order, bytes);
                    for row in 4..12 {
                        w.row_mut(row).fill(if row < 8 { value } else { !value });
                        w.set_slot(SCALAR + row, if row < 8 { value } else { !value });
                    }
                });
            }
        });
        let mut reader = Worker::new(loads, &memory, fast);
        let mut last = [0; LOADS];
        let mut torn = None;
        // Until the other thread has been working for a while.
        let (mut runs, mut changes) = (0, 0);
        while runs < 200 || changes < 50 && !other.is_finished() {
            runs += 1;
            let wave = reader.run(|w| addresses(w, base, order, bytes));
            for n in 0..LOADS {
                for lane in 0..LANES {
                    let words = element(wave, n, lane);
                    let all = words.map(u32::to_le_bytes);
                    let first = all[0][0];
                    if all.iter().flatten().take(bytes).any(|byte| *byte != first) {
                        torn = Some((lane, words));
                    }
                    if lane == 0 {
                        changes += u32::from(first != last[n]);
                        last[n] = first;
                    }
                }
            }
        }
        assert_eq!(torn, None, "{what}: lane and words");
        assert!(changes >= 50, "{what}: the threads hardly met");
    });
}

/// With and without AVX2, if the CPU has it.
fn kinds() -> impl Iterator<Item = bool> {
    [false, true].into_iter().filter(|fast| !fast || cpu::has_avx2())
}

#[test]
fn two_threads_see_whole_values() {
    let ways: [(&str, Way); 6] = [
        ("global", global),
        ("global from a base", global_from_base),
        ("flat", flat),
        ("buffer", by_descriptor),
        ("typed buffer", by_format),
        ("image", by_image),
    ];
    for (name, way) in ways {
        for bytes in [2, 4, 8, 16] {
            // v4 and on has one value, v8 and on another.
            let stores: Vec<Inst> = (0..8).filter_map(|n| way(false, bytes, v(4 + 4 * (n % 2)))).collect();
            let loads: Vec<Inst> = (0..LOADS).filter_map(|n| way(true, bytes, v(16 + 4 * n as u16))).collect();
            if loads.is_empty() {
                continue;
            }
            // Elements of the access's own size in sequence, which are also moved as one block.
            for order in [Order::Up, Order::Down] {
                for fast in kinds() {
                    let what = format!("{name}, {bytes} bytes, {order:?}, AVX2 {fast}");
                    meet(&what, [&stores, &loads], (order, bytes), fast, |wave, n, lane| {
                        [0, 1, 2, 3].map(|word| wave.row((16 + 4 * n + word) as u16)[lane])
                    });
                }
            }
        }
    }
}

#[test]
fn scalar_stores_show_whole_values() {
    for (op, bytes) in [(Op::s_store_dword, 4), (Op::s_store_dwordx2, 8), (Op::s_store_dwordx4, 16)] {
        // One value to the first elements, and then the other.
        let store = |n: usize| {
            let offset = (n % LOADS * bytes) as i32;
            let plain = inst(op, Operand::None, &[s(12), imm(offset), s(SCALAR + if n < LOADS { 4 } else { 8 })]);
            Inst { mods: Mods { offset, ..plain.mods }, ..plain }
        };
        let stores: Vec<Inst> = (0..2 * LOADS).map(store).collect();
        let loads: Vec<Inst> = (0..LOADS).filter_map(|n| global(true, bytes, v(16 + 4 * n as u16))).collect();
        for fast in kinds() {
            let what = format!("{op}, AVX2 {fast}");
            meet(&what, [&stores, &loads], (Order::Up, bytes), fast, |wave, n, lane| {
                [0, 1, 2, 3].map(|word| wave.row((16 + 4 * n + word) as u16)[lane])
            });
        }
    }
}

#[test]
fn scalar_loads_see_whole_values() {
    for (op, bytes) in [(Op::s_load_dword, 4), (Op::s_load_dwordx2, 8), (Op::s_load_dwordx4, 16)] {
        let stores: Vec<Inst> = (0..8).filter_map(|n| global(false, bytes, v(4 + 4 * (n % 2)))).collect();
        let load = |n: usize| {
            let offset = (n * bytes) as i32;
            let plain = inst(op, s(16 + 4 * n as u16), &[s(12), imm(offset)]);
            Inst { mods: Mods { offset, ..plain.mods }, ..plain }
        };
        let loads: Vec<Inst> = (0..LOADS).map(load).collect();
        for fast in kinds() {
            let what = format!("{op}, AVX2 {fast}");
            meet(&what, [&stores, &loads], (Order::Up, bytes), fast, |wave, n, _| {
                [0, 1, 2, 3].map(|word| wave.slot((16 + 4 * n + word) as u16))
            });
        }
    }
}

//! A second, very simple interpreter, which shares only the decoder with the software GPU. It executes one lane after
//! the other, with a match on the opcode for each. It supports only the instructions of `kernels/lanes.hip`, for
//! gfx90a.
//!
//! Tests compare the software GPU with it; the bench `targets` measures how much faster the software GPU is.

#![allow(dead_code, reason = "the test and the bench each use a part of it")]

use std::collections::HashMap;

use amdgpu_sim::isa::{self, Arch, Inst, Op, Operand, Special};
use amdgpu_sim::{Dispatch, Gpu, Kernel};

const LANES: usize = 64;

/// Device memory: blocks at addresses of its own.
#[derive(Default)]
pub(crate) struct Memory {
    blocks: Vec<(u64, Vec<u8>)>,
}

impl Memory {
    /// Adds a block and returns its address.
    pub(crate) fn add(&mut self, bytes: Vec<u8>) -> u64 {
        let address = (self.blocks.len() as u64 + 1) << 32;
        self.blocks.push((address, bytes));
        address
    }

    /// The contents of the block at `address`.
    pub(crate) fn block(&self, address: u64) -> &[u8] {
        &self.blocks.iter().find(|b| b.0 == address).expect("a block").1
    }

    fn word(&mut self, address: u64) -> &mut [u8; 4] {
        for (base, bytes) in &mut self.blocks {
            let offset = address.wrapping_sub(*base);
            if offset < bytes.len() as u64 {
                return bytes[offset as usize..].first_chunk_mut().expect("a whole word");
            }
        }
        panic!("an access to {address:#x}, where nothing is");
    }

    fn load(&mut self, address: u64) -> u32 {
        u32::from_le_bytes(*self.word(address))
    }

    fn store(&mut self, address: u64, value: u32) {
        *self.word(address) = value.to_le_bytes();
    }
}

/// A kernel's instructions, decoded once.
pub(crate) struct Program {
    code: Vec<Inst>,
    /// The index of each instruction in `code`, by its offset from the first in words.
    index: HashMap<i64, usize>,
    /// The inverse of `index`.
    places: Vec<i64>,
}

impl Program {
    /// Decodes a kernel that was loaded to `gpu`, up to its last `s_endpgm`, which no branch passes.
    pub(crate) fn of(gpu: &Gpu, kernel: &Kernel) -> Self {
        let entry =
            kernel.descriptor_address().wrapping_add_signed(kernel.info().descriptor.kernel_code_entry_byte_offset);
        let (mut code, mut places, mut at, mut furthest) = (Vec::new(), Vec::new(), 0_i64, 0);
        loop {
            let mut bytes = [0; 16];
            gpu.memory().read(entry + 4 * at as u64, &mut bytes).expect("code");
            let words: Vec<u32> = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            let inst = isa::decode(&words, Arch::Gfx90a).expect("an instruction");
            let here = at;
            places.push(at);
            code.push(inst);
            at += i64::from(inst.size) / 4;
            if let (true, Operand::Imm(by)) = (inst.op.mnemonic().contains("branch"), inst.src[0]) {
                furthest = furthest.max(here + 1 + i64::from(by as i16));
            }
            if inst.op == Op::s_endpgm && at > furthest {
                break;
            }
        }
        let index = places.iter().enumerate().map(|(i, at)| (*at, i)).collect();
        Self { code, index, places }
    }
}

/// The state of a wave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Runs,
    AtBarrier,
    Ended,
}

struct Wave {
    scalars: [u32; 128],
    scc: bool,
    vectors: Vec<[u32; LANES]>,
    pc: usize,
    state: State,
}

const VCC: usize = 106;
const EXEC: usize = 126;

/// The number of a scalar register.
fn number(operand: Operand) -> Option<usize> {
    Some(match operand {
        Operand::Sgpr(n) => usize::from(n),
        Operand::Special(Special::VccLo) => VCC,
        Operand::Special(Special::VccHi) => VCC + 1,
        Operand::Special(Special::ExecLo) => EXEC,
        Operand::Special(Special::ExecHi) => EXEC + 1,
        _ => return None,
    })
}

impl Wave {
    fn pair(&self, first: usize) -> u64 {
        u64::from(self.scalars[first]) | u64::from(self.scalars[first + 1]) << 32
    }

    fn set_pair(&mut self, first: usize, value: u64) {
        self.scalars[first] = value as u32;
        self.scalars[first + 1] = (value >> 32) as u32;
    }

    fn scalar(&self, operand: Operand) -> u32 {
        match operand {
            Operand::Int(n) => i32::from(n) as u32,
            Operand::Literal(bits) => bits,
            Operand::Imm(n) => n as u32,
            other => self.scalars[number(other).unwrap_or_else(|| panic!("the operand {other:?}"))],
        }
    }

    fn set_scalar(&mut self, operand: Operand, value: u32) {
        self.scalars[number(operand).expect("a scalar destination")] = value;
    }

    /// An operand in one lane; `word` counts the registers of a wide one.
    fn get(&self, operand: Operand, word: u16, lane: usize) -> u32 {
        match operand {
            Operand::Vgpr(n) => self.vectors[usize::from(n + word)][lane],
            other if word == 0 => self.scalar(other),
            Operand::Sgpr(n) => self.scalars[usize::from(n + word)],
            // Small constants, zero-extended here: no kernel has a negative one.
            _ => 0,
        }
    }

    fn get_wide(&self, operand: Operand, lane: usize) -> u64 {
        u64::from(self.get(operand, 0, lane)) | u64::from(self.get(operand, 1, lane)) << 32
    }

    fn set(&mut self, operand: Operand, word: u16, lane: usize, value: u32) {
        let Operand::Vgpr(n) = operand else { panic!("a vector destination: {operand:?}") };
        self.vectors[usize::from(n + word)][lane] = value;
    }

    fn set_wide(&mut self, operand: Operand, lane: usize, value: u64) {
        self.set(operand, 0, lane, value as u32);
        self.set(operand, 1, lane, (value >> 32) as u32);
    }

    /// Sets a lane's bit of a mask in two scalar registers.
    fn set_bit(&mut self, operand: Operand, lane: usize, value: bool) {
        let first = if operand == Operand::None { VCC } else { number(operand).expect("a mask") };
        let bit = 1 << (lane % 32);
        let word = &mut self.scalars[first + lane / 32];
        *word = if value { *word | bit } else { *word & !bit };
    }

    fn bit(&self, first: usize, lane: usize) -> bool {
        self.pair(first) >> lane & 1 == 1
    }
}

/// Runs `kernel` over a grid of whole workgroups.
pub(crate) fn run(program: &Program, kernel: &Kernel, memory: &mut Memory, arguments: &[u8], dispatch: &Dispatch) {
    let kernarg = memory.add(kernel.build_kernarg(arguments, dispatch).expect("arguments"));
    let groups: [u32; 3] = std::array::from_fn(|d| dispatch.grid[d] / dispatch.workgroup[d]);
    for z in 0..groups[2] {
        for y in 0..groups[1] {
            for x in 0..groups[0] {
                workgroup(program, kernel, memory, kernarg, [x, y, z], dispatch.workgroup);
            }
        }
    }
    memory.blocks.pop();
}

fn workgroup(program: &Program, kernel: &Kernel, memory: &mut Memory, kernarg: u64, at: [u32; 3], size: [u32; 3]) {
    let info = kernel.info();
    let items: u32 = size.iter().product();
    assert_eq!(items % LANES as u32, 0, "whole waves");
    let mut lds = vec![0; info.lds_size as usize];
    let mut waves: Vec<Wave> = (0..items / LANES as u32).map(|id| start(kernel, kernarg, id, at, size)).collect();
    loop {
        for wave in &mut waves {
            while wave.state == State::Runs {
                step(program, wave, memory, &mut lds);
            }
        }
        if waves.iter().all(|w| w.state == State::Ended) {
            return;
        }
        waves.iter_mut().filter(|w| w.state == State::AtBarrier).for_each(|w| w.state = State::Runs);
    }
}

fn start(kernel: &Kernel, kernarg: u64, id: u32, at: [u32; 3], size: [u32; 3]) -> Wave {
    let descriptor = &kernel.info().descriptor;
    let mut wave = Wave {
        scalars: [0; 128],
        scc: false,
        vectors: vec![[0; LANES]; kernel.info().vgpr_count as usize + 2],
        pc: 0,
        state: State::Runs,
    };
    let before =
        [(descriptor.private_segment_buffer(), 4), (descriptor.dispatch_ptr(), 2), (descriptor.queue_ptr(), 2)];
    let first = before.iter().map(|(asked, words)| if *asked { *words } else { 0 }).sum();
    wave.set_pair(first, kernarg);
    let mut next = descriptor.user_sgpr_count() as usize;
    for (wanted, value) in descriptor.workgroup_ids().into_iter().zip(at) {
        if wanted {
            wave.scalars[next] = value;
            next += 1;
        }
    }
    wave.set_pair(EXEC, u64::MAX);
    for lane in 0..LANES {
        let item = id * LANES as u32 + lane as u32;
        let ids = [item % size[0], item / size[0] % size[1], item / size[0] / size[1]];
        let wanted = descriptor.work_item_ids();
        let packed = (0..=2).filter(|d| *d <= wanted).map(|d| ids[d as usize] << (10 * d)).sum();
        wave.vectors[0][lane] = packed;
    }
    wave
}

fn step(program: &Program, wave: &mut Wave, memory: &mut Memory, lds: &mut [u8]) {
    let here = wave.pc;
    let inst = &program.code[here];
    wave.pc += 1;
    let branch = |wave: &mut Wave, taken: bool| {
        if taken {
            let Operand::Imm(by) = inst.src[0] else { panic!("a branch without a distance") };
            wave.pc = program.index[&(program.places[here] + 1 + i64::from(by as i16))];
        }
    };
    let [a, b] = [inst.src[0], inst.src[1]];
    match inst.op {
        Op::s_waitcnt | Op::s_nop => {}
        Op::s_barrier => wave.state = State::AtBarrier,
        Op::s_endpgm => wave.state = State::Ended,
        Op::s_branch => branch(wave, true),
        Op::s_cbranch_scc0 => branch(wave, !wave.scc),
        Op::s_cbranch_scc1 => branch(wave, wave.scc),
        Op::s_cbranch_execz => branch(wave, wave.pair(EXEC) == 0),
        Op::s_mov_b32 => wave.set_scalar(inst.dst, wave.scalar(a)),
        Op::s_and_b32 => {
            let result = wave.scalar(a) & wave.scalar(b);
            wave.set_scalar(inst.dst, result);
            wave.scc = result != 0;
        }
        Op::s_lshl_b32 => {
            let result = wave.scalar(a) << (wave.scalar(b) & 31);
            wave.set_scalar(inst.dst, result);
            wave.scc = result != 0;
        }
        Op::s_add_i32 => {
            let (result, overflow) = (wave.scalar(a) as i32).overflowing_add(wave.scalar(b) as i32);
            wave.set_scalar(inst.dst, result as u32);
            wave.scc = overflow;
        }
        Op::s_mul_i32 => wave.set_scalar(inst.dst, wave.scalar(a).wrapping_mul(wave.scalar(b))),
        Op::s_cmp_eq_u32 => wave.scc = wave.scalar(a) == wave.scalar(b),
        Op::s_cmp_ge_u32 => wave.scc = wave.scalar(a) >= wave.scalar(b),
        Op::s_and_saveexec_b64 => {
            let (mask, exec) = (wave.pair(number(a).expect("a mask")), wave.pair(EXEC));
            wave.set_pair(number(inst.dst).expect("a pair"), exec);
            wave.set_pair(EXEC, mask & exec);
            wave.scc = mask & exec != 0;
        }
        Op::s_load_dword | Op::s_load_dwordx2 | Op::s_load_dwordx4 => {
            let words = inst.op.info().dst.bytes() / 4;
            let Operand::Imm(offset) = b else { panic!("an offset in a register") };
            let address = wave.pair(number(a).expect("a base")).wrapping_add_signed(i64::from(offset));
            for word in 0..words {
                let value = memory.load(address + 4 * u64::from(word));
                wave.scalars[number(inst.dst).expect("a scalar") + word as usize] = value;
            }
        }
        _ => {
            let exec = wave.pair(EXEC);
            if inst.op.mnemonic().starts_with("v_cmp") {
                // Disabled lanes get a zero.
                wave.set_pair(if inst.dst == Operand::None { VCC } else { number(inst.dst).expect("a mask") }, 0);
            }
            for lane in 0..LANES {
                if exec >> lane & 1 == 1 {
                    one_lane(inst, wave, memory, lds, lane);
                }
            }
        }
    }
}

/// Executes a vector instruction in one lane.
#[inline(never)]
fn one_lane(inst: &Inst, w: &mut Wave, memory: &mut Memory, lds: &mut [u8], lane: usize) {
    let [a, b, c] = [inst.src[0], inst.src[1], inst.src[2]];
    let x = |o: Operand| w.get(o, 0, lane);
    let f = |o: Operand| f32::from_bits(w.get(o, 0, lane));
    let result = match inst.op {
        Op::v_mov_b32 => x(a),
        Op::v_add_u32 => x(a).wrapping_add(x(b)),
        Op::v_add3_u32 => x(a).wrapping_add(x(b)).wrapping_add(x(c)),
        Op::v_mul_lo_u32 => x(a).wrapping_mul(x(b)),
        Op::v_lshl_add_u32 => (x(a) << (x(b) & 31)).wrapping_add(x(c)),
        Op::v_lshlrev_b32 => x(b) << (x(a) & 31),
        Op::v_lshrrev_b32 => x(b) >> (x(a) & 31),
        Op::v_and_b32 => x(a) & x(b),
        Op::v_xor_b32 => x(a) ^ x(b),
        Op::v_bfe_u32 => x(a) >> (x(b) & 31) & ((1 << (x(c) & 31)) - 1),
        Op::v_add_f32 => (f(a) + f(b)).to_bits(),
        Op::v_fmac_f32 => f(a).mul_add(f(b), f(inst.dst)).to_bits(),
        Op::v_pk_mul_f32 => {
            let half = |word| f32::from_bits(w.get(a, word, lane)) * f32::from_bits(w.get(b, word, lane));
            let [low, high] = [half(0), half(1)];
            return w.set_wide(inst.dst, lane, u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32);
        }
        Op::v_lshlrev_b64 => {
            let value = w.get_wide(b, lane) << (x(a) & 63);
            return w.set_wide(inst.dst, lane, value);
        }
        Op::v_mad_u64_u32 => {
            let (sum, carry) = (u64::from(x(a)) * u64::from(x(b))).overflowing_add(w.get_wide(c, lane));
            w.set_wide(inst.dst, lane, sum);
            return w.set_bit(inst.dst2, lane, carry);
        }
        Op::v_cmp_gt_u32 => {
            let holds = x(a) > x(b);
            return w.set_bit(inst.dst, lane, holds);
        }
        Op::v_add_co_u32 => {
            let (sum, carry) = x(a).overflowing_add(x(b));
            w.set(inst.dst, 0, lane, sum);
            return w.set_bit(inst.dst2, lane, carry);
        }
        Op::v_addc_co_u32 => {
            let sum = u64::from(x(a)) + u64::from(x(b)) + u64::from(w.bit(VCC, lane));
            w.set(inst.dst, 0, lane, sum as u32);
            return w.set_bit(inst.dst2, lane, sum >> 32 != 0);
        }
        Op::global_load_dword => memory.load(w.get_wide(a, lane).wrapping_add_signed(i64::from(inst.mods.offset))),
        Op::global_store_dword => {
            let address = w.get_wide(a, lane).wrapping_add_signed(i64::from(inst.mods.offset));
            return memory.store(address, x(b));
        }
        Op::ds_read_b128 => {
            let first = (x(a) as i32 + inst.mods.offset) as usize;
            for word in 0..4 {
                w.set(inst.dst, word, lane, local(lds, first + 4 * usize::from(word)));
            }
            return;
        }
        Op::ds_read2_b32 => {
            let base = x(a) as usize;
            let offsets = [inst.mods.offset as usize, usize::from(inst.mods.offset1)];
            for (word, offset) in (0..2).zip(offsets) {
                w.set(inst.dst, word, lane, local(lds, base + 4 * offset));
            }
            return;
        }
        Op::ds_write2st64_b32 => {
            let (base, values) = (x(a) as usize, [x(b), x(c)]);
            let offsets = [inst.mods.offset as usize, usize::from(inst.mods.offset1)];
            for (value, offset) in values.into_iter().zip(offsets) {
                lds[base + 256 * offset..][..4].copy_from_slice(&value.to_le_bytes());
            }
            return;
        }
        other => panic!("{other} is not one of the instructions of these kernels"),
    };
    w.set(inst.dst, 0, lane, result);
}

/// A word of local memory.
fn local(lds: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*lds[at..].first_chunk().expect("inside"))
}

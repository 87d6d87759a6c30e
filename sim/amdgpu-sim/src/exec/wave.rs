//! The state of one wave of 64 lanes.

use super::affine::{Held, Run};
use super::mem::Lying;
use super::{GwsWait, LANES, Program, Trap};

/// One vector register: a 32-bit value a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Row(pub(crate) [u32; LANES]);

impl Row {
    /// All lanes zero.
    pub(crate) const ZERO: Row = Row([0; LANES]);
}

/// Numbers of scalar slots: the hardware's operand encodings, then places for 64-bit specials and constants.
pub(crate) mod slot {
    /// `flat_scratch` (two slots).
    pub(crate) const FLAT_SCRATCH: u16 = 102;
    /// `xnack_mask` (two slots).
    pub(crate) const XNACK_MASK: u16 = 104;
    /// `vcc` (two slots).
    pub(crate) const VCC: u16 = 106;
    /// `ttmp0`.
    pub(crate) const TTMP: u16 = 108;
    /// `m0`.
    pub(crate) const M0: u16 = 124;
    /// `exec` (two slots).
    pub(crate) const EXEC: u16 = 126;
    /// `src_vccz`: brought up to date just before an instruction that reads it.
    pub(crate) const VCCZ: u16 = 251;
    /// `src_execz`: likewise.
    pub(crate) const EXECZ: u16 = 252;
    /// SCC, 0 or 1.
    pub(crate) const SCC: u16 = 253;
    /// `src_shared_base` (two slots): where LDS lies in the flat address space.
    pub(crate) const SHARED_BASE: u16 = 256;
    /// `src_shared_limit` (two slots).
    pub(crate) const SHARED_LIMIT: u16 = 258;
    /// `src_private_base` (two slots): where scratch lies in the flat address space.
    pub(crate) const PRIVATE_BASE: u16 = 260;
    /// `src_private_limit` (two slots).
    pub(crate) const PRIVATE_LIMIT: u16 = 262;
    /// `src_pops_exiting_wave_id`, always zero here.
    pub(crate) const POPS: u16 = 264;
    /// Takes what is written to nowhere.
    pub(crate) const SINK: u16 = 266;
    /// First constant.
    pub(crate) const CONSTANTS: u16 = 272;
}

/// The MODE register: rounding, denormals, exceptions.
///
/// Bits as the hardware has them: 1:0 f32 rounding, 3:2 f64 and f16 rounding, 5:4 f32 denormals, 7:6 f64 and f16
/// denormals (bit 0 of a pair: keep denormal inputs, bit 1: keep denormal results), 8 DX10_CLAMP, 9 IEEE,
/// 23 FP16_OVFL (half-precision overflow gives the largest finite number), 27 GPR_IDX_EN, 28 VSKIP, 31:29 CSP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode(pub(crate) u32);

impl Mode {
    /// From `compute_pgm_rsrc1` of a kernel descriptor: FLOAT_ROUND_MODE_32 at bit 12, ..., DX10_CLAMP 21, IEEE 23,
    /// FP16_OVFL 26.
    pub(crate) fn from_rsrc1(rsrc1: u32) -> Mode {
        Mode(
            ((rsrc1 >> 12) & 0xff)
                | (((rsrc1 >> 21) & 1) << 8)
                | (((rsrc1 >> 23) & 1) << 9)
                | (((rsrc1 >> 26) & 1) << 23),
        )
    }

    /// Bits that decide how results are rounded: both rounding modes and FP16_OVFL.
    pub(crate) const ROUNDING: u32 = 15 | 1 << 23;
    /// The IEEE bit.
    pub(crate) const IEEE: u32 = 1 << 9;
    /// Vector registers are found with an index (`s_set_gpr_idx_on`).
    pub(crate) const GPR_IDX_EN: u32 = 1 << 27;
    /// Vector instructions are skipped (`s_setvskip`).
    pub(crate) const VSKIP: u32 = 1 << 28;
    /// The lowest bit of CSP: how many entries the stack of `s_cbranch_*_fork` and `s_cbranch_join` has.
    pub(crate) const CSP: u32 = 29;

    /// Whether any denormal, in or out, is flushed for single precision.
    pub(crate) fn flushes_f32(self) -> bool {
        self.0 & 0x30 != 0x30
    }

    /// Whether any denormal, in or out, is flushed for double and half precision.
    pub(crate) fn flushes_f64(self) -> bool {
        self.0 & 0xc0 != 0xc0
    }

    /// Whether `clamp` turns NaN into zero.
    pub(crate) fn dx10_clamp(self) -> bool {
        self.0 & 0x100 != 0
    }

    /// Whether signalling NaNs are quieted by minimum and maximum.
    pub(crate) fn ieee(self) -> bool {
        self.0 & 0x200 != 0
    }
}

/// The registers that a wave starts with: scalars, and the work-item ids in `v0`.
pub(crate) struct Start {
    slots: Box<[u32]>,
    items: Row,
    /// The ids, if all lanes are enabled and have such.
    run: Option<Run>,
    exec: u64,
}

/// One wave: registers, program counter, mode.
///
/// A wave is made once for a program and [`reset`](Wave::reset) for every workgroup.
pub(crate) struct Wave {
    pub(super) rows: Box<[Row]>,
    pub(super) slots: Box<[u32]>,
    /// Rows that are not written out.
    pub(super) held: Held,
    /// How the addresses lay that were read last in local memory.
    pub(super) lying: Lying,
    /// [`Layout::result`](super::program::Layout::result).
    result: u16,
    /// Index into [`Program::micros`] of the next instruction (of the one that trapped, after a trap).
    pub(crate) pc: u32,
    /// Which [part](super::parts) of the code it is in.
    pub(super) part: u32,
    /// The MODE register.
    pub(crate) mode: Mode,
    /// The wave's number in its workgroup.
    pub(crate) id: u32,
    /// Why the wave stopped, after [`Flow::Trap`](super::Flow::Trap).
    pub(crate) trap: Option<Trap>,
    /// What the wave waits for at a GWS resource, having executed the instruction.
    pub(crate) gws: Option<GwsWait>,
    /// Instructions carried out since the last reset.
    pub(crate) instructions: u64,
    /// Rows that a kernel's code can write: what `reset` clears.
    writable: usize,
}

impl Wave {
    /// A wave for `program`, its constants in place, everything else zero.
    pub(crate) fn new(program: &Program) -> Wave {
        let layout = program.layout();
        let mut rows = vec![Row::ZERO; layout.rows()].into_boxed_slice();
        for (row, bits) in rows[layout.constant_row(0) as usize..].iter_mut().zip(program.constant_rows()) {
            row.0 = [*bits; LANES];
        }
        let mut slots = vec![0; usize::from(slot::CONSTANTS) + program.constants().len()].into_boxed_slice();
        slots[usize::from(slot::CONSTANTS)..].copy_from_slice(program.constants());
        Wave {
            rows,
            slots,
            held: Held::NONE,
            lying: Lying::NOWHERE,
            result: layout.result(),
            pc: program.entry(),
            part: 0,
            mode: program.mode(),
            id: 0,
            trap: None,
            gws: None,
            instructions: 0,
            writable: usize::from(layout.prepared(0)),
        }
    }

    /// Goes to another part of the code, whose constants take the place of those of the one before.
    pub(super) fn go_to(&mut self, part: u32, program: &Program) {
        self.part = part;
        let constants = usize::from(slot::CONSTANTS)..usize::from(slot::CONSTANTS) + program.constants().len();
        if self.slots.len() < constants.end {
            let mut slots = std::mem::take(&mut self.slots).into_vec();
            slots.resize(constants.end, 0);
            self.slots = slots.into_boxed_slice();
        }
        self.slots[constants].copy_from_slice(program.constants());
        let first = usize::from(program.layout().constant_row(0));
        for (row, bits) in self.rows[first..].iter_mut().zip(program.constant_rows()) {
            row.0 = [*bits; LANES];
        }
    }

    /// Back to the state before the first instruction: registers zero, no lane enabled, at the entry.
    ///
    /// The caller then sets what the dispatcher sets: user SGPRs, work-item ids, `exec`, `flat_scratch`,
    /// apertures, `id`.
    pub(crate) fn reset(&mut self, program: &Program) {
        self.held.clear();
        self.rows[..self.writable].fill(Row::ZERO);
        self.reset_scalars(program);
    }

    /// As [`reset`](Wave::reset), with the lanes of `exec` enabled. Registers that the code writes before it reads them are left alone.
    pub(crate) fn reset_for(&mut self, program: &Program, exec: u64) {
        self.clear_rows(program, exec);
        self.rows[0] = Row::ZERO;
        self.reset_scalars(program);
        self.set_exec(exec);
    }

    fn reset_scalars(&mut self, program: &Program) {
        self.slots[..usize::from(slot::CONSTANTS)].fill(0);
        if self.part != 0 {
            self.go_to(0, program);
        }
        self.pc = program.entry();
        self.mode = program.mode();
        self.trap = None;
        self.gws = None;
        self.instructions = 0;
    }

    /// The registers as they are now, just set up, for [`restart`](Wave::restart).
    pub(crate) fn start(&self) -> Start {
        let slots = self.slots[..usize::from(slot::CONSTANTS)].into();
        Start { slots, items: self.rows[0], run: self.run_of_items(), exec: self.exec() }
    }

    /// As [`start`](Wave::start), in the place of what there was for another wave of the program.
    pub(crate) fn start_again(&self, start: &mut Start) {
        start.slots.copy_from_slice(&self.slots[..usize::from(slot::CONSTANTS)]);
        (start.items, start.run, start.exec) = (self.rows[0], self.run_of_items(), self.exec());
    }

    /// The work-item ids, if all lanes are enabled and have a run of them.
    fn run_of_items(&self) -> Option<Run> {
        if self.exec() == u64::MAX { Run::of(&self.rows[0].0) } else { None }
    }

    /// Back to the state before the first instruction, as it was when `start` was taken: faster than [`reset`](Wave::reset) and
    /// setting up again, as registers that the code writes before it reads them are left alone.
    pub(crate) fn restart(&mut self, program: &Program, start: &Start) {
        self.clear_rows(program, start.exec);
        match start.run {
            Some(run) if program.starts_held => self.held.hold(0, run),
            _ => self.rows[0] = start.items,
        }
        // What the code does not name it can't have changed.
        for range in [0..program.scalars, usize::from(slot::FLAT_SCRATCH)..128, 248..usize::from(slot::CONSTANTS)] {
            if let (Some(to), Some(from)) = (self.slots.get_mut(range.clone()), start.slots.get(range)) {
                to.copy_from_slice(from);
            }
        }
        if self.part != 0 {
            self.go_to(0, program);
        }
        self.pc = program.entry();
        self.mode = program.mode();
        self.trap = None;
        self.gws = None;
        self.instructions = 0;
    }

    /// Which part of the code it is in: see [`Program::part`].
    pub(crate) fn part(&self) -> u32 {
        self.part
    }

    /// Clears the registers that the code may read before it has written them.
    #[inline(always)]
    fn clear_rows(&mut self, program: &Program, exec: u64) {
        self.held.clear();
        match &program.clear {
            None => self.rows[..self.writable].fill(Row::ZERO),
            Some(clear) => {
                for row in if exec == u64::MAX { &clear.whole } else { &clear.partial } {
                    self.rows[usize::from(*row)] = Row::ZERO;
                }
            }
        }
    }

    /// A vector register (or constant) by row, as a micro-operation names it.
    #[inline(always)]
    pub(crate) fn row(&self, row: u16) -> &[u32; LANES] {
        debug_assert!(!self.held.has(row), "row {row} is held as a run");
        &self.rows[usize::from(row)].0
    }

    /// As [`row`](Self::row), for an operand that the operation may do without: if it does, the row can be anybody's, held ones too,
    /// and what is in it does not count.
    #[inline(always)]
    pub(super) fn row_if_used(&self, row: u16) -> &[u32; LANES] {
        &self.rows[usize::from(row)].0
    }

    /// A vector register by row, to write.
    #[inline(always)]
    pub(crate) fn row_mut(&mut self, row: u16) -> &mut [u32; LANES] {
        debug_assert!(!self.held.has(row), "row {row} is held as a run");
        &mut self.rows[usize::from(row)].0
    }

    /// The first of the two rows where the result of an operation goes that is not written straight to its destination.
    #[inline(always)]
    pub(super) fn result_row(&self) -> u16 {
        self.result
    }

    /// All other rows, and the result of an operation, low and high half.
    #[inline(always)]
    pub(super) fn rows_and_result(&mut self) -> (&mut [Row], [&mut [u32; LANES]; 2]) {
        let (rows, result) = self.rows.split_at_mut(usize::from(self.result));
        let (low, high) = result.split_at_mut(1);
        (rows, [&mut low[0].0, &mut high[0].0])
    }

    /// A scalar register or constant.
    #[inline(always)]
    pub(crate) fn slot(&self, slot: u16) -> u32 {
        self.slots[usize::from(slot)]
    }

    /// Sets a scalar register.
    #[inline(always)]
    pub(crate) fn set_slot(&mut self, slot: u16, value: u32) {
        self.slots[usize::from(slot)] = value;
    }

    /// Two scalar registers, the low half first.
    #[inline(always)]
    pub(crate) fn slot64(&self, slot: u16) -> u64 {
        u64::from(self.slot(slot)) | u64::from(self.slot(slot + 1)) << 32
    }

    /// Sets two scalar registers, the low half first.
    #[inline(always)]
    pub(crate) fn set_slot64(&mut self, slot: u16, value: u64) {
        // One store, which a load of both then need not wait for.
        let at = usize::from(slot);
        self.slots[at..at + 2].copy_from_slice(&[value as u32, (value >> 32) as u32]);
    }

    /// The enabled lanes.
    #[inline(always)]
    pub(crate) fn exec(&self) -> u64 {
        // Every wave has these; saying so leaves one check.
        match self.slots.first_chunk::<128>() {
            Some(slots) => {
                u64::from(slots[usize::from(slot::EXEC)]) | u64::from(slots[usize::from(slot::EXEC) + 1]) << 32
            }
            None => 0,
        }
    }

    /// Enables lanes.
    #[inline(always)]
    pub(crate) fn set_exec(&mut self, lanes: u64) {
        self.set_slot64(slot::EXEC, lanes);
    }

    /// The vector condition code.
    #[inline(always)]
    pub(crate) fn vcc(&self) -> u64 {
        self.slot64(slot::VCC)
    }

    /// The scalar condition code.
    #[inline(always)]
    pub(crate) fn scc(&self) -> bool {
        self.slot(slot::SCC) != 0
    }

    /// Sets the scalar condition code.
    #[inline(always)]
    pub(crate) fn set_scc(&mut self, value: bool) {
        self.set_slot(slot::SCC, u32::from(value));
    }

    /// `m0`.
    #[inline(always)]
    pub(crate) fn m0(&self) -> u32 {
        self.slot(slot::M0)
    }

    /// Notes why the wave can't go on; returns what its handler has to return.
    #[cold]
    pub(crate) fn fail(&mut self, why: Trap) -> super::Flow {
        self.trap = Some(why);
        super::Flow::Trap
    }
}

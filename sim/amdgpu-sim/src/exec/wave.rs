//! The state of one wave of 64 lanes.

use super::affine::Held;
use super::flow::Flow;
use super::gws::GwsWait;
use super::lanes::LANES;
use super::mem::Lying;
use super::trap::Trap;

/// One vector register: a 32-bit value per lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Row(pub(crate) [u32; LANES]);

impl Row {
    /// All lanes zero.
    pub(crate) const ZERO: Row = Row([0; LANES]);
}

/// Numbers of scalar slots: the hardware's operand encodings, then 64-bit special values and constants.
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
    /// `src_vccz`: updated just before an instruction that reads it.
    pub(crate) const VCCZ: u16 = 251;
    /// `src_execz`: updated just before an instruction that reads it.
    pub(crate) const EXECZ: u16 = 252;
    /// SCC, 0 or 1.
    pub(crate) const SCC: u16 = 253;
    /// `src_shared_base` (two slots): the position of LDS in the flat address space.
    pub(crate) const SHARED_BASE: u16 = 256;
    /// `src_shared_limit` (two slots).
    pub(crate) const SHARED_LIMIT: u16 = 258;
    /// `src_private_base` (two slots): the position of scratch in the flat address space.
    pub(crate) const PRIVATE_BASE: u16 = 260;
    /// `src_private_limit` (two slots).
    pub(crate) const PRIVATE_LIMIT: u16 = 262;
    /// `src_pops_exiting_wave_id`, always zero here.
    pub(crate) const POPS: u16 = 264;
    /// The destination of discarded writes.
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

    /// The bits that determine rounding: both rounding modes and FP16_OVFL.
    pub(crate) const ROUNDING: u32 = 15 | 1 << 23;
    /// The IEEE bit.
    pub(crate) const IEEE: u32 = 1 << 9;
    /// Vector registers are indexed (`s_set_gpr_idx_on`).
    pub(crate) const GPR_IDX_EN: u32 = 1 << 27;
    /// Vector instructions are skipped (`s_setvskip`).
    pub(crate) const VSKIP: u32 = 1 << 28;
    /// The lowest bit of CSP: the number of entries on the stack of `s_cbranch_*_fork` and `s_cbranch_join`.
    pub(crate) const CSP: u32 = 29;

    /// Returns whether any denormal input or output is flushed in single precision.
    pub(crate) fn flushes_f32(self) -> bool {
        self.0 & 0x30 != 0x30
    }

    /// Returns whether any denormal input or output is flushed in double and half precision.
    pub(crate) fn flushes_f64(self) -> bool {
        self.0 & 0xc0 != 0xc0
    }

    /// Returns whether `clamp` turns NaN into zero.
    pub(crate) fn dx10_clamp(self) -> bool {
        self.0 & 0x100 != 0
    }

    /// Returns whether minimum and maximum quiet signalling NaNs.
    pub(crate) fn ieee(self) -> bool {
        self.0 & 0x200 != 0
    }
}

/// One wave: registers, program counter, mode.
///
/// A wave is made once for a program and [`reset`](Wave::reset) for every workgroup.
pub(crate) struct Wave {
    pub(super) rows: Box<[Row]>,
    pub(super) slots: Box<[u32]>,
    /// Rows that are held as runs.
    pub(super) held: Held,
    /// The layout of the LDS addresses that were last analysed.
    pub(super) lying: Lying,
    /// [`Layout::result`](super::layout::Layout::result).
    pub(super) result: u16,
    /// Index into [`Program::micros`](super::Program::micros) of the next instruction (of the one that trapped, after a
    /// trap).
    pub(crate) pc: u32,
    /// The [part](super::parts) of the code that the wave is in.
    pub(super) part: u32,
    /// The MODE register.
    pub(crate) mode: Mode,
    /// The wave's number in its workgroup.
    pub(crate) id: u32,
    /// The reason, after [`Flow::Trap`].
    pub(crate) trap: Option<Trap>,
    /// The GWS condition that the wave waits for after the instruction.
    pub(crate) gws: Option<GwsWait>,
    /// Instructions executed since the last reset.
    pub(crate) instructions: u64,
    /// The number of rows that a kernel's code can write, which `reset` clears.
    pub(super) writable: usize,
}

impl Wave {
    /// The part of the code that the wave is in: see [`Program::part`](super::Program::part).
    pub(crate) fn part(&self) -> u32 {
        self.part
    }

    /// A vector register (or constant) by its row in a micro-operation.
    #[inline(always)]
    pub(crate) fn row(&self, row: u16) -> &[u32; LANES] {
        debug_assert!(!self.held.has(row), "row {row} is held as a run");
        &self.rows[usize::from(row)].0
    }

    /// As [`row`](Self::row), for an operand that the operation may not have. In that case the row can be any row, even
    /// a held one, and its contents are ignored.
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

    /// The first of the two rows for a result that is not written directly to its destination.
    #[inline(always)]
    pub(super) fn result_row(&self) -> u16 {
        self.result
    }

    /// All other rows, and the low and high half of the result rows.
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
        // In one store, so that a load of both halves need not wait for two.
        let at = usize::from(slot);
        self.slots[at..at + 2].copy_from_slice(&[value as u32, (value >> 32) as u32]);
    }

    /// The enabled lanes.
    #[inline(always)]
    pub(crate) fn exec(&self) -> u64 {
        // Every wave has these slots; asserting that leaves one bounds check.
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

    /// Stores the reason for a trap. Returns the handler's return value.
    #[cold]
    pub(crate) fn fail(&mut self, why: Trap) -> Flow {
        self.trap = Some(why);
        Flow::Trap
    }
}

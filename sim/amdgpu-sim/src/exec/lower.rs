//! Lowers machine code to a [`Program`].

use std::collections::{BTreeMap, HashMap};

use super::allocation::{Resources, stray};
use super::indexed::Indexing;
use super::parts::Parts;
use super::program::{Layout, PREPARED_ROWS};
use super::skipped::{self, Skipping};
use super::{
    Ctx, Flow, Handler, Micro, Mode, Program, Trap, Wave, affine, cpu, liveness, matrix, mem, program::Source, salu,
    slot, valu,
};
use crate::isa::inst::{Format, InlineFloat, Inst, Operand, Special};
use crate::isa::{self, Flags, Op};

/// How a 64-bit operand reads an inline constant or a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wide {
    /// Sign-extended inline constants, zero-extended literals.
    Unsigned,
    /// Sign-extended inline constants and literals.
    Signed,
    /// Double precision: a literal is the high half.
    Double,
}

/// The maximum number of constants with a row of their own. Further ones are broadcast on use.
const MAX_CONSTANT_ROWS: usize = 48;

/// The code size in words up to which code with indirect calls is normally lowered completely.
pub(crate) const WHOLE: usize = 1 << 18;

/// The state of lowering.
pub(crate) struct Lowering {
    layout: Layout,
    constants: Vec<u32>,
    singles: HashMap<u32, u16>,
    pairs: HashMap<u64, u16>,
    constant_rows: Vec<u32>,
    prepares: Vec<valu::Prepare>,
    choices: Vec<valu::Choice>,
    indexing: Indexing,
    skipping: Skipping,
    single_rows: HashMap<u32, u16>,
    pair_rows: HashMap<u64, u16>,
    /// Handlers for AVX2, FMA and F16C may be used.
    pub(crate) avx2: bool,
    /// The kernel's MODE may flush denormals: float operations must check it.
    pub(super) flush: bool,
    /// MODE may select another rounding than to nearest even, or limit half-precision overflow.
    pub(super) rounds: bool,
    /// The code can change MODE's IEEE bit.
    pub(super) changes_ieee: bool,
    /// The initial MODE of the kernel.
    pub(super) mode: Mode,
}

impl Lowering {
    /// Creates the state. `changes` are the bits of MODE that the code can change.
    fn new(layout: Layout, mode: Mode, changes: u32, avx2: bool) -> Lowering {
        let flush = changes & 0xf0 != 0 || mode.flushes_f32() || mode.flushes_f64();
        Lowering {
            layout,
            constants: Vec::new(),
            singles: HashMap::new(),
            pairs: HashMap::new(),
            constant_rows: Vec::new(),
            prepares: Vec::new(),
            choices: Vec::new(),
            indexing: Indexing::default(),
            skipping: Skipping::default(),
            single_rows: HashMap::new(),
            pair_rows: HashMap::new(),
            avx2,
            flush,
            rounds: changes & Mode::ROUNDING != 0 || mode.0 & Mode::ROUNDING != 0,
            changes_ieee: changes & Mode::IEEE != 0,
            mode,
        }
    }

    /// The row of a vector operand (`Vgpr` or `Agpr`); for wide operands the first of them.
    pub(crate) fn row(&self, operand: Operand) -> Option<u16> {
        match operand {
            Operand::Vgpr(n) if n < 256 => Some(self.layout.vgpr(n)),
            Operand::Agpr(n) if n < 256 => Some(self.layout.agpr(n)),
            _ => None,
        }
    }

    /// The number of vector registers, whose rows come first.
    pub(super) fn vgprs(&self) -> u16 {
        self.layout.vgprs
    }

    /// The slot of a 32-bit scalar operand: a register, or a constant (floats as f32, immediates sign-extended).
    pub(crate) fn slot(&mut self, operand: Operand) -> Option<u16> {
        if let Some(slot) = register_slot(operand) {
            return Some(slot);
        }
        let bits = constant32(operand)?;
        if let Some(slot) = self.singles.get(&bits) {
            return Some(*slot);
        }
        let slot = self.push_constant(&[bits])?;
        self.singles.insert(bits, slot);
        Some(slot)
    }

    /// The first of the two slots of a 64-bit scalar operand: a register pair or a constant.
    pub(crate) fn slot64(&mut self, operand: Operand, wide: Wide) -> Option<u16> {
        let special = match operand {
            Operand::Special(Special::SharedBase) => Some(slot::SHARED_BASE),
            Operand::Special(Special::SharedLimit) => Some(slot::SHARED_LIMIT),
            Operand::Special(Special::PrivateBase) => Some(slot::PRIVATE_BASE),
            Operand::Special(Special::PrivateLimit) => Some(slot::PRIVATE_LIMIT),
            Operand::Special(Special::PopsExitingWaveId) => Some(slot::POPS),
            // The encoding after these is something else, so they have no high half.
            Operand::Special(Special::Scc | Special::Vccz | Special::Execz) => return None,
            other => register_slot(other),
        };
        if special.is_some() {
            return special;
        }
        self.constant_slots(constant64(operand, wide)?)
    }

    /// The first of two slots that hold `bits`, low half first.
    pub(super) fn constant_slots(&mut self, bits: u64) -> Option<u16> {
        if let Some(slot) = self.pairs.get(&bits) {
            return Some(*slot);
        }
        let slot = self.push_constant(&[bits as u32, (bits >> 32) as u32])?;
        self.pairs.insert(bits, slot);
        Some(slot)
    }

    fn push_constant(&mut self, words: &[u32]) -> Option<u16> {
        let slot = usize::from(slot::CONSTANTS) + self.constants.len();
        // Leaves room, so that an access a few slots further cannot wrap.
        let slot = u16::try_from(slot).ok().filter(|s| *s < u16::MAX - 64)?;
        self.constants.extend_from_slice(words);
        Some(slot)
    }

    /// The row that holds `bits` in every lane, if there is still room for one.
    pub(super) fn constant_row(&mut self, bits: u32) -> Option<u16> {
        if let Some(row) = self.single_rows.get(&bits) {
            return Some(*row);
        }
        if self.constant_rows.len() >= MAX_CONSTANT_ROWS {
            return None;
        }
        let row = self.layout.constant_row(self.constant_rows.len() as u16);
        self.constant_rows.push(bits);
        self.single_rows.insert(bits, row);
        Some(row)
    }

    /// The first of two rows that hold `bits` in every lane, low half first.
    pub(super) fn constant_row_pair(&mut self, bits: u64) -> Option<u16> {
        if let Some(row) = self.pair_rows.get(&bits) {
            return Some(*row);
        }
        if self.constant_rows.len() + 1 >= MAX_CONSTANT_ROWS {
            return None;
        }
        let row = self.layout.constant_row(self.constant_rows.len() as u16);
        self.constant_rows.extend([bits as u32, (bits >> 32) as u32]);
        self.pair_rows.insert(bits, row);
        Some(row)
    }

    /// The first of the two rows for the prepared source `i`.
    pub(super) fn prepared(&self, i: usize) -> u16 {
        self.layout.prepared(i)
    }

    /// Registers a vector operation's preparation. Returns the value for `Micro::pre` or `post`.
    pub(super) fn push_prepare(&mut self, prepare: valu::Prepare) -> Option<u32> {
        self.prepares.push(prepare);
        u32::try_from(self.prepares.len()).ok()
    }

    /// Registers handlers that depend on MODE. Returns the value for `Micro::aux`.
    pub(super) fn push_choice(&mut self, choice: valu::Choice) -> Option<u32> {
        self.choices.push(choice);
        u32::try_from(self.choices.len() - 1).ok()
    }

    fn micro(&mut self, inst: &Inst, source: u32) -> Micro {
        let mut m = plain(unsupported, source);
        let handler = match inst.format {
            Format::Sop2 | Format::Sop1 | Format::Sopk | Format::Sopc | Format::Sopp => salu::lower(inst, self, &mut m),
            Format::Vop3p if inst.op.info().is(Flags::mfma) => matrix::lower(inst, self, &mut m),
            Format::Vop2
            | Format::Vop1
            | Format::Vopc
            | Format::Vop3
            | Format::Vop3b
            | Format::Vop3p
            | Format::Sdwa
            | Format::Dpp => valu::lower(inst, self, &mut m),
            Format::Smem
            | Format::Ds
            | Format::Flat
            | Format::Global
            | Format::Scratch
            | Format::Mubuf
            | Format::Mtbuf
            | Format::Mimg => mem::lower(inst, self, &mut m),
            Format::Vintrp | Format::Exp => None,
        };
        match handler {
            Some(handler) => Micro { run: handler, ..m },
            None => plain(unsupported, source),
        }
    }
}

/// The slot of a scalar register.
fn register_slot(operand: Operand) -> Option<u16> {
    match operand {
        Operand::Sgpr(n) if n < 102 => Some(n),
        Operand::Ttmp(n) if n < 16 => Some(slot::TTMP + n),
        Operand::Special(special) => Some(match special {
            Special::FlatScratchLo => slot::FLAT_SCRATCH,
            Special::FlatScratchHi => slot::FLAT_SCRATCH + 1,
            Special::XnackMaskLo => slot::XNACK_MASK,
            Special::XnackMaskHi => slot::XNACK_MASK + 1,
            Special::VccLo => slot::VCC,
            Special::VccHi => slot::VCC + 1,
            Special::M0 => slot::M0,
            Special::ExecLo => slot::EXEC,
            Special::ExecHi => slot::EXEC + 1,
            Special::SharedBase => slot::SHARED_BASE,
            Special::SharedLimit => slot::SHARED_LIMIT,
            Special::PrivateBase => slot::PRIVATE_BASE,
            Special::PrivateLimit => slot::PRIVATE_LIMIT,
            Special::PopsExitingWaveId => slot::POPS,
            Special::Vccz => slot::VCCZ,
            Special::Execz => slot::EXECZ,
            Special::Scc => slot::SCC,
            Special::LdsDirect => return None,
        }),
        _ => None,
    }
}

/// The bits of a constant in a 32-bit operand.
pub(super) fn constant32(operand: Operand) -> Option<u32> {
    Some(match operand {
        Operand::Int(n) => i32::from(n) as u32,
        Operand::Float(f) => float32(f).to_bits(),
        Operand::Literal(bits) => bits,
        Operand::Imm(n) => n as u32,
        _ => return None,
    })
}

/// The bits of a constant in a 16-bit operand; inline floats are half precision.
pub(super) fn constant16(operand: Operand) -> Option<u32> {
    Some(match operand {
        Operand::Float(f) => u32::from(match f {
            InlineFloat::Half => 0x3800_u16,
            InlineFloat::MinusHalf => 0xb800,
            InlineFloat::One => 0x3c00,
            InlineFloat::MinusOne => 0xbc00,
            InlineFloat::Two => 0x4000,
            InlineFloat::MinusTwo => 0xc000,
            InlineFloat::Four => 0x4400,
            InlineFloat::MinusFour => 0xc400,
            InlineFloat::Inv2Pi => 0x3118,
        }),
        other => constant32(other)?,
    })
}

/// The bits of a constant in a 64-bit operand.
pub(super) fn constant64(operand: Operand, wide: Wide) -> Option<u64> {
    Some(match operand {
        Operand::Int(n) => i64::from(n) as u64,
        Operand::Imm(n) => i64::from(n) as u64,
        Operand::Float(InlineFloat::Inv2Pi) => 0x3fc4_5f30_6dc9_c882,
        Operand::Float(f) => f64::from(float32(f)).to_bits(),
        Operand::Literal(bits) => match wide {
            Wide::Unsigned => u64::from(bits),
            Wide::Signed => i64::from(bits as i32) as u64,
            Wide::Double => u64::from(bits) << 32,
        },
        _ => return None,
    })
}

fn float32(f: InlineFloat) -> f32 {
    match f {
        InlineFloat::Half => 0.5,
        InlineFloat::MinusHalf => -0.5,
        InlineFloat::One => 1.0,
        InlineFloat::MinusOne => -1.0,
        InlineFloat::Two => 2.0,
        InlineFloat::MinusTwo => -2.0,
        InlineFloat::Four => 4.0,
        InlineFloat::MinusFour => -4.0,
        InlineFloat::Inv2Pi => f32::from_bits(0x3e22_f983),
    }
}

/// A micro-operation without operands.
pub(super) fn plain(run: Handler, source: u32) -> Micro {
    Micro { run, dst: slot::SINK, dst2: slot::SINK, src: [slot::SINK; 4], pre: 0, post: 0, aux: 0, source }
}

pub(super) fn unsupported(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let why = match ctx.program.inst(m) {
        Some(inst) => Trap::Unsupported(why_not(inst)),
        None => Trap::Undecodable(ctx.program.source(m).word),
    };
    w.fail(why)
}

fn ran_off(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    w.fail(Trap::WildJump(ctx.program.source(m).address))
}

fn jump(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    w.pc = m.aux;
    Flow::Jump
}

/// Why an instruction is not supported.
fn why_not(inst: &Inst) -> &'static str {
    match inst.op {
        Op::s_rfe_b64 | Op::s_rfe_restore_b64 => {
            "a privileged instruction: it ends a trap handler, and no trap handler is installed"
        }
        Op::s_set_gpr_idx_on => "indexing of registers in code whose instructions overlap",
        Op::s_endpgm_ordered_ps_done => {
            "the end of a pixel shader's ordered section: its message is not one that compute waves can send"
        }
        _ if inst.mods.gds => "the global data share",
        Op::v_dot2c_f32_f16 | Op::v_pk_fmac_f16 => {
            "the sign or the absolute value of a pair of halves in this encoding: no manual says what they mean"
        }
        _ => "the software GPU does not carry this instruction out",
    }
}

/// Whether an instruction reads `src_vccz` or `src_execz`.
pub(super) fn reads_zero_flags(inst: &Inst) -> bool {
    inst.src.iter().any(|s| matches!(s, Operand::Special(Special::Vccz | Special::Execz)))
}

/// Updates the slots of `src_vccz` and `src_execz`.
fn zero_flags(w: &mut Wave, _: &Micro, _: &mut Ctx<'_>) -> Flow {
    w.set_slot(slot::VCCZ, u32::from(w.vcc() == 0));
    w.set_slot(slot::EXECZ, u32::from(w.exec() == 0));
    Flow::Next
}

/// The word index of the target of a direct branch at word `at`.
pub(super) fn branch_target(inst: &Inst, at: u32) -> Option<i64> {
    let offset = match (inst.format, inst.op) {
        (
            Format::Sopp,
            Op::s_branch
            | Op::s_cbranch_scc0
            | Op::s_cbranch_scc1
            | Op::s_cbranch_vccz
            | Op::s_cbranch_vccnz
            | Op::s_cbranch_execz
            | Op::s_cbranch_execnz
            | Op::s_cbranch_cdbgsys
            | Op::s_cbranch_cdbguser
            | Op::s_cbranch_cdbgsys_or_user
            | Op::s_cbranch_cdbgsys_and_user,
        )
        | (Format::Sopk, Op::s_call_b64 | Op::s_cbranch_i_fork) => match inst.src[0] {
            Operand::Imm(n) => n,
            _ => return None,
        },
        _ => return None,
    };
    Some(i64::from(at) + 1 + i64::from(offset))
}

pub(super) fn ends_flow(op: Op) -> bool {
    matches!(op, Op::s_endpgm | Op::s_endpgm_saved | Op::s_branch | Op::s_setpc_b64)
}

/// Returns whether an instruction has no effect here: memory is in order, and there is no clock to save.
fn is_no_operation(op: Op) -> bool {
    matches!(op, Op::s_waitcnt | Op::s_nop | Op::s_setprio)
}

/// Finds the instructions that are reachable from word `entry` by direct branches, and whether there is an indirect
/// branch among them.
pub(super) fn reachable(text: &[u32], entry: u32, arch: isa::Arch) -> (BTreeMap<u32, Option<Inst>>, bool) {
    let mut found = BTreeMap::new();
    let mut open = vec![entry];
    let mut indirect = false;
    while let Some(start) = open.pop() {
        let mut at = start;
        while (at as usize) < text.len() && !found.contains_key(&at) {
            let Ok(inst) = isa::decode(&text[at as usize..], arch) else {
                found.insert(at, None);
                break;
            };
            found.insert(at, Some(inst));
            if let Some(target) = branch_target(&inst, at) {
                if let Ok(target) = u32::try_from(target) {
                    open.push(target);
                }
            }
            indirect |= matches!(inst.op, Op::s_setpc_b64 | Op::s_swappc_b64 | Op::s_cbranch_g_fork);
            if ends_flow(inst.op) {
                break;
            }
            at += u32::from(inst.size) / 4;
        }
    }
    (found, indirect)
}

/// Adds all of the text, since calls and far branches may go anywhere.
fn add_all(found: &mut BTreeMap<u32, Option<Inst>>, text: &[u32], arch: isa::Arch) {
    let mut at = 0;
    while (at as usize) < text.len() {
        let inst = match found.get(&at) {
            Some(known) => *known,
            None => {
                let inst = isa::decode(&text[at as usize..], arch).ok();
                found.insert(at, inst);
                inst
            }
        };
        at += inst.map_or(1, |i| u32::from(i.size) / 4);
    }
}

/// The common properties of all parts of code that is lowered in parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common {
    /// Vector and accumulation registers.
    pub(super) registers: (u16, u16),
    /// The bits of MODE that any part can change.
    pub(super) changes: u32,
    /// Any part can skip vector operations.
    pub(super) skips: bool,
}

/// The number of vector and accumulation registers that the code uses, with room for wide operands.
fn registers(code: &BTreeMap<u32, Option<Inst>>) -> (u16, u16) {
    let (mut vgprs, mut agprs) = (1, 0);
    for inst in code.values().flatten() {
        // Except for matrices, vector operands take at most two registers, memory operands four and a status.
        let reach = match inst.format {
            _ if inst.op == Op::v_mqsad_u32_u8 => 4,
            Format::Vop3p if inst.op.info().is(Flags::mfma) => 32,
            Format::Vop1
            | Format::Vop2
            | Format::Vopc
            | Format::Vop3
            | Format::Vop3b
            | Format::Vop3p
            | Format::Sdwa
            | Format::Dpp => 2,
            _ => 5,
        };
        for operand in [inst.dst, inst.dst2].into_iter().chain(inst.src) {
            match operand {
                Operand::Vgpr(n) => vgprs = vgprs.max(n + reach),
                Operand::Agpr(n) => agprs = agprs.max(n + reach),
                _ => {}
            }
        }
    }
    (vgprs, agprs)
}

/// The number of scalar registers, from the first on, that the code may use.
fn scalars(code: &BTreeMap<u32, Option<Inst>>) -> usize {
    let mut most = 0;
    for inst in code.values().flatten() {
        // The fork stack is implicit in the instructions that use it.
        if ["movrel", "fork", "join"].iter().any(|word| inst.op.mnemonic().contains(word)) {
            return usize::from(slot::FLAT_SCRATCH);
        }
        for operand in [inst.dst, inst.dst2].into_iter().chain(inst.src) {
            if let Operand::Sgpr(n) = operand {
                // The widest operand has 16.
                most = most.max(usize::from(n) + 16);
            }
        }
    }
    most.min(usize::from(slot::FLAT_SCRATCH))
}

/// The last instructions with consecutive micro-operations.
#[derive(Default)]
struct Recent {
    code: Vec<Inst>,
    /// The required position of the next micro-operation.
    next: usize,
}

impl Recent {
    fn push(&mut self, micro: usize, inst: Inst) {
        if micro != self.next {
            self.code.clear();
        }
        if self.code.len() == 3 {
            self.code.remove(0);
        }
        self.code.push(inst);
        self.next = micro + 1;
    }

    fn instructions(&self) -> &[Inst] {
        &self.code
    }
}

/// The position of a program's code.
struct Places<'t> {
    /// The words, from the first instruction to the end of the last.
    text: &'t [u32],
    /// The address of the first of them.
    address: u64,
    /// The end address of the code object's code.
    beyond: u64,
    /// The word of the first instruction to execute.
    start: u32,
}

impl Program {
    /// Lowers the kernel whose first instruction is at address `entry` of `text`, which starts at `text_address`.
    ///
    /// `resources` come from the kernel's descriptor. Undecodable words, unsupported instructions, and those that use
    /// registers which the kernel lacks trap when (and only when) they are reached. An entry outside the text is an
    /// error. If there is more code than `whole` words, called code is lowered only on the first call.
    pub(crate) fn lower(
        text: &[u32],
        text_address: u64,
        entry: u64,
        resources: impl Into<Resources>,
        arch: isa::Arch,
        whole: usize,
    ) -> Result<Program, Trap> {
        let resources = resources.into();
        let wild = Trap::WildJump(entry);
        let offset = entry.checked_sub(text_address).filter(|o| o % 4 == 0).ok_or(wild.clone())?;
        let start = u32::try_from(offset / 4).ok().filter(|s| (*s as usize) < text.len()).ok_or(wild)?;
        let (mut code, indirect) = reachable(text, start, arch);
        if indirect && text.len() > whole {
            return Ok(Parts::root(text, text_address, &code, start, resources, arch));
        }
        if indirect {
            add_all(&mut code, text, arch);
        }
        let program = Program::cut(&code, text, text_address, start, resources, None);
        Ok(Program { arch, ..program })
    }

    /// Lowers a part of the code: `code` has instructions by their word offsets in `text`, and `start` is the first.
    pub(super) fn part_of(
        code: &BTreeMap<u32, Option<Inst>>,
        text: &[u32],
        text_address: u64,
        start: u32,
        (resources, arch): (Resources, isa::Arch),
        common: &Common,
    ) -> Program {
        let program = Program::cut(code, text, text_address, start, resources, Some(common));
        Program { arch, ..program }
    }

    /// Makes a program of the piece of `text` that contains `code`, so that the per-word tables cover only that piece.
    fn cut(
        code: &BTreeMap<u32, Option<Inst>>,
        text: &[u32],
        text_address: u64,
        start: u32,
        resources: Resources,
        common: Option<&Common>,
    ) -> Program {
        let first = code.keys().next().copied().unwrap_or(start);
        let end = code.last_key_value().map_or(first + 1, |(at, inst)| at + inst.map_or(1, |i| u32::from(i.size) / 4));
        let moved = code.iter().map(|(at, inst)| (at - first, *inst)).collect();
        let piece = &text[first as usize..(end as usize).min(text.len())];
        let (address, beyond) = (text_address + 4 * u64::from(first), text_address + 4 * text.len() as u64);
        let places = Places { text: piece, address, beyond, start: start - first };
        Program::assemble_as(&moved, places, resources, cpu::has_avx2(), common)
    }

    /// Makes a program for gfx90a from decoded instructions, given by their word offsets in `text`.
    pub(super) fn assemble(
        code: &BTreeMap<u32, Option<Inst>>,
        text: &[u32],
        text_address: u64,
        start: u32,
        resources: impl Into<Resources>,
        avx2: bool,
    ) -> Program {
        let beyond = text_address + 4 * text.len() as u64;
        let places = Places { text, address: text_address, beyond, start };
        Program::assemble_as(code, places, resources.into(), avx2, None)
    }

    /// The same, for a part of code that shares the properties `common` with other parts.
    fn assemble_as(
        code: &BTreeMap<u32, Option<Inst>>,
        Places { text, address: text_address, beyond, start }: Places<'_>,
        Resources { rsrc1, allocation }: Resources,
        avx2: bool,
        common: Option<&Common>,
    ) -> Program {
        let (mut vgprs, agprs) = common.map_or_else(|| registers(code), |common| common.registers);
        let has = |wanted: &[Op]| code.values().flatten().any(|i| wanted.contains(&i.op));
        if has(&[Op::s_set_gpr_idx_on]) {
            // Indexed registers need not be named: all allocated ones may be used.
            vgprs = vgprs.max(allocation.vgprs);
        }
        // Code that jumps into the middle of its own instructions consists of two streams, of which only one can be followed.
        let mut ends = code.iter().map(|(at, inst)| at + inst.map_or(1, |i| u32::from(i.size) / 4));
        let overlaps = code.keys().skip(1).any(|next| ends.next().is_some_and(|end| end > *next));
        let strays = code.values().flatten().any(|inst| allocation.stray(inst).is_some());
        let changes = common.map_or_else(|| salu::mode_changes(code.values().flatten()), |common| common.changes);
        let skips = common.map_or_else(|| code.values().flatten().any(skipped::may_begin), |common| common.skips);
        let mode = Mode::from_rsrc1(rsrc1);
        let layout = Layout { vgprs, agprs, constants: 0 };
        let mut l = Lowering::new(layout, mode, changes, avx2);

        let mut micros = Vec::with_capacity(code.len() + 1);
        let mut sources = Vec::with_capacity(code.len() + 1);
        let mut index = vec![u32::MAX; text.len()];
        let mut branches = Vec::new();
        let mut recent = Recent::default();
        let mut singles = BTreeMap::new();
        let mut sums = BTreeMap::new();
        let mut iter = code.iter().peekable();
        while let Some((&at, inst)) = iter.next() {
            let source = sources.len() as u32;
            sources.push(Source { address: text_address + u64::from(at) * 4, word: text[at as usize], inst: *inst });
            index[at as usize] = micros.len() as u32;
            let Some(inst) = inst else {
                micros.push(plain(unsupported, source));
                continue;
            };
            if reads_zero_flags(inst) {
                micros.push(plain(zero_flags, source));
            }
            if !is_no_operation(inst.op) {
                if let Some(target) = branch_target(inst, at) {
                    branches.push((micros.len(), target));
                }
                let micro = if overlaps && inst.op == Op::s_set_gpr_idx_on {
                    plain(unsupported, source)
                } else if strays && allocation.stray(inst).is_some() {
                    plain(stray, source)
                } else {
                    l.micro(inst, source)
                };
                let micro = l.indexing.apply(inst, micro);
                micros.push(if skips { l.skipping.apply(inst, micro) } else { micro });
                recent.push(micros.len() - 1, *inst);
            }
            let next = at + u32::from(inst.size) / 4;
            if inst.op == Op::v_addc_co_u32 && !overlaps && !skips && !strays && !l.indexing.is_on() {
                let after = code.range(next..).map_while(|(_, inst)| inst.as_ref());
                if let Some(sum) = valu::fuse(recent.instructions(), next, after, &mut l) {
                    let first = micros.len() - sum.count;
                    singles.insert(first as u32, micros[first]);
                    let source = micros[first].source;
                    micros[first] = Micro { source, ..sum.micro };
                    let address: u64 = sources[source as usize].address;
                    sums.insert(((address - text_address) / 4) as u32, sum);
                }
            }
            if !ends_flow(inst.op) && iter.peek().is_none_or(|(n, _)| **n != next) {
                branches.push((micros.len(), i64::from(next)));
                micros.push(plain(jump, source));
            }
        }
        let end = micros.len() as u32;
        let source = sources.len() as u32;
        sources.push(Source { address: beyond, word: 0, inst: None });
        micros.push(plain(ran_off, source));
        for (micro, target) in branches {
            let target = usize::try_from(target).ok().and_then(|t| index.get(t).copied());
            micros[micro].aux = target.filter(|t| *t != u32::MAX).unwrap_or(end);
        }

        let affine = if overlaps || strays || common.is_some() {
            affine::Lowered::default()
        } else {
            mem::share(code, start, &index, &mut micros);
            let (micros, singles) = (&mut micros[..], &mut singles);
            affine::lower(affine::Code { code, start, sums: &sums, index: &index, micros, singles }, &mut l)
        };

        Program {
            micros,
            sources,
            entry: index[start as usize],
            mode,
            arch: isa::Arch::Gfx90a,
            allocation,
            layout: Layout {
                // All parts have the same row layout.
                constants: if common.is_some() { MAX_CONSTANT_ROWS } else { l.constant_rows.len() } as u16,
                ..layout
            },
            constants: l.constants,
            constant_rows: l.constant_rows,
            prepares: l.prepares,
            choices: l.choices,
            indexed: l.indexing.finish(),
            skipped: l.skipping.finish(),
            singles,
            eager: affine.eager,
            starts_held: affine.starts_held,
            scalars: if common.is_some() { usize::from(slot::FLAT_SCRATCH) } else { scalars(code) },
            clear: if common.is_some() { None } else { liveness::clear(code, start, &layout) },
            parts: None,
            text_address,
            index,
        }
    }
}

const _: () = assert!(PREPARED_ROWS >= 8);

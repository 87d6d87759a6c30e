//! A decoded instruction, as used by the disassembler and the executor.

pub use super::format::Format;
use super::{Flags, Op, Type};

/// Where an operand's value is, or the value itself.
///
/// Register operands name the first register; how many consecutive ones follow is a fact of the
/// instruction ([`OpInfo`](super::OpInfo)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Operand {
    /// The instruction has no operand in this place.
    #[default]
    None,
    /// Vector register `v0..v255`.
    Vgpr(u16),
    /// Accumulation register `a0..a255`.
    Agpr(u16),
    /// Scalar register `s0..s101`.
    Sgpr(u16),
    /// Trap handler temporary `ttmp0..ttmp15`.
    Ttmp(u16),
    /// A named scalar register or value.
    Special(Special),
    /// Inline integer constant, -16 to 64.
    Int(i8),
    /// Inline floating-point constant.
    Float(InlineFloat),
    /// A 32-bit literal that follows the instruction word.
    Literal(u32),
    /// An immediate field of the encoding (SOPK and SOPP constants, hwreg, sendmsg, waitcnt, SMEM offsets),
    /// sign-extended where the field is signed.
    Imm(i32),
}

/// Scalar registers and values that have names of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the ISA manual's own")]
pub enum Special {
    FlatScratchLo,
    FlatScratchHi,
    XnackMaskLo,
    XnackMaskHi,
    VccLo,
    VccHi,
    M0,
    ExecLo,
    ExecHi,
    SharedBase,
    SharedLimit,
    PrivateBase,
    PrivateLimit,
    PopsExitingWaveId,
    Vccz,
    Execz,
    Scc,
    LdsDirect,
}

/// The floating-point constants that an operand field can hold; their width is the instruction's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are their values")]
pub enum InlineFloat {
    Half,
    MinusHalf,
    One,
    MinusOne,
    Two,
    MinusTwo,
    Four,
    MinusFour,
    /// 1 / (2 * pi)
    Inv2Pi,
}

/// Which part of a register SDWA reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs, reason = "the names are the assembler's")]
pub enum SdwaSel {
    Byte0,
    Byte1,
    Byte2,
    Byte3,
    Word0,
    Word1,
    #[default]
    Dword,
}

/// What SDWA does with the bits of the destination that it does not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SdwaUnused {
    /// Zero.
    #[default]
    Pad,
    /// Sign extension.
    Sext,
    /// The old value.
    Preserve,
}

/// SDWA's selections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Sdwa {
    /// Written part of the destination (`Dword` for compares).
    pub dst_sel: SdwaSel,
    /// The destination's other bits.
    pub dst_unused: SdwaUnused,
    /// Read part of each source.
    pub src_sel: [SdwaSel; 2],
    /// Whether each integer source is sign-extended.
    pub sext: [bool; 2],
}

/// DPP's lane pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Dpp {
    /// The 9-bit control field: which lane each lane reads from.
    pub ctrl: u16,
    /// Rows of 16 lanes that are written, a bit each.
    pub row_mask: u8,
    /// Banks of 4 lanes that are written, a bit each.
    pub bank_mask: u8,
    /// Read zero, instead of keeping the old value, where the source lane is out of range.
    pub bound_ctrl: bool,
}

/// What an image instruction adds to its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Image {
    /// Components that are moved, a bit each (4 bits).
    pub dmask: u8,
    /// Coordinates are not normalised.
    pub unorm: bool,
    /// The image is an array.
    pub da: bool,
    /// Coordinates are 16 bits wide.
    pub a16: bool,
    /// Warn about levels of detail that are not resident.
    pub lwe: bool,
    /// Components are 16 bits wide, two a register.
    pub d16: bool,
}

impl Image {
    /// The registers that `op` moves: one a component, two components a register where they are 16 bits wide.
    #[must_use]
    pub fn data(self, op: Op) -> Type {
        let components = (self.dmask & 15).count_ones();
        let registers = if self.d16 { components.div_ceil(2) } else { components };
        let least = u32::from(op == Op::image_atomic_cmpswap) + 1;
        let registers = match registers {
            // An atomic works on one or two components, and reads a mask of four as one.
            4 if op.info().is(Flags::atomic) && op != Op::image_atomic_cmpswap => 1,
            _ => registers.max(least),
        };
        [Type::B32, Type::B64, Type::B96, Type::B128][registers as usize - 1]
    }
}

/// Modifiers. Fields that the encoding does not have are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Mods {
    /// Absolute value, bit i for `src[i]` (in `v_fma_mix*` too).
    pub abs: u8,
    /// Negation, bit i for `src[i]` (low halves in VOP3P).
    pub neg: u8,
    /// VOP3P: negation of the high halves.
    pub neg_hi: u8,
    /// VOP3 and VOP3P `op_sel`: bit i for `src[i]`, bit 3 for the destination.
    pub op_sel: u8,
    /// VOP3P `op_sel_hi`, bit i for `src[i]` (all ones for dot products of 4 or 8 elements, which read whole
    /// registers).
    pub op_sel_hi: u8,
    /// Output modifier: 0 none, 1 times 2, 2 times 4, 3 divided by 2.
    pub omod: u8,
    /// Clamp the result.
    pub clamp: bool,
    /// Globally coherent; on an atomic: return the old value.
    pub glc: bool,
    /// Streaming (system level coherent).
    pub slc: bool,
    /// System coherence (gfx90a).
    pub scc: bool,
    /// The memory operand goes to LDS.
    pub lds: bool,
    /// DS: global data share.
    pub gds: bool,
    /// Byte offset of a memory instruction, sign-extended; DS `offset0` of a two-offset form. In SMEM with an offset
    /// register: the number added to it, also in `src[3]`.
    pub offset: i32,
    /// DS: second offset of a two-offset form.
    pub offset1: u8,
    /// MUBUF: add the offset register.
    pub offen: bool,
    /// MUBUF: add the index register.
    pub idxen: bool,
    /// MUBUF and MIMG: texture fail enable.
    pub tfe: bool,
    /// MTBUF: data and number format (7 bits).
    pub format: u8,
    /// MFMA: broadcast control and block permutation: `cbsz` (3 bits), `abid` (4 bits), `blgp` (3 bits).
    pub mfma: (u8, u8, u8),
    /// SMEM: the offset is a register (`src[1]`), not an immediate.
    pub soffset_en: bool,
    /// SDWA selections, when the format is [`Format::Sdwa`].
    pub sdwa: Option<Sdwa>,
    /// DPP pattern, when the format is [`Format::Dpp`].
    pub dpp: Option<Dpp>,
    /// Image modifiers, when the format is [`Format::Mimg`].
    pub image: Option<Image>,
}

/// A decoded instruction.
///
/// Operand places by kind of instruction (a place that an instruction lacks is `Operand::None`):
///
/// | kind | `dst` | `dst2` | `src[0]` | `src[1]` | `src[2]` | `src[3]` |
/// |---|---|---|---|---|---|---|
/// | SOP1, SOP2, SOPK | sdst | | ssrc0 (SOPK: `Imm`) | ssrc1 | | |
/// | `s_cmpk_*`, `s_setreg*`, `s_cbranch_i_fork` | | | `Imm` | the register (`s_setreg_imm32`: `Literal`) | | |
/// | SOPC | | | ssrc0 | ssrc1 | | |
/// | SOPP | | | `Imm` (simm16, sign-extended) | | | |
/// | SMEM atomic | old value if `glc` | | sbase | offset | sdata | |
/// | SMEM load | sdst | | sbase | offset (`Imm`, or register) | | |
/// | SMEM store | | | sbase | offset | sdata | |
/// | VOP1, VOP2, VOP3, VOP3P | vdst | carry-out sdst, `vcc` in VOP2 | src0 | src1 | src2 (carry-in `vcc` in VOP2; `v_fmac` and `v_mac`: none, they read `dst`) | |
/// | `v_fmamk`, `v_madmk` | vdst | | src0 | literal | src1 (VGPR) | |
/// | `v_fmaak`, `v_madak` | vdst | | src0 | src1 (VGPR) | literal | |
/// | VOPC (and its e64) | mask sdst (`vcc` in e32 and most SDWA) | | src0 | src1 | | |
/// | DS | vdst | | addr VGPR | data0 | data1 | |
/// | FLAT, GLOBAL, SCRATCH | vdst (loads, returning atomics) | | vaddr (`None` if off) | vdata | saddr (`None` if off) | |
/// | MUBUF, MTBUF | vdata of loads and returning atomics | | vaddr | vdata of stores and atomics | srsrc | soffset |
/// | MIMG | vdata of loads and returning atomics | | vaddr (the first register: how many follow is a fact of the image) | vdata of stores and atomics | srsrc | ssamp |
///
/// `v_readfirstlane`/`v_readlane` have a scalar `dst`. Where the operation reads its destination (`v_fmac`, `v_mac`,
/// partial writes), `dst` is read too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// The encoding it was found in.
    pub format: Format,
    /// Bytes, with the literal: 4 or 8 (12 for a 64-bit encoding with a literal, which gfx90a lacks).
    pub size: u8,
    /// Destination.
    pub dst: Operand,
    /// Second destination.
    pub dst2: Operand,
    /// Sources.
    pub src: [Operand; 4],
    /// Modifiers.
    pub mods: Mods,
}

impl Inst {
    /// The operands that are registers of a file ([`Operand::Vgpr`], [`Operand::Agpr`], [`Operand::Sgpr`]),
    /// destinations first, each with how many consecutive ones the instruction takes. Of an image's address only the
    /// first is counted, and of what an index in `m0` is added to the one that is named.
    pub fn registers(&self) -> impl Iterator<Item = (Operand, u16)> {
        let is_register = |operand| matches!(operand, Operand::Vgpr(_) | Operand::Agpr(_) | Operand::Sgpr(_));
        self.operands().into_iter().filter(move |(operand, _)| is_register(*operand))
    }

    /// All operands, `dst`, `dst2`, then `src`, each with how many consecutive registers it takes if it is one.
    pub(crate) fn operands(&self) -> [(Operand, u16); 6] {
        let info = self.op.info();
        let (mut dst, mut src) = (info.dst, info.src);
        match self.format {
            Format::Flat | Format::Global | Format::Scratch if self.src[2] != Operand::None => src[0] = Type::U32,
            Format::Mubuf | Format::Mtbuf => {
                src[0] = if self.mods.offen && self.mods.idxen { Type::B64 } else { Type::U32 };
            }
            Format::Mimg => {
                let data = self.mods.image.map_or(Type::B32, |image| image.data(self.op));
                (dst, src[0], src[1]) = (data, Type::U32, data);
            }
            _ => {}
        }
        // What failed of a load goes to the register after its data.
        let status = u16::from(self.mods.tfe);
        let count = |ty: Type| ty.dwords().max(1) as u16;
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| (self.src[i], count(src[i])));
        [(self.dst, count(dst) + status), (self.dst2, count(info.dst2)), a, b, c, d]
    }
}

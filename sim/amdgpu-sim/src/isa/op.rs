//! The instruction set as data: one [`OpInfo`] an instruction, from the rows in `table`.

use super::format::Format;
use super::types::Type;
use std::fmt;

/// An instruction set architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arch {
    /// MI200 (`gfx90a`).
    Gfx90a,
    /// MI300 (`gfx942`).
    Gfx942,
}

impl Arch {
    /// All architectures.
    pub const ALL: [Arch; 2] = [Arch::Gfx90a, Arch::Gfx942];

    /// LLVM's name of the processor.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Arch::Gfx90a => "gfx90a",
            Arch::Gfx942 => "gfx942",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of boolean properties of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Flags(u32);

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        impl Flags {
            $($(#[$doc])* #[allow(non_upper_case_globals, reason = "the table's own spelling")]
            pub const $name: Flags = Flags(1 << $bit);)*
        }
    };
}

flags! {
    /// The destination is also a source (accumulates, or keeps the bits that it does not write).
    reads_dst = 0;
    /// A vector instruction with a scalar destination.
    scalar_dst = 1;
    /// Has no 64-bit (VOP3) encoding.
    no_e64 = 2;
    /// Has no SDWA encoding.
    no_sdwa = 3;
    /// Has no DPP encoding.
    no_dpp = 4;
    /// A 32-bit literal always follows.
    literal = 5;
    /// Reads and writes memory as one step. With a `dst` it returns the old value (FLAT, MUBUF and SMEM: when `glc` is
    /// set).
    atomic = 6;
    /// DS: two offsets of 8 bits, in elements.
    two_offsets = 7;
    /// DS: the two offsets count 64 elements.
    stride64 = 8;
    /// Loads or stores the low 16 bits of the register; the others stay.
    d16 = 9;
    /// Loads or stores the high 16 bits of the register; the others stay.
    d16_hi = 10;
    /// Can move its data to LDS instead of registers.
    lds = 11;
    /// Moves its data from or to LDS always.
    lds_only = 12;
    /// The buffer's format converts the data.
    format = 13;
    /// Only valid with the GDS bit.
    gds = 14;
    /// VOP3: `op_sel` picks halves of the operands.
    op_sel = 15;
    /// VOP3: an integer result can be clamped (a float one always can).
    clamp = 16;
    /// VOP3: no clamping, although operands are floats.
    no_clamp = 17;
    /// VOP3: no output multiplier, although operands are floats.
    no_omod = 18;
    /// A matrix product.
    mfma = 19;
}

impl Flags {
    /// No flags.
    pub const EMPTY: Flags = Flags(0);

    /// Whether all flags of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// The table's entry for an instruction.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// LLVM's mnemonic, without an encoding suffix.
    pub mnemonic: &'static str,
    /// Its native encoding. A VOP1, VOP2 or VOPC also has VOP3, SDWA and DPP encodings, unless `flags` exclude them.
    pub format: Format,
    /// The opcode in that encoding, by [`Arch`]; `None` if the instruction does not exist.
    pub opcode: [Option<u16>; 2],
    /// Destination.
    pub dst: Type,
    /// Second destination (carry out).
    pub dst2: Type,
    /// Sources, in the places that [`Inst`](super::Inst) documents.
    pub src: [Type; 4],
    /// Other facts.
    pub flags: Flags,
}

impl OpInfo {
    /// Whether a flag is set.
    #[must_use]
    pub const fn is(&self, flag: Flags) -> bool {
        self.flags.contains(flag)
    }
}

macro_rules! type_of {
    (_) => {
        Type::None
    };
    ($name:ident) => {
        Type::$name
    };
}

macro_rules! code_of {
    (_) => {
        None
    };
    ($code:literal) => {
        Some($code)
    };
}

macro_rules! codes_of {
    ($both:tt) => {
        [code_of!($both), code_of!($both)]
    };
    ($gfx90a:tt $gfx942:tt) => {
        [code_of!($gfx90a), code_of!($gfx942)]
    };
}

/// Generates the enum and its properties from the table's rows.
macro_rules! define_ops {
    ([] $($format:ident { $(
        $name:ident = $code:tt $(/ $code2:tt)? : $dst:tt $(& $dst2:ident)? <- ($($src:tt),*) $([$($flag:ident)*])? ;
    )* })*) => {
        /// Every instruction of the supported architectures, by LLVM's mnemonic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(non_camel_case_types, missing_docs, reason = "the variants are LLVM's mnemonics")]
        #[repr(u16)]
        pub enum Op {
            $($($name,)*)*
        }

        impl Op {
            /// Every instruction, in the order of the table.
            pub const ALL: &'static [Op] = &[$($(Op::$name,)*)*];
        }

        static INFO: &[OpInfo] = &[$($(OpInfo {
            mnemonic: stringify!($name),
            format: Format::$format,
            opcode: codes_of!($code $($code2)?),
            dst: type_of!($dst),
            dst2: first_or_none([$(Type::$dst2)?]),
            src: padded(&[$(type_of!($src)),*]),
            flags: Flags::EMPTY $($(.with(Flags::$flag))*)?,
        },)*)*];
    };
}

const fn first_or_none<const N: usize>(types: [Type; N]) -> Type {
    if N == 0 { Type::None } else { types[0] }
}

const fn padded(types: &[Type]) -> [Type; 4] {
    let mut all = [Type::None; 4];
    let mut i = 0;
    while i < types.len() {
        all[i] = types[i];
        i += 1;
    }
    all
}

super::table::rows! { define_ops }

impl Op {
    /// The table's entry for this instruction.
    #[must_use]
    pub fn info(self) -> &'static OpInfo {
        &INFO[self as usize]
    }

    /// LLVM's mnemonic, without an encoding suffix.
    #[must_use]
    pub fn mnemonic(self) -> &'static str {
        self.info().mnemonic
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())
    }
}

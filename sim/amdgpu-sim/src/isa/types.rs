//! The types of operands: the meaning of their bits, and the number of their registers.

/// The kind of an operand's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// No operand.
    None,
    /// Bits with no arithmetic meaning.
    Bits,
    /// Two's complement integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
    /// IEEE 754 binary16, binary32 or binary64.
    Float,
    /// bfloat16.
    Bfloat,
    /// The 8-bit float with 4 exponent bits (E4M3 FNUZ on gfx942).
    Fp8,
    /// The 8-bit float with 5 exponent bits (E5M2 FNUZ on gfx942).
    Bf8,
    /// f16 or f32, chosen by `op_sel_hi` (`v_fma_mix*`).
    Mix,
    /// One bit per lane, in a pair of scalar registers.
    Mask,
    /// An immediate field of the encoding.
    Immediate,
}

macro_rules! types {
    ($($(#[$doc:meta])* $name:ident = $kind:ident $bits:literal x $count:literal;)*) => {
        /// The type of an operand: the kind, width and number of its elements.
        ///
        /// In memory instructions, the type of the data operand is the type in memory: `U8` is one byte, zero-extended
        /// into a register.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Type {
            $(
                $(#[$doc])*
                #[doc = concat!(stringify!($count), " x ", stringify!($bits), " bits, [`Kind::", stringify!($kind), "`].")]
                $name,
            )*
        }

        impl Type {
            /// The kind of the elements.
            #[must_use]
            pub const fn kind(self) -> Kind {
                match self {
                    $(Type::$name => Kind::$kind,)*
                }
            }

            /// Bits of one element.
            #[must_use]
            pub const fn element_bits(self) -> u32 {
                match self {
                    $(Type::$name => $bits,)*
                }
            }

            /// Number of elements.
            #[must_use]
            pub const fn elements(self) -> u32 {
                match self {
                    $(Type::$name => $count,)*
                }
            }
        }
    };
}

types! {
    /// The instruction has no operand in this place.
    None = None 0 x 0;
    B8 = Bits 8 x 1;
    B16 = Bits 16 x 1;
    B16x2 = Bits 16 x 2;
    B16x3 = Bits 16 x 3;
    B16x4 = Bits 16 x 4;
    B32 = Bits 32 x 1;
    B32x2 = Bits 32 x 2;
    B64 = Bits 64 x 1;
    B96 = Bits 96 x 1;
    B128 = Bits 128 x 1;
    B256 = Bits 256 x 1;
    B512 = Bits 512 x 1;
    I4x8 = Signed 4 x 8;
    I8 = Signed 8 x 1;
    I8x4 = Signed 8 x 4;
    I8x8 = Signed 8 x 8;
    I8x16 = Signed 8 x 16;
    I16 = Signed 16 x 1;
    I16x2 = Signed 16 x 2;
    I32 = Signed 32 x 1;
    I32x4 = Signed 32 x 4;
    I32x16 = Signed 32 x 16;
    I32x32 = Signed 32 x 32;
    I64 = Signed 64 x 1;
    U4x8 = Unsigned 4 x 8;
    U8 = Unsigned 8 x 1;
    U8x2 = Unsigned 8 x 2;
    U8x4 = Unsigned 8 x 4;
    U8x8 = Unsigned 8 x 8;
    U16 = Unsigned 16 x 1;
    U16x2 = Unsigned 16 x 2;
    U16x4 = Unsigned 16 x 4;
    U32 = Unsigned 32 x 1;
    U32x4 = Unsigned 32 x 4;
    U64 = Unsigned 64 x 1;
    F16 = Float 16 x 1;
    F16x2 = Float 16 x 2;
    F16x4 = Float 16 x 4;
    F16x8 = Float 16 x 8;
    F32 = Float 32 x 1;
    F32x2 = Float 32 x 2;
    F32x4 = Float 32 x 4;
    F32x16 = Float 32 x 16;
    F32x32 = Float 32 x 32;
    F64 = Float 64 x 1;
    F64x4 = Float 64 x 4;
    Bf16x2 = Bfloat 16 x 2;
    Bf16x4 = Bfloat 16 x 4;
    Bf16x8 = Bfloat 16 x 8;
    Fp8x4 = Fp8 8 x 4;
    Fp8x8 = Fp8 8 x 8;
    Fp8x16 = Fp8 8 x 16;
    Bf8x4 = Bf8 8 x 4;
    Bf8x8 = Bf8 8 x 8;
    Bf8x16 = Bf8 8 x 16;
    Mix = Mix 32 x 1;
    /// VCC, or any scalar pair in the 64-bit encoding.
    Mask = Mask 64 x 1;
    /// Sign-extended constant.
    Simm16 = Immediate 16 x 1;
    /// Constant without sign extension.
    Uimm16 = Immediate 16 x 1;
    /// Constant in the field of a scalar destination.
    Uimm7 = Immediate 7 x 1;
    /// Distance in dwords from the next instruction.
    Branch = Immediate 16 x 1;
    /// Hardware register: id, bit offset, size - 1.
    HwReg = Immediate 16 x 1;
    /// Message and operation.
    SendMsg = Immediate 16 x 1;
    /// Counters to wait for.
    WaitCnt = Immediate 16 x 1;
    /// Operands that `s_set_gpr_idx_*` applies to.
    GprIdx = Immediate 16 x 1;
}

impl Type {
    /// Number of consecutive 32-bit registers; 0 for none and for immediates.
    #[must_use]
    pub const fn dwords(self) -> u32 {
        match self.kind() {
            Kind::None | Kind::Immediate => 0,
            _ => (self.element_bits() * self.elements()).div_ceil(32),
        }
    }

    /// Number of bytes in memory.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        (self.element_bits() * self.elements()).div_ceil(8)
    }

    /// Whether negation and absolute value are meaningful as input modifiers: an IEEE float.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }
}

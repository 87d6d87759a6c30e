//! The operands of scalar operations.

use crate::exec::Wave;

/// The width of a scalar operand, and how a 64-bit one extends a literal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    W32,
    U64,
    I64,
}

/// The operands of a scalar ALU operation.
pub(super) struct Widths {
    pub(super) dst: Option<Width>,
    pub(super) src: &'static [Width],
    pub(super) reads_dst: bool,
    pub(super) unsigned: bool,
}

/// A type of scalar operand.
pub(super) trait Scalar: Copy {
    const WIDTH: Width;
    fn get(w: &Wave, slot: u16) -> Self;
    fn set(self, w: &mut Wave, slot: u16);
}

macro_rules! scalar {
    ($($type:ty, $width:ident, $get:ident, $set:ident, $bits:ty;)*) => { $(
        impl Scalar for $type {
            const WIDTH: Width = Width::$width;
            #[inline(always)]
            fn get(w: &Wave, slot: u16) -> Self {
                w.$get(slot) as $type
            }
            #[inline(always)]
            fn set(self, w: &mut Wave, slot: u16) {
                w.$set(slot, self as $bits);
            }
        }
    )* };
}

scalar! {
    u32, W32, slot, set_slot, u32;
    i32, W32, slot, set_slot, u32;
    u64, U64, slot64, set_slot64, u64;
    i64, I64, slot64, set_slot64, u64;
}

//! The types that operations read and write in each lane.

use super::half::F16;
use super::pair::{Pair16, Pair32, PairF16};
use super::preparation::Kind;
use crate::exec::LANES;

/// 64 32-bit values, one per lane.
pub(super) type Lanes = [u32; LANES];

/// A type that an operation reads or writes in each lane.
pub(super) trait Lane: Copy {
    /// The kind of operands of this type.
    const KIND: Kind;
    /// Whether it takes two registers.
    const WIDE: bool;
    fn get(low: &Lanes, high: &Lanes, lane: usize) -> Self;
    fn put(self, low: &mut [u32], high: &mut [u32], lane: usize);
}

macro_rules! lane {
    ($($type:ty, $kind:ident: $bits:ident => $from:expr, $value:ident => $to:expr;)*) => { $(
        impl Lane for $type {
            const KIND: Kind = Kind::$kind;
            const WIDE: bool = false;
            #[inline(always)]
            fn get(low: &Lanes, _: &Lanes, lane: usize) -> Self {
                let $bits = low[lane];
                $from
            }
            #[inline(always)]
            fn put(self, low: &mut [u32], _: &mut [u32], lane: usize) {
                let $value = self;
                low[lane] = $to;
            }
        }
    )* };
}

lane! {
    u32, B32: x => x, v => v;
    i32, B32: x => x as i32, v => v as u32;
    f32, F32: x => f32::from_bits(x), v => v.to_bits();
    u16, B16: x => x as u16, v => u32::from(v);
    i16, B16: x => x as i16, v => u32::from(v as u16);
    F16, F16: x => F16(x as u16), v => u32::from(v.0);
    Pair16, P16: x => Pair16(x), v => v.0;
    PairF16, PF16: x => PairF16(x), v => v.0;
}

macro_rules! wide_lane {
    ($($type:ty, $kind:ident: $bits:ident => $from:expr, $value:ident => $to:expr;)*) => { $(
        impl Lane for $type {
            const KIND: Kind = Kind::$kind;
            const WIDE: bool = true;
            #[inline(always)]
            fn get(low: &Lanes, high: &Lanes, lane: usize) -> Self {
                let $bits = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                $from
            }
            #[inline(always)]
            fn put(self, low: &mut [u32], high: &mut [u32], lane: usize) {
                let $value = self;
                let bits: u64 = $to;
                low[lane] = bits as u32;
                high[lane] = (bits >> 32) as u32;
            }
        }
    )* };
}

wide_lane! {
    u64, U64: x => x, v => v;
    i64, I64: x => x as i64, v => v as u64;
    f64, F64: x => f64::from_bits(x), v => v.to_bits();
    Pair32, PF32: x => Pair32(x), v => v.0;
}

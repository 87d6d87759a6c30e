//! Atomic operations on words, for every kind of memory.

use std::sync::OnceLock;

use super::fault::Checked;
use super::space::{Addresses, Space};
use crate::exec::lanes::lanes;
use crate::exec::{LANES, Wave};
use crate::fault::Access;
use crate::isa::{Arch, Flags, Kind, Op, Type};

/// An operation on one word: (old, data, second data) to new.
pub(super) type Operation32 = fn(u32, u32, u32) -> u32;
/// An operation on two words.
pub(super) type Operation64 = fn(u64, u64, u64) -> u64;

/// An atomic operation.
#[derive(Clone, Copy)]
pub(super) enum Operation {
    Word(Operation32),
    Long(Operation64),
}

/// The common part of the mnemonics of FLAT, GLOBAL, MUBUF, MIMG and DS atomics, without prefix and suffix.
fn core_name(op: Op) -> &'static str {
    let name = op.mnemonic();
    let name =
        ["flat_atomic_", "global_atomic_", "s_buffer_atomic_", "buffer_atomic_", "image_atomic_", "s_atomic_", "ds_"]
            .iter()
            .find_map(|p| name.strip_prefix(p))
            .unwrap_or(name);
    name.strip_suffix("_x2").unwrap_or(name)
}

fn min_f32(a: u32, b: u32, _: u32) -> u32 {
    minimum(f32::from_bits(a), f32::from_bits(b), |x, y| y < x).to_bits()
}

fn max_f32(a: u32, b: u32, _: u32) -> u32 {
    minimum(f32::from_bits(a), f32::from_bits(b), |x, y| y > x).to_bits()
}

fn min_f64(a: u64, b: u64, _: u64) -> u64 {
    minimum(f64::from_bits(a), f64::from_bits(b), |x, y| y < x).to_bits()
}

fn max_f64(a: u64, b: u64, _: u64) -> u64 {
    minimum(f64::from_bits(a), f64::from_bits(b), |x, y| y > x).to_bits()
}

/// Returns `b` if it is better than `a` or `a` is NaN, otherwise `a`.
#[expect(clippy::eq_op, reason = "only a NaN is unequal to itself")]
fn minimum<T: Copy + PartialEq>(a: T, b: T, better: impl Fn(T, T) -> bool) -> T {
    if better(a, b) || a != a { b } else { a }
}

/// Replaces each half whose data has the top bit set, by the other bits of the data.
fn conditional_exchange(a: u64, b: u64, _: u64) -> u64 {
    let half = |old: u64, new: u64| if new >> 31 & 1 == 1 { new & 0x7fff_ffff } else { old };
    half(a & 0xffff_ffff, b & 0xffff_ffff) | half(a >> 32, b >> 32) << 32
}

fn pk_add_f16(a: u32, b: u32, _: u32) -> u32 {
    use super::convert::{f16_to_f64, f64_to_f16};
    // The sum of two f16 is exact in f64: one rounding.
    let add = |x: u32, y: u32| u32::from(f64_to_f16(f16_to_f64(x as u16) + f16_to_f64(y as u16)));
    add(a, b) | add(a >> 16, b >> 16) << 16
}

fn pk_add_bf16(a: u32, b: u32, _: u32) -> u32 {
    use super::convert::f32_to_bf16;
    let wide = |x: u32| f32::from_bits(x << 16);
    let add = |x: u32, y: u32| u32::from(f32_to_bf16(wide(x) + wide(y)));
    add(a, b) | add(a >> 16, b >> 16) << 16
}

macro_rules! integers {
    ($name:ident, $int:ident, $signed:ident) => {
        /// The integer operations of this width, by the common part of their names.
        fn $name(name: &str) -> Option<fn($int, $int, $int) -> $int> {
            Some(match name {
                "swap" | "wrxchg" => |_, b, _| b,
                "cmpswap" => |a, b, c| if a == c { b } else { a },
                // DS: the comparand comes first.
                "cmpst" => |a, b, c| if a == b { c } else { a },
                "add" => |a, b, _| a.wrapping_add(b),
                "sub" => |a, b, _| a.wrapping_sub(b),
                "rsub" => |a, b, _| b.wrapping_sub(a),
                "smin" => |a, b, _| (a as $signed).min(b as $signed) as $int,
                "smax" => |a, b, _| (a as $signed).max(b as $signed) as $int,
                "umin" => |a, b, _| a.min(b),
                "umax" => |a, b, _| a.max(b),
                "and" => |a, b, _| a & b,
                "or" => |a, b, _| a | b,
                "xor" => |a, b, _| a ^ b,
                "inc" => |a, b, _| if a >= b { 0 } else { a + 1 },
                "dec" => |a, b, _| if a == 0 || a > b { b } else { a - 1 },
                "mskor" => |a, b, c| (a & !b) | c,
                "wrap" => |a, b, c| if a >= b { a - b } else { a.wrapping_add(c) },
                _ => return None,
            })
        }
    };
}

integers!(integer32, u32, i32);
integers!(integer64, u64, i64);

impl Operation {
    /// The operation of an atomic instruction on data of type `data`.
    pub(super) fn of(op: Op, data: Type) -> Option<Self> {
        let name = core_name(op);
        let name = name.replace("_rtn", "");
        let (name, suffix) =
            name.rsplit_once('_').filter(|(_, s)| s.ends_with(char::is_numeric)).unwrap_or((&name, ""));
        let float = data.kind() == Kind::Float || suffix.starts_with('f');
        // The data of a compare-and-swap is twice as wide as the word.
        let double = if name == "cmpswap" { data.bytes() == 16 } else { data.bytes() == 8 };
        match (name, suffix, double) {
            ("condxchg32", ..) => Some(Self::Long(conditional_exchange)),
            ("pk_add", "f16", _) => Some(Self::Word(pk_add_f16)),
            ("pk_add", "bf16", _) => Some(Self::Word(pk_add_bf16)),
            ("add", _, false) if float => Some(Self::Word(|a, b, _| (f32::from_bits(a) + f32::from_bits(b)).to_bits())),
            ("add", _, true) if float => Some(Self::Long(|a, b, _| (f64::from_bits(a) + f64::from_bits(b)).to_bits())),
            ("min", _, false) if float => Some(Self::Word(min_f32)),
            ("max", _, false) if float => Some(Self::Word(max_f32)),
            ("min", _, true) if float => Some(Self::Long(min_f64)),
            ("max", _, true) if float => Some(Self::Long(max_f64)),
            ("cmpst", _, false) if float => {
                Some(Self::Word(|a, b, c| if f32::from_bits(a) == f32::from_bits(b) { c } else { a }))
            }
            ("cmpst", _, true) if float => {
                Some(Self::Long(|a, b, c| if f64::from_bits(a) == f64::from_bits(b) { c } else { a }))
            }
            _ if float => None,
            (name, _, double) => {
                let signed = data.kind() == Kind::Signed;
                let name = match (name, signed) {
                    ("min", true) => "smin",
                    ("max", true) => "smax",
                    ("min", false) => "umin",
                    ("max", false) => "umax",
                    (other, _) => other,
                };
                if double { integer64(name).map(Self::Long) } else { integer32(name).map(Self::Word) }
            }
        }
    }

    /// Bytes of the word in memory.
    pub(super) fn bytes(self) -> u32 {
        match self {
            Self::Word(_) => 4,
            Self::Long(_) => 8,
        }
    }
}

/// The operands of an atomic instruction: rows.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// First data.
    pub(super) data: u16,
    /// Second data; any row if the operation has none.
    pub(super) second: u16,
    /// The row for the old value, if it is returned.
    pub(super) dst: Option<u16>,
}

/// Executes `operation` on the lanes' addresses, lane by lane.
pub(super) fn run<S: Space>(
    w: &mut Wave,
    space: &mut S,
    at: &Addresses,
    mask: u64,
    operation: Operation,
    rows: Rows,
) -> Checked {
    let bytes = operation.bytes();
    space.check(at, mask, bytes, u64::from(bytes) - 1, Access::Atomic)?;
    match operation {
        Operation::Word(f) => {
            let (data, second) = (*w.row(rows.data), *w.row_if_used(rows.second));
            let mut old = [0; LANES];
            for lane in lanes(mask) {
                // SAFETY: checked above, alignment too.
                old[lane] = unsafe { space.update32(lane, at[lane], |word| f(word, data[lane], second[lane])) };
            }
            if let Some(dst) = rows.dst {
                let row = w.row_mut(dst);
                lanes(mask).for_each(|lane| row[lane] = old[lane]);
            }
        }
        Operation::Long(f) => {
            let data = [*w.row(rows.data), *w.row(rows.data + 1)];
            let second = [*w.row_if_used(rows.second), *w.row_if_used(rows.second + 1)];
            let join =
                |pair: &[[u32; LANES]; 2], lane: usize| u64::from(pair[0][lane]) | u64::from(pair[1][lane]) << 32;
            let mut old = [0; LANES];
            for lane in lanes(mask) {
                let (data, second) = (join(&data, lane), join(&second, lane));
                // SAFETY: checked above, alignment too.
                old[lane] = unsafe { space.update64(lane, at[lane], |word| f(word, data, second)) };
            }
            if let Some(dst) = rows.dst {
                for lane in lanes(mask) {
                    w.row_mut(dst)[lane] = old[lane] as u32;
                    w.row_mut(dst + 1)[lane] = (old[lane] >> 32) as u32;
                }
            }
        }
    }
    Ok(())
}

/// The operation of the instruction that `m` was lowered from.
pub(super) fn of_micro(ctx: &crate::exec::Ctx<'_>, m: &crate::exec::Micro) -> Option<Operation> {
    static ALL: OnceLock<Vec<Option<Operation>>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let atomic = |op: &Op| op.info().is(Flags::atomic).then(|| Operation::of(*op, data_type(*op))).flatten();
        Op::ALL.iter().map(atomic).collect()
    });
    let op = ctx.program.inst(m)?.op;
    let single = matches!(op, Op::global_atomic_add_f32 | Op::buffer_atomic_add_f32 | Op::flat_atomic_add_f32);
    if single && ctx.program.arch() == Arch::Gfx90a {
        // On gfx90a, device memory flushes denormals regardless of MODE; on gfx942 it keeps them.
        return Some(Operation::Word(|a, b, _| {
            flushed((f32::from_bits(flushed(a)) + f32::from_bits(flushed(b))).to_bits())
        }));
    }
    // The enum's discriminants are indices of the table's rows.
    *all.get(op as usize)?
}

/// The bits of a single; a denormal becomes zero of the same sign.
pub(super) fn flushed(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// The type of the first data operand.
pub(super) fn data_type(op: Op) -> Type {
    op.info().src[if op.info().format == crate::isa::Format::Smem { 2 } else { 1 }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(op: Op) -> Operation32 {
        match Operation::of(op, data_type(op)) {
            Some(Operation::Word(f)) => f,
            _ => panic!("{op} is not an operation on a word"),
        }
    }

    fn long(op: Op) -> Operation64 {
        match Operation::of(op, data_type(op)) {
            Some(Operation::Long(f)) => f,
            _ => panic!("{op} is not an operation on two words"),
        }
    }

    #[test]
    fn every_atomic_of_the_table_has_an_operation_of_its_width() {
        for op in Op::ALL.iter().filter(|op| op.info().is(Flags::atomic)) {
            let name = op.mnemonic();
            if name.starts_with("image") || name.contains("xchg2") {
                continue;
            }
            let operation = Operation::of(*op, data_type(*op)).unwrap_or_else(|| panic!("{name} has none"));
            let long = name.ends_with("_x2") || name.ends_with("64");
            assert_eq!(operation.bytes(), if long { 8 } else { 4 }, "{name}");
        }
    }

    #[test]
    fn operations_do_what_the_manual_says() {
        assert_eq!(word(Op::global_atomic_cmpswap)(5, 9, 5), 9);
        assert_eq!(word(Op::global_atomic_cmpswap)(6, 9, 5), 6);
        assert_eq!(word(Op::ds_cmpst_b32)(5, 5, 9), 9, "the comparand comes first");
        assert_eq!(word(Op::ds_cmpst_b32)(6, 5, 9), 6);
        assert_eq!(word(Op::flat_atomic_inc)(7, 7, 0), 0);
        assert_eq!(word(Op::flat_atomic_inc)(6, 7, 0), 7);
        assert_eq!(word(Op::flat_atomic_dec)(0, 7, 0), 7);
        assert_eq!(word(Op::flat_atomic_dec)(9, 7, 0), 7);
        assert_eq!(word(Op::flat_atomic_dec)(3, 7, 0), 2);
        assert_eq!(word(Op::ds_rsub_u32)(3, 10, 0), 7);
        assert_eq!(word(Op::ds_min_rtn_i32)(u32::MAX, 1, 0), u32::MAX);
        assert_eq!(word(Op::ds_min_rtn_u32)(u32::MAX, 1, 0), 1);
        assert_eq!(long(Op::ds_condxchg32_rtn_b64)(0x1111_2222_3333, 0x8000_0007_0000_0009, 0), 0x7_2222_3333);
        assert_eq!(long(Op::ds_condxchg32_rtn_b64)(0x1111_2222_3333, 0x0000_0007_8000_0009, 0), 0x1111_0000_0009);
        assert_eq!(word(Op::s_atomic_umax)(3, 9, 0), 9);
        assert_eq!(long(Op::s_buffer_atomic_cmpswap_x2)(3, 9, 3), 9);
        assert_eq!(word(Op::ds_mskor_b32)(0b1111, 0b0110, 0b0010), 0b1011);
        assert_eq!(long(Op::global_atomic_smax_x2)(u64::MAX, 1, 0), 1);
        assert_eq!(long(Op::global_atomic_umax_x2)(u64::MAX, 1, 0), u64::MAX);
        assert_eq!(long(Op::global_atomic_add_f64)(1.5_f64.to_bits(), 2.0_f64.to_bits(), 0), 3.5_f64.to_bits());
        assert_eq!(word(Op::global_atomic_add_f32)(1.5_f32.to_bits(), 2.0_f32.to_bits(), 0), 3.5_f32.to_bits());
        assert_eq!(word(Op::ds_max_f32)(f32::NAN.to_bits(), 2.0_f32.to_bits(), 0), 2.0_f32.to_bits());
        assert_eq!(word(Op::global_atomic_pk_add_f16)(0x3c00_4000, 0x3c00_3c00, 0), 0x4000_4200);
    }
}

//! Instructions with SDWA, DPP, operand selection, clamping and signs, as inline assembly in IR: random modifiers and
//! operands, compared with a model of the modifiers and one of the operation, both following AMD's manuals.

use std::fmt::Write as _;

use amdgpu_sim::{Arch, Config, Gpu};

use crate::common::{Args, Random, launch_1d, load, upload, zeros};
use crate::compiler::Compiler;
use crate::interpret::{narrow, wide};
use crate::numbers::sum_to_odd;

const LANES: usize = 64;
/// Random variants of each operation.
const VARIANTS: usize = 6;

/// The interpretation of operands.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// An integer of 16 or 32 bits: a selected part may be sign-extended.
    Int,
    /// Floats support absolute value and negation.
    F16,
    F32,
}

/// An operation: its name, the kind and width of operands, their number (1 or 2), and its result.
struct Op(&'static str, Kind, u32, usize, fn(u32, u32) -> u32);

fn f16(f: impl Fn(f64, f64) -> f64, a: u32, b: u32) -> u32 {
    narrow(16, f(wide(16, a.into()), wide(16, b.into()))) as u32
}

fn f32(f: impl Fn(f64, f64) -> f64, a: u32, b: u32) -> u32 {
    narrow(32, f(wide(32, a.into()), wide(32, b.into()))) as u32
}

/// The lesser of two numbers, of two zeros the negative one.
fn lesser(a: f64, b: f64) -> f64 {
    if a < b || a == b && a.is_sign_negative() { a } else { b }
}

const OPS: &[Op] = &[
    Op("v_add_u32", Kind::Int, 32, 2, u32::wrapping_add),
    Op("v_sub_u32", Kind::Int, 32, 2, u32::wrapping_sub),
    Op("v_subrev_u32", Kind::Int, 32, 2, |a, b| b.wrapping_sub(a)),
    Op("v_and_b32", Kind::Int, 32, 2, |a, b| a & b),
    Op("v_or_b32", Kind::Int, 32, 2, |a, b| a | b),
    Op("v_xor_b32", Kind::Int, 32, 2, |a, b| a ^ b),
    Op("v_lshlrev_b32", Kind::Int, 32, 2, |a, b| b << (a & 31)),
    Op("v_lshrrev_b32", Kind::Int, 32, 2, |a, b| b >> (a & 31)),
    Op("v_ashrrev_i32", Kind::Int, 32, 2, |a, b| (b as i32 >> (a & 31)) as u32),
    Op("v_min_i32", Kind::Int, 32, 2, |a, b| (a as i32).min(b as i32) as u32),
    Op("v_max_u32", Kind::Int, 32, 2, u32::max),
    Op("v_mul_u32_u24", Kind::Int, 32, 2, |a, b| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)),
    Op("v_mul_i32_i24", Kind::Int, 32, 2, |a, b| {
        let low = |x: u32| (x << 8) as i32 >> 8;
        low(a).wrapping_mul(low(b)) as u32
    }),
    Op("v_mul_hi_u32_u24", Kind::Int, 32, 2, |a, b| (u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff) >> 32) as u32),
    Op("v_xnor_b32", Kind::Int, 32, 2, |a, b| !(a ^ b)),
    Op("v_add_u16", Kind::Int, 16, 2, |a, b| (a as u16).wrapping_add(b as u16).into()),
    Op("v_sub_u16", Kind::Int, 16, 2, |a, b| (a as u16).wrapping_sub(b as u16).into()),
    Op("v_mul_lo_u16", Kind::Int, 16, 2, |a, b| (a as u16).wrapping_mul(b as u16).into()),
    Op("v_lshlrev_b16", Kind::Int, 16, 2, |a, b| ((b as u16) << (a & 15)).into()),
    Op("v_lshrrev_b16", Kind::Int, 16, 2, |a, b| (b as u16 >> (a & 15)).into()),
    Op("v_ashrrev_i16", Kind::Int, 16, 2, |a, b| (b as i16 >> (a & 15)) as u16 as u32),
    Op("v_max_i16", Kind::Int, 16, 2, |a, b| (a as i16).max(b as i16) as u16 as u32),
    Op("v_min_u16", Kind::Int, 16, 2, |a, b| (a as u16).min(b as u16).into()),
    Op("v_mov_b32", Kind::Int, 32, 1, |a, _| a),
    Op("v_not_b32", Kind::Int, 32, 1, |a, _| !a),
    Op("v_bfrev_b32", Kind::Int, 32, 1, |a, _| a.reverse_bits()),
    Op("v_ffbh_u32", Kind::Int, 32, 1, |a, _| if a == 0 { u32::MAX } else { a.leading_zeros() }),
    Op("v_ffbl_b32", Kind::Int, 32, 1, |a, _| if a == 0 { u32::MAX } else { a.trailing_zeros() }),
    Op("v_cvt_f32_u32", Kind::Int, 32, 1, |a, _| (a as f32).to_bits()),
    Op("v_cvt_f32_i32", Kind::Int, 32, 1, |a, _| (a as i32 as f32).to_bits()),
    Op("v_cvt_f32_ubyte1", Kind::Int, 32, 1, |a, _| ((a >> 8 & 255) as f32).to_bits()),
    Op("v_cvt_f16_i16", Kind::Int, 16, 1, |a, _| narrow(16, (a as i16).into()) as u32),
    Op("v_add_f32", Kind::F32, 32, 2, |a, b| f32(sum_to_odd, a, b)),
    Op("v_sub_f32", Kind::F32, 32, 2, |a, b| f32(|a, b| sum_to_odd(a, -b), a, b)),
    Op("v_mul_f32", Kind::F32, 32, 2, |a, b| f32(|a, b| a * b, a, b)),
    Op("v_min_f32", Kind::F32, 32, 2, |a, b| f32(lesser, a, b)),
    Op("v_max_f32", Kind::F32, 32, 2, |a, b| f32(|a, b| -lesser(-a, -b), a, b)),
    Op("v_floor_f32", Kind::F32, 32, 1, |a, _| f32(|a, _| a.floor(), a, 0)),
    Op("v_rndne_f32", Kind::F32, 32, 1, |a, _| f32(|a, _| a.round_ties_even(), a, 0)),
    Op("v_cvt_f16_f32", Kind::F32, 32, 1, |a, _| narrow(16, wide(32, a.into())) as u32),
    Op("v_cvt_i32_f32", Kind::F32, 32, 1, |a, _| wide(32, a.into()) as i32 as u32),
    Op("v_add_f16", Kind::F16, 16, 2, |a, b| f16(sum_to_odd, a, b)),
    Op("v_subrev_f16", Kind::F16, 16, 2, |a, b| f16(|a, b| sum_to_odd(b, -a), a, b)),
    Op("v_mul_f16", Kind::F16, 16, 2, |a, b| f16(|a, b| a * b, a, b)),
    Op("v_min_f16", Kind::F16, 16, 2, |a, b| f16(lesser, a, b)),
    Op("v_ceil_f16", Kind::F16, 16, 1, |a, _| f16(|a, _| a.ceil(), a, 0)),
    Op("v_cvt_f32_f16", Kind::F16, 16, 1, |a, _| narrow(32, wide(16, a.into())) as u32),
    Op("v_cvt_u16_f16", Kind::F16, 16, 1, |a, _| wide(16, a.into()) as u16 as u32),
];

/// A part of a register: a byte, a half, or all of it.
const PARTS: [(&str, u32, u32); 7] = [
    ("BYTE_0", 0, 8),
    ("BYTE_1", 8, 8),
    ("BYTE_2", 16, 8),
    ("BYTE_3", 24, 8),
    ("WORD_0", 0, 16),
    ("WORD_1", 16, 16),
    ("DWORD", 0, 32),
];

fn mask(width: u32) -> u32 {
    u32::MAX >> (32 - width)
}

/// Sign modifiers that are applied before the operation.
#[derive(Clone, Copy, Default)]
struct Sign {
    abs: bool,
    neg: bool,
}

impl Sign {
    fn random(random: &mut Random, kind: Kind) -> Self {
        let bits = if kind == Kind::Int { 0 } else { random.next() };
        Self { abs: bits & 1 != 0, neg: bits & 2 != 0 }
    }

    fn of(self, x: u32, width: u32) -> u32 {
        let sign = 1 << (width - 1);
        let x = if self.abs { x & !sign } else { x };
        if self.neg { x ^ sign } else { x }
    }

    fn text(self, operand: &str) -> String {
        let inner = if self.abs { format!("|{operand}|") } else { operand.to_owned() };
        if self.neg { format!("-{inner}") } else { inner }
    }
}

/// A DPP control: the lane that it reads, if that exists.
#[derive(Clone, Copy)]
struct Control(&'static str, fn(usize) -> Option<usize>);

const CONTROLS: &[Control] = &[
    Control("quad_perm:[1,3,0,2]", |l| Some(l & !3 | [1, 3, 0, 2][l & 3])),
    Control("row_shl:3", |l| (l % 16 < 13).then_some(l + 3)),
    Control("row_shr:5", |l| (l % 16 >= 5).then(|| l - 5)),
    Control("row_ror:7", |l| Some(l & !15 | (l + 9) & 15)),
    Control("wave_shl:1", |l| (l < 63).then_some(l + 1)),
    Control("wave_rol:1", |l| Some((l + 1) & 63)),
    Control("wave_shr:1", |l| l.checked_sub(1)),
    Control("wave_ror:1", |l| Some((l + 63) & 63)),
    Control("row_mirror", |l| Some(l ^ 15)),
    Control("row_half_mirror", |l| Some(l ^ 7)),
    Control("row_bcast:15", |l| Some(if l >= 16 { (l & !15) - 1 } else { l })),
    Control("row_bcast:31", |l| Some(if l >= 32 { 31 } else { l })),
    Control("row_newbcast:9", |l| Some(l & !15 | 9)),
];

/// One instruction with modifiers: its text, and a lane's result from all lanes' operands and the register's old value.
struct Variant {
    text: String,
    result: Box<dyn Fn(usize, &[u32], &[u32], u32) -> u32>,
}

fn operands(count: usize, signs: [Sign; 2]) -> String {
    ["$1", "$2"].iter().zip(signs).take(count).fold(String::new(), |text, (o, sign)| text + ", " + &sign.text(o))
}

fn sdwa(op: &'static Op, random: &mut Random) -> Variant {
    let Op(name, kind, width, count, f) = *op;
    let mut part = || PARTS[random.next() as usize % PARTS.len()];
    let (to, from) = (part(), [part(), part()]);
    let unused = random.next() as usize % 3;
    let signs = [0; 2].map(|_| Sign::random(random, kind));
    let extend = [0; 2].map(|_| kind == Kind::Int && random.next() % 2 == 0);
    let mut text = format!("{name}_sdwa $0");
    for k in 0..count {
        let operand = signs[k].text(["$1", "$2"][k]);
        let _ = if extend[k] { write!(text, ", sext({operand})") } else { write!(text, ", {operand}") };
    }
    let unused_text = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"][unused];
    let _ = write!(text, " dst_sel:{} dst_unused:{unused_text} src0_sel:{}", to.0, from[0].0);
    if count == 2 {
        let _ = write!(text, " src1_sel:{}", from[1].0);
    }
    let result = move |lane: usize, a: &[u32], b: &[u32], old: u32| {
        let source = |k: usize, x: u32| {
            let (_, at, size) = from[k];
            let selected = x >> at & mask(size);
            let extended = if extend[k] { ((selected << (32 - size)) as i32 >> (32 - size)) as u32 } else { selected };
            signs[k].of(extended & mask(width), width)
        };
        let value = f(source(0, a[lane]), source(1, b[lane]));
        let (_, at, size) = to;
        let placed = (value & mask(size)) << at;
        match unused {
            _ if size == 32 => value,
            0 => placed,
            1 => ((value << (32 - size)) as i32 >> (32 - size) << at) as u32,
            _ => old & !(mask(size) << at) | placed,
        }
    };
    Variant { text, result: Box::new(result) }
}

fn dpp(op: &'static Op, random: &mut Random) -> Variant {
    let Op(name, kind, width, count, f) = *op;
    let Control(control, source) = CONTROLS[random.next() as usize % CONTROLS.len()];
    let signs = [0; 2].map(|_| Sign::random(random, kind));
    let (rows, banks) = (random.next() as usize & 15 | 1, random.next() as usize & 15 | 4);
    let bound = random.next() % 2 == 0;
    let suffix = if bound { " bound_ctrl:0" } else { "" };
    let text = format!("{name}_dpp $0{} {control} row_mask:{rows} bank_mask:{banks}{suffix}", operands(count, signs));
    let result = move |lane: usize, a: &[u32], b: &[u32], old: u32| {
        let from = match source(lane) {
            _ if rows >> (lane / 16) & 1 == 0 || banks >> (lane / 4 % 4) & 1 == 0 => return old,
            Some(from) => a[from],
            None if bound => 0,
            None => return old,
        };
        f(signs[0].of(from & mask(width), width), signs[1].of(b[lane] & mask(width), width))
    };
    Variant { text, result: Box::new(result) }
}

/// An operation on two halves: the number of operands, and whether they are floats.
struct Pair(&'static str, usize, bool, fn(u32, u32, u32) -> u32);

const PAIRS: &[Pair] = &[
    Pair("v_pk_add_f16", 2, true, |a, b, _| f16(sum_to_odd, a, b)),
    Pair("v_pk_mul_f16", 2, true, |a, b, _| f16(|a, b| a * b, a, b)),
    Pair("v_pk_min_f16", 2, true, |a, b, _| f16(lesser, a, b)),
    Pair("v_pk_fma_f16", 3, true, |a, b, c| {
        narrow(16, sum_to_odd(wide(16, a.into()) * wide(16, b.into()), wide(16, c.into()))) as u32
    }),
    Pair("v_pk_add_u16", 2, false, |a, b, _| (a + b) & 0xffff),
    Pair("v_pk_sub_i16", 2, false, |a, b, _| a.wrapping_sub(b) & 0xffff),
    Pair("v_pk_mad_i16", 3, false, |a, b, c| (a * b).wrapping_add(c) & 0xffff),
    Pair("v_pk_mul_lo_u16", 2, false, |a, b, _| (a * b) & 0xffff),
    Pair("v_pk_lshlrev_b16", 2, false, |a, b, _| b << (a & 15) & 0xffff),
    Pair("v_pk_ashrrev_i16", 2, false, |a, b, _| (b as i16 >> (a & 15)) as u16 as u32),
    Pair("v_pk_max_i16", 2, false, |a, b, _| (a as i16).max(b as i16) as u16 as u32),
    Pair("v_pk_min_u16", 2, false, |a, b, _| a.min(b)),
];

fn packed(pair: &'static Pair, random: &mut Random) -> Variant {
    let Pair(name, count, float, f) = *pair;
    let bits: [[bool; 3]; 4] =
        std::array::from_fn(|row| std::array::from_fn(|_| (row < 2 || float) && random.next() % 2 == 0));
    let list = |bits: [bool; 3]| bits[..count].iter().map(|b| u8::from(*b).to_string()).collect::<Vec<_>>().join(",");
    let mut text = format!("{name} $0, $1, $2");
    if count == 3 {
        text += ", $0";
    }
    let _ = write!(text, " op_sel:[{}] op_sel_hi:[{}]", list(bits[0]), list(bits[1]));
    if float {
        let _ = write!(text, " neg_lo:[{}] neg_hi:[{}]", list(bits[2]), list(bits[3]));
    }
    let result = move |lane: usize, a: &[u32], b: &[u32], old: u32| {
        let x = [a[lane], b[lane], old];
        let half = |high: usize| {
            let [p, q, r] = std::array::from_fn(|k| {
                let selected = x[k] >> (16 * u32::from(bits[high][k])) & 0xffff;
                Sign { abs: false, neg: bits[2 + high][k] }.of(selected, 16)
            });
            f(p, q, r)
        };
        half(0) | half(1) << 16
    };
    Variant { text, result: Box::new(result) }
}

/// Integer results that do not fit are clamped.
const CLAMPED: &[(&str, usize, fn(u32, u32, u32) -> u32)] = &[
    ("v_add_u32_e64 $0, $1, $2 clamp", 2, |a, b, _| a.saturating_add(b)),
    ("v_sub_u32_e64 $0, $1, $2 clamp", 2, |a, b, _| a.saturating_sub(b)),
    ("v_add_i32 $0, $1, $2 clamp", 2, |a, b, _| (a as i32).saturating_add(b as i32) as u32),
    ("v_sub_i32 $0, $1, $2 clamp", 2, |a, b, _| (a as i32).saturating_sub(b as i32) as u32),
    ("v_add_u16_e64 $0, $1, $2 clamp", 2, |a, b, _| (a as u16).saturating_add(b as u16).into()),
    ("v_sub_u16_e64 $0, $1, $2 clamp", 2, |a, b, _| (a as u16).saturating_sub(b as u16).into()),
    ("v_pk_add_i16 $0, $1, $2 clamp", 2, |a, b, _| {
        let half = |k: u32| u32::from(((a >> k) as i16).saturating_add((b >> k) as i16) as u16) << k;
        half(0) | half(16)
    }),
    ("v_pk_sub_u16 $0, $1, $2 clamp", 2, |a, b, _| {
        let half = |k: u32| u32::from(((a >> k) as u16).saturating_sub((b >> k) as u16)) << k;
        half(0) | half(16)
    }),
    ("v_mad_u32_u24 $0, $1, $2, $0 clamp", 3, |a, b, c| {
        let product = u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff);
        (product + u64::from(c)).min(u32::MAX.into()) as u32
    }),
    ("v_mad_i32_i24 $0, $1, $2, $0 clamp", 3, |a, b, c| {
        let low = |x: u32| i64::from((x << 8) as i32 >> 8);
        (low(a) * low(b) + i64::from(c as i32)).clamp(i32::MIN.into(), i32::MAX.into()) as u32
    }),
    // Where either half can be written, the other stays.
    ("v_mad_u16 $0, $1, $2, $0 clamp", 3, |a, b, c| {
        c & 0xffff_0000 | (u64::from(a & 0xffff) * u64::from(b & 0xffff) + u64::from(c & 0xffff)).min(0xffff) as u32
    }),
    ("v_mad_i16 $0, $1, $2, $0 clamp", 3, |a, b, c| {
        let half = |x: u32| i64::from(x as i16);
        c & 0xffff_0000 | (half(a) * half(b) + half(c)).clamp(-32768, 32767) as u16 as u32
    }),
    // Three operands without clamping, and combinations.
    ("v_add3_u32 $0, $1, $2, $0", 3, |a, b, c| a.wrapping_add(b).wrapping_add(c)),
    ("v_lshl_add_u32 $0, $1, $2, $0", 3, |a, b, c| (a << (b & 31)).wrapping_add(c)),
    ("v_add_lshl_u32 $0, $1, $2, $0", 3, |a, b, c| a.wrapping_add(b) << (c & 31)),
    ("v_lshl_or_b32 $0, $1, $2, $0", 3, |a, b, c| a << (b & 31) | c),
    ("v_and_or_b32 $0, $1, $2, $0", 3, |a, b, c| a & b | c),
    ("v_or3_b32 $0, $1, $2, $0", 3, |a, b, c| a | b | c),
    ("v_xad_u32 $0, $1, $2, $0", 3, |a, b, c| (a ^ b).wrapping_add(c)),
    ("v_bfi_b32 $0, $1, $2, $0", 3, |a, b, c| a & b | !a & c),
    ("v_bfm_b32 $0, $1, $2", 2, |a, b, _| ((1 << (a & 31)) - 1) << (b & 31)),
    ("v_bcnt_u32_b32 $0, $1, $2", 2, |a, b, _| a.count_ones().wrapping_add(b)),
    ("v_min3_i32 $0, $1, $2, $0", 3, |a, b, c| (a as i32).min(b as i32).min(c as i32) as u32),
    ("v_max3_u32 $0, $1, $2, $0", 3, |a, b, c| a.max(b).max(c)),
    ("v_med3_i32 $0, $1, $2, $0", 3, |a, b, c| {
        let mut all = [a as i32, b as i32, c as i32];
        all.sort_unstable();
        all[1] as u32
    }),
    ("v_med3_u16 $0, $1, $2, $0", 3, |a, b, c| {
        let mut all = [a as u16, b as u16, c as u16];
        all.sort_unstable();
        c & 0xffff_0000 | u32::from(all[1])
    }),
    ("v_mul_hi_i32 $0, $1, $2", 2, |a, b, _| (i64::from(a as i32) * i64::from(b as i32) >> 32) as u32),
    ("v_alignbit_b32 $0, $1, $2, $0", 3, |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32),
    // Halves chosen one by one.
    ("v_mad_u16 $0, $1, $2, $0 op_sel:[1,0,1,0]", 3, |a, b, c| {
        c & 0xffff_0000 | (a >> 16).wrapping_mul(b & 0xffff).wrapping_add(c >> 16) & 0xffff
    }),
    ("v_mad_u16 $0, $1, $2, $0 op_sel:[0,1,0,1]", 3, |a, b, c| {
        c & 0xffff | (a & 0xffff).wrapping_mul(b >> 16).wrapping_add(c & 0xffff) << 16
    }),
    ("v_pack_b32_f16 $0, $1, $2 op_sel:[1,0,0]", 2, |a, b, _| a >> 16 | b << 16),
];

/// A variant of each kind, whose third operand is the register's old value.
fn variants(random: &mut Random) -> Vec<Variant> {
    let mut all = Vec::new();
    for _ in 0..VARIANTS {
        all.extend(OPS.iter().map(|op| sdwa(op, random)));
        all.extend(OPS.iter().map(|op| dpp(op, random)));
        all.extend(PAIRS.iter().map(|pair| packed(pair, random)));
    }
    all.extend(CLAMPED.iter().map(|(text, _, f)| Variant {
        text: (*text).to_owned(),
        result: Box::new(|lane, a: &[u32], b: &[u32], old| f(a[lane], b[lane], old)),
    }));
    all
}

/// Two finite halves, so that no result is infinite or NaN; as a single, their bits are finite too.
fn finite(random: &mut Random) -> u32 {
    let half = |random: &mut Random| {
        let bits = match random.next() % 3 {
            0 => random.next() as u32 & 0xffff,
            1 => narrow(16, random.between(-8.0, 8.0)) as u32,
            _ => random.next() as u32 & 0x83ff,
        };
        if bits & 0x7c00 == 0x7c00 { bits & !0x4000 } else { bits }
    };
    half(random) | half(random) << 16
}

fn ir(variants: &[Variant]) -> String {
    let mut text = String::new();
    for (n, variant) in variants.iter().enumerate() {
        // A register that was just written needs a delay before DPP and SDWA read it.
        let _ = writeln!(
            text,
            "define amdgpu_kernel void @m{n}(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
 %lane = call i32 @llvm.amdgcn.workitem.id.x()
 %row = mul i32 %lane, 12
 %pa = getelementptr i8, ptr addrspace(1) %in, i32 %row
 %pb = getelementptr i8, ptr addrspace(1) %pa, i32 4
 %pc = getelementptr i8, ptr addrspace(1) %pa, i32 8
 %a = load i32, ptr addrspace(1) %pa
 %b = load i32, ptr addrspace(1) %pb
 %c = load i32, ptr addrspace(1) %pc
 %r = call i32 asm sideeffect \"s_nop 4\\0A {}\", \"=v,v,v,0\"(i32 %a, i32 %b, i32 %c)
 %at = mul i32 %lane, 4
 %to = getelementptr i8, ptr addrspace(1) %out, i32 %at
 store i32 %r, ptr addrspace(1) %to
 ret void
}}",
            variant.text
        );
    }
    text
}

#[test]
fn results_with_modifiers() {
    let Some(compiler) = Compiler::new() else { return };
    for (arch, seed) in [(Arch::Gfx90a, 21), (Arch::Gfx942, 22)] {
        let variants = variants(&mut Random(seed));
        let code = compiler.compile(&ir(&variants), arch, 1);
        let gpu = Gpu::new(Config { arch, instruction_budget: Some(1_000_000), ..Config::default() });
        let module = load(&gpu, &code);
        let mut random = Random(23);
        for (n, variant) in variants.iter().enumerate() {
            let integers = !["_f16", "_f32"].iter().any(|f| variant.text.contains(f));
            let mut draw = || if integers { random.integer() as u32 } else { finite(&mut random) };
            let input: Vec<u32> = (0..3 * LANES).map(|_| draw()).collect();
            let [a, b, c] = [0, 1, 2].map(|k| input.iter().skip(k).step_by(3).copied().collect::<Vec<u32>>());
            let (source, out) = (upload(&gpu, &input), zeros::<u32>(&gpu, LANES));
            launch_1d(&gpu, &module, &format!("m{n}"), 1, 64, &Args::default().pointer(&source).pointer(&out));
            for (lane, got) in out.get().into_iter().enumerate() {
                let expected = (variant.result)(lane, &a, &b, c[lane]);
                let operands = (a[lane], b[lane], c[lane]);
                let text = &variant.text;
                assert_eq!(got, expected, "{arch}, lane {lane}: {text}: {operands:x?}: {got:#x}, not {expected:#x}");
            }
        }
    }
}

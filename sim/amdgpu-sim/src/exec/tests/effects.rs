//! Every modifier bit of every vector instruction has an effect: a bit that is decoded and then ignored would silently
//! give wrong results.

use std::collections::BTreeSet;

use super::differ::{Code, State, go};
use super::streams::{Form, forms};
use super::*;
use crate::isa::{Arch, Flags, decode};

/// The minimum and maximum number of random instructions per form.
const TRIES: std::ops::Range<usize> = 40..800;

/// Modifier bits without effect: instructions (a trailing `*` matches a prefix), the bits in any encoding (matched as
/// prefixes), and the reason.
const WITHOUT_EFFECT: &[(&[&str], &[&str], &str)] = &[
    (
        &["v_cmp_f_*", "v_cmp_t_*", "v_cmp_tru_*", "v_cmpx_f_*", "v_cmpx_t_*", "v_cmpx_tru_*"],
        &["abs", "neg", "op_sel", "src0", "src1"],
        "the result is always the same",
    ),
    (
        &["v_cmp_o_*", "v_cmp_u_*", "v_cmpx_o_*", "v_cmpx_u_*"],
        &["abs", "neg", "src0_abs", "src0_neg", "src1_abs", "src1_neg"],
        "no sign makes a NaN",
    ),
    (&["v_cmp_*", "v_cmpx_*"], &["clamp"], "a mask is not clamped"),
    (
        &["v_cmp_o_*", "v_cmp_u_*", "v_cmpx_o_*", "v_cmpx_u_*"],
        &["src0_sel", "src1_sel"],
        "no byte or word by itself is a NaN of more bits",
    ),
    (&["v_*_f32"], &["src0_sel[0]"], "no register but a whole one is more than a denormal number"),
    (
        &["v_*_f16"],
        &["src0_sel[1]"],
        "the same: the lower word is that of the register, and bytes are denormal numbers",
    ),
    (
        &["v_cvt_f32_ubyte*", "v_cvt_off_f32_i4", "v_screen_partition_4se_b32"],
        &["dst_unused[0]"],
        "no part of the result has its highest bit set",
    ),
    (&["v_*_f64"], &["bound_ctrl"], "doubles are only moved from lanes that there are"),
    (&["v_cos_*"], &["abs[0]", "neg[0]", "src0_abs", "src0_neg"], "an even function"),
    (&["v_frexp_exp_*"], &["abs[0]", "neg[0]", "src0_abs", "src0_neg"], "an exponent has no sign"),
    (
        &["v_trig_preop_f64"],
        &["abs[0]", "neg[0]", "clamp"],
        "of the first operand only the exponent counts; bits of 2/pi are in range",
    ),
    (&["v_div_fixup_*"], &["abs[0]", "neg[0]"], "the quotient's sign comes from the other operands"),
    (&["v_div_scale_f64"], &["neg[1]", "neg[2]"], "exponents decide"),
    (&["v_cubesc_f32"], &["abs[1]", "neg[1]"], "y is only compared, by its absolute value"),
    (&["v_cubetc_f32"], &["abs[0]", "neg[0]"], "x is only compared, by its absolute value"),
    (
        &["v_cvt_i*", "v_cvt_u*", "v_cvt_norm_*", "v_cvt_pkrtz_f16_f32", "v_frexp_exp_*"],
        &["omod"],
        "only whole floats are multiplied",
    ),
    (
        &["v_alignb*", "v_max3_*16", "v_med3_*16", "v_min3_*16", "v_mqsad_u32_u8"],
        &["clamp"],
        "nothing that can overflow, or not with sums of this size",
    ),
    (&["v_alignb*"], &["op_sel"], "whole registers"),
    (&["v_mad_i32_i16", "v_mad_u32_u16"], &["op_sel[2]", "op_sel[3]"], "the sum is a whole register"),
    (&["v_cvt_pknorm_*", "v_pack_b32_f16"], &["op_sel[3]"], "the result is a whole register"),
    (&["v_cvt_pk_*8_f32", "v_cvt_sr_*8_f32"], &["op_sel[0]", "op_sel[1]"], "the sources are whole registers"),
    (&["v_dot2_*"], &["op_sel[2]", "op_sel_hi2", "neg_hi[2]"], "the sum is a whole register"),
    (&["v_dot4_*", "v_dot8_*"], &["neg_hi"], "integers of less than 16 bits"),
    (
        &["v_dot2c_i32_i16", "v_dot4c_i32_i8", "v_dot8c_i32_i4"],
        &["bound_ctrl"],
        "a product with zero leaves the sum as it is",
    ),
    (
        &["v_pk_lshlrev_b16", "v_pk_lshrrev_b16", "v_pk_ashrrev_i16"],
        &["neg[0]", "neg_hi[0]"],
        "four bits of the distance count",
    ),
    (&["v_pk_mov_b32"], &["neg[1]", "neg_hi[0]", "op_sel_hi"], "one word of each source is taken"),
    (
        &[
            "v_lshlrev_*",
            "v_lshrrev_*",
            "v_ashrrev_*",
            "v_ffbl_b32",
            "v_cvt_f32_ubyte0",
            "v_cvt_off_f32_i4",
            "v_screen_partition_4se_b32",
        ],
        &["src0_sext"],
        "the low bits count",
    ),
];

/// The index of the matching entry.
fn without_effect(op: Op, bit: &str) -> Option<usize> {
    let is = |pattern: &str| {
        let (start, end) = pattern.split_once('*').unwrap_or((pattern, ""));
        let name = op.mnemonic();
        if pattern.contains('*') { name.starts_with(start) && name.ends_with(end) } else { name == pattern }
    };
    let is_it = |(ops, bits, _): &(&[&str], &[&str], &str)| {
        ops.iter().any(|pattern| is(pattern)) && bits.iter().any(|start| bit.starts_with(start))
    };
    WITHOUT_EFFECT.iter().position(is_it)
}

/// The places of the modifiers in the two words of an encoding.
fn modifiers(inst: &Inst) -> Vec<(u32, String)> {
    let field = |low: u32, bits: u32, name: &str| {
        (0..bits).map(move |bit| (low + bit, format!("{name}[{bit}]"))).collect::<Vec<_>>()
    };
    let info = inst.op.info();
    let compares = info.format == Format::Vopc;
    match inst.format {
        Format::Vop3 => [
            field(8, 3, "abs"),
            field(11, 4, "op_sel"),
            field(15, 1, "clamp"),
            field(59, 2, "omod"),
            field(61, 3, "neg"),
        ]
        .concat(),
        Format::Vop3b => [field(15, 1, "clamp"), field(59, 2, "omod"), field(61, 3, "neg")].concat(),
        Format::Vop3p if info.is(Flags::mfma) => {
            [field(8, 3, "cbsz"), field(11, 4, "abid"), field(61, 3, "blgp")].concat()
        }
        Format::Vop3p => [
            field(8, 3, "neg_hi"),
            field(11, 3, "op_sel"),
            field(14, 1, "op_sel_hi2"),
            field(15, 1, "clamp"),
            field(59, 2, "op_sel_hi"),
            field(61, 3, "neg"),
        ]
        .concat(),
        Format::Sdwa => {
            let result = if compares {
                Vec::new()
            } else {
                [field(40, 3, "dst_sel"), field(43, 2, "dst_unused"), field(45, 1, "clamp"), field(46, 2, "omod")]
                    .concat()
            };
            let sources = [
                field(48, 3, "src0_sel"),
                field(51, 1, "src0_sext"),
                field(52, 1, "src0_neg"),
                field(53, 1, "src0_abs"),
                field(56, 3, "src1_sel"),
                field(59, 1, "src1_sext"),
                field(60, 1, "src1_neg"),
                field(61, 1, "src1_abs"),
            ];
            [result, sources.concat()].concat()
        }
        Format::Dpp => [
            field(40, 9, "dpp_ctrl"),
            field(51, 1, "bound_ctrl"),
            field(52, 1, "src0_neg"),
            field(53, 1, "src0_abs"),
            field(54, 1, "src1_neg"),
            field(55, 1, "src1_abs"),
            field(56, 4, "bank_mask"),
            field(60, 4, "row_mask"),
        ]
        .concat(),
        _ => Vec::new(),
    }
}

/// The modifier bits of a form in random instructions, and those of them that have an effect.
fn effects(form: &Form, arch: Arch, random: &mut Random) -> [BTreeSet<String>; 2] {
    let (mut there, mut changing) = (BTreeSet::new(), BTreeSet::new());
    for n in 0..TRIES.end {
        let Some((mut words, mut inst)) = form.words(arch, &mut || random.next()) else { continue };
        if matches!(inst.format, Format::Sdwa | Format::Dpp) {
            // What the encoding has, in half of the cases whole registers and rows, where the other modifiers show.
            let (info, plain) = (inst.op.info(), random.next() % 2 == 0);
            let mut put = |low: u32, bits: u32, value: u32| {
                let field = ((1 << bits) - 1) << (low - 32);
                words[1] = words[1] & !field | value << (low - 32);
            };
            let mut select = || if plain { 6 } else { random.next() as u32 % 7 };
            if inst.format == Format::Sdwa {
                put(48, 3, select());
                if info.format != Format::Vopc {
                    put(40, 3, select());
                    put(43, 2, select() % 3);
                }
                if info.format != Format::Vop1 {
                    put(56, 3, select());
                }
            } else if plain {
                // Of doubles, one lane of a row.
                put(40, 9, if info.src[0].bytes() == 8 { 0x153 } else { 0x111 });
                put(56, 8, 0xff);
            }
            let Ok(other) = decode(&words, arch) else { continue };
            inst = other;
        }
        let bits: Vec<(u32, String)> =
            modifiers(&inst).into_iter().filter(|(_, name)| !changing.contains(name)).collect();
        let open = |name: &&String| !changing.contains(*name) && without_effect(form.op, name).is_none();
        if words.len() < 2 || bits.is_empty() || n >= TRIES.start && !there.iter().any(|name| open(&name)) {
            break;
        }
        // Kept or flushed denormals, with or without IEEE mode and DX10_CLAMP.
        let mode = [DEFAULT_MODE, FLUSHING, DEFAULT_MODE & !(1 << 21), 0][random.next() as usize % 4];
        let mut state = State::random(random, Mode::from_rsrc1(mode));
        state.scalar[usize::from(slot::EXEC)..][..2].fill(u32::MAX);
        // In some lanes all operands are equal except for their signs, which comparisons can distinguish.
        for lane in (0..LANES).step_by(4) {
            let magnitude = state.vector[0].0[lane] & 0x7fff_7fff;
            for (n, row) in state.vector.iter_mut().enumerate() {
                // Of singles and halves, or of doubles.
                let signs = [0x8000_8000, [0, 1 << 31][n % 2]][lane / 4 % 2];
                row.0[lane] = magnitude | random.next() as u32 & signs;
            }
        }
        let run = |words: &[u32], inst: Inst| go(&Code::of(&[(words.to_vec(), inst)]), arch, mode, &state, false);
        let plain = run(&words, inst);
        for (bit, name) in bits {
            let mut flipped = words.clone();
            flipped[bit as usize / 32] ^= 1 << (bit % 32);
            let Ok(other) = decode(&flipped, arch) else { continue };
            if other.op != inst.op || other == inst {
                continue;
            }
            let after = run(&flipped, other);
            if plain.1 == Stop::End && after.1 == Stop::End {
                if plain.0.differs(&after.0).is_some() {
                    changing.insert(name.clone());
                }
                there.insert(name);
            }
        }
    }
    [there, changing]
}

#[test]
fn every_modifier_bit_changes_something() {
    let vector = |op: Op| {
        let format = op.info().format;
        matches!(format, Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vop3b | Format::Vop3p)
    };
    let (mut silent, mut used) = (Vec::new(), BTreeSet::new());
    let mut bits = 0;
    for arch in Arch::ALL {
        for form in forms(arch, vector) {
            let [there, changing] = effects(&form, arch, &mut Random::new(form.op as u64));
            bits += there.len();
            for bit in &there {
                match (changing.contains(bit), without_effect(form.op, bit)) {
                    (true, None) => {}
                    (false, Some(at)) => drop(used.insert(at)),
                    // Of a pattern, some may have one.
                    (true, Some(_)) => {}
                    (false, None) => silent.push(format!("{arch:?} {form} {bit}", form = form.op)),
                }
            }
        }
    }
    assert!(bits > 10_000, "{bits} bits were found");
    assert!(silent.is_empty(), "{} of {bits} bits:\n{}", silent.len(), silent.join("\n"));
    let unused: Vec<_> =
        (0..WITHOUT_EFFECT.len()).filter(|at| !used.contains(at)).map(|at| WITHOUT_EFFECT[at]).collect();
    assert!(unused.is_empty(), "not met: {unused:?}");
}

//! Every modifier bit of every memory instruction has an effect, like those of vector instructions in `effects`. An
//! access to another address may be a fault: that is an effect too. (Image instructions have their own tests, in
//! `image`.)

use std::collections::BTreeSet;

use super::footprint::{Bench, State, Style, aim, apart};
use super::streams::{Form, forms};
use super::*;
use crate::isa::{Arch, Flags, decode};

/// The maximum number of random instructions per form.
const TRIES: usize = 3000;

/// Modifier bits without effect: instructions (a trailing `*` matches a prefix), the bits (matched as prefixes), and
/// the reason.
const WITHOUT_EFFECT: &[(&[&str], &[&str], &str)] = &[
    (
        &["global_load_*", "flat_load_*", "scratch_load_*", "buffer_load_*", "tbuffer_load_*", "s_*load_*"],
        &["glc", "slc", "scc"],
        "the scope (sc0, nt and sc1 on gfx942): how far an access is coherent. There are no caches, so all are in all scopes",
    ),
    (
        &["global_store_*", "flat_store_*", "scratch_store_*", "buffer_store_*", "tbuffer_store_*", "s_*store_*"],
        &["glc", "slc", "scc"],
        "the same",
    ),
    (&["global_atomic_*", "flat_atomic_*", "buffer_atomic_*", "s_*atomic_*"], &["slc", "scc"], "the same"),
    (&["s_dcache_discard*", "s_atc_probe*"], &["offset", "soffset_en"], "hints: nothing is read or written"),
    (
        &["ds_permute_b32", "ds_bpermute_b32"],
        &[
            "offset[0]",
            "offset[1]",
            "offset[8]",
            "offset[9]",
            "offset[10]",
            "offset[11]",
            "offset[12]",
            "offset[13]",
            "offset[14]",
            "offset[15]",
        ],
        "bits 7:2 of the sum are the number of the lane",
    ),
];

/// The index of the matching entry.
fn without_effect(op: Op, bit: &str) -> Option<usize> {
    let is = |pattern: &str| match pattern.split_once('*') {
        Some((start, rest)) => {
            let name = op.mnemonic();
            name.starts_with(start) && name.contains(rest.trim_end_matches('*'))
        }
        None => op.mnemonic() == pattern,
    };
    let is_it = |(ops, bits, _): &(&[&str], &[&str], &str)| {
        ops.iter().any(|pattern| is(pattern)) && bits.iter().any(|start| bit.starts_with(start))
    };
    WITHOUT_EFFECT.iter().position(is_it)
}

/// The places of the modifiers in the two words of an encoding.
fn modifiers(inst: &Inst, arch: Arch) -> Vec<(u32, String)> {
    let field = |low: u32, bits: u32, name: &str| {
        (0..bits).map(move |bit| (low + bit, format!("{name}[{bit}]"))).collect::<Vec<_>>()
    };
    let buffer = [field(0, 12, "offset"), field(12, 1, "offen"), field(13, 1, "idxen"), field(14, 1, "glc")].concat();
    match inst.format {
        // An offset register has its number in the lowest bits.
        Format::Smem if inst.mods.soffset_en && inst.src[3] == Operand::None => field(16, 1, "glc"),
        Format::Smem => [field(14, 1, "soffset_en"), field(16, 1, "glc"), field(32, 21, "offset")].concat(),
        Format::Ds => field(0, 16, "offset"),
        Format::Flat => {
            [field(0, 12, "offset"), field(16, 1, "glc"), field(17, 1, "slc"), field(25, 1, "scc")].concat()
        }
        Format::Global | Format::Scratch => {
            let bit13 = if arch == Arch::Gfx942 { "sve" } else { "lds" };
            [field(0, 13, "offset"), field(13, 1, bit13), field(16, 1, "glc"), field(17, 1, "slc"), field(25, 1, "scc")]
                .concat()
        }
        Format::Mubuf => [buffer, field(15, 1, "scc"), field(16, 1, "lds"), field(17, 1, "slc")].concat(),
        Format::Mtbuf => [buffer, field(19, 7, "format"), field(53, 1, "scc"), field(54, 1, "slc")].concat(),
        _ => Vec::new(),
    }
}

/// The modifier bits of a form in random instructions, and those of them that have an effect.
fn effects(bench: &mut Bench, form: &Form, arch: Arch, random: &mut Random) -> [BTreeSet<String>; 2] {
    let (mut there, mut changing) = (BTreeSet::new(), BTreeSet::new());
    for n in 0..TRIES {
        let Some((mut words, inst)) = form.words(arch, &mut || random.next()) else { continue };
        // Only the registers determine the address.
        for (bit, name) in modifiers(&inst, arch) {
            let to_lds = name.starts_with("lds") && !form.op.info().is(Flags::lds_only);
            if name.starts_with("offset") || to_lds {
                words[bit as usize / 32] &= !(1 << (bit % 32));
            }
        }
        let Ok(inst) = decode(&words, arch) else { continue };
        let bits: Vec<_> = modifiers(&inst, arch).into_iter().filter(|(_, name)| !changing.contains(name)).collect();
        let open = |name: &&String| !changing.contains(*name) && without_effect(form.op, name).is_none();
        if n >= 8 && !changing.is_empty() && !there.iter().any(|name| open(&name)) {
            break;
        }
        if bits.is_empty() {
            continue;
        }
        let plain = apart(&inst);
        let style = [Style::Any, Style::Few, Style::Floats][n % 3];
        let mut state = State::random(random, style, true);
        aim(&mut state, &plain, bench.base);
        let mut run = |inst: Inst| bench.run(&Bench::program(inst, arch, false), &state);
        let before = run(plain);
        if before.stop != Stop::End {
            continue;
        }
        for (bit, name) in bits {
            let mut flipped = words.clone();
            flipped[bit as usize / 32] ^= 1 << (bit % 32);
            let Ok(other) = decode(&flipped, arch) else { continue };
            if other.op != inst.op || other == inst {
                continue;
            }
            let after = run(apart(&other));
            if before.stop != after.stop || before.state != after.state {
                changing.insert(name.clone());
            }
            there.insert(name);
        }
    }
    [there, changing]
}

#[test]
fn every_modifier_bit_of_memory_instructions_changes_something() {
    let memory = |op: Op| {
        let info = op.info();
        let accesses = matches!(
            info.format,
            Format::Smem | Format::Ds | Format::Flat | Format::Global | Format::Scratch | Format::Mubuf | Format::Mtbuf
        );
        // Cache control (also with scopes) and clocks have no address: without caches, the former has no effect. Instructions that wait for
        // other waves are excluded.
        accesses && info.src[0] != crate::isa::Type::None && !info.is(Flags::gds)
    };
    let mut bench = Bench::new();
    let (mut silent, mut never, mut used) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut bits = 0;
    for arch in Arch::ALL {
        for form in forms(arch, memory) {
            let [there, changing] = effects(&mut bench, &form, arch, &mut Random::new(form.op as u64));
            bits += there.len();
            let excused = |bit: &String| bit.starts_with("offset") && without_effect(form.op, bit).is_some();
            if changing.is_empty() && !there.iter().any(excused) {
                never.insert(form.op.mnemonic());
            }
            for bit in &there {
                match (changing.contains(bit), without_effect(form.op, bit)) {
                    (true, _) => {}
                    (false, Some(at)) => drop(used.insert(at)),
                    (false, None) => silent.push(format!("{arch:?} {form} {bit}", form = form.op)),
                }
            }
        }
    }
    assert!(silent.is_empty(), "{} of {bits} bits:\n{}", silent.len(), silent.join("\n"));
    assert!(never.is_empty(), "of these nothing was shown: {never:?}");
    assert!(bits > 3_000, "{bits} bits were found");
    assert_eq!(used.len(), WITHOUT_EFFECT.len(), "a reason that nothing needs");
}

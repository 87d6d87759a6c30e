//! Detects loads that poll a flag in LDS.
//!
//! An atomic load of workgroup scope from LDS is the same instruction as a plain one. But a load that control can reach
//! again, with the same address and no change of memory in between, is not plain: only another wave can end such a
//! loop. The same holds for an identical load before the loop, which the compiler has peeled off.

use std::collections::{HashSet, VecDeque};

use super::control_flow::{branch_target, ends_flow};
use super::liveness::{first_register, is_opaque, may_write};
use super::poll::may_change_memory;
use super::program::{Program, Source};
use crate::isa::inst::{Format, Inst};
use crate::isa::{Flags, Op};

/// The maximum number of instructions that are followed from a load, over all paths.
const MOST: usize = 256;

/// Returns for each of the [`sources`](Program::sources) whether it is such a load.
pub(crate) fn polling_loads(program: &Program) -> Vec<bool> {
    let sources = program.sources();
    let mut found = vec![false; sources.len()];
    let mut before = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        let Some((load, register)) = source.inst.as_ref().and_then(local_load) else { continue };
        let next = same_loads(sources, at, load, register);
        found[at] = next.contains(&at);
        if !found[at] && !next.is_empty() {
            before.push((at, next));
        }
    }
    let loops = found.clone();
    for (at, next) in before {
        found[at] = next.into_iter().any(|load| loops[load]);
    }
    found
}

/// The loads identical to `load`, number `at`, that can be reached from there without a change of memory or of its
/// address, in `register`.
fn same_loads(sources: &[Source], at: usize, load: &Inst, register: usize) -> Vec<usize> {
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    // The nearest first.
    let mut open = VecDeque::from(following(sources, at, load));
    while let Some(next) = open.pop_front() {
        if seen.len() == MOST || !seen.insert(next) {
            continue;
        }
        let Some(inst) = &sources[next].inst else { continue };
        if is_same(inst, load) {
            found.push(next);
        }
        if !changes(inst) && !may_write(inst, register) {
            open.extend(following(sources, next, inst));
        }
    }
    found
}

/// The successors of `inst`, number `at`, by direct branches.
fn following(sources: &[Source], at: usize, inst: &Inst) -> Vec<usize> {
    let number = |address: u64| sources.binary_search_by_key(&address, |source| source.address).ok();
    let address = sources[at].address;
    let next = (!ends_flow(inst.op)).then(|| number(address + u64::from(inst.size))).flatten();
    let target = branch_target(inst, 0).and_then(|words| number(address.checked_add_signed(words * 4)?));
    next.into_iter().chain(target).collect()
}

/// A load from LDS, and the register that has its address.
fn local_load(inst: &Inst) -> Option<(&Inst, usize)> {
    let loads =
        inst.format == Format::Ds && inst.op.mnemonic().starts_with("ds_read") && !inst.op.info().is(Flags::gds);
    if loads { Some((inst, first_register(inst.src[0])?)) } else { None }
}

/// Returns whether two loads differ only in their destinations.
fn is_same(a: &Inst, b: &Inst) -> bool {
    (a.op, a.src, a.mods) == (b.op, b.src, b.mods)
}

/// Returns whether plain loads may return another value after this instruction.
fn changes(inst: &Inst) -> bool {
    may_change_memory(inst) || is_opaque(inst) || inst.op == Op::s_barrier
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::WHOLE;
    use crate::isa::Arch;

    /// The numbers of the instructions, in code at 0x2000, that are polling loads.
    fn polling(text: &[u32]) -> Vec<usize> {
        let program = Program::lower(text, 0x2000, 0x2000, 0xc0, Arch::Gfx90a, WHOLE).unwrap();
        let found = polling_loads(&program);
        found.iter().enumerate().filter(|(_, polls)| **polls).map(|(at, _)| at).collect()
    }

    // `ds_read_b64 v[6:7], v35 offset:272`
    const LOAD: [u32; 2] = [0xd8ec_0110, 0x0600_0023];
    // `ds_write_b32 v1, v2`
    const STORE: [u32; 2] = [0xd81a_0000, 0x0000_0201];
    // `v_cmp_ge_u64_e32 vcc, v[6:7], v[8:9]`
    const COMPARE: u32 = 0x7ddc_1106;
    const END: u32 = 0xbf81_0000;

    fn vccnz(words: i16) -> u32 {
        0xbf87_0000 | u32::from(words as u16)
    }

    fn vccz(words: i16) -> u32 {
        0xbf86_0000 | u32::from(words as u16)
    }

    #[test]
    fn a_load_that_a_loop_comes_back_to_polls_and_so_does_the_one_peeled_off() {
        let text = [&LOAD[..], &LOAD, &[COMPARE, vccz(-4), END]].concat();
        assert_eq!(polling(&text), [0, 1]);
    }

    /// As in RCCL's barriers, whose loops occasionally check whether the work was aborted, and record that.
    #[test]
    fn a_store_on_one_way_through_the_loop_leaves_the_other() {
        // load; compare; leave if true; usually skip the store; store; back.
        let text = [&LOAD[..], &[COMPARE, vccnz(4), vccnz(2)], &STORE, &[0xbf82_fff8, END]].concat();
        assert_eq!(polling(&text), [0]);
        let always = [&LOAD[..], &[COMPARE, vccnz(3)], &STORE, &[0xbf82_fff9, END]].concat();
        assert!(polling(&always).is_empty());
    }

    #[test]
    fn an_address_that_moves_on_and_straight_code_do_not_poll() {
        // v_add_u32 v35, 4, v35
        let moves = [&LOAD[..], &[0x6846_4684, COMPARE, vccz(-5), END]].concat();
        assert!(polling(&moves).is_empty());
        assert!(polling(&[&LOAD[..], &LOAD, &[END]].concat()).is_empty());
    }
}

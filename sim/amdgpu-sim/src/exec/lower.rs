//! Lowers machine code to a [`Program`].

use std::collections::BTreeMap;

use super::allocation::Resources;
use super::control_flow::{add_all, branch_target, ends_flow, reachable};
use super::indexed::Indexing;
use super::layout::{Layout, PREPARED_ROWS};
use super::lowering::{Lowering, MAX_CONSTANT_ROWS};
use super::program::{Common, Parts, Source, plain};
use super::skipped::{self, Skipping};
use super::unsupported::unsupported;
use super::zero_flags::{reads_zero_flags, zero_flags};
use super::{Ctx, Flow, Micro, Mode, Program, Trap, Wave, affine, cpu, liveness, matrix, mem, salu, slot, valu};
use crate::isa::inst::{Format, Inst, Operand};
use crate::isa::{self, Flags, Op};

/// The code size in words up to which code with indirect calls is normally lowered completely.
pub(crate) const WHOLE: usize = 1 << 18;

impl Lowering {
    fn micro(&mut self, inst: &Inst, source: u32) -> Micro {
        let mut m = plain(unsupported, source);
        let handler = match inst.format {
            Format::Sop2 | Format::Sop1 | Format::Sopk | Format::Sopc | Format::Sopp => salu::lower(inst, self, &mut m),
            Format::Vop3p if inst.op.info().is(Flags::mfma) => matrix::lower(inst, self, &mut m),
            Format::Vop2
            | Format::Vop1
            | Format::Vopc
            | Format::Vop3
            | Format::Vop3b
            | Format::Vop3p
            | Format::Sdwa
            | Format::Dpp => valu::lower(inst, self, &mut m),
            Format::Smem
            | Format::Ds
            | Format::Flat
            | Format::Global
            | Format::Scratch
            | Format::Mubuf
            | Format::Mtbuf
            | Format::Mimg => mem::lower(inst, self, &mut m),
            Format::Vintrp | Format::Exp => None,
        };
        match handler {
            Some(handler) => Micro { run: handler, ..m },
            None => plain(unsupported, source),
        }
    }
}

/// The handler of an instruction that uses a register beyond the allocated ones.
fn stray(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let stray = ctx.program.inst(m).and_then(|inst| ctx.program.allocation.stray(inst));
    w.fail(stray.map_or(Trap::Unsupported("a register that the kernel does not have"), Trap::StrayRegister))
}

fn ran_off(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    w.fail(Trap::WildJump(ctx.program.source(m).address))
}

fn jump(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    w.pc = m.aux;
    Flow::Jump
}

/// Returns whether an instruction has no effect here: memory is in order, and there is no clock to save.
fn is_no_operation(op: Op) -> bool {
    matches!(op, Op::s_waitcnt | Op::s_nop | Op::s_setprio)
}

/// The number of vector and accumulation registers that the code uses, with room for wide operands.
fn registers(code: &BTreeMap<u32, Option<Inst>>) -> (u16, u16) {
    let (mut vgprs, mut agprs) = (1, 0);
    for inst in code.values().flatten() {
        // Except for matrices, vector operands take at most two registers, memory operands four and a status.
        let reach = match inst.format {
            _ if inst.op == Op::v_mqsad_u32_u8 => 4,
            Format::Vop3p if inst.op.info().is(Flags::mfma) => 32,
            Format::Vop1
            | Format::Vop2
            | Format::Vopc
            | Format::Vop3
            | Format::Vop3b
            | Format::Vop3p
            | Format::Sdwa
            | Format::Dpp => 2,
            _ => 5,
        };
        for operand in [inst.dst, inst.dst2].into_iter().chain(inst.src) {
            match operand {
                Operand::Vgpr(n) => vgprs = vgprs.max(n + reach),
                Operand::Agpr(n) => agprs = agprs.max(n + reach),
                _ => {}
            }
        }
    }
    (vgprs, agprs)
}

/// The number of scalar registers, from the first on, that the code may use.
fn scalars(code: &BTreeMap<u32, Option<Inst>>) -> usize {
    let mut most = 0;
    for inst in code.values().flatten() {
        // The fork stack is implicit in the instructions that use it.
        if ["movrel", "fork", "join"].iter().any(|word| inst.op.mnemonic().contains(word)) {
            return usize::from(slot::FLAT_SCRATCH);
        }
        for operand in [inst.dst, inst.dst2].into_iter().chain(inst.src) {
            if let Operand::Sgpr(n) = operand {
                // The widest operand has 16.
                most = most.max(usize::from(n) + 16);
            }
        }
    }
    most.min(usize::from(slot::FLAT_SCRATCH))
}

/// The last instructions with consecutive micro-operations.
#[derive(Default)]
struct Recent {
    code: Vec<Inst>,
    /// The required position of the next micro-operation.
    next: usize,
}

impl Recent {
    fn push(&mut self, micro: usize, inst: Inst) {
        if micro != self.next {
            self.code.clear();
        }
        if self.code.len() == 3 {
            self.code.remove(0);
        }
        self.code.push(inst);
        self.next = micro + 1;
    }

    fn instructions(&self) -> &[Inst] {
        &self.code
    }
}

/// The position of a program's code.
struct Places<'t> {
    /// The words, from the first instruction to the end of the last.
    text: &'t [u32],
    /// The address of the first of them.
    address: u64,
    /// The end address of the code object's code.
    beyond: u64,
    /// The word of the first instruction to execute.
    start: u32,
}

impl Program {
    /// Lowers the kernel whose first instruction is at address `entry` of `text`, which starts at `text_address`.
    ///
    /// `resources` come from the kernel's descriptor. Undecodable words, unsupported instructions, and those that use
    /// registers which the kernel lacks trap when (and only when) they are reached. An entry outside the text is an
    /// error. If there is more code than `whole` words, called code is lowered only on the first call.
    pub(crate) fn lower(
        text: &[u32],
        text_address: u64,
        entry: u64,
        resources: impl Into<Resources>,
        arch: isa::Arch,
        whole: usize,
    ) -> Result<Program, Trap> {
        let resources = resources.into();
        let wild = Trap::WildJump(entry);
        let offset = entry.checked_sub(text_address).filter(|o| o % 4 == 0).ok_or(wild.clone())?;
        let start = u32::try_from(offset / 4).ok().filter(|s| (*s as usize) < text.len()).ok_or(wild)?;
        let (mut code, indirect) = reachable(text, start, arch);
        if indirect && text.len() > whole {
            return Ok(Parts::root(text, text_address, &code, start, resources, arch));
        }
        if indirect {
            add_all(&mut code, text, arch);
        }
        let program = Program::cut(&code, text, text_address, start, resources, None);
        Ok(Program { arch, ..program })
    }

    /// Lowers a part of the code: `code` has instructions by their word offsets in `text`, and `start` is the first.
    pub(super) fn part_of(
        code: &BTreeMap<u32, Option<Inst>>,
        text: &[u32],
        text_address: u64,
        start: u32,
        (resources, arch): (Resources, isa::Arch),
        common: &Common,
    ) -> Program {
        let program = Program::cut(code, text, text_address, start, resources, Some(common));
        Program { arch, ..program }
    }

    /// Makes a program of the piece of `text` that contains `code`, so that the per-word tables cover only that piece.
    fn cut(
        code: &BTreeMap<u32, Option<Inst>>,
        text: &[u32],
        text_address: u64,
        start: u32,
        resources: Resources,
        common: Option<&Common>,
    ) -> Program {
        let first = code.keys().next().copied().unwrap_or(start);
        let end = code.last_key_value().map_or(first + 1, |(at, inst)| at + inst.map_or(1, |i| u32::from(i.size) / 4));
        let moved = code.iter().map(|(at, inst)| (at - first, *inst)).collect();
        let piece = &text[first as usize..(end as usize).min(text.len())];
        let (address, beyond) = (text_address + 4 * u64::from(first), text_address + 4 * text.len() as u64);
        let places = Places { text: piece, address, beyond, start: start - first };
        Program::assemble_as(&moved, places, resources, cpu::has_avx2(), common)
    }

    /// Makes a program for gfx90a from decoded instructions, given by their word offsets in `text`.
    pub(super) fn assemble(
        code: &BTreeMap<u32, Option<Inst>>,
        text: &[u32],
        text_address: u64,
        start: u32,
        resources: impl Into<Resources>,
        avx2: bool,
    ) -> Program {
        let beyond = text_address + 4 * text.len() as u64;
        let places = Places { text, address: text_address, beyond, start };
        Program::assemble_as(code, places, resources.into(), avx2, None)
    }

    /// The same, for a part of code that shares the properties `common` with other parts.
    fn assemble_as(
        code: &BTreeMap<u32, Option<Inst>>,
        Places { text, address: text_address, beyond, start }: Places<'_>,
        Resources { rsrc1, allocation }: Resources,
        avx2: bool,
        common: Option<&Common>,
    ) -> Program {
        let (mut vgprs, agprs) = common.map_or_else(|| registers(code), |common| common.registers);
        let has = |wanted: &[Op]| code.values().flatten().any(|i| wanted.contains(&i.op));
        if has(&[Op::s_set_gpr_idx_on]) {
            // Indexed registers need not be named: all allocated ones may be used.
            vgprs = vgprs.max(allocation.vgprs);
        }
        // Code that jumps into the middle of its own instructions consists of two streams, of which only one can be followed.
        let mut ends = code.iter().map(|(at, inst)| at + inst.map_or(1, |i| u32::from(i.size) / 4));
        let overlaps = code.keys().skip(1).any(|next| ends.next().is_some_and(|end| end > *next));
        let strays = code.values().flatten().any(|inst| allocation.stray(inst).is_some());
        let changes = common.map_or_else(|| salu::mode_changes(code.values().flatten()), |common| common.changes);
        let skips = common.map_or_else(|| code.values().flatten().any(skipped::may_begin), |common| common.skips);
        let mode = Mode::from_rsrc1(rsrc1);
        let layout = Layout { vgprs, agprs, constants: 0 };
        let mut l = Lowering::new(layout, mode, changes, avx2);
        let (mut indexing, mut skipping) = (Indexing::default(), Skipping::default());

        let mut micros = Vec::with_capacity(code.len() + 1);
        let mut sources = Vec::with_capacity(code.len() + 1);
        let mut index = vec![u32::MAX; text.len()];
        let mut branches = Vec::new();
        let mut recent = Recent::default();
        let mut singles = BTreeMap::new();
        let mut sums = BTreeMap::new();
        let mut iter = code.iter().peekable();
        while let Some((&at, inst)) = iter.next() {
            let source = sources.len() as u32;
            sources.push(Source { address: text_address + u64::from(at) * 4, word: text[at as usize], inst: *inst });
            index[at as usize] = micros.len() as u32;
            let Some(inst) = inst else {
                micros.push(plain(unsupported, source));
                continue;
            };
            if reads_zero_flags(inst) {
                micros.push(plain(zero_flags, source));
            }
            if !is_no_operation(inst.op) {
                if let Some(target) = branch_target(inst, at) {
                    branches.push((micros.len(), target));
                }
                let micro = if overlaps && inst.op == Op::s_set_gpr_idx_on {
                    plain(unsupported, source)
                } else if strays && allocation.stray(inst).is_some() {
                    plain(stray, source)
                } else {
                    l.micro(inst, source)
                };
                let micro = indexing.apply(inst, micro);
                micros.push(if skips { skipping.apply(inst, micro) } else { micro });
                recent.push(micros.len() - 1, *inst);
            }
            let next = at + u32::from(inst.size) / 4;
            if inst.op == Op::v_addc_co_u32 && !overlaps && !skips && !strays && !indexing.is_on() {
                let after = code.range(next..).map_while(|(_, inst)| inst.as_ref());
                if let Some(sum) = valu::fuse(recent.instructions(), next, after, &mut l) {
                    let first = micros.len() - sum.count;
                    singles.insert(first as u32, micros[first]);
                    let source = micros[first].source;
                    micros[first] = Micro { source, ..sum.micro };
                    let address: u64 = sources[source as usize].address;
                    sums.insert(((address - text_address) / 4) as u32, sum);
                }
            }
            if !ends_flow(inst.op) && iter.peek().is_none_or(|(n, _)| **n != next) {
                branches.push((micros.len(), i64::from(next)));
                micros.push(plain(jump, source));
            }
        }
        let end = micros.len() as u32;
        let source = sources.len() as u32;
        sources.push(Source { address: beyond, word: 0, inst: None });
        micros.push(plain(ran_off, source));
        for (micro, target) in branches {
            let target = usize::try_from(target).ok().and_then(|t| index.get(t).copied());
            micros[micro].aux = target.filter(|t| *t != u32::MAX).unwrap_or(end);
        }

        let affine = if overlaps || strays || common.is_some() {
            affine::Lowered::default()
        } else {
            mem::share(code, start, &index, &mut micros);
            let (micros, singles) = (&mut micros[..], &mut singles);
            affine::lower(affine::Code { code, start, sums: &sums, index: &index, micros, singles }, &mut l)
        };

        Program {
            micros,
            sources,
            entry: index[start as usize],
            mode,
            arch: isa::Arch::Gfx90a,
            allocation,
            layout: Layout {
                // All parts have the same row layout.
                constants: if common.is_some() { MAX_CONSTANT_ROWS } else { l.constant_rows.len() } as u16,
                ..layout
            },
            constants: l.constants,
            constant_rows: l.constant_rows,
            prepares: l.prepares,
            choices: l.choices,
            indexed: indexing.finish(),
            skipped: skipping.finish(),
            singles,
            eager: affine.eager,
            starts_held: affine.starts_held,
            scalars: if common.is_some() { usize::from(slot::FLAT_SCRATCH) } else { scalars(code) },
            clear: if common.is_some() { None } else { liveness::clear(code, start, &layout) },
            parts: None,
            text_address,
            index,
        }
    }
}

const _: () = assert!(PREPARED_ROWS >= 8);

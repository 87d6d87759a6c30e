//! Code that is lowered in parts.
//!
//! A kernel that calls functions by address may call any function of its code object. In a large one (RCCL's has 20
//! million words) it calls only a few. So a jump target is lowered on the first jump to it, with all code that direct
//! branches reach from there. Each part is a program of its own. All parts have the same register layout. Constants
//! belong to a part, and a wave loads them when it enters the part.

use std::sync::{Mutex, PoisonError};

use super::control_flow::reachable;
use super::program::{Common, Link, Part, Parts};
use super::{Ctx, Program, Resources, Wave, salu, skipped};
use crate::isa::inst::Inst;
use crate::isa::{self, Arch};

/// The registers of all parts: the maximum numbers of vector and accumulation registers, plus the width of the widest
/// operand.
const REGISTERS: (u16, u16) = (256 + 32, 256 + 32);

impl Parts {
    /// The parts of a kernel whose initially lowered code is `code`.
    pub(super) fn root(
        text: &[u32],
        text_address: u64,
        code: &std::collections::BTreeMap<u32, Option<Inst>>,
        start: u32,
        resources: Resources,
        arch: Arch,
    ) -> Program {
        // Functions serve all kernels, and may save registers for their callers that this kernel does not have, which is harmless.
        let resources = Resources::from(resources.rsrc1);
        let common = common(text, arch);
        let program = Program::part_of(code, text, text_address, start, (resources, arch), &common);
        let (first, making) = (Link::new(), Mutex::new(()));
        let parts = Parts { text: text.to_vec(), text_address, resources, arch, common, first, making };
        Program { parts: Some(Box::new(parts)), ..program }
    }

    /// The parts with their numbers, starting at 1.
    fn iter(&self) -> impl Iterator<Item = (u32, &Program)> {
        let parts = std::iter::successors(self.first.get(), |part| part.next.get());
        (1..).zip(parts.map(|part| &part.program))
    }

    /// A part by its number; `None` for 0, the kernel.
    pub(super) fn get(&self, number: u32) -> Option<&Program> {
        let before = number.checked_sub(1)?;
        self.iter().nth(before as usize).map(|(_, program)| program)
    }

    /// The part that contains the instruction at an address, with its micro-operation. Lowers a new part if needed.
    /// `None` outside of the text.
    fn at(&self, address: u64) -> Option<(u32, &Program, u32)> {
        let known = || self.iter().find_map(|(number, program)| Some((number, program, program.at(address)?)));
        if let Some(found) = known() {
            return Some(found);
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        // Another wave may have lowered it first.
        if let Some(found) = known() {
            return Some(found);
        }
        let offset = address.checked_sub(self.text_address).filter(|offset| offset % 4 == 0)?;
        let start = u32::try_from(offset / 4).ok().filter(|start| (*start as usize) < self.text.len())?;
        let (code, _) = reachable(&self.text, start, self.arch);
        let how = (self.resources, self.arch);
        let program = Program::part_of(&code, &self.text, self.text_address, start, how, &self.common);
        let mut link = &self.first;
        while let Some(part) = link.get() {
            link = &part.next;
        }
        link.get_or_init(|| Box::new(Part { program, next: Link::new() }));
        known()
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        // Iteratively, to avoid recursion.
        let mut next = self.first.take();
        while let Some(mut part) = next {
            next = part.next.take();
        }
    }
}

/// The common properties of all of the text. Examines every word, since instruction boundaries are known only in
/// executed code. A constant may be mistaken for an instruction, which only costs speed.
fn common(text: &[u32], arch: Arch) -> Common {
    // s_setreg_b32 and s_setreg_imm32_b32 (SOPK), s_setvskip (SOPC).
    let mode = |word: u32| matches!(word >> 23, 0x172 | 0x174) || word >> 16 == 0xbf10;
    let (mut changes, mut skips) = (0, false);
    for (at, _) in text.iter().enumerate().filter(|(_, word)| mode(**word)) {
        if let Ok(inst) = isa::decode(&text[at..], arch) {
            changes |= salu::mode_changes(std::iter::once(&inst));
            skips |= skipped::may_begin(&inst);
        }
    }
    Common { registers: REGISTERS, changes, skips }
}

impl Program {
    /// The kernel's own code, then its parts in the order of their lowering. Later parts are appended at the end.
    pub(crate) fn with_parts(&self) -> impl Iterator<Item = &Program> {
        let parts = self.parts.iter().flat_map(|parts| parts.iter().map(|(_, program)| program));
        std::iter::once(self).chain(parts)
    }

    /// Returns whether code may still be lowered on a jump.
    pub(crate) fn may_grow(&self) -> bool {
        self.parts.is_some()
    }
}

impl<'a> Ctx<'a> {
    /// Switches to the part that the wave is in.
    #[inline(always)]
    pub(crate) fn enter(&mut self, wave: &Wave) {
        if self.root.parts.is_some() {
            self.program = self.root.part(wave.part());
        }
    }

    /// The part, other than the current one, that contains the instruction at an address: its number, itself, and the
    /// micro-operation.
    #[cold]
    pub(super) fn part_at(&self, address: u64) -> Option<(u32, &'a Program, u32)> {
        let root = self.root;
        let parts = root.parts.as_ref()?;
        match root.at(address) {
            Some(pc) => Some((0, root, pc)),
            None => parts.at(address),
        }
    }
}

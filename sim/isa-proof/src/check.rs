//! The comparison itself.

use std::collections::{BTreeMap, HashMap};

use amdgpu_sim::isa::{Inst, Type, decode, disassemble};
use amdgpu_sim::{Arch, unsupported};
use anyhow::{Result, anyhow};

use crate::form::form;
use crate::llvm::Disassembler;

/// The maximum number of differences that are stored with their texts. Further ones are only counted.
const MAX_EXAMPLES: usize = 50;

/// log2 of the number of cached word pairs.
const MEMORY_BITS: u32 = 20;

/// The results for some code.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Code objects.
    pub code_objects: u64,
    /// Instructions on which both sides agree.
    pub instructions: u64,
    /// Words that both sides consider not to be an instruction.
    pub data: u64,
    /// Instructions on which the sides differ.
    pub differences: u64,
    /// The texts of the first differences.
    pub examples: Vec<String>,
    /// The number of occurrences of each form, and why it is not supported, if so.
    pub forms: HashMap<Inst, (u64, Option<&'static str>)>,
}

impl Counts {
    /// Adds the results for other code.
    pub fn add(&mut self, other: Counts) {
        self.code_objects += other.code_objects;
        self.instructions += other.instructions;
        self.data += other.data;
        self.differences += other.differences;
        let room = MAX_EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
        for (form, (count, why)) in other.forms {
            self.forms.entry(form).or_insert((0, why)).0 += count;
        }
    }

    /// The instructions that the software GPU does not support, by mnemonic and reason, with their number.
    #[must_use]
    pub fn not_executed(&self) -> BTreeMap<(&'static str, &'static str), u64> {
        let mut found = BTreeMap::new();
        for (form, (count, why)) in &self.forms {
            if let Some(why) = why {
                *found.entry((form.op.mnemonic(), *why)).or_default() += count;
            }
        }
        found
    }
}

/// The cached result for two words: the form, and the instruction's length.
#[derive(Clone, Copy)]
struct Known {
    words: u64,
    /// Index of the form; [`NOTHING`], or [`DATA`] if both sides found no instruction.
    form: u32,
    size: u8,
}

const NOTHING: u32 = u32::MAX;
const DATA: u32 = u32::MAX - 1;

/// Decodes code with both disassemblers. Each thread needs one per processor.
pub struct Checker {
    arch: Arch,
    llvm: Disassembler,
    /// Word pairs on which both sides agree, by a hash of them.
    known: Vec<Known>,
    forms: HashMap<Inst, u32>,
    /// The forms by index: why each is not supported, and its number of occurrences since the last [`Checker::counts`].
    found: Vec<(Inst, Option<&'static str>, u64)>,
    counts: Counts,
}

impl Checker {
    /// Creates a checker for one processor.
    ///
    /// # Errors
    /// Returns an error if rustc has no LLVM of the right release with support for AMD GPUs.
    pub fn new(arch: Arch) -> Result<Self> {
        let llvm = Disassembler::open(arch).map_err(|why| anyhow!(why))?;
        let known = vec![Known { words: 0, form: NOTHING, size: 0 }; 1 << MEMORY_BITS];
        Ok(Self { arch, llvm, known, forms: HashMap::new(), found: Vec::new(), counts: Counts::default() })
    }

    /// Compares the instructions in `text`, which must start with one. `place` describes the position of an offset in
    /// messages.
    pub fn check(&mut self, text: &[u8], place: &dyn Fn(usize) -> String) {
        let words: Vec<u32> = text.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
        let mut at = 0;
        while let Some(&first) = words.get(at) {
            let Some(&second) = words.get(at + 1) else {
                // The last word is not cached, since no word follows it.
                self.compare(&[first], &|| place(4 * at));
                return;
            };
            let pair = u64::from(second) << 32 | u64::from(first);
            let slot = (pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - MEMORY_BITS)) as usize;
            let known = self.known[slot];
            let size = if known.words == pair && known.form != NOTHING {
                self.count(known.form);
                known.size
            } else {
                let (size, form) = self.compare(&[first, second], &|| place(4 * at));
                self.known[slot] = Known { words: pair, form, size };
                size
            };
            at += usize::from(size) / 4;
        }
    }

    /// The results since the last call.
    pub fn counts(&mut self) -> Counts {
        let mut counts = std::mem::take(&mut self.counts);
        for (form, why, count) in self.found.iter_mut().filter(|(_, _, count)| *count > 0) {
            counts.forms.insert(*form, (std::mem::take(count), *why));
        }
        counts
    }

    fn count(&mut self, form: u32) {
        if form == DATA {
            self.counts.data += 1;
        } else {
            self.counts.instructions += 1;
            self.found[form as usize].2 += 1;
        }
    }

    /// Compares both sides and counts the result: the size, and the form if they agree.
    fn compare(&mut self, words: &[u32], place: &dyn Fn() -> String) -> (u8, u32) {
        let decoded = decode(words, self.arch);
        let ours = decoded.as_ref().ok().map(|inst| (usize::from(inst.size), disassemble(inst, self.arch)));
        let theirs = self.llvm.disassemble(words);
        if ours != theirs {
            self.counts.differences += 1;
            if self.counts.examples.len() < MAX_EXAMPLES {
                let ours = ours.map_or_else(|| format!("none ({})", decoded.unwrap_err()), |(_, text)| text);
                let theirs = theirs.as_ref().map_or("none", |(_, text)| text);
                let example = format!("{}: {words:08x?}: ours `{ours}`, LLVM's `{theirs}`", place());
                self.counts.examples.push(example);
            }
            // Continue as LLVM would.
            return (theirs.map_or(4, |(size, _)| size as u8), NOTHING);
        }
        let Ok(inst) = decoded else {
            self.count(DATA);
            return (4, DATA);
        };
        let form = self.form(form(&inst), &inst);
        self.count(form);
        (inst.size, form)
    }

    /// The index of the form of `inst`.
    fn form(&mut self, form: Inst, inst: &Inst) -> u32 {
        let next = self.found.len() as u32;
        let index = *self.forms.entry(form).or_insert(next);
        if index == next {
            self.found.push((form, unsupported(inst, self.arch), 0));
        }
        index
    }
}

/// Returns whether a text depends on the instruction's address. As long as this is false for both sides, results can be
/// cached.
///
/// # Errors
/// As for [`Checker::new`].
pub fn depends_on_address(words: &[u32], arch: Arch) -> Result<bool> {
    let llvm = Disassembler::open(arch).map_err(|why| anyhow!(why))?;
    let here = llvm.disassemble_at(words, 0);
    Ok([4, 0x1000, 0x7fff_ffff_f000].iter().any(|pc| llvm.disassemble_at(words, *pc) != here))
}

/// Returns whether an instruction has an operand that is a distance to another instruction.
#[must_use]
pub fn is_relative(inst: &Inst) -> bool {
    inst.op.info().src.contains(&Type::Branch)
}

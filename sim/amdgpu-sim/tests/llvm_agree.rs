//! The decoder and the disassembler compared with LLVM's: the same words are instructions, with the same text.
//!
//! 64-bit words cannot be tested exhaustively. The following are tested, for gfx90a and gfx942 each:
//! * every opcode of every encoding, known to us or not, with 55 ways to fill the other bits: so an instruction that
//!   LLVM knows and the table lacks is found;
//! * for every row of the table, in each of its encodings (native, `_e64`, SDWA, DPP, with and without a literal, with
//!   and without `saddr`): each single bit flipped; each value of each field of up to 9 bits that does not contain a
//!   register, and of scalar destinations; in source fields 64 codes that cover every kind of operand and both sides of
//!   each border; literals that could have been inline constants; the first and the last vector registers; and 100
//!   random fillings;
//! * 200,000 random pairs of words;
//! * the code objects in this repository.
//!
//! Not tested: combinations of several unusual fields beyond those in the random words, and the words on which LLVM
//! itself crashes (`llvm_crashes`). The crate `isa-proof` tests the instructions in ROCm's libraries.

#[path = "llvm/mod.rs"]
mod llvm;
#[path = "llvm/words.rs"]
mod words;

use amdgpu_sim::isa::{Arch, DecodeError, Flags, Inst, Op, Operand, Problem, decode, disassemble};
use llvm::Disassembler;
use object::{Object, ObjectSection};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::path::PathBuf;
use words::{Random, every_opcode, llvm_crashes, words_of};

/// The results of a comparison, per encoding.
#[derive(Default)]
struct Count {
    tried: usize,
    /// Distinct instructions that both read alike.
    agreed: usize,
    rejected: usize,
    excepted: usize,
}

struct Comparison {
    arch: Arch,
    llvm: Disassembler,
    counts: BTreeMap<&'static str, Count>,
    seen: HashSet<u64>,
    exceptions: BTreeMap<&'static str, usize>,
    /// Differences by their kind, with an example.
    differences: BTreeMap<String, (usize, String)>,
}

/// Intentional differences from LLVM's disassembler: texts that its own assembler rejects.
fn exception(ours: &Result<Inst, DecodeError>, theirs: Option<&str>) -> Option<&'static str> {
    let (error, text) = match (ours, theirs) {
        (Err(error), Some(text)) => (error, text),
        (Ok(inst), None) => {
            let info = inst.op.info();
            let returns_float = info.is(Flags::atomic) && inst.mods.glc && info.dst.is_float();
            return (returns_float && matches!(inst.dst, Operand::Agpr(_)))
                .then_some("LLVM lacks some of gfx942's float atomics that return to accumulation registers");
        }
        _ => return None,
    };
    if text
        .split([' ', ',', '|', '(', ')', '-'])
        .any(|word| word == "null" || word.starts_with("src_flat_scratch_base"))
    {
        return Some("registers of later architectures, whose codes LLVM reads everywhere");
    }
    if text.starts_with("v_nop") && error.words[0] & 511 >= 249 {
        return Some("v_nop with an SDWA or DPP word: no assembler makes it");
    }
    let Problem::Field { field, value, reason } = error.problem else { return None };
    match field {
        _ if reason == "the tuple runs past the last register" => Some("LLVM numbers registers past the last one"),
        "vdst" | "vdata" | "data0" | "data1" if reason.contains("even") && text.contains("a[") => {
            Some("LLVM checks that tuples of v registers are even, but not those of a registers")
        }
        "vdata" if reason.contains("even") && text.starts_with("image_") => {
            Some("LLVM prints one register where an image's data would start at an odd one")
        }
        "vaddr" if reason.contains("even") && text.starts_with("tbuffer") => {
            Some("LLVM checks that address pairs of buffer instructions are even, but not of typed ones")
        }
        "offset" if text.starts_with("flat_") => {
            Some("LLVM prints a 13th bit of flat offsets that the hardware ignores")
        }
        "gds" => Some("there is no global data share; LLVM ignores the bit"),
        "src2"
            if reason.contains("this operand cannot be") && (text.contains("_co_u32") || text.contains("cndmask")) =>
        {
            Some("LLVM takes a lane mask from anything, even vector registers")
        }
        "sdst" if value >= 128 => Some("LLVM lets compares write to constants"),
        "src0" if ["v_accvgpr_mov", "v_swap", "v_readfirstlane"].iter().any(|name| text.starts_with(name)) => {
            Some("LLVM lets moves between vector registers read special values")
        }
        "saddr" if text.ends_with("lds") || text.contains("_load_lds_") => {
            Some("LLVM lets loads to LDS take their address from exec")
        }
        _ => None,
    }
}

impl Comparison {
    fn new(arch: Arch) -> Option<Self> {
        Some(Comparison {
            arch,
            llvm: Disassembler::new(arch)?,
            counts: BTreeMap::new(),
            seen: HashSet::new(),
            exceptions: BTreeMap::new(),
            differences: BTreeMap::new(),
        })
    }

    fn compare(&mut self, encoding: &'static str, words: [u32; 2]) {
        let decoded = decode(&words, self.arch);
        if !self.seen.insert(u64::from(words[0]) | u64::from(words[1]) << 32) {
            return;
        }
        let count = self.counts.entry(encoding).or_default();
        count.tried += 1;
        if llvm_crashes(words) {
            return;
        }
        let theirs = self.llvm.disassemble(&words);
        let ours = decoded.as_ref().ok().map(|inst| (usize::from(inst.size), disassemble(inst, self.arch)));
        if ours == theirs {
            match theirs {
                None => count.rejected += 1,
                // A 4-byte instruction does not depend on the following words.
                Some((4, _)) => {
                    count.agreed += usize::from(self.seen.insert(u64::from(words[0]) | 1 << 63 | 0x7ff << 32))
                }
                Some(_) => count.agreed += 1,
            }
            return;
        }
        let text = |side: &Option<(usize, String)>| side.as_ref().map(|(_, text)| text.clone());
        let (our_text, their_text) = (text(&ours), text(&theirs));
        if let Some(reason) = exception(&decoded, their_text.as_deref()) {
            count.excepted += 1;
            *self.exceptions.entry(reason).or_default() += 1;
            return;
        }
        let mnemonic = our_text.as_ref().or(their_text.as_ref()).and_then(|text| text.split(' ').next()).unwrap_or("");
        let kind = match (&ours, &theirs) {
            (Some(_), None) => "only we accept",
            (None, Some(_)) => "only LLVM accepts",
            _ => "texts differ",
        };
        let mut example = format!("{:08x} {:08x}", words[0], words[1]);
        let _ = match &decoded {
            Ok(inst) => write!(example, "\n      ours {} {}", inst.size, disassemble(inst, self.arch)),
            Err(error) => write!(example, "\n      ours {error}"),
        };
        let _ = write!(example, "\n      LLVM {theirs:?}");
        let entry = self.differences.entry(format!("{encoding} {kind}: {mnemonic}")).or_insert((0, example));
        entry.0 += 1;
    }

    /// Prints the counts and fails on differences.
    fn finish(self) -> usize {
        let mut agreed = 0;
        println!(
            "{}: encoding, distinct words tried, agreed instructions, rejected by both, known exceptions",
            self.arch
        );
        for (encoding, count) in &self.counts {
            let Count { tried, agreed: both, rejected, excepted } = *count;
            println!("  {encoding:12} {tried:>9} {both:>9} {rejected:>9} {excepted:>7}");
            agreed += both;
        }
        println!("  agreed instructions: {agreed}");
        for (reason, count) in &self.exceptions {
            println!("  {count} times: {reason}");
        }
        if !self.differences.is_empty() {
            let total: usize = self.differences.values().map(|(count, _)| count).sum();
            let mut report = String::new();
            for (what, (count, example)) in &self.differences {
                let _ = writeln!(report, "  {count} x {what}\n      {example}");
            }
            panic!("{}: {total} differences from LLVM\n{report}", self.arch);
        }
        agreed
    }
}

fn agree(arch: Arch, random: usize, any: usize) {
    let Some(mut comparison) = Comparison::new(arch) else { return };
    let mut rng = Random(0x9e37_79b9_7f4a_7c15);
    for &op in Op::ALL {
        words_of(op, arch, random, &mut rng, &mut |encoding, words| comparison.compare(encoding, words));
    }
    every_opcode(&mut |encoding, words| comparison.compare(encoding, words));
    for _ in 0..any {
        let word = rng.next();
        comparison.compare("any word", [word as u32, (word >> 32) as u32]);
    }
    let agreed = comparison.finish();
    assert!(agreed >= 100_000, "only {agreed} instructions were compared");
}

#[test]
fn gfx90a_reads_as_llvm_reads_it() {
    agree(Arch::Gfx90a, 100, 200_000);
}

#[test]
fn gfx942_reads_as_llvm_reads_it() {
    agree(Arch::Gfx942, 100, 200_000);
}

/// Every code object in the repository, as (path, architecture, executable bytes as words).
fn committed_code() -> Vec<(PathBuf, Arch, Vec<u32>)> {
    let mut folders = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")];
    let mut code = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() {
                if name != "target" && name != ".git" {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "co") {
                let bytes = std::fs::read(&path).expect("a file that was just listed");
                let Ok(file) = object::File::parse(&*bytes) else { continue };
                let object::FileFlags::Elf { e_flags, .. } = file.flags() else { continue };
                // EF_AMDGPU_MACH_AMDGCN_GFX90A and _GFX942.
                let arch = match e_flags.0 & 0xff {
                    0x3f => Arch::Gfx90a,
                    0x4c => Arch::Gfx942,
                    _ => continue,
                };
                let words = file
                    .sections()
                    .filter(|section| section.kind() == object::SectionKind::Text)
                    .flat_map(|section| section.data().expect("a section of a whole file").to_vec())
                    .collect::<Vec<u8>>()
                    .chunks_exact(4)
                    .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
                    .collect();
                code.push((path, arch, words));
            }
        }
    }
    code
}

#[test]
fn committed_kernels_read_as_llvm_reads_them() {
    let mut instructions = 0;
    for (path, arch, words) in committed_code() {
        let Some(llvm) = Disassembler::new(arch) else { return };
        let mut at = 0;
        while at < words.len() {
            let here = &words[at..words.len().min(at + 2)];
            let inst =
                decode(here, arch).unwrap_or_else(|error| panic!("{} at {:#x}: {error}", path.display(), 4 * at));
            let ours = (usize::from(inst.size), disassemble(&inst, arch));
            assert_eq!(Some(ours), llvm.disassemble(here), "{} at {:#x}", path.display(), 4 * at);
            at += usize::from(inst.size) / 4;
            instructions += 1;
        }
    }
    println!("{instructions} instructions of committed code objects");
    assert!(instructions > 1000, "no committed code objects found");
}

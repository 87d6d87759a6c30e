//! A sample of the instructions in ROCm's libraries: those libraries that the tests need anyway. `cargo xtask isa`
//! checks all.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use amdgpu_sim::Arch;
use amdgpu_sim::isa::{Op, decode};
use isa_proof::check::{Checker, Counts, depends_on_address, is_relative};
use isa_proof::files::{Work, check_file};
use isa_proof::record::grouped;

/// Not `print`: the test harness would capture it.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Returns whether there is an LLVM to compare with.
fn llvm() -> bool {
    match Checker::new(Arch::Gfx90a) {
        Ok(_) => true,
        Err(why) => {
            say(&format!("SKIPPED: the comparison with LLVM: {why}"));
            false
        }
    }
}

/// All code of librocrand and librocfft, and a part of each code object of librccl (which are large, and compressed).
#[test]
fn a_million_instructions_of_real_libraries_read_as_llvm_reads_them() {
    let root = std::env::var_os("ROCM_RS_TREES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rocm"), PathBuf::from);
    let folder = root.join("7.2/usr/lib/x86_64-linux-gnu");
    let libraries = [("librocrand.so.1", None), ("librocfft.so.0", None), ("librccl.so.1", Some(8 << 20))];
    if !llvm() {
        return;
    }
    let mut all = [Counts::default(), Counts::default()];
    for (library, sample) in libraries {
        let path = folder.join(library);
        if !path.is_file() {
            say(&format!("SKIPPED: no {library} (cargo xtask rocm fetch 7.2 --with rocrand,rocfft,rccl)"));
            return;
        }
        for (sum, counts) in all.iter_mut().zip(check_file(&path, &Work::new(sample, &|_| {})).unwrap()) {
            sum.add(counts);
        }
    }
    for (arch, counts) in Arch::ALL.iter().zip(all) {
        let Counts { instructions, data, differences, examples, forms, .. } = &counts;
        say(&format!("{arch}: {} instructions in {} forms, {data} words of data", grouped(*instructions), forms.len()));
        assert_eq!(*differences, 0, "{arch}: {examples:#?}");
        assert!(*instructions >= 1_000_000, "only {instructions} instructions for {arch}");
        // Words are also counted as data if both sides make the same mistake, which is rare.
        assert!(data * 100 < *instructions, "{data} words are no instruction");
        assert_eq!(counts.not_executed().len(), 0, "{:?}", counts.not_executed());
    }
}

/// Word pairs are compared once, wherever they occur. That is correct only as long as no text depends on the address.
#[test]
fn no_text_depends_on_the_address() {
    if !llvm() {
        return;
    }
    let mut relative = 0;
    for arch in Arch::ALL {
        // Each SOPP and SOPK opcode with a distance, and instructions that read the program counter.
        let sopp = (0..128).map(|op| 0xbf80_0012 | op << 16);
        let sopk = (0..32).map(|op| 0xb000_0012 | op << 23);
        for word in sopp.chain(sopk).chain([0xbe80_1c00]) {
            let words = [word, 0];
            let Ok(inst) = decode(&words, arch) else { continue };
            relative += u32::from(is_relative(&inst));
            assert!(!depends_on_address(&words, arch).unwrap(), "{inst} on {arch}");
        }
    }
    let branches = Op::ALL.iter().filter(|op| op.info().src.contains(&amdgpu_sim::isa::Type::Branch)).count();
    assert!(relative as usize >= branches, "{relative} of {branches} branches");
}

/// The comparison detects a difference.
#[test]
fn differences_are_found_and_counted() {
    if !llvm() {
        return;
    }
    let mut checker = Checker::new(Arch::Gfx90a).unwrap();
    // v_add_f32, s_nop, an invalid word, s_endpgm; repeated.
    let good = [0x0202_0501_u32, 0xbf80_0000, 0xffff_ffff, 0xbf81_0000].repeat(2);
    // LLVM decodes v_nop with an SDWA word, which we reject: no assembler generates it. It is followed by a valid instruction.
    let differing = [0x7e00_00f9, 0x0606_0606];
    for (words, instructions, data, differences) in
        [(&good[..], 6, 2, 0), (&differing, 1, 0, 1), (&good[..], 6, 2, 0), (&good[..1], 1, 0, 0)]
    {
        let text: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        checker.check(&text, &|offset| format!("at {offset}"));
        let counts = checker.counts();
        assert_eq!(
            (counts.instructions, counts.data, counts.differences),
            (instructions, data, differences),
            "{words:x?}"
        );
        assert_eq!(counts.forms.values().map(|(count, _)| count).sum::<u64>(), instructions);
        assert_eq!(counts.examples.len() as u64, differences);
        assert!(counts.examples.iter().all(|example| example.starts_with("at 0: ")), "{:?}", counts.examples);
    }
}

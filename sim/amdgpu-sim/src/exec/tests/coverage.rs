//! The supported instructions, and the page that lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::*;
use crate::isa::{Arch, Flags, Kind, Type};

/// An operand of a type, as its place in the encoding would hold it.
fn operand(ty: Type, register: u16, format: Format) -> Operand {
    let scalar =
        matches!(format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Smem);
    match ty.kind() {
        Kind::None => Operand::None,
        // Of the messages, interrupts are supported; of the hardware registers, MODE.
        Kind::Immediate if matches!(ty, Type::SendMsg | Type::HwReg) => imm(1),
        Kind::Immediate => imm(0),
        Kind::Mask => s(20),
        _ if scalar => s(register),
        _ => v(register),
    }
}

/// Why an instruction is not supported, if so. No lane is enabled, so addresses do not matter.
fn reason(op: Op) -> Option<&'static str> {
    let info = op.info();
    let mut sources: Vec<Operand> = (0..4).map(|i| operand(info.src[i], 32 + 32 * i as u16, info.format)).collect();
    match info.format {
        Format::Mubuf | Format::Mtbuf => {
            sources[2] = s(24);
            sources[3] = s(28);
        }
        Format::Mimg => {
            sources[2] = s(24);
            sources[3] = if info.src[3] == Type::None { Operand::None } else { s(32) };
        }
        Format::Global | Format::Scratch => sources[2] = Operand::None,
        Format::Smem => sources[1] = imm(0),
        Format::Sopp => {}
        _ if sources.iter().all(|s| !matches!(s, Operand::Sgpr(_))) => {}
        _ => {
            for (i, source) in sources.iter_mut().enumerate().filter(|(_, s)| matches!(s, Operand::Sgpr(_))) {
                *source = s(8 + 8 * i as u16);
            }
        }
    }
    if info.format == Format::Smem {
        for (i, source) in sources.iter_mut().enumerate().filter(|(_, s)| matches!(s, Operand::Sgpr(_))) {
            *source = s(16 + 16 * i as u16);
        }
    }
    if matches!(op, Op::v_readlane_b32 | Op::v_writelane_b32) {
        sources[1] = s(8);
    }
    if op == Op::v_writelane_b32 {
        sources[0] = s(4);
    }
    let scalar = info.is(Flags::scalar_dst);
    let dst = if scalar { s(0) } else { operand(info.dst, 0, info.format) };
    let mut code = Inst { dst2: operand(info.dst2, 30, info.format), ..inst(op, dst, &sources) };
    // Typed buffers: a word that is a float.
    code.mods.format = 4 | 7 << 4;
    code.mods.image = (info.format == Format::Mimg).then(Default::default);
    let (wave, stop) = execute(&[code], DEFAULT_MODE.into(), cpu::has_avx2(), &|w| {
        w.set_exec(0);
        w.set_slot(27, 4 << 15 | 7 << 12);
    });
    match wave.trap {
        Some(Trap::Unsupported(why)) if stop == Stop::Trap => Some(why),
        _ => None,
    }
}

/// The only instructions that trap in every form.
pub(super) const TRAPS: &[&str] = &["s_endpgm_ordered_ps_done", "s_rfe_b64", "s_rfe_restore_b64", "s_sendmsghalt"];

#[test]
fn every_instruction_is_carried_out_or_listed_with_a_reason() {
    let mut trapping = Vec::new();
    for op in Op::ALL.iter().copied() {
        let Some(why) = reason(op) else { continue };
        assert!(!why.contains("does not carry"), "{op} traps without saying why");
        trapping.push(op.mnemonic());
    }
    trapping.sort_unstable();
    assert_eq!(trapping, TRAPS);
}

/// Files below `folder` with this suffix.
fn files(folder: &Path, ending: &str, into: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|e| Some(e.ok()?.path())) {
        if path.is_dir() {
            files(&path, ending, into);
        } else if path.to_string_lossy().ends_with(ending) {
            into.push(path);
        }
    }
}

/// The words of a text that could be mnemonics.
fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| w.contains('_')).collect()
}

/// The instructions of a code object.
fn instructions(code: &crate::CodeObject) -> BTreeSet<Op> {
    let mut found = BTreeSet::new();
    let Some(arch) = Arch::ALL.into_iter().find(|arch| arch.name() == code.target().processor) else { return found };
    for segment in code.image.segments.iter().filter(|s| s.executable) {
        let bytes = code.image.contents(segment);
        let text: Vec<u32> = bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
        let mut at = 0;
        while at < text.len() {
            match crate::isa::decode(&text[at..], arch) {
                Ok(inst) => {
                    found.insert(inst.op);
                    at += usize::from(inst.size) / 4;
                }
                Err(_) => at += 1,
            }
        }
    }
    found
}

/// The tests in which an instruction occurs.
#[derive(Default)]
struct Tests {
    /// Modules of unit tests that compare it with a reference.
    reference: BTreeSet<String>,
    /// One of them with random operands.
    property: bool,
    /// Compiled code that contains it: `kernels`, `suite`, `blits` and `IR` are run and their results checked;
    /// `libraries` are ROCm's, of which only some are run.
    compiled: BTreeSet<&'static str>,
}

impl Tests {
    /// Returns whether any test checks its result.
    fn checks_results(&self) -> bool {
        !self.reference.is_empty() || self.compiled.iter().any(|name| *name != "libraries")
    }
}

impl std::fmt::Display for Tests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        if !self.reference.is_empty() {
            let modules: Vec<_> = self.reference.iter().map(String::as_str).collect();
            parts.push(format!("reference ({})", modules.join(", ")));
        }
        if self.property {
            parts.push("property".into());
        }
        parts.extend(self.compiled.iter().map(|name| (*name).to_owned()));
        f.write_str(&parts.join(", "))
    }
}

/// Modules that name instructions without checking their results.
const WITHOUT_REFERENCE: [&str; 10] =
    ["corpus", "coverage", "differ", "effects", "footprint", "hostile", "liveness", "mod", "probe", "streams"];

/// Code that is not committed: lists of its instructions, written by `cargo xtask coverage` (and `cargo xtask isa
/// --record`).
const LISTS: [(&str, &str); 3] = [("blits", "blits"), ("ir", "IR"), ("libraries", "libraries")];

/// The folder with the lists.
fn lists() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/opcodes")
}

fn tests() -> BTreeMap<&'static str, Tests> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let by_name: BTreeMap<&str, &'static str> = Op::ALL.iter().map(|op| (op.mnemonic(), op.mnemonic())).collect();
    let mut found: BTreeMap<&'static str, Tests> = BTreeMap::new();
    let mut sources = Vec::new();
    files(&root.join("src/exec"), ".rs", &mut sources);
    for path in sources {
        let text = std::fs::read_to_string(&path).expect("a source file");
        let inside = path.components().any(|c| c.as_os_str() == "tests");
        // A module's own tests are at its end.
        let tests =
            if inside { Some(&*text) } else { text.split_once("#[cfg(test)]\nmod tests").map(|(_, tests)| tests) };
        // Tests in a folder are named after it.
        let folder = path.parent().and_then(Path::file_name).filter(|folder| inside && *folder != "tests");
        let name = folder.or_else(|| path.file_stem()).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let Some(tests) = tests.filter(|_| !WITHOUT_REFERENCE.contains(&&*name)) else { continue };
        for op in words(tests).into_iter().filter_map(|word| by_name.get(word)) {
            let entry = found.entry(op).or_default();
            entry.reference.insert(name.clone());
            entry.property |= tests.contains("Random::new");
        }
    }
    // These modules test the whole table with random operands.
    for op in Op::ALL.iter().copied() {
        let mnemonic = op.mnemonic();
        for (module, covered) in [
            ("atomics", atomics::covered(op)),
            ("widths", widths::covered(op)),
            ("salu", salu::covered(op)),
            ("matrix", op.info().is(Flags::mfma)),
            // Compares are checked by the parts of their names.
            ("compare", mnemonic.starts_with("v_cmp")),
        ] {
            if covered {
                let entry = found.entry(mnemonic).or_default();
                entry.reference.insert(module.into());
                entry.property = true;
            }
        }
    }
    for (folder, ending, name) in [("kernels", ".co", "kernels"), ("suite/code", ".co.xz", "suite")] {
        let mut code = Vec::new();
        files(&root.join("tests").join(folder), ending, &mut code);
        assert!(!code.is_empty(), "no code in {folder}");
        for path in code {
            for op in instructions_of(&path) {
                found.entry(op.mnemonic()).or_default().compiled.insert(name);
            }
        }
    }
    for (file, name) in LISTS {
        let path = lists().join(file).with_extension("txt");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for word in text.split_whitespace() {
            let op = by_name.get(word).unwrap_or_else(|| panic!("{}: `{word}` is no instruction", path.display()));
            found.entry(op).or_default().compiled.insert(name);
        }
    }
    found
}

/// The instructions of a file with a code object, perhaps compressed.
fn instructions_of(path: &Path) -> BTreeSet<Op> {
    let mut bytes = std::fs::read(path).expect("a code object");
    if path.extension().is_some_and(|ending| ending == "xz") {
        let compressed = std::mem::take(&mut bytes);
        let mut reader = lzma_rust2::XzReader::new(&compressed[..], false);
        std::io::Read::read_to_end(&mut reader, &mut bytes).expect("compressed by xz");
    }
    crate::CodeObject::parse(&bytes).map(|code| instructions(&code)).unwrap_or_default()
}

/// The page.
fn page() -> String {
    let tests = tests();
    let mut formats: BTreeMap<String, Vec<Op>> = BTreeMap::new();
    for op in Op::ALL.iter().copied() {
        formats.entry(format!("{:?}", op.info().format).to_uppercase()).or_default().push(op);
    }
    // For each architecture: decoded, executed, of these compared with a reference, with random operands, checked in compiled code, only
    // decoded.
    let (mut table, mut counts) = (String::new(), [[0; 6]; 2]);
    let none = Tests::default();
    for (format, mut ops) in formats {
        ops.sort_by_key(|op| op.mnemonic());
        let _ = write!(
            table,
            "\n## {format}\n\n| instruction | architectures | executed | tested by |\n|---|---|---|---|\n"
        );
        for op in ops {
            let on = Arch::ALL.map(|arch| op.info().opcode[arch as usize].is_some());
            let arches: Vec<_> = Arch::ALL.iter().zip(on).filter(|(_, on)| *on).map(|(arch, _)| arch.name()).collect();
            let why = reason(op);
            let by = tests.get(op.mnemonic()).unwrap_or(&none);
            let compiled = by.compiled.iter().any(|name| *name != "libraries");
            let done = why.is_none();
            let facts = [
                true,
                done,
                done && !by.reference.is_empty(),
                done && by.property,
                done && compiled,
                done && !by.checks_results(),
            ];
            for (counts, _) in counts.iter_mut().zip(on).filter(|(_, on)| *on) {
                counts.iter_mut().zip(facts).for_each(|(count, fact)| *count += u32::from(fact));
            }
            let executed = why.map_or("yes".into(), |why| format!("no: {why}"));
            let _ = writeln!(table, "| `{op}` | {} | {executed} | {by} |", arches.join(" "));
        }
    }
    let mut text = String::from(
        "# Instructions\n\n\
         Written by a test (`UPDATE_COVERAGE=1 cargo test -p amdgpu-sim --lib coverage`), which also checks\n\
         it. `cargo xtask coverage` also compiles the code that is not kept in the repository.\n\n\
         Every listed instruction is decoded and printed as LLVM does. *Executed*: whether the software GPU executes it.\n\
         Reaching an instruction that is not supported is a fault that names it, with the text of that column. *Tested by*:\n\n\
         - *reference*: unit tests compare it with a model that shares no code with it (in brackets: modules of `src/exec`).\n\
         - *property*: such a module draws operands at random.\n\
         - *kernels*, *suite*: it occurs in compiled kernels of `tests/kernels` and `tests/suite`, checked by a CPU reference.\n\
         - *blits*: likewise in the kernels that ROCm's own runtime uses for copies and fills.\n\
         - *IR*: likewise in the code that rustc's LLVM generates for `tests/ir`.\n\
         - *libraries*: it occurs in the kernels of ROCm's libraries (DECODING.md), of which only some are run.\n\n\
         | architecture | decoded | executed | executed, with a reference | with random operands | in compiled code with checked results | only decoded |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for (arch, counts) in Arch::ALL.iter().zip(counts) {
        let _ = writeln!(text, "| {arch} | {} |", counts.map(|count| count.to_string()).join(" | "));
    }
    text + &table
}

#[test]
fn every_executed_instruction_is_held_to_a_reference() {
    let tests = tests();
    let without = |op: &&Op| tests.get(op.mnemonic()).is_none_or(|by| by.reference.is_empty());
    let missing: Vec<_> = Op::ALL.iter().filter(|op| reason(**op).is_none()).filter(without).collect();
    assert!(missing.is_empty(), "no unit test says what these compute: {missing:?}");
}

/// Writes the lists of instructions of the code objects that tests were asked to keep, from one folder per test.
#[test]
fn lists_of_instructions_in_code_that_is_not_kept() {
    let Some(folder) = std::env::var_os("ROCM_RS_KEPT_CODE").map(PathBuf::from) else { return };
    for name in ["blits", "ir"] {
        let mut code = Vec::new();
        files(&folder.join(name), ".co", &mut code);
        assert!(!code.is_empty(), "no code was kept by {name}");
        let found: BTreeSet<&str> =
            code.iter().flat_map(|path| instructions_of(path)).map(|op| op.mnemonic()).collect();
        let text: String = found.into_iter().map(|name| format!("{name}\n")).collect();
        std::fs::write(lists().join(name).with_extension("txt"), text).expect("the list can be written");
    }
}

#[test]
fn the_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("COVERAGE.md");
    let page = page();
    if std::env::var_os("UPDATE_COVERAGE").is_some() {
        std::fs::write(&path, page).expect("COVERAGE.md can be written");
        return;
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let differing = on_disk.lines().zip(page.lines()).find(|(a, b)| a != b);
    assert!(
        on_disk == page,
        "COVERAGE.md is out of date ({differing:?}): UPDATE_COVERAGE=1 cargo test -p amdgpu-sim --lib coverage"
    );
}

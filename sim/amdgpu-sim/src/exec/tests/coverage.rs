//! Which instructions are carried out, and the page that says so.

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
        // Of the messages, interrupts are carried out; of the hardware registers, MODE.
        Kind::Immediate if matches!(ty, Type::SendMsg | Type::HwReg) => imm(1),
        Kind::Immediate => imm(0),
        Kind::Mask => s(20),
        _ if scalar => s(register),
        _ => v(register),
    }
}

/// Why an instruction is not carried out, if it isn't. No lane is enabled, so that no address matters.
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
    let (wave, stop) = execute(&[code], DEFAULT_MODE, cpu::has_avx2(), &|w| {
        w.set_exec(0);
        w.set_slot(27, 4 << 15 | 7 << 12);
    });
    match wave.trap {
        Some(Trap::Unsupported(why)) if stop == Stop::Trap => Some(why),
        _ => None,
    }
}

/// What traps when it is reached, in any form: nothing but these.
const TRAPS: &[&str] = &["s_endpgm_ordered_ps_done", "s_rfe_b64", "s_rfe_restore_b64", "s_sendmsghalt"];

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

/// Files below `folder` whose names end so.
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

/// Which tests each instruction occurs in: modules of unit tests that name it, and `kernels` for those in compiled code that tests run.
fn tests() -> BTreeMap<&'static str, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let by_name: BTreeMap<&str, &'static str> = Op::ALL.iter().map(|op| (op.mnemonic(), op.mnemonic())).collect();
    let mut found: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
    let mut sources = Vec::new();
    files(&root.join("src/exec"), ".rs", &mut sources);
    for path in sources {
        let text = std::fs::read_to_string(&path).expect("a source file");
        let inside = path.components().any(|c| c.as_os_str() == "tests");
        // A module's own tests stand at its end.
        let tests =
            if inside { Some(&*text) } else { text.split_once("#[cfg(test)]\nmod tests").map(|(_, tests)| tests) };
        let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        if matches!(&*name, "coverage" | "differ" | "mod") {
            continue;
        }
        for word in tests.map(words).unwrap_or_default() {
            if let Some(op) = by_name.get(word) {
                found.entry(op).or_default().insert(name.clone());
            }
        }
    }
    let mut kernels = Vec::new();
    files(&root.join("tests"), ".co", &mut kernels);
    for path in kernels {
        let bytes = std::fs::read(&path).expect("a code object");
        let Ok(code) = crate::CodeObject::parse(&bytes) else { continue };
        for op in instructions(&code) {
            found.entry(op.mnemonic()).or_default().insert("kernels".into());
        }
    }
    // These modules go over the whole table.
    for op in Op::ALL.iter().copied() {
        let matrix = op.info().is(Flags::mfma);
        for (module, covered) in
            [("atomics", atomics::covered(op)), ("widths", widths::covered(op)), ("matrix", matrix)]
        {
            if covered {
                found.entry(op.mnemonic()).or_default().insert(module.into());
            }
        }
    }
    // Compares are checked by their names' parts.
    for op in Op::ALL.iter().map(|op| op.mnemonic()).filter(|m| m.starts_with("v_cmp")) {
        found.entry(op).or_default().insert("compare".into());
    }
    found
}

/// The page.
fn page() -> String {
    let tests = tests();
    let mut formats: BTreeMap<String, Vec<Op>> = BTreeMap::new();
    for op in Op::ALL.iter().copied() {
        formats.entry(format!("{:?}", op.info().format).to_uppercase()).or_default().push(op);
    }
    let (mut table, mut executed, mut tested) = (String::new(), [0; 2], [0; 2]);
    let mut decoded = [0; 2];
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
            let by: Vec<_> = tests.get(op.mnemonic()).into_iter().flatten().map(String::as_str).collect();
            for arch in 0..2 {
                decoded[arch] += u32::from(on[arch]);
                executed[arch] += u32::from(on[arch] && why.is_none());
                tested[arch] += u32::from(on[arch] && why.is_none() && !by.is_empty());
            }
            let executed = why.map_or("yes".into(), |why| format!("no: {why}"));
            let _ = writeln!(table, "| `{op}` | {} | {executed} | {} |", arches.join(" "), by.join(", "));
        }
    }
    let mut text = String::from(
        "# Instructions\n\n\
         Written by a test (`UPDATE_COVERAGE=1 cargo test -p amdgpu-sim --lib coverage`), which also checks that it is up to date.\n\n\
         Every instruction here is decoded and printed as LLVM does. *Executed*: what the software GPU does when it is reached; \
         what it does not carry out is a fault with that text, which names the instruction. *Tested by*: the modules of \
         `src/exec` whose tests name it, and `kernels` where compiled kernels that are run contain it.\n\n\
         | architecture | decoded | executed | of these tested |\n|---|---|---|---|\n",
    );
    for (i, arch) in Arch::ALL.iter().enumerate() {
        let _ = writeln!(text, "| {arch} | {} | {} | {} |", decoded[i], executed[i], tested[i]);
    }
    text + &table
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

//! The instructions of ROCm's own kernels are supported in every form in which they occur.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use super::*;
use crate::isa::Arch;
use crate::isa::inst::InlineFloat;

/// The maximum number of bytes that are checked, so that the test stays fast; `ROCM_RS_CORPUS_BYTES` overrides it.
fn budget() -> usize {
    std::env::var("ROCM_RS_CORPUS_BYTES").ok().and_then(|n| n.parse().ok()).unwrap_or(24 << 20)
}

/// Most bytes that are read of a file.
const MOST_OF_A_FILE: u64 = 256 << 20;

/// The properties of an operand that affect lowering.
fn shape(operand: Operand) -> Operand {
    match operand {
        Operand::Vgpr(_) => v(8),
        Operand::Agpr(_) => Operand::Agpr(8),
        Operand::Sgpr(_) => s(8),
        Operand::Ttmp(_) => Operand::Ttmp(0),
        Operand::Int(_) => Operand::Int(1),
        Operand::Float(_) => Operand::Float(InlineFloat::One),
        Operand::Literal(_) => Operand::Literal(0x1234),
        other => other,
    }
}

/// The form of an instruction, without the parts that do not matter.
fn form(inst: &Inst) -> Inst {
    let keeps = matches!(inst.format, Format::Sopk | Format::Sopp | Format::Sop2);
    let immediate = |o: Operand| if keeps || !matches!(o, Operand::Imm(_)) { shape(o) } else { imm(0) };
    Inst {
        size: 8,
        dst: shape(inst.dst),
        dst2: shape(inst.dst2),
        src: inst.src.map(immediate),
        mods: Mods { offset: 0, offset1: 0, ..inst.mods },
        ..*inst
    }
}

/// Files with code objects in the fetched trees: kernel files, and a library with uncompressed ones.
fn code_objects() -> Vec<PathBuf> {
    let root = std::env::var_os("ROCM_RS_TREES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/rocm"), PathBuf::from);
    let (mut found, mut libraries) = (Vec::new(), Vec::new());
    for release in std::fs::read_dir(root).into_iter().flatten().flatten() {
        libraries.push(release.path().join("usr/lib/x86_64-linux-gnu/librocrand.so.1"));
        for library in ["hipblaslt", "rocblas"] {
            for folder in ["usr/lib/x86_64-linux-gnu", "opt/rocm/lib", "lib"] {
                let folder = release.path().join(folder).join(library).join("library");
                let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
                found.extend(files.map(|f| f.path()).filter(|p| {
                    let name = p.to_string_lossy().into_owned();
                    (name.ends_with(".co") || name.ends_with(".hsaco"))
                        && Arch::ALL.iter().any(|a| name.contains(a.name()))
                }));
            }
        }
    }
    found.extend(libraries.into_iter().filter(|p| p.is_file()));
    // In a fixed order that starts with some of everything.
    found.sort_by_key(|p| {
        let name = p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
    });
    found
}

/// The code objects in a file: itself, or those of the bundles in it.
fn inside(data: &[u8]) -> Vec<crate::CodeObject> {
    if let Ok(code) = crate::CodeObject::parse(data) {
        return vec![code];
    }
    let magic = b"__CLANG_OFFLOAD_BUNDLE__";
    let mut found = Vec::new();
    // Not `bundles`: only a part of a large library is loaded.
    let mut at = if data.starts_with(b"CCOB") { Some(0) } else { data.windows(magic.len()).position(|w| w == magic) };
    while let Some(start) = at {
        if let Ok(bundle) = crate::bundle::Bundle::open(&data[start..]) {
            let _ =
                bundle.for_each(|e| e.target.is_some(), |_, code| found.extend(crate::CodeObject::parse(&code).ok()));
        }
        let rest = start + magic.len().min(data.len() - start);
        at = data[rest..].windows(magic.len()).position(|w| w == magic).map(|next| rest + next);
    }
    found
}

#[test]
fn every_form_in_rocms_kernels_is_carried_out() {
    let files = code_objects();
    if files.is_empty() {
        let _ = writeln!(std::io::stdout(), "SKIPPED: no fetched ROCm tree with kernels (cargo xtask rocm fetch 7.2)");
        return;
    }
    let mut forms: HashMap<String, (Inst, u64)> = HashMap::new();
    let (mut bytes, mut total) = (0, 0_u64);
    for path in &files {
        if bytes > budget() {
            break;
        }
        let mut data = Vec::new();
        let file = std::fs::File::open(path).and_then(|f| f.take(MOST_OF_A_FILE).read_to_end(&mut data));
        if file.is_err() {
            continue;
        }
        let objects = inside(&data);
        let segments =
            objects.iter().flat_map(|c| c.image.segments.iter().filter(|s| s.executable).map(move |s| (c, s)));
        for (code, segment) in segments {
            if bytes > budget() {
                break;
            }
            bytes += code.image.contents(segment).len();
            let Some(arch) = Arch::ALL.into_iter().find(|arch| arch.name() == code.target().processor) else {
                continue;
            };
            let words: Vec<u32> = code
                .image
                .contents(segment)
                .chunks_exact(4)
                .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
                .collect();
            let mut at = 0;
            while at < words.len() {
                let Ok(inst) = crate::isa::decode(&words[at..], arch) else {
                    at += 1;
                    continue;
                };
                at += usize::from(inst.size) / 4;
                total += 1;
                let form = form(&inst);
                forms.entry(format!("{form:?}")).or_insert((form, 0)).1 += 1;
            }
        }
    }
    let mut missing = Vec::new();
    for (inst, count) in forms.values() {
        let (wave, stop) = execute(&[*inst], DEFAULT_MODE.into(), cpu::has_avx2(), &|w| w.set_exec(0));
        if let (Stop::Trap, Some(Trap::Unsupported(why))) = (stop, wave.trap) {
            missing.push(format!("{count} times: {inst:?} ({why})"));
        }
    }
    missing.sort();
    let _ = writeln!(std::io::stdout(), "{total} instructions in {} forms, of {} files", forms.len(), files.len());
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(total > 10_000, "only {total} instructions");
}

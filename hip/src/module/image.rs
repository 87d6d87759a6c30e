//! Module images: a code object (ELF), or a bundle of them (Clang's offload bundle). For NVIDIA's devices, code is a
//! cubin (ELF, too) or PTX.

use std::borrow::Cow;

use crate::core::arch::Arch;
use crate::core::error::{Error, Result};
use crate::module::bundle::{BUNDLE, bad, entries, target_of};
use crate::module::code_object::CodeObject;
use crate::module::compressed;
#[cfg(feature = "nvidia")]
use crate::module::cubin;
use crate::module::elf::{Elf, MACHINE_AMDGPU, MACHINE_CUDA, OS_ABI_HSA, TYPE_DYNAMIC};
use crate::module::layout;
use crate::module::metadata::Metadata;
#[cfg(feature = "nvidia")]
use crate::module::ptx;

/// `__CudaFatBinaryWrapper` with AMD's magic 0x48495046, in memory.
const FAT_BINARY_WRAPPER: &[u8] = b"FPIH";
/// The magic number of NVIDIA's bundles, 0xba55ed50, in memory.
const CUDA_FAT_BINARY: &[u8] = b"\x50\xed\x55\xba";
const ELF: &[u8] = b"\x7fELF";
/// NT_AMDGPU_METADATA
const NOTE_METADATA: u32 = 32;
/// NT_AMD_HSA_METADATA, of code objects of version 2
const NOTE_OLD_METADATA: u32 = 10;
/// Alignment of notes. Readers handle other alignments differently, and so find different notes.
const NOTE_ALIGN: u64 = 4;
/// Owner of the metadata note.
const OWNER: &[u8] = b"AMDGPU\0";

/// Like [`select`], but rejects code that runs when it is loaded or unloaded. For safe functions.
pub(crate) fn select_inert<'a>(image: &'a [u8], device: &Arch) -> Result<CodeObject<'a>> {
    let object = select(image, device)?;
    match object.metadata.automatic.first() {
        Some(kernel) => Err(bad(format!(
            "its {kernel} runs without a launch: load it with Module::load_with_init_kernels if it is trusted"
        ))),
        None => Ok(object),
    }
}

/// Returns the code object in `image` for `device`: the image itself, or the entry of a bundle that fits best.
pub(crate) fn select<'a>(image: &'a [u8], device: &Arch) -> Result<CodeObject<'a>> {
    if image.is_empty() {
        return Err(bad("it is empty"));
    }
    if image.starts_with(ELF) || is_ptx(image) {
        let object = parse(image)?;
        return match &object.metadata.target {
            Some(target) if !target.runs_on(device) => {
                Err(Error::Architecture { device: device.clone(), found: vec![target.to_string()] })
            }
            _ => Ok(object),
        };
    }
    if image.starts_with(BUNDLE) {
        return select_entry(image, device);
    }
    if image.starts_with(compressed::MAGIC) {
        let bundle = compressed::decompress(image)?;
        let CodeObject { bytes, metadata } = select_entry(&bundle, device)?;
        return Ok(CodeObject { bytes: Cow::Owned(bytes.into_owned()), metadata });
    }
    Err(bad(if image.starts_with(FAT_BINARY_WRAPPER) {
        "it is a fat binary wrapper (HIPF), which only points to an offload bundle elsewhere: give the bundle itself"
            .to_owned()
    } else if image.starts_with(b"BC\xc0\xde") {
        "it is LLVM bitcode, not linked to machine code yet".to_owned()
    } else if image.starts_with(CUDA_FAT_BINARY) {
        "it is a CUDA fat binary: give the cubin or the PTX in it (nvcc -cubin, nvcc -ptx)".to_owned()
    } else {
        let start: Vec<String> = image.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("it starts with the bytes {}, and is neither an ELF file nor an offload bundle", start.join(" "))
    }))
}

fn select_entry<'a>(bundle: &'a [u8], device: &Arch) -> Result<CodeObject<'a>> {
    let mut found = Vec::new();
    let mut best: Option<(Arch, &[u8])> = None;
    for entry in entries(bundle)? {
        let (id, bytes) = entry?;
        let Some(arch) = target_of(id) else { continue };
        found.push(arch.to_string());
        let better = best.as_ref().is_none_or(|(chosen, _)| arch.fit(device) > chosen.fit(device));
        if arch.runs_on(device) && better {
            best = Some((arch, bytes));
        }
    }
    match best {
        Some((arch, bytes)) => {
            let object = parse(bytes).map_err(|error| bad(format!("the bundle's entry for {arch}: {error}")))?;
            match &object.metadata.target {
                Some(target) if !target.runs_on(device) => {
                    Err(bad(format!("the bundle's entry for {arch} holds code for {target}")))
                }
                _ => Ok(object),
            }
        }
        None => Err(Error::Architecture { device: device.clone(), found }),
    }
}

/// Returns the architectures that `image` has code for.
///
/// # Errors
/// [`Error::Image`] if it is neither a code object nor an offload bundle.
pub(crate) fn targets(image: &[u8]) -> Result<Vec<Arch>> {
    if image.starts_with(compressed::MAGIC) {
        return targets(&compressed::decompress(image)?);
    }
    if image.starts_with(BUNDLE) {
        let mut found = Vec::new();
        for entry in entries(image)? {
            found.extend(target_of(entry?.0));
        }
        return Ok(found);
    }
    Ok(parse(image)?.metadata.target.into_iter().collect())
}

fn no_metadata() -> Error {
    bad("it has no kernel metadata (NT_AMDGPU_METADATA): code objects before version 3 cannot be loaded")
}

/// Checks that `bytes` are code of either maker, and reads its metadata.
fn parse(bytes: &[u8]) -> Result<CodeObject<'_>> {
    #[cfg(feature = "nvidia")]
    if !bytes.starts_with(ELF) && is_ptx(bytes) {
        return ptx::parse(bytes);
    }
    let elf = Elf::parse(bytes).map_err(bad)?;
    match elf.machine {
        #[cfg(feature = "nvidia")]
        MACHINE_CUDA => cubin::parse(bytes, &elf),
        #[cfg(not(feature = "nvidia"))]
        MACHINE_CUDA => Err(bad("it is code for NVIDIA's GPUs: build with the feature `nvidia` of `hip`")),
        _ => parse_amdgpu(bytes, &elf),
    }
}

#[cfg(feature = "nvidia")]
fn is_ptx(image: &[u8]) -> bool {
    ptx::is_ptx(image)
}

#[cfg(not(feature = "nvidia"))]
fn is_ptx(_: &[u8]) -> bool {
    false
}

fn parse_amdgpu<'a>(bytes: &'a [u8], elf: &Elf<'a>) -> Result<CodeObject<'a>> {
    if elf.machine != MACHINE_AMDGPU {
        return Err(bad(format!("an ELF file for machine {}, not for AMD GPUs ({MACHINE_AMDGPU})", elf.machine)));
    }
    if elf.os_abi != OS_ABI_HSA {
        return Err(bad(format!("its ABI is {}, not that of HSA ({OS_ABI_HSA})", elf.os_abi)));
    }
    if elf.kind != TYPE_DYNAMIC {
        return Err(bad("it is not linked: link it to a shared object (ld.lld -shared)"));
    }
    if elf.note_align > NOTE_ALIGN {
        return Err(bad(format!("its notes are aligned to {}, not {NOTE_ALIGN}", elf.note_align)));
    }
    let descriptors = layout::check(elf).map_err(bad)?;
    // Notes of any owner: the runtime must not find other metadata than the checked one.
    let notes = elf.notes().filter(|note| matches!(note.kind, NOTE_METADATA | NOTE_OLD_METADATA));
    let mut metadata: Option<Metadata> = None;
    for note in notes {
        if note.kind != NOTE_METADATA || note.owner != OWNER {
            return Err(no_metadata());
        }
        let read = Metadata::parse(note.payload)?;
        match &mut metadata {
            Some(all) => all.add(read)?,
            None => metadata = Some(read),
        }
    }
    let metadata = metadata.ok_or_else(no_metadata)?;
    match metadata.symbols.iter().find(|symbol| !descriptors.contains(symbol.as_bytes())) {
        Some(symbol) => {
            Err(bad(format!("damaged: its metadata names the kernel {symbol:?}, and it has no such symbol")))
        }
        None => Ok(CodeObject { bytes: Cow::Borrowed(bytes), metadata }),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::module::bundle::bundle_entries;

    pub(crate) const VECTOR_ADD: &[u8] = include_bytes!("../../tests/kernels/kernels.gfx90a.co");

    fn device() -> Arch {
        "gfx90a:sramecc+:xnack-".parse().unwrap()
    }

    fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut header = BUNDLE.to_vec();
        header.extend((entries.len() as u64).to_le_bytes());
        let mut at = header.len() + entries.iter().map(|(id, _)| 24 + id.len()).sum::<usize>();
        for (id, bytes) in entries {
            header.extend((at as u64).to_le_bytes());
            header.extend((bytes.len() as u64).to_le_bytes());
            header.extend((id.len() as u64).to_le_bytes());
            header.extend(id.as_bytes());
            at += bytes.len();
        }
        for (_, bytes) in entries {
            header.extend(*bytes);
        }
        header
    }

    fn reason(image: &[u8]) -> String {
        select(image, &device()).unwrap_err().to_string()
    }

    #[test]
    fn a_code_object_is_its_own_image() {
        let object = select(VECTOR_ADD, &device()).unwrap();
        assert_eq!(object.bytes.len(), VECTOR_ADD.len());
        assert_eq!(object.metadata.target.unwrap().name(), "gfx90a");
    }

    #[test]
    fn code_objects_of_all_versions_are_read() {
        let objects: [(&[u8], &str); 3] = [
            (include_bytes!("../../tests/kernels/vector_add.v4.gfx90a.co"), "gfx90a"),
            (include_bytes!("../../tests/kernels/vector_add.v5.gfx90a.co"), "gfx90a:xnack-"),
            (include_bytes!("../../tests/kernels/vector_add.v6.gfx90a.co"), "gfx90a:sramecc+:xnack-"),
        ];
        for (bytes, target) in objects {
            let metadata = select(bytes, &device()).unwrap().metadata;
            assert_eq!(metadata.target.unwrap().to_string(), target);
            assert_eq!(metadata.kernels["vector_add"].to_string(), "vector_add(pointer, pointer, pointer, 4 bytes)");
        }
    }

    #[test]
    fn the_best_entry_of_a_bundle_is_taken() {
        let image = bundle(&[
            ("host-x86_64-unknown-linux--", b""),
            ("hipv4-amdgcn-amd-amdhsa--gfx942", b"not even ELF"),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a", b"\x7fELF not read"),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", VECTOR_ADD),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", b"for others"),
        ]);
        let object = select(&image, &device()).unwrap();
        assert!(*object.bytes == *VECTOR_ADD);
        let targets: Vec<String> = targets(&image).unwrap().iter().map(Arch::to_string).collect();
        assert_eq!(targets, ["gfx942", "gfx90a", "gfx90a:xnack-", "gfx90a:xnack+"]);
        let entries = bundle_entries(&image).unwrap();
        assert_eq!(entries[0], ("host-x86_64-unknown-linux--", &b""[..]));
        assert_eq!(entries[3], ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", VECTOR_ADD));
        assert!(bundle_entries(VECTOR_ADD).unwrap_err().to_string().contains("does not start"));
        assert!(bundle_entries(&image[..image.len() - 11]).is_err());
    }

    #[test]
    fn code_for_others_is_named() {
        let image = bundle(&[
            ("hipv4-amdgcn-amd-amdhsa--gfx942", VECTOR_ADD),
            ("hip-amdgcn-amd-amdhsa--gfx9-4-generic", VECTOR_ADD),
        ]);
        let text = reason(&image);
        assert!(
            text.contains("no code for gfx90a:sramecc+:xnack-") && text.contains("gfx942, gfx9-4-generic"),
            "{text}"
        );

        let error = select(VECTOR_ADD, &"gfx1100".parse().unwrap()).unwrap_err();
        assert!(matches!(error, Error::Architecture { .. }), "{error}");
    }

    #[test]
    fn an_entry_that_lies_about_its_code_is_found_out() {
        let image = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx1100", VECTOR_ADD)]);
        let text = select(&image, &"gfx1100".parse().unwrap()).unwrap_err().to_string();
        assert!(text.contains("entry for gfx1100 holds code for gfx90a"), "{text}");
    }

    #[test]
    fn what_is_no_image_is_said_to_be_what_it_is() {
        assert!(reason(b"").contains("empty"));
        assert!(reason(b"#!/bin/sh\n").contains("23 21 2f 62"));
        assert!(reason(b"CCOB\x02\0").contains("compressed offload bundle"));
        assert!(reason(b"FPIH\x01\0\0\0").contains("wrapper"));
        assert!(reason(b"BC\xc0\xde").contains("bitcode"));
        assert!(reason(b"\x7fELF").contains("ELF"));
        assert!(reason(&std::fs::read(std::env::current_exe().unwrap()).unwrap()).contains("not for AMD GPUs"));
    }

    #[test]
    fn no_cut_of_a_good_image_is_taken() {
        let image = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx90a", VECTOR_ADD)]);
        for image in [&image, VECTOR_ADD] {
            for len in (0..256).chain((256..image.len()).step_by(97)).chain([image.len() - 1]) {
                assert!(select(&image[..len], &device()).is_err(), "{len}");
            }
        }
    }

    #[test]
    fn sizes_that_overflow_are_errors() {
        for field in [0, 8, 16] {
            let mut image = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx90a", VECTOR_ADD)]);
            let at = BUNDLE.len() + 8 + field;
            image[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
            assert!(select(&image, &device()).is_err(), "field at {field}");
        }
        let mut image = BUNDLE.to_vec();
        image.extend(u64::MAX.to_le_bytes());
        assert!(reason(&image).contains("18446744073709551615 entries"));
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(300))]
        #[test]
        fn damaged_images_never_panic(flips in proptest::collection::vec((0..VECTOR_ADD.len(), proptest::num::u8::ANY), 1..40), bundled: bool) {
            let mut image = if bundled { bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx90a", VECTOR_ADD)]) } else { VECTOR_ADD.to_vec() };
            for (at, byte) in flips {
                image[at] ^= byte;
            }
            let _ = select(&image, &device());
        }

        #[test]
        fn damaged_metadata_never_panics(flips in proptest::collection::vec((0..2000usize, proptest::num::u8::ANY), 1..12)) {
            // The note with the metadata is near the start of the file.
            let mut image = VECTOR_ADD.to_vec();
            for (at, byte) in flips {
                image[0x200 + at] = byte;
            }
            let _ = select(&image, &device());
        }
    }
}

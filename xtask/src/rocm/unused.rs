//! Unused content of ROCm's packages: two thirds of the disk space of three releases' trees.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::ReadCache;
use object::read::elf::{FileHeader as _, SectionHeader as _};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// The processors that the software GPU simulates. Kernels for others are never run.
const PROCESSORS: [&str; 2] = ["gfx90a", "gfx942"];

/// Extensions of files with kernels, and of tables of them.
const KERNELS: [&str; 3] = ["co", "hsaco", "dat"];

/// Libraries that contain kernels for a dozen processors: hundreds of megabytes, uncompressed before ROCm 7.
const LARGE: [&str; 4] = ["librocsolver.so.", "librocsparse.so.", "librocblas.so.", "librccl.so."];

/// The first bytes of a bundle of code objects.
const BUNDLE: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";

/// Alignment of bundles in a library, and the unit in which file systems free space.
const PAGE: u64 = 4096;

/// Removes unused content from the tree at `folder`: static libraries, and kernels for processors that the software GPU
/// does not simulate. In libraries, these kernels become holes: the file keeps its length, and they take no space.
///
/// # Errors
/// Those of the file system.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let (entry, path) = entry.map(|entry| (entry.file_type(), entry.path()))?;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match entry? {
            kind if kind.is_dir() => remove(&path)?,
            _ if is_unused(Path::new(name)) => fs::remove_file(&path)?,
            kind if kind.is_file() && LARGE.iter().any(|library| name.starts_with(library)) => hollow(&path)?,
            _ => {}
        }
    }
    Ok(())
}

fn is_unused(name: &Path) -> bool {
    let (Some(text), Some(ending)) = (name.to_str(), name.extension().and_then(|ending| ending.to_str())) else {
        return false;
    };
    ending == "a" || KERNELS.contains(&ending) && is_of_a_processor(text) && !is_for_ours(text)
}

/// Returns whether a text names a processor.
fn is_of_a_processor(text: &str) -> bool {
    text.match_indices("gfx").any(|(at, _)| text[at + 3..].starts_with(|next: char| next.is_ascii_digit()))
}

/// Returns whether a text names a processor of the software GPU: `gfx90a` does not match `gfx90a1`. The software GPU
/// does not retry accesses (`xnack+`).
fn is_for_ours(text: &str) -> bool {
    let is_for = |processor: &&str| {
        text.split_once(*processor).is_some_and(|(_, after)| {
            !after.starts_with(|next: char| next.is_ascii_alphanumeric()) && !after.contains("xnack+")
        })
    };
    PROCESSORS.iter().any(is_for)
}

/// Replaces the code objects of a library that are for other processors by holes.
fn hollow(library: &Path) -> io::Result<()> {
    let file = File::options().read(true).write(true).open(library)?;
    match bundles(&file) {
        Some((start, size)) => hollow_bundles(&file, start, size),
        None => Ok(()),
    }
}

/// Returns offset and size of the section with the bundles.
fn bundles(file: &File) -> Option<(u64, u64)> {
    let cache = ReadCache::new(file);
    let header = FileHeader64::<LittleEndian>::parse(&cache).ok()?;
    let endian = header.endian().ok()?;
    let (_, section) = header.sections(endian, &cache).ok()?.section_by_name(endian, b".hip_fatbin")?;
    section.file_range(endian)
}

fn hollow_bundles(file: &File, start: u64, size: u64) -> io::Result<()> {
    let mut at = start;
    while at < start + size {
        let entries = entries(file, at)?;
        let end = entries.iter().map(|(offset, size, _)| at + offset + size).max();
        for (offset, size, _) in entries.iter().filter(|(_, _, id)| is_of_a_processor(id) && !is_for_ours(id)) {
            let from = (at + offset).next_multiple_of(PAGE);
            let to = (at + offset + size) / PAGE * PAGE;
            if from < to {
                match fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, from, to - from) {
                    // The file system does not support holes: the file stays unchanged.
                    Err(Errno::OPNOTSUPP) => return Ok(()),
                    done => done?,
                }
            }
        }
        at = end.unwrap_or(at + 1).next_multiple_of(PAGE);
    }
    Ok(())
}

/// Returns offset, size and name of each entry of the bundle at an offset of a file; none if there is no bundle.
fn entries(file: &File, at: u64) -> io::Result<Vec<(u64, u64, String)>> {
    let bytes = |at: u64, size: usize| {
        let mut bytes = vec![0; size];
        file.read_exact_at(&mut bytes, at).map(|()| bytes)
    };
    let number =
        |at: u64| bytes(at, 8).map(|bytes| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)));
    let mut place = at + BUNDLE.len() as u64;
    if bytes(at, BUNDLE.len())? != BUNDLE {
        return Ok(Vec::new());
    }
    let mut entries = Vec::new();
    let count = number(place)?;
    place += 8;
    for _ in 0..count {
        let (offset, size, length) = (number(place)?, number(place + 8)?, number(place + 16)?);
        let id = bytes(place + 24, usize::try_from(length.min(PAGE)).unwrap_or_default())?;
        entries.push((offset, size, String::from_utf8_lossy(&id).into_owned()));
        place += 24 + length;
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn static_libraries_and_kernels_for_other_processors_go() {
        let folder = tempfile::tempdir().unwrap();
        let kept = [
            "usr/lib/librocblas.so.4.1/not-a-library",
            "usr/lib/rocblas/Kernels.so-000-gfx90a-xnack-.hsaco",
            "usr/lib/rocblas/TensileLibrary_gfx90a.dat",
            "usr/lib/rocblas/TensileLibrary_gfx942.co",
            "usr/lib/rocblas/TensileLibrary.dat",
            "usr/include/gfx906.h",
        ];
        let gone = [
            "usr/lib/llvm-19/lib/libclangSema.a",
            "usr/lib/rocblas/Kernels.so-000-gfx90a-xnack+.hsaco",
            "usr/lib/rocblas/TensileLibrary_fallback_gfx1100.hsaco",
            "usr/lib/rocblas/TensileLibrary_gfx900.co",
            "usr/lib/rocblas/TensileLibrary_lazy_gfx1151.dat",
        ];
        for file in kept.iter().chain(&gone) {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, []).unwrap();
        }
        remove(folder.path()).unwrap();
        assert!(kept.iter().all(|file| folder.path().join(file).exists()));
        assert!(!gone.iter().any(|file| folder.path().join(file).exists()));
    }

    /// A bundle of code objects of 64 KiB, each filled with one byte value.
    fn bundle(ids: &[&str]) -> Vec<u8> {
        const SIZE: u64 = 1 << 16;
        let mut bytes = BUNDLE.to_vec();
        bytes.extend((ids.len() as u64).to_le_bytes());
        for (index, id) in ids.iter().enumerate() {
            let fields = [PAGE + index as u64 * SIZE, SIZE, id.len() as u64];
            bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
            bytes.extend(id.as_bytes());
        }
        bytes.resize(PAGE as usize, 0);
        (1..=ids.len() as u8).for_each(|value| bytes.resize(bytes.len() + SIZE as usize, value));
        bytes
    }

    #[test]
    fn code_for_other_processors_takes_no_space_in_a_library() {
        let entries =
            ["host-x86_64-unknown-linux-", "hipv4-amdgcn-amd-amdhsa--gfx906", "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"];
        let fat = [vec![9; PAGE as usize], bundle(&entries), vec![0; PAGE as usize], bundle(&entries)].concat();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library");
        fs::write(&path, &fat).unwrap();
        let (before, used) = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().blocks());
        let file = File::options().read(true).write(true).open(&path).unwrap();
        hollow_bundles(&file, PAGE, before.len() as u64 - PAGE).unwrap();
        let after = fs::read(&path).unwrap();
        assert_eq!(after.len(), before.len());
        let count = |bytes: &[u8], value: u8| bytes.iter().filter(|byte| **byte == value).count();
        let changed = before.iter().zip(&after).filter(|(before, after)| before != after);
        assert!(changed.clone().all(|(before, after)| (*before, *after) == (2, 0)), "only code for gfx906");
        assert_eq!(count(&before, 3), count(&after, 3));
        assert_eq!(changed.count(), 2 << 16);
        assert!(fs::metadata(&path).unwrap().blocks() * 512 <= used * 512 - (2 << 16));
    }
}

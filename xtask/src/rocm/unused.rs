//! Files of ROCm's packages that nothing here reads: a quarter of what the trees of three releases would take on the disk.

use std::path::Path;
use std::{fs, io};

/// Processors whose kernels no test runs. Each library has a file of them for each of its kernels' tables.
const PROCESSORS: [&str; 12] = [
    "gfx803", "gfx900", "gfx906", "gfx908", "gfx1010", "gfx1012", "gfx1101", "gfx1102", "gfx1103", "gfx1150",
    "gfx1151", "gfx1152",
];

/// Endings of files that have kernels, and of tables of them.
const KERNELS: [&str; 3] = ["co", "hsaco", "dat"];

/// Removes what nothing reads from the tree at `folder`: static libraries, and kernels for other processors than those
/// that the software GPU has.
///
/// # Errors
/// Those of the file system.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove(&entry.path())?;
        } else if is_unused(Path::new(&entry.file_name())) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn is_unused(name: &Path) -> bool {
    let Some(ending) = name.extension().and_then(|ending| ending.to_str()) else { return false };
    ending == "a" || KERNELS.contains(&ending) && PROCESSORS.iter().any(|processor| is_for(name, processor))
}

/// Whether a name has that of a processor: `gfx906` is not in `gfx906a`.
fn is_for(name: &Path, processor: &str) -> bool {
    let Some((_, after)) = name.to_str().and_then(|name| name.split_once(processor)) else { return false };
    !after.starts_with(|next: char| next.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_libraries_and_kernels_for_other_processors_go() {
        let folder = tempfile::tempdir().unwrap();
        let kept = [
            "usr/lib/librocblas.so.4",
            "usr/lib/rocblas/Kernels.so-000-gfx90a-xnack+.hsaco",
            "usr/lib/rocblas/TensileLibrary_fallback_gfx1100.hsaco",
            "usr/lib/rocblas/TensileLibrary_gfx90a.dat",
            "usr/lib/rocblas/TensileLibrary.dat",
            "usr/include/gfx906.h",
        ];
        let gone = [
            "usr/lib/llvm-19/lib/libclangSema.a",
            "usr/lib/rocblas/Kernels.so-000-gfx906-xnack-.hsaco",
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
}

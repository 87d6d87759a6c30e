//! Unused files of ROCm's packages: a quarter of the disk space of three releases' trees.

use std::path::Path;
use std::{fs, io};

/// Processors whose kernels no test runs. Each library has a file for each of them and each of its kernel tables.
const PROCESSORS: [&str; 12] = [
    "gfx803", "gfx900", "gfx906", "gfx908", "gfx1010", "gfx1012", "gfx1101", "gfx1102", "gfx1103", "gfx1150",
    "gfx1151", "gfx1152",
];

/// Extensions of files with kernels, and of tables of them.
const KERNELS: [&str; 3] = ["co", "hsaco", "dat"];

/// Removes unused files from the tree at `folder`: static libraries, and kernels for processors that the software GPU
/// does not simulate.
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

/// Returns whether a name contains that of a processor: `gfx906` does not match `gfx906a`.
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

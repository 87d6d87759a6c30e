//! Compares the table of libraries with Debian's packages.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rocm_loader::{Group, LibrarySpec, libraries};

/// The unpacked releases, `ROCM_RS_TREES` or where `cargo xtask rocm fetch` puts them.
fn trees() -> PathBuf {
    let set = std::env::var_os("ROCM_RS_TREES").map(PathBuf::from);
    set.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/rocm"))
}

fn skipped(why: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "SKIPPED: {why}");
}

#[test]
fn short_names_are_unique_and_found() {
    let names: BTreeSet<&str> = libraries::ALL.iter().map(|spec| spec.name()).collect();
    assert_eq!(names.len(), libraries::ALL.len());
    for spec in libraries::ALL {
        assert!(std::ptr::eq(libraries::by_short_name(spec.name()).unwrap(), *spec));
    }
    assert!(libraries::by_short_name("nccl").is_none() && libraries::by_short_name("").is_none());
}

/// The names, their order, and the properties that the wheels' package states of each.
#[test]
fn the_names_of_the_python_package() {
    let core = "amdhip64 hipfile hiprtc roctx64 rocprofiler-sdk rocprofiler-sdk-roctx roctracer64 rocm_sysdeps_liblzma \
        rocm-openblas amd_comgr rocm_kpack rocm_smi64 rocdecode rocjpeg amd_smi rocdxg";
    let libraries = "rpp hipblas hipblaslt hipfft hiprand hipsparse hipsparselt hipsolver rccl miopen origami hipdnn";
    let of = |group| libraries::ALL[..28].iter().filter(move |s| s.group() == group).map(|s| s.name());
    assert_eq!(of(Group::Core).collect::<Vec<_>>(), core.split_whitespace().collect::<Vec<_>>());
    assert_eq!(of(Group::Libraries).collect::<Vec<_>>(), libraries.split_whitespace().collect::<Vec<_>>());
    let on_windows = "amdhip64 hiprtc rocm-openblas amd_comgr rocm_kpack hipblas hipblaslt hipfft hiprand hipsparse \
        hipsolver miopen origami hipdnn";
    let windows: Vec<_> = libraries::ALL[..28].iter().filter(|s| s.is_on_windows()).map(|s| s.name()).collect();
    assert_eq!(windows, on_windows.split_whitespace().collect::<Vec<_>>());
    let optional: Vec<_> = libraries::ALL.iter().filter(|s| s.is_optional()).map(|s| s.name()).collect();
    assert_eq!(optional, ["rocdxg", "hipgraph"]);
    for (name, directory) in [
        ("rocm_sysdeps_liblzma", "lib/rocm_sysdeps/lib"),
        ("rocm-openblas", "lib/host-math/lib"),
        ("LLVM", "lib/llvm/lib"),
    ] {
        assert_eq!(libraries::by_short_name(name).unwrap().directories().first(), Some(&directory));
    }
}

#[test]
fn windows_names_are_dlls_and_no_two_libraries_share_one() {
    let mut seen = BTreeSet::new();
    for name in libraries::ALL.iter().flat_map(|spec| spec.windows_names()) {
        assert!(name.ends_with(".dll") && seen.insert(name), "{name}");
    }
}

/// `libhipblas.so.3` and `libhipblas.so.3.2` -> 3, for the library whose unversioned name is `libhipblas.so`.
fn major_of<'a>(file: &'a str, unversioned: &str) -> Option<&'a str> {
    file.strip_prefix(unversioned)?.strip_prefix('.')?.split('.').next()
}

/// Every library of this workspace that Debian packages is in the table, with the number of the real file.
#[test]
fn the_files_of_debians_packages() {
    let mut checked = BTreeSet::new();
    for release in ["5.7", "6.4", "7.2"] {
        let directory = trees().join(release).join("usr/lib/x86_64-linux-gnu");
        for file in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let file = file.file_name().into_string().unwrap();
            for spec in libraries::ALL {
                let known = match major_of(&file, spec.unversioned()) {
                    // Debian's own names of LLVM and Clang have the number before `.so`; its LLVM may be newer than ROCm's.
                    _ if ["LLVM", "clang"].contains(&spec.name()) => continue,
                    Some(major) => spec.knows(&format!("{}.{major}", spec.unversioned())),
                    None => continue,
                };
                assert!(known, "{release}: {file} is not in the table of {}", spec.name());
                checked.insert((release, spec.name()));
            }
        }
        // The compiler that this release's Comgr needs.
        let llvm = match release {
            "5.7" => "libLLVM-17.so.1",
            "6.4" => "libLLVM.so.21.1",
            _ => "libLLVM.so.22.1",
        };
        assert!(libraries::LLVM.knows(llvm) && (!directory.is_dir() || directory.join(llvm).exists()), "{llvm}");
    }
    if checked.is_empty() {
        skipped(format_args!("no ROCm in {} (`cargo xtask rocm fetch 7.2`)", trees().display()));
    } else {
        assert!(checked.len() >= 4, "{checked:?}");
    }
}

/// Returns the name of Debian's package for a soname: `libhipblas.so.3` is in `libhipblas3`, `libroctx64.so.4` in
/// `libroctx64-4`.
fn debian_package(soname: &str) -> Option<String> {
    let (stem, number) = soname.split_once(".so.")?;
    let stem = stem.to_lowercase().replace('_', "-");
    let dash = if stem.ends_with(|c: char| c.is_ascii_digit()) { "-" } else { "" };
    Some(format!("{stem}{dash}{number}"))
}

/// The packages of trixie (5.7), sid (6.4) and experimental (7.2.4), by library.
#[test]
fn the_names_of_debians_packages() {
    let packages = "libamdhip64-5 libamdhip64-6 libamdhip64-7 libhiprtc6 libhiprtc7 libhiprtc-builtins5 libhiprtc-builtins6 \
        libhiprtc-builtins7 libamd-comgr2 libamd-comgr3 libhsa-runtime64-1 libhipblas0 libhipblas2 libhipblas3 libhipblaslt1 \
        libhipfft0 libhiprand1 libhipsparse0 libhipsparse1 libhipsparse4 libhipsparselt0 libhipsolver0 libhipsolver1 librccl1 \
        librocblas0 librocblas4 librocblas5 librocfft0 librocrand1 librocsolver0 librocsparse0 librocsparse1 libmiopen1 librpp2 \
        libroctx64-4 librocm-smi64-1 librocm-smi64-7 libamd-smi0 libamd-smi27";
    let ours: BTreeSet<String> =
        libraries::ALL.iter().flat_map(|s| s.sonames()).filter_map(|s| debian_package(s.file)).collect();
    let missing: Vec<_> = packages.split_whitespace().filter(|&package| !ours.contains(package)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The same for Debian's current package lists, if `cargo xtask rocm fetch` has stored them.
#[test]
fn the_package_lists_of_today() {
    let lists = trees().join("../debian/lists");
    let mut packages = BTreeSet::new();
    for file in fs::read_dir(&lists).into_iter().flatten().flatten() {
        if file.file_name().to_string_lossy().ends_with("_Packages") {
            let text = fs::read_to_string(file.path()).unwrap();
            packages.extend(text.lines().filter_map(|l| l.strip_prefix("Package: ")).map(str::to_owned));
        }
    }
    if packages.is_empty() {
        return skipped(format_args!("no package lists in {}", lists.display()));
    }
    let numbered = |package: &str, spec: &LibrarySpec| -> Option<u32> {
        let stem = spec.unversioned().strip_suffix(".so")?.to_lowercase().replace('_', "-");
        let number = package.strip_prefix(&stem)?;
        let digit = stem.ends_with(|c: char| c.is_ascii_digit());
        (if digit { number.strip_prefix('-')? } else { number }).parse().ok()
    };
    let mut seen = 0;
    for spec in libraries::ALL.iter().filter(|s| !["LLVM", "clang"].contains(&s.name())) {
        for number in packages.iter().filter_map(|package| numbered(package, spec)) {
            // A number above those of the table is a newer release, which the search accepts.
            let newer = spec.newest_major().is_some_and(|newest| number > newest);
            assert!(newer || spec.known_major(number).is_some(), "{} {number}", spec.unversioned());
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

//! Two ROCm installations that one process can find: its libraries come from one of them, or the result is an error
//! that names both.
//!
//! Each test runs itself again in another process, whose dynamic loader is given another installation.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rocm_loader::{Binding, Error, Library, LibrarySpec, Reason, Scope, Search, libraries, preload};
use support::{Tree, in_child, is_child};

/// Returns the installations whose runtime, Comgr, LLVM and HSA a library uses, as digits.
fn what(library: &Library) -> i32 {
    // SAFETY: every library of these trees that is queried defines it with this signature.
    let function = unsafe { library.function::<unsafe extern "C" fn() -> i32>(c"what", "5.7") }.unwrap();
    // SAFETY: it has no precondition.
    unsafe { function() }
}

const PARTS: &[&str] =
    &["libLLVM.so.22.1", "libamd_comgr.so.3", "libhsa-runtime64.so.1", "libamdhip64.so.7", "librocblas.so.5"];

/// Placeholder for the number of an installation in its libraries.
const NUMBER: i32 = 0x5a1e_77c3;

/// Returns the libraries of an installation, each with its bytes. Comgr depends on LLVM, HIP depends on HSA and opens
/// Comgr by name, rocBLAS depends on HIP, hipBLAS on rocBLAS. None of them names a directory for its dependencies.
fn built() -> &'static [(&'static str, Vec<u8>)] {
    static BUILT: OnceLock<Vec<(&str, Vec<u8>)>> = OnceLock::new();
    BUILT.get_or_init(|| {
        let tree = Tree::new();
        let number = format!("static volatile const int number = {NUMBER};");
        let hip = "#include <dlfcn.h>
            int hsa(void);
            int what(void) {
                void *library = dlopen(\"libamd_comgr.so.3\", RTLD_NOW);
                int (*comgr)(void) = library ? (int (*)(void))dlsym(library, \"comgr\") : 0;
                return number * 1000 + (comgr ? comgr() * 10 : 990) + hsa();
            }
            int hip(void) { return what(); }";
        let hiprtc = "#include <dlfcn.h>
            int what(void) {
                void *library = dlopen(\"libamdhip64.so\", RTLD_NOW);
                int (*what)(void) = library ? (int (*)(void))dlsym(library, \"what\") : 0;
                return number * 100000 + (what ? what() : 99999);
            }";
        let libraries = [
            ("libLLVM.so.22.1", "int llvm(void) { return number; }", None),
            (
                "libamd_comgr.so.3",
                "int llvm(void); int comgr(void) { return number * 10 + llvm(); }",
                Some("libLLVM.so.22.1"),
            ),
            ("libhsa-runtime64.so.1", "int hsa(void) { return number; }", None),
            ("libamdhip64.so.7", hip, Some("libhsa-runtime64.so.1")),
            ("libhiprtc.so.7", hiprtc, None),
            (
                "librocblas.so.5",
                "int hip(void); int rocblas(void) { return number * 10000 + hip(); }",
                Some("libamdhip64.so.7"),
            ),
            (
                "libhipblas.so.3",
                "int rocblas(void); int what(void) { return number * 100000 + rocblas(); }",
                Some("librocblas.so.5"),
            ),
        ];
        let build = |(name, c, needed): (&'static str, &str, Option<&str>)| {
            let needed = needed.map(|needed| tree.path(needed).display().to_string());
            let more: Vec<&str> = needed.as_deref().into_iter().chain(["-ldl"]).collect();
            (name, fs::read(tree.library_with(name, name, &format!("{number}\n{c}"), &more)).unwrap())
        };
        libraries.map(build).to_vec()
    })
}

/// Makes an installation whose libraries all report `id`.
fn installation(tree: &Tree, name: &str, id: i32) {
    for (file, bytes) in built() {
        let mut bytes = bytes.clone();
        let at = bytes.windows(4).position(|window| window == NUMBER.to_ne_bytes()).unwrap();
        bytes[at..at + 4].copy_from_slice(&id.to_ne_bytes());
        tree.write(&format!("{name}/lib/{file}"), bytes);
    }
}

/// Returns the files of one library that the process has loaded.
fn loaded(name: &str) -> Vec<String> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut files: Vec<String> = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .filter(|file| file.contains(name))
        .map(str::to_owned)
        .collect();
    files.dedup();
    files
}

/// Runs `test` again with `ROCM_PATH` and `LD_LIBRARY_PATH` set to these directories of `tree`.
fn again(test: &str, tree: &Tree, rocm: &str, loader: &[&str]) {
    let loader: Vec<String> = loader.iter().map(|dir| tree.path(dir).display().to_string()).collect();
    let before = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let loader = loader.into_iter().chain([before]).filter(|dir| !dir.is_empty()).collect::<Vec<_>>().join(":");
    in_child(
        test,
        &[
            ("ROCM_PATH", tree.path(rocm).to_str().unwrap()),
            ("LD_LIBRARY_PATH", &loader),
            ("TREE", tree.root().to_str().unwrap()),
        ],
    );
}

fn root() -> PathBuf {
    PathBuf::from(std::env::var_os("TREE").unwrap())
}

/// Returns the parts of an error about a mixture: the library, the file it came or would come from, and whether it is
/// loaded.
fn mixture(error: &Error) -> (String, String, String, bool) {
    let report = error.report().unwrap_or_else(|| panic!("{error}"));
    let (_, reason) = report.first_fault().unwrap_or_else(|| panic!("{error}"));
    let Reason::OtherInstallation { library, found, loaded, wanted } = reason else { panic!("{error}") };
    assert!(error.to_string().contains(&**found) && error.to_string().contains(&**wanted), "{error}");
    (library.to_string(), found.to_string(), wanted.to_string(), *loaded)
}

#[test]
fn another_installation_in_the_loaders_path_is_not_mixed_in() {
    const TEST: &str = "another_installation_in_the_loaders_path_is_not_mixed_in";
    if !is_child() {
        let tree = Tree::new();
        installation(&tree, "a", 1);
        installation(&tree, "b", 2);
        return again(TEST, &tree, "a", &["b/lib"]);
    }
    // First the library that depends on the runtime: some programs ask for it first.
    assert_eq!(what(&Search::standard().open(&libraries::HIPBLAS).unwrap()), 111_111);
    assert_eq!(what(&Search::standard().open(&libraries::AMDHIP64).unwrap()), 1111);
    for part in PARTS {
        assert_eq!(loaded(part), [root().join("a/lib").join(part).display().to_string()]);
    }
}

/// The same libraries through the system loader alone: the first directory with the runtime is the installation.
#[test]
fn two_installations_in_the_loaders_path() {
    const TEST: &str = "two_installations_in_the_loaders_path";
    if !is_child() {
        let tree = Tree::new();
        installation(&tree, "a", 1);
        installation(&tree, "b", 2);
        fs::remove_file(tree.path("a/lib/libhipblas.so.3")).unwrap();
        return again(TEST, &tree, "nothing", &["a/lib", "b/lib"]);
    }
    static HIP: Binding = Binding::new(&libraries::AMDHIP64);
    static BLAS: Binding = Binding::new(&libraries::HIPBLAS);
    assert_eq!(what(HIP.load().unwrap()), 1111);
    let (library, found, wanted, _) = mixture(BLAS.load().unwrap_err());
    assert_eq!(
        (library.as_str(), found),
        ("libhipblas.so.3", root().join("b/lib/libhipblas.so.3").display().to_string())
    );
    assert_eq!(wanted, root().join("a/lib").display().to_string());
    assert_eq!(loaded("libhipblas"), [""; 0]);
}

#[test]
fn a_dependency_that_only_another_installation_has_is_an_error() {
    const TEST: &str = "a_dependency_that_only_another_installation_has_is_an_error";
    if !is_child() {
        let tree = Tree::new();
        installation(&tree, "a", 1);
        installation(&tree, "b", 2);
        fs::remove_file(tree.path("a/lib/librocblas.so.5")).unwrap();
        return again(TEST, &tree, "a", &["b/lib"]);
    }
    let error = Search::standard().open(&libraries::HIPBLAS).unwrap_err();
    let (library, found, wanted, loaded_already) = mixture(&error);
    assert_eq!((library.as_str(), loaded_already), ("librocblas.so.5", false));
    assert_eq!(found, root().join("b/lib/librocblas.so.5").display().to_string());
    assert_eq!(wanted, root().join("a/lib").display().to_string());
    assert_eq!(loaded("librocblas"), [""; 0], "nothing of it is loaded");
}

/// Libraries that are opened by name (`dlopen`) count, too.
#[test]
fn a_library_by_name_that_only_another_installation_has_is_an_error() {
    const TEST: &str = "a_library_by_name_that_only_another_installation_has_is_an_error";
    if !is_child() {
        let tree = Tree::new();
        installation(&tree, "a", 1);
        installation(&tree, "b", 2);
        fs::remove_file(tree.path("a/lib/libamd_comgr.so.3")).unwrap();
        return again(TEST, &tree, "a", &["b/lib"]);
    }
    let error = Search::standard().open(&libraries::AMDHIP64).unwrap_err();
    assert_eq!(mixture(&error).0, "libamd_comgr.so.3");
}

/// The dynamic loader does not know a loaded library by its unversioned name, whether or not the installation has a
/// file of that name.
#[test]
fn a_library_by_its_name_without_a_number_is_not_mixed_in() {
    const TEST: &str = "a_library_by_its_name_without_a_number_is_not_mixed_in";
    if !is_child() {
        let tree = Tree::new();
        installation(&tree, "a", 1);
        installation(&tree, "b", 2);
        tree.link("libamdhip64.so.7", "b/lib/libamdhip64.so");
        again(TEST, &tree, "a", &["b/lib"]);
        tree.link("libamdhip64.so.7", "a/lib/libamdhip64.so");
        again(TEST, &tree, "a", &["b/lib"]);
        return again(TEST, &tree, "a", &["a/lib", "b/lib"]);
    }
    let hiprtc = Search::standard().open(&libraries::HIPRTC).unwrap();
    assert_eq!(what(&hiprtc), 101_111);
    assert_eq!(what(&Search::standard().open(&libraries::AMDHIP64).unwrap()), 1111);
    assert_eq!(what(&Search::standard().open(&libraries::HIPRTC).unwrap()), 101_111, "again");
    assert_eq!(loaded("libamdhip64"), [root().join("a/lib/libamdhip64.so.7").display().to_string()]);
}

/// A library that is opened by name and exists nowhere is not an error: an installation may lack it.
#[test]
fn a_library_that_nobody_has_is_the_librarys_own_affair() {
    const TEST: &str = "a_library_that_nobody_has_is_the_librarys_own_affair";
    if !is_child() {
        let tree = Tree::new();
        installation(&tree, "a", 1);
        fs::remove_file(tree.path("a/lib/libamd_comgr.so.3")).unwrap();
        return again(TEST, &tree, "a", &[]);
    }
    assert_eq!(what(&Search::standard().open(&libraries::AMDHIP64).unwrap()), 1991);
}

/// A software GPU's HSA library, in a directory of its own, anywhere in the path.
#[test]
fn what_replaces_hsa_wins() {
    const TEST: &str = "what_replaces_hsa_wins";
    if !is_child() {
        let tree = Tree::new();
        installation(&tree, "a", 1);
        installation(&tree, "b", 2);
        tree.library("sim/libhsa-runtime64.so.1", "libhsa-runtime64.so.1", "int hsa(void) { return 9; }");
        again(TEST, &tree, "a", &["sim", "a/lib"]);
        again(TEST, &tree, "a", &["b/lib", "sim"]);
        return again(TEST, &tree, "a", &["sim"]);
    }
    assert_eq!(what(&Search::standard().open(&libraries::AMDHIP64).unwrap()), 1119);
    let hsa = Search::standard().open(&libraries::HSA_RUNTIME64).unwrap();
    assert_eq!(hsa.path(), Some(root().join("sim/libhsa-runtime64.so.1").as_path()));
    assert_eq!(loaded("libhsa-runtime64").len(), 1);
}

#[test]
fn the_first_library_chooses_the_installation_of_the_process() {
    const TEST: &str = "the_first_library_chooses_the_installation_of_the_process";
    if !is_child() {
        let tree = Tree::new();
        installation(&tree, "a", 1);
        installation(&tree, "home/rocm-sdk/7.2/usr", 2);
        tree.write("home/rocm-sdk/7.2/.packages", "");
        fs::remove_file(tree.path("a/lib/libhipblas.so.3")).unwrap();
        // A directory without the runtime or any library, or with LLVM alone.
        tree.write("c/lib/nothing", "");
        for (rocm, first) in [("a", "hip"), ("a", "blas"), ("c", "hip"), ("c", "blas")] {
            in_child(
                TEST,
                &[
                    ("ROCM_PATH", tree.path(rocm).to_str().unwrap()),
                    ("XDG_DATA_HOME", tree.path("home").to_str().unwrap()),
                    ("TREE", tree.root().to_str().unwrap()),
                    ("FIRST", first),
                    ("COMPLETE", if rocm == "c" { "1" } else { "0" }),
                ],
            );
        }
        return;
    }
    static HIP: Binding = Binding::new(&libraries::AMDHIP64);
    static BLAS: Binding = Binding::new(&libraries::HIPBLAS);
    if std::env::var("FIRST").unwrap() == "blas" {
        let _ = BLAS.load();
    }
    let complete = std::env::var("COMPLETE").unwrap() == "1";
    if complete {
        assert_eq!(what(HIP.load().unwrap()), 2222);
        assert_eq!(what(BLAS.load().unwrap()), 222_222);
        assert_eq!(loaded("libamdhip64").len(), 1);
        return;
    }
    // Whichever was opened first, the runtime is from ROCM_PATH's installation, or everything is from the other one; never both.
    match std::env::var("FIRST").unwrap().as_str() {
        "hip" => {
            assert_eq!(what(HIP.load().unwrap()), 1111);
            let (library, found, wanted, _) = mixture(BLAS.load().unwrap_err());
            assert_eq!(library, "libhipblas.so.3");
            assert!(
                Path::new(&found).starts_with(root().join("home")) && Path::new(&wanted).starts_with(root().join("a"))
            );
        }
        _ => {
            assert_eq!(what(BLAS.load().unwrap()), 222_222);
            assert_eq!(what(HIP.load().unwrap()), 2222);
        }
    }
    assert_eq!(loaded("libamdhip64").len(), 1);
}

/// A runtime that other code of the process has loaded.
#[test]
fn what_other_software_has_loaded_is_not_mixed_with() {
    const TEST: &str = "what_other_software_has_loaded_is_not_mixed_with";
    if !is_child() {
        let tree = Tree::new();
        installation(&tree, "a", 1);
        installation(&tree, "b", 2);
        return again(TEST, &tree, "a", &[]);
    }
    let theirs = Library::open(&libraries::AMDHIP64, root().join("b/lib/libamdhip64.so.7"), Scope::Local).unwrap();
    // The same runtime can be used, since the loader has it under its name.
    assert_eq!(what(&Search::standard().open(&libraries::AMDHIP64).unwrap()), 2222);
    let (library, found, wanted, loaded_already) = mixture(&Search::standard().open(&libraries::HIPBLAS).unwrap_err());
    assert!(loaded_already && library == "libamdhip64.so.7", "{library}");
    assert!(Path::new(&found).starts_with(root().join("b")) && Path::new(&wanted).starts_with(root().join("a")));
    assert_eq!((what(&theirs), loaded("libamdhip64").len(), loaded("librocblas").len()), (2222, 1, 0));
}

/// The same files under other names: links, a tree of links, a hard link.
#[test]
fn links_to_one_installation_are_that_installation() {
    const TEST: &str = "links_to_one_installation_are_that_installation";
    if !is_child() {
        let tree = Tree::new();
        installation(&tree, "a", 1);
        tree.link("a", "link");
        fs::create_dir_all(tree.path("farm/lib")).unwrap();
        fs::create_dir_all(tree.path("hard/lib")).unwrap();
        for name in PARTS.iter().chain(&["libhipblas.so.3"]) {
            tree.link(tree.path("a/lib").join(name).to_str().unwrap(), &format!("farm/lib/{name}"));
            fs::hard_link(tree.path("a/lib").join(name), tree.path("hard/lib").join(name)).unwrap();
        }
        for other in ["link", "farm", "hard"] {
            again(TEST, &tree, "a", &[&format!("{other}/lib")]);
            again(TEST, &tree, other, &["a/lib"]);
        }
        return;
    }
    assert_eq!(what(&Search::standard().open(&libraries::AMDHIP64).unwrap()), 1111);
    for other in ["link", "farm", "hard", "a"] {
        let library = Search::nowhere().root(root().join(other)).open(&libraries::HIPBLAS).unwrap();
        assert_eq!(what(&library), 111_111);
    }
}

/// Each package in a directory of its own that names the directories of its dependencies, as in Spack and Nix.
#[test]
fn packages_that_name_their_dependencies_are_one_installation() {
    const TEST: &str = "packages_that_name_their_dependencies_are_one_installation";
    if !is_child() {
        let tree = Tree::new();
        installation(&tree, "a", 1);
        installation(&tree, "b", 2);
        let hip = tree.path("a/lib/libamdhip64.so.7").display().to_string();
        let runpath = format!("-Wl,-rpath,{}", tree.path("a/lib").display());
        let c = "int hip(void); int what(void) { return 300000 + hip(); }";
        tree.library_with("blas/lib/libhipblas.so.3", "libhipblas.so.3", c, &[&hip, &runpath]);
        fs::remove_file(tree.path("a/lib/libhipblas.so.3")).unwrap();
        return again(TEST, &tree, "a", &["blas/lib"]);
    }
    static HIP: Binding = Binding::new(&libraries::AMDHIP64);
    assert_eq!(what(HIP.load().unwrap()), 1111);
    assert_eq!(what(preload(&libraries::HIPBLAS, Scope::Local).unwrap_or_else(|e| panic!("{e}"))), 301_111);
}

/// Libraries of other projects do not count as ROCm's.
#[test]
fn other_libraries_come_from_wherever_they_are() {
    const TEST: &str = "other_libraries_come_from_wherever_they_are";
    static OTHER: LibrarySpec = LibrarySpec::new("mine", "libmine.so", &[], &[]);
    if !is_child() {
        let tree = Tree::new();
        installation(&tree, "a", 1);
        tree.library("mine/lib/libmine.so", "libmine.so", "int what(void) { return 7; }");
        return again(TEST, &tree, "a", &["mine/lib"]);
    }
    static HIP: Binding = Binding::new(&libraries::AMDHIP64);
    static MINE: Binding = Binding::new(&OTHER);
    assert_eq!((what(HIP.load().unwrap()), what(MINE.load().unwrap())), (1111, 7));
}

/// Many threads ask for libraries of two installations at once: all get those of one.
#[test]
fn threads_choose_one_installation() {
    const TEST: &str = "threads_choose_one_installation";
    if !is_child() {
        let tree = Tree::new();
        installation(&tree, "a", 1);
        installation(&tree, "b", 2);
        return again(TEST, &tree, "a", &["b/lib"]);
    }
    static HIP: Binding = Binding::new(&libraries::AMDHIP64);
    static BLAS: Binding = Binding::new(&libraries::HIPBLAS);
    let barrier = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                if n % 2 == 0 {
                    assert_eq!(what(HIP.load().unwrap()), 1111);
                } else {
                    assert_eq!(what(BLAS.load().unwrap()), 111_111);
                }
            });
        }
    });
    assert_eq!(loaded("libamdhip64").len(), 1);
}

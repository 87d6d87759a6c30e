//! rocm-sdk finds the library of every -sys crate in the fetched trees, by its default search with `ROCM_PATH`.

use std::path::PathBuf;

use rocm_loader::{LibrarySpec, Origin, Search, libraries};
use sys_testing::child::run_with_libraries;

/// Each library with its file in the trees of ROCm 5.7, 6.4 and 7.2.
const FILES: [(&LibrarySpec, [Option<&str>; 3]); 16] = [
    (&libraries::AMDHIP64, [Some("libamdhip64.so.5"), Some("libamdhip64.so.6"), Some("libamdhip64.so.7")]),
    (&libraries::HIPRTC, [Some("libamdhip64.so.5"), Some("libhiprtc.so.6"), Some("libhiprtc.so.7")]),
    (&libraries::HIPBLAS, [Some("libhipblas.so.0"), Some("libhipblas.so.2"), Some("libhipblas.so.3")]),
    (&libraries::HIPBLASLT, [None, Some("libhipblaslt.so.1"), Some("libhipblaslt.so.1")]),
    (&libraries::HIPFFT, [Some("libhipfft.so.0"); 3]),
    (&libraries::HIPRAND, [Some("libhiprand.so.1"); 3]),
    (&libraries::HIPSOLVER, [Some("libhipsolver.so.0"), Some("libhipsolver.so.0"), Some("libhipsolver.so.1")]),
    (&libraries::HIPSPARSE, [Some("libhipsparse.so.0"), Some("libhipsparse.so.1"), Some("libhipsparse.so.4")]),
    (&libraries::HIPSPARSELT, [None, None, Some("libhipsparselt.so.0")]),
    (&libraries::RCCL, [Some("librccl.so.1"), None, Some("librccl.so.1")]),
    (&libraries::ROCTX64, [Some("libroctx64.so.4"); 3]),
    (&libraries::AMD_SMI, [Some("libamd_smi.so.0"), None, Some("libamd_smi.so.27")]),
    (&libraries::AMD_COMGR, [Some("libamd_comgr.so.2"), Some("libamd_comgr.so.3"), Some("libamd_comgr.so.3")]),
    (&libraries::LLVM, [Some("libLLVM-17.so.1"), Some("libLLVM.so.21.1"), Some("libLLVM.so.22.1")]),
    (&libraries::LIBCLANG, [Some("libclang-17.so.17"), Some("libclang-19.so.19"), Some("libclang-22.so.22")]),
    (&libraries::HIPFILE, [None; 3]),
];

/// A search finds existing libraries, through the variable, and does not find missing ones in the tree.
fn compare(test: &str, tree: &str, index: usize) {
    if run_with_libraries(&format!("{}::{test}", module_path!()), tree, &[]) {
        return;
    }
    let root = PathBuf::from(std::env::var_os("ROCM_PATH").expect("set for this process"));
    let folder = root.join("lib/x86_64-linux-gnu");
    let mut found = 0;
    for (spec, files) in FILES {
        let file = files[index].filter(|file| folder.join(file).exists());
        match (Search::standard().find(spec), file) {
            (Ok(library), Some(file)) => {
                assert_eq!(library.path(), folder.join(file), "{}", spec.name());
                assert_eq!(library.origin(), Origin::Variable("ROCM_PATH"));
                found += 1;
            }
            (Err(error), Some(file)) => panic!("{file} is there: {error}"),
            (Ok(library), None) => assert!(!library.path().starts_with(&root), "{}", library.path().display()),
            (Err(_), None) => {}
        }
    }
    assert!(found >= 3, "{found}");
}

#[test]
fn rocm_5_7() {
    compare("rocm_5_7", "5.7", 0);
}

#[test]
fn rocm_6_4() {
    compare("rocm_6_4", "6.4", 1);
}

#[test]
fn rocm_7_2() {
    compare("rocm_7_2", "7.2", 2);
}

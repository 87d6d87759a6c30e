//! Libraries opened before those that depend on them, and the search of the whole process.
#![cfg(target_os = "linux")]

mod support;

use rocm_loader::{Error, LibrarySpec, Scope, Search, Soname, preload, preloaded, process_search, set_root};
use support::{STUB, Tree, id, in_child, is_child};

static BASE: LibrarySpec = LibrarySpec::new("base", "libbase.so", &[Soname::new("libbase.so.1", 5, 10)], &[]);
static USER: LibrarySpec = LibrarySpec::new("user", "libuser.so", &[Soname::new("libuser.so.1", 5, 10)], &[]);

/// A library whose symbols are in another library that it does not depend on by name: it needs that library to be open
/// globally.
#[test]
fn global_symbols_serve_libraries_opened_later() {
    if !is_child() {
        return in_child("global_symbols_serve_libraries_opened_later", &[]);
    }
    let tree = Tree::new();
    tree.library("lib/libbase.so.1", "libbase.so.1", "int base_value(void) { return 5; }");
    tree.library(
        "lib/libuser.so.1",
        "libuser.so.1",
        "int base_value(void); int stub_id(void) { return base_value() + 1; }",
    );
    set_root(tree.root()).unwrap();
    let local = preload(&BASE, Scope::Local).unwrap();
    let search = process_search();
    assert!(matches!(search.open(&USER), Err(Error::Unusable { .. })), "its symbols are private");
    let global = preload(&BASE, Scope::Global).unwrap();
    assert!(std::ptr::eq(local, global) && std::ptr::eq(local, preload(&BASE, Scope::Local).unwrap()), "kept once");
    assert_eq!(id(&search.open(&USER).unwrap()), 6);
    assert_eq!(preloaded().len(), 1);
}

#[test]
fn a_dependency_preloaded_is_found_by_its_soname() {
    if !is_child() {
        return in_child("a_dependency_preloaded_is_found_by_its_soname", &[]);
    }
    let tree = Tree::new();
    let base = tree.library("base/lib/libbase.so.1", "libbase.so.1", "int base_value(void) { return 5; }");
    let user = "int base_value(void); int stub_id(void) { return base_value() + 1; }";
    tree.library_with("user/lib/libuser.so.1", "libuser.so.1", user, &[base.to_str().unwrap()]);
    set_root(tree.path("user")).unwrap();
    set_root(tree.path("base")).unwrap();
    assert!(matches!(process_search().open(&USER), Err(Error::Unusable { .. })));
    preload(&BASE, Scope::Local).unwrap();
    assert_eq!(id(&process_search().open(&USER).unwrap()), 6);
}

#[test]
fn a_failed_preload_is_not_remembered() {
    if !is_child() {
        return in_child("a_failed_preload_is_not_remembered", &[]);
    }
    let tree = Tree::new();
    rocm_loader::set_search(Search::nowhere().root(tree.root())).unwrap();
    assert!(matches!(preload(&BASE, Scope::Local), Err(Error::NotFound { .. })));
    tree.library("lib/libbase.so.1", "libbase.so.1", "int base_value(void) { return 5; }");
    assert!(preload(&BASE, Scope::Local).is_ok());
}

#[test]
fn a_root_for_the_process_comes_first_and_before_the_first_use() {
    if !is_child() {
        let tree = Tree::new();
        tree.stub("variable/lib/libstub.so.7", "libstub.so.7", 7);
        return in_child(
            "a_root_for_the_process_comes_first_and_before_the_first_use",
            &[("ROCM_PATH", tree.path("variable").to_str().unwrap())],
        );
    }
    let tree = Tree::new();
    tree.stub("code/lib/libstub.so.6", "libstub.so.6", 6);
    assert_eq!(id(&Search::standard().open(&STUB).unwrap()), 7, "ROCM_PATH of the real environment");
    assert!(matches!(set_root("code"), Err(Error::RelativePath { .. })));
    set_root(tree.path("code")).unwrap();
    assert_eq!(id(preload(&STUB, Scope::Local).unwrap()), 6);
    assert!(matches!(set_root(tree.path("other")), Err(Error::SearchTooLate)));
}

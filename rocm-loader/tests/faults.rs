//! Every way in which an existing library can be unusable, and the message for it.
#![cfg(target_os = "linux")]

mod support;

use std::fs;

use rocm_loader::{Error, Library, Reason, Scope, Search};
use support::{STUB, Tree, id};

/// Returns the reason and the message of a search of `tree`.
fn fault(tree: &Tree) -> (Reason, String) {
    let error = Search::nowhere().root(tree.root()).open(&STUB).unwrap_err();
    let message = error.to_string();
    match error {
        Error::Unusable { library: "stub", reason, target, .. } => {
            assert!(target.starts_with(tree.root().to_str().unwrap()), "{target}");
            (reason, message)
        }
        other => panic!("{other:?}"),
    }
}

const E_MACHINE: usize = 18;
const E_TYPE: usize = 16;

#[test]
fn another_processor() {
    let tree = Tree::new();
    let (machine, name) = if cfg!(target_arch = "aarch64") { (62_u16, "x86-64") } else { (183, "AArch64") };
    tree.patched("lib/libstub.so.7", "libstub.so.7", E_MACHINE, &machine.to_ne_bytes());
    let (reason, message) = fault(&tree);
    assert!(matches!(&reason, Reason::WrongArchitecture { found, .. } if found == name), "{reason:?}");
    assert!(message.contains(&format!("built for {name}, but this program runs on")), "{message}");
}

#[test]
fn thirty_two_bits() {
    let tree = Tree::new();
    let path = tree.patched("lib/libstub.so.7", "libstub.so.7", E_MACHINE, &3_u16.to_ne_bytes());
    let mut content = fs::read(&path).unwrap();
    content[4] = 1;
    fs::write(&path, content).unwrap();
    let (reason, _) = fault(&tree);
    assert!(matches!(&reason, Reason::WrongArchitecture { found, .. } if found == "x86 (32-bit)"), "{reason:?}");
}

#[test]
fn a_gpu_code_object() {
    let tree = Tree::new();
    tree.patched("lib/libstub.so.7", "libstub.so.7", E_MACHINE, &224_u16.to_ne_bytes());
    let (_, message) = fault(&tree);
    assert!(message.contains("AMD GPU (a code object, not a library)"), "{message}");
}

#[test]
fn text_and_other_things_that_are_no_library() {
    for (content, found) in
        [("GROUP ( libstub.so.7 )\n", "text"), ("", "an empty file"), ("!<arch>\n\0", "a static library")]
    {
        let tree = Tree::new();
        tree.write("lib/libstub.so.7", content);
        let (reason, message) = fault(&tree);
        assert_eq!(reason, Reason::NotElf { found });
        assert!(message.contains(&format!("not a shared library but {found}")), "{message}");
    }
}

#[test]
fn a_program_instead_of_a_library() {
    let tree = Tree::new();
    tree.patched("lib/libstub.so.7", "libstub.so.7", E_TYPE, &2_u16.to_ne_bytes());
    assert!(matches!(fault(&tree).0, Reason::NotElf { found: "an ELF file of another type" }));
}

#[test]
fn a_library_cut_short() {
    let tree = Tree::new();
    let path = tree.stub("lib/libstub.so.7", "libstub.so.7", 7);
    let content = fs::read(&path).unwrap();
    fs::write(&path, &content[..40]).unwrap();
    assert!(matches!(fault(&tree).0, Reason::NotElf { found: "a truncated ELF file" }));
    // A complete header and nothing after it: the loader's own message.
    fs::write(&path, &content[..100]).unwrap();
    assert!(matches!(fault(&tree).0, Reason::Loader { .. }));
}

#[test]
fn a_directory_in_the_place_of_a_file() {
    let tree = Tree::new();
    tree.write("lib/libstub.so.7/file", "");
    assert_eq!(fault(&tree).0, Reason::NotAFile);
}

#[test]
fn a_file_in_the_place_of_a_directory() {
    let tree = Tree::new();
    tree.write("lib", "");
    let (reason, message) = fault(&tree);
    assert_eq!(reason, Reason::NotADirectory);
    assert!(message.contains("not a directory"), "{message}");
}

/// Root can read everything, so this test takes another user's identity: file access is checked against the thread's
/// fsuid.
#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new();
    let path = tree.stub("lib/libstub.so.7", "libstub.so.7", 7);
    fs::set_permissions(tree.root(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let root = tree.root().to_owned();
    let looking = std::thread::spawn(move || {
        // SAFETY: the raw system call changes this thread's fsuid alone, and only root's.
        unsafe { libc::syscall(libc::SYS_setfsuid, 65_534) };
        Search::nowhere().root(root).open(&STUB)
    });
    let error = looking.join().unwrap().unwrap_err();
    let Error::Unusable { reason: Reason::Unreadable { message }, .. } = &error else { panic!("{error:?}") };
    assert!(message.contains("ermission denied"), "{message}");
    assert!(error.to_string().contains("cannot be read"), "{error}");
}

#[test]
fn an_older_major_than_any_known() {
    let tree = Tree::new();
    tree.stub("lib/libstub.so", "libstub.so.4", 4);
    let (reason, message) = fault(&tree);
    assert_eq!(reason, Reason::WrongMajor { found: "libstub.so.4".to_owned(), oldest: "libstub.so.5" });
    assert!(message.contains("libstub.so.4 is too old: libstub.so.5 or newer is needed"), "{message}");
}

/// A renamed file is judged by its own soname.
#[test]
fn a_renamed_older_major() {
    let tree = Tree::new();
    tree.stub("lib/libstub.so.7", "libstub.so.3", 3);
    assert!(matches!(fault(&tree).0, Reason::WrongMajor { .. }));
}

#[test]
fn a_missing_dependency_is_named() {
    let tree = Tree::new();
    let dependency =
        tree.library("dep/libneeded_by_stub.so.1", "libneeded_by_stub.so.1", "int needed(void) { return 1; }");
    let stub = "int needed(void); int stub_id(void) { return needed(); }";
    tree.library_with("lib/libstub.so.7", "libstub.so.7", stub, &[dependency.to_str().unwrap()]);
    fs::remove_file(dependency).unwrap();
    let (reason, message) = fault(&tree);
    let Reason::DependencyMissing { dependency, .. } = reason else { panic!("{reason:?}") };
    assert_eq!(dependency, "libneeded_by_stub.so.1");
    assert!(message.contains("needs libneeded_by_stub.so.1, which was not found"), "{message}");
}

/// An undefined symbol is reported when the library is opened, not in the middle of a later call.
#[test]
fn an_undefined_symbol_shows_at_once() {
    let tree = Tree::new();
    tree.library(
        "lib/libstub.so.7",
        "libstub.so.7",
        "int nobody_has_this(void); int stub_id(void) { return nobody_has_this(); }",
    );
    let (reason, _) = fault(&tree);
    assert!(matches!(&reason, Reason::Loader { message } if message.contains("nobody_has_this")), "{reason:?}");
}

#[test]
fn a_missing_symbol_names_library_release_and_what_it_needs() {
    let tree = Tree::new();
    tree.write(".info/version", "6.2.0-66");
    let path = tree.stub("lib/libstub.so.6", "libstub.so.6", 6);
    let library = Search::nowhere().root(tree.root()).open(&STUB).unwrap();
    assert_eq!(library.symbol(c"hipLibraryLoadData"), None);
    // SAFETY: never called.
    let error = unsafe { library.function::<unsafe extern "C" fn()>(c"hipLibraryLoadData", "7.1") }.unwrap_err();
    assert!(
        matches!(&error, Error::SymbolMissing { library: "stub", symbol, since, .. } if symbol == "hipLibraryLoadData" && *since == "7.1")
    );
    let expected =
        format!("hipLibraryLoadData is missing from {} (ROCm 6.2.0+66): it needs ROCm 7.1 or newer", path.display());
    assert_eq!(error.to_string(), expected);
}

#[test]
fn one_file_and_no_other() {
    let tree = Tree::new();
    let path = tree.stub("here/my_own_name.so", "libstub.so.6", 6);
    assert_eq!(id(&Library::open(&STUB, &path, Scope::Local).unwrap()), 6);
    assert!(matches!(Library::open(&STUB, "my_own_name.so", Scope::Local), Err(Error::RelativePath { .. })));
    assert!(matches!(Library::open(&STUB, tree.path("nothing.so"), Scope::Local), Err(Error::NotFound { .. })));
}

#[test]
fn errors_can_be_shared_and_sent() {
    fn shared<T: Clone + Send + Sync + std::error::Error + 'static>() {}
    shared::<Error>();
    assert!(size_of::<Error>() <= 128);
}

//! The cache of compiled code, with a real HIPRTC. Without one, each test reports that it is skipped, and why.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::compiler_or_skip;
use hiprtc::cache::{self, Cache, Stats};
use hiprtc::{Code, Error, Options, Origin, Program};

/// A template, a warning and a header in a folder.
const SOURCE: &str = "#include <factor.h>\n#warning look here\n\
                      template<typename T> __global__ void scale(T *x) { x[threadIdx.x] *= FACTOR; }\n";

/// The process has one cache, so tests run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Makes a cache in a new folder, with a folder for headers next to it. `None` without a compiler.
fn start(test: &str) -> Option<(MutexGuard<'static, ()>, tempfile::TempDir)> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !compiler_or_skip(test) {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("include")).unwrap();
    factor(folder.path(), 3);
    cache::set(Some(Cache::at(folder.path().join("cache"))));
    Some((alone, folder))
}

fn factor(folder: &Path, value: u32) {
    fs::write(folder.join("include/factor.h"), format!("#define FACTOR {value}\n")).unwrap();
}

fn program(folder: &Path) -> Program {
    let include = folder.join("include");
    Program::new("scale.hip", SOURCE)
        .name_expression("scale<float>")
        .options(Options::new().include_dir(include.to_str().unwrap()))
        .arch("gfx90a")
}

fn is_cached(code: &Code) -> bool {
    match code.origin() {
        Origin::Cached => true,
        Origin::Compiled => false,
        other => panic!("{other:?}"),
    }
}

fn stats() -> (u64, u64) {
    let Stats { hits, misses, .. } = cache::current().unwrap().stats();
    (hits, misses)
}

/// Returns the entries.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let shards = fs::read_dir(folder.join("cache")).unwrap().map(|shard| shard.unwrap().path());
    shards
        .flat_map(|shard| fs::read_dir(shard).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn what_was_compiled_is_not_compiled_again() {
    let Some((_alone, folder)) = start("what_was_compiled_is_not_compiled_again") else { return };
    let program = program(folder.path());
    let first = program.compile().unwrap();
    let second = program.compile().unwrap();
    assert_eq!((is_cached(&first), is_cached(&second), stats()), (false, true, (1, 1)));
    assert_eq!(first.as_bytes(), second.as_bytes());
    assert_eq!((first.log(), first.diagnostics()), (second.log(), second.diagnostics()));
    assert_eq!(first.lowered_name("scale<float>").unwrap(), second.lowered_name("scale<float>").unwrap());
    assert!(!is_cached(&program.clone().uncached().compile().unwrap()));
    assert!(!is_cached(&program.clone().arch("gfx942").compile().unwrap()));
    // A header that an option makes visible.
    factor(folder.path(), 4);
    let other = program.compile().unwrap();
    assert!(!is_cached(&other));
    assert_ne!(other.as_bytes(), first.as_bytes());
    factor(folder.path(), 3);
    assert!(is_cached(&program.compile().unwrap()));
    assert_eq!(entries(folder.path()).len(), 3, "and no locks");
    cache::current().unwrap().clear().unwrap();
    assert!(!is_cached(&program.compile().unwrap()));
    cache::disable();
    assert!(!is_cached(&program.compile().unwrap()));
}

/// The same program as code and as bitcode gives two entries; each is found again, with its lowered names.
#[test]
fn bitcode_is_cached_beside_code() {
    let Some((_alone, folder)) = start("bitcode_is_cached_beside_code") else { return };
    let source = "template<typename T> __global__ void fill(T *x) { *x = 7; }";
    let program = Program::new("fill.hip", source).name_expression("fill<float>").arch("gfx90a");
    let (code, first) = (program.compile().unwrap(), program.compile_bitcode().unwrap());
    assert!(matches!(first.origin(), Origin::Compiled));
    let (again, second) = (program.compile().unwrap(), program.compile_bitcode().unwrap());
    assert!(matches!((again.origin(), second.origin()), (Origin::Cached, Origin::Cached)));
    assert_eq!((code.as_bytes(), first.as_bytes()), (again.as_bytes(), second.as_bytes()));
    assert_ne!(code.as_bytes(), first.as_bytes());
    let name = first.lowered_name("fill<float>").unwrap();
    assert!(name.starts_with("_Z4fill"), "{name}");
    assert_eq!(name, second.lowered_name("fill<float>").unwrap());
    assert_eq!(name, again.lowered_name("fill<float>").unwrap());
    assert_eq!(entries(folder.path()).len(), 2);
}

#[test]
fn damaged_entries_are_replaced() {
    let Some((_alone, folder)) = start("damaged_entries_are_replaced") else { return };
    let program = program(folder.path());
    let good = program.compile().unwrap();
    let [entry] = &entries(folder.path())[..] else { panic!("one entry") };
    let bytes = fs::read(entry).unwrap();
    let middle = bytes.len() / 2;
    let mut flipped = bytes.clone();
    flipped[middle] ^= 1;
    for damaged in [&flipped[..], &bytes[..middle], b"", b"not an entry"] {
        fs::write(entry, damaged).unwrap();
        let code = program.compile().unwrap();
        assert!(!is_cached(&code));
        assert_eq!(code.as_bytes(), good.as_bytes());
        assert!(is_cached(&program.compile().unwrap()), "replaced");
    }
    // An entry that other users could have written.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(entry, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(!is_cached(&program.compile().unwrap()));
        assert!(is_cached(&program.compile().unwrap()), "replaced");
    }
}

#[test]
fn what_does_not_compile_is_not_kept() {
    let Some((_alone, folder)) = start("what_does_not_compile_is_not_kept") else { return };
    let broken = Program::new("broken.hip", "nonsense").arch("gfx90a");
    for _ in 0..2 {
        assert!(matches!(broken.compile(), Err(Error::Compilation { .. })));
    }
    assert_eq!((stats(), entries(folder.path()).len()), ((0, 2), 0));
}

/// The test below runs this in separate processes.
#[test]
#[ignore = "a part of another test"]
fn one_of_sixteen() {
    if !compiler_or_skip("one_of_sixteen") {
        return;
    }
    let folder = PathBuf::from(std::env::var_os("HIPRTC_CACHE_TEST").unwrap());
    cache::set(Some(Cache::at(folder.join("cache"))));
    let code = program(&folder).compile().unwrap();
    println!("misses {} bytes {}", stats().1, code.as_bytes().len());
}

#[test]
fn sixteen_processes_on_an_empty_cache_compile_once() {
    let Some((_alone, folder)) = start("sixteen_processes_on_an_empty_cache_compile_once") else { return };
    let mut words = common::runner();
    words.push(std::env::args_os().next().unwrap());
    let start = || {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["--exact", "one_of_sixteen", "--ignored", "--nocapture"]);
        command.env("HIPRTC_CACHE_TEST", folder.path()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..16).map(|_| start()).collect();
    let mut misses = 0;
    let mut sizes = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find_map(|line| line.split_once("misses ")).unwrap_or_else(|| panic!("{text}")).1;
        let (missed, size) = line.split_once(" bytes ").unwrap();
        misses += missed.parse::<u64>().unwrap();
        sizes.push(size.to_owned());
    }
    sizes.dedup();
    assert_eq!(sizes.len(), 1);
    // On platforms with locks, the others wait for the first.
    assert_eq!(misses, if cfg!(unix) { 1 } else { misses });
    assert_eq!(entries(folder.path()).len(), 1);
}

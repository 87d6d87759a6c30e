//! The search finds the user's own installations, and says how to use one that is made for a newer system. No feature
//! is needed.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "../../rocm-loader/tests/support/mod.rs"]
mod support;

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rocm_sdk::{LoadError, Origin, Reason, Search, libraries};
use support::{CHILD, STUB, Tree, id, is_child};

const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// Returns a search that reads these variables and searches nothing else.
fn with(variables: &[(&'static str, PathBuf)]) -> Search {
    let variables: Vec<(&str, OsString)> = variables.iter().map(|(name, path)| (*name, path.into())).collect();
    Search::nowhere().environment(move |name| variables.iter().find(|v| v.0 == name).map(|v| v.1.clone()))
}

/// Makes an installation with the library; the file that marks it as complete comes last.
fn installation(tree: &Tree, at: &str, number: i32) {
    tree.stub(&format!("{at}/{LIBRARIES}/libstub.so.7"), "libstub.so.7", number);
    tree.write(&format!("{at}/.packages"), "Sets: hip\n");
}

#[test]
fn the_newest_complete_one_is_found_between_wheels_and_opt() {
    let tree = Tree::new();
    for (n, release) in ["6.4", "7.2", "7.10", "10.0"].iter().enumerate() {
        installation(&tree, &format!("own/{release}"), n as i32);
    }
    tree.stub("opt/rocm/lib/libstub.so.7", "libstub.so.7", 99);
    tree.stub("venv/lib/python3.12/site-packages/_rocm_sdk_core/lib/libstub.so.7", "libstub.so.7", 98);
    // Folders that are not releases, although complete.
    for other in ["own/.7.3.new", "own/backup", "own/7"] {
        installation(&tree, other, 97);
    }
    tree.write("own/99.0", "a file");
    let own = ("ROCM_SDK_INSTALL_DIR", tree.path("own"));
    let search = with(std::slice::from_ref(&own)).opt(Some(tree.path("opt")));
    for (n, release) in [(3, "10.0"), (2, "7.10"), (1, "7.2"), (0, "6.4")] {
        let library = search.open(&STUB).unwrap();
        assert_eq!((id(&library), library.origin()), (n, Origin::Installed));
        fs::remove_dir_all(tree.path("own").join(release)).unwrap();
    }
    let library = search.open(&STUB).unwrap();
    assert_eq!((id(&library), library.origin()), (99, Origin::Opt));
    assert_eq!(library.report().attempts()[0].failure, Some(Reason::NotThere));

    installation(&tree, "own/7.2", 1);
    let library = with(&[own, ("VIRTUAL_ENV", tree.path("venv"))]).open(&STUB).unwrap();
    assert_eq!((id(&library), library.origin()), (98, Origin::Wheel("VIRTUAL_ENV")));
}

#[test]
fn one_that_is_not_complete_is_passed_over_and_told() {
    let tree = Tree::new();
    installation(&tree, "own/6.4", 6);
    installation(&tree, "own/7.2", 7);
    fs::remove_file(tree.path("own/7.2/.packages")).unwrap();
    let search = with(&[("ROCM_SDK_INSTALL_DIR", tree.path("own"))]);
    let library = search.open(&STUB).unwrap();
    assert_eq!(id(&library), 6);
    let told = &library.report().attempts()[0];
    assert_eq!(told.failure, Some(Reason::Unfinished { release: "7.2".into() }));
    assert!(told.to_string().contains("rocm-sdk install 7.2"), "{told}");
    fs::remove_dir_all(tree.path("own/6.4")).unwrap();
    assert!(matches!(search.open(&STUB), Err(LoadError::Unusable { reason: Reason::Unfinished { .. }, .. })));
}

#[test]
fn the_folder_is_that_of_the_variable_else_the_users_data() {
    let tree = Tree::new();
    let places = ["own", "data/rocm-sdk", "home/.local/share/rocm-sdk"];
    for (n, place) in places.iter().enumerate() {
        installation(&tree, &format!("{place}/7.2"), n as i32);
    }
    let home = ("HOME", tree.path("home"));
    let data = ("XDG_DATA_HOME", tree.path("data"));
    let own = ("ROCM_SDK_INSTALL_DIR", tree.path("own"));
    let found = |variables: &[_]| id(&with(variables).open(&STUB).unwrap());
    assert_eq!(found(&[home.clone(), data.clone(), own.clone()]), 0);
    assert_eq!(found(&[home.clone(), data]), 1);
    assert_eq!(found(std::slice::from_ref(&home)), 2);
    // Base directory specification: a path that is not absolute is ignored.
    assert_eq!(found(&[home.clone(), ("XDG_DATA_HOME", "data".into())]), 2);
    assert!(with(&[]).installations().is_empty());

    // A wrong value of this crate's own variable is reported, and no other folder is used instead.
    let report = with(&[home, ("ROCM_SDK_INSTALL_DIR", "own".into())]).report(&STUB);
    assert_eq!(report.attempts().len(), 1);
    assert_eq!(report.attempts()[0].failure, Some(Reason::RelativePath));
    for refused in [with(std::slice::from_ref(&own)).set_uid(true), with(&[own]).without_environment()] {
        assert!(refused.installations().is_empty());
        assert!(refused.report(&STUB).attempts().iter().all(|a| a.failure == Some(Reason::SetUid)));
    }
}

#[test]
fn the_release_is_that_of_the_version_file() {
    let tree = Tree::new();
    installation(&tree, "own/7.2", 7);
    tree.write("own/7.2/usr/.info/version", "7.2.4\n");
    let search = with(&[("ROCM_SDK_INSTALL_DIR", tree.path("own"))]);
    assert_eq!(search.open(&STUB).unwrap().release().unwrap().to_string(), "ROCm 7.2.4");
    assert_eq!(search.installations()[0].release().unwrap().to_string(), "ROCm 7.2.4");
}

/// Debian's libraries rely on a directory that the loader knows, and have no run path.
#[test]
fn what_a_library_needs_is_opened_from_beside_it() {
    let tree = Tree::new();
    let at = |name: &str| format!("own/7.2/{LIBRARIES}/{name}");
    let here = format!("-L{}", tree.path(&at("")).display());
    tree.library(&at("libs3deep.so.1"), "libs3deep.so.1", "int deep(void) { return 40; }");
    let needs = |file: &str, c: &str, needed: &str| {
        // `-l:FILE` needs the file when it links, and only its name when it loads.
        tree.library_with(&at(file), file, c, &[&here, &format!("-l:{needed}"), "-Wl,--no-as-needed"]);
    };
    needs("libs3middle.so.1", "int deep(void); int middle(void) { return deep() + 1; }", "libs3deep.so.1");
    let c = "int middle(void); int stub_id(void) { return middle() + 1; }";
    needs("libstub.so.7", c, "libs3middle.so.1");
    tree.write("own/7.2/.packages", "Sets: hip\n");
    let search = with(&[("ROCM_SDK_INSTALL_DIR", tree.path("own"))]);
    assert_eq!(id(&search.open(&STUB).unwrap()), 42);

    // A dependency that is missing there, too, is named; so is a circular one, and the search ends.
    for name in ["gone", "circle"] {
        let (first, second) = (format!("libs3{name}.so.1"), format!("libs3{name}2.so.1"));
        let root = format!("{name}/7.2/{LIBRARIES}");
        let here = format!("-L{}", tree.path(&root).display());
        let (to_first, to_second) = (format!("-l:{first}"), format!("-l:{second}"));
        tree.library(&format!("{root}/{second}"), &second, "int second(void) { return 2; }");
        let c = "int second(void); int first(void) { return second(); }";
        tree.library_with(&format!("{root}/{first}"), &first, c, &[&here, &to_second]);
        let c = "int first(void); int stub_id(void) { return first(); }";
        tree.library_with(&format!("{root}/libstub.so.7"), "libstub.so.7", c, &[&here, &to_first]);
        if name == "gone" {
            fs::remove_file(tree.path(&root).join(&second)).unwrap();
        } else {
            let c = "int first(void); int second(void) { return first(); }";
            tree.library_with(&format!("{root}/{second}"), &second, c, &[&here, &to_first]);
        }
        tree.write(&format!("{name}/7.2/.packages"), "Sets: hip\n");
        let error = with(&[("ROCM_SDK_INSTALL_DIR", tree.path(name))]).open(&STUB).unwrap_err();
        let LoadError::Unusable { reason: Reason::DependencyMissing { dependency, .. }, .. } = &error else {
            panic!("{error}")
        };
        assert!(dependency.starts_with(&format!("libs3{name}")), "{error}");
    }
}

/// A library that requires a version of glibc that does not exist: one byte of a real one is changed.
#[test]
fn one_made_for_a_newer_system_says_how_to_run_a_program() {
    let tree = Tree::new();
    let path = format!("own/7.2/{LIBRARIES}/libstub.so.7");
    let c = "#include <stdio.h>\nint stub_id(void) { return puts(\"\"); }";
    let library = tree.library(&path, "libstub.so.7", c);
    let mut content = fs::read(&library).unwrap();
    let version = b"GLIBC_2.2.5\0";
    let at = content.windows(version.len()).position(|bytes| bytes == version).expect("puts is of GLIBC_2.2.5");
    content[at..at + 11].copy_from_slice(b"GLIBC_2.999");
    fs::write(&library, content).unwrap();
    tree.write("own/7.2/.packages", "Sets: hip\n");

    let search = with(&[("ROCM_SDK_INSTALL_DIR", tree.path("own"))]);
    let reason = |search: &Search| match search.open(&STUB) {
        Err(LoadError::Unusable { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    let Reason::SystemTooOld { needed, found: Some(found), run: None } = reason(&search) else {
        panic!("{}", reason(&search))
    };
    assert_eq!(needed, "glibc 2.999");
    assert!(found.starts_with("2."), "{found}");

    // With a C library in the same installation.
    tree.write(&format!("own/7.2/{LIBRARIES}/ld-linux-x86-64.so.2"), "");
    let said = reason(&search).to_string();
    let wanted =
        format!("needs glibc 2.999, this machine has {found}: run the program with `rocm-sdk run 7.2 -- PROGRAM`");
    assert_eq!(said, wanted);
    // Elsewhere that command would not help.
    let said = reason(&Search::nowhere().root(tree.path("own/7.2/usr"))).to_string();
    assert!(said.contains("ld-linux-x86-64.so.2 --library-path ") && !said.contains("rocm-sdk run"), "{said}");
}

/// The fetched releases have the same folders as installed ones.
#[test]
fn a_real_installation_runs_through_its_loader_and_tells_other_processes_so() {
    const TEST: &str = "a_real_installation_runs_through_its_loader_and_tells_other_processes_so";
    const OWN: &str = "ROCM_SDK_INSTALL_DIR";
    let open = || Search::standard().system(false).open(&libraries::AMDHIP64);
    if is_child() {
        let library = open().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((library.origin(), library.soname_major()), (Origin::Installed, Some(7)));
        return;
    }
    let trees = std::env::var_os("ROCM_RS_TREES").map(PathBuf::from);
    let trees = trees.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/rocm"));
    let own = trees.join("7.2").join(LIBRARIES);
    let loader = own.join("ld-linux-x86-64.so.2");
    if !loader.is_file() || !trees.join("7.2/.packages").is_file() {
        let why = format!("SKIPPED: no ROCm 7.2 in {} (`cargo xtask rocm fetch 7.2`)", trees.display());
        let _ = writeln!(std::io::stdout(), "{why}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(fs::canonicalize(trees.join("7.2")).unwrap(), folder.path().join("7.2")).unwrap();

    // The second one only has the C and C++ libraries, like a system that is new enough for this ROCm.
    let system = folder.path().join("system");
    fs::create_dir(&system).unwrap();
    for name in ["libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libgcc_s.so.1", "libstdc++.so.6"] {
        std::os::unix::fs::symlink(fs::canonicalize(own.join(name)).unwrap(), system.join(name)).unwrap();
    }
    for path in [&own, &system] {
        let mut command = Command::new(&loader);
        command.arg("--library-path").arg(path).arg(std::env::current_exe().unwrap());
        command.args(["--exact", TEST, "--nocapture"]).env(CHILD, "1").env(OWN, folder.path());
        command.env_remove("ROCM_PATH").env_remove("HIP_PATH").env_remove("VIRTUAL_ENV").env_remove("CONDA_PREFIX");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }

    // In this process, whose C library is the machine's.
    match with(&[(OWN, folder.path().to_owned())]).open(&libraries::AMDHIP64) {
        Ok(library) => assert_eq!(library.origin(), Origin::Installed),
        Err(error) => {
            let said = error.to_string();
            assert!(said.contains("this machine has 2.") && said.contains("`rocm-sdk run 7.2 -- PROGRAM`"), "{said}");
        }
    }
}

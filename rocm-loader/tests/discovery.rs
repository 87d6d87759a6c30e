//! The places where libraries are found, and their order.
#![cfg(unix)]

mod support;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use rocm_loader::{Error, Origin, Reason, Search, libraries};
use semver::Version;
use support::{STUB, Tree, id, in_child, is_child};

/// A search with these variables and nothing else.
fn with_variables(variables: &[(&str, PathBuf)]) -> Search {
    let variables: HashMap<String, OsString> =
        variables.iter().map(|(k, v)| ((*k).to_owned(), v.clone().into())).collect();
    Search::nowhere().environment(move |name| variables.get(name).cloned())
}

#[test]
fn a_search_of_nowhere_finds_nothing_and_says_so() {
    let error = Search::nowhere().open(&STUB).unwrap_err();
    assert!(matches!(error, Error::NotFound { library: "stub", .. }));
    assert!(error.report().unwrap().attempts().is_empty());
    assert!(error.to_string().contains("no place to search"), "{error}");
}

#[test]
fn every_place_tried_is_in_the_error() {
    let tree = Tree::new();
    tree.write("lib/readme", "");
    let search = Search::nowhere().root(tree.root()).root("/no/such/rocm");
    let error = search.open(&libraries::AMDHIP64).unwrap_err();
    let message = error.to_string();
    for name in ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"] {
        let path = tree.path("lib").join(name).display().to_string();
        let attempt = error.report().unwrap().attempts().iter().find(|a| a.target == path);
        let attempt = attempt.unwrap_or_else(|| panic!("{path} is not in {message}"));
        assert_eq!((attempt.origin, attempt.failure.as_ref()), (Origin::Explicit, Some(&Reason::NotThere)));
        assert!(message.contains(&path));
    }
    assert!(message.contains("lib64 [path given in code]: not found"), "{message}");
    assert!(message.contains("/no/such/rocm [path given in code]: not found"), "{message}");
    assert!(message.contains("ROCM_PATH"), "{message}");
}

/// Five installations, one per step of the order: each is used once those before it are removed.
#[test]
fn the_order_of_places() {
    let tree = Tree::new();
    let wheel = "venv/lib/python3.12/site-packages/_rocm_sdk_core/lib/libstub.so.7";
    let conda = "conda/lib/python3.9/site-packages/_rocm_sdk_libraries_gfx94X_dcgpu/lib/libstub.so.7";
    let steps = [
        ("code/lib/libstub.so.7", Origin::Explicit),
        ("rocm_path/lib/libstub.so.7", Origin::Variable("ROCM_PATH")),
        ("hip_path/lib/libstub.so.7", Origin::Variable("HIP_PATH")),
        (wheel, Origin::Wheel("VIRTUAL_ENV")),
        (conda, Origin::Wheel("CONDA_PREFIX")),
        ("opt/rocm/lib/libstub.so.7", Origin::Opt),
        ("opt/rocm-7.2.0/lib/libstub.so.7", Origin::Opt),
    ];
    for (n, (path, _)) in steps.iter().enumerate() {
        tree.stub(path, "libstub.so.7", n as i32);
    }
    let search = with_variables(&[
        ("CONDA_PREFIX", tree.path("conda")),
        ("VIRTUAL_ENV", tree.path("venv")),
        ("HIP_PATH", tree.path("hip_path")),
        ("ROCM_PATH", tree.path("rocm_path")),
    ])
    .opt(Some(tree.path("opt")))
    .root(tree.path("code"));
    for (n, (path, origin)) in steps.iter().enumerate() {
        let library = search.open(&STUB).unwrap();
        assert_eq!((id(&library), library.origin()), (n as i32, *origin));
        assert_eq!(library.path(), Some(tree.path(path).as_path()));
        assert_eq!(library.report().opened().unwrap().target, tree.path(path).display().to_string());
        std::fs::remove_file(tree.path(path)).unwrap();
    }
    assert!(matches!(search.open(&STUB), Err(Error::NotFound { .. })));
}

#[test]
fn roots_given_in_code_keep_their_order() {
    let tree = Tree::new();
    tree.stub("old/lib/libstub.so.6", "libstub.so.6", 6);
    tree.stub("new/lib/libstub.so.7", "libstub.so.7", 7);
    let library = Search::nowhere().root(tree.path("old")).root(tree.path("new")).open(&STUB).unwrap();
    assert_eq!(id(&library), 6);
}

#[test]
fn of_several_releases_in_opt_the_newest_wins() {
    let tree = Tree::new();
    // As text, 10 sorts before 6, and 7.10 before 7.9.
    for (n, release) in ["6.4.3", "7.9.0", "7.10.0", "10.0.0", "beta"].iter().enumerate() {
        tree.stub(&format!("opt/rocm-{release}/lib/libstub.so.7"), "libstub.so.7", n as i32);
    }
    let search = Search::nowhere().opt(Some(tree.path("opt")));
    let roots: Vec<String> =
        search.installations().iter().map(|i| i.root.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(roots, ["rocm", "rocm-10.0.0", "rocm-7.10.0", "rocm-7.9.0", "rocm-6.4.3", "rocm-beta"]);
    assert_eq!(id(&search.open(&STUB).unwrap()), 3);
}

/// ROCm 7.10 and later install into /opt/rocm/core-X.Y.
#[test]
fn core_directories_inside_opt_rocm() {
    let tree = Tree::new();
    tree.stub("opt/rocm/core-7.13/lib/libstub.so.7", "libstub.so.7", 713);
    tree.stub("opt/rocm/core-10.0/lib/libstub.so.7", "libstub.so.7", 1000);
    let search = Search::nowhere().opt(Some(tree.path("opt")));
    assert_eq!(id(&search.open(&STUB).unwrap()), 1000);
    tree.stub("opt/rocm/core/lib/libstub.so.7", "libstub.so.7", 1);
    assert_eq!(id(&search.open(&STUB).unwrap()), 1);
}

#[test]
fn in_an_installation_the_newest_soname_wins_whatever_its_directory() {
    let tree = Tree::new();
    tree.stub("lib/libstub.so", "", 0);
    tree.stub("lib/libstub.so.5", "libstub.so.5", 5);
    tree.stub("lib64/libstub.so.6", "libstub.so.6", 6);
    let search = Search::nowhere().root(tree.root());
    assert_eq!(id(&search.open(&STUB).unwrap()), 6);
    #[cfg(target_arch = "x86_64")]
    {
        tree.stub("lib/x86_64-linux-gnu/libstub.so.7", "libstub.so.7", 7);
        assert_eq!(id(&search.open(&STUB).unwrap()), 7);
    }
}

#[test]
fn a_release_newer_than_any_known_is_used_last_and_reported() {
    let tree = Tree::new();
    tree.stub("lib/libstub.so.11", "libstub.so.11", 11);
    tree.stub("lib/libstub.so.9", "libstub.so.9", 9);
    tree.stub("lib/libstub.so", "libstub.so.12", 12);
    let search = Search::nowhere().root(tree.root());
    let library = search.open(&STUB).unwrap();
    assert_eq!((id(&library), library.is_known_release(), library.soname_major()), (11, false, Some(11)));
    assert!(library.report().to_string().contains("opened as libstub.so.11, a release that"), "{}", library.report());
    tree.stub("lib/libstub.so.6", "libstub.so.6", 6);
    let library = search.open(&STUB).unwrap();
    assert_eq!((id(&library), library.is_known_release(), library.soname_major()), (6, true, Some(6)));
}

#[test]
fn the_unversioned_name_comes_last() {
    let tree = Tree::new();
    tree.stub("lib/libstub.so", "libstub.so.12", 12);
    let library = Search::nowhere().root(tree.root()).open(&STUB).unwrap();
    assert_eq!((id(&library), library.is_known_release(), library.soname()), (12, false, Some("libstub.so.12")));
}

#[test]
fn what_cannot_be_used_is_passed_over_for_the_next_place() {
    let tree = Tree::new();
    tree.write("broken/lib/libstub.so.7", "not a library");
    tree.stub("whole/lib/libstub.so.6", "libstub.so.6", 6);
    let library = Search::nowhere().root(tree.path("broken")).root(tree.path("whole")).open(&STUB).unwrap();
    assert_eq!(id(&library), 6);
    assert_eq!(library.report().first_fault().unwrap().1, &Reason::NotElf { found: "text" });
}

#[test]
fn relative_paths_are_refused() {
    let tree = Tree::new();
    tree.stub("lib/libstub.so.7", "libstub.so.7", 7);
    for name in ["ROCM_PATH", "HIP_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
        // These directories exist relative to the current directory of a test.
        for relative in [".", "src/..", "tests"] {
            let search = with_variables(&[(name, relative.into())]);
            let error = search.open(&STUB).unwrap_err();
            let attempts = error.report().unwrap().attempts();
            assert_eq!(attempts.len(), 1, "{error}");
            assert_eq!(
                (attempts[0].target.as_str(), attempts[0].failure.as_ref()),
                (relative, Some(&Reason::RelativePath))
            );
            assert!(
                error.to_string().contains(&format!("{relative} [")) && error.to_string().contains(name),
                "{error}"
            );
        }
    }
    let error = Search::nowhere().root("lib").open(&STUB).unwrap_err();
    assert_eq!(error.report().unwrap().attempts()[0].failure, Some(Reason::RelativePath));
    // Variables after a rejected one are still read.
    let search = with_variables(&[("ROCM_PATH", "rocm".into()), ("HIP_PATH", tree.root().into())]);
    let library = search.open(&STUB).unwrap();
    assert_eq!(library.origin(), Origin::Variable("HIP_PATH"));
    assert_eq!(library.report().attempts()[0].failure, Some(Reason::RelativePath));
}

#[test]
fn an_empty_variable_is_an_unset_one() {
    let search = with_variables(&[("ROCM_PATH", "".into()), ("VIRTUAL_ENV", "".into())]);
    assert!(search.installations().is_empty());
    assert!(search.report(&STUB).attempts().is_empty());
}

#[test]
fn a_set_uid_program_ignores_the_environment() {
    let tree = Tree::new();
    tree.stub("lib/libstub.so.7", "libstub.so.7", 7);
    tree.stub("opt/rocm/lib/libstub.so.6", "libstub.so.6", 6);
    let search = with_variables(&[("ROCM_PATH", tree.root().into())]).opt(Some(tree.path("opt")));
    assert_eq!(id(&search.clone().open(&STUB).unwrap()), 7);
    let library = search.clone().set_uid(true).open(&STUB).unwrap();
    assert_eq!((id(&library), library.origin()), (6, Origin::Opt));
    let ignored = &library.report().attempts()[0];
    assert_eq!((ignored.origin, ignored.failure.as_ref()), (Origin::Variable("ROCM_PATH"), Some(&Reason::SetUid)));
    // A path given in code is used all the same.
    assert_eq!(id(&search.set_uid(true).root(tree.root()).open(&STUB).unwrap()), 7);
}

#[test]
fn wheels_of_the_newest_python_first_and_core_before_libraries() {
    let tree = Tree::new();
    for wheel in ["_rocm_sdk_core", "_rocm_sdk_libraries_gfx120X_all", "_rocm_sdk_libraries"] {
        for python in ["python3.9", "python3.12"] {
            tree.write(&format!("venv/lib/{python}/site-packages/{wheel}/lib/nothing"), "");
        }
    }
    tree.write("venv/lib/python3.12/site-packages/_rocm_sdk_devel/lib/nothing", "");
    let found = with_variables(&[("VIRTUAL_ENV", tree.path("venv"))]).installations();
    let found: Vec<String> =
        found.iter().map(|i| i.root.strip_prefix(tree.path("venv/lib")).unwrap().display().to_string()).collect();
    let order = ["_rocm_sdk_core", "_rocm_sdk_libraries", "_rocm_sdk_libraries_gfx120X_all"];
    let expected: Vec<String> =
        ["python3.12", "python3.9"].iter().flat_map(|p| order.map(|w| format!("{p}/site-packages/{w}"))).collect();
    assert_eq!(found, expected);
}

#[test]
#[cfg(target_env = "gnu")]
fn the_system_loader_comes_last_and_tells_the_path() {
    const TEST: &str = "the_system_loader_comes_last_and_tells_the_path";
    if !is_child() {
        let tree = Tree::new();
        tree.stub("elsewhere/libstub.so.6", "libstub.so.6", 6);
        tree.stub("elsewhere/libstub.so.5", "libstub.so.5", 5);
        return in_child(TEST, &[("LD_LIBRARY_PATH", tree.path("elsewhere").to_str().unwrap())]);
    }
    let search = Search::nowhere().root("/no/such/rocm").system(true);
    let library = search.open(&STUB).unwrap();
    assert_eq!((id(&library), library.origin(), library.opened_as()), (6, Origin::System, "libstub.so.6"));
    assert!(library.path().unwrap().is_absolute() && library.path().unwrap().ends_with("elsewhere/libstub.so.6"));
    assert_eq!(library.soname_major(), Some(6));
    let newest = library.report().attempts().iter().find(|a| a.target == "libstub.so.7").unwrap();
    assert_eq!((newest.origin, newest.failure.as_ref()), (Origin::System, Some(&Reason::NotThere)));
}

/// An empty entry of `LD_LIBRARY_PATH`, easily made by `$LD_LIBRARY_PATH:/x`, is the current directory to the system
/// loader.
#[test]
#[cfg(target_env = "gnu")]
fn the_system_loader_is_not_led_to_the_current_directory() {
    const TEST: &str = "the_system_loader_is_not_led_to_the_current_directory";
    if !is_child() {
        let tree = Tree::new();
        tree.stub("elsewhere/libstub.so.5", "libstub.so.5", 5);
        return in_child(TEST, &[("LD_LIBRARY_PATH", &format!(":{}", tree.path("elsewhere").display()))]);
    }
    let tree = Tree::new();
    tree.stub("libstub.so.7", "libstub.so.7", 7);
    tree.stub("libstub.so.6", "libstub.so.6", 6);
    std::env::set_current_dir(tree.root()).unwrap();
    // Without the rule the loader does open it: the danger is real.
    assert_eq!(id(&Search::nowhere().system(true).open(&STUB).unwrap()), 7);
    let library = Search::standard().opt(None).open(&STUB).unwrap();
    assert_eq!((id(&library), library.origin()), (5, Origin::System));
    let refused: Vec<_> = library
        .report()
        .attempts()
        .iter()
        .filter(|a| a.failure == Some(Reason::RelativePath))
        .map(|a| &a.target)
        .collect();
    assert_eq!(refused, ["./libstub.so.7", "./libstub.so.6"]);
}

#[test]
fn releases_of_installations() {
    let tree = Tree::new();
    let release = |root: &str| rocm_loader::release_at(&tree.path(root)).map(|r| r.version);
    tree.write("a/.info/version", "7.2.4\n");
    tree.write("b/.info/version-dev", "6.2.0-66\n");
    tree.write("c/.info/version", "garbage");
    tree.write("c/.info/version-dev", "5.7.1-98");
    tree.write("site-packages/_rocm_sdk_core/lib/nothing", "");
    tree.write("site-packages/rocm_sdk_core-7.10.0a20251120.dist-info/METADATA", "");
    assert_eq!(release("a"), Some(Version::new(7, 2, 4)));
    assert_eq!(release("b"), Version::parse("6.2.0+66").ok());
    assert_eq!(release("c"), Version::parse("5.7.1+98").ok());
    assert_eq!(release("site-packages/_rocm_sdk_core"), Version::parse("7.10.0-a20251120").ok());
    assert_eq!(release("nothing"), None);
}

#[test]
fn the_release_of_an_open_library() {
    let tree = Tree::new();
    // Debian: no .info, the number in the name behind two links.
    tree.stub("usr/lib/libstub.so.7.2.53211", "libstub.so.7", 7);
    tree.link("libstub.so.7.2.53211", "usr/lib/libstub.so.7");
    let library = Search::nowhere().root(tree.path("usr")).open(&STUB).unwrap();
    assert_eq!(library.release().unwrap().to_string(), "HIP 7.2.53211");
    assert!(library.check_level((7, 2)).is_ok());
    let error = library.check_level((10, 0)).unwrap_err();
    assert!(matches!(error, Error::TooOld { needed: (10, 0), .. }));
    assert!(error.to_string().contains("HIP 7.2.53211") && error.to_string().contains("ROCm 10.0"), "{error}");
    // AMD: .info beside lib.
    tree.write("opt/rocm-6.4.3/.info/version", "6.4.3-128");
    tree.stub("opt/rocm-6.4.3/lib/libstub.so.6.4.60403", "libstub.so.6", 6);
    tree.link("libstub.so.6.4.60403", "opt/rocm-6.4.3/lib/libstub.so.6");
    tree.link("rocm-6.4.3", "opt/rocm");
    let library = Search::nowhere().opt(Some(tree.path("opt"))).open(&STUB).unwrap();
    assert_eq!(library.release().unwrap().to_string(), "ROCm 6.4.3+128");
    assert!(library.check_level((6, 4)).is_ok() && library.check_level((7, 0)).is_err());
    // An installation that does not state its release is not rejected.
    tree.stub("mute/lib/libstub.so.7", "libstub.so.7", 7);
    let library = Search::nowhere().root(tree.path("mute")).open(&STUB).unwrap();
    assert_eq!(library.release(), None);
    assert!(library.check_level((10, 0)).is_ok());
}

#[test]
fn in_rocm_5_hiprtc_is_part_of_the_runtime() {
    let tree = Tree::new();
    tree.stub("lib/libamdhip64.so.5", "libamdhip64.so.5", 5);
    let search = Search::nowhere().root(tree.root());
    assert_eq!(id(&search.open(&libraries::HIPRTC).unwrap()), 5);
    tree.stub("lib/libhiprtc.so.6", "libhiprtc.so.6", 6);
    assert_eq!(id(&search.open(&libraries::HIPRTC).unwrap()), 6);
}

#[test]
fn the_table_is_in_order() {
    for spec in libraries::ALL {
        let newest_first =
            spec.sonames().windows(2).all(|pair| pair[0].last >= pair[1].last && pair[0].first >= pair[1].first);
        assert!(newest_first, "{}", spec.name());
        assert!(spec.unversioned().starts_with("lib") && spec.unversioned().ends_with(".so"));
        assert_eq!(spec.file_names().last(), Some(spec.unversioned()));
        assert!(spec.sonames().iter().all(|s| s.first <= s.last && spec.knows(s.file)));
    }
}

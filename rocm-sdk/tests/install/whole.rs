//! Installing, finding, running, adding, updating, removing.

use std::fs;
use std::path::Path;
use std::process::Command;

use rocm_sdk::install::{Amount, Error, Event, Plan, Progress, Silent};
use rocm_sdk::{Library, Origin, Search, libraries};

use crate::names;
use crate::repository::{Deb, LIBRARIES, Repository};

/// Returns a search of only this folder of installations.
fn search(folder: &Path) -> Search {
    let folder = folder.as_os_str().to_owned();
    Search::nowhere().environment(move |name| (name == "ROCM_SDK_INSTALL_DIR").then(|| folder.clone()))
}

fn id(library: &Library) -> i32 {
    // SAFETY: the stub defines it with this signature.
    let function = unsafe { library.function::<unsafe extern "C" fn() -> i32>(c"stub_id", "7.2") }.unwrap();
    // SAFETY: it has no precondition.
    unsafe { function() }
}

/// Stores the events.
#[derive(Default)]
struct Told {
    steps: Vec<(String, Option<Amount>)>,
    open: usize,
    plan: Option<Plan>,
    refuses: bool,
}

impl Progress for Told {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Begin { what, total } => {
                self.steps.push((what.to_owned(), total));
                self.open += 1;
            }
            Event::End => self.open -= 1,
            _ => {}
        }
    }

    fn approve(&mut self, plan: &Plan) -> bool {
        self.plan = Some(plan.clone());
        !self.refuses
    }
}

#[test]
fn from_nothing_to_a_library_that_is_found_and_back() {
    let Some(mut repository) = Repository::rocm() else { return };
    let temporary = tempfile::tempdir().unwrap();
    // apt, dpkg and the loader all receive this path.
    let folder = temporary.path().join("a folder; with $odd 'signs'");
    let installer = repository.installer(&folder);

    let mut told = Told::default();
    let done = installer.clone().release("7.2").unwrap().run(&mut told).unwrap();
    let mut added: Vec<&str> = done.added.iter().map(|package| package.name.as_str()).collect();
    added.sort_unstable();
    assert_eq!(added, ["libamdhip64-7", "libamdhip64-dev", "libc6"], "and not what the headers' package wants");
    assert_eq!((done.installed.release(), done.installed.version()), ("7.2", Some("7.2.4")));
    assert_eq!(done.installed.root(), folder.join("7.2/usr"));
    assert!(folder.join("7.2/usr/include/hip/hip_runtime_api.h").is_file());
    assert!(!repository.script_ran(), "a script of a package ran");
    assert_eq!(names(temporary.path()), ["a folder; with $odd 'signs'"]);
    assert_eq!(names(&folder), [".lock", "7.2"], "what it takes to install is gone");

    // The announced sizes are the actual ones.
    let plan = told.plan.unwrap();
    let size: u64 = done.added.iter().map(|package| package.size).sum();
    assert_eq!((plan.packages.len(), plan.download, plan.unpacked), (3, size, 3 * 100 * 1024));
    assert!(plan.free > 0 && plan.to_string().contains("3 packages"), "{plan}");
    assert_eq!(told.open, 0);
    assert!(told.steps.iter().any(|step| step.1 == Some(Amount::Packages(3))), "{:?}", told.steps);

    // A search finds it, and knows the release.
    let hip = search(&folder).open(&libraries::AMDHIP64).unwrap();
    assert_eq!((hip.origin(), id(&hip)), (Origin::Installed, 724));
    assert_eq!(hip.release().unwrap().to_string(), "ROCm 7.2.4");

    // Everything is installed: the archive is not queried.
    let nowhere = rocm_sdk::install::Installer::new(&folder).release("7.2").unwrap();
    assert!(nowhere.run(&mut Silent).unwrap().added.is_empty());

    // One more library.
    let request = installer.clone().release("7.2").unwrap().with(["librocblas", "rocblas", "hiprtc"]);
    let done = request.run(&mut Silent).unwrap();
    assert_eq!(done.added.iter().map(|package| package.name.as_str()).collect::<Vec<_>>(), ["librocblas5"]);
    assert_eq!(done.installed.libraries().collect::<Vec<_>>(), ["rocblas"]);
    assert_eq!(id(&search(&folder).open(&libraries::ROCBLAS).unwrap()), 5);

    // The newest packages, with the libraries that were installed.
    let hip = Deb::new("libamdhip64-7", "7.2.5-1").library("libamdhip64.so.7.2.53300", "libamdhip64.so.7", 725);
    repository.add(hip);
    repository.publish();
    let done = installer.clone().release("7.2").unwrap().update(true).run(&mut Silent).unwrap();
    assert_eq!(done.installed.version(), Some("7.2.5"));
    assert_eq!(done.installed.libraries().collect::<Vec<_>>(), ["rocblas"]);
    assert!(!folder.join("7.2").join(LIBRARIES).join("libamdhip64.so.7.2.53211").exists(), "a new tree");
    assert!(folder.join("7.2").join(LIBRARIES).join("librocblas.so.5.2").exists());

    let installed = installer.installed().unwrap();
    assert_eq!(installed.len(), 1);
    assert_eq!(installed[0], done.installed);
    installer.remove("7.2", &mut Silent).unwrap();
    assert_eq!(names(&folder), [".lock"]);
    assert!(installer.installed().unwrap().is_empty());
    assert!(matches!(installer.remove("7.2", &mut Silent), Err(Error::NotInstalled { .. })));
}

#[test]
fn a_program_runs_on_the_installations_own_loader() {
    let Some(repository) = Repository::rocm() else { return };
    let temporary = tempfile::tempdir().unwrap();
    let installed = repository.installer(temporary.path()).release("7.2").unwrap().run(&mut Silent).unwrap().installed;
    let command = installed.command("printenv").unwrap();
    assert_eq!(command.get_program(), installed.folder().join(LIBRARIES).join("ld-linux-x86-64.so.2"));
    let output = installed.command("printenv").unwrap().arg("ROCM_PATH").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), installed.root().to_str().unwrap());
    assert_eq!(installed.command("false").unwrap().status().unwrap().code(), Some(1));

    let script = temporary.path().join("script");
    fs::write(&script, "#!/bin/sh -e\necho $0 $1 $ROCM_HOME\n").unwrap();
    let output = installed.command(&script).unwrap().arg("word").output().unwrap();
    let expected = format!("{} word {}\n", script.display(), installed.root().display());
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    fs::write(temporary.path().join("bad"), "#!/no/such/interpreter\n").unwrap();
    fs::write(temporary.path().join("short"), "x").unwrap();
    for (program, why) in [
        (&*temporary.path().join("bad"), "/no/such/interpreter cannot be read"),
        (&temporary.path().join("none"), "No such file"),
        (&temporary.path().join("short"), "neither an ELF program"),
        (Path::new("no-such-program-anywhere"), "not on PATH"),
        (Path::new(""), "not on PATH"),
    ] {
        let error = installed.command(program).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    fs::remove_file(installed.folder().join(LIBRARIES).join("ld-linux-x86-64.so.2")).unwrap();
    assert!(installed.command("true").unwrap_err().to_string().contains("install ROCm 7.2 again"));
}

/// Clients look for libraries in `$ROCM_PATH/lib`, also by their unversioned names; a search still finds the real ones,
/// and the C library is not among them.
#[test]
fn an_installation_looks_like_rocm() {
    let Some(mut repository) = Repository::rocm() else { return };
    repository.add(Deb::new("libhipfft0", "7.2.4-1").library("libhipfft.so.0.1", "libhipfft.so.0", 1));
    repository.add(Deb::new("libhipfftw0", "7.2.4-1").library("libhipfftw.so.0.1", "libhipfftw.so.0", 2));
    repository.add(Deb::new("libmiopen1", "6.4.3-1").needs("libamdhip64-6"));
    repository.add(Deb::new("libmiopen1", "7.2.4-1").library("libMIOpen.so.1.0", "libMIOpen.so.1", 3));
    repository.add(
        Deb::new("hipcc", "7.2.4-1")
            .file("usr/bin/hipcc", "")
            .file("usr/lib/llvm-22/bin/clang", "")
            .file("usr/lib/llvm-22/lib/clang/22/amdgcn/bitcode/ocml.bc", ""),
    );
    repository.add(Deb::new("hipcc", "7.0.2-1"));
    repository.add(Deb::new("librocthrust-dev", "7.2.4-1").needs("libnowhere1").file("usr/include/thrust/sort.h", ""));
    repository.add(Deb::new("librocprim-dev", "7.2.4-1").file("usr/include/rocprim/rocprim.hpp", ""));
    repository.publish();
    let temporary = tempfile::tempdir().unwrap();
    let request = repository.installer(temporary.path()).release("7.2").unwrap();
    let installed = request.with(["hipfft", "miopen", "hipcc", "rocthrust"]).run(&mut Silent).unwrap().installed;
    let root = installed.root();
    for name in [
        "lib/libamdhip64.so",
        "lib/libamdhip64.so.7",
        "lib/libhipfft.so",
        "lib/libhipfftw.so.0",
        "lib/libhipfftw.so",
        "lib/libMIOpen.so.1",
        "lib/llvm/bin/clang",
        "llvm/bin/clang",
        "amdgcn/bitcode/ocml.bc",
        "bin/hipcc",
        "include/hip/hip_runtime_api.h",
        "include/thrust/sort.h",
        "include/rocprim/rocprim.hpp",
    ] {
        assert!(root.join(name).is_file(), "{name}: {:?}", names(&root.join("lib")));
    }
    assert!(names(&root.join("lib")).iter().all(|name| !name.starts_with("libc.") && !name.starts_with("ld-")));
    let layout = rocm_sdk::Layout::at(&root).unwrap();
    assert_eq!(layout.lib(), installed.folder().join(LIBRARIES));
    // It is not opened: another test opens one, and a process uses one installation.
    let hip = search(temporary.path()).find(&libraries::AMDHIP64).unwrap();
    assert!(hip.path().starts_with(layout.lib()), "{:?}", hip.path());
    // Again, over existing links.
    let request = repository.installer(temporary.path()).release("7.2").unwrap();
    assert!(request.with(["rocblas"]).run(&mut Silent).unwrap().installed.root().join("lib/librocblas.so").is_file());
    // A compiler of another release is not installed.
    let Some(mut repository) = Repository::rocm() else { return };
    repository.add(Deb::new("hipcc", "7.0.2-1"));
    repository.publish();
    let temporary = tempfile::tempdir().unwrap();
    let error = repository.installer(temporary.path()).release("7.2").unwrap().with(["hipcc"]).run(&mut Silent);
    assert!(matches!(error, Err(Error::UnknownLibrary { .. })), "{error:?}");
}

#[test]
fn what_there_is_not_is_said_before_anything_is_downloaded() {
    let Some(mut repository) = Repository::rocm() else { return };
    repository.add(Deb::new("libamdhip64-6", "6.4.3-5").library("libamdhip64.so.6", "libamdhip64.so.6", 6));
    repository.add(Deb::new("libmiopen1", "6.4.3-1").needs("libamdhip64-6"));
    repository.add(Deb::new("librocsparse1", "7.2.4-1").needs("libamdhip64-7").taking(9_000_000_000_000));
    repository.publish();
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("rocm");
    let run = |release: &str, with: &[&str]| {
        let request = repository.installer(&folder).release(release)?.with(with.iter().copied());
        request.run(&mut Silent).map(|done| done.installed)
    };

    let error = run("6.5", &[]).unwrap_err();
    assert!(matches!(error, Error::UnknownRelease { .. }) && error.to_string().contains("5.7, 6.4, 7.2"), "{error}");
    for bad in ["--yes", "a b", "../x", ""] {
        assert!(matches!(run("7.2", &[bad]), Err(Error::Setting { .. })), "{bad:?}");
    }
    assert!(!folder.exists(), "nothing yet");

    let error = run("7.2", &["rocalution"]).unwrap_err();
    assert!(matches!(error, Error::UnknownLibrary { .. }), "{error}");
    assert!(error.to_string().contains("amdhip64, miopen, rocblas, rocsparse"), "{error}");
    let error = run("7.2", &["miopen"]).unwrap_err();
    assert!(matches!(&error, Error::OtherRelease { runtime, .. } if runtime == "libamdhip64-6"), "{error}");
    assert!(error.to_string().contains("libmiopen1 6.4.3-1"), "{error}");
    let error = run("7.2", &["rocsparse"]).unwrap_err();
    assert!(matches!(error, Error::Space { .. }), "{error}");
    assert!(error.to_string().contains(" TB needed, "), "{error}");
    // This archive does not contain trixie.
    assert!(run("5.7", &[]).is_err());
    let mut told = Told { refuses: true, ..Told::default() };
    let declined = repository.installer(&folder).release("7.2").unwrap().run(&mut told);
    assert!(matches!(declined, Err(Error::Declined)) && told.plan.is_some());

    assert!(names(&folder.join(".apt/archives")).iter().all(|name| !name.ends_with(".deb")));
    assert!(repository.installer(&folder).installed().unwrap().is_empty());
    run("7.2", &["rocblas"]).unwrap();
}

#[test]
fn the_names_that_can_be_installed_are_listed() {
    let Some(mut repository) = Repository::rocm() else { return };
    repository.add(Deb::new("libhipfft0", "7.2.4-1").library("libhipfft.so.0.1", "libhipfft.so.0", 1));
    repository.add(Deb::new("hipcc", "7.2.4-1"));
    repository.add(Deb::new("librocprim-dev", "7.2.4-1"));
    // Of another release, and without a dependency at present.
    repository.add(Deb::new("libamdhip64-6", "6.4.3-5").library("libamdhip64.so.6", "libamdhip64.so.6", 6));
    repository.add(Deb::new("libmiopen1", "6.4.3-1").needs("libamdhip64-6"));
    repository.add(Deb::new("librocrand1", "7.2.4-1").needs("libnowhere1"));
    repository.publish();
    let temporary = tempfile::tempdir().unwrap();
    let request = || repository.installer(temporary.path()).release("7.2").unwrap();
    let available = request().available(&mut Silent).unwrap();
    assert_eq!(available, ["hipcc", "hipfft", "rocblas", "rocprim"]);
    assert_eq!(names(temporary.path()), [".lock"], "the lists are gone");
    for name in available {
        request().with([name]).run(&mut Silent).unwrap();
    }

    #[cfg(feature = "cli")]
    {
        let temporary = tempfile::tempdir().unwrap();
        repository.installer(temporary.path()).release("7.2").unwrap().with(["hipfft"]).run(&mut Silent).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rocm-sdk"));
        command.args(["install", "7.2", "--list"]).env("ROCM_SDK_INSTALL_DIR", temporary.path());
        command.env("ROCM_SDK_DEBIAN_MIRROR", repository.archive().mirror);
        let output = command.env("ROCM_SDK_DEBIAN_KEYRING", repository.archive().keyring).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "hipcc\nhipfft\tinstalled\nrocblas\nrocprim\n", "{said}");
    }
}

#[test]
fn a_suite_that_has_moved_on_names_a_way_back() {
    let Some(mut repository) = Repository::new() else { return };
    repository.add(Deb::new("libamdhip64-7", "7.3.0-1"));
    repository.publish();
    let temporary = tempfile::tempdir().unwrap();
    let error = repository.installer(temporary.path()).release("7.2").unwrap().run(&mut Silent).unwrap_err();
    assert!(matches!(&error, Error::MovedOn { found: Some(found), .. } if found == "7.3.0-1"), "{error}");
    assert!(error.to_string().contains("snapshot.debian.org"), "{error}");
}

#[test]
fn of_two_versions_the_one_of_the_release_is_taken() {
    let Some(mut repository) = Repository::rocm() else { return };
    // The suites already contain the next release.
    repository.add(Deb::new("libamdhip64-7", "7.3.0-1").library("libamdhip64.so.7", "libamdhip64.so.7", 730));
    repository.add(Deb::new("libamdhip64-dev", "7.3.0-1").file("usr/include/hip/hip_runtime_api.h", "// 7.3\n"));
    repository.publish();
    let temporary = tempfile::tempdir().unwrap();
    let installed = repository.installer(temporary.path()).release("7.2").unwrap().run(&mut Silent).unwrap().installed;
    assert_eq!(installed.version(), Some("7.2.4"));
    let header = installed.folder().join("usr/include/hip/hip_runtime_api.h");
    assert_eq!(fs::read_to_string(header).unwrap(), "// HIP\n");

    // The old runtime still exists, but the headers are only those of the new one.
    let Some(mut repository) = Repository::new() else { return };
    repository.add(Deb::new("libamdhip64-7", "7.2.4-1"));
    repository.add(Deb::new("libamdhip64-dev", "8.0.0-1"));
    repository.publish();
    let temporary = tempfile::tempdir().unwrap();
    let error = repository.installer(temporary.path()).release("7.2").unwrap().run(&mut Silent).unwrap_err();
    let Error::MovedOn { package, found, suites, .. } = &error else { panic!("{error}") };
    assert_eq!((package.as_str(), found.as_deref()), ("libamdhip64-dev", Some("8.0.0-1")));
    assert_eq!(suites[..], ["sid", "experimental"]);
}

#[test]
fn dependencies_that_are_not_there_are_named() {
    let Some(mut repository) = Repository::rocm() else { return };
    repository.add(Deb::new("librocrand1", "7.2.4-1").needs("libnowhere1"));
    repository.publish();
    let temporary = tempfile::tempdir().unwrap();
    let request = repository.installer(temporary.path()).release("7.2").unwrap().with(["rocrand"]);
    let error = request.run(&mut Silent).unwrap_err();
    assert!(matches!(&error, Error::Dependencies { packages, .. } if packages[..] == ["librocrand1"]), "{error}");
}

#[test]
fn the_variables_name_the_mirror_and_its_keys() {
    const CHILD: &str = "ROCM_SDK_TEST_MIRROR_FOLDER";
    if let Some(folder) = std::env::var_os(CHILD) {
        let installer = rocm_sdk::install::Installer::new(Path::new(&folder));
        match installer.release("7.2").unwrap().run(&mut Silent) {
            Ok(done) => println!("CHILD: installed {}", done.installed.version().unwrap()),
            Err(error) => println!("CHILD: {error}"),
        }
        return;
    }
    let Some(mut repository) = Repository::rocm() else { return };
    let temporary = tempfile::tempdir().unwrap();
    let child = |repository: &Repository, name: &str, keys: &Path| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "whole::the_variables_name_the_mirror_and_its_keys", "--nocapture"])
            .env(CHILD, temporary.path().join(name))
            .env("ROCM_SDK_DEBIAN_MIRROR", repository.archive().mirror)
            .env("ROCM_SDK_DEBIAN_KEYRING", keys)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        said.split_once("CHILD: ").map(|(_, rest)| rest.to_owned()).unwrap_or(said)
    };
    let keys = repository.archive().keyring;
    assert!(child(&repository, "ours", &keys).starts_with("installed 7.2.4\n"));
    if let Ok(debians) = rocm_sdk::install::debian::Archive::of_this_machine() {
        let said = child(&repository, "untrusted", &debians.keyring);
        assert!(said.contains("cannot be trusted"), "{said}");
    }
    repository.add(Deb::new("libamdhip64-7", "7.2.9-1").library("libamdhip64.so.7", "libamdhip64.so.7", 729));
    repository.publish();
    assert!(child(&repository, "newer", &keys).starts_with("installed 7.2.9\n"));
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let Some(repository) = Repository::rocm() else { return };
    let temporary = tempfile::tempdir().unwrap();
    let thesis = temporary.path().join("7.2/thesis.tex");
    fs::create_dir(thesis.parent().unwrap()).unwrap();
    fs::write(&thesis, "years of work").unwrap();
    let installer = repository.installer(temporary.path());
    let error = installer.clone().release("7.2").unwrap().run(&mut Silent).unwrap_err().to_string();
    assert!(error.contains("move it away"), "{error}");
    for name in ["7.2", "..", "7.2/..", "/", ""] {
        assert!(matches!(installer.remove(name, &mut Silent), Err(Error::NotInstalled { .. })), "{name:?}");
    }
    assert_eq!(fs::read_to_string(thesis).unwrap(), "years of work");
}

#[test]
fn damage_is_told_with_what_to_do() {
    let Some(repository) = Repository::rocm() else { return };
    let temporary = tempfile::tempdir().unwrap();
    let request = repository.installer(temporary.path()).release("7.2").unwrap();
    let installed = request.run(&mut Silent).unwrap().installed;
    fs::write(installed.folder().join(".packages"), "not a list").unwrap();
    let error = request.run(&mut Silent).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }) && error.to_string().contains("install again"), "{error}");
    repository.installer(temporary.path()).remove("7.2", &mut Silent).unwrap();
    request.run(&mut Silent).unwrap();
}

#[test]
fn not_even_the_users_apt_and_tar_settings_lead_astray() {
    let Some(repository) = Repository::rocm() else { return };
    let temporary = tempfile::tempdir().unwrap();
    let run = || repository.installer(&temporary.path().join("rocm")).release("7.2").unwrap().run(&mut Silent);
    if std::env::var_os("ROCM_SDK_TEST_ENVIRONMENT").is_some() {
        run().unwrap();
        println!("CHILD: installed");
        return;
    }
    let config = temporary.path().join("apt.conf");
    fs::write(&config, "Acquire::AllowInsecureRepositories \"true\";\nDir::Cache::archives \"/nonexistent\";\n")
        .unwrap();
    let test = "whole::not_even_the_users_apt_and_tar_settings_lead_astray";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("ROCM_SDK_TEST_ENVIRONMENT", "1")
        .env("APT_CONFIG", &config)
        .env("TAR_OPTIONS", "--transform=s,usr,../../usr,")
        .env("LANG", "de_DE.UTF-8")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("CHILD: installed"), "{said}");
}

#[test]
fn a_machine_that_cannot_is_told_why_and_what_to_do() {
    const CHILD: &str = "ROCM_SDK_TEST_BARE";
    let run = |folder: &Path| rocm_sdk::install::Installer::new(folder).release("7.2").unwrap().run(&mut Silent);
    if std::env::var_os(CHILD).is_some() {
        let temporary = tempfile::tempdir().unwrap();
        let error = run(&temporary.path().join("rocm")).unwrap_err();
        println!("CHILD: {error}");
        assert!(names(temporary.path()).is_empty(), "nothing is created in vain");
        return;
    }
    let child = |variable: &str, value: &str| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "whole::a_machine_that_cannot_is_told_why_and_what_to_do", "--nocapture"])
            .env(CHILD, "1")
            .env(variable, value)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        said.lines().find_map(|line| line.strip_prefix("CHILD: ")).unwrap().to_owned()
    };
    let said = child("PATH", "/nonexistent");
    assert!(said.contains("apt-get is not on this machine; install the package apt"), "{said}");
    if rocm_sdk::install::debian::usable().is_ok() {
        let said = child("ROCM_SDK_DEBIAN_KEYRING", "/nonexistent/keys.gpg");
        assert!(said.contains("/nonexistent/keys.gpg: no such file (ROCM_SDK_DEBIAN_KEYRING)"), "{said}");
        let said = child("ROCM_SDK_DEBIAN_MIRROR", "debian");
        assert!(said.contains("\"debian\": not the URI") && said.contains("ROCM_SDK_DEBIAN_MIRROR"), "{said}");
    }
}

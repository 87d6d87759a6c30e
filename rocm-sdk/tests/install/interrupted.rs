//! Interrupted installations, and several at once.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use rocm_sdk::install::{Error, Event, Plan, Progress, Silent};
use rocm_sdk::{Reason, Search, libraries};

use crate::http::Server;
use crate::repository::{Deb, Repository};
use crate::{apart, names};

/// Ends the process, like a kill, during the step whose name begins with this.
struct Killed<'a> {
    at: &'a str,
    there: bool,
}

impl Progress for Killed<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Begin { what, .. } => self.there = what.starts_with(self.at),
            Event::Advance(_) if self.there => std::process::abort(),
            Event::End if self.there => std::process::abort(),
            _ => {}
        }
    }
}

/// Stores the announced plan.
#[derive(Default)]
struct Announced(Option<Plan>);

impl Progress for Announced {
    fn event(&mut self, _: Event<'_>) {}
    fn approve(&mut self, plan: &Plan) -> bool {
        self.0 = Some(plan.clone());
        true
    }
}

const STEPS: [&str; 4] = ["Updating", "Downloading", "Verifying", "Unpacking"];

#[test]
fn a_killed_run_leaves_nothing_half_done_and_the_next_one_goes_on() {
    const FOLDER: &str = "ROCM_SDK_TEST_FOLDER";
    if let Some(folder) = std::env::var_os(FOLDER) {
        let at = std::env::var("ROCM_SDK_TEST_STEP").unwrap();
        let archive = std::env::var("ROCM_SDK_TEST_ARCHIVE").unwrap();
        let (mirror, keyring) = archive.split_once('|').unwrap();
        let archive = rocm_sdk::install::debian::Archive { mirror: mirror.into(), keyring: keyring.into() };
        let installer = rocm_sdk::install::Installer::new(folder).archive(archive);
        let request = installer.release("7.2").unwrap().with(["rocblas"]);
        let _ = request.run(&mut Killed { at: &at, there: false });
        return;
    }
    let Some(mut repository) = Repository::rocm() else { return };
    let temporary = tempfile::tempdir().unwrap();
    let kill = |repository: &Repository, folder: &Path, step: &str| {
        let archive = repository.archive();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "interrupted::a_killed_run_leaves_nothing_half_done_and_the_next_one_goes_on"])
            .env(FOLDER, folder)
            .env("ROCM_SDK_TEST_STEP", step)
            .env("ROCM_SDK_TEST_ARCHIVE", format!("{}|{}", archive.mirror, archive.keyring.display()))
            .output()
            .unwrap()
            .status;
        assert!(!status.success(), "it was not killed at {step}");
    };

    // A new installation.
    let folder = temporary.path().join("fresh");
    for step in STEPS {
        kill(&repository, &folder, step);
        assert!(repository.installer(&folder).installed().unwrap().is_empty(), "{step}");
        assert!(names(&folder).iter().all(|name| name.starts_with('.')), "{step}: {:?}", names(&folder));
        let variable = folder.clone().into_os_string();
        let search = Search::nowhere().environment(move |n| (n == "ROCM_SDK_INSTALL_DIR").then(|| variable.clone()));
        let report = search.report(&libraries::AMDHIP64);
        assert_eq!(report.attempts()[0].failure, Some(Reason::NotThere), "{step}: {report}");
    }
    let mut announced = Announced::default();
    repository.installer(&folder).release("7.2").unwrap().with(["rocblas"]).run(&mut announced).unwrap();
    assert_eq!(announced.0.unwrap().download, 0, "all was downloaded by then");
    assert_eq!(names(&folder), [".lock", "7.2"]);

    // A user who gives up can remove all of it.
    let folder = temporary.path().join("given up");
    for step in [STEPS[1], STEPS[3]] {
        kill(&repository, &folder, step);
        assert!(names(&folder).len() > 1);
        let removed = repository.installer(&folder).remove("7.2", &mut Silent).unwrap();
        assert_eq!((removed.release(), removed.version()), ("7.2", None));
        assert_eq!(names(&folder), [".lock"], "{step}");
        assert!(repository.installer(&folder).remove("7.2", &mut Silent).is_err());
    }

    // An addition to an existing installation, which stays unchanged.
    let folder = temporary.path().join("more");
    let first = repository.installer(&folder).release("7.2").unwrap().run(&mut Silent).unwrap().installed;
    repository.add(Deb::new("libamdhip64-7", "7.2.5-1").library("libamdhip64.so.7", "libamdhip64.so.7", 725));
    repository.publish();
    for step in STEPS {
        kill(&repository, &folder, step);
        assert_eq!(repository.installer(&folder).installed().unwrap(), std::slice::from_ref(&first), "{step}");
        assert!(first.folder().join("usr/lib/x86_64-linux-gnu/libamdhip64.so.7.2.53211").exists(), "{step}");
    }
    let done = repository.installer(&folder).release("7.2").unwrap().with(["rocblas"]).run(&mut Silent).unwrap();
    assert_eq!(done.installed.libraries().collect::<Vec<_>>(), ["rocblas"]);
    assert_eq!(names(&folder), [".lock", "7.2"]);
}

#[test]
fn a_download_that_failed_goes_on_where_it_stopped() {
    let Some(repository) = Repository::rocm() else { return };
    let folder = tempfile::tempdir().unwrap();
    let request = repository.installer(folder.path()).release("7.2").unwrap().with(["rocblas"]);
    let (file, aside) = (repository.file("librocblas5"), folder.path().join("aside"));
    fs::rename(&file, &aside).unwrap();
    let error = request.run(&mut Silent).unwrap_err().to_string();
    assert!(error.contains("run the command again"), "{error}");
    fs::rename(&aside, &file).unwrap();
    let mut announced = Announced::default();
    let done = request.run(&mut announced).unwrap();
    let plan = announced.0.unwrap();
    assert_eq!((plan.packages.len(), done.added.len()), (4, 4));
    // The headers are downloaded separately, and had not been started.
    let missing = ["librocblas5", "libamdhip64-dev"].map(|name| fs::metadata(repository.file(name)).unwrap().len());
    assert_eq!(plan.download, missing.iter().sum::<u64>());
}

#[test]
fn a_file_of_which_half_has_come_is_not_fetched_from_its_beginning() {
    if apart("interrupted::a_file_of_which_half_has_come_is_not_fetched_from_its_beginning") {
        return;
    }
    let Some(mut repository) = Repository::rocm() else { return };
    let large: Vec<u8> = (0..1_u32 << 20).flat_map(u32::to_le_bytes).collect();
    repository.add(Deb::new("librocrand1", "7.2.4-1").needs("libamdhip64-7").file("usr/share/large", &large));
    repository.publish();
    let file = repository.file("librocrand1");
    let size = fs::metadata(&file).unwrap().len();
    let server = Server::new(repository.folder().to_owned(), file.file_name().unwrap().to_str().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let archive = rocm_sdk::install::debian::Archive { mirror: server.uri(), ..repository.archive() };
    let installer = rocm_sdk::install::Installer::new(folder.path()).archive(archive);
    let request = installer.release("7.2").unwrap().with(["rocrand"]);
    let error = request.run(&mut Silent).unwrap_err().to_string();
    assert!(error.contains("run the command again"), "{error}");
    assert_eq!(server.asked()[0], 0);

    server.mend();
    let before = server.asked().len();
    let mut announced = Announced::default();
    let installed = request.run(&mut announced).unwrap().installed;
    assert_eq!(server.asked()[before..], [size / 2]);
    let rest = size - size / 2;
    let download = announced.0.unwrap().download;
    assert!(download >= rest && download < rest + 100_000, "{download} of {rest} and some small ones");
    assert_eq!(fs::read(installed.folder().join("usr/share/large")).unwrap(), large);
}

#[test]
fn two_at_once_wait_for_each_other() {
    let Some(repository) = Repository::rocm() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (barrier, waited) = (Barrier::new(3), AtomicUsize::new(0));
    let added: Vec<usize> = std::thread::scope(|scope| {
        let run = || {
            barrier.wait();
            let mut progress = |event: Event<'_>| {
                if let Event::Waiting(at) = event {
                    assert_eq!(at, folder.path());
                    waited.fetch_add(1, Ordering::Relaxed);
                }
            };
            let request = repository.installer(folder.path()).release("7.2").unwrap();
            request.run(&mut progress).unwrap().added.len()
        };
        let threads = [(); 3].map(|()| scope.spawn(run));
        threads.map(|thread| thread.join().unwrap()).into()
    });
    assert_eq!(added.iter().sum::<usize>(), 3, "one of them did it: {added:?}");
    assert!(waited.into_inner() >= 1, "the others waited");
    assert_eq!(repository.installer(folder.path()).installed().unwrap().len(), 1);
}

/// The programs that write report a full disk: here, substitutes of them do.
#[test]
fn a_disk_that_becomes_full_is_said_so() {
    const FOLDER: &str = "ROCM_SDK_TEST_FOLDER";
    if let Some(folder) = std::env::var_os(FOLDER) {
        let Some(repository) = Repository::rocm() else { return };
        let error = repository.installer(Path::new(&folder)).release("7.2").unwrap().run(&mut Silent).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Full { .. }), "{text}");
        assert!(text.contains(" is full: free some space") && text.contains("No space left on device"), "{text}");
        assert!(!text.contains("network") && !text.contains("rejected"), "{text}");
        // What was half unpacked is gone.
        assert_eq!(names(Path::new(&folder)), [".apt", ".lock"]);
        return;
    }
    if Repository::rocm().is_none() {
        return;
    }
    for (program, argument, said) in [
        (
            "apt-get",
            "update",
            "W: GPG error: http://m sid InRelease: no signatures\nE: Write error - write (28: No space left on device)",
        ),
        ("dpkg-deb", "-x", "tar: ./usr/lib/x: Cannot write: No space left on device"),
    ] {
        let temporary = tempfile::tempdir().unwrap();
        let real = rocm_sdk::install::command::find(program).unwrap();
        let script = format!(
            "#!/bin/sh\ncase \" $* \" in *\" {argument} \"*) [ {program} = apt-get ] || mkdir -p \"$3\"; echo '{said}' >&2; exit 100;; esac\nexec {} \"$@\"\n",
            real.display()
        );
        let text = temporary.path().join("text");
        fs::write(&text, script).unwrap();
        // Copied by another process: a file that this one has open for writing cannot be started.
        let bin = temporary.path().join("bin");
        let copied = Command::new("install").args(["-D", "-m", "755"]).arg(&text).arg(bin.join(program)).status();
        assert!(copied.unwrap().success());
        let path =
            std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())));
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "interrupted::a_disk_that_becomes_full_is_said_so", "--nocapture"])
            .env(FOLDER, temporary.path().join("own"))
            .env("PATH", path.unwrap())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{program}: {said}");
    }
}

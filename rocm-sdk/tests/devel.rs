//! Expanding the devel wheel: the result, and that it is complete or absent whatever happens in between.
#![cfg(all(feature = "devel", target_os = "linux"))]

#[path = "../../rocm-loader/tests/support/mod.rs"]
mod support;
mod wheels;

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use rocm_sdk::Search;
use rocm_sdk::devel::{Devel, Error, Step};
use wheels::{Archive, PACKAGE, Site, left_over, snapshot};

const CHILD: &str = "ROCM_SDK_DEVEL_CHILD";

/// Checks the tree of [`Archive::good`].
#[track_caller]
fn check_good(site: &Site) {
    let kind = |path: &str| site.kind(&format!("{PACKAGE}/{path}"));
    for (path, wanted) in [
        ("__init__.py", "file"),
        ("llvm", "lib/llvm"),
        ("share", "directory"),
        ("bin/tool", "file"),
        ("bin/amdclang", "../lib/llvm/bin/amdclang"),
        ("bin/hipcc", "hard link"),
        ("lib/libamdhip64.so", "hard link"),
        ("lib/libamdhip64.so.7", "hard link"),
        ("lib/librocblas.so.5", "../../_rocm_sdk_libraries_gfx94X_dcgpu/lib/librocblas.so.5"),
        ("lib/llvm/bin/clang-22", "hard link"),
        ("lib/llvm/bin/clang", "hard link"),
        ("lib/llvm/bin/clang++", "hard link"),
        ("lib/llvm/bin/amdclang", "hard link"),
    ] {
        assert_eq!(kind(path), wanted, "{path}");
    }
    for (a, b) in [
        ("_rocm_sdk_devel/lib/libamdhip64.so", "_rocm_sdk_core/lib/libamdhip64.so.7"),
        ("_rocm_sdk_devel/lib/libamdhip64.so.7", "_rocm_sdk_core/lib/libamdhip64.so.7"),
        ("_rocm_sdk_devel/lib/llvm/bin/clang++", "_rocm_sdk_devel/lib/llvm/bin/clang-22"),
        ("_rocm_sdk_devel/bin/amdclang", "_rocm_sdk_core/lib/llvm/bin/amdclang"),
        ("_rocm_sdk_devel/llvm/bin/clang", "_rocm_sdk_devel/lib/llvm/bin/clang-22"),
    ] {
        assert!(site.same(a, b), "{a} is not {b}");
    }
    assert_eq!(site.read("_rocm_sdk_devel/include/hip/hip_runtime.h"), "#pragma once\n");
    assert_eq!(fs::read(site.path("_rocm_sdk_devel/lib/libstatic.a")).unwrap(), vec![7; 700_000]);
    let mode = |path: &str| fs::metadata(site.path(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("_rocm_sdk_devel/bin/tool") & 0o6111, 0o111, "executable, and set-uid for nobody");
    assert_eq!(mode("_rocm_sdk_devel/lib/libstatic.a") & 0o7111, 0);
    assert_eq!(fs::metadata(site.path("_rocm_sdk_devel/lib/libstatic.a")).unwrap().mtime(), 1_700_000_000);

    let record = site.record();
    assert!(record.starts_with("rocm_sdk_devel/__init__.py,sha256=abc,1\n"), "{record}");
    for row in [
        "_rocm_sdk_devel/bin/amdclang,,",
        "_rocm_sdk_devel/lib/libamdhip64.so,,",
        "_rocm_sdk_devel/lib/librocblas.so.5,,",
        "_rocm_sdk_devel/llvm,,",
        "_rocm_sdk_devel/__init__.py,,",
        "\"_rocm_sdk_devel/share/comma, quote\"\"d.txt\",,",
    ] {
        assert_eq!(record.lines().filter(|line| *line == row).count(), 1, "{row} in\n{record}");
    }
    assert_eq!(record.lines().count(), 3 + 15, "{record}");
    assert_eq!(left_over(site), [""; 0]);
    assert_eq!(fs::read_dir(site.path("rocm_sdk_devel-7.10.0.dist-info")).unwrap().count(), 2);
    assert_eq!(site.find().archive(), None);
    assert_eq!(site.find().root().unwrap(), site.path(PACKAGE));
}

#[test]
fn both_archives_become_the_tree() {
    for xz in [false, true] {
        let site = Site::with(&Archive::good(), xz);
        let devel = site.find();
        assert!(matches!(devel.root(), Err(Error::NotExpanded { .. })));
        assert_eq!(devel.version().as_deref(), Some("7.10.0"));
        let size = fs::metadata(devel.archive().unwrap()).unwrap().len();
        let mut seen = Vec::new();
        let expansion = devel.expand(&mut |progress| seen.push(progress)).unwrap();
        check_good(&site);

        assert_eq!(expansion.root, site.path(PACKAGE));
        assert!(expansion.unpacked);
        assert_eq!((expansion.files, expansion.hard_links, expansion.symlinks), (6, 6, 3));
        assert_eq!(expansion.dangling, [Path::new("_rocm_sdk_devel/lib/librocblas.so.5")]);

        let unpacking: Vec<_> = seen.iter().filter(|p| p.step == Step::Unpacking).collect();
        assert!(unpacking.iter().all(|p| p.total == size && p.done <= size) && unpacking.last().unwrap().done > 0);
        assert!(unpacking.is_sorted_by_key(|p| p.done));
        assert!(seen.iter().any(|p| p.step == Step::Linking && p.done == 9 && p.total == 9));
        assert_eq!(seen.last().unwrap().step, Step::Recording);

        // A second run has nothing to do, and changes nothing.
        let before = site.snapshot();
        let again = devel.expand(&mut |progress| panic!("{progress:?}")).unwrap();
        assert!(!again.unpacked && again.root == expansion.root && again.files == 0);
        assert_eq!(site.snapshot(), before);
    }
}

/// Archives that Python's `tarfile` and `xz` write, called as in TheRock's packaging.
#[test]
fn archives_that_python_made_are_read() {
    let script = r#"
import os, sys, tarfile
tree = sys.argv[1]
os.makedirs(f"{tree}/_rocm_sdk_devel_nonce/lib/" + "deep/" * 40)
open(f"{tree}/_rocm_sdk_devel_nonce/__init__.py", "w").close()
name = "lib/" + "deep/" * 40 + "äöü.h"
with open(f"{tree}/_rocm_sdk_devel_nonce/{name}", "w") as f: f.write("text\n" * 100000)
os.utime(f"{tree}/_rocm_sdk_devel_nonce/{name}", (1.5, 1234567890.25))
os.symlink(name, f"{tree}/_rocm_sdk_devel_nonce/alias.h")
os.link(f"{tree}/_rocm_sdk_devel_nonce/{name}", f"{tree}/_rocm_sdk_devel_nonce/same.h")
os.symlink("lib", f"{tree}/_rocm_sdk_devel_nonce/lib64")
with tarfile.open(sys.argv[2], mode=sys.argv[3]) as tf:
    for root, dirs, files in os.walk(f"{tree}/_rocm_sdk_devel_nonce"):
        for file in files + dirs:
            path = os.path.join(root, file)
            tf.add(path, arcname=os.path.relpath(path, tree), recursive=False)
"#;
    for (mode, file) in [("w:xz", "_devel.tar.xz"), ("w", "_devel.tar")] {
        let site = Site::new();
        site.devel(b"", false);
        fs::remove_file(site.path("rocm_sdk_devel/_devel.tar")).unwrap();
        let tree = tempfile::tempdir().unwrap();
        let mut command = Command::new("python3");
        command.args(["-c", script]).arg(tree.path()).arg(site.path("rocm_sdk_devel").join(file)).arg(mode);
        match command.output() {
            Ok(output) if output.status.success() => {}
            other => {
                let _ = writeln!(io::stdout(), "SKIPPED: no python3 with lzma: {other:?}");
                return;
            }
        }
        let expansion = site.expand().unwrap();
        assert_eq!(expansion.root, site.path("_rocm_sdk_devel_nonce"));
        assert_eq!((expansion.files, expansion.hard_links, expansion.symlinks), (2, 2, 1));
        let deep = format!("_rocm_sdk_devel_nonce/lib/{}äöü.h", "deep/".repeat(40));
        assert_eq!(site.read(&deep), "text\n".repeat(100_000));
        assert_eq!(fs::metadata(site.path(&deep)).unwrap().mtime(), 1_234_567_890);
        assert!(site.same(&deep, "_rocm_sdk_devel_nonce/alias.h") && site.same(&deep, "_rocm_sdk_devel_nonce/same.h"));
        assert_eq!(site.kind("_rocm_sdk_devel_nonce/lib64"), "lib");
        assert!(site.record().contains(&format!("{deep},,\n")));
    }
}

#[test]
fn the_wheel_is_found_by_the_search() {
    let site = Site::with(&Archive::good(), false);
    let environment = site.outside().to_owned();
    let search = Search::nowhere()
        .environment(move |name| (name == "VIRTUAL_ENV").then(|| environment.clone().into_os_string()));
    assert_eq!(Devel::find(&search).unwrap().site_packages(), site.path(""));
    let root = Search::nowhere().root("/opt/rocm").root(site.path("_rocm_sdk_core"));
    assert_eq!(Devel::find(&root).unwrap(), site.find());

    let without = Site::new();
    let error = Devel::find(&Search::nowhere().root(without.path("_rocm_sdk_core"))).unwrap_err();
    assert!(matches!(&error, Error::NotInstalled { looked_in } if *looked_in == [without.path("")]), "{error}");
    assert!(error.to_string().contains("pip install rocm[devel]"), "{error}");
    assert!(Devel::find(&Search::nowhere()).unwrap_err().to_string().contains("VIRTUAL_ENV"));
    assert!(matches!(Devel::at(without.path("")), Err(Error::NotInstalled { .. })));
}

#[test]
fn what_the_wheel_lacks_is_told() {
    // Neither archive nor tree.
    let site = Site::with(&Archive::good(), false);
    fs::remove_file(site.path("rocm_sdk_devel/_devel.tar")).unwrap();
    for error in [site.expand().unwrap_err(), site.find().root().unwrap_err()] {
        assert!(matches!(error, Error::Incomplete { .. }), "{error}");
    }

    // Without a RECORD it could never be uninstalled.
    let site = Site::with(&Archive::good(), false);
    fs::remove_file(site.path("rocm_sdk_devel-7.10.0.dist-info/RECORD")).unwrap();
    let before = site.snapshot();
    let error = site.expand().unwrap_err();
    assert!(matches!(error, Error::NoRecord { .. }) && error.to_string().contains("virtual environment"), "{error}");
    assert_eq!(site.snapshot(), before);

    // The rest of an earlier version has no RECORD and is skipped.
    let site = Site::with(&Archive::good(), false);
    site.write("rocm_sdk_devel-7.9.0.dist-info/METADATA", "Name: rocm-sdk-devel\nVersion: 7.9.0\n");
    site.expand().unwrap();
    check_good(&site);
    assert_eq!(site.find().version().as_deref(), Some("7.10.0"));

    // An archive that is not a package.
    let site = Site::with(&Archive::default().file("lib/x", "x"), true);
    let before = site.snapshot();
    let error = site.expand().unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }) && error.to_string().contains("__init__.py"), "{error}");
    assert_eq!(site.snapshot(), before);
}

#[test]
fn an_older_tree_is_replaced_whole() {
    let site = Site::with(&Archive::good(), false);
    site.write("_rocm_sdk_devel/__init__.py", "old");
    site.write("_rocm_sdk_devel/include/hip/gone.h", "of the release before");
    std::os::unix::fs::symlink("nowhere", site.path("_rocm_sdk_devel/lib")).unwrap();
    site.expand().unwrap();
    check_good(&site);
    assert!(!site.path("_rocm_sdk_devel/include/hip/gone.h").exists());

    // A link or a file in its place is removed; the link's target stays.
    for link in [true, false] {
        let site = Site::with(&Archive::good(), false);
        if link {
            std::os::unix::fs::symlink("pip", site.path(PACKAGE)).unwrap();
        } else {
            site.write(PACKAGE, "");
        }
        site.expand().unwrap();
        check_good(&site);
        assert_eq!(site.read("pip/__init__.py"), "not ours");
    }
}

/// In each test below the program runs itself again; that process is killed in the middle of its work.
fn child(test: &str, site: &Site, task: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(CHILD, task).env("SITE", site.path(""));
    command
}

#[test]
fn a_run_killed_anywhere_leaves_nothing_half_and_the_next_one_finishes() {
    const TEST: &str = "a_run_killed_anywhere_leaves_nothing_half_and_the_next_one_finishes";
    if let Ok(after) = std::env::var(CHILD) {
        let mut left: u32 = after.parse().unwrap();
        let devel = Devel::at(std::env::var_os("SITE").unwrap()).unwrap();
        let done = devel.expand(&mut |_| {
            left -= 1;
            if left == 0 {
                // SAFETY: it ends this process immediately, without clean-up.
                unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            }
        });
        println!("CHILD: done {}", done.is_ok());
        return;
    }
    let mut kills = 0;
    for after in 1.. {
        let site = Site::with(&Archive::good(), after % 2 == 0);
        site.write("_rocm_sdk_devel/__init__.py", "old");
        let output = child(TEST, &site, &after.to_string()).output().unwrap();
        if output.status.success() {
            assert!(String::from_utf8_lossy(&output.stdout).contains("CHILD: done true"));
            check_good(&site);
            break;
        }
        kills += 1;
        assert!(matches!(site.find().root(), Err(Error::NotExpanded { .. })), "after {after}");
        assert_eq!(site.read("_rocm_sdk_devel/__init__.py"), "old");
        site.expand().unwrap();
        check_good(&site);
    }
    assert!(kills > 20, "{kills}");
}

/// Counts the calls that change files; at one of them it ends the process or makes the call fail.
const FAULTS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

static int fault(void) {
    static long count;
    const char *at = getenv("FAULT_AT");
    if (!at || ++count != atol(at))
        return 0;
    creat(getenv("FAULT_LOG"), 0600);
    if (atoi(getenv("FAULT_ERRNO")) == 0)
        kill(getpid(), SIGKILL);
    errno = atoi(getenv("FAULT_ERRNO"));
    return 1;
}

#define WRAP(type, name, parameters, arguments, when) \
    type name parameters { \
        static type (*real) parameters; \
        if (!real) \
            real = (type (*) parameters)dlsym(RTLD_NEXT, #name); \
        return (when) && fault() ? -1 : real arguments; \
    }
WRAP(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size), fd > 2)
WRAP(int, rename, (const char *a, const char *b), (a, b), 1)
WRAP(int, link, (const char *a, const char *b), (a, b), 1)
WRAP(int, linkat, (int i, const char *a, int j, const char *b, int flags), (i, a, j, b, flags), 1)
WRAP(int, symlink, (const char *a, const char *b), (a, b), 1)
WRAP(int, mkdir, (const char *a, mode_t mode), (a, mode), 1)
WRAP(int, unlink, (const char *a), (a), 1)
WRAP(int, unlinkat, (int fd, const char *a, int flags), (fd, a, flags), 1)
WRAP(int, fsync, (int fd), (fd), 1)
#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        static int (*real)(const char *, int, ...); \
        if (!real) \
            real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
        va_list more; \
        va_start(more, flags); \
        int mode = va_arg(more, int); \
        va_end(more); \
        return (flags & (O_CREAT | O_APPEND)) && fault() ? -1 : real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
"#;

/// Every system call that changes something, from the first to the last: killed there, and failing there.
#[test]
fn a_fault_at_any_call_leaves_nothing_half_and_the_next_run_finishes() {
    const TEST: &str = "a_fault_at_any_call_leaves_nothing_half_and_the_next_run_finishes";
    if std::env::var_os(CHILD).is_some() {
        let done = Devel::at(std::env::var_os("SITE").unwrap()).unwrap().expand(&mut |_| {});
        println!("CHILD: {}", done.map_or_else(|error| error.to_string(), |_| "done".to_owned()));
        return;
    }
    let tools = support::Tree::new();
    let shim = tools.library_with("faults.so", "", FAULTS, &["-ldl"]);
    let log = tools.path("log");
    for errno in [0, libc::ENOSPC, libc::EROFS] {
        let mut faults = 0;
        for at in 1..10_000 {
            let site = Site::with(&Archive::good(), at % 2 == 0);
            site.write("_rocm_sdk_devel/__init__.py", "old");
            device_wheel(&site, "gfx942", "7.10.0", &device_link("gfx942"));
            let _ = fs::remove_file(&log);
            let mut command = child(TEST, &site, "1");
            command.env("LD_PRELOAD", &shim).env("FAULT_LOG", &log);
            let output =
                command.env("FAULT_AT", at.to_string()).env("FAULT_ERRNO", errno.to_string()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            let line = said.lines().find(|line| line.starts_with("CHILD:")).unwrap_or_default();
            if !log.exists() {
                assert_eq!(line, "CHILD: done");
                break;
            }
            faults += 1;
            // Some failures are harmless: those of the clean-up.
            assert_eq!(output.status.success(), errno != 0, "{at}: {said}");
            match site.find().root() {
                // It is unpacked. A file of a device wheel may not be linked, or nothing is missing.
                Ok(_) => check_good(&site),
                Err(Error::NotExpanded { .. }) => assert!(line.contains("cannot ") || errno == 0, "{at}: {said}"),
                Err(other) => panic!("{at}: {other}"),
            }
            if line == "CHILD: done" {
                check_good(&site);
            } else if errno == libc::ENOSPC {
                assert!(line.contains("free some space"), "{at}: {said}");
            }
            site.expand().unwrap_or_else(|e| panic!("{at}: {e}"));
            check_good(&site);
            let file = "lib/kernels/gfx942.co";
            assert!(site.same(&format!("{PACKAGE}/{file}"), &format!("_rocm_sdk_libraries/{file}")));
        }
        assert!(faults > 45, "{faults} faults with errno {errno}");
    }
}

/// States that no callback can reach, made by hand.
#[test]
fn what_a_killed_run_leaves_between_its_last_steps_is_mended() {
    // Recorded, but not in place.
    let site = Site::with(&Archive::good(), true);
    let wanted = {
        let other = Site::with(&Archive::good(), true);
        other.expand().unwrap();
        other.record()
    };
    site.write("rocm_sdk_devel-7.10.0.dist-info/RECORD", wanted);
    site.write(".rocm_sdk_devel.partial/lib/half", "half a file");
    site.write("rocm_sdk_devel-7.10.0.dist-info/RECORD.rocm-sdk", "half a list");
    site.expand().unwrap();
    check_good(&site);

    // The old tree moved away, the new one not yet in place; then in place, with the archive still there.
    let archive = fs::read(Site::with(&Archive::good(), false).path("rocm_sdk_devel/_devel.tar")).unwrap();
    site.write("rocm_sdk_devel/_devel.tar", archive);
    fs::rename(site.path(PACKAGE), site.path(".rocm_sdk_devel.replaced")).unwrap();
    site.expand().unwrap();
    check_good(&site);
    site.devel(&Archive::good().bytes(), false);
    site.expand().unwrap();
    check_good(&site);
}

#[test]
fn concurrent_runs_wait_and_one_of_them_does_it() {
    const TEST: &str = "concurrent_runs_wait_and_one_of_them_does_it";
    if std::env::var_os(CHILD).is_some() {
        let expansion = Devel::at(std::env::var_os("SITE").unwrap()).unwrap().expand(&mut |_| {}).unwrap();
        println!("CHILD: unpacked {}", expansion.unpacked);
        return;
    }
    let site = Site::with(&Archive::good().file("lib/big.a", vec![1; 20_000_000]), true);
    let children: Vec<_> =
        (0..4).map(|_| child(TEST, &site, "1").stdout(std::process::Stdio::piped()).spawn().unwrap()).collect();
    let devel = site.find();
    let mine: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| devel.expand(&mut |_| {}).unwrap().unpacked)).collect();
        threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
    });
    let theirs: usize = children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success());
            String::from_utf8_lossy(&output.stdout).matches("CHILD: unpacked true").count()
        })
        .sum();
    assert_eq!(mine + theirs, 1);
    assert_eq!(fs::metadata(site.path("_rocm_sdk_devel/lib/big.a")).unwrap().len(), 20_000_000);
    assert_eq!(site.record().lines().filter(|row| row.contains("big.a")).count(), 1);
    assert_eq!(left_over(&site), [""; 0]);
}

/// TheRock's Python takes a record lock on RECORD: this crate waits for it.
#[test]
fn python_holding_the_lock_is_waited_for() {
    let site = Site::with(&Archive::good(), false);
    let script = "import fcntl, sys\n\
        f = open(sys.argv[1], 'at'); fcntl.lockf(f, fcntl.LOCK_EX); print('locked', flush=True); sys.stdin.readline()";
    let mut command = Command::new("python3");
    command.args(["-c", script]).arg(site.path("rocm_sdk_devel-7.10.0.dist-info/RECORD"));
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let Ok(mut python) = command.spawn() else {
        let _ = writeln!(io::stdout(), "SKIPPED: no python3");
        return;
    };
    let mut line = String::new();
    io::BufRead::read_line(&mut io::BufReader::new(python.stdout.take().unwrap()), &mut line).unwrap();
    assert_eq!(line, "locked\n");
    let (sender, steps) = mpsc::channel();
    let devel = site.find();
    let expansion = std::thread::spawn(move || devel.expand(&mut |progress| sender.send(progress.step).unwrap()));
    assert_eq!(steps.recv(), Ok(Step::Waiting));
    // True at any time until Python releases the lock. The pause makes it more likely to detect code that does not wait.
    assert_eq!(steps.recv_timeout(Duration::from_millis(200)), Err(mpsc::RecvTimeoutError::Timeout));
    python.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(expansion.join().unwrap().unwrap().unpacked);
    assert!(python.wait().unwrap().success());
    check_good(&site);
}

/// Runs in a thread to which the file system gives the rights of nobody.
fn as_nobody<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: it changes the file access rights of this thread, which ends here.
            unsafe { libc::setfsuid(65_534) };
            work()
        });
        thread.join().unwrap()
    })
}

#[test]
fn a_directory_that_cannot_be_written_is_told() {
    let open = |site: &Site| {
        // Only its owner may enter the temporary directory itself.
        fs::set_permissions(site.outside(), fs::Permissions::from_mode(0o755)).unwrap();
    };
    // Neither the RECORD nor the directory is writable; then only the directory is not.
    for record_too in [true, false] {
        let site = Site::with(&Archive::good(), false);
        open(&site);
        let record = site.path("rocm_sdk_devel-7.10.0.dist-info/RECORD");
        fs::set_permissions(&record, fs::Permissions::from_mode(if record_too { 0o444 } else { 0o666 })).unwrap();
        fs::set_permissions(site.path(""), fs::Permissions::from_mode(0o555)).unwrap();
        let before = site.snapshot();
        let error = as_nobody(|| site.expand()).unwrap_err();
        let Error::Io { path, error: cause, .. } = &error else { panic!("{error}") };
        assert_eq!(cause.kind(), io::ErrorKind::PermissionDenied);
        assert!(path.starts_with(site.path("")) && error.to_string().contains("that you can write to"), "{error}");
        assert_eq!(site.snapshot(), before);
        fs::set_permissions(site.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    }
    // An expanded tree is also found by users who may only read it.
    let site = Site::with(&Archive::good(), false);
    site.expand().unwrap();
    open(&site);
    let found = as_nobody(|| site.expand()).unwrap();
    assert!(!found.unpacked && found.root == site.path(PACKAGE));
}

/// Mounts a file system of this size at a directory, in a process with private mounts; `false` if that is not allowed
/// here.
fn mount_small(directory: &Path, options: &std::ffi::CStr) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    let directory = std::ffi::CString::new(directory.as_os_str().as_bytes()).unwrap();
    let none = std::ptr::null();
    // SAFETY: the strings are NUL-terminated; the first two calls separate this process's mounts from those of others.
    unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) == 0
            && libc::mount(c"tmpfs".as_ptr(), directory.as_ptr(), c"tmpfs".as_ptr(), 0, options.as_ptr().cast()) == 0
    }
}

#[test]
fn a_full_disk_leaves_nothing() {
    const TEST: &str = "a_full_disk_leaves_nothing";
    if std::env::var_os(CHILD).is_some() {
        let small = std::env::var_os("SITE").map(std::path::PathBuf::from).unwrap().join("small");
        // Space for the wheel, the archive and half of the tree; then too few inodes for its files.
        for options in [c"size=2m", c"size=20m,nr_inodes=30"] {
            fs::create_dir_all(&small).unwrap();
            if !mount_small(&small, options) {
                println!("CHILD: no mount: {}", io::Error::last_os_error());
                return;
            }
            let copied = Command::new("cp").arg("-a").arg(small.with_file_name("whole")).arg(&small).status().unwrap();
            assert!(copied.success());
            let devel = Devel::at(small.join("whole")).unwrap();
            let before = snapshot(&small);
            let error = devel.expand(&mut |_| {}).unwrap_err();
            let Error::Io { error: cause, .. } = &error else { panic!("{error}") };
            assert_eq!(cause.kind(), io::ErrorKind::StorageFull, "{error}");
            assert!(error.to_string().contains("free some space"), "{error}");
            assert_eq!(snapshot(&small), before);
        }
        println!("CHILD: full");
        return;
    }
    let outer = tempfile::tempdir().unwrap();
    let site = Site::with(&Archive::good().file("lib/big.a", vec![1; 2_000_000]), true);
    fs::rename(site.path(""), outer.path().join("whole")).unwrap();
    let mut command = child(TEST, &site, "1");
    let output = command.env("SITE", outer.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("CHILD:"), "{said}");
    if !said.contains("CHILD: full") {
        let why = said.lines().find_map(|line| line.strip_prefix("CHILD: ")).unwrap_or_default();
        let _ = writeln!(io::stdout(), "SKIPPED: a file system of a test's own: {why}");
    }
}

/// The same with a limit that needs no privileges: a write fails in the middle of a file.
#[test]
fn a_file_that_cannot_be_written_to_its_end_leaves_nothing() {
    const TEST: &str = "a_file_that_cannot_be_written_to_its_end_leaves_nothing";
    if std::env::var_os(CHILD).is_some() {
        let limit = libc::rlimit { rlim_cur: 300_000, rlim_max: 300_000 };
        // SAFETY: the limit is valid for the read; ignoring the signal makes it an error of the write.
        unsafe {
            assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        }
        let error = Devel::at(std::env::var_os("SITE").unwrap()).unwrap().expand(&mut |_| {}).unwrap_err();
        println!("CHILD: {error}");
        return;
    }
    let site = Site::with(&Archive::good(), true);
    let before = site.snapshot();
    let output = child(TEST, &site, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("CHILD: cannot write"), "{said}");
    assert!(said.contains("lib/libstatic.a: File too large"), "{said}");
    assert_eq!(site.snapshot(), before);
    site.expand().unwrap();
    check_good(&site);
}

/// The core wheel is on another file system, to which hard links are not possible.
#[test]
fn where_no_hard_link_can_be_a_symbolic_one_serves() {
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else {
        let _ = writeln!(io::stdout(), "SKIPPED: no /dev/shm");
        return;
    };
    let site = Site::with(&Archive::good(), false);
    let device = |path: &Path| fs::metadata(path).unwrap().dev();
    if device(elsewhere.path()) == device(site.outside()) {
        let _ = writeln!(io::stdout(), "SKIPPED: /dev/shm is no file system of its own");
        return;
    }
    let copied = Command::new("cp").arg("-a").arg(site.path("_rocm_sdk_core")).arg(elsewhere.path()).status().unwrap();
    assert!(copied.success());
    fs::remove_dir_all(site.path("_rocm_sdk_core")).unwrap();
    let core = elsewhere.path().join("_rocm_sdk_core");
    std::os::unix::fs::symlink(core, site.path("_rocm_sdk_core")).unwrap();
    let expansion = site.expand().unwrap();
    assert_eq!((expansion.hard_links, expansion.symlinks), (2, 7));
    assert_eq!(site.kind("_rocm_sdk_devel/bin/hipcc"), "../../_rocm_sdk_core/bin/hipcc");
    assert_eq!(site.read("_rocm_sdk_devel/lib/libamdhip64.so"), "the HIP runtime");
}

/// Makes a device wheel with a kernel file and its list of links.
fn device_wheel(site: &Site, arch: &str, version: &str, links: &str) {
    site.write(&format!("_rocm_sdk_libraries/lib/kernels/{arch}.co"), format!("kernels of {arch}"));
    let list = format!("_rocm_sdk_libraries/.devel_links/{arch}.json");
    site.write(&list, format!("{{\"version\": \"{version}\", \"links\": [{links}]}}"));
    let file = format!("_rocm_sdk_libraries/lib/kernels/{arch}.co");
    site.wheel(&format!("rocm-sdk-device-{arch}"), version, &[&list, &file]);
}

fn device_link(arch: &str) -> String {
    format!(
        "{{\"relpath\": \"lib/kernels/{arch}.co\", \
          \"target\": \"../../../_rocm_sdk_libraries/lib/kernels/{arch}.co\"}}"
    )
}

#[test]
fn files_of_device_wheels_are_linked_in_whenever_they_come() {
    let site = Site::with(&Archive::good(), false);
    device_wheel(&site, "gfx942", "7.10.0.post2", &device_link("gfx942"));
    let first = site.expand().unwrap();
    assert!(first.unpacked && first.device_links == 1 && first.skipped.is_empty(), "{first:?}");
    let same = |arch: &str| {
        let file = format!("lib/kernels/{arch}.co");
        site.same(&format!("_rocm_sdk_devel/{file}"), &format!("_rocm_sdk_libraries/{file}"))
    };
    assert!(same("gfx942"));

    // Another wheel; one of another version; one with a missing file.
    device_wheel(&site, "gfx1100", "7.10.0", &device_link("gfx1100"));
    device_wheel(&site, "gfx906", "7.9.0", &device_link("gfx906"));
    device_wheel(&site, "gfx90a", "7.10.0", &device_link("gfx90a"));
    fs::remove_file(site.path("_rocm_sdk_libraries/lib/kernels/gfx90a.co")).unwrap();
    let second = site.expand().unwrap();
    assert!(!second.unpacked && second.device_links == 1, "{second:?}");
    assert!(same("gfx1100") && !same("gfx906") && !same("gfx90a"));
    let skipped: Vec<_> = second.skipped.iter().map(|s| (s.what.as_str(), s.why.contains("7.9.0"))).collect();
    assert_eq!(skipped, [("rocm-sdk-device-gfx906", true), ("rocm-sdk-device-gfx90a: lib/kernels/gfx90a.co", false)]);
    let record = || site.read("rocm_sdk_device_gfx1100-7.10.0.dist-info/RECORD");
    assert_eq!(record().matches("_rocm_sdk_devel/lib/kernels/gfx1100.co,,\n").count(), 1);

    // With nothing left to do, even users without write access succeed.
    let before = site.snapshot();
    fs::set_permissions(site.outside(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(as_nobody(|| site.expand()).unwrap().device_links, 0);
    assert_eq!(site.snapshot(), before);

    // Wrong entries are corrected: a copy, a symbolic link, a missing row.
    let place = site.path("_rocm_sdk_devel/lib/kernels/gfx1100.co");
    fs::remove_file(&place).unwrap();
    fs::write(&place, "a copy of an older release").unwrap();
    assert_eq!(site.expand().unwrap().device_links, 1);
    fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink("../../../_rocm_sdk_libraries/lib/kernels/gfx1100.co", &place).unwrap();
    assert_eq!(site.expand().unwrap().device_links, 1);
    assert!(same("gfx1100") && fs::read_link(&place).is_err());
    let row = "_rocm_sdk_devel/lib/kernels/gfx1100.co,,\n";
    site.write("rocm_sdk_device_gfx1100-7.10.0.dist-info/RECORD", record().replace(row, ""));
    site.expand().unwrap();
    assert_eq!(record().matches(row).count(), 1);
    site.write("rocm_sdk_device_gfx1100-7.10.0.dist-info/RECORD", record() + row);
    site.expand().unwrap();
    assert_eq!(record().matches(row).count(), 1);

    // A new devel tree gets them all again.
    site.write("rocm_sdk_devel/_devel.tar", Archive::good().bytes());
    assert_eq!(site.expand().unwrap().device_links, 2);
    assert!(same("gfx942") && same("gfx1100"));
}

#[test]
fn lists_of_device_wheels_are_not_trusted() {
    let victim =
        "{\"relpath\": \"../pip/__init__.py\", \"target\": \"../../_rocm_sdk_libraries/lib/kernels/gfx942.co\"}";
    let cases = [
        (victim.to_owned(), "`..`"),
        (victim.replace("../pip", "/etc"), "absolute"),
        (device_link("gfx942").replace("../../../_rocm_sdk_libraries", "../../../pip"), "none of ROCm's"),
        (device_link("gfx942").replace("../../../_rocm", "../../../../x"), "rejected"),
        (device_link("gfx942").replace("../../../_rocm_sdk_libraries/lib", "/etc"), "not in a package"),
        (device_link("gfx942").replace("lib/kernels/gfx942.co\", ", "llvm2/x/y\", "), "leads out of the devel tree"),
        (device_link("gfx942").replace("kernels/gfx942.co\"}", "leak\"}"), "leads out of"),
        ("{\"relpath\": \"x\"}".to_owned(), "lacks"),
        ("{\"relpath\": 7, \"target\": \"x\"}".to_owned(), "lacks"),
        ("[".to_owned(), "no JSON"),
    ];
    for (links, why) in cases {
        let site = Site::with(&Archive::good(), false);
        site.expand().unwrap();
        device_wheel(&site, "gfx942", "7.10.0", &links);
        // Existing links that lead out of the tree and out of the wheel.
        std::os::unix::fs::symlink("../pip", site.path("_rocm_sdk_devel/llvm2")).unwrap();
        std::os::unix::fs::symlink("../../pip/__init__.py", site.path("_rocm_sdk_libraries/lib/leak")).unwrap();
        let watched = ["pip", "_rocm_sdk_core", "_rocm_sdk_libraries"].map(|p| snapshot(&site.path(p)));
        let error = site.expand().unwrap_err();
        assert!(error.to_string().contains(why), "{links}: {error}");
        assert_eq!(["pip", "_rocm_sdk_core", "_rocm_sdk_libraries"].map(|p| snapshot(&site.path(p))), watched);
        assert_eq!(site.read("pip/__init__.py"), "not ours");
    }
}

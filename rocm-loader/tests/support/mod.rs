//! Directory trees that look like ROCm installations, with small libraries built by the system's C compiler.
#![allow(dead_code, unreachable_pub)] // Each test program uses a part of it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rocm_loader::{Library, LibrarySpec, Soname};
use tempfile::TempDir;

/// The library in the trees.
pub static STUB: LibrarySpec = LibrarySpec::new(
    "stub",
    "libstub.so",
    &[Soname::new("libstub.so.7", 7, 10), Soname::new("libstub.so.6", 6, 6), Soname::new("libstub.so.5", 5, 5)],
    &["stub_7.dll"],
)
.numbered_by_hip();

/// A directory tree that is removed when it is dropped.
pub struct Tree(TempDir);

impl Tree {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.0.path().join(relative)
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a program: a shell script.
    pub fn script(&self, relative: &str, text: &str) -> PathBuf {
        self.program(relative, format!("#!/bin/sh\n{text}\n"))
    }

    /// Writes a program: an executable file with this content.
    pub fn program(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Another process writes the file: if this process had it open for writing while another test forks, it could not be executed
        // (`ETXTBSY`).
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(&path).stdin(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        shell.stdin.take().unwrap().write_all(content.as_ref()).unwrap();
        assert!(shell.wait().unwrap().success(), "{} is written", path.display());
        path
    }

    pub fn link(&self, target: &str, relative: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    /// Builds a shared library from C, with this soname.
    pub fn library(&self, relative: &str, soname: &str, c: &str) -> PathBuf {
        self.library_with(relative, soname, c, &[])
    }

    pub fn library_with(&self, relative: &str, soname: &str, c: &str, more: &[&str]) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let source = tempfile::Builder::new().suffix(".c").tempfile().unwrap();
        fs::write(source.path(), c).unwrap();
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let mut command = Command::new(&compiler);
        command.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&path).arg(source.path());
        if !soname.is_empty() {
            command.arg(format!("-Wl,-soname,{soname}"));
        }
        let output =
            command.args(more).output().unwrap_or_else(|e| panic!("these tests need a C compiler ({compiler}): {e}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        path
    }

    /// Builds a stub whose function `stub_id` returns `id`.
    pub fn stub(&self, relative: &str, soname: &str, id: i32) -> PathBuf {
        self.library(relative, soname, &format!("int stub_id(void) {{ return {id}; }}"))
    }

    /// Builds a stub with bytes of its ELF header overwritten.
    pub fn patched(&self, relative: &str, soname: &str, at: usize, bytes: &[u8]) -> PathBuf {
        let path = self.stub(relative, soname, 0);
        let mut content = fs::read(&path).unwrap();
        content[at..at + bytes.len()].copy_from_slice(bytes);
        fs::write(&path, content).unwrap();
        path
    }

    /// Keeps the tree, for files that the process keeps open.
    pub fn keep(self) -> PathBuf {
        self.0.keep()
    }
}

/// Calls `stub_id`.
pub fn id(library: &Library) -> i32 {
    // SAFETY: every stub defines it with this signature.
    let function = unsafe { library.function::<unsafe extern "C" fn() -> i32>(c"stub_id", "5.7") }.unwrap();
    // SAFETY: it has no precondition.
    unsafe { function() }
}

/// Waits until a process has ended: it no longer exists, or is a zombie.
#[cfg(target_os = "linux")]
pub fn until_ended(pid: &str) {
    let stat = Path::new("/proc").join(pid.trim()).join("stat");
    // The state follows the name, which is in parentheses.
    let is_dead = |stat: &str| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']));
    while fs::read_to_string(&stat).is_ok_and(|stat| !is_dead(&stat)) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// Runs the test `test` of this program again in a process of its own, with `variables` set. It does not see what the
/// user of this machine has installed with `rocm-sdk install`.
pub fn in_child(test: &str, variables: &[(&str, &str)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(CHILD, "1");
    command.env("HOME", "/nonexistent").env_remove("XDG_DATA_HOME").env_remove("ROCM_SDK_INSTALL_DIR");
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

pub const CHILD: &str = "ROCM_SDK_TEST_CHILD";

/// The folder of the libraries in the tree's installation 7.2 of `rocm-sdk install`, which is in its folder `own`.
pub const OWN: &str = "own/7.2/usr/lib/x86_64-linux-gnu";

/// Writes ROCm 7.2.4 as `rocm-sdk install` does, for a newer system than this one, with the C library of that: the HIP
/// runtime and its compiler require a version of glibc that does not exist (a few bytes of a real one are changed).
pub fn for_a_newer_system(tree: &Tree) {
    let c = "#include <stdio.h>\nint stub_id(void) { return puts(\"\"); }";
    for (name, version) in [("amdhip64", b"GLIBC_2.998"), ("hiprtc", b"GLIBC_2.999")] {
        let soname = format!("lib{name}.so.7");
        let library = tree.library(&format!("{OWN}/{soname}"), &soname, c);
        let mut content = fs::read(&library).unwrap();
        let real = b"GLIBC_2.2.5\0";
        let at = content.windows(real.len()).position(|bytes| bytes == real).expect("puts is of GLIBC_2.2.5");
        content[at..at + version.len()].copy_from_slice(version);
        fs::write(&library, content).unwrap();
    }
    let versions = ["2.2.5", "2.998", "2.999"].map(|n| format!("GLIBC_{n} {{ global: f{}; }};\n", n.replace('.', "_")));
    let script = format!("-Wl,--version-script,{}", tree.write("versions", versions.concat()).display());
    let c = "int f2_2_5(void) { return 1; } int f2_998(void) { return 1; } int f2_999(void) { return 1; }";
    tree.library_with(&format!("{OWN}/libc.so.6"), "libc.so.6", c, &["-nostdlib", &script]);
    tree.write(&format!("{OWN}/ld-linux-x86-64.so.2"), "");
    tree.write("own/7.2/usr/.info/version", "7.2.4");
    tree.write("own/7.2/.packages", "Sets: hip\n");
}

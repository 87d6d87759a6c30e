//! A small private Debian archive in a temporary folder, signed with its own key.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rocm_sdk::install::debian::Archive;
use rocm_sdk::install::{Installer, command};
use tempfile::TempDir;

/// Debian's directory of libraries.
pub const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// Writes a message that libtest does not capture.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stdout(), "SKIPPED: {why}");
}

fn ok(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A key pair.
struct Key {
    home: TempDir,
}

impl Key {
    fn new() -> Self {
        let key = Self { home: tempfile::tempdir().unwrap() };
        let who = "A test <test@example.org>";
        ok(key.gpg().args(["--passphrase", "", "--quick-generate-key", who, "ed25519", "sign", "never"]));
        let _ = fs::write(key.ring(), ok(key.gpg().arg("--export")).stdout);
        key
    }

    /// Returns the signing key and another one, shared by all concurrent users.
    fn both() -> Arc<[Self; 2]> {
        static KEYS: Mutex<Weak<[Key; 2]>> = Mutex::new(Weak::new());
        let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
        keys.upgrade().unwrap_or_else(|| {
            let new = Arc::new([Self::new(), Self::new()]);
            *keys = Arc::downgrade(&new);
            new
        })
    }

    fn gpg(&self) -> Command {
        let mut command = Command::new("gpg");
        command.args(["--batch", "--quiet"]).env("GNUPGHOME", self.home.path());
        command
    }

    fn ring(&self) -> PathBuf {
        self.home.path().join("keys.gpg")
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // The agent that gpg started would outlive the folder.
        let _ = Command::new("gpgconf").args(["--kill", "all"]).env("GNUPGHOME", self.home.path()).output();
    }
}

/// The signature of the package lists.
#[derive(Clone, Copy, PartialEq)]
pub enum Signed {
    Rightly,
    ByAnother,
    Not,
}

/// A package to build.
pub struct Deb {
    pub name: String,
    pub version: String,
    pub depends: String,
    pub installed_size: u64,
    folder: TempDir,
}

impl Deb {
    pub fn new(name: &str, version: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { name: name.into(), version: version.into(), depends: String::new(), installed_size: 100, folder }
    }

    pub fn needs(mut self, depends: &str) -> Self {
        self.depends = depends.into();
        self
    }

    pub fn taking(mut self, kilobytes: u64) -> Self {
        self.installed_size = kilobytes;
        self
    }

    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub fn program(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let this = self.file(path, content);
        fs::set_permissions(this.folder.path().join(path), fs::Permissions::from_mode(0o755)).unwrap();
        this
    }

    pub fn link(self, path: &str, target: &str) -> Self {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    /// Adds a shared library with this file name, with a function that returns `id`.
    pub fn library(self, file: &str, soname: &str, id: i32) -> Self {
        let source = tempfile::Builder::new().suffix(".c").tempfile().unwrap();
        fs::write(source.path(), format!("int stub_id(void) {{ return {id}; }}")).unwrap();
        let this = self.file(&format!("{LIBRARIES}/{file}"), "");
        let path = this.folder.path().join(LIBRARIES).join(file);
        let soname_option = format!("-Wl,-soname,{soname}");
        let cc = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        ok(Command::new(cc).args(["-shared", "-fPIC", &soname_option, "-o"]).arg(path).arg(source.path()));
        if file == soname { this } else { this.link(&format!("{LIBRARIES}/{soname}"), file) }
    }

    fn file_name(&self) -> String {
        format!("{}_{}_amd64.deb", self.name, self.version)
    }

    fn control(&self) -> String {
        let Self { name, version, installed_size, .. } = self;
        let mut text = format!(
            "Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: A test <test@example.org>\n\
             Installed-Size: {installed_size}\nDescription: for a test\n"
        );
        if !self.depends.is_empty() {
            let _ = writeln!(text, "Depends: {}", self.depends);
        }
        text
    }

    /// Builds its file, and returns it with its stanza for apt's list.
    fn build(self, pool: &Path) -> (PathBuf, String) {
        let debian = self.folder.path().join("DEBIAN");
        fs::create_dir(&debian).unwrap();
        fs::write(debian.join("control"), self.control()).unwrap();
        // If it ran, it would leave a file next to the archive.
        let script = format!("#!/bin/sh\ntouch '{}'\n", pool.with_file_name("script-ran").display());
        for name in ["preinst", "postinst"] {
            use std::os::unix::fs::PermissionsExt as _;
            fs::write(debian.join(name), &script).unwrap();
            fs::set_permissions(debian.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let file = pool.join(self.file_name());
        ok(Command::new("dpkg-deb").args(["--root-owner-group", "-Znone", "-b"]).arg(self.folder.path()).arg(&file));
        (file, self.control())
    }
}

/// The archive.
pub struct Repository {
    folder: TempDir,
    keys: Arc<[Key; 2]>,
    /// File and control stanza of each package.
    packages: Vec<(PathBuf, String)>,
    /// The suite that the lists claim to be, if it is a wrong one.
    pub suite: Option<&'static str>,
    pub signed: Signed,
    pub valid_until: Option<&'static str>,
}

impl Repository {
    /// Creates an empty one; `None`, with a message, on a machine without the tools.
    pub fn new() -> Option<Self> {
        for tool in ["apt-get", "dpkg-deb", "gpg", "gpgv", "sha256sum", "cc"] {
            if command::find(tool).is_none() {
                skipped(&format!("there is no {tool} here"));
                return None;
            }
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("pool")).unwrap();
        Some(Self {
            folder,
            keys: Key::both(),
            packages: Vec::new(),
            suite: None,
            signed: Signed::Rightly,
            valid_until: None,
        })
    }

    /// Creates one with a small ROCm 7.2.4: HIP, its headers, a library that depends on HIP, and a C library's loader.
    pub fn rocm() -> Option<Self> {
        let mut this = Self::new()?;
        let loader = fs::read("/lib64/ld-linux-x86-64.so.2").unwrap();
        this.add(Deb::new("libc6", "2.99-1").program(&format!("{LIBRARIES}/ld-linux-x86-64.so.2"), loader));
        let hip = Deb::new("libamdhip64-7", "7.2.4-1~exp2").needs("libc6 (>= 2.38)");
        this.add(hip.library("libamdhip64.so.7.2.53211", "libamdhip64.so.7", 724));
        let header = "usr/include/hip/hip_runtime_api.h";
        this.add(Deb::new("libamdhip64-dev", "7.2.4-1~exp2").needs("a-whole-compiler").file(header, "// HIP\n"));
        let blas = Deb::new("librocblas5", "7.2.4-1~exp1").needs("libamdhip64-7, libc6");
        this.add(blas.library("librocblas.so.5.2", "librocblas.so.5", 5));
        this.publish();
        Some(this)
    }

    pub fn add(&mut self, deb: Deb) {
        let built = deb.build(&self.pool());
        self.packages.retain(|(file, _)| *file != built.0);
        self.packages.push(built);
    }

    /// Adds a package with a tar file that dpkg-deb would not make.
    pub fn add_raw(&mut self, deb: &Deb, tar: &[u8]) {
        let control = tempfile::tempdir().unwrap();
        fs::write(control.path().join("control"), deb.control()).unwrap();
        let control_tar = ok(Command::new("tar").args(["-cf", "-", "./control"]).current_dir(control.path())).stdout;
        let mut file = b"!<arch>\n".to_vec();
        for (name, content) in [("debian-binary", &b"2.0\n"[..]), ("control.tar", &control_tar), ("data.tar", tar)] {
            let _ = writeln!(file, "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`", 0, 0, 0, 100_644, content.len());
            file.extend(content);
            file.extend([b'\n'].iter().take(content.len() % 2));
        }
        let path = self.pool().join(deb.file_name());
        fs::write(&path, file).unwrap();
        self.packages.push((path, deb.control()));
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn pool(&self) -> PathBuf {
        self.folder.path().join("pool")
    }

    /// Returns the file of a package.
    pub fn file(&self, name: &str) -> PathBuf {
        let begins = |path: &Path| path.file_name().unwrap().to_str().unwrap().starts_with(&format!("{name}_"));
        self.packages.iter().map(|(path, _)| path).find(|path| begins(path)).unwrap().clone()
    }

    /// Returns the directory of a suite's lists.
    pub fn lists(&self, suite: &str) -> PathBuf {
        self.folder.path().join("dists").join(suite)
    }

    /// Writes the lists and signs them.
    pub fn publish(&self) {
        for (suite, codename) in [("experimental", "rc-buggy"), ("unstable", "sid")] {
            let folder = self.lists(if suite == "unstable" { codename } else { suite });
            let binary = folder.join("main/binary-amd64");
            fs::create_dir_all(&binary).unwrap();
            // Both lists contain all packages: only the version matters.
            fs::write(binary.join("Packages"), self.list()).unwrap();
            let list = binary.join("Packages");
            let valid = self.valid_until.map(|date| format!("Valid-Until: {date}\n")).unwrap_or_default();
            let release = format!(
                "Origin: A test\nLabel: A test\nSuite: {0}\nCodename: {1}\nDate: Sat, 01 Jan 2022 00:00:00 UTC\n{valid}\
                 Architectures: amd64\nComponents: main\nSHA256:\n {2} {3} main/binary-amd64/Packages\n",
                self.suite.unwrap_or(suite),
                self.suite.unwrap_or(codename),
                sum(&list),
                fs::metadata(&list).unwrap().len(),
            );
            fs::write(folder.join("Release"), release).unwrap();
            let signed = folder.join("InRelease");
            let _ = fs::remove_file(&signed);
            let [ours, another] = &*self.keys;
            let key = match self.signed {
                Signed::Rightly => ours,
                Signed::ByAnother => another,
                Signed::Not => continue,
            };
            ok(key.gpg().args(["--clearsign", "--output"]).arg(&signed).arg(folder.join("Release")));
        }
    }

    fn list(&self) -> String {
        self.packages.iter().fold(String::new(), |mut text, (file, control)| {
            let name = file.file_name().unwrap().to_str().unwrap();
            let size = fs::metadata(file).unwrap().len();
            let _ = writeln!(text, "{control}Filename: pool/{name}\nSize: {size}\nSHA256: {}\n", sum(file));
            text
        })
    }

    /// Returns whether a script of a package has run.
    pub fn script_ran(&self) -> bool {
        self.folder.path().join("script-ran").exists()
    }

    pub fn archive(&self) -> Archive {
        // The form that a user would write; apt copies from it.
        Archive { mirror: format!("file:{}", self.folder.path().display()), keyring: self.keys[0].ring() }
    }

    /// Returns an installer from this archive into `folder`.
    pub fn installer(&self, folder: &Path) -> Installer {
        Installer::new(folder).archive(self.archive())
    }
}

fn sum(file: &Path) -> String {
    let output = ok(Command::new("sha256sum").arg(file)).stdout;
    String::from_utf8(output[..64].to_vec()).unwrap()
}

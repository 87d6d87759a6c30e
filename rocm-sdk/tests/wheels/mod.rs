//! Python environments with ROCm's wheels, including the devel wheel's archive, good or bad.
#![allow(dead_code, unreachable_pub)] // Each test program uses a part of it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rocm_sdk::devel::{Devel, Error, Expansion};
use tar::{EntryType, Header};
use tempfile::TempDir;

pub const PACKAGE: &str = "_rocm_sdk_devel";

/// A site-packages directory in a temporary directory, which is removed on drop.
pub struct Site(TempDir);

impl Site {
    /// Creates one with the core wheel.
    pub fn new() -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        site.write("rocm_sdk/__init__.py", "");
        site.write("_rocm_sdk_core/__init__.py", "");
        site.write("_rocm_sdk_core/lib/libamdhip64.so.7", "the HIP runtime");
        site.write("_rocm_sdk_core/lib/llvm/bin/amdclang", "the driver");
        site.write("_rocm_sdk_core/bin/hipcc", "hipcc");
        site.write("pip/__init__.py", "not ours");
        site
    }

    /// Creates one with the core wheel and a devel wheel with this archive.
    pub fn with(archive: &Archive, xz: bool) -> Self {
        let site = Self::new();
        site.devel(&archive.bytes(), xz);
        site
    }

    pub fn outside(&self) -> &Path {
        self.0.path()
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.0.path().join("lib/python3.12/site-packages").join(relative)
    }

    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap_or_else(|e| panic!("{relative}: {e}"))
    }

    pub fn wheel(&self, name: &str, version: &str, rows: &[&str]) {
        let dist_info = format!("{}-{version}.dist-info", name.replace('-', "_"));
        self.write(
            &format!("{dist_info}/METADATA"),
            format!("Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n\nName: not this one\n"),
        );
        let rows: String = rows.iter().map(|row| format!("{row},sha256=abc,1\r\n")).collect();
        self.write(&format!("{dist_info}/RECORD"), rows + &format!("{dist_info}/RECORD,,\r\n"));
    }

    pub fn devel(&self, tar: &[u8], xz: bool) {
        self.write("rocm_sdk_devel/__init__.py", "");
        let archive = if xz { "rocm_sdk_devel/_devel.tar.xz" } else { "rocm_sdk_devel/_devel.tar" };
        self.write(archive, if xz { compress(tar) } else { tar.to_vec() });
        self.wheel("rocm-sdk-devel", "7.10.0", &["rocm_sdk_devel/__init__.py", archive]);
    }

    pub fn record(&self) -> String {
        self.read("rocm_sdk_devel-7.10.0.dist-info/RECORD")
    }

    pub fn find(&self) -> Devel {
        Devel::at(self.path("")).unwrap()
    }

    pub fn expand(&self) -> Result<Expansion, Error> {
        self.find().expand(&mut |_| {})
    }

    /// Returns everything below the outer directory: path to kind, inode if relevant, and content.
    pub fn snapshot(&self) -> BTreeMap<PathBuf, String> {
        snapshot(self.outside())
    }

    /// Returns the kind of a link: `file`, `hard link` or the target of a symbolic one.
    pub fn kind(&self, relative: &str) -> String {
        let path = self.path(relative);
        let found = fs::symlink_metadata(&path).unwrap_or_else(|e| panic!("{relative}: {e}"));
        match fs::read_link(&path) {
            Ok(target) => target.to_str().unwrap().to_owned(),
            Err(_) if found.is_dir() => "directory".to_owned(),
            Err(_) if found.nlink() > 1 => "hard link".to_owned(),
            Err(_) => "file".to_owned(),
        }
    }

    pub fn same(&self, a: &str, b: &str) -> bool {
        let inode = |path: &str| fs::metadata(self.path(path)).map(|m| (m.dev(), m.ino())).ok();
        inode(a).is_some() && inode(a) == inode(b)
    }
}

pub fn snapshot(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut ahead = vec![root.to_owned()];
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let what = if metadata.is_dir() {
                ahead.push(path.clone());
                "directory".to_owned()
            } else if metadata.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else {
                let content = fs::read(&path).unwrap();
                format!("{:o} {}", metadata.permissions().mode(), content.escape_ascii())
            };
            found.insert(path, what);
        }
    }
    found
}

/// A tar archive, byte by byte: the `tar` crate's own methods refuse to write the entries that must be rejected.
#[derive(Clone, Default)]
pub struct Archive(Vec<u8>);

impl Archive {
    /// A small version of TheRock's archive.
    pub fn good() -> Self {
        Self::default()
            .file("__init__.py", "")
            .link("llvm", "lib/llvm")
            .directory("share")
            .link("bin/amdclang", "../lib/llvm/bin/amdclang")
            .link("bin/hipcc", "../../_rocm_sdk_core/bin/hipcc")
            .executable("bin/tool", "#!/bin/sh\n")
            .file("include/hip/hip_runtime.h", "#pragma once\n")
            // The alias precedes its target, as the file system may list them.
            .link("lib/libamdhip64.so", "libamdhip64.so.7")
            .link("lib/libamdhip64.so.7", "../../_rocm_sdk_core/lib/libamdhip64.so.7")
            .link("lib/librocblas.so.5", "../../_rocm_sdk_libraries_gfx94X_dcgpu/lib/librocblas.so.5")
            .file("lib/libstatic.a", vec![7; 700_000])
            .file("lib/llvm/bin/clang-22", "clang")
            .link("lib/llvm/bin/clang", "clang-22")
            .link("lib/llvm/bin/clang++", "clang")
            .link("lib/llvm/bin/amdclang", "../../../../_rocm_sdk_core/lib/llvm/bin/amdclang")
            .file("share/comma, quote\"d.txt", "odd, but allowed")
    }

    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.raw(format!("{PACKAGE}/{name}").as_bytes(), EntryType::Regular, b"", content.as_ref())
    }

    pub fn executable(mut self, name: &str, content: &str) -> Self {
        let mut header = header(format!("{PACKAGE}/{name}").as_bytes(), EntryType::Regular, b"", content.len() as u64);
        header.set_mode(0o6777);
        header.set_cksum();
        self.push(&header, content.as_bytes());
        self
    }

    pub fn directory(self, name: &str) -> Self {
        self.raw(format!("{PACKAGE}/{name}").as_bytes(), EntryType::Directory, b"", b"")
    }

    pub fn link(self, name: &str, target: &str) -> Self {
        self.raw(format!("{PACKAGE}/{name}").as_bytes(), EntryType::Symlink, target.as_bytes(), b"")
    }

    pub fn hard_link(self, name: &str, target: &str) -> Self {
        self.raw(format!("{PACKAGE}/{name}").as_bytes(), EntryType::Link, target.as_bytes(), b"")
    }

    /// Adds an entry with any bytes as name and target; long ones as GNU tar writes them.
    pub fn raw(mut self, name: &[u8], kind: EntryType, target: &[u8], content: &[u8]) -> Self {
        for (long, kind) in [(name, EntryType::GNULongName), (target, EntryType::GNULongLink)] {
            if long.len() > 100 {
                let long = [long, b"\0"].concat();
                self.push(&header(b"././@LongLink", kind, b"", long.len() as u64), &long);
            }
        }
        self.push(&header(name, kind, target, content.len() as u64), content);
        self
    }

    /// Adds a pax header for the next entry.
    pub fn pax(mut self, records: &[(&str, &[u8])]) -> Self {
        let mut text = Vec::new();
        for (key, value) in records {
            let rest = key.len() + value.len() + 3;
            let length = (1..6).map(|digits| rest + digits).find(|n| n.to_string().len() + rest == *n).unwrap();
            text.extend(format!("{length} {key}=").as_bytes());
            text.extend(*value);
            text.push(b'\n');
        }
        self.push(&header(b"pax", EntryType::XHeader, b"", text.len() as u64), &text);
        self
    }

    pub fn push(&mut self, header: &Header, content: &[u8]) {
        self.0.extend(header.as_bytes());
        self.0.extend(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
    }

    /// Returns the entries without the two zero blocks at the end.
    pub fn entries(&self) -> &[u8] {
        &self.0
    }

    pub fn bytes(&self) -> Vec<u8> {
        [self.0.as_slice(), &[0; 1024]].concat()
    }
}

pub fn header(name: &[u8], kind: EntryType, target: &[u8], size: u64) -> Header {
    let mut header = Header::new_gnu();
    let old = header.as_old_mut();
    let (name, target) = (&name[..name.len().min(100)], &target[..target.len().min(100)]);
    old.name[..name.len()].copy_from_slice(name);
    old.linkname[..target.len()].copy_from_slice(target);
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_mtime(1_700_000_000);
    header.set_size(size);
    header.set_cksum();
    header
}

pub fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

/// Returns the temporary names below a directory, which must not exist after a run.
pub fn left_over(site: &Site) -> Vec<String> {
    let names = fs::read_dir(site.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.as_bytes().starts_with(b".")).map(|name| name.to_str().unwrap().to_owned()).collect()
}

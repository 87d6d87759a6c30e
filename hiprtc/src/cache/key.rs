//! Keys: everything that determines the compiler's output.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

use hip::Arch;

use crate::compiler::Compiler;
use crate::given::{Given, Output};
use crate::includes::{self, Folders};

/// The variable that moves the cache, or turns it off. The code does not depend on it.
pub(super) const VARIABLE: &str = "HIPRTC_CACHE";

/// The name of a cache entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key(blake3::Hash);

impl Key {
    /// Returns the key of the output that `given` compiles to for `arch`; `None` if the output depends on anything
    /// else.
    pub(crate) fn new(given: Given<'_>, arch: &Arch, output: Output, compiler: Compiler) -> Option<Self> {
        let Given { name, source, headers, options, expressions } = given;
        if given.texts().any(asks_for_the_time) {
            return None;
        }
        let folders = Folders::of_options(options)?.with_variables(|name| std::env::var_os(name));
        let included = includes::find(given.texts(), |name| given.has_header(name), &folders)?;
        if included.files.iter().any(|(_, bytes)| asks_for_the_time(&String::from_utf8_lossy(bytes))) {
            return None;
        }
        let mut hash = Fields::default();
        hash.add(b"1");
        hash.list(identity(compiler).iter().map(String::as_bytes));
        hash.list(variables().iter().map(String::as_bytes));
        hash.add(arch.to_string().as_bytes());
        hash.add(name.as_bytes());
        hash.add(source.as_bytes());
        hash.list(headers.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]));
        hash.list(output.option().into_iter().chain(options.iter().map(String::as_str)).map(str::as_bytes));
        hash.list(expressions.iter().map(String::as_bytes));
        hash.list(included.files.iter().flat_map(|(path, bytes)| [path.as_os_str().as_encoded_bytes(), bytes]));
        hash.list(included.missing.iter().map(String::as_bytes));
        Some(Self(hash.0.finalize()))
    }

    /// A key for tests.
    #[cfg(test)]
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Returns the key in hexadecimal digits.
    pub(super) fn name(&self) -> String {
        self.0.to_hex().to_string()
    }
}

/// A hash of fields, each with its length, so that moving bytes between two fields changes the hash.
#[derive(Default)]
struct Fields(blake3::Hasher);

impl Fields {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    }

    fn list<'a>(&mut self, items: impl Iterator<Item = &'a [u8]>) {
        let items: Vec<&[u8]> = items.collect();
        self.0.update(&(items.len() as u64).to_le_bytes());
        items.into_iter().for_each(|item| self.add(item));
    }
}

/// Returns whether the text's output may depend on the time of compilation.
fn asks_for_the_time(text: &str) -> bool {
    // This also finds `__TIMESTAMP__`.
    ["__DATE__", "__TIME"].iter().any(|name| memchr::memmem::find(text.as_bytes(), name.as_bytes()).is_some())
}

/// Identifies the compiler by its version, and the paths, sizes and times of its libraries.
fn identity(compiler: Compiler) -> &'static [String] {
    static IDENTITY: OnceLock<Vec<String>> = OnceLock::new();
    #[cfg(feature = "nvidia")]
    static NVIDIAS: OnceLock<Vec<String>> = OnceLock::new();
    match compiler {
        Compiler::Hiprtc(comgr) => IDENTITY.get_or_init(|| {
            let hiprtc = hiprtc_sys::BINDING.opened();
            let libraries = [hiprtc, comgr.map(|comgr| &comgr.0)];
            let (mut major, mut minor) = (0, 0);
            // SAFETY: both are valid for the write.
            let status = unsafe { hiprtc_sys::hiprtcVersion(&mut major, &mut minor) };
            let files = libraries.into_iter().flatten().filter_map(|library| library.path()).map(file);
            describe(files, &["libLLVM", "libclang", "liblld"], &format!("{status:?} {major}.{minor}"))
        }),
        #[cfg(feature = "nvidia")]
        Compiler::Nvrtc(nvrtc) => NVIDIAS.get_or_init(|| {
            let path = nvrtc.path().map(|path| file(path));
            describe(path.into_iter(), &["libnvrtc"], &nvrtc.version())
        }),
    }
}

/// Describes files, the libraries in the process whose names start with one of `parts`, and a version.
fn describe(files: impl Iterator<Item = String>, parts: &[&str], version: &str) -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let version = format!("{version} {}", env!("CARGO_PKG_VERSION"));
    files.chain(mapped(&maps, parts).into_iter().map(file)).chain([version]).collect()
}

/// Returns the libraries with these names among the files that are mapped into the process: if Comgr does not contain
/// LLVM, for example, LLVM can be upgraded without it. Linux has such tables (`/proc/self/maps`).
fn mapped<'a>(maps: &'a str, parts: &[&str]) -> BTreeSet<&'a Path> {
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    let is_part = |path: &&Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        parts.iter().any(|start| name.starts_with(start))
    };
    paths.filter(is_part).collect()
}

/// Describes the current state of a file.
fn file(path: &Path) -> String {
    let data = std::fs::metadata(path).ok();
    let modified = data.as_ref().and_then(|data| data.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    format!("{} {:?} {modified:?}", path.display(), data.map(|data| data.len()))
}

/// Returns the variables that the compiler reads, with their values.
fn variables() -> Vec<String> {
    let is_read = |name: &str| {
        ["AMD_COMGR_", "HIPRTC_", "CCC_", "CLANG_"].iter().any(|start| name.starts_with(start) && name != VARIABLE)
            || [
                "CPATH",
                "C_INCLUDE_PATH",
                "CPLUS_INCLUDE_PATH",
                "COMPILER_PATH",
                "ROCM_PATH",
                "HIP_PATH",
                "HIP_CLANG_PATH",
                "HIP_DEVICE_LIB_PATH",
            ]
            .contains(&name)
    };
    let all = std::env::vars_os().map(|(name, value)| (name.to_string_lossy().into_owned(), value));
    let mut read: Vec<String> = all
        .filter(|(name, _)| is_read(name))
        .map(|(name, value)| format!("{name}={}", value.to_string_lossy()))
        .collect();
    read.sort();
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::program::Program;

    fn key(program: &Program, arch: &str) -> Option<Key> {
        Key::new(program.given(), &arch.parse().unwrap(), Output::Code, Compiler::Hiprtc(None))
    }

    #[test]
    fn whatever_decides_about_the_code_is_in_the_key() {
        let plain = Program::new("a.hip", "source");
        let usual = key(&plain, "gfx90a").unwrap();
        assert_eq!(key(&plain.clone(), "gfx90a"), Some(usual.clone()));
        let others = [
            (Program::new("b.hip", "source"), "gfx90a"),
            (Program::new("a.hip", "sources"), "gfx90a"),
            (plain.clone(), "gfx942"),
            (plain.clone(), "gfx90a:xnack+"),
            (plain.clone().header("h", ""), "gfx90a"),
            (plain.clone().header("h", "x"), "gfx90a"),
            (plain.clone().header("hx", ""), "gfx90a"),
            (plain.clone().name_expression("f"), "gfx90a"),
            (plain.clone().options(Options::new().raw("-f")), "gfx90a"),
            (plain.clone().options(Options::new().fast_math()), "gfx90a"),
            (plain.clone().options(Options::new().include_dir("/nowhere")), "gfx90a"),
        ];
        assert_ne!(
            Key::new(plain.given(), &"gfx90a".parse().unwrap(), Output::Bitcode, Compiler::Hiprtc(None)),
            Some(usual.clone())
        );
        let mut all: Vec<Key> = others.iter().map(|(program, arch)| key(program, arch).unwrap()).collect();
        all.push(usual);
        for (n, key) in all.iter().enumerate() {
            assert!(!all[..n].contains(key), "{n}");
        }
    }

    #[test]
    fn headers_in_folders_are_in_the_key_as_they_are_now() {
        let folder = tempfile::tempdir().unwrap();
        let program = Program::new("a.hip", "#include \"deep/a.h\"\n")
            .options(Options::new().include_dir(folder.path().to_str().unwrap()));
        let now = || key(&program, "gfx90a").unwrap();
        let mut seen = vec![now()];
        std::fs::create_dir(folder.path().join("deep")).unwrap();
        for (file, text) in [("deep/a.h", "#include <b.h>"), ("b.h", "1"), ("b.h", "2"), ("deep/a.h", "")] {
            std::fs::write(folder.path().join(file), text).unwrap();
            assert!(!seen.contains(&now()), "{file}: {text}");
            seen.push(now());
        }
        // This file is no longer included.
        std::fs::write(folder.path().join("b.h"), "3").unwrap();
        assert_eq!(seen.last(), Some(&now()));
    }

    #[test]
    fn the_llvm_behind_comgr_is_found() {
        let maps = "7f00-7f01 r-xp 00000000 fe:00 12  /usr/lib/libLLVM.so.22.1\n7f01-7f02 r--p 00000000 fe:00 12 /usr/lib/libLLVM.so.22.1\n\
                    7f02-7f03 rw-p 00000000 00:00 0\n7f03-7f04 r-xp 00000000 fe:00 13 /opt/a b/libclang-cpp.so.22.1\n\
                    7f04-7f05 r-xp 00000000 fe:00 14 /usr/lib/libc.so.6\n7f05-7f06 r-xp 00000000 00:00 0 [vdso]\n";
        let found: Vec<_> = mapped(maps, &["libLLVM", "libclang", "liblld"]).into_iter().collect();
        assert_eq!(found, [Path::new("/opt/a b/libclang-cpp.so.22.1"), Path::new("/usr/lib/libLLVM.so.22.1")]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libLLVM.so");
        std::fs::write(&path, "1").unwrap();
        let before = file(&path);
        assert_eq!(before, file(&path));
        std::fs::write(&path, "another").unwrap();
        assert_ne!(before, file(&path));
    }

    #[test]
    fn what_cannot_be_known_is_not_cached() {
        for source in ["const char *t = __TIME__;", "#include HEADER\n"] {
            assert_eq!(key(&Program::new("a.hip", source), "gfx90a"), None, "{source}");
        }
        for option in ["-include", "@file", "-MD", "-Xclang", "-Wl,x", "--config=x", "-save-temps", "-fprofile-use=x"] {
            let options = Options::new().raw(option);
            assert_eq!(key(&Program::new("a.hip", "x").options(options), "gfx90a"), None, "{option}");
        }
        let usual =
            ["-O2", "-Wall", "-Werror", "-ffast-math", "-g", "-DX=1", "-std=c++20", "-mno-wavefrontsize64", "-w"];
        let options = usual.into_iter().fold(Options::new(), Options::raw);
        assert!(key(&Program::new("a.hip", "x").options(options), "gfx90a").is_some());
    }
}

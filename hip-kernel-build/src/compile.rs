//! Runs the compiler: once for `core`, `libm` and the device library, then for the program's kernels.
//!
//! `rustc` itself compiles `core`, not Cargo's `-Zbuild-std`: that would ask a registry for crates that no kernel
//! needs, and take several times as long. All functions of these crates are inlined across crates, so that they are
//! compiled for the kernel's architecture with the kernel.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::core_source;
use crate::error::{Error, Result};
use crate::sources::Sources;
use crate::stack::{self, TooSmall};
use crate::toolchain::{TARGET, Toolchain};

/// The effect of a panic in a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Panics {
    /// The wave ends, and the next wait returns the first panic's place, message and thread:
    /// `hip::Error::KernelPanicked`.
    #[default]
    Report,
    /// The device stops with a trap, and ROCm's runtime then ends the process. The code is smaller.
    Trap,
}

/// The dependencies of kernels, compiled for one architecture.
pub(crate) struct Prepared<'a> {
    toolchain: &'a Toolchain,
    sources: &'a Sources,
    arch: &'a str,
    panics: Panics,
    /// The compiler's sysroot with `core` and `libm`.
    sysroot: PathBuf,
    /// The folder of the device library and its macros.
    folder: PathBuf,
}

/// Kernels to compile.
pub(crate) struct Source<'a> {
    /// The program's module.
    pub(crate) module: &'a Path,
    /// The crate whose only module is the program's.
    pub(crate) root: &'a Path,
    /// Bitcode to link.
    pub(crate) linked: &'a [PathBuf],
    /// Whether to write line tables.
    pub(crate) lines: bool,
    /// The edition of the program's crate.
    pub(crate) edition: &'a str,
    pub(crate) cfgs: &'a BTreeSet<String>,
    /// Whether to enable `debug_assertions` and overflow checks.
    pub(crate) debug_assertions: bool,
}

/// The compiler's output for the kernels.
pub(crate) struct Compiled {
    pub(crate) code: Vec<u8>,
    pub(crate) warnings: String,
    /// The files that it read.
    pub(crate) read: Vec<PathBuf>,
    /// The LLVM IR.
    pub(crate) ir: String,
}

/// The compiler runtime that `rustc` requests: the functions that LLVM calls by name.
const BUILTINS: &str = r#"#![no_std]
#![feature(compiler_builtins)]
#![compiler_builtins]
#![allow(internal_features)]

#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    let mut i = 0;
    while i < n {
        // SAFETY: the caller ensures that both have n bytes.
        let (x, y) = unsafe { (*a.add(i), *b.add(i)) };
        if x != y {
            return x as i32 - y as i32;
        }
        i += 1;
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    // SAFETY: the contract is the same.
    unsafe { memcmp(a, b, n) }
}
"#;

/// Bytes of stack that are reserved in addition to the largest function's frame.
const ALLOWANCE: u32 = 512;

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
    |reason| Error::File { path: path.to_owned(), reason }
}

pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, bytes).map_err(file_error(path))
}

pub(crate) fn create(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(file_error(path))
}

/// Returns a command for a compiler, without the flags of the surrounding build.
fn rustc(toolchain: &Toolchain) -> Command {
    let mut command = Command::new(&toolchain.rustc);
    // The stable compiler does not support the target without it.
    command.env("RUSTC_BOOTSTRAP", "1");
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        command.env_remove(name);
    }
    command
}

fn run(command: &mut Command, source: &Path, arch: &str) -> Result<String> {
    let program = PathBuf::from(command.get_program());
    let output = command.output().map_err(file_error(&program))?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(log)
    } else {
        Err(Error::Compilation { source: source.to_owned(), arch: arch.to_owned(), log })
    }
}

/// Creates a folder unless another build already has. It is created under another name and renamed, since two builds
/// may run at the same time.
fn once(folder: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let complete = folder.join("complete");
    if complete.is_file() {
        return Ok(());
    }
    let mut aside = folder.as_os_str().to_owned();
    // Threads of one process may create folders at the same time, too.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    aside.push(format!(".{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed)));
    let aside = PathBuf::from(aside);
    let _ = fs::remove_dir_all(&aside);
    create(&aside)?;
    let made = make(&aside).and_then(|()| write(&aside.join("complete"), ""));
    if made.is_ok() && fs::rename(&aside, folder).is_err() && !complete.is_file() {
        // The rest of an interrupted build.
        let _ = fs::remove_dir_all(folder);
        fs::rename(&aside, folder).map_err(file_error(folder))?;
    }
    let _ = fs::remove_dir_all(&aside);
    made
}

impl<'a> Prepared<'a> {
    /// Compiles the dependencies of kernels, unless another build already has: in `cache`, keyed by the versions of all
    /// inputs.
    pub(crate) fn new(
        toolchain: &'a Toolchain,
        sources: &'a Sources,
        arch: &'a str,
        panics: Panics,
        cache: &Path,
    ) -> Result<Self> {
        let name = |what: &dyn Fn(&mut DefaultHasher)| {
            let mut hasher = DefaultHasher::new();
            // The flags are determined by this source file.
            (
                env!("CARGO_PKG_VERSION"),
                include_str!("compile.rs"),
                include_str!("core_source.rs"),
                &toolchain.version,
                &toolchain.library,
                arch,
                panics,
            )
                .hash(&mut hasher);
            what(&mut hasher);
            cache.join(format!("{arch}-{:016x}", hasher.finish()))
        };
        let sources_hash = sources.hash()?;
        let sysroot = name(&|_| {});
        let folder = name(&|hasher| sources_hash.hash(hasher));
        let of = |sysroot: &Path, folder: &Path| Self {
            toolchain,
            sources,
            arch,
            panics,
            sysroot: sysroot.to_owned(),
            folder: folder.to_owned(),
        };
        once(&sysroot, |aside| of(aside, aside).core())?;
        once(&folder, |aside| of(&sysroot, aside).device_library())?;
        Ok(of(&sysroot, &folder))
    }

    fn libraries(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib").join(TARGET).join("lib")
    }

    /// Returns a command of the compiler for the device.
    fn device(&self, edition: &str) -> Command {
        let mut command = rustc(self.toolchain);
        command.args(["--target", TARGET, "--edition", edition]).arg("--sysroot").arg(&self.sysroot);
        command.arg(format!("-Ctarget-cpu={}", self.arch));
        // Panic locations name files as the crate does, without folders of the build machine.
        let here = std::env::current_dir().unwrap_or_default();
        for (from, to) in [
            (self.toolchain.library.as_path(), "library"),
            (self.sources.device.as_path(), "hip-kernel"),
            (self.sysroot.as_path(), "sysroot"),
            (self.sysroot.join("library").as_path(), "library"),
            (here.as_path(), "."),
        ] {
            let mut flag = std::ffi::OsString::from("--remap-path-prefix=");
            flag.push(from);
            flag.push(format!("={to}"));
            command.arg(flag);
        }
        // LLVM's code generator fails without optimisation. `rust-lld` links bitcode, which the device library contains.
        command.args(["-Copt-level=3", "-Ccodegen-units=1", "-Clinker-plugin-lto", "-Zunstable-options"]);
        // Rust does not mark barriers and shuffles as operations that must not be moved into a branch or copied to both of its sides.
        // Without this flag LLVM copies `if lane == 0 { .. } barrier();` into two paths, and threads no longer meet.
        command.arg("-Cllvm-args=-force-attribute=convergent");
        command.arg(match self.panics {
            Panics::Report => "-Cpanic=abort",
            Panics::Trap => "-Cpanic=immediate-abort",
        });
        command
    }

    fn library(&self, name: &str, edition: &str, source: &Path, folder: &Path, flags: &[&OsStr]) -> Result<()> {
        let mut command = self.device(edition);
        command.args(["--crate-type", "rlib", "--cap-lints", "allow", "-Zcross-crate-inline-threshold=always"]);
        command.arg("--crate-name").arg(name).arg(source).arg("--out-dir").arg(folder).args(flags);
        run(&mut command, source, self.arch).map(drop)
    }

    fn core(&self) -> Result<()> {
        let folder = self.libraries();
        create(&folder)?;
        let library = &core_source::prepare(&self.toolchain.library, &self.sysroot)?;
        let unstable = [OsStr::new("-Zforce-unstable-if-unmarked")];
        self.library("core", "2024", &library.join("core/src/lib.rs"), &folder, &unstable)?;
        let builtins = self.sysroot.join("builtins.rs");
        write(&builtins, BUILTINS)?;
        self.library("compiler_builtins", "2024", &builtins, &folder, &unstable)?;
        let libm = library.join("compiler-builtins/libm/src/lib.rs");
        self.library("libm", "2021", &libm, &folder, &[OsStr::new("--cfg=feature=\"arch\"")])
    }

    fn device_library(&self) -> Result<()> {
        create(&self.folder)?;
        let macros = self.sources.macros.join("src/lib.rs");
        let mut command = rustc(self.toolchain);
        command.args([
            "--crate-name",
            "hip_kernel_macros",
            "--edition",
            "2024",
            "--crate-type",
            "proc-macro",
            "--cap-lints",
            "allow",
        ]);
        command.arg(&macros).arg("--out-dir").arg(&self.folder).args(["--extern", "proc_macro"]);
        run(&mut command, &macros, &self.toolchain.host)?;
        let source = self.sources.device.join("src/lib.rs");
        let [mut macros, mut libm] = [std::ffi::OsString::from("hip_kernel_macros="), "libm=".into()];
        macros.push(self.macros());
        libm.push(self.libraries().join("liblibm.rlib"));
        let flags = [OsStr::new("--extern"), &macros, OsStr::new("--extern"), &libm];
        self.library("hip_kernel", "2024", &source, &self.folder, &flags)
    }

    fn macros(&self) -> PathBuf {
        let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        self.folder.join(format!("{prefix}hip_kernel_macros{suffix}"))
    }

    /// Compiles the program's kernels, in `folder`.
    pub(crate) fn kernels(&self, source: &Source<'_>, folder: &Path) -> Result<Compiled> {
        create(folder)?;
        let compiled = self.link(source, folder, None)?;
        let unreadable = || Error::Invalid(format!("{}: a code object without symbols", source.module.display()));
        let kernels = stack::unstated(&compiled.code).ok_or_else(unreadable)?;
        if !kernels.is_empty() {
            return Err(Error::Stack { source: source.module.to_path_buf(), kernels });
        }
        if !stack::is_dynamic(&compiled.code).ok_or_else(unreadable)? {
            return Ok(compiled);
        }
        let callers = callers(&compiled.ir);
        let largest = |code: &[u8]| stack::largest_function(code).ok_or_else(unreadable);
        // The first code does not contain the final frame sizes, since the calls of the check make frames larger.
        let (mut compiled, mut known) = (compiled, None);
        let mut margin = 0;
        for _ in 0..4 {
            let now = largest(&compiled.code)?;
            if known.is_some_and(|known| now <= known) {
                break;
            }
            (known, margin) = (Some(now), now.saturating_add(ALLOWANCE));
            let check = StackCheck { library: self.stack_check(folder, margin)?, callers: &callers };
            compiled = self.link(source, folder, Some(&check))?;
        }
        let kernels = stack::too_small(&compiled.code, margin).ok_or_else(unreadable)?;
        if kernels.is_empty() {
            return Ok(compiled);
        }
        let kernels = kernels.into_iter().map(|TooSmall { kernel, stated, needed }| (kernel, stated, needed)).collect();
        Err(Error::StackTooSmall { source: source.module.to_path_buf(), kernels })
    }

    /// Compiles the function that other functions call first. It ends a wave whose remaining stack is smaller than
    /// `margin`.
    ///
    /// It is a separate crate: in a crate that is compiled with such calls it would call itself.
    fn stack_check(&self, folder: &Path, margin: u32) -> Result<PathBuf> {
        let source = folder.join("hip_kernel_stack.rs");
        let text = format!(
            "#![no_std]\n#[unsafe(export_name = \"mcount\")]\npub extern \"C\" fn check() {{ hip_kernel::panic::check_stack({margin}) }}\n\
             #[used]\npub static KEPT: extern \"C\" fn() = check;\n"
        );
        write(&source, text)?;
        let device = named("hip_kernel", &self.folder.join("libhip_kernel.rlib"));
        let libraries = self.libraries();
        let flags =
            ["--extern".as_ref(), &*device, "-L".as_ref(), self.folder.as_ref(), "-L".as_ref(), libraries.as_ref()];
        self.library("hip_kernel_stack", "2024", &source, folder, &flags)?;
        Ok(folder.join("libhip_kernel_stack.rlib"))
    }

    /// Compiles and links, with calls of the check at the start of each function if a check is given.
    fn link(&self, source: &Source<'_>, folder: &Path, stack_check: Option<&StackCheck<'_>>) -> Result<Compiled> {
        let Source { module: source, root, linked, lines, edition, cfgs, debug_assertions } = source;
        let output = folder.join("kernels.elf");
        let mut command = self.device(edition);
        for cfg in *cfgs {
            command.arg("--cfg").arg(cfg);
        }
        if *debug_assertions {
            // The checks of `core`'s own contracts would format their messages: much code that no kernel needs.
            command.args(["-Cdebug-assertions=on", "-Coverflow-checks=on", "-Zub-checks=no"]);
        }
        command.args(["--crate-type", "cdylib", "--crate-name", "kernels"]).arg(root);
        command.arg("--check-cfg=cfg(hip_kernel_stack)");
        if let Some(StackCheck { library, callers }) = stack_check {
            command.arg("--cfg=hip_kernel_stack").arg("--extern").arg(named("hip_kernel_stack", library));
            // The calls are inserted after inlining. LLVM must not conclude earlier that functions do not need what the check needs.
            command.arg("-Cllvm-args=-amdgpu-attributor-enable=false");
            let list = folder.join("callers.csv");
            write(&list, callers)?;
            match list.to_str().filter(|path| !path.contains(char::is_whitespace)) {
                Some(path) => command.arg(format!("-Cllvm-args=-forceattrs-csv-path={path}")),
                // LLVM's arguments are split at spaces, so a path with spaces cannot be passed. Then kernels call the check too, which is
                // slower.
                None => command.arg("-Zinstrument-mcount"),
            };
            command.args(["-Clink-arg=-mllvm", "-Clink-arg=--amdgpu-attributor-enable=false"]);
            // Writes the frame size of each function.
            command.args(["-Clink-arg=-mllvm", "-Clink-arg=--stack-size-section"]);
        }
        if *lines {
            command.arg("-Cdebuginfo=line-tables-only");
        }
        // Temporary files are written here, too.
        command.arg("--out-dir").arg(folder);
        let mut device = std::ffi::OsString::from("hip_kernel=");
        device.push(self.folder.join("libhip_kernel.rlib"));
        command.arg("--extern").arg(device).arg("-L").arg(&self.folder).arg("-L").arg(self.libraries());
        for path in linked.iter().chain([&self.sources.device.join("ir/device.bc")]) {
            let mut bitcode = std::ffi::OsString::from("-Clink-arg=");
            bitcode.push(std::path::absolute(path).map_err(file_error(path))?);
            command.arg(bitcode);
        }
        // The descriptors of kernels are listed as exported before the linker has compiled them.
        command.args(["-Clink-arg=--undefined-version", "-Clink-arg=--no-undefined"]);
        // HIP 5.7 loads nothing newer than version 5 of code objects.
        command.args(["-Clink-arg=-mllvm", "-Clink-arg=--amdhsa-code-object-version=5"]);
        let emitted =
            [("link", &output), ("dep-info", &folder.join("kernels.d")), ("llvm-ir", &folder.join("kernels.ll"))];
        for (kind, path) in emitted {
            let mut flag = std::ffi::OsString::from(format!("--emit={kind}="));
            flag.push(path);
            command.arg(flag);
        }
        let warnings = match run(&mut command, source, self.arch) {
            Err(Error::Compilation { log, .. }) if log.contains("undefined symbol: ") => {
                return Err(Error::Missing { source: source.to_path_buf(), functions: undefined(&log) });
            }
            other => other?,
        };
        let path = folder.join("kernels.ll");
        let ir = fs::read_to_string(&path).map_err(file_error(&path))?;
        let _ = fs::remove_file(&path);
        let dropped = dropped(&ir);
        if !dropped.is_empty() {
            return Err(Error::Missing { source: source.to_path_buf(), functions: dropped });
        }
        let code = fs::read(&output).map_err(file_error(&output))?;
        let dependencies = fs::read_to_string(folder.join("kernels.d")).unwrap_or_default();
        Ok(Compiled { code, warnings, read: read_files(&dependencies), ir })
    }
}

/// The inputs of the stack check: its crate, and the functions that call it.
struct StackCheck<'a> {
    library: PathBuf,
    callers: &'a str,
}

/// Returns the functions that call the stack check, as a list for LLVM: all functions of a module except its kernels.
fn callers(ir: &str) -> String {
    let functions = ir.lines().filter(|line| line.starts_with("define ") && !line.contains(" amdgpu_kernel "));
    let names =
        functions.filter_map(|line| line.split_once('@')?.1.split_once('(')).map(|(name, _)| name.trim_matches('"'));
    names.map(|name| format!("{name},instrument-function-entry-inlined=mcount\n")).collect()
}

/// Returns `NAME=PATH`.
fn named(name: &str, path: &Path) -> std::ffi::OsString {
    let mut text = std::ffi::OsString::from(name);
    text.push("=");
    text.push(path);
    text
}

/// Returns the symbols that the linker did not find.
fn undefined(log: &str) -> Vec<String> {
    let mut names: Vec<_> = log
        .lines()
        .filter_map(|line| Some(line.split_once("undefined symbol: ")?.1.trim().trim_end_matches('`').to_owned()))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Returns LLVM's intrinsics for which AMD GPUs have neither an instruction nor a function: their calls would vanish.
fn dropped(ir: &str) -> Vec<String> {
    const ALWAYS: [&str; 11] =
        ["pow", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "frem", "sincos"];
    const DOUBLE: [&str; 8] = ["exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos"];
    let mut found: Vec<String> = ir
        .lines()
        .filter(|line| line.starts_with("declare"))
        .filter_map(|line| line.split_once("@llvm.")?.1.split_once('('))
        .filter(|(name, _)| {
            let (function, kind) = name.split_once('.').unwrap_or((name, ""));
            ALWAYS.contains(&function) || (DOUBLE.contains(&function) && kind == "f64")
        })
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Returns the files in a make rule.
fn read_files(rule: &str) -> Vec<PathBuf> {
    let Some((_, list)) = rule.lines().find_map(|line| line.split_once(": ")) else { return Vec::new() };
    let (mut files, mut name, mut letters) = (Vec::new(), String::new(), list.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => name.extend(letters.next()),
            ' ' => files.extend(Some(std::mem::take(&mut name)).filter(|name| !name.is_empty()).map(PathBuf::from)),
            other => name.push(other),
        }
    }
    files.extend(Some(name).filter(|name| !name.is_empty()).map(PathBuf::from));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_are_not_there_are_named() {
        let ir = "declare double @llvm.exp.f64(double) #1\ndeclare float @llvm.exp.f32(float)\ndeclare float @llvm.pow.f32(float, float)\n";
        assert_eq!(dropped(ir), ["`exp.f64`", "`pow.f32`"]);
        let log =
            "rust-lld: error: undefined symbol: sinf\n>>> referenced by x\nrust-lld: error: undefined symbol: sinf\n";
        assert_eq!(undefined(log), ["sinf"]);
    }

    #[test]
    fn rules_of_make_are_read() {
        assert_eq!(
            read_files("a/kernels.elf: src/a.rs src/b\\ c.rs\n\nsrc/a.rs:\n"),
            [Path::new("src/a.rs"), Path::new("src/b c.rs")]
        );
        assert_eq!(read_files(""), [""; 0].map(PathBuf::from));
    }
}

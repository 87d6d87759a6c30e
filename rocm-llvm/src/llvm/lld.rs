//! Linking of objects to code objects, with `lld`.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::{Error, Result};
use super::library;
use super::object::Object;

/// An `lld`, which links objects for AMD GPUs to code objects that the HIP runtime loads. LLVM has no C interface for
/// this, so each link starts a process.
///
/// ```
/// use rocm_llvm::llvm::{Linker, Optimization, TargetMachine};
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let machine = TargetMachine::new("gfx90a", Optimization::Default)?;
/// let object = machine.assemble("f.s", ".globl f\nf:\n  s_endpgm\n")?;
/// match Linker::find() {
///     Ok(linker) => println!("{}: {} bytes", linker.path().display(), linker.link(&[object])?.len()),
///     Err(error) => println!("{error}"), // lists every place tried
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Linker {
    path: PathBuf,
    /// The program contains several linkers, one of which must be selected.
    flavor: bool,
}

impl Linker {
    /// Finds an `lld`: ROCm's (`llvm/bin/ld.lld`), the system's (`ld.lld` in `PATH` or `/usr/lib/llvm-*/bin`), or the
    /// one in the Rust toolchain (`rust-lld`). Each is started once, to check that it runs.
    ///
    /// A process with more rights than its user (set-uid) does not search `PATH` or the Rust toolchain.
    ///
    /// # Errors
    /// [`Error::NoLinker`] with every place tried.
    pub fn find() -> Result<Self> {
        let mut tried = Vec::new();
        for path in places() {
            if !path.is_file() {
                tried.push(format!("{}: not found", path.display()));
                continue;
            }
            match Self::at(&path) {
                Ok(linker) => return Ok(linker),
                Err(error) => tried.push(error.to_string()),
            }
        }
        Err(Error::NoLinker { tried })
    }

    /// Uses the program `path`: an `ld.lld`, `lld` or `rust-lld`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the path is not absolute; [`Error::Linker`] or [`Error::Io`] if it does not run, or is
    /// another linker.
    pub fn at(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        if !path.is_absolute() {
            return Err(Error::invalid("linker", format!("{}: the path is not absolute", path.display())));
        }
        let flavor = matches!(path.file_stem().and_then(OsStr::to_str), Some("lld" | "rust-lld"));
        let linker = Self { path, flavor };
        let version = linker.run(&["--version".as_ref()])?;
        match version.contains("LLD") {
            true => Ok(linker),
            false => Err(Error::Linker { path: linker.path, status: "not lld".to_owned(), message: version }),
        }
    }

    /// Returns the program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Links objects to a code object.
    ///
    /// # Errors
    /// [`Error::Object`] if an input is not an object for AMD GPUs; [`Error::Linker`] with the linker's output, such as
    /// an undefined symbol; [`Error::Io`]; [`Error::Invalid`] without an input.
    pub fn link(&self, objects: &[impl AsRef<[u8]>]) -> Result<Vec<u8>> {
        if objects.is_empty() {
            return Err(Error::invalid("link", "no object"));
        }
        for object in objects {
            if !Object::parse(object.as_ref())?.is_relocatable() {
                return Err(Error::Object { why: "it is not an object to be linked, but linked already".to_owned() });
            }
        }
        let folder = Folder::new()?;
        let output = folder.0.join("linked");
        let mut arguments: Vec<&OsStr> =
            ["-m", "elf64_amdgpu", "--no-undefined", "-shared", "-o"].map(OsStr::new).into();
        arguments.push(output.as_os_str());
        let mut inputs = Vec::new();
        for (at, object) in objects.iter().enumerate() {
            let path = folder.0.join(format!("{at}.o"));
            fs::write(&path, object.as_ref())
                .map_err(|e| Error::io(format!("{} cannot be written", path.display()), &e))?;
            inputs.push(path);
        }
        arguments.extend(inputs.iter().map(|path| path.as_os_str()));
        self.run(&arguments)?;
        fs::read(&output).map_err(|e| Error::io(format!("{} cannot be read", output.display()), &e))
    }

    fn run(&self, arguments: &[&OsStr]) -> Result<String> {
        let mut command = Command::new(&self.path);
        if self.flavor {
            command.args(["-flavor", "gnu"]);
        }
        let output = command.args(arguments).output();
        let output = output.map_err(|e| Error::io(format!("{} cannot be started", self.path.display()), &e))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(Error::Linker {
                path: self.path.clone(),
                status: output.status.to_string(),
                message: text(&output.stderr),
            }),
        }
    }
}

/// Links objects for AMD GPUs to a code object, with the `lld` that [`Linker::find`] finds.
///
/// # Errors
/// Those of [`Linker::find`] and [`Linker::link`].
pub fn link(objects: &[impl AsRef<[u8]>]) -> Result<Vec<u8>> {
    Linker::find()?.link(objects)
}

fn places() -> Vec<PathBuf> {
    let mut places = Vec::new();
    for installation in rocm_loader::process_search().installations() {
        for folder in ["llvm/bin", "lib/llvm/bin", "bin"] {
            places.push(installation.root.join(folder).join("ld.lld"));
        }
    }
    let set_uid = library::set_uid();
    if let (false, Some(path)) = (set_uid, std::env::var_os("PATH")) {
        let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
        // Folders of the path without it are not listed.
        places.extend(folders.map(|folder| folder.join("ld.lld")).filter(|file| file.is_file()));
    }
    let mut versioned: Vec<(u32, PathBuf)> = Vec::new();
    for entry in fs::read_dir("/usr/lib").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.strip_prefix("llvm-")?.parse().ok());
        versioned.extend(number.map(|number| (number, entry.path().join("bin").join("ld.lld"))));
    }
    versioned.sort();
    places.extend(versioned.into_iter().rev().map(|(_, path)| path));
    if !set_uid {
        for sysroot in library::rust_sysroots() {
            for entry in fs::read_dir(sysroot.join("lib").join("rustlib")).into_iter().flatten().flatten() {
                let path = entry.path().join("bin").join(if cfg!(windows) { "rust-lld.exe" } else { "rust-lld" });
                places.extend(Some(path).filter(|path| path.is_file()));
            }
        }
    }
    places
}

/// A private folder of this process, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let base = std::env::temp_dir();
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            let name = format!("rocm-llvm-{}-{count}-{:x}", std::process::id(), time.as_nanos());
            let path = base.join(name);
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(format!("{} cannot be made", path.display()), &error)),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If the folder cannot be deleted, the system has to clean it up.
        _ = fs::remove_dir_all(&self.0);
    }
}

//! Locations of our libraries and of ROCm.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use hsa_sim::DriverFiles;
use rocm_sdk::{Layout, install};

/// The name that ROCm asks for.
const NAME: &str = "libhsa-runtime64.so.1";
/// A library that programs link to and that Debian's ROCm lacks.
const TRACER: &str = "libroctracer64.so.4";
/// The dynamic loader of a ROCm tree that comes with its own C library.
const LOADER: &str = "ld-linux-x86-64.so.2";

/// Our library, which is installed next to this program.
pub(super) fn library() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("HIP_SIM_LIBRARY") {
        let path = PathBuf::from(given);
        return if path.is_file() {
            Ok(path)
        } else {
            bail!("HIP_SIM_LIBRARY={}: there is no such file", path.display())
        };
    }
    let program = std::env::current_exe().context("this program's own path is unknown")?;
    let beside = program.with_file_name("libhsa-runtime64");
    if beside.is_file() {
        return Ok(beside);
    }
    bail!(
        "{} is missing: `cargo install --locked --path sim/hsa-sim --features cli` installs it with this command; HIP_SIM_LIBRARY can name another",
        beside.display()
    )
}

/// A folder in which our library has the name that ROCm asks for.
pub(super) fn library_folder() -> Result<PathBuf> {
    linked(&library()?.canonicalize()?, NAME)
}

/// A folder with libraries for a ROCm that lacks them; `None` if they are not installed.
pub(super) fn fallback_folder() -> Option<PathBuf> {
    let tracer = library().ok()?.canonicalize().ok()?.with_file_name("libroctracer64");
    if tracer.is_file() { linked(&tracer, TRACER).ok() } else { None }
}

/// Returns a folder in which a library has the name `name`.
fn linked(library: &Path, name: &str) -> Result<PathBuf> {
    let cache = cache()?;
    // One folder per library, so that it never changes under a running program.
    let mut hash = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(&library, &mut hash);
    let folder = cache.join(format!("{:016x}", std::hash::Hasher::finish(&hash)));
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let link = folder.join(name);
    if std::fs::read_link(&link).is_ok_and(|target| target == *library) {
        return Ok(folder);
    }
    let new = folder.join(format!("new-{}", std::process::id()));
    std::os::unix::fs::symlink(library, &new).with_context(|| format!("writing {}", new.display()))?;
    std::fs::rename(&new, &link).with_context(|| format!("writing {}", link.display()))?;
    Ok(folder)
}

/// The cache folder.
fn cache() -> Result<PathBuf> {
    let cache = match std::env::var_os("XDG_CACHE_HOME") {
        Some(cache) if Path::new(&cache).is_absolute() => PathBuf::from(cache),
        _ => PathBuf::from(std::env::var_os("HOME").context("neither XDG_CACHE_HOME nor HOME is set")?).join(".cache"),
    };
    Ok(cache.join("hip-sim"))
}

/// The library that shows programs the kernel driver's files. It is installed next to the other one.
pub(super) fn driver_library() -> Result<PathBuf> {
    let library = library()?.canonicalize()?.with_file_name("libhip-sim-driver");
    if library.is_file() { Ok(library) } else { bail!("there is no {}", library.display()) }
}

/// Returns a folder with these files, and writes it if it does not exist. Runs with the same GPUs share it.
pub(super) fn driver_folder(files: &DriverFiles) -> Result<PathBuf> {
    let cache = cache()?;
    let folder = cache.join(format!("driver-{:016x}", files.fingerprint()));
    if folder.is_dir() {
        return Ok(folder);
    }
    // Written under another name and renamed: another run may write it at the same time.
    let new = cache.join(format!("new-driver-{}", std::process::id()));
    files.write(&new).with_context(|| format!("writing {}", new.display()))?;
    if std::fs::rename(&new, &folder).is_err() {
        std::fs::remove_dir_all(&new).with_context(|| format!("removing {}", new.display()))?;
    }
    if folder.is_dir() { Ok(folder) } else { bail!("writing {}", folder.display()) }
}

/// A ROCm installation.
#[derive(Debug)]
pub(super) struct Rocm {
    pub(super) root: PathBuf,
    /// The folder of its libraries.
    pub(super) libraries: PathBuf,
    /// The dynamic loader to start programs with, if the libraries come with their own C library.
    pub(super) loader: Option<PathBuf>,
}

impl Rocm {
    /// Finds the installation in a folder, or of a release that `rocm-sdk install` has installed. Without `wanted`, it
    /// is the one that programs find, else the newest installed release.
    pub(super) fn find(wanted: Option<&str>) -> Result<Self> {
        let installed = || install::installed().unwrap_or_default();
        if let Some(wanted) = wanted {
            if let Some(found) = installed().into_iter().find(|installed| installed.release() == wanted) {
                return Self::at(&found.root());
            }
            let path = std::path::absolute(wanted)?;
            return Self::at(&path).or_else(|error| {
                let names: Vec<_> = installed().iter().map(|installed| installed.release().to_owned()).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                if install::RELEASES.iter().any(|release| release.name == wanted) && !path.exists() {
                    bail!("ROCm {wanted} is not installed (installed: {names}); `rocm-sdk install {wanted}` installs it without root");
                }
                let known: Vec<_> = install::RELEASES.iter().map(|release| release.name).collect();
                Err(error).with_context(|| {
                    format!(
                        "{wanted} is neither a release that `rocm-sdk install` has installed ({names}; it can install {}) nor a folder with ROCm",
                        known.join(", ")
                    )
                })
            });
        }
        match rocm_sdk::layout() {
            Ok(layout) => Ok(Self::of(&layout)),
            Err(error) => match installed().last() {
                Some(newest) => Self::at(&newest.root()),
                None => Err(error).context("no ROCm was found (`rocm-sdk install 7.2` installs it without root)"),
            },
        }
    }

    /// The installation at `root`, or in its `usr`, where an unpacked release has its files.
    fn at(root: &Path) -> Result<Self> {
        let layout = Layout::at(root).or_else(|| Layout::at(root.join("usr")));
        let layout = layout.with_context(|| format!("neither {0} nor {0}/usr has ROCm's libraries", root.display()))?;
        Ok(Self::of(&layout))
    }

    fn of(layout: &Layout) -> Self {
        let libraries = layout.lib().to_owned();
        let loader = Some(libraries.join(LOADER)).filter(|loader| loader.is_file());
        // Debian's own ROCm is the system's and uses the system's loader.
        let loader = loader.filter(|_| layout.root() != Path::new("/usr"));
        Self { root: layout.root().to_owned(), libraries, loader }
    }
}

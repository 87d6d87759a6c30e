//! Detecting the GPUs of the machine, and the packages of a distribution for them.

mod tool;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Error;
use crate::gpu::{DetectedGpus, GpuSource, GpuTarget};
use crate::layout::SearchExt as _;
use crate::layout::{Layout, LayoutKind};
use rocm_loader::Search;
use rocm_loader::folders::names_in;
use rocm_loader::process::process_search;
use rocm_loader::text_file;

/// The variable that names the family.
const VARIABLE: &str = "ROCM_SDK_TARGET_FAMILY";

/// A target family. AMD's wheels with GPU code are named after the family of their GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFamily {
    /// Its name, such as `gfx94X-dcgpu`; for distributions with one package per GPU the target, such as `gfx942`.
    pub name: String,
    /// Why it was chosen.
    pub source: FamilySource,
}

impl fmt::Display for TargetFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Why a family was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FamilySource {
    /// `ROCM_SDK_TARGET_FAMILY` names it.
    Variable,
    /// It contains this GPU.
    Gpu(GpuTarget, GpuSource),
    /// It is the distribution's default.
    Default,
}

/// Detects GPUs and families. The methods configure it. Results are not cached, and each detection may start programs.
///
/// ```
/// use rocm_sdk::{Search, TargetDetection};
///
/// // Asks the kernel driver only; starts no program.
/// let gpus = TargetDetection::new(Search::nowhere()).tools(false).gpus();
/// for gpu in &gpus.targets {
///     println!("{gpu}, {:?}", gpu.kind());
/// }
/// ```
#[derive(Debug, Clone)]
pub struct TargetDetection {
    search: Search,
    sysfs: Option<PathBuf>,
    tools: bool,
    limit: Duration,
    available: Option<Vec<String>>,
    default: Option<String>,
}

impl TargetDetection {
    /// Creates a detection for the installation that `search` finds, with the search's environment.
    pub fn new(search: Search) -> Self {
        Self {
            search,
            sysfs: cfg!(target_os = "linux").then(|| PathBuf::from("/sys")),
            tools: true,
            limit: Duration::from_secs(10),
            available: None,
            default: None,
        }
    }

    /// Reads the driver's directory below this one instead of `/sys`; with `None`, does not read it.
    pub fn sysfs(mut self, folder: Option<PathBuf>) -> Self {
        self.sysfs = folder;
        self
    }

    /// Sets whether to ask the installation's programs (`offload-arch`, `amdgpu-arch`, `rocm_agent_enumerator`) before
    /// the driver's directory. The default is yes. In a container, they list the GPUs that are usable there; the driver
    /// lists all. A set-uid program starts none.
    pub fn tools(mut self, ask: bool) -> Self {
        self.tools = ask;
        self
    }

    /// Sets the time limit of each program. The default is 10 s.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the families to choose from, instead of those that the installed Python package `rocm_sdk` names, or whose
    /// wheels are installed.
    pub fn available<S: Into<String>>(mut self, families: impl IntoIterator<Item = S>) -> Self {
        self.available = Some(families.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the family to use if no GPU determines it, instead of the distribution's default.
    pub fn default_family(mut self, family: impl Into<String>) -> Self {
        self.default = Some(family.into());
        self
    }

    /// Returns all GPUs of this machine.
    pub fn gpus(&self) -> DetectedGpus {
        self.gpus_with(self.search.layout().ok().as_ref())
    }

    fn gpus_with(&self, layout: Option<&Layout>) -> DetectedGpus {
        let mut failures = Vec::new();
        let tools = layout.filter(|_| self.tools && !self.search.is_set_uid()).map_or_else(Vec::new, tools_of);
        for path in tools {
            match tool::output(&path, self.limit) {
                Ok(text) => {
                    let targets: Vec<_> = text.lines().filter_map(|line| GpuTarget::parse(line.trim())).collect();
                    if !targets.is_empty() {
                        return DetectedGpus { targets, source: Some(GpuSource::Tool(path)), failures };
                    }
                    failures.push((path, "names no GPU".to_owned()));
                }
                Err(why) => failures.push((path, why)),
            }
        }
        let Some(sysfs) = &self.sysfs else { return DetectedGpus { failures, ..Default::default() } };
        let nodes = sysfs.join("class/kfd/kfd/topology/nodes");
        let targets = gpus_of_driver(&nodes, &mut failures);
        let source = (!targets.is_empty()).then_some(GpuSource::Driver(nodes));
        DetectedGpus { targets, source, failures }
    }

    /// Returns the target family, in this order: `ROCM_SDK_TARGET_FAMILY`; the family of a GPU of this machine; the
    /// distribution's default.
    ///
    /// With several GPUs, data-centre GPUs come before graphics cards, and these before integrated GPUs; within a kind,
    /// the first in the driver's order whose family the distribution has. If the available families are unknown, as for
    /// ROCm that is not from wheels, the GPU's target is its family.
    ///
    /// # Errors
    /// [`Error::UnknownFamily`] if the variable names a family that the distribution lacks; [`Error::NoFamily`] if
    /// nothing determines the family.
    pub fn family(&self) -> Result<TargetFamily, Error> {
        let layout = self.search.layout().ok();
        let mut families = layout.as_ref().map(Families::of).unwrap_or_default();
        if let Some(available) = &self.available {
            families = Families { available: available.clone(), default: None };
        }
        families.default = self.default.clone().or(families.default);
        if let Some(value) = self.search.heeded(VARIABLE) {
            let family = value.to_string_lossy().trim().to_owned();
            if !families.available.is_empty() && !families.available.contains(&family) {
                return Err(Error::UnknownFamily { family, variable: VARIABLE, available: families.available });
            }
            return Ok(TargetFamily { name: family, source: FamilySource::Variable });
        }
        let gpus = self.gpus_with(layout.as_ref());
        let mut preferred = gpus.targets.clone();
        preferred.sort_by_key(GpuTarget::kind);
        for target in &preferred {
            if let (Some(name), Some(source)) = (families.of_target(target), &gpus.source) {
                let source = FamilySource::Gpu(target.clone(), source.clone());
                return Ok(TargetFamily { name, source });
            }
        }
        match families.default {
            Some(name) => Ok(TargetFamily { name, source: FamilySource::Default }),
            None => Err(Error::NoFamily { gpus: Box::new(gpus), available: families.available }),
        }
    }
}

/// Returns the family for this machine and the installation that the search of this process finds; see
/// [`TargetDetection::family`].
///
/// # Errors
/// The same as [`TargetDetection::family`].
///
/// ```
/// match rocm_sdk::target_family() {
///     Ok(family) => println!("{family} ({:?})", family.source),
///     Err(error) => println!("{error}"),
/// }
/// ```
pub fn target_family() -> Result<TargetFamily, Error> {
    TargetDetection::new(process_search()).family()
}

/// Returns the programs of an installation that list GPUs.
fn tools_of(layout: &Layout) -> Vec<PathBuf> {
    let llvm = layout.llvm().join("bin");
    let bin = |root: &Path| root.join("bin");
    let mut paths = vec![layout.bin().join("offload-arch")];
    paths.extend(layout.library_roots().iter().map(|root| bin(root).join("offload-arch")));
    paths.extend([llvm.join("offload-arch"), llvm.join("amdgpu-arch"), layout.bin().join("rocm_agent_enumerator")]);
    paths.extend(layout.library_roots().iter().map(|root| bin(root).join("rocm_agent_enumerator")));
    let mut seen = Vec::new();
    for path in paths.into_iter().map(|path| path.with_extension(std::env::consts::EXE_EXTENSION)) {
        let file = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if file.is_file() && !seen.iter().any(|(_, other)| *other == file) {
            seen.push((path, file));
        }
    }
    seen.into_iter().map(|(path, _)| path).collect()
}

/// Returns the GPUs among the driver's nodes, by the nodes' numbers.
fn gpus_of_driver(nodes: &Path, failures: &mut Vec<(PathBuf, String)>) -> Vec<GpuTarget> {
    let mut numbers: Vec<u32> = names_in(nodes, |_| true).iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    let mut targets = Vec::new();
    for number in numbers {
        let path = nodes.join(number.to_string()).join("properties");
        match text_file::read(&path) {
            Ok(text) => {
                let version = text.lines().find_map(|line| line.strip_prefix("gfx_target_version "));
                match version.map(|v| v.trim().parse::<u32>()) {
                    Some(Ok(version)) => targets.extend(GpuTarget::of_driver(version)),
                    Some(Err(error)) => failures.push((path, format!("gfx_target_version: {error}"))),
                    // The driver is too old to have this field.
                    None => {}
                }
            }
            Err(error) => failures.push((path, error.to_string())),
        }
    }
    targets
}

/// The families that a distribution has packages for.
#[derive(Debug, Default)]
struct Families {
    /// Empty if unknown.
    available: Vec<String>,
    default: Option<String>,
}

/// Returns the family in the name of a wheel's directory: `_rocm_sdk_libraries_gfx94X_dcgpu`. Wheels for one target
/// each have no such directory, but `rocm_sdk_device_gfx942-7.13.0.dist-info`.
fn family_of_wheel(name: &str) -> Option<String> {
    let device = || Some(name.strip_prefix("rocm_sdk_device_")?.strip_suffix(".dist-info")?.split_once('-')?.0);
    let family = name.strip_prefix("_rocm_sdk_libraries_").or_else(device).filter(|name| name.starts_with("gfx"))?;
    Some(family.replace('_', "-"))
}

impl Families {
    /// Returns the families of wheels: those that the package `rocm_sdk` names, otherwise those of the installed
    /// wheels.
    fn of(layout: &Layout) -> Self {
        let Some(site) = layout.root().parent().filter(|_| layout.kind() == LayoutKind::Wheels) else {
            return Self::default();
        };
        let told = text_file::read(&site.join("rocm_sdk/_dist_info.py")).ok().map(|text| Self::told_by(&text));
        let mut families = told.filter(|families| !families.available.is_empty()).unwrap_or_else(|| {
            let mut available: Vec<String> =
                names_in(site, |_| true).iter().filter_map(|name| family_of_wheel(name)).collect();
            available.sort();
            available.dedup();
            Self { available, default: None }
        });
        if let (None, [only]) = (&families.default, families.available.as_slice()) {
            families.default = Some(only.clone());
        }
        families
    }

    /// Parses the lines that the build appends to `_dist_info.py`: `DEFAULT_TARGET_FAMILY = 'X'`,
    /// `AVAILABLE_TARGET_FAMILIES.append('X')`.
    fn told_by(python: &str) -> Self {
        let quoted = |text: &str| -> Option<String> {
            let quote = text.chars().next().filter(|c| ['\'', '"'].contains(c))?;
            let inside = text[1..].split(quote).next()?;
            Some(inside.to_owned()).filter(|name| !name.is_empty() && name != "DEFAULT")
        };
        let mut families = Self::default();
        for line in python.lines() {
            if let Some(family) = line.strip_prefix("AVAILABLE_TARGET_FAMILIES.append(").and_then(quoted) {
                if !families.available.contains(&family) {
                    families.available.push(family);
                }
            }
            let default = line.strip_prefix("DEFAULT_TARGET_FAMILY").and_then(|rest| rest.split_once('='));
            if let Some(family) = default.and_then(|(_, value)| quoted(value.trim_start())) {
                families.default = Some(family);
            }
        }
        families
    }

    /// Returns the available family that contains this target: the first of `gfx94X-all`, `gfx94X-dcgpu`,
    /// `gfx942-dcgpu`, `gfx942`, `gfx94X`, `dcgpu-all` for `gfx942`.
    fn of_target(&self, target: &GpuTarget) -> Option<String> {
        let name = &target.name;
        if self.available.is_empty() {
            return Some(name.clone());
        }
        let any = format!("{}X", &name[..name.len() - 1]);
        let kind = target.kind().suffix();
        let names = [
            format!("{any}-all"),
            format!("{any}-{kind}"),
            format!("{name}-all"),
            format!("{name}-{kind}"),
            name.clone(),
            any,
            format!("{kind}-all"),
        ];
        // An available family may have a feature, `gfx942:xnack+`.
        let available =
            |name: &String| self.available.iter().find(|family| family.split(':').next() == Some(name.as_str()));
        names.iter().find_map(available).cloned()
    }
}

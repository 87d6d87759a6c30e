//! A command of `nvcc`: what its options ask for.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cuda_compat::device::COMPUTE_CAPABILITY;
use hip::Arch;

use super::options::{self, Fate, Given};
use super::source::Sources;
use super::tool;

/// The architecture if none is named and there is no GPU.
const DEFAULT: &str = "gfx90a";
/// The variable with architectures.
const VARIABLE: &str = "CUDA_COMPAT_ARCH";

/// NVIDIA's architectures that nvcc of the release knows.
pub(super) const NAMES: [u32; 17] = [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 120];

/// What is made of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing was said: a program, which is an error.
    #[default]
    Program,
    /// A text with device code, in a file with this ending.
    Text(&'static str),
    Object,
    DeviceLink,
    Library,
    Preprocess,
    Dependencies,
    Help,
    Version,
    Codes(&'static str),
}

/// A command.
#[derive(Debug, Default)]
pub(super) struct Job {
    pub(super) phase: Phase,
    pub(super) files: Vec<PathBuf>,
    pub(super) output: Option<PathBuf>,
    folder: Option<PathBuf>,
    /// Folders of headers.
    includes: Vec<PathBuf>,
    systems: Vec<PathBuf>,
    /// Headers before the source.
    pub(super) before: Vec<String>,
    /// Options for every compiler.
    pub(super) common: Vec<String>,
    /// Options in NVRTC's form.
    pub(super) device: Vec<String>,
    /// Options of clang, for code of the host and the device.
    pub(super) clang: Vec<String>,
    /// Options of the host's compiler.
    pub(super) host: Vec<String>,
    pub(super) compiler: Option<PathBuf>,
    pub(super) archiver: Option<PathBuf>,
    pub(super) archive: Vec<String>,
    pub(super) language: Option<String>,
    /// Compute capabilities times 10.
    capabilities: Vec<u32>,
    architectures: Vec<Arch>,
    /// The dependencies are written to a file, too.
    pub(super) depends: bool,
    pub(super) depends_file: Option<PathBuf>,
    pub(super) depends_target: Option<String>,
    depends_phony: bool,
    verbose: bool,
    dry: bool,
}

impl Job {
    /// Reads the command.
    pub(super) fn new(arguments: Vec<String>) -> Result<Self, String> {
        let parsed = options::parse(arguments)?;
        let mut job = Self { files: parsed.files.iter().map(PathBuf::from).collect(), ..Self::default() };
        job.verbose = parsed.options.iter().any(|given| given.spec.long == "verbose");
        for given in &parsed.options {
            match given.spec.fate {
                Fate::Refused => return Err(format!("'{}' is not supported: {}", given.written, given.spec.about)),
                Fate::Ignored => job.say(&format!("'{}' is ignored: {}", given.written, given.spec.about)),
                Fate::Mapped => job.apply(given)?,
            }
        }
        Ok(job)
    }

    /// Applies an option of the table.
    fn apply(&mut self, given: &Given) -> Result<(), String> {
        let value = || given.value.clone();
        let path = || Some(PathBuf::from(&given.value));
        let wrong = |why: &str| Err(format!("'{}': {why}", given.written));
        match given.spec.long {
            "compile" | "device-c" | "device-w" => self.phase = Phase::Object,
            "device-link" => self.phase = Phase::DeviceLink,
            "lib" => self.phase = Phase::Library,
            "ptx" => self.phase = Phase::Text("ptx"),
            "cubin" => self.phase = Phase::Text("cubin"),
            "fatbin" => self.phase = Phase::Text("fatbin"),
            "preprocess" => self.phase = Phase::Preprocess,
            "generate-dependencies" | "generate-nonsystem-dependencies" => self.phase = Phase::Dependencies,
            "generate-dependencies-with-compile" | "generate-nonsystem-dependencies-with-compile" => {
                self.depends = true
            }
            "dependency-output" => self.depends_file = path(),
            "dependency-target-name" => self.depends_target = Some(value()),
            "generate-dependency-targets" => self.depends_phony = true,
            "output-file" => self.output = path(),
            "output-directory" => self.folder = path(),
            "include-path" => self.includes.extend(folders(given)),
            "system-include" => self.systems.extend(folders(given)),
            "pre-include" => self.before.extend(given.values()),
            "define-macro" => self.common.extend(given.values().iter().map(|value| format!("-D{value}"))),
            "undefine-macro" => self.common.extend(given.values().iter().map(|value| format!("-U{value}"))),
            "std" => self.common.push(format!("-std={}", given.value)),
            "x" => match given.value.as_str() {
                "cu" | "c++" | "c" => self.language = Some(value()),
                _ => return wrong("the languages are cu, c++ and c"),
            },
            "optimize" => match given.value.as_str() {
                "0" | "1" | "2" | "3" | "s" | "z" | "fast" => self.common.push(format!("-O{}", given.value)),
                _ => return wrong("the levels are 0, 1, 2 and 3"),
            },
            "use_fast_math" => {
                self.device.push("--use_fast_math".to_owned());
                self.clang.push("-ffast-math".to_owned());
            }
            "ftz" => {
                self.device.push(format!("--ftz={}", given.value));
                self.clang.extend((given.value == "true").then(|| "-fgpu-flush-denormals-to-zero".to_owned()));
            }
            "fmad" => {
                self.device.push(format!("--fmad={}", given.value));
                self.clang.push(format!("-ffp-contract={}", if given.value == "true" { "fast" } else { "off" }));
            }
            "device-debug" => self.both("--device-debug", "-g"),
            "generate-line-info" => self.both("--generate-line-info", "-gline-tables-only"),
            "debug" => self.host.push("-g".to_owned()),
            "profile" => self.host.push("-pg".to_owned()),
            "gpu-architecture" => self.architecture(given, &given.value)?,
            "gpu-code" => {
                for code in given.values() {
                    self.code(given, code.trim_matches(['[', ']']))?;
                }
            }
            "generate-code" => self.generate(given)?,
            "relocatable-device-code" => {
                if given.value == "true" {
                    self.say(&format!("'{}' is ignored: each file is a program of the device", given.written));
                }
            }
            "default-stream" => match given.value.as_str() {
                "per-thread" => self.clang.push("-fgpu-default-stream=per-thread".to_owned()),
                "legacy" | "null" => {}
                _ => return wrong("the streams are legacy, null and per-thread"),
            },
            "compiler-bindir" => self.compiler = path(),
            "archiver-binary" => self.archiver = path(),
            "compiler-options" => {
                self.host.extend(given.values().iter().flat_map(|value| options::words(value)));
            }
            "archive-options" => self.archive.extend(given.values()),
            "disable-warnings" => self.both("--disable-warnings", "-w"),
            "verbose" => self.verbose = true,
            "dryrun" => (self.verbose, self.dry) = (true, true),
            "help" => self.phase = Phase::Help,
            "version" => self.phase = Phase::Version,
            "list-gpu-code" => self.phase = Phase::Codes("sm"),
            "list-gpu-arch" => self.phase = Phase::Codes("compute"),
            "warp-size" => match given.value.as_str() {
                "32" | "native" => self.device.push(format!("--warp-size={}", given.value)),
                _ => return wrong("warps have 32 lanes, or native ones"),
            },
            "saturating-shifts" | "divergent-collectives" => {
                self.device.push(format!("--{}={}", given.spec.long, given.value));
            }
            other => return Err(format!("--{other} is not known")),
        }
        Ok(())
    }

    fn both(&mut self, device: &str, clang: &str) {
        self.device.push(device.to_owned());
        self.clang.push(clang.to_owned());
    }

    /// Adds an architecture: one of AMD, or one of NVIDIA for `__CUDA_ARCH__`.
    fn architecture(&mut self, given: &Given, name: &str) -> Result<(), String> {
        if name.starts_with("gfx") {
            return self.code(given, name);
        }
        if matches!(name, "native" | "all" | "all-major") {
            return Ok(());
        }
        match number(name) {
            Some(capability) => self.capabilities.push(capability),
            None => {
                return Err(format!(
                    "'{}': '{name}' is no architecture: expected one of NVIDIA (sm_80, compute_80) or of AMD (gfx90a)",
                    given.written
                ));
            }
        }
        Ok(())
    }

    /// Adds an architecture of AMD, and checks one of NVIDIA.
    fn code(&mut self, given: &Given, name: &str) -> Result<(), String> {
        if name.starts_with("gfx") {
            let arch: Arch = name.parse().map_err(|error| format!("'{}': {error}", given.written))?;
            if !self.architectures.contains(&arch) {
                self.architectures.push(arch);
            }
            return Ok(());
        }
        match number(name) {
            _ if matches!(name, "native" | "all" | "all-major") => Ok(()),
            Some(_) => Ok(()),
            None => Err(format!("'{}': '{name}' is no architecture", given.written)),
        }
    }

    /// Reads `arch=compute_80,code=[sm_80,compute_80]`.
    fn generate(&mut self, given: &Given) -> Result<(), String> {
        let wrong = || format!("'{}': expected arch=compute_80,code=sm_80", given.written);
        let text = given.value.trim_matches('"');
        let (arch, code) = text.split_once(',').unwrap_or((text, ""));
        self.architecture(given, arch.strip_prefix("arch=").ok_or_else(wrong)?)?;
        if !code.is_empty() {
            let code = code.strip_prefix("code=").ok_or_else(wrong)?;
            for code in code.split(',') {
                self.code(given, code.trim_matches(['[', ']', '\\', '"', '\'']))?;
            }
        }
        Ok(())
    }

    /// Returns `__CUDA_ARCH__` divided by 10: the highest of the options that the device has, otherwise the lowest of them,
    /// and the device's without options.
    pub(super) fn cuda_arch(&self) -> u32 {
        let device = capability();
        let fitting = self.capabilities.iter().filter(|capability| **capability <= device).max();
        *fitting.or_else(|| self.capabilities.iter().min()).unwrap_or(&device)
    }

    /// Returns the architectures to compile for.
    pub(super) fn targets(&self) -> Result<Vec<Arch>, String> {
        if !self.architectures.is_empty() {
            return Ok(self.architectures.clone());
        }
        let variable = std::env::var(VARIABLE).unwrap_or_default();
        let mut targets: Vec<Arch> = Vec::new();
        for name in variable.split([',', ';', ' ']).filter(|name| !name.is_empty()) {
            targets.push(name.parse().map_err(|error| format!("{VARIABLE}={variable}: {error}"))?);
        }
        if targets.is_empty() {
            for device in hip::Device::all().unwrap_or_default() {
                // Without its features, so that the code runs whether XNACK is on or not.
                let arch = device.properties().ok().and_then(|properties| properties.arch.name().parse().ok());
                targets.extend(arch.filter(|arch| !targets.contains(arch)));
            }
        }
        if targets.is_empty() {
            targets.extend(DEFAULT.parse::<Arch>());
        }
        Ok(targets)
    }

    /// Writes to stderr, if `--verbose` was given.
    pub(super) fn say(&self, text: &str) {
        if self.verbose {
            let _ = writeln!(std::io::stderr(), "nvcc: {text}");
        }
    }

    /// The number of lanes of a warp for the prelude, if it was given: 0 for those of a wave.
    pub(super) fn lanes(&self) -> Option<u32> {
        self.device.iter().rev().find_map(|option| match option.strip_prefix("--warp-size=")? {
            "native" => Some(0),
            lanes => lanes.parse().ok(),
        })
    }

    /// Whether nothing is done.
    pub(super) fn is_dry(&self) -> bool {
        self.dry
    }

    /// Returns the folders of headers, in order, without those of CUDA.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let all = self.includes.iter().chain(&self.systems);
        let (cuda, others): (Vec<_>, Vec<_>) = all.cloned().partition(|folder| folder.join("cuda.h").is_file());
        for folder in cuda {
            self.say(&format!("-I{} is ignored: cuda-compat has CUDA's headers", folder.display()));
        }
        others
    }

    pub(super) fn headers_before(&self) -> &[String] {
        &self.before
    }

    pub(super) fn sources(&self, file: &Path) -> Result<Sources, String> {
        Sources::read(file, &self.before, &self.folders())
    }

    /// Returns the file that is made of a source.
    pub(super) fn output_of(&self, file: &Path, ending: &str) -> Result<PathBuf, String> {
        match &self.output {
            Some(output) if self.files.len() == 1 => Ok(output.clone()),
            Some(output) => Err(format!("-o {} with several files: use -odir", output.display())),
            None => Ok(self.folder.clone().unwrap_or_default().join(name(file, ending))),
        }
    }

    pub(super) fn output(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Writes what a file depends on beside its output.
    pub(super) fn write_rule(&self, file: &Path, output: &Path) -> Result<(), String> {
        let target = self.depends_target.clone().unwrap_or_else(|| output.display().to_string());
        let path = self.depends_file.clone().unwrap_or_else(|| output.with_extension("d"));
        tool::write(&path, self.rule(&target, file, &self.sources(file)?).as_bytes())
    }

    /// Returns a rule for make: a target and what it depends on.
    pub(super) fn rule(&self, target: &str, file: &Path, sources: &Sources) -> String {
        let escaped =
            |path: &Path| path.display().to_string().replace(' ', "\\ ").replace('#', "\\#").replace('$', "$$");
        let headers: Vec<String> = sources.headers().map(escaped).collect();
        let mut rule = format!("{target} : {}", escaped(file));
        headers.iter().for_each(|header| rule += &format!(" \\\n    {header}"));
        rule.push('\n');
        if self.depends_phony {
            headers.iter().for_each(|header| rule += &format!("\n{header}:\n"));
        }
        rule
    }
}

/// Returns the folders of an option: all that are named.
fn folders(given: &Given) -> impl Iterator<Item = PathBuf> {
    given.values().into_iter().map(PathBuf::from)
}

/// Returns the name of a file with another ending, without its folder.
pub(super) fn name(file: &Path, ending: &str) -> String {
    Path::new(file.file_name().unwrap_or_default()).with_extension(ending).display().to_string()
}

/// Returns the device's compute capability, times 10.
pub(super) fn capability() -> u32 {
    u32::try_from(COMPUTE_CAPABILITY.0 * 10 + COMPUTE_CAPABILITY.1).unwrap_or_default()
}

/// Returns the number of an architecture of NVIDIA: 80 for `sm_80`, 90 for `compute_90a`.
fn number(name: &str) -> Option<u32> {
    let number = ["compute_", "sm_", "lto_"].iter().find_map(|kind| name.strip_prefix(kind))?;
    number.trim_end_matches(['a', 'f']).parse().ok().filter(|number| (10..1000).contains(number))
}

/// A folder that is removed when it is dropped.
pub(super) struct Temporary(pub(super) PathBuf);

impl Temporary {
    pub(super) fn new() -> Result<Self, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let name = format!("cuda-compat-nvcc-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
            let path = std::env::temp_dir().join(name);
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("cannot create {}: {error}", path.display())),
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::{OPTIONS, Values};
    use super::*;

    fn job(arguments: &[&str]) -> Result<Job, String> {
        Job::new(arguments.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn every_option_of_the_table_does_what_it_says() {
        for spec in OPTIONS.iter().filter(|spec| spec.long != "options-file") {
            let values: &[&str] = match (spec.values, spec.long) {
                (_, "std") => &["c++17"],
                (_, "x") => &["cu"],
                (_, "optimize") => &["3"],
                (_, "gpu-architecture" | "gpu-code") => &["sm_80"],
                (_, "generate-code") => &["arch=compute_80,code=sm_80"],
                (_, "default-stream") => &["legacy"],
                (_, "warp-size") => &["native"],
                (Values::None | Values::Bool, _) => &[],
                (Values::One | Values::List, _) => &["1"],
            };
            for name in [format!("--{}", spec.long), format!("-{}", spec.short)] {
                let arguments: Vec<&str> = std::iter::once(name.as_str()).chain(values.iter().copied()).collect();
                match (spec.fate, job(&arguments)) {
                    (Fate::Refused, Err(error)) => {
                        assert!(error.contains(&name) && error.contains(spec.about), "{error}")
                    }
                    (Fate::Mapped | Fate::Ignored, Ok(_)) => {}
                    (fate, result) => panic!("{name} is {fate:?}, and gives {result:?}"),
                }
            }
        }
    }

    #[test]
    fn architectures_of_both_kinds_are_read() {
        let of = |arguments: &[&str]| {
            let job = job(arguments).unwrap();
            (job.cuda_arch(), job.architectures.iter().map(Arch::to_string).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), (80, vec![]));
        assert_eq!(of(&["-arch=sm_75"]), (75, vec![]));
        assert_eq!(
            of(&["-gencode=arch=compute_70,code=sm_70", "-gencode", "arch=compute_80,code=[sm_80,compute_80]"]),
            (80, vec![])
        );
        assert_eq!(of(&["-arch", "sm_90a", "--gpu-architecture=compute_120f"]), (90, vec![]));
        assert_eq!(of(&["-arch=native"]), (80, vec![]));
        assert_eq!(
            of(&["-arch=gfx90a", "-code=gfx942:xnack-,gfx90a"]),
            (80, vec!["gfx90a".into(), "gfx942:xnack-".into()])
        );
        assert_eq!(of(&["-gencode=arch=gfx90a,code=gfx90a"]), (80, vec!["gfx90a".into()]));
        for wrong in
            ["-arch=banana", "-arch=gfx90a:xnack", "-code=sm_x", "-gencode=sm_80", "-gencode=arch=compute_80,sm_80"]
        {
            assert!(job(&[wrong]).unwrap_err().contains(wrong), "{wrong}");
        }
    }

    #[test]
    fn outputs_have_nvccs_names() {
        let of = |arguments: &[&str]| {
            let job = job(arguments).unwrap();
            job.files.iter().map(|file| job.output_of(file, "ptx")).collect::<Vec<_>>()
        };
        assert_eq!(of(&["--ptx", "src/a.cu", "b.cu"]), [Ok("a.ptx".into()), Ok("b.ptx".into())]);
        assert_eq!(of(&["--ptx", "src/a.cu", "--output-directory", "out"]), [Ok("out/a.ptx".into())]);
        assert_eq!(of(&["-ptx", "src/a.cu", "-o", "x"]), [Ok("x".into())]);
        assert!(of(&["-ptx", "a.cu", "b.cu", "-o", "x"])[0].is_err());
    }

    #[test]
    fn rules_list_the_headers() {
        let folder = tempfile::tempdir().unwrap();
        let (source, header) = (folder.path().join("k.cu"), folder.path().join("a b.cuh"));
        std::fs::write(&source, "#include \"a b.cuh\"\n").unwrap();
        std::fs::write(&header, "").unwrap();
        let job = job(&["-MP"]).unwrap();
        let rule = job.rule("k.ptx", &source, &job.sources(&source).unwrap());
        let escaped = header.display().to_string().replace(' ', "\\ ");
        assert_eq!(rule, format!("k.ptx : {} \\\n    {escaped}\n\n{escaped}:\n", source.display()));
    }
}

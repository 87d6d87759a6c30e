//! Checks whether the libraries that the search finds can be loaded, alone and together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::loader::{Closure, Loader};
use super::places::{Place, place_of};
use super::problem::{Problems, Severity};
use crate::libraries;
use crate::probe::{Fault, Probe, Step};
use rocm_loader::installs;
use rocm_loader::report::Origin;
use rocm_loader::tree::{is_of_another_installation, is_one_installation};
use rocm_loader::version::{Release, release_of_file};
use rocm_loader::{LibrarySpec, NEWEST_RELEASE};

/// Reports all problems of the libraries.
pub(crate) fn judge(probes: &[Probe], places: &[Place], loader: &Loader, problems: &mut Problems) {
    let mut broken = Broken::default();
    for probe in probes {
        judge_one(probe, loader, &mut broken, problems);
    }
    broken.judge(places, problems);
    let opened: Vec<Opened> = probes.iter().filter_map(|probe| Opened::of(probe, loader)).collect();
    if judge_releases(&opened, problems) {
        judge_installations(&opened, problems);
    }
    judge_duplicates(&opened, problems);
    judge_loader_path(&opened, loader, problems);
    judge_absent(probes, problems);
}

fn judge_one(probe: &Probe, loader: &Loader, broken: &mut Broken, problems: &mut Problems) {
    let optional = libraries::by_short_name(&probe.library).is_some_and(|spec| spec.is_optional() || is_compiler(spec));
    let severity = if probe.found.is_some() || optional { Severity::Warning } else { Severity::Error };
    let mut seen = BTreeSet::new();
    for step in probe.faults() {
        // The step passed a name to the system loader.
        let by_name = || step.target.starts_with("lib").then(|| loader.locate(&step.target)).flatten();
        let path = by_name().unwrap_or_else(|| PathBuf::from(&step.target));
        // A file can have several names.
        if !seen.insert(real(&path)) {
            continue;
        }
        let path = path.as_path();
        if matches!(step.fault, Some(Fault::DependencyMissing | Fault::Refused | Fault::SystemTooOld)) {
            if let Some(directory) = path.parent().filter(|dir| !loader.leads_to(dir) && has_c_library(dir)) {
                let ours = step.step == Origin::Installed.to_string();
                let usable = if probe.through.is_some() { Severity::Warning } else { severity };
                broken.add_foreign(probe, usable, directory, Foreign::of(path, ours));
                broken.add(probe, severity, loader.with(directory).closure(path));
                continue;
            }
            let closure = if path.is_absolute() { loader.closure(path) } else { Closure::default() };
            if !(closure.missing.is_empty() && closure.outdated.is_empty()) {
                broken.add(probe, severity, closure);
                continue;
            }
        }
        let remark = step.remark.as_deref().unwrap_or("cannot be used");
        let instead = probe.found.as_ref().and_then(|found| found.path.as_deref());
        let instead = instead.map(|path| format!("; {path} is used instead")).unwrap_or_default();
        problems.add(severity, format!("{}: {remark}{instead}", step.target), todo(step));
    }
}

/// Returns whether the libraries of a directory have their own C library: those of a whole system, unpacked.
fn has_c_library(directory: &Path) -> bool {
    directory.join("libc.so.6").is_file()
}

fn todo(step: &Step) -> String {
    match step.fault {
        Some(Fault::WrongArchitecture) => "install ROCm for this machine's processor, or name another place".to_owned(),
        Some(Fault::TooOld) => "install a newer ROCm: 5.7 is the oldest supported release".to_owned(),
        Some(Fault::Unreadable) => match fs::File::open(&step.target).map_err(|error| error.kind()) {
            Ok(_) | Err(ErrorKind::PermissionDenied) => {
                format!("`sudo chmod a+rX {}`, and its parent directories", step.target)
            }
            Err(_) if is_link(&step.target) => "remove the link, and reinstall its package".to_owned(),
            Err(_) => "reinstall its package; if that cannot be read either, check the disk (`sudo dmesg`)".to_owned(),
        },
        Some(Fault::DependencyMissing) => "install the missing library".to_owned(),
        Some(Fault::OtherInstallation) => {
            "set ROCM_PATH to one installation that has all libraries, and take the other out of LD_LIBRARY_PATH"
                .to_owned()
        }
        Some(Fault::Crashed) => "run the program under a debugger, or install that library again".to_owned(),
        _ => "reinstall its package, or remove it".to_owned(),
    }
}

fn is_link(path: &str) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink())
}

/// Dependencies that do not resolve, each reported once with everything that it breaks.
#[derive(Default)]
struct Broken {
    missing: BTreeMap<String, Affected>,
    /// By the outdated library and the family of the version.
    outdated: BTreeMap<(PathBuf, String), TooOld>,
    /// By the directory that has a C library of its own.
    foreign: BTreeMap<PathBuf, (Affected, Foreign)>,
}

/// How programs use libraries that have a C library of their own.
#[derive(Default)]
struct Foreign {
    /// Whether `rocm-sdk install` has installed them.
    ours: bool,
    run: Option<String>,
}

impl Foreign {
    fn of(path: &Path, ours: bool) -> Self {
        Self { ours, run: installs::how_to_run(path, ours) }
    }
}

#[derive(Default)]
struct Affected {
    error: bool,
    needed_by: BTreeSet<String>,
    libraries: BTreeSet<String>,
}

#[derive(Default)]
struct TooOld {
    affected: Affected,
    newest: Option<String>,
    needed: BTreeSet<(Vec<u32>, String)>,
}

impl Affected {
    fn add(&mut self, probe: &Probe, severity: Severity, needed_by: &Path) {
        self.error |= severity == Severity::Error;
        self.needed_by.insert(needed_by.file_name().unwrap_or_default().to_string_lossy().into_owned());
        self.libraries.insert(probe.library.clone());
    }

    fn severity(&self) -> Severity {
        if self.error { Severity::Error } else { Severity::Warning }
    }

    fn need(&self) -> &'static str {
        if self.needed_by.len() == 1 { "needs" } else { "need" }
    }

    fn libraries(&self) -> String {
        list(&self.libraries)
    }
}

impl Broken {
    fn add(&mut self, probe: &Probe, severity: Severity, closure: Closure) {
        for missing in closure.missing {
            self.missing.entry(missing.name).or_default().add(probe, severity, &missing.needed_by);
        }
        for outdated in closure.outdated {
            let family = outdated.version.rsplit_once('_').map_or(outdated.version.as_str(), |(family, _)| family);
            let entry = self.outdated.entry((outdated.path, family.to_owned())).or_default();
            entry.affected.add(probe, severity, &outdated.needed_by);
            entry.newest = outdated.newest;
            let numbers = outdated.version.rsplit('_').next().unwrap_or_default();
            let numbers = numbers.split('.').map(|n| n.parse().unwrap_or(0)).collect();
            entry.needed.insert((numbers, outdated.version));
        }
    }

    fn add_foreign(&mut self, probe: &Probe, severity: Severity, directory: &Path, foreign: Foreign) {
        let (affected, how) = self.foreign.entry(directory.to_owned()).or_default();
        affected.add(probe, severity, directory);
        *how = foreign;
    }

    fn judge(self, places: &[Place], problems: &mut Problems) {
        for (directory, (affected, Foreign { ours, run })) in &self.foreign {
            if let Some(run) = run.as_ref().filter(|_| *ours) {
                problems.add(
                    affected.severity(),
                    format!(
                        "the libraries in {} need a newer C library than this machine has, and have it beside them: a program that is \
                         started as usual cannot load them",
                        directory.display()
                    ),
                    format!("start programs by `{run}`"),
                );
                continue;
            }
            problems.add(
                affected.severity(),
                format!(
                    "the libraries in {} go with the C library that is there too, not with this machine's: \
                     a program that is started as usual cannot load {}",
                    directory.display(),
                    affected.libraries()
                ),
                match run {
                    Some(run) => format!("start it by `{run}`"),
                    None => "start it by the loader that goes with that C library".to_owned(),
                },
            );
        }
        for (name, affected) in &self.missing {
            let verb = if affected.libraries.len() == 1 { "is" } else { "are" };
            problems.add(
                affected.severity(),
                format!(
                    "{name} is not found by the loader: {} {} it, so {} {verb} of no use",
                    list(&affected.needed_by),
                    affected.need(),
                    affected.libraries()
                ),
                where_to_get(name, places),
            );
        }
        for ((path, family), old) in &self.outdated {
            let needed = old.needed.last().map_or("", |(_, version)| version.as_str());
            let newest = old.newest.as_deref().unwrap_or("none of the kind");
            problems.add(
                old.affected.severity(),
                format!(
                    "{} is too old: it has {newest}, {} {} {needed}, so {} cannot be loaded",
                    path.display(),
                    list(&old.affected.needed_by),
                    old.affected.need(),
                    old.affected.libraries()
                ),
                newer(family),
            );
        }
    }
}

fn newer(family: &str) -> String {
    match family {
        "GLIBC" => {
            "take an older ROCm or a newer Linux distribution (a container will do); a release that `rocm-sdk install` \
                    has put there runs here with `rocm-sdk run RELEASE -- PROGRAM`, which brings its own C library"
                .to_owned()
        }
        "GLIBCXX" | "CXXABI" => {
            "install a newer libstdc++; if this one is from a Python environment, take its directory \
                                 out of LD_LIBRARY_PATH"
                .to_owned()
        }
        _ => "install the release of that library that this one was built with".to_owned(),
    }
}

fn where_to_get(name: &str, places: &[Place]) -> String {
    let dirs = places.iter().flat_map(|place| {
        [
            "lib",
            "lib64",
            "lib/x86_64-linux-gnu",
            "lib/aarch64-linux-gnu",
            "lib/llvm/lib",
            "llvm/lib",
            "core/lib",
            "lib/rocm_sysdeps/lib",
        ]
        .map(|dir| place.root.join(dir))
    });
    if let Some(dir) = dirs.into_iter().find(|dir| dir.join(name).is_file() && !has_c_library(dir)) {
        return format!("it is in {}: put that into LD_LIBRARY_PATH", dir.display());
    }
    if let Some((_, package)) = PACKAGES.iter().find(|(prefix, _)| name.starts_with(prefix)) {
        return format!("install it: {package}");
    }
    match libraries::ALL.iter().find(|spec| is_named(spec, name)).map(|spec| spec.name()) {
        Some(library) => format!(
            "install ROCm's {library} from where the rest of it came: a package of AMD's or of the distribution's, or \
             `rocm-sdk install RELEASE --with {library}`"
        ),
        None => format!("install the package that has {name} (`apt-file search {name}`, `dnf provides '*/{name}'`)"),
    }
}

/// The packages with the system libraries that ROCm's libraries depend on.
const PACKAGES: &[(&str, &str)] = &[
    ("libLLVM", "AMD's rocm-llvm; Debian's libllvm of that number"),
    ("libclang-cpp", "AMD's rocm-llvm; Debian's libclang-cpp of that number"),
    ("librocprofiler-register", "AMD's rocprofiler-register; Debian's librocprofiler-register-0"),
    ("libnuma", "Debian's libnuma1; Fedora's numactl-libs"),
    ("libdrm_amdgpu", "Debian's libdrm-amdgpu1; Fedora's libdrm"),
    ("libdrm", "Debian's libdrm2; Fedora's libdrm"),
    ("libelf", "Debian's libelf1; Fedora's elfutils-libelf"),
    ("libtinfo", "Debian's libtinfo6; Fedora's ncurses-libs"),
    ("libzstd", "Debian's libzstd1; Fedora's libzstd"),
    ("libz.so", "Debian's zlib1g; Fedora's zlib"),
    ("libxml2", "Debian's libxml2; Fedora's libxml2"),
    ("libedit", "Debian's libedit2; Fedora's libedit"),
    ("libffi", "Debian's libffi8; Fedora's libffi"),
    ("libgomp", "Debian's libgomp1; Fedora's libgomp"),
    ("libstdc++", "Debian's libstdc++6; Fedora's libstdc++"),
    ("libibverbs", "Debian's libibverbs1; Fedora's libibverbs"),
];

/// A library that the search opens, and its dependencies.
struct Opened {
    spec: &'static LibrarySpec,
    path: PathBuf,
    release: Option<Release>,
    closure: Closure,
}

impl Opened {
    fn of(probe: &Probe, loader: &Loader) -> Option<Self> {
        let spec = libraries::by_short_name(&probe.library)?;
        let path = PathBuf::from(probe.found.as_ref()?.path.as_deref()?);
        let release = release_of_file(&path, spec.is_numbered_by_hip());
        Some(Self { spec, closure: loader.closure(&path), release, path })
    }

    fn soname(&self) -> &str {
        self.closure.loaded.first().map_or("", |(name, _)| name)
    }
}

/// Reports libraries of different releases. Returns whether there are none.
fn judge_releases(opened: &[Opened], problems: &mut Problems) -> bool {
    /// Directories and names.
    type Group<'a> = (BTreeSet<String>, BTreeSet<&'a str>);
    let mut releases: BTreeMap<(u64, u64), Group<'_>> = BTreeMap::new();
    for library in opened {
        let Some(release) = &library.release else { continue };
        let (directories, names) = releases.entry(release.rocm()).or_default();
        directories.extend(library.path.parent().map(|dir| dir.display().to_string()));
        names.insert(library.spec.name());
    }
    let (major, minor) = NEWEST_RELEASE;
    for ((newer, its_minor), (directories, names)) in releases.range((u64::from(major), u64::from(minor) + 1)..) {
        problems.warning(
            format!(
                "ROCm {newer}.{its_minor} in {} is newer than any release known here: its functions are called as those \
                 of ROCm {major}.{minor} ({})",
                list(directories),
                list(names)
            ),
            "update these crates; what AMD has changed since may not work",
        );
    }
    if releases.len() < 2 {
        return true;
    }
    let majors: BTreeSet<u64> = releases.keys().map(|(major, _)| *major).collect();
    let severity = if majors.len() > 1 { Severity::Error } else { Severity::Warning };
    let groups: Vec<String> = releases
        .iter()
        .rev()
        .map(|((major, minor), (dirs, names))| format!("ROCm {major}.{minor} in {}: {}", list(dirs), list(names)))
        .collect();
    problems.add(
        severity,
        format!("libraries of different releases would be loaded together: {}", groups.join("; ")),
        "set ROCM_PATH to one installation that has them all, or install what is missing in the release of amdhip64"
            .to_owned(),
    );
    false
}

/// Reports libraries of one release from two installations: a program that uses libraries of both gets an error.
fn judge_installations(opened: &[Opened], problems: &mut Problems) {
    let Some(hip) = opened.iter().find(|library| library.spec.name() == "amdhip64") else { return };
    let other = |library: &&Opened| !is_compiler(library.spec) && !is_one_installation(&library.path, &hip.path);
    let mut others: BTreeMap<PathBuf, BTreeSet<&str>> = BTreeMap::new();
    for library in opened.iter().filter(other) {
        // A library that names the runtime's directory belongs to the runtime's installation, wherever it is.
        let of_runtime = |file: &(String, PathBuf)| is_one_installation(&file.1, &hip.path);
        if !library.closure.loaded.iter().skip(1).any(|file| is_named(hip.spec, &file.0) && of_runtime(file)) {
            let directory = library.path.parent().unwrap_or(&library.path).to_owned();
            others.entry(directory).or_default().insert(library.spec.name());
        }
    }
    for (directory, names) in others {
        problems.error(
            format!(
                "{} would come from {}, but the HIP runtime from {}: a program can use one ROCm installation only, and \
                 gets an error for a library of another",
                list(&names),
                directory.display(),
                hip.path.display()
            ),
            "set ROCM_PATH to one installation that has them all, or install what is missing where the HIP runtime is",
        );
    }
}

/// Reports another installation in the loader's path.
fn judge_loader_path(opened: &[Opened], loader: &Loader, problems: &mut Problems) {
    let Some(hip) = opened.iter().find(|library| library.spec.name() == "amdhip64") else { return };
    for dir in loader.library_path().iter().filter(|dir| is_of_another_installation(dir, &hip.path)) {
        problems.warning(
            format!(
                "LD_LIBRARY_PATH has {}, of another ROCm than the HIP runtime {}: programs that use these crates do not \
                 mix them, but other programs may",
                dir.display(),
                hip.path.display()
            ),
            "take it out of LD_LIBRARY_PATH, or set ROCM_PATH to that installation",
        );
    }
}

/// Reports libraries that load a second copy of a library that programs open themselves.
fn judge_duplicates(opened: &[Opened], problems: &mut Problems) {
    let mut copies: BTreeMap<(&str, PathBuf), BTreeSet<&str>> = BTreeMap::new();
    for library in opened {
        for (name, path) in library.closure.loaded.iter().skip(1) {
            let Some(own) = opened.iter().find(|own| is_named(own.spec, name)) else { continue };
            // Only one library of a soname is loaded; different releases of it are reported above.
            if !is_compiler(own.spec) && own.soname() != name && real(&own.path) != real(path) {
                copies.entry((own.spec.name(), path.clone())).or_default().insert(library.spec.name());
            }
        }
    }
    for ((name, path), by) in copies {
        let own = opened.iter().find(|own| own.spec.name() == name);
        let own = own.map_or_else(String::new, |own| own.path.display().to_string());
        problems.error(
            format!("{name} twice in one program: {own} by the search, and {} with {}", path.display(), list(&by)),
            "set ROCM_PATH to one installation that has them all, or install these libraries in the release of the first",
        );
    }
}

/// Reports missing libraries without which little works.
fn judge_absent(probes: &[Probe], problems: &mut Problems) {
    let absent =
        |name: &str| probes.iter().any(|p| p.library == name && p.found.is_none() && p.faults().next().is_none());
    if absent("amdhip64") {
        problems.error(
            "the HIP runtime (amdhip64) is not found",
            "`rocm-sdk install 7.2` (Debian's packages, without root), AMD's packages \
             (https://rocm.docs.amd.com/projects/install-on-linux), or set ROCM_PATH to an installation",
        );
    } else if absent("hiprtc") && probes.iter().any(|p| p.library == "amdhip64" && p.usable().is_some()) {
        problems.warning(
            "the run-time compiler (hiprtc) is not found: programs run only kernels that were compiled before",
            "install it from where the HIP runtime came: AMD's hip-runtime-amd; Debian's libhiprtc",
        );
    }
}

/// Returns whether this is a library that other software has too, and of which a process may have two: their symbols
/// have versions.
fn is_compiler(spec: &LibrarySpec) -> bool {
    ["LLVM", "clang"].contains(&spec.name())
}

fn is_named(spec: &LibrarySpec, name: &str) -> bool {
    name.strip_prefix(spec.unversioned()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns the names as text: `a, b and c`.
fn list<T: AsRef<str>>(names: &BTreeSet<T>) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Returns the place of the HIP runtime.
pub(crate) fn in_use<'a>(probes: &[Probe], places: &'a [Place]) -> Option<&'a Place> {
    let hip = probes.iter().find(|probe| probe.library == "amdhip64")?;
    place_of(places, Path::new(hip.usable()?.path.as_deref()?))
}

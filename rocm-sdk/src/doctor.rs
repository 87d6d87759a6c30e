//! Diagnoses why programs of this machine cannot use ROCm and a GPU, and says what to do.
//!
//! ```
//! use rocm_sdk::{Search, doctor::Doctor};
//!
//! let diagnosis = Doctor::new(Search::standard()).examine();
//! println!("{diagnosis}"); // as the command `rocm-sdk doctor` shows it
//! for problem in diagnosis.errors() {
//!     println!("{}: {}", problem.problem, problem.todo);
//! }
//! ```

mod driver;
mod gpus;
mod kernels;
mod libraries;
pub(crate) mod loader;
mod machine;
mod places;
mod problem;
mod requirements;
mod text;
mod variables;

use std::ffi::OsString;
use std::path::PathBuf;

use serde::Serialize;

pub use driver::{Driver, Node, PciDevice, Permissions, User};
pub use gpus::Gpu;
pub use kernels::RustKernels;
pub use places::Place;
pub use problem::{Problem, Severity};
pub use variables::Variable;

use crate::libraries::ALL;
use crate::probe::Probe;
use loader::Loader;
use machine::Machine;
use problem::Problems;
use rocm_loader::LibrarySpec;
use rocm_loader::Search;

type Prober = Box<dyn Fn(&[&'static LibrarySpec]) -> Vec<Probe>>;

/// An examination of a machine. Configure it, then run it.
pub struct Doctor {
    search: Search,
    machine: Machine,
    probe: Option<Prober>,
    library_path: Option<OsString>,
}

/// The result of an examination. `Display` prints it as text; serde serialises the same data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// Version of this crate.
    pub rocm_sdk: &'static str,
    /// Whether a program can run kernels on a GPU.
    pub usable: bool,
    /// The places of the search, in order.
    pub places: Vec<Place>,
    /// Every library of the table.
    pub libraries: Vec<Probe>,
    /// The kernel driver.
    pub driver: Driver,
    /// The GPUs that it lists.
    pub gpus: Vec<Gpu>,
    /// The relevant variables that are set.
    pub variables: Vec<Variable>,
    /// Whether kernels in Rust can be built; `None` if another system than this one was examined.
    pub rust_kernels: Option<RustKernels>,
    /// The problems, errors first.
    pub problems: Vec<Problem>,
}

impl Doctor {
    /// Creates an examination of this machine, with the ROCm that `search` finds.
    pub fn new(search: Search) -> Self {
        Self { search, machine: Machine::this(), probe: None, library_path: None }
    }

    /// Reads `/dev`, `/etc`, `/proc`, `/sys` and the system's libraries below this directory: a container's root, or a
    /// test's.
    pub fn system_root(mut self, root: impl Into<PathBuf>) -> Self {
        self.machine.root = root.into();
        self
    }

    /// Reads variables through `get` instead of the process's environment.
    pub fn environment(mut self, get: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static) -> Self {
        self.machine.set_environment(get);
        self
    }

    /// Sets the list of directories that was passed to the system loader, if it is not that of `LD_LIBRARY_PATH`.
    pub fn library_path(mut self, directories: Option<OsString>) -> Self {
        self.library_path = directories;
        self
    }

    /// Opens the libraries with `probe` instead of [`Probe::run`] in this process. The command opens each in a separate
    /// process.
    pub fn probe(mut self, probe: impl Fn(&[&'static LibrarySpec]) -> Vec<Probe> + 'static) -> Self {
        self.probe = Some(Box::new(probe));
        self
    }

    /// Runs the examination. It opens every library of ROCm that is found, which runs their initialisers, and calls
    /// none of their functions.
    pub fn examine(&self) -> Diagnosis {
        let places = Place::all(&self.search);
        let on_platform: Vec<&'static LibrarySpec> =
            ALL.iter().copied().filter(|spec| spec.is_on_this_platform()).collect();
        let probes = match &self.probe {
            Some(probe) => probe(&on_platform),
            None => on_platform.iter().map(|spec| Probe::run(&self.search, spec)).collect(),
        };
        let driver = Driver::examine(&self.machine);
        let gpus = Gpu::all(&self.machine);
        let variables = Variable::all(&self.machine);

        let mut problems = Problems::default();
        Place::judge(&places, &mut problems);
        let library_path = self.library_path.clone().or_else(|| self.machine.variable("LD_LIBRARY_PATH"));
        let loader = Loader::new(&self.machine.root, library_path.as_deref());
        libraries::judge(&probes, &places, &loader, &mut problems);
        driver.judge(&self.machine, gpus.len(), &mut problems);
        Gpu::judge(&gpus, &driver, &mut problems);
        gpus::judge_targets(&gpus, libraries::in_use(&probes, &places), &mut problems);
        Variable::judge(&variables, &gpus, &mut problems);
        let mut problems = problems.0;
        problems.sort_by_key(|problem| problem.severity != Severity::Error);

        let runtime = probes.iter().any(|probe| probe.library == "amdhip64" && probe.usable().is_some());
        Diagnosis {
            rocm_sdk: env!("CARGO_PKG_VERSION"),
            usable: runtime && !problems.iter().any(|problem| problem.severity == Severity::Error),
            places,
            libraries: probes,
            driver,
            gpus,
            variables,
            rust_kernels: RustKernels::examine(&self.machine),
            problems,
        }
    }
}

impl Diagnosis {
    /// Returns the errors: the problems because of which something does not work.
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| problem.severity == Severity::Error)
    }

    /// Returns the diagnosis as indented JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

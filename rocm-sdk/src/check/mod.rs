//! Checks that an installation works (feature `check`). The command `rocm-sdk test` runs this.
//!
//! - The layout is as documented, `dist_info.json` is valid, the release is known.
//! - Every shared library loads, each in a separate process, so one that crashes or hangs is reported and affects no
//!   other. Its dependencies are searched for too, so the report names the libraries that a missing file affects.
//! - [`initialize_process`](crate::initialize_process) preloads libraries and compares releases as documented.
//! - The programs run.
//!
//! It works for AMD's wheels, for an installation like `/opt/rocm`, and for Debian's packages, installed or unpacked
//! elsewhere with their own C library: the processes are then started through its loader. No GPU is needed.
//!
//! The check starts the calling program again for each library, so the program must call [`serve`] first:
//!
//! ```no_run
//! use rocm_sdk::{Search, check::{self, Check}};
//!
//! fn main() -> Result<(), rocm_sdk::Error> {
//!     check::serve();
//!     let report = Check::new(Search::standard()).run(&mut |outcome| println!("{outcome}"))?;
//!     println!("{}", report.summary());
//!     std::process::exit(if report.is_success() { 0 } else { 1 });
//! }
//! ```

mod distribution;
mod files;
mod initialize;
mod libraries;
mod process;
mod report;
mod scripts;
mod structure;
mod task;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use report::{Outcome, Report, Verdict};
pub use task::serve;

use crate::doctor::loader::Loader;
use crate::error::Error;
use crate::layout::SearchExt as _;
use crate::layout::{Layout, LayoutKind};
use process::Starter;
use report::Collector;
use rocm_loader::search::Search;

/// A check of an installation. Configure it, then run it.
#[derive(Clone)]
pub struct Check {
    search: Search,
    myself: Option<Arc<dyn Fn() -> Command + Send + Sync>>,
    time_limit: Duration,
}

/// The installation, as every part of the check uses it.
struct Subject {
    layout: Layout,
    /// The directories of its packages: for wheels each wheel, otherwise the root.
    packages: Vec<Package>,
    starter: Starter,
    loader: Loader,
}

/// A part of the installation.
struct Package {
    /// `core`, `libraries_gfx94X_dcgpu`, `devel`; `rocm` if there is only one.
    name: String,
    root: PathBuf,
}

impl Check {
    /// Creates a check of the installation that the search finds.
    pub fn new(search: Search) -> Self {
        Self { search, myself: None, time_limit: Duration::from_secs(120) }
    }

    /// Sets how to start this program again, so that it calls [`serve`]. The default is its executable without
    /// arguments.
    pub fn myself(mut self, command: impl Fn() -> Command + Send + Sync + 'static) -> Self {
        self.myself = Some(Arc::new(command));
        self
    }

    /// Sets the time limit for loading one library or running one program. The default is 120 seconds.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Runs all checks, and calls `each` with every outcome, in the order of the report.
    ///
    /// # Errors
    /// The errors of [`Search::layout`], if there is no installation to check. Problems of an installation are in the
    /// report.
    pub fn run(&self, each: &mut dyn FnMut(&Outcome)) -> Result<Report, Error> {
        let begun = Instant::now();
        let layout = self.search.layout()?;
        let myself = self.myself.clone().unwrap_or_else(|| Arc::new(this_program));
        let mut subject = Subject {
            packages: packages(&layout),
            starter: Starter::new(myself, &layout, self.time_limit),
            loader: Loader::new(Path::new("/"), std::env::var_os("LD_LIBRARY_PATH").as_deref()),
            layout,
        };
        if let Some(directory) = subject.starter.foreign() {
            subject.loader = subject.loader.with(directory);
        }
        let mut collector = Collector::new(each);
        structure::check(&subject, &mut collector);
        distribution::check(&subject, &mut collector);
        // Without this check every library would fail for the same reason.
        if libraries::check_starting(&subject, &mut collector) {
            initialize::check(&subject, &mut collector);
            libraries::check(&subject, &mut collector);
        }
        scripts::check(&subject, &mut collector);
        Ok(Report {
            root: subject.layout.root().display().to_string(),
            layout: match subject.layout.kind() {
                LayoutKind::Wheels => "wheels",
                LayoutKind::Multiarch => "multiarch",
                _ => "prefix",
            }
            .to_owned(),
            release: subject.layout.release().map(|release| release.text),
            outcomes: collector.into_outcomes(),
            seconds: begun.elapsed().as_secs_f64(),
        })
    }
}

fn this_program() -> Command {
    Command::new(std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into()))
}

impl Subject {
    fn is_wheels(&self) -> bool {
        self.layout.kind() == LayoutKind::Wheels
    }

    /// The `site-packages` directory, for wheels.
    fn site_packages(&self) -> Option<&Path> {
        self.layout.root().parent().filter(|_| self.is_wheels())
    }

    fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }
}

fn packages(layout: &Layout) -> Vec<Package> {
    if layout.kind() != LayoutKind::Wheels {
        return vec![Package { name: "rocm".to_owned(), root: layout.root().to_owned() }];
    }
    let mut roots = layout.library_roots().to_vec();
    // Includes the devel tree if it is expanded, and the profiler's wheel.
    let site = layout.root().parent().unwrap_or(layout.root());
    let profilers = rocm_loader::search::names_in(site, |name| name.starts_with("_rocm_profiler"));
    roots.extend(profilers.into_iter().map(|name| site.join(name)));
    if !roots.iter().any(|root| root == layout.root()) {
        roots.push(layout.root().to_owned());
    }
    let name = |root: &Path| {
        let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let short = name.strip_prefix("_rocm_sdk_").or(name.strip_prefix("_rocm_"));
        short.unwrap_or(&name).to_owned()
    };
    roots.into_iter().filter(|root| root.is_dir()).map(|root| Package { name: name(&root), root }).collect()
}

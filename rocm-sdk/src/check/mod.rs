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
mod serve;
mod structure;
mod subject;
mod task;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use report::{Outcome, Report, Verdict};
pub use serve::serve;

use crate::doctor::loader::Loader;
use crate::error::Error;
use crate::layout::LayoutKind;
use crate::layout::SearchExt as _;
use process::Starter;
use report::Collector;
use rocm_loader::Search;
use subject::{Subject, packages};

/// A check of an installation. Configure it, then run it.
#[derive(Clone)]
pub struct Check {
    search: Search,
    myself: Option<Arc<dyn Fn() -> Command + Send + Sync>>,
    time_limit: Duration,
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

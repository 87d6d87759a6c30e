//! Finds, checks and loads an AMD ROCm installation at run time.
//!
//! Nothing of ROCm is linked: a program builds, starts and runs its tests on a machine without it, and finds out at run time what is
//! there. The -sys crates of this workspace stand on this one; programs meet it when they want to know or to decide
//! where ROCm comes from.
//!
//! ```
//! use rocm_sdk::{Search, libraries};
//!
//! // What a program on this machine would use, if anything, and every place that was looked at.
//! match Search::standard().open(&libraries::AMDHIP64) {
//!     Ok(hip) => println!("{} ({})", hip.path().unwrap_or("system".as_ref()).display(), hip.soname().unwrap_or("no soname")),
//!     Err(error) => println!("{error}"),
//! }
//!
//! // One installation and no other.
//! let mine = Search::nowhere().root("/srv/rocm-7.2.4");
//! let report = mine.report(&libraries::AMDHIP64);
//! assert!(report.opened().is_none() && report.to_string().contains("/srv/rocm-7.2.4 [path given in code]: not there"));
//! ```
//!
//! - [`Search`] is the order of places; [`set_root`] and [`set_search`] decide it for the whole process, before the first use.
//! - [`libraries`] has the names of each library, release by release; [`find_libraries`] tells where they are and loads nothing.
//! - [`Library`] is an open library: its path, soname and [`Release`], and its symbols. [`preload`] opens one ahead of others.
//! - [`initialize_process`] is for the start of a program: it preloads and checks the release. [`version`] and [`layout`] tell the release and
//!   the paths of the installation, [`target_family`] and [`TargetDetection`] the GPUs and the packages that are for them.
//! - [`Error`] tells what is wrong and carries the [`Report`] of the search, step by step.
//! - [`bindings!`] declares C functions that are resolved on their first call through a [`Binding`]: to the library, or to a
//!   [`Provider`] in its place. A missing function returns its API's own status ([`MissingValue`]), never a panic.
//! - Feature `installation`, on by default, is what programs ask of an installation: all of the above but searching, opening and
//!   preloading, which the -sys crates make do with. Others, off by default, add what tools want: `doctor` (what keeps programs from a GPU, and what to do), `check` (tests an
//!   installation), `devel` (expands the devel wheel), `distribution` (its GPU targets), `install` (ROCm from Debian's packages);
//!   `cli` is all of them as the command `rocm-sdk`.
//!
//! Libraries stay open to the end of the process. Nothing here calls a function of ROCm by itself.

mod binding;
#[cfg(unix)]
mod c;
#[cfg(all(feature = "check", unix))]
pub mod check;
#[cfg(feature = "installation")]
#[doc(hidden)] // For the command.
pub mod child;
#[cfg(feature = "devel")]
pub mod devel;
#[cfg(feature = "distribution")]
mod distribution;
#[cfg(all(feature = "doctor", unix))]
pub mod doctor;
mod elf;
mod error;
#[cfg(feature = "installation")]
mod family;
#[cfg(feature = "installation")]
mod find;
#[cfg(feature = "installation")]
mod initialize;
#[cfg(feature = "install")]
pub mod install;
mod installs;
#[cfg(feature = "installation")]
mod layout;
pub mod libraries;
mod library;
mod library_name;
mod open;
#[cfg(feature = "doctor")]
pub mod probe;
mod process;
mod report;
mod search;
mod spec;
mod sys;
mod sys_crate;
mod text_file;
mod version;

#[doc(hidden)]
pub use binding::Slot;
pub use binding::{Binding, Missing, MissingSymbol, MissingValue, Provider};
#[cfg(feature = "distribution")]
pub use distribution::Distribution;
pub use error::Error;
#[cfg(feature = "installation")]
pub use family::{
    DetectedGpus, FamilySource, GpuKind, GpuSource, GpuTarget, TargetDetection, TargetFamily, target_family,
};
#[cfg(feature = "installation")]
pub use find::{FoundLibraries, FoundLibrary, SkipReason, Skipped, find_libraries};
#[cfg(feature = "installation")]
pub use initialize::{InitializeProcess, Initialized, VersionCheck, VersionMismatch, initialize_process};
#[cfg(feature = "installation")]
pub use layout::{Layout, LayoutKind, layout, version};
pub use library::{Library, Scope};
pub use library_name::LibraryName;
pub use process::{preload, preloaded, process_search, set_root, set_search};
pub use report::{Attempt, Origin, Reason, Report};
pub use search::{Installation, Search};
pub use spec::{Group, LibrarySpec, Soname};
#[doc(hidden)]
pub use sys_crate::__symbol_error;
pub use version::{Numbering, Release, file_name_version, hip_of_rocm, hip_version, parse_release, release_at};

/// The README's example compiles and runs.
#[cfg(all(doctest, feature = "installation"))]
#[doc = include_str!("../README.md")]
struct Readme;

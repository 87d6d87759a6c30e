//! Finds, checks and loads an AMD ROCm installation at run time.
//!
//! Nothing of ROCm is linked: a program builds, starts and runs its tests on a machine without ROCm, and finds out at
//! run time what is available. Libraries are found and opened by the crate `rocm-loader`, whose items are here too; the
//! `-sys` crates need only that one.
//!
//! ```
//! use rocm_sdk::{Search, libraries};
//!
//! // The HIP runtime that a program on this machine would use, or every place searched.
//! match Search::standard().open(&libraries::AMDHIP64) {
//!     Ok(hip) => {
//!         let path = hip.path().unwrap_or("system".as_ref());
//!         println!("{} ({})", path.display(), hip.soname().unwrap_or("no soname"));
//!     }
//!     Err(error) => println!("{error}"),
//! }
//!
//! // One installation only.
//! let mine = Search::nowhere().root("/srv/rocm-7.2.4");
//! let report = mine.report(&libraries::AMDHIP64);
//! assert!(report.opened().is_none());
//! assert!(report.to_string().contains("/srv/rocm-7.2.4 [path given in code]: not found"));
//! ```
//!
//! - [`Search`] is the order of places. [`set_root`] and [`set_search`] set it for the whole process, before the first
//!   use.
//! - [`libraries`] has the names of each library, release by release. [`find_libraries`] returns their paths and loads
//!   nothing.
//! - [`Library`] is an open library: its path, soname, [`Release`] and symbols. [`preload`] opens one before others.
//! - [`initialize_process`] is for the start of a program: it preloads libraries and checks the release. [`version`]
//!   and [`layout`] return the release and the paths of the installation. [`target_family`] and [`TargetDetection`]
//!   return the GPUs and the packages for them.
//! - [`Error`] and [`LoadError`] state the cause and carry the [`Report`] of the search, step by step.
//!
//! The features, off by default, are for tools:
//! `doctor` (diagnoses why programs cannot use a GPU), `check` (tests an installation), `devel` (expands the devel
//! wheel), `distribution` (its GPU targets), `install` (ROCm from Debian's packages). `cli` is all of them as the
//! command `rocm-sdk`.
//!
//! Libraries stay open until the process ends. This crate calls no function of ROCm on its own.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(unix)]
mod c;
#[cfg(all(feature = "check", unix))]
pub mod check;
#[doc(hidden)] // For the command.
pub mod child;
#[cfg(feature = "devel")]
pub mod devel;
#[cfg(feature = "distribution")]
mod distribution;
#[cfg(all(feature = "doctor", unix))]
pub mod doctor;
mod error;
mod family;
mod gpu;
mod initialize;
#[cfg(feature = "install")]
pub mod install;
mod layout;
#[cfg(feature = "doctor")]
pub mod probe;
mod variables;
mod version_check;

#[cfg(feature = "distribution")]
pub use distribution::Distribution;
pub use error::Error;
pub use family::{FamilySource, TargetDetection, TargetFamily, target_family};
pub use gpu::{DetectedGpus, GpuKind, GpuSource, GpuTarget};
pub use initialize::{InitializeProcess, Initialized, initialize_process};
pub use layout::{Layout, LayoutKind, SearchExt, layout, version};
/// An error of finding or opening a library.
pub use rocm_loader::Error as LoadError;
pub use rocm_loader::{
    Attempt, FoundLibraries, FoundLibrary, Group, Installation, Library, LibraryName, LibrarySpec, Numbering, Origin,
    Reason, Release, Report, Scope, Search, SkipReason, Skipped, Soname, file_name_version, find_libraries,
    hip_of_rocm, hip_version, libraries, parse_release, preload, preloaded, process_search, release_at, set_root,
    set_search,
};
pub use variables::variables;
pub use version_check::{VersionCheck, VersionMismatch};

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

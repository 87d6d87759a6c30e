//! Finds, checks and loads an AMD ROCm installation at run time.
//!
//! Nothing of ROCm is linked: a program builds, starts and runs its tests on a machine without ROCm, and finds out at
//! run time what is available. The `-sys` crates of this workspace are built on this crate. A program uses it directly
//! to query or to choose its ROCm installation.
//!
//! ```
//! use rocm_sdk::{Search, libraries};
//!
//! // The HIP runtime that a program on this machine would use, or every place searched.
//! match Search::standard().open(&libraries::AMDHIP64) {
//!     Ok(hip) => println!("{} ({})", hip.path().unwrap_or("system".as_ref()).display(), hip.soname().unwrap_or("no soname")),
//!     Err(error) => println!("{error}"),
//! }
//!
//! // One installation only.
//! let mine = Search::nowhere().root("/srv/rocm-7.2.4");
//! let report = mine.report(&libraries::AMDHIP64);
//! assert!(report.opened().is_none() && report.to_string().contains("/srv/rocm-7.2.4 [path given in code]: not found"));
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
//! - [`Error`] states the cause and carries the [`Report`] of the search, step by step.
//! - [`bindings!`] declares C functions that are resolved on their first call through a [`Binding`]: to the library, or
//!   to a [`Provider`] in its place. A missing function returns its API's own status ([`MissingValue`]), never a panic.
//!
//! The feature `installation`, on by default, adds queries of an installation: everything above except searching,
//! opening and preloading, which are all that the `-sys` crates use. Other features, off by default, are for tools:
//! `doctor` (diagnoses why programs cannot use a GPU), `check` (tests an installation), `devel` (expands the devel
//! wheel), `distribution` (its GPU targets), `install` (ROCm from Debian's packages). `cli` is all of them as the
//! command `rocm-sdk`.
//!
//! Libraries stay open until the process ends. This crate calls no function of ROCm on its own.

#![cfg_attr(docsrs, feature(doc_cfg))]

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

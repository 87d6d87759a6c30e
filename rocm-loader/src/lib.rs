//! Finds AMD ROCm's libraries at run time, opens them, and binds their functions.
//!
//! Nothing of ROCm is linked: a program builds, starts and runs its tests on a machine without ROCm, and finds out at
//! run time what is available. The `-sys` crates of this workspace are built on this crate. The crate `rocm-sdk`, which
//! queries, checks and installs whole installations, is too.
//!
//! ```
//! use rocm_loader::{Search, libraries};
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
//! - [`Error`] states the cause and carries the [`Report`] of the search, step by step.
//! - [`bindings!`] declares C functions that are resolved on their first call through a [`Binding`]: to the library, or
//!   to a [`Provider`] in its place. A missing function returns its API's own status ([`MissingValue`]), never a panic.
//!
//! Libraries stay open until the process ends. This crate calls no function of ROCm on its own.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(target_os = "linux")]
mod alias;
mod binding;
#[cfg(unix)]
mod c;
#[cfg(target_os = "linux")]
mod closure;
pub mod libraries;
#[cfg(target_os = "linux")]
mod mapped;
mod releases;
mod spec;
mod sys_crate;
mod variables;

// Used by crates that call Comgr. Not for others: it changes without notice.
#[doc(hidden)]
pub mod clang_log;

// Used by `rocm-sdk`. Not for other crates: it changes without notice.
#[doc(hidden)]
pub mod elf;
#[doc(hidden)]
pub mod error;
mod find;
#[doc(hidden)]
pub mod folders;
#[doc(hidden)]
pub mod found;
mod installation;
#[doc(hidden)]
pub mod installs;
#[doc(hidden)]
pub mod library;
#[doc(hidden)]
pub mod library_name;
#[doc(hidden)]
pub mod look;
#[doc(hidden)]
pub mod open;
#[doc(hidden)]
pub mod process;
#[doc(hidden)]
pub mod report;
mod scope;
#[doc(hidden)]
pub mod search;
#[doc(hidden)]
pub mod set_uid;
#[doc(hidden)]
pub mod sys;
#[doc(hidden)]
pub mod text_file;
#[doc(hidden)]
pub mod tree;
#[doc(hidden)]
pub mod version;

#[doc(hidden)]
pub use binding::Slot;
#[doc(hidden)]
pub use spec::{first_number, number_of_llvm, soname_major};
#[doc(hidden)]
pub use sys_crate::{__symbol_error, Form};
#[doc(inline)]
pub use {
    binding::{Binding, Missing, MissingSymbol, MissingValue, Provider},
    error::Error,
    found::{FoundLibraries, FoundLibrary, SkipReason, Skipped},
    installation::Installation,
    library::Library,
    library_name::LibraryName,
    process::{find_libraries, preload, preloaded, process_search, set_root, set_search},
    releases::{Abi, NEWEST_RELEASE, Releases},
    report::{Attempt, Origin, Reason, Report},
    scope::Scope,
    search::Search,
    spec::{Group, LibrarySpec, Soname},
    variables::WrongVariable,
    version::{Numbering, Release, file_name_version, hip_of_rocm, hip_version, parse_release, release_at},
};

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

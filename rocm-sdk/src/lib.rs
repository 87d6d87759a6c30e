//! Finds, checks and loads an AMD ROCm installation at run time.

mod binding;
mod elf;
mod error;
pub mod libraries;
mod library;
mod open;
mod process;
mod report;
mod search;
mod spec;
mod sys;
mod version;

#[doc(hidden)]
pub use binding::Slot;
pub use binding::{Binding, Missing, MissingSymbol, MissingValue, Provider};
pub use error::Error;
pub use library::{Library, Scope};
pub use process::{preload, preloaded, process_search, set_root, set_search};
pub use report::{Attempt, Origin, Reason, Report};
pub use search::{Installation, Search};
pub use spec::{LibrarySpec, Soname};
pub use version::{Numbering, Release, file_name_version, hip_of_rocm, hip_version, parse_release, release_at};

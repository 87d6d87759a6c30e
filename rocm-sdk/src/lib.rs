//! Finds, checks and loads an AMD ROCm installation at run time.

mod binding;
mod error;
mod library;
pub mod libraries;
mod report;
mod search;
mod spec;

#[doc(hidden)]
pub use binding::Slot;
pub use binding::{Binding, Missing, MissingSymbol, MissingValue, Provider};
pub use error::Error;
pub use library::Library;
pub use report::{Attempt, Origin, Reason, Report};
pub use spec::{LibrarySpec, Soname};

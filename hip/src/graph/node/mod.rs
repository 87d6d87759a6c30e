//! Nodes, with a module for each kind.

mod add;
mod copy;
mod event;
#[cfg(unix)]
mod external;
mod fill;
mod host;
mod kernel;
mod memory;
#[cfg(feature = "rocm-6-4")]
mod signal;

pub(super) use add::not_empty;
#[cfg(unix)]
pub(super) use external::{with_signal, with_wait};
pub use fill::GraphFill;
pub(super) use host::host_params;
pub(super) use kernel::kernel_params;

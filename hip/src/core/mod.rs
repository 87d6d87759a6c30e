//! The lowest layer: loading the HIP runtime, calls and errors, devices and their properties, and workarounds for
//! particular releases.

pub(crate) mod arch;
mod arch_from_str;
pub(crate) mod attribute;
pub(crate) mod backend;
pub(crate) mod backend_kind;
pub(crate) mod call;
pub(crate) mod context;
pub mod device;
pub(crate) mod device_lost;
mod device_table;
pub(crate) mod error;
pub(crate) mod forms;
pub(crate) mod geometry;
mod hip_error;
pub(crate) mod kernel_panic;
pub(crate) mod later;
pub(crate) mod lock;
pub(crate) mod loss;
pub(crate) mod lost;
pub(crate) mod nvidia;
pub(crate) mod peer;
pub(crate) mod per_device;
pub(crate) mod properties;
pub(crate) mod queue;
pub(crate) mod releases;
pub mod runtime;
pub(crate) mod settings;
mod status;
pub(crate) mod trace;

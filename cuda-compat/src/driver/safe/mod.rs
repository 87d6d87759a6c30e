//! cudarc's types over [`result`](super::result); [`driver`](super) describes their implementation.

mod capture;
mod context;
mod copy;
mod event;
#[cfg(feature = "rocm-6-2")]
mod external_memory;
mod function;
mod graph;
mod host;
mod kernel_args;
mod launch;
mod module;
mod profile;
mod repr;
mod slice;
mod stream;
mod unified;
mod usage;
mod view;
mod waits;

#[allow(unused_imports, reason = "of the features for libraries")]
pub(crate) use self::capture::Shared;
pub use self::context::CudaContext;
pub use self::event::CudaEvent;
#[cfg(feature = "rocm-6-2")]
pub use self::external_memory::{ExternalMemory, MappedBuffer};
pub use self::function::CudaFunction;
pub use self::graph::CudaGraph;
pub use self::host::{HostSlice, PinnedHostSlice};
pub use self::launch::{LaunchArgs, LaunchConfig, PushKernelArg};
pub use self::module::CudaModule;
pub use self::profile::{Profiler, profiler_start, profiler_stop};
pub use self::repr::{DeviceRepr, ValidAsZeroBits};
pub use self::slice::CudaSlice;
pub use self::stream::CudaStream;
pub use self::unified::{UnifiedSlice, UnifiedView, UnifiedViewMut};
pub use self::usage::SyncOnDrop;
#[allow(unused_imports, reason = "of the features for libraries")]
pub(crate) use self::usage::{LaterUse, between, sealed::Sealed};
pub use self::view::{CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceSlice};
pub use crate::driver::result::DriverError;

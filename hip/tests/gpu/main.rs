//! The safe API on a device: the GPU if there is one, else the software GPU (feature `sim`).
//!
//! With neither, the tests pass by saying that they were skipped; `tests/no_gpu.rs` then has something to test.

mod array;
#[cfg(feature = "rocm-7-1")]
mod batch;
mod capture;
mod capture_calls;
mod common;
#[cfg(target_os = "linux")]
mod debug;
mod device;
mod dlpack;
#[cfg(feature = "rocm-10-0")]
mod execution;
#[cfg(unix)]
mod external;
mod faults;
mod foreign;
#[cfg(unix)]
mod fork;
mod init;
mod interop;
mod launch;
#[cfg(feature = "rocm-10-0")]
mod library;
mod lost;
#[cfg(feature = "rocm-10-0")]
mod managed_batch;
mod memory;
mod memory_host;
#[cfg(target_os = "linux")]
mod memory_ipc;
mod memory_pitched;
mod memory_pool;
mod memory_views;
mod module;
mod module_global;
mod order;
mod peer;
#[cfg(target_os = "linux")]
mod process;
mod refused;
mod releases;
mod stream;
mod stress;
mod texture;
mod threads;
mod typed;

pub(crate) use common::*;

//! NVML's names over AMD SMI: GPUs with their memory, load, temperature, clocks and power.
//!
//! ```
//! use cuda_compat::nvml::*;
//!
//! // SAFETY: it takes no pointer.
//! let status = unsafe { nvmlInit_v2() };
//! if status != NVML_SUCCESS {
//!     return println!("{status:?}"); // NVML_ERROR_LIBRARY_NOT_FOUND without AMD SMI
//! }
//! let mut count = 0;
//! // SAFETY: a place for the result.
//! assert_eq!(unsafe { nvmlDeviceGetCount_v2(&mut count) }, NVML_SUCCESS);
//! println!("{count} GPUs");
//! # // SAFETY: nothing uses it any more.
//! # unsafe { nvmlShutdown() };
//! ```
//!
//! # Differences from NVML
//! - Statuses and enums have NVML's numbers; values have NVML's units (bytes, percent, °C, MHz, mW, mJ).
//! - The order of devices is AMD SMI's, which ignores `HIP_VISIBLE_DEVICES`. Match a HIP device by its PCI address.
//! - A partition of an MI300 is a separate device.
//! - The temperature is that of the edge; for GPUs without that sensor (MI300), of the hottest spot.
//! - AMD SMI of ROCm 7.1 and 7.2 declares no known power reading: [`nvmlDeviceGetPowerUsage`] is
//!   `NVML_ERROR_NOT_SUPPORTED` there.
//! - AMD SMI only supports Linux. This module needs ROCm 6.2 or newer.

mod convert;
pub mod sys;
mod types;

pub use sys::*;

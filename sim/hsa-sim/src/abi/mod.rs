//! HSA's C types and constants, as the headers of ROCm 7.2 have them (`hsa.h`, `hsa_ext_amd.h`, `amd_hsa_signal.h`,
//! `amd_hsa_queue.h`, `hsa_ven_amd_loader.h`). Those of 6.4 and 5.7 differ only in what they lack.
//!
//! `tests/layout.rs` holds every one of them to the headers.
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

mod constants;
mod image;
mod packet;
mod status;
mod types;

pub use constants::*;
pub use image::*;
pub use packet::*;
pub use status::*;
pub use types::*;

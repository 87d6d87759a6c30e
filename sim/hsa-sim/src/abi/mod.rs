//! HSA's C types and constants, as in the headers of ROCm 7.2 (`hsa.h`, `hsa_ext_amd.h`, `amd_hsa_signal.h`,
//! `amd_hsa_queue.h`, `hsa_ven_amd_loader.h`). The headers of 6.4 and 5.7 differ only in lacking some.
//!
//! `tests/layout.rs` compares every one of them with the headers.
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

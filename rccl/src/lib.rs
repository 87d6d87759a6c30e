//! Safe Rust for RCCL on AMD GPUs: collectives over the GPUs of a process, over processes and over hosts.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod call;
mod checks;
mod collectives;
mod communicator;
mod config;
mod element;
mod error;
pub mod foreign;
mod group;
mod handle;
mod library;
#[allow(missing_docs, unreachable_pub, clippy::missing_safety_doc, reason = "the functions are C's")]
mod raw;
pub mod start;
mod ticker;

pub use communicator::{Communicator, Completion, Pending, UniqueId};
pub use config::Config;
pub use element::{DataType, Op, Reduce};
pub use error::{Context, Error, Result};
pub use group::{Group, group};
pub use library::{is_available, other_library, use_nccl, version};
pub use rccl_sys::ncclResult_t as Status;

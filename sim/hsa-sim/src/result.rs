//! What functions return.

use crate::abi::hsa_status_t;

/// What a function comes to: its status when it isn't success.
pub(crate) type Result<T, E = hsa_status_t> = std::result::Result<T, E>;

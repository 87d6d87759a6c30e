//! NCCL over RCCL: NCCL's names in [`sys`], the interface of cudarc around them.
//!
//! # What it rests on
//! Calls go to `rccl-sys`, not to the crate `rccl`, whose communicators have deadlines and compare what ranks call: NCCL's shape hands out
//! statuses, and groups that a program opens itself. Buffers are tracked by their `device_ptr`.
//!
//! # What differs from cudarc
//! - Buffers whose sizes do not fit are `ncclInvalidArgument` before the call: a result that is shorter than what is received, a missing
//!   buffer of the root, a rank that does not exist. cudarc passes them on.
//! - A group keeps its buffers and communicators until it ends, also one that a program opens by [`result::group_start`]: both can be dropped before.
//!   Managed and imported memory is `ncclInvalidUsage` in a group, and so is [`Comm::from_devices`].
//! - Calls on a stream that is being captured are `ncclInvalidUsage`. A communicator that is dropped while there are graphs, which other code may have
//!   made with it, is aborted when there are none. cudarc aborts it under the graph.
//! - [`NcclType`] is not implemented for `char`: a sum of characters is not one.
//! - `ncclCommInitRankConfig` and `ncclCommSplit` have the form of ROCm 10.0 (feature `rocm-10-0`): RCCL has changed their struct.

mod group;
pub mod result;
pub mod safe;

pub mod sys {
    //! The names of NCCL's C header.
    #[doc(no_inline)]
    pub use crate::driver::sys::CUstream as cudaStream_t;
    pub use crate::generated::nccl::*;
    #[doc(no_inline)]
    pub use rccl_sys::{has, load_error, symbol_error};
}

pub use safe::*;
pub use sys::*;

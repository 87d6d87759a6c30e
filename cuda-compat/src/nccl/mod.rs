//! NCCL over RCCL: NCCL's names in [`sys`], and cudarc's interface.
//!
//! # Implementation
//! Calls go to `rccl-sys`, not to the crate `rccl`, whose communicators have deadlines and compare the calls of ranks:
//! NCCL's interface exposes statuses, and groups that a program opens itself. Buffers are tracked by their
//! `device_ptr`.
//!
//! # Differences from cudarc
//! - Buffers whose sizes do not fit are `ncclInvalidArgument` before the call: a result buffer that is too short, a
//!   missing buffer of the root, a rank that does not exist. cudarc passes them to the library.
//! - A group keeps its buffers and communicators until it ends, also a group that a program opens with
//!   [`result::group_start`]: both can be dropped before. Managed and imported memory is `ncclInvalidUsage` in a group,
//!   and so is [`Comm::from_devices`].
//! - Calls on a stream that is being captured are `ncclInvalidUsage`. If a communicator is dropped while graphs exist,
//!   which other code may have made with it, it is aborted once no graphs exist. cudarc aborts it while the graph uses
//!   it.
//! - [`NcclType`] is not implemented for `char`: the sum of two characters is not a character.
//! - `ncclCommInitRankConfig` and `ncclCommSplit` have the form of ROCm 10.0 (feature `rocm-10-0`): RCCL has changed
//!   their struct.

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

//! Tensors in and out by [DLPack](https://dmlc.github.io/dlpack/latest/), with no copy: what PyTorch, JAX, CuPy and others speak.
//!
//! A [`Tensor`] is memory with a shape. It is made of a buffer, and given away as a C structure whose deleter frees the buffer;
//! or it is made of somebody else's structure, and becomes a buffer that calls the deleter when it is dropped. Both forms of the
//! structure are there: [`DLManagedTensor`], and [`DLManagedTensorVersioned`] of DLPack 1.x, which knows of read-only memory.
//!
//! ```
//! # fn main() -> hip::Result<()> {
//! # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
//! use hip::dlpack::Tensor;
//! use hip::{Device, DeviceBuffer};
//!
//! let buffer = DeviceBuffer::from_slice(&Device::get(0)?, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let raw = Tensor::from_buffer(buffer, &[2, 3])?.into_raw_versioned()?;
//! // Somebody else gets `raw`, and calls its deleter when done. Here it comes back.
//! // SAFETY: it is ours, and nobody else has it.
//! let tensor = unsafe { Tensor::from_raw_versioned(raw)? };
//! assert_eq!(tensor.layout().shape(), [2, 3]);
//! let buffer: DeviceBuffer<f32> = tensor.into_buffer()?;
//! assert_eq!(buffer.to_vec()?[4], 5.0);
//! # Ok(()) }
//! ```
//!
//! # Order of work
//! DLPack's structures say nothing of streams: whoever gives a tensor and whoever takes it agree on the order of their work.
//!
//! - **Out**: [`Tensor::into_raw`] and [`into_raw_versioned`](Tensor::into_raw_versioned) block until all work on the memory that this crate knows of is
//!   done. After [`Tensor::order_before`], which makes a stream wait in place of the host, they do not: the taker works on that stream,
//!   or makes its own wait for it. (Python's `__dlpack__(stream=...)` hands over that stream.)
//!   The deleter waits for all work on the device before the memory is freed, so it may be called while the taker's work is still queued.
//! - **In**: work that the giver has queued on the memory is over, or the caller orders it before what this crate queues: one of the things
//!   that the caller of [`Tensor::from_raw`] answers for. Dropping the buffer blocks until this crate's work on it is done, then calls
//!   the deleter.

mod abi;
mod element;
mod layout;
mod raw;
mod tensor;

pub use abi::{
    DL_ROCM, DL_ROCM_HOST, DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
    FLAG_IS_COPIED, FLAG_READ_ONLY, VERSION,
};
pub use element::Element;
pub use layout::Layout;
pub use tensor::{ReadOnly, Tensor};

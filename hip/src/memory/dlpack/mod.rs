//! Exchange of tensors through [DLPack](https://dmlc.github.io/dlpack/latest/), without copies: the protocol of
//! PyTorch, JAX, CuPy and others.
//!
//! A [`Tensor`] is memory with a shape. You can make it from a buffer, and export it as a C structure whose deleter
//! frees the buffer. Or you can import a structure of another library, and convert it to a buffer that calls the
//! deleter when it is dropped. Both forms of the structure are supported: [`DLManagedTensor`], and
//! [`DLManagedTensorVersioned`] of DLPack 1.x, which supports read-only memory.
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
//! DLPack's structures do not contain a stream: exporter and importer must agree on the order of their work.
//!
//! - **Export**: [`Tensor::into_raw`] and [`into_raw_versioned`](Tensor::into_raw_versioned) block until all tracked
//!   work on the memory is done. After [`Tensor::order_before`], which makes a stream wait instead of the host, they do
//!   not block: the importer must use that stream, or make its own wait for it. (Python's `__dlpack__(stream=...)`
//!   passes that stream.) The deleter waits for all work on the device before the memory is freed, so it may be called
//!   while the importer's work is still queued.
//! - **Import**: work that the exporter has queued on the memory must be over, or the caller must order it before this
//!   crate's work; see the safety section of [`Tensor::from_raw`]. Dropping the buffer blocks until this crate's work
//!   on it is done, then calls the deleter.

mod abi;
mod element;
mod layout;
mod raw;
mod tensor;

pub use abi::{
    DL_CUDA, DL_CUDA_HOST, DL_CUDA_MANAGED, DL_ROCM, DL_ROCM_HOST, DLDataType, DLDevice, DLManagedTensor,
    DLManagedTensorVersioned, DLPackVersion, DLTensor, FLAG_IS_COPIED, FLAG_READ_ONLY, VERSION,
};
pub use element::Element;
pub use layout::Layout;
pub use tensor::{ReadOnly, Tensor};

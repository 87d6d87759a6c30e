//! Calls of other libraries on this crate's streams and memory.
//!
//! Buffers record which streams use them, so that no copy reads stale data and no memory is freed under queued work. A
//! library that is called with [`Stream::as_raw`](crate::Stream::as_raw) and
//! [`as_device_ptr`](crate::DeviceBuffer::as_device_ptr) bypasses these records. With this module, wrappers of other
//! libraries (BLAS, FFT, collectives, your own kernels behind a C function) can record such a call:
//!
//! - [`Uses`] lists what a call reads and writes on a stream, checks the device of each operand, and makes the call:
//!   [`call`](Uses::call) for a function that only queues work, [`call_blocking`](Uses::call_blocking) for one that may
//!   wait, [`call_waiting_for_device`](Uses::call_waiting_for_device) for one that waits for the whole device,
//!   [`call_queueing_for_host`](Uses::call_queueing_for_host) for one that queues a host function,
//!   [`guard`](Uses::guard) for several calls or an interface of the form "pointer plus guard", and [`call_on_streams`]
//!   for one call that queues work on several streams.
//! - [`wait_for_device`] and [`wait_for_current_device`] make a call that waits for a whole device and has no stream.
//!   HIP ends captures in such calls, so they wait for the end of captures, also of those that a crate makes of streams
//!   of its own as [`ForeignCapture`].
//! - [`queue_for_host`] makes a call that queues a host function on a stream of another crate, [`free_memory`] frees memory
//!   of another crate, and [`prepare_pools`] comes before its allocations from the pools of HIP: otherwise, these calls can
//!   deadlock with calls of other threads that wait for the device.
//! - [`Tracked`] stands for a resource of the library that queued work uses: a handle, a plan, a workspace, a
//!   communicator. It is destroyed after its last use, also by graphs. Memory that belongs to such a resource becomes a
//!   buffer or an array with [`DeviceBuffer::from_raw_parts_tracked`](crate::DeviceBuffer::from_raw_parts_tracked) and
//!   [`Array::from_raw_tracked`](crate::memory::array::Array::from_raw_tracked).
//! - [`DeviceSlice::expect_unwritten`](crate::DeviceSlice::expect_unwritten) and [`Uses::read_trusted`] are for memory
//!   whose content the wrapper has checked and relies on: no graph changes it as long as it is relied on.
//! - [`Tracked::is_in_graph`] and [`DeviceSlice::is_in_graph`](crate::DeviceSlice::is_in_graph) return whether a graph
//!   may use a resource or memory at any later time: a handle is then replaced instead of being initialised again, and
//!   a pool does not reuse the memory.
//! - [`library_error!`](crate::library_error) defines the error type of a library crate, [`Element`] connects an element
//!   type with the types of libraries, and [`expect_rocm`] returns an error on backends without ROCm's libraries.
//!
//! All of it works while a stream is [captured](crate::Stream::capture): the graph keeps the memory and the tracked
//! resources that its calls use. The chapter "Crates over hip" of `SAFETY.md` has the rules for crates over this one.
//!
//! ```
//! use std::ffi::c_int;
//!
//! use hip::interop::{Tracked, Uses};
//! use hip::sys::{hipMemsetD32Async, hipStream_t};
//! use hip::{Device, DeviceBuffer, IntoSliceMut, Stream};
//!
//! /// A C function of a library: fills `n` numbers at `x`, on a stream.
//! unsafe extern "C" fn lib_set(stream: hipStream_t, n: usize, value: c_int, x: *mut c_int) -> c_int {
//!     // SAFETY: the caller's memory and stream.
//!     unsafe { hipMemsetD32Async(x.cast(), value, n, stream).0 as c_int }
//! }
//!
//! /// The safe form of the library's handle.
//! struct Handle(Tracked);
//!
//! impl Handle {
//!     fn set<'a>(
//!         &'a self,
//!         stream: &'a Stream,
//!         value: i32,
//!         x: impl IntoSliceMut<'a, i32>,
//!     ) -> hip::Result<()> {
//!         let x = x.into();
//!         let n = x.len();
//!         let mut uses = Uses::on(stream);
//!         let x = uses.write("x", x)?; // an error if it is on a device that the stream cannot reach
//!         uses.tracked(&self.0);
//!         // SAFETY: the function queues its work on the stream, on these n numbers alone.
//!         let status = unsafe { uses.call(|raw| Ok::<_, hip::Error>(lib_set(raw, n, value, x)))? };
//!         hip::Status(status as u32).check("lib_set", || format!("{n} numbers"))
//!     }
//! }
//!
//! # fn main() -> hip::Result<()> {
//! # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
//! let device = Device::get(0)?;
//! let stream = Stream::new(&device)?;
//! let handle = Handle(Tracked::new());
//! let mut x = DeviceBuffer::<i32>::zeroed(&device, 1000)?;
//! handle.set(&stream, 7, &mut x)?;
//! assert_eq!(x.to_vec()?, [7; 1000]); // waits for the library's work
//! handle.0.release(|| { /* lib_destroy(raw) */ }); // when nothing that is queued uses it any more
//! # Ok(()) }
//! ```

mod backend;
mod library_error;
mod tracked;
mod uses;
mod views;

pub use crate::memory::dlpack::Element;
pub use crate::stream::captures::ForeignCapture;
pub use backend::expect_rocm;
pub use library_error::LibraryError;
pub use tracked::Tracked;
pub use uses::{
    Guard, Uses, call_on_streams, free_memory, prepare_pools, queue_for_host, wait_for_current_device, wait_for_device,
};

pub(crate) use uses::on_streams;

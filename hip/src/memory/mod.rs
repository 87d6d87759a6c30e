//! Memory: device, pinned, managed and pitched buffers, copies and fills, pools, arrays, peer access, DLPack, memory of
//! other APIs.

mod admission;
mod allocation;
pub mod array;
mod attributes;
#[cfg(feature = "rocm-7-1")]
mod batch;
mod bounds;
mod box_copy;
mod buffer;
mod cast;
mod chunks;
mod copy;
#[cfg(feature = "rocm-7-1")]
mod copy_batch;
#[cfg(feature = "rocm-7-1")]
mod copy_batch_3d;
mod device_ptr;
pub mod dlpack;
#[cfg(all(unix, feature = "rocm-7-0"))]
mod dma_buf;
#[cfg(unix)]
pub mod external;
mod fill;
mod float8;
mod foreign;
pub(crate) mod graph_copy;
mod heap_block;
mod host;
mod ipc;
mod location;
mod managed;
#[cfg(feature = "rocm-10-0")]
mod managed_batch;
#[cfg(feature = "ndarray")]
mod ndarray;
mod peer;
mod pinned;
mod pinned_slice;
mod pitched;
pub mod pool;
mod regions;
mod registered;
mod slice;
pub mod virtual_memory;

pub use attributes::{PointerAttributes, PointerKind};
pub use buffer::DeviceBuffer;
pub use bytemuck::Pod;
pub use chunks::{Chunks, ChunksMut};
pub(crate) use copy::{read_to_vec, same_len};
#[cfg(feature = "rocm-7-1")]
pub use copy_batch::CopyBatch;
#[cfg(feature = "rocm-7-1")]
pub use copy_batch_3d::CopyBatch3d;
pub use device_ptr::DevicePtr;
pub(crate) use fill::Pattern;
pub use float8::{F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz};
pub use ipc::IpcMemoryHandle;
pub use managed::{ManagedBuffer, MemoryAdvice, MemoryAttach, MemoryLocation};
#[cfg(feature = "rocm-10-0")]
pub use managed_batch::{DiscardBatch, PrefetchBatch};
pub use pinned::{Coherence, PinnedBuffer, PinnedOptions};
pub use pinned_slice::{PinnedSlice, PinnedSliceMut};
pub use pitched::{Extent, PitchedBuffer, PitchedSlice, PitchedSliceMut};
pub use registered::{RegisterOptions, Registered, RegisteredBuffer};
pub use slice::{DeviceSlice, DeviceSliceMut, IntoSlice, IntoSliceMut};

pub(crate) use admission::Admission;
pub(crate) use allocation::{Allocation, Keeper, Owner};
pub(crate) use bounds::byte_len;

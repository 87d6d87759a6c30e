//! Allocations in the order of a stream.

use std::ptr;
use std::sync::Arc;

use hip_sys::hipErrorOutOfMemory;

use super::inner::PoolInner;
use crate::core::call::{check, failed};
use crate::core::error::Result;
use crate::core::later::{Outcome as _, with_memory};
use crate::memory::allocation::{Allocation, Owner};
use crate::stream::Stream;
use crate::stream::usage::Access;

/// Allocates in the order of `stream`, from `pool` or the current one.
pub(crate) fn allocate(stream: &Stream, pool: Option<&Arc<PoolInner>>, bytes: usize) -> Result<Allocation> {
    let device = stream.device();
    let current;
    let pool = match pool {
        Some(pool) => {
            device.expect(pool.device, "the memory pool")?;
            Some(pool)
        }
        None => {
            current = device.pools().chosen();
            current.as_ref()
        }
    };
    let mut memory = Allocation::empty(&device);
    if bytes == 0 {
        return Ok(memory);
    }
    // The runtimes would record it, but the memory would exist only while the graph runs, and the buffer does not know.
    stream.inner.refuse_captured(
        "an allocation in the order of the stream (DeviceBuffer::uninit allocates at once, and the graph keeps the \
         memory; Graph::add_alloc allocates in each launch)",
    )?;
    device.prepare_pools()?;
    let mut pointer = ptr::null_mut();
    // Recorded as a write: uses of the memory, on any stream or the host, come after the allocation.
    let mut allocate = || {
        stream.inner.submit(&[Access::write(&memory.usage)], None, |raw| {
            let (status, function) = match pool {
                Some(pool) => {
                    // SAFETY: `pointer` is valid for a write; stream and pool are alive.
                    let status = unsafe { hip_sys::hipMallocFromPoolAsync(&mut pointer, bytes, pool.raw, raw) };
                    (status, "hipMallocFromPoolAsync")
                }
                None => {
                    // SAFETY: as above.
                    let status = unsafe { hip_sys::hipMallocAsync(&mut pointer, bytes, raw) };
                    (status, "hipMallocAsync")
                }
            };
            let what = || format!("{bytes} bytes on device {}", device.index());
            check(status, function, what)?;
            // HIP 5.7 returns null when a pool runs out.
            if pointer.is_null() { Err(failed(hipErrorOutOfMemory, function, what)) } else { Ok(()) }
        })
    };
    let allocated = with_memory(&device, &mut allocate);
    if allocated.lacks_memory() {
        // Memory that was freed in the order of the stream is available once the stream has reached the free.
        stream.inner.wait_all()?;
        allocate()?;
    } else {
        allocated?;
    }
    memory.adopt(pointer, bytes, Owner::Queue(Arc::clone(&stream.inner), pool.cloned()));
    Ok(memory)
}

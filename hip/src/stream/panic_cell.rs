//! Where kernels of a graph find the record for their panics.
//!
//! A graph stores its kernels' arguments, and may be launched on any stream. So its kernels get the address of a
//! [`PanicCell`] in device memory, and each launch first writes the address of its stream's record there.

use std::ptr;

use hip_sys::hipStream_t;

use super::panic_record::PanicRecord;
use super::usage::{Access, Usage};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::core::later::with_memory;
use crate::core::lock::Mutex;
use crate::core::per_device::PerDevice;

/// Flag in the address of a cell that is passed to a kernel. `hip-kernel/src/launched.rs` has the same number.
const IS_CELL: u64 = 2;

/// Number of cells per allocation.
const CELLS: usize = 64;

/// Addresses of the unused cells of each device. They are reused and never freed, like records.
static SPARE_CELLS: PerDevice<Mutex<Vec<u64>>> = PerDevice::new();

/// A word in device memory in which kernels of a graph find the record for a panic.
///
/// Launches with the same cell run one after the other, whatever `GraphExec` and stream they use: the word does not
/// change until a launch is over.
pub(crate) struct PanicCell {
    address: u64,
    of: Device,
    /// The uses by its launches.
    usage: Usage,
    /// The address that the last launch has written; 0 if none has, or if it is unknown.
    record: Mutex<u64>,
}

impl PanicCell {
    /// Creates a cell without a record: panics are lost until a launch has called [`lead_to`](Self::lead_to).
    pub(crate) fn new(device: Device) -> Result<Self> {
        let spare = SPARE_CELLS.of(device);
        let cell = |address| Self { address, of: device, usage: Usage::concurrent(), record: Mutex::default() };
        if let Some(address) = spare.lock().pop() {
            return Ok(cell(address));
        }
        let first = allocate_cells(device)?;
        spare.lock().extend((1..CELLS as u64).map(|index| first + index * size_of::<u64>() as u64));
        Ok(cell(first))
    }

    /// Returns the argument that kernels get instead of a record's address.
    pub(crate) fn argument(&self) -> u64 {
        self.address | IS_CELL
    }

    /// Returns the access of a launch of the graph.
    pub(crate) fn access(&self) -> Access<'_> {
        Access::write(&self.usage)
    }

    /// Makes kernels that are queued on `stream` from now on write to the record.
    ///
    /// The caller must have recorded the launch as a use of the cell, so that all earlier launches come before.
    pub(crate) fn lead_to(&self, record: &PanicRecord, stream: hipStream_t) -> Result<()> {
        let mut last = self.record.lock();
        if *last == record.address() {
            return Ok(());
        }
        *last = 0;
        let (to, from) = (ptr::without_provenance_mut(self.address as usize), record.address_of_address());
        let (bytes, kind) = (size_of::<u64>(), hip_sys::hipMemcpyHostToDevice);
        // SAFETY: both have eight bytes, and are never freed. Nothing writes to the source, which is pinned; only kernels of launches with
        // this cell read the destination, and they are ordered before or after. The caller keeps the stream alive.
        let status = unsafe { hip_sys::hipMemcpyAsync(to, from.cast(), bytes, kind, stream) };
        check(status, "hipMemcpyAsync", || format!("panics of a graph's kernels on device {}", self.of.index()))?;
        *last = record.address();
        Ok(())
    }
}

impl Drop for PanicCell {
    /// Returns the cell to the spare ones when its launches are over.
    fn drop(&mut self) {
        let (address, of) = (self.address, self.of);
        self.usage.release(move || SPARE_CELLS.of(of).lock().push(address));
    }
}

/// Allocates cells and returns the address of the first. They are null, so that a graph launched by other code finds no
/// record.
fn allocate_cells(device: Device) -> Result<u64> {
    device.activate()?;
    let bytes = CELLS * size_of::<u64>();
    let describe = || format!("{bytes} bytes for panics of graphs on device {}", device.index());
    let mut cells = ptr::null_mut();
    // SAFETY: `cells` is valid for a write.
    let status = with_memory(&device, || unsafe { hip_sys::hipMalloc(&mut cells, bytes) });
    check(status, "hipMalloc", describe)?;
    device.blocking_stream()?.inner.copy_now(|stream| {
        // SAFETY: the memory is new, `bytes` long, and nothing else uses it. It leaks after an error.
        check(unsafe { hip_sys::hipMemsetAsync(cells, 0, bytes, stream) }, "hipMemsetAsync", describe)
    })?;
    Ok(cells.addr() as u64)
}

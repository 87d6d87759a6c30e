//! Panics of kernels in Rust: the records that kernels write, in pinned memory, and that waits read.
//!
//! A stream (or a graph) gets a record when a kernel that may panic is first launched on it. The launch passes the record's address to
//! the kernel. A wait only reads memory of the host.

use std::mem::offset_of;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use hip_sys::{hipHostMallocCoherent, hipHostMallocMapped, hipHostMallocPortable};

use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::core::kernel_panic::KernelPanic;
use crate::core::later::with_memory;
use crate::core::lock::Mutex;
use crate::core::per_device::PerDevice;

/// Bytes of a file's name that a record has room for.
const FILE: usize = 208;
/// Bytes of a message that a record has room for.
const MESSAGE: usize = 256;

/// `state` of a record that a kernel has completed. 0: no panic; 1: a thread is writing it.
const COMPLETE: u32 = 2;

/// What a kernel writes: the first panic since the host has read one. `hip-kernel/src/panic.rs` has the same structure.
#[repr(C)]
struct Record {
    state: AtomicU32,
    line: u32,
    column: u32,
    block: [u32; 3],
    thread: [u32; 3],
    file_len: u32,
    message_len: u32,
    unused: u32,
    file: [u8; FILE],
    message: [u8; MESSAGE],
}

const _: () = assert!(size_of::<Record>() == 512 && offset_of!(Record, file) == 48);

/// Records that are allocated at a time.
const AT_A_TIME: usize = 64;

/// Records that nothing uses, of each device. They are reused and never freed: a kernel that outlives its stream's last handle after
/// a failure writes to memory that is still a record.
static SPARE: PerDevice<Mutex<Vec<Place>>> = PerDevice::new();

/// The addresses of a record, for the host and for the device.
#[derive(Clone, Copy)]
struct Place {
    host: NonNull<Record>,
    device: u64,
}

// SAFETY: the record is never freed, and its state is atomic: the other fields are read by the one thread that has seen it complete,
// with the lock of the `Report` held.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

/// A record that one stream or graph has.
pub(crate) struct PanicRecord {
    place: Place,
    of: Device,
}

impl PanicRecord {
    /// A record without a panic.
    pub(super) fn new(device: Device) -> Result<Self> {
        let spare = SPARE.of(device);
        if let Some(place) = spare.lock().pop() {
            return Ok(Self { place, of: device });
        }
        let mut made = allocate(device)?;
        let place = made.pop();
        spare.lock().append(&mut made);
        match place {
            Some(place) => Ok(Self { place, of: device }),
            None => Self::new(device),
        }
    }

    /// Its address for kernels.
    #[inline]
    pub(super) fn address(&self) -> u64 {
        self.place.device
    }

    fn state(&self) -> &AtomicU32 {
        // SAFETY: the record is never freed, and the field is atomic. No reference to the whole is made.
        unsafe { &(*self.place.host.as_ptr()).state }
    }

    /// Whether a kernel has panicked and nobody was told.
    pub(super) fn is_pending(&self) -> bool {
        self.state().load(Ordering::Acquire) == COMPLETE
    }

    /// The panic, which is forgotten. The caller holds a lock: one thread reads at a time.
    pub(super) fn take(&self) -> Option<KernelPanic> {
        if !self.is_pending() {
            return None;
        }
        // SAFETY: the record is never freed. The kernel's last write was the state, and no kernel writes before the state is 0 again.
        // Every bit pattern is a value. The copy's own state is not used.
        let record = unsafe { ptr::read_volatile(self.place.host.as_ptr()) };
        self.state().store(0, Ordering::Release);
        let text = |bytes: &[u8], len: u32| {
            let len = usize::try_from(len).unwrap_or(usize::MAX).min(bytes.len());
            String::from_utf8_lossy(&bytes[..len]).into_owned()
        };
        Some(KernelPanic {
            file: text(&record.file, record.file_len),
            line: record.line,
            column: record.column,
            message: Some(text(&record.message, record.message_len)).filter(|message| !message.is_empty()),
            block: record.block,
            thread: record.thread,
        })
    }
}

impl Drop for PanicRecord {
    /// The record is for another stream. All work that was given it is over: the streams of open launches are kept by the uses of the
    /// kernels' modules.
    fn drop(&mut self) {
        if context::is_forked() {
            return;
        }
        self.state().store(0, Ordering::Release);
        SPARE.of(self.of).lock().push(self.place);
    }
}

/// More records.
fn allocate(device: Device) -> Result<Vec<Place>> {
    device.activate()?;
    let bytes = AT_A_TIME * size_of::<Record>();
    let describe = || format!("{bytes} bytes for panics of kernels on device {}", device.index());
    let flags = hipHostMallocPortable | hipHostMallocMapped | hipHostMallocCoherent;
    let (mut host, mut address) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: `host` is valid for a write.
    let status = with_memory(&device, || unsafe { hip_sys::hipHostMalloc(&mut host, bytes, flags) });
    check(status, "hipHostMalloc", describe)?;
    // SAFETY: the memory is ours, as many bytes long, and no kernel knows of it.
    unsafe { ptr::write_bytes(host.cast::<u8>(), 0, bytes) };
    // SAFETY: `address` is valid for a write; the memory is mapped. After an error it is leaked.
    let status = unsafe { hip_sys::hipHostGetDevicePointer(&mut address, host, 0) };
    check(status, "hipHostGetDevicePointer", describe)?;
    let place = |index: usize| {
        let offset = index * size_of::<Record>();
        let host = NonNull::new(host.cast::<Record>().wrapping_add(index))?;
        Some(Place { host, device: address.addr() as u64 + offset as u64 })
    };
    Ok((0..AT_A_TIME).filter_map(place).collect())
}

//! Records in pinned memory, to which Rust kernels write their panics. Waits read them.
//!
//! A stream gets a record at the first launch of a kernel that may panic. The launch passes the record's address to the
//! kernel. A wait only reads host memory.

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

/// Maximum bytes of a file name in a record.
const FILE: usize = 208;
/// Maximum bytes of a message in a record.
const MESSAGE: usize = 248;

/// `state` of a complete record. 0: no panic; 1: a thread is writing it.
const COMPLETE: u32 = 2;

/// A record that kernels write: the first panic since the host has read one. `hip-kernel/src/panic.rs` has the same
/// structure.
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
    /// The record's own address on the device, which never changes: it is the source for filling cells.
    address: u64,
}

const _: () = assert!(size_of::<Record>() == 512 && offset_of!(Record, file) == 48);

/// Number of records per allocation.
const AT_A_TIME: usize = 64;

/// Unused records of each device. They are reused and never freed: after a failure, a kernel may outlive its stream's
/// last handle, and must still write to a valid record.
static SPARE: PerDevice<Mutex<Vec<Place>>> = PerDevice::new();

/// The addresses of a record, for the host and for the device.
#[derive(Clone, Copy)]
struct Place {
    host: NonNull<Record>,
    device: u64,
}

// SAFETY: the record is never freed, and its state is atomic. Only the thread that has seen it complete reads the other fields, with the
// lock of the `Report` held.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

/// The record of one stream.
pub(crate) struct PanicRecord {
    place: Place,
    of: Device,
}

impl PanicRecord {
    /// Creates a record without a panic.
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

    /// Returns its address for kernels.
    #[inline]
    pub(super) fn address(&self) -> u64 {
        self.place.device
    }

    /// Returns the host address of the field that holds the record's address.
    pub(super) fn address_of_address(&self) -> *const u64 {
        // SAFETY: the record is never freed. No reference to it is made.
        unsafe { &raw const (*self.place.host.as_ptr()).address }
    }

    fn state(&self) -> &AtomicU32 {
        // SAFETY: the record is never freed, and the field is atomic. No reference to the whole is made.
        unsafe { &(*self.place.host.as_ptr()).state }
    }

    /// Returns whether a kernel has panicked and the panic was not reported yet.
    pub(super) fn is_pending(&self) -> bool {
        self.state().load(Ordering::Acquire) == COMPLETE
    }

    /// Takes the panic. The caller must hold a lock, so that one thread reads at a time.
    pub(super) fn take(&self) -> Option<KernelPanic> {
        if !self.is_pending() {
            return None;
        }
        // SAFETY: the record is never freed. The kernel's last write was the state, and no kernel writes before the state is 0 again. Every
        // bit pattern is valid. The copy's own state is not used.
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
    /// Returns the record to the spare ones. All work that got it is over: the uses of the kernels' modules keep the
    /// streams of open launches.
    fn drop(&mut self) {
        if context::is_forked() {
            return;
        }
        self.state().store(0, Ordering::Release);
        SPARE.of(self.of).lock().push(self.place);
    }
}

/// Allocates records.
fn allocate(device: Device) -> Result<Vec<Place>> {
    device.activate()?;
    let bytes = AT_A_TIME * size_of::<Record>();
    let describe = || format!("{bytes} bytes for panics of kernels on device {}", device.index());
    let flags = hipHostMallocPortable | hipHostMallocMapped | hipHostMallocCoherent;
    let (mut host, mut address) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: `host` is valid for a write.
    let status = with_memory(&device, || unsafe { hip_sys::hipHostMalloc(&mut host, bytes, flags) });
    check(status, "hipHostMalloc", describe)?;
    // SAFETY: the memory is new, `bytes` long, and no kernel has its address.
    unsafe { ptr::write_bytes(host.cast::<u8>(), 0, bytes) };
    // SAFETY: `address` is valid for a write; the memory is mapped. It leaks after an error.
    let status = unsafe { hip_sys::hipHostGetDevicePointer(&mut address, host, 0) };
    check(status, "hipHostGetDevicePointer", describe)?;
    let place = |index: usize| {
        let offset = index * size_of::<Record>();
        let host = NonNull::new(host.cast::<Record>().wrapping_add(index))?;
        let device = address.addr() as u64 + offset as u64;
        // SAFETY: as above.
        unsafe { (*host.as_ptr()).address = device };
        Some(Place { host, device })
    };
    Ok((0..AT_A_TIME).filter_map(place).collect())
}

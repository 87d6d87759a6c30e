//! Memory and semaphores of other APIs.

use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

use hip::memory::external::{ExternalMemory, ExternalSemaphore, ExternalSemaphoreKind};
use hip::memory::virtual_memory::{AddressRange, PhysicalMemory};
use hip::{Device, Error, Stream};

use crate::{device, eventually, skipped, supported};

/// A descriptor of an object that a GPU cannot use.
fn descriptor() -> OwnedFd {
    File::open("/dev/null").unwrap().into()
}

fn import(device: &Device, bytes: usize) -> hip::Result<ExternalMemory> {
    // SAFETY: not memory, which the runtime detects.
    unsafe { ExternalMemory::import_fd(device, descriptor(), bytes, false) }
}

#[test]
fn a_descriptor_that_is_no_memory_is_refused() {
    let Some(device) = device() else { return };
    let nothing = import(&device, 0);
    assert!(matches!(nothing, Err(Error::InvalidValue { .. })), "{nothing:?}");
    let refused = import(&device, 4096).unwrap_err();
    assert!(matches!(refused, Error::Hip(_) | Error::NoSymbol { .. }), "{refused}");
    assert!(refused.to_string().contains("4096 bytes"), "{refused}");
}

#[test]
fn a_descriptor_that_is_no_semaphore_is_refused() {
    let Some(device) = device() else { return };
    // SAFETY: not a semaphore, which the runtime detects.
    let refused = unsafe { ExternalSemaphore::import_fd(&device, descriptor(), ExternalSemaphoreKind::Binary) };
    let refused = refused.unwrap_err();
    assert!(matches!(refused, Error::Hip(_) | Error::NoSymbol { .. }), "{refused}");
    assert!(refused.to_string().contains("Binary by descriptor"), "{refused}");
}

#[cfg(feature = "rocm-7-0")]
#[test]
fn memory_is_exported_for_other_drivers_or_a_clear_error_says_why_not() {
    use hip::DeviceBuffer;
    let Some(device) = device() else { return };
    let nothing = DeviceBuffer::<u32>::uninit(&device, 0).unwrap().export_dma_buf();
    assert!(matches!(nothing, Err(Error::InvalidValue { .. })), "{nothing:?}");
    let buffer = DeviceBuffer::<u8>::zeroed(&device, 4 << 20).unwrap();
    match buffer.export_dma_buf() {
        // On a GPU, the kernel reports the size of the memory.
        Ok(fd) => assert!(std::io::Seek::seek(&mut File::from(fd), std::io::SeekFrom::End(0)).unwrap() >= 4 << 20),
        Err(error) => {
            assert!(matches!(error, Error::Hip(_) | Error::NoSymbol { .. }), "{error}");
            assert!(error.to_string().contains("a dma-buf of 4194304 bytes of device 0"), "{error}");
        }
    }
}

/// HIP's own virtual memory is the exporter: its descriptors work like those of another driver, and the memory behind
/// them can be read without the import.
#[test]
fn memory_of_another_driver_is_seen_from_both_sides() {
    let Some(device) = device() else { return };
    if hip::runtime_version().unwrap().0 < 6 && hip::backend().unwrap() != hip::Backend::Sim {
        return skipped(&"the runtime of 5.7 hands out no memory over HSA");
    }
    let Some(shared) = supported(PhysicalMemory::new_shareable(&device, 64 << 10)) else { return };
    let (bytes, count) = (shared.byte_len(), shared.byte_len() / 4);
    let range = AddressRange::reserve(&device, bytes).unwrap();
    let mut own = range.map::<u32>(0, &[&shared]).unwrap();
    let numbers: Vec<u32> = (0..count as u32).collect();
    own.copy_from_slice(&numbers).unwrap();

    let Some(fd) = supported(shared.export()) else { return };
    let open = descriptors_of(&fd);
    let import = |bytes| {
        // SAFETY: memory of `bytes` bytes that was exported; only this test accesses it.
        unsafe { ExternalMemory::import_fd(&device, fd.try_clone().unwrap(), bytes, true) }
    };
    let Some(memory) = supported(import(bytes)) else { return };
    assert_eq!((memory.byte_len(), memory.device()), (bytes, device));
    let beyond = memory.into_buffer::<u32>(bytes - 4, 2).unwrap_err();
    assert!(
        matches!(beyond, Error::Range { start, end, len } if (start, end, len) == (bytes - 4, bytes + 4, bytes)),
        "{beyond}"
    );
    let nothing = import(bytes).unwrap().into_buffer::<u32>(0, 0).unwrap_err();
    assert!(matches!(nothing, Error::InvalidValue { .. }), "{nothing}");
    let crooked = import(bytes).unwrap().into_buffer::<u32>(2, 1).unwrap_err();
    assert!(crooked.to_string().contains("byte 2, but must be a multiple of 4"), "{crooked}");

    until_open(&fd, open);
    let mut theirs = import(bytes).unwrap().into_buffer::<u32>(4096, count - 1024).unwrap();
    assert!(theirs.to_vec().unwrap() == numbers[1024..], "what was there before");
    let stream = Stream::new(&device).unwrap();
    theirs.slice_mut(..2).unwrap().fill_async(&stream, 7).unwrap();
    drop(theirs); // unmapped after the fill
    stream.synchronize().unwrap(); // the crate does not know that `theirs` is the same memory
    assert_eq!(own.slice(1022..1028).unwrap().to_vec().unwrap(), [1022, 1023, 7, 7, 1026, 1027]);
    own.fill(5).unwrap();
    // HIP 7.2 does not unmap imported memory: the software GPU keeps one descriptor for it.
    until_open(&fd, open + usize::from(hip::runtime_version().unwrap().0 == 7));
}

/// Waits until at most `most` descriptors of a file are open: each import's is closed with it. Kernels of other tests
/// that run meanwhile keep the descriptors that the software GPU had when they began.
fn until_open(fd: &OwnedFd, most: usize) {
    eventually("the descriptor of an import is closed with it", || descriptors_of(fd) <= most);
}

/// Returns the number of open descriptors of the same file in this process.
fn descriptors_of(fd: &OwnedFd) -> usize {
    let file = |path: &std::path::Path| std::fs::metadata(path).ok().map(|of| (of.dev(), of.ino()));
    let own = file(format!("/proc/self/fd/{}", fd.as_raw_fd()).as_ref());
    let all = std::fs::read_dir("/proc/self/fd").unwrap();
    all.filter(|entry| file(&entry.as_ref().unwrap().path()) == own).count()
}

//! Memory and semaphores of other APIs. There is no other API on the software GPU that would export any, so what is tested is
//! that nothing else is taken for such.

use std::fs::File;
use std::os::fd::OwnedFd;

use hip::{Device, Error, ExternalMemory, ExternalSemaphore, ExternalSemaphoreKind};

use crate::device;

/// A descriptor of nothing that a GPU could use.
fn descriptor() -> OwnedFd {
    File::open("/dev/null").unwrap().into()
}

fn import(device: &Device, bytes: usize) -> hip::Result<ExternalMemory> {
    // SAFETY: it is no memory, which the runtime finds out.
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
    // SAFETY: it is no semaphore, which the runtime finds out.
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
        // A GPU: the kernel says how large the memory is.
        Ok(fd) => assert!(std::io::Seek::seek(&mut File::from(fd), std::io::SeekFrom::End(0)).unwrap() >= 4 << 20),
        Err(error) => {
            assert!(matches!(error, Error::Hip(_) | Error::NoSymbol { .. }), "{error}");
            assert!(error.to_string().contains("a dma-buf of 4194304 bytes of device 0"), "{error}");
        }
    }
}

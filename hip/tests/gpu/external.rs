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

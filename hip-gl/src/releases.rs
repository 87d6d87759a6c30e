//! Workarounds for named releases of ROCm: each with its releases, the symptom, and the tests that show it.
//!
//! | releases | symptom | what is done | test |
//! |---|---|---|---|
//! | 5.7, 6.4 | looks up OpenGL functions among the global symbols | OpenGL's library is opened with `RTLD_GLOBAL`: [`open`] | `gl::buffers::the_devices_are_those_that_opengl_runs_on` |
//! | 5.7 to 7.2 | an OpenGL object that was mapped and unregistered is still found by its address, which other memory may have got | it stays registered: [`is_forgotten`] | `gl::buffers::what_was_unregistered_is_forgotten_so_that_others_can_have_its_address`, `gl::buffers::what_was_never_mapped_is_given_up_and_what_was_keeps_its_address` |

use std::ffi::c_int;
use std::ptr;

use hip::{Status, sys};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LAZY};

/// Mesa's own library behind libglvnd's `libGL.so.1`, where it is used; it has the functions that older runtimes look for.
const BEHIND: &str = "libGLX_mesa.so.0";

/// `RTLD_NOLOAD` of Linux.
const RTLD_NOLOAD: c_int = 4;

/// Opens OpenGL's library for all of the program to see: 5.7 and 6.4 look for Mesa's functions among the symbols that all of the program
/// sees.
pub(crate) fn open(name: &str) -> Result<Library, libloading::Error> {
    // SAFETY: what OpenGL's library does when it is loaded is what it does in the runtime, which opens the same.
    let library = unsafe { Library::open(Some(name), RTLD_LAZY | RTLD_GLOBAL) }?;
    // SAFETY: it is not loaded by this, only made visible if it is there.
    if let Ok(behind) = unsafe { Library::open(Some(BEHIND), RTLD_LAZY | RTLD_GLOBAL | RTLD_NOLOAD) } {
        std::mem::forget(behind);
    }
    Ok(library)
}

/// Whether the runtime has forgotten that an object was mapped at `address`; 0 if that is not known.
///
/// ROCm's runtimes record a mapped object by its address. 7.2 keeps the record when the object is unmapped and unregistered, and takes
/// whatever has the address next for the object, which is gone: it refuses work, or crashes. 5.7 and 6.4 keep the record too, but also
/// the memory. So what was mapped is not unregistered, unless the runtime has forgotten it: nothing else gets its address.
pub(crate) fn is_forgotten(address: u64) -> bool {
    if address == 0 {
        return false;
    }
    let (mut base, mut bytes) = (ptr::null_mut(), 0);
    let at = ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: both are valid for a write; the address is only looked up.
    let status = Status::from(unsafe { sys::hipMemGetAddressRange(&mut base, &mut bytes, at) });
    if status != Status::SUCCESS {
        let _ = hip::runtime::take_last_error();
    }
    status == Status::NOT_FOUND
}

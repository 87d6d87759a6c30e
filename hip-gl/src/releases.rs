//! Workarounds for named releases of ROCm: each with its releases, the symptom, and the tests that show it.
//!
//! | releases | symptom | workaround | test |
//! |---|---|---|---|
//! | 5.7, 6.4 | looks up OpenGL functions among the global symbols | OpenGL's library is opened with `RTLD_GLOBAL`: [`open`] | `gl::buffers::the_devices_are_those_that_opengl_runs_on` |
//! | 5.7 to 7.2 | an OpenGL object that was mapped and unregistered is still found by its address, which other memory may have got | the object stays registered: [`is_forgotten`] | `gl::buffers::what_was_unregistered_is_forgotten_so_that_others_can_have_its_address`, `gl::buffers::what_was_never_mapped_is_given_up_and_what_was_keeps_its_address` |

use std::ffi::c_int;
use std::ptr;

use hip::{Status, sys};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LAZY};

/// Mesa's own library behind libglvnd's `libGL.so.1`, if that is used; it has the functions that older runtimes look
/// for.
const BEHIND: &str = "libGLX_mesa.so.0";

/// Linux's `RTLD_NOLOAD`.
const RTLD_NOLOAD: c_int = 4;

/// Opens OpenGL's library with its symbols visible to the whole program: 5.7 and 6.4 look for Mesa's functions among
/// the global symbols.
pub(crate) fn open(name: &str) -> Result<Library, libloading::Error> {
    // SAFETY: the runtime opens the same library, so its initializers run in any case.
    let library = unsafe { Library::open(Some(name), RTLD_LAZY | RTLD_GLOBAL) }?;
    // SAFETY: this does not load the library, but only makes it visible if it is already loaded.
    if let Ok(behind) = unsafe { Library::open(Some(BEHIND), RTLD_LAZY | RTLD_GLOBAL | RTLD_NOLOAD) } {
        std::mem::forget(behind);
    }
    Ok(library)
}

/// Returns whether the runtime no longer has a record of a mapped object at `address`; 0 means that the address is
/// unknown.
///
/// ROCm's runtimes record a mapped object by its address. 7.2 keeps the record when the object is unmapped and
/// unregistered, and mistakes the next allocation at the address for the object: it refuses work, or crashes. 5.7 and
/// 6.4 keep the record too, but also the memory. So mapped objects are not unregistered, unless the runtime has dropped
/// the record: nothing else gets the address.
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

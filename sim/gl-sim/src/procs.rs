//! Looking up functions by name.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use crate::state::{INVALID_OPERATION, with_context};
use crate::{gl, glx, interop};

/// The stub for missing functions: sets an error in the context, like real libraries.
extern "C" fn unknown() -> usize {
    with_context(|_, _| Err::<usize, _>(INVALID_OPERATION))
}

macro_rules! table {
    ($($(#[$about:meta])* $module:ident { $($name:ident)* })*) => {
        &[$($((stringify!($name), $module::$name as *const c_void)),*),*]
    };
}

/// The address of a function.
///
/// # Safety
/// `name` is a string.
pub(crate) unsafe fn address(name: *const c_char) -> *const c_void {
    let known: &[(&str, *const c_void)] = table! {
        gl {
            glBindBuffer glBindTexture glBufferData glBufferSubData glDeleteBuffers glDeleteTextures glFinish glFlush glGenBuffers
            glGenTextures glGetBufferParameteriv glGetBufferSubData glGetError glGetIntegerv glGetString glGetTexImage
            glGetTexLevelParameteriv glGetTexParameteriv glIsBuffer glIsTexture glTexImage2D glTexImage3D
        }
        glx {
            glXChooseVisual glXCreateContext glXDestroyContext glXGetCurrentContext glXGetCurrentDisplay glXGetCurrentDrawable
            glXGetProcAddress glXMakeCurrent
        }
    };
    // SAFETY: the caller vouches for it.
    let Ok(name) = unsafe { CStr::from_ptr(name) }.to_str() else { return ptr::null() };
    match name {
        // Newer names of the same functions, which are not exported.
        "glXGLInteropQueryDeviceInfoMESA" => return interop::MesaGLInteropGLXQueryDeviceInfo as *const c_void,
        "glXGLInteropExportObjectMESA" => return interop::MesaGLInteropGLXExportObject as *const c_void,
        _ => {}
    }
    let found = known.iter().find(|(known, _)| *known == name).map(|(_, address)| *address);
    let other = if name.starts_with("gl") && !name.starts_with("glX") { unknown as *const c_void } else { ptr::null() };
    found.unwrap_or(other)
}

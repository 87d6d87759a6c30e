//! Functions of [`sys`] that return a [`Result`]: cudarc's layer `nvrtc::result`.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::{null, null_mut};

use super::sys;

pub use hiprtc_sys::cuda::NvrtcError;

/// Creates a program.
///
/// # Errors
/// The status of `nvrtcCreateProgram`.
#[doc(alias = "nvrtcCreateProgram")]
pub fn create_program(src: &CStr, name: Option<&CStr>) -> Result<sys::nvrtcProgram, NvrtcError> {
    let mut program = null_mut();
    let name = name.map_or(null(), CStr::as_ptr);
    // SAFETY: C strings, no headers, and room for the result.
    unsafe { sys::nvrtcCreateProgram(&mut program, src.as_ptr(), name, 0, null_mut(), null_mut()) }.result()?;
    Ok(program)
}

/// Compiles a program, with NVRTC's options.
///
/// # Errors
/// `NVRTC_ERROR_COMPILATION` if the source is invalid: [`get_program_log`] returns the messages.
/// `NVRTC_ERROR_INVALID_OPTION`, also for an option that contains a null.
///
/// # Safety
/// The program must be alive.
#[doc(alias = "nvrtcCompileProgram")]
pub unsafe fn compile_program<O: Clone + Into<Vec<u8>>>(
    prog: sys::nvrtcProgram,
    options: &[O],
) -> Result<(), NvrtcError> {
    let options = options.iter().cloned().map(CString::new).collect::<Result<Vec<_>, _>>();
    let options = options.map_err(|_| NvrtcError(sys::nvrtcResult::NVRTC_ERROR_INVALID_OPTION))?;
    let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let count =
        c_int::try_from(pointers.len()).map_err(|_| NvrtcError(sys::nvrtcResult::NVRTC_ERROR_INVALID_OPTION))?;
    // SAFETY: the caller's contract, and this many C strings.
    unsafe { sys::nvrtcCompileProgram(prog, count, pointers.as_ptr()) }.result()
}

/// Destroys a program.
///
/// # Errors
/// The status of `nvrtcDestroyProgram`.
///
/// # Safety
/// The program must be alive, and not used again.
#[doc(alias = "nvrtcDestroyProgram")]
pub unsafe fn destroy_program(mut prog: sys::nvrtcProgram) -> Result<(), NvrtcError> {
    // SAFETY: the caller's contract.
    unsafe { sys::nvrtcDestroyProgram(&mut prog) }.result()
}

/// Returns a text or code, with the functions for its size and its bytes.
fn bytes(
    size: impl FnOnce(*mut usize) -> sys::nvrtcResult,
    read: impl FnOnce(*mut c_char) -> sys::nvrtcResult,
) -> Result<Vec<c_char>, NvrtcError> {
    let mut len = 0;
    size(&mut len).result()?;
    let mut bytes = vec![0; len];
    if len > 0 {
        read(bytes.as_mut_ptr()).result()?;
    }
    Ok(bytes)
}

/// Returns the machine code of a compiled program: AMD GPUs have no PTX.
///
/// # Errors
/// The status of `nvrtcGetPTX`.
///
/// # Safety
/// The program must be alive.
#[doc(alias = "nvrtcGetPTX")]
pub unsafe fn get_ptx(prog: sys::nvrtcProgram) -> Result<Vec<c_char>, NvrtcError> {
    // SAFETY: the caller's contract, and room for the result.
    let size = |out| unsafe { sys::nvrtcGetPTXSize(prog, out) };
    // SAFETY: the caller's contract, and a buffer of that size.
    bytes(size, |out| unsafe { sys::nvrtcGetPTX(prog, out) })
}

/// Returns the compiler's messages, with a null at the end.
///
/// # Errors
/// The status of `nvrtcGetProgramLog`.
///
/// # Safety
/// The program must be alive.
#[doc(alias = "nvrtcGetProgramLog")]
pub unsafe fn get_program_log(prog: sys::nvrtcProgram) -> Result<Vec<c_char>, NvrtcError> {
    // SAFETY: the caller's contract, and room for the result.
    let size = |out| unsafe { sys::nvrtcGetProgramLogSize(prog, out) };
    // SAFETY: the caller's contract, and a buffer of that size.
    let mut log = bytes(size, |out| unsafe { sys::nvrtcGetProgramLog(prog, out) })?;
    if log.last() != Some(&0) {
        log.push(0); // HIPRTC writes no bytes at all if there are no messages
    }
    Ok(log)
}

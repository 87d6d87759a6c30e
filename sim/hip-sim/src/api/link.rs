//! Runtime linking (since 6.4), limited to inputs that need no compiler.

use std::ffi::{CStr, c_char, c_uint, c_void};
use std::sync::PoisonError;

use hip_sys::rocm_7_2::*;

use super::{hip_functions, put};
use crate::linker::Linker;
use crate::runtime::runtime;
use crate::status::{Outcome, Refusal, ensure};

/// Adds an input of a HIP input kind.
fn add(state: *mut c_void, kind: c_uint, bytes: &[u8]) -> Outcome {
    let runtime = runtime()?;
    let linker = runtime.linkers.get(state).ok_or(hipErrorInvalidValue)?;
    match kind {
        // Cubin, fat binary and object: accepted as code objects or bundles.
        0 | 2 | 3 => {}
        100..=103 => {
            let text =
                "the embedded software GPU has no compiler to link bitcode or SPIR-V with (that is Comgr of ROCm)";
            return Err(Refusal::new(hipErrorNotSupported, text));
        }
        1 | 4 | 5 => return Err(hipErrorInvalidValue.into()),
        _ => return Err(hipErrorInvalidConfiguration.into()),
    }
    let starts: [&[u8]; 3] = [b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"];
    if !starts.iter().any(|start| bytes.starts_with(start)) {
        return Err(Refusal::new(hipErrorInvalidImage, "neither a code object nor a bundle of such"));
    }
    let mut linked = linker.0.lock().unwrap_or_else(PoisonError::into_inner);
    if linked.is_some() {
        let text = "a second code object: what is compiled to machine code is not put together any more";
        return Err(Refusal::new(hipErrorNotSupported, text));
    }
    *linked = Some(bytes.to_vec());
    Ok(())
}

hip_functions! {
    since:

    fn hipLinkCreate(
        count: c_uint, options: *mut c_uint, values: *mut *mut c_void, state: *mut *mut c_void,
    ) {
        let runtime = runtime()?;
        // The options are for a compiler.
        let _ = (count, options, values);
        ensure(!state.is_null(), hipErrorInvalidValue)?;
        put(state, runtime.linkers.insert(Linker::default()).ok_or(hipErrorOutOfMemory)?)
    }

    fn hipLinkAddData(
        state: *mut c_void, kind: c_uint, data: *mut c_void, size: usize, name: *const c_char,
        count: c_uint, options: *mut c_uint, values: *mut *mut c_void,
    ) {
        let _ = (name, count, options, values);
        ensure(!data.is_null() && size > 0, hipErrorInvalidImage)?;
        add(state, kind, std::slice::from_raw_parts(data.cast::<u8>(), size))
    }

    fn hipLinkAddFile(
        state: *mut c_void, kind: c_uint, path: *const c_char,
        count: c_uint, options: *mut c_uint, values: *mut *mut c_void,
    ) {
        let _ = (count, options, values);
        ensure(!path.is_null(), hipErrorInvalidValue)?;
        let path = CStr::from_ptr(path).to_str().map_err(|_| hipErrorInvalidValue)?;
        let bytes = std::fs::read(path)
            .map_err(|error| Refusal::new(hipErrorInvalidValue, format!("{path}: {error}")))?;
        add(state, kind, &bytes)
    }

    fn hipLinkComplete(state: *mut c_void, to: *mut *mut c_void, size: *mut usize) {
        let runtime = runtime()?;
        ensure(!to.is_null() && !size.is_null(), hipErrorInvalidValue)?;
        let linker = runtime.linkers.get(state).ok_or(hipErrorInvalidValue)?;
        let linked = linker.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The bytes live as long as the linker, which does not change them any more. Without inputs, the result is null.
        put(to, linked.as_ref().map_or(std::ptr::null_mut(), |bytes| bytes.as_ptr().cast_mut().cast()))?;
        put(size, linked.as_ref().map_or(0, Vec::len))
    }

    fn hipLinkDestroy(state: *mut c_void) {
        runtime()?.linkers.remove(state).ok_or(hipErrorInvalidValue)?;
        Ok(())
    }
}

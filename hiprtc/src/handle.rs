//! A program of a compiler's own: HIPRTC's, or NVRTC's, whose functions have the same signatures.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::{null, null_mut};

use hiprtc_sys::{
    HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID, HIPRTC_SUCCESS, hiprtcAddNameExpression, hiprtcCompileProgram,
    hiprtcCreateProgram, hiprtcDestroyProgram, hiprtcGetBitcode, hiprtcGetBitcodeSize, hiprtcGetCode,
    hiprtcGetCodeSize, hiprtcGetLoweredName, hiprtcGetProgramLog, hiprtcGetProgramLogSize, hiprtcProgram, hiprtcResult,
};

use crate::error::{Result, c_string, ok};
use crate::given::Given;

/// The functions of a compiler, with HIPRTC's types. NVRTC's handle is a pointer, too, and its statuses are the same
/// numbers.
#[derive(Debug)]
pub(crate) struct Functions {
    pub(crate) names: &'static Names,
    pub(crate) create: unsafe extern "C" fn(
        *mut hiprtcProgram,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> hiprtcResult,
    pub(crate) destroy: unsafe extern "C" fn(*mut hiprtcProgram) -> hiprtcResult,
    pub(crate) add_name: unsafe extern "C" fn(hiprtcProgram, *const c_char) -> hiprtcResult,
    pub(crate) compile: unsafe extern "C" fn(hiprtcProgram, c_int, *const *const c_char) -> hiprtcResult,
    pub(crate) log_size: unsafe extern "C" fn(hiprtcProgram, *mut usize) -> hiprtcResult,
    pub(crate) log: unsafe extern "C" fn(hiprtcProgram, *mut c_char) -> hiprtcResult,
    pub(crate) lowered_name: unsafe extern "C" fn(hiprtcProgram, *const c_char, *mut *const c_char) -> hiprtcResult,
    pub(crate) code: Output,
    /// Bitcode of HIPRTC, PTX of NVRTC.
    pub(crate) text: Output,
}

/// The functions that return an output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) names: [&'static str; 2],
    pub(crate) size: unsafe extern "C" fn(hiprtcProgram, *mut usize) -> hiprtcResult,
    pub(crate) get: unsafe extern "C" fn(hiprtcProgram, *mut c_char) -> hiprtcResult,
}

/// The names of the functions, for errors.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) create: &'static str,
    pub(crate) add_name: &'static str,
    pub(crate) compile: &'static str,
    pub(crate) lowered_name: &'static str,
}

pub(crate) const HIPRTC: Functions = Functions {
    names: &Names {
        create: "hiprtcCreateProgram",
        add_name: "hiprtcAddNameExpression",
        compile: "hiprtcCompileProgram",
        lowered_name: "hiprtcGetLoweredName",
    },
    create: hiprtcCreateProgram,
    destroy: hiprtcDestroyProgram,
    add_name: hiprtcAddNameExpression,
    compile: hiprtcCompileProgram,
    log_size: hiprtcGetProgramLogSize,
    log: hiprtcGetProgramLog,
    lowered_name: hiprtcGetLoweredName,
    code: Output { names: ["hiprtcGetCodeSize", "hiprtcGetCode"], size: hiprtcGetCodeSize, get: hiprtcGetCode },
    text: Output {
        names: ["hiprtcGetBitcodeSize", "hiprtcGetBitcode"],
        size: hiprtcGetBitcodeSize,
        get: hiprtcGetBitcode,
    },
};

/// The compiler's program, destroyed on drop.
pub(crate) struct Handle {
    raw: hiprtcProgram,
    functions: &'static Functions,
}

impl Handle {
    pub(crate) fn create(
        functions: &'static Functions,
        given: Given<'_>,
        headers: &[(String, String)],
    ) -> Result<Self> {
        let source = c_string("the source", given.source)?;
        let name = c_string("the program's name", given.name)?;
        let texts = c_strings("a header", headers.iter().map(|(_, source)| source))?;
        let names = c_strings("a header's name", headers.iter().map(|(name, _)| name))?;
        let text_pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
        let name_pointers: Vec<*const c_char> = names.iter().map(|text| text.as_ptr()).collect();
        let count = headers.len().try_into().unwrap_or(i32::MAX);
        let mut raw = null_mut();
        // SAFETY: a pointer that is valid for the result, C strings, `count` of them in each array; all are copied.
        let status = unsafe {
            (functions.create)(
                &mut raw,
                source.as_ptr(),
                name.as_ptr(),
                count,
                text_pointers.as_ptr(),
                name_pointers.as_ptr(),
            )
        };
        ok(status, functions.names.create, || format!("{} with {} headers", given.name, headers.len()))?;
        Ok(Self { raw, functions })
    }

    pub(crate) fn add_name(&self, program: &str, expression: &str) -> Result<()> {
        let c_expression = c_string("a name expression", expression)?;
        // SAFETY: a live program and a C string, which is copied.
        let status = unsafe { (self.functions.add_name)(self.raw, c_expression.as_ptr()) };
        ok(status, self.functions.names.add_name, || format!("{expression:?} in {program}"))
    }

    pub(crate) fn compile(&self, options: &[String]) -> Result<hiprtcResult> {
        let options = c_strings("an option", options.iter())?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = pointers.len().try_into().unwrap_or(i32::MAX);
        // SAFETY: a live program and `count` C strings, which are copied.
        Ok(unsafe { (self.functions.compile)(self.raw, count, pointers.as_ptr()) })
    }

    /// Returns the compiler's messages; empty if they cannot be read.
    pub(crate) fn log(&self) -> String {
        let mut size = 0;
        // SAFETY: a live program and a pointer that is valid for the size.
        let status = unsafe { (self.functions.log_size)(self.raw, &mut size) };
        if status != HIPRTC_SUCCESS || size == 0 {
            return String::new();
        }
        let mut log = vec![0_u8; size];
        // SAFETY: a live program and room for the size that it returned.
        let status = unsafe { (self.functions.log)(self.raw, log.as_mut_ptr().cast()) };
        if status != HIPRTC_SUCCESS {
            return String::new();
        }
        // Some releases count the final NUL, some do not.
        String::from_utf8_lossy(&log).trim_end_matches('\0').trim_end().to_owned()
    }

    pub(crate) fn output(&self, name: &str, output: Output) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: a live program and a pointer that is valid for the size.
        let status = unsafe { (output.size)(self.raw, &mut size) };
        ok(status, output.names[0], || name.to_owned())?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: a live program and room for the size that it returned.
        let status = unsafe { (output.get)(self.raw, bytes.as_mut_ptr().cast()) };
        ok(status, output.names[1], || format!("{size} bytes of {name}"))?;
        Ok(bytes)
    }

    pub(crate) fn lowered_name(&self, expression: &str) -> Result<String> {
        let c_expression = c_string("a name expression", expression)?;
        let mut name = null();
        // SAFETY: a live program, a C string and a pointer that is valid for the result.
        let status = unsafe { (self.functions.lowered_name)(self.raw, c_expression.as_ptr(), &mut name) };
        let status =
            if name.is_null() && status == HIPRTC_SUCCESS { HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID } else { status };
        ok(status, self.functions.names.lowered_name, || expression.to_owned())?;
        // SAFETY: a C string that lives as long as the program.
        Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: a live program, destroyed once. Nothing can handle its status here.
        let _ = unsafe { (self.functions.destroy)(&mut self.raw) };
    }
}

fn c_strings<'a>(what: &str, texts: impl Iterator<Item = &'a String>) -> Result<Vec<CString>> {
    texts.map(|text| c_string(what, text)).collect()
}

//! The linker's C functions. Their declarations differ between the releases only in the names of enums: the ABI is the
//! same in all. So they are declared here once, with integers for the enums. A test compares them with both forms in
//! `hiprtc-sys`.

use std::ffi::{c_char, c_uint, c_void};

use hiprtc_sys::{hiprtcLinkState, hiprtcResult};

/// `HIPRTC_JIT_INFO_LOG_BUFFER`, later `hipJitOptionInfoLogBuffer`.
pub(crate) const INFO_LOG_BUFFER: c_uint = 3;
/// `HIPRTC_JIT_INFO_LOG_BUFFER_SIZE_BYTES`
pub(crate) const INFO_LOG_BUFFER_SIZE_BYTES: c_uint = 4;
/// `HIPRTC_JIT_ERROR_LOG_BUFFER`
pub(crate) const ERROR_LOG_BUFFER: c_uint = 5;
/// `HIPRTC_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`
pub(crate) const ERROR_LOG_BUFFER_SIZE_BYTES: c_uint = 6;
/// `HIPRTC_JIT_LOG_VERBOSE`
pub(crate) const LOG_VERBOSE: c_uint = 12;
/// `HIPRTC_JIT_IR_TO_ISA_OPT_EXT`
pub(crate) const IR_TO_ISA_OPT_EXT: c_uint = 10000;
/// `HIPRTC_JIT_IR_TO_ISA_OPT_COUNT_EXT`
pub(crate) const IR_TO_ISA_OPT_COUNT_EXT: c_uint = 10001;
/// `HIPRTC_JIT_INPUT_LLVM_BITCODE`
pub(crate) const INPUT_LLVM_BITCODE: c_uint = 100;

rocm_loader::bindings! { binding = hiprtc_sys::BINDING;
    "5.7" pub fn hiprtcLinkCreate(count: c_uint, options: *mut c_uint, values: *mut *mut c_void,
        state: *mut hiprtcLinkState) -> hiprtcResult;
    "5.7" pub fn hiprtcLinkAddData(state: hiprtcLinkState, kind: c_uint, data: *mut c_void, size: usize,
        name: *const c_char, count: c_uint, options: *mut c_uint, values: *mut *mut c_void) -> hiprtcResult;
}

// Every level switches on the feature for 5.7.
#[cfg(all(test, feature = "rocm-5-7"))]
mod tests {
    use super::*;

    /// A wrong declaration does not compile, and a wrong number fails.
    #[test]
    fn declarations_are_those_of_before_6_4() {
        use hiprtc_sys::rocm_5_7 as c;
        // SAFETY (of the call that is not made): only the types are compared.
        let _: unsafe extern "C" fn(
            c_uint,
            *mut c::hiprtcJIT_option,
            *mut *mut c_void,
            *mut hiprtcLinkState,
        ) -> hiprtcResult = c::hiprtcLinkCreate;
        let _: unsafe extern "C" fn(
            hiprtcLinkState,
            c::hiprtcJITInputType,
            *mut c_void,
            usize,
            *const c_char,
            c_uint,
            *mut c::hiprtcJIT_option,
            *mut *mut c_void,
        ) -> hiprtcResult = c::hiprtcLinkAddData;
        let _: (u32, u32) = (c::HIPRTC_JIT_LOG_VERBOSE.0, c::HIPRTC_JIT_INPUT_LLVM_BITCODE.0);
        let numbers = [
            (INFO_LOG_BUFFER, c::HIPRTC_JIT_INFO_LOG_BUFFER),
            (INFO_LOG_BUFFER_SIZE_BYTES, c::HIPRTC_JIT_INFO_LOG_BUFFER_SIZE_BYTES),
            (ERROR_LOG_BUFFER, c::HIPRTC_JIT_ERROR_LOG_BUFFER),
            (ERROR_LOG_BUFFER_SIZE_BYTES, c::HIPRTC_JIT_ERROR_LOG_BUFFER_SIZE_BYTES),
            (LOG_VERBOSE, c::HIPRTC_JIT_LOG_VERBOSE),
            (IR_TO_ISA_OPT_EXT, c::HIPRTC_JIT_IR_TO_ISA_OPT_EXT),
            (IR_TO_ISA_OPT_COUNT_EXT, c::HIPRTC_JIT_IR_TO_ISA_OPT_COUNT_EXT),
        ];
        for (ours, theirs) in numbers {
            assert_eq!(ours, theirs.0, "{theirs:?}");
        }
        assert_eq!(INPUT_LLVM_BITCODE, c::HIPRTC_JIT_INPUT_LLVM_BITCODE.0);
    }

    #[cfg(feature = "rocm-6-4")]
    #[test]
    fn declarations_are_those_of_6_4_and_newer() {
        use hiprtc_sys::rocm_6_4 as c;
        let _: unsafe extern "C" fn(
            c_uint,
            *mut c::hipJitOption,
            *mut *mut c_void,
            *mut hiprtcLinkState,
        ) -> hiprtcResult = c::hiprtcLinkCreate;
        let _: unsafe extern "C" fn(
            hiprtcLinkState,
            c::hipJitInputType,
            *mut c_void,
            usize,
            *const c_char,
            c_uint,
            *mut c::hipJitOption,
            *mut *mut c_void,
        ) -> hiprtcResult = c::hiprtcLinkAddData;
        let numbers = [
            (INFO_LOG_BUFFER, c::hipJitOptionInfoLogBuffer),
            (INFO_LOG_BUFFER_SIZE_BYTES, c::hipJitOptionInfoLogBufferSizeBytes),
            (ERROR_LOG_BUFFER, c::hipJitOptionErrorLogBuffer),
            (ERROR_LOG_BUFFER_SIZE_BYTES, c::hipJitOptionErrorLogBufferSizeBytes),
            (LOG_VERBOSE, c::hipJitOptionLogVerbose),
            (IR_TO_ISA_OPT_EXT, c::hipJitOptionIRtoISAOptExt),
            (IR_TO_ISA_OPT_COUNT_EXT, c::hipJitOptionIRtoISAOptCountExt),
        ];
        for (ours, theirs) in numbers {
            assert_eq!(ours, theirs.0, "{theirs:?}");
        }
        assert_eq!(INPUT_LLVM_BITCODE, c::hipJitInputLLVMBitcode.0);
    }
}

//! Options for loading, and what the runtime says about it.

use std::ffi::{c_char, c_uint, c_void};
use std::ptr;

/// The text that the runtime has put into a buffer of its own size.
fn log_text(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).trim().to_owned()
}

/// An option's value as C passes it: a number in a pointer.
fn number(value: u32) -> *mut c_void {
    ptr::without_provenance_mut(value as usize)
}

/// What [`Module::load_with`](crate::Module::load_with) tells the runtime's compiler (`hipJitOption`).
///
/// ROCm's runtime takes code objects, in which all is decided already; it takes most options without using them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Registers that a thread may have at most.
    pub max_registers: Option<u32>,
    /// Optimisation, 0 to 4.
    pub optimization_level: Option<u32>,
    /// Whether the log says more.
    pub verbose: bool,
}

/// What the runtime had to say about code that it loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadLog {
    /// Information.
    pub info: String,
    /// Errors.
    pub errors: String,
}

/// Bytes of each log.
const LOG: usize = 8 << 10;

impl LoadOptions {
    /// Calls `load` with the options as C takes them, and gives what was logged.
    pub(super) fn with_raw<R>(
        &self,
        load: impl FnOnce(c_uint, *mut hip_sys::hipJitOption, *mut *mut c_void) -> R,
    ) -> (R, LoadLog) {
        let (mut info, mut errors) = (vec![0u8; LOG], vec![0u8; LOG]);
        let mut options = vec![
            hip_sys::hipJitOptionInfoLogBuffer,
            hip_sys::hipJitOptionInfoLogBufferSizeBytes,
            hip_sys::hipJitOptionErrorLogBuffer,
            hip_sys::hipJitOptionErrorLogBufferSizeBytes,
            hip_sys::hipJitOptionLogVerbose,
        ];
        let mut values = vec![
            info.as_mut_ptr().cast::<c_char>().cast(),
            number(LOG as u32),
            errors.as_mut_ptr().cast::<c_char>().cast(),
            number(LOG as u32),
            number(u32::from(self.verbose)),
        ];
        if let Some(registers) = self.max_registers {
            options.push(hip_sys::hipJitOptionMaxRegisters);
            values.push(number(registers));
        }
        if let Some(level) = self.optimization_level {
            options.push(hip_sys::hipJitOptionOptimizationLevel);
            values.push(number(level));
        }
        let result = load(options.len() as c_uint, options.as_mut_ptr(), values.as_mut_ptr());
        (result, LoadLog { info: log_text(&info), errors: log_text(&errors) })
    }
}

//! Options for loading modules, and the runtime's log.

use std::ffi::{c_char, c_uint, c_void};
use std::ptr;

/// Returns the text that the runtime has written to a fixed-size buffer.
fn log_text(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).trim().to_owned()
}

/// Returns an option's value in C's form: a number in a pointer.
fn number(value: u32) -> *mut c_void {
    ptr::without_provenance_mut(value as usize)
}

/// Options for the runtime's compiler, for [`Module::load_with`](crate::Module::load_with) (`hipJitOption`).
///
/// ROCm's runtime loads code objects, which are already compiled; it accepts most options and ignores them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Maximum registers per thread.
    pub max_registers: Option<u32>,
    /// Optimisation, 0 to 4.
    pub optimization_level: Option<u32>,
    /// Whether the log is verbose.
    pub verbose: bool,
}

/// The runtime's log of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadLog {
    /// Information.
    pub info: String,
    /// Errors.
    pub errors: String,
}

/// Size of each log in bytes.
const LOG: usize = 8 << 10;

impl LoadOptions {
    /// Calls `load` with the options in C's form, and returns the log.
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

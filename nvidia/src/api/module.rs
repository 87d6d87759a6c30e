//! Modules, libraries and the linker: options of the driver's compiler, and its messages.

use std::ffi::{c_char, c_uint, c_void};

use hip_sys::rocm_7_2::{
    hipErrorInvalidValue, hipErrorNotSupported, hipJitInputType, hipJitOption, hipLibrary_t, hipLibraryOption,
    hipLinkState_t, hipModule_t,
};

use crate::context;
use crate::driver::driver_functions;
use crate::status::{Failure, Outcome, ensure};
use crate::table::hip_functions;

driver_functions! {
    /// Loads code into the current context.
    fn cuModuleLoadDataEx(to: *mut hipModule_t, image: *const c_void, count: c_uint, options: *const c_uint, values: *const *mut c_void);
    /// Loads code for all contexts.
    fn cuLibraryLoadData(
        to: *mut hipLibrary_t, code: *const c_void, options: *const c_uint, values: *const *mut c_void, count: c_uint,
        library_options: *mut hipLibraryOption, library_values: *mut *mut c_void, library_count: c_uint,
    );
    /// Creates a linker.
    fn cuLinkCreate_v2(count: c_uint, options: *const c_uint, values: *const *mut c_void, to: *mut hipLinkState_t);
    /// Adds code to a linker.
    fn cuLinkAddData_v2(
        state: hipLinkState_t, kind: c_uint, data: *mut c_void, size: usize, name: *const c_char, count: c_uint,
        options: *const c_uint, values: *const *mut c_void,
    );
}

/// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const ERROR_LOG: c_uint = 5;
const ERROR_LOG_SIZE: c_uint = 6;

/// The bytes of messages that are kept.
const LOG_SIZE: usize = 8 << 10;

/// Options of the driver's compiler.
struct Options {
    keys: Vec<c_uint>,
    values: Vec<*mut c_void>,
    /// Present if the caller does not ask for the messages itself.
    log: Option<Vec<u8>>,
}

impl Options {
    /// Translates HIP's options. Their first 25 are the driver's. The next have other numbers there, and those of AMD's
    /// compiler do not exist.
    ///
    /// # Safety
    /// `options` and `values` must have `count` elements, or be null if `count` is 0.
    unsafe fn new(count: c_uint, options: *const hipJitOption, values: *const *mut c_void) -> Outcome<Self> {
        let mut new = Self { keys: Vec::new(), values: Vec::new(), log: None };
        ensure(count == 0 || !options.is_null() && !values.is_null(), hipErrorInvalidValue)?;
        for index in 0..count as usize {
            // SAFETY: the caller's contract.
            let (option, value) = unsafe { (*options.add(index), *values.add(index)) };
            let key = match option.0 {
                known @ 0..=24 => known,
                // Position-independent code, minimum of blocks, maximum of threads, override of directives.
                25 => 30,
                26 => 31,
                27 => 32,
                28 => 33,
                _ => {
                    let text = format!("CUDA's compiler has no option {option:?}. Leave it out on NVIDIA GPUs");
                    return Err(Failure::new(hipErrorNotSupported, text));
                }
            };
            new.keys.push(key);
            new.values.push(value);
        }
        Ok(new)
    }

    /// Also collects messages, for [`explain`](Self::explain).
    fn with_log(mut self) -> Self {
        if !self.keys.contains(&ERROR_LOG) {
            let mut log = vec![0; LOG_SIZE];
            self.keys.extend([ERROR_LOG, ERROR_LOG_SIZE]);
            self.values.extend([log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG_SIZE)]);
            self.log = Some(log);
        }
        self
    }

    fn count(&self) -> c_uint {
        c_uint::try_from(self.keys.len()).unwrap_or(c_uint::MAX)
    }

    /// Adds the compiler's messages to a failure.
    fn explain(&self, outcome: Outcome) -> Outcome {
        let Err(failure) = outcome else { return Ok(()) };
        let log = self.log.as_deref().unwrap_or_default();
        let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
        let log = String::from_utf8_lossy(&log[..end]).trim().to_owned();
        if log.is_empty() {
            return Err(failure);
        }
        let status = failure.status;
        Err(Failure::new(status, format!("{}\n{log}", failure.into_text())))
    }
}

/// # Safety
/// `to` must be valid for a write and `image` be code.
unsafe fn load(to: *mut hipModule_t, image: *const c_void, options: Options) -> Outcome {
    ensure(!to.is_null() && !image.is_null(), hipErrorInvalidValue)?;
    context::enter()?;
    let options = options.with_log();
    // SAFETY: the caller's contract, and as many keys as values.
    options.explain(unsafe {
        cuModuleLoadDataEx(to, image, options.count(), options.keys.as_ptr(), options.values.as_ptr())
    })
}

hip_functions! {
    translated fn hipModuleLoadData(to: *mut hipModule_t, image: *const c_void) {
        load(to, image, Options::new(0, std::ptr::null(), std::ptr::null())?)
    }

    translated fn hipModuleLoadDataEx(
        to: *mut hipModule_t, image: *const c_void, count: c_uint, options: *mut hipJitOption, values: *mut *mut c_void,
    ) {
        load(to, image, Options::new(count, options, values)?)
    }

    translated fn hipLinkCreate(
        count: c_uint, options: *mut hipJitOption, values: *mut *mut c_void, to: *mut hipLinkState_t,
    ) {
        context::enter()?;
        // The messages would be written later, while code is added: only the caller's own buffers live long enough.
        let options = Options::new(count, options, values)?;
        cuLinkCreate_v2(options.count(), options.keys.as_ptr(), options.values.as_ptr(), to)
    }

    translated fn hipLinkAddData(
        state: hipLinkState_t, kind: hipJitInputType, data: *mut c_void, size: usize, name: *const c_char,
        count: c_uint, options: *mut hipJitOption, values: *mut *mut c_void,
    ) {
        context::enter()?;
        if kind.0 >= 100 {
            let text = format!("CUDA's linker does not take {kind:?}: give it PTX, a cubin or NVVM bitcode");
            return Err(Failure::new(hipErrorNotSupported, text));
        }
        let options = Options::new(count, options, values)?;
        let (keys, values) = (options.keys.as_ptr(), options.values.as_ptr());
        cuLinkAddData_v2(state, kind.0, data, size, name, options.count(), keys, values)
    }

    translated fn hipLibraryLoadData(
        to: *mut hipLibrary_t, code: *const c_void, options: *mut hipJitOption, values: *mut *mut c_void, count: c_uint,
        library_options: *mut hipLibraryOption, library_values: *mut *mut c_void, library_count: c_uint,
    ) {
        ensure(!to.is_null() && !code.is_null(), hipErrorInvalidValue)?;
        context::enter()?;
        let options = Options::new(count, options, values)?.with_log();
        let (keys, values) = (options.keys.as_ptr(), options.values.as_ptr());
        options.explain(cuLibraryLoadData(
            to, code, keys, values, options.count(), library_options, library_values, library_count,
        ))
    }
}

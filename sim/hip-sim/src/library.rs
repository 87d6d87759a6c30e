//! Libraries and their kernels.

use std::ffi::{CString, c_int};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_sim::{CodeObject, KernelInfo};
use hip_sys::rocm_7_2::hipFunction_attribute;

use crate::variables::ManagedVariables;

/// The library behind a `hipLibrary_t`.
pub(crate) struct Library {
    pub(crate) code: CodeObject,
    /// The modules and kernels made from it so far.
    pub(crate) made: Mutex<Made>,
}

#[derive(Default)]
pub(crate) struct Made {
    /// The loaded modules, with their devices' ordinals.
    pub(crate) modules: Vec<(usize, Arc<amdgpu_sim::Module>)>,
    /// Kernel handles by name, as numbers.
    pub(crate) kernels: Vec<(String, usize)>,
    pub(crate) managed: ManagedVariables,
}

/// The kernel behind a `hipKernel_t`.
pub(crate) struct LibraryKernel {
    pub(crate) name: CString,
    pub(crate) info: KernelInfo,
    /// The library's handle, as a number. The kernel is destroyed with the library.
    pub(crate) library: usize,
    pub(crate) made: Mutex<OnDevices>,
}

/// A kernel's state on each device, by device ordinal.
#[derive(Default)]
pub(crate) struct OnDevices {
    /// Function handles, as numbers.
    pub(crate) functions: Vec<(usize, usize)>,
    /// The attributes that the program has set.
    pub(crate) attributes: Vec<(usize, hipFunction_attribute, c_int)>,
}

impl Library {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Made> {
        // The lists are consistent after every statement.
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

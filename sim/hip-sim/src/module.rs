//! Modules and their kernels.

use std::sync::{Arc, Mutex};

use crate::variables::ManagedVariables;

/// The module behind a `hipModule_t`.
pub(crate) struct Module {
    pub(crate) device: usize,
    pub(crate) code: Arc<amdgpu_sim::Module>,
    /// The handles created for its kernels, by name.
    pub(crate) functions: Mutex<Vec<(String, usize)>>,
    pub(crate) managed: Mutex<ManagedVariables>,
}

/// The kernel behind a `hipFunction_t`.
pub(crate) struct Function {
    pub(crate) device: usize,
    /// The module's handle, as a number. The function is destroyed with the module.
    pub(crate) module: usize,
    pub(crate) kernel: amdgpu_sim::Kernel,
}

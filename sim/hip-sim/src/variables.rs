//! Managed variables of code: one piece of memory for the host and all devices, with a pointer to it in each device's code.

use amdgpu_sim::{CodeObject, MemoryError};
use hip_sys::rocm_7_2::hipErrorInvalidImage;

use crate::api::memory::{free_managed, managed};
use crate::runtime::Runtime;
use crate::status::{Outcome, Refusal};

/// What the compiler adds to the name of a managed variable for what is in it at first. The name alone is that of the pointer.
const FIRST: &str = ".managed";

/// The managed variables that were made for some code.
#[derive(Default)]
pub(crate) struct ManagedVariables(Vec<Variable>);

struct Variable {
    name: String,
    at: u64,
    size: u64,
}

impl ManagedVariables {
    /// Points the managed variables of `module`, which `code` has become on a device, to their memory, which is made for the first
    /// such device.
    pub(crate) fn connect(&mut self, runtime: &Runtime, code: &CodeObject, module: &amdgpu_sim::Module) -> Outcome {
        let failed = |error: MemoryError| Refusal::new(hipErrorInvalidImage, error.to_string());
        for global in code.globals() {
            let Some(name) = global.name.strip_suffix(FIRST) else { continue };
            let (Some((first, size)), Some((pointer, 8))) = (module.global(&global.name), module.global(name)) else {
                continue;
            };
            let at = match self.find(name) {
                Some((at, _)) => at,
                None => {
                    let at = managed(runtime, size)?;
                    self.0.push(Variable { name: name.to_owned(), at, size });
                    let mut bytes = vec![0; size as usize];
                    runtime.memory().read(first, &mut bytes).map_err(failed)?;
                    runtime.memory().write(at, &bytes).map_err(failed)?;
                    at
                }
            };
            runtime.memory().write(pointer, &at.to_le_bytes()).map_err(failed)?;
        }
        Ok(())
    }

    /// Address and bytes of the variable of that name.
    pub(crate) fn find(&self, name: &str) -> Option<(u64, u64)> {
        self.0.iter().find(|variable| variable.name == name).map(|variable| (variable.at, variable.size))
    }

    /// Forgets those whose memory is gone.
    pub(crate) fn forget_dead(&mut self, runtime: &Runtime) {
        self.0.retain(|variable| runtime.memory.find(variable.at).is_some());
    }

    /// Gives their memory back, when nothing that runs uses it any more.
    pub(crate) fn free(&mut self, runtime: &Runtime) {
        self.0.drain(..).for_each(|variable| free_managed(runtime, variable.at));
    }
}

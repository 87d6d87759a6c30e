//! Managed variables of modules: one memory for the host and all devices, with a pointer to it in each device's code.

use amdgpu_sim::{CodeObject, Memory, MemoryError};
use hip_sys::rocm_7_2::hipErrorInvalidImage;

use crate::memory::AddressMap;
use crate::status::{Outcome, Refusal};

/// The suffix that the compiler adds to a managed variable's name for its initial value. The plain name is the
/// pointer's.
const FIRST: &str = ".managed";

/// The managed variables of a code object.
#[derive(Default)]
pub(crate) struct ManagedVariables(Vec<Variable>);

struct Variable {
    name: String,
    at: u64,
    size: u64,
}

impl ManagedVariables {
    /// Points the managed variables of `module` to their memory. `module` is `code` loaded on a device; for the first
    /// such device, `allocate` returns memory of a size.
    pub(crate) fn connect(
        &mut self,
        memory: &Memory,
        code: &CodeObject,
        module: &amdgpu_sim::Module,
        allocate: impl Fn(u64) -> Result<u64, Refusal>,
    ) -> Outcome {
        let failed = |error: MemoryError| Refusal::new(hipErrorInvalidImage, error.to_string());
        for global in code.globals() {
            let Some(name) = global.name.strip_suffix(FIRST) else { continue };
            let (Some((first, size)), Some((pointer, 8))) = (module.global(&global.name), module.global(name)) else {
                continue;
            };
            let at = match self.find(name) {
                Some((at, _)) => at,
                None => {
                    let at = allocate(size)?;
                    self.0.push(Variable { name: name.to_owned(), at, size });
                    let mut bytes = vec![0; size as usize];
                    memory.read(first, &mut bytes).map_err(failed)?;
                    memory.write(at, &bytes).map_err(failed)?;
                    at
                }
            };
            memory.write(pointer, &at.to_le_bytes()).map_err(failed)?;
        }
        Ok(())
    }

    /// The address and size of the variable with that name.
    pub(crate) fn find(&self, name: &str) -> Option<(u64, u64)> {
        self.0.iter().find(|variable| variable.name == name).map(|variable| (variable.at, variable.size))
    }

    /// Removes the variables whose memory is gone.
    pub(crate) fn forget_dead(&mut self, blocks: &AddressMap) {
        self.0.retain(|variable| blocks.find(variable.at).is_some());
    }

    /// Removes all variables, and returns the addresses of their memory.
    pub(crate) fn take(&mut self) -> Vec<u64> {
        self.0.drain(..).map(|variable| variable.at).collect()
    }
}

use std::sync::{Mutex, PoisonError};

use hip::{Device, Module, Result};

/// Kernels that a library crate ships in an offload bundle, loaded on each device when they are first asked for there, for the life of the
/// program.
#[derive(Debug)]
pub struct Shipped<T> {
    bundle: &'static [u8],
    loaded: Mutex<Vec<(Device, Option<T>)>>,
}

impl<T: Clone> Shipped<T> {
    /// Of this bundle; nothing is loaded yet.
    #[must_use]
    pub const fn new(bundle: &'static [u8]) -> Self {
        Self { bundle, loaded: Mutex::new(Vec::new()) }
    }

    /// What `take` takes from the module on the device, once. `None` for a device that the bundle has no code for.
    ///
    /// # Errors
    /// Those of [`Module::load`], but for another architecture, and those of `take`. It is tried again the next time.
    pub fn on(&self, device: &Device, take: impl FnOnce(&Module) -> Result<T>) -> Result<Option<T>> {
        let mut all = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = all.iter().find(|(of, _)| of == device) {
            return Ok(found.clone());
        }
        let found = match Module::load(device, self.bundle) {
            Ok(module) => Some(take(&module)?),
            Err(hip::Error::Architecture { .. }) => None,
            Err(error) => return Err(error),
        };
        all.push((*device, found.clone()));
        Ok(found)
    }
}

use std::sync::{Mutex, PoisonError};

use hip::{Device, Module, Result};

/// Kernels that a library crate ships in an offload bundle. They are loaded on each device on first use, and stay
/// loaded.
#[derive(Debug)]
pub struct Shipped<T> {
    bundle: &'static [u8],
    loaded: Mutex<Vec<(Device, Option<T>)>>,
}

impl<T: Clone> Shipped<T> {
    /// Kernels of this bundle; nothing is loaded yet.
    #[must_use]
    pub const fn new(bundle: &'static [u8]) -> Self {
        Self { bundle, loaded: Mutex::new(Vec::new()) }
    }

    /// Returns the kernels that `take` selects from the module on the device; `take` runs once. `None` for a device
    /// that the bundle has no code for.
    ///
    /// # Errors
    /// The errors of [`Module::load`], except for another architecture, and those of `take`. The next call tries again.
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

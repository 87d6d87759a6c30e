//! Code objects: the ELF files with a GPU's machine code, validated completely when parsed.

mod descriptor;
mod elf;
mod error;
mod kernel;
mod metadata;
mod target;

use std::collections::HashSet;

pub use descriptor::KernelDescriptor;
pub use elf::Global;
pub use error::LoadError;
pub use kernel::{Arg, Hidden, KernelInfo, KernelKind, ValueKind};
pub use target::{Feature, TargetId};

pub(crate) use elf::{Image, Relocation, RelocationKind, Segment, SymbolValue};

/// A parsed and validated code object that is not loaded yet.
#[derive(Clone, Debug)]
pub struct CodeObject {
    pub(crate) image: Image,
    target: TargetId,
    version: u8,
    kernels: Vec<KernelInfo>,
    globals: Vec<Global>,
}

impl CodeObject {
    /// Parses the code object in `bytes`, a plain ELF file ([`bundle`](crate::bundle) opens bundles).
    ///
    /// # Errors
    /// [`LoadError`] unless it is a complete and consistent AMD code object v3 to v6.
    pub fn parse(bytes: &[u8]) -> Result<Self, LoadError> {
        let file = elf::File::parse(bytes)?;
        let metadata = metadata::Metadata::read(&file.metadata)?;
        let mut kernels: Vec<KernelInfo> = Vec::with_capacity(metadata.kernels.len());
        for raw in metadata.kernels {
            kernels.push(raw.resolve(&file)?);
        }
        let mut names = HashSet::new();
        if let Some(twice) = kernels.iter().find(|k| !names.insert(k.name.as_str())) {
            let reason = "the metadata has two kernels of this name".into();
            return Err(LoadError::Kernel { kernel: twice.name.clone(), reason });
        }
        let globals = file.globals();
        Ok(Self { image: file.image, target: file.target, version: file.version, kernels, globals })
    }

    /// The processor that the code is for.
    pub fn target(&self) -> &TargetId {
        &self.target
    }

    /// The code object version: 3 to 6.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// The kernels, in the order of the metadata.
    pub fn kernels(&self) -> &[KernelInfo] {
        &self.kernels
    }

    /// The device variables, sorted by name.
    pub fn globals(&self) -> &[Global] {
        &self.globals
    }
}

//! Code objects: the ELF files that hold a GPU's machine code, read and checked before anything of them is used.

mod descriptor;
mod elf;
mod metadata;
mod target;

use std::collections::HashSet;

pub use descriptor::KernelDescriptor;
pub use metadata::{Arg, Hidden, ValueKind};
pub use target::{Feature, TargetId};

pub(crate) use elf::{Image, Relocation, RelocationKind, Segment, SymbolValue};

/// Why a code object was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Not an ELF file of the right class, or not a whole one.
    #[error("not a usable ELF file: {0}")]
    Elf(String),
    /// An ELF file, but not an AMD code object for the HSA ABI.
    #[error("not an AMD code object: {0}")]
    NotAmdGpu(String),
    /// A code object version that is not supported (v3 to v6 are).
    #[error("code object ABI version {abi_version} is not supported: v3 to v6 (1 to 4) are")]
    Version {
        /// `EI_ABIVERSION` of the file.
        abi_version: u8,
    },
    /// The code is for another processor.
    #[error("the code object is for {found}, the device is {device}")]
    Target {
        /// What the code object is for.
        found: String,
        /// What the device is.
        device: String,
    },
    /// The metadata note is missing or malformed.
    #[error("bad metadata: {0}")]
    Metadata(String),
    /// A kernel's descriptor is missing or contradicts itself or the metadata.
    #[error("kernel {kernel:?}: {reason}")]
    Kernel {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        reason: String,
    },
    /// Segments overlap, or lie outside the file.
    #[error("bad segment: {0}")]
    Segment(String),
    /// A relocation that cannot be applied.
    #[error("bad relocation at {offset:#x}: {reason}")]
    Relocation {
        /// Where, from the start of the image.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// The code uses a symbol that nothing defines.
    #[error("undefined symbol {0:?}")]
    UndefinedSymbol(String),
    /// A bundle that is malformed.
    #[error("bad code object bundle: {0}")]
    Bundle(String),
    /// A bundle that has no code for the device.
    #[error("no code object for {device} in the bundle (it has {})", list(available))]
    NoCodeFor {
        /// The device's target.
        device: String,
        /// The targets in the bundle.
        available: Vec<String>,
    },
    /// No memory for the code object's segments.
    #[error("no memory for the code object: {0}")]
    Memory(#[from] crate::MemoryError),
}

fn list(items: &[String]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

/// When a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelKind {
    /// When it is launched.
    Normal,
    /// When a runtime has loaded the code, too, with one work-item.
    Init,
    /// Before a runtime unloads the code, too, with one work-item.
    Fini,
}

/// A kernel in a code object, as its metadata and its descriptor say.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelInfo {
    /// The name to ask for.
    pub name: String,
    /// The name of the descriptor's symbol (`NAME.kd`).
    pub symbol: String,
    /// When it runs. The GPU itself runs nothing by being given code.
    pub kind: KernelKind,
    /// The arguments in order of the metadata, hidden ones too.
    pub args: Vec<Arg>,
    /// Bytes of the kernarg segment, hidden arguments included.
    pub kernarg_size: u32,
    /// Alignment of the kernarg segment.
    pub kernarg_align: u32,
    /// Static LDS in bytes a workgroup.
    pub lds_size: u32,
    /// Scratch in bytes a lane.
    pub private_size: u32,
    /// Whether the scratch size is a guess, as the stack depth is not known (recursion, function pointers).
    pub dynamic_stack: bool,
    /// Vector registers.
    pub vgpr_count: u32,
    /// Accumulation registers.
    pub agpr_count: u32,
    /// Scalar registers.
    pub sgpr_count: u32,
    /// The most work-items a workgroup may have.
    pub max_workgroup_size: u32,
    /// The workgroup size that the kernel was compiled for, if it is fixed.
    pub required_workgroup_size: Option<[u32; 3]>,
    /// Lanes a wave: 64 or 32.
    pub wavefront_size: u32,
    /// The kernel's descriptor.
    pub descriptor: KernelDescriptor,
    /// Address of the first instruction, from the start of the image.
    pub(crate) entry: u64,
    /// Address of the descriptor, from the start of the image.
    pub(crate) descriptor_address: u64,
}

impl KernelInfo {
    /// Bytes that the explicit arguments take, up to the end of the last one.
    pub fn explicit_size(&self) -> u32 {
        let explicit = self.args.iter().filter(|a| !matches!(a.kind, ValueKind::Hidden(_)));
        explicit.map(|a| a.offset.saturating_add(a.size)).max().unwrap_or(0)
    }
}

/// A variable in device memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Address from the start of the image.
    pub(crate) address: u64,
}

/// A parsed and checked code object, not yet in a GPU's memory.
#[derive(Clone, Debug)]
pub struct CodeObject {
    pub(crate) image: Image,
    target: TargetId,
    version: u8,
    kernels: Vec<KernelInfo>,
    globals: Vec<Global>,
}

impl CodeObject {
    /// Reads the code object in `bytes`: a plain ELF file ([`bundle`](crate::bundle) opens bundles).
    ///
    /// # Errors
    /// [`LoadError`] for everything that is not a whole and consistent AMD code object v3 to v6.
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

    /// The kernels, as the metadata lists them.
    pub fn kernels(&self) -> &[KernelInfo] {
        &self.kernels
    }

    /// The device variables, by name.
    pub fn globals(&self) -> &[Global] {
        &self.globals
    }
}

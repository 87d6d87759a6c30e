//! Code objects: the ELF files with a GPU's machine code, validated completely when parsed.

mod descriptor;
mod elf;
mod metadata;
mod target;

use std::collections::HashSet;
use std::fmt;

pub use descriptor::KernelDescriptor;
pub use metadata::{Arg, Hidden, ValueKind};
pub use target::{Feature, TargetId};

pub(crate) use elf::{Image, Relocation, RelocationKind, Segment, SymbolValue};

/// Why a code object was rejected.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Not an ELF file of the right class, or a truncated one.
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
        /// The processor that the code is for.
        found: String,
        /// The device's processor.
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
        /// The problem.
        reason: String,
    },
    /// Segments overlap, or lie outside the file.
    #[error("bad segment: {0}")]
    Segment(String),
    /// A relocation that cannot be applied.
    #[error("bad relocation at {offset:#x}: {reason}")]
    Relocation {
        /// Its position, from the start of the image.
        offset: u64,
        /// The problem.
        reason: String,
    },
    /// The code uses an undefined symbol.
    #[error("undefined symbol {0:?}")]
    UndefinedSymbol(String),
    /// A malformed bundle.
    #[error("bad code object bundle: {0}")]
    Bundle(String),
    /// A bundle without code for the device.
    #[error("no code object for {device} in the bundle (it has {})", list(available))]
    NoCodeFor {
        /// The device's target.
        device: String,
        /// The targets in the bundle.
        available: Vec<String>,
    },
    /// Allocating the code object's segments failed.
    #[error("no memory for the code object: {0}")]
    Memory(#[from] crate::MemoryError),
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn list(items: &[String]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

/// When a kernel must be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelKind {
    /// When it is launched.
    Normal,
    /// On launch, and by the runtime after loading the code, with one work-item.
    Init,
    /// On launch, and by the runtime before unloading the code, with one work-item.
    Fini,
}

/// A kernel in a code object, from its metadata and its descriptor.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelInfo {
    /// The kernel's name, for look-ups.
    pub name: String,
    /// The name of the descriptor's symbol (`NAME.kd`).
    pub symbol: String,
    /// When the runtime must run it. Loading code does not run anything.
    pub kind: KernelKind,
    /// The arguments in the order of the metadata, including hidden ones.
    pub args: Vec<Arg>,
    /// Bytes of the kernarg segment, hidden arguments included.
    pub kernarg_size: u32,
    /// Alignment of the kernarg segment.
    pub kernarg_align: u32,
    /// Static LDS of a workgroup in bytes.
    pub lds_size: u32,
    /// Scratch of a lane in bytes.
    pub private_size: u32,
    /// Whether the scratch size is an estimate, because the stack depth is unknown (recursion, function pointers).
    pub dynamic_stack: bool,
    /// The number of vector registers.
    pub vgpr_count: u32,
    /// The number of accumulation registers.
    pub agpr_count: u32,
    /// The number of scalar registers.
    pub sgpr_count: u32,
    /// The maximum number of work-items of a workgroup.
    pub max_workgroup_size: u32,
    /// The workgroup size that the kernel requires, if it is fixed.
    pub required_workgroup_size: Option<[u32; 3]>,
    /// Lanes per wave: 64 or 32.
    pub wavefront_size: u32,
    /// The kernel's descriptor.
    pub descriptor: KernelDescriptor,
    /// Address of the first instruction, from the start of the image.
    pub(crate) entry: u64,
    /// Address of the descriptor, from the start of the image.
    pub(crate) descriptor_address: u64,
}

impl KernelInfo {
    /// The size of the explicit arguments, up to the end of the last one.
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

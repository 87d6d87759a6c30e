//! The kernels of a code object and their arguments.

use super::descriptor::KernelDescriptor;

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

/// A kernel argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// Its name, if the compiler kept it.
    pub name: Option<String>,
    /// Offset in the kernarg segment.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Its kind.
    pub kind: ValueKind,
}

/// The kind of a kernel argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValueKind {
    /// A value or a structure, passed by copy.
    ByValue,
    /// A pointer to global memory.
    GlobalBuffer,
    /// An OpenCL `local` pointer: at launch a size of dynamic LDS in bytes, in the kernel an offset into LDS.
    DynamicSharedPointer,
    /// An image, a sampler, a pipe or a queue.
    Opaque,
    /// An argument that the runtime fills in.
    Hidden(Hidden),
    /// An unknown kind.
    Unknown,
}

/// An argument that the runtime fills in; the program does not pass it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hidden {
    /// The number of full workgroups in a dimension (0, 1, 2).
    BlockCount(u8),
    /// The work-items of a full workgroup in a dimension.
    GroupSize(u8),
    /// The work-items of the partial workgroup at the end of a dimension; 0 if there is none.
    Remainder(u8),
    /// OpenCL's global offset in a dimension.
    GlobalOffset(u8),
    /// Dimensions of the grid.
    GridDims,
    /// Dynamic LDS in bytes.
    DynamicLdsSize,
    /// High half of the private aperture.
    PrivateBase,
    /// High half of the LDS aperture.
    SharedBase,
    /// Address of the queue.
    QueuePtr,
    /// The buffer of the runtime's host service, which prints for kernels: an address that no kernel may access.
    HostcallBuffer,
    /// The device heap: an address that no kernel may access.
    Heap,
    /// Another argument that the software GPU does not support (OpenCL's printf buffer, device-side queues): zero.
    Absent,
}

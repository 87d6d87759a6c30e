//! What a node does.

use std::ffi::c_void;
use std::sync::Arc;

use amdgpu_sim::ValueKind;
use hip_sys::*;

use super::memory::GraphMemory;
use crate::api::copy::Copy;
use crate::api::launch::Prepared;
use crate::api::memset::Fill;
use crate::fault::Failure;
use crate::runtime::Runtime;

/// A copy, and how C describes it.
pub(crate) struct CopyNode {
    pub(crate) copy: Copy,
    pub(crate) parameters: hipMemcpy3DParms,
}

// SAFETY: its pointers are used as HIP documents for copies in graphs: the program sees to it that they are valid in each launch.
unsafe impl Send for CopyNode {}
// SAFETY: as above.
unsafe impl Sync for CopyNode {}

/// A fill, and how C describes it.
#[derive(Clone, Copy)]
pub(crate) struct FillNode {
    pub(crate) fill: Fill,
    pub(crate) parameters: hipMemsetParams,
}

// SAFETY: the pointer in the parameters is a number for the program to ask for.
unsafe impl Send for FillNode {}
// SAFETY: as above.
unsafe impl Sync for FillNode {}

/// A function of the program's, and its argument.
#[derive(Clone, Copy)]
pub(crate) struct HostCall {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    pub(crate) data: *mut c_void,
}

// SAFETY: HIP gives the pointer to the function on a thread of its own; the program that passes it has to expect that.
unsafe impl Send for HostCall {}
// SAFETY: as above.
unsafe impl Sync for HostCall {}

impl HostCall {
    /// Calls it.
    pub(crate) fn call(&self) {
        // SAFETY: HIP asks for a function that may be called with this data, on a thread of the runtime's, in every launch.
        unsafe { (self.function)(self.data) }
    }
}

/// A kernel's launch with a pointer to each argument, as C asks for it.
pub(crate) struct KernelNode {
    pub(crate) prepared: Prepared,
    parameters: hipKernelNodeParams,
    pointers: Vec<*mut c_void>,
}

impl KernelNode {
    /// `parameters` are those that `prepared` was made from.
    pub(crate) fn new(mut prepared: Prepared, parameters: hipKernelNodeParams) -> Self {
        let base = prepared.arguments.as_mut_ptr();
        let args = &prepared.kernel.info().args;
        let explicit = args.iter().filter(|arg| !matches!(arg.kind, ValueKind::Hidden(_)));
        let pointers = explicit.map(|arg| base.wrapping_add(arg.offset as usize).cast()).collect();
        Self { prepared, parameters, pointers }
    }

    /// The launch as C describes it; its pointers are to arguments of the node's own.
    pub(crate) fn parameters(&self) -> hipKernelNodeParams {
        let pointers = self.pointers.as_ptr().cast_mut();
        hipKernelNodeParams { extra: std::ptr::null_mut(), kernelParams: pointers, ..self.parameters }
    }
}

/// What a node does. Handles are numbers.
#[derive(Clone)]
pub(crate) enum Operation {
    Empty,
    Kernel(Arc<KernelNode>),
    Copy(Arc<CopyNode>),
    Fill(FillNode),
    Host(HostCall),
    /// A graph of its own.
    Child(usize),
    Record(usize),
    Wait(usize),
    Alloc(Arc<GraphMemory>),
    /// What starts at this address.
    Free(u64),
}

// SAFETY: the pointers are into the arguments, which nobody changes, or numbers for the program to ask for.
unsafe impl Send for KernelNode {}
// SAFETY: as above.
unsafe impl Sync for KernelNode {}

impl Operation {
    /// Its kind as C knows it.
    pub(crate) fn kind(&self) -> hipGraphNodeType {
        match self {
            Self::Empty => hipGraphNodeTypeEmpty,
            Self::Kernel(_) => hipGraphNodeTypeKernel,
            Self::Copy(_) => hipGraphNodeTypeMemcpy,
            Self::Fill(_) => hipGraphNodeTypeMemset,
            Self::Host(_) => hipGraphNodeTypeHost,
            Self::Child(_) => hipGraphNodeTypeGraph,
            Self::Record(_) => hipGraphNodeTypeEventRecord,
            Self::Wait(_) => hipGraphNodeTypeWaitEvent,
            Self::Alloc(_) => hipGraphNodeTypeMemAlloc,
            Self::Free(_) => hipGraphNodeTypeMemFree,
        }
    }
}

/// Does what the device does of a node, here and now. What the host does, and events, are no part of it.
pub(crate) fn perform(runtime: &Runtime, operation: &Operation) -> Result<(), Failure> {
    match operation {
        Operation::Kernel(kernel) => kernel.prepared.run(runtime),
        // SAFETY: HIP asks that the program keeps what copies of a graph use valid, and leaves it alone in a launch.
        Operation::Copy(node) => unsafe { node.copy.run(runtime) }.map_err(|error| {
            Failure::new(hipErrorIllegalAddress, format!("a copy in a graph has not got its memory: {error}"))
        }),
        Operation::Fill(node) => node.fill.run(runtime),
        Operation::Alloc(memory) => memory.map(runtime).map_err(|error| {
            Failure::new(hipErrorOutOfMemory, format!("{} bytes of a graph cannot be allocated: {error}", memory.size))
        }),
        Operation::Empty
        | Operation::Host(_)
        | Operation::Child(_)
        | Operation::Record(_)
        | Operation::Wait(_)
        | Operation::Free(_) => Ok(()),
    }
}

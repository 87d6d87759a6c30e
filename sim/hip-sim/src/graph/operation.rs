//! What a node does.

use std::ffi::c_void;
use std::sync::Arc;

use amdgpu_sim::ValueKind;
use hip_sys::rocm_7_2::*;

use super::memory::GraphMemory;
use crate::api::copy::Copy;
use crate::api::launch::Prepared;
use crate::api::memset::Fill;
use crate::fault::Failure;
use crate::runtime::Runtime;
#[cfg(target_os = "linux")]
use crate::semaphore::Semaphore;
use crate::signal::Signal;

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

/// Things that are done with signals, and how C describes them.
pub(crate) struct SignalNode {
    pub(crate) signals: Vec<Signal>,
    pub(crate) parameters: Vec<SignalParameters>,
    /// The context that C has named, as a number: that of the current device, whatever it is.
    pub(crate) context: usize,
}

/// `hipStreamBatchMemOpParams`, which came with 6.4: the operation, and 40 bytes of which each kind has its part.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct SignalParameters {
    pub(crate) operation: u32,
    pub(crate) address: u64,
    pub(crate) value: u64,
    pub(crate) flags: u32,
    pub(crate) alias: u64,
    pub(crate) pad: u64,
}

/// `hipGraphNodeTypeBatchMemOp`, likewise.
const BATCH_MEM_OP: hipGraphNodeType = hipGraphNodeType(14);

/// Semaphores of other APIs with the values that they are signalled with, or waited for, and how C describes that.
#[cfg(target_os = "linux")]
pub(crate) struct SemaphoreNode<P> {
    pub(crate) fences: Vec<(Arc<Semaphore>, u64)>,
    pub(crate) handles: Vec<hipExternalSemaphore_t>,
    pub(crate) parameters: Vec<P>,
}

// SAFETY: the pointers are handles, and numbers in the parameters for the program to ask for.
#[cfg(target_os = "linux")]
unsafe impl<P> Send for SemaphoreNode<P> {}
// SAFETY: as above.
#[cfg(target_os = "linux")]
unsafe impl<P> Sync for SemaphoreNode<P> {}

impl SignalNode {
    /// Does all of it, one after the other.
    pub(crate) fn perform(&self, runtime: &Runtime, device: usize) -> Result<(), Failure> {
        let goes_on = || runtime.devices[device].carries_on();
        self.signals.iter().try_for_each(|signal| signal.perform(runtime, goes_on))
    }
}

#[cfg(target_os = "linux")]
impl<P> SemaphoreNode<P> {
    /// Signals all of them.
    pub(crate) fn signal(&self, runtime: &Runtime, device: usize) -> Result<(), Failure> {
        runtime.devices[device].carries_on()?;
        self.fences.iter().try_for_each(|(semaphore, value)| semaphore.signal(*value))
    }

    /// Waits for all of them.
    pub(crate) fn wait(&self, runtime: &Runtime, device: usize) -> Result<(), Failure> {
        let goes_on = || runtime.devices[device].carries_on();
        self.fences.iter().try_for_each(|(semaphore, value)| semaphore.wait(*value, goes_on))
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
    Signals(Arc<SignalNode>),
    #[cfg(target_os = "linux")]
    SignalSemaphores(Arc<SemaphoreNode<hipExternalSemaphoreSignalParams>>),
    #[cfg(target_os = "linux")]
    WaitSemaphores(Arc<SemaphoreNode<hipExternalSemaphoreWaitParams>>),
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
            Self::Signals(_) => BATCH_MEM_OP,
            #[cfg(target_os = "linux")]
            Self::SignalSemaphores(_) => hipGraphNodeTypeExtSemaphoreSignal,
            #[cfg(target_os = "linux")]
            Self::WaitSemaphores(_) => hipGraphNodeTypeExtSemaphoreWait,
        }
    }
}

/// Does what the device does of a node, here and now. What the host does, what may take as long as others like, and events, are no part of it.
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
        | Operation::Free(_)
        | Operation::Signals(_) => Ok(()),
        #[cfg(target_os = "linux")]
        Operation::SignalSemaphores(_) | Operation::WaitSemaphores(_) => Ok(()),
    }
}

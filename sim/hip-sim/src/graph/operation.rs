//! The operations of graph nodes.

use std::ffi::c_void;
use std::sync::Arc;

use amdgpu_sim::ValueKind;
use hip_sys::rocm_7_2::*;

use super::memory::GraphMemory;
use crate::copy::Copy;
use crate::device::Device;
use crate::fault::Failure;
use crate::fill::Fill;
use crate::launch::Prepared;
#[cfg(target_os = "linux")]
use crate::semaphore::Semaphore;
use crate::signal::Signal;

/// A copy, and its description in C.
pub(crate) struct CopyNode {
    pub(crate) copy: Copy,
    pub(crate) parameters: hipMemcpy3DParms,
}

// SAFETY: its pointers are used as HIP documents for copies in graphs: the program must keep them valid in each launch.
unsafe impl Send for CopyNode {}
// SAFETY: as above.
unsafe impl Sync for CopyNode {}

/// A fill, and its description in C.
#[derive(Clone, Copy)]
pub(crate) struct FillNode {
    pub(crate) fill: Fill,
    pub(crate) parameters: hipMemsetParams,
}

// SAFETY: the pointer in the parameters is only stored and returned to the program, never dereferenced.
unsafe impl Send for FillNode {}
// SAFETY: as above.
unsafe impl Sync for FillNode {}

/// A function of the program and its argument.
#[derive(Clone, Copy)]
pub(crate) struct HostCall {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    pub(crate) data: *mut c_void,
}

// SAFETY: HIP passes the pointer to the function on a runtime thread; a program that uses host nodes must expect that.
unsafe impl Send for HostCall {}
// SAFETY: as above.
unsafe impl Sync for HostCall {}

impl HostCall {
    /// Calls it.
    pub(crate) fn call(&self) {
        // SAFETY: HIP requires a function that may be called with this data, on a runtime thread, in every launch.
        unsafe { (self.function)(self.data) }
    }
}

/// A kernel launch with a pointer to each argument, as the C API takes them.
pub(crate) struct KernelNode {
    pub(crate) prepared: Prepared,
    parameters: hipKernelNodeParams,
    pointers: Vec<*mut c_void>,
}

impl KernelNode {
    /// Creates the node. `prepared` must have been made from `parameters`.
    pub(crate) fn new(mut prepared: Prepared, parameters: hipKernelNodeParams) -> Self {
        let base = prepared.arguments.as_mut_ptr();
        let args = &prepared.kernel.info().args;
        let explicit = args.iter().filter(|arg| !matches!(arg.kind, ValueKind::Hidden(_)));
        let pointers = explicit.map(|arg| base.wrapping_add(arg.offset as usize).cast()).collect();
        Self { prepared, parameters, pointers }
    }

    /// The launch in C's form. Its pointers lead to arguments that the node owns.
    pub(crate) fn parameters(&self) -> hipKernelNodeParams {
        let pointers = self.pointers.as_ptr().cast_mut();
        hipKernelNodeParams { extra: std::ptr::null_mut(), kernelParams: pointers, ..self.parameters }
    }
}

/// Operations on signals, and their description in C.
pub(crate) struct SignalNode {
    pub(crate) signals: Vec<Signal>,
    pub(crate) parameters: Vec<SignalParameters>,
    /// The context that the program passed, as a number. It is stored but not used.
    pub(crate) context: usize,
}

/// `hipStreamBatchMemOpParams`, added in HIP 6.4: the operation, then 40 bytes that each operation lays out
/// differently.
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

/// `hipGraphNodeTypeBatchMemOp`, added in HIP 6.4.
const BATCH_MEM_OP: hipGraphNodeType = hipGraphNodeType(14);

/// Semaphores of other APIs with the values to signal or to wait for, and their description in C.
#[cfg(target_os = "linux")]
pub(crate) struct SemaphoreNode<P> {
    pub(crate) fences: Vec<(Arc<Semaphore>, u64)>,
    pub(crate) handles: Vec<hipExternalSemaphore_t>,
    pub(crate) parameters: Vec<P>,
}

// SAFETY: the pointers are handles, and in the parameters numbers that are only returned to the program.
#[cfg(target_os = "linux")]
unsafe impl<P> Send for SemaphoreNode<P> {}
// SAFETY: as above.
#[cfg(target_os = "linux")]
unsafe impl<P> Sync for SemaphoreNode<P> {}

impl SignalNode {
    /// Performs the operations in order.
    pub(crate) fn perform(&self, device: &Device) -> Result<(), Failure> {
        let goes_on = || device.carries_on();
        self.signals.iter().try_for_each(|signal| signal.perform(device.gpu.memory(), goes_on))
    }
}

#[cfg(target_os = "linux")]
impl<P> SemaphoreNode<P> {
    /// Signals all of them.
    pub(crate) fn signal(&self, device: &Device) -> Result<(), Failure> {
        device.carries_on()?;
        self.fences.iter().try_for_each(|(semaphore, value)| semaphore.signal(*value))
    }

    /// Waits for all of them.
    pub(crate) fn wait(&self, device: &Device) -> Result<(), Failure> {
        let goes_on = || device.carries_on();
        self.fences.iter().try_for_each(|(semaphore, value)| semaphore.wait(*value, goes_on))
    }
}

/// The operation of a node. Handles are stored as numbers.
#[derive(Clone)]
pub(crate) enum Operation {
    Empty,
    Kernel(Arc<KernelNode>),
    Copy(Arc<CopyNode>),
    Fill(FillNode),
    Host(HostCall),
    /// The handle of a child graph that the node owns.
    Child(usize),
    Record(usize),
    Wait(usize),
    Alloc(Arc<GraphMemory>),
    /// Frees the memory that starts at this address.
    Free(u64),
    Signals(Arc<SignalNode>),
    #[cfg(target_os = "linux")]
    SignalSemaphores(Arc<SemaphoreNode<hipExternalSemaphoreSignalParams>>),
    #[cfg(target_os = "linux")]
    WaitSemaphores(Arc<SemaphoreNode<hipExternalSemaphoreWaitParams>>),
}

// SAFETY: the pointers lead into the arguments, which are never changed, or are only returned to the program.
unsafe impl Send for KernelNode {}
// SAFETY: as above.
unsafe impl Sync for KernelNode {}

impl Operation {
    /// The node type in C.
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

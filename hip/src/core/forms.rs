//! The functions that HIP 6.0 changed, with the structures of HIP 6 and newer. On an older runtime, they call the old
//! form of the function. Each old structure is a prefix of the new one, and each call has only one structure.

use std::ffi::c_void;

use hip_sys::rocm_6_2::{
    hipExternalMemoryBufferDesc, hipExternalMemoryHandleDesc, hipExternalSemaphoreHandleDesc,
    hipExternalSemaphoreSignalNodeParams, hipExternalSemaphoreSignalParams, hipExternalSemaphoreWaitNodeParams,
    hipExternalSemaphoreWaitParams, hipPointerAttribute_t,
};
use hip_sys::{
    hipError_t, hipExternalMemory_t, hipExternalSemaphore_t, hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipStream_t,
};

use crate::core::releases::STRUCTURES_ARE_SHORT;

macro_rules! forms {
    ($(fn $name:ident($($parameter:ident: $type:ty),*), old($($argument:expr),*);)*) => {$(
        /// # Safety
        /// The same as of the C function.
        #[allow(non_snake_case, reason = "names are C's")]
        pub(crate) unsafe fn $name($($parameter: $type),*) -> hipError_t {
            if STRUCTURES_ARE_SHORT.in_use() {
                // SAFETY: the caller keeps the contract. The runtime reads or writes only the structure's prefix.
                unsafe { hip_sys::rocm_5_7::$name($($argument),*) }
            } else {
                // SAFETY: the caller keeps the contract.
                unsafe { hip_sys::rocm_6_2::$name($($parameter),*) }
            }
        }
    )*};
}

forms! {
    fn hipPointerGetAttributes(attributes: *mut hipPointerAttribute_t, pointer: *const c_void),
        old(attributes.cast(), pointer);
    fn hipImportExternalMemory(memory: *mut hipExternalMemory_t, description: *const hipExternalMemoryHandleDesc),
        old(memory, description.cast());
    fn hipExternalMemoryGetMappedBuffer(pointer: *mut *mut c_void, memory: hipExternalMemory_t,
        description: *const hipExternalMemoryBufferDesc), old(pointer, memory, description.cast());
    fn hipImportExternalSemaphore(semaphore: *mut hipExternalSemaphore_t,
        description: *const hipExternalSemaphoreHandleDesc), old(semaphore, description.cast());
    fn hipSignalExternalSemaphoresAsync(semaphore: *const hipExternalSemaphore_t,
        parameters: *const hipExternalSemaphoreSignalParams, count: u32, stream: hipStream_t),
        old(semaphore, parameters.cast(), count, stream);
    fn hipWaitExternalSemaphoresAsync(semaphore: *const hipExternalSemaphore_t,
        parameters: *const hipExternalSemaphoreWaitParams, count: u32, stream: hipStream_t),
        old(semaphore, parameters.cast(), count, stream);
    fn hipGraphAddExternalSemaphoresSignalNode(node: *mut hipGraphNode_t, graph: hipGraph_t,
        before: *const hipGraphNode_t, count: usize, parameters: *const hipExternalSemaphoreSignalNodeParams),
        old(node, graph, before, count, parameters.cast());
    fn hipGraphAddExternalSemaphoresWaitNode(node: *mut hipGraphNode_t, graph: hipGraph_t,
        before: *const hipGraphNode_t, count: usize, parameters: *const hipExternalSemaphoreWaitNodeParams),
        old(node, graph, before, count, parameters.cast());
    fn hipGraphExecExternalSemaphoresSignalNodeSetParams(graph: hipGraphExec_t, node: hipGraphNode_t,
        parameters: *const hipExternalSemaphoreSignalNodeParams), old(graph, node, parameters.cast());
    fn hipGraphExecExternalSemaphoresWaitNodeSetParams(graph: hipGraphExec_t, node: hipGraphNode_t,
        parameters: *const hipExternalSemaphoreWaitNodeParams), old(graph, node, parameters.cast());
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use hip_sys::{rocm_5_7 as old, rocm_6_2 as new};

    /// The casts above rely on these offsets and sizes.
    #[test]
    fn old_structures_are_the_first_part_of_the_new_ones() {
        macro_rules! first_part {
            ($($name:ident: $($field:ident)*;)*) => {$(
                $(assert_eq!(offset_of!(old::$name, $field), offset_of!(new::$name, $field), stringify!($field));)*
                assert!(size_of::<old::$name>() <= size_of::<new::$name>());
            )*};
        }
        first_part! {
            hipPointerAttribute_t: device devicePointer hostPointer isManaged allocationFlags;
            hipExternalMemoryHandleDesc: type_ handle size flags;
            hipExternalMemoryBufferDesc: offset size flags;
            hipExternalSemaphoreHandleDesc: type_ handle flags;
            hipExternalSemaphoreSignalNodeParams: extSemArray paramsArray numExtSems;
            hipExternalSemaphoreWaitNodeParams: extSemArray paramsArray numExtSems;
            hipExternalSemaphoreSignalParams: params;
            hipExternalSemaphoreWaitParams: params;
        }
        assert_eq!(offset_of!(new::hipPointerAttribute_t, type_), 0);
    }
}

//! Nodes that wait for words in memory and write to them (since 6.4).

use std::ffi::c_uint;
use std::sync::Arc;

use hip_sys::rocm_7_2::*;

use super::handles::handle;
use super::{describe, exec, node};
use crate::api::{hip_functions, signal};
use crate::graph::{Operation, SignalNode, SignalParameters};
use crate::runtime::Runtime;
use crate::status::{Refusal, ensure};

/// `hipBatchMemOpNodeParams`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Parameters {
    context: hipCtx_t,
    count: c_uint,
    operations: *mut SignalParameters,
    flags: c_uint,
}

/// The operation of such a node.
///
/// # Safety
/// `parameters` must be null or valid for a read, with contents as HIP requires.
unsafe fn operation(runtime: &Runtime, parameters: *const Parameters) -> Result<Operation, Refusal> {
    ensure(!parameters.is_null(), hipErrorInvalidValue)?;
    // SAFETY: not null, hence valid, as the caller vouches.
    let Parameters { context, count, operations, flags } = unsafe { *parameters };
    // SAFETY: as the caller vouches.
    let (signals, parameters) = unsafe { signal::batch(runtime, operations, count, flags) }?;
    Ok(Operation::Signals(Arc::new(SignalNode { signals, parameters, context: context.addr() })))
}

hip_functions! {
    since:

    fn hipGraphAddBatchMemOpNode(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize,
        parameters: *const Parameters,
    ) {
        node::add((to, graph, before, count), |runtime| operation(runtime, parameters))
    }

    fn hipGraphBatchMemOpNodeGetParams(of: hipGraphNode_t, to: *mut Parameters) {
        describe::ask(of, to, |operation| match operation {
            // The pointers lead to data that the node owns and never changes.
            Operation::Signals(node) => Some(Parameters {
                context: handle(node.context),
                count: node.parameters.len() as c_uint,
                operations: node.parameters.as_ptr().cast_mut(),
                flags: 0,
            }),
            _ => None,
        })
    }

    fn hipGraphBatchMemOpNodeSetParams(of: hipGraphNode_t, parameters: *const Parameters) {
        describe::change(of, |runtime| operation(runtime, parameters))
    }

    fn hipGraphExecBatchMemOpNodeSetParams(
        exec: hipGraphExec_t, of: hipGraphNode_t, parameters: *const Parameters,
    ) {
        exec::change(exec, of, |runtime| operation(runtime, parameters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_cs() {
        // The sizes are those that a C compiler computes from the headers of HIP 7.2.
        assert_eq!((size_of::<Parameters>(), std::mem::offset_of!(Parameters, operations)), (32, 16));
    }
}

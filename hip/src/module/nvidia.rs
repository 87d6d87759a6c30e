//! Kernels for NVIDIA's devices, whose code describes less than AMD's.

use crate::module::metadata::{KernelInfo, Parameter, ParameterKind};

/// Bytes of arguments that CUDA allows.
pub(super) const MAX_ARGUMENT_BYTES: usize = 32764;

/// Creates the metadata of a kernel. What is not given is 0.
pub(super) fn kernel(name: &str, parameters: Vec<Parameter>) -> KernelInfo {
    KernelInfo {
        name: name.to_owned(),
        explicit_bytes: parameters.last().map_or(0, |last| last.offset + last.size),
        parameters,
        warp_size: 32,
        max_threads_per_block: 0,
        required_block: None,
        static_shared_bytes: 0,
        private_bytes: 0,
        vgprs: 0,
        agprs: 0,
        sgprs: 0,
        vgpr_spills: 0,
        sgpr_spills: 0,
        late_hidden: 0,
    }
}

/// Creates a parameter without a type.
pub(super) fn parameter(offset: usize, size: usize, kind: ParameterKind) -> Parameter {
    Parameter { name: None, type_name: None, offset, size, kind, declared: None }
}

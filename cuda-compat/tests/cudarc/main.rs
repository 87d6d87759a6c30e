//! Differences of the cudarc layer from cudarc, and additions to it, on the software GPU. `cargo xtask cudarc` checks
//! that it has cudarc's interface.

mod arguments;
mod copies;
mod errors;
mod graphs;
mod streams;

use std::sync::Arc;

use cuda_compat::driver::CudaContext;
use cuda_compat::nvrtc::Ptx;

/// Returns whether AMD's own HIP runtime is available.
fn is_amds() -> bool {
    std::env::var_os("ROCM_RS_RELEASE").is_some()
}

/// A context on the software GPU.
pub(crate) fn context() -> Arc<CudaContext> {
    hip::select_backend(if is_amds() { hip::Backend::Rocm } else { hip::Backend::Sim }).unwrap();
    CudaContext::new(0).unwrap()
}

/// `vector_add(const float *a, const float *b, float *c, unsigned n)`, as an offload bundle.
pub(crate) fn vector_add() -> Ptx {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/kernels/vector_add.hipfb");
    Ptx::from_file(path)
}

//! The runtimes that a program can run on.

/// The runtime that this crate's functions run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// AMD's GPUs: the HIP runtime of a ROCm installation, `libamdhip64`.
    Rocm,
    /// NVIDIA's GPUs: their driver, `libcuda`. Needs the feature `nvidia`.
    Cuda,
    /// The software GPU that the feature `sim` builds in.
    Sim,
}

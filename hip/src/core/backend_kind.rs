//! The runtimes that a program can run on.

/// The runtime that this crate's functions run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// The HIP runtime of a ROCm installation, `libamdhip64`.
    Rocm,
    /// The software GPU that the feature `sim` builds in.
    Sim,
}

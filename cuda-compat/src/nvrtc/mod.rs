//! NVRTC under CUDA's names, over HIPRTC.
//!
//! # What differs
//! - There is no PTX: [`nvrtcGetPTX`] and [`nvrtcGetCUBIN`] both return a code object for one architecture. `cuModuleLoadData` takes it.
//!   PTX as a source is an error.
//! - Without an architecture of AMD in the options, HIPRTC compiles for the current device. `sm_80` and `compute_80` are ignored.
//! - [`nvrtcCompileProgram`] translates NVRTC's options; [`translate_options`] shows how. The log names those that are ignored.
//! - [`nvrtcVersion`] returns HIPRTC's version.
//!
//! # Kernels
//! HIPRTC compiles HIP C++, which is CUDA C++ in most of what kernels use. [`nvrtcCreateProgram`] adds a prelude for the rest: functions
//! of warps with masks of 32 bits, `__ldg` and its kin, `__dp4a`, SIMD intrinsics, atomics of a block, of the system and of 16 bits. Lines in
//! messages are those of the source. These headers are there, unless the program has its own of the same name:
//!
//! | headers | |
//! |---|---|
//! | `cuda_fp16.h` | what HIPRTC's `__half` lacks |
//! | `cuda_bf16.h`, `cuda_fp8.h` | all of it is ours: `__nv_bfloat16`, `__nv_fp8_e4m3`, `__nv_fp8_e5m2`, in software |
//! | `cooperative_groups.h`, `cooperative_groups/reduce.h`, `…/scan.h` | blocks, tiles of up to 32 lanes, coalesced groups, grids of cooperative launches |
//! | `cuda/std/…`, `cuda/atomic` | `array`, `atomic`, `bit`, `cmath`, `cstdint`, `limits`, `type_traits`, `utility` and others |
//! | `cstdint`, `cmath`, `type_traits`, `stdint.h`, … | the same in `std` |
//! | `cuda_runtime.h`, `cuda.h`, `vector_types.h`, … | types that HIPRTC has; none of the host's functions |
//! | `math_constants.h`, `cuda_pipeline.h` | constants; copies that are complete when they return |
//! | `curand_kernel.h`, `mma.h`, `cub/cub.cuh` | an error that says what to use |
//!
//! `__CUDA_ARCH__` is not defined. Pass `-D__CUDA_ARCH__=800` for code that chooses by it, such as kernels for `__half`.
//!
//! # Warps
//! Waves of MI GPUs have 64 lanes, and nearly all CUDA code assumes 32. By default a wave is two warps of 32 lanes: shuffles, votes, masks,
//! `warpSize` and tiles work on the half that a lane is in, and `threadIdx.x % 32` is its lane. What this cannot do: warps of one wave that
//! wait for each other, as one that spins until the other writes a flag.
//!
//! With the option `--warp-size=native` a warp is a wave, `warpSize` is HIP's, and masks have 64 bits. Use it for code that asks for
//! `warpSize`, and for HIP C++. [`lanes::find`] finds code that assumes 32 lanes, and the log names it.

pub mod lanes;
mod options;
mod prelude;
mod program;
pub mod result;
pub mod safe;
pub mod sys;

pub use options::{Translated, translate_options};
pub use safe::*;
pub use sys::*;

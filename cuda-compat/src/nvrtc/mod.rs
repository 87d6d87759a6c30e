//! NVRTC under CUDA's names, over HIPRTC.
//!
//! # Differences from NVRTC
//! - AMD GPUs have no PTX: [`nvrtcGetPTX`] and [`nvrtcGetCUBIN`] both return a code object for one architecture.
//!   `cuModuleLoadData` accepts it. PTX as a source is an error.
//! - Without an AMD architecture in the options, HIPRTC compiles for the current device. `sm_80` and `compute_80`
//!   decide `__CUDA_ARCH__`.
//! - [`nvrtcCompileProgram`] translates NVRTC's options as [`translate_options`] does. The log names the ignored ones.
//! - [`nvrtcVersion`] returns HIPRTC's version.
//!
//! # Kernels
//! HIPRTC compiles HIP C++, which contains most of the CUDA C++ that kernels use. [`nvrtcCreateProgram`] adds a prelude
//! for the rest: warp functions with 32-bit masks, `__ldg` and similar functions, `__dp4a`, SIMD intrinsics,
//! block-wide, system-wide and 16-bit atomics. Line numbers in messages are those of the source. These headers are
//! available, unless the program has its own header of the same name:
//!
//! | headers | contents |
//! |---|---|
//! | `cuda_fp16.h` | the parts that HIPRTC's `__half` lacks |
//! | `cuda_bf16.h`, `cuda_fp8.h`, `cuda_fp6.h`, `cuda_fp4.h` | implemented by this crate, in software: `__nv_bfloat16`, `__nv_fp8_e4m3`, `__nv_fp6_e2m3`, `__nv_fp4_e2m1` and others |
//! | `cooperative_groups.h`, `cooperative_groups/reduce.h`, `…/scan.h`, `…/memcpy_async.h` | blocks, tiles of up to 32 lanes, coalesced groups, grids of cooperative launches |
//! | `cuda/std/…`, `cuda/atomic` | `array`, `atomic`, `bit`, `cmath`, `complex`, `cstdint`, `limits`, `tuple`, `type_traits`, `utility` and others |
//! | `cuda/barrier`, `cuda/pipeline` | barriers of threads; copies that are complete when they return |
//! | `cstdint`, `cmath`, `type_traits`, `stdint.h`, … | the same in `std` |
//! | `cuda_runtime.h`, `cuda.h`, `vector_types.h`, … | types of HIPRTC; no host functions |
//! | `math_constants.h`, `cuComplex.h`, `cuda_pipeline.h` | constants; complex numbers; copies that are complete when they return |
//! | `cub/cub.cuh`, `cub/block/…`, `cub/warp/…` | hipCUB of an installation (`rocm-sdk install 7.2 --with hipcub`), and the C++ library of the machine |
//! | `cub/device/…`, `thrust/…` | an error: they run on the host |
//! | `curand_kernel.h`, `mma.h` | an error that names the replacement |
//!
//! Other headers of the host cannot be opened, as in NVRTC.
//!
//! `__CUDA_ARCH__` is that of `--gpu-architecture`: 800 for `compute_80`. Without the option it is 520, NVRTC's
//! default, and with an architecture of AMD it is that of [the device](crate::device::COMPUTE_CAPABILITY).
//! `-D__CUDA_ARCH__=890` is possible, too. The log warns of an architecture that is newer than the device's.
//!
//! # Warps
//! Waves of MI GPUs have 64 lanes, and nearly all CUDA code assumes 32. By default, a wave is two warps of 32 lanes:
//! shuffles, votes, masks, `warpSize` and tiles work on the half that a lane is in, and `threadIdx.x % 32` is its lane.
//! Warps of one wave cannot wait for each other, for example by spinning until the other writes a flag.
//!
//! With the option `--warp-size=native` a warp is a wave, `warpSize` is HIP's, and masks have 64 bits. Use it for code
//! that queries `warpSize`, and for HIP C++. [`lanes::find`] finds code that assumes 32 lanes, and the log lists it.
//! The default of the option, and what device attributes report, is [`warp_size`](crate::device::warp_size).
//!
//! The lanes of a warp cannot meet in two places. A collective of a whole warp in both branches of an `if` on the lane
//! is an error; `--divergent-collectives=true` compiles it, for code whose lanes all take the same branch.
//!
//! # PTX
//! Inline PTX becomes C++, instruction by instruction: `PORTING.md` lists them. An instruction without a translation is an error with
//! its name and line, if the program uses the code. [`lanes::find`] finds it without compiling.
//!
//! # Shifts
//! NVIDIA's GPUs shift everything out if the amount is the width of the number or more: `(1u << n) - 1` is all bits for
//! 32. C++ leaves it undefined, and AMD's GPUs use the low bits of the amount. [`nvrtcCreateProgram`] puts a macro behind
//! each operator `<<` and `>>` whose amount is not a plain number, in the program and its headers, so that results are
//! those of NVIDIA's GPUs.
//! `--saturating-shifts=false` leaves the shifts to C++.

mod cub;
pub mod lanes;
mod messages;
mod operators;
mod options;
mod prelude;
mod program;
mod ptx;
pub mod result;
pub mod safe;
mod shifts;
pub mod sys;

pub use options::{Translated, translate_options};
pub use prelude::headers_for_clang;
pub use program::in_hip;
pub use safe::*;
pub use sys::*;

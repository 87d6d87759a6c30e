// Included before each program: what CUDA C++ has without a header, and HIPRTC lacks or has with another meaning.
// ROCm's clang includes it, too, for files with code of the host (CUDA_COMPAT_HOST), after hip/hip_runtime.h.
#pragma once

// The compiler's version is CUDA 12.8's. The architecture is the one of the options; NVRTC's default is compute_52.
#define __CUDACC__ 1
#ifndef CUDA_COMPAT_HOST
#define __CUDACC_RTC__ 1
#endif
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDACC_VER_BUILD__ 0
#ifndef CUDA_COMPAT_ARCH
#define CUDA_COMPAT_ARCH 520
#endif
#if !defined(__CUDA_ARCH__) && (!defined(CUDA_COMPAT_HOST) || defined(__HIP_DEVICE_COMPILE__))
#define __CUDA_ARCH__ CUDA_COMPAT_ARCH
#endif
#ifdef CUDA_COMPAT_HOST
#define __CUDA_ARCH_LIST__ CUDA_COMPAT_ARCH
#else
#define __CUDA_ARCH_LIST__ __CUDA_ARCH__
#endif

// The lanes of a warp: 32, or 0 for those of a wave.
#ifndef CUDA_COMPAT_WARP_SIZE
#define CUDA_COMPAT_WARP_SIZE 32
#endif

#define __grid_constant__
#ifndef __align__
#define __align__(n) __attribute__((aligned(n)))
#endif
#ifndef __builtin_align__
#define __builtin_align__(n) __attribute__((aligned(n)))
#endif
#ifndef NULL
#define NULL 0
#endif

// HIP's second argument counts waves for each SIMD unit, CUDA's blocks for each multiprocessor: a hint that is left out.
#undef __launch_bounds__
#define __launch_bounds__(...) __cuda_compat_bounds(__VA_ARGS__, 0)
#define __cuda_compat_bounds(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __maxnreg__(...)
#undef __cluster_dims__
#define __cluster_dims__(...) __attribute__((unavailable("AMD GPUs have no clusters of blocks")))

typedef hipTextureObject_t cudaTextureObject_t;
typedef hipSurfaceObject_t cudaSurfaceObject_t;
typedef hipTextureObject_t CUtexObject;
typedef hipSurfaceObject_t CUsurfObject;
#define cudaBoundaryModeZero hipBoundaryModeZero
#define cudaBoundaryModeClamp hipBoundaryModeClamp
#define cudaBoundaryModeTrap hipBoundaryModeTrap

#include "cuda_compat/shifts.h"
#include "cuda_compat/lanes.h"
#include "cuda_compat/intrinsics.h"
#include "cuda_compat/rounding.h"
#include "cuda_compat/simd.h"
#include "cuda_compat/atomics.h"
#include "cuda_compat/ptx.h"
#include "cuda_compat/std/cassert.h"

// Before an operator of a program: the compiler prefers it to HIP's own for the same types.
#define CUDA_COMPAT_PREFERRED __attribute__((enable_if(1, "")))

// --device-as-default-execution-space: functions of a program are for the device, too.
#if CUDA_COMPAT_DEFAULT_DEVICE
#pragma clang force_cuda_host_device begin
#endif

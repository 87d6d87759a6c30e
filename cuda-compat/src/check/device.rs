//! Device functions and headers of CUDA C++: which HIPRTC has with the prelude of `nvrtc`.

use crate::report::{Status, Verdict};

/// How a name is found in the lists.
enum Of {
    /// Whole.
    Is(&'static [&'static str]),
    /// By its start.
    Starts(&'static [&'static str]),
}
use Of::{Is, Starts};

/// Names that are missing, or differ: names, what to do.
const NAMES: &[(Of, Status, &str)] = &[
    (
        Starts(&["wmma"]),
        Status::Missing,
        "tensor cores: rocWMMA has the same fragments (rocwmma::), or call __builtin_amdgcn_mfma_f32_16x16x16f16",
    ),
    (
        Starts(&["__pipeline_", "__cp_async"]),
        Status::Missing,
        "asynchronous copies to shared memory are NVIDIA's: load to registers, then store to shared memory",
    ),
    (
        Is(&["__cluster_dims__", "cluster_group", "this_cluster", "__cluster_map_shared_rank"]),
        Status::Missing,
        "clusters of blocks are NVIDIA's: share through global memory",
    ),
    (
        Starts(&[
            "__reduce_add_sync",
            "__reduce_min_sync",
            "__reduce_max_sync",
            "__reduce_and_sync",
            "__reduce_or_sync",
            "__reduce_xor_sync",
        ]),
        Status::Missing,
        "reduce with __shfl_xor_sync",
    ),
    (
        Is(&[
            "cudaLaunchDevice",
            "cudaGetParameterBuffer",
            "cudaTriggerProgrammaticLaunchCompletion",
            "cudaGridDependencySynchronize",
        ]),
        Status::Missing,
        "kernels that launch kernels: HIP has none; launch from the host",
    ),
    (
        Is(&["__CUDA_ARCH__"]),
        Status::Differs,
        "it is not defined: code that it guards is left out, as for a host. Test __HIP_DEVICE_COMPILE__ too",
    ),
    (
        Is(&["__CUDACC__", "__NVCC__", "__CUDACC_RTC__"]),
        Status::Differs,
        "it is not defined as by NVCC: test __HIPCC__ too",
    ),
    (Is(&["__noinline__", "__launch_bounds__"]), Status::Mapped, ""),
    (
        Starts(&["__nv_fp8", "__nv_cvt_fp8", "__nv_fp6", "__nv_fp4"]),
        Status::Missing,
        "HIP's types are __hip_fp8_e4m3 and __hip_fp8_e5m2 (header hip/hip_fp8.h)",
    ),
    (
        Is(&[
            "__syncthreads",
            "__syncthreads_count",
            "__syncthreads_and",
            "__syncthreads_or",
            "__threadfence",
            "__threadfence_block",
            "__threadfence_system",
            "__syncwarp",
            "__shfl_sync",
            "__shfl_up_sync",
            "__shfl_down_sync",
            "__shfl_xor_sync",
            "__shfl",
            "__shfl_up",
            "__shfl_down",
            "__shfl_xor",
            "__ballot_sync",
            "__ballot",
            "__any_sync",
            "__all_sync",
            "__any",
            "__all",
            "__activemask",
            "__match_any_sync",
            "__match_all_sync",
            "__popc",
            "__popcll",
            "__clz",
            "__clzll",
            "__ffs",
            "__ffsll",
            "__brev",
            "__brevll",
            "__mul24",
            "__umul24",
            "__mulhi",
            "__umulhi",
            "__mul64hi",
            "__umul64hi",
            "__byte_perm",
            "__funnelshift_l",
            "__funnelshift_r",
            "__ldg",
            "__fdividef",
            "__expf",
            "__exp10f",
            "__logf",
            "__log2f",
            "__log10f",
            "__powf",
            "__sinf",
            "__cosf",
            "__tanf",
            "__sincosf",
            "__saturatef",
            "__fmaf_rn",
            "__fadd_rn",
            "__fmul_rn",
            "__fsqrt_rn",
            "__frcp_rn",
            "__float_as_int",
            "__int_as_float",
            "__float_as_uint",
            "__uint_as_float",
            "__double_as_longlong",
            "__longlong_as_double",
            "__float2int_rn",
            "__float2int_rz",
            "__int2float_rn",
            "__dp4a",
            "__nanosleep",
            "__trap",
            "__brkpt",
            "clock64",
            "atomicAdd",
            "atomicSub",
            "atomicExch",
            "atomicMin",
            "atomicMax",
            "atomicInc",
            "atomicDec",
            "atomicCAS",
            "atomicAnd",
            "atomicOr",
            "atomicXor",
            "atomicAdd_system",
            "atomicAdd_block",
            "tex1Dfetch",
            "tex2D",
            "tex3D",
            "surf2Dread",
            "surf2Dwrite",
            "printf",
        ]),
        Status::Mapped,
        "",
    ),
];

/// Headers: how they start, what becomes of them, what to do.
const HEADERS: &[(&str, Status, &str)] = &[
    ("mma.h", Status::Missing, "tensor cores: rocWMMA (rocwmma/rocwmma.hpp)"),
    ("crt/mma.h", Status::Missing, "tensor cores: rocWMMA (rocwmma/rocwmma.hpp)"),
    ("cub/", Status::Missing, "hipCUB, or rocPRIM: HIPRTC takes them by -I from an installation"),
    ("thrust/", Status::Missing, "rocThrust: host code, compile with hipcc"),
    ("cutlass/", Status::Missing, "Composable Kernel, or hipBLASLt by the module `cublaslt`"),
    ("cute/", Status::Missing, "Composable Kernel"),
    ("cuda/pipeline", Status::Missing, "asynchronous copies are NVIDIA's: load to registers, then store"),
    ("cuda/barrier", Status::Missing, "__syncthreads"),
    ("cuda_pipeline", Status::Missing, "asynchronous copies are NVIDIA's: load to registers, then store"),
    ("cuda_fp8.h", Status::Missing, "hip/hip_fp8.h, with HIP's names"),
    ("cuda_fp6.h", Status::Missing, "HIP has hip/hip_ext_ocp.h, with its own names"),
    ("cuda_fp4.h", Status::Missing, "HIP has hip/hip_ext_ocp.h, with its own names"),
    ("curand_kernel.h", Status::Missing, "hiprand/hiprand_kernel.h, by -I from an installation of hipRAND"),
    ("nvfunctional", Status::Missing, "pass functions as template parameters"),
    ("helper_", Status::Missing, "of NVIDIA's samples, not of CUDA"),
];

/// What becomes of a name in device code; `None` if nothing is known of it.
pub(crate) fn name(name: &str) -> Option<Verdict> {
    let (_, status, note) = NAMES.iter().find(|(of, ..)| match of {
        Is(names) => names.contains(&name),
        Starts(starts) => starts.iter().any(|start| name.starts_with(start)),
    })?;
    Some(match status {
        Status::Missing => Verdict::missing(*note),
        Status::Differs => Verdict::differs(*note),
        Status::Mapped => Verdict::mapped(name),
    })
}

/// What becomes of a header; `None` if nothing is known of it, as of the project's own.
pub(crate) fn header(header: &str) -> Option<Verdict> {
    let (_, status, note) = HEADERS.iter().find(|(start, ..)| header.starts_with(start))?;
    Some(match status {
        Status::Missing => Verdict::missing(*note),
        Status::Differs => Verdict::differs(*note),
        Status::Mapped => Verdict::mapped(header),
    })
}

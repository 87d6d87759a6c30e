//! C names that exist here and behave differently.

/// Prefixes of names, or whole names after `=`, and how they differ. The first match is used.
const DIFFERS: &[(&[&str], &str)] = &[
    (&["nvrtcCompileProgram"], "options are translated to clang's; the log names those without a meaning"),
    (&["cuOccupancyMaxPotentialBlockSize"], "a function for the size of shared memory is refused: pass the size"),
    (&["cuGetErrorName", "cudaGetErrorName"], "names are HIP's, such as hipErrorOutOfMemory"),
    (
        &["nvrtcGetPTX", "nvrtcGetCUBIN"],
        "AMD GPUs have no PTX: it returns a code object for one architecture, which cuModuleLoadData loads",
    ),
    (&["nvrtcVersion"], "it returns HIPRTC's version, not NVRTC's"),
    (
        &["cuModuleLoadData", "cuModuleLoadFatBinary", "cuModuleLoad"],
        "it takes AMD's code objects and bundles: PTX, cubins and fatbins of NVIDIA are refused",
    ),
    (&["cuLinkAddData", "cuLinkAddFile", "cuLinkCreate"], "it links LLVM bitcode: PTX and cubins are refused"),
    (
        &["cuCtxCreate", "cuCtxDestroy"],
        "HIP has the primary context of each device alone: it is retained, and released",
    ),
    (
        &["cuDeviceComputeCapability", "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY", "cudaDevAttrComputeCapability"],
        "it is 8.0 on every GPU: what that lacks here are tensor cores in kernels, and PTX",
    ),
    (
        &["CU_DEVICE_ATTRIBUTE_WARP_SIZE", "cudaDevAttrWarpSize"],
        "it is 32, as in kernels that `nvrtc` compiles; CUDA_COMPAT_WARP_SIZE=native makes both those of a wave",
    ),
    (&["cuGetProcAddress", "cudaGetDriverEntryPoint"], "it takes HIP's name of the function, such as hipMalloc"),
    (
        &["cuDriverGetVersion", "cudaDriverGetVersion", "cudaRuntimeGetVersion"],
        "it returns HIP's version, such as 60443484: do not compare it with CUDA's",
    ),
    (
        &["cuCtxSetLimit", "cudaDeviceSetLimit", "cuCtxGetLimit", "cudaDeviceGetLimit"],
        "HIP has the limits of stack, heap and printf; others are an error",
    ),
    (
        &["cudaFuncSetCacheConfig", "cuCtxSetCacheConfig", "cudaDeviceSetCacheConfig", "cudaDeviceSetSharedMemConfig"],
        "it has no effect: AMD GPUs have no choice between cache and shared memory",
    ),
    (&["CU_MEM_ADVISE", "cudaMemAdvise"], "advice is a hint: what the driver lacks (no HMM, no XNACK) is an error"),
    (&["=cuGraphInstantiate", "=cudaGraphInstantiate"], "it has the meaning of CUDA 12: a graph and flags"),
    (&["cudaDeviceProp", "cudaGetDeviceProperties"], "the struct is HIP's: some fields have other names"),
    (&["CUDA_KERNEL_NODE_PARAMS"], "the struct has HIP's names of fields"),
];

/// Prefixes of types and constants that are absent with a whole interface, and the replacement.
const ABSENT: &[(&[&str], &str)] = &[
    (&["CU_TENSOR_MAP", "CUtensorMap"], "of NVIDIA's tensor memory accelerator: load tiles by ordinary loads"),
    (&["CUmulticast", "CU_MULTICAST", "CUDA_MULTICAST"], "NVLink multicast: use RCCL's collectives"),
    (
        &["CUgreenCtx", "CUdevResource", "CU_GREEN", "CU_DEV_RESOURCE", "CUdevSm", "CU_DEV_SM"],
        "green contexts: limit a stream's compute units by hipExtStreamCreateWithCUMask",
    ),
    (&["CUkernel", "CUlibrary", "CU_LIBRARY"], "load by cuModuleLoadData and cuModuleGetFunction"),
    (&["CUcoredump", "CU_COREDUMP"], "of NVIDIA's driver: use rocgdb"),
    (&["CUeglFrame", "CUegl", "CU_EGL", "cudaEgl"], "HIP shares memory with OpenGL alone: the crate `hip-gl`"),
    (
        &["CUlaunchAttribute", "CU_LAUNCH_ATTRIBUTE", "cudaLaunchAttribute", "CUlaunchConfig", "CU_CLUSTER"],
        "launch by cuLaunchKernel, without attributes",
    ),
    (&["nvmlVgpu", "NVML_VGPU", "nvmlGrid", "NVML_GRID"], "virtual GPUs of NVIDIA"),
    (&["nvmlNvLink", "NVML_NVLINK"], "links between GPUs: amdsmi_topo_get_link_type, amdsmi_topo_get_link_weight"),
    (&["nvml", "NVML_"], "not wrapped: see the functions of the crate `amdsmi-sys`"),
    (&["nvtx", "NVTX_"], "rocTX has no domains and no attributes: nvtxRangePushA, nvtxMarkA"),
];

/// Returns the replacement for an absent type or constant, if one is known.
pub(crate) fn absent(name: &str) -> Option<&'static str> {
    ABSENT.iter().find(|(starts, _)| starts.iter().any(|start| name.starts_with(start))).map(|(_, how)| *how)
}

/// Returns how a name differs, if it does.
pub(crate) fn of(name: &str) -> Option<&'static str> {
    let fits = |start: &&str| start.strip_prefix('=').map_or_else(|| name.starts_with(*start), |whole| name == whole);
    DIFFERS.iter().find(|(starts, _)| starts.iter().any(fits)).map(|(_, how)| *how)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_start_is_that_of_a_name() {
        let table = include_str!("../generated/names.tsv");
        for start in DIFFERS.iter().flat_map(|(starts, _)| *starts) {
            let is_here = |line: &str| {
                let mut columns = line.split('\t').skip(2);
                columns.next().is_some_and(|name| name.starts_with(start.trim_start_matches('=')))
                    && columns.next() != Some("absent")
            };
            assert!(table.lines().any(is_here), "{start}");
        }
    }
}

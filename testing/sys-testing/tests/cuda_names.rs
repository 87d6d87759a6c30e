//! CUDA's names are found by a search in the documentation: the names that CUDA programs use most are aliases of items
//! (`doc(alias)`), or names of items.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Crates whose documentation is searched.
const CRATES: &[&str] = &[
    "hip",
    "hiprtc",
    "hip-kernel",
    "hip-kernel-macros",
    "hipblas",
    "hipblaslt",
    "hipsolver",
    "hipsparse",
    "hipfft",
    "hiprand",
    "rccl",
];

/// The names, by subject: memory, devices and errors, streams and events, launches, graphs and textures, NVRTC,
/// libraries, device code. Without those that have no counterpart, such as `cuInit` and `cudaDeviceReset`.
const NAMES: &[&str] = &[
    "cudaMalloc cudaFree cudaMemcpy cudaMemcpyAsync cudaMemset cudaMemsetAsync cudaMallocHost cudaFreeHost cudaHostAlloc cudaHostRegister cudaMallocManaged cudaMemPrefetchAsync cudaMemAdvise cudaMallocPitch cudaMemcpy2D cudaMemcpy2DAsync cudaMemcpy3D cudaMallocAsync cudaFreeAsync cudaMemGetInfo cudaMemcpyToSymbol cudaMemcpyFromSymbol cudaGetSymbolAddress cudaMemcpyPeer cudaMallocArray cudaPointerGetAttributes cudaHostGetDevicePointer",
    "cudaGetDeviceCount cudaSetDevice cudaGetDevice cudaGetDeviceProperties cudaDeviceGetAttribute cudaDeviceSynchronize cudaDeviceCanAccessPeer cudaDeviceEnablePeerAccess cudaDriverGetVersion cudaRuntimeGetVersion cudaDeviceSetLimit cudaGetLastError cudaPeekAtLastError cudaGetErrorString cudaGetErrorName",
    "cudaStreamCreate cudaStreamCreateWithFlags cudaStreamCreateWithPriority cudaStreamDestroy cudaStreamSynchronize cudaStreamQuery cudaStreamWaitEvent cudaStreamAddCallback cudaLaunchHostFunc cudaEventCreate cudaEventCreateWithFlags cudaEventDestroy cudaEventRecord cudaEventSynchronize cudaEventQuery cudaEventElapsedTime",
    "cudaLaunchKernel cudaLaunchCooperativeKernel cudaLaunchKernelExC cudaFuncSetAttribute cudaFuncGetAttributes cudaOccupancyMaxActiveBlocksPerMultiprocessor cudaOccupancyMaxPotentialBlockSize dim3 cuModuleLoad cuModuleLoadData cuModuleGetFunction cuModuleGetGlobal cuLaunchKernel cuCtxSynchronize hipLaunchKernelGGL hipModuleLaunchKernel",
    "cudaStreamBeginCapture cudaStreamEndCapture cudaGraphInstantiate cudaGraphLaunch cudaGraphExecUpdate cudaGraphAddKernelNode cudaCreateTextureObject cudaCreateSurfaceObject cudaIpcGetMemHandle cudaIpcOpenMemHandle",
    "nvrtcCreateProgram nvrtcCompileProgram nvrtcDestroyProgram nvrtcGetPTX nvrtcGetCUBIN nvrtcGetProgramLog nvrtcAddNameExpression nvrtcGetLoweredName nvrtcGetErrorString",
    "cublasCreate cublasSetStream cublasSgemm cublasGemmEx cublasSaxpy cublasSdot cublasSgemv cublasLtMatmul cusolverDnCreate cusolverDnSgetrf cusparseCreate cusparseSpMV cusparseSpMM cufftPlan1d cufftPlanMany cufftExecC2C curandCreateGenerator curandGenerateUniform ncclAllReduce ncclCommInitRank ncclGroupStart",
    "threadIdx blockIdx blockDim gridDim __syncthreads __syncwarp __shfl_sync __shfl_xor_sync __shfl_up_sync __shfl_down_sync __ballot_sync __any_sync __all_sync __activemask atomicAdd atomicCAS atomicMax atomicMin atomicExch warpSize __threadfence __threadfence_block clock64 __shared__ printf",
];

/// Adds the names in the sources below a folder.
fn collect(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            names_of(&fs::read_to_string(&path).unwrap(), names);
        }
    }
}

/// Adds the names in a source: the strings of `doc(alias(..))` and of the lists that macros make it of, and public
/// items.
fn names_of(source: &str, names: &mut BTreeSet<String>) {
    let mut add_strings = |list: &str| names.extend(list.split('"').skip(1).step_by(2).map(str::to_owned));
    for attribute in source.split("#[doc(alias").skip(1) {
        add_strings(attribute.split(")]").next().unwrap_or_default());
    }
    if source.contains("#[doc(alias($($alias") {
        for list in source.split("[\"").skip(1) {
            add_strings(&format!("\"{}", list.split("\"]").next().unwrap_or_default()));
        }
    }
    for item in ["pub fn ", "pub unsafe fn ", "pub struct ", "macro_rules! "] {
        for rest in source.split(item).skip(1) {
            names.extend(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned));
        }
    }
}

#[test]
fn the_names_that_cuda_programs_use_most_are_found() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = BTreeSet::new();
    CRATES.iter().for_each(|name| collect(&root.join(name).join("src"), &mut found));
    let wanted: Vec<&str> = NAMES.iter().flat_map(|names| names.split(' ')).collect();
    assert!(wanted.len() >= 100, "{}", wanted.len());
    let missing: Vec<_> = wanted.into_iter().filter(|&name| !found.contains(name)).collect();
    assert!(missing.is_empty(), "no item has these names or aliases: {missing:?}");
}

#[test]
fn a_name_in_other_text_is_not_found() {
    let mut names = BTreeSet::new();
    names_of(
        "/// As `cudaMalloc`.\n#[doc(alias(\"cudaFree\", \"hipFree\"))]\npub fn free() { call(\"cudaMemset\") }",
        &mut names,
    );
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["cudaFree", "free", "hipFree"]);
}

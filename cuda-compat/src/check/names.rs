//! CUDA's C names: the table that `cargo xtask cuda` generates.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::behaviour;
use crate::report::{Status, Verdict};

const TABLE: &str = include_str!("../generated/names.tsv");

/// A row of the table.
#[derive(Clone, Copy, Debug)]
struct Row {
    module: &'static str,
    sort: &'static str,
    fate: &'static str,
    feature: &'static str,
    text: &'static str,
}

static NAMES: LazyLock<HashMap<&'static str, Row>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    for line in TABLE.lines().skip(1) {
        let mut columns = line.split('\t');
        let mut next = || columns.next().unwrap_or_default();
        let (module, sort, name, fate, feature, text) = (next(), next(), next(), next(), next(), next());
        let row = Row { module, sort, fate, feature, text };
        // If several modules have a name, the mapped one is used.
        let old = names.get(name).is_some_and(|old: &Row| old.fate != "absent" || fate == "absent");
        if !old {
            names.insert(name, row);
        }
    }
    names
});

/// Prefixes of CUDA's C names. Other names in the table, such as `dim3`, can occur in any program.
const STARTS: &[&str] = &["cu", "CU", "nvrtc", "NVRTC_", "nccl", "NCCL_", "nvtx", "NVTX_", "nvml", "NVML_"];

/// Returns whether a word is a name of CUDA's C headers in the table.
pub(crate) fn is_known(name: &str) -> bool {
    STARTS.iter().any(|start| name.starts_with(start)) && NAMES.contains_key(name)
}

/// Removes the prefix that bindgen adds to a constant: `nvmlReturn_enum_NVML_SUCCESS`.
pub(crate) fn plain(name: &str) -> &str {
    ["CUDA_", "CU_", "NVML_", "CUBLAS_", "NVRTC_"]
        .iter()
        .filter_map(|start| Some(&name[name.find(&format!("_{start}"))? + 1..]))
        .find(|plain| name.starts_with(|c: char| c.is_ascii_lowercase()) && NAMES.contains_key(plain))
        .unwrap_or(name)
}

/// NVIDIA libraries that no module covers: name prefixes, the library, the advice.
const LIBRARIES: &[(&[&str], &str, &str)] = &[
    (&["cudnn", "CUDNN_"], "cuDNN", "MIOpen, or hipDNN by the crate `hipdnn-sys`"),
    (&["cutensor", "CUTENSOR_"], "cuTENSOR", "hipTensor by the crate `hiptensor-sys`"),
    (&["cusparseLt", "CUSPARSELT_"], "cuSPARSELt", "hipSPARSELt by the crate `hipsparselt-sys`"),
    (
        &["cusolverMg", "CUSOLVERMG_"],
        "cuSOLVERMg",
        "distribute by RCCL (module `nccl`), and solve by hipSOLVER on each GPU",
    ),
    (&["cupti", "CUpti", "CUPTI_"], "CUPTI", "rocprofiler-sdk: run the program under rocprofv3"),
    (&["nvjpeg", "NVJPEG_"], "nvJPEG", "rocJPEG"),
    (&["cuvid", "CUVID_", "NVENC_", "NvEnc"], "the video codec SDK", "rocDecode, or VA-API"),
    (&["npp", "NPP_"], "NPP", "RPP"),
    (&["optix", "OPTIX_"], "OptiX", "HIP RT"),
    (&["nvshmem", "NVSHMEM"], "NVSHMEM", "rocSHMEM"),
    (&["nvJitLink", "NVJITLINK_"], "nvJitLink", "link with the crate `hiprtc`, from LLVM bitcode"),
    (&["nvvm", "NVVM_"], "NVVM", "LLVM IR for AMD GPUs by the crate `rocm-llvm`"),
    (&["cudss", "CUDSS_"], "cuDSS", "rocSOLVER's sparse refactorization by the module `cusolver` (cusolverRf)"),
];

/// Returns the NVIDIA library of a name and the advice, if no module of this crate covers it.
pub(crate) fn library(name: &str) -> Option<(&'static str, &'static str)> {
    let fits = |start: &&str| {
        name.strip_prefix(*start)
            .is_some_and(|rest| start.ends_with('_') || rest.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    LIBRARIES.iter().find(|(starts, ..)| starts.iter().any(fits)).map(|(_, library, advice)| (*library, *advice))
}

/// Modules whose features are on by default, or that have no feature.
const DEFAULT: &[&str] = &["driver", "runtime", "nvrtc", "cublas", "cublaslt", "curand"];
/// Release features that the default feature enables.
const DEFAULT_RELEASES: &[&str] = &["", "rocm-5-7", "rocm-6-2", "rocm-6-3", "rocm-6-4"];

/// Returns the verdict for a name that [`is_known`].
pub(crate) fn verdict(name: &str) -> Verdict {
    let Some(row) = NAMES.get(name) else {
        if name == "CUDA_VERSION" {
            return Verdict {
                status: Status::Differs,
                sort: Some("constant"),
                to: Some("cuda_compat::driver::sys::CUDA_VERSION".to_owned()),
                note: Some(
                    "the release of the newest feature `cuda-…` that is enabled, and 12.8 without one".to_owned(),
                ),
                features: Vec::new(),
            };
        }
        return Verdict::missing(match name {
            "CUDART_VERSION" => "the version of CUDA, which nothing here has",
            _ => "not a name of CUDA 11.4 to 13 that is known here",
        });
    };
    let mut features = Vec::new();
    if !DEFAULT.contains(&row.module) && row.fate != "absent" {
        features.push(row.module.to_owned());
    }
    if !DEFAULT_RELEASES.contains(&row.feature) {
        features.push(row.feature.to_owned());
    }
    let path = format!("cuda_compat::{}::{name}", row.module);
    let note = behaviour::of(name).map(str::to_owned);
    // Handwritten names behave as in CUDA, unless `behaviour` lists a difference.
    let to = match row.fate {
        "same" | "wrapped" if !row.text.is_empty() => Some(format!("{path} ({})", row.text)),
        "absent" => None,
        "variant" => Some(format!("cuda_compat::{}::{}::{name}", row.module, row.text)),
        _ => Some(path),
    };
    let (status, note) = match row.fate {
        "absent" if row.text.is_empty() => (
            Status::Missing,
            Some(behaviour::absent(name).map_or_else(|| format!("ROCm has no such {}", row.sort), str::to_owned)),
        ),
        "absent" => (Status::Missing, Some(row.text.to_owned())),
        "variant" => (
            Status::Differs,
            Some("HIP lacks it: CUDA's value, in the enum alone, which HIP's functions take".to_owned()),
        ),
        "lacking" => (
            Status::Differs,
            Some("HIP lacks it: a constant with a value of its own, which no call returns and none accepts".to_owned()),
        ),
        _ if note.is_some() => (Status::Differs, note),
        _ => (Status::Mapped, None),
    };
    Verdict { status, sort: Some(row.sort), to, note, features }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_verdicts_with_features() {
        let of = |name: &str| {
            assert!(is_known(name), "{name}");
            verdict(name)
        };
        assert_eq!(of("cudaMalloc").status, Status::Mapped);
        assert_eq!(of("cudaMalloc").to.unwrap(), "cuda_compat::runtime::cudaMalloc (hipMalloc)");
        assert_eq!(of("cuMemAlloc_v2").status, Status::Mapped);
        assert_eq!(of("cufftPlan1d").features, ["cufft"]);
        assert_eq!(of("cuMemAdvise_v2").features, ["rocm-7-1"]);
        assert_eq!(of("nvmlDeviceGetMemoryInfo").features, ["nvml"]);
        assert!(of("cuMulticastCreate").note.unwrap().contains("NVLink"));
        assert_eq!(of("CUDA_ERROR_STUB_LIBRARY").status, Status::Differs);
        assert_eq!(of("nvrtcGetPTX").status, Status::Differs);
        let default = of("CU_EVENT_WAIT_DEFAULT");
        assert_eq!(default.status, Status::Differs);
        assert_eq!(default.to.unwrap(), "cuda_compat::driver::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT");
        assert_eq!(of("CUDA_R_32F").status, Status::Mapped);
        assert_eq!(plain("nvmlReturn_enum_NVML_SUCCESS"), "NVML_SUCCESS");
        assert_eq!(plain("cudaError_enum_CUDA_SUCCESS"), "CUDA_SUCCESS");
        assert_eq!(plain("MY_CUDA_SUCCESS"), "MY_CUDA_SUCCESS");
        for name in ["custom", "dim3", "cudaDevice", "cu", "float4", "current"] {
            assert!(!is_known(name), "{name}");
        }
    }

    #[test]
    fn libraries_without_a_module_are_known_by_their_names() {
        assert_eq!(library("cudnnConvolutionForward").unwrap().0, "cuDNN");
        assert_eq!(library("CUDNN_STATUS_SUCCESS").unwrap().0, "cuDNN");
        assert_eq!(library("cusparseLtInit").unwrap().0, "cuSPARSELt");
        assert_eq!(library("cudnn"), None, "a module's name, or a feature's");
        assert_eq!(library("nppi"), None);
        assert_eq!(library("cublasCreate"), None);
    }
}

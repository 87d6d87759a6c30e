//! cudarc's examples and tests, and the results of their runs.

use std::path::PathBuf;

/// The release of cudarc whose interface `cuda-compat` has.
pub(super) const VERSION: &str = "0.19.10";

/// An example or a test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    /// The group: `examples`, or the source file.
    pub(crate) group: String,
    pub(crate) name: String,
    /// The compiler's message, if it does not compile.
    pub(crate) refused: Option<String>,
    /// The program, and its arguments.
    pub(crate) program: Option<(PathBuf, Vec<String>)>,
    /// The feature of its module.
    pub(crate) feature: &'static str,
    /// The outcome on each backend: `None` if it passed, or what went wrong.
    pub(crate) outcomes: Vec<(&'static str, Option<String>)>,
}

/// A source file with tests.
pub(crate) struct Source {
    /// Its path in `src`.
    pub(crate) file: &'static str,
    /// Its module.
    pub(crate) modules: &'static [&'static str],
    /// Whether the module is public; otherwise its items are public in the module around it.
    pub(crate) is_public: bool,
    /// The feature of `cuda-compat`.
    pub(crate) feature: &'static str,
}

const fn public(file: &'static str, modules: &'static [&'static str]) -> Source {
    Source { file, modules, is_public: true, feature: modules[0] }
}

const fn private(file: &'static str, modules: &'static [&'static str]) -> Source {
    Source { file, modules, is_public: false, feature: modules[0] }
}

/// The files of cudarc with tests, for the modules that `cuda-compat` has.
pub(crate) const SOURCES: &[Source] = &[
    private("driver/safe/core.rs", &["driver", "safe", "core"]),
    private("driver/safe/launch.rs", &["driver", "safe", "launch"]),
    private("driver/safe/graph.rs", &["driver", "safe", "graph"]),
    private("driver/safe/profile.rs", &["driver", "safe", "profile"]),
    private("driver/safe/unified_memory.rs", &["driver", "safe", "unified_memory"]),
    public("driver/result.rs", &["driver", "result"]),
    public("nvrtc/result.rs", &["nvrtc", "result"]),
    public("nvrtc/safe.rs", &["nvrtc", "safe"]),
    public("cublas/safe/mod.rs", &["cublas", "safe"]),
    private("cublas/safe/asum.rs", &["cublas", "safe", "asum"]),
    private("cublas/safe/gemm.rs", &["cublas", "safe", "gemm"]),
    private("cublas/safe/gemv.rs", &["cublas", "safe", "gemv"]),
    private("cublas/safe/grouped_gemm.rs", &["cublas", "safe", "grouped_gemm"]),
    public("cublaslt/safe.rs", &["cublaslt", "safe"]),
    public("curand/safe.rs", &["curand", "safe"]),
    public("cusparse/result.rs", &["cusparse", "result"]),
    public("cufft/safe.rs", &["cufft", "safe"]),
    private("cusolver/sys_test.rs", &["cusolver", "sys_test"]),
    public("nccl/safe.rs", &["nccl", "safe"]),
    public("nccl/result.rs", &["nccl", "result"]),
];

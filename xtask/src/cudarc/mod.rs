//! `cargo xtask cudarc`: cudarc's own examples and tests, unchanged, against `cuda-compat` on the software GPU.
//!
//! cudarc's source comes from the registry. Examples are compiled where they are. Tests are modules inside its sources, which use private
//! items around them: each module is written under `target/cudarc`, with `crate::` as `cudarc::`, inside modules of the same names.

mod crates;
mod extract;
mod page;
mod run;
mod scratch;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::hsa::{self, Profile};
use crate::process::messages;
use crate::rocm;

/// The release of cudarc whose interface `cuda-compat` has.
pub(crate) const VERSION: &str = "0.19.10";

/// Compiles cudarc's own examples and tests, unchanged, against `cuda-compat`, runs them on the software GPU, and writes
/// cuda-compat/CUDARC.md.
///
/// cudarc's source is fetched from the registry by cargo. Nothing of it is copied into the repository.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only a few, on the embedded runtime, and write nothing: what CI runs
    #[arg(long)]
    sample: bool,
    /// Compile published crates that depend on cudarc, instead, and write their table
    #[arg(long, conflicts_with_all = ["sample", "name"])]
    crates: bool,
    /// Only those whose names contain this, and write nothing
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// What is run: an example, or a test.
#[derive(Clone, Debug)]
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
    /// Whether the module is public; else its items are public in the one around it.
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

/// The cases of a quick run.
const SAMPLE: &[&str] = &[
    "02-copy",
    "matmul-kernel",
    "test_ctx_copy_to_views",
    "test_leak_and_upgrade",
    "test_launch_with_mut_and_ref_cudarc",
];

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let release = rocm::release("7.2").map_err(anyhow::Error::msg)?;
    if args.crates {
        return crates::run(release);
    }
    rocm::fetch(release, &[], false)?;
    let backends: &[&'static str] = if args.sample { &["sim"] } else { &["sim", "rocm"] };
    if !args.sample {
        hsa::build(false, Profile::Dev)?;
        messages(&mut hsa::build_command(false))?;
    }
    let source = scratch::fetch("cudarc", VERSION, &["cuda-12080"])?;
    let wanted = |name: &str| match (&args.name, args.sample) {
        (Some(part), _) => name.contains(part.as_str()),
        (None, true) => SAMPLE.contains(&name),
        (None, false) => true,
    };
    let (mut cases, compiler) = scratch::examples(&source, &wanted)?;
    cases.extend(scratch::tests(&source, &wanted)?);
    if cases.is_empty() {
        bail!("no example and no test of cudarc {VERSION} has such a name");
    }
    let folder = run::folder(&source, release, compiler.as_deref())?;
    for case in &mut cases {
        let is_of_library = !["driver", "nvrtc"].contains(&case.feature);
        for backend in backends.iter().filter(|backend| !is_of_library || **backend == "rocm") {
            run::run(case, backend, release, &folder);
        }
        println!("{}", page::line(case));
    }
    page::finish(&cases, args.sample || args.name.is_some())
}

//! `cargo xtask candle-kernels`: the CUDA kernels of candle through NVRTC's names.

use anyhow::{Context, Result, ensure};

use super::registry::{self, Crate, NEWEST};
use crate::cargo::{checked_cargo, named_tests, packages};
use crate::hsa::{self, Profile};
use crate::{paths, suites};

/// Compiles the newest `candle-kernels` of the registry for gfx90a with HIPRTC and the prelude of `cuda-compat`, and
/// runs the kernels on ROCm 7.2's own HIP runtime over the software GPU, each against a reference on the CPU.
///
/// Nothing of the crate is copied into this repository. All modules take some minutes.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  cargo xtask candle-kernels                  all modules
  cargo xtask candle-kernels reduce unary     two of them
  cargo xtask candle-kernels --record         all, and write cuda-compat/CANDLE_KERNELS.md")]
pub(crate) struct Args {
    /// Modules of the crate; all if none is named
    #[arg(value_name = "MODULE")]
    modules: Vec<String>,
    /// Write the table to cuda-compat/CANDLE_KERNELS.md
    #[arg(long, conflicts_with = "modules")]
    record: bool,
    /// Use no network: only what is already fetched
    #[arg(long)]
    offline: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let release = suites::release(args.offline)?;
    hsa::build(args.offline, Profile::Dev)?;
    let folder = paths::fetched("candle");
    let Crate { version, folder: sources } = registry::fetch(&folder, "candle-kernels", NEWEST, &[], args.offline)?;
    println!("candle-kernels {version}");
    let table = folder.join("table.md");
    let mut command = checked_cargo("test", args.offline);
    command.args(packages(&["cuda-compat"])).args(["--no-default-features", "--features", "sim,rocm-7-2"]);
    command.args(named_tests(&["kernels"]));
    hsa::run_on(&mut command, release, Profile::Dev);
    command.args(["--", "--exact", "candle::kernels_of_candle_are_right", "--nocapture"]);
    command.env("CUDA_COMPAT_CANDLE", sources.join("src")).env("CUDA_COMPAT_CANDLE_TABLE", &table);
    if !args.modules.is_empty() {
        command.env("CUDA_COMPAT_CANDLE_MODULES", args.modules.join(","));
    }
    let status = command.status()?;
    ensure!(status.success(), "some kernels are wrong, or do not compile: {status}");
    if args.record {
        let table = std::fs::read_to_string(&table).with_context(|| format!("reading {}", table.display()))?;
        let page = paths::root().join("cuda-compat/CANDLE_KERNELS.md");
        std::fs::write(&page, self::page(&version, &table)).with_context(|| format!("writing {}", page.display()))?;
    }
    Ok(())
}

/// Returns the page with the table.
fn page(version: &str, table: &str) -> String {
    format!(
        "# candle's kernels\n\n\
         `cargo xtask candle-kernels --record` writes this page. It fetches the crate `candle-kernels` {version}, compiles each module of its\n\
         `ALL_IDS`, unchanged, for gfx90a through `nvrtc` of this crate on the HIPRTC of ROCm 7.2, with the options `--std=c++17 -O3\n\
         -D__CUDA_ARCH__=890`, and launches kernels on ROCm 7.2's HIP runtime over the software GPU. A kernel is right if each of its\n\
         launches, of contiguous and of strided operands where it takes both, agrees with a reference in `f64` on the CPU: exactly for\n\
         copies, sums, comparisons, conversions and integers, and else within some units in the last place of the kernel's type.\n\
         Three are held to less: `avg_pool2d` of `f64` to 2^30 units, as its scale is an `f32`, and of integers to one; `layernorm` and `rmsnorm` of\n\
         `f64` to the accuracy of `f32`.\n\
         Products of quantized matrices, which have random blocks, are held to 2^-21 of the summed magnitudes of their terms.\n\
         `quantize_q8_1` may round a code or a scale to the neighbour where both are about as near. `indexed_moe_forward_q8_0_q8_1` computes the\n\
         distance between matrices as if a block had 256 numbers. Blocks of `q8_0` have 32, so its matrices overlap; the reference does the same.\n\n\
         {table}\n\
         The files that candle compiles to a static library (`moe`, `mmvq_gguf.cu`, `mmq_gguf`) have functions of the host, which no\n\
         run-time compiler takes.\n"
    )
}

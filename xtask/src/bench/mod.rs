//! `cargo xtask bench`: measures the figures of FIGURES.md again.
//!
//! Build times and sizes are measured here; everything else is a criterion bench of its crate.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::cargo::{checked_cargo, feature, packages};
use crate::hsa::{self, Profile};
use crate::rocm;
use crate::rocm::fetched;

mod build;
mod sizes;

pub(crate) use build::ratio as build_ratio;
pub(crate) use sizes::pack;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Figure {
    /// Cold builds: hip against cubecl-hip-sys and cudarc, the first example, each -sys crate, the workspace.
    Build,
    /// Sizes: each published crate's package, and the lines a function of the -sys crates.
    Sizes,
    /// A hip-sys call against a plain function pointer.
    Call,
    /// The software GPU: lane-instructions per second, compared with native Rust and with an interpreter of one lane at
    /// a time, with the targets.
    Sim,
    /// An empty kernel's launch on the software GPU.
    Launch,
    /// The overhead of `hip` over raw hip-sys calls, on AMD's own HIP runtime over the software GPU: launches,
    /// allocations, copies. Needs ROCm 7.2 (`cargo xtask rocm fetch 7.2`).
    Overhead,
    /// The overhead of `hipblas` over raw hipblas-sys calls: small calls, and sgemm of 512×512×512. Needs ROCm 7.2
    /// (`cargo xtask rocm fetch 7.2 --with hipblas`).
    Blas,
    /// The overhead of `hiprand` and `hipfft` over raw calls. Needs ROCm 7.2 (`cargo xtask rocm fetch 7.2 --with
    /// hiprand,hipfft`).
    RandFft,
    /// The overhead of `hipsparse` over raw calls: products with vectors and matrices. Needs ROCm 7.2 (`cargo xtask
    /// rocm fetch 7.2 --with hipsparse`).
    Sparse,
    /// The savings of `hiprtc`'s cache of compiled code, and the cost of a lookup. Needs ROCm 7.2 (`cargo xtask rocm
    /// fetch 7.2`).
    Cache,
    /// AMD's own HIP runtime on the software GPU: the start, an empty launch, rocBLAS sgemm. Needs ROCm 7.2 (`cargo
    /// xtask rocm fetch 7.2 --with rocblas,hipblas`).
    Hsa,
}

/// Measures the figures of FIGURES.md.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask bench            all figures\n  cargo xtask bench build      only the cold builds (about seven minutes)\n  cargo xtask bench sizes      only the sizes (some seconds)"
)]
pub(crate) struct Args {
    /// Which figures; all of them if none is named.
    figures: Vec<Figure>,
    /// Rounds of the cold builds; the median counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// Runs `cargo xtask bench`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let wants = |figure| args.figures.is_empty() || args.figures.contains(&figure);
    if wants(Figure::Build) {
        build::run(args.rounds.max(1))?;
    }
    if wants(Figure::Sizes) {
        sizes::run()?;
    }
    for (figure, package, bench) in [
        (Figure::Overhead, "hip", "overhead"),
        (Figure::Blas, "hipblas", "overhead"),
        (Figure::RandFft, "hiprand", "overhead"),
        (Figure::RandFft, "hipfft", "overhead"),
        (Figure::Sparse, "hipsparse", "overhead"),
        (Figure::Cache, "hiprtc", "cache"),
    ] {
        if wants(figure) {
            on_rocm(package, bench)?;
        }
    }
    for (figure, package, bench, features) in [
        (Figure::Call, "hip-sys", "call", ""),
        (Figure::Sim, "amdgpu-sim", "lanes", ""),
        (Figure::Sim, "amdgpu-sim", "targets", ""),
        (Figure::Launch, "hip", "launch", "sim"),
        (Figure::Hsa, "hsa-sim", "figures", ""),
    ] {
        if wants(figure) {
            let mut cargo = Command::new("cargo");
            cargo.args(["bench", "-p", package, "--bench", bench]);
            if !features.is_empty() {
                cargo.args(["--features", features]);
            }
            let status = cargo.status().context("starting cargo bench")?;
            ensure!(status.success(), "cargo bench -p {package} --bench {bench}: {status}");
        }
    }
    Ok(())
}

/// Returns a bench of a crate, on ROCm's runtime and libraries.
fn on_rocm(package: &str, bench: &str) -> Result<()> {
    let release = rocm::release("7.2").map_err(anyhow::Error::msg)?;
    fetched(release)().map_err(anyhow::Error::msg)?;
    hsa::build(false, Profile::Release)?;
    let mut cargo = checked_cargo("bench", false);
    let features = format!("{package}/{}", feature(release));
    cargo.args(packages(&[package])).args(["--bench", bench, "--no-default-features", "--features", &features]);
    hsa::run_on(&mut cargo, release, Profile::Release);
    let status = cargo.status().context("starting cargo bench")?;
    ensure!(status.success(), "cargo bench -p {package} --bench {bench}: {status}");
    Ok(())
}

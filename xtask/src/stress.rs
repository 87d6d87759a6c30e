//! `cargo xtask stress`: the stress test of `hip`, for as long as one likes.

use anyhow::{Result, ensure};

use crate::hsa::{self, Profile};
use crate::rocm::{self, Release};
use crate::test::{checked_cargo, feature, fetched};

/// Random operations of 32 threads on shared devices, streams and buffers, on ROCm's own HIP runtime over the software GPU.
///
/// Each result is compared with what the same operations do to a vector, and the software GPU checks every access to memory.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  cargo xtask stress                     ten minutes on ROCm 7.2
  cargo xtask stress --minutes 60        an hour
  cargo xtask stress --rocm 6.4          on another release")]
pub(crate) struct Args {
    /// How long
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    minutes: u64,
    /// Which ROCm release (cargo xtask rocm fetch)
    #[arg(long, value_name = "REL", default_value = "7.2", value_parser = rocm::release)]
    rocm: &'static Release,
    /// Use no network: only what is there already
    #[arg(long)]
    offline: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    fetched(args.rocm)().map_err(anyhow::Error::msg)?;
    hsa::build(args.offline, Profile::Dev)?;
    let mut command = checked_cargo("test", args.offline);
    command.args(["-p", "hip", "--no-default-features", "--features", &feature(args.rocm), "--test", "gpu"]);
    hsa::run_on(&mut command, args.rocm, Profile::Dev);
    command.args(["--", "--exact", "stress::random_work_of_many_threads"]);
    command.env("HIP_TEST_STRESS_SECONDS", (args.minutes * 60).to_string());
    let status = command.status()?;
    ensure!(status.success(), "the stress test failed: {status}");
    Ok(())
}

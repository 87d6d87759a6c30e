//! `cargo xtask stress`: runs the stress test of `hip` for any length of time.

use anyhow::{Result, ensure};

use crate::cargo::{NEWEST, checked_cargo};
use crate::hsa::{self, Profile};
use crate::rocm::fetched;
use crate::rocm::{self, Release};

/// Runs random operations of 32 threads on shared devices, streams and buffers: captures, copies, allocations, loads,
/// waits and drops, on ROCm's own HIP runtime over the software GPU, or on the embedded runtime.
///
/// Each result is compared with that of the same operations on a vector, and the software GPU checks every memory
/// access.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  cargo xtask stress                     ten minutes on ROCm 7.2
  cargo xtask stress --minutes 60        an hour
  cargo xtask stress --rocm 6.4          on another release
  cargo xtask stress --rocm sim          on the embedded runtime")]
pub(crate) struct Args {
    /// Minutes to run
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    minutes: u64,
    /// Which ROCm release (cargo xtask rocm fetch), or `sim` for the embedded runtime
    #[arg(long, value_name = "REL", default_value = "7.2", value_parser = runtime)]
    rocm: Runtime,
    /// Use no network: only what is already fetched
    #[arg(long)]
    offline: bool,
}

/// The HIP runtime of the test.
#[derive(Debug, Clone, Copy)]
enum Runtime {
    Rocm(&'static Release),
    Embedded,
}

fn runtime(name: &str) -> Result<Runtime> {
    if name == "sim" { Ok(Runtime::Embedded) } else { rocm::release(name).map(Runtime::Rocm) }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut command = checked_cargo("test", args.offline);
    command.args(["-p", "hip", "--no-default-features", "--test", "gpu"]);
    match args.rocm {
        Runtime::Rocm(release) => {
            fetched(release)().map_err(anyhow::Error::msg)?;
            hsa::build(args.offline, Profile::Dev)?;
            command.args(["--features", NEWEST]);
            hsa::run_on(&mut command, release, Profile::Dev);
        }
        Runtime::Embedded => {
            command.args(["--features", &format!("sim,{NEWEST}")]).env("HIP_RS_BACKEND", "sim");
        }
    }
    command.args(["--", "--exact", "stress::random_work_of_many_threads"]);
    command.env("HIP_TEST_STRESS_SECONDS", (args.minutes * 60).to_string());
    let status = command.status()?;
    ensure!(status.success(), "the stress test failed: {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_have_names() {
        assert!(matches!(runtime("sim"), Ok(Runtime::Embedded)));
        assert!(matches!(runtime("6.4"), Ok(Runtime::Rocm(release)) if release.name == "6.4"));
        assert!(runtime("6.9").is_err());
    }
}

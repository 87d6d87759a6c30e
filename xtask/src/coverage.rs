//! `cargo xtask coverage`: which instructions of the software GPU occur in which tests. It runs the tests that compile
//! their kernels at run time with a variable that makes them save the kernels; a test of the crate reads these.

use anyhow::{Context, Result, ensure};

use crate::cargo::checked_cargo;
use crate::process::shown;
use crate::rocm;

/// Write sim/amdgpu-sim/COVERAGE.md again, with the kernels that tests compile at run time.
///
/// These are ROCm's own kernels for copies and fills (compiled by its Comgr, fetched under target/rocm if it is
/// missing) and those from LLVM IR (by the LLVM that rustc contains). The lists of their instructions are written to
/// sim/amdgpu-sim/tests/opcodes/; that of ROCm's libraries is written by `cargo xtask isa 7.2 --record`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the command.
pub(crate) fn run(_: &Args) -> Result<()> {
    for name in ["7.2", "6.4", "5.7"] {
        rocm::fetch(rocm::release(name)?, &[], false)?;
    }
    let folder = tempfile::tempdir()?;
    let test = |targets: &[&str], variable: (&str, &std::ffi::OsStr)| {
        let mut command = checked_cargo("test", false);
        command.args(["-p", "amdgpu-sim", "--quiet"]).args(targets).env(variable.0, variable.1);
        let status = command.status().with_context(|| format!("{} could not be started", shown(&command)))?;
        ensure!(status.success(), "{} failed", shown(&command));
        Ok(())
    };
    test(&["--test", "blits", "--test", "ir"], ("ROCM_RS_KEEP_CODE", folder.path().as_os_str()))?;
    test(&["--lib", "lists_of_instructions"], ("ROCM_RS_KEPT_CODE", folder.path().as_os_str()))?;
    test(&["--lib", "the_page_is_up_to_date"], ("UPDATE_COVERAGE", "1".as_ref()))
}

//! `cargo xtask leaks`: a sample of the software GPU's tests under valgrind's memcheck, which must report nothing: no
//! leak, no invalid access, and no use of uninitialised memory.
//!
//! The sample covers code that allocates, frees, shares and rejects: the device's memory, code objects good and
//! hostile, launches and their faults, streams and modules of the embedded HIP runtime, the functions of HSA with wrong
//! arguments of every kind, and some cases of each fuzz test. Arithmetic is left out: it has no memory of its own, and
//! takes minutes under valgrind.

use anyhow::Result;

use crate::paths;
use crate::process::find;
use crate::steps::{self, Step};
use crate::test::all_crates;

/// Runs a sample of the software GPU's tests under valgrind: no leak, no invalid access, no use of uninitialised
/// memory.
///
/// Takes less than a minute. Needs valgrind (apt-get install valgrind). `cargo xtask test --all` also runs it if
/// valgrind is installed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Use no network: only what is there already
    #[arg(long)]
    offline: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    steps::list_or_run(vec![step(args.offline)], &steps::Selection::default())
}

/// Test programs of the sample, by name, in every crate that has one with this name.
const PROGRAMS: [&str; 12] = [
    "loader",
    "hostile_objects",
    "dispatch",
    "packets",
    "memory",
    "fuzz_streams",
    "fuzz_dispatch",
    "faults",
    "streams",
    "arguments",
    "hostile",
    "images",
];

/// Suppressions of memcheck's reports about this crate's own system calls.
const SUPPRESSIONS: &str = "xtask/src/leaks.supp";

/// Tests of these programs that only take long: large files, loops until a budget is used up, and thousands of similar
/// launches.
const LEFT_OUT: [&str; 5] = [
    "real_libraries_give_their_code_objects",
    "an_endless_kernel_is_cut_off",
    "every_truncation_is_an_error",
    "the_fault_of_a_dispatch_with_many",
    "descriptors_with_any_bits",
];

/// Number of cases of each fuzz test.
const CASES: &str = "20";

/// Options of memcheck. Memory that is still reachable at the end (waiting threads, tables made once) is not a leak.
const VALGRIND: [&str; 8] = [
    "valgrind",
    "--quiet",
    "--error-exitcode=9",
    "--leak-check=full",
    "--show-leak-kinds=definite,indirect",
    "--errors-for-leak-kinds=definite,indirect",
    "--fair-sched=yes",
    "--num-callers=24",
];

/// Returns the sample, as a step.
pub(crate) fn step(offline: bool) -> Step {
    // The step `workspace` has already compiled most of it.
    let mut command = all_crates(offline);
    let suppressions = format!("--suppressions={}", paths::root().join(SUPPRESSIONS).display());
    let words = VALGRIND.into_iter().chain([&*suppressions]).map(|word| format!("{word:?}"));
    let runner = words.collect::<Vec<_>>().join(",");
    command.args(["--config", &format!("target.'cfg(all())'.runner=[{runner}]")]);
    PROGRAMS.iter().for_each(|program| {
        command.args(["--test", program]);
    });
    command.args(["--", "--test-threads=1"]);
    LEFT_OUT.iter().for_each(|test| {
        command.args(["--skip", test]);
    });
    command.env("ROCM_RS_FUZZ_COUNT", CASES).env("RUST_BACKTRACE", "0");
    // The calls are made in the program itself, not in a child process, which valgrind would not see.
    command.env("HSA_SIM_TEST_ARGUMENTS", "/dev/null");
    let about = "a sample of the software GPU's tests under valgrind: no leaks, no invalid access";
    Step::command("leaks", about, command).when(|| match find(VALGRIND[0]) {
        Some(_) => Ok(()),
        None => Err("valgrind is not installed (apt-get install valgrind)".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cargo would fail for an unknown program, but an obsolete exclusion would go unnoticed.
    #[test]
    fn what_is_left_out_is_there() {
        let folder = paths::root().join("sim/amdgpu-sim/tests");
        let texts: Vec<String> = PROGRAMS
            .iter()
            .filter_map(|program| std::fs::read_to_string(folder.join(program).with_extension("rs")).ok())
            .collect();
        for test in LEFT_OUT {
            assert!(
                texts.iter().any(|text| text.contains(&format!("fn {test}"))),
                "{test} is in no program of the sample"
            );
        }
    }
}

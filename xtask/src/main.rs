//! Development tasks that are not part of the product: fetch ROCm, generate bindings, check, test, bench.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

mod add_release;
mod bench;
mod bindgen;
mod cargo;
mod changes;
mod ci;
mod coverage;
mod cuda;
mod example;
mod functions;
mod fuzz;
mod hsa;
mod isa;
mod kernels;
mod leaks;
mod miri;
mod mpi;
mod msrv;
mod nvidia;
mod paths;
mod process;
mod rocm;
mod steps;
mod stress;
mod suites;
mod test;
mod turn;
mod workspace;

/// Tasks of the ROCm for Rust workspace.
///
/// No task needs an AMD GPU, an installed ROCm, or root. Fetched files are kept in target/.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    version,
    after_long_help = "Examples:
  cargo xtask test             run the tests of the main crates; with --all, every test that this machine can run
  cargo xtask example saxpy    run an example on ROCm's own libraries and the software GPU
  cargo xtask rocm fetch 7.2   get the real HIP runtime of ROCm 7.2 under target/rocm
  cargo xtask bindgen          write the -sys crates anew
  cargo xtask kernels          compile the examples' kernels anew
  cargo xtask isa 7.2          compare the software GPU's decoder with LLVM's on ROCm's libraries
  cargo xtask bench            measure the figures of FIGURES.md
  cargo xtask stress           ten minutes of random work of 32 threads on ROCm's HIP runtime
  cargo xtask fuzz             ten minutes of hostile input for the software GPU
  cargo xtask amd-tests rocfft --sample 100   AMD's own test programs on the software GPU
  cargo xtask ci               check everything that has to hold before a change goes in

`cargo xtask help TASK` tells more about each."
)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Test(test::Args),
    Ci(ci::Args),
    Rocm(rocm::Cli),
    Bindgen(bindgen::Args),
    AddRelease(add_release::Args),
    Kernels(kernels::Args),
    Isa(isa::Args),
    Coverage(coverage::Args),
    CandleKernels(suites::candle::Args),
    Cuda(cuda::Args),
    Cudarc(suites::cudarc::Args),
    Functions(functions::Args),
    Example(example::Args),
    Bench(bench::Args),
    Fuzz(fuzz::Args),
    Leaks(leaks::Args),
    Miri(miri::Args),
    Mpi(mpi::Args),
    Msrv(msrv::Args),
    Nvidia(nvidia::Args),
    Stress(stress::Args),
    AmdTests(suites::amd::Args),
}

fn main() -> ExitCode {
    if let Some(code) = ci::wrap_compiler() {
        return code;
    }
    let result = match Cli::parse().task {
        Task::Test(args) => test::run(&args),
        Task::Ci(args) => ci::run(&args, &names_of_tasks()),
        Task::Rocm(cli) => rocm::run(&cli),
        Task::Bindgen(args) => bindgen::run(&args),
        Task::AddRelease(args) => add_release::run(&args),
        Task::Kernels(args) => kernels::run(&args),
        Task::Isa(args) => isa::run(&args),
        Task::Coverage(args) => coverage::run(&args),
        Task::CandleKernels(args) => suites::candle::run(&args),
        Task::Cuda(args) => cuda::run(&args),
        Task::Cudarc(args) => suites::cudarc::run(&args),
        Task::Functions(args) => functions::run(&args),
        Task::Example(args) => example::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Leaks(args) => leaks::run(&args),
        Task::Miri(args) => miri::run(&args),
        Task::Mpi(args) => mpi::run(&args),
        Task::Msrv(args) => msrv::run(&args),
        Task::Nvidia(args) => nvidia::run(&args),
        Task::Stress(args) => stress::run(&args),
        Task::AmdTests(args) => suites::amd::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("error: {error}");
            error.chain().skip(1).for_each(|cause| eprint!("\n  {cause}"));
            eprintln!();
            ExitCode::FAILURE
        }
    }
}

fn names_of_tasks() -> Vec<String> {
    Cli::command().get_subcommands().map(|task| task.get_name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent_and_explains_itself() {
        Cli::command().debug_assert();
        for task in Cli::command().get_subcommands() {
            assert!(task.get_about().is_some(), "{} has no help", task.get_name());
        }
    }
}

//! Arguments and commands.

mod disasm;
mod gpu;
mod place;
mod run;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use gpu::Gpu;

/// Runs ROCm programs on a software AMD GPU: no GPU, no driver, no root.
///
/// The program and ROCm's libraries are not modified. Only the library through which they access a GPU,
/// libhsa-runtime64.so.1, is replaced for the run. Kernels are checked as they run: an access outside of allocated
/// memory ends the kernel with a report on stderr, and the program receives the error as from a real GPU.
#[derive(Debug, Parser)]
#[command(
    name = "hip-sim",
    version,
    after_long_help = "Examples:
  hip-sim run -- ./my-program --size 100           a program of a machine with ROCm
  hip-sim run --rocm 7.2 -- ./my-program           on ROCm from `rocm-sdk install 7.2`
  hip-sim run --arch gfx942 --devices 4 -- ./a     four MI300
  hip-sim run --schedule 1 -- ./a                  the order of waves shuffled by a seed, to find races
  hip-sim run --delay 500:1 -- ./a                 slow queues, to find what is not waited for
  hip-sim run --checks race --profile p.svg -- ./a  races told of, and a flame graph
  hip-sim trace -- ./my-program                    each kernel with its GPU, grid, instructions and time
  hip-sim disasm kernels.hipfb --kernel saxpy      the code of a kernel"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a program on the software GPU
    ///
    /// ROCm is the one that the program would find by default (ROCM_PATH, /opt/rocm, the system's), or the newest that
    /// `rocm-sdk install` has installed; --rocm selects another. The exit status is the program's.
    ///
    /// RCCL, ROCm SMI and others find the GPUs through files of the kernel driver under /sys. A small preloaded library
    /// shows the program such files for the simulated GPUs, at the usual paths. No root and no namespace is needed.
    /// the simulated GPUs to the program, at the usual paths. No root and no namespace is needed.
    ///
    /// Programs that it starts also run on the software GPU. ROCM_PATH and ROCM_HOME are set to that ROCm, and its
    /// programs are on PATH.
    Run(run::Run),
    /// Run a program and log each kernel on stderr
    ///
    /// Each line has the name, GPU, grid, LDS, waves, instructions (counted once per wave) and time of a kernel. With
    /// --calls, each HSA call and its status are logged too.
    Trace(run::Trace),
    /// Show the GPUs that a program would see, and the ROCm installation that is used
    Info(Gpu),
    /// Disassemble the kernels of a code object or bundle
    ///
    /// FILE is a code object (ELF), a bundle of several (.hipfb, compressed or not), or an output file of `hipcc
    /// --genco`.
    Disasm(disasm::Disasm),
}

/// Runs the command.
pub(crate) fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(run) => run.run(),
        Command::Trace(trace) => trace.run(),
        Command::Info(gpu) => info(&gpu),
        Command::Disasm(disasm) => disasm.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hip-sim: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn info(gpu: &Gpu) -> anyhow::Result<()> {
    for (index, device) in gpu.devices()?.into_iter().enumerate() {
        println!("GPU {index}: {device}");
    }
    match place::library() {
        Ok(library) => println!("library     {}", library.display()),
        Err(error) => println!("library     {error:#}"),
    }
    match place::Rocm::find(None) {
        Ok(rocm) => println!("ROCm        {}", rocm.root.display()),
        Err(error) => println!("ROCm        {error:#}"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    /// Every setting is an option whose help contains its variable and its values.
    #[test]
    fn the_help_has_every_setting() {
        let help = Cli::command().find_subcommand_mut("run").unwrap().render_long_help().to_string();
        for setting in amdgpu_sim::SETTINGS {
            let values = setting.values.split('`').skip(1).step_by(2).filter(|value| value.len() > 1);
            for word in values.chain([setting.name]) {
                assert!(help.contains(word), "{word} of {}: {help}", setting.name);
            }
        }
    }

    #[test]
    fn a_processor_that_is_not_simulated_says_so() {
        let error =
            |arch: &str| Cli::try_parse_from(["hip-sim", "run", "--arch", arch, "--", "a"]).unwrap_err().to_string();
        assert!(error("gfx1100").contains("32 lanes") && error("gfx1100").contains("gfx942"), "{}", error("gfx1100"));
        assert!(
            error("gfx908").contains("not simulated") && !error("gfx908").contains("similar"),
            "{}",
            error("gfx908")
        );
    }

    #[test]
    fn options_become_variables() {
        let words = ["hip-sim", "run", "--arch", "gfx942", "--devices", "2", "--schedule", "in-order", "--", "a", "-b"];
        let Command::Run(run) = Cli::try_parse_from(words).unwrap().command else { panic!() };
        let variables = run.gpu().variables();
        for expected in [("HIP_SIM_ARCH", "gfx942"), ("HIP_SIM_DEVICES", "2"), ("HIP_SIM_SCHEDULE", "in-order")] {
            assert!(variables.iter().any(|(name, value)| (*name, value.as_str()) == expected), "{variables:?}");
        }
        let devices = run.gpu().devices().unwrap();
        assert!(devices.len() == 2 && devices[0].isa.contains("gfx942"), "{devices:?}");
    }
}

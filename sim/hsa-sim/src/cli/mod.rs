//! Arguments and commands.

mod disasm;
mod place;
mod run;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Runs ROCm programs on a software AMD GPU: no GPU, no driver, no root.
///
/// The program and ROCm's libraries run as they are; the library through which they reach a GPU, libhsa-runtime64.so.1, is
/// replaced for the run. Kernels are checked as they run: an access outside of what is allocated ends the kernel with an
/// account of it on stderr, and the program hears of it as from a real GPU.
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
    /// ROCm is the one that the program would find by itself (ROCM_PATH, /opt/rocm, the system's), or the newest that
    /// `rocm-sdk install` has installed; --rocm names another. The program's exit status is that of this command.
    ///
    /// RCCL, ROCm SMI and others ask the kernel's driver for the GPUs, by files under /sys: a small library, preloaded, shows such files of
    /// the simulated GPUs to the program, at the usual paths. No root and no namespace is needed.
    ///
    /// The programs that it starts run on the software GPU, too. ROCM_PATH and ROCM_HOME are set to that ROCm, and its programs are on PATH.
    Run(run::Run),
    /// Run a program and tell of each kernel on stderr
    ///
    /// Its name, GPU, grid, LDS, waves, instructions (counted once a wave) and time; with --calls each call of HSA and its status, too.
    Trace(run::Trace),
    /// Show the GPUs that a program would see, and where ROCm was found
    Info(Gpu),
    /// Disassemble the kernels of a code object or bundle
    ///
    /// FILE is a code object (ELF), a bundle of several (.hipfb, compressed or not), or what `hipcc --genco` makes.
    Disasm(disasm::Disasm),
}

/// What the GPU is to be. What is not given is as the variable of the environment says.
#[derive(Clone, Debug, Args)]
struct Gpu {
    /// Processor
    #[arg(long, env = "HIP_SIM_ARCH", value_enum)]
    arch: Option<Arch>,
    /// Processor with features: `gfx90a` or `gfx942`, with `:sramecc+` or `-` and `:xnack+` or `-` behind it
    #[arg(long, env = "HIP_SIM_TARGET", value_name = "ID")]
    target: Option<String>,
    /// How many GPUs, 1 to 64
    #[arg(long, env = "HIP_SIM_DEVICES", value_name = "N")]
    devices: Option<String>,
    /// Memory of each, in bytes or with K, M, G, T: 64G if nothing is said, or three quarters of what the machine has. It is taken from the machine as it is used
    #[arg(long, env = "HIP_SIM_MEMORY", value_name = "SIZE")]
    memory: Option<String>,
    /// Instructions (counted once a wave) after which a kernel is cut off: for kernels that never end
    #[arg(long, env = "HIP_SIM_BUDGET", value_name = "N")]
    budget: Option<String>,
    /// Kernels after which a GPU is lost, as by a reset: to see what the program does then
    #[arg(long, env = "HIP_SIM_LOSE", value_name = "N")]
    lose: Option<String>,
    /// Threads that run kernels: one a core if nothing is said
    #[arg(long, env = "HIP_SIM_THREADS", value_name = "N")]
    threads: Option<String>,
    /// Loads and stores at addresses that are no multiple of their size
    #[arg(long, env = "HIP_SIM_MISALIGNED", value_enum)]
    misaligned: Option<Misaligned>,
    /// Loads and stores beyond the LDS of a workgroup; if nothing is said, as `--checks` says
    #[arg(long, env = "HIP_SIM_BEYOND_LDS", value_enum)]
    beyond_lds: Option<BeyondLds>,
    /// Order of workgroups and waves: `parallel`, `in-order` (the same run gives the same result), `interleaved` or `interleaved:N` (waves take
    /// turns of 8 or N instructions), or a number, by which it is shuffled (the same number gives the same order)
    #[arg(long, env = "HIP_SIM_SCHEDULE", value_name = "ORDER")]
    schedule: Option<String>,
    /// The same as `--schedule` with a number
    #[arg(long, env = "HIP_SIM_SEED", value_name = "N")]
    seed: Option<String>,
    /// Random waits before and after each kernel and copy of a queue, of up to so many microseconds, by a seed: `MICROSECONDS` or `MICROSECONDS:SEED`. A
    /// program that does not wait for what it needs fails then
    #[arg(long, env = "HIP_SIM_DELAY", value_name = "MICROSECONDS[:SEED]")]
    delay: Option<String>,
    /// More checks, with commas between: `memory` (reads end with the last byte of an allocation, not with its page; accesses beyond LDS are faults, but for loads by kernels of Tensile and rocFFT), `init` (reads of memory that nothing has written), `race` (between lanes, waves and workgroups), `barrier`, `all`; a kernel
    /// with findings fails, with `warn` it is only told of
    #[arg(long, env = "HIP_SIM_CHECK", value_name = "CHECKS")]
    checks: Option<String>,
    /// Memory that the checks may take, in bytes or with K, M, G, T: a quarter of the machine's if nothing is said
    #[arg(long, env = "HIP_SIM_CHECK_MEMORY", value_name = "SIZE")]
    check_memory: Option<String>,
    /// A file for a profile of all kernels: `.svg` for a flame graph, anything else for tables; `%p` is the process's number
    #[arg(long, env = "HIP_SIM_PROFILE", value_name = "FILE")]
    profile: Option<String>,
}

/// Processors.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Arch {
    /// AMD Instinct MI200
    Gfx90a,
    /// AMD Instinct MI300
    Gfx942,
}

/// What a misaligned access does.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Misaligned {
    /// Works, as on the hardware
    Allow,
    /// A fault for 4 bytes and more at addresses that are no multiple of 4
    Words,
    /// A fault
    Fault,
}

/// What an access beyond the LDS of a workgroup does.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum BeyondLds {
    /// A load gives zero, a store does nothing, as on the hardware
    Ignore,
    /// A fault, of every kernel
    Fault,
}

/// The name of a choice, as the environment has it.
fn name(choice: impl ValueEnum) -> Option<String> {
    choice.to_possible_value().map(|value| value.get_name().to_owned())
}

impl Gpu {
    /// The variables that say so.
    fn variables(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("HIP_SIM_ARCH", self.arch.and_then(name)),
            ("HIP_SIM_TARGET", self.target.clone()),
            ("HIP_SIM_DEVICES", self.devices.clone()),
            ("HIP_SIM_MEMORY", self.memory.clone()),
            ("HIP_SIM_BUDGET", self.budget.clone()),
            ("HIP_SIM_LOSE", self.lose.clone()),
            ("HIP_SIM_THREADS", self.threads.clone()),
            ("HIP_SIM_MISALIGNED", self.misaligned.and_then(name)),
            ("HIP_SIM_BEYOND_LDS", self.beyond_lds.and_then(name)),
            ("HIP_SIM_SCHEDULE", self.schedule.clone()),
            ("HIP_SIM_SEED", self.seed.clone()),
            ("HIP_SIM_DELAY", self.delay.clone()),
            ("HIP_SIM_CHECK", self.checks.clone()),
            ("HIP_SIM_CHECK_MEMORY", self.check_memory.clone()),
            ("HIP_SIM_PROFILE", self.profile.clone()),
        ];
        all.into_iter().filter_map(|(variable, value)| Some((variable, value?))).collect()
    }

    /// The GPUs, if everything is as it can be.
    fn devices(&self) -> anyhow::Result<Vec<hsa_sim::DeviceInfo>> {
        hsa_sim::devices_with(self.variable()).map_err(anyhow::Error::msg)
    }

    /// The kernel driver's files for them.
    fn driver_files(&self) -> anyhow::Result<hsa_sim::DriverFiles> {
        hsa_sim::driver_files_with(self.variable()).map_err(anyhow::Error::msg)
    }

    /// What a variable is set to.
    fn variable(&self) -> impl Fn(&str) -> Option<String> {
        let variables = self.variables();
        move |name| variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.clone())
    }
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

    /// Every setting is an option, whose help has its variable and its values.
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

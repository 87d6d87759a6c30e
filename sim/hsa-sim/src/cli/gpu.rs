//! Options that say what the GPU is to be.

use clap::{Args, ValueEnum};

/// What the GPU is to be. What is not given is as the variable of the environment says.
#[derive(Clone, Debug, Args)]
pub(super) struct Gpu {
    /// Processor: `gfx90a` (MI210 and MI250) or `gfx942` (MI300)
    #[arg(long, env = "HIP_SIM_ARCH", value_name = "gfx90a|gfx942", value_parser = arch)]
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
pub(super) enum Arch {
    /// AMD Instinct MI200
    Gfx90a,
    /// AMD Instinct MI300
    Gfx942,
}

/// What a misaligned access does.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Misaligned {
    /// Works, as on the hardware
    Allow,
    /// A fault for 4 bytes and more at addresses that are no multiple of 4
    Words,
    /// A fault
    Fault,
}

/// What an access beyond the LDS of a workgroup does.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum BeyondLds {
    /// A load gives zero, a store does nothing, as on the hardware
    Ignore,
    /// A fault, of every kernel
    Fault,
}

/// Reads a processor. The error of one that is not simulated suggests none of a similar name, which runs other code.
fn arch(text: &str) -> Result<Arch, String> {
    Arch::from_str(text, false).map_err(|_| {
        let why = match text.strip_prefix("gfx1") {
            Some(_) => ": its waves have 32 lanes (RDNA)",
            None => "",
        };
        format!("it is not simulated{why}. gfx90a and gfx942 are: compile for one of them")
    })
}

/// The name of a choice, as the environment has it.
pub(super) fn name(choice: impl ValueEnum) -> Option<String> {
    choice.to_possible_value().map(|value| value.get_name().to_owned())
}

impl Gpu {
    /// The variables that say so.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
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
    pub(super) fn devices(&self) -> anyhow::Result<Vec<hsa_sim::DeviceInfo>> {
        hsa_sim::devices_with(self.variable()).map_err(anyhow::Error::msg)
    }

    /// The kernel driver's files for them.
    pub(super) fn driver_files(&self) -> anyhow::Result<hsa_sim::DriverFiles> {
        hsa_sim::driver_files_with(self.variable()).map_err(anyhow::Error::msg)
    }

    /// What a variable is set to.
    fn variable(&self) -> impl Fn(&str) -> Option<String> {
        let variables = self.variables();
        move |name| variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.clone())
    }
}

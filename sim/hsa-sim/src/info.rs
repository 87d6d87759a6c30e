//! What the GPUs are, for people.

use std::fmt;

use crate::agent::Agents;
use amdgpu_sim::Settings;

use crate::config;
use crate::memory::host_memory;

/// A GPU that the environment asks for (`HIP_SIM_ARCH` and so on).
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// Its name.
    pub name: String,
    /// What code is compiled for, as HSA names it.
    pub isa: String,
    /// Bytes of its memory.
    pub memory: u64,
    /// Bytes of memory that the machine has: a GPU's memory is taken from it as it is used.
    pub host_memory: u64,
    /// Compute units that it says it has.
    pub compute_units: u32,
    /// Bytes of LDS that a workgroup may have.
    pub lds: u32,
    /// Threads of the machine that its kernels run on.
    pub threads: usize,
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        writeln!(f, "{}", self.name)?;
        writeln!(f, "  code      {}", self.isa)?;
        writeln!(
            f,
            "  memory    {:.1} GiB, of the machine's {:.1} as it is used",
            gib(self.memory),
            gib(self.host_memory)
        )?;
        writeln!(f, "  told      {} compute units, waves of 64, {} KiB of LDS", self.compute_units, self.lds >> 10)?;
        write!(f, "  runs on   {} threads", self.threads)
    }
}

/// The GPUs that a program would see with the environment as it is.
///
/// # Errors
/// A variable with a value that it can't have, by name.
pub fn devices() -> Result<Vec<DeviceInfo>, String> {
    describe(&config::from_environment()?)
}

/// The GPUs that a program would see with these variables.
///
/// # Errors
/// As of [`devices`].
pub fn devices_with(variable: impl Fn(&str) -> Option<String>) -> Result<Vec<DeviceInfo>, String> {
    describe(&config::read(variable)?)
}

fn describe(settings: &Settings) -> Result<Vec<DeviceInfo>, String> {
    let agents = Agents::new(settings);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let info = DeviceInfo {
        name: agents.chip.product.to_owned(),
        isa: agents.isa_name(),
        memory: agents.gpu_memory,
        host_memory: host_memory(),
        compute_units: agents.chip.compute_units,
        lds: amdgpu_sim::MAX_LDS,
        threads: settings.gpu.threads.unwrap_or(threads),
    };
    Ok(vec![info; settings.devices])
}

//! Human-readable properties of the GPUs.

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
    /// The ISA name in HSA's form.
    pub isa: String,
    /// Bytes of its memory.
    pub memory: u64,
    /// The machine's memory in bytes. GPU memory is allocated from it on use.
    pub host_memory: u64,
    /// The reported number of compute units.
    pub compute_units: u32,
    /// The LDS limit of a workgroup in bytes.
    pub lds: u32,
    /// The number of host threads that run its kernels.
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

/// The GPUs that a program would see in the current environment.
///
/// # Errors
/// Returns an error that names the variable if a variable has an invalid value.
pub fn devices() -> Result<Vec<DeviceInfo>, String> {
    describe(&config::from_environment()?)
}

/// The GPUs that a program would see with these variables.
///
/// # Errors
/// As for [`devices`].
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

//! `nvidia-smi`: queries of the GPUs that HIP sees.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use cuda_compat::device::COMPUTE_CAPABILITY;
use hip::Device;

use super::tool::{self, RELEASE, Tool};

const HELP: &str = "\
nvidia-smi of cuda-compat lists the AMD GPUs that HIP sees, for build scripts that ask NVIDIA's nvidia-smi.

Usage: nvidia-smi [-i INDEX,...] [OPTION]

  -L, --list-gpus                         one line for each GPU
  --query-gpu=FIELD,... --format=csv[,noheader][,nounits]
  --help-query-gpu                        the fields
  -i INDEX,..., --id=INDEX,...            only these GPUs
  --version, --help

The compute capability is the one that cuda-compat reports to programs, on every GPU, and without a GPU, too. amd-smi shows
more.
";

/// The fields of `--query-gpu`: the name, the unit, what it is.
const FIELDS: [(&str, &str, &str); 9] = [
    ("compute_cap", "", "the compute capability that cuda-compat reports"),
    ("count", "", "the number of GPUs"),
    ("driver_version", "", "the version of the amdgpu driver, or of HIP"),
    ("index", "", "the number of the GPU, from 0"),
    ("memory.free", "MiB", "free memory"),
    ("memory.total", "MiB", "memory"),
    ("memory.used", "MiB", "used memory"),
    ("name", "", "the name"),
    ("pci.bus_id", "", "the address on the PCI bus"),
];

/// The other name of a field.
const ALIASES: [(&str, &str); 2] = [("gpu_name", "name"), ("gpu_bus_id", "pci.bus_id")];

/// The exit code of nvidia-smi if there are no GPUs.
const NOT_FOUND: u8 = 6;

#[derive(Default)]
struct Query {
    list: bool,
    fields: Vec<&'static (&'static str, &'static str, &'static str)>,
    format: Vec<String>,
    indices: Option<Vec<usize>>,
}

pub(super) fn run(given: &[String]) -> Result<ExitCode, String> {
    let mut query = Query::default();
    let mut arguments = given.iter();
    while let Some(argument) = arguments.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (argument.as_str(), None),
        };
        let mut value =
            || value.clone().or_else(|| arguments.next().cloned()).ok_or_else(|| format!("{name} needs a value"));
        match name {
            "-h" | "--help" => return tool::print(HELP).map(|()| ExitCode::SUCCESS),
            "--version" => return tool::print(&version()).map(|()| ExitCode::SUCCESS),
            "--help-query-gpu" => {
                let line = |(name, _, about): &(&str, &str, &str)| format!("{name}\n    {about}\n");
                return tool::print(&FIELDS.iter().map(line).collect::<String>()).map(|()| ExitCode::SUCCESS);
            }
            "-L" | "--list-gpus" => query.list = true,
            "--query-gpu" => query.fields = fields(&value()?)?,
            "--format" => query.format = value()?.split(',').map(|word| word.trim().to_owned()).collect(),
            "-i" | "--id" => query.indices = Some(indices(&value()?)?),
            _ => {
                return Err(format!(
                    "unknown option '{argument}': `nvidia-smi --help` lists those here, and amd-smi shows more"
                ));
            }
        }
    }
    for word in &query.format {
        if !["csv", "noheader", "nounits"].contains(&word.as_str()) {
            return Err(format!("--format={word}: only csv, noheader and nounits are supported"));
        }
    }
    if !query.fields.is_empty() && !query.format.iter().any(|word| word == "csv") {
        return Err("--query-gpu needs --format=csv".to_owned());
    }
    query.answer(given)
}

/// Returns the fields of a list.
fn fields(list: &str) -> Result<Vec<&'static (&'static str, &'static str, &'static str)>, String> {
    let field = |name: &str| {
        let name = name.trim();
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
        FIELDS.iter().find(|field| field.0 == name).ok_or_else(|| {
            format!("field '{name}' is not supported: `nvidia-smi --help-query-gpu` lists those here, and amd-smi shows more")
        })
    };
    list.split(',').map(field).collect()
}

fn indices(list: &str) -> Result<Vec<usize>, String> {
    let index =
        |text: &str| text.trim().parse().map_err(|_| format!("-i {text}: GPUs are selected by their numbers, from 0"));
    list.split(',').map(index).collect()
}

impl Query {
    fn answer(&self, given: &[String]) -> Result<ExitCode, String> {
        let devices = Device::all();
        if devices.is_err() {
            // A HIP that needs another C library has a HIPRTC that does. Other reasons are said below.
            let _ = tool::available(Tool::NvidiaSmi, given);
        }
        let why = devices.as_ref().err().map(ToString::to_string);
        let all = devices.unwrap_or_default();
        let chosen: Vec<Device> = match &self.indices {
            None => all.clone(),
            Some(indices) => {
                let device = |index: &usize| all.get(*index).copied().ok_or_else(|| format!("there is no GPU {index}"));
                indices.iter().map(device).collect::<Result<_, _>>()?
            }
        };
        // Every GPU has the same one, so that a build on a machine without GPUs gets it, too.
        let only_capability = self.fields.iter().all(|field| field.0 == "compute_cap") && !self.fields.is_empty();
        if chosen.is_empty() && !only_capability {
            tool::print("No devices were found\n")?;
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            let _ = writeln!(std::io::stderr(), "nvidia-smi: HIP finds no GPU{why}");
            return Ok(ExitCode::from(NOT_FOUND));
        }
        let text = if self.list {
            self.list(&chosen)?
        } else if self.fields.is_empty() {
            version() + &self.list(&chosen)?
        } else {
            self.table(&chosen, all.len())?
        };
        tool::print(&text).map(|()| ExitCode::SUCCESS)
    }

    fn list(&self, devices: &[Device]) -> Result<String, String> {
        let mut list = String::new();
        for device in devices {
            let properties = device.properties().map_err(|error| error.to_string())?;
            let _ = writeln!(
                list,
                "GPU {}: {} (PCI: {}, {})",
                device.index(),
                properties.name,
                properties.pci,
                properties.arch
            );
        }
        Ok(list)
    }

    fn table(&self, devices: &[Device], count: usize) -> Result<String, String> {
        let has = |word: &str| self.format.iter().any(|given| given == word);
        let mut table = String::new();
        if !has("noheader") {
            let header = |(name, unit, _): &&(&str, &str, &str)| match *unit {
                "" => (*name).to_owned(),
                unit => format!("{name} [{unit}]"),
            };
            let _ = writeln!(table, "{}", self.fields.iter().map(header).collect::<Vec<_>>().join(", "));
        }
        let mut row = |device: Option<&Device>| {
            let values = self.fields.iter().map(|(name, unit, _)| {
                let value = value(name, device, count)?;
                Ok(if unit.is_empty() || has("nounits") { value } else { format!("{value} {unit}") })
            });
            let values = values.collect::<Result<Vec<_>, String>>()?;
            let _ = writeln!(table, "{}", values.join(", "));
            Ok::<_, String>(())
        };
        if devices.is_empty() {
            row(None)?;
        }
        devices.iter().try_for_each(|device| row(Some(device)))?;
        Ok(table)
    }
}

/// Returns the value of a field.
fn value(name: &str, device: Option<&Device>, count: usize) -> Result<String, String> {
    let (major, minor) = COMPUTE_CAPABILITY;
    let Some(device) = device else { return Ok(format!("{major}.{minor}")) };
    let failed = |error: hip::Error| format!("GPU {}: {error}", device.index());
    let mib = |bytes: u64| (bytes >> 20).to_string();
    let properties = device.properties().map_err(failed)?;
    let memory = || device.memory_info().map_err(failed);
    Ok(match name {
        "compute_cap" => format!("{major}.{minor}"),
        "count" => count.to_string(),
        "driver_version" => driver(),
        "index" => device.index().to_string(),
        "memory.free" => mib(memory()?.free),
        "memory.total" => mib(properties.total_memory),
        "memory.used" => memory().map(|memory| mib(memory.total - memory.free))?,
        "pci.bus_id" => properties.pci.to_string(),
        // The separator of the columns.
        _ => properties.name.replace(',', " "),
    })
}

/// Returns the version of the driver.
fn driver() -> String {
    let of_module = std::fs::read_to_string("/sys/module/amdgpu/version").ok().map(|text| text.trim().to_owned());
    let of_hip = || hip::runtime::driver_version().ok().map(|(major, minor, patch)| format!("{major}.{minor}.{patch}"));
    of_module.filter(|text| !text.is_empty()).or_else(of_hip).unwrap_or_else(|| "unknown".to_owned())
}

fn version() -> String {
    format!(
        "{} of cuda-compat {}: a stand-in that lists AMD GPUs, and not NVIDIA's\nDriver Version: {}   CUDA Version: {RELEASE}\n",
        Tool::NvidiaSmi.name(),
        env!("CARGO_PKG_VERSION"),
        driver()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_their_other_names_are_known() {
        let names: Vec<&str> =
            fields("gpu_name, memory.total,compute_cap").unwrap().iter().map(|field| field.0).collect();
        assert_eq!(names, ["name", "memory.total", "compute_cap"]);
        assert!(fields("fan.speed").unwrap_err().contains("'fan.speed'"));
        assert!(indices("0,x").is_err());
    }

    #[test]
    fn the_capability_needs_no_device() {
        let query =
            Query { fields: fields("compute_cap").unwrap(), format: vec!["csv".to_owned()], ..Query::default() };
        assert_eq!(query.table(&[], 0).unwrap(), "compute_cap\n8.0\n");
        let query = Query { format: vec!["csv".to_owned(), "noheader".to_owned()], ..query };
        assert_eq!(query.table(&[], 0).unwrap(), "8.0\n");
    }
}

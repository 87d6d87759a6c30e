//! The diagnosis as text.

use std::fmt;

use super::driver::Driver;
use super::gpus::Gpu;
use super::places::Place;
use super::{Diagnosis, libraries};
use crate::probe;

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Places, in the order of the search")?;
        for (n, place) in self.places.iter().enumerate() {
            writeln!(f, "{:>4}. {place}", n + 1)?;
        }
        writeln!(f, "{:>4}. the system loader", self.places.len() + 1)?;

        writeln!(f, "\nLibraries")?;
        let (found, other): (Vec<_>, Vec<_>) = self.libraries.iter().partition(|probe| probe.usable().is_some());
        let (faulty, absent): (Vec<_>, Vec<_>) = other.into_iter().partition(|probe| probe.faults().next().is_some());
        for line in probe::table(found.into_iter().chain(faulty)).lines() {
            writeln!(f, "  {line}")?;
        }
        if !absent.is_empty() {
            let names: Vec<&str> = absent.iter().map(|probe| probe.library.as_str()).collect();
            writeln!(f, "  not found: {}", names.join(", "))?;
        }
        if let Some(hip) = self.libraries.iter().find(|probe| probe.library == "amdhip64") {
            writeln!(f, "\nSearch for the HIP runtime, amdhip64")?;
            for (n, step) in hip.steps.iter().enumerate() {
                writeln!(f, "{:>4}. {step}", n + 1)?;
            }
            if hip.steps.is_empty() {
                writeln!(f, "  no place to search")?;
            }
        }

        writeln!(f, "\nDriver\n{}", self.driver)?;
        writeln!(f, "GPUs")?;
        for gpu in &self.gpus {
            writeln!(f, "  {gpu}")?;
        }
        if self.gpus.is_empty() {
            writeln!(f, "  none")?;
        }

        writeln!(f, "\nVariables")?;
        for variable in &self.variables {
            writeln!(f, "  {}={:?} ({})", variable.name, variable.value, variable.meaning)?;
        }
        if self.variables.is_empty() {
            writeln!(f, "  none is set")?;
        }

        if let Some(kernels) = &self.rust_kernels {
            writeln!(f, "\nKernels in Rust\n  {kernels}")?;
        }

        writeln!(f, "\nProblems")?;
        for problem in &self.problems {
            writeln!(f, "  {}: {}\n    to do: {}", problem.severity, problem.problem, problem.todo)?;
        }
        if self.problems.is_empty() {
            writeln!(f, "  none")?;
        }
        let place = libraries::in_use(&self.libraries, &self.places);
        let place = place.map(|place| format!(", with ROCm from {}", place.path)).unwrap_or_default();
        let hip = self.libraries.iter().find(|probe| probe.library == "amdhip64");
        let through = hip.and_then(|probe| probe.through.as_ref());
        match self.usable {
            true => {
                write!(f, "\nPrograms can use a GPU{place}")?;
                through.iter().try_for_each(|through| write!(f, ", if they are started by `{}`", through.run))?;
                f.write_str(".")
            }
            false => write!(f, "\nPrograms cannot use a GPU, or not all of ROCm{place}: see the errors above."),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]: ", self.path, self.step)?;
        match (&self.refused, self.present) {
            (Some(refused), _) => f.write_str(refused),
            (None, false) => f.write_str("not found"),
            (None, true) => {
                let release = self.release.as_deref().unwrap_or("release unknown");
                match self.libraries {
                    0 => f.write_str("no library of ROCm"),
                    1 => write!(f, "{release}, 1 library"),
                    n => write!(f, "{release}, {n} libraries"),
                }
            }
        }
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  kernel: {}", self.kernel.as_deref().unwrap_or("unknown"))?;
        let version = self.version.as_deref().unwrap_or("the kernel's own");
        match self.loaded {
            true => writeln!(f, "  amdgpu: loaded, version {version}")?,
            false => writeln!(f, "  amdgpu: not loaded")?,
        }
        writeln!(f, "  compute (/sys/class/kfd): {}", if self.compute { "available" } else { "not available" })?;
        if self.wsl {
            writeln!(f, "  /dev/dxg: available, this is WSL: the GPU is used through Windows' driver")?;
        }
        for device in &self.pci {
            let driver = device.driver.as_deref().unwrap_or("no driver");
            writeln!(f, "  AMD GPU {} at {}: {driver}", device.device, device.address)?;
        }
        for node in &self.nodes {
            match &node.permissions {
                None => writeln!(f, "  {}: not found", node.path)?,
                Some(p) => writeln!(
                    f,
                    "  {}: mode {}, owner {}, group {}: {}",
                    node.path,
                    p.mode,
                    p.owner,
                    p.group,
                    if node.usable { "may be opened" } else { "may not be opened" }
                )?,
            }
        }
        writeln!(f, "  user: {}, in the groups {}", self.user.name, self.user.groups.join(", "))
    }
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const GIB: u64 = 1 << 30;
        write!(f, "{} at {}: ", self.target, self.pci)?;
        match &self.product {
            Some(product) => write!(f, "{product}")?,
            None => write!(f, "model {}", self.device)?,
        }
        write!(f, ", {} compute units", self.compute_units)?;
        if self.memory > 0 {
            write!(f, ", {}.{} GiB", self.memory / GIB, self.memory % GIB * 10 / GIB)?;
        }
        self.render_node.iter().try_for_each(|node| write!(f, ", {node}"))
    }
}

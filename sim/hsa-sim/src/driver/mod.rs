//! The files in which the kernel driver describes the GPUs.
//!
//! RCCL, ROCm SMI and `rocminfo` read them in addition to HSA's properties. Here they are generated from the same
//! settings, so that both agree. The preloaded library `libhip-sim-driver` shows them to a program at their usual
//! paths.
//!
//! - `topology`: `/sys/class/kfd`, the compute driver's nodes and links. `pci`: PCI devices and graphics cards.
//! - `tree`: files and links, and writing them to a folder.

mod identity;
mod pci;
mod topology;
mod tree;

use amdgpu_sim::Settings;

use crate::agent::Agents;
use crate::config;

pub(crate) use identity::{PCI_DOMAIN, VENDOR, location, unique_id};
pub use tree::DriverFiles;

/// The files for the GPUs that the environment asks for.
///
/// # Errors
/// Returns an error that names the variable if a variable has an invalid value.
pub fn driver_files() -> Result<DriverFiles, String> {
    Ok(of(&config::from_environment()?))
}

/// The files for the GPUs that these variables select.
///
/// # Errors
/// As for [`driver_files`].
pub fn driver_files_with(variable: impl Fn(&str) -> Option<String>) -> Result<DriverFiles, String> {
    Ok(of(&config::read(variable)?))
}

fn of(settings: &Settings) -> DriverFiles {
    let agents = Agents::new(settings);
    let mut tree = DriverFiles::default();
    topology::add(&mut tree, &agents);
    pci::add(&mut tree, &agents);
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(devices: &str) -> DriverFiles {
        driver_files_with(|name| (name == "HIP_SIM_DEVICES").then(|| devices.to_owned())).unwrap()
    }

    fn property(text: &str, name: &str) -> u64 {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("no {name}: {text}")).parse().unwrap()
    }

    #[test]
    fn every_gpu_has_a_node_and_a_link_to_every_other() {
        let files = files("3");
        for node in 1..=3 {
            let folder = format!("/sys/devices/virtual/kfd/kfd/topology/nodes/{node}");
            let text = files.text(&format!("{folder}/properties")).unwrap();
            let links = property(text, "io_links_count");
            let to: Vec<u64> = (0..links)
                .map(|link| property(files.text(&format!("{folder}/io_links/{link}/properties")).unwrap(), "node_to"))
                .collect();
            let others: Vec<u64> = (0..=3).filter(|other| *other != node).collect();
            assert_eq!(to, others);
            assert_eq!(property(text, "domain"), u64::from(PCI_DOMAIN));
            assert_eq!(property(text, "unique_id"), node);
        }
        assert!(files.text("/sys/devices/virtual/kfd/kfd/topology/nodes/4/properties").is_none());
    }

    #[test]
    fn written_links_lead_from_class_to_device() {
        let folder = tempfile::tempdir().unwrap();
        files("2").write(folder.path()).unwrap();
        let read = |path: &str| std::fs::read_to_string(folder.path().join(path)).unwrap();
        assert_eq!(read("sys/class/kfd/kfd/topology/nodes/2/gpu_id"), "4098\n");
        assert_eq!(read("sys/class/drm/card1/device/vendor"), "0x1002\n");
        // The path that NCCL reads.
        assert_eq!(read("sys/class/pci_bus/5349:02/../../5349:02:00.0/class"), "0x038000\n");
        // A second time changes nothing and is no error.
        files("2").write(folder.path()).unwrap();
    }
}

//! The GPUs that the kernel driver lists.

use serde::Serialize;

use super::driver::Driver;
use super::machine::Machine;
use super::places::Place;
use super::problem::Problems;
use crate::gpu::GpuTarget;
use crate::layout::Layout;

/// A GPU, as the kernel driver describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Gpu {
    /// Its number in the driver's list, which also contains CPUs.
    pub node: u32,
    /// Its architecture: `gfx90a`.
    pub target: String,
    /// Its address on the PCI bus: `0000:c1:00.0`.
    pub pci: String,
    /// AMD's model number: `0x740f`.
    pub device: String,
    /// The model's name, if the driver knows it.
    pub product: Option<String>,
    /// Number of compute units.
    pub compute_units: u64,
    /// Its own memory, in bytes.
    pub memory: u64,
    /// The device node that programs open for it.
    pub render_node: Option<String>,
}

const NODES: &str = "sys/class/kfd/kfd/topology/nodes";

impl Gpu {
    pub(crate) fn all(machine: &Machine) -> Vec<Self> {
        machine.names(NODES).iter().filter_map(|name| Self::read(machine, name)).collect()
    }

    fn read(machine: &Machine, name: &str) -> Option<Self> {
        let directory = format!("{NODES}/{name}");
        let properties = Properties(machine.text(&format!("{directory}/properties"))?);
        let version = properties.get("gfx_target_version")?;
        let target = GpuTarget::of_driver(u32::try_from(version).ok()?)?.name;
        let location = properties.get("location_id").unwrap_or(0);
        let (bus, device, function) = (location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
        let pci = format!("{:04x}:{bus:02x}:{device:02x}.{function}", properties.get("domain").unwrap_or(0));
        let minor = properties.get("drm_render_minor").filter(|&minor| minor != 0);
        let per_unit = properties.get("simd_per_cu").filter(|&n| n != 0).unwrap_or(1);
        Some(Self {
            node: name.parse().ok()?,
            target,
            device: format!("{:#06x}", properties.get("device_id").unwrap_or(0)),
            product: machine.text(&format!("sys/bus/pci/devices/{pci}/product_name")),
            pci,
            compute_units: properties.get("simd_count").unwrap_or(0) / per_unit,
            memory: memory(machine, &directory),
            render_node: minor.map(|minor| format!("/dev/dri/renderD{minor}")),
        })
    }

    /// Reports missing render nodes.
    pub(crate) fn judge(gpus: &[Self], driver: &Driver, problems: &mut Problems) {
        for gpu in gpus {
            let Some(node) = &gpu.render_node else { continue };
            if driver.node(node).is_none() {
                problems.error(
                    format!("{node} is missing, which the {} at {} needs", gpu.target, gpu.pci),
                    "in a container, start it with `--device /dev/kfd --device /dev/dri`; elsewhere `sudo udevadm trigger`",
                );
            }
        }
    }
}

/// Reports GPUs that the ROCm in use has no code for.
pub(crate) fn judge_targets(gpus: &[Gpu], in_use: Option<&Place>, problems: &mut Problems) {
    let Some(layout) = in_use.and_then(|place| Layout::at(&place.root)) else { return };
    match layout.distribution() {
        Ok(Some(distribution)) => {
            for gpu in gpus.iter().filter(|gpu| !distribution.has_target(&gpu.target)) {
                problems.warning(
                    format!(
                        "the libraries of {} have no code for the {}: they are built for {}",
                        layout.root().display(),
                        gpu.target,
                        distribution.targets().join(", ")
                    ),
                    "install the build for this family of GPUs (of wheels, rocm-sdk-libraries-FAMILY); kernels of your own run",
                );
            }
        }
        Ok(None) => {}
        Err(error) => problems.warning(error.to_string(), "install that ROCm again"),
    }
}

/// Returns its own memory: heaps of the kinds 1 and 2, visible to the host and not.
fn memory(machine: &Machine, directory: &str) -> u64 {
    let banks = format!("{directory}/mem_banks");
    let sizes = machine.names(&banks).into_iter().filter_map(|bank| {
        let bank = Properties(machine.text(&format!("{banks}/{bank}/properties"))?);
        bank.get("heap_type").filter(|kind| matches!(kind, 1 | 2))?;
        bank.get("size_in_bytes")
    });
    sizes.fold(0, u64::saturating_add)
}

/// Lines with a name and a number each.
struct Properties(String);

impl Properties {
    fn get(&self, name: &str) -> Option<u64> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.trim().parse().ok())
    }
}

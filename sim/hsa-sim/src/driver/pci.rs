//! The GPUs as PCI devices and graphics cards.

use super::identity::{PCI_DOMAIN, VENDOR, location, render_minor, unique_id};
use super::tree::DriverFiles;
use crate::agent::Agents;

/// The class of a display controller without outputs.
const CLASS: &str = "0x038000";
/// The class of a PCI bridge.
const BRIDGE: &str = "0x060400";

/// Adds devices and cards.
pub(super) fn add(tree: &mut DriverFiles, agents: &Agents) {
    let root = format!("/sys/devices/pci{PCI_DOMAIN:04x}:00");
    tree.line("/sys/module/amdgpu/initstate", "live");
    tree.line("/sys/module/amdgpu/version", env!("CARGO_PKG_VERSION"));
    tree.line("/sys/bus/pci/drivers/amdgpu/module/version", env!("CARGO_PKG_VERSION"));
    tree.line("/sys/class/drm/version", "drm 1.1.0 20060810");
    add_others(tree);
    for (index, gpu) in agents.gpu_ids().enumerate() {
        let bus = location(gpu) >> 8;
        let bridge = format!("{root}/{PCI_DOMAIN:04x}:00:{:02x}.{}", bus >> 3, bus & 7);
        let name = format!("{PCI_DOMAIN:04x}:{bus:02x}:00.0");
        let device = format!("{bridge}/{name}");
        for (folder, class, id) in [(&bridge, BRIDGE, 0x1480), (&device, CLASS, agents.chip.chip_id)] {
            for (file, value) in [
                ("class", class.to_owned()),
                ("vendor", format!("{VENDOR:#06x}")),
                ("device", format!("{id:#06x}")),
                ("subsystem_vendor", format!("{VENDOR:#06x}")),
                ("subsystem_device", format!("{id:#06x}")),
                ("revision", format!("{:#04x}", agents.chip.asic_revision)),
                ("numa_node", "0".to_owned()),
                ("local_cpulist", cpus()),
                ("local_cpus", cpu_mask()),
                ("max_link_speed", "16.0 GT/s PCIe".to_owned()),
                ("current_link_speed", "16.0 GT/s PCIe".to_owned()),
                ("max_link_width", "16".to_owned()),
                ("current_link_width", "16".to_owned()),
            ] {
                tree.line(format!("{folder}/{file}"), value);
            }
            tree.link(format!("{folder}/subsystem"), "/sys/bus/pci");
        }
        for (file, value) in [
            ("unique_id", format!("{:016x}", unique_id(gpu))),
            ("product_name", agents.chip.product.to_owned()),
            ("mem_info_vram_total", agents.gpu_memory.to_string()),
            ("mem_info_vram_used", "0".to_owned()),
            ("mem_info_vis_vram_total", agents.gpu_memory.to_string()),
            ("mem_info_vis_vram_used", "0".to_owned()),
            ("mem_info_vram_vendor", "amdgpu-sim".to_owned()),
            ("gpu_busy_percent", "0".to_owned()),
            // The firmware of the compute queues. On gfx942, RCCL requires one of late 2024 or newer.
            ("fw_version/mec_fw_version", "0x000000c8".to_owned()),
        ] {
            tree.line(format!("{device}/{file}"), value);
        }
        tree.link(format!("{device}/driver"), "/sys/bus/pci/drivers/amdgpu");
        tree.link(format!("{DEVICES}/{name}"), &device);
        tree.line(format!("{bridge}/pci_bus/{PCI_DOMAIN:04x}:{bus:02x}/cpulistaffinity"), cpus());
        let class = format!("/sys/class/pci_bus/{PCI_DOMAIN:04x}:{bus:02x}");
        tree.link(class, &format!("{bridge}/pci_bus/{PCI_DOMAIN:04x}:{bus:02x}"));
        for (node, minor) in
            [(format!("card{index}"), index as u32), (format!("renderD{}", render_minor(gpu)), render_minor(gpu))]
        {
            let folder = format!("{device}/drm/{node}");
            tree.line(format!("{folder}/dev"), format_args!("226:{minor}"));
            tree.link(format!("{folder}/device"), &device);
            tree.link(format!("/sys/class/drm/{node}"), &folder);
            tree.file(format!("/dev/dri/{node}"), "");
        }
    }
}

/// The device folder. Programs that list it see the machine's own devices too.
const DEVICES: &str = "/sys/bus/pci/devices";

/// Adds links to the machine's own devices.
fn add_others(tree: &mut DriverFiles) {
    let ours = format!("{PCI_DOMAIN:04x}:");
    for device in std::fs::read_dir(DEVICES).into_iter().flatten().flatten() {
        let name = device.file_name().to_string_lossy().into_owned();
        let target = device.path().canonicalize().ok();
        if let Some(target) = target.as_ref().and_then(|target| target.to_str()).filter(|_| !name.starts_with(&ours)) {
            tree.link_out(format!("{DEVICES}/{name}"), target);
        }
    }
}

fn cpu_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The list of the host's processors.
fn cpus() -> String {
    format!("0-{}", cpu_count() - 1)
}

/// The same as a mask: words of 32 bits, the highest first.
fn cpu_mask() -> String {
    let count = cpu_count();
    let word = |n: usize| (0..32).filter(|bit| 32 * n + bit < count).fold(0_u32, |word, bit| word | 1 << bit);
    let words: Vec<String> = (0..count.div_ceil(32)).rev().map(|n| format!("{:08x}", word(n))).collect();
    words.join(",")
}

//! The topology of the compute driver (KFD): a node for the CPU and each GPU, and the links between them.

use std::fmt::Write as _;

use super::identity::{PCI_DOMAIN, VENDOR, gpu_id, location, render_minor, unique_id};
use super::tree::DriverFiles;
use crate::agent::{AgentId, Agents};
use crate::memory::host_memory;

const DEVICE: &str = "/sys/devices/virtual/kfd/kfd";
/// Link types, as the driver numbers them.
const PCI_EXPRESS: u64 = 2;
const XGMI: u64 = 11;
/// All GPUs are in one XGMI hive.
const HIVE: u64 = 0x5349_4d00;

/// Adds the nodes.
pub(super) fn add(tree: &mut DriverFiles, agents: &Agents) {
    tree.link("/sys/class/kfd/kfd", DEVICE);
    tree.line(format!("{DEVICE}/dev"), "511:0");
    tree.file("/dev/kfd", "");
    let gpus = agents.gpu_ids().count() as u64;
    let topology = format!("{DEVICE}/topology");
    tree.line(format!("{topology}/generation_id"), 1);
    let system = [("platform_oem", 0), ("platform_id", 0), ("platform_rev", 0)];
    tree.file(format!("{topology}/system_properties"), properties(&system));
    for agent in agents.ids() {
        let node = format!("{topology}/nodes/{}", agent.0);
        if agent.is_cpu() {
            tree.line(format!("{node}/gpu_id"), 0);
            tree.line(format!("{node}/name"), "");
            tree.file(format!("{node}/properties"), cpu(gpus));
            bank(tree, &node, 0, host_memory(), 64, 3200);
        } else {
            tree.line(format!("{node}/gpu_id"), gpu_id(agent));
            tree.line(format!("{node}/name"), agents.gpu(agent).map_or("", |gpu| gpu.config().arch.name()));
            tree.file(format!("{node}/properties"), gpu(agents, agent, gpus));
            let chip = &agents.chip;
            bank(tree, &node, 1, agents.gpu_memory, chip.memory_width, chip.memory_clock);
        }
        for (index, other) in agents.ids().filter(|other| *other != agent).enumerate() {
            tree.file(format!("{node}/io_links/{index}/properties"), link(agent, other));
        }
    }
}

/// The CPU's node.
fn cpu(gpus: u64) -> String {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    properties(&[
        ("cpu_cores_count", cores),
        ("simd_count", 0),
        ("mem_banks_count", 1),
        ("caches_count", 0),
        ("io_links_count", gpus),
        ("p2p_links_count", 0),
        ("cpu_core_id_base", 0),
        ("simd_id_base", 0),
        ("max_waves_per_simd", 0),
        ("lds_size_in_kb", 0),
        ("gds_size_in_kb", 0),
        ("num_gws", 0),
        ("wave_front_size", 0),
        ("array_count", 0),
        ("simd_arrays_per_engine", 0),
        ("cu_per_simd_array", 0),
        ("simd_per_cu", 0),
        ("max_slots_scratch_cu", 0),
        ("gfx_target_version", 0),
        ("vendor_id", 0),
        ("device_id", 0),
        ("location_id", 0),
        ("domain", 0),
        ("drm_render_minor", 0),
        ("hive_id", 0),
        ("num_sdma_engines", 0),
        ("num_sdma_xgmi_engines", 0),
        ("num_sdma_queues_per_engine", 0),
        ("num_cp_queues", 0),
        ("max_engine_clk_ccompute", 0),
    ])
}

/// A GPU's node.
fn gpu(agents: &Agents, agent: AgentId, gpus: u64) -> String {
    let chip = &agents.chip;
    let (units, engines) = (u64::from(chip.compute_units), u64::from(chip.shader_engines));
    properties(&[
        ("cpu_cores_count", 0),
        ("simd_count", 4 * units),
        ("mem_banks_count", 1),
        ("caches_count", 0),
        ("io_links_count", gpus),
        ("p2p_links_count", 0),
        ("cpu_core_id_base", 0),
        ("simd_id_base", 0x8000_0000),
        ("max_waves_per_simd", 8),
        ("lds_size_in_kb", u64::from(amdgpu_sim::MAX_LDS >> 10)),
        ("gds_size_in_kb", 0),
        ("num_gws", 64),
        ("wave_front_size", 64),
        ("array_count", engines),
        ("simd_arrays_per_engine", 1),
        ("cu_per_simd_array", units / engines),
        ("simd_per_cu", 4),
        ("max_slots_scratch_cu", 32),
        ("gfx_target_version", chip.target_version),
        ("vendor_id", u64::from(VENDOR)),
        ("device_id", u64::from(chip.chip_id)),
        ("location_id", u64::from(location(agent))),
        ("domain", u64::from(PCI_DOMAIN)),
        ("drm_render_minor", u64::from(render_minor(agent))),
        ("hive_id", HIVE),
        ("num_sdma_engines", 2),
        ("num_sdma_xgmi_engines", 0),
        ("num_sdma_queues_per_engine", 8),
        ("num_cp_queues", 24),
        ("max_engine_clk_fcompute", u64::from(chip.clock)),
        ("local_mem_size", 0),
        ("fw_version", 1),
        ("capability", 0),
        ("debug_prop", 0),
        ("sdma_fw_version", 1),
        ("unique_id", unique_id(agent)),
        ("num_xcc", u64::from(chip.xccs)),
        ("max_engine_clk_ccompute", u64::from(chip.clock)),
    ])
}

/// The memory of a node.
fn bank(tree: &mut DriverFiles, node: &str, kind: u64, size: u64, width: u32, clock: u32) {
    let lines = [
        ("heap_type", kind),
        ("size_in_bytes", size),
        ("flags", 0),
        ("width", u64::from(width)),
        ("mem_clk_max", u64::from(clock)),
    ];
    tree.file(format!("{node}/mem_banks/0/properties"), properties(&lines));
    if kind != 0 {
        tree.line(format!("{node}/mem_banks/0/used_memory"), 0);
    }
}

/// A link: XGMI between GPUs, otherwise PCI Express.
fn link(from: AgentId, to: AgentId) -> String {
    let between_gpus = !from.is_cpu() && !to.is_cpu();
    // The distances and bandwidths (in MB/s) that the driver reports for such links.
    let (kind, weight, least, most) =
        if between_gpus { (XGMI, 15, 50_000, 50_000) } else { (PCI_EXPRESS, 20, 312, 32_000) };
    properties(&[
        ("type", kind),
        ("version_major", 0),
        ("version_minor", 0),
        ("node_from", u64::from(from.0)),
        ("node_to", u64::from(to.0)),
        ("weight", weight),
        ("min_latency", 0),
        ("max_latency", 0),
        ("min_bandwidth", least),
        ("max_bandwidth", most),
        ("recommended_transfer_size", 0),
        ("recommended_sdma_engine_id_mask", 0),
        ("flags", 1),
    ])
}

/// Lines of a name and a number each.
fn properties(lines: &[(&str, u64)]) -> String {
    lines.iter().fold(String::new(), |mut text, (name, value)| {
        // A string takes everything.
        let _ = writeln!(text, "{name} {value}");
        text
    })
}

//! What is told on stderr: faults, and what `HIP_SIM_LOG` asks for.

use std::sync::OnceLock;

use amdgpu_sim::{Packet, Stats};

use crate::abi::{HSA_STATUS_INFO_BREAK, HSA_STATUS_SUCCESS, hsa_status_t, status_text};

/// What to tell of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Nothing,
    /// Calls that fail.
    Errors,
    /// And every kernel.
    Kernels,
    /// And all calls that return a status.
    Calls,
}

fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| match std::env::var("HIP_SIM_LOG").as_deref() {
        Ok("errors") => Level::Errors,
        Ok("kernels") => Level::Kernels,
        Ok("calls") => Level::Calls,
        _ => Level::Nothing,
    })
}

/// Tells of a call and what it returned.
pub(crate) fn call(name: &str, status: hsa_status_t) {
    let level = level();
    let failed = status != HSA_STATUS_SUCCESS && status != HSA_STATUS_INFO_BREAK;
    if level == Level::Calls || (level >= Level::Errors && failed) {
        let text = status_text(status).map_or("an unknown status".into(), |text| text.to_string_lossy());
        let text = text.split(':').next().unwrap_or_default();
        eprintln!("hsa-sim: {name}: {text}");
    }
}

/// Tells of a kernel that has run.
pub(crate) fn kernel(name: &str, packet: &Packet, stats: &Stats, ticks: u64) {
    if level() >= Level::Kernels {
        let ([x, y, z], [wx, wy, wz]) = (packet.grid, packet.workgroup);
        let Stats { instructions, waves, .. } = stats;
        eprintln!(
            "hsa-sim: kernel {name}: grid {x}x{y}x{z} in workgroups of {wx}x{wy}x{wz}, {} bytes of LDS: {waves} waves, \
             {instructions} instructions, {} us",
            packet.group_segment_size,
            ticks / 1000,
        );
    }
}

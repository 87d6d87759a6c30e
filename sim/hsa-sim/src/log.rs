//! What is told on stderr: faults, and what `HIP_SIM_LOG` asks for.

use std::io::Write as _;
use std::sync::{Mutex, OnceLock, PoisonError};

use amdgpu_sim::{Gpu, Packet, Stats};

use crate::abi::{HSA_STATUS_INFO_BREAK, HSA_STATUS_SUCCESS, hsa_signal_t, hsa_status_t, status_text};

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

/// Writes a line, whole. That nobody can read it is no reason to end the program.
fn line(text: std::fmt::Arguments<'_>) {
    let _ = std::io::stderr().write_all(format!("hsa-sim: {text}\n").as_bytes());
}

/// A call that failed, as often as it did so with no other one between.
struct Repeated {
    name: &'static str,
    status: hsa_status_t,
    more: u64,
}

/// Whether a call is another one than the last. If so, it is told how often that was repeated.
fn is_new(last: &mut Option<Repeated>, name: &'static str, status: hsa_status_t) -> bool {
    match last {
        Some(last) if (last.name, last.status) == (name, status) => {
            last.more += 1;
            return false;
        }
        Some(Repeated { name, more: more @ 1.., .. }) => line(format_args!("{name}: the same {more} times more")),
        _ => {}
    }
    *last = Some(Repeated { name, status, more: 0 });
    true
}

/// Tells of a call and what it returned. Calls that fail in a row are told of once, unless all calls are asked for: HIP 5.7 asks
/// kernels for what only variables have, hundreds of millions of times where Tensile has thousands of kernels in one file.
pub(crate) fn call(name: &'static str, status: hsa_status_t) {
    static LAST: Mutex<Option<Repeated>> = Mutex::new(None);
    let level = level();
    let failed = status != HSA_STATUS_SUCCESS && status != HSA_STATUS_INFO_BREAK;
    let told = match level {
        Level::Nothing => false,
        Level::Calls => true,
        Level::Errors | Level::Kernels if failed => {
            let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
            is_new(&mut last, name, status)
        }
        Level::Errors | Level::Kernels => false,
    };
    if told {
        let text = status_text(status).map_or("an unknown status".into(), |text| text.to_string_lossy());
        let text = text.split(':').next().unwrap_or_default();
        line(format_args!("{name}: {text}"));
    }
}

/// Tells of work whose end nobody hears of.
pub(crate) fn late(signal: hsa_signal_t) {
    if level() >= Level::Errors {
        line(format_args!("work has ended whose signal {:#x} was destroyed before", signal.handle));
    }
}

/// Tells of a kernel that has run, on the GPU of that number.
pub(crate) fn kernel(name: &str, (number, gpu): (usize, &Gpu), packet: &Packet, stats: &Stats, ticks: u64) {
    if level() >= Level::Kernels {
        let ([x, y, z], [wx, wy, wz]) = (packet.grid, packet.workgroup);
        let Stats { instructions, waves, .. } = stats;
        line(format_args!(
            "kernel {name} on GPU {number} ({}): grid {x}x{y}x{z} in workgroups of {wx}x{wy}x{wz}, {} bytes of LDS: {waves} waves, \
             {instructions} instructions, {} us",
            gpu.target().processor,
            packet.group_segment_size,
            ticks / 1000,
        ));
    }
}

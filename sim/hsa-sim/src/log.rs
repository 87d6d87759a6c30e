//! Messages on stderr: faults, and the messages selected by `HIP_SIM_LOG`.

use std::io::Write as _;
use std::sync::{Mutex, OnceLock, PoisonError};

use amdgpu_sim::{Gpu, Packet, Stats};

use crate::abi::{HSA_STATUS_INFO_BREAK, HSA_STATUS_SUCCESS, hsa_signal_t, hsa_status_t, status_text};

/// The log level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Nothing,
    /// Failed calls.
    Errors,
    /// Also every kernel.
    Kernels,
    /// Also all calls that return a status.
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

/// Writes a line in one piece. A write error is ignored: it must not end the program.
fn line(text: std::fmt::Arguments<'_>) {
    let _ = std::io::stderr().write_all(format!("hsa-sim: {text}\n").as_bytes());
}

/// A failed call, with the number of its consecutive repetitions.
struct Repeated {
    name: &'static str,
    status: hsa_status_t,
    more: u64,
}

/// Returns whether a call differs from the last one. If so, first logs how often the last one was repeated.
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

/// Logs a call and its status. Consecutive identical failures are logged once, unless all calls are logged: HIP 5.7
/// queries kernels for properties of variables, hundreds of millions of times if Tensile has thousands of kernels in
/// one file.
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

/// Logs work whose completion no handler sees.
pub(crate) fn late(signal: hsa_signal_t) {
    if level() >= Level::Errors {
        line(format_args!("work has ended whose signal {:#x} was destroyed before", signal.handle));
    }
}

/// Logs a kernel that has run, on the GPU with that number.
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

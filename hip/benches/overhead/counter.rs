//! Counter of this thread's user space instructions, if the machine supports it.
//!
//! Unlike times, instruction counts do not depend on other load of the machine.

/// A counter of this thread's instructions.
pub(crate) struct Instructions(#[cfg(target_os = "linux")] perf_event::Counter);

impl Instructions {
    /// Returns `None` if there is no such counter, or if it may not be used (`/proc/sys/kernel/perf_event_paranoid`).
    #[cfg(target_os = "linux")]
    pub(crate) fn start() -> Option<Self> {
        let mut counter = perf_event::Builder::new(perf_event::events::Hardware::INSTRUCTIONS).build().ok()?;
        counter.enable().ok()?;
        Some(Self(counter))
    }

    /// Returns `None`: this system has no such counter.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn start() -> Option<Self> {
        None
    }

    /// Returns the number of instructions so far.
    #[cfg(target_os = "linux")]
    pub(crate) fn read(&mut self) -> u64 {
        self.0.read().unwrap_or(0)
    }

    /// Returns the number of instructions so far.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn read(&mut self) -> u64 {
        0
    }
}

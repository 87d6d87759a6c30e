//! Instructions that this thread has carried out in user space, where the machine counts them.
//!
//! Unlike times they do not depend on what else the machine does.

/// A counter of this thread's instructions.
pub(crate) struct Instructions(#[cfg(target_os = "linux")] perf_event::Counter);

impl Instructions {
    /// `None` where there is no such counter, or it may not be used (`/proc/sys/kernel/perf_event_paranoid`).
    #[cfg(target_os = "linux")]
    pub(crate) fn start() -> Option<Self> {
        let mut counter = perf_event::Builder::new(perf_event::events::Hardware::INSTRUCTIONS).build().ok()?;
        counter.enable().ok()?;
        Some(Self(counter))
    }

    /// There is none.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn start() -> Option<Self> {
        None
    }

    /// How many so far.
    #[cfg(target_os = "linux")]
    pub(crate) fn read(&mut self) -> u64 {
        self.0.read().unwrap_or(0)
    }

    /// How many so far.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn read(&mut self) -> u64 {
        0
    }
}

//! Errors of queued work, stored until a call waits for the work.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use super::panic_record::PanicRecord;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::lock::{Mutex, MutexGuard};
use crate::core::lost;

/// Stores errors of queued work until a call waits for the work. If none does, they are written to stderr.
#[derive(Default)]
pub(crate) struct Report {
    kept: Mutex<Kept>,
    /// The record for panics of Rust kernels, if one that may panic was launched.
    record: OnceLock<PanicRecord>,
}

#[derive(Default)]
struct Kept {
    /// The error that the runtime returned to a destructor or to the reaper.
    failed: Option<Error>,
    /// The panic of a host function.
    panicked: Option<Error>,
}

impl Report {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock()
    }

    /// Stores an error of the runtime, unless an earlier one is stored.
    pub(crate) fn put(&self, error: Error) {
        self.lock().failed.get_or_insert(error);
    }

    /// Takes the first error, for a wait that returns it.
    pub(crate) fn take(&self) -> Option<Error> {
        self.next().inspect(lost::tell)
    }

    /// Takes the runtime's error, likewise.
    pub(crate) fn take_failed(&self) -> Option<Error> {
        self.lock().failed.take().inspect(lost::tell)
    }

    /// Takes the runtime's error or the panic of a kernel: the errors that a wait for the whole device returns.
    pub(crate) fn take_of_device(&self) -> Option<Error> {
        let mut kept = self.lock();
        kept.failed.take().inspect(lost::tell).or_else(|| self.take_panic(&kept))
    }

    fn next(&self) -> Option<Error> {
        let mut kept = self.lock();
        let first = kept.failed.take().or_else(|| kept.panicked.take());
        first.or_else(|| self.take_panic(&kept))
    }

    /// Takes the panic of a kernel: the error that a wait for another stream returns if it comes after this work.
    pub(crate) fn take_kernel(&self) -> Option<Error> {
        self.take_panic(&self.lock())
    }

    /// Takes a kernel's panic. The report must be locked.
    fn take_panic(&self, _: &Kept) -> Option<Error> {
        let panic = self.record.get()?.take()?;
        Some(Error::KernelPanicked(Box::new(panic)))
    }

    pub(crate) fn is_pending(&self) -> bool {
        let kept = self.lock();
        kept.failed.is_some() || kept.panicked.is_some() || self.has_kernel_panic()
    }

    /// Returns whether a kernel has panicked and the panic was not reported yet.
    pub(crate) fn has_kernel_panic(&self) -> bool {
        self.record.get().is_some_and(PanicRecord::is_pending)
    }

    /// Returns whether a kernel was launched that writes its panics here.
    pub(crate) fn has_record(&self) -> bool {
        self.record.get().is_some()
    }

    /// Returns the address where kernels write a panic. `device` is always the same.
    #[inline]
    pub(crate) fn record(&self, device: Device) -> Result<&PanicRecord> {
        match self.record.get() {
            Some(record) => Ok(record),
            None => self.new_record(device),
        }
    }

    #[cold]
    fn new_record(&self, device: Device) -> Result<&PanicRecord> {
        let record = PanicRecord::new(device)?;
        Ok(self.record.get_or_init(|| record))
    }
}

impl Report {
    /// Writes stored errors to stderr.
    pub(crate) fn tell(&self) {
        if context::is_forked() {
            return;
        }
        while let Some(error) = self.next() {
            // All work in flight on a lost device is reported as one failure.
            if !lost::is_told(&error) {
                lost::tell(&error);
                // As a single write: the runtime may write to stderr at the same time.
                let line = format!("hip: work that nobody waited for has failed: {error}\n");
                eprint!("{line}");
            }
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.tell();
    }
}

/// Runs a user's function on a thread of the runtime: it catches panics, and rejects calls into HIP.
pub(crate) fn run_reporting(report: &Report, body: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| context::as_host_function(body))) {
        report.lock().panicked.get_or_insert(Error::HostFunctionPanicked { message: message(&*payload) });
        // The payload's destructor may panic.
        std::mem::forget(payload);
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a panic without a message".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_report_and_the_first_one_counts() {
        let report = Report::default();
        run_reporting(&report, || {});
        assert!(report.take().is_none());
        run_reporting(&report, || panic!("number {}", 1));
        run_reporting(&report, || panic!("another"));
        run_reporting(&report, || std::panic::panic_any(7));
        let text = report.take().unwrap().to_string();
        assert!(text.contains("number 1"), "{text}");
        assert!(report.take().is_none());
    }
}

//! Rust functions in a stream, and errors of queued work.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use super::Stream;
use super::panics::PanicRecord;
use crate::core::call::check;
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

struct Call<F> {
    function: F,
    report: Arc<Report>,
}

unsafe extern "C" fn trampoline<F: FnOnce()>(data: *mut c_void) {
    // SAFETY: `data` comes from Box::into_raw in `launch_host_function`, and the runtime calls this exactly once with it.
    let Call { function, report } = *unsafe { Box::from_raw(data.cast::<Call<F>>()) };
    run_reporting(&report, function);
}

impl Stream {
    /// Queues a Rust function (`hipLaunchHostFunc`). It runs on a thread of the runtime after all work queued before;
    /// work queued later waits for it.
    ///
    /// Keep it short: the runtime calls the functions of all streams on one thread. It must not call HIP: any call of
    /// this crate in it returns [`Error::InHostFunction`], and buffers that it drops are freed later. If it panics, the
    /// next call that waits for the stream returns [`Error::HostFunctionPanicked`], and later work continues. If the
    /// device fails before, the function may never run, and its captured values leak.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use std::sync::mpsc;
    ///
    /// let stream = hip::Stream::new(&hip::Device::get(0)?)?;
    /// let (sender, receiver) = mpsc::channel();
    /// stream.launch_host_function(move || sender.send("all work is done").unwrap())?;
    /// assert_eq!(receiver.recv().unwrap(), "all work is done");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The runtime's status; the function is then dropped without being called. [`Error::Capture`] while the stream is
    /// captured: a graph may run many times, so use [`Graph::add_host`](crate::Graph::add_host) there.
    #[doc(alias("hipLaunchHostFunc", "cuLaunchHostFunc", "cudaLaunchHostFunc"))]
    #[doc(alias("hipStreamAddCallback", "cuStreamAddCallback", "cudaStreamAddCallback"))]
    pub fn launch_host_function<F: FnOnce() + Send + 'static>(&self, function: F) -> Result<()> {
        // A graph may run many times, but the function is `FnOnce`.
        self.inner.refuse_captured("a function for one call (Graph::add_host takes one for many)")?;
        let data = Box::into_raw(Box::new(Call { function, report: Arc::clone(self.inner.report()) }));
        let result = self.inner.submit_held(&[], None, |raw| {
            // SAFETY: the stream is alive; `trampoline` takes what `data` points to, which may be sent to another thread.
            let status = unsafe { hip_sys::hipLaunchHostFunc(raw, Some(trampoline::<F>), data.cast()) };
            check(status, "hipLaunchHostFunc", || self.inner.describe())
        });
        if result.is_err() {
            // SAFETY: from Box::into_raw above; the runtime returned an error and does not call it.
            drop(unsafe { Box::from_raw(data) });
        }
        result.map(drop)
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

/// A function that is not `Send` does not compile. The test is here and not in `tests/misuse`, because the compiler's
/// message depends on the enabled features. The two examples differ in nothing else:
///
/// ```no_run
/// # let stream = hip::Stream::new(&hip::Device::get(0).unwrap()).unwrap();
/// let count = std::sync::Arc::new(1);
/// stream.launch_host_function(move || drop(count)).unwrap();
/// ```
///
/// ```compile_fail,E0277
/// # let stream = hip::Stream::new(&hip::Device::get(0).unwrap()).unwrap();
/// let count = std::rc::Rc::new(1);
/// stream.launch_host_function(move || drop(count)).unwrap();
/// ```
#[cfg(doctest)]
struct NotSend;

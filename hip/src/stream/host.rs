//! Rust functions in a stream.

use std::ffi::c_void;
use std::sync::Arc;

use super::handle::Stream;
use super::report::{Report, run_reporting};
use crate::core::call::check;
#[cfg(doc)]
use crate::core::error::Error;
use crate::core::error::Result;

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

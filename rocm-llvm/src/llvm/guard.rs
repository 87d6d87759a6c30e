//! Keeps LLVM's fatal errors from ending the process.
//!
//! LLVM ends the process on a *fatal error*, such as an operation that the code generator cannot select, after it
//! called a handler. Work that may end this way runs in a thread of its own, and the handler never returns: it sends
//! the message to the waiting caller and parks the thread. The objects that the thread worked on are then never freed.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::Once;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::error::{Error, Result};
use super::raw;

/// Stack size of the thread, in bytes. LLVM's parser and code generator recurse.
const STACK: usize = 64 << 20;

/// Sends a message to the waiting thread.
type Report = Box<dyn Fn(String)>;

thread_local! {
    /// The function to which this thread reports a fatal error: set in threads that work for [`run`].
    static REPORT: RefCell<Option<Report>> = const { RefCell::new(None) };
}

unsafe extern "C" fn on_fatal_error(reason: *const c_char) {
    let message = if reason.is_null() {
        String::new()
    } else {
        // SAFETY: LLVM passes a C string.
        unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned()
    };
    let reported = REPORT
        .try_with(|report| match report.try_borrow().ok().as_deref() {
            Some(Some(report)) => {
                report(message);
                true
            }
            _ => false,
        })
        .unwrap_or(false);
    if reported {
        loop {
            thread::park();
        }
    }
    // A thread of other code: LLVM prints the message and ends the process, as without this handler.
}

/// Installs the handler, once.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    // SAFETY: the handler is a function of this program, which is never unloaded.
    ONCE.call_once(|| unsafe { raw::LLVMInstallFatalErrorHandler(Some(on_fatal_error)) });
}

/// Sets the function to which this thread reports a fatal error.
pub(super) fn report_to(report: impl Fn(String) + 'static) {
    REPORT.with(|cell| *cell.borrow_mut() = Some(Box::new(report)));
}

/// Moves a value into another thread while this one waits.
pub(super) struct Alone<T>(pub(super) T);

// SAFETY: callers in this module wrap LLVM handles that no other thread uses while `run` waits. LLVM's objects are not bound to a thread.
unsafe impl<T> Send for Alone<T> {}

impl<T> Alone<T> {
    /// Takes the whole wrapper: a closure that names the field would capture only the field.
    pub(super) fn take(self) -> T {
        self.0
    }
}

enum Outcome<R> {
    Done(R),
    Fatal(String),
}

/// Runs `work` in a separate thread and waits for it.
///
/// # Errors
/// [`Error::Fatal`] if LLVM reported a fatal error; the work is then never continued, and nothing that it owned is
/// dropped. [`Error::Io`] if no thread can be started.
pub(super) fn run<R: 'static>(operation: &'static str, work: impl FnOnce() -> R + 'static) -> Result<R> {
    let (sender, receiver) = channel::<Alone<Outcome<R>>>();
    let work = Alone(work);
    let body = move || {
        let report: Sender<_> = sender.clone();
        let report = move |message| _ = report.send(Alone(Outcome::Fatal(message)));
        report_to(report);
        let result = (work.take())();
        REPORT.with(|cell| *cell.borrow_mut() = None);
        _ = sender.send(Alone(Outcome::Done(result)));
    };
    let started = thread::Builder::new().name("llvm".to_owned()).stack_size(STACK).spawn(body);
    let thread = started.map_err(|error| Error::io("a thread for LLVM cannot be started", &error))?;
    match receiver.recv().map(Alone::take) {
        Ok(Outcome::Done(result)) => {
            // The thread has ended completely when this function returns.
            _ = thread.join();
            Ok(result)
        }
        Ok(Outcome::Fatal(message)) => Err(Error::Fatal { operation, message }),
        Err(_) => Err(Error::Fatal { operation, message: "the thread that called LLVM panicked".to_owned() }),
    }
}

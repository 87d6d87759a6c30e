//! The end of queued work as a future.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::event::Event;
use super::handle::Stream;
use crate::core::error::Result;
use crate::core::later;
use crate::core::lock::Mutex;
use crate::core::nvidia;

/// A future that resolves when the work queued on a stream is done; see [`Stream::completion`].
///
/// It works with every executor: a host function in the stream wakes the task. It can be dropped early.
#[must_use = "futures do nothing unless awaited"]
pub struct Completion {
    event: Event,
    state: Arc<State>,
}

#[derive(Default)]
struct State(Mutex<Progress>);

#[derive(Default)]
struct Progress {
    done: bool,
    waker: Option<Waker>,
}

impl State {
    fn finish(&self) {
        let mut progress = self.0.lock();
        progress.done = true;
        let waker = progress.waker.take();
        drop(progress);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Finishes when the work is over, and if its state is unknown.
struct FinishOnDrop(Arc<State>);

impl Drop for FinishOnDrop {
    fn drop(&mut self) {
        self.0.finish();
    }
}

impl Stream {
    /// Returns a future that resolves when all work queued so far is done (`hipEventRecord`, `hipLaunchHostFunc`). The
    /// work runs whether or not the future is awaited.
    ///
    /// The future's output has the error of the work, as [`synchronize`](Self::synchronize) returns it.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// # fn block_on<F: std::future::Future>(future: F) -> F::Output {
    /// #     struct Unpark(std::thread::Thread);
    /// #     impl std::task::Wake for Unpark {
    /// #         fn wake(self: std::sync::Arc<Self>) { self.0.unpark() }
    /// #     }
    /// #     let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    /// #     let mut future = std::pin::pin!(future);
    /// #     loop {
    /// #         match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
    /// #             std::task::Poll::Ready(output) => return output,
    /// #             std::task::Poll::Pending => std::thread::park(),
    /// #         }
    /// #     }
    /// # }
    /// let device = hip::Device::get(0)?;
    /// let stream = hip::Stream::new(&device)?;
    /// let mut data = hip::DeviceBuffer::<u32>::uninit(&device, 1000)?;
    /// data.fill_async(&stream, 7)?;
    /// block_on(stream.completion()?)?; // in an async function: stream.completion()?.await?
    /// assert_eq!(data.to_vec()?, [7; 1000]); // nothing to wait for any more
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`launch_host_function`](Self::launch_host_function).
    #[doc(alias("hipEventRecord", "cuEventRecord", "cudaEventRecord"))]
    #[doc(alias("hipLaunchHostFunc", "cuLaunchHostFunc", "cudaLaunchHostFunc"))]
    pub fn completion(&self) -> Result<Completion> {
        self.inner.refuse_captured("a future of its work")?;
        let event = Event::without_timing(&self.device())?;
        event.record(self)?;
        let state = Arc::new(State::default());
        let done = Arc::clone(&state);
        self.launch_host_function(move || done.finish())?;
        if nvidia::is_in_use() {
            // After a fault, NVIDIA's driver calls no host function. The reaper asks about the work, and notices.
            let done = FinishOnDrop(Arc::clone(&state));
            later::leave(self.inner.blocker(self.inner.issued()).into_iter().collect(), move || drop(done));
        }
        Ok(Completion { event, state })
    }
}

impl Future for Completion {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let mut progress = self.state.0.lock();
        if !progress.done {
            match &mut progress.waker {
                Some(waker) => waker.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
            return Poll::Pending;
        }
        drop(progress);
        // The event precedes the host function, so this does not block. It returns the error, and credits the stream.
        Poll::Ready(self.event.synchronize())
    }
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self.state.0.lock().done;
        f.debug_struct("Completion").field("done", &done).finish()
    }
}

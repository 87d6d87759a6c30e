//! Operations of streams on signals: single ones, and batches in one call.

use hip_sys::hipStream_t;
#[cfg(feature = "rocm-6-4")]
use hip_sys::{
    hipStreamBatchMemOpParams, hipStreamMemOpWaitValue64, hipStreamMemOpWaitValueParams_t, hipStreamMemOpWriteValue64,
    hipStreamMemOpWriteValueParams_t,
};
use smallvec::SmallVec;

use super::handle::Stream;
use super::signal::{Signal, WaitCondition};
use super::usage::Access;
use crate::core::call::check;
use crate::core::error::Result;
#[cfg(feature = "rocm-6-4")]
use crate::core::error::Status;

/// An operation of a stream or graph on a [`Signal`].
#[derive(Clone, Copy, Debug)]
pub enum SignalOp<'a> {
    /// Waits until the signal's value fulfils the condition.
    Wait(&'a Signal, WaitCondition),
    /// Sets the signal to the value.
    Write(&'a Signal, u64),
}

impl SignalOp<'_> {
    fn signal(&self) -> &Signal {
        match self {
            Self::Wait(signal, _) | Self::Write(signal, _) => signal,
        }
    }

    pub(crate) fn access(&self) -> Access<'_> {
        self.signal().access()
    }

    /// Converts to an entry of a batch.
    #[cfg(feature = "rocm-6-4")]
    pub(crate) fn raw(&self) -> hipStreamBatchMemOpParams {
        let address = self.signal().pointer();
        let mut raw = hipStreamBatchMemOpParams::default();
        match *self {
            Self::Wait(_, condition) => {
                let (value, flags) = condition.raw();
                let operation = hipStreamMemOpWaitValue64;
                let mut wait = hipStreamMemOpWaitValueParams_t { operation, address, flags, ..Default::default() };
                wait.anon_1.value64 = value;
                raw.waitValue = wait;
            }
            Self::Write(_, value) => {
                let operation = hipStreamMemOpWriteValue64;
                let mut write = hipStreamMemOpWriteValueParams_t { operation, address, ..Default::default() };
                write.anon_1.value64 = value;
                raw.writeValue = write;
            }
        }
        raw
    }

    /// Queues the operation alone. The stream must have recorded the use of the signal.
    fn queue(&self, stream: hipStream_t, asked: impl FnOnce() -> String) -> Result<()> {
        let word = self.signal().pointer();
        match *self {
            Self::Wait(_, condition) => {
                let (value, flags) = condition.raw();
                // SAFETY: the signal's word is kept until the stream is done with it.
                let status = unsafe { hip_sys::hipStreamWaitValue64(stream, word, value, flags, u64::MAX) };
                check(status, "hipStreamWaitValue64", asked)
            }
            Self::Write(_, value) => {
                // SAFETY: as above; 0 is the only flag that HIP defines.
                let status = unsafe { hip_sys::hipStreamWriteValue64(stream, word, value, 0) };
                check(status, "hipStreamWriteValue64", asked)
            }
        }
    }
}

/// Queues at most 256 operations, which is the runtime's limit, with one call (`hipStreamBatchMemOp`).
///
/// The runtime launches a kernel with one thread per operation, and these threads run independently. Returns `false` if
/// the runtime does not support it: the function was added in 6.4, and ROCm 7.2.4 rejects every call.
#[cfg(feature = "rocm-6-4")]
fn queue_batch(stream: hipStream_t, operations: &[SignalOp<'_>], asked: impl FnOnce() -> String) -> Result<bool> {
    let mut raw: SmallVec<[hipStreamBatchMemOpParams; 8]> = operations.iter().map(SignalOp::raw).collect();
    // SAFETY: `raw` has as many operations as passed, and the runtime copies them; the signals' words are kept until the stream is done
    // with them.
    let status = unsafe { hip_sys::hipStreamBatchMemOp(stream, raw.len() as u32, raw.as_mut_ptr(), 0) };
    match check(status, "hipStreamBatchMemOp", asked) {
        Ok(()) => Ok(true),
        Err(error) => match error.status() {
            Some(Status::INVALID_VALUE | Status::NOT_SUPPORTED | Status::SYMBOL_NOT_FOUND) => Ok(false),
            _ => Err(error),
        },
    }
}

impl Stream {
    /// Makes all later work on this stream wait until a signal's value fulfils a condition (`hipStreamWaitValue64`).
    ///
    /// # Errors
    /// [`Capture`](crate::Error::Capture) while the stream is captured: use
    /// [`Graph::add_signal_ops`](crate::Graph::add_signal_ops) in a graph. The runtime's status.
    #[doc(alias("hipStreamWaitValue64", "cuStreamWaitValue64"))]
    #[doc(alias("hipStreamWaitValue32", "cuStreamWaitValue32"))]
    pub fn wait_signal(&self, signal: &Signal, condition: WaitCondition) -> Result<()> {
        self.batch_signal_ops(&[SignalOp::Wait(signal, condition)])
    }

    /// Writes a signal after all work queued so far (`hipStreamWriteValue64`).
    ///
    /// # Errors
    /// Those of [`wait_signal`](Self::wait_signal).
    #[doc(alias("hipStreamWriteValue64", "cuStreamWriteValue64"))]
    #[doc(alias("hipStreamWriteValue32", "cuStreamWriteValue32"))]
    pub fn write_signal(&self, signal: &Signal, value: u64) -> Result<()> {
        self.batch_signal_ops(&[SignalOp::Write(signal, value)])
    }

    /// Waits for signals and writes to them, in one call (`hipStreamBatchMemOp`, of ROCm 6.4). For runtimes that do not
    /// support it, which include 7.2, each operation is a separate call.
    ///
    /// The operations run after the work queued so far and before the work queued later, but in any order among
    /// themselves, possibly concurrently: put operations that must come after a wait into another call.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, Stream};
    /// use hip::stream::{Signal, SignalOp, WaitCondition};
    ///
    /// let device = Device::get(0)?;
    /// # if Signal::new(&device, 0).is_err() { return Ok(()) }
    /// let (go, done) = (Signal::new(&device, 0)?, Signal::new(&device, 0)?);
    /// let stream = Stream::new(&device)?;
    /// let both = [SignalOp::Wait(&go, WaitCondition::AtLeast(1)), SignalOp::Wait(&done, WaitCondition::Equal(0))];
    /// match stream.batch_signal_ops(&both) {
    ///     Err(error) if error.status() == Some(hip::Status::NOT_SUPPORTED) => return Ok(()),
    ///     other => other?,
    /// }
    /// stream.write_signal(&done, 7)?;
    /// assert_eq!(done.load()?, 0);
    /// go.store(1)?;
    /// stream.synchronize()?;
    /// assert_eq!(done.load()?, 7);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`wait_signal`](Self::wait_signal). Operations before the one that failed may be queued.
    #[doc(alias("hipStreamBatchMemOp", "cuStreamBatchMemOp"))]
    pub fn batch_signal_ops(&self, operations: &[SignalOp<'_>]) -> Result<()> {
        // The runtime would run them immediately, and leave them out of the graph.
        self.inner.refuse_captured("waiting for signals and writing to them")?;
        if operations.is_empty() {
            return Ok(());
        }
        let accesses: SmallVec<[Access<'_>; 8]> = operations.iter().map(SignalOp::access).collect();
        let queued = self.inner.submit_held(&accesses, None, |raw| {
            let asked = |operations: &[SignalOp<'_>]| format!("{operations:?}, {}", self.inner.describe());
            for batch in operations.chunks(256) {
                #[cfg(feature = "rocm-6-4")]
                if batch.len() > 1 && queue_batch(raw, batch, || asked(batch))? {
                    continue;
                }
                for operation in batch {
                    operation.queue(raw, || asked(std::slice::from_ref(operation)))?;
                }
            }
            Ok(())
        });
        queued.map(drop)
    }
}

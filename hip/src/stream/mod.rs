//! Streams and the order of their work: events, signals, host functions, and the record of memory uses by stream.

#[cfg(feature = "rocm-7-1")]
mod attributes;
mod capture;
pub(crate) mod captures;
mod completion;
mod create;
pub(crate) mod event;
#[cfg(feature = "rocm-10-0")]
mod execution;
mod foreign;
mod handle;
mod host;
pub(crate) mod idle;
mod inner;
mod launches;
mod lifecycle;
mod list;
mod of_device;
mod order;
mod panic_cell;
mod panic_record;
mod pooled_event;
mod raw_event;
pub(crate) mod recorded;
mod report;
mod signal;
mod signal_op;
mod submit;
mod turns;
pub(crate) mod usage;
mod wait;
mod watched;
mod watching;

pub(crate) use capture::{Capture, Captured, keep};
pub use completion::Completion;
pub use event::{Event, EventOptions, IpcEventHandle};
#[cfg(feature = "rocm-10-0")]
pub(crate) use execution::{ContextInner, create_in_context};
pub use handle::{Stream, StreamOptions};
pub(crate) use inner::StreamInner;
pub(crate) use launches::Launching;
pub use order::without_stream_order;
pub(crate) use panic_cell::PanicCell;
pub(crate) use report::{Report, run_reporting};
pub use signal::{Signal, WaitCondition};
pub use signal_op::SignalOp;

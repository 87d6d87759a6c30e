//! Panics of Rust kernels.

use std::fmt;

/// A panic of a Rust kernel, in [`Error::KernelPanicked`](crate::Error::KernelPanicked).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelPanic {
    /// The source file, as it was passed to the compiler; empty for a stack overflow.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// The message, if it is available without formatting values on the device.
    pub message: Option<String>,
    /// The block.
    pub block: [u32; 3],
    /// The thread in the block.
    pub thread: [u32; 3],
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for KernelPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for KernelPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, block, thread } = self;
        f.write_str("a kernel panicked")?;
        if !file.is_empty() {
            write!(f, " at {file}:{line}:{column}")?;
        }
        write!(f, " in thread {thread:?} of block {block:?}")?;
        message.as_ref().map_or(Ok(()), |message| write!(f, ": {message}"))
    }
}

impl std::error::Error for KernelPanic {}

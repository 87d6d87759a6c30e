//! Memory whose content a crate has checked, and relies on.

use std::fmt;

use crate::core::error::Result;
use crate::memory::DeviceSlice;
use crate::stream::usage::Freeze;

/// Device memory whose content a library crate has checked and then relies on, such as the indices of a sparse matrix, by which a library reads and
/// writes other memory.
///
/// Borrows do not protect such content: a graph writes to its buffers whenever it is launched, and runs the library's work again whenever it is
/// launched. So the crate freezes the memory *before* it checks the content, keeps the `Frozen` as long as it relies on the content, and names
/// it in each call with [`Uses::frozen`](super::Uses::frozen):
///
/// - No graph that writes to the allocation exists when the memory is frozen: `new` refuses that. None is made while it is frozen: capturing or
///   adding such work is an [`Error::Graph`](crate::Error::Graph). This holds for the whole allocation, as graphs keep allocations.
/// - A graph that was captured with the `Frozen` holds the freeze, too. While such a graph can be launched, writing to the memory is an
///   [`Error::Graph`](crate::Error::Graph), even after the `Frozen` was dropped or leaked and its memory given back. This holds for the
///   slice, not for the rest of its allocation.
///
/// As long as the `Frozen` exists, its owner must own the memory or have it borrowed, so that nobody else can write to it directly.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::interop::Frozen;
/// use hip::{Device, DeviceBuffer, Stream};
///
/// let device = Device::get(0)?;
/// let stream = Stream::new(&device)?;
/// let mut indices = DeviceBuffer::from_slice(&device, &[0_u32, 2, 1])?;
/// let graph = stream.capture(|stream| indices.fill_async(stream, 1000));
/// # if graph.as_ref().is_err_and(|e| e.status() == Some(hip::Status::NOT_SUPPORTED)) { return Ok(()) }
/// assert!(Frozen::new(&indices, "the indices").is_err()); // the graph could be launched after the check
/// drop(graph);
/// let frozen = Frozen::new(&indices, "the indices")?;
/// assert!(indices.to_vec()?.iter().all(|&index| index < 3));
/// assert!(stream.capture(|stream| indices.fill_async(stream, 1000)).is_err());
/// # drop(frozen);
/// # Ok(()) }
/// ```
pub struct Frozen(pub(super) Freeze);

impl Frozen {
    /// Freezes memory whose content is checked next. `what` names it in errors: "the column indices of a matrix".
    ///
    /// Work that is queued already is not waited for: reading the content waits for what writes to it.
    ///
    /// # Errors
    /// [`Error::Graph`](crate::Error::Graph) if a graph that can still be launched, or a capture under way, writes to the allocation, and for memory
    /// that something else may write to at any time: a variable of a module, memory of a library's object
    /// ([`from_raw_parts_tracked`](crate::DeviceBuffer::from_raw_parts_tracked)).
    pub fn new<'a, T: 'a>(memory: impl Into<DeviceSlice<'a, T>>, what: &'static str) -> Result<Self> {
        let memory = memory.into();
        memory.usage().freeze(memory.span(), what).map(Self)
    }
}

impl fmt::Debug for Frozen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Frozen")
    }
}

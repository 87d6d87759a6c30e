//! The host's side: what the `launch` of a kernel does, panics and output of kernels.

use std::fmt;
use std::marker::PhantomData;

use hip::{Device, DeviceBuffer, DeviceSliceMut, Error, Kernel, LaunchConfig, Module, Result, Stream};

#[doc(hidden)]
pub use hip::typed;

use crate::code::Kernels;
#[doc(hidden)]
pub use crate::code::Stub;

/// A kernel whose parameters were compared with its signature.
#[doc(hidden)]
pub struct Launcher<K> {
    kernel: typed::TypedKernel,
    /// Bytes of stack of each thread that the kernel has stated; 0 for none.
    stack: u32,
    /// The stub's type: what was loaded for one stub does not fit into another.
    stub: PhantomData<fn() -> K>,
}

impl<K> Clone for Launcher<K> {
    fn clone(&self) -> Self {
        Self { kernel: self.kernel.clone(), stack: self.stack, stub: PhantomData }
    }
}

impl<K> fmt::Debug for Launcher<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kernel.fmt(f)
    }
}

#[doc(hidden)]
#[allow(missing_docs)]
impl<K> Launcher<K> {
    /// # Safety
    /// All but the code is of the stub `K`.
    pub unsafe fn load(kernels: &Kernels, name: &str, parameters: &[typed::Shape], stub: &Stub<'_>) -> Result<Self> {
        kernels.expect(stub)?;
        // SAFETY: the code is of the stub's source, which the compilers of both sides have checked.
        unsafe { Self::load_unchecked(kernels.module(), name, parameters) }
    }

    /// # Safety
    /// That of [`load`](Self::load), and the kernel is what the stub says.
    pub unsafe fn load_unchecked(module: &Module, name: &str, parameters: &[typed::Shape]) -> Result<Self> {
        Ok(Self { kernel: typed::TypedKernel::load(module, name, parameters)?, stack: 0, stub: PhantomData })
    }

    /// The same with a stack for each thread, which the device has from now on.
    pub fn with_stack(self, bytes: u32) -> Result<Self> {
        typed::require_stack(&self.kernel().device(), bytes)?;
        Ok(Self { stack: bytes, ..self })
    }

    /// Makes sure that the device still has the stack that the kernel has stated.
    #[inline]
    fn require_stack(&self) -> Result<()> {
        if self.stack == 0 { Ok(()) } else { typed::require_stack(&self.kernel().device(), self.stack) }
    }

    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        self.kernel.kernel()
    }

    #[inline]
    #[must_use]
    pub fn needs(&self, config: LaunchConfig) -> Needs<'_> {
        Needs { kernel: self.kernel(), config, wrong: None }
    }

    /// # Safety
    /// The arguments are of the kinds that `load` has compared, and the kernel does nothing that is not allowed.
    #[inline]
    pub unsafe fn launch<const N: usize>(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        arguments: [typed::Held<'_>; N],
    ) -> Result<()> {
        self.require_stack()?;
        // SAFETY: the caller ensures it; no textures or surfaces are among the arguments.
        unsafe { self.kernel.launch(stream, config, arguments, &[]) }
    }

    /// For kernels that wait for all blocks of the grid.
    ///
    /// # Safety
    /// That of [`launch`](Self::launch).
    pub unsafe fn launch_cooperative<const N: usize>(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        arguments: [typed::Held<'_>; N],
    ) -> Result<()> {
        self.require_stack()?;
        // SAFETY: as above.
        unsafe { self.kernel.launch_cooperative(stream, config, arguments, &[]) }
    }
}

/// The state of a grid's barrier: the argument for a `GridBarrier`. It serves any number of launches.
#[derive(Debug)]
pub struct GridState {
    words: DeviceBuffer<u32>,
}

impl GridState {
    /// The state of a barrier that no thread has come to.
    ///
    /// # Errors
    /// Those of [`DeviceBuffer::zeroed`].
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self { words: DeviceBuffer::zeroed(device, 4)? })
    }

    /// The state for a launch on `stream`: queues that it is zero, whatever the launch before has left.
    #[doc(hidden)]
    pub fn for_launch(&mut self, stream: &Stream) -> Result<DeviceSliceMut<'_, u32>> {
        self.words.fill_async(stream, 0)?;
        Ok(self.words.as_slice_mut())
    }
}

/// What a kernel needs of its launch.
#[doc(hidden)]
#[derive(Debug)]
pub struct Needs<'k> {
    kernel: &'k Kernel,
    config: LaunchConfig,
    wrong: Option<String>,
}

#[doc(hidden)]
#[allow(missing_docs)]
impl Needs<'_> {
    #[cold]
    fn is_wrong(&mut self, reason: String) {
        self.wrong.get_or_insert(reason);
    }

    /// Threads of one dimension, so that each has its own number.
    #[inline]
    pub fn one_dimension(&mut self, name: &str) {
        let LaunchConfig { grid, block, .. } = self.config;
        if [grid.y, grid.z, block.y, block.z] != [1; 4] {
            self.is_wrong(format!(
                "`{name}` gives each thread of a grid with one dimension its own elements; this grid is {grid} blocks of {block}"
            ));
        }
    }

    /// Threads of two dimensions and complete rows.
    #[inline]
    pub fn width(&mut self, name: &str, width: u64, len: u64) {
        let LaunchConfig { grid, block, .. } = self.config;
        if [grid.z, block.z] != [1; 2] {
            self.is_wrong(format!(
                "`{name}` gives each thread of a grid with two dimensions its own element; this grid is {grid} blocks of {block}"
            ));
        }
        if width == 0 || len % width != 0 {
            self.is_wrong(format!("`{name}` has {len} elements, which are not complete rows of {width}"));
        }
    }

    #[inline]
    pub fn same_len(&mut self, one: &str, len: u64, other: &str, other_len: u64) {
        if len != other_len {
            self.is_wrong(format!(
                "`{one}` has {len} elements and `{other}` {other_len}: the kernel needs the same number of both"
            ));
        }
    }

    #[inline]
    pub fn max_threads(&mut self, most: u32) {
        if self.config.block.count() > u128::from(most) {
            let block = self.config.block;
            self.is_wrong(format!("a block has {most} threads at most (`max_threads`); this one is {block}"));
        }
    }

    /// The configuration with shared memory of so many bytes added.
    #[inline]
    pub fn finish(mut self, bytes: std::result::Result<usize, usize>) -> Result<LaunchConfig> {
        let sum = bytes.map(|bytes| bytes.saturating_add(self.config.shared_bytes as usize));
        match sum.map(u32::try_from) {
            Ok(Ok(bytes)) => self.config.shared_bytes = bytes,
            Ok(Err(_)) => self.is_wrong(format!("{sum:?} bytes of shared memory")),
            Err(count) => self.is_wrong(format!("{count} elements of shared memory")),
        }
        match self.wrong {
            None => Ok(self.config),
            Some(reason) => Err(Error::Geometry { kernel: self.kernel.name().to_owned(), reason }),
        }
    }
}

/// Where a kernel has panicked: in [`Error::KernelPanicked`], which the first wait for the launch returns.
pub use hip::KernelPanic as Panic;

/// Waits for the stream, and returns the panic of a kernel that [`hip::Stream::synchronize`] returns as an error.
///
/// # Errors
/// The other errors of [`hip::Stream::synchronize`].
pub fn take_panic(stream: &Stream) -> Result<Option<Panic>> {
    match stream.synchronize() {
        Ok(()) => Ok(None),
        Err(Error::KernelPanicked(panic)) => Ok(Some(*panic)),
        Err(other) => Err(other),
    }
}

/// The first argument of each kernel in Rust: where it writes a panic. The stubs that `#[kernel]` makes pass it; a launch by
/// [`hip::Kernel::launch`], or a node of a graph, passes it by itself.
///
/// The number is the stream's own, and stays the same. While the stream is captured, it is that of the graph, whose launches write a panic
/// where the stream of the launch has its own. With 0 in its place, a panic ends its wave and nobody is told.
///
/// # Errors
/// `hipErrorOutOfMemory`; [`Error::Capture`] if another thread captures the stream.
#[inline]
pub fn panics(stream: &Stream) -> Result<u64> {
    typed::panics(stream)
}

/// The output of kernels: the argument for a `Printer`.
#[derive(Debug)]
pub struct Printed {
    words: DeviceBuffer<u32>,
}

/// What kernels have printed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Text {
    /// One string for each call of `printf!`, in the order of the calls as far as there is one.
    pub lines: Vec<String>,
    /// Bytes, rounded up to words, that had no room.
    pub dropped: u64,
}

impl Printed {
    /// Room for so many bytes, of which each call of `printf!` takes four more than its text.
    ///
    /// # Errors
    /// Those of [`DeviceBuffer::zeroed`].
    pub fn new(device: &Device, bytes: usize) -> Result<Self> {
        Ok(Self { words: DeviceBuffer::zeroed(device, bytes.div_ceil(4) + 1)? })
    }

    #[doc(hidden)]
    pub fn as_slice_mut(&mut self) -> DeviceSliceMut<'_, u32> {
        self.words.as_slice_mut()
    }

    /// Waits for the kernels that were launched with it, and takes their output.
    ///
    /// # Errors
    /// Those of copies.
    pub fn take(&mut self) -> Result<Text> {
        let words = self.words.to_vec()?;
        self.words.fill(0)?;
        let (asked, mut rest) = words.split_first().map_or((0, &[][..]), |(asked, rest)| (*asked as usize, rest));
        let dropped = (asked.saturating_sub(rest.len()) * 4) as u64;
        rest = &rest[..asked.min(rest.len())];
        let mut lines = Vec::new();
        while let [len, tail @ ..] = rest {
            let count = (*len as usize).div_ceil(4);
            // A call that had no room has left nothing; all behind it had none, either.
            if *len == 0 || count > tail.len() {
                break;
            }
            let bytes: &[u8] = hip::bytemuck::cast_slice(&tail[..count]);
            lines.push(String::from_utf8_lossy(&bytes[..*len as usize]).into_owned());
            rest = &tail[count..];
        }
        Ok(Text { lines, dropped })
    }

    /// Prints the output to the standard output.
    ///
    /// # Errors
    /// As for [`take`](Self::take).
    pub fn print(&mut self) -> Result<()> {
        let text = self.take()?;
        text.lines.iter().for_each(|line| print!("{line}"));
        if text.dropped > 0 {
            println!("({} bytes of output had no room)", text.dropped);
        }
        Ok(())
    }
}

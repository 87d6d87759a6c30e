//! The host side: the implementation of a kernel's `launch`, and panics and output of kernels.

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
    /// Bytes of stack of each thread that the kernel states; 0 for none.
    stack: u32,
    /// The stub's type: a kernel loaded for one stub does not fit another.
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
    /// Everything except the code must belong to the stub `K`.
    pub unsafe fn load(kernels: &Kernels, name: &str, parameters: &[typed::Shape], stub: &Stub<'_>) -> Result<Self> {
        kernels.expect(stub)?;
        // SAFETY: the code was made from the stub's source, which the compilers of both sides have checked.
        unsafe { Self::load_unchecked(kernels.module(), name, parameters) }
    }

    /// # Safety
    /// The same as for [`load`](Self::load), and the kernel must match the stub.
    pub unsafe fn load_unchecked(module: &Module, name: &str, parameters: &[typed::Shape]) -> Result<Self> {
        Ok(Self { kernel: typed::TypedKernel::load(module, name, parameters)?, stack: 0, stub: PhantomData })
    }

    /// Returns the same with a stack for each thread, and sets the device's stack size.
    pub fn with_stack(self, bytes: u32) -> Result<Self> {
        typed::require_stack(&self.kernel().device(), bytes)?;
        Ok(Self { stack: bytes, ..self })
    }

    /// Ensures that the device still has the stack size that the kernel states.
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
    /// The arguments must be of the kinds that `load` has compared, and the kernel must only perform valid accesses.
    #[inline]
    pub unsafe fn launch<const N: usize>(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        arguments: [typed::Held<'_>; N],
    ) -> Result<()> {
        self.require_stack()?;
        // SAFETY: the caller ensures it; the arguments contain no textures or surfaces.
        unsafe { self.kernel.launch(stream, config, arguments, &[]) }
    }

    /// Launches a kernel that waits for all blocks of the grid.
    ///
    /// # Safety
    /// The same as for [`launch`](Self::launch).
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

/// The state of a grid's barrier: the argument for a `GridBarrier`. It can be used for any number of launches.
#[derive(Debug)]
pub struct GridState {
    words: DeviceBuffer<u32>,
}

impl GridState {
    /// Creates the state of a barrier that no thread has reached.
    ///
    /// # Errors
    /// Those of [`DeviceBuffer::zeroed`].
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self { words: DeviceBuffer::zeroed(device, 4)? })
    }

    /// Returns the state for a launch on `stream`, and queues that it is zeroed, whatever the previous launch left.
    #[doc(hidden)]
    pub fn for_launch(&mut self, stream: &Stream) -> Result<DeviceSliceMut<'_, u32>> {
        self.words.fill_async(stream, 0)?;
        Ok(self.words.as_slice_mut())
    }
}

/// The requirements of a kernel on its launch.
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

    /// Requires threads of one dimension, so that each has its own number.
    #[inline]
    pub fn one_dimension(&mut self, name: &str) {
        let LaunchConfig { grid, block, .. } = self.config;
        if [grid.y, grid.z, block.y, block.z] != [1; 4] {
            self.is_wrong(format!(
                "`{name}` gives each thread of a grid with one dimension its own elements; this grid is {grid} blocks of {block}"
            ));
        }
    }

    /// Requires threads of two dimensions and complete rows.
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

    /// Returns the configuration with this many bytes of shared memory added.
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

/// The location of a kernel's panic: part of [`Error::KernelPanicked`], which the first wait for the launch returns.
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

/// Returns the first argument of each kernel in Rust: the place for a panic. The stubs that `#[kernel]` makes pass it;
/// a launch by [`hip::Kernel::launch`], or a node of a graph, passes it automatically.
///
/// The number belongs to the stream, and stays the same. While the stream is captured, it is that of the graph, whose
/// launches write a panic to the place of the stream that they run on. If 0 is passed instead, a panic ends its wave
/// and is not reported.
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

/// Output of kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Text {
    /// One string for each call of `printf!`, in the order of the calls if they are ordered.
    pub lines: Vec<String>,
    /// Number of bytes, rounded up to words, that did not fit.
    pub dropped: u64,
}

impl Printed {
    /// Creates a buffer of this many bytes. Each call of `printf!` uses four more bytes than its text.
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

    /// Waits for the kernels that were launched with it, and removes and returns their output.
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
            // A call that did not fit has written nothing; all later ones did not fit, either.
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
    /// Those of [`take`](Self::take).
    pub fn print(&mut self) -> Result<()> {
        let text = self.take()?;
        text.lines.iter().for_each(|line| print!("{line}"));
        if text.dropped > 0 {
            println!("({} bytes of output had no room)", text.dropped);
        }
        Ok(())
    }
}

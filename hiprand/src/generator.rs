//! Device generators.

use std::ffi::c_void;
use std::ptr;

use hip::sys::{self, hipStream_t};
use hip::{IntoSliceMut, Pod, Status, Stream};
use hip_linalg::{Handle, Library, Operands};

use crate::element::{self, Request};
use crate::kind::DIMENSIONS;
use crate::raw::{self, hiprandStatus_t};
use crate::{Bits, Error, Kind, Ordering, Pseudo, Quasi, Real, Result, check, invalid};

/// The first version of rocRAND that fills tables in host functions.
const ROCRAND_3: i32 = 300_000;

pub(crate) struct HipRand;

impl HipRand {
    /// Creates a generator on the current device.
    pub(crate) fn of(kind: impl Kind) -> Result<*mut c_void> {
        let mut generator = ptr::null_mut();
        // SAFETY: the function writes a generator through a valid pointer.
        let status = unsafe { raw::hiprandCreateGenerator(&mut generator, kind.code()) };
        check(status, "hiprandCreateGenerator", || format!("a generator {kind:?} on the current device"))?;
        Ok(generator)
    }
}

impl Library for HipRand {
    type Error = Error;
    const SCALARS: bool = false;

    fn create() -> Result<*mut c_void> {
        Self::of(Pseudo::Default)
    }

    unsafe fn destroy(generator: *mut c_void) {
        // SAFETY: the caller's generator, on the current device.
        unsafe { destroy(generator) }
    }

    unsafe fn set_stream(generator: *mut c_void, stream: hipStream_t) -> Result<()> {
        // SAFETY: a generator that is alive, and a stream of its device.
        check(unsafe { raw::hiprandSetStream(generator, stream) }, "hiprandSetStream", || "a stream".to_owned())
    }
}

/// Destroys a generator whose device is current. The library ends the process if HIP fails then, for example after the
/// loss of a device. In that case the generator is leaked.
///
/// # Safety
/// The library must have made the generator, and nothing may use it any more.
pub(crate) unsafe fn destroy(generator: *mut c_void) {
    // SAFETY: no arguments.
    if unsafe { sys::hipDeviceSynchronize() } == sys::hipSuccess {
        // SAFETY: the caller's generator.
        let _ = unsafe { raw::hiprandDestroyGenerator(generator) };
    }
}

/// The settings that both kinds of generators remember.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings<K> {
    pub(crate) kind: K,
    pub(crate) dimensions: u32,
    /// Values that were set, to set them again for another library generator.
    offset: Option<u64>,
    seed: Option<u64>,
    ordering: Option<Ordering>,
    /// Whether the library has built its state for the current settings.
    pub(crate) ready: bool,
    /// Whether the next number is the first one of the sequence, at the current settings.
    started: bool,
}

impl<K: Kind> Settings<K> {
    pub(crate) fn new(kind: K) -> Self {
        Self { kind, dimensions: 1, offset: None, seed: None, ordering: None, ready: false, started: false }
    }

    /// Called when the library has built its state, which starts at the offset.
    pub(crate) fn built(&mut self) {
        (self.ready, self.started) = (true, false);
    }

    /// Called before each call that takes numbers. Returns whether the first one in every dimension is zero.
    pub(crate) fn starts_at_origin(&mut self) -> bool {
        let first = !std::mem::replace(&mut self.started, true);
        first && self.kind.has_origin() && self.offset.unwrap_or(0) == 0
    }

    /// Returns the number of points that make this many numbers, one for each dimension.
    pub(crate) fn points(&self, count: usize) -> usize {
        count / self.dimensions as usize
    }

    pub(crate) fn asked(&self, count: usize) -> String {
        let Self { kind, dimensions, .. } = self;
        if *dimensions == 1 {
            format!("{count} numbers of {kind:?}")
        } else {
            format!("{count} numbers of {kind:?} in {dimensions} dimensions")
        }
    }

    /// # Safety
    /// The generator must be alive, and nothing else may call it.
    pub(crate) unsafe fn set_offset(&mut self, generator: *mut c_void, offset: u64) -> Result<()> {
        self.kind.starts_at(offset)?;
        self.ready = false;
        // SAFETY: the caller's generator.
        let status = unsafe { raw::hiprandSetGeneratorOffset(generator, offset) };
        check(status, "hiprandSetGeneratorOffset", || format!("{offset}, of {:?}", self.kind))?;
        self.offset = Some(offset);
        Ok(())
    }

    /// Applies all settings of another generator to this one, which is new.
    ///
    /// # Safety
    /// The generator must be alive, and nothing else may call it.
    unsafe fn set_again(self, generator: *mut c_void) -> Result<()> {
        let asked = || format!("as before, of {:?}", self.kind);
        if let Some(seed) = self.seed {
            // SAFETY: the caller's generator.
            let status = unsafe { raw::hiprandSetPseudoRandomGeneratorSeed(generator, seed) };
            check(status, "hiprandSetPseudoRandomGeneratorSeed", asked)?;
        }
        if let Some(ordering) = self.ordering {
            // SAFETY: the caller's generator.
            let status = unsafe { raw::hiprandSetGeneratorOrdering(generator, ordering.code()) };
            check(status, "hiprandSetGeneratorOrdering", asked)?;
        }
        if self.dimensions != 1 {
            // SAFETY: the caller's generator, which is a quasi-random one.
            let status = unsafe { raw::hiprandSetQuasiRandomGeneratorDimensions(generator, self.dimensions) };
            check(status, "hiprandSetQuasiRandomGeneratorDimensions", asked)?;
        }
        if let Some(offset) = self.offset {
            // SAFETY: the caller's generator.
            check(unsafe { raw::hiprandSetGeneratorOffset(generator, offset) }, "hiprandSetGeneratorOffset", asked)?;
        }
        Ok(())
    }
}

impl Settings<Pseudo> {
    /// # Safety
    /// The generator must be alive, and nothing else may call it.
    pub(crate) unsafe fn set_seed(&mut self, generator: *mut c_void, seed: u64) -> Result<()> {
        self.ready = false;
        // SAFETY: the caller's generator.
        let status = unsafe { raw::hiprandSetPseudoRandomGeneratorSeed(generator, seed) };
        check(status, "hiprandSetPseudoRandomGeneratorSeed", || format!("{seed}, of {:?}", self.kind))?;
        self.seed = Some(seed);
        Ok(())
    }

    /// # Safety
    /// The generator must be alive, and nothing else may call it.
    pub(crate) unsafe fn set_ordering(&mut self, generator: *mut c_void, ordering: Ordering) -> Result<()> {
        // SAFETY: the caller's generator.
        let status = unsafe { raw::hiprandSetGeneratorOrdering(generator, ordering.code()) };
        check(status, "hiprandSetGeneratorOrdering", || format!("{ordering:?}, of {:?}", self.kind))?;
        (self.ordering, self.ready) = (Some(ordering), false);
        Ok(())
    }
}

impl Settings<Quasi> {
    /// # Safety
    /// The generator must be alive, and nothing else may call it.
    pub(crate) unsafe fn set_dimensions(&mut self, generator: *mut c_void, dimensions: u32) -> Result<()> {
        if !(1..=DIMENSIONS).contains(&dimensions) {
            let allowed = format!("1 to {DIMENSIONS}");
            return Err(invalid("the dimensions of a quasi-random generator", dimensions.to_string(), allowed));
        }
        // SAFETY: the caller's generator.
        let status = unsafe { raw::hiprandSetQuasiRandomGeneratorDimensions(generator, dimensions) };
        check(status, "hiprandSetQuasiRandomGeneratorDimensions", || format!("{dimensions}, of {:?}", self.kind))?;
        (self.dimensions, self.ready) = (dimensions, false);
        Ok(())
    }
}

/// A generator that fills device memory in stream order.
///
/// It writes the numbers that the C library writes for the same kind, seed, offset, ordering and sequence of calls,
/// except for one point that [`normal`](Self::normal) corrects. The alignment of a slice can matter as well; a whole
/// buffer is always aligned.
///
/// # Parts
/// A pseudo-random generator makes some numbers together: 4 of `u8`, 2 of `u16` and `f16`, and 2 normal or log-normal
/// numbers of any type. A fill takes whole groups. So a sequence that is filled in parts is that of one fill only if
/// the length of each part but the last is a multiple of the group; otherwise the rest of a group is left out. Filling
/// 10 normal numbers twice is filling 20; filling 5 twice is not filling 10.
///
/// # Graphs
/// A captured call uses the generator's state, which the graph keeps alive. A seed, an offset, an ordering or
/// dimensions that are set later do not change the graph: the generator continues with a new state.
#[derive(Debug)]
#[doc(alias("hiprandGenerator_t", "curandGenerator_t", "rocrand_generator"))]
pub struct Generator<K: Kind = Pseudo> {
    handle: Handle<HipRand>,
    settings: Settings<K>,
    /// The λ of the current Poisson tables.
    lambda: Option<f64>,
    /// Whether a call that uses the tables was captured.
    tables_captured: bool,
}

/// Queues a write of one number of 16 or 32 bits.
///
/// # Safety
/// The address must be valid for it, in stream order.
unsafe fn set<T: Pod>(to: *mut T, number: T, stream: hipStream_t) -> Result<()> {
    let bytes = hip::bytemuck::bytes_of(&number);
    let to = to.cast::<c_void>();
    // SAFETY: as the caller ensures.
    let status = unsafe {
        match *bytes {
            [a, b] => sys::hipMemsetD16Async(to, u16::from_ne_bytes([a, b]), 1, stream),
            [a, b, c, d] => sys::hipMemsetD32Async(to, i32::from_ne_bytes([a, b, c, d]), 1, stream),
            _ => return Ok(()),
        }
    };
    Ok(Status::from(status).check("hipMemsetAsync", || "a number".to_owned())?)
}

impl<K: Kind> Generator<K> {
    /// Creates a generator on the stream's device. It queues its work on the stream. Seed and offset have the library's
    /// defaults.
    ///
    /// # Errors
    /// [`Error::NoLibrary`], with every path that was tried.
    #[doc(alias("hiprandCreateGenerator", "curandCreateGenerator"))]
    pub fn new(stream: &Stream, kind: K) -> Result<Self> {
        let handle = Handle::with(stream, || HipRand::of(kind))?;
        Ok(Self { handle, settings: Settings::new(kind), lambda: None, tables_captured: false })
    }

    /// Returns the kind of the generator.
    #[must_use]
    pub fn kind(&self) -> K {
        self.settings.kind
    }

    /// Returns the stream that later calls queue their work on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.handle.stream()
    }

    /// Makes later calls queue their work on another stream of the device.
    ///
    /// # Errors
    /// [`Error::Hip`] for a stream of another device.
    #[doc(alias("hiprandSetStream", "curandSetStream"))]
    pub fn set_stream(&mut self, stream: &Stream) -> Result<()> {
        Ok(self.handle.set_stream(stream)?)
    }

    /// Restarts the sequence at an offset. The seed does not change.
    ///
    /// For a quasi-random generator, the offset counts points: each number takes one, whatever its type. For a
    /// pseudo-random generator, it counts the generator's steps, as in C, which are not the numbers of every fill:
    ///
    /// | fill | numbers for each step |
    /// |---|---|
    /// | `generate` of `u32`, `uniform` of `f32`, `poisson` | 1 |
    /// | `generate` of `u16`, all of `f16` | 2 |
    /// | `generate` of `u8` | 4 |
    /// | `uniform` of `f64` | 1; with Philox ½, at multiples of 2 |
    /// | `normal` and `log_normal` of `f32` | 2; with Philox 1, at multiples of 2 |
    /// | `normal` and `log_normal` of `f64` | 2; with Philox ½, at multiples of 4 |
    ///
    /// To skip `n` normal numbers of `f32`, pass `n` with Philox and `n / 2` with the others, for an even `n`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for [`Pseudo::Mtgp32`] and [`Pseudo::Mt19937`], which do not support offsets, and for more
    /// than 32 bits with a quasi-random generator.
    #[doc(alias("hiprandSetGeneratorOffset", "curandSetGeneratorOffset"))]
    pub fn set_offset(&mut self, offset: u64) -> Result<()> {
        self.leave_to_graphs()?;
        let settings = &mut self.settings;
        // SAFETY: a generator that is alive, and locked.
        self.handle.configure(|generator| unsafe { settings.set_offset(generator, offset) })
    }

    /// Called before a change that restarts the sequence: if a graph uses the library's generator, it keeps it, and a
    /// new one replaces it here.
    fn leave_to_graphs(&mut self) -> Result<()> {
        if !self.handle.is_in_graph() {
            return Ok(());
        }
        let mut settings = self.settings;
        let handle = Handle::with(self.handle.stream(), || HipRand::of(settings.kind))?;
        // SAFETY: a generator that is alive, and locked.
        handle.configure(|generator| unsafe { settings.set_again(generator) })?;
        settings.ready = false;
        (self.handle, self.settings, self.lambda, self.tables_captured) = (handle, settings, None, false);
        Ok(())
    }

    /// Builds the generator's state for the current settings; otherwise the first call does. It can wait for the
    /// device. Call it before a capture.
    ///
    /// # Errors
    /// An error from the library; [`Error::Hip`] while the stream is captured.
    #[doc(alias("hiprandGenerateSeeds", "curandGenerateSeeds"))]
    pub fn prepare(&mut self) -> Result<()> {
        if self.settings.ready {
            return Ok(());
        }
        // The library frees the existing state, and its device memory with it. A graph that was captured before the state existed uses a
        // state of this generator.
        self.leave_to_graphs()?;
        self.handle.wait()?;
        let settings = &self.settings;
        // SAFETY: the generator's work, on its own memory, which it allocates on its device.
        unsafe {
            self.handle.call_waiting_for_device(Operands::on(self.handle.stream()), |generator| {
                let status = raw::hiprandGenerateSeeds(generator);
                check(status, "hiprandGenerateSeeds", || format!("the state of {:?}", settings.kind))
            })?;
        }
        self.settings.built();
        Ok(())
    }

    /// Queues a call that fills `numbers`. `origin` is the number of the point at the origin, if the library writes another.
    fn fill<'a, T: Pod>(
        &mut self,
        numbers: impl IntoSliceMut<'a, T>,
        function: &'static str,
        wide: bool,
        origin: Option<T>,
        call: impl FnOnce(*mut c_void, *mut T, usize) -> hiprandStatus_t,
    ) -> Result<()> {
        let numbers = numbers.into();
        let count = numbers.len();
        self.settings.kind.takes(self.settings.dimensions, &Request { count, wide })?;
        if count == 0 {
            return Ok(());
        }
        self.prepare()?;
        let origin = if self.settings.starts_at_origin() { origin } else { None };
        let settings = &self.settings;
        let mut operands = Operands::on(self.handle.stream());
        let to = operands.slice_mut("the numbers", numbers)?.cast::<T>();
        let stream = self.handle.stream().as_raw();
        // SAFETY: the library queues its work on the handle's stream, and accesses only its own state and these numbers.
        unsafe {
            self.handle.call(operands, &[], |generator, []| {
                check(call(generator, to, count), function, || settings.asked(count))?;
                let Some(origin) = origin else { return Ok(()) };
                for first in (0..count).step_by(settings.points(count)) {
                    set(to.wrapping_add(first), origin, stream)?;
                }
                Ok(())
            })
        }
    }

    /// Fills device memory with random bits: every value of the type is equally likely. A quasi-random generator writes
    /// the upper bits of its points.
    ///
    /// # Errors
    /// [`Error::Invalid`] for `u64` unless the generator is a 64-bit quasi-random one, and for a length that is not a
    /// multiple of the dimensions.
    #[doc(alias(
        "hiprandGenerate",
        "hiprandGenerateChar",
        "hiprandGenerateShort",
        "hiprandGenerateLongLong",
        "curandGenerate",
        "curandGenerateLongLong"
    ))]
    pub fn generate<'a, T: Bits>(&mut self, numbers: impl IntoSliceMut<'a, T>) -> Result<()> {
        // SAFETY: a generator that is alive, and the numbers that it may write.
        self.fill(numbers, T::FUNCTION, T::WIDE, None, |generator, to, count| unsafe {
            T::generate(generator, to, count)
        })
    }

    /// Fills device memory with numbers that are uniformly distributed over (0, 1]: never 0, possibly 1.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a length that is not a multiple of the dimensions of a quasi-random generator.
    #[doc(alias(
        "hiprandGenerateUniform",
        "hiprandGenerateUniformDouble",
        "hiprandGenerateUniformHalf",
        "curandGenerateUniform",
        "curandGenerateUniformDouble"
    ))]
    pub fn uniform<'a, T: Real>(&mut self, numbers: impl IntoSliceMut<'a, T>) -> Result<()> {
        // SAFETY: as in `generate`.
        self.fill(numbers, T::FUNCTIONS[0], false, None, |generator, to, count| unsafe {
            T::uniform(generator, to, count)
        })
    }

    /// Fills device memory with normally distributed numbers.
    ///
    /// AMD's library computes the numbers of a quasi-random generator in the precision of the result: in `f32` and `f16`,
    /// a point within 2⁻²⁶ of 0 or 2⁻²⁵ of 1 gives the mean in place of a number about 6 deviations away. The first
    /// point of a sequence that is not scrambled is 0 in every dimension. This crate writes its number, 6.23 deviations
    /// below the mean. The others, one of 22 million, are left as they are: `f64` has the right numbers, except for a
    /// point with all bits set.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a mean that is not finite, for a deviation that is negative or not finite, and as for
    /// [`uniform`](Self::uniform).
    #[doc(alias(
        "hiprandGenerateNormal",
        "hiprandGenerateNormalDouble",
        "hiprandGenerateNormalHalf",
        "curandGenerateNormal",
        "curandGenerateNormalDouble"
    ))]
    pub fn normal<'a, T: Real>(&mut self, numbers: impl IntoSliceMut<'a, T>, mean: T, deviation: T) -> Result<()> {
        let shape = element::shape(mean, deviation)?;
        self.fill(numbers, T::FUNCTIONS[1], false, element::of_origin(shape, false), |generator, to, count| {
            // SAFETY: as in `generate`.
            unsafe { T::normal(generator, to, count, shape) }
        })
    }

    /// Fills device memory with log-normally distributed numbers: mean and deviation are those of the logarithms.
    ///
    /// # Errors
    /// As for [`normal`](Self::normal).
    #[doc(alias(
        "hiprandGenerateLogNormal",
        "hiprandGenerateLogNormalDouble",
        "hiprandGenerateLogNormalHalf",
        "curandGenerateLogNormal",
        "curandGenerateLogNormalDouble"
    ))]
    pub fn log_normal<'a, T: Real>(&mut self, numbers: impl IntoSliceMut<'a, T>, mean: T, deviation: T) -> Result<()> {
        let shape = element::shape(mean, deviation)?;
        self.fill(numbers, T::FUNCTIONS[2], false, element::of_origin(shape, true), |generator, to, count| {
            // SAFETY: as in `generate`.
            unsafe { T::log_normal(generator, to, count, shape) }
        })
    }

    /// Fills device memory with Poisson distributed counts with mean λ. From λ = 4000 on, the library rounds normally
    /// distributed numbers.
    ///
    /// A call with another λ than the previous call makes new tables, and waits for the generator's work. During a
    /// capture, λ must be that of the previous call. While a graph with such a call exists, λ must be the graph's,
    /// because the graph uses the same tables: use another generator for another λ.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless λ is more than 0 and at most 2.146·10⁹, and as for [`uniform`](Self::uniform);
    /// [`Error::Hip`] for another λ while the stream is captured, and [`hip::Error::Graph`] while a graph uses the
    /// tables.
    #[doc(alias("hiprandGeneratePoisson", "curandGeneratePoisson"))]
    pub fn poisson<'a>(&mut self, counts: impl IntoSliceMut<'a, u32>, lambda: f64) -> Result<()> {
        let lambda = element::lambda(lambda)?;
        let counts = counts.into();
        if self.lambda == Some(lambda) || counts.is_empty() {
            self.tables_captured |= self.stream().is_capturing()?;
            return self.fill(counts, "hiprandGeneratePoisson", false, None, |generator, to, count| {
                // SAFETY: as in `generate`.
                unsafe { raw::hiprandGeneratePoisson(generator, to, count, lambda) }
            });
        }
        let count = counts.len();
        self.settings.kind.takes(self.settings.dimensions, &Request { count, wide: false })?;
        self.prepare()?;
        self.tables_captured &= self.handle.is_in_graph();
        if let (Some(tables), true) = (self.lambda, self.tables_captured) {
            let reason = format!(
                "it may use the generator's tables for λ {tables}, which a call for λ {lambda} replaces: take another generator"
            );
            return Err(hip::Error::Graph { reason }.into());
        }
        // The library fills the tables in stream order, but compares λ with their current content on the host: with work in flight, it
        // would use tables of the wrong λ.
        self.lambda = None;
        self.handle.wait()?;
        self.settings.starts_at_origin();
        let settings = &self.settings;
        let mut operands = Operands::on(self.handle.stream());
        let to = operands.slice_mut("the counts", counts)?.cast::<u32>();
        let call = |generator| {
            // SAFETY: as in `fill`; the call may allocate, and wait.
            let status = unsafe { raw::hiprandGeneratePoisson(generator, to, count, lambda) };
            check(status, "hiprandGeneratePoisson", || format!("{}, λ {lambda}", settings.asked(count)))
        };
        // SAFETY: as in `fill`. rocRAND 2 frees the old tables. Newer releases fill the new tables in a host function that takes a lock,
        // which this call takes too.
        unsafe {
            if crate::version()? < ROCRAND_3 {
                self.handle.call_waiting_for_device(operands, call)?;
            } else {
                self.handle.call_queueing_for_host(operands, call)?;
            }
        }
        self.handle.wait()?;
        self.lambda = Some(lambda);
        Ok(())
    }
}

impl Generator<Pseudo> {
    /// Restarts the sequence with a seed. The offset does not change.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hiprandSetPseudoRandomGeneratorSeed", "curandSetPseudoRandomGeneratorSeed"))]
    pub fn set_seed(&mut self, seed: u64) -> Result<()> {
        self.leave_to_graphs()?;
        let settings = &mut self.settings;
        // SAFETY: a generator that is alive, and locked.
        self.handle.configure(|generator| unsafe { settings.set_seed(generator, seed) })
    }

    /// Restarts the sequence with another ordering. Since ROCm 6.2.
    ///
    /// # Errors
    /// [`Error::NoSymbol`] before ROCm 6.2; [`Error::Library`] for an ordering that the generator does not support.
    #[doc(alias("hiprandSetGeneratorOrdering", "curandSetGeneratorOrdering"))]
    pub fn set_ordering(&mut self, ordering: Ordering) -> Result<()> {
        self.leave_to_graphs()?;
        let settings = &mut self.settings;
        // SAFETY: a generator that is alive, and locked.
        self.handle.configure(|generator| unsafe { settings.set_ordering(generator, ordering) })
    }
}

impl Generator<Quasi> {
    /// Restarts the sequence with points of this many dimensions, 1 to 20 000. The offset does not change.
    ///
    /// # Errors
    /// [`Error::Invalid`] for any other number.
    #[doc(alias("hiprandSetQuasiRandomGeneratorDimensions", "curandSetQuasiRandomGeneratorDimensions"))]
    pub fn set_dimensions(&mut self, dimensions: u32) -> Result<()> {
        self.leave_to_graphs()?;
        let settings = &mut self.settings;
        // SAFETY: a generator that is alive, and locked.
        self.handle.configure(|generator| unsafe { settings.set_dimensions(generator, dimensions) })
    }

    /// Returns the dimensions of its points.
    #[must_use]
    pub fn dimensions(&self) -> u32 {
        self.settings.dimensions
    }
}

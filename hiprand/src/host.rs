//! Host generators.

use std::ffi::c_void;
use std::ptr;

use hip::Device;
use hip::interop::Tracked;

use crate::element::{self, Request};
use crate::generator::{self, Settings};
use crate::raw::{self, hiprandStatus_t};
use crate::{Bits, Error, Kind, Ordering, Pseudo, Quasi, Real, Result, check};

/// A generator that fills host slices with the numbers that a [`Generator`](crate::Generator) of the same kind and seed
/// writes. Since ROCm 6.2.
///
/// Filling a sequence in [parts](crate::Generator#parts) has the same rules.
///
/// Its calls return when the numbers are written. The library allocates memory from HIP, and waits for the device's
/// queued work when it builds its state.
#[derive(Debug)]
#[doc(alias("hiprandGenerator_t", "curandGenerator_t", "rocrand_generator"))]
pub struct HostGenerator<K: Kind = Pseudo> {
    device: Device,
    raw: Raw,
    settings: Settings<K>,
}

#[derive(Debug)]
struct Raw(*mut c_void);

// SAFETY: a generator is not bound to a thread; only its owner calls it.
unsafe impl Send for Raw {}
// SAFETY: a shared reference makes no calls.
unsafe impl Sync for Raw {}

impl<K: Kind> HostGenerator<K> {
    /// Creates a generator on the host. The library uses the device's HIP runtime.
    ///
    /// # Errors
    /// [`Error::NoLibrary`], with every path that was tried; [`Error::Library`] with `HIPRAND_STATUS_NOT_IMPLEMENTED`
    /// before ROCm 6.2.
    #[doc(alias("hiprandCreateGeneratorHost", "curandCreateGeneratorHost"))]
    pub fn new(device: &Device, kind: K) -> Result<Self> {
        hip::interop::expect_rocm("a library of ROCm on this backend")?;
        let raw = device.with_current(|| {
            let mut generator = ptr::null_mut();
            // SAFETY: the function writes a generator through a valid pointer.
            let status = unsafe { raw::hiprandCreateGeneratorHost(&mut generator, kind.code()) };
            check(status, "hiprandCreateGeneratorHost", || format!("a generator {kind:?} on the host"))?;
            Ok::<_, Error>(Raw(generator))
        })??;
        Ok(Self { device: *device, raw, settings: Settings::new(kind) })
    }

    /// Returns the kind of the generator.
    #[must_use]
    pub fn kind(&self) -> K {
        self.settings.kind
    }

    /// Restarts the sequence at an offset, which counts as that of
    /// [`Generator::set_offset`](crate::Generator::set_offset): points, or steps, not the numbers of every fill. The seed
    /// does not change.
    ///
    /// # Errors
    /// As for [`Generator::set_offset`](crate::Generator::set_offset).
    #[doc(alias("hiprandSetGeneratorOffset", "curandSetGeneratorOffset"))]
    pub fn set_offset(&mut self, offset: u64) -> Result<()> {
        // SAFETY: a generator that is alive, and borrowed.
        unsafe { self.settings.set_offset(self.raw.0, offset) }
    }

    /// Builds the generator's state for the current settings; otherwise the first call does.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hiprandGenerateSeeds", "curandGenerateSeeds"))]
    pub fn prepare(&mut self) -> Result<()> {
        if self.settings.ready {
            return Ok(());
        }
        let generator = self.raw.0;
        // SAFETY: a generator that is alive, and borrowed.
        let status = self.device.with_current(|| unsafe { raw::hiprandGenerateSeeds(generator) })?;
        check(status, "hiprandGenerateSeeds", || format!("the state of {:?} on the host", self.settings.kind))?;
        self.settings.built();
        Ok(())
    }

    fn fill<T: Copy>(
        &mut self,
        numbers: &mut [T],
        function: &'static str,
        wide: bool,
        origin: Option<T>,
        call: impl FnOnce(*mut c_void, *mut T, usize) -> hiprandStatus_t,
    ) -> Result<()> {
        let count = numbers.len();
        self.settings.kind.takes(self.settings.dimensions, &Request { count, wide })?;
        if count == 0 {
            return Ok(());
        }
        self.prepare()?;
        let origin = if self.settings.starts_at_origin() { origin } else { None };
        let (generator, to) = (self.raw.0, numbers.as_mut_ptr());
        let status = self.device.with_current(|| call(generator, to, count))?;
        check(status, function, || format!("{}, on the host", self.settings.asked(count)))?;
        if let Some(origin) = origin {
            numbers.iter_mut().step_by(self.settings.points(count)).for_each(|first| *first = origin);
        }
        Ok(())
    }

    /// Fills a slice with random bits, as [`Generator::generate`](crate::Generator::generate) fills device memory.
    ///
    /// # Errors
    /// As for [`Generator::generate`](crate::Generator::generate).
    #[doc(alias("hiprandGenerate", "curandGenerate"))]
    pub fn generate<T: Bits>(&mut self, numbers: &mut [T]) -> Result<()> {
        // SAFETY: a generator that is alive, and the numbers that it may write.
        self.fill(numbers, T::FUNCTION, T::WIDE, None, |generator, to, count| unsafe {
            T::generate(generator, to, count)
        })
    }

    /// Fills a slice with numbers that are uniformly distributed over (0, 1].
    ///
    /// # Errors
    /// As for [`Generator::uniform`](crate::Generator::uniform).
    #[doc(alias("hiprandGenerateUniform", "curandGenerateUniform"))]
    pub fn uniform<T: Real>(&mut self, numbers: &mut [T]) -> Result<()> {
        // SAFETY: as in `generate`.
        self.fill(numbers, T::FUNCTIONS[0], false, None, |generator, to, count| unsafe {
            T::uniform(generator, to, count)
        })
    }

    /// Fills a slice with normally distributed numbers. For quasi-random generators, see
    /// [`Generator::normal`](crate::Generator::normal).
    ///
    /// # Errors
    /// As for [`Generator::normal`](crate::Generator::normal).
    #[doc(alias("hiprandGenerateNormal", "curandGenerateNormal"))]
    pub fn normal<T: Real>(&mut self, numbers: &mut [T], mean: T, deviation: T) -> Result<()> {
        let shape = element::shape(mean, deviation)?;
        self.fill(numbers, T::FUNCTIONS[1], false, element::of_origin(shape, false), |generator, to, count| {
            // SAFETY: as in `generate`.
            unsafe { T::normal(generator, to, count, shape) }
        })
    }

    /// Fills a slice with log-normally distributed numbers.
    ///
    /// # Errors
    /// As for [`Generator::normal`](crate::Generator::normal).
    #[doc(alias("hiprandGenerateLogNormal", "curandGenerateLogNormal"))]
    pub fn log_normal<T: Real>(&mut self, numbers: &mut [T], mean: T, deviation: T) -> Result<()> {
        let shape = element::shape(mean, deviation)?;
        self.fill(numbers, T::FUNCTIONS[2], false, element::of_origin(shape, true), |generator, to, count| {
            // SAFETY: as in `generate`.
            unsafe { T::log_normal(generator, to, count, shape) }
        })
    }

    /// Fills a slice with Poisson distributed counts with mean λ.
    ///
    /// # Errors
    /// As for [`Generator::poisson`](crate::Generator::poisson).
    #[doc(alias("hiprandGeneratePoisson", "curandGeneratePoisson"))]
    pub fn poisson(&mut self, counts: &mut [u32], lambda: f64) -> Result<()> {
        let lambda = element::lambda(lambda)?;
        self.fill(counts, "hiprandGeneratePoisson", false, None, |generator, to, count| {
            // SAFETY: as in `generate`.
            unsafe { raw::hiprandGeneratePoisson(generator, to, count, lambda) }
        })
    }
}

impl HostGenerator<Pseudo> {
    /// Restarts the sequence with a seed. The offset does not change.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hiprandSetPseudoRandomGeneratorSeed", "curandSetPseudoRandomGeneratorSeed"))]
    pub fn set_seed(&mut self, seed: u64) -> Result<()> {
        // SAFETY: a generator that is alive, and borrowed.
        unsafe { self.settings.set_seed(self.raw.0, seed) }
    }

    /// Restarts the sequence with another ordering.
    ///
    /// # Errors
    /// As for [`Generator::set_ordering`](crate::Generator::set_ordering).
    #[doc(alias("hiprandSetGeneratorOrdering", "curandSetGeneratorOrdering"))]
    pub fn set_ordering(&mut self, ordering: Ordering) -> Result<()> {
        // SAFETY: a generator that is alive, and borrowed.
        unsafe { self.settings.set_ordering(self.raw.0, ordering) }
    }
}

impl HostGenerator<Quasi> {
    /// Restarts the sequence with points of this many dimensions, 1 to 20 000. The offset does not change.
    ///
    /// # Errors
    /// [`Error::Invalid`] for any other number.
    #[doc(alias("hiprandSetQuasiRandomGeneratorDimensions", "curandSetQuasiRandomGeneratorDimensions"))]
    pub fn set_dimensions(&mut self, dimensions: u32) -> Result<()> {
        // SAFETY: a generator that is alive, and borrowed.
        unsafe { self.settings.set_dimensions(self.raw.0, dimensions) }
    }

    /// Returns the dimensions of its points.
    #[must_use]
    pub fn dimensions(&self) -> u32 {
        self.settings.dimensions
    }
}

impl<K: Kind> Drop for HostGenerator<K> {
    fn drop(&mut self) {
        let (device, raw) = (self.device, self.raw.0 as usize);
        Tracked::new().release_when_idle(&device, move || {
            // SAFETY: the library made the generator, and nothing uses it any more.
            let _ = device.with_current(|| unsafe { generator::destroy(raw as *mut c_void) });
        });
    }
}

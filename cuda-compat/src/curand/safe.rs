//! Random numbers in buffers of [`crate::driver`].

use std::sync::Arc;

use super::{result, sys};
use crate::driver::safe::between;
use crate::driver::{CudaStream, DevicePtrMut};

pub use super::result::CurandError;

/// The buffer is not usable; [`CudaContext::check_err`](crate::driver::CudaContext::check_err) returns the reason.
const NOT_READY: CurandError = CurandError(sys::curandStatus::CURAND_STATUS_PREEXISTING_FAILURE);

/// A random number generator on a stream.
///
/// ```no_run
/// use cuda_compat::{curand::CudaRng, driver::CudaContext};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let stream = CudaContext::new(0)?.default_stream();
/// let rng = CudaRng::new(42, stream.clone())?;
/// let mut numbers = stream.alloc_zeros::<f32>(1000)?;
/// rng.fill_with_normal(&mut numbers, 0.0, 1.0)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CudaRng {
    pub(crate) generator: sys::curandGenerator_t,
    pub(crate) stream: Arc<CudaStream>,
    /// Settings, for a generator that replaces this one.
    seed: u64,
    offset: Option<u64>,
}

impl CudaRng {
    /// Creates a generator of the default kind on the device of a stream, which runs its work.
    ///
    /// # Errors
    /// `CURAND_STATUS_NOT_INITIALIZED` if hipRAND cannot be loaded: [`sys::load_error`] returns the reason.
    #[doc(alias("hiprandCreateGenerator", "hiprandSetStream"))]
    pub fn new(seed: u64, stream: Arc<CudaStream>) -> Result<Self, CurandError> {
        let generator = stream.context().create_apart(NOT_READY, result::create_generator)?;
        let rng = Self { generator, stream, seed, offset: None };
        // SAFETY: both are alive.
        unsafe { result::set_stream(rng.generator, rng.stream.cu_stream() as _) }?;
        // SAFETY: the generator is alive.
        unsafe { result::set_seed(rng.generator, seed) }?;
        Ok(rng)
    }

    /// Moves the generator to another stream of the same device.
    ///
    /// # Errors
    /// If the library returns an error.
    ///
    /// # Safety
    /// The caller must order work on both streams: the generator's state is memory that both use.
    #[doc(alias("hiprandSetStream"))]
    pub unsafe fn set_stream(&mut self, stream: Arc<CudaStream>) -> Result<(), CurandError> {
        self.stream = stream;
        // SAFETY: both are alive.
        unsafe { result::set_stream(self.generator, self.stream.cu_stream() as _) }
    }

    /// Sets the seed, and restarts the sequence.
    ///
    /// # Errors
    /// If the library returns an error.
    #[doc(alias("hiprandSetPseudoRandomGeneratorSeed"))]
    pub fn set_seed(&mut self, seed: u64) -> Result<(), CurandError> {
        self.leave_to_graphs()?;
        self.seed = seed;
        // SAFETY: the generator is alive.
        unsafe { result::set_seed(self.generator, seed) }
    }

    /// The library frees the state of a generator that restarts, and a graph may use it: another generator replaces it.
    fn leave_to_graphs(&mut self) -> Result<(), CurandError> {
        if !self.stream.context().has_graphs() {
            return Ok(());
        }
        let mut new = Self::new(self.seed, Arc::clone(&self.stream))?;
        if let Some(offset) = self.offset {
            new.offset = Some(offset);
            // SAFETY: the generator is alive.
            unsafe { result::set_offset(new.generator, offset) }?;
        }
        *self = new;
        Ok(())
    }

    /// Sets the position in the sequence.
    ///
    /// # Errors
    /// If the library returns an error.
    #[doc(alias("hiprandSetGeneratorOffset"))]
    pub fn set_offset(&mut self, offset: u64) -> Result<(), CurandError> {
        self.leave_to_graphs()?;
        self.offset = Some(offset);
        // SAFETY: the generator is alive.
        unsafe { result::set_offset(self.generator, offset) }
    }

    /// Fills a buffer with uniformly distributed numbers: above 0 and up to 1, or all integers.
    ///
    /// # Errors
    /// If the library returns an error: the default generator does not support `u64`.
    #[doc(alias("hiprandGenerateUniform", "hiprandGenerateUniformDouble", "hiprandGenerate"))]
    pub fn fill_with_uniform<T, Dst: DevicePtrMut<T>>(&self, dst: &mut Dst) -> Result<(), CurandError>
    where
        sys::curandGenerator_t: result::UniformFill<T>,
    {
        let num = dst.len();
        if num == 0 {
            return Ok(());
        }
        let (dst, used) = dst.device_ptr_mut(&self.stream);
        between(NOT_READY, self.stream.context(), [used], || {
            // SAFETY: the generator is alive, and the buffer has these elements.
            unsafe { result::UniformFill::fill(self.generator, dst as *mut T, num) }
        })
    }

    /// Fills a buffer with normally distributed numbers.
    ///
    /// # Errors
    /// If the library returns an error.
    #[doc(alias("hiprandGenerateNormal", "hiprandGenerateNormalDouble"))]
    pub fn fill_with_normal<T, Dst: DevicePtrMut<T>>(&self, dst: &mut Dst, mean: T, std: T) -> Result<(), CurandError>
    where
        sys::curandGenerator_t: result::NormalFill<T>,
    {
        let num = dst.len();
        if num == 0 {
            return Ok(());
        }
        let (dst, used) = dst.device_ptr_mut(&self.stream);
        between(NOT_READY, self.stream.context(), [used], || {
            // SAFETY: the generator is alive, and the buffer has these elements.
            unsafe { result::NormalFill::fill(self.generator, dst as *mut T, num, mean, std) }
        })
    }

    /// Fills a buffer with log-normally distributed numbers.
    ///
    /// # Errors
    /// If the library returns an error.
    #[doc(alias("hiprandGenerateLogNormal", "hiprandGenerateLogNormalDouble"))]
    pub fn fill_with_log_normal<T, Dst: DevicePtrMut<T>>(
        &self,
        dst: &mut Dst,
        mean: T,
        std: T,
    ) -> Result<(), CurandError>
    where
        sys::curandGenerator_t: result::LogNormalFill<T>,
    {
        let num = dst.len();
        if num == 0 {
            return Ok(());
        }
        let (dst, used) = dst.device_ptr_mut(&self.stream);
        between(NOT_READY, self.stream.context(), [used], || {
            // SAFETY: the generator is alive, and the buffer has these elements.
            unsafe { result::LogNormalFill::fill(self.generator, dst as *mut T, num, mean, std) }
        })
    }
}

impl Drop for CudaRng {
    fn drop(&mut self) {
        let (stream, handle) = (Arc::clone(&self.stream), crate::driver::safe::Shared(self.generator));
        self.stream.context().destroy_apart_after_graphs(move || {
            // If it fails, its context keeps the reason.
            let _ = stream.context().make_current(());
            // A generator that the library does not destroy is leaked: a panic in `drop` could end the process.
            // SAFETY: it is alive, and not used again.
            let _ = unsafe { result::destroy_generator(handle.get()) };
        });
    }
}

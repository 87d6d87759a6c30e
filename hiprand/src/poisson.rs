//! Tables of Poisson distributions, for kernels.

use std::ffi::c_void;
use std::ptr;

use hip::Device;
use hip::interop::Tracked;

use crate::{Error, Result, check, element, raw};

/// The tables of a Poisson distribution in device memory, for hipRAND's device functions (`hiprand_discrete`) in your
/// own kernels.
///
/// [`Generator::poisson`](crate::Generator::poisson) does not need it.
#[derive(Debug)]
#[doc(alias("hiprandDiscreteDistribution_t", "curandDiscreteDistribution_t"))]
pub struct PoissonDistribution {
    device: Device,
    lambda: f64,
    raw: usize,
    tracked: Option<Tracked>,
}

impl PoissonDistribution {
    /// Creates the tables for λ on a device.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless λ is more than 0 and at most 2.146·10⁹;
    /// [`Error::NoLibrary`], with every path that was tried.
    #[doc(alias("hiprandCreatePoissonDistribution", "curandCreatePoissonDistribution"))]
    pub fn new(device: &Device, lambda: f64) -> Result<Self> {
        let lambda = element::lambda(lambda)?;
        hip::interop::expect_rocm("a library of ROCm on this backend")?;
        let raw = hip::interop::wait_for_device(device, || {
            let mut distribution = ptr::null_mut();
            // SAFETY: the function writes the address of the tables through a valid pointer.
            let status = unsafe { raw::hiprandCreatePoissonDistribution(lambda, &mut distribution) };
            check(status, "hiprandCreatePoissonDistribution", || format!("λ {lambda}"))?;
            Ok::<_, Error>(distribution as usize)
        })?;
        Ok(Self { device: *device, lambda, raw, tracked: Some(Tracked::new()) })
    }

    /// Returns λ.
    #[must_use]
    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// Returns the address of the `rocrand_discrete_distribution_st` in device memory, to pass to kernels. Work that
    /// uses it must name [`tracked`](Self::tracked), or must be done before this is dropped.
    #[must_use]
    pub fn as_raw(&self) -> *mut c_void {
        self.raw as *mut c_void
    }

    /// Returns the object that calls must name if `as_raw` is an argument:
    /// [`Uses::tracked_shared`](hip::interop::Uses::tracked_shared).
    ///
    /// # Panics
    /// Never: the object exists until this is dropped.
    #[must_use]
    pub fn tracked(&self) -> &Tracked {
        self.tracked.as_ref().expect("until it is dropped")
    }
}

impl Drop for PoissonDistribution {
    #[doc(alias("hiprandDestroyDistribution", "curandDestroyDistribution"))]
    fn drop(&mut self) {
        let Some(tracked) = self.tracked.take() else { return };
        let (device, raw) = (self.device, self.raw);
        tracked.release_when_idle(&device, move || {
            // SAFETY: the library made the tables, and nothing uses them any more.
            let _ = device.with_current(|| unsafe { raw::hiprandDestroyDistribution(raw as *mut c_void) });
        });
    }
}

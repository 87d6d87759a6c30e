//! The same seed gives the same numbers as C: each method is compared with the raw function, on a separate generator.

use std::ffi::c_void;
use std::ptr;

use hip::{Device, DeviceBuffer, Pod, Stream};
use hiprand::half::f16;
use hiprand::{Generator, Kind, Real};
use hiprand_sys as sys;

use crate::{PSEUDO, QUASI, device, filled};

const SUCCESS: sys::hiprandStatus_t = sys::HIPRAND_STATUS_SUCCESS;

/// A generator of C's.
struct Raw(sys::hiprandGenerator_t);

impl Raw {
    fn new(
        device: &Device,
        stream: &Stream,
        kind: u32,
        seed: Option<u64>,
        offset: Option<u64>,
        dimensions: Option<u32>,
    ) -> Self {
        let mut raw = ptr::null_mut();
        let create = || {
            // SAFETY: the function writes a generator through a valid pointer, which gets a stream that is alive, and settings that it has.
            unsafe {
                assert_eq!(sys::hiprandCreateGenerator(&mut raw, sys::hiprandRngType(kind)), SUCCESS);
                assert_eq!(sys::hiprandSetStream(raw, stream.as_raw()), SUCCESS);
                if let Some(seed) = seed {
                    assert_eq!(sys::hiprandSetPseudoRandomGeneratorSeed(raw, seed), SUCCESS);
                }
                if let Some(offset) = offset {
                    assert_eq!(sys::hiprandSetGeneratorOffset(raw, offset), SUCCESS);
                }
                if let Some(dimensions) = dimensions {
                    assert_eq!(sys::hiprandSetQuasiRandomGeneratorDimensions(raw, dimensions), SUCCESS);
                }
            }
        };
        device.with_current(create).unwrap();
        Self(raw)
    }

    fn fill<T: Pod>(
        &self,
        device: &Device,
        stream: &Stream,
        count: usize,
        call: impl FnOnce(sys::hiprandGenerator_t, *mut T) -> sys::hiprandStatus_t,
    ) -> Vec<T> {
        let numbers = DeviceBuffer::<T>::zeroed(device, count).unwrap();
        let to = numbers.as_device_ptr().address() as *mut T;
        assert_eq!(device.with_current(|| call(self.0, to)).unwrap(), SUCCESS);
        stream.synchronize().unwrap();
        numbers.to_vec().unwrap()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: the generator is alive, and its work is over.
        assert_eq!(unsafe { sys::hiprandDestroyGenerator(self.0) }, SUCCESS);
    }
}

/// Every distribution in turn, for the state goes from one to the next.
fn compare<K: Kind>(device: &Device, stream: &Stream, raw: &Raw, ours: &mut Generator<K>, count: usize) {
    let what = format!("{:?}", ours.kind());
    macro_rules! same {
        ($t:ty, $function:ident($($argument:expr),*), |$g:ident, $to:ident| $call:expr) => {
            // SAFETY: the generator is alive, and has room for this many numbers.
            let want = raw.fill::<$t>(device, stream, count, |raw, to| unsafe { sys::$function(raw, to.cast(), count $(, $argument)*) });
            let found = filled::<K, $t>(ours, count, |$g, $to| $call);
            assert!(hip::bytemuck::cast_slice::<$t, u8>(&found) == hip::bytemuck::cast_slice::<$t, u8>(&want), "{what}: {}", stringify!($function));
        };
    }
    same!(u32, hiprandGenerate(), |g, to| g.generate(to));
    same!(u8, hiprandGenerateChar(), |g, to| g.generate(to));
    same!(u16, hiprandGenerateShort(), |g, to| g.generate(to));
    same!(f32, hiprandGenerateUniform(), |g, to| g.uniform(to));
    same!(f64, hiprandGenerateUniformDouble(), |g, to| g.uniform(to));
    same!(f16, hiprandGenerateUniformHalf(), |g, to| g.uniform(to));
    same!(f32, hiprandGenerateNormal(0.5, 2.0), |g, to| g.normal(to, 0.5, 2.0));
    same!(f64, hiprandGenerateNormalDouble(0.5, 2.0), |g, to| g.normal(to, 0.5, 2.0));
    same!(f16, hiprandGenerateNormalHalf(f16::ONE.to_bits(), f16::ONE.to_bits()), |g, to| g.normal(
        to,
        f16::ONE,
        f16::ONE
    ));
    same!(f32, hiprandGenerateLogNormal(0.5, 0.25), |g, to| g.log_normal(to, 0.5, 0.25));
    same!(f64, hiprandGenerateLogNormalDouble(0.5, 0.25), |g, to| g.log_normal(to, 0.5, 0.25));
    same!(f16, hiprandGenerateLogNormalHalf(0, f16::ONE.to_bits()), |g, to| g.log_normal(to, f16::ZERO, f16::ONE));
    same!(u32, hiprandGeneratePoisson(7.25), |g, to| g.poisson(to, 7.25));
    same!(u32, hiprandGeneratePoisson(7.25), |g, to| g.poisson(to, 7.25));
    same!(u32, hiprandGeneratePoisson(70.0), |g, to| g.poisson(to, 70.0));
}

#[test]
fn pseudo_random_numbers_are_those_of_c() {
    let Some((device, stream)) = device() else { return };
    for (kind, code) in PSEUDO.into_iter().zip([400, 401, 402, 403, 405]) {
        let seed = 0x1234_5678_9abc_def0;
        let offset = (code != 403).then_some(1001);
        let raw = Raw::new(&device, &stream, code, Some(seed), offset, None);
        let mut ours = Generator::new(&stream, kind).unwrap();
        ours.set_seed(seed).unwrap();
        offset.iter().for_each(|offset| ours.set_offset(*offset).unwrap());
        compare(&device, &stream, &raw, &mut ours, 1001);
    }
}

#[test]
fn quasi_random_numbers_are_those_of_c() {
    let Some((device, stream)) = device() else { return };
    for (kind, code) in QUASI.into_iter().zip(500..) {
        let raw = Raw::new(&device, &stream, code, None, Some(33), Some(5));
        let mut ours = Generator::new(&stream, kind).unwrap();
        ours.set_offset(33).unwrap();
        ours.set_dimensions(5).unwrap();
        compare(&device, &stream, &raw, &mut ours, 505);
    }
}

/// With a seed, and no other settings: the library's defaults.
#[test]
fn defaults_are_those_of_c() {
    let Some((device, stream)) = device() else { return };
    for (kind, code) in [(hiprand::Pseudo::Philox4x32_10, 405), (hiprand::Pseudo::Mrg32k3a, 402)] {
        let raw = Raw::new(&device, &stream, code, None, None, None);
        let mut ours = Generator::new(&stream, kind).unwrap();
        // SAFETY: the generator is alive, and has room for this many numbers.
        let want =
            raw.fill::<u32>(&device, &stream, 100, |raw, to| unsafe { sys::hiprandGenerate(raw, to.cast(), 100) });
        assert_eq!(filled::<_, u32>(&mut ours, 100, |generator, to| generator.generate(to)), want);
    }
}

/// The C types match.
#[test]
fn real_numbers_have_cs_types() {
    fn is_real<T: Real>() {}
    is_real::<f16>();
    assert_eq!(size_of::<sys::half>(), size_of::<f16>());
    assert_eq!(size_of::<sys::hiprandGenerator_t>(), size_of::<*mut c_void>());
}

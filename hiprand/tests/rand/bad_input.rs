//! Input that is rejected before the library call, and input that the library rejects.

use hip::{DeviceBuffer, Stream};
use hiprand::half::f16;
use hiprand::{Error, Generator, Ordering, PoissonDistribution, Pseudo, Quasi};

use linalg_testing::before;

use crate::{PSEUDO, QUASI, device, filled};

#[track_caller]
pub(crate) fn refused<T>(result: hiprand::Result<T>, words: &str) {
    match result {
        Err(error @ Error::Invalid { .. }) => assert!(error.to_string().contains(words), "{error}"),
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was accepted"),
    }
}

#[test]
fn lengths_and_offsets_that_do_not_fit() {
    let Some((device, stream)) = device() else { return };
    let mut numbers = DeviceBuffer::<f32>::zeroed(&device, 10).unwrap();
    for kind in QUASI {
        let mut quasi = Generator::new(&stream, kind).unwrap();
        quasi.set_dimensions(3).unwrap();
        refused(quasi.uniform(&mut numbers), "a multiple of the 3 dimensions, such as 9");
        refused(quasi.normal(&mut numbers, 0.0, 1.0), "a multiple of the 3 dimensions");
        refused(quasi.generate(DeviceBuffer::<u8>::zeroed(&device, 2).unwrap().as_slice_mut()), "such as 3");
        refused(quasi.poisson(DeviceBuffer::<u32>::zeroed(&device, 4).unwrap().as_slice_mut(), 1.0), "such as 3");
        refused(quasi.set_dimensions(0), "1 to 20000");
        refused(quasi.set_dimensions(20_001), "1 to 20000");
        refused(quasi.set_offset(1 << 32), "at most 4294967295");
        // Nothing of that has changed it.
        assert_eq!(quasi.dimensions(), 3);
        quasi.uniform(numbers.slice_mut(..9).unwrap()).unwrap();
    }
    for kind in [Pseudo::Mtgp32, Pseudo::Mt19937] {
        refused(Generator::new(&stream, kind).unwrap().set_offset(1), "unset");
    }
    let mut wide = DeviceBuffer::<u64>::zeroed(&device, 10).unwrap();
    for kind in PSEUDO {
        refused(Generator::new(&stream, kind).unwrap().generate(&mut wide), "Sobol64");
    }
    for kind in [Quasi::Default, Quasi::Sobol32, Quasi::ScrambledSobol32] {
        refused(Generator::new(&stream, kind).unwrap().generate(&mut wide), "Sobol64");
    }
    assert_eq!(wide.to_vec().unwrap(), [0; 10]);
}

#[test]
fn parameters_that_are_none() {
    let Some((device, stream)) = device() else { return };
    let mut generator = Generator::new(&stream, Pseudo::Philox4x32_10).unwrap();
    let mut numbers = DeviceBuffer::<f64>::zeroed(&device, 4).unwrap();
    let mut halves = DeviceBuffer::<f16>::zeroed(&device, 4).unwrap();
    let mut counts = DeviceBuffer::<u32>::zeroed(&device, 4).unwrap();
    for (mean, deviation) in [(f64::NAN, 1.0), (f64::INFINITY, 1.0), (0.0, f64::NAN), (0.0, -1.0), (0.0, f64::INFINITY)]
    {
        refused(generator.normal(&mut numbers, mean, deviation), "finite");
        refused(generator.log_normal(&mut numbers, mean, deviation), "finite");
    }
    refused(generator.normal(&mut halves, f16::ZERO, f16::INFINITY), "finite");
    for lambda in [0.0, -1.0, f64::NAN, f64::INFINITY, 2.147e9] {
        refused(generator.poisson(&mut counts, lambda), "more than 0");
        refused(PoissonDistribution::new(&device, lambda), "more than 0");
    }
    assert_eq!(numbers.to_vec().unwrap(), [0.0; 4]);
    assert_eq!(counts.to_vec().unwrap(), [0; 4]);
}

/// Nothing is asked of the library for empty memory.
#[test]
fn nothing_is_filled_with_nothing() {
    let Some((device, stream)) = device() else { return };
    let mut generator = Generator::new(&stream, Pseudo::Philox4x32_10).unwrap();
    generator.uniform(&mut DeviceBuffer::<f32>::zeroed(&device, 0).unwrap()).unwrap();
    generator.poisson(&mut DeviceBuffer::<u32>::zeroed(&device, 0).unwrap(), 1.0).unwrap();
    let first: Vec<u32> = filled(&mut generator, 4, |generator, to| generator.generate(to));
    let mut again = Generator::new(&stream, Pseudo::Philox4x32_10).unwrap();
    assert_eq!(filled::<_, u32>(&mut again, 4, |generator, to| generator.generate(to)), first);
}

#[test]
fn orderings_are_those_of_the_generator() {
    let Some((_device, stream)) = device() else { return };
    if before((6, 2)) {
        let error = Generator::new(&stream, Pseudo::Xorwow).unwrap().set_ordering(Ordering::Legacy).unwrap_err();
        assert!(matches!(error, Error::NoSymbol { .. }), "{error}");
        return;
    }
    for kind in PSEUDO {
        let numbers = |ordering| {
            let mut generator = Generator::new(&stream, kind).unwrap();
            generator.set_ordering(ordering)?;
            Ok::<_, Error>(filled::<_, u32>(&mut generator, 64, |generator, to| generator.generate(to)))
        };
        let default = numbers(Ordering::Default).unwrap();
        assert_eq!(numbers(Ordering::Legacy).unwrap(), default, "{kind:?}");
        numbers(Ordering::Best).unwrap();
        let has = |ordering| match numbers(ordering) {
            Ok(_) => true,
            Err(Error::Library(error)) => {
                assert_eq!(error.name, "HIPRAND_STATUS_OUT_OF_RANGE", "{error}");
                assert!(error.asked.contains(&format!("{kind:?}")), "{error}");
                false
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(has(Ordering::Seeded), matches!(kind, Pseudo::Default | Pseudo::Xorwow), "{kind:?}");
        assert_eq!(has(Ordering::Dynamic), kind != Pseudo::Mt19937, "{kind:?}");
    }
}

#[test]
fn a_stream_or_memory_of_another_device() {
    let Some((device, stream)) = device() else { return };
    let mut generator = Generator::new(&stream, Pseudo::Philox4x32_10).unwrap();
    generator.set_stream(&Stream::new(&device).unwrap()).unwrap();
    if hip::Device::count().unwrap() < 2 {
        return linalg_testing::skipped(&"another device is not available");
    }
    let other = hip::Device::get(1).unwrap();
    assert!(generator.set_stream(&Stream::new(&other).unwrap()).is_err());
    let mut far = DeviceBuffer::<u32>::zeroed(&other, 4).unwrap();
    let error = generator.generate(&mut far).unwrap_err();
    assert!(matches!(error, Error::Hip(hip::Error::WrongDevice { .. })), "{error}");
    assert_eq!(far.to_vec().unwrap(), [0; 4]);
}

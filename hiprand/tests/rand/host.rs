//! Generators on the host.

use hip::{Device, Stream};
use hiprand::half::f16;
use hiprand::{Error, Generator, HostGenerator, Kind, Ordering, Pseudo, Quasi};

use crate::bad_input::refused;
use linalg_testing::before;

use crate::{device, filled};

/// The device, unless the library has no host generators.
fn host() -> Option<(Device, Stream)> {
    let (device, stream) = device()?;
    if before((6, 2)) {
        let error = HostGenerator::new(&device, Pseudo::Xorwow).unwrap_err();
        assert!(error.to_string().contains("HIPRAND_STATUS_NOT_IMPLEMENTED"), "{error}");
        return None;
    }
    Some((device, stream))
}

/// MTGP32 and MT19937 take seconds to set up on the host.
const QUICK: [Pseudo; 3] = [Pseudo::Philox4x32_10, Pseudo::Xorwow, Pseudo::Mrg32k3a];

#[test]
fn the_host_generates_the_devices_numbers() {
    let Some((device, stream)) = host() else { return };
    // The library's inverse of the error function cancels digits around 0.
    fn compare<K: Kind>(ours: &mut HostGenerator<K>, theirs: &mut Generator<K>, count: usize, rough: f64) {
        let kind = ours.kind();
        let mut bits = vec![0_u32; count];
        ours.generate(&mut bits).unwrap();
        assert!(filled::<_, u32>(theirs, count, |g, to| g.generate(to)) == bits, "{kind:?}");
        let mut bytes = vec![0_u8; count];
        ours.generate(&mut bytes).unwrap();
        assert!(filled::<_, u8>(theirs, count, |g, to| g.generate(to)) == bytes, "{kind:?}");
        let mut shorts = vec![0_u16; count];
        ours.generate(&mut shorts).unwrap();
        assert!(filled::<_, u16>(theirs, count, |g, to| g.generate(to)) == shorts, "{kind:?}");
        let mut real = vec![0.0_f32; count];
        ours.uniform(&mut real).unwrap();
        assert!(filled::<_, f32>(theirs, count, |g, to| g.uniform(to)) == real, "{kind:?}");
        let mut real = vec![0.0_f64; count];
        ours.uniform(&mut real).unwrap();
        assert!(filled::<_, f64>(theirs, count, |g, to| g.uniform(to)) == real, "{kind:?}");
        let mut real = vec![f16::ZERO; count];
        ours.uniform(&mut real).unwrap();
        assert!(filled::<_, f16>(theirs, count, |g, to| g.uniform(to)) == real, "{kind:?}");
        // Logarithms and cosines of the host and of the device round differently.
        let close = |found: &[f64], want: &[f64], eps: f64| {
            for (found, want) in found.iter().zip(want) {
                assert!((found - want).abs() <= eps * (1.0 + want.abs()), "{kind:?}: {found}, not {want}");
            }
        };
        let mut real = vec![0.0_f64; count];
        ours.normal(&mut real, 1.0, 2.0).unwrap();
        close(&real, &filled::<_, f64>(theirs, count, |g, to| g.normal(to, 1.0, 2.0)), 1e-12);
        ours.log_normal(&mut real, 1.0, 0.5).unwrap();
        close(&real, &filled::<_, f64>(theirs, count, |g, to| g.log_normal(to, 1.0, 0.5)), 1e-12);
        let mut real = vec![0.0_f32; count];
        ours.normal(&mut real, 1.0, 2.0).unwrap();
        let wide = |numbers: &[f32]| numbers.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
        close(&wide(&real), &wide(&filled(theirs, count, |g, to| g.normal(to, 1.0, 2.0))), rough);
        let mut counts = vec![0_u32; count];
        for lambda in [3.0, 30.0, 3.0] {
            ours.poisson(&mut counts, lambda).unwrap();
            assert!(filled::<_, u32>(theirs, count, |g, to| g.poisson(to, lambda)) == counts, "{kind:?}, λ {lambda}");
        }
    }
    for kind in QUICK {
        let (mut ours, mut theirs) =
            (HostGenerator::new(&device, kind).unwrap(), Generator::new(&stream, kind).unwrap());
        for seed in [1, 0x9876_5432_1000_0001] {
            ours.set_seed(seed).unwrap();
            ours.set_offset(12).unwrap();
            theirs.set_seed(seed).unwrap();
            theirs.set_offset(12).unwrap();
            compare(&mut ours, &mut theirs, 640, 1e-5);
        }
    }
    for kind in [Quasi::Sobol32, Quasi::ScrambledSobol32, Quasi::Sobol64, Quasi::ScrambledSobol64] {
        let (mut ours, mut theirs) =
            (HostGenerator::new(&device, kind).unwrap(), Generator::new(&stream, kind).unwrap());
        ours.set_dimensions(4).unwrap();
        theirs.set_dimensions(4).unwrap();
        compare(&mut ours, &mut theirs, 640, 2e-3);
        assert_eq!(ours.dimensions(), 4);
    }
}

#[test]
fn mtgp32_is_the_same_on_the_host() {
    let Some((device, stream)) = host() else { return };
    let kind = Pseudo::Mtgp32;
    let (mut ours, mut theirs) = (HostGenerator::new(&device, kind).unwrap(), Generator::new(&stream, kind).unwrap());
    ours.set_seed(5).unwrap();
    theirs.set_seed(5).unwrap();
    let mut bits = vec![0_u32; 512];
    ours.generate(&mut bits).unwrap();
    assert!(filled::<_, u32>(&mut theirs, 512, |g, to| g.generate(to)) == bits, "{kind:?}");
}

#[test]
fn bad_input_is_met_before_the_call() {
    let Some((device, _stream)) = host() else { return };
    let mut pseudo = HostGenerator::new(&device, Pseudo::Philox4x32_10).unwrap();
    refused(pseudo.generate(&mut [0_u64; 4]), "Sobol64");
    refused(pseudo.normal(&mut [0.0_f32; 4], f32::NAN, 1.0), "finite");
    refused(pseudo.log_normal(&mut [0.0_f64; 4], 0.0, -1.0), "not negative");
    refused(pseudo.poisson(&mut [0; 4], 0.0), "more than 0");
    refused(HostGenerator::new(&device, Pseudo::Mtgp32).unwrap().set_offset(3), "unset");
    refused(HostGenerator::new(&device, Pseudo::Mt19937).unwrap().set_offset(3), "unset");
    let mut quasi = HostGenerator::new(&device, Quasi::Sobol32).unwrap();
    quasi.set_dimensions(3).unwrap();
    refused(quasi.uniform(&mut [0.0_f32; 4]), "a multiple of the 3 dimensions");
    refused(quasi.set_dimensions(0), "1 to 20000");
    refused(quasi.set_offset(u64::MAX), "at most");
    // They are as they were, and are dropped.
    pseudo.set_seed(0).unwrap();
    let mut bits = [0_u32; 1];
    pseudo.generate(&mut bits).unwrap();
    pseudo.generate::<u32>(&mut []).unwrap();
    assert_eq!(bits, [0x6627_e8d5]);
    let mut points = [0.0_f64; 6];
    quasi.uniform(&mut points).unwrap();
    assert!((points[1] - 0.5).abs() < 1e-9, "{points:?}");
}

/// The library rejects it. Generators whose calls failed can be dropped like all others.
#[test]
fn a_generator_that_failed_is_dropped() {
    let Some((device, _stream)) = host() else { return };
    for kind in QUICK {
        let mut generator = HostGenerator::new(&device, kind).unwrap();
        let error = generator.set_ordering(Ordering::Dynamic).unwrap_err();
        assert!(error.to_string().contains("HIPRAND_STATUS_OUT_OF_RANGE"), "{error}");
        generator.prepare().unwrap();
        generator.set_ordering(Ordering::Legacy).unwrap();
        drop(generator);
    }
}

/// A host generator writes to host memory: device memory has another type.
#[test]
fn generators_of_another_thread() {
    let Some((device, _stream)) = host() else { return };
    let mut generator = HostGenerator::new(&device, Pseudo::Philox4x32_10).unwrap();
    generator.set_seed(0).unwrap();
    let bits = std::thread::spawn(move || {
        let mut bits = [0_u32; 4];
        generator.generate(&mut bits).map(|()| bits)
    });
    assert_eq!(bits.join().unwrap().unwrap()[0], 0x6627_e8d5);
}

/// On a second device, where the current one is another.
#[test]
fn a_host_generator_of_another_device() {
    let Some((device, _stream)) = host() else { return };
    if Device::count().unwrap() < 2 {
        return linalg_testing::skipped(&"another device is not available");
    }
    let other = Device::get(1).unwrap();
    let numbers = [device, other].map(|device| {
        let mut generator = HostGenerator::new(&device, Pseudo::Xorwow).unwrap();
        generator.set_seed(3).unwrap();
        let mut bits = [0_u32; 100];
        generator.generate(&mut bits).unwrap();
        bits
    });
    assert_eq!(numbers[0], numbers[1]);
}

#[cfg(feature = "rand_core")]
#[test]
fn host_generators_are_rngs() {
    use hiprand::rand_core::{RngCore as _, TryRngCore as _};
    let Some((device, _stream)) = host() else { return };
    let mut generator = HostGenerator::new(&device, Pseudo::Philox4x32_10).unwrap();
    generator.set_seed(7).unwrap();
    let mut expected = vec![0_u32; 9000];
    generator.generate(&mut expected).unwrap();
    generator.set_seed(7).unwrap();
    let mut rng = generator.into_rng();
    assert_eq!(rng.try_next_u32().unwrap(), expected[0]);
    assert_eq!(rng.try_next_u64().unwrap(), u64::from(expected[2]) << 32 | u64::from(expected[1]));
    let mut bytes = [0; 4 * 6000 + 3];
    rng.try_fill_bytes(&mut bytes).unwrap();
    for (found, want) in bytes.chunks(4).zip(&expected[3..]) {
        assert_eq!(found, &want.to_le_bytes()[..found.len()]);
    }
    let mut rng = rng.unwrap_err();
    assert_eq!(rng.next_u32(), expected[3 + 6001]);
    let generator = rng.0.into_generator();
    assert_eq!(generator.kind(), Pseudo::Philox4x32_10);
}

/// An error of the library is one of ours.
#[test]
fn errors_name_what_was_asked() {
    let Some((device, _stream)) = host() else { return };
    let error = HostGenerator::new(&device, Pseudo::Philox4x32_10).unwrap().set_ordering(Ordering::Seeded).unwrap_err();
    let Error::Library(error) = error else { panic!("{error}") };
    assert_eq!((error.library, error.function), ("hipRAND", "hiprandSetGeneratorOrdering"));
    assert_eq!(error.asked, "Seeded, of Philox4x32_10");
}

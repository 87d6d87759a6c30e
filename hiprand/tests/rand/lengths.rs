//! Every length, and every position in memory: no memory outside the numbers is written.

use hip::{Device, DeviceBuffer, Pod};
use hiprand::{Generator, Kind, Pseudo};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::{PSEUDO, QUASI, device};

/// Fills a part of the memory, and asserts that all of that part changes, and nothing else.
fn part<K: Kind, T: Pod + PartialEq + std::fmt::Debug>(
    device: &Device,
    generator: &mut Generator<K>,
    (before, count): (usize, usize),
    fill: impl FnOnce(&mut Generator<K>, hip::DeviceSliceMut<'_, T>) -> hiprand::Result<()>,
) {
    let pattern: Vec<u8> = (0..(before + count + 9) * size_of::<T>()).map(|at| (at * 37 + 11) as u8).collect();
    let pattern: Vec<T> = pattern.chunks(size_of::<T>()).map(hip::bytemuck::pod_read_unaligned).collect();
    let mut memory = DeviceBuffer::from_slice(device, &pattern).unwrap();
    fill(generator, memory.slice_mut(before..before + count).unwrap()).unwrap();
    let found = memory.to_vec().unwrap();
    let what = generator.kind();
    assert_eq!(found[..before], pattern[..before], "{what:?} {before} {count}");
    assert_eq!(found[before + count..], pattern[before + count..], "{what:?} {before} {count}");
    // Of many numbers, some are as before by chance, but not all of any 16.
    for (at, (found, pattern)) in found.chunks(16).zip(pattern.chunks(16)).enumerate() {
        let inside = at * 16 >= before && (at + 1) * 16 <= before + count;
        assert!(!inside || found != pattern, "{what:?} {before} {count}: {at}");
    }
}

fn cases(count: u32, test: impl Fn(usize, usize)) {
    let config = Config { cases: count, failure_persistence: None, rng_seed: RngSeed::Fixed(18), ..Config::default() };
    let lengths = (0_usize..9, prop_oneof![1_usize..70, 250_usize..260, 1000_usize..5000]);
    let found = TestRunner::new(config).run(&lengths, |(before, count)| {
        test(before, count);
        Ok(())
    });
    if let Err(error) = found {
        panic!("{error}");
    }
}

#[test]
fn any_part_of_memory_is_filled() {
    let Some((device, stream)) = device() else { return };
    let all = |generator: &mut Generator<Pseudo>, at: (usize, usize)| {
        part::<_, u8>(&device, generator, at, |generator, to| generator.generate(to));
        part::<_, u16>(&device, generator, at, |generator, to| generator.generate(to));
        part::<_, u32>(&device, generator, at, |generator, to| generator.generate(to));
        part::<_, f32>(&device, generator, at, |generator, to| generator.normal(to, 0.0, 1.0));
        part::<_, f64>(&device, generator, at, |generator, to| generator.log_normal(to, 0.0, 1.0));
        part::<_, hiprand::half::f16>(&device, generator, at, |generator, to| generator.uniform(to));
        part::<_, u32>(&device, generator, at, |generator, to| generator.poisson(to, 100.0));
    };
    for kind in PSEUDO {
        let generator = std::cell::RefCell::new(Generator::new(&stream, kind).unwrap());
        cases(6, |before, count| all(&mut generator.borrow_mut(), (before, count)));
    }
}

#[test]
fn any_part_of_memory_is_filled_in_dimensions() {
    let Some((device, stream)) = device() else { return };
    for kind in QUASI {
        let generator = std::cell::RefCell::new(Generator::new(&stream, kind).unwrap());
        let dimensions = std::cell::Cell::new(0);
        cases(6, |before, count| {
            let mut generator = generator.borrow_mut();
            dimensions.set(dimensions.get() % 7 + 1);
            generator.set_dimensions(dimensions.get()).unwrap();
            let at = (before, count.next_multiple_of(dimensions.get() as usize));
            part::<_, u8>(&device, &mut generator, at, |generator, to| generator.generate(to));
            part::<_, u16>(&device, &mut generator, at, |generator, to| generator.generate(to));
            part::<_, f32>(&device, &mut generator, at, |generator, to| generator.uniform(to));
            part::<_, f64>(&device, &mut generator, at, |generator, to| generator.normal(to, 0.0, 1.0));
            part::<_, u32>(&device, &mut generator, at, |generator, to| generator.poisson(to, 100.0));
        });
    }
}

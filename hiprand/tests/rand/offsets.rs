//! The numbers at an offset, those of fills after fills, and the first normal number of a Sobol sequence.

use hip::Stream;
use hiprand::half::f16;
use hiprand::{Generator, HostGenerator, Pseudo, Quasi, Real};

use linalg_testing::before;

use crate::{device, filled, seeded};

/// How a fill takes numbers from the sequence.
struct Rule {
    /// An offset, and the number that it starts at: more of them are multiples.
    offset: usize,
    number: usize,
    /// The numbers that are made together: a fill takes whole groups.
    group: usize,
}

fn follows_rule<T: hip::Pod>(
    stream: &Stream,
    kind: Pseudo,
    Rule { offset, number, group }: Rule,
    fill: impl Fn(&mut Generator, &mut hip::DeviceBuffer<T>) -> hiprand::Result<()>,
) {
    let what = format!("{kind:?}, {} numbers at offset {offset}, groups of {group}", std::any::type_name::<T>());
    let bytes = |numbers: &[T]| hip::bytemuck::cast_slice::<T, u8>(numbers).to_vec();
    let all: Vec<T> = filled(&mut seeded(stream, kind, 5), 64, &fill);
    for times in [1, 3] {
        let mut generator = seeded(stream, kind, 5);
        generator.set_offset((offset * times) as u64).unwrap();
        let some: Vec<T> = filled(&mut generator, 24, &fill);
        assert_eq!(bytes(&some), bytes(&all[number * times..][..24]), "{what}");
    }
    for first in [1, 2, 4] {
        let mut generator = seeded(stream, kind, 5);
        let mut parts: Vec<T> = filled(&mut generator, first, &fill);
        parts.extend(filled::<_, T>(&mut generator, 24, &fill));
        let same = bytes(&parts) == bytes(&all[..first + 24]);
        assert_eq!(same, first % group == 0, "{what}: {first} numbers, then more");
    }
}

const fn rule(offset: usize, number: usize, group: usize) -> Rule {
    Rule { offset, number, group }
}

#[test]
fn offsets_and_parts_are_those_of_the_documentation() {
    let Some((_device, stream)) = device() else { return };
    let philox = Pseudo::Philox4x32_10;
    follows_rule::<u32>(&stream, philox, rule(1, 1, 1), |g, to| g.generate(to));
    follows_rule::<u16>(&stream, philox, rule(1, 2, 2), |g, to| g.generate(to));
    follows_rule::<u8>(&stream, philox, rule(1, 4, 4), |g, to| g.generate(to));
    follows_rule::<f32>(&stream, philox, rule(1, 1, 1), |g, to| g.uniform(to));
    follows_rule::<f64>(&stream, philox, rule(2, 1, 1), |g, to| g.uniform(to));
    follows_rule::<f16>(&stream, philox, rule(1, 2, 2), |g, to| g.uniform(to));
    follows_rule::<f32>(&stream, philox, rule(2, 2, 2), |g, to| g.normal(to, 0.0, 1.0));
    follows_rule::<f64>(&stream, philox, rule(4, 2, 2), |g, to| g.normal(to, 0.0, 1.0));
    follows_rule::<f16>(&stream, philox, rule(1, 2, 2), |g, to| g.normal(to, f16::ZERO, f16::ONE));
    follows_rule::<f64>(&stream, philox, rule(4, 2, 2), |g, to| g.log_normal(to, 0.0, 1.0));
    follows_rule::<u32>(&stream, philox, rule(1, 1, 1), |g, to| g.poisson(to, 7.0));
}

#[test]
fn offsets_and_parts_of_parallel_generators() {
    let Some((_device, stream)) = device() else { return };
    follows_rule::<f64>(&stream, Pseudo::Mrg32k3a, rule(1, 1, 1), |g, to| g.uniform(to));
    follows_rule::<f32>(&stream, Pseudo::Xorwow, rule(1, 2, 2), |g, to| g.normal(to, 0.0, 1.0));
}

/// Returns whether a number is that of the distribution at 2⁻³², of this mean and deviation.
fn is_smallest<T: Real>(number: T, log: bool, [mean, deviation]: [f64; 2]) -> bool {
    let number = number_of(number);
    let normal = if log { number.ln() } else { number };
    ((normal - mean) / deviation + 6.23).abs() < 0.02
}

fn number_of<T: Real>(number: T) -> f64 {
    let bytes = hip::bytemuck::bytes_of(&number);
    match *bytes {
        [a, b] => f16::from_ne_bytes([a, b]).to_f64(),
        [a, b, c, d] => f32::from_ne_bytes([a, b, c, d]).into(),
        _ => hip::bytemuck::pod_read_unaligned::<f64>(bytes),
    }
}

/// The library has the mean there in `f32` and `f16`.
fn first_is_smallest<T: Real + std::fmt::Debug>(stream: &Stream, kind: Quasi, shape: [T; 2]) {
    let wide = shape.map(number_of);
    let (dimensions, points) = (3, 5);
    for log in [false, true] {
        let what = format!("{kind:?}, {}, log {log}", std::any::type_name::<T>());
        let fill = |generator: &mut Generator<Quasi>, to: &mut hip::DeviceBuffer<T>| match log {
            true => generator.log_normal(to, shape[0], shape[1]),
            false => generator.normal(to, shape[0], shape[1]),
        };
        let mut generator = Generator::new(stream, kind).unwrap();
        generator.set_dimensions(dimensions).unwrap();
        let first: Vec<T> = filled(&mut generator, 3 * points, fill);
        let then: Vec<T> = filled(&mut generator, 3 * points, fill);
        for dimension in first.chunks(points) {
            assert!(is_smallest(dimension[0], log, wide), "{what}: {first:?}");
            assert!(dimension[1..].iter().all(|number| !is_smallest(*number, log, wide)), "{what}: {first:?}");
        }
        assert!(then.iter().all(|number| !is_smallest(*number, log, wide)), "{what}: {then:?}");
        // Again from the start, and from the second point.
        generator.set_offset(0).unwrap();
        let bytes = |numbers: &[T]| hip::bytemuck::cast_slice::<T, u8>(numbers).to_vec();
        assert_eq!(bytes(&filled::<_, T>(&mut generator, 3 * points, fill)), bytes(&first), "{what}");
        generator.set_offset(1).unwrap();
        let second: Vec<T> = filled(&mut generator, 3 * points, fill);
        for (second, first) in second.chunks(points).zip(first.chunks(points)) {
            assert_eq!(bytes(&second[..points - 1]), bytes(&first[1..]), "{what}");
        }
        if before((6, 2)) {
            continue;
        }
        let mut host = HostGenerator::new(&stream.device(), kind).unwrap();
        host.set_dimensions(dimensions).unwrap();
        let mut numbers = vec![T::zeroed(); 3 * points];
        match log {
            true => host.log_normal(&mut numbers, shape[0], shape[1]).unwrap(),
            false => host.normal(&mut numbers, shape[0], shape[1]).unwrap(),
        }
        assert!(numbers.chunks(points).all(|dimension| is_smallest(dimension[0], log, wide)), "{what}: {numbers:?}");
    }
}

#[test]
fn the_first_normal_number_of_a_sobol_sequence_is_the_smallest() {
    let Some((_device, stream)) = device() else { return };
    for kind in [Quasi::Default, Quasi::Sobol32, Quasi::Sobol64] {
        first_is_smallest::<f32>(&stream, kind, [0.0, 1.0]);
        first_is_smallest::<f32>(&stream, kind, [-3.0, 0.5]);
        first_is_smallest::<f16>(&stream, kind, [0.5, 0.5].map(f16::from_f64));
    }
    first_is_smallest::<f64>(&stream, Quasi::Sobol32, [1.0, 0.25]);
}

/// Within 2⁻²⁶ of 0 and 2⁻²⁵ of 1, the library has the mean, as the documentation says. `f64` has the right number.
#[test]
fn normal_numbers_of_other_extreme_points_are_the_librarys() {
    let Some((_device, stream)) = device() else { return };
    // In the first dimension, all bits but the lowest are ones: those of its Gray code, in reverse.
    let index = 0x5555_5555;
    let mut generator = Generator::new(&stream, Quasi::Sobol32).unwrap();
    generator.set_offset(index).unwrap();
    let bits: Vec<u32> = filled(&mut generator, 1, |generator, to| generator.generate(to));
    assert_eq!(bits, [0xffff_fffe]);
    generator.set_offset(index).unwrap();
    let narrow: Vec<f32> = filled(&mut generator, 1, |generator, to| generator.normal(to, 0.0, 1.0));
    generator.set_offset(index).unwrap();
    let wide: Vec<f64> = filled(&mut generator, 1, |generator, to| generator.normal(to, 0.0, 1.0));
    assert!(narrow[0] == 0.0 && wide[0] > 6.0, "{narrow:?} {wide:?}");
}

#[test]
fn the_first_normal_number_in_a_graph() {
    let Some((device, stream)) = device() else { return };
    let mut generator = Generator::new(&stream, Quasi::Sobol32).unwrap();
    let mut numbers = hip::DeviceBuffer::<f32>::zeroed(&device, 8).unwrap();
    generator.normal(&mut numbers, 0.0, 1.0).unwrap(); // its code is loaded
    let expected = numbers.to_vec().unwrap();
    generator.set_offset(0).unwrap();
    generator.prepare().unwrap();
    let captured = stream.capture(|_| {
        generator.normal(&mut numbers, 0.0, 1.0).expect("captured");
        Ok(())
    });
    let graph = captured.unwrap().instantiate().unwrap();
    for _ in 0..2 {
        numbers.fill(0.0).unwrap();
        graph.launch(&stream).unwrap();
        assert_eq!(numbers.to_vec().unwrap(), expected);
    }
    assert!(expected[0] < -6.0 && expected[1..].iter().all(|number| *number > -6.0), "{expected:?}");
}

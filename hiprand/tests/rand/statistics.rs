//! Distributions: moments, chi-squared and Kolmogorov-Smirnov, with fixed seeds. The bounds are those of five standard
//! deviations, or of probabilities around 1 in a million: a wrong distribution is far outside.

use hiprand::half::f16;
use hiprand::{Generator, Quasi, Real};

use linalg_testing::before;

use crate::{PSEUDO, QUASI, device, filled, seeded};

/// The error function, to 1.2e-7: Numerical Recipes.
fn erfc(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.5 * x.abs());
    let terms = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let poly = terms.iter().rev().fold(0.0, |sum, term| sum * t + term);
    let value = t * (-x * x + poly).exp();
    if x >= 0.0 { value } else { 2.0 - value }
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x / std::f64::consts::SQRT_2)
}

/// Kolmogorov's distance from a distribution, times the root of the count.
fn distance(numbers: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let far = sorted.iter().enumerate().map(|(at, &x)| {
        let p = cdf(x);
        (p - at as f64 / n).max((at + 1) as f64 / n - p)
    });
    far.fold(0.0, f64::max) * n.sqrt()
}

/// Pearson's statistic.
fn chi_squared(found: &[f64], expected: &[f64]) -> f64 {
    found.iter().zip(expected).map(|(found, expected)| (found - expected).powi(2) / expected).sum()
}

#[track_caller]
fn assert_chi_squared(what: &str, statistic: f64, degrees: usize) {
    let degrees = degrees as f64;
    let spread = (2.0 * degrees).sqrt();
    assert!((statistic - degrees).abs() < 5.0 * spread + 8.0, "{what}: {statistic} for {degrees} degrees of freedom");
}

/// Mean and standard deviation.
fn moments(numbers: &[f64]) -> (f64, f64) {
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    (mean, (numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt())
}

fn wide<T: Copy>(numbers: &[T], of: impl Fn(T) -> f64) -> Vec<f64> {
    numbers.iter().map(|&x| of(x)).collect()
}

const COUNT: usize = 20_000;

#[test]
fn bits_are_even() {
    let Some((_device, stream)) = device() else { return };
    for kind in PSEUDO {
        let mut generator = seeded(&stream, kind, 2026);
        let words: Vec<u32> = filled(&mut generator, COUNT, |generator, to| generator.generate(to));
        for bit in 0..32 {
            let ones = words.iter().filter(|word| **word >> bit & 1 == 1).count() as f64;
            assert!(
                (ones - COUNT as f64 / 2.0).abs() < 5.0 * (COUNT as f64).sqrt() / 2.0,
                "{kind:?} bit {bit}: {ones}"
            );
        }
        let bytes: Vec<u8> = filled(&mut generator, 4 * COUNT, |generator, to| generator.generate(to));
        let mut found = [0.0; 256];
        bytes.iter().for_each(|byte| found[usize::from(*byte)] += 1.0);
        assert_chi_squared(&format!("{kind:?}, bytes"), chi_squared(&found, &[4.0 * COUNT as f64 / 256.0; 256]), 255);
        let shorts: Vec<u16> = filled(&mut generator, 2 * COUNT, |generator, to| generator.generate(to));
        let mut found = [0.0; 512];
        shorts.iter().for_each(|short| found[usize::from(*short >> 7)] += 1.0);
        assert_chi_squared(&format!("{kind:?}, shorts"), chi_squared(&found, &[2.0 * COUNT as f64 / 512.0; 512]), 511);
        // Two after each other are independent.
        let mut pairs = [0.0; 256];
        words.chunks_exact(2).for_each(|pair| pairs[(pair[0] >> 28 << 4 | pair[1] >> 28) as usize] += 1.0);
        assert_chi_squared(&format!("{kind:?}, pairs"), chi_squared(&pairs, &[COUNT as f64 / 512.0; 256]), 255);
    }
}

/// Uniform, normal and log-normal numbers of a type. `step` is the distance of its numbers around 1.
fn real<T: Real>(
    stream: &hip::Stream,
    kind: hiprand::Pseudo,
    of: impl Fn(T) -> f64 + Copy,
    to: impl Fn(f64) -> T,
    step: f64,
) {
    let mut generator = seeded(stream, kind, 314);
    let uniform = wide(&filled(&mut generator, COUNT, |generator, to| generator.uniform::<T>(to)), of);
    assert!(uniform.iter().all(|x| *x > 0.0 && *x <= 1.0), "{kind:?}");
    let far = distance(&uniform, |x| x);
    assert!(far < 2.3 + step * (COUNT as f64).sqrt(), "{kind:?}, uniform: {far}");
    let (mean, deviation) = moments(&uniform);
    assert!(
        (mean - 0.5).abs() < 0.011 && (deviation - 12_f64.sqrt().recip()).abs() < 0.006,
        "{kind:?} {mean} {deviation}"
    );

    // An odd count.
    let normal =
        wide(&filled(&mut generator, COUNT - 1, |generator, numbers| generator.normal(numbers, to(-2.0), to(0.5))), of);
    let far = distance(&normal, |x| normal_cdf((x + 2.0) / 0.5));
    assert!(far < 2.3 + 4.0 * step * (COUNT as f64).sqrt(), "{kind:?}, normal: {far}");
    let (mean, deviation) = moments(&normal);
    assert!((mean + 2.0).abs() < 0.019 && (deviation - 0.5).abs() < 0.014, "{kind:?} {mean} {deviation}");

    let log =
        wide(&filled(&mut generator, COUNT, |generator, numbers| generator.log_normal(numbers, to(0.25), to(0.5))), of);
    assert!(log.iter().all(|x| *x > 0.0));
    let far = distance(&log, |x| normal_cdf((x.ln() - 0.25) / 0.5));
    assert!(far < 2.3 + 4.0 * step * (COUNT as f64).sqrt(), "{kind:?}, log-normal: {far}");
}

#[test]
fn real_numbers_are_distributed_as_asked() {
    let Some((_device, stream)) = device() else { return };
    for kind in PSEUDO {
        real::<f32>(&stream, kind, f64::from, |x| x as f32, 1.2e-7);
        real::<f64>(&stream, kind, |x| x, |x| x, 2.2e-16);
        real::<f16>(&stream, kind, f16::to_f64, f16::from_f64, 9.8e-4);
    }
}

/// Without a deviation, all numbers are the mean.
#[test]
fn a_deviation_of_zero_gives_the_mean() {
    let Some((_device, stream)) = device() else { return };
    let mut generator = seeded(&stream, hiprand::Pseudo::Philox4x32_10, 1);
    let numbers: Vec<f32> = filled(&mut generator, 33, |generator, to| generator.normal(to, 7.0, 0.0));
    assert_eq!(numbers, [7.0; 33]);
}

/// Probabilities of counts.
fn poisson(lambda: f64, counts: usize) -> Vec<f64> {
    let mut logs = vec![-lambda];
    (1..counts).for_each(|k| logs.push(logs[k - 1] + lambda.ln() - (k as f64).ln()));
    logs.into_iter().map(f64::exp).collect()
}

#[track_caller]
fn assert_poisson(what: &str, counts: &[u32], lambda: f64) {
    let (n, most) = (counts.len() as f64, (lambda + 12.0 * lambda.sqrt() + 12.0) as usize);
    let probabilities = poisson(lambda, most);
    // Counts that are rare are one bin.
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    let (mut rare, mut rarely) = (0.0, n * (1.0 - probabilities.iter().sum::<f64>()).max(0.0));
    for (count, p) in probabilities.iter().enumerate() {
        let times = counts.iter().filter(|found| **found as usize == count).count() as f64;
        if p * n < 10.0 {
            rare += times;
            rarely += p * n;
        } else {
            found.push(times);
            expected.push(p * n);
        }
    }
    rare += counts.iter().filter(|found| **found as usize >= most).count() as f64;
    if rarely > 5.0 {
        found.push(rare);
        expected.push(rarely);
    } else {
        assert!(rare <= 30.0, "{what}: {rare} rare counts");
    }
    assert_chi_squared(&format!("{what}, λ {lambda}"), chi_squared(&found, &expected), found.len() - 1);
}

#[test]
fn counts_are_poissons() {
    let Some((_device, stream)) = device() else { return };
    for kind in PSEUDO {
        let mut generator = seeded(&stream, kind, 99);
        for lambda in [0.05, 3.5, 900.0] {
            let counts = filled(&mut generator, COUNT, |generator, to| generator.poisson(to, lambda));
            assert_poisson(&format!("{kind:?}"), &counts, lambda);
        }
    }
    // The largest, by the moments; and the smallest.
    let mut generator = seeded(&stream, hiprand::Pseudo::Philox4x32_10, 99);
    for lambda in [5000.0, 2.146e9] {
        let counts = filled(&mut generator, COUNT, |generator, to| generator.poisson(to, lambda));
        let (mean, deviation) = moments(&wide(&counts, f64::from));
        let root: f64 = f64::sqrt(lambda);
        assert!((mean - lambda).abs() < 5.0 * root / (COUNT as f64).sqrt(), "{lambda}: {mean}");
        assert!((deviation / root - 1.0).abs() < 0.03, "{lambda}: {deviation}");
    }
    let counts = filled(&mut generator, 64, |generator, to| generator.poisson(to, f64::MIN_POSITIVE));
    assert_eq!(counts, [0; 64]);
}

/// The property that makes them quasi-random: of 2ᵏ points, each of 2ᵏ equal intervals contains one, in every
/// dimension; and in the first two dimensions, each of 2ᵏ equal boxes of every shape.
#[test]
fn quasi_random_points_fill_the_cube_evenly() {
    let Some((_device, stream)) = device() else { return };
    let (dimensions, points) = (40, 1024);
    for kind in QUASI {
        let mut generator = Generator::new(&stream, kind).unwrap();
        generator.set_dimensions(dimensions).unwrap();
        assert_eq!(generator.dimensions(), dimensions);
        let numbers: Vec<u32> = match kind {
            Quasi::Sobol64 | Quasi::ScrambledSobol64 => {
                let wide: Vec<u64> =
                    filled(&mut generator, dimensions as usize * points, |generator, to| generator.generate(to));
                wide.iter().map(|number| (number >> 32) as u32).collect()
            }
            _ => filled(&mut generator, dimensions as usize * points, |generator, to| generator.generate(to)),
        };
        let columns: Vec<&[u32]> = numbers.chunks(points).collect();
        for (dimension, column) in columns.iter().enumerate() {
            let mut taken = vec![false; points];
            column.iter().for_each(|number| taken[(number >> 22) as usize] = true);
            assert!(taken.iter().all(|taken| *taken), "{kind:?}, dimension {dimension}");
        }
        for across in 0..=10_u32 {
            let mut taken = vec![false; points];
            for (x, y) in columns[0].iter().zip(columns[1]) {
                let (x, y) = (u64::from(*x) >> (32 - across), u64::from(*y) >> (22 + across));
                taken[(x << (10 - across) | y) as usize] = true;
            }
            assert!(taken.iter().all(|taken| *taken), "{kind:?}, boxes of 2^{across}");
        }
        // The same points as real numbers, which are normal or Poisson's by the inverse of the distribution.
        generator.set_offset(0).unwrap();
        let uniform: Vec<f64> =
            filled(&mut generator, dimensions as usize * points, |generator, to| generator.uniform(to));
        for (real, bits) in uniform.iter().zip(&numbers) {
            assert!((real - f64::from(*bits) / 2_f64.powi(32)).abs() < 1e-9, "{kind:?}: {real} {bits}");
        }
        for (dimension, column) in uniform.chunks(points).enumerate() {
            assert!(
                distance(column, |x| x) / (points as f64).sqrt() <= 2.0 / points as f64,
                "{kind:?}, dimension {dimension}"
            );
        }
        let normal: Vec<f32> =
            filled(&mut generator, dimensions as usize * points, |generator, to| generator.normal(to, 1.0, 2.0));
        let far = distance(&wide(&normal[..points], f64::from), |x| normal_cdf((x - 1.0) / 2.0));
        assert!(far < 0.2, "{kind:?}: {far}");
        let log: Vec<f16> = filled(&mut generator, dimensions as usize * points, |generator, to| {
            generator.log_normal(to, f16::ZERO, f16::ONE)
        });
        assert!(log.iter().all(|x| x.to_f64() >= 0.0));
        let counts: Vec<u32> =
            filled(&mut generator, dimensions as usize * points, |generator, to| generator.poisson(to, 4.0));
        let mean = counts[..points].iter().map(|count| f64::from(*count)).sum::<f64>() / points as f64;
        // A pseudo-random mean is off by 2 / 32.
        assert!((mean - 4.0).abs() < 0.02, "{kind:?}: {mean}");
    }
}

/// The tables for kernels are those of the distribution.
#[test]
fn a_poisson_distribution_has_its_tables() {
    let Some((device, _stream)) = device() else { return };
    if before((5, 8)) {
        // It is here as well; only the layout is not the same for sure.
        hiprand::PoissonDistribution::new(&device, 3.0).unwrap();
        return;
    }
    let lambda = 12.5;
    let distribution = hiprand::PoissonDistribution::new(&device, lambda).unwrap();
    assert_eq!(distribution.lambda(), lambda);
    // SAFETY: the distribution owns the tables, and nothing writes them.
    let header = unsafe {
        let pointer = hip::DevicePtr::<u64>::from_address(distribution.as_raw() as u64);
        hip::DeviceBuffer::<u64>::from_raw_parts_with(&device, pointer, 4, ()).unwrap().to_vec().unwrap()
    };
    let (size, offset) = (header[0] as u32 as usize, (header[0] >> 32) as u32 as usize);
    // SAFETY: as above; the last pointer is that of the cumulated probabilities.
    let cumulated = unsafe {
        let pointer = hip::DevicePtr::<f64>::from_address(header[3]);
        hip::DeviceBuffer::<f64>::from_raw_parts_with(&device, pointer, size, ()).unwrap().to_vec().unwrap()
    };
    let probabilities = poisson(lambda, offset + size);
    let mut sum: f64 = probabilities[..offset].iter().sum();
    for (at, found) in cumulated.iter().enumerate() {
        sum += probabilities[offset + at];
        assert!((found - sum).abs() < 1e-9, "{at}: {found}, not {sum}");
    }
    assert!(size > 40 && (cumulated[size - 1] - 1.0).abs() < 1e-12);
}

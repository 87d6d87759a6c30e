//! Published sequences.

use hiprand::{Generator, Quasi};

use linalg_testing::before;

use crate::{device, filled, seeded};

/// The known answers of Random123's own tests for philox4x32-10 (`kat_vectors`): the key is the seed, the counter the
/// offset in fours.
#[test]
fn philox_is_random123s() {
    let Some((_device, stream)) = device() else { return };
    let block = |seed: u64, offset: u64| -> Vec<u32> {
        let mut generator = seeded(&stream, hiprand::Pseudo::Philox4x32_10, seed);
        generator.set_offset(offset).unwrap();
        filled(&mut generator, 4, |generator, to| generator.generate(to))
    };
    assert_eq!(block(0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    // The reference below gives the other published answers, whose counters a 64-bit offset cannot reach; the library matches the
    // reference.
    assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    let (counter, key) = ([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]);
    assert_eq!(philox(counter, key), [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    for (seed, offset) in [(0x299f_31d0_a409_3822_u64, 0_u64), (1, 4 * 77), (u64::MAX, 4 * 0x1_0000_0003)] {
        let counter = [(offset / 4) as u32, ((offset / 4) >> 32) as u32, 0, 0];
        assert_eq!(block(seed, offset), philox(counter, [seed as u32, (seed >> 32) as u32]), "{seed:x} {offset}");
    }
    // An offset in the middle of a block.
    assert_eq!(block(5, 2)[..2], block(5, 0)[2..]);
}

/// Salmon and others, Parallel Random Numbers: As Easy as 1, 2, 3 (2011).
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for round in 0..10 {
        if round > 0 {
            key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
        }
        let product = |factor: u32, with: u32| {
            let wide = u64::from(factor) * u64::from(with);
            ((wide >> 32) as u32, wide as u32)
        };
        let ((high0, low0), (high1, low1)) = (product(0xd251_1f53, counter[0]), product(0xcd9e_8d57, counter[2]));
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0];
    }
    counter
}

/// The Mersenne Twister of Matsumoto and Nishimura.
struct Mt19937([u32; 624]);

impl Mt19937 {
    fn new(seed: u32) -> Self {
        let mut state = [seed; 624];
        for at in 1..624 {
            let before = state[at - 1];
            state[at] = 1_812_433_253_u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(at as u32);
        }
        Self(state)
    }

    /// The next 624 numbers.
    fn block(&mut self) -> [u32; 624] {
        let state = &mut self.0;
        for at in 0..624 {
            let y = (state[at] & 0x8000_0000) | (state[(at + 1) % 624] & 0x7fff_ffff);
            state[at] = state[(at + 397) % 624] ^ (y >> 1) ^ if y & 1 == 0 { 0 } else { 0x9908_b0df };
        }
        state.map(|mut y| {
            y ^= y >> 11;
            y ^= (y << 7) & 0x9d2c_5680;
            y ^= (y << 15) & 0xefc6_0000;
            y ^ (y >> 18)
        })
    }
}

/// Known answers for the reference.
#[test]
fn the_reference_of_mt19937_is_the_published_one() {
    let mut reference = Mt19937::new(5489);
    let ten_thousand = (0..17).map(|_| reference.block()).last().unwrap()[9999 - 16 * 624];
    assert_eq!(ten_thousand, 4_123_659_995, "the 10000th number, as ISO C++ requires it");
}

/// The first of rocRAND's Mersenne Twisters is the published one. Eight threads share it, and its eight first numbers
/// are these of it.
fn first_of_mt19937(seed: u32) -> Vec<u32> {
    let first = Mt19937::new(seed).block();
    [0, 113, 170, 283, 340, 397, 510, 567].map(|at| first[at]).to_vec()
}

#[test]
#[ignore = "many minutes on the software GPU, which sets up 8192 generators: `cargo test -p hiprand --test rand mt19937 -- --ignored`"]
fn mt19937_is_the_published_one() {
    let Some((_device, stream)) = device() else { return };
    let mut generator = seeded(&stream, hiprand::Pseudo::Mt19937, 5489);
    let numbers: Vec<u32> = filled(&mut generator, 8, |generator, to| generator.generate(to));
    assert_eq!(numbers, first_of_mt19937(5489));
}

#[test]
#[ignore = "minutes on the host, which sets up 8192 generators: the same command"]
fn mt19937_on_the_host_is_the_published_one() {
    let Some((device, _stream)) = device() else { return };
    let mut generator = hiprand::HostGenerator::new(&device, hiprand::Pseudo::Mt19937).unwrap();
    generator.set_seed(5489).unwrap();
    let mut numbers = [0; 8];
    generator.generate(&mut numbers).unwrap();
    assert_eq!(numbers[..], first_of_mt19937(5489));
}

/// Joe and Kuo's `new-joe-kuo-6.21201`, the first lines: degree and coefficients of the primitive polynomial, initial
/// direction numbers. Of the second dimension on.
const JOE_KUO: [(u32, u32, &[u32]); 9] = [
    (1, 0, &[1]),
    (2, 1, &[1, 3]),
    (3, 1, &[1, 3, 1]),
    (3, 2, &[1, 1, 1]),
    (4, 1, &[1, 1, 3, 3]),
    (4, 4, &[1, 3, 5, 13]),
    (5, 2, &[1, 1, 5, 5, 17]),
    (5, 4, &[1, 1, 5, 5, 5]),
    (5, 7, &[1, 1, 7, 11, 19]),
];

/// The direction vectors of a dimension, as Joe and Kuo describe it, in 64 bits.
fn directions(dimension: usize) -> [u64; 64] {
    let mut vectors = std::array::from_fn(|bit| 1 << (63 - bit));
    if dimension == 0 {
        return vectors;
    }
    let (degree, coefficients, initial) = JOE_KUO[dimension - 1];
    let degree = degree as usize;
    for bit in 0..64 {
        vectors[bit] = if bit < degree {
            u64::from(initial[bit]) << (63 - bit)
        } else {
            let last = vectors[bit - degree];
            (1..degree).fold(last ^ (last >> degree), |sum, k| {
                sum ^ (u64::from((coefficients >> (degree - 1 - k)) & 1) * vectors[bit - k])
            })
        };
    }
    vectors
}

#[test]
fn direction_vectors_are_joe_and_kuos() {
    if device().is_none() {
        return;
    }
    if before((6, 2)) {
        assert!(matches!(hiprand::sobol32_vectors(false), Err(hiprand::Error::NoSymbol { .. })));
        assert!(matches!(hiprand::scramble_constants64(), Err(hiprand::Error::NoSymbol { .. })));
        return;
    }
    let (narrow, wide) = (hiprand::sobol32_vectors(false).unwrap(), hiprand::sobol64_vectors(false).unwrap());
    assert_eq!((narrow.len(), wide.len()), (20_000, 20_000));
    for dimension in 0..=JOE_KUO.len() {
        let expected = directions(dimension);
        assert_eq!(wide[dimension], expected, "dimension {dimension}");
        assert_eq!(narrow[dimension][..], expected[..32].iter().map(|v| (v >> 32) as u32).collect::<Vec<_>>()[..]);
    }
    // In every dimension, bit k is the highest that vector k can have.
    assert!(narrow.iter().all(|vectors| vectors.iter().enumerate().all(|(k, v)| v
        << (k + 1).min(31)
        << u32::from(k == 31)
        == 0
        && v >> (31 - k) & 1 == 1)));
    let (narrow, wide) = (hiprand::scramble_constants32().unwrap(), hiprand::scramble_constants64().unwrap());
    assert_eq!((narrow.len(), wide.len()), (20_000, 20_000));
    // The numbers of MT19937 with its default seed.
    assert_eq!(narrow[..624], Mt19937::new(5489).block());
    // Scrambled vectors differ from plain ones, and are of full rank as they are triangular.
    let scrambled = hiprand::sobol32_vectors(true).unwrap();
    assert_ne!(scrambled[1], hiprand::sobol32_vectors(false).unwrap()[1]);
    assert_eq!(hiprand::sobol64_vectors(true).unwrap().len(), 20_000);
}

/// Point `index` of Sobol's sequence in the order of Antonov and Saleev: the exclusive or of the vectors at the bits of
/// its Gray code.
fn sobol(vectors: &[u64; 64], index: u64) -> u64 {
    let gray = index ^ (index >> 1);
    (0..64).filter(|bit| gray >> bit & 1 == 1).fold(0, |sum, bit| sum ^ vectors[bit])
}

#[test]
fn sobol_points_are_the_published_ones() {
    let Some((_device, stream)) = device() else { return };
    let (dimensions, points, offset) = (JOE_KUO.len() + 1, 300, 5_u64);
    let expected: Vec<u64> = (0..dimensions)
        .flat_map(|dimension| {
            let vectors = directions(dimension);
            (0..points as u64).map(move |index| sobol(&vectors, offset + index))
        })
        .collect();
    for kind in [Quasi::Default, Quasi::Sobol32, Quasi::Sobol64] {
        let mut generator = Generator::new(&stream, kind).unwrap();
        generator.set_dimensions(dimensions as u32).unwrap();
        generator.set_offset(offset).unwrap();
        if kind == Quasi::Sobol64 {
            let numbers: Vec<u64> = filled(&mut generator, dimensions * points, |generator, to| generator.generate(to));
            assert_eq!(numbers, expected, "{kind:?}");
        } else {
            let numbers: Vec<u32> = filled(&mut generator, dimensions * points, |generator, to| generator.generate(to));
            assert!(numbers.iter().zip(&expected).all(|(found, want)| u64::from(*found) == want >> 32), "{kind:?}");
        }
    }
}

/// The scrambled sequences are those of the published vectors, shifted by one constant in each dimension.
#[test]
fn scrambled_points_are_those_of_the_tables() {
    let Some((_device, stream)) = device() else { return };
    if before((6, 2)) {
        return linalg_testing::skipped(&"hipRAND of ROCm 5.7 has no access to its tables");
    }
    let (dimensions, points) = (7, 256);
    let narrow = hiprand::sobol32_vectors(true).unwrap();
    let mut generator = Generator::new(&stream, Quasi::ScrambledSobol32).unwrap();
    generator.set_dimensions(dimensions as u32).unwrap();
    let numbers: Vec<u32> = filled(&mut generator, dimensions * points, |generator, to| generator.generate(to));
    for (dimension, numbers) in numbers.chunks(points).enumerate() {
        let vectors: [u64; 64] = std::array::from_fn(|bit| if bit < 32 { narrow[dimension][bit].into() } else { 0 });
        let shift = u64::from(numbers[0]);
        // Of the first dimension's vectors, where the constant should be.
        let known = [narrow[0][dimension], hiprand::scramble_constants32().unwrap()[dimension]];
        assert!(known.contains(&numbers[0]), "{shift:x}, not one of {known:x?}");
        for (index, number) in numbers.iter().enumerate() {
            assert_eq!(u64::from(*number), sobol(&vectors, index as u64) ^ shift, "{dimension} {index}");
        }
    }
    let wide = hiprand::sobol64_vectors(true).unwrap();
    let mut generator = Generator::new(&stream, Quasi::ScrambledSobol64).unwrap();
    generator.set_dimensions(dimensions as u32).unwrap();
    let numbers: Vec<u64> = filled(&mut generator, dimensions * points, |generator, to| generator.generate(to));
    for (dimension, numbers) in numbers.chunks(points).enumerate() {
        for (index, number) in numbers.iter().enumerate() {
            assert_eq!(*number, sobol(&wide[dimension], index as u64) ^ numbers[0], "{dimension} {index}");
        }
    }
}

/// Marsaglia's XORWOW: the recurrence, with the state that the library seeds it with (five words and a counter).
#[test]
fn xorwow_is_marsaglias() {
    let Some((_device, stream)) = device() else { return };
    let seed = 0x0123_4567_89ab_cdef_u64;
    let mut generator = seeded(&stream, hiprand::Pseudo::Xorwow, seed);
    // 131072 of them stand side by side: every 131072nd number is of the first.
    let apart = 131_072;
    let numbers: Vec<u32> = filled(&mut generator, 3 * apart + 1, |generator, to| generator.generate(to));
    let (mut x, mut counter) = ([123_456_789, 362_436_069, 521_288_629, 88_675_123, 5_783_321_u32], 6_615_241_u32);
    let (s0, s1) = (seed as u32 ^ 0x2c7f_967f, (seed >> 32) as u32 ^ 0xa03697cb);
    let (t0, t1) = (1_228_688_033_u32.wrapping_mul(s0), 2_073_658_381_u32.wrapping_mul(s1));
    x[0] = x[0].wrapping_add(t0);
    x[1] ^= t0;
    x[2] = x[2].wrapping_add(t1);
    x[3] ^= t1;
    x[4] = x[4].wrapping_add(t0);
    counter = counter.wrapping_add(t1).wrapping_add(t0);
    for round in 0..4 {
        let t = x[0] ^ (x[0] >> 2);
        x = [x[1], x[2], x[3], x[4], x[4] ^ (x[4] << 4) ^ t ^ (t << 1)];
        counter = counter.wrapping_add(362_437);
        assert_eq!(numbers[round * apart], counter.wrapping_add(x[4]), "round {round}");
    }
}

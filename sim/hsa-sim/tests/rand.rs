//! rocRAND, unmodified, on the software GPU: each generator is compared with published numbers or with rocRAND's host
//! generator, each distribution with the host's numbers and its moments.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use bytemuck::Pod;
use half::f16;
use hip::{Device, DeviceBuffer};
use libloading::os::unix::{Library, Symbol};
use support::libraries::{RAND_RELEASES, function, on_each_of, open, since};
use support::numbers::raw;

const FILES: [&str; 1] = ["librocrand.so"];

/// A generator: `rocrand_rng_type`.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    code: c_int,
    /// The size of its numbers, in bytes.
    bytes: usize,
    /// The first release with a host generator, if any.
    host: Option<&'static str>,
}

const fn kind(name: &'static str, code: c_int, bytes: usize) -> Kind {
    Kind { name, code, bytes, host: Some("6.4") }
}

const KINDS: [Kind; 15] = [
    kind("XORWOW", 401, 4),
    kind("MRG32k3a", 402, 4),
    kind("MTGP32", 403, 4),
    kind("Philox4x32-10", 404, 4),
    kind("MRG31k3p", 405, 4),
    kind("LFSR113", 406, 4),
    kind("MT19937", 407, 4),
    kind("ThreeFry2x32-20", 408, 4),
    kind("ThreeFry2x64-20", 409, 8),
    kind("ThreeFry4x32-20", 410, 4),
    kind("ThreeFry4x64-20", 411, 8),
    kind("Sobol32", 501, 4),
    kind("scrambled Sobol32", 502, 4),
    kind("Sobol64", 504, 8),
    kind("scrambled Sobol64", 505, 8),
];

impl Kind {
    fn named(name: &str) -> Kind {
        KINDS.into_iter().find(|kind| kind.name == name).unwrap()
    }

    fn is_quasi(self) -> bool {
        self.code >= 500
    }
}

/// rocRAND.
struct Rand {
    library: Library,
    device: Device,
}

impl Rand {
    fn new() -> Self {
        let device = Device::get(0).unwrap();
        Self { library: open("librocrand.so"), device }
    }

    /// A function `rocrand_NAME`.
    ///
    /// # Safety
    /// It has the type `F`.
    unsafe fn function<F>(&self, name: &str) -> Symbol<F> {
        // SAFETY: as the caller vouches.
        unsafe { function(&self.library, &format!("rocrand_{name}")) }
    }

    fn generator(&self, kind: Kind, on_host: bool, seed: u64) -> Generator<'_> {
        type Create = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
        type SetSeed = unsafe extern "C" fn(*mut c_void, u64) -> c_int;
        let create = match on_host {
            false => "create_generator",
            true if since("6.4") => "create_generator_host_blocking",
            true => "create_generator_host",
        };
        let mut handle = null_mut();
        // SAFETY: the types are those of rocrand.h, and `handle` is valid for the write.
        unsafe {
            let status = self.function::<Create>(create)(&mut handle, kind.code);
            assert_eq!(status, 0, "{create} of {}", kind.name);
            if !kind.is_quasi() {
                assert_eq!(self.function::<SetSeed>("set_seed")(handle, seed), 0, "{}", kind.name);
            }
        }
        Generator { rand: self, handle, on_host }
    }
}

/// A generator of numbers.
struct Generator<'r> {
    rand: &'r Rand,
    handle: *mut c_void,
    on_host: bool,
}

impl Generator<'_> {
    /// Generates `n` numbers with `fill`.
    fn numbers<T: Pod>(&self, n: usize, fill: impl Fn(*mut c_void, *mut T, usize) -> c_int) -> Vec<T> {
        if self.on_host {
            let mut numbers = vec![T::zeroed(); n];
            assert_eq!(fill(self.handle, numbers.as_mut_ptr(), n), 0);
            return numbers;
        }
        let buffer = DeviceBuffer::<T>::zeroed(&self.rand.device, n).unwrap();
        assert_eq!(fill(self.handle, raw(&buffer), n), 0);
        self.rand.device.synchronize().unwrap();
        buffer.to_vec().unwrap()
    }

    /// Generates numbers with a function without parameters.
    fn plain<T: Pod>(&self, name: &str, n: usize) -> Vec<T> {
        type Fill = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> c_int;
        // SAFETY: the type is that of rocrand.h for functions without parameters; there is room for `n` numbers.
        self.numbers(n, |handle, to: *mut T, n| unsafe { self.rand.function::<Fill>(name)(handle, to.cast(), n) })
    }

    /// Uniform integers over the full range.
    fn bits(&self, kind: Kind, n: usize) -> Vec<u64> {
        match kind.bytes {
            4 => self.plain::<u32>("generate", n).into_iter().map(u64::from).collect(),
            _ => self.plain::<u64>("generate_long_long", n),
        }
    }
}

impl Drop for Generator<'_> {
    fn drop(&mut self) {
        // SAFETY: the type is that of rocrand.h; the handle is live.
        let status = unsafe {
            let destroy = self.rand.function::<unsafe extern "C" fn(*mut c_void) -> c_int>("destroy_generator");
            destroy(self.handle)
        };
        assert!(status == 0 || std::thread::panicking());
    }
}

/// With key and counter zero, counter-based generators return the numbers that their authors published (rocRAND's
/// four-word ThreeFry is a different one, on the host too). The van der Corput sequence is the first dimension of
/// Sobol's.
#[test]
fn generators_give_published_numbers() {
    if on_each_of(&RAND_RELEASES, "generators_give_published_numbers", &FILES, &[]).is_some() {
        return;
    }
    let rand = Rand::new();
    for (name, expected) in [
        ("Philox4x32-10", &[0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8][..]),
        ("ThreeFry2x32-20", &[0x6b20_0159, 0x99ba_4efe]),
        ("ThreeFry2x64-20", &[0xc2b6_e3a8_c2c6_9865, 0x6f81_ed42_f350_084d]),
        ("Sobol32", &[0, 0x8000_0000, 0xc000_0000, 0x4000_0000, 0x6000_0000, 0xe000_0000, 0xa000_0000, 0x2000_0000]),
        ("Sobol64", &[0, 0x8000_0000_0000_0000, 0xc000_0000_0000_0000, 0x4000_0000_0000_0000]),
    ] {
        let kind = Kind::named(name);
        // That of 5.7 is different.
        if name == "ThreeFry2x64-20" && !since("6.4") {
            continue;
        }
        let numbers = rand.generator(kind, false, 0).bits(kind, 1024);
        assert_eq!(&numbers[..expected.len()], expected, "{name}");
    }
}

/// The same numbers as from the host generator, over several workgroups and several calls.
#[test]
fn generators_are_bit_equal_to_those_on_the_host() {
    if on_each_of(&RAND_RELEASES[..3], "generators_are_bit_equal_to_those_on_the_host", &FILES, &[]).is_some() {
        return;
    }
    let rand = Rand::new();
    KINDS.into_iter().filter(|kind| kind.name != SLOW).for_each(|kind| equals_the_host(&rand, kind));
}

/// The same for the generator with 8192 states, each a fixed number of steps after the previous one.
#[test]
#[ignore = "takes minutes"]
fn mt19937_is_bit_equal_to_that_on_the_host() {
    if on_each_of(&RAND_RELEASES[..3], "mt19937_is_bit_equal_to_that_on_the_host", &FILES, &[]).is_none() {
        equals_the_host(&Rand::new(), Kind::named(SLOW));
    }
}

const SLOW: &str = "MT19937";

fn equals_the_host(rand: &Rand, kind: Kind) {
    let gpu = rand.generator(kind, false, 0xfeed_beef);
    let first = gpu.bits(kind, 5000);
    assert!(first[..1000].iter().any(|number| *number != first[0]), "{}", kind.name);
    if kind.host.is_some_and(since) {
        let host = rand.generator(kind, true, 0xfeed_beef);
        assert!(first == host.bits(kind, 5000), "{}", kind.name);
        assert!(gpu.bits(kind, 3000) == host.bits(kind, 3000), "{}, second call", kind.name);
        println!("{}: equal", kind.name);
    }
}

/// Mean and variance of numbers.
fn moments(numbers: &[f64]) -> (f64, f64) {
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    (mean, numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n)
}

/// The properties of a distribution.
struct Distribution {
    name: &'static str,
    mean: f64,
    variance: f64,
    /// The expected fourth power of a standardised number: it determines the variance's own error.
    kurtosis: f64,
}

impl Distribution {
    /// Checks that the moments are within five standard deviations of their expected values.
    fn assert_fits(&self, of: &str, numbers: &[f64]) {
        let n = numbers.len() as f64;
        let (mean, variance) = moments(numbers);
        let mean_error = (self.variance / n).sqrt();
        let variance_error = self.variance * ((self.kurtosis - 1.0) / n).sqrt();
        assert!((mean - self.mean).abs() < 5.0 * mean_error, "{of} {}: mean {mean}, not {}", self.name, self.mean);
        let off = (variance - self.variance).abs();
        assert!(off < 5.0 * variance_error, "{of} {}: variance {variance}, not {}", self.name, self.variance);
    }
}

/// Checks that numbers from the GPU and the host differ only by rounding.
fn assert_near(of: &str, name: &str, gpu: &[f64], host: &[f64], tolerance: f64) {
    let furthest = gpu.iter().zip(host).map(|(gpu, host)| (gpu - host).abs() / host.abs().max(1.0)).fold(0.0, f64::max);
    assert!(furthest <= tolerance, "{of} {name}: {furthest:e} from the host's");
    println!("{of} {name}: within {furthest:.1e}");
}

type WithTwo<T> = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, T, T) -> c_int;

/// One type: `T` with parameters of type `P`, which is the same except for half precision.
fn floats<T: Pod, P: Copy>(
    rand: &Rand,
    kind: Kind,
    suffix: &str,
    parameter: impl Fn(f64) -> P,
    value: impl Fn(T) -> f64,
    (tolerance, tail): (f64, f64),
) {
    let n = 8192;
    let generate = |on_host: bool| {
        // A new one each time: what a generator does with the remainder of its last call is unspecified.
        let new = || rand.generator(kind, on_host, 77);
        let with = |name: &str, a: f64, b: f64| {
            let (a, b) = (parameter(a), parameter(b));
            // SAFETY: the type is that of rocrand.h for two parameters; there is room for `n` numbers.
            new().numbers::<T>(n, |handle, to, n| unsafe {
                rand.function::<WithTwo<P>>(&format!("{name}{suffix}"))(handle, to.cast(), n, a, b)
            })
        };
        [
            new().plain::<T>(&format!("generate_uniform{suffix}"), n),
            with("generate_normal", 2.0, 3.0),
            with("generate_log_normal", 0.5, 0.25),
        ]
        .map(|numbers| numbers.into_iter().map(&value).collect::<Vec<f64>>())
    };
    let gpu = generate(false);
    let of = format!("{}{suffix}", kind.name);
    // Of exp(N(m, s^2)).
    let (m, s2) = (0.5_f64, 0.0625_f64);
    let log_mean = (m + s2 / 2.0).exp();
    let distributions = [
        Distribution { name: "uniform", mean: 0.5, variance: 1.0 / 12.0, kurtosis: 1.8 },
        Distribution { name: "normal", mean: 2.0, variance: 9.0, kurtosis: 3.0 },
        Distribution {
            name: "log-normal",
            mean: log_mean,
            variance: (s2.exp() - 1.0) * log_mean * log_mean,
            kurtosis: 4.1,
        },
    ];
    for (distribution, numbers) in distributions.iter().zip(&gpu) {
        distribution.assert_fits(&of, numbers);
    }
    // Zero is excluded, one is included.
    assert!(gpu[0].iter().all(|x| (0.0..=1.0).contains(x)), "{of}");
    if kind.host.is_some_and(since) {
        let host = generate(true);
        for ((distribution, gpu), (host, tolerance)) in
            distributions.iter().zip(&gpu).zip(host.iter().zip([tolerance, tail, tail]))
        {
            assert_near(&of, distribution.name, gpu, host, tolerance);
        }
    }
}

/// Uniform, normal and log-normal numbers of each type, from a counter-based generator, a stepping one, and a
/// quasi-random one. (XORWOW takes seconds to initialise.)
#[test]
fn distributions_of_floats_fit() {
    if on_each_of(&RAND_RELEASES[1..], "distributions_of_floats_fit", &FILES, &[]).is_some() {
        return;
    }
    let rand = Rand::new();
    for name in ["Philox4x32-10", "MRG32k3a", "Sobol32"] {
        let kind = Kind::named(name);
        // Sobol's normal numbers use an inverse that cancels near the ends: 2 u - 1 is rounded where u is about 1/8192.
        let (tail, tail_f64) = if kind.is_quasi() { (5e-3, 5e-12) } else { (1e-5, 1e-13) };
        floats::<f32, f32>(&rand, kind, "", |x| x as f32, f64::from, (0.0, tail));
        floats::<f64, f64>(&rand, kind, "_double", |x| x, |x| x, (0.0, tail_f64));
        // C's half is passed like a 16-bit integer.
        floats::<f16, f16>(&rand, kind, "_half", f16::from_f64, f16::to_f64, (0.0, 5e-2));
    }
}

/// Poisson's distribution with a small mean (using tables) and a large one, bytes and 16-bit numbers.
#[test]
fn distributions_of_whole_numbers_fit() {
    if on_each_of(&RAND_RELEASES[1..], "distributions_of_whole_numbers_fit", &FILES, &[]).is_some() {
        return;
    }
    type Poisson = unsafe extern "C" fn(*mut c_void, *mut c_uint, usize, f64) -> c_int;
    let rand = Rand::new();
    let n = 8192;
    for name in ["Philox4x32-10", "MRG32k3a", "Sobol32"] {
        let kind = Kind::named(name);
        for lambda in [4.5, 1000.0, 20_000.0] {
            let generate = |on_host| {
                let generator = rand.generator(kind, on_host, 5);
                // SAFETY: the type is that of rocrand.h; there is room for `n` numbers.
                generator.numbers::<c_uint>(n, |handle, to, n| unsafe {
                    rand.function::<Poisson>("generate_poisson")(handle, to, n, lambda)
                })
            };
            let gpu = generate(false);
            let numbers: Vec<f64> = gpu.iter().copied().map(f64::from).collect();
            let kurtosis = 3.0 + 1.0 / lambda;
            Distribution { name: "Poisson", mean: lambda, variance: lambda, kurtosis }.assert_fits(name, &numbers);
            if kind.host.is_some_and(since) {
                let host = generate(true);
                let other = gpu.iter().zip(&host).filter(|(gpu, host)| gpu != host).count();
                assert_eq!(other, 0, "{name}, Poisson {lambda}: {other} of {n} are not the host's");
            }
        }
        let generator = rand.generator(kind, false, 5);
        let bytes: Vec<f64> = generator.plain::<u8>("generate_char", n).into_iter().map(f64::from).collect();
        let shorts: Vec<f64> = generator.plain::<u16>("generate_short", n).into_iter().map(f64::from).collect();
        for (what, numbers, range) in [("bytes", bytes, 256.0_f64), ("16 bits", shorts, 65536.0)] {
            let variance = (range * range - 1.0) / 12.0;
            Distribution { name: what, mean: (range - 1.0) / 2.0, variance, kurtosis: 1.8 }.assert_fits(name, &numbers);
        }
    }
}

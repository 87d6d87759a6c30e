//! Functions of the device library, and the instructions behind them, compared with the host's in double precision.

use std::sync::Arc;

use amdgpu_sim::{Gpu, Module};

use crate::common::{Args, Plain, Random, launch_1d, upload, zeros};
use crate::levels::{Level, topic};
use crate::numbers::{Half, Number, power, ulps};

topic!("math", check);

const COUNT: usize = 400;

/// C functions that Rust's standard library lacks, or computes with less precision.
mod c {
    unsafe extern "C" {
        pub(super) safe fn asinh(x: f64) -> f64;
        pub(super) safe fn acosh(x: f64) -> f64;
        pub(super) safe fn atanh(x: f64) -> f64;
        pub(super) safe fn erf(x: f64) -> f64;
        pub(super) safe fn erfc(x: f64) -> f64;
        pub(super) safe fn tgamma(x: f64) -> f64;
        pub(super) safe fn lgamma(x: f64) -> f64;
        pub(super) safe fn logb(x: f64) -> f64;
    }
}

/// The Bessel function by its series, for small arguments.
fn j0(x: f64) -> f64 {
    let square = x * x / 4.0;
    let term = |(k, last): (i32, f64)| (k + 1, -last * square / f64::from((k + 1) * (k + 1)));
    std::iter::successors(Some((0, 1.0)), |t| Some(term(*t))).take(30).map(|t| t.1).sum()
}

/// sin(pi x), its argument reduced exactly.
fn sinpi(x: f64) -> f64 {
    use std::f64::consts::PI;
    let y = x.abs() % 2.0;
    let s = match y {
        y if y <= 0.25 => (PI * y).sin(),
        y if y <= 0.75 => (PI * (0.5 - y)).cos(),
        y if y <= 1.25 => (PI * (1.0 - y)).sin(),
        y if y <= 1.75 => -(PI * (1.5 - y)).cos(),
        y => (PI * (y - 2.0)).sin(),
    };
    if s == 0.0 { 0.0_f64.copysign(x) } else { s * 1_f64.copysign(x) }
}

/// cos(pi x), likewise.
fn cospi(x: f64) -> f64 {
    use std::f64::consts::PI;
    match x.abs() % 2.0 {
        y if y <= 0.25 => (PI * y).cos(),
        y if y <= 0.75 => (PI * (0.5 - y)).sin(),
        y if y <= 1.25 => -(PI * (1.0 - y)).cos(),
        y if y <= 1.75 => (PI * (y - 1.5)).sin(),
        y => (PI * (2.0 - y)).cos(),
    }
}

/// The range of arguments of a function.
#[derive(Clone, Copy, PartialEq)]
enum Domain {
    /// All sizes and both signs.
    Any,
    /// All magnitudes, positive, from the smallest number up.
    Positive,
    /// From -1 to 1.
    Unit,
    /// Arguments of exponentials: -90 to 90.
    Small,
    /// The domain of gamma: 0 to 30, and below 0 between the poles.
    Gamma,
    /// From 3 on, where the logarithm of gamma has no zeros.
    Beyond,
    /// Up to the first zero, beyond which errors are absolute.
    Bessel,
}

impl Domain {
    fn draw<T: Number>(self, random: &mut Random) -> T {
        let (least, largest) = T::EXPONENTS;
        let size = |random: &mut Random| {
            let exponent = least + (random.next() % (largest - least) as u64) as i32;
            random.between(1.0, 2.0) * power(exponent)
        };
        T::narrow(match self {
            Domain::Any if random.next() % 2 == 0 => size(random) * if random.next() % 2 == 0 { 1.0 } else { -1.0 },
            Domain::Any => random.between(-20.0, 20.0),
            Domain::Positive if random.next() % 2 == 0 => size(random),
            Domain::Positive => random.between(0.0, 5.0),
            Domain::Unit => random.between(-1.0, 1.0),
            Domain::Small if random.next() % 2 == 0 => random.between(-90.0, 90.0),
            Domain::Small => random.between(-1.5, 1.5),
            Domain::Gamma if random.next() % 4 == 0 => (random.next() % 9) as f64 - 8.0 - random.between(0.25, 0.75),
            Domain::Gamma => random.between(0.01, 30.0),
            Domain::Beyond => random.between(3.0, 200.0),
            Domain::Bessel => random.between(0.0, 2.2),
        })
    }
}

/// A function. Its error bound is that of the OpenCL C specification (in units of the last place, single and double),
/// to which AMD's device library conforms.
struct Function {
    name: &'static str,
    one: Option<fn(f64) -> f64>,
    two: Option<fn(f64, f64) -> f64>,
    ulps: (u64, u64),
    domain: [Domain; 2],
}

/// In the order of the source's switch.
const FUNCTIONS: &[Function] = &[
    Function { name: "sin", one: Some(f64::sin), two: None, ulps: (4, 4), domain: [Domain::Any; 2] },
    Function { name: "cos", one: Some(f64::cos), two: None, ulps: (4, 4), domain: [Domain::Any; 2] },
    Function { name: "tan", one: Some(f64::tan), two: None, ulps: (5, 5), domain: [Domain::Any; 2] },
    Function { name: "asin", one: Some(f64::asin), two: None, ulps: (4, 4), domain: [Domain::Unit; 2] },
    Function { name: "acos", one: Some(f64::acos), two: None, ulps: (4, 4), domain: [Domain::Unit; 2] },
    Function { name: "atan", one: Some(f64::atan), two: None, ulps: (5, 5), domain: [Domain::Any; 2] },
    Function { name: "sinh", one: Some(f64::sinh), two: None, ulps: (4, 4), domain: [Domain::Small; 2] },
    Function { name: "cosh", one: Some(f64::cosh), two: None, ulps: (4, 4), domain: [Domain::Small; 2] },
    Function { name: "tanh", one: Some(f64::tanh), two: None, ulps: (5, 5), domain: [Domain::Small; 2] },
    Function { name: "asinh", one: Some(|x| c::asinh(x)), two: None, ulps: (4, 4), domain: [Domain::Any; 2] },
    Function { name: "acosh", one: Some(|x| c::acosh(x)), two: None, ulps: (4, 4), domain: [Domain::Positive; 2] },
    Function { name: "atanh", one: Some(|x| c::atanh(x)), two: None, ulps: (5, 5), domain: [Domain::Unit; 2] },
    Function { name: "exp", one: Some(f64::exp), two: None, ulps: (3, 3), domain: [Domain::Small; 2] },
    Function { name: "exp2", one: Some(f64::exp2), two: None, ulps: (3, 3), domain: [Domain::Small; 2] },
    Function { name: "exp10", one: Some(|x| 10_f64.powf(x)), two: None, ulps: (3, 3), domain: [Domain::Small; 2] },
    Function { name: "expm1", one: Some(f64::exp_m1), two: None, ulps: (3, 3), domain: [Domain::Small; 2] },
    Function { name: "log", one: Some(f64::ln), two: None, ulps: (3, 3), domain: [Domain::Positive; 2] },
    Function { name: "log2", one: Some(f64::log2), two: None, ulps: (3, 3), domain: [Domain::Positive; 2] },
    Function { name: "log10", one: Some(f64::log10), two: None, ulps: (3, 3), domain: [Domain::Positive; 2] },
    Function { name: "log1p", one: Some(f64::ln_1p), two: None, ulps: (2, 2), domain: [Domain::Positive; 2] },
    Function { name: "cbrt", one: Some(f64::cbrt), two: None, ulps: (2, 2), domain: [Domain::Any; 2] },
    Function { name: "rsqrt", one: Some(|x| 1.0 / x.sqrt()), two: None, ulps: (2, 2), domain: [Domain::Positive; 2] },
    Function { name: "rcbrt", one: Some(|x| 1.0 / x.cbrt()), two: None, ulps: (2, 2), domain: [Domain::Any; 2] },
    Function { name: "erf", one: Some(|x| c::erf(x)), two: None, ulps: (16, 16), domain: [Domain::Small; 2] },
    Function { name: "erfc", one: Some(|x| c::erfc(x)), two: None, ulps: (16, 16), domain: [Domain::Small; 2] },
    Function { name: "tgamma", one: Some(|x| c::tgamma(x)), two: None, ulps: (16, 16), domain: [Domain::Gamma; 2] },
    Function { name: "lgamma", one: Some(|x| c::lgamma(x)), two: None, ulps: (16, 16), domain: [Domain::Beyond; 2] },
    Function { name: "j0", one: Some(j0), two: None, ulps: (16, 16), domain: [Domain::Bessel; 2] },
    Function { name: "erfinv", one: Some(|x| x), two: None, ulps: (64, 64), domain: [Domain::Unit; 2] },
    Function { name: "sinpi", one: Some(sinpi), two: None, ulps: (4, 4), domain: [Domain::Small; 2] },
    Function { name: "cospi", one: Some(cospi), two: None, ulps: (4, 4), domain: [Domain::Small; 2] },
    Function { name: "logb", one: Some(|x| c::logb(x)), two: None, ulps: (0, 0), domain: [Domain::Positive; 2] },
    Function {
        name: "pow",
        one: None,
        two: Some(f64::powf),
        ulps: (16, 16),
        domain: [Domain::Positive, Domain::Small],
    },
    Function {
        name: "pow_signed",
        one: None,
        two: Some(|x, y| x.powf(y.round_ties_even())),
        ulps: (16, 16),
        domain: [Domain::Small, Domain::Small],
    },
    Function {
        name: "powi",
        one: None,
        two: Some(|x, y| x.powf(y.trunc())),
        ulps: (16, 16),
        domain: [Domain::Positive, Domain::Small],
    },
    Function { name: "atan2", one: None, two: Some(f64::atan2), ulps: (6, 6), domain: [Domain::Any, Domain::Any] },
    Function { name: "hypot", one: None, two: Some(f64::hypot), ulps: (4, 4), domain: [Domain::Any, Domain::Any] },
    Function { name: "max", one: None, two: Some(|x, y| x + y), ulps: (0, 0), domain: [Domain::Any, Domain::Any] },
];

fn run<T: Plain>(gpu: &Gpu, module: &Module, kernel: &str, which: usize, x: &[T], y: &[T]) -> Vec<T> {
    let (a, b, out) = (upload(gpu, x), upload(gpu, y), zeros::<T>(gpu, x.len()));
    let args = Args::default().pointer(&a).pointer(&b).pointer(&out).value(which as u32).value(x.len() as u32);
    launch_1d(gpu, module, kernel, x.len().div_ceil(64) as u32, 64, &args);
    out.get()
}

fn check(level: Level, gpu: &Gpu, module: &Arc<Module>) {
    functions::<f32>(level, gpu, module, "functions_f32", |f| f.ulps.0);
    // The reference has the same precision: its own last place is uncertain.
    functions::<f64>(level, gpu, module, "functions_f64", |f| f.ulps.1 + u64::from(f.ulps.1 > 0));
    let halves: [fn(f64) -> f64; 9] =
        [f64::sin, f64::cos, f64::exp, f64::exp2, f64::ln, f64::log2, f64::log10, |x| 1.0 / x, |x| 1.0 / x.sqrt()];
    few::<Half>(level, gpu, module, "functions_f16", &halves, &[SINE, SINE, 2, 1, 2, 1, 2, 1, 1], 0.005);
    let fast: [fn(f64) -> f64; 9] = [
        |x| 1.0 / x,
        |x| 1.0 / x.sqrt(),
        f64::sqrt,
        f64::exp2,
        f64::log2,
        |x| sinpi(2.0 * x),
        |x| cospi(2.0 * x),
        |x| (x - x.floor()).min(1.0 - f64::from(f32::EPSILON) / 2.0),
        |x| x / 3.0,
    ];
    few::<f32>(level, gpu, module, "fast_f32", &fast, &[1, 1, 1, 1, 1, SINE, SINE, 0, 2], 1e-6);
}

fn functions<T: Number + std::fmt::Debug>(
    level: Level,
    gpu: &Gpu,
    module: &Module,
    kernel: &str,
    limit: fn(&Function) -> u64,
) {
    let mut random = Random(51);
    for (which, function) in FUNCTIONS.iter().enumerate() {
        let draw = |random: &mut Random, domain: Domain| (0..COUNT).map(|_| domain.draw(random)).collect::<Vec<T>>();
        let (x, y) = (draw(&mut random, function.domain[0]), draw(&mut random, function.domain[1]));
        for (i, got) in run(gpu, module, kernel, which, &x, &y).into_iter().enumerate() {
            let (a, b) = (x[i].wide(), y[i].wide());
            let exact = function.one.map_or_else(|| function.two.map_or(0.0, |f| f(a, b)), |f| f(a));
            let expected = T::narrow(exact);
            let far = ulps(got, expected);
            assert!(
                far <= limit(function),
                "{level} {kernel}: {} of {a:e} and {b:e}: {got:?}, not {expected:?} ({far} ulp)",
                function.name
            );
        }
    }
}

/// Replaces a bound: the error of a sine is absolute, since its argument is a fraction of a turn, rounded to the
/// precision.
const SINE: u64 = u64::MAX;

/// Functions of one argument from 1/8 to 8.
fn few<T: Number + std::fmt::Debug>(
    level: Level,
    gpu: &Gpu,
    module: &Module,
    kernel: &str,
    references: &[fn(f64) -> f64],
    limits: &[u64],
    absolute: f64,
) {
    let mut random = Random(52);
    let x: Vec<T> = (0..COUNT).map(|_| T::narrow(random.between(-3.0, 3.0).exp2())).collect();
    for (which, (reference, limit)) in references.iter().zip(limits).enumerate() {
        for (x, got) in x.iter().zip(run(gpu, module, kernel, which, &x, &x)) {
            let expected = T::narrow(reference(x.wide()));
            let close = *limit == SINE && (got.wide() - expected.wide()).abs() < absolute;
            let far = ulps(got, expected);
            assert!(
                close || far <= *limit && *limit != SINE,
                "{level} {kernel}: {which} of {x:?}: {got:?}, not {expected:?} ({far} ulp)"
            );
        }
    }
}

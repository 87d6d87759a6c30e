//! Prices options with a generic kernel in Rust, in single and in double precision. The CPU calls the same function.
//!
//! `cargo run --release --example black_scholes_rust`

use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, larger, numbers, open_device};
use rust_kernels::kernels::black_scholes::{BlackScholes, price};

pub(crate) fn main() -> Result {
    const N: usize = 4096;
    const RATE: f64 = 0.02;
    const VOLATILITY: f64 = 0.3;
    let device = open_device()?;
    let module = rust_kernels::load(&device)?;
    let stream = Stream::new(&device)?;
    let config = LaunchConfig::for_elements(N, 256);

    let range = |seed, from: f64, to: f64| -> Vec<f64> {
        numbers(seed).take(N).map(|x| from + f64::from(x) * (to - from)).collect()
    };
    let [stock, strike, years] = [range(1, 5.0, 30.0), range(2, 1.0, 100.0), range(3, 0.25, 10.0)];
    let want: Vec<f64> = (0..N).flat_map(|i| price(stock[i], strike[i], years[i], RATE, VOLATILITY)).collect();

    let load = |x: &Vec<f64>| DeviceBuffer::from_slice(&device, x);
    let mut prices = DeviceBuffer::<f64>::zeroed(&device, 2 * N)?;
    let (a, b, c) = (load(&stock)?, load(&strike)?, load(&years)?);
    BlackScholes::<f64>::load(&module)?.launch(&stream, config, &a, &b, &c, &mut prices, RATE, VOLATILITY)?;
    let double = error(prices.to_vec()?, &want);

    let load = |x: &Vec<f64>| DeviceBuffer::from_slice(&device, &x.iter().map(|x| *x as f32).collect::<Vec<_>>());
    let mut prices = DeviceBuffer::<f32>::zeroed(&device, 2 * N)?;
    let (a, b, c) = (load(&stock)?, load(&strike)?, load(&years)?);
    let (rate, volatility) = (RATE as f32, VOLATILITY as f32);
    BlackScholes::<f32>::load(&module)?.launch(&stream, config, &a, &b, &c, &mut prices, rate, volatility)?;
    let single = error(prices.to_vec()?.into_iter().map(f64::from), &want);

    check(double < 1e-12, format!("an error of {double:e} in double precision"))?;
    check(single < 1e-4, format!("an error of {single:e} in single precision"))?;
    println!(
        "black_scholes_rust: {N} options; largest error {single:.1e} in single and {double:.1e} in double precision"
    );
    Ok(())
}

/// Returns the largest difference, in units of the currency.
fn error(got: impl IntoIterator<Item = f64>, want: &[f64]) -> f64 {
    got.into_iter().zip(want).map(|(got, want)| (got - want).abs()).fold(0.0, larger)
}

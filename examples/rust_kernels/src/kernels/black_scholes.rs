//! Prices of European options by the Black-Scholes formula.

use hip_kernel::prelude::*;

/// The cumulative distribution function of the normal distribution: polynomial 26.2.17 of Abramowitz and Stegun.
fn normal<T: Float>(x: T) -> T {
    let absolute = if x < T::of(0.0) { -x } else { x };
    let k = T::of(1.0) / absolute.mul_add(T::of(0.231_641_9), T::of(1.0));
    let polynomial = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_53]
        .into_iter()
        .fold(T::of(0.0), |sum, coefficient| sum.mul_add(k, T::of(coefficient)));
    let tail = T::of(0.398_942_280_401_432_7) * (T::of(-0.5) * x * x).exp() * polynomial * k;
    if x > T::of(0.0) { T::of(1.0) - tail } else { tail }
}

/// Returns the prices of a call and a put, from the price of the stock, the strike, the years, the interest rate and
/// the volatility. The host calls it, too.
pub fn price<T: Float>(stock: T, strike: T, years: T, rate: T, volatility: T) -> [T; 2] {
    let deviation = volatility * years.sqrt();
    let drift = (rate + T::of(0.5) * volatility * volatility) * years;
    let d1 = ((stock / strike).ln() + drift) / deviation;
    let d2 = d1 - deviation;
    let discounted = strike * (-rate * years).exp();
    let call = stock * normal(d1) - discounted * normal(d2);
    [call, call + discounted - stock]
}

/// One thread per option; it writes the prices of the call and of the put. Instances for single and double precision.
#[kernel(<f32>, <f64>)]
pub fn black_scholes<T: Float>(
    stock: &[T],
    strike: &[T],
    years: &[T],
    mut prices: DisjointChunks<'_, T, 2>,
    rate: T,
    volatility: T,
) {
    let (first, prices) = prices.mine();
    if let [call, put] = prices {
        let i = first / 2;
        [*call, *put] = price(stock[i], strike[i], years[i], rate, volatility);
    }
}

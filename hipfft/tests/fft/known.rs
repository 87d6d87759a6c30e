//! Transforms that are known in closed form, and the rules of scaling.

use hip::DeviceBuffer;
use hipfft::half::f16;
use hipfft::{C2C, C2R, Complex, Complex32, Complex64, Layout, Normalized, Plan, R2C, Unitary, Unnormalized};

use crate::device;
use crate::reference::{Number, assert_close, naive};

/// The length of most tests: each new one takes the library seconds.
pub(crate) const N: usize = 16;

#[test]
fn an_impulse_is_even_and_a_wave_is_one_line() {
    let Some((device, stream)) = device() else { return };
    let mut plan = Plan::<C2C<f64>>::new(&stream, &Layout::new([N]).unwrap()).unwrap();
    let mut input = vec![Complex64::ZERO; N];
    input[1] = Complex64::ONE;
    let from = DeviceBuffer::from_slice(&device, &input).unwrap();
    let mut to = DeviceBuffer::<Complex64>::zeroed(&device, N).unwrap();
    plan.forward(&from, &mut to).unwrap();
    let turn = |k: usize| Complex64::from_polar(1.0, -std::f64::consts::TAU * k as f64 / N as f64);
    assert_close::<f64>("an impulse", &to.to_vec().unwrap(), &(0..N).map(turn).collect::<Vec<_>>(), N);
    assert_eq!(from.to_vec().unwrap(), input, "the input stays");
    // exp(2πi 3j/n) is n at 3.
    let wave: Vec<Complex64> = (0..N).map(|j| turn(3 * j).conj()).collect();
    let from = DeviceBuffer::from_slice(&device, &wave).unwrap();
    plan.forward(&from, &mut to).unwrap();
    let mut want = vec![Complex64::ZERO; N];
    want[3] = Complex64::new(N as f64, 0.0);
    let found = to.to_vec().unwrap();
    assert!(found.iter().zip(&want).all(|(found, want)| (found - want).norm() < 1e-14 * N as f64), "{found:?}");
}

/// All three scales, both directions, in place and not, against the definition.
#[test]
fn scales_are_those_of_the_type() {
    let Some((device, stream)) = device() else { return };
    let layout = Layout::new([N]).unwrap();
    let input: Vec<Complex32> = linalg_testing::Rng::new(1).numbers(N);
    let wide: Vec<Complex64> = input.iter().map(|x| f32::wide_complex(*x)).collect();
    let from = DeviceBuffer::from_slice(&device, &input).unwrap();
    macro_rules! scaled {
        ($normalization:ty, $forward:expr, $inverse:expr) => {{
            let mut plan = Plan::<C2C<f32>, $normalization>::new(&stream, &layout).unwrap();
            let mut to = DeviceBuffer::<Complex32>::zeroed(&device, N).unwrap();
            for (inverse, factor) in [(false, $forward), (true, $inverse)] {
                let want: Vec<Complex64> = naive(&wide, inverse).into_iter().map(|x| x * factor).collect();
                if inverse { plan.inverse(&from, &mut to) } else { plan.forward(&from, &mut to) }.unwrap();
                let found: Vec<_> = to.to_vec().unwrap().into_iter().map(f32::wide_complex).collect();
                assert_close::<f32>(stringify!($normalization), &found, &want, N);
                to.copy_from_device(&from).unwrap();
                if inverse { plan.inverse_in_place(&mut to) } else { plan.forward_in_place(&mut to) }.unwrap();
                let found: Vec<_> = to.to_vec().unwrap().into_iter().map(f32::wide_complex).collect();
                assert_close::<f32>(concat!(stringify!($normalization), " in place"), &found, &want, N);
            }
        }};
    }
    let n = N as f64;
    scaled!(Unnormalized, 1.0, 1.0);
    scaled!(Normalized, 1.0, 1.0 / n);
    scaled!(Unitary, n.sqrt().recip(), n.sqrt().recip());
}

/// Real numbers there and back, in all precisions; and Parseval's theorem.
fn round_trip<T: Number>() {
    let Some((device, stream)) = device() else { return };
    let layout = Layout::new([N]).unwrap().batch(2).unwrap();
    let input: Vec<T> = (0..2 * N).map(|at| T::narrow(((at * 7) % 11) as f64 / 8.0 - 0.5)).collect();
    let from = DeviceBuffer::from_slice(&device, &input).unwrap();
    let mut spectrum = DeviceBuffer::<T::Complex>::zeroed(&device, 2 * (N / 2 + 1)).unwrap();
    let mut back = DeviceBuffer::<T>::zeroed(&device, 2 * N).unwrap();
    Plan::<R2C<T>, Unitary>::new(&stream, &layout).unwrap().forward(&from, &mut spectrum).unwrap();
    let found: Vec<Complex64> = spectrum.to_vec().unwrap().into_iter().map(T::wide_complex).collect();
    for (input, found) in input.chunks(N).zip(found.chunks(N / 2 + 1)) {
        let wide: Vec<Complex64> = input.iter().map(|x| Complex::new(x.wide(), 0.0)).collect();
        let want: Vec<Complex64> = naive(&wide, false).into_iter().map(|x| x / (N as f64).sqrt()).collect();
        assert_close::<T>("real", found, &want[..N / 2 + 1], N);
        let energy = |numbers: &[Complex64]| numbers.iter().map(|x| x.norm_sqr()).sum::<f64>();
        let half = 2.0 * energy(found) - found[0].norm_sqr() - found[N / 2].norm_sqr();
        assert!((energy(&wide) / half - 1.0).abs() < 40.0 * T::EPS, "Parseval");
    }
    Plan::<C2R<T>, Unitary>::new(&stream, &layout).unwrap().inverse(&mut spectrum, &mut back).unwrap();
    let real = |numbers: &[T]| numbers.iter().map(|x| Complex::new(x.wide(), 0.0)).collect::<Vec<_>>();
    assert_close::<T>("there and back", &real(&back.to_vec().unwrap()), &real(&input), N * N);
    // Complex numbers.
    let mut plan = Plan::<C2C<T>, Unitary>::new(&stream, &layout).unwrap();
    let input: Vec<T::Complex> =
        linalg_testing::Rng::new(4).numbers::<Complex64>(2 * N).into_iter().map(T::complex).collect();
    let mut data = DeviceBuffer::from_slice(&device, &input).unwrap();
    plan.forward_in_place(&mut data).unwrap();
    plan.inverse_in_place(&mut data).unwrap();
    let wide = |numbers: Vec<T::Complex>| numbers.into_iter().map(T::wide_complex).collect::<Vec<_>>();
    assert_close::<T>("there and back", &wide(data.to_vec().unwrap()), &wide(input), N * N);
}

#[test]
fn halves_there_and_back() {
    round_trip::<f16>();
}

#[test]
fn floats_there_and_back() {
    round_trip::<f32>();
}

#[test]
fn doubles_there_and_back() {
    round_trip::<f64>();
}

/// Rows in place have room for complex numbers.
#[test]
fn real_numbers_in_place() {
    let Some((device, stream)) = device() else { return };
    let (rows, complex) = (3, N / 2 + 1);
    let layout = Layout::new([N]).unwrap().batch(rows).unwrap();
    let value = |row: usize, at: usize| ((row * 5 + at * 3) % 7) as f64 - 3.0;
    let padded: Vec<Complex64> = (0..rows)
        .flat_map(|row| {
            let at = move |at: usize| if at < N { value(row, at) } else { 99.0 };
            (0..complex).map(move |k| Complex::new(at(2 * k), at(2 * k + 1)))
        })
        .collect();
    let mut data = DeviceBuffer::from_slice(&device, &padded).unwrap();
    Plan::<R2C<f64>, Normalized>::new(&stream, &layout).unwrap().forward_in_place(&mut data).unwrap();
    let found = data.to_vec().unwrap();
    for row in 0..rows {
        let wide: Vec<Complex64> = (0..N).map(|at| Complex::new(value(row, at), 0.0)).collect();
        assert_close::<f64>("in place", &found[row * complex..][..complex], &naive(&wide, false)[..complex], N);
    }
    Plan::<C2R<f64>, Normalized>::new(&stream, &layout).unwrap().inverse_in_place(&mut data).unwrap();
    let found = data.to_vec().unwrap();
    for row in 0..rows {
        for at in 0..N {
            let pair = found[row * complex + at / 2];
            let got = if at % 2 == 0 { pair.re } else { pair.im };
            assert!((got - value(row, at)).abs() < 1e-13, "{row} {at}: {got}");
        }
    }
}

#[test]
fn versions_are_told() {
    if device().is_none() {
        return;
    }
    let version = hipfft::version().unwrap();
    assert!(version >= hipfft::Version { major: 1, minor: 0, patch: 20 } && version.major == 1, "{version:?}");
}

use std::f64::consts::TAU;
use std::sync::Arc;

use cuda_compat::cufft::result::{self, CufftError};
use cuda_compat::cufft::sys::{cufftResult, cufftType, double2, float2, libraryPropertyType};
use cuda_compat::cufft::{CudaFft, FftDirection};
use cuda_compat::driver::CudaStream;
use linalg_testing::Rng;

use crate::{assert_near, stream_with};

macro_rules! device {
    () => {{
        let Some(stream) = stream_with!(cufft, "hipfftPlan1d") else { return };
        stream
    }};
}

type Complex = (f64, f64);

/// The sums of a transform in one to three dimensions.
fn reference(points: &[Complex], n: &[usize], sign: f64) -> Vec<Complex> {
    let places = |index: usize| {
        let mut rest = index;
        let mut place = vec![0; n.len()];
        for (place, &n) in place.iter_mut().zip(n).rev() {
            *place = rest % n;
            rest /= n;
        }
        place
    };
    let of = |index: usize| {
        let k = places(index);
        points.iter().enumerate().fold((0.0, 0.0), |(re, im), (from, point)| {
            let turns: f64 =
                places(from).iter().zip(&k).zip(n).map(|((&j, &k), &n)| ((j * k) % n) as f64 / n as f64).sum();
            let (sin, cos) = (sign * TAU * turns).sin_cos();
            (re + point.0 * cos - point.1 * sin, im + point.0 * sin + point.1 * cos)
        })
    };
    (0..points.len()).map(of).collect()
}

#[track_caller]
fn assert_all(got: impl Iterator<Item = Complex>, want: &[Complex], eps: f64) {
    let size = want.iter().map(|(re, im)| re.hypot(*im)).fold(1.0, f64::max);
    let got: Vec<Complex> = got.collect();
    assert_eq!(got.len(), want.len());
    for (place, (got, want)) in got.iter().zip(want).enumerate() {
        assert_near(&format!("{place}, real"), got.0, want.0, size, 10.0 * eps);
        assert_near(&format!("{place}, imaginary"), got.1, want.1, size, 10.0 * eps);
    }
}

fn plan(n: &[i32], ty: cufftType, stream: &Arc<CudaStream>) -> CudaFft {
    let stream = stream.clone();
    match *n {
        [x] => CudaFft::plan_1d(x, ty, 1, stream),
        [x, y] => CudaFft::plan_2d(x, y, ty, stream),
        [x, y, z] => CudaFft::plan_3d(x, y, z, ty, stream),
        _ => unreachable!(),
    }
    .unwrap()
}

/// Transforms of one precision, forward and back.
macro_rules! transforms {
    ($name:ident, $shapes:expr, $real:ty, $complex:ident, $eps:expr, $c2c:ident, $r2c:ident, $c2r:ident, $exec_c2c:ident, $exec_r2c:ident, $exec_c2r:ident) => {
        #[test]
        fn $name() {
            let stream = device!();
            let mut rng = Rng::new(9);
            let wide = |point: &$complex| (f64::from(point.x), f64::from(point.y));
            // rocFFT compiles kernels for each shape, which takes a second.
            let shapes: &[&[i32]] = $shapes;
            for &n in shapes {
                let sizes: Vec<usize> = n.iter().map(|&n| n as usize).collect();
                let count: usize = sizes.iter().product();
                let numbers = rng.numbers::<$real>(2 * count);
                let points: Vec<$complex> = numbers.chunks(2).map(|pair| $complex { x: pair[0], y: pair[1] }).collect();
                let exact: Vec<Complex> = points.iter().map(wide).collect();
                let last = sizes[sizes.len() - 1];
                let fft = plan(n, cufftType::$c2c, &stream);
                let mut from = stream.clone_htod(&points).unwrap();
                let mut to = stream.alloc_zeros::<$complex>(count).unwrap();
                for (direction, sign) in [(FftDirection::Forward, -1.0), (FftDirection::Inverse, 1.0)] {
                    fft.$exec_c2c(&mut from, &mut to, direction).unwrap();
                    let got = stream.clone_dtoh(&to).unwrap();
                    assert_all(got.iter().map(wide), &reference(&exact, &sizes, sign), $eps);
                }

                let reals = &numbers[..count];
                let exact: Vec<Complex> = reals.iter().map(|&real| (f64::from(real), 0.0)).collect();
                let kept = |index: usize| index % last <= last / 2;
                let want: Vec<Complex> = reference(&exact, &sizes, -1.0)
                    .into_iter()
                    .enumerate()
                    .filter_map(|(index, point)| kept(index).then_some(point))
                    .collect();
                let from = stream.clone_htod(reals).unwrap();
                let mut to = stream.alloc_zeros::<$complex>(want.len()).unwrap();
                plan(n, cufftType::$r2c, &stream).$exec_r2c(&from, &mut to).unwrap();
                assert_all(stream.clone_dtoh(&to).unwrap().iter().map(wide), &want, $eps);
                assert_eq!(stream.clone_dtoh(&from).unwrap(), reals, "the input stays");
                let mut back = stream.alloc_zeros::<$real>(count).unwrap();
                plan(n, cufftType::$c2r, &stream).$exec_c2r(&mut to, &mut back).unwrap();
                let got = stream.clone_dtoh(&back).unwrap();
                let want: Vec<Complex> = exact.iter().map(|point| (point.0 * count as f64, 0.0)).collect();
                assert_all(got.iter().map(|&real| (f64::from(real), 0.0)), &want, $eps);
            }
        }
    };
}

transforms!(
    transforms_of_single_precision,
    &[&[12], &[2, 3, 4]],
    f32,
    float2,
    f64::from(f32::EPSILON),
    CUFFT_C2C,
    CUFFT_R2C,
    CUFFT_C2R,
    exec_c2c,
    exec_r2c,
    exec_c2r
);
transforms!(
    transforms_of_double_precision,
    &[&[4, 6]],
    f64,
    double2,
    f64::EPSILON,
    CUFFT_Z2Z,
    CUFFT_D2Z,
    CUFFT_Z2D,
    exec_z2z,
    exec_d2z,
    exec_z2d
);

#[test]
fn points_of_three_dimensions_are_in_the_order_of_c() {
    let stream = device!();
    let host: Vec<float2> = (0..16).map(|i| float2 { x: (i * i % 7) as f32, y: (i % 3) as f32 }).collect();
    let exact: Vec<Complex> = host.iter().map(|point| (point.x.into(), point.y.into())).collect();
    let mut from = stream.clone_htod(&host).unwrap();
    let mut to = stream.alloc_zeros::<float2>(16).unwrap();
    plan(&[2, 2, 4], cufftType::CUFFT_C2C, &stream).exec_c2c(&mut from, &mut to, FftDirection::Inverse).unwrap();
    let got = stream.clone_dtoh(&to).unwrap();
    let got = got.iter().map(|point| (point.x.into(), point.y.into()));
    assert_all(got, &reference(&exact, &[2, 2, 4], 1.0), f64::from(f32::EPSILON));
}

#[test]
fn points_of_a_batch_may_be_spaced() {
    let stream = device!();
    // Two arrays of four points, three apart, in rows of twenty; the results are contiguous.
    let fft =
        CudaFft::plan_many(&[4], Some(&[4]), 3, 20, Some(&[4]), 1, 4, cufftType::CUFFT_C2C, 2, stream.clone()).unwrap();
    let number = |place: usize| float2 { x: place as f32, y: -(place as f32) / 2.0 };
    let host: Vec<float2> = (0..30).map(number).collect();
    let mut from = stream.clone_htod(&host).unwrap();
    let mut to = stream.alloc_zeros::<float2>(8).unwrap();
    fft.exec_c2c(&mut from, &mut to, FftDirection::Forward).unwrap();
    let got = stream.clone_dtoh(&to).unwrap();
    for (array, got) in got.chunks(4).enumerate() {
        let points: Vec<Complex> =
            (0..4).map(|point| host[20 * array + 3 * point]).map(|at| (at.x.into(), at.y.into())).collect();
        let got = got.iter().map(|point| (point.x.into(), point.y.into()));
        assert_all(got, &reference(&points, &[4], -1.0), f64::from(f32::EPSILON));
    }
    // The last point of the input is its 30th element.
    let short = CufftError(cufftResult::CUFFT_INVALID_SIZE);
    assert_eq!(fft.exec_c2c(&mut from.slice_mut(..29), &mut to, FftDirection::Forward), Err(short));
    assert_eq!(fft.exec_c2c(&mut from, &mut to.slice_mut(..7), FftDirection::Forward), Err(short));
}

#[test]
fn what_does_not_fit_is_refused_before_the_call() {
    let stream = device!();
    let (size, ty) = (CufftError(cufftResult::CUFFT_INVALID_SIZE), CufftError(cufftResult::CUFFT_INVALID_TYPE));
    let fft = CudaFft::plan_1d(8, cufftType::CUFFT_R2C, 2, stream.clone()).unwrap();
    let (from, mut to) = (stream.alloc_zeros::<f32>(16).unwrap(), stream.alloc_zeros::<float2>(10).unwrap());
    fft.exec_r2c(&from, &mut to).unwrap();
    assert_eq!(fft.exec_r2c(&from.slice(..15), &mut to), Err(size));
    assert_eq!(fft.exec_r2c(&from, &mut to.slice_mut(..9)), Err(size));
    let mut back = stream.alloc_zeros::<f32>(16).unwrap();
    assert_eq!(fft.exec_c2r(&mut to, &mut back), Err(ty));
    let many = |n: &[i32], inembed, onembed, batch| {
        CudaFft::plan_many(n, inembed, 1, 8, onembed, 1, 8, cufftType::CUFFT_C2C, batch, stream.clone()).map(drop)
    };
    let one: Option<&[i32]> = Some(&[8]);
    assert_eq!(many(&[8], None, None, 1), Ok(()));
    assert_eq!(many(&[8], one, None, 1), Err(size));
    assert_eq!(many(&[8, 8], one, one, 1), Err(size));
    assert_eq!(many(&[], None, None, 1), Err(size));
    assert_eq!(many(&[8], one, one, 0), Err(size));
    for (nx, batch) in [(0, 1), (-4, 1), (4, 0)] {
        assert_eq!(CudaFft::plan_1d(nx, cufftType::CUFFT_C2C, batch, stream.clone()).map(drop), Err(size));
    }
    assert_eq!(CudaFft::plan_2d(4, 4, cufftType(0), stream.clone()).map(drop), Err(ty));
}

#[test]
fn a_plan_is_made_in_steps_by_the_floor_below() {
    let stream = device!();
    assert!(result::get_version().unwrap() > 0);
    assert!(result::get_property(libraryPropertyType::MAJOR_VERSION).unwrap() >= 1);
    result::estimate_1d(64, cufftType::CUFFT_C2C, 1).unwrap();
    let plan = result::create().unwrap();
    // SAFETY: the plan and the stream are alive.
    unsafe {
        result::set_auto_allocation(plan, true).unwrap();
        let size = result::make_plan_2d(plan, 4, 6, cufftType::CUFFT_C2C).unwrap();
        assert_eq!(result::get_size(plan).unwrap(), size);
        result::set_stream(plan, stream.cu_stream() as _).unwrap();
        result::destroy(plan).unwrap();
    }
    let mut fft = CudaFft::plan_1d(4, cufftType::CUFFT_C2C, 1, stream.clone()).unwrap();
    // SAFETY: nothing is queued.
    unsafe { fft.set_stream(stream.fork().unwrap()) }.unwrap();
    let mut from = stream.clone_htod(&[float2 { x: 1.0, y: 0.0 }; 4]).unwrap();
    let mut to = stream.alloc_zeros::<float2>(4).unwrap();
    fft.exec_c2c(&mut from, &mut to, FftDirection::Forward).unwrap();
    assert_eq!(stream.clone_dtoh(&to).unwrap()[0].x, 4.0);
    assert!(!fft.handle().is_null());
}

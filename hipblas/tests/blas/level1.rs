//! Level 1 against the reference.

use half::{bf16, f16};
use hip::{Device, DeviceBuffer};
use hipblas::{Blas, ScalarRef, VectorRef, ops};
use linalg_testing::{Host, Kind, Number, Rng, TestVector, assert_close, vector_mut};
use num_complex::{Complex32, Complex64};

use crate::{blas, for_types, size};

fn sum(host: &Host, f: impl Fn(num_complex::Complex64) -> num_complex::Complex64) -> Host {
    Host { rows: 1, cols: 1, data: vec![host.data.iter().map(|&x| f(x)).sum()] }
}

fn axpy<T: Number + ops::Axpy>(device: &Device, blas: &Blas, rng: &mut Rng) {
    let (kind, n) = (Kind::any(rng), size(rng));
    let x = TestVector::<T>::new(device, rng, kind, n);
    let mut y = TestVector::<T>::new(device, rng, kind, n);
    let alpha: T = rng.number();
    let on_device = DeviceBuffer::from_slice(device, &[alpha]).unwrap();
    let alpha_ref: ScalarRef<'_, T> = if rng.below(2) == 0 { alpha.into() } else { (&on_device).into() };
    let before = (0..kind.count()).map(|i| y.reference(i)).collect::<Vec<_>>();
    let layout = y.layout();
    {
        let (x_held, mut y_held) = (x.memory.held(), y.memory.held_mut());
        blas.axpy(alpha_ref, x.view(&x_held), vector_mut(layout, &mut y_held)).unwrap();
    }
    y.read();
    for (index, before) in before.iter().enumerate() {
        let product = x.reference(index).scale(alpha.wide());
        let size = product.abs().add(&before.abs());
        assert_close::<T>("axpy", &y.reference(index), &product.add(before), &size, 2);
    }
}

#[test]
fn axpy_adds() {
    for_types!(6, blas(), axpy: f16, f32, f64, Complex32, Complex64);
}

fn copy_swap<T: Number + ops::Copy + ops::Swap>(device: &Device, blas: &Blas, rng: &mut Rng) {
    let (kind, n) = (Kind::any(rng), size(rng));
    let mut x = TestVector::<T>::new(device, rng, kind, n);
    let mut y = TestVector::<T>::new(device, rng, kind, n);
    let before: Vec<(Host, Host)> = (0..kind.count()).map(|i| (x.reference(i), y.reference(i))).collect();
    let (x_layout, y_layout) = (x.layout(), y.layout());
    {
        let (mut x_held, mut y_held) = (x.memory.held_mut(), y.memory.held_mut());
        blas.swap(vector_mut(x_layout, &mut x_held), vector_mut(y_layout, &mut y_held)).unwrap();
    }
    x.read();
    y.read();
    for (index, (x_before, y_before)) in before.iter().enumerate() {
        assert_eq!((&x.reference(index), &y.reference(index)), (y_before, x_before));
    }
    {
        let (x_held, mut y_held) = (x.memory.held(), y.memory.held_mut());
        blas.copy(x.view(&x_held), vector_mut(y_layout, &mut y_held)).unwrap();
    }
    y.read();
    for index in 0..kind.count() {
        assert_eq!(y.reference(index), x.reference(index));
    }
}

#[test]
fn copy_and_swap_move_elements() {
    for_types!(5, blas(), copy_swap: f32, f64, Complex32, Complex64);
}

fn scal<A: Number, T: Number + ops::Scal<A>>(device: &Device, blas: &Blas, rng: &mut Rng) {
    let (kind, n) = (Kind::any(rng), size(rng));
    let mut x = TestVector::<T>::new(device, rng, kind, n);
    let alpha: A = rng.number();
    let before: Vec<Host> = (0..kind.count()).map(|i| x.reference(i)).collect();
    let layout = x.layout();
    blas.scal(alpha, vector_mut(layout, &mut x.memory.held_mut())).unwrap();
    x.read();
    for (index, before) in before.iter().enumerate() {
        let want = before.scale(alpha.wide());
        assert_close::<T>("scal", &x.reference(index), &want, &want.abs(), 1);
    }
}

#[test]
fn scal_scales_by_numbers_of_its_own_type_and_by_real_ones() {
    let Some((device, _stream, blas)) = blas() else { return };
    crate::cases(4, |rng| {
        scal::<f32, f32>(&device, &blas, rng);
        scal::<f64, f64>(&device, &blas, rng);
        scal::<Complex32, Complex32>(&device, &blas, rng);
        scal::<Complex64, Complex64>(&device, &blas, rng);
        scal::<f32, Complex32>(&device, &blas, rng);
        scal::<f64, Complex64>(&device, &blas, rng);
    });
}

fn reductions<T>(device: &Device, blas: &Blas, rng: &mut Rng)
where
    T: Number + ops::Nrm2 + ops::Asum + ops::Amax + ops::Amin,
    T::Real: Number,
{
    let (kind, n) = (Kind::any(rng), size(rng));
    let x = TestVector::<T>::new(device, rng, kind, n);
    let held = x.memory.held();
    let mut out = DeviceBuffer::<T::Real>::zeroed(device, kind.count()).unwrap();
    let mut indices = DeviceBuffer::<i32>::zeroed(device, kind.count()).unwrap();
    let empty = n == 0;
    let members: Vec<Host> = (0..kind.count()).map(|i| x.reference(i)).collect();
    let check = |what: &str, got: &[T::Real], want: &dyn Fn(&Host) -> Host| {
        for (got, member) in got.iter().zip(&members) {
            let want = if empty { Host::from_fn(1, 1, |_, _| 0.0.into()) } else { want(member) };
            assert_close::<T::Real>(what, &Host::of(&[*got], 1, 1, 1), &want, &want, n + 2);
        }
    };
    let norm = |x: &Host| sum(x, |x| x.norm_sqr().into()).map(|x| x.re.sqrt().into());
    let absolute = |x: &Host| sum(&x.abs(), |x| x);
    blas.nrm2_into(x.view(&held), &mut out).unwrap();
    check("nrm2", &out.to_vec().unwrap(), &norm);
    blas.asum_into(x.view(&held), &mut out).unwrap();
    check("asum", &out.to_vec().unwrap(), &absolute);
    let extreme = |x: &Host, larger: bool| {
        let mut found: Option<(usize, f64)> = None;
        for (index, x) in x.abs().data.iter().enumerate() {
            if found.is_none_or(|(_, best)| if larger { x.re > best } else { x.re < best }) {
                found = Some((index, x.re));
            }
        }
        found.filter(|_| !empty).map(|(index, _)| index)
    };
    if x.increment < 0 {
        // BLAS treats it as empty, which callers do not expect.
        assert!(matches!(blas.amax_into(x.view(&held), &mut indices), Err(hipblas::Error::Invalid { .. })));
        return;
    }
    blas.amax_into(x.view(&held), &mut indices).unwrap();
    let got = indices.to_vec().unwrap();
    for (got, member) in got.iter().zip(&members) {
        assert_eq!(*got, extreme(member, true).map_or(0, |index| index as i32 + 1), "{:?}", member.data);
    }
    blas.amin_into(x.view(&held), &mut indices).unwrap();
    let got = indices.to_vec().unwrap();
    for (got, member) in got.iter().zip(&members) {
        assert_eq!(*got, extreme(member, false).map_or(0, |index| index as i32 + 1), "{:?}", member.data);
    }
    if kind == Kind::One {
        check("nrm2", &[blas.nrm2(x.view(&held)).unwrap()], &norm);
        check("asum", &[blas.asum(x.view(&held)).unwrap()], &absolute);
        assert_eq!(blas.amax(x.view(&held)).unwrap(), extreme(&members[0], true));
        assert_eq!(blas.amin(x.view(&held)).unwrap(), extreme(&members[0], false));
    } else {
        assert!(matches!(blas.nrm2(x.view(&held)), Err(hipblas::Error::Invalid { .. })));
    }
}

#[test]
fn norms_sums_and_indices_are_those_of_the_reference() {
    for_types!(6, blas(), reductions: f32, f64, Complex32, Complex64);
}

fn dot<T: Number + ops::Dot>(device: &Device, blas: &Blas, rng: &mut Rng) {
    let (kind, n) = (Kind::any(rng), size(rng));
    let (x, y) = (TestVector::<T>::new(device, rng, kind, n), TestVector::<T>::new(device, rng, kind, n));
    let (x_held, y_held) = (x.memory.held(), y.memory.held());
    let mut out = DeviceBuffer::<T>::zeroed(device, kind.count()).unwrap();
    blas.dot_into(x.view(&x_held), y.view(&y_held), &mut out).unwrap();
    for (index, got) in out.to_vec().unwrap().iter().enumerate() {
        let (x, y) = (x.reference(index), y.reference(index));
        let size = x.abs().t().mul(&y.abs());
        assert_close::<T>("dot", &Host::of(&[*got], 1, 1, 1), &x.t().mul(&y), &size, n);
    }
    if kind == Kind::One {
        let got = Host::of(&[blas.dot(x.view(&x_held), y.view(&y_held)).unwrap()], 1, 1, 1);
        let (x, y) = (x.reference(0), y.reference(0));
        assert_close::<T>("dot", &got, &x.t().mul(&y), &x.abs().t().mul(&y.abs()), n);
    }
}

#[test]
fn dot_sums_products() {
    for_types!(6, blas(), dot: f16, bf16, f32, f64, Complex32, Complex64);
}

fn dotc<T: Number + ops::Dotc>(device: &Device, blas: &Blas, rng: &mut Rng) {
    let n = size(rng);
    let x = TestVector::<T>::new(device, rng, Kind::One, n);
    let y = TestVector::<T>::new(device, rng, Kind::One, n);
    let got = blas.dotc(x.view(&x.memory.held()), y.view(&y.memory.held())).unwrap();
    let (x, y) = (x.reference(0), y.reference(0));
    assert_close::<T>("dotc", &Host::of(&[got], 1, 1, 1), &x.h().mul(&y), &x.abs().t().mul(&y.abs()), n);
}

#[test]
fn dotc_conjugates_the_first() {
    for_types!(6, blas(), dotc: Complex32, Complex64);
}

fn rot<S: Number, T: Number + ops::Rot<S>>(device: &Device, blas: &Blas, rng: &mut Rng)
where
    T::Real: Number,
{
    let (kind, n) = (Kind::any(rng), size(rng));
    let mut x = TestVector::<T>::new(device, rng, kind, n);
    let mut y = TestVector::<T>::new(device, rng, kind, n);
    let before: Vec<(Host, Host)> = (0..kind.count()).map(|i| (x.reference(i), y.reference(i))).collect();
    let (c, s): (T::Real, S) = (rng.number(), rng.number());
    // One on the host and the other on the device.
    let s_device = DeviceBuffer::from_slice(device, &[s]).unwrap();
    let (x_layout, y_layout) = (x.layout(), y.layout());
    {
        let (mut x_held, mut y_held) = (x.memory.held_mut(), y.memory.held_mut());
        let s: ScalarRef<'_, S> = (&s_device).into();
        blas.rot(vector_mut(x_layout, &mut x_held), vector_mut(y_layout, &mut y_held), c, s).unwrap();
    }
    x.read();
    y.read();
    for (index, (x0, y0)) in before.iter().enumerate() {
        let (c, s) = (c.wide(), s.wide());
        let size = x0.abs().add(&y0.abs()).scale(2.0.into());
        assert_close::<T>("rot x", &x.reference(index), &x0.scale(c).add(&y0.scale(s)), &size, 2);
        assert_close::<T>("rot y", &y.reference(index), &y0.scale(c).add(&x0.scale(-s.conj())), &size, 2);
    }
}

#[test]
fn rot_rotates_with_scalars_of_host_and_device() {
    let Some((device, _stream, blas)) = blas() else { return };
    crate::cases(4, |rng| {
        rot::<f32, f32>(&device, &blas, rng);
        rot::<f64, f64>(&device, &blas, rng);
        rot::<Complex32, Complex32>(&device, &blas, rng);
        rot::<Complex64, Complex64>(&device, &blas, rng);
        rot::<f32, Complex32>(&device, &blas, rng);
        rot::<f64, Complex64>(&device, &blas, rng);
    });
}

fn rotg<T: Number + ops::Rotg>(device: &Device, blas: &Blas, rng: &mut Rng)
where
    T::Real: Number,
{
    let (a, b): (T, T) = (rng.number(), rng.number());
    let check = |r: T, c: T::Real, s: T| {
        let (a, b, r, c, s) = (a.wide(), b.wide(), r.wide(), c.wide(), s.wide());
        let size = a.norm() + b.norm();
        assert!((c * a + s * b - r).norm() <= 10.0 * T::EPS * size, "{a} {b}: r {r}, c {c}, s {s}");
        assert!((c * b - s.conj() * a).norm() <= 10.0 * T::EPS * size, "{a} {b}: not eliminated by {c}, {s}");
        assert!((c.norm_sqr() + s.norm_sqr() - 1.0).abs() <= 10.0 * T::EPS, "{c}, {s}");
    };
    let found = blas.rotg(a, b).unwrap();
    check(found.r, found.c, found.s);
    let [mut a_, mut b_, mut s] = [a, b, a].map(|x| DeviceBuffer::from_slice(device, &[x]).unwrap());
    let mut c = DeviceBuffer::<T::Real>::zeroed(device, 1).unwrap();
    blas.rotg_in_place(&mut a_, &mut b_, &mut c, &mut s).unwrap();
    check(a_.to_vec().unwrap()[0], c.to_vec().unwrap()[0], s.to_vec().unwrap()[0]);
}

#[test]
fn rotg_eliminates_on_host_and_device() {
    for_types!(8, blas(), rotg: f32, f64, Complex32, Complex64);
}

fn rotm<T: Number + ops::Rotm + ops::Rotmg>(device: &Device, blas: &Blas, rng: &mut Rng) {
    let n = size(rng);
    let mut x = TestVector::<T>::new(device, rng, Kind::One, n);
    let mut y = TestVector::<T>::new(device, rng, Kind::One, n);
    let (x0, y0) = (x.reference(0), y.reference(0));
    let flag = rng.one_of(&[-2.0, -1.0, 0.0, 1.0]);
    let mut param: Vec<T> = rng.numbers(5);
    param[0] = T::narrow(f64::into(flag));
    let [_, h11, h21, h12, h22] = [0, 1, 2, 3, 4].map(|i| param[i].wide());
    let one = 1.0.into();
    let [h11, h21, h12, h22] = match flag as i32 {
        -1 => [h11, h21, h12, h22],
        0 => [one, h21, h12, one],
        1 => [h11, -one, one, h22],
        _ => [one, 0.0.into(), 0.0.into(), one],
    };
    let param = DeviceBuffer::from_slice(device, &param).unwrap();
    let (x_layout, y_layout) = (x.layout(), y.layout());
    {
        let (mut x_held, mut y_held) = (x.memory.held_mut(), y.memory.held_mut());
        blas.rotm(vector_mut(x_layout, &mut x_held), vector_mut(y_layout, &mut y_held), &param).unwrap();
    }
    x.read();
    y.read();
    let size = x0.abs().add(&y0.abs());
    assert_close::<T>("rotm x", &x.reference(0), &x0.scale(h11).add(&y0.scale(h12)), &size, 2);
    assert_close::<T>("rotm y", &y.reference(0), &x0.scale(h21).add(&y0.scale(h22)), &size, 2);

    // The rotation of rotmg eliminates the second element: applied to (x1, y1), it gives (new x1, 0).
    let positive = |rng: &mut Rng| T::narrow((0.5 + rng.below(8) as f64 / 8.0).into());
    let (d1, d2, x1, y1) = (positive(rng), positive(rng), positive(rng), positive(rng));
    let [mut d1_, mut d2_, mut x1_, y1_] = [d1, d2, x1, y1].map(|v| DeviceBuffer::from_slice(device, &[v]).unwrap());
    let mut param = DeviceBuffer::<T>::zeroed(device, 5).unwrap();
    blas.rotmg(&mut d1_, &mut d2_, &mut x1_, &y1_, &mut param).unwrap();
    let [mut x, mut y] = [x1, y1].map(|v| DeviceBuffer::from_slice(device, &[v]).unwrap());
    blas.rotm(&mut x, &mut y, &param).unwrap();
    let (x, y, want) = (x.to_vec().unwrap()[0], y.to_vec().unwrap()[0], x1_.to_vec().unwrap()[0]);
    assert!(y.wide().norm() <= 20.0 * T::EPS * 4.0, "{d1:?} {d2:?} {x1:?} {y1:?}: {y:?}");
    assert!((x.wide() - want.wide()).norm() <= 20.0 * T::EPS * 4.0, "{x:?} {want:?}");
}

#[test]
fn modified_rotations_rotate_and_eliminate() {
    for_types!(6, blas(), rotm: f32, f64);
}

#[test]
fn what_is_not_a_number_goes_through() {
    let Some((device, _stream, blas)) = blas() else { return };
    let x = DeviceBuffer::from_slice(&device, &[1.0_f32, f32::NAN, f32::INFINITY]).unwrap();
    assert!(blas.nrm2(&x).unwrap().is_nan());
    let x = DeviceBuffer::from_slice(&device, &[1.0_f32, f32::INFINITY]).unwrap();
    assert_eq!(blas.asum(&x).unwrap(), f32::INFINITY);
    let mut y = DeviceBuffer::from_slice(&device, &[f32::NAN, 1.0]).unwrap();
    // α = 0: y does not change, regardless of x.
    blas.axpy(0.0, &x, &mut y).unwrap();
    let y = y.to_vec().unwrap();
    assert!(y[0].is_nan() && y[1] == 1.0, "{y:?}");
}

/// Norms and rotations of numbers whose squares are out of range.
fn far_from_one<T, R>(device: &Device, blas: &Blas, scales: &[f64], epsilon: f64)
where
    T: Number<Real = R> + ops::Nrm2 + ops::Rotg,
    R: Number + Into<f64>,
{
    let near = |what: &str, found: f64, want: f64, scale: f64| {
        assert!((found / scale - want).abs() < 8.0 * epsilon, "{what} at {scale:e}: {found:e}");
    };
    for &scale in scales {
        let number =
            |re: f64, im: f64| T::narrow(Complex64::new(re * scale, if T::COMPLEX { im * scale } else { 0.0 }));
        // Gaps that are not elements, and both directions.
        let host = [
            number(3.0, 1.0),
            T::narrow(f64::NAN.into()),
            number(-4.0, 3.0),
            T::narrow(f64::NAN.into()),
            number(0.0, 1.0),
        ];
        let memory = DeviceBuffer::from_slice(device, &host).unwrap();
        let want = if T::COMPLEX { 6.0 } else { 5.0 };
        for increment in [2, -2] {
            let x = VectorRef::new(&memory, 3, increment).unwrap();
            near("nrm2", blas.nrm2(x).unwrap().into(), want, scale);
        }
        // (3, 4) becomes (5, 0).
        let (a, b) = (number(3.0, 0.0), number(0.0, 4.0 * f64::from(u8::from(T::COMPLEX))));
        let b = if T::COMPLEX { b } else { number(4.0, 0.0) };
        let found = blas.rotg(a, b).unwrap();
        near("the cosine", found.c.into() * scale, 0.6, scale);
        near("the sine", found.s.wide().norm() * scale, 0.8, scale);
        near("rotg", found.r.wide().norm(), 5.0, scale);
    }
}

#[test]
fn norms_and_rotations_of_small_and_large_numbers() {
    let Some((device, _stream, blas)) = blas() else { return };
    let scales = [1e-37, 1e-30, 1e-20, 1.0, 1e20, 1e30, 4e37];
    far_from_one::<f32, f32>(&device, &blas, &scales, f64::from(f32::EPSILON));
    far_from_one::<Complex32, f32>(&device, &blas, &scales, f64::from(f32::EPSILON));
    let scales = [1e-307, 1e-200, 1e-155, 1e155, 1e200, 1e307];
    far_from_one::<f64, f64>(&device, &blas, &scales, f64::EPSILON);
    far_from_one::<Complex64, f64>(&device, &blas, &scales, f64::EPSILON);
    let of = |numbers: &[f32]| blas.nrm2(&DeviceBuffer::from_slice(&device, numbers).unwrap()).unwrap();
    assert_eq!((of(&[0.0; 300]), of(&[f32::MAX; 2]), of(&[f32::INFINITY, 1.0])), (0.0, f32::INFINITY, f32::INFINITY));
    assert!(of(&[3e30, f32::NAN]).is_nan());
    let captured = DeviceBuffer::from_slice(&device, &[3e30_f32, 4e30]).unwrap();
    assert_eq!(blas.nrm2(&captured).unwrap(), 5e30);
}

//! Mixed precision against the reference.

use half::{bf16, f16};
use hip::{Device, DeviceBuffer};
use hipblas::{Blas, Compute, ExTypes, ScalEx, VectorEx};
use linalg_testing::{Host, Kind, Number, Rng, TestMatrix, TestVector, assert_close, vector_mut};
use num_complex::{Complex32, Complex64};

use crate::{blas, size};

fn gemm_ex<A: Number + ExTypes<C, S>, C: Number, S: Number>(device: &Device, blas: &Blas, rng: &mut Rng) {
    // hipBLAS of 5.7 takes 8-bit integers in groups of four only.
    let int = A::EPS == 0.0;
    let mut dimension = || if int { 4 * (1 + rng.below(4)) } else { size(rng) };
    let (m, n, k) = (dimension(), dimension(), dimension());
    let kind = Kind::any(rng);
    let letters = if int { ['N', 'N'] } else { [rng.one_of(&['N', 'T']), rng.one_of(&['N', 'T'])] };
    let mut a = TestMatrix::<A>::new(device, rng, kind, (m, k), letters[0]);
    let mut b = TestMatrix::<A>::new(device, rng, kind, (k, n), letters[1]);
    let mut c = TestMatrix::<C>::new(device, rng, kind, (m, n), 'N');
    if int {
        for (matrix, rows, cols) in [(&mut a, m, k), (&mut b, k, n)] {
            *matrix = tight(device, rng, kind, rows, cols);
        }
    }
    let alpha: S = rng.number();
    let beta: S = if rng.below(2) == 0 { S::ZERO } else { rng.number() };
    let before: Vec<Host> = (0..kind.count()).map(|index| c.reference(index)).collect();
    let layout = c.layout();
    {
        let (a_held, b_held, mut c_held) = (a.memory.held(), b.memory.held(), c.memory.held_mut());
        blas.gemm_ex(Compute::Default, alpha, a.view(&a_held), b.view(&b_held), beta, layout.view(&mut c_held))
            .unwrap();
    }
    c.read(|_, _| true);
    for (index, before) in before.iter().enumerate() {
        let (a, b, old) = (a.reference(index), b.reference(index), before.scale(beta.wide()));
        let want = a.mul(&b).scale(alpha.wide()).add(&old);
        let size = a.abs().mul(&b.abs()).scale(alpha.wide().norm().into()).scale(2.0.into()).add(&old.abs());
        // Rounded in S along the sum, and once to C.
        let got = c.reference(index);
        let (sum, last) = ((k + 4) as f64 * S::EPS * 3.0, C::EPS * 2.0);
        for (((got, want), size), at) in got.data.iter().zip(&want.data).zip(&size.data).zip(0..) {
            let bound = sum * size.norm() + last * (want.norm() + sum * size.norm());
            assert!((got - want).norm() <= bound, "element {at} is {got}, not {want}; bound {bound:e}");
        }
    }
}

/// With no gaps: integers are passed in groups of four.
fn tight<A: Number>(device: &Device, rng: &mut Rng, kind: Kind, rows: usize, cols: usize) -> TestMatrix<A> {
    loop {
        let matrix = TestMatrix::new(device, rng, kind, (rows, cols), 'N');
        if matrix.ld == rows {
            return matrix;
        }
    }
}

#[test]
fn gemm_ex_multiplies_in_more_bits_than_its_inputs_have() {
    let Some((device, _stream, blas)) = blas() else { return };
    crate::cases(8, |rng| {
        gemm_ex::<f16, f16, f32>(&device, &blas, rng);
        gemm_ex::<f16, f32, f32>(&device, &blas, rng);
        gemm_ex::<bf16, bf16, f32>(&device, &blas, rng);
        gemm_ex::<bf16, f32, f32>(&device, &blas, rng);
        gemm_ex::<f32, f32, f32>(&device, &blas, rng);
        gemm_ex::<f64, f64, f64>(&device, &blas, rng);
        gemm_ex::<Complex32, Complex32, Complex32>(&device, &blas, rng);
        gemm_ex::<Complex64, Complex64, Complex64>(&device, &blas, rng);
    });
}

#[test]
fn gemm_ex_multiplies_integers() {
    let Some((device, _stream, blas)) = blas() else { return };
    crate::cases(4, |rng| gemm_ex::<i8, i32, i32>(&device, &blas, rng));
}

fn vectors<T: Number + VectorEx<E>, E: Number>(device: &Device, blas: &Blas, rng: &mut Rng)
where
    T::Real: Number,
{
    let (kind, n) = (Kind::any(rng), size(rng));
    let mut x = TestVector::<T>::new(device, rng, kind, n);
    let mut y = TestVector::<T>::new(device, rng, kind, n);
    let before: Vec<Host> = (0..kind.count()).map(|index| y.reference(index)).collect();
    let alpha: E = rng.number();
    let layout = y.layout();
    blas.axpy_ex(alpha, x.view(&x.memory.held()), vector_mut(layout, &mut y.memory.held_mut())).unwrap();
    y.read();
    for (index, before) in before.iter().enumerate() {
        let product = x.reference(index).scale(alpha.wide());
        let size = product.abs().add(&before.abs());
        assert_close::<T>("axpy_ex", &y.reference(index), &product.add(before), &size, 2);
    }
    let mut out = DeviceBuffer::<T>::zeroed(device, kind.count()).unwrap();
    for conjugated in [false, true] {
        let (x_held, y_held) = (x.memory.held(), y.memory.held());
        let (x_view, y_view) = (x.view(&x_held), y.view(&y_held));
        if conjugated {
            blas.dotc_ex::<T, E>(x_view, y_view, &mut out)
        } else {
            blas.dot_ex::<T, E>(x_view, y_view, &mut out)
        }
        .unwrap();
        for (index, got) in out.to_vec().unwrap().iter().enumerate() {
            let (x, y) = (x.reference(index), y.reference(index));
            let want = if conjugated { x.h() } else { x.t() }.mul(&y);
            assert_close::<T>("dot_ex", &Host::of(&[*got], 1, 1, 1), &want, &x.abs().t().mul(&y.abs()), n);
        }
    }
    let mut norms = DeviceBuffer::<T::Real>::zeroed(device, kind.count()).unwrap();
    blas.nrm2_ex::<T, E>(x.view(&x.memory.held()), &mut norms).unwrap();
    for (index, got) in norms.to_vec().unwrap().iter().enumerate() {
        let norm = x.reference(index).data.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
        let want = Host::from_fn(1, 1, |_, _| norm.into());
        assert_close::<T::Real>("nrm2_ex", &Host::of(&[*got], 1, 1, 1), &want, &want, n + 2);
    }
    x.read();
}

#[test]
fn vectors_of_mixed_precision() {
    let Some((device, _stream, blas)) = blas() else { return };
    crate::cases(4, |rng| {
        vectors::<f16, f32>(&device, &blas, rng);
        vectors::<f32, f32>(&device, &blas, rng);
        vectors::<f64, f64>(&device, &blas, rng);
        vectors::<Complex32, Complex32>(&device, &blas, rng);
        vectors::<Complex64, Complex64>(&device, &blas, rng);
    });
}

fn scal_rot<T: Number + ScalEx<A>, A: Number>(device: &Device, blas: &Blas, rng: &mut Rng) {
    let (kind, n) = (Kind::any(rng), size(rng));
    let mut x = TestVector::<T>::new(device, rng, kind, n);
    let before: Vec<Host> = (0..kind.count()).map(|index| x.reference(index)).collect();
    let alpha: A = rng.number();
    let layout = x.layout();
    blas.scal_ex(alpha, vector_mut(layout, &mut x.memory.held_mut())).unwrap();
    x.read();
    for (index, before) in before.iter().enumerate() {
        let want = before.scale(alpha.wide());
        assert_close::<T>("scal_ex", &x.reference(index), &want, &want.abs(), 1);
    }
}

#[test]
fn scal_ex_takes_factors_of_more_bits() {
    let Some((device, _stream, blas)) = blas() else { return };
    crate::cases(4, |rng| {
        scal_rot::<f16, f16>(&device, &blas, rng);
        scal_rot::<f16, f32>(&device, &blas, rng);
        scal_rot::<f64, f64>(&device, &blas, rng);
        scal_rot::<Complex32, f32>(&device, &blas, rng);
        scal_rot::<Complex64, Complex64>(&device, &blas, rng);
    });
}

#[test]
fn rot_ex_rotates() {
    let Some((device, _stream, blas)) = blas() else { return };
    let mut x = DeviceBuffer::from_slice(&device, &[f16::from_f32(1.0), f16::from_f32(2.0)]).unwrap();
    let mut y = DeviceBuffer::from_slice(&device, &[f16::from_f32(3.0), f16::from_f32(-4.0)]).unwrap();
    blas.rot_ex::<f16, f32>(&mut x, &mut y, f16::from_f32(0.5), f16::from_f32(0.25)).unwrap();
    assert_eq!(x.to_vec().unwrap().map_f32(), [1.25, 0.0]);
    assert_eq!(y.to_vec().unwrap().map_f32(), [1.25, -2.5]);
}

trait MapF32 {
    fn map_f32(self) -> Vec<f32>;
}

impl MapF32 for Vec<f16> {
    fn map_f32(self) -> Vec<f32> {
        self.into_iter().map(f16::to_f32).collect()
    }
}

#[test]
fn ways_to_compute_that_a_release_lacks_are_errors() {
    let Some((device, _stream, blas)) = blas() else { return };
    let a = hipblas::MatrixBuffer::from_rows(&device, [[1.0_f32, 2.0], [3.0, 4.0]]).unwrap();
    let mut c = hipblas::MatrixBuffer::<f32>::zeroed(&device, 2, 2).unwrap();
    let done = blas.gemm_ex(Compute::Pedantic, 1.0_f32, &a, &a, 0.0_f32, &mut c);
    if std::env::var("ROCM_RS_RELEASE").is_ok_and(|release| release == "5.7") {
        assert!(done.unwrap_err().to_string().contains("ROCm 6.2"));
    } else if let Err(error) = done {
        assert!(error.status().is_some(), "{error}");
    } else {
        assert_eq!(c.to_vec().unwrap(), [7.0, 15.0, 10.0, 22.0]);
    }
    let a = hipblas::MatrixBuffer::from_rows(&device, [[1.0_f64]]).unwrap();
    let mut c = hipblas::MatrixBuffer::<f64>::zeroed(&device, 1, 1).unwrap();
    let refused = blas.gemm_ex(Compute::FastF16, 1.0_f64, &a, &a, 0.0_f64, &mut c);
    assert!(matches!(refused, Err(hipblas::Error::Invalid { .. })), "{refused:?}");
}

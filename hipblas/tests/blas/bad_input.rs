//! Invalid input is an error before the call, and changes nothing.

use hip::{DeviceBuffer, Stream};
use hipblas::{
    BandRef, Blas, Error, MatrixBuffer, MatrixMut, MatrixRef, Pointers, PointersMut, Side, Uplo, VectorMut, VectorRef,
};
use num_complex::Complex32;

use crate::blas;

#[track_caller]
fn refused<T>(result: hipblas::Result<T>, words: &str) {
    match result {
        Ok(_) => panic!("it was accepted"),
        Err(error @ (Error::Invalid { .. } | Error::Hip(hip::Error::InvalidValue { .. }))) => {
            assert!(error.to_string().contains(words), "{error}");
        }
        Err(error) => panic!("another error: {error}"),
    }
}

#[test]
fn shapes_that_do_not_fit() {
    let Some((device, _stream, blas)) = blas() else { return };
    let matrix = |rows, cols| MatrixBuffer::<f32>::zeroed(&device, rows, cols).unwrap();
    let vector = |len| DeviceBuffer::<f32>::zeroed(&device, len).unwrap();
    let (a, b, square, mut c) = (matrix(2, 3), matrix(3, 4), matrix(3, 3), matrix(2, 4));
    let (x, mut y) = (vector(3), vector(2));
    refused(
        blas.gemm(1.0, &a, &a, 0.0, &mut matrix(2, 2)),
        "the rows of B is 2, but must be 3, the columns of A, in gemm(A 2 x 3, B 2 x 3, C 2 x 2)",
    );
    refused(blas.gemm(1.0, &b, &b, 0.0, &mut c), "the rows of B is 3, but must be 4");
    refused(blas.gemm(1.0, &a, b.t(), 0.0, &mut c), "gemm(A 2 x 3, B 4 x 3, C 2 x 4)");
    refused(blas.gemm(1.0, &a, &b, 0.0, &mut matrix(3, 4)), "the rows of C is 3, but must be 2, the rows of A");
    refused(blas.gemm(1.0, &a, &b, 0.0, &mut matrix(2, 3)), "the columns of C is 3, but must be 4, the columns of B");
    // A C that is transposed in memory: the shapes are those of the views that were passed.
    refused(blas.gemm(1.0, &a, &b, 0.0, matrix(2, 4).view_mut().t()), "gemm(A 2 x 3, B 3 x 4, C 4 x 2)");
    refused(blas.gemm(1.0, &a, c_like(&device).t(), 0.0, &mut c), "rows of B");
    refused(blas.gemv(1.0, &b, &x, 0.0, &mut y), "the columns of A, in gemv(A 3 x 4, x 3, y 2)");
    refused(blas.gemv(1.0, &square, &x, 0.0, &mut y), "length of y is 2, but must be 3, the rows of A");
    refused(blas.axpy(1.0, &x, &mut y), "length of y is 2, but must be 3, as x, in axpy(x 3, y 2)");
    refused(blas.dot(&x, &vector(4)), "length of y");
    refused(blas.ger(1.0, &x, &x, &mut c), "length of x");
    refused(
        blas.trsm(Side::Left, 1.0, square.view().lower().unwrap(), &mut c),
        "the order of A is 3, but must be 2, the rows of B, in trsm(A 3 x 3, B 2 x 4)",
    );
    refused(blas.trsv(square.view().lower().unwrap(), &mut y), "length of x");
    refused(blas.symm(Side::Left, 1.0, square.view().lower().unwrap(), &a, 0.0, &mut matrix(2, 3)), "order of A");
    refused(
        blas.syrk(1.0, &a, 0.0, matrix(3, 3).view_mut().lower().unwrap()),
        "the order of C is 3, but must be 2, the rows of A, in syrk",
    );
    refused(
        blas.syr2k(1.0, &a, &square, 0.0, matrix(2, 2).view_mut().lower().unwrap()),
        "B is 3 x 3, but must be 2 x 3, as A, in syr2k(A 2 x 3, B 3 x 3, C 2 x 2)",
    );
    refused(
        blas.symm(Side::Left, 1.0, square.view().lower().unwrap(), &b, 0.0, &mut c),
        "C is 2 x 4, but must be 3 x 4, as B, in symm(A 3 x 3, B 3 x 4, C 2 x 4)",
    );
    refused(blas.geam(1.0, &a, 1.0, a.t(), &mut matrix(2, 3)), "B is 3 x 2, but must be 2 x 3");
    refused(blas.dgmm(Side::Right, &a, &y, &mut matrix(2, 3)), "length of x");
    refused(blas.trtri(square.view().lower().unwrap(), matrix(3, 3).view_mut().upper().unwrap()), "triangle");
    let mut none = vector(0);
    refused(
        blas.nrm2_into(&x, &mut none),
        "the memory of the results is 0, but must be at least 1 elements, in nrm2_into(x 3)",
    );
    refused(blas.rotm(&mut vector(2), &mut vector(2), &vector(4)), "param");
    // Views that reach beyond their memory are not made.
    let made: [hip::Result<()>; 8] = [
        MatrixRef::new(&x, 2, 2).map(drop),
        MatrixRef::with_ld(&x, 2, 1, 1).map(drop),
        MatrixRef::strided_batch(&x, (1, 1, 1), 2, 3).map(drop),
        VectorRef::new(&x, 2, 3).map(drop),
        VectorRef::new(&x, 3, 0).map(drop),
        VectorRef::new(&x, usize::MAX, 2).map(drop),
        MatrixRef::new(&x, usize::MAX, usize::MAX).map(drop),
        a.view().lower().map(drop),
    ];
    assert!(made.iter().all(|made| matches!(made, Err(hip::Error::InvalidValue { .. }))), "{made:?}");
    assert_eq!((c.to_vec().unwrap(), y.to_vec().unwrap()), (vec![0.0; 8], vec![0.0; 2]));
}

fn c_like(device: &hip::Device) -> MatrixBuffer<f32> {
    MatrixBuffer::zeroed(device, 4, 5).unwrap()
}

#[test]
fn forms_that_blas_lacks() {
    let Some((device, _stream, blas)) = blas() else { return };
    let a = MatrixBuffer::<Complex32>::zeroed(&device, 3, 3).unwrap();
    let mut c = MatrixBuffer::<Complex32>::zeroed(&device, 3, 3).unwrap();
    let x = DeviceBuffer::<Complex32>::zeroed(&device, 3).unwrap();
    let mut y = DeviceBuffer::<Complex32>::zeroed(&device, 3).unwrap();
    let one = Complex32::new(1.0, 0.0);
    refused(blas.gemm(one, a.view().conj(), &a, one, &mut c), "conjugated");
    refused(blas.gemv(one, a.view().conj(), &x, one, &mut y), "conjugated");
    refused(blas.gerc(one, &x, &x, c.view_mut().t()), "row-major");
    refused(blas.hemv(one, a.t().lower().unwrap(), &x, one, &mut y), "Hermitian");
    refused(blas.her(1.0, &x, c.view_mut().t().lower().unwrap()), "written");
    refused(blas.symv(one, a.h().lower().unwrap(), &x, one, &mut y), "not conjugated");
    let diagonals = MatrixBuffer::<Complex32>::zeroed(&device, 3, 3).unwrap();
    let band = BandRef::new(diagonals.view(), 3, 1, 1).unwrap();
    refused(blas.tbmv(band, &mut y), "one side");
    assert!(BandRef::new(diagonals.view(), 3, 1, 0).is_err());
}

#[test]
fn overlaps_and_batches_that_do_not_fit() {
    let Some((device, _stream, blas)) = blas() else { return };
    let memory = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
    // Members to write to that overlap.
    assert!(MatrixMut::strided_batch(&mut out, (4, 4, 4), 15, 2).is_err());
    assert!(VectorMut::strided_batch(&mut out, 4, 1, 3, 2).is_err());
    assert!(MatrixRef::strided_batch(&memory, (4, 4, 4), 15, 2).is_ok(), "to read from, they may");
    assert!(MatrixMut::strided_batch(&mut out, (4, 4, 16), 4, 4).is_ok(), "rows of one tall matrix");
    let batch = MatrixRef::strided_batch(&memory, (4, 4, 4), 16, 2).unwrap();
    refused(blas.gemm(1.0, batch, batch, 0.0, MatrixMut::new(&mut out, 4, 4).unwrap()), "no batch");
    let three = MatrixMut::strided_batch(&mut out, (4, 4, 4), 16, 3).unwrap();
    refused(
        blas.gemm(1.0, batch, batch, 0.0, three),
        "Strided(2), as A is, in gemm(A 4 x 4 in a strided batch of 2, B 4 x 4 in a",
    );
    let pointers = Pointers::new(&device, [memory.slice(..16).unwrap()]).unwrap();
    let by_pointers = MatrixRef::batch(&pointers, (4, 4, 4)).unwrap();
    let mut outs = PointersMut::new(&device, [out.slice_mut(..16).unwrap()]).unwrap();
    let to = MatrixMut::batch(&mut outs, (4, 4, 4)).unwrap();
    refused(blas.gemm(1.0, by_pointers, MatrixRef::new(&memory, 4, 4).unwrap(), 0.0, to), "no batch");
    // The same memory a second time, as other code could pass it.
    // SAFETY: `memory` owns it and lives to the end of the test, and no call uses both.
    let mut again = unsafe { DeviceBuffer::from_raw_parts_with(&device, memory.as_device_ptr(), 64, ()).unwrap() };
    let (x, y) =
        (VectorRef::new(&memory, 10, 1).unwrap(), VectorMut::new(again.slice_mut(5..).unwrap(), 10, 1).unwrap());
    refused(
        blas.axpy(1.0, x, y),
        "overlaps that of x, but must be apart from that of the other operands, in axpy(x 10, y 10)",
    );
    let parts = again.slice_mut(..).unwrap();
    let _ = parts;
    assert_eq!(out.to_vec().unwrap(), [0.0; 64]);
}

#[test]
fn zero_sizes_do_nothing_or_scale() {
    let Some((device, _stream, blas)) = blas() else { return };
    let empty = DeviceBuffer::<f32>::zeroed(&device, 0).unwrap();
    let mut also = DeviceBuffer::<f32>::zeroed(&device, 0).unwrap();
    blas.axpy(1.0, &empty, &mut also).unwrap();
    assert_eq!((blas.nrm2(&empty).unwrap(), blas.amax(&empty).unwrap()), (0.0, None));
    let a = MatrixBuffer::<f32>::zeroed(&device, 2, 0).unwrap();
    let mut c = MatrixBuffer::from_rows(&device, [[1.0_f32, 2.0], [3.0, 4.0]]).unwrap();
    blas.gemm(1.0, &a, a.t(), 0.5, &mut c).unwrap();
    assert_eq!(c.to_vec().unwrap(), [0.5, 1.5, 1.0, 2.0], "no terms in the sums: C is scaled");
    // A batch of none.
    let mut out = DeviceBuffer::<f32>::zeroed(&device, 4).unwrap();
    let none = MatrixRef::strided_batch(&empty, (2, 2, 2), 4, 0).unwrap();
    blas.gemm(1.0, none, none, 0.0, MatrixMut::strided_batch(&mut out, (2, 2, 2), 4, 0).unwrap()).unwrap();
    assert_eq!(out.to_vec().unwrap(), [0.0; 4]);
}

#[test]
fn a_stream_or_memory_of_another_device() {
    let Some((device, stream, mut blas)) = blas() else { return };
    blas.set_stream(&Stream::new(&device).unwrap()).unwrap();
    blas.set_stream(&stream).unwrap();
    if hip::Device::count().unwrap() < 2 {
        return linalg_testing::skipped(&"another device is not available");
    }
    let other = hip::Device::get(1).unwrap();
    assert!(blas.set_stream(&Stream::new(&other).unwrap()).is_err());
    let (x, mut y) =
        (DeviceBuffer::<f32>::zeroed(&other, 2).unwrap(), DeviceBuffer::<f32>::zeroed(&device, 2).unwrap());
    let error = blas.axpy(1.0, &x, &mut y).unwrap_err();
    assert!(matches!(error, Error::Hip(hip::Error::WrongDevice { .. })), "{error}");
    assert_eq!(Blas::new(&Stream::new(&other).unwrap()).unwrap().nrm2(&x).unwrap(), 0.0);
}

#[test]
fn bands_and_packed_triangles_of_the_wrong_size() {
    let Some((device, _stream, _blas)) = blas() else { return };
    let memory = DeviceBuffer::<f32>::zeroed(&device, 5).unwrap();
    assert!(hipblas::PackedRef::new(&memory, 3, Uplo::Lower).is_err());
    assert!(hipblas::PackedRef::new(&memory, 2, Uplo::Lower).is_ok());
    assert!(hipblas::PackedRef::new(&memory, usize::MAX, Uplo::Lower).is_err());
}

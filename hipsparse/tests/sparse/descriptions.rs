//! Descriptors for the raw functions contain what was described.

use hip::DeviceBuffer;
use hip_linalg::Uplo;
use hipsparse::descr::{Described, MatDescr, MatInfo, MatrixType, SpMatDescr, SpVecDescr};
use hipsparse::{Base, MatrixBuffer, MatrixMut, SpMat, SpVec, VectorRef};
use linalg_testing::Rng;

use crate::bad_input::refused;
use crate::{Narrow, is_5, sparse, structure};

fn address<T: hip::Pod>(buffer: &DeviceBuffer<T>) -> usize {
    buffer.as_device_ptr().address() as usize
}

/// A matrix to read from, and one to write to.
fn described<F: Described, I: Narrow>(matrix: &mut SpMat<F, f64, I>, format: u32, index_bits: u32) {
    let (rows, cols, entries, base) = (matrix.rows(), matrix.cols(), matrix.entries(), matrix.base());
    let (values, second) = (address(matrix.values()), matrix.pattern().second().as_device_ptr().address() as usize);
    let check = |descr: &SpMatDescr<'_, F, f64, I>| {
        let found = descr.read().unwrap();
        assert_eq!((found.rows, found.cols, found.entries, found.base), (rows, cols, entries, base));
        assert_eq!((found.values as usize, found.second as usize), (values, second));
        // HIP_R_64F
        assert_eq!((found.format, found.index_bits, found.data_type), (format, index_bits, 1));
    };
    let descr = SpMatDescr::new(matrix.view()).unwrap();
    check(&descr);
    drop(descr);
    let mut other = DeviceBuffer::<f64>::zeroed(&matrix.values().device(), matrix.values().len()).unwrap();
    let place = address(&other);
    let mut short = DeviceBuffer::<f64>::zeroed(&matrix.values().device(), 0).unwrap();
    let mut descr = SpMatDescr::new_mut(matrix.view_mut()).unwrap();
    check(&descr);
    refused(descr.set_values(&mut short), "number of values");
    descr.set_values(&mut other).unwrap();
    assert_eq!(descr.read().unwrap().values as usize, place);
    for (uplo, unit) in [(Uplo::Upper, true), (Uplo::Lower, false)] {
        descr.set_triangle(uplo, unit).unwrap();
        assert_eq!(descr.triangle().unwrap(), (uplo, unit));
    }
}

#[test]
fn sparse_matrices_are_described() {
    let Some((device, _sparse)) = sparse() else { return };
    let entries = structure::<f64>(8, &mut Rng::new(2));
    described(&mut entries.csr::<i32>(&device, Base::One), 1, 32);
    described(&mut entries.csr::<i64>(&device, Base::Zero), 1, 64);
    described(&mut entries.coo::<i32>(&device, Base::One), 3, 32);
    described(&mut entries.blocked_ell::<i32>(&device, Base::Zero, 6), 5, 32);
    let mut csc = entries.csc::<i32>(&device, Base::One);
    if is_5() {
        assert!(SpMatDescr::new(csc.view()).unwrap().read().is_err(), "5.7 has no function for it");
    } else {
        described(&mut csc, 2, 32);
    }
}

#[test]
fn a_batch_is_described() {
    let Some((device, _sparse)) = sparse() else { return };
    let entries = structure::<f64>(8, &mut Rng::new(2));
    let mut csr = entries.csr::<i32>(&device, Base::Zero);
    let mut descr = SpMatDescr::new_mut(csr.view_mut()).unwrap();
    descr.set_batch(3).unwrap();
    assert_eq!(descr.read().unwrap().batch, 3);
    if !is_5() {
        let mut values = DeviceBuffer::<f64>::zeroed(&device, entries.entries.len()).unwrap();
        let csr = entries.csr::<i32>(&device, Base::Zero);
        let mut descr = SpMatDescr::new(csr.view()).unwrap();
        refused(descr.set_values(&mut values), "only read");
    }
}

#[test]
fn vectors_are_described() {
    let Some((device, sparse)) = sparse() else { return };
    let mut x = SpVec::from_host(&device, 9, Base::One, &[2_i64, 5], &[1.0_f32, 2.0]).unwrap();
    let values = address(x.values());
    let found = SpVecDescr::new(x.view()).unwrap().read().unwrap();
    assert_eq!((found.len, found.entries, found.base, found.index_bits), (9, 2, Base::One, 64));
    assert_eq!((found.values as usize, found.data_type), (values, 0));
    let mut other = DeviceBuffer::<f32>::zeroed(&device, 2).unwrap();
    let place = address(&other);
    let mut descr = SpVecDescr::new_mut(x.view_mut()).unwrap();
    assert_eq!(descr.read().unwrap().values as usize, values);
    descr.set_values(&mut other).unwrap();
    assert_eq!(descr.read().unwrap().values as usize, place);
    drop(descr);

    let mut y = DeviceBuffer::<f64>::zeroed(&device, 7).unwrap();
    let values = address(&y);
    let descr = sparse.vector_descr(&y).unwrap();
    assert!(!descr.as_raw().is_null());
    let found = descr.read().unwrap();
    assert_eq!((found.len, found.entries, found.values as usize, found.data_type), (7, 7, values, 1));
    refused(sparse.vector_descr(VectorRef::new(&y, 3, 2).unwrap()), "increment");
    drop(descr);
    let mut other = DeviceBuffer::<f64>::zeroed(&device, 7).unwrap();
    let place = address(&other);
    let mut descr = sparse.vector_descr_mut(&mut y).unwrap();
    assert_eq!(descr.read().unwrap().values as usize, values);
    descr.set_values(&mut other).unwrap();
    assert_eq!(descr.read().unwrap().values as usize, place);
}

#[test]
fn dense_matrices_are_described() {
    let Some((device, sparse)) = sparse() else { return };
    let matrix = MatrixBuffer::<f32>::zeroed(&device, 3, 5).unwrap();
    let found = sparse.matrix_descr(&matrix).unwrap().read().unwrap();
    assert_eq!((found.rows, found.cols, found.leading_dimension, found.row_major), (3, 5, 3, false));
    assert_eq!((found.values as usize, found.batch.0), (address(matrix.buffer()), 1));
    let mut memory = DeviceBuffer::<f32>::zeroed(&device, 40).unwrap();
    let values = address(&memory);
    let batch = MatrixMut::strided_batch(&mut memory, (3, 2, 4), 10, 4).unwrap();
    let mut descr = sparse.matrix_descr_mut(batch).unwrap();
    let found = descr.read().unwrap();
    assert_eq!((found.rows, found.cols, found.leading_dimension, found.batch), (3, 2, 4, (4, 10)));
    assert_eq!(found.values as usize, values);
    let mut short = DeviceBuffer::<f32>::zeroed(&device, 36).unwrap();
    refused(descr.set_values(&mut short), "at least 37");
    let mut other = DeviceBuffer::<f32>::zeroed(&device, 37).unwrap();
    let place = address(&other);
    descr.set_values(&mut other).unwrap();
    assert_eq!(descr.read().unwrap().values as usize, place);
}

#[test]
fn matrices_of_the_older_functions_are_described() {
    if sparse().is_none() {
        return;
    }
    for (kind, base, uplo, unit) in [
        (MatrixType::Symmetric, Base::One, Uplo::Upper, true),
        (MatrixType::Hermitian, Base::Zero, Uplo::Lower, false),
        (MatrixType::Triangular, Base::One, Uplo::Lower, true),
        (MatrixType::General, Base::Zero, Uplo::Upper, false),
    ] {
        let info = MatInfo { kind, base, uplo, unit };
        let descr = MatDescr::new(info).unwrap();
        assert_eq!(descr.read().unwrap(), info);
        let copy = descr.try_clone().unwrap();
        assert_ne!(copy.as_raw(), descr.as_raw());
        drop(descr);
        assert_eq!(copy.read().unwrap(), info);
    }
}

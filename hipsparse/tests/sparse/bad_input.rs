//! Invalid input is an error before the call.

use hip::{DeviceBuffer, Stream};
use hipsparse::{Base, CallError, Csr, Error, SpVec, VectorRef, format};

use crate::{sparse, structure};

#[track_caller]
pub(crate) fn refused<T>(result: hipsparse::Result<T>, words: &str) {
    match result {
        Err(error @ Error::Call(CallError::Invalid { .. } | CallError::Hip(hip::Error::InvalidValue { .. }))) => {
            assert!(error.to_string().contains(words), "{error}");
        }
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was accepted"),
    }
}

#[test]
fn lengths_that_do_not_fit() {
    let Some((device, sparse)) = sparse() else { return };
    let vector = |len| DeviceBuffer::<f32>::zeroed(&device, len).unwrap();
    let matrix = |rows, cols| hipsparse::MatrixBuffer::<f32>::zeroed(&device, rows, cols).unwrap();
    let host = |size, offsets: &[i32], cols: &[i32], values: &[f32]| {
        Csr::from_host(&device, size, Base::Zero, offsets, cols, values)
    };
    refused(host((2, 3), &[0, 1], &[0], &[1.0]), "first index array");
    refused(host((2, 3), &[0, 1, 1], &[0], &[1.0, 2.0]), "number of values");
    refused(host((2, i32::MAX as usize), &[0, 0, 0], &[], &[]), "columns of a matrix");
    let blocks = format::Bsr::square(2);
    let bsr = hipsparse::Bsr::from_host_with_format(&device, blocks, (3, 4), Base::Zero, &[0, 0], &[], &[0.0; 0]);
    refused(bsr.map(|bsr: hipsparse::Bsr<f32>| bsr), "whole blocks");
    let a = host((2, 3), &[0, 1, 2], &[0, 2], &[1.0, 2.0]).unwrap();
    refused(
        sparse.spmv(1.0, &a, &vector(2), 0.0, &mut vector(2)),
        "length of x is 2, but must be 3, the columns of A, in spmv(A 2 x 3, x 2, y 2)",
    );
    refused(sparse.spmv(1.0, &a, &vector(3), 0.0, &mut vector(3)), "length of y");
    refused(sparse.spmv(1.0, a.t(), &vector(3), 0.0, &mut vector(3)), "length of x");
    let gaps = vector(6);
    let every_other = VectorRef::new(&gaps, 3, 2).unwrap();
    refused(sparse.spmv(1.0, &a, every_other, 0.0, &mut vector(2)), "increment");
    refused(
        sparse.spmm(1.0, &a, &matrix(2, 2), 0.0, &mut matrix(2, 2)),
        "the rows of B is 2, but must be 3, the columns of A, in spmm(A 2 x 3, B 2 x 2, C 2 x 2)",
    );
    refused(sparse.spmm(1.0, &a, &matrix(3, 2), 0.0, &mut matrix(3, 2)), "rows of C");
    refused(sparse.spmm(1.0, &a, &matrix(3, 2), 0.0, &mut matrix(2, 3)), "columns of C");
    let mut a = a;
    refused(
        sparse.sddmm(1.0, &matrix(2, 4), &matrix(3, 3), 0.0, &mut a),
        "rows of B is 3, but must be 4, the columns of A, in sddmm(A 2 x 4, B 3 x 3, C 2 x 3)",
    );
    refused(
        sparse.sddmm(1.0, &matrix(3, 2), &matrix(2, 3), 0.0, &mut a),
        "rows of C is 2, but must be 3, the rows of A",
    );
    let x = SpVec::from_host(&device, 4, Base::Zero, &[2, 1], &[1.0_f32, 2.0]).unwrap();
    refused(sparse.axpby(1.0, &x, 0.0, &mut vector(4)), "not sorted");
    refused(sparse.spvv(&x, &vector(5)), "length of y");
}

#[test]
fn operands_that_overlap_or_are_elsewhere() {
    let Some((device, mut sparse)) = sparse() else { return };
    let a = structure::<f64>(8, &mut linalg_testing::Rng::new(1)).csr::<i32>(&device, Base::Zero);
    let mut memory = DeviceBuffer::<f64>::zeroed(&device, a.cols() + 10).unwrap();
    // The same memory a second time, as other code could pass it.
    // SAFETY: `memory` owns it and lives to the end of the test, and no call uses both.
    let again = unsafe { DeviceBuffer::from_raw_parts_with(&device, memory.as_device_ptr(), a.cols(), ()).unwrap() };
    refused(sparse.spmv(1.0, &a, &again, 0.0, memory.slice_mut(5..5 + a.rows()).unwrap()), "overlaps");
    if hip::Device::count().unwrap() < 2 {
        return linalg_testing::skipped(&"another device is not available");
    }
    let other = hip::Device::get(1).unwrap();
    assert!(sparse.set_stream(&Stream::new(&other).unwrap()).is_err());
    let mut far = DeviceBuffer::<f64>::zeroed(&other, a.rows()).unwrap();
    let error = sparse.spmv(1.0, &a, memory.slice(..a.cols()).unwrap(), 0.0, &mut far).unwrap_err();
    assert!(matches!(error, Error::Call(CallError::Hip(hip::Error::WrongDevice { .. }))), "{error}");
}

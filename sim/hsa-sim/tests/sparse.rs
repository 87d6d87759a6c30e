//! rocSPARSE through hipSPARSE, unmodified, on the software GPU. Its results are compared with f64 arithmetic on the
//! host.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::c_int;
use std::ptr::null_mut;

use hip::sys::{HIP_R_32F, HIP_R_64F};
use hip::{Device, DeviceBuffer};
use hipsparse_sys::rocm_6_4::*;
use support::libraries::elsewhere;
use support::numbers::{assert_close, raw, singles, values};

const FILES: [&str; 2] = ["libhipsparse.so", "librocsparse.so"];

/// A sparse matrix in compressed rows.
struct Csr {
    rows: usize,
    columns: usize,
    offsets: Vec<c_int>,
    indices: Vec<c_int>,
    values: Vec<f64>,
}

impl Csr {
    /// Rows of very different lengths: empty ones, short ones, and one that is full.
    fn sample(rows: usize, columns: usize) -> Self {
        let (mut offsets, mut indices) = (vec![0], Vec::new());
        for row in 0..rows {
            let step = match row {
                17 => 1,
                _ if row % 5 == 3 => columns,
                _ => 3 + row % 11,
            };
            indices.extend((row % 7..columns).step_by(step).filter(|_| row % 13 != 4).map(|column| column as c_int));
            offsets.push(indices.len() as c_int);
        }
        let values = values(indices.len(), 7);
        Self { rows, columns, offsets, indices, values }
    }

    /// Each entry: row, column and value.
    fn entries(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        (0..self.rows).flat_map(move |row| {
            let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
            range.map(move |at| (row, self.indices[at] as usize, self.values[at]))
        })
    }
}

fn handle() -> hipsparseHandle_t {
    let mut handle = null_mut();
    // SAFETY: `handle` is valid for the write.
    let status = unsafe { hipsparseCreate(&mut handle) };
    assert_eq!(status, HIPSPARSE_STATUS_SUCCESS, "{:?}", load_error());
    handle
}

fn check(status: hipsparseStatus_t) {
    assert_eq!(status, HIPSPARSE_STATUS_SUCCESS);
}

/// Each algorithm for compressed rows, and the transposed product, whose kernels add with atomics.
#[test]
fn spmv_agrees_with_the_host() {
    if elsewhere("spmv_agrees_with_the_host", &FILES, &[]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let handle = handle();
    let a = Csr::sample(150, 90);
    let (x, y) = (values(150, 1), values(150, 2));
    let (alpha, beta) = (1.25_f32, -0.5_f32);
    let offsets = DeviceBuffer::from_slice(&device, &a.offsets).unwrap();
    let indices = DeviceBuffer::from_slice(&device, &a.indices).unwrap();
    let entries = DeviceBuffer::from_slice(&device, &singles(&a.values)).unwrap();
    for (transposed, algorithm) in [
        (false, HIPSPARSE_MV_ALG_DEFAULT),
        (false, HIPSPARSE_CSRMV_ALG1),
        (false, HIPSPARSE_CSRMV_ALG2),
        (true, HIPSPARSE_CSRMV_ALG2),
    ] {
        let (operation, inputs, outputs) = match transposed {
            false => (HIPSPARSE_OPERATION_NON_TRANSPOSE, a.columns, a.rows),
            true => (HIPSPARSE_OPERATION_TRANSPOSE, a.rows, a.columns),
        };
        let mut expected: Vec<f64> = y[..outputs].iter().map(|y| f64::from(beta) * y).collect();
        for (row, column, value) in a.entries() {
            let (to, from) = if transposed { (column, row) } else { (row, column) };
            expected[to] += f64::from(alpha) * value * x[from];
        }
        let dx = DeviceBuffer::from_slice(&device, &singles(&x[..inputs])).unwrap();
        let dy = DeviceBuffer::from_slice(&device, &singles(&y[..outputs])).unwrap();
        // SAFETY: places are valid for the writes, buffers have the sizes that the descriptors name and outlive them.
        unsafe {
            let (mut matrix, mut from, mut to, mut size) = (null_mut(), null_mut(), null_mut(), 0);
            check(hipsparseCreateCsr(
                &mut matrix,
                a.rows as i64,
                a.columns as i64,
                a.indices.len() as i64,
                raw(&offsets).cast(),
                raw(&indices).cast(),
                raw(&entries).cast(),
                HIPSPARSE_INDEX_32I,
                HIPSPARSE_INDEX_32I,
                HIPSPARSE_INDEX_BASE_ZERO,
                HIP_R_32F,
            ));
            check(hipsparseCreateDnVec(&mut from, inputs as i64, raw(&dx).cast(), HIP_R_32F));
            check(hipsparseCreateDnVec(&mut to, outputs as i64, raw(&dy).cast(), HIP_R_32F));
            let (alpha, beta) = ((&raw const alpha).cast(), (&raw const beta).cast());
            check(hipsparseSpMV_bufferSize(
                handle, operation, alpha, matrix, from, beta, to, HIP_R_32F, algorithm, &mut size,
            ));
            let scratch = DeviceBuffer::<u8>::zeroed(&device, size.max(4)).unwrap();
            // The pointer that `hipMalloc` returns for zero bytes.
            let scratch_at = if size == 0 { null_mut() } else { raw(&scratch).cast() };
            check(hipsparseSpMV_preprocess(
                handle, operation, alpha, matrix, from, beta, to, HIP_R_32F, algorithm, scratch_at,
            ));
            check(hipsparseSpMV(handle, operation, alpha, matrix, from, beta, to, HIP_R_32F, algorithm, scratch_at));
            device.synchronize().unwrap();
            check(hipsparseDestroySpMat(matrix));
            check(hipsparseDestroyDnVec(from));
            check(hipsparseDestroyDnVec(to));
        }
        assert_close(&format!("y by {algorithm:?}, {operation:?}"), &dy.to_vec().unwrap(), &expected, 2e-5);
    }
    // SAFETY: the handle is live.
    check(unsafe { hipsparseDestroy(handle) });
}

/// Dense matrices by columns, in f64.
#[test]
fn spmm_agrees_with_the_host() {
    if elsewhere("spmm_agrees_with_the_host", &FILES, &[]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let handle = handle();
    let (a, width) = (Csr::sample(70, 50), 19);
    let (b, c) = (values(a.columns * width, 3), values(a.rows * width, 4));
    let (alpha, beta) = (-2.0_f64, 0.75_f64);
    let mut expected: Vec<f64> = c.iter().map(|c| beta * c).collect();
    for (row, column, value) in a.entries() {
        for of in 0..width {
            expected[row + of * a.rows] += alpha * value * b[column + of * a.columns];
        }
    }
    let offsets = DeviceBuffer::from_slice(&device, &a.offsets).unwrap();
    let indices = DeviceBuffer::from_slice(&device, &a.indices).unwrap();
    let entries = DeviceBuffer::from_slice(&device, &a.values).unwrap();
    let (db, dc) = (DeviceBuffer::from_slice(&device, &b).unwrap(), DeviceBuffer::from_slice(&device, &c).unwrap());
    let plain = HIPSPARSE_OPERATION_NON_TRANSPOSE;
    // SAFETY: places are valid for the writes, buffers have the sizes that the descriptors name and outlive them.
    unsafe {
        let (mut matrix, mut from, mut to, mut size) = (null_mut(), null_mut(), null_mut(), 0);
        check(hipsparseCreateCsr(
            &mut matrix,
            a.rows as i64,
            a.columns as i64,
            a.indices.len() as i64,
            raw(&offsets).cast(),
            raw(&indices).cast(),
            raw(&entries).cast(),
            HIPSPARSE_INDEX_32I,
            HIPSPARSE_INDEX_32I,
            HIPSPARSE_INDEX_BASE_ZERO,
            HIP_R_64F,
        ));
        for (matrix, rows, values) in [(&mut from, a.columns, &db), (&mut to, a.rows, &dc)] {
            let (rows, at) = (rows as i64, raw(values).cast());
            check(hipsparseCreateDnMat(matrix, rows, width as i64, rows, at, HIP_R_64F, HIPSPARSE_ORDER_COL));
        }
        let (alpha, beta) = ((&raw const alpha).cast(), (&raw const beta).cast());
        let algorithm = HIPSPARSE_CSRMM_ALG1;
        check(hipsparseSpMM_bufferSize(
            handle, plain, plain, alpha, matrix, from, beta, to, HIP_R_64F, algorithm, &mut size,
        ));
        let scratch = DeviceBuffer::<u8>::zeroed(&device, size.max(4)).unwrap();
        let scratch_at = raw(&scratch).cast();
        check(hipsparseSpMM(handle, plain, plain, alpha, matrix, from, beta, to, HIP_R_64F, algorithm, scratch_at));
        device.synchronize().unwrap();
        check(hipsparseDestroySpMat(matrix));
        check(hipsparseDestroyDnMat(from));
        check(hipsparseDestroyDnMat(to));
        check(hipsparseDestroy(handle));
    }
    assert_close("C", &dc.to_vec().unwrap(), &expected, 1e-13);
}

/// The transpose is exact: it consists of integer sorts and scans, and a gather of values.
#[test]
fn csr2csc_is_the_transpose() {
    if elsewhere("csr2csc_is_the_transpose", &FILES, &[]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let handle = handle();
    let a = Csr::sample(300, 130);
    let count = a.indices.len();
    let mut sorted: Vec<_> = a.entries().map(|(row, column, value)| (column, row, value)).collect();
    sorted.sort_by_key(|(column, row, _)| (*column, *row));
    let before = |column: usize| sorted.iter().filter(|entry| entry.0 < column).count() as c_int;
    let expected_offsets: Vec<c_int> = (0..=a.columns).map(before).collect();
    let offsets = DeviceBuffer::from_slice(&device, &a.offsets).unwrap();
    let indices = DeviceBuffer::from_slice(&device, &a.indices).unwrap();
    let entries = DeviceBuffer::from_slice(&device, &a.values).unwrap();
    let to_offsets = DeviceBuffer::<c_int>::zeroed(&device, a.columns + 1).unwrap();
    let to_indices = DeviceBuffer::<c_int>::zeroed(&device, count).unwrap();
    let to_entries = DeviceBuffer::<f64>::zeroed(&device, count).unwrap();
    let [rows, columns, entry_count] = [a.rows, a.columns, count].map(|n| n as c_int);
    // SAFETY: places are valid for the writes, buffers have the sizes of the matrix.
    unsafe {
        let mut size = 0;
        check(hipsparseCsr2cscEx2_bufferSize(
            handle,
            rows,
            columns,
            entry_count,
            raw(&entries).cast(),
            raw(&offsets),
            raw(&indices),
            raw(&to_entries).cast(),
            raw(&to_offsets),
            raw(&to_indices),
            HIP_R_64F,
            HIPSPARSE_ACTION_NUMERIC,
            HIPSPARSE_INDEX_BASE_ZERO,
            HIPSPARSE_CSR2CSC_ALG_DEFAULT,
            &mut size,
        ));
        let scratch = DeviceBuffer::<u8>::zeroed(&device, size.max(4)).unwrap();
        check(hipsparseCsr2cscEx2(
            handle,
            rows,
            columns,
            entry_count,
            raw(&entries).cast(),
            raw(&offsets),
            raw(&indices),
            raw(&to_entries).cast(),
            raw(&to_offsets),
            raw(&to_indices),
            HIP_R_64F,
            HIPSPARSE_ACTION_NUMERIC,
            HIPSPARSE_INDEX_BASE_ZERO,
            HIPSPARSE_CSR2CSC_ALG_DEFAULT,
            raw(&scratch).cast(),
        ));
        device.synchronize().unwrap();
        check(hipsparseDestroy(handle));
    }
    assert_eq!(to_offsets.to_vec().unwrap(), expected_offsets);
    let expected: Vec<_> = sorted.iter().map(|(_, row, value)| (*row as c_int, *value)).collect();
    let got: Vec<_> = to_indices.to_vec().unwrap().into_iter().zip(to_entries.to_vec().unwrap()).collect();
    assert_eq!(got, expected);
}

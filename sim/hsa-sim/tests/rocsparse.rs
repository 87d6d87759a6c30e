//! rocSPARSE, unmodified, on the software GPU, through its own functions: formats, products and triangular systems in
//! each type, on each architecture. Results are compared with f64 arithmetic on the host.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use hip::{Device, DeviceBuffer};
use libloading::os::unix::{Library, Symbol};
use num_complex::{Complex32, Complex64};
use support::libraries::{function, on_each, open, since};
use support::numbers::raw;
use support::scalar::{Scalar, assert_agree, real, sample};

const FILES: [&str; 1] = ["librocsparse.so"];

/// `rocsparse_operation_none`, `_transpose`.
const OPERATIONS: [c_int; 2] = [111, 112];
const PLAIN: c_int = 111;

type Handle = *mut c_void;
type Any = *const c_void;
type Indices = *const c_int;

fn any<T>(value: &T) -> Any {
    std::ptr::from_ref(value).cast()
}

fn at<T: Scalar>(buffer: &DeviceBuffer<T>) -> *mut c_void {
    raw(buffer).cast()
}

fn size(n: usize) -> c_int {
    c_int::try_from(n).unwrap()
}

fn values<T: Scalar>(stored: &[T]) -> Vec<Complex64> {
    stored.iter().map(|number| number.value()).collect()
}

/// A sparse matrix in compressed rows.
#[derive(Clone)]
struct Csr<T> {
    rows: usize,
    columns: usize,
    offsets: Vec<c_int>,
    indices: Vec<c_int>,
    values: Vec<T>,
}

impl<T: Scalar> Csr<T> {
    /// Rows with the columns that `columns_of` gives.
    fn of(rows: usize, columns: usize, columns_of: impl Fn(usize) -> Vec<usize>) -> Self {
        let (mut offsets, mut indices) = (vec![0], Vec::new());
        for row in 0..rows {
            indices.extend(columns_of(row).into_iter().map(size));
            offsets.push(size(indices.len()));
        }
        let values = sample(indices.len(), 51);
        Self { rows, columns, offsets, indices, values }
    }

    /// Rows of very different lengths: empty ones, short ones, and one that is full.
    fn sample(rows: usize, columns: usize) -> Self {
        Self::of(rows, columns, |row| {
            let step = match row {
                17 => 1,
                _ if row % 5 == 3 => columns,
                _ => 3 + row % 11,
            };
            (row % 7..columns).step_by(step).filter(|_| row % 13 != 4).collect()
        })
    }

    /// Each entry: row, column and value.
    fn entries(&self) -> impl Iterator<Item = (usize, usize, Complex64)> + '_ {
        (0..self.rows).flat_map(move |row| {
            let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
            range.map(move |at| (row, self.indices[at] as usize, self.values[at].value()))
        })
    }

    /// All elements, by columns.
    fn dense(&self) -> Vec<Complex64> {
        let mut out = vec![real(0.0); self.rows * self.columns];
        self.entries().for_each(|(row, column, value)| out[row + column * self.rows] = value);
        out
    }
}

/// A matrix on the GPU.
struct OnGpu<T: Scalar> {
    offsets: DeviceBuffer<c_int>,
    indices: DeviceBuffer<c_int>,
    values: DeviceBuffer<T>,
}

/// rocSPARSE with a handle.
struct Sparse {
    library: Library,
    device: Device,
    handle: Handle,
    /// A description of matrices: general, indices from zero, lower, with a diagonal.
    general: Handle,
}

impl Sparse {
    fn new() -> Self {
        let device = Device::get(0).unwrap();
        let (library, mut handle) = (open("librocsparse.so"), null_mut());
        // SAFETY: the type is that of rocsparse.h, and `handle` is valid for the write.
        let status = unsafe {
            function::<unsafe extern "C" fn(*mut Handle) -> c_int>(&library, "rocsparse_create_handle")(&mut handle)
        };
        assert_eq!(status, 0);
        let mut sparse = Self { library, device, handle, general: null_mut() };
        sparse.general = sparse.made("create_mat_descr");
        sparse
    }

    /// A function `rocsparse_NAME`.
    ///
    /// # Safety
    /// It has the type `F`.
    unsafe fn function<F>(&self, name: &str) -> Symbol<F> {
        // SAFETY: as the caller vouches.
        unsafe { function(&self.library, &format!("rocsparse_{name}")) }
    }

    /// What a function makes that has nothing but a place for it as an argument.
    fn made(&self, name: &str) -> Handle {
        let mut made = null_mut();
        // SAFETY: such are the functions that make descriptions; the place is valid for the write.
        let status = unsafe { self.function::<unsafe extern "C" fn(*mut Handle) -> c_int>(name)(&mut made) };
        assert_eq!(status, 0, "{name}");
        made
    }

    fn upload<T: Scalar>(&self, values: &[T]) -> DeviceBuffer<T> {
        DeviceBuffer::from_slice(&self.device, values).unwrap()
    }

    fn empty<T: Scalar>(&self, n: usize) -> DeviceBuffer<T> {
        DeviceBuffer::zeroed(&self.device, n.max(1)).unwrap()
    }

    fn matrix<T: Scalar>(&self, a: &Csr<T>) -> OnGpu<T> {
        OnGpu { offsets: self.upload(&a.offsets), indices: self.upload(&a.indices), values: self.upload(&a.values) }
    }

    fn download<T: Scalar>(&self, buffer: &DeviceBuffer<T>) -> Vec<T> {
        self.device.synchronize().unwrap();
        buffer.to_vec().unwrap()
    }

    fn scratch(&self, bytes: usize) -> DeviceBuffer<u8> {
        DeviceBuffer::zeroed(&self.device, bytes.max(4)).unwrap()
    }
}

type CsrMv = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    Any,
    Handle,
    Any,
    Indices,
    Indices,
    Handle,
    Any,
    Any,
    Any,
) -> c_int;

/// Products with a vector in CSR (with and without analysis), COO, ELL and BSR format.
fn multiply<T: Scalar>(sparse: &Sparse) {
    type Analysis =
        unsafe extern "C" fn(Handle, c_int, c_int, c_int, c_int, Handle, Any, Indices, Indices, Handle) -> c_int;
    type CooMv = unsafe extern "C" fn(
        Handle,
        c_int,
        c_int,
        c_int,
        c_int,
        Any,
        Handle,
        Any,
        Indices,
        Indices,
        Any,
        Any,
        Any,
    ) -> c_int;
    type EllMv =
        unsafe extern "C" fn(Handle, c_int, c_int, c_int, Any, Handle, Any, Indices, c_int, Any, Any, Any) -> c_int;
    type BsrMv = unsafe extern "C" fn(
        Handle,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        Any,
        Handle,
        Any,
        Indices,
        Indices,
        c_int,
        Handle,
        Any,
        Any,
        Any,
    ) -> c_int;
    let a = Csr::<T>::sample(150, 90);
    let count = size(a.indices.len());
    let on_gpu = sparse.matrix(&a);
    let (alpha, beta) = (Complex64::new(1.25, 0.5), Complex64::new(-0.5, 0.25));
    let (alpha, beta) = if T::COMPLEX { (alpha, beta) } else { (real(alpha.re), real(beta.re)) };
    let (by, and) = (T::of(alpha), T::of(beta));
    let (x, y): (Vec<T>, Vec<T>) = (sample(150, 52), sample(150, 53));
    let (m, n) = (size(a.rows), size(a.columns));
    let slack = T::ROUNDING * 100.0;
    let expected = |entries: &mut dyn Iterator<Item = (usize, usize, Complex64)>, outputs: usize| {
        let mut expected: Vec<Complex64> = y[..outputs].iter().map(|y| beta * y.value()).collect();
        entries.for_each(|(to, from, value)| expected[to] += alpha * value * x[from].value());
        expected
    };
    let row_numbers: Vec<c_int> = a.entries().map(|(row, ..)| size(row)).collect();
    let row_numbers = sparse.upload(&row_numbers);
    for operation in OPERATIONS {
        let (inputs, outputs) = if operation == PLAIN { (a.columns, a.rows) } else { (a.rows, a.columns) };
        let turned = a.entries().map(|(row, column, value)| match operation {
            PLAIN => (row, column, value),
            _ => (column, row, value),
        });
        let expected = expected(&mut { turned }, outputs);
        let dx = sparse.upload(&x[..inputs]);
        for analysed in [false, true] {
            let dy = sparse.upload(&y[..outputs]);
            let info = if analysed { sparse.made("create_mat_info") } else { null_mut() };
            let (entries, offsets, indices) = (at(&on_gpu.values), raw(&on_gpu.offsets), raw(&on_gpu.indices));
            // SAFETY: types are those of rocsparse.h, buffers hold the matrix and the vectors.
            unsafe {
                if analysed {
                    let analysis = sparse.function::<Analysis>(&format!("{}csrmv_analysis", T::LETTER));
                    let general = sparse.general;
                    let status =
                        analysis(sparse.handle, operation, m, n, count, general, entries, offsets, indices, info);
                    assert_eq!(status, 0);
                }
                let status = sparse.function::<CsrMv>(&format!("{}csrmv", T::LETTER))(
                    sparse.handle,
                    operation,
                    m,
                    n,
                    count,
                    any(&by),
                    sparse.general,
                    entries,
                    offsets,
                    indices,
                    info,
                    at(&dx),
                    any(&and),
                    at(&dy),
                );
                assert_eq!(status, 0);
            }
            let what = format!("{}csrmv {operation}, analysed: {analysed}", T::LETTER);
            assert_agree(&what, &sparse.download(&dy), &expected, slack);
        }
        let dy = sparse.upload(&y[..outputs]);
        // SAFETY: as above.
        let status = unsafe {
            sparse.function::<CooMv>(&format!("{}coomv", T::LETTER))(
                sparse.handle,
                operation,
                m,
                n,
                count,
                any(&by),
                sparse.general,
                at(&on_gpu.values),
                raw(&row_numbers),
                raw(&on_gpu.indices),
                at(&dx),
                any(&and),
                at(&dy),
            )
        };
        assert_eq!(status, 0);
        assert_agree(&format!("{}coomv {operation}", T::LETTER), &sparse.download(&dy), &expected, slack);
    }
    // ELL: the same number of entries in every row, stored column by column, with -1 for missing entries.
    let width = (0..a.rows).map(|row| (a.offsets[row + 1] - a.offsets[row]) as usize).max().unwrap();
    let (mut ell_indices, mut ell_values) = (vec![-1; width * a.rows], vec![T::of(real(0.0)); width * a.rows]);
    for row in 0..a.rows {
        for (place, entry) in (a.offsets[row] as usize..a.offsets[row + 1] as usize).enumerate() {
            ell_indices[row + place * a.rows] = a.indices[entry];
            ell_values[row + place * a.rows] = a.values[entry];
        }
    }
    let (ell_indices, ell_values) = (sparse.upload(&ell_indices), sparse.upload(&ell_values));
    let (dx, dy) = (sparse.upload(&x[..a.columns]), sparse.upload(&y));
    // SAFETY: as above.
    let status = unsafe {
        sparse.function::<EllMv>(&format!("{}ellmv", T::LETTER))(
            sparse.handle,
            PLAIN,
            m,
            n,
            any(&by),
            sparse.general,
            at(&ell_values),
            raw(&ell_indices),
            size(width),
            at(&dx),
            any(&and),
            at(&dy),
        )
    };
    assert_eq!(status, 0);
    let plain = expected(&mut a.entries(), a.rows);
    assert_agree(&format!("{}ellmv", T::LETTER), &sparse.download(&dy), &plain, slack);
    // Block sizes with kernels of their own; each block is row-major.
    for side in [2_usize, 3, 5, 16] {
        let blocks = Csr::<T>::of(20, 12, |row| (row % 3..12).step_by(1 + row % 4).collect());
        let inside: Vec<T> = sample(blocks.indices.len() * side * side, 54);
        let mut expected: Vec<Complex64> = vec![real(0.0); 20 * side];
        let (x, y): (Vec<T>, Vec<T>) = (sample(12 * side, 55), sample(20 * side, 56));
        for (block, (row, column, _)) in blocks.entries().enumerate() {
            for i in 0..side * side {
                let value = inside[block * side * side + i].value();
                expected[row * side + i / side] += alpha * value * x[column * side + i % side].value();
            }
        }
        expected.iter_mut().zip(&y).for_each(|(sum, y)| *sum += beta * y.value());
        let on_gpu = sparse.matrix(&blocks);
        let (inside, dx, dy) = (sparse.upload(&inside), sparse.upload(&x), sparse.upload(&y));
        let info = sparse.made("create_mat_info");
        // Before 6.0 the variant with an analysis has another name.
        let bsrmv = if since("6.0") { "bsrmv" } else { "bsrmv_ex" };
        // SAFETY: as above.
        let status = unsafe {
            sparse.function::<BsrMv>(&format!("{}{bsrmv}", T::LETTER))(
                sparse.handle,
                0,
                PLAIN,
                20,
                12,
                size(blocks.indices.len()),
                any(&by),
                sparse.general,
                at(&inside),
                raw(&on_gpu.offsets),
                raw(&on_gpu.indices),
                size(side),
                info,
                at(&dx),
                any(&and),
                at(&dy),
            )
        };
        assert_eq!(status, 0);
        assert_agree(&format!("{}bsrmv by {side}", T::LETTER), &sparse.download(&dy), &expected, slack);
    }
}

#[test]
fn products_with_vectors_agree_with_the_host() {
    if on_each("products_with_vectors_agree_with_the_host", &FILES, &[]).is_some() {
        return;
    }
    let sparse = Sparse::new();
    multiply::<f32>(&sparse);
    multiply::<f64>(&sparse);
    multiply::<Complex32>(&sparse);
    multiply::<Complex64>(&sparse);
}

/// Triangular systems whose rows wait for each other across workgroups: long chains of rows, in both triangles, plain
/// and transposed.
fn solve<T: Scalar>(sparse: &Sparse) {
    type Size =
        unsafe extern "C" fn(Handle, c_int, c_int, c_int, Handle, Any, Indices, Indices, Handle, *mut usize) -> c_int;
    type Analysis = unsafe extern "C" fn(
        Handle,
        c_int,
        c_int,
        c_int,
        Handle,
        Any,
        Indices,
        Indices,
        Handle,
        c_int,
        c_int,
        *mut c_void,
    ) -> c_int;
    type Solve = unsafe extern "C" fn(
        Handle,
        c_int,
        c_int,
        c_int,
        Any,
        Handle,
        Any,
        Indices,
        Indices,
        Handle,
        Any,
        Any,
        c_int,
        *mut c_void,
    ) -> c_int;
    type SetFill = unsafe extern "C" fn(Handle, c_int) -> c_int;
    let n = 700_usize;
    for (name, fill, lower) in [("lower", 0, true), ("upper", 1, false)] {
        // Each row depends on the previous one; entries on the other side must be ignored.
        let mut a = Csr::<T>::of(n, n, |row| {
            let mut columns = vec![row, row.saturating_sub(1), (row + 1).min(n - 1), row * 7 % n, row / 2];
            columns.sort_unstable();
            columns.dedup();
            columns
        });
        for row in 0..n {
            for entry in a.offsets[row] as usize..a.offsets[row + 1] as usize {
                let value = a.values[entry].value();
                let strong = a.indices[entry] as usize == row;
                a.values[entry] = T::of(if strong { value + 2.0 } else { value / 4.0 });
            }
        }
        let on_gpu = sparse.matrix(&a);
        let description = sparse.made("create_mat_descr");
        // SAFETY: the type is that of rocsparse.h; the description is live.
        assert_eq!(unsafe { sparse.function::<SetFill>("set_mat_fill_mode")(description, fill) }, 0);
        for operation in OPERATIONS {
            let x: Vec<T> = sample(n, 57);
            let (alpha, info) = (real(2.0), sparse.made("create_mat_info"));
            let (by, dx, dy) = (T::of(alpha), sparse.upload(&x), sparse.empty::<T>(n));
            let (order, count, mut bytes) = (size(n), size(a.indices.len()), 0);
            let (entries, offsets, indices) = (at(&on_gpu.values), raw(&on_gpu.offsets), raw(&on_gpu.indices));
            let name_of = |step: &str| format!("{}csrsv_{step}", T::LETTER);
            // SAFETY: types are those of rocsparse.h, buffers hold the matrix and the vectors.
            unsafe {
                let (handle, d) = (sparse.handle, description);
                let status = sparse.function::<Size>(&name_of("buffer_size"))(
                    handle, operation, order, count, d, entries, offsets, indices, info, &mut bytes,
                );
                assert_eq!(status, 0);
                let scratch = sparse.scratch(bytes);
                let to = raw(&scratch).cast();
                let status = sparse.function::<Analysis>(&name_of("analysis"))(
                    handle, operation, order, count, d, entries, offsets, indices, info, 0, 0, to,
                );
                assert_eq!(status, 0);
                let status = sparse.function::<Solve>(&name_of("solve"))(
                    handle,
                    operation,
                    order,
                    count,
                    any(&by),
                    d,
                    entries,
                    offsets,
                    indices,
                    info,
                    at(&dx),
                    at(&dy),
                    0,
                    to,
                );
                assert_eq!(status, 0);
                sparse.device.synchronize().unwrap();
            }
            let solution = values(&sparse.download(&dy));
            let mut product = vec![real(0.0); n];
            for (row, column, value) in a.entries().filter(|(row, column, _)| row == column || lower == (row > column))
            {
                let (to, from) = if operation == PLAIN { (row, column) } else { (column, row) };
                product[to] += value * solution[from];
            }
            let got: Vec<T> = product.into_iter().map(T::of).collect();
            let expected: Vec<_> = x.iter().map(|x| alpha * x.value()).collect();
            let what = format!("{}csrsv {name} {operation}", T::LETTER);
            assert_agree(&what, &got, &expected, 100.0 * T::ROUNDING);
        }
    }
}

#[test]
fn triangular_systems_are_solved() {
    if on_each("triangular_systems_are_solved", &FILES, &[]).is_some() {
        return;
    }
    let sparse = Sparse::new();
    solve::<f32>(&sparse);
    solve::<f64>(&sparse);
    solve::<Complex32>(&sparse);
    solve::<Complex64>(&sparse);
}

/// A product of two sparse matrices plus a third: first the number of entries, then their positions, then the values.
/// And a dense product.
fn products<T: Scalar>(sparse: &Sparse) {
    type Size = unsafe extern "C" fn(
        Handle,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        Any,
        Handle,
        c_int,
        Indices,
        Indices,
        Handle,
        c_int,
        Indices,
        Indices,
        Any,
        Handle,
        c_int,
        Indices,
        Indices,
        Handle,
        *mut usize,
    ) -> c_int;
    type Count = unsafe extern "C" fn(
        Handle,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        Handle,
        c_int,
        Indices,
        Indices,
        Handle,
        c_int,
        Indices,
        Indices,
        Handle,
        c_int,
        Indices,
        Indices,
        Handle,
        *mut c_int,
        *mut c_int,
        Handle,
        *mut c_void,
    ) -> c_int;
    type Gemm = unsafe extern "C" fn(
        Handle,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        Any,
        Handle,
        c_int,
        Any,
        Indices,
        Indices,
        Handle,
        c_int,
        Any,
        Indices,
        Indices,
        Any,
        Handle,
        c_int,
        Any,
        Indices,
        Indices,
        Handle,
        *mut c_void,
        Indices,
        *mut c_int,
        Handle,
        *mut c_void,
    ) -> c_int;
    type CsrMm = unsafe extern "C" fn(
        Handle,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        Any,
        Handle,
        Any,
        Indices,
        Indices,
        Any,
        c_int,
        Any,
        Any,
        c_int,
    ) -> c_int;
    let (a, b, d) = (Csr::<T>::sample(120, 80), Csr::<T>::sample(80, 60), Csr::<T>::sample(120, 60));
    let (da, db, dd) = (sparse.matrix(&a), sparse.matrix(&b), sparse.matrix(&d));
    let (m, n, k) = (size(a.rows), size(b.columns), size(a.columns));
    let [count_a, count_b, count_d] = [&a, &b, &d].map(|matrix| size(matrix.indices.len()));
    let (alpha, beta) = (T::of(real(1.5)), T::of(real(-0.5)));
    let (dense_a, dense_b, dense_d) = (a.dense(), b.dense(), d.dense());
    let mut expected = vec![real(0.0); a.rows * b.columns];
    for column in 0..b.columns {
        for row in 0..a.rows {
            let sum: Complex64 = (0..a.columns).map(|i| dense_a[row + i * a.rows] * dense_b[i + column * b.rows]).sum();
            expected[row + column * a.rows] = 1.5 * sum - 0.5 * dense_d[row + column * a.rows];
        }
    }
    let slack = 200.0 * T::ROUNDING;
    let info = sparse.made("create_mat_info");
    let (to, g, handle) = (sparse.empty::<c_int>(a.rows + 1), sparse.general, sparse.handle);
    let (mut bytes, mut count) = (0, 0);
    let pair = |matrix: &OnGpu<T>| (raw(&matrix.offsets).cast_const(), raw(&matrix.indices).cast_const());
    let ((ao, ai), (bo, bi), (d_o, di)) = (pair(&da), pair(&db), pair(&dd));
    // SAFETY: types are those of rocsparse.h, buffers hold the matrices and what is asked for.
    let (indices, entries) = unsafe {
        let status = sparse.function::<Size>(&format!("{}csrgemm_buffer_size", T::LETTER))(
            handle,
            PLAIN,
            PLAIN,
            m,
            n,
            k,
            any(&alpha),
            g,
            count_a,
            ao,
            ai,
            g,
            count_b,
            bo,
            bi,
            any(&beta),
            g,
            count_d,
            d_o,
            di,
            info,
            &mut bytes,
        );
        assert_eq!(status, 0);
        let scratch = sparse.scratch(bytes);
        let status = sparse.function::<Count>("csrgemm_nnz")(
            handle,
            PLAIN,
            PLAIN,
            m,
            n,
            k,
            g,
            count_a,
            ao,
            ai,
            g,
            count_b,
            bo,
            bi,
            g,
            count_d,
            d_o,
            di,
            g,
            raw(&to),
            &mut count,
            info,
            raw(&scratch).cast(),
        );
        assert_eq!(status, 0);
        let (indices, entries) = (sparse.empty::<c_int>(count as usize), sparse.empty::<T>(count as usize));
        let status = sparse.function::<Gemm>(&format!("{}csrgemm", T::LETTER))(
            handle,
            PLAIN,
            PLAIN,
            m,
            n,
            k,
            any(&alpha),
            g,
            count_a,
            at(&da.values),
            ao,
            ai,
            g,
            count_b,
            at(&db.values),
            bo,
            bi,
            any(&beta),
            g,
            count_d,
            at(&dd.values),
            d_o,
            di,
            g,
            at(&entries),
            raw(&to),
            raw(&indices),
            info,
            raw(&scratch).cast(),
        );
        assert_eq!(status, 0);
        sparse.device.synchronize().unwrap();
        (indices, entries)
    };
    let product = Csr {
        rows: a.rows,
        columns: b.columns,
        offsets: sparse.download(&to),
        indices: sparse.download(&indices),
        values: sparse.download(&entries),
    };
    let dense: Vec<T> = product.dense().into_iter().map(T::of).collect();
    assert_agree(&format!("{}csrgemm, {count} entries", T::LETTER), &dense, &expected, slack);

    // The same with B and D dense.
    let (b, c): (Vec<T>, Vec<T>) =
        (dense_b.iter().map(|b| T::of(*b)).collect(), dense_d.iter().map(|d| T::of(*d)).collect());
    let (db, dc) = (sparse.upload(&b), sparse.upload(&c));
    // SAFETY: as above.
    let status = unsafe {
        sparse.function::<CsrMm>(&format!("{}csrmm", T::LETTER))(
            handle,
            PLAIN,
            PLAIN,
            m,
            n,
            k,
            count_a,
            any(&alpha),
            g,
            at(&da.values),
            ao,
            ai,
            at(&db),
            k,
            any(&beta),
            at(&dc),
            m,
        )
    };
    assert_eq!(status, 0);
    assert_agree(&format!("{}csrmm", T::LETTER), &sparse.download(&dc), &expected, slack);
}

#[test]
fn products_of_matrices_agree_with_the_host() {
    if on_each("products_of_matrices_agree_with_the_host", &FILES, &[]).is_some() {
        return;
    }
    let sparse = Sparse::new();
    products::<f32>(&sparse);
    products::<f64>(&sparse);
    products::<Complex32>(&sparse);
    products::<Complex64>(&sparse);
}

/// CSR to COO and back, transposition, dense, and sorting of unordered coordinates: all exact.
#[test]
fn formats_are_exact() {
    if on_each("formats_are_exact", &FILES, &[]).is_some() {
        return;
    }
    type Rows = unsafe extern "C" fn(Handle, Indices, c_int, c_int, *mut c_int, c_int) -> c_int;
    type Dense = unsafe extern "C" fn(Handle, c_int, c_int, Handle, Any, Indices, Indices, *mut f64, c_int) -> c_int;
    type SortSize = unsafe extern "C" fn(Handle, c_int, c_int, c_int, Indices, Indices, *mut usize) -> c_int;
    type Sort =
        unsafe extern "C" fn(Handle, c_int, c_int, c_int, *mut c_int, *mut c_int, *mut c_int, *mut c_void) -> c_int;
    let sparse = Sparse::new();
    let a = Csr::<f64>::sample(500, 300);
    let on_gpu = sparse.matrix(&a);
    let (m, n, count) = (size(a.rows), size(a.columns), size(a.indices.len()));
    let (row_numbers, offsets) = (sparse.empty::<c_int>(a.indices.len()), sparse.empty::<c_int>(a.rows + 1));
    let dense = sparse.empty::<f64>(a.rows * a.columns);
    // SAFETY: types are those of rocsparse.h, buffers hold the matrix and what is made of it.
    unsafe {
        let h = sparse.handle;
        let to_coo = sparse.function::<Rows>("csr2coo");
        assert_eq!(to_coo(h, raw(&on_gpu.offsets), count, m, raw(&row_numbers), 0), 0);
        let to_csr = sparse.function::<Rows>("coo2csr");
        assert_eq!(to_csr(h, raw(&row_numbers), count, m, raw(&offsets), 0), 0);
        let to_dense = sparse.function::<Dense>("dcsr2dense");
        let (entries, offsets, indices) = (at(&on_gpu.values), raw(&on_gpu.offsets), raw(&on_gpu.indices));
        assert_eq!(to_dense(h, m, n, sparse.general, entries, offsets, indices, raw(&dense), m), 0);
    }
    let expected: Vec<c_int> = a.entries().map(|(row, ..)| size(row)).collect();
    assert!(sparse.download(&row_numbers) == expected);
    assert!(sparse.download(&offsets) == a.offsets);
    assert!(values(&sparse.download(&dense)) == a.dense());
    // Unordered entries: the permutation gives the origin of each.
    let count_all = a.indices.len();
    let places: Vec<usize> = (0..count_all).map(|i| i * 7919 % count_all).collect();
    let entries: Vec<(c_int, c_int)> = a.entries().map(|(row, column, _)| (size(row), size(column))).collect();
    let rows = sparse.upload(&places.iter().map(|&at| entries[at].0).collect::<Vec<_>>());
    let columns = sparse.upload(&places.iter().map(|&at| entries[at].1).collect::<Vec<_>>());
    let order = sparse.upload(&(0..count).collect::<Vec<_>>());
    // SAFETY: as above.
    unsafe {
        let mut bytes = 0;
        let size_of = sparse.function::<SortSize>("coosort_buffer_size");
        assert_eq!(size_of(sparse.handle, m, n, count, raw(&rows), raw(&columns), &mut bytes), 0);
        let scratch = sparse.scratch(bytes);
        let sort = sparse.function::<Sort>("coosort_by_row");
        let (to, scratch) = (raw(&order), raw(&scratch).cast());
        assert_eq!(sort(sparse.handle, m, n, count, raw(&rows), raw(&columns), to, scratch), 0);
        sparse.device.synchronize().unwrap();
    }
    let sorted: Vec<_> = sparse.download(&rows).into_iter().zip(sparse.download(&columns)).collect();
    assert!(sorted == entries);
    assert!(sparse.download(&order).into_iter().map(|at| places[at as usize]).eq(0..count_all));
}

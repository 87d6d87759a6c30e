//! Looks at the values of sparse matrices, with kernels that this crate ships: for what hipSPARSE does not report or add.

use std::ffi::c_uint;
use std::ptr;

use hip::bytemuck::bytes_of;
use hip::sys::{self, hipStream_t};
use hip::{Device, DeviceBuffer, Kernel, Status};
use hip_linalg::{Operands, Shipped};

use crate::call::{Arrays, Dense, dense_mut, matrix};
use crate::format::{BlockOrder, Csr, Format};
use crate::matrix::{Pattern, SpMat, SpMatRef, SpTriangle};
use crate::raw::Ptr;
use crate::structure::{Layout, entries};
use crate::{CallError, Error, Index, MatrixMut, Result, Sparse, Value};

/// Threads per block, and maximum number of blocks: each thread looks at several rows.
const THREADS: usize = 256;
const BLOCKS: usize = 4096;

/// The kernels on a device.
#[derive(Clone, Debug)]
pub(crate) struct Kernels {
    /// For 32-bit and 64-bit indices.
    diagonal: [Kernel; 2],
    add: [Kernel; 2],
    clear: Kernel,
    before: Kernel,
    after: Kernel,
}

impl Kernels {
    /// Returns `None` for a device without code.
    fn of(device: &Device) -> Result<Option<Self>> {
        // `cargo xtask kernels` builds it from `numbers.hip`.
        static SHIPPED: Shipped<Kernels> = Shipped::new(include_bytes!("kernels/numbers.hipfb"));
        let kernels = SHIPPED.on(device, |module| {
            Ok(Self {
                diagonal: [module.kernel("diagonal_32")?, module.kernel("diagonal_64")?],
                add: [module.kernel("add_32")?, module.kernel("add_64")?],
                clear: module.kernel("clear")?,
                before: module.kernel("before")?,
                after: module.kernel("after")?,
            })
        })?;
        Ok(kernels)
    }
}

fn pointer(pointer: Ptr) -> u64 {
    pointer as u64
}

fn number(number: usize) -> u64 {
    number as u64
}

/// Launches a kernel with enough threads for `work`. Each argument is in the low bytes of a word.
///
/// # Safety
/// The arguments must be those of the kernel, and valid for it in stream order.
unsafe fn launch<const N: usize>(
    kernel: &Kernel,
    stream: hipStream_t,
    work: usize,
    mut arguments: [u64; N],
) -> Result<(), CallError> {
    if work == 0 {
        return Ok(());
    }
    let blocks = work.div_ceil(THREADS).min(BLOCKS) as c_uint;
    let mut places = arguments.each_mut().map(|argument| ptr::from_mut(argument).cast());
    let threads = THREADS as c_uint;
    // SAFETY: the kernel stays loaded as long as the process, and the caller ensures the rest. The host is little-endian.
    let status = unsafe {
        let (kernel, none) = (kernel.as_raw(), ptr::null_mut());
        sys::hipModuleLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, places.as_mut_ptr(), none)
    };
    Ok(Status::from(status).check("hipModuleLaunchKernel", || format!("{work} elements"))?)
}

/// Returns the real and the imaginary part.
fn parts<T: Value>(value: &T) -> (f64, f64) {
    let bytes = bytes_of(value);
    let part = |at: usize| match size_of::<T::Real>() {
        4 => bytes[4 * at..].first_chunk().map_or(0.0, |bytes| f32::from_ne_bytes(*bytes).into()),
        _ => bytes[8 * at..].first_chunk().map_or(0.0, |bytes| f64::from_ne_bytes(*bytes)),
    };
    (part(0), if T::COMPLEX { part(1) } else { 0.0 })
}

/// Returns the number with these parts.
fn of_parts<T: Value>((re, im): (f64, f64)) -> T {
    let mut value = T::ZERO;
    let bytes = hip::bytemuck::bytes_of_mut(&mut value);
    for (at, part) in [re, im].into_iter().take(1 + usize::from(T::COMPLEX)).enumerate() {
        match size_of::<T::Real>() {
            4 => bytes[4 * at..4 * at + 4].copy_from_slice(&(part as f32).to_ne_bytes()),
            _ => bytes[8 * at..8 * at + 8].copy_from_slice(&part.to_ne_bytes()),
        }
    }
    value
}

fn is_zero((re, im): (f64, f64)) -> bool {
    re == 0.0 && im == 0.0
}

/// Returns the offsets or rows and the indices on the host, and the values.
#[allow(clippy::type_complexity, reason = "three arrays")]
fn on_host<F: Format, T: Value, I: Index>(a: &SpMatRef<'_, F, T, I>) -> Result<(Vec<I>, Vec<I>, Vec<T>)> {
    Ok((a.pattern.first.to_vec()?, a.pattern.second.to_vec()?, a.values.to_vec()?))
}

/// Returns the smallest row whose diagonal is zero or is not stored.
fn zero_on_host<F: Format, T: Value, I: Index>(a: &SpMatRef<'_, F, T, I>) -> Result<Option<usize>> {
    let (first, second, values) = on_host(a)?;
    let mut zero = vec![true; a.pattern.rows];
    for (row, col, at) in entries(layout(&a.pattern), a.pattern.base.first(), &first, &second) {
        if row == col {
            zero[row] = is_zero(parts(&values[at]));
        }
    }
    Ok(zero.iter().position(|zero| *zero))
}

fn layout<F: Format, I>(pattern: &Pattern<'_, F, I>) -> Layout {
    pattern.format.layout((pattern.rows, pattern.cols))
}

/// Reads the smallest row that a kernel has found.
fn row(found: &DeviceBuffer<u64>) -> Result<Option<usize>> {
    Ok(found.to_vec()?.first().filter(|row| **row != u64::MAX).and_then(|row| usize::try_from(*row).ok()))
}

impl Sparse {
    /// Returns [`Error::ZeroPivot`] if a triangle cannot be solved with: the library does not report it. Waits.
    pub(crate) fn expect_pivots<'a, F: Format, T: Value, I: Index>(
        &'a self,
        routine: &'static str,
        a: &SpTriangle<'a, F, T, I>,
    ) -> Result<()> {
        if a.unit {
            return Ok(());
        }
        let device = self.stream().device();
        let found = match Kernels::of(&device)? {
            None => zero_on_host(&a.matrix)?,
            Some(kernels) => self.zero_on_device(&kernels, &a.matrix)?,
        };
        found.map_or(Ok(()), |row| Err(Error::ZeroPivot { routine, row }))
    }

    fn zero_on_device<'a, F: Format, T: Value, I: Index>(
        &'a self,
        kernels: &Kernels,
        a: &SpMatRef<'a, F, T, I>,
    ) -> Result<Option<usize>> {
        let mut found = DeviceBuffer::from_slice(&self.stream().device(), &[u64::MAX])?;
        let stream = self.stream().as_raw();
        let mut operands = Operands::on(self.stream());
        let arrays = matrix(&mut operands, "A", a)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let to = unsafe { operands.lend("the row", found.as_slice_mut())? };
        let lines = a.pattern.rows;
        let coordinates = matches!(layout(&a.pattern), Layout::Coordinates { .. });
        let arguments = [
            pointer(arrays.first),
            pointer(arrays.second),
            pointer(arrays.values),
            number(lines),
            number(a.entries()),
            a.pattern.base.code().into(),
            coordinates.into(),
            number(T::LETTER),
            pointer(to),
        ];
        let kernel = &kernels.diagonal[usize::from(size_of::<I>() == 8)];
        // SAFETY: the arguments of the kernel: a square matrix that was checked, and room for a row.
        unsafe { self.handle.call(operands, &[], |_, []| launch(kernel, stream, lines, arguments))? };
        row(&found)
    }

    /// Writes all elements of a matrix that is not sorted, and may have duplicates, which are added: the library keeps
    /// one of them.
    pub(crate) fn add_to_dense<'a, F: Format, T: Value, I: Index>(
        &'a self,
        a: &SpMatRef<'a, F, T, I>,
        b: MatrixMut<'a, T>,
    ) -> Result<()> {
        let (rows, cols, base) = (a.pattern.rows, a.pattern.cols, a.pattern.base);
        let Some(kernels) = Kernels::of(&self.stream().device())? else {
            let sum = summed(&self.stream().device(), a)?;
            let mut b = b;
            return self.to_dense(sum.view(), (&mut b).into());
        };
        let stream = self.stream().as_raw();
        let mut operands = Operands::on(self.stream());
        let arrays = matrix(&mut operands, "A", a)?;
        let Dense { pointer: to, ld, op, .. } = dense_mut(&mut operands, "B", b)?;
        operands.form()?;
        let ld = ld as u64;
        let (lines, length) = if op.transposed { (rows, cols) } else { (cols, rows) };
        let (of_row, of_col) = if op.transposed { (ld, 1) } else { (1, ld) };
        let coordinates = matches!(layout(&a.pattern), Layout::Coordinates { .. });
        let (lines_of_a, steps) = if F::NAME == "CSC" { (cols, [of_col, of_row]) } else { (rows, [of_row, of_col]) };
        let (entries, scalar) = (a.entries(), number(T::LETTER));
        let adds = [
            pointer(arrays.first),
            pointer(arrays.second),
            pointer(arrays.values),
            number(lines_of_a),
            number(entries),
            base.code().into(),
            coordinates.into(),
            scalar,
            pointer(to),
            steps[0],
            steps[1],
        ];
        let add = &kernels.add[usize::from(size_of::<I>() == 8)];
        // SAFETY: the arguments of the kernels: a matrix that was checked, and a dense one of its shape.
        unsafe {
            self.handle.call(operands, &[], |_, []| {
                let clears = [pointer(to), number(lines), number(length), ld, scalar];
                launch(&kernels.clear, stream, lines.saturating_mul(length), clears)?;
                launch(add, stream, entries, adds)
            })?;
        }
        Ok(())
    }
}

/// Adds duplicates on the host, for devices without code. Waits.
fn summed<F: Format, T: Value, I: Index>(device: &Device, a: &SpMatRef<'_, F, T, I>) -> Result<SpMat<Csr, T, I>> {
    let (first, second, values) = on_host(a)?;
    let mut all = entries(layout(&a.pattern), a.pattern.base.first(), &first, &second);
    if F::NAME == "CSC" {
        all.iter_mut().for_each(|(line, index, _)| std::mem::swap(line, index));
    }
    all.sort_unstable();
    let (mut offsets, mut cols, mut sums) = (vec![0_usize; a.pattern.rows + 1], Vec::new(), Vec::<(f64, f64)>::new());
    let mut last = None;
    for (row, col, at) in all {
        let (re, im) = parts(&values[at]);
        match (sums.last_mut(), last == Some((row, col))) {
            (Some(sum), true) => *sum = (sum.0 + re, sum.1 + im),
            _ => {
                offsets[row + 1] += 1;
                cols.push(I::narrow(col as i64));
                sums.push((re, im));
            }
        }
        last = Some((row, col));
    }
    let mut end = 0;
    let offsets: Vec<I> = offsets
        .into_iter()
        .map(|count| {
            end += count;
            I::narrow(end as i64)
        })
        .collect();
    let sums: Vec<T> = sums.into_iter().map(of_parts).collect();
    SpMat::from_host(device, (a.pattern.rows, a.pattern.cols), crate::Base::Zero, &offsets, &cols, &sums)
}

/// The shape of blocks that a factorization works with: one element for CSR.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks {
    pub(crate) size: usize,
    /// Whether they are column-major.
    pub(crate) columns: bool,
}

impl Blocks {
    pub(crate) fn new(size: usize, order: u32) -> Self {
        Self { size, columns: order == BlockOrder::Columns.code() }
    }

    fn at(self, block: usize, row: usize, col: usize) -> usize {
        block * self.size * self.size + if self.columns { col * self.size + row } else { row * self.size + col }
    }
}

/// Finds pivots of an incomplete factorization that the library does not report: it takes the absolute value of a pivot
/// of IC(0) that is negative, and compares with zero only.
#[derive(Debug)]
pub(crate) struct Pivots<T> {
    blocks: Blocks,
    cholesky: bool,
    kind: Kind<T>,
}

#[derive(Debug)]
enum Kind<T> {
    /// The kernels, the real parts of the diagonal before the factorization, and the row that was found.
    Device(Box<Kernels>, DeviceBuffer<f64>, DeviceBuffer<u64>),
    /// The values before the factorization, for IC(0) on a device without code.
    Host(Option<DeviceBuffer<T>>),
}

impl<T: Value> Pivots<T> {
    pub(crate) fn new(device: &Device, rows: usize, blocks: Blocks, cholesky: bool, values: usize) -> Result<Self> {
        let kind = match Kernels::of(device)? {
            Some(kernels) => Kind::Device(
                Box::new(kernels),
                DeviceBuffer::zeroed(device, rows)?,
                DeviceBuffer::from_slice(device, &[u64::MAX])?,
            ),
            None => Kind::Host(if cholesky { Some(DeviceBuffer::zeroed(device, values)?) } else { None }),
        };
        Ok(Self { blocks, cholesky, kind })
    }

    /// Names the memory that [`around`](Self::around) uses, and returns its arguments. On a device without code, queues a
    /// copy of the values.
    ///
    /// # Safety
    /// The operands must be dropped before this.
    pub(crate) unsafe fn named<'a>(
        &mut self,
        operands: &mut Operands<'a>,
        sparse: &Sparse,
        values: hip::DeviceSlice<'_, T>,
    ) -> Result<[Ptr; 2]> {
        match &mut self.kind {
            // SAFETY: as the caller ensures.
            Kind::Device(_, diagonal, found) => unsafe {
                Ok([
                    operands.lend("the diagonal", diagonal.as_slice_mut())?,
                    operands.lend("the row of a pivot", found.as_slice_mut())?,
                ])
            },
            Kind::Host(before) => {
                if let Some(before) = before {
                    before.copy_from_device_async(sparse.stream(), values)?;
                }
                Ok([ptr::null_mut(); 2])
            }
        }
    }

    /// Queues the factorization between the kernels.
    ///
    /// # Safety
    /// The arrays must be those of a matrix that was checked, with this many rows; the others, those of
    /// [`named`](Self::named).
    pub(crate) unsafe fn around(
        &self,
        stream: hipStream_t,
        arrays: Arrays,
        (rows, base): (usize, crate::Base),
        [diagonal, found]: [Ptr; 2],
        factorise: impl FnOnce() -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        let Kind::Device(kernels, ..) = &self.kind else { return factorise() };
        let [first, second, values] = [arrays.first, arrays.second, arrays.values].map(pointer);
        let Blocks { size, columns } = self.blocks;
        let (rows_word, size, columns, base) = (number(rows), number(size), u64::from(columns), base.code().into());
        let (scalar, diagonal, found) = (number(T::LETTER), pointer(diagonal), pointer(found));
        let before = [first, second, values, rows_word, size, columns, base, scalar, diagonal, found];
        // SAFETY: the arguments of the kernel, as the caller ensures.
        unsafe { launch(&kernels.before, stream, rows, before)? };
        factorise()?;
        let cholesky = self.cholesky.into();
        let after = [first, second, values, rows_word, size, columns, base, scalar, cholesky, diagonal, found];
        // SAFETY: the arguments of the kernel, as the caller ensures.
        unsafe { launch(&kernels.after, stream, rows, after) }
    }

    /// Waits, and returns the first row of blocks whose pivot is wrong.
    pub(crate) fn find<F: Format>(&self, factors: &SpMatRef<'_, F, T>) -> Result<Option<usize>> {
        let before = match &self.kind {
            Kind::Device(_, _, found) => return row(found),
            Kind::Host(before) => before.as_ref().map(DeviceBuffer::to_vec).transpose()?,
        };
        let (first, second, values) = on_host(factors)?;
        let base = factors.pattern.base.first();
        Ok(wrong(self.blocks, base, &first, &second, before.as_deref(), &values))
    }
}

/// Finds on the host what the kernel finds; `before` has the values before an IC(0).
fn wrong<T: Value>(
    blocks: Blocks,
    base: i64,
    offsets: &[i32],
    indices: &[i32],
    before: Option<&[T]>,
    values: &[T],
) -> Option<usize> {
    let size = blocks.size;
    let lines = offsets.len().saturating_sub(1);
    let all = entries(Layout::Compressed { size: lines }, base, offsets, indices);
    let mut rows = vec![(0.0_f64, (0.0_f64, 0.0_f64), false); lines * size];
    for (line, index, block) in all {
        for (inside, col_inside) in (0..size).flat_map(|row| (0..size).map(move |col| (row, col))) {
            let (row, col) = (line * size + inside, index * size + col_inside);
            if before.is_some() && col > row {
                continue;
            }
            let at = blocks.at(block, inside, col_inside);
            let (re, im) = parts(&values[at]);
            let (square, pivot, bad) = &mut rows[row];
            *bad |= !(re.is_finite() && im.is_finite());
            if col < row {
                *square -= re * re + im * im;
            }
            if col == row {
                *pivot = (re, im);
                *square += before.map_or(0.0, |before| parts(&before[at]).0);
            }
        }
    }
    let positive = |square: f64| before.is_none() || square > 0.0;
    rows.iter()
        .position(|&(square, pivot, bad)| bad || is_zero(pivot) || !positive(square))
        .map(|row| row / size.max(1))
}

#[cfg(test)]
mod tests {
    use linalg_testing::Rng;
    use num_complex::Complex32;

    use super::*;
    use crate::{Base, Csc, Csr};

    #[test]
    fn parts_make_the_number() {
        assert_eq!(of_parts::<f32>(parts(&-1.5_f32)), -1.5);
        assert_eq!(of_parts::<f64>(parts(&0.1_f64)), 0.1);
        let number = Complex32::new(1.0, -2.0);
        assert_eq!(parts(&number), (1.0, -2.0));
        assert_eq!(of_parts::<Complex32>(parts(&number)), number);
    }

    #[test]
    fn wrong_pivots_are_found_on_the_host() {
        let one = Blocks { size: 1, columns: false };
        let dense: (&[i32], &[i32]) = (&[0, 2, 4], &[0, 1, 0, 1]);
        let ic = |before: &[f64], after: &[f64]| wrong(one, 0, dense.0, dense.1, Some(before), after);
        // 4 2; 2 2: L is 2; 1 1.
        assert_eq!(ic(&[4.0, 2.0, 2.0, 2.0], &[2.0, 2.0, 1.0, 1.0]), None);
        // 1 2; 2 1: the library takes the root of 3 for that of −3.
        assert_eq!(ic(&[1.0, 2.0, 2.0, 1.0], &[1.0, 2.0, 2.0, 3.0_f64.sqrt()]), Some(1));
        assert_eq!(ic(&[-4.0, 0.0, 0.0, 1.0], &[2.0, 0.0, 0.0, 1.0]), Some(0));
        // The upper triangle is not part of it.
        assert_eq!(ic(&[4.0, f64::NAN, 2.0, 2.0], &[2.0, f64::NAN, 1.0, 1.0]), None);
        let ilu = |after: &[f64]| wrong(one, 0, dense.0, dense.1, None, after);
        assert_eq!(ilu(&[1.0, 2.0, 3.0, -4.0]), None);
        assert_eq!(ilu(&[1.0, 2.0, 3.0, 0.0]), Some(1));
        assert_eq!(ilu(&[1.0, f64::INFINITY, 3.0, 4.0]), Some(0));
        // One block of 2 x 2, row-major and column-major: the pivot of the second row is −1.
        let of = |columns, before: &[f64; 4], after: &[f64; 4]| {
            wrong(Blocks { size: 2, columns }, 1, &[1, 2], &[1], Some(before), after)
        };
        assert_eq!(of(false, &[1.0, 9.0, 1.0, 0.0], &[1.0, 9.0, 1.0, 1.0]), Some(0));
        assert_eq!(of(true, &[1.0, 1.0, 9.0, 0.0], &[1.0, 1.0, 9.0, 1.0]), Some(0));
        assert_eq!(of(true, &[1.0, 1.0, 9.0, 2.0], &[1.0, 1.0, 9.0, 1.0]), None);
    }

    /// Checks the ways without kernels against numbers.
    #[test]
    fn duplicates_are_added_and_diagonals_found_on_the_host() {
        if let Err(error) = hip::sim_if_no_gpu() {
            linalg_testing::skipped(&error);
            return;
        }
        let device = Device::get(0).unwrap();
        let mut rng = Rng::new(3);
        for base in [Base::Zero, Base::One] {
            let shift = base.first() as i32;
            let numbers = |numbers: &[i32]| numbers.iter().map(|number| number + shift).collect::<Vec<_>>();
            let values: Vec<f64> = (0..5).map(|_| rng.below(9) as f64 + 1.0).collect();
            let (first, second) = (numbers(&[0, 3, 5]), numbers(&[2, 0, 2, 1, 1]));
            let a = Csr::from_host(&device, (2, 3), base, &first, &second, &values).unwrap();
            let sum = summed(&device, &a.view()).unwrap();
            let wanted = vec![values[1], values[0] + values[2], values[3] + values[4]];
            assert_eq!(sum.to_vecs().unwrap(), (vec![0, 2, 3], vec![0, 2, 1], wanted.clone()));
            let a = Csc::from_host(&device, (3, 2), base, &first, &second, &values).unwrap();
            let sum = summed(&device, &a.view()).unwrap();
            let wanted = vec![wanted[0], wanted[2], wanted[1]];
            assert_eq!(sum.to_vecs().unwrap(), (vec![0, 1, 2, 3], vec![0, 1, 0], wanted));
            let square = |values: &[f64]| {
                let (first, second) = (numbers(&[0, 1, 3]), numbers(&[0, 0, 1]));
                Csr::from_host(&device, (2, 2), base, &first, &second, values).unwrap()
            };
            assert_eq!(zero_on_host(&square(&[1.0, 0.0, 2.0]).view()).unwrap(), None);
            assert_eq!(zero_on_host(&square(&[1.0, 3.0, 0.0]).view()).unwrap(), Some(1));
        }
    }
}

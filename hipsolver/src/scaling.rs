//! Scaling of matrices before an eigenvalue or singular value problem, and of the results afterwards.
//!
//! rocSOLVER's methods compare with absolute numbers: they treat small elements as zero, and squares of large elements
//! overflow. As LAPACK does, a matrix whose largest element is out of range is multiplied by a power of two, which is
//! exact except for numbers near the smallest. The values are divided by it.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use hip::sys::{self, hipStream_t};
use hip::{Device, Kernel, Status};
use hip_linalg::{Lowered, Scalar, Shipped};

use crate::problem::EigenProblem;
use crate::{CallError, Result};

const THREADS: usize = 256;
/// Maximum number of blocks for each member: each thread reads several elements.
const BLOCKS: usize = 1024;
/// A matrix whose largest element is from 1 to 2 to the power of this is not scaled. Jacobi's method for singular
/// values squares products of columns, so it computes fourth powers of elements: these, summed over many elements, are
/// far from overflow.
const HIGHEST: [i32; 2] = [20, 200];

/// The kernels on a device.
#[derive(Clone)]
pub(crate) struct Kernels {
    /// For 32-bit and 64-bit numbers.
    largest: [Kernel; 2],
    scale: [Kernel; 2],
}

impl Kernels {
    /// Returns `None` for a device without code.
    pub(crate) fn of(device: &Device) -> Result<Option<Self>> {
        // `cargo xtask kernels` builds it from `scale.hip`.
        static SHIPPED: Shipped<Kernels> = Shipped::new(include_bytes!("kernels/scale.hipfb"));
        let kernels = SHIPPED.on(device, |module| {
            let largest = [module.kernel("largest_32")?, module.kernel("largest_64")?];
            Ok(Self { largest, scale: [module.kernel("scale_32")?, module.kernel("scale_64")?] })
        })?;
        Ok(kernels)
    }
}

/// The elements of a matrix that are used.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Part {
    Upper = 0,
    Lower = 1,
    All = 2,
}

impl Part {
    /// Converts C's code for a triangle.
    pub(crate) fn of(uplo: u32) -> Self {
        if uplo == 122 { Self::Lower } else { Self::Upper }
    }
}

/// A matrix in memory, or the matrices of a strided batch.
#[derive(Clone, Copy)]
pub(crate) struct Array {
    place: Lowered,
    rows: i32,
    cols: i32,
    part: Part,
    /// Number of real numbers per element.
    width: i32,
}

impl Array {
    pub(crate) fn new<T: Scalar>(place: Lowered, rows: i32, cols: i32, part: Part) -> Self {
        let width = size_of::<T>() / size_of::<T::Real>();
        Self { place, rows, cols, part, width: width as i32 }
    }

    fn all(self) -> Self {
        Self { part: Part::All, ..self }
    }
}

/// The arrays that a call scales.
pub(crate) struct Scaling {
    a: Array,
    /// B, with the kind of the generalized problem.
    b: Option<(Array, EigenProblem)>,
    /// The results, which are scaled back.
    values: Array,
    /// Whether A is overwritten with the vectors.
    vectors: bool,
    /// Whether the results grow as A becomes smaller: results of a system, not eigenvalues or singular values.
    of_system: bool,
    /// 1 for 64-bit numbers, 0 for 32-bit numbers.
    kind: usize,
    members: usize,
}

/// Powers of two that the matrices of each member were multiplied by.
pub(crate) struct Scaled {
    shifts: Vec<[i32; 2]>,
    /// Members with an element that is NaN or infinite.
    pub(crate) not_finite: Vec<bool>,
}

impl Scaled {
    /// Returns the power of two that the eigenvalues of the first member are multiplied by.
    pub(crate) fn of_values(&self, scaling: &Scaling) -> i32 {
        self.shifts.first().map_or(0, |shifts| scaling.of_values(*shifts))
    }
}

impl Scaling {
    /// Scaling for the values of one matrix, or of each matrix of a batch. `values` has `len` numbers for each.
    pub(crate) fn new<T: Scalar>(a: Array, values: *mut c_void, len: i32, members: usize) -> Self {
        let place = Lowered { pointer: values, step: len.into(), stride: len.into() };
        let values = Array { place, rows: len, cols: 1, part: Part::All, width: 1 };
        let kind = usize::from(size_of::<T::Real>() == 8);
        Self { a, b: None, values, vectors: false, of_system: false, kind, members }
    }

    /// Scaling for the X of a system A X = B, of which only A is scaled.
    pub(crate) fn of_system<T: Scalar>(a: Array, x: Array) -> Self {
        Self { values: x, of_system: true, ..Self::new::<T>(a, ptr::null_mut(), 0, 1) }
    }

    /// Scaling for a generalized problem.
    pub(crate) fn generalised(self, b: Array, problem: EigenProblem, vectors: bool) -> Self {
        Self { b: Some((b, problem)), vectors, ..self }
    }

    /// Returns the bytes of device memory that it needs: for the largest numbers, and the powers of two.
    pub(crate) fn bytes(&self) -> usize {
        self.members * (2 * size_of::<u64>())
    }

    /// Returns the power of two that the results are multiplied by if the matrices are multiplied by these.
    fn of_values(&self, [a, b]: [i32; 2]) -> i32 {
        match &self.b {
            _ if self.of_system => -a,
            Some((_, EigenProblem::AxLambdaBx)) => a - b,
            _ => a + b,
        }
    }

    /// Returns the power of two for a matrix with this largest number, or `None` if that is not finite. The power for B
    /// is even, and leaves its largest number below 4: the library divides A by B.
    fn shift(&self, bits: u64, of_b: bool) -> Option<i32> {
        let largest = if self.kind == 1 { f64::from_bits(bits) } else { f32::from_bits(bits as u32).into() };
        if !largest.is_finite() {
            return None;
        }
        if largest == 0.0 {
            return Some(0);
        }
        let exponent = exponent(largest);
        if of_b {
            return Some(-(exponent & !1));
        }
        Some(if (0..=HIGHEST[self.kind]).contains(&exponent) { 0 } else { -exponent })
    }

    /// Scales the matrices, and waits.
    ///
    /// # Safety
    /// The stream's device must be current. The arrays must be as described, and nothing else may use them before the
    /// call returns. `memory` must have [`bytes`](Self::bytes).
    pub(crate) unsafe fn begin(
        &self,
        kernels: &Kernels,
        stream: hipStream_t,
        memory: *mut c_void,
    ) -> Result<Scaled, CallError> {
        let matrices = [Some(self.a), self.b.as_ref().map(|(b, _)| *b)];
        let mut scaled = Scaled { shifts: vec![[0; 2]; self.members], not_finite: vec![false; self.members] };
        for (which, matrix) in matrices.into_iter().enumerate() {
            let Some(matrix) = matrix else { continue };
            let mut found = vec![0_u64; self.members];
            // SAFETY: room for this many numbers, in stream order; the caller's matrix.
            unsafe {
                copy(stream, memory, found.as_ptr().cast(), size_of_val(&found[..]), sys::hipMemcpyHostToDevice)?;
                self.launch(&kernels.largest[self.kind], stream, matrix, memory)?;
                copy(stream, found.as_mut_ptr().cast(), memory, size_of_val(&found[..]), sys::hipMemcpyDeviceToHost)?;
            }
            for (member, &bits) in found.iter().enumerate() {
                match self.shift(bits, which == 1) {
                    Some(shift) => scaled.shifts[member][which] = shift,
                    None => scaled.not_finite[member] = true,
                }
            }
        }
        for (which, matrix) in matrices.into_iter().enumerate() {
            let Some(matrix) = matrix else { continue };
            // SAFETY: the caller's matrix.
            unsafe { self.apply(kernels, stream, memory, matrix, &scaled, |shifts| shifts[which])? };
        }
        Ok(scaled)
    }

    /// Scales the results back, and waits.
    ///
    /// # Safety
    /// The requirements of [`begin`](Self::begin).
    pub(crate) unsafe fn end(
        &self,
        kernels: &Kernels,
        stream: hipStream_t,
        memory: *mut c_void,
        scaled: &Scaled,
    ) -> Result<(), CallError> {
        // SAFETY: the caller's arrays.
        unsafe {
            self.apply(kernels, stream, memory, self.values, scaled, |shifts| -self.of_values(shifts))?;
            let Some((b, problem)) = &self.b else { return Ok(()) };
            // The factor of B; B was scaled by its square.
            self.apply(kernels, stream, memory, *b, scaled, |[_, b]| -b / 2)?;
            if self.vectors {
                let sign = if *problem == EigenProblem::BaxLambdaX { -1 } else { 1 };
                self.apply(kernels, stream, memory, self.a.all(), scaled, |[_, b]| sign * b / 2)?;
            }
        }
        Ok(())
    }

    /// Multiplies each member by a power of two.
    ///
    /// # Safety
    /// The requirements of [`begin`](Self::begin).
    unsafe fn apply(
        &self,
        kernels: &Kernels,
        stream: hipStream_t,
        memory: *mut c_void,
        array: Array,
        scaled: &Scaled,
        shift: impl Fn([i32; 2]) -> i32,
    ) -> Result<(), CallError> {
        let shifts: Vec<c_int> = scaled.shifts.iter().map(|&shifts| shift(shifts)).collect();
        if shifts.iter().all(|&shift| shift == 0) {
            return Ok(());
        }
        // SAFETY: room for this many numbers, in stream order; the caller's array.
        unsafe {
            copy(stream, memory, shifts.as_ptr().cast(), size_of_val(&shifts[..]), sys::hipMemcpyHostToDevice)?;
            self.launch(&kernels.scale[self.kind], stream, array, memory)?;
            // The memory is reused afterwards.
            wait(stream)
        }
    }

    /// Launches a kernel for an array and a second array, with one number for each member.
    ///
    /// # Safety
    /// The requirements of [`begin`](Self::begin).
    unsafe fn launch(
        &self,
        kernel: &Kernel,
        stream: hipStream_t,
        array: Array,
        numbers: *mut c_void,
    ) -> Result<(), CallError> {
        let Array { place, mut rows, mut cols, part, mut width } = array;
        let Lowered { mut pointer, step: mut ld, mut stride } = place;
        let (mut part, mut numbers) = (part as c_int, numbers);
        let elements = rows.unsigned_abs() as usize * cols.unsigned_abs() as usize;
        if elements == 0 || self.members == 0 {
            return Ok(());
        }
        let blocks = elements.div_ceil(THREADS).min(BLOCKS) as c_uint;
        let mut arguments: [*mut c_void; 8] = [
            (&raw mut pointer).cast(),
            (&raw mut ld).cast(),
            (&raw mut stride).cast(),
            (&raw mut rows).cast(),
            (&raw mut cols).cast(),
            (&raw mut width).cast(),
            (&raw mut part).cast(),
            (&raw mut numbers).cast(),
        ];
        let members = self.members as c_uint;
        // SAFETY: the kernel stays loaded as long as the process; these are its parameters, and it writes only to the array.
        let status = unsafe {
            sys::hipModuleLaunchKernel(
                kernel.as_raw(),
                blocks,
                members,
                1,
                THREADS as c_uint,
                1,
                1,
                0,
                stream,
                arguments.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        Ok(Status::from(status).check("hipModuleLaunchKernel", || format!("scaling {rows} x {cols}"))?)
    }
}

/// Returns the exponent of a number that is finite and not zero: 0 for 1 to 2.
fn exponent(number: f64) -> i32 {
    let bits = number.to_bits() >> 52 & 0x7ff;
    if bits == 0 { exponent(number * 2.0_f64.powi(64)) - 64 } else { bits as i32 - 1023 }
}

/// Multiplies a number by a power of two; returns the largest finite number instead of infinity.
pub(crate) fn times_power<R: Scalar>(number: R, power: i32) -> R {
    let mut bytes = hip::bytemuck::bytes_of(&number).to_vec();
    let half = power / 2;
    let times = |x: f64| x * 2.0_f64.powi(half) * 2.0_f64.powi(power - half);
    match bytes.len() {
        4 => {
            let scaled = times(hip::bytemuck::pod_read_unaligned::<f32>(&bytes).into()) as f32;
            bytes.copy_from_slice(&scaled.clamp(f32::MIN, f32::MAX).to_ne_bytes());
        }
        _ => {
            let scaled = times(hip::bytemuck::pod_read_unaligned::<f64>(&bytes));
            bytes.copy_from_slice(&scaled.clamp(f64::MIN, f64::MAX).to_ne_bytes());
        }
    }
    hip::bytemuck::pod_read_unaligned(&bytes)
}

/// # Safety
/// Both sides must have this many bytes.
unsafe fn copy(
    stream: hipStream_t,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: sys::hipMemcpyKind,
) -> Result<(), CallError> {
    // SAFETY: the caller's memory; the host memory stays until the stream has been synchronized.
    let status = unsafe { sys::hipMemcpyAsync(to, from, bytes, kind, stream) };
    Status::from(status).check("hipMemcpyAsync", || format!("{bytes} bytes"))?;
    // SAFETY: the caller's stream.
    unsafe { wait(stream) }
}

/// # Safety
/// The stream must be alive.
unsafe fn wait(stream: hipStream_t) -> Result<(), CallError> {
    // SAFETY: the caller's stream.
    let status = unsafe { sys::hipStreamSynchronize(stream) };
    Ok(Status::from(status).check("hipStreamSynchronize", || "for scaled numbers".to_owned())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_of_all_numbers() {
        let cases =
            [(1.0, 0), (1.99, 0), (2.0, 1), (0.5, -1), (3e-6, -19), (f64::MIN_POSITIVE, -1022), (5e-324, -1074)];
        for (number, expected) in cases {
            assert_eq!(exponent(number), expected, "{number:e}");
        }
        assert_eq!(exponent(f64::from(f32::from_bits(1))), -149);
    }

    #[test]
    fn limits_are_scaled_and_stay_finite() {
        assert_eq!(times_power(3.0_f32, -2), 0.75);
        assert_eq!(times_power(3.0_f64, 1000), 3.0 * 2.0_f64.powi(1000));
        assert_eq!(times_power(1e30_f32, 100), f32::MAX);
        assert_eq!(times_power(-1.0_f64, 2000), f64::MIN);
    }
}

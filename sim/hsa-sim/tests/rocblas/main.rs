//! rocBLAS, unmodified, on the software GPU, through its own functions: each type and operation, on each architecture.
//! Results are compared with f64 arithmetic on the host.
#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod gemm;
mod matrices;
mod vectors;

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use hip::{Device, DeviceBuffer};
use libloading::os::unix::{Library, Symbol};
use num_complex::Complex64;
use support::libraries::{function, open};
use support::numbers::raw;
use support::scalar::Scalar;

const FILES: [&str; 1] = ["librocblas.so"];

/// An operation on a matrix: `rocblas_operation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
enum Op {
    /// As it is.
    N = 111,
    /// Transposed.
    T = 112,
    /// Conjugated and transposed.
    C = 113,
}

impl Op {
    /// The operations that differ for a type.
    fn of<T: Scalar>() -> &'static [Op] {
        if T::COMPLEX { &[Op::N, Op::T, Op::C] } else { &[Op::N, Op::T] }
    }

    fn code(self) -> c_int {
        self as c_int
    }

    /// Rows and columns in memory of a matrix of `rows` by `columns`.
    fn stored(self, rows: usize, columns: usize) -> (usize, usize) {
        if self == Op::N { (rows, columns) } else { (columns, rows) }
    }
}

/// `rocblas_fill`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
enum Fill {
    Upper = 121,
    Lower = 122,
}

impl Fill {
    const BOTH: [Fill; 2] = [Fill::Upper, Fill::Lower];

    fn holds(self, row: usize, column: usize) -> bool {
        if self == Fill::Upper { row <= column } else { row >= column }
    }
}

/// `rocblas_diagonal_non_unit`, `rocblas_diagonal_unit`.
const DIAGONALS: [c_int; 2] = [131, 132];
const UNIT: c_int = 132;

/// `rocblas_side_left`, `rocblas_side_right`.
const SIDES: [c_int; 2] = [141, 142];
const LEFT: c_int = 141;

/// A column-major matrix, whose column stride may exceed the number of rows.
struct Matrix<'a, T> {
    at: &'a [T],
    stride: usize,
}

impl<T: Scalar> Matrix<'_, T> {
    /// An element of the matrix after an operation.
    fn get(&self, op: Op, row: usize, column: usize) -> Complex64 {
        match op {
            Op::N => self.at[row + column * self.stride].value(),
            Op::T => self.at[column + row * self.stride].value(),
            Op::C => self.at[column + row * self.stride].value().conj(),
        }
    }
}

/// rocBLAS with a handle.
struct Blas {
    library: Library,
    device: Device,
    handle: *mut c_void,
}

impl Blas {
    fn new() -> Self {
        let device = Device::get(0).unwrap();
        let (library, mut handle) = (open("librocblas.so"), null_mut());
        // SAFETY: the type is that of rocblas.h, and `handle` is valid for the write.
        let status = unsafe {
            let create = function::<unsafe extern "C" fn(*mut *mut c_void) -> c_int>(&library, "rocblas_create_handle");
            create(&mut handle)
        };
        assert_eq!(status, 0);
        Self { library, device, handle }
    }

    /// A function `rocblas_NAME`.
    ///
    /// # Safety
    /// It has the type `F`.
    unsafe fn function<F>(&self, name: &str) -> Symbol<F> {
        // SAFETY: as the caller vouches.
        unsafe { function(&self.library, &format!("rocblas_{name}")) }
    }

    fn upload<T: Scalar>(&self, values: &[T]) -> DeviceBuffer<T> {
        DeviceBuffer::from_slice(&self.device, values).unwrap()
    }

    /// The contents of a buffer after all work has completed.
    fn download<T: Scalar>(&self, buffer: &DeviceBuffer<T>) -> Vec<T> {
        self.device.synchronize().unwrap();
        buffer.to_vec().unwrap()
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the type is that of rocblas.h; the handle is live.
        let status = unsafe {
            let destroy = self.function::<unsafe extern "C" fn(*mut c_void) -> c_int>("destroy_handle");
            destroy(self.handle)
        };
        assert!(status == 0 || std::thread::panicking());
    }
}

/// A pointer to anything.
type Any = *const c_void;

fn any<T>(value: &T) -> Any {
    std::ptr::from_ref(value).cast()
}

/// A buffer as an untyped C pointer.
fn at<T: Scalar>(buffer: &DeviceBuffer<T>) -> *mut c_void {
    raw(buffer).cast()
}

fn size(n: usize) -> c_int {
    c_int::try_from(n).unwrap()
}

/// The rounding error bound of a sum of `n` products of numbers up to 1 in a type.
fn sum_of<T: Scalar>(n: usize) -> f64 {
    T::ROUNDING * if T::COMPLEX { 4.0 } else { 2.0 } * (n as f64 + 4.0)
}

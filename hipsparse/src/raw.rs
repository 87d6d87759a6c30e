//! The C functions: their names, value types and parameters. All hipSPARSE names that this crate calls are here.
//!
//! A function whose name has a letter for the type of the values is declared once: `Value` for S, D, C and Z,
//! `RealValue` for S and D, `ComplexValue` for C and Z. The type parameter selects the letter, and the handle comes
//! first. Kinds of parameters: `int` (`int`), `long` (`int64_t`), `size` (`size_t`), `flag` (an enum), `ptr` (a
//! pointer), `value` (a number of the values' type). The functions are looked up by name in the library that
//! [`hipsparse_sys`] has opened: their C ABI is the same in all releases, except for `hipsparseSpSV_solve`, which has
//! two entries, and for the codes of the orders of dense matrices ([`order`]). A test compares each declaration with
//! the one in `hipsparse-sys`.

use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute;
use std::ptr::NonNull;
use std::sync::OnceLock;

use hip_linalg::__private::Slot;
use rocm_loader::Releases;

use crate::value::{ComplexValue, RealValue, Value};
use crate::{CallError, check};

pub(crate) use hipsparse_sys::{
    BINDING, HIPSPARSE_STATUS_NOT_INITIALIZED, HIPSPARSE_STATUS_NOT_SUPPORTED, HIPSPARSE_STATUS_SUCCESS,
    HIPSPARSE_STATUS_ZERO_PIVOT, MissingValue, hipsparseStatus_t, load_error, symbol_error,
};

/// A C pointer.
pub(crate) type Ptr = *mut c_void;
type Status = hipsparseStatus_t;

/// The return value of a function.
#[must_use]
pub struct Returned {
    pub(crate) status: Status,
    function: &'static str,
}

impl Returned {
    /// Returns an error unless it is success. `asked` describes the request.
    pub(crate) fn ok(self, asked: impl FnOnce() -> String) -> Result<(), CallError> {
        check(self.status, self.function, asked)
    }
}

/// The names of a function by the type letters.
pub struct Routine {
    slots: [Slot; 4],
    /// The names, S, D, C, Z; for `RealValue` only the first two exist, for `ComplexValue` only the others.
    pub names: [&'static str; 4],
}

macro_rules! parameter {
    (int, $T:ty) => {
        i32
    };
    (long, $T:ty) => {
        i64
    };
    (size, $T:ty) => {
        usize
    };
    (flag, $T:ty) => {
        u32
    };
    (ptr, $T:ty) => {
        Ptr
    };
    (value, $T:ty) => {
        $T
    };
}

macro_rules! typed {
    ($($set:ident $name:ident($($p:ident: $kind:ident),* $(,)?);)*) => {
        $(
            /// The C function.
            #[allow(non_snake_case, reason = "names are C's")]
            #[allow(clippy::too_many_arguments, reason = "the function is C's")]
            pub(crate) unsafe fn $name<T: $set>(handle: Ptr, $($p: parameter!($kind, T)),*) -> Returned {
                let routine = &TYPED.$name;
                let function = routine.names[T::LETTER];
                let status = match routine.slots[T::LETTER].get(&BINDING) {
                    Ok(address) => {
                        // SAFETY: the library has the function under this name, and its C signature is the one that the table declares.
                        let function = unsafe {
                            transmute::<
                                NonNull<c_void>,
                                unsafe extern "C" fn(Ptr, $(parameter!($kind, T)),*) -> Status,
                            >(address)
                        };
                        // SAFETY: the caller keeps the function's contract.
                        unsafe { function(handle, $($p),*) }
                    }
                    Err(why) => Status::missing(why),
                };
                Returned { status, function }
            }
        )*

        #[allow(non_snake_case, reason = "names are C's")]
        struct Typed {
            $($name: Routine,)*
        }

        static TYPED: Typed = Typed {
            $($name: Routine {
                slots: [
                    Slot::new(concat!("hipsparseS", stringify!($name), "\0"), "5.7"),
                    Slot::new(concat!("hipsparseD", stringify!($name), "\0"), "5.7"),
                    Slot::new(concat!("hipsparseC", stringify!($name), "\0"), "5.7"),
                    Slot::new(concat!("hipsparseZ", stringify!($name), "\0"), "5.7"),
                ],
                names: [
                    concat!("hipsparseS", stringify!($name)),
                    concat!("hipsparseD", stringify!($name)),
                    concat!("hipsparseC", stringify!($name)),
                    concat!("hipsparseZ", stringify!($name)),
                ],
            },)*
        };

        /// All functions with letters: their types, their names, and the kinds of their parameters after the handle.
        pub static ROUTINES: &[(&str, &Routine, &[&str])] =
            &[$((stringify!($set), &TYPED.$name, &[$(stringify!($kind)),*])),*];
    };
}

/// Returns the first release that has the function.
macro_rules! since {
    () => {
        "5.7"
    };
    ($release:literal) => {
        $release
    };
}

macro_rules! releases {
    () => {
        Releases::ALL
    };
    ($releases:expr) => {
        $releases
    };
}

macro_rules! functions {
    ($(fn $name:ident($($p:ident: $kind:ident),* $(,)?) $(since $since:literal)? $(of $releases:ident as $alias:literal)?;)*) => {
        $(
            /// The C function.
            #[allow(non_snake_case, reason = "names are C's")]
            #[allow(clippy::too_many_arguments, reason = "the function is C's")]
            pub(crate) unsafe fn $name($($p: parameter!($kind, ())),*) -> Returned {
                static SLOT: Slot = Slot::of_releases(
                    functions!(@name $name $($alias)?, "\0"), since!($($since)?), releases!($($releases)?),
                );
                let function = functions!(@name $name $($alias)?, "");
                let status = match SLOT.get(&BINDING) {
                    Ok(address) => {
                        // SAFETY: the library has the function under this name, and its C signature is the one that the table declares.
                        let function = unsafe {
                            transmute::<NonNull<c_void>, unsafe extern "C" fn($(parameter!($kind, ())),*) -> Status>(
                                address,
                            )
                        };
                        // SAFETY: the caller keeps the function's contract.
                        unsafe { function($($p),*) }
                    }
                    Err(why) => Status::missing(why),
                };
                Returned { status, function }
            }
        )*

        /// The other functions, and the kinds of their parameters.
        pub static FUNCTIONS: &[(&str, &[&str])] =
            &[$((functions!(@name $name $($alias)?, ""), &[$(stringify!($kind)),*])),*];
    };
    (@name $name:ident, $end:literal) => { concat!(stringify!($name), $end) };
    (@name $name:ident $alias:literal, $end:literal) => { concat!($alias, $end) };
}

/// Releases whose `hipsparseSpSV_solve` has the workspace parameter.
const BEFORE_6: Releases = Releases::new((0, 0), Some((6, 0)));

/// Releases without the parameter.
const FROM_6: Releases = Releases::new((6, 0), None);

/// Returns whether the loaded library is of ROCm 5.
pub(crate) fn is_5() -> bool {
    static IS_5: OnceLock<bool> = OnceLock::new();
    *IS_5.get_or_init(|| !BINDING.has(c"hipsparseCreateConstCsr"))
}

/// Returns the code of a dense matrix's order.
pub(crate) fn order(row_major: bool) -> u32 {
    match (row_major, is_5()) {
        (false, _) => 1,
        (true, true) => 0,
        (true, false) => 2,
    }
}

typed! {
    Value csrgeam2_bufferSizeExt(m: int, n: int, alpha: ptr, descr_a: ptr, nnz_a: int, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, beta: ptr, descr_b: ptr, nnz_b: int, csr_val_b: ptr, csr_row_ptr_b: ptr, csr_col_ind_b: ptr, descr_c: ptr, csr_val_c: ptr, csr_row_ptr_c: ptr, csr_col_ind_c: ptr, bytes: ptr);
    Value csrgeam2(m: int, n: int, alpha: ptr, descr_a: ptr, nnz_a: int, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, beta: ptr, descr_b: ptr, nnz_b: int, csr_val_b: ptr, csr_row_ptr_b: ptr, csr_col_ind_b: ptr, descr_c: ptr, csr_val_c: ptr, csr_row_ptr_c: ptr, csr_col_ind_c: ptr, buffer: ptr);
    Value csr2bsr(dir_a: flag, m: int, n: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, block_dim: int, descr_c: ptr, bsr_val_c: ptr, bsr_row_ptr_c: ptr, bsr_col_ind_c: ptr);
    Value csr2gebsr(dir: flag, m: int, n: int, csr_descr: ptr, csr_val: ptr, csr_row_ptr: ptr, csr_col_ind: ptr, bsr_descr: ptr, bsr_val: ptr, bsr_row_ptr: ptr, bsr_col_ind: ptr, row_block_dim: int, col_block_dim: int, pbuffer: ptr);
    Value csr2gebsr_bufferSize(dir: flag, m: int, n: int, csr_descr: ptr, csr_val: ptr, csr_row_ptr: ptr, csr_col_ind: ptr, row_block_dim: int, col_block_dim: int, bytes: ptr);
    Value bsr2csr(dir_a: flag, mb: int, nb: int, descr_a: ptr, bsr_val_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, block_dim: int, descr_c: ptr, csr_val_c: ptr, csr_row_ptr_c: ptr, csr_col_ind_c: ptr);
    Value gebsr2csr(dir_a: flag, mb: int, nb: int, descr_a: ptr, bsr_val_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, row_block_dim: int, col_block_dim: int, descr_c: ptr, csr_val_c: ptr, csr_row_ptr_c: ptr, csr_col_ind_c: ptr);
    Value gebsr2gebsr_bufferSize(dir_a: flag, mb: int, nb: int, nnzb: int, descr_a: ptr, bsr_val_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, row_block_dim_a: int, col_block_dim_a: int, row_block_dim_c: int, col_block_dim_c: int, bytes: ptr);
    Value gebsr2gebsr(dir_a: flag, mb: int, nb: int, nnzb: int, descr_a: ptr, bsr_val_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, row_block_dim_a: int, col_block_dim_a: int, descr_c: ptr, bsr_val_c: ptr, bsr_row_ptr_c: ptr, bsr_col_ind_c: ptr, row_block_dim_c: int, col_block_dim_c: int, buffer: ptr);
    Value gebsr2gebsc_bufferSize(mb: int, nb: int, nnzb: int, bsr_val: ptr, bsr_row_ptr: ptr, bsr_col_ind: ptr, row_block_dim: int, col_block_dim: int, bytes: ptr);
    Value gebsr2gebsc(mb: int, nb: int, nnzb: int, bsr_val: ptr, bsr_row_ptr: ptr, bsr_col_ind: ptr, row_block_dim: int, col_block_dim: int, bsc_val: ptr, bsc_row_ind: ptr, bsc_col_ptr: ptr, copy_values: flag, idx_base: flag, temp_buffer: ptr);
    RealValue pruneCsr2csr_bufferSizeExt(m: int, n: int, nnz_a: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, threshold: ptr, descr_c: ptr, csr_val_c: ptr, csr_row_ptr_c: ptr, csr_col_ind_c: ptr, bytes: ptr);
    RealValue pruneCsr2csrNnz(m: int, n: int, nnz_a: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, threshold: ptr, descr_c: ptr, csr_row_ptr_c: ptr, nnz_total_dev_host_ptr: ptr, buffer: ptr);
    RealValue pruneCsr2csr(m: int, n: int, nnz_a: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, threshold: ptr, descr_c: ptr, csr_val_c: ptr, csr_row_ptr_c: ptr, csr_col_ind_c: ptr, buffer: ptr);
    RealValue pruneCsr2csrByPercentage_bufferSizeExt(m: int, n: int, nnz_a: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, percentage: value, descr_c: ptr, csr_val_c: ptr, csr_row_ptr_c: ptr, csr_col_ind_c: ptr, info: ptr, bytes: ptr);
    RealValue pruneCsr2csrNnzByPercentage(m: int, n: int, nnz_a: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, percentage: value, descr_c: ptr, csr_row_ptr_c: ptr, nnz_total_dev_host_ptr: ptr, info: ptr, buffer: ptr);
    RealValue pruneCsr2csrByPercentage(m: int, n: int, nnz_a: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, percentage: value, descr_c: ptr, csr_val_c: ptr, csr_row_ptr_c: ptr, csr_col_ind_c: ptr, info: ptr, buffer: ptr);
    RealValue pruneDense2csr_bufferSizeExt(m: int, n: int, a: ptr, lda: int, threshold: ptr, descr: ptr, csr_val: ptr, csr_row_ptr: ptr, csr_col_ind: ptr, bytes: ptr);
    RealValue pruneDense2csrNnz(m: int, n: int, a: ptr, lda: int, threshold: ptr, descr: ptr, csr_row_ptr: ptr, nnz_total_dev_host_ptr: ptr, buffer: ptr);
    RealValue pruneDense2csr(m: int, n: int, a: ptr, lda: int, threshold: ptr, descr: ptr, csr_val: ptr, csr_row_ptr: ptr, csr_col_ind: ptr, buffer: ptr);
    RealValue pruneDense2csrByPercentage_bufferSizeExt(m: int, n: int, a: ptr, lda: int, percentage: value, descr: ptr, csr_val: ptr, csr_row_ptr: ptr, csr_col_ind: ptr, info: ptr, bytes: ptr);
    RealValue pruneDense2csrNnzByPercentage(m: int, n: int, a: ptr, lda: int, percentage: value, descr: ptr, csr_row_ptr: ptr, nnz_total_dev_host_ptr: ptr, info: ptr, buffer: ptr);
    RealValue pruneDense2csrByPercentage(m: int, n: int, a: ptr, lda: int, percentage: value, descr: ptr, csr_val: ptr, csr_row_ptr: ptr, csr_col_ind: ptr, info: ptr, buffer: ptr);
    Value nnz_compress(m: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, nnz_per_row: ptr, nnz_c: ptr, tol: value);
    Value csr2csr_compress(m: int, n: int, descr_a: ptr, csr_val_a: ptr, csr_col_ind_a: ptr, csr_row_ptr_a: ptr, nnz_a: int, nnz_per_row: ptr, csr_val_c: ptr, csr_col_ind_c: ptr, csr_row_ptr_c: ptr, tol: value);
    Value nnz(dir_a: flag, m: int, n: int, descr_a: ptr, a: ptr, lda: int, nnz_per_row_column: ptr, nnz_total_dev_host_ptr: ptr);
    Value csrilu02_bufferSizeExt(m: int, nnz: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, info: ptr, bytes: ptr);
    Value csrilu02_analysis(m: int, nnz: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, info: ptr, policy: flag, buffer: ptr);
    Value csrilu02(m: int, nnz: int, descr_a: ptr, csr_val_a_val_m: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, info: ptr, policy: flag, buffer: ptr);
    Value csrilu02_numericBoost(info: ptr, enable_boost: int, tol: ptr, boost_val: ptr);
    Value csric02_bufferSizeExt(m: int, nnz: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, info: ptr, bytes: ptr);
    Value csric02_analysis(m: int, nnz: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, info: ptr, policy: flag, buffer: ptr);
    Value csric02(m: int, nnz: int, descr_a: ptr, csr_val_a_val_m: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, info: ptr, policy: flag, buffer: ptr);
    Value bsrilu02_bufferSize(dir_a: flag, mb: int, nnzb: int, descr_a: ptr, bsr_val_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, block_dim: int, info: ptr, bytes: ptr);
    Value bsrilu02_analysis(dir_a: flag, mb: int, nnzb: int, descr_a: ptr, bsr_val_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, block_dim: int, info: ptr, policy: flag, buffer: ptr);
    Value bsrilu02(dir_a: flag, mb: int, nnzb: int, descr_a: ptr, bsr_val_a_val_m: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, block_dim: int, info: ptr, policy: flag, buffer: ptr);
    Value bsrilu02_numericBoost(info: ptr, enable_boost: int, tol: ptr, boost_val: ptr);
    Value bsric02_bufferSize(dir_a: flag, mb: int, nnzb: int, descr_a: ptr, bsr_val_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, block_dim: int, info: ptr, bytes: ptr);
    Value bsric02_analysis(dir_a: flag, mb: int, nnzb: int, descr_a: ptr, bsr_val_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, block_dim: int, info: ptr, policy: flag, buffer: ptr);
    Value bsric02(dir_a: flag, mb: int, nnzb: int, descr_a: ptr, bsr_val_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, block_dim: int, info: ptr, policy: flag, buffer: ptr);
    Value csrsv2_bufferSizeExt(trans_a: flag, m: int, nnz: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, info: ptr, bytes: ptr);
    Value csrsv2_analysis(trans_a: flag, m: int, nnz: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, info: ptr, policy: flag, buffer: ptr);
    Value csrsv2_solve(trans_a: flag, m: int, nnz: int, alpha: ptr, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, info: ptr, f: ptr, x: ptr, policy: flag, buffer: ptr);
    Value bsrsv2_bufferSizeExt(dir_a: flag, trans_a: flag, mb: int, nnzb: int, descr_a: ptr, bsr_val_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, block_dim: int, info: ptr, bytes: ptr);
    Value bsrsv2_analysis(dir_a: flag, trans_a: flag, mb: int, nnzb: int, descr_a: ptr, bsr_val_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, block_dim: int, info: ptr, policy: flag, buffer: ptr);
    Value bsrsv2_solve(dir_a: flag, trans_a: flag, mb: int, nnzb: int, alpha: ptr, descr_a: ptr, bsr_val_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, block_dim: int, info: ptr, f: ptr, x: ptr, policy: flag, buffer: ptr);
    Value gtsv2_bufferSizeExt(m: int, n: int, dl: ptr, d: ptr, du: ptr, b: ptr, ldb: int, bytes: ptr);
    Value gtsv2(m: int, n: int, dl: ptr, d: ptr, du: ptr, b: ptr, ldb: int, buffer: ptr);
    Value gtsv2_nopivot_bufferSizeExt(m: int, n: int, dl: ptr, d: ptr, du: ptr, b: ptr, ldb: int, bytes: ptr);
    Value gtsv2_nopivot(m: int, n: int, dl: ptr, d: ptr, du: ptr, b: ptr, ldb: int, buffer: ptr);
    Value gtsv2StridedBatch_bufferSizeExt(m: int, dl: ptr, d: ptr, du: ptr, x: ptr, batch_count: int, batch_stride: int, bytes: ptr);
    Value gtsv2StridedBatch(m: int, dl: ptr, d: ptr, du: ptr, x: ptr, batch_count: int, batch_stride: int, buffer: ptr);
    Value gtsvInterleavedBatch_bufferSizeExt(algo: int, m: int, dl: ptr, d: ptr, du: ptr, x: ptr, batch_count: int, bytes: ptr);
    Value gtsvInterleavedBatch(algo: int, m: int, dl: ptr, d: ptr, du: ptr, x: ptr, batch_count: int, buffer: ptr);
    Value gpsvInterleavedBatch_bufferSizeExt(algo: int, m: int, ds: ptr, dl: ptr, d: ptr, du: ptr, dw: ptr, x: ptr, batch_count: int, bytes: ptr);
    Value gpsvInterleavedBatch(algo: int, m: int, ds: ptr, dl: ptr, d: ptr, du: ptr, dw: ptr, x: ptr, batch_count: int, buffer: ptr);
    Value bsrmv(dir_a: flag, trans_a: flag, mb: int, nb: int, nnzb: int, alpha: ptr, descr_a: ptr, bsr_val_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, block_dim: int, x: ptr, beta: ptr, y: ptr);
    Value bsrmm(dir_a: flag, trans_a: flag, trans_b: flag, mb: int, n: int, kb: int, nnzb: int, alpha: ptr, descr_a: ptr, bsr_val_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, block_dim: int, b: ptr, ldb: int, beta: ptr, c: ptr, ldc: int);
    Value gemmi(m: int, n: int, k: int, nnz: int, alpha: ptr, a: ptr, lda: int, csc_val_b: ptr, csc_col_ptr_b: ptr, csc_row_ind_b: ptr, beta: ptr, c: ptr, ldc: int);
    Value gemvi_bufferSize(trans_a: flag, m: int, n: int, nnz: int, bytes: ptr);
    Value gemvi(trans_a: flag, m: int, n: int, alpha: ptr, a: ptr, lda: int, nnz: int, x: ptr, x_ind: ptr, beta: ptr, y: ptr, idx_base: flag, buffer: ptr);
    Value bsrsm2_analysis(dir_a: flag, trans_a: flag, trans_x: flag, mb: int, nrhs: int, nnzb: int, descr_a: ptr, bsr_sorted_val_a: ptr, bsr_sorted_row_ptr_a: ptr, bsr_sorted_col_ind_a: ptr, block_dim: int, info: ptr, policy: flag, buffer: ptr);
    Value bsrsm2_bufferSize(dir_a: flag, trans_a: flag, trans_x: flag, mb: int, nrhs: int, nnzb: int, descr_a: ptr, bsr_sorted_val_a: ptr, bsr_sorted_row_ptr_a: ptr, bsr_sorted_col_ind_a: ptr, block_dim: int, info: ptr, bytes: ptr);
    Value bsrsm2_solve(dir_a: flag, trans_a: flag, trans_x: flag, mb: int, nrhs: int, nnzb: int, alpha: ptr, descr_a: ptr, bsr_sorted_val_a: ptr, bsr_sorted_row_ptr_a: ptr, bsr_sorted_col_ind_a: ptr, block_dim: int, info: ptr, b: ptr, ldb: int, x: ptr, ldx: int, policy: flag, buffer: ptr);
    Value bsrxmv(dir: flag, trans: flag, size_of_mask: int, mb: int, nb: int, nnzb: int, alpha: ptr, descr: ptr, bsr_val: ptr, bsr_mask_ptr: ptr, bsr_row_ptr: ptr, bsr_end_ptr: ptr, bsr_col_ind: ptr, block_dim: int, x: ptr, beta: ptr, y: ptr);
    Value csru2csr(m: int, n: int, nnz: int, descr_a: ptr, csr_val: ptr, csr_row_ptr: ptr, csr_col_ind: ptr, info: ptr, buffer: ptr);
    Value csru2csr_bufferSizeExt(m: int, n: int, nnz: int, csr_val: ptr, csr_row_ptr: ptr, csr_col_ind: ptr, info: ptr, bytes: ptr);
    Value csr2csru(m: int, n: int, nnz: int, descr_a: ptr, csr_val: ptr, csr_row_ptr: ptr, csr_col_ind: ptr, info: ptr, buffer: ptr);
    Value gthrz(nnz: int, y: ptr, x_val: ptr, x_ind: ptr, idx_base: flag);
    Value csrgemm2(m: int, n: int, k: int, alpha: ptr, descr_a: ptr, nnz_a: int, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, descr_b: ptr, nnz_b: int, csr_val_b: ptr, csr_row_ptr_b: ptr, csr_col_ind_b: ptr, beta: ptr, descr_d: ptr, nnz_d: int, csr_val_d: ptr, csr_row_ptr_d: ptr, csr_col_ind_d: ptr, descr_c: ptr, csr_val_c: ptr, csr_row_ptr_c: ptr, csr_col_ind_c: ptr, info: ptr, buffer: ptr);
    Value csrgemm2_bufferSizeExt(m: int, n: int, k: int, alpha: ptr, descr_a: ptr, nnz_a: int, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, descr_b: ptr, nnz_b: int, csr_row_ptr_b: ptr, csr_col_ind_b: ptr, beta: ptr, descr_d: ptr, nnz_d: int, csr_row_ptr_d: ptr, csr_col_ind_d: ptr, info: ptr, bytes: ptr);
    Value axpyi(nnz: int, alpha: ptr, x_val: ptr, x_ind: ptr, y: ptr, idx_base: flag);
    Value doti(nnz: int, x_val: ptr, x_ind: ptr, y: ptr, result: ptr, idx_base: flag);
    ComplexValue dotci(nnz: int, x_val: ptr, x_ind: ptr, y: ptr, result: ptr, idx_base: flag);
    Value gthr(nnz: int, y: ptr, x_val: ptr, x_ind: ptr, idx_base: flag);
    RealValue roti(nnz: int, x_val: ptr, x_ind: ptr, y: ptr, c: ptr, s: ptr, idx_base: flag);
    Value sctr(nnz: int, x_val: ptr, x_ind: ptr, y: ptr, idx_base: flag);
    Value csrmv(trans_a: flag, m: int, n: int, nnz: int, alpha: ptr, descr_a: ptr, csr_sorted_val_a: ptr, csr_sorted_row_ptr_a: ptr, csr_sorted_col_ind_a: ptr, x: ptr, beta: ptr, y: ptr);
    Value csrmm(trans_a: flag, m: int, n: int, k: int, nnz: int, alpha: ptr, descr_a: ptr, csr_sorted_val_a: ptr, csr_sorted_row_ptr_a: ptr, csr_sorted_col_ind_a: ptr, b: ptr, ldb: int, beta: ptr, c: ptr, ldc: int);
    Value csrmm2(trans_a: flag, trans_b: flag, m: int, n: int, k: int, nnz: int, alpha: ptr, descr_a: ptr, csr_sorted_val_a: ptr, csr_sorted_row_ptr_a: ptr, csr_sorted_col_ind_a: ptr, b: ptr, ldb: int, beta: ptr, c: ptr, ldc: int);
    Value csrsm2_analysis(algo: int, trans_a: flag, trans_b: flag, m: int, nrhs: int, nnz: int, alpha: ptr, descr_a: ptr, csr_sorted_val_a: ptr, csr_sorted_row_ptr_a: ptr, csr_sorted_col_ind_a: ptr, b: ptr, ldb: int, info: ptr, policy: flag, buffer: ptr);
    Value csrsm2_bufferSizeExt(algo: int, trans_a: flag, trans_b: flag, m: int, nrhs: int, nnz: int, alpha: ptr, descr_a: ptr, csr_sorted_val_a: ptr, csr_sorted_row_ptr_a: ptr, csr_sorted_col_ind_a: ptr, b: ptr, ldb: int, info: ptr, policy: flag, bytes: ptr);
    Value csrsm2_solve(algo: int, trans_a: flag, trans_b: flag, m: int, nrhs: int, nnz: int, alpha: ptr, descr_a: ptr, csr_sorted_val_a: ptr, csr_sorted_row_ptr_a: ptr, csr_sorted_col_ind_a: ptr, b: ptr, ldb: int, info: ptr, policy: flag, buffer: ptr);
    Value csr2csc(m: int, n: int, nnz: int, csr_sorted_val: ptr, csr_sorted_row_ptr: ptr, csr_sorted_col_ind: ptr, csc_sorted_val: ptr, csc_sorted_row_ind: ptr, csc_sorted_col_ptr: ptr, copy_values: flag, idx_base: flag);
    Value csr2dense(m: int, n: int, descr: ptr, csr_val: ptr, csr_row_ptr: ptr, csr_col_ind: ptr, a: ptr, ld: int);
    Value csc2dense(m: int, n: int, descr: ptr, csc_val: ptr, csc_row_ind: ptr, csc_col_ptr: ptr, a: ptr, ld: int);
    Value dense2csr(m: int, n: int, descr: ptr, a: ptr, ld: int, nnz_per_row: ptr, csr_val: ptr, csr_row_ptr: ptr, csr_col_ind: ptr);
    Value dense2csc(m: int, n: int, descr: ptr, a: ptr, ld: int, nnz_per_column: ptr, csc_val: ptr, csc_row_ind: ptr, csc_col_ptr: ptr);
    Value csrgemm(trans_a: flag, trans_b: flag, m: int, n: int, k: int, descr_a: ptr, nnz_a: int, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, descr_b: ptr, nnz_b: int, csr_val_b: ptr, csr_row_ptr_b: ptr, csr_col_ind_b: ptr, descr_c: ptr, csr_val_c: ptr, csr_row_ptr_c: ptr, csr_col_ind_c: ptr);
    Value csrgeam(m: int, n: int, alpha: ptr, descr_a: ptr, nnz_a: int, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, beta: ptr, descr_b: ptr, nnz_b: int, csr_val_b: ptr, csr_row_ptr_b: ptr, csr_col_ind_b: ptr, descr_c: ptr, csr_val_c: ptr, csr_row_ptr_c: ptr, csr_col_ind_c: ptr);
    Value csr2hyb(m: int, n: int, descr_a: ptr, csr_sorted_val_a: ptr, csr_sorted_row_ptr_a: ptr, csr_sorted_col_ind_a: ptr, hyb_a: ptr, user_ell_width: int, partition_type: flag);
    Value hyb2csr(descr_a: ptr, hyb_a: ptr, csr_sorted_val_a: ptr, csr_sorted_row_ptr_a: ptr, csr_sorted_col_ind_a: ptr);
    Value hybmv(trans_a: flag, alpha: ptr, descr_a: ptr, hyb_a: ptr, x: ptr, beta: ptr, y: ptr);
    Value csrcolor(m: int, nnz: int, descr_a: ptr, csr_val_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, fraction_to_color: ptr, ncolors: ptr, coloring: ptr, reordering: ptr, info: ptr);
}

functions! {
    fn hipsparseCreate(handle: ptr);
    fn hipsparseDestroy(handle: ptr);
    fn hipsparseSetStream(handle: ptr, stream_id: ptr);
    fn hipsparseSetPointerMode(handle: ptr, mode: flag);
    fn hipsparseGetVersion(handle: ptr, version: ptr);
    fn hipsparseGetGitRevision(handle: ptr, rev: ptr);
    fn hipsparseCreateMatDescr(descr_a: ptr);
    fn hipsparseDestroyMatDescr(descr_a: ptr);
    fn hipsparseSetMatFillMode(descr_a: ptr, fill_mode: flag);
    fn hipsparseSetMatDiagType(descr_a: ptr, diag_type: flag);
    fn hipsparseSetMatIndexBase(descr_a: ptr, base: flag);
    fn hipsparseCreateCsr(sp_mat_descr: ptr, rows: long, cols: long, nnz: long, csr_row_offsets: ptr, csr_col_ind: ptr, csr_values: ptr, csr_row_offsets_type: flag, csr_col_ind_type: flag, idx_base: flag, value_type: flag);
    fn hipsparseCreateCsc(sp_mat_descr: ptr, rows: long, cols: long, nnz: long, csc_col_offsets: ptr, csc_row_ind: ptr, csc_values: ptr, csc_col_offsets_type: flag, csc_row_ind_type: flag, idx_base: flag, value_type: flag);
    fn hipsparseCreateCoo(sp_mat_descr: ptr, rows: long, cols: long, nnz: long, coo_row_ind: ptr, coo_col_ind: ptr, coo_values: ptr, coo_idx_type: flag, idx_base: flag, value_type: flag);
    fn hipsparseCreateBlockedEll(sp_mat_descr: ptr, rows: long, cols: long, ell_block_size: long, ell_cols: long, ell_col_ind: ptr, ell_value: ptr, ell_idx_type: flag, idx_base: flag, value_type: flag);
    fn hipsparseDestroySpMat(sp_mat_descr: ptr);
    fn hipsparseSpMatSetAttribute(sp_mat_descr: ptr, attribute: flag, data: ptr, data_size: size);
    fn hipsparseCsrSetStridedBatch(sp_mat_descr: ptr, batch_count: int, offsets_batch_stride: long, columns_values_batch_stride: long);
    fn hipsparseCooSetStridedBatch(sp_mat_descr: ptr, batch_count: int, batch_stride: long);
    fn hipsparseCreateSpVec(sp_vec_descr: ptr, size: long, nnz: long, indices: ptr, values: ptr, idx_type: flag, idx_base: flag, value_type: flag);
    fn hipsparseDestroySpVec(sp_vec_descr: ptr);
    fn hipsparseCreateDnVec(dn_vec_descr: ptr, size: long, values: ptr, value_type: flag);
    fn hipsparseDestroyDnVec(dn_vec_descr: ptr);
    fn hipsparseCreateDnMat(dn_mat_descr: ptr, rows: long, cols: long, ld: long, values: ptr, value_type: flag, order: flag);
    fn hipsparseDestroyDnMat(dn_mat_descr: ptr);
    fn hipsparseDnMatSetStridedBatch(dn_mat_descr: ptr, batch_count: int, batch_stride: long);
    fn hipsparseSpMV(handle: ptr, op_a: flag, alpha: ptr, mat_a: ptr, vec_x: ptr, beta: ptr, vec_y: ptr, compute_type: flag, alg: flag, external_buffer: ptr);
    fn hipsparseSpMV_bufferSize(handle: ptr, op_a: flag, alpha: ptr, mat_a: ptr, vec_x: ptr, beta: ptr, vec_y: ptr, compute_type: flag, alg: flag, bytes: ptr);
    fn hipsparseSpMV_preprocess(handle: ptr, op_a: flag, alpha: ptr, mat_a: ptr, vec_x: ptr, beta: ptr, vec_y: ptr, compute_type: flag, alg: flag, external_buffer: ptr);
    fn hipsparseSpMM(handle: ptr, op_a: flag, op_b: flag, alpha: ptr, mat_a: ptr, mat_b: ptr, beta: ptr, mat_c: ptr, compute_type: flag, alg: flag, external_buffer: ptr);
    fn hipsparseSpMM_bufferSize(handle: ptr, op_a: flag, op_b: flag, alpha: ptr, mat_a: ptr, mat_b: ptr, beta: ptr, mat_c: ptr, compute_type: flag, alg: flag, bytes: ptr);
    fn hipsparseSpMM_preprocess(handle: ptr, op_a: flag, op_b: flag, alpha: ptr, mat_a: ptr, mat_b: ptr, beta: ptr, mat_c: ptr, compute_type: flag, alg: flag, external_buffer: ptr);
    fn hipsparseSDDMM(handle: ptr, op_a: flag, op_b: flag, alpha: ptr, a: ptr, b: ptr, beta: ptr, c: ptr, compute_type: flag, alg: flag, temp_buffer: ptr);
    fn hipsparseSDDMM_bufferSize(handle: ptr, op_a: flag, op_b: flag, alpha: ptr, a: ptr, b: ptr, beta: ptr, c: ptr, compute_type: flag, alg: flag, buffer_size: ptr);
    fn hipsparseSDDMM_preprocess(handle: ptr, op_a: flag, op_b: flag, alpha: ptr, a: ptr, b: ptr, beta: ptr, c: ptr, compute_type: flag, alg: flag, temp_buffer: ptr);
    fn hipsparseAxpby(handle: ptr, alpha: ptr, vec_x: ptr, beta: ptr, vec_y: ptr);
    fn hipsparseGather(handle: ptr, vec_y: ptr, vec_x: ptr);
    fn hipsparseScatter(handle: ptr, vec_x: ptr, vec_y: ptr);
    fn hipsparseRot(handle: ptr, c_coeff: ptr, s_coeff: ptr, vec_x: ptr, vec_y: ptr);
    fn hipsparseSpVV(handle: ptr, op_x: flag, vec_x: ptr, vec_y: ptr, result: ptr, compute_type: flag, external_buffer: ptr);
    fn hipsparseSpVV_bufferSize(handle: ptr, op_x: flag, vec_x: ptr, vec_y: ptr, result: ptr, compute_type: flag, buffer_size: ptr);
    fn hipsparseSpMatGetSize(sp_mat_descr: ptr, rows: ptr, cols: ptr, nnz: ptr);
    fn hipsparseCsrSetPointers(sp_mat_descr: ptr, csr_row_offsets: ptr, csr_col_ind: ptr, csr_values: ptr);
    fn hipsparseCscSetPointers(sp_mat_descr: ptr, csc_col_offsets: ptr, csc_row_ind: ptr, csc_values: ptr);
    fn hipsparseCooSetPointers(sp_mat_descr: ptr, coo_row_ind: ptr, coo_col_ind: ptr, coo_values: ptr);
    fn hipsparseSpSV_createDescr(descr: ptr);
    fn hipsparseSpSV_destroyDescr(descr: ptr);
    fn hipsparseSpSV_bufferSize(handle: ptr, op_a: flag, alpha: ptr, mat_a: ptr, x: ptr, y: ptr, compute_type: flag, alg: flag, spsv_descr: ptr, buffer_size: ptr);
    fn hipsparseSpSV_analysis(handle: ptr, op_a: flag, alpha: ptr, mat_a: ptr, x: ptr, y: ptr, compute_type: flag, alg: flag, spsv_descr: ptr, external_buffer: ptr);
    fn hipsparseSpSV_solve(handle: ptr, op_a: flag, alpha: ptr, mat_a: ptr, x: ptr, y: ptr, compute_type: flag, alg: flag, spsv_descr: ptr) of FROM_6 as "hipsparseSpSV_solve";
    fn hipsparseSpSV_solve_5(handle: ptr, op_a: flag, alpha: ptr, mat_a: ptr, x: ptr, y: ptr, compute_type: flag, alg: flag, spsv_descr: ptr, buffer: ptr) of BEFORE_6 as "hipsparseSpSV_solve";
    fn hipsparseSpSM_createDescr(descr: ptr);
    fn hipsparseSpSM_destroyDescr(descr: ptr);
    fn hipsparseSpSM_bufferSize(handle: ptr, op_a: flag, op_b: flag, alpha: ptr, mat_a: ptr, mat_b: ptr, mat_c: ptr, compute_type: flag, alg: flag, spsm_descr: ptr, buffer_size: ptr);
    fn hipsparseSpSM_analysis(handle: ptr, op_a: flag, op_b: flag, alpha: ptr, mat_a: ptr, mat_b: ptr, mat_c: ptr, compute_type: flag, alg: flag, spsm_descr: ptr, external_buffer: ptr);
    fn hipsparseSpSM_solve(handle: ptr, op_a: flag, op_b: flag, alpha: ptr, mat_a: ptr, mat_b: ptr, mat_c: ptr, compute_type: flag, alg: flag, spsm_descr: ptr, external_buffer: ptr);
    fn hipsparseSpGEMM_createDescr(descr: ptr);
    fn hipsparseSpGEMM_destroyDescr(descr: ptr);
    fn hipsparseSpGEMM_workEstimation(handle: ptr, op_a: flag, op_b: flag, alpha: ptr, mat_a: ptr, mat_b: ptr, beta: ptr, mat_c: ptr, compute_type: flag, alg: flag, spgemm_descr: ptr, buffer_size1: ptr, external_buffer1: ptr);
    fn hipsparseSpGEMM_compute(handle: ptr, op_a: flag, op_b: flag, alpha: ptr, mat_a: ptr, mat_b: ptr, beta: ptr, mat_c: ptr, compute_type: flag, alg: flag, spgemm_descr: ptr, buffer_size2: ptr, external_buffer2: ptr);
    fn hipsparseSpGEMM_copy(handle: ptr, op_a: flag, op_b: flag, alpha: ptr, mat_a: ptr, mat_b: ptr, beta: ptr, mat_c: ptr, compute_type: flag, alg: flag, spgemm_descr: ptr);
    fn hipsparseSpGEMMreuse_workEstimation(handle: ptr, op_a: flag, op_b: flag, mat_a: ptr, mat_b: ptr, mat_c: ptr, alg: flag, spgemm_descr: ptr, buffer_size1: ptr, external_buffer1: ptr);
    fn hipsparseSpGEMMreuse_nnz(handle: ptr, op_a: flag, op_b: flag, mat_a: ptr, mat_b: ptr, mat_c: ptr, alg: flag, spgemm_descr: ptr, buffer_size2: ptr, external_buffer2: ptr, buffer_size3: ptr, external_buffer3: ptr, buffer_size4: ptr, external_buffer4: ptr);
    fn hipsparseSpGEMMreuse_copy(handle: ptr, op_a: flag, op_b: flag, mat_a: ptr, mat_b: ptr, mat_c: ptr, alg: flag, spgemm_descr: ptr, buffer_size5: ptr, external_buffer5: ptr);
    fn hipsparseSpGEMMreuse_compute(handle: ptr, op_a: flag, op_b: flag, alpha: ptr, mat_a: ptr, mat_b: ptr, beta: ptr, mat_c: ptr, compute_type: flag, alg: flag, spgemm_descr: ptr);
    fn hipsparseXcsrgeam2Nnz(handle: ptr, m: int, n: int, descr_a: ptr, nnz_a: int, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, descr_b: ptr, nnz_b: int, csr_row_ptr_b: ptr, csr_col_ind_b: ptr, descr_c: ptr, csr_row_ptr_c: ptr, nnz_total_dev_host_ptr: ptr, workspace: ptr);
    fn hipsparseSparseToDense(handle: ptr, mat_a: ptr, mat_b: ptr, alg: flag, external_buffer: ptr);
    fn hipsparseSparseToDense_bufferSize(handle: ptr, mat_a: ptr, mat_b: ptr, alg: flag, buffer_size: ptr);
    fn hipsparseDenseToSparse_bufferSize(handle: ptr, mat_a: ptr, mat_b: ptr, alg: flag, buffer_size: ptr);
    fn hipsparseDenseToSparse_analysis(handle: ptr, mat_a: ptr, mat_b: ptr, alg: flag, external_buffer: ptr);
    fn hipsparseDenseToSparse_convert(handle: ptr, mat_a: ptr, mat_b: ptr, alg: flag, external_buffer: ptr);
    fn hipsparseCsr2cscEx2(handle: ptr, m: int, n: int, nnz: int, csr_val: ptr, csr_row_ptr: ptr, csr_col_ind: ptr, csc_val: ptr, csc_col_ptr: ptr, csc_row_ind: ptr, val_type: flag, copy_values: flag, idx_base: flag, alg: flag, buffer: ptr);
    fn hipsparseCsr2cscEx2_bufferSize(handle: ptr, m: int, n: int, nnz: int, csr_val: ptr, csr_row_ptr: ptr, csr_col_ind: ptr, csc_val: ptr, csc_col_ptr: ptr, csc_row_ind: ptr, val_type: flag, copy_values: flag, idx_base: flag, alg: flag, bytes: ptr);
    fn hipsparseXcsr2coo(handle: ptr, csr_row_ptr: ptr, nnz: int, m: int, coo_row_ind: ptr, idx_base: flag);
    fn hipsparseXcoo2csr(handle: ptr, coo_row_ind: ptr, nnz: int, m: int, csr_row_ptr: ptr, idx_base: flag);
    fn hipsparseXcsr2bsrNnz(handle: ptr, dir_a: flag, m: int, n: int, descr_a: ptr, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, block_dim: int, descr_c: ptr, bsr_row_ptr_c: ptr, bsr_nnzb: ptr);
    fn hipsparseXcsr2gebsrNnz(handle: ptr, dir: flag, m: int, n: int, csr_descr: ptr, csr_row_ptr: ptr, csr_col_ind: ptr, bsr_descr: ptr, bsr_row_ptr: ptr, row_block_dim: int, col_block_dim: int, bsr_nnz_devhost: ptr, pbuffer: ptr);
    fn hipsparseXgebsr2gebsrNnz(handle: ptr, dir_a: flag, mb: int, nb: int, nnzb: int, descr_a: ptr, bsr_row_ptr_a: ptr, bsr_col_ind_a: ptr, row_block_dim_a: int, col_block_dim_a: int, descr_c: ptr, bsr_row_ptr_c: ptr, row_block_dim_c: int, col_block_dim_c: int, nnz_total_dev_host_ptr: ptr, buffer: ptr);
    fn hipsparseXcsrsort(handle: ptr, m: int, n: int, nnz: int, descr_a: ptr, csr_row_ptr: ptr, csr_col_ind: ptr, p: ptr, buffer: ptr);
    fn hipsparseXcsrsort_bufferSizeExt(handle: ptr, m: int, n: int, nnz: int, csr_row_ptr: ptr, csr_col_ind: ptr, bytes: ptr);
    fn hipsparseXcscsort(handle: ptr, m: int, n: int, nnz: int, descr_a: ptr, csc_col_ptr: ptr, csc_row_ind: ptr, p: ptr, buffer: ptr);
    fn hipsparseXcscsort_bufferSizeExt(handle: ptr, m: int, n: int, nnz: int, csc_col_ptr: ptr, csc_row_ind: ptr, bytes: ptr);
    fn hipsparseXcoosortByRow(handle: ptr, m: int, n: int, nnz: int, coo_rows: ptr, coo_cols: ptr, p: ptr, buffer: ptr);
    fn hipsparseXcoosortByColumn(handle: ptr, m: int, n: int, nnz: int, coo_rows: ptr, coo_cols: ptr, p: ptr, buffer: ptr);
    fn hipsparseXcoosort_bufferSizeExt(handle: ptr, m: int, n: int, nnz: int, coo_rows: ptr, coo_cols: ptr, bytes: ptr);
    fn hipsparseCreateIdentityPermutation(handle: ptr, n: int, p: ptr);
    fn hipsparseCreatePruneInfo(info: ptr);
    fn hipsparseDestroyPruneInfo(info: ptr);
    fn hipsparseCreateCsrilu02Info(info: ptr);
    fn hipsparseDestroyCsrilu02Info(info: ptr);
    fn hipsparseXcsrilu02_zeroPivot(handle: ptr, info: ptr, position: ptr);
    fn hipsparseCreateCsric02Info(info: ptr);
    fn hipsparseDestroyCsric02Info(info: ptr);
    fn hipsparseXcsric02_zeroPivot(handle: ptr, info: ptr, position: ptr);
    fn hipsparseCreateBsrilu02Info(info: ptr);
    fn hipsparseDestroyBsrilu02Info(info: ptr);
    fn hipsparseXbsrilu02_zeroPivot(handle: ptr, info: ptr, position: ptr);
    fn hipsparseCreateBsric02Info(info: ptr);
    fn hipsparseDestroyBsric02Info(info: ptr);
    fn hipsparseXbsric02_zeroPivot(handle: ptr, info: ptr, position: ptr);
    fn hipsparseCreateCsrsv2Info(info: ptr);
    fn hipsparseDestroyCsrsv2Info(info: ptr);
    fn hipsparseXcsrsv2_zeroPivot(handle: ptr, info: ptr, position: ptr);
    fn hipsparseCreateBsrsv2Info(info: ptr);
    fn hipsparseDestroyBsrsv2Info(info: ptr);
    fn hipsparseXbsrsv2_zeroPivot(handle: ptr, info: ptr, position: ptr);
    fn hipsparseXbsrsm2_zeroPivot(handle: ptr, info: ptr, position: ptr);
    fn hipsparseCreateBsrsm2Info(info: ptr);
    fn hipsparseDestroyBsrsm2Info(info: ptr);
    fn hipsparseCreateCsru2csrInfo(info: ptr);
    fn hipsparseDestroyCsru2csrInfo(info: ptr);
    fn hipsparseXcsrgemm2Nnz(handle: ptr, m: int, n: int, k: int, descr_a: ptr, nnz_a: int, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, descr_b: ptr, nnz_b: int, csr_row_ptr_b: ptr, csr_col_ind_b: ptr, descr_d: ptr, nnz_d: int, csr_row_ptr_d: ptr, csr_col_ind_d: ptr, descr_c: ptr, csr_row_ptr_c: ptr, nnz_total_dev_host_ptr: ptr, info: ptr, buffer: ptr);
    fn hipsparseCreateCsrgemm2Info(info: ptr);
    fn hipsparseDestroyCsrgemm2Info(info: ptr);
    fn hipsparseXcsrsm2_zeroPivot(handle: ptr, info: ptr, position: ptr);
    fn hipsparseCreateCsrsm2Info(info: ptr);
    fn hipsparseDestroyCsrsm2Info(info: ptr);
    fn hipsparseXcsrgemmNnz(handle: ptr, trans_a: flag, trans_b: flag, m: int, n: int, k: int, descr_a: ptr, nnz_a: int, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, descr_b: ptr, nnz_b: int, csr_row_ptr_b: ptr, csr_col_ind_b: ptr, descr_c: ptr, csr_row_ptr_c: ptr, nnz_total_dev_host_ptr: ptr);
    fn hipsparseXcsrgeamNnz(handle: ptr, m: int, n: int, descr_a: ptr, nnz_a: int, csr_row_ptr_a: ptr, csr_col_ind_a: ptr, descr_b: ptr, nnz_b: int, csr_row_ptr_b: ptr, csr_col_ind_b: ptr, descr_c: ptr, csr_row_ptr_c: ptr, nnz_total_dev_host_ptr: ptr);
    fn hipsparseCreateHybMat(hyb_a: ptr);
    fn hipsparseDestroyHybMat(hyb_a: ptr);
    fn hipsparseCooGet(sp_mat_descr: ptr, rows: ptr, cols: ptr, nnz: ptr, coo_row_ind: ptr, coo_col_ind: ptr, coo_values: ptr, idx_type: ptr, idx_base: ptr, value_type: ptr);
    fn hipsparseCscGet(sp_mat_descr: ptr, rows: ptr, cols: ptr, nnz: ptr, csc_col_offsets: ptr, csc_row_ind: ptr, csc_values: ptr, csc_col_offsets_type: ptr, csc_row_ind_type: ptr, idx_base: ptr, value_type: ptr) since "6.2";
    fn hipsparseCsrGet(sp_mat_descr: ptr, rows: ptr, cols: ptr, nnz: ptr, csr_row_offsets: ptr, csr_col_ind: ptr, csr_values: ptr, csr_row_offsets_type: ptr, csr_col_ind_type: ptr, idx_base: ptr, value_type: ptr);
    fn hipsparseBlockedEllGet(sp_mat_descr: ptr, rows: ptr, cols: ptr, ell_block_size: ptr, ell_cols: ptr, ell_col_ind: ptr, ell_value: ptr, ell_idx_type: ptr, idx_base: ptr, value_type: ptr);
    fn hipsparseDnMatGet(dn_mat_descr: ptr, rows: ptr, cols: ptr, ld: ptr, values: ptr, value_type: ptr, order: ptr);
    fn hipsparseDnMatGetStridedBatch(dn_mat_descr: ptr, batch_count: ptr, batch_stride: ptr);
    fn hipsparseDnMatGetValues(dn_mat_descr: ptr, values: ptr);
    fn hipsparseDnMatSetValues(dn_mat_descr: ptr, values: ptr);
    fn hipsparseDnVecGet(dn_vec_descr: ptr, size: ptr, values: ptr, value_type: ptr);
    fn hipsparseDnVecGetValues(dn_vec_descr: ptr, values: ptr);
    fn hipsparseDnVecSetValues(dn_vec_descr: ptr, values: ptr);
    fn hipsparseSpMatGetAttribute(sp_mat_descr: ptr, attribute: flag, data: ptr, data_size: size);
    fn hipsparseSpMatGetFormat(sp_mat_descr: ptr, format: ptr);
    fn hipsparseSpMatGetIndexBase(sp_mat_descr: ptr, idx_base: ptr);
    fn hipsparseSpMatGetStridedBatch(sp_mat_descr: ptr, batch_count: ptr);
    fn hipsparseSpMatGetValues(sp_mat_descr: ptr, values: ptr);
    fn hipsparseSpMatSetStridedBatch(sp_mat_descr: ptr, batch_count: int);
    fn hipsparseSpMatSetValues(sp_mat_descr: ptr, values: ptr);
    fn hipsparseSpVecGet(sp_vec_descr: ptr, size: ptr, nnz: ptr, indices: ptr, values: ptr, idx_type: ptr, idx_base: ptr, value_type: ptr);
    fn hipsparseSpVecGetIndexBase(sp_vec_descr: ptr, idx_base: ptr);
    fn hipsparseSpVecGetValues(sp_vec_descr: ptr, values: ptr);
    fn hipsparseSpVecSetValues(sp_vec_descr: ptr, values: ptr);
    fn hipsparseCreateConstCsr(sp_mat_descr: ptr, rows: long, cols: long, nnz: long, csr_row_offsets: ptr, csr_col_ind: ptr, csr_values: ptr, csr_row_offsets_type: flag, csr_col_ind_type: flag, idx_base: flag, value_type: flag) since "6.2";
    fn hipsparseCreateConstCsc(sp_mat_descr: ptr, rows: long, cols: long, nnz: long, csc_col_offsets: ptr, csc_row_ind: ptr, csc_values: ptr, csc_col_offsets_type: flag, csc_row_ind_type: flag, idx_base: flag, value_type: flag) since "6.2";
    fn hipsparseCreateConstCoo(sp_mat_descr: ptr, rows: long, cols: long, nnz: long, coo_row_ind: ptr, coo_col_ind: ptr, coo_values: ptr, coo_idx_type: flag, idx_base: flag, value_type: flag) since "6.2";
    fn hipsparseCreateConstBlockedEll(sp_mat_descr: ptr, rows: long, cols: long, ell_block_size: long, ell_cols: long, ell_col_ind: ptr, ell_value: ptr, ell_idx_type: flag, idx_base: flag, value_type: flag) since "6.2";
    fn hipsparseCreateConstDnMat(dn_mat_descr: ptr, rows: long, cols: long, ld: long, values: ptr, value_type: flag, order: flag) since "6.2";
    fn hipsparseCreateConstDnVec(dn_vec_descr: ptr, size: long, values: ptr, value_type: flag) since "6.2";
    fn hipsparseCreateConstSpVec(sp_vec_descr: ptr, size: long, nnz: long, indices: ptr, values: ptr, idx_type: flag, idx_base: flag, value_type: flag) since "6.2";
    fn hipsparseConstCsrGet(sp_mat_descr: ptr, rows: ptr, cols: ptr, nnz: ptr, csr_row_offsets: ptr, csr_col_ind: ptr, csr_values: ptr, csr_row_offsets_type: ptr, csr_col_ind_type: ptr, idx_base: ptr, value_type: ptr) since "6.2";
    fn hipsparseConstCscGet(sp_mat_descr: ptr, rows: ptr, cols: ptr, nnz: ptr, csc_col_offsets: ptr, csc_row_ind: ptr, csc_values: ptr, csc_col_offsets_type: ptr, csc_row_ind_type: ptr, idx_base: ptr, value_type: ptr) since "6.2";
    fn hipsparseConstCooGet(sp_mat_descr: ptr, rows: ptr, cols: ptr, nnz: ptr, coo_row_ind: ptr, coo_col_ind: ptr, coo_values: ptr, idx_type: ptr, idx_base: ptr, value_type: ptr) since "6.2";
    fn hipsparseConstBlockedEllGet(sp_mat_descr: ptr, rows: ptr, cols: ptr, ell_block_size: ptr, ell_cols: ptr, ell_col_ind: ptr, ell_value: ptr, ell_idx_type: ptr, idx_base: ptr, value_type: ptr) since "6.2";
    fn hipsparseConstDnMatGet(dn_mat_descr: ptr, rows: ptr, cols: ptr, ld: ptr, values: ptr, value_type: ptr, order: ptr) since "6.2";
    fn hipsparseConstDnMatGetValues(dn_mat_descr: ptr, values: ptr) since "6.2";
    fn hipsparseConstDnVecGet(dn_vec_descr: ptr, size: ptr, values: ptr, value_type: ptr) since "6.2";
    fn hipsparseConstDnVecGetValues(dn_vec_descr: ptr, values: ptr) since "6.2";
    fn hipsparseConstSpMatGetValues(sp_mat_descr: ptr, values: ptr) since "6.2";
    fn hipsparseConstSpVecGet(sp_vec_descr: ptr, size: ptr, nnz: ptr, indices: ptr, values: ptr, idx_type: ptr, idx_base: ptr, value_type: ptr) since "6.2";
    fn hipsparseConstSpVecGetValues(sp_vec_descr: ptr, values: ptr) since "6.2";
    fn hipsparseCopyMatDescr(dest: ptr, src: ptr);
    fn hipsparseSetMatType(descr_a: ptr, type_: flag);
    fn hipsparseCreateColorInfo(info: ptr);
    fn hipsparseDestroyColorInfo(info: ptr);
}

macro_rules! getters {
    ($(fn $name:ident(descr);)*) => {$(
        /// The C function: reads a field of a descriptor.
        #[allow(non_snake_case, reason = "names are C's")]
        pub(crate) unsafe fn $name(descr: Ptr) -> Result<u32, CallError> {
            static SLOT: Slot = Slot::new(concat!(stringify!($name), "\0"), "5.7");
            match SLOT.get(&BINDING) {
                Ok(address) => {
                    // SAFETY: the library has a function under this name that takes a descriptor and returns an enum.
                    let function = unsafe { transmute::<NonNull<c_void>, unsafe extern "C" fn(Ptr) -> u32>(address) };
                    // SAFETY: the caller's descriptor.
                    Ok(unsafe { function(descr) })
                }
                Err(why) => check(Status::missing(why), stringify!($name), String::new).map(|()| 0),
            }
        }
    )*};
}

getters! {
    fn hipsparseGetMatType(descr);
    fn hipsparseGetMatIndexBase(descr);
    fn hipsparseGetMatFillMode(descr);
    fn hipsparseGetMatDiagType(descr);
}

macro_rules! texts {
    ($(fn $name:ident(status);)*) => {$(
        /// The C function: returns the library's text for a status; `None` if the library lacks the function.
        #[allow(non_snake_case, reason = "names are C's")]
        pub(crate) fn $name(status: hipsparseStatus_t) -> Option<String> {
            static SLOT: Slot = Slot::new(concat!(stringify!($name), "\0"), "6.2");
            let address = SLOT.get(&BINDING).ok()?;
            // SAFETY: the library has a function under this name that takes a status, and returns a string that it keeps.
            let text = unsafe {
                transmute::<NonNull<c_void>, unsafe extern "C" fn(hipsparseStatus_t) -> *const c_char>(address)(status)
            };
            // SAFETY: null, or a terminated string.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        }
    )*};
}

texts! {
    fn hipsparseGetErrorName(status);
    fn hipsparseGetErrorString(status);
}

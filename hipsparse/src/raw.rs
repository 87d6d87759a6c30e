//! The C functions: their names, the types that they are for, their parameters. All names of hipSPARSE that this crate calls are here.
//!
//! A function whose name has a letter for the type of the values is declared once: `each` for S, D, C and Z, `real` for S and D. The letter comes
//! from the type parameter, and the handle comes first. Kinds of parameters: `int` (`int`), `long` (`int64_t`), `size` (`size_t`), `flag` (an enum),
//! `ptr` (a pointer), `value` (a number of the values' type). The functions are looked up by name in what [`hipsparse_sys`] has opened: their C ABI
//! is the same in all releases, but for `hipsparseSpSV_solve`, which has two entries, and for the numbers of the orders of dense matrices ([`order`]).
//! A test compares each declaration with the one in `hipsparse-sys`.

use std::ffi::c_void;
use std::mem::transmute;
use std::ptr::NonNull;
use std::sync::OnceLock;

use hip_linalg::__private::Slot;
use rocm_loader::Releases;

use crate::value::{RealValue, Value};
use crate::{CallError, check};

pub(crate) use hipsparse_sys::{
    BINDING, HIPSPARSE_STATUS_NOT_INITIALIZED, HIPSPARSE_STATUS_NOT_SUPPORTED, HIPSPARSE_STATUS_SUCCESS,
    HIPSPARSE_STATUS_ZERO_PIVOT, MissingValue, hipsparseStatus_t, load_error, symbol_error,
};

/// A pointer of C.
pub(crate) type Ptr = *mut c_void;
type Status = hipsparseStatus_t;

/// What a function returned.
#[must_use]
pub struct Returned {
    pub(crate) status: Status,
    function: &'static str,
}

impl Returned {
    /// An error unless it is success. `asked` says what was asked of it.
    pub(crate) fn ok(self, asked: impl FnOnce() -> String) -> Result<(), CallError> {
        check(self.status, self.function, asked)
    }
}

/// The names of a function by the letters of the types.
pub struct Routine {
    slots: [Slot; 4],
    /// The names, S, D, C, Z; of `real` ones, only the first two exist.
    pub names: [&'static str; 4],
}

macro_rules! parameter {
    (int, $T:ty) => { i32 };
    (long, $T:ty) => { i64 };
    (size, $T:ty) => { usize };
    (flag, $T:ty) => { u32 };
    (ptr, $T:ty) => { Ptr };
    (value, $T:ty) => { $T };
}

macro_rules! typed {
    ($($set:ident $name:ident($($p:ident: $kind:ident),* $(,)?);)*) => {
        $(
            /// As in C.
            #[allow(non_snake_case, reason = "names are C's")]
            #[allow(clippy::too_many_arguments, reason = "the function is C's")]
            pub(crate) unsafe fn $name<T: typed!(@bound $set)>(handle: Ptr, $($p: parameter!($kind, T)),*) -> Returned {
                let routine = &TYPED.$name;
                let function = routine.names[T::LETTER];
                let status = match routine.slots[T::LETTER].get(&BINDING) {
                    Ok(address) => {
                        // SAFETY: the library has it under this name, whose C signature is the one that the table says.
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

        /// All functions with letters: which types they are for, their names, and the kinds of their parameters behind the handle.
        pub static ROUTINES: &[(&str, &Routine, &[&str])] =
            &[$((stringify!($set), &TYPED.$name, &[$(stringify!($kind)),*])),*];
    };
    (@bound each) => { Value };
    (@bound real) => { RealValue };
}

/// The release that has the function first.
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
            /// As in C.
            #[allow(non_snake_case, reason = "names are C's")]
            #[allow(clippy::too_many_arguments, reason = "the function is C's")]
            pub(crate) unsafe fn $name($($p: parameter!($kind, ())),*) -> Returned {
                static SLOT: Slot = Slot::of_releases(
                    functions!(@name $name $($alias)?, "\0"), since!($($since)?), releases!($($releases)?),
                );
                let function = functions!(@name $name $($alias)?, "");
                let status = match SLOT.get(&BINDING) {
                    Ok(address) => {
                        // SAFETY: the library has it under this name, whose C signature is the one that the table says.
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

/// Releases that have `hipsparseSpSV_solve` with the workspace.
const BEFORE_6: Releases = Releases::new((0, 0), Some((6, 0)));

/// Whether the library that was found is of ROCm 5.
pub(crate) fn is_5() -> bool {
    static IS_5: OnceLock<bool> = OnceLock::new();
    *IS_5.get_or_init(|| !BINDING.has(c"hipsparseCreateConstCsr"))
}

/// The order of a dense matrix.
pub(crate) fn order(row_major: bool) -> u32 {
    match (row_major, is_5()) {
        (false, _) => 1,
        (true, true) => 0,
        (true, false) => 2,
    }
}

typed! {

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
    fn hipsparseSetMatType(descr_a: ptr, kind: flag);
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
}

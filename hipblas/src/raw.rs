//! The C functions: their names, element types, and parameters in each form. All hipBLAS names that this crate calls
//! are here.
//!
//! A routine is declared once. Its letters come from the list of types; its batched and 64-bit forms come from the
//! kinds of its parameters:
//!
//! | kind | C, plain | in strided batches, also |
//! |---|---|---|
//! | `int` | `int`, `int64_t` in 64-bit forms | |
//! | `flag` | an enum | |
//! | `ptr` | a pointer | |
//! | `view` | a pointer, an increment or leading dimension (`int`) | a stride (`int64_t`) |
//! | `typed` | a pointer, an enum that says its type, an increment or leading dimension | a stride |
//! | `packed` | a pointer | a stride |
//! After the `;`, batches have their count (`int`). The functions are looked up by name in the library that
//! [`hipblas_sys`] has opened. Except for the functions with `Ex` and `trmm`, the C ABI is the same in all releases,
//! but the names of the C types are not. A test compares each declaration with the one in `hipblas-sys` at every level.
//! with the one in `hipblas-sys` at every level.

use std::ffi::c_void;
use std::mem::transmute;
use std::ptr::NonNull;
use std::sync::OnceLock;

use half::{bf16, f16};
use hip_linalg::{Batch, Form, Forms, Lowered, Scalar, forms};
use num_complex::{Complex32, Complex64};

pub(crate) use hipblas_sys::{
    BINDING, HIPBLAS_STATUS_ALLOC_FAILED, HIPBLAS_STATUS_NOT_INITIALIZED, HIPBLAS_STATUS_NOT_SUPPORTED,
    HIPBLAS_STATUS_SUCCESS, hipblasStatus_t, load_error, symbol_error,
};

type Handle = *mut c_void;
type Status = hipblasStatus_t;

macro_rules! parameter {
    (int) => { i64 };
    (flag) => { u32 };
    (ptr) => { *const c_void };
    (view) => { Lowered };
    (packed) => { Lowered };
    (typed) => { (Lowered, u32) };
}

/// Calls `$f` with the handle and the arguments in the order of the form.
macro_rules! invoke {
    ($f:ident, $handle:ident, $form:ident, $arguments:tt) => {{
        let count = $form.count();
        match ($form.batch, $form.wide) {
            (Batch::One, false) => invoke!(@ i32 one $f $handle count [] [] $arguments),
            (Batch::One, true) => invoke!(@ i64 one $f $handle count [] [] $arguments),
            (Batch::Pointers(_), false) => invoke!(@ i32 many $f $handle count [] [] $arguments),
            (Batch::Pointers(_), true) => invoke!(@ i64 many $f $handle count [] [] $arguments),
            (Batch::Strided(_), false) => invoke!(@ i32 strided $f $handle count [] [] $arguments),
            (Batch::Strided(_), true) => invoke!(@ i64 strided $f $handle count [] [] $arguments),
        }
    }};
    (@ $I:tt $k:tt $f:tt $h:tt $c:tt [$($t:ty,)*] [$($e:expr,)*] [$a:ident: int, $($rest:tt)*]) => {
        invoke!(@ $I $k $f $h $c [$($t,)* $I,] [$($e,)* $a as $I,] [$($rest)*])
    };
    (@ $I:tt $k:tt $f:tt $h:tt $c:tt [$($t:ty,)*] [$($e:expr,)*] [$a:ident: flag, $($rest:tt)*]) => {
        invoke!(@ $I $k $f $h $c [$($t,)* u32,] [$($e,)* $a,] [$($rest)*])
    };
    (@ $I:tt $k:tt $f:tt $h:tt $c:tt [$($t:ty,)*] [$($e:expr,)*] [$a:ident: ptr, $($rest:tt)*]) => {
        invoke!(@ $I $k $f $h $c [$($t,)* *const c_void,] [$($e,)* $a,] [$($rest)*])
    };
    (@ $I:tt strided $f:tt $h:tt $c:tt [$($t:ty,)*] [$($e:expr,)*] [$a:ident: view, $($rest:tt)*]) => {
        invoke!(@ $I strided $f $h $c [$($t,)* *mut c_void, $I, i64,]
            [$($e,)* $a.pointer, $a.step as $I, $a.stride,] [$($rest)*])
    };
    (@ $I:tt $k:tt $f:tt $h:tt $c:tt [$($t:ty,)*] [$($e:expr,)*] [$a:ident: view, $($rest:tt)*]) => {
        invoke!(@ $I $k $f $h $c [$($t,)* *mut c_void, $I,] [$($e,)* $a.pointer, $a.step as $I,] [$($rest)*])
    };
    (@ $I:tt strided $f:tt $h:tt $c:tt [$($t:ty,)*] [$($e:expr,)*] [$a:ident: typed, $($rest:tt)*]) => {
        invoke!(@ $I strided $f $h $c [$($t,)* *mut c_void, u32, $I, i64,]
            [$($e,)* $a.0.pointer, $a.1, $a.0.step as $I, $a.0.stride,] [$($rest)*])
    };
    (@ $I:tt $k:tt $f:tt $h:tt $c:tt [$($t:ty,)*] [$($e:expr,)*] [$a:ident: typed, $($rest:tt)*]) => {
        invoke!(@ $I $k $f $h $c [$($t,)* *mut c_void, u32, $I,]
            [$($e,)* $a.0.pointer, $a.1, $a.0.step as $I,] [$($rest)*])
    };
    (@ $I:tt strided $f:tt $h:tt $c:tt [$($t:ty,)*] [$($e:expr,)*] [$a:ident: packed, $($rest:tt)*]) => {
        invoke!(@ $I strided $f $h $c [$($t,)* *mut c_void, i64,] [$($e,)* $a.pointer, $a.stride,] [$($rest)*])
    };
    (@ $I:tt $k:tt $f:tt $h:tt $c:tt [$($t:ty,)*] [$($e:expr,)*] [$a:ident: packed, $($rest:tt)*]) => {
        invoke!(@ $I $k $f $h $c [$($t,)* *mut c_void,] [$($e,)* $a.pointer,] [$($rest)*])
    };
    (@ $I:tt one $f:tt $h:tt $c:tt $t:tt $e:tt [; $($rest:tt)*]) => {
        invoke!(@ $I one $f $h $c $t $e [$($rest)*])
    };
    (@ $I:tt $k:tt $f:tt $h:tt $c:tt [$($t:ty,)*] [$($e:expr,)*] [; $($rest:tt)*]) => {
        invoke!(@ $I $k $f $h $c [$($t,)* $I,] [$($e,)* $c as $I,] [$($rest)*])
    };
    (@ $I:tt $k:tt $f:tt $h:tt $c:tt [$($t:ty,)*] [$($e:expr,)*] []) => {{
        // SAFETY: the library has the function under a name of the table, and its C signature in this form is the one that the table
        // declares.
        let function = unsafe {
            transmute::<NonNull<c_void>, unsafe extern "C" fn(Handle, $($t),*) -> Status>($f)
        };
        // SAFETY: the caller's arguments.
        unsafe { function($h, $($e),*) }
    }};
}

/// A routine of the table, for tests and for the list of functions.
#[derive(Debug)]
pub struct Routine {
    /// The parameters: `n: int, x: view,; result: ptr,`.
    pub parameters: &'static str,
    /// The functions by type: one name per form.
    pub functions: fn() -> Vec<&'static [&'static str; 6]>,
}

macro_rules! routines {
    ($(
        $(#[$doc:meta])*
        $trait:ident $(<$p:ident>)? fn $call:ident($($a:ident: $kind:ident),*; $($b:ident: $after:ident),*) {
            $($t:ty $(, $s:ty)? => $name:literal $(behind $behind:literal)?;)*
        }
    )*) => {
        $(
            $(#[$doc])*
            ///
            /// The functions of C, which have forms for batches and 64-bit sizes:
            ///
            $(#[doc = concat!("- `", stringify!($t), "`" $(, " with `", stringify!($s), "`")?, ": `", $name $(, $behind)?, "`")])*
            pub trait $trait$(<$p: Scalar>)?: Scalar {
                #[doc(hidden)]
                fn forms() -> &'static Forms;
            }
            $(
                impl $trait$(<$s>)? for $t {
                    fn forms() -> &'static Forms {
                        forms!($name $(, behind $behind)?)
                    }
                }
            )*

            /// Returns the call with these arguments. It receives the function and the handle when it is made.
            #[allow(clippy::too_many_arguments, reason = "the function is C's")]
            #[allow(clippy::cast_possible_truncation, reason = "the form says that the sizes fit")]
            pub(crate) fn $call(
                $($a: parameter!($kind),)* $($b: parameter!($after),)*
            ) -> impl FnOnce(NonNull<c_void>, Form, Handle) -> Status + Clone {
                move |function, form, handle| invoke!(function, handle, form, [$($a: $kind,)*; $($b: $after,)*])
            }
        )*

        /// All routines.
        pub static ROUTINES: &[(&str, Routine)] = &[$((stringify!($call), Routine {
            parameters: concat!($(stringify!($kind), " ",)* "; ", $(stringify!($after), " "),*),
            functions: || vec![$(forms!($name $(, behind $behind)?).names()),*],
        })),*];
    };
}

/// Functions without an element type, or whose types are arguments.
macro_rules! functions {
    ($($(#[$doc:meta])* fn $name:ident($($parameter:ident: $type:ty),*);)*) => {$(
        $(#[$doc])*
        #[allow(non_snake_case, reason = "names are C's")]
        pub(crate) unsafe fn $name($($parameter: $type),*) -> Status {
            static SLOT: hip_linalg::__private::Slot = hip_linalg::__private::Slot::new(concat!(stringify!($name), "\0"), "5.7");
            match SLOT.get(&BINDING) {
                Ok(function) => {
                    // SAFETY: the library has the function under this name, and its C signature is the one declared here.
                    let function = unsafe { transmute::<NonNull<c_void>, unsafe extern "C" fn($($type),*) -> Status>(function) };
                    // SAFETY: the caller keeps the function's contract.
                    unsafe { function($($parameter),*) }
                }
                Err(why) => hipblas_sys::MissingValue::missing(why),
            }
        }
    )*};
}

functions! {
    /// From rocBLAS, which hipBLAS is built on: a hipBLAS handle is a rocBLAS handle, and success is 0 in both.
    fn rocblas_set_workspace(handle: Handle, memory: *mut c_void, bytes: usize);
    /// From rocBLAS.
    fn rocblas_get_device_memory_size(handle: Handle, bytes: *mut usize);
    /// From rocBLAS. Until the stop, calls only compute how much memory they need.
    fn rocblas_start_device_memory_size_query(handle: Handle);
    /// From rocBLAS.
    fn rocblas_stop_device_memory_size_query(handle: Handle, bytes: *mut usize);
    fn hipblasCreate(handle: *mut Handle);
    fn hipblasDestroy(handle: Handle);
    fn hipblasSetStream(handle: Handle, stream: hip::sys::hipStream_t);
    fn hipblasSetPointerMode(handle: Handle, mode: u32);
    fn hipblasSetAtomicsMode(handle: Handle, mode: u32);
    fn hipblasGetAtomicsMode(handle: Handle, mode: *mut u32);
    /// Before ROCm 6.2.
    fn hipblasSetInt8Datatype(handle: Handle, kind: u32);
    fn hipblasSetMathMode(handle: Handle, mode: u32);
}

/// The API generation of the loaded library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Api {
    /// Before 6.2: `hipblasDatatype_t` everywhere.
    V5,
    /// 6.2 to 6.4: `hipDataType` in functions with `_v2`.
    V6,
    /// From 7.0 on: `hipDataType`.
    V7,
}

/// Returns the generation of the loaded library.
pub(crate) fn api() -> Api {
    static API: OnceLock<Api> = OnceLock::new();
    *API.get_or_init(|| {
        if BINDING.has(c"hipblasSetWorkspace") {
            Api::V7
        } else if BINDING.has(c"hipblasGemmEx_v2") {
            Api::V6
        } else {
            Api::V5
        }
    })
}

/// Forms of a function with `Ex`, before and after the change of its argument types.
pub(crate) struct Ex {
    pub(crate) plain: &'static Forms,
    pub(crate) v2: &'static Forms,
}

impl Ex {
    /// Returns the forms of the loaded library.
    pub(crate) fn forms(&self) -> &'static Forms {
        if api() == Api::V6 { self.v2 } else { self.plain }
    }
}

macro_rules! ex_routines {
    ($(fn $call:ident($($a:ident: $kind:ident),*; $($b:ident: $after:ident),*), $names:ident = $name:literal;)*) => {
        $(
            pub(crate) static $names: fn() -> Ex = || Ex {
                plain: forms!($name, behind "Ex"),
                v2: forms!(
                    $name,
                    "Ex_v2",
                    "BatchedEx_v2",
                    "StridedBatchedEx_v2",
                    "Ex_v2_64",
                    "BatchedEx_v2_64",
                    "StridedBatchedEx_v2_64"
                ),
            };

            #[allow(clippy::too_many_arguments, reason = "the function is C's")]
            #[allow(clippy::cast_possible_truncation, reason = "the form says that the sizes fit")]
            pub(crate) fn $call(
                $($a: parameter!($kind),)* $($b: parameter!($after),)*
            ) -> impl FnOnce(NonNull<c_void>, Form, Handle) -> Status + Clone {
                move |function, form, handle| invoke!(function, handle, form, [$($a: $kind,)*; $($b: $after,)*])
            }
        )*

        /// All routines with `Ex`.
        pub static EX_ROUTINES: &[(&str, Routine)] = &[$((stringify!($call), Routine {
            parameters: concat!($(stringify!($kind), " ",)* "; ", $(stringify!($after), " "),*),
            functions: || vec![$names().plain.names(), $names().v2.names()],
        })),*];
    };
}

// GemmExWithFlags is the same with one more flag.
ex_routines! {
    fn gemm_ex(ta: flag, tb: flag, m: int, n: int, k: int, alpha: ptr, a: typed, b: typed, beta: ptr, c: typed;
        compute: flag, algorithm: flag), GEMM_EX = "hipblasGemm";
    fn axpy_ex(n: int, alpha: ptr, alpha_type: flag, x: typed, y: typed; execution: flag), AXPY_EX = "hipblasAxpy";
    fn dot_ex(n: int, x: typed, y: typed; result: ptr, result_type: flag, execution: flag), DOT_EX = "hipblasDot";
    fn dotc_ex(n: int, x: typed, y: typed; result: ptr, result_type: flag, execution: flag), DOTC_EX = "hipblasDotc";
    fn nrm2_ex(n: int, x: typed; result: ptr, result_type: flag, execution: flag), NRM2_EX = "hipblasNrm2";
    fn rot_ex(n: int, x: typed, y: typed, c: ptr, s: ptr, cs_type: flag; execution: flag), ROT_EX = "hipblasRot";
    fn scal_ex(n: int, alpha: ptr, alpha_type: flag, x: typed; execution: flag), SCAL_EX = "hipblasScal";
}

routines! {
    /// Element types of [`Blas::amax`](crate::Blas::amax): index of the element of largest absolute value.
    Amax fn amax(n: int, x: view; result: ptr) {
        f32 => "hipblasIsamax";
        f64 => "hipblasIdamax";
        Complex32 => "hipblasIcamax";
        Complex64 => "hipblasIzamax";
    }
    /// Element types of [`Blas::amin`](crate::Blas::amin): index of the element of smallest absolute value.
    Amin fn amin(n: int, x: view; result: ptr) {
        f32 => "hipblasIsamin";
        f64 => "hipblasIdamin";
        Complex32 => "hipblasIcamin";
        Complex64 => "hipblasIzamin";
    }
    /// Element types of [`Blas::asum`](crate::Blas::asum): sum of absolute values.
    Asum fn asum(n: int, x: view; result: ptr) {
        f32 => "hipblasSasum";
        f64 => "hipblasDasum";
        Complex32 => "hipblasScasum";
        Complex64 => "hipblasDzasum";
    }
    /// Element types of [`Blas::axpy`](crate::Blas::axpy): α·x + y.
    Axpy fn axpy(n: int, alpha: ptr, x: view, y: view;) {
        f16 => "hipblasHaxpy";
        f32 => "hipblasSaxpy";
        f64 => "hipblasDaxpy";
        Complex32 => "hipblasCaxpy";
        Complex64 => "hipblasZaxpy";
    }
    /// Element types of [`Blas::copy`](crate::Blas::copy): copy of a vector.
    Copy fn copy(n: int, x: view, y: view;) {
        f32 => "hipblasScopy";
        f64 => "hipblasDcopy";
        Complex32 => "hipblasCcopy";
        Complex64 => "hipblasZcopy";
    }
    /// Element types of [`Blas::dot`](crate::Blas::dot): inner product.
    Dot fn dot(n: int, x: view, y: view; result: ptr) {
        f16 => "hipblasHdot";
        bf16 => "hipblasBfdot";
        f32 => "hipblasSdot";
        f64 => "hipblasDdot";
        Complex32 => "hipblasCdotu";
        Complex64 => "hipblasZdotu";
    }
    /// Element types of [`Blas::dotc`](crate::Blas::dotc): inner product with the first vector conjugated.
    Dotc fn dotc(n: int, x: view, y: view; result: ptr) {
        Complex32 => "hipblasCdotc";
        Complex64 => "hipblasZdotc";
    }
    /// Element types of [`Blas::nrm2`](crate::Blas::nrm2): Euclidean norm.
    Nrm2 fn nrm2(n: int, x: view; result: ptr) {
        f32 => "hipblasSnrm2";
        f64 => "hipblasDnrm2";
        Complex32 => "hipblasScnrm2";
        Complex64 => "hipblasDznrm2";
    }
    /// Element types of [`Blas::rot`](crate::Blas::rot): plane rotation by a sine of type `S`.
    Rot<S> fn rot(n: int, x: view, y: view, c: ptr, s: ptr;) {
        f32, f32 => "hipblasSrot";
        f64, f64 => "hipblasDrot";
        Complex32, Complex32 => "hipblasCrot";
        Complex64, Complex64 => "hipblasZrot";
        Complex32, f32 => "hipblasCsrot";
        Complex64, f64 => "hipblasZdrot";
    }
    /// Element types of [`Blas::rotg`](crate::Blas::rotg): plane rotation that eliminates an element.
    Rotg fn rotg(a: packed, b: packed, c: packed, s: packed;) {
        f32 => "hipblasSrotg";
        f64 => "hipblasDrotg";
        Complex32 => "hipblasCrotg";
        Complex64 => "hipblasZrotg";
    }
    /// Element types of [`Blas::rotm`](crate::Blas::rotm): modified plane rotation.
    Rotm fn rotm(n: int, x: view, y: view, param: packed;) {
        f32 => "hipblasSrotm";
        f64 => "hipblasDrotm";
    }
    /// Element types of [`Blas::rotmg`](crate::Blas::rotmg): modified plane rotation that eliminates an element.
    Rotmg fn rotmg(d1: packed, d2: packed, x1: packed, y1: packed, param: packed;) {
        f32 => "hipblasSrotmg";
        f64 => "hipblasDrotmg";
    }
    /// Element types of [`Blas::scal`](crate::Blas::scal): scaling by a factor of type `A`.
    Scal<A> fn scal(n: int, alpha: ptr, x: view;) {
        f32, f32 => "hipblasSscal";
        f64, f64 => "hipblasDscal";
        Complex32, Complex32 => "hipblasCscal";
        Complex64, Complex64 => "hipblasZscal";
        Complex32, f32 => "hipblasCsscal";
        Complex64, f64 => "hipblasZdscal";
    }
    /// Element types of [`Blas::swap`](crate::Blas::swap): exchange of two vectors.
    Swap fn swap(n: int, x: view, y: view;) {
        f32 => "hipblasSswap";
        f64 => "hipblasDswap";
        Complex32 => "hipblasCswap";
        Complex64 => "hipblasZswap";
    }
    /// Element types of [`Blas::gbmv`](crate::Blas::gbmv): band matrix-vector products.
    Gbmv fn gbmv(t: flag, m: int, n: int, kl: int, ku: int, alpha: ptr, a: view, x: view, beta: ptr, y: view;) {
        f32 => "hipblasSgbmv";
        f64 => "hipblasDgbmv";
        Complex32 => "hipblasCgbmv";
        Complex64 => "hipblasZgbmv";
    }
    /// Element types of [`Blas::gemv`](crate::Blas::gemv): matrix-vector products.
    Gemv fn gemv(t: flag, m: int, n: int, alpha: ptr, a: view, x: view, beta: ptr, y: view;) {
        f32 => "hipblasSgemv";
        f64 => "hipblasDgemv";
        Complex32 => "hipblasCgemv";
        Complex64 => "hipblasZgemv";
    }
    /// Element types of [`Blas::ger`](crate::Blas::ger): rank-1 updates.
    Ger fn ger(m: int, n: int, alpha: ptr, x: view, y: view, a: view;) {
        f32 => "hipblasSger";
        f64 => "hipblasDger";
        Complex32 => "hipblasCgeru";
        Complex64 => "hipblasZgeru";
    }
    /// Element types of [`Blas::gerc`](crate::Blas::gerc): rank-1 updates with the second vector conjugated.
    Gerc fn gerc(m: int, n: int, alpha: ptr, x: view, y: view, a: view;) {
        Complex32 => "hipblasCgerc";
        Complex64 => "hipblasZgerc";
    }
    /// Element types of [`Blas::sbmv`](crate::Blas::sbmv): symmetric band matrix-vector products.
    Sbmv fn sbmv(uplo: flag, n: int, k: int, alpha: ptr, a: view, x: view, beta: ptr, y: view;) {
        f32 => "hipblasSsbmv";
        f64 => "hipblasDsbmv";
    }
    /// Element types of [`Blas::hbmv`](crate::Blas::hbmv): Hermitian band matrix-vector products.
    Hbmv fn hbmv(uplo: flag, n: int, k: int, alpha: ptr, a: view, x: view, beta: ptr, y: view;) {
        Complex32 => "hipblasChbmv";
        Complex64 => "hipblasZhbmv";
    }
    /// Element types of [`Blas::symv`](crate::Blas::symv): symmetric matrix-vector products.
    Symv fn symv(uplo: flag, n: int, alpha: ptr, a: view, x: view, beta: ptr, y: view;) {
        f32 => "hipblasSsymv";
        f64 => "hipblasDsymv";
        Complex32 => "hipblasCsymv";
        Complex64 => "hipblasZsymv";
    }
    /// Element types of [`Blas::hemv`](crate::Blas::hemv): Hermitian matrix-vector products.
    Hemv fn hemv(uplo: flag, n: int, alpha: ptr, a: view, x: view, beta: ptr, y: view;) {
        Complex32 => "hipblasChemv";
        Complex64 => "hipblasZhemv";
    }
    /// Element types of [`Blas::spmv`](crate::Blas::spmv): symmetric packed matrix-vector products.
    Spmv fn spmv(uplo: flag, n: int, alpha: ptr, a: packed, x: view, beta: ptr, y: view;) {
        f32 => "hipblasSspmv";
        f64 => "hipblasDspmv";
    }
    /// Element types of [`Blas::hpmv`](crate::Blas::hpmv): Hermitian packed matrix-vector products.
    Hpmv fn hpmv(uplo: flag, n: int, alpha: ptr, a: packed, x: view, beta: ptr, y: view;) {
        Complex32 => "hipblasChpmv";
        Complex64 => "hipblasZhpmv";
    }
    /// Element types of [`Blas::syr`](crate::Blas::syr): symmetric rank-1 updates.
    Syr fn syr(uplo: flag, n: int, alpha: ptr, x: view, a: view;) {
        f32 => "hipblasSsyr";
        f64 => "hipblasDsyr";
        Complex32 => "hipblasCsyr";
        Complex64 => "hipblasZsyr";
    }
    /// Element types of [`Blas::her`](crate::Blas::her): Hermitian rank-1 updates.
    Her fn her(uplo: flag, n: int, alpha: ptr, x: view, a: view;) {
        Complex32 => "hipblasCher";
        Complex64 => "hipblasZher";
    }
    /// Element types of [`Blas::spr`](crate::Blas::spr): symmetric packed rank-1 updates.
    Spr fn spr(uplo: flag, n: int, alpha: ptr, x: view, a: packed;) {
        f32 => "hipblasSspr";
        f64 => "hipblasDspr";
        Complex32 => "hipblasCspr";
        Complex64 => "hipblasZspr";
    }
    /// Element types of [`Blas::hpr`](crate::Blas::hpr): Hermitian packed rank-1 updates.
    Hpr fn hpr(uplo: flag, n: int, alpha: ptr, x: view, a: packed;) {
        Complex32 => "hipblasChpr";
        Complex64 => "hipblasZhpr";
    }
    /// Element types of [`Blas::syr2`](crate::Blas::syr2): symmetric rank-2 updates.
    Syr2 fn syr2(uplo: flag, n: int, alpha: ptr, x: view, y: view, a: view;) {
        f32 => "hipblasSsyr2";
        f64 => "hipblasDsyr2";
        Complex32 => "hipblasCsyr2";
        Complex64 => "hipblasZsyr2";
    }
    /// Element types of [`Blas::her2`](crate::Blas::her2): Hermitian rank-2 updates.
    Her2 fn her2(uplo: flag, n: int, alpha: ptr, x: view, y: view, a: view;) {
        Complex32 => "hipblasCher2";
        Complex64 => "hipblasZher2";
    }
    /// Element types of [`Blas::spr2`](crate::Blas::spr2): symmetric packed rank-2 updates.
    Spr2 fn spr2(uplo: flag, n: int, alpha: ptr, x: view, y: view, a: packed;) {
        f32 => "hipblasSspr2";
        f64 => "hipblasDspr2";
    }
    /// Element types of [`Blas::hpr2`](crate::Blas::hpr2): Hermitian packed rank-2 updates.
    Hpr2 fn hpr2(uplo: flag, n: int, alpha: ptr, x: view, y: view, a: packed;) {
        Complex32 => "hipblasChpr2";
        Complex64 => "hipblasZhpr2";
    }
    /// Element types of [`Blas::tbmv`](crate::Blas::tbmv): triangular band matrix-vector products.
    Tbmv fn tbmv(uplo: flag, t: flag, diag: flag, n: int, k: int, a: view, x: view;) {
        f32 => "hipblasStbmv";
        f64 => "hipblasDtbmv";
        Complex32 => "hipblasCtbmv";
        Complex64 => "hipblasZtbmv";
    }
    /// Element types of [`Blas::tpmv`](crate::Blas::tpmv): triangular packed matrix-vector products.
    Tpmv fn tpmv(uplo: flag, t: flag, diag: flag, n: int, a: packed, x: view;) {
        f32 => "hipblasStpmv";
        f64 => "hipblasDtpmv";
        Complex32 => "hipblasCtpmv";
        Complex64 => "hipblasZtpmv";
    }
    /// Element types of [`Blas::trmv`](crate::Blas::trmv): triangular matrix-vector products.
    Trmv fn trmv(uplo: flag, t: flag, diag: flag, n: int, a: view, x: view;) {
        f32 => "hipblasStrmv";
        f64 => "hipblasDtrmv";
        Complex32 => "hipblasCtrmv";
        Complex64 => "hipblasZtrmv";
    }
    /// Element types of [`Blas::tbsv`](crate::Blas::tbsv): triangular band solves.
    Tbsv fn tbsv(uplo: flag, t: flag, diag: flag, n: int, k: int, a: view, x: view;) {
        f32 => "hipblasStbsv";
        f64 => "hipblasDtbsv";
        Complex32 => "hipblasCtbsv";
        Complex64 => "hipblasZtbsv";
    }
    /// Element types of [`Blas::tpsv`](crate::Blas::tpsv): triangular packed solves.
    Tpsv fn tpsv(uplo: flag, t: flag, diag: flag, n: int, a: packed, x: view;) {
        f32 => "hipblasStpsv";
        f64 => "hipblasDtpsv";
        Complex32 => "hipblasCtpsv";
        Complex64 => "hipblasZtpsv";
    }
    /// Element types of [`Blas::trsv`](crate::Blas::trsv): triangular solves.
    Trsv fn trsv(uplo: flag, t: flag, diag: flag, n: int, a: view, x: view;) {
        f32 => "hipblasStrsv";
        f64 => "hipblasDtrsv";
        Complex32 => "hipblasCtrsv";
        Complex64 => "hipblasZtrsv";
    }
    /// Element types of [`Blas::symm`](crate::Blas::symm): symmetric matrix-matrix products.
    Symm fn symm(side: flag, uplo: flag, m: int, n: int, alpha: ptr, a: view, b: view, beta: ptr, c: view;) {
        f32 => "hipblasSsymm";
        f64 => "hipblasDsymm";
        Complex32 => "hipblasCsymm";
        Complex64 => "hipblasZsymm";
    }
    /// Element types of [`Blas::hemm`](crate::Blas::hemm): Hermitian matrix-matrix products.
    Hemm fn hemm(side: flag, uplo: flag, m: int, n: int, alpha: ptr, a: view, b: view, beta: ptr, c: view;) {
        Complex32 => "hipblasChemm";
        Complex64 => "hipblasZhemm";
    }
    /// Element types of [`Blas::syrk`](crate::Blas::syrk): symmetric rank-k updates.
    Syrk fn syrk(uplo: flag, t: flag, n: int, k: int, alpha: ptr, a: view, beta: ptr, c: view;) {
        f32 => "hipblasSsyrk";
        f64 => "hipblasDsyrk";
        Complex32 => "hipblasCsyrk";
        Complex64 => "hipblasZsyrk";
    }
    /// Element types of [`Blas::herk`](crate::Blas::herk): Hermitian rank-k updates.
    Herk fn herk(uplo: flag, t: flag, n: int, k: int, alpha: ptr, a: view, beta: ptr, c: view;) {
        Complex32 => "hipblasCherk";
        Complex64 => "hipblasZherk";
    }
    /// Element types of [`Blas::syr2k`](crate::Blas::syr2k): symmetric rank-2k updates.
    Syr2k fn syr2k(uplo: flag, t: flag, n: int, k: int, alpha: ptr, a: view, b: view, beta: ptr, c: view;) {
        f32 => "hipblasSsyr2k";
        f64 => "hipblasDsyr2k";
        Complex32 => "hipblasCsyr2k";
        Complex64 => "hipblasZsyr2k";
    }
    /// Element types of [`Blas::her2k`](crate::Blas::her2k): Hermitian rank-2k updates.
    Her2k fn her2k(uplo: flag, t: flag, n: int, k: int, alpha: ptr, a: view, b: view, beta: ptr, c: view;) {
        Complex32 => "hipblasCher2k";
        Complex64 => "hipblasZher2k";
    }
    /// Element types of [`Blas::syrkx`](crate::Blas::syrkx): rank-k update with two matrices, of a symmetric result.
    Syrkx fn syrkx(uplo: flag, t: flag, n: int, k: int, alpha: ptr, a: view, b: view, beta: ptr, c: view;) {
        f32 => "hipblasSsyrkx";
        f64 => "hipblasDsyrkx";
        Complex32 => "hipblasCsyrkx";
        Complex64 => "hipblasZsyrkx";
    }
    /// Element types of [`Blas::herkx`](crate::Blas::herkx): rank-k update with two matrices, of a Hermitian result.
    Herkx fn herkx(uplo: flag, t: flag, n: int, k: int, alpha: ptr, a: view, b: view, beta: ptr, c: view;) {
        Complex32 => "hipblasCherkx";
        Complex64 => "hipblasZherkx";
    }
    /// Element types of [`Blas::gemm`](crate::Blas::gemm): matrix-matrix products.
    Gemm fn gemm(ta: flag, tb: flag, m: int, n: int, k: int, alpha: ptr, a: view, b: view, beta: ptr, c: view;) {
        f16 => "hipblasHgemm";
        f32 => "hipblasSgemm";
        f64 => "hipblasDgemm";
        Complex32 => "hipblasCgemm";
        Complex64 => "hipblasZgemm";
    }
    /// Element types of [`Blas::trmm`](crate::Blas::trmm): triangular matrix-matrix products.
    Trmm fn trmm(side: flag, uplo: flag, t: flag, diag: flag, m: int, n: int, alpha: ptr, a: view, b: view, c: view;) {
        f32 => "hipblasStrmm";
        f64 => "hipblasDtrmm";
        Complex32 => "hipblasCtrmm";
        Complex64 => "hipblasZtrmm";
    }
    /// Element types of [`Blas::trsm`](crate::Blas::trsm): triangular solves for a matrix.
    Trsm fn trsm(side: flag, uplo: flag, t: flag, diag: flag, m: int, n: int, alpha: ptr, a: view, b: view;) {
        f32 => "hipblasStrsm";
        f64 => "hipblasDtrsm";
        Complex32 => "hipblasCtrsm";
        Complex64 => "hipblasZtrsm";
    }
    /// Element types of [`Blas::trtri`](crate::Blas::trtri): triangular inverses.
    Trtri fn trtri(uplo: flag, diag: flag, n: int, a: view, inverse: view;) {
        f32 => "hipblasStrtri";
        f64 => "hipblasDtrtri";
        Complex32 => "hipblasCtrtri";
        Complex64 => "hipblasZtrtri";
    }
    /// Element types of [`Blas::geam`](crate::Blas::geam): sums of matrices.
    Geam fn geam(ta: flag, tb: flag, m: int, n: int, alpha: ptr, a: view, beta: ptr, b: view, c: view;) {
        f32 => "hipblasSgeam";
        f64 => "hipblasDgeam";
        Complex32 => "hipblasCgeam";
        Complex64 => "hipblasZgeam";
    }
    /// Element types of [`Blas::dgmm`](crate::Blas::dgmm): products with a diagonal matrix.
    Dgmm fn dgmm(side: flag, m: int, n: int, a: view, x: view, c: view;) {
        f32 => "hipblasSdgmm";
        f64 => "hipblasDdgmm";
        Complex32 => "hipblasCdgmm";
        Complex64 => "hipblasZdgmm";
    }
    /// Element types of [`Blas::getrf`](crate::Blas::getrf): LU factorisations.
    Getrf fn getrf(n: int, a: view, pivots: packed, info: ptr;) {
        f32 => "hipblasSgetrf";
        f64 => "hipblasDgetrf";
        Complex32 => "hipblasCgetrf";
        Complex64 => "hipblasZgetrf";
    }
    /// Element types of [`Blas::getrs`](crate::Blas::getrs): solves from LU factors.
    Getrs fn getrs(t: flag, n: int, nrhs: int, a: view, pivots: packed, b: view, info: ptr;) {
        f32 => "hipblasSgetrs";
        f64 => "hipblasDgetrs";
        Complex32 => "hipblasCgetrs";
        Complex64 => "hipblasZgetrs";
    }
    /// Element types of [`Blas::getri`](crate::Blas::getri): inverses from LU factors.
    Getri fn getri(n: int, a: view, pivots: packed, c: view, info: ptr;) {
        f32 => "hipblasSgetri";
        f64 => "hipblasDgetri";
        Complex32 => "hipblasCgetri";
        Complex64 => "hipblasZgetri";
    }
    /// Element types of [`Blas::geqrf`](crate::Blas::geqrf): QR factorisations.
    Geqrf fn geqrf(m: int, n: int, a: view, tau: packed, info: ptr;) {
        f32 => "hipblasSgeqrf";
        f64 => "hipblasDgeqrf";
        Complex32 => "hipblasCgeqrf";
        Complex64 => "hipblasZgeqrf";
    }
    /// Element types of [`Blas::gels`](crate::Blas::gels): least squares.
    Gels fn gels(t: flag, m: int, n: int, nrhs: int, a: view, b: view, info: ptr, device_info: ptr;) {
        f32 => "hipblasSgels";
        f64 => "hipblasDgels";
        Complex32 => "hipblasCgels";
        Complex64 => "hipblasZgels";
    }
}

/// `trmm` before ROCm 6.2, under the same names: it works in place.
#[allow(clippy::too_many_arguments, reason = "the function is C's")]
#[allow(clippy::cast_possible_truncation, reason = "the form says that the sizes fit")]
pub(crate) fn trmm_in_place(
    [side, uplo, t, diag]: [u32; 4],
    m: i64,
    n: i64,
    alpha: *const c_void,
    a: Lowered,
    b: Lowered,
) -> impl FnOnce(NonNull<c_void>, Form, Handle) -> Status + Clone {
    move |function, form, handle| {
        invoke!(function, handle, form, [
            side: flag, uplo: flag, t: flag, diag: flag, m: int, n: int, alpha: ptr, a: view, b: view,;
        ])
    }
}

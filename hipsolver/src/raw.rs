//! The C functions: their names, element types and parameters. All hipSOLVER names that this crate calls are here.
//!
//! A routine is a pair: the function that returns the size of its workspace, and the function that does the work. Kinds
//! of parameters: `int` (`int`), `size` (`size_t`), `flag` (an enum), `letter` (`signed char`), `ptr` (a pointer),
//! `view` (a pointer and a leading dimension), `strided` (and a stride), `apart` (a pointer and a stride), `long`
//! (`int64_t`), `real` (a number of the values' type), `typed` (the code of a type, a pointer, a leading dimension),
//! `column` (the code of a type, a pointer). Without parameters, the routine has no size function. The functions are
//! looked up by name in the library that [`hipsolver_sys`] has opened: their C ABI is the same in all releases. A test
//! compares each declaration with the one in `hipsolver-sys`.

use std::ffi::{c_schar, c_void};
use std::mem::transmute;
use std::ptr::NonNull;

use hip_linalg::__private::Slot;
use hip_linalg::{Lowered, Scalar};
use num_complex::{Complex32, Complex64};

pub(crate) use hipsolver_sys::{
    BINDING, HIPSOLVER_STATUS_INTERNAL_ERROR, HIPSOLVER_STATUS_NOT_INITIALIZED, HIPSOLVER_STATUS_NOT_SUPPORTED,
    HIPSOLVER_STATUS_SUCCESS, hipsolverStatus_t, load_error, symbol_error,
};

type Handle = *mut c_void;
type Status = hipsolverStatus_t;

/// A routine for one type.
pub struct Pair {
    pub(crate) size: Slot,
    pub(crate) work: Slot,
    /// Whether there is a size function.
    pub(crate) sized: bool,
    /// The names of both.
    pub names: [&'static str; 2],
}

macro_rules! parameter {
    (int) => { i32 };
    (size) => { usize };
    (flag) => { u32 };
    (letter) => { c_schar };
    (ptr) => { *mut c_void };
    (view) => { Lowered };
    (strided) => { Lowered };
    (apart) => { Lowered };
    (long) => { i64 };
    (real) => { R };
    (typed) => { Typed };
    (column) => { Typed };
}

/// Returns the first release that has the functions.
macro_rules! since {
    () => {
        "5.7"
    };
    ($release:literal) => {
        $release
    };
}

/// A matrix or vector with the code of its type.
#[derive(Clone, Copy)]
pub(crate) struct Typed(pub(crate) u32, pub(crate) Lowered);

macro_rules! invoke {
    ($f:ident $h:ident [$($t:ty,)*] [$($e:expr,)*] [$a:ident: view, $($rest:tt)*]) => {
        invoke!($f $h [$($t,)* *mut c_void, i32,] [$($e,)* $a.pointer, $a.step as i32,] [$($rest)*])
    };
    ($f:ident $h:ident [$($t:ty,)*] [$($e:expr,)*] [$a:ident: strided, $($rest:tt)*]) => {
        invoke!($f $h [$($t,)* *mut c_void, i32, i64,] [$($e,)* $a.pointer, $a.step as i32, $a.stride,] [$($rest)*])
    };
    ($f:ident $h:ident [$($t:ty,)*] [$($e:expr,)*] [$a:ident: apart, $($rest:tt)*]) => {
        invoke!($f $h [$($t,)* *mut c_void, i64,] [$($e,)* $a.pointer, $a.stride,] [$($rest)*])
    };
    ($f:ident $h:ident [$($t:ty,)*] [$($e:expr,)*] [$a:ident: typed, $($rest:tt)*]) => {
        invoke!($f $h [$($t,)* u32, *mut c_void, i64,] [$($e,)* $a.0, $a.1.pointer, $a.1.step,] [$($rest)*])
    };
    ($f:ident $h:ident [$($t:ty,)*] [$($e:expr,)*] [$a:ident: column, $($rest:tt)*]) => {
        invoke!($f $h [$($t,)* u32, *mut c_void,] [$($e,)* $a.0, $a.1.pointer,] [$($rest)*])
    };
    ($f:ident $h:ident [$($t:ty,)*] [$($e:expr,)*] [$a:ident: $kind:ident, $($rest:tt)*]) => {
        invoke!($f $h [$($t,)* parameter!($kind),] [$($e,)* $a,] [$($rest)*])
    };
    ($f:ident $h:ident [$($t:ty,)*] [$($e:expr,)*] []) => {{
        // SAFETY: the library has the function under a name of the table, and its C signature is the one that the table declares.
        let function = unsafe { transmute::<NonNull<c_void>, unsafe extern "C" fn(Handle, $($t),*) -> Status>($f) };
        // SAFETY: the caller's arguments.
        unsafe { function($h, $($e),*) }
    }};
}

/// A routine of the table, for tests and for the list of functions.
#[derive(Debug)]
pub struct Routine {
    /// The parameters of both functions.
    pub parameters: [&'static str; 2],
    /// The names of both functions by type.
    pub functions: fn() -> Vec<&'static [&'static str; 2]>,
}

macro_rules! routines {
    ($(
        $(#[$doc:meta])*
        $trait:ident $(<$r:ident>)? $size:ident($($a:ident: $ak:ident),*)
        $work:ident($($b:ident: $bk:ident),*)
        $(since $since:literal)? { $($t:ty => $name:literal;)* }
    )*) => {
        $(
            $(#[$doc])*
            ///
            /// The functions of C:
            ///
            $(#[doc = concat!("- `", stringify!($t), "`: `", $name, "`")])*
            #[allow(unreachable_pub, reason = "those of functions for all types are in no bound")]
            pub trait $trait: Scalar {
                #[doc(hidden)]
                const SINCE: &'static str = since!($($since)?);
                #[doc(hidden)]
                const SIZED: bool = !stringify!($($a)*).is_empty();
                #[doc(hidden)]
                fn pair() -> &'static Pair;
            }
            $(
                impl $trait for $t {
                    fn pair() -> &'static Pair {
                        static PAIR: Pair = Pair {
                            size: Slot::new(concat!($name, "_bufferSize\0"), <$t as $trait>::SINCE),
                            work: Slot::new(concat!($name, "\0"), <$t as $trait>::SINCE),
                            sized: <$t as $trait>::SIZED,
                            names: [concat!($name, "_bufferSize"), $name],
                        };
                        &PAIR
                    }
                }
            )*

            /// Returns the size query with these arguments.
            #[allow(clippy::too_many_arguments, reason = "the function is C's")]
            #[allow(clippy::cast_possible_truncation, reason = "sizes are checked to fit")]
            pub(crate) fn $size$(<$r: Copy>)?($($a: parameter!($ak)),*) -> impl FnOnce(NonNull<c_void>, Handle) -> Status {
                move |function, handle| invoke!(function handle [] [] [$($a: $ak,)*])
            }

            /// Returns the call, with these arguments.
            #[allow(clippy::too_many_arguments, reason = "the function is C's")]
            #[allow(clippy::cast_possible_truncation, reason = "sizes are checked to fit")]
            pub(crate) fn $work$(<$r: Copy>)?($($b: parameter!($bk)),*) -> impl FnOnce(NonNull<c_void>, Handle) -> Status {
                move |function, handle| invoke!(function handle [] [] [$($b: $bk,)*])
            }
        )*

        /// All routines.
        pub static ROUTINES: &[(&str, Routine)] = &[$((stringify!($work), Routine {
            parameters: [concat!($(stringify!($ak), " "),*), concat!($(stringify!($bk), " "),*)],
            functions: || vec![$(&<$t as $trait>::pair().names),*],
        })),*];
    };
}

routines! {
    /// Element types of [`Solver::potrf`](crate::Solver::potrf): Cholesky factorizations.
    Potrf potrf_size(uplo: flag, n: int, a: view, lwork: ptr)
        potrf(uplo: flag, n: int, a: view, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSpotrf"; f64 => "hipsolverDpotrf"; Complex32 => "hipsolverCpotrf"; Complex64 => "hipsolverZpotrf"; }
    /// Element types of [`Solver::potrf`](crate::Solver::potrf): batches of Cholesky factorizations.
    PotrfBatched potrf_batched_size(uplo: flag, n: int, a: view, lwork: ptr, count: int)
        potrf_batched(uplo: flag, n: int, a: view, work: ptr, lwork: int, info: ptr, count: int)
        { f32 => "hipsolverSpotrfBatched"; f64 => "hipsolverDpotrfBatched"; Complex32 => "hipsolverCpotrfBatched"; Complex64 => "hipsolverZpotrfBatched"; }
    /// Element types of [`Solver::potrs`](crate::Solver::potrs): solves from Cholesky factors.
    Potrs potrs_size(uplo: flag, n: int, nrhs: int, a: view, b: view, lwork: ptr)
        potrs(uplo: flag, n: int, nrhs: int, a: view, b: view, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSpotrs"; f64 => "hipsolverDpotrs"; Complex32 => "hipsolverCpotrs"; Complex64 => "hipsolverZpotrs"; }
    /// Element types of [`Solver::potrs`](crate::Solver::potrs): batches of solves from Cholesky factors.
    PotrsBatched potrs_batched_size(uplo: flag, n: int, nrhs: int, a: view, b: view, lwork: ptr, count: int)
        potrs_batched(uplo: flag, n: int, nrhs: int, a: view, b: view, work: ptr, lwork: int, info: ptr, count: int)
        { f32 => "hipsolverSpotrsBatched"; f64 => "hipsolverDpotrsBatched"; Complex32 => "hipsolverCpotrsBatched"; Complex64 => "hipsolverZpotrsBatched"; }
    /// Element types of [`Solver::potri`](crate::Solver::potri): inverses from Cholesky factors.
    Potri potri_size(uplo: flag, n: int, a: view, lwork: ptr)
        potri(uplo: flag, n: int, a: view, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSpotri"; f64 => "hipsolverDpotri"; Complex32 => "hipsolverCpotri"; Complex64 => "hipsolverZpotri"; }
    /// Element types of [`Solver::getrf`](crate::Solver::getrf): LU factorizations.
    Getrf getrf_size(m: int, n: int, a: view, lwork: ptr)
        getrf(m: int, n: int, a: view, work: ptr, lwork: int, pivots: ptr, info: ptr)
        { f32 => "hipsolverSgetrf"; f64 => "hipsolverDgetrf"; Complex32 => "hipsolverCgetrf"; Complex64 => "hipsolverZgetrf"; }
    /// Element types of [`Solver::getrs`](crate::Solver::getrs): solves from LU factors.
    Getrs getrs_size(op: flag, n: int, nrhs: int, a: view, pivots: ptr, b: view, lwork: ptr)
        getrs(op: flag, n: int, nrhs: int, a: view, pivots: ptr, b: view, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSgetrs"; f64 => "hipsolverDgetrs"; Complex32 => "hipsolverCgetrs"; Complex64 => "hipsolverZgetrs"; }
    /// Element types of [`Solver::geqrf`](crate::Solver::geqrf): QR factorizations.
    Geqrf geqrf_size(m: int, n: int, a: view, lwork: ptr)
        geqrf(m: int, n: int, a: view, tau: ptr, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSgeqrf"; f64 => "hipsolverDgeqrf"; Complex32 => "hipsolverCgeqrf"; Complex64 => "hipsolverZgeqrf"; }
    /// Element types of [`Solver::orgqr`](crate::Solver::orgqr): Q of QR factorizations.
    Orgqr orgqr_size(m: int, n: int, k: int, a: view, tau: ptr, lwork: ptr)
        orgqr(m: int, n: int, k: int, a: view, tau: ptr, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSorgqr"; f64 => "hipsolverDorgqr"; Complex32 => "hipsolverCungqr"; Complex64 => "hipsolverZungqr"; }
    /// Element types of [`Solver::ormqr`](crate::Solver::ormqr): products with the Q of QR factorizations.
    Ormqr ormqr_size(side: flag, op: flag, m: int, n: int, k: int, a: view, tau: ptr, c: view, lwork: ptr)
        ormqr(side: flag, op: flag, m: int, n: int, k: int, a: view, tau: ptr, c: view, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSormqr"; f64 => "hipsolverDormqr"; Complex32 => "hipsolverCunmqr"; Complex64 => "hipsolverZunmqr"; }
    /// Element types of [`Solver::gels`](crate::Solver::gels): least squares.
    Gels gels_size(m: int, n: int, nrhs: int, a: view, b: view, x: view, lwork: ptr)
        gels(m: int, n: int, nrhs: int, a: view, b: view, x: view, work: ptr, lwork: size, iterations: ptr, info: ptr)
        { f32 => "hipsolverSSgels"; f64 => "hipsolverDDgels"; Complex32 => "hipsolverCCgels"; Complex64 => "hipsolverZZgels"; }
    /// Element types of [`Solver::syevd`](crate::Solver::syevd): eigenvalues of symmetric and Hermitian matrices.
    Syevd syevd_size(vectors: flag, uplo: flag, n: int, a: view, values: ptr, lwork: ptr)
        syevd(vectors: flag, uplo: flag, n: int, a: view, values: ptr, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSsyevd"; f64 => "hipsolverDsyevd"; Complex32 => "hipsolverCheevd"; Complex64 => "hipsolverZheevd"; }
    /// Element types of [`Solver::syevj`](crate::Solver::syevj): eigenvalues of symmetric and Hermitian matrices with
    /// Jacobi's method.
    Syevj syevj_size(vectors: flag, uplo: flag, n: int, a: view, values: ptr, lwork: ptr, parameters: ptr)
        syevj(vectors: flag, uplo: flag, n: int, a: view, values: ptr, work: ptr, lwork: int, info: ptr, parameters: ptr)
        { f32 => "hipsolverSsyevj"; f64 => "hipsolverDsyevj"; Complex32 => "hipsolverCheevj"; Complex64 => "hipsolverZheevj"; }
    /// Element types of [`Solver::syevj`](crate::Solver::syevj): batches of eigenvalues with Jacobi's method.
    SyevjBatched syevj_batched_size(vectors: flag, uplo: flag, n: int, a: view, values: ptr, lwork: ptr, parameters: ptr, count: int)
        syevj_batched(vectors: flag, uplo: flag, n: int, a: view, values: ptr, work: ptr, lwork: int, info: ptr, parameters: ptr, count: int)
        { f32 => "hipsolverSsyevjBatched"; f64 => "hipsolverDsyevjBatched"; Complex32 => "hipsolverCheevjBatched"; Complex64 => "hipsolverZheevjBatched"; }
    /// Element types of [`Solver::sygvd`](crate::Solver::sygvd): generalized eigenvalues of symmetric and Hermitian
    /// matrices.
    Sygvd sygvd_size(kind: flag, vectors: flag, uplo: flag, n: int, a: view, b: view, values: ptr, lwork: ptr)
        sygvd(kind: flag, vectors: flag, uplo: flag, n: int, a: view, b: view, values: ptr, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSsygvd"; f64 => "hipsolverDsygvd"; Complex32 => "hipsolverChegvd"; Complex64 => "hipsolverZhegvd"; }
    /// Element types of [`Solver::gesvd`](crate::Solver::gesvd): singular values.
    Gesvd gesvd_size(jobu: letter, jobv: letter, m: int, n: int, lwork: ptr)
        gesvd(jobu: letter, jobv: letter, m: int, n: int, a: view, s: ptr, u: view, v: view, work: ptr, lwork: int, rwork: ptr, info: ptr)
        { f32 => "hipsolverSgesvd"; f64 => "hipsolverDgesvd"; Complex32 => "hipsolverCgesvd"; Complex64 => "hipsolverZgesvd"; }
    /// Element types of [`Solver::gesvdj`](crate::Solver::gesvdj): singular values with Jacobi's method.
    Gesvdj gesvdj_size(vectors: flag, economy: int, m: int, n: int, a: view, s: ptr, u: view, v: view, lwork: ptr, parameters: ptr)
        gesvdj(vectors: flag, economy: int, m: int, n: int, a: view, s: ptr, u: view, v: view, work: ptr, lwork: int, info: ptr, parameters: ptr)
        { f32 => "hipsolverSgesvdj"; f64 => "hipsolverDgesvdj"; Complex32 => "hipsolverCgesvdj"; Complex64 => "hipsolverZgesvdj"; }
    /// Element types of [`Solver::gesvdj_batched`](crate::Solver::gesvdj_batched): batches of singular values with
    /// Jacobi's method.
    GesvdjBatched gesvdj_batched_size(vectors: flag, m: int, n: int, a: view, s: ptr, u: view, v: view, lwork: ptr, parameters: ptr, count: int)
        gesvdj_batched(vectors: flag, m: int, n: int, a: view, s: ptr, u: view, v: view, work: ptr, lwork: int, info: ptr, parameters: ptr, count: int)
        { f32 => "hipsolverSgesvdjBatched"; f64 => "hipsolverDgesvdjBatched"; Complex32 => "hipsolverCgesvdjBatched"; Complex64 => "hipsolverZgesvdjBatched"; }
    /// Element types of [`Solver::gesv`](crate::Solver::gesv): solves of systems.
    Gesv gesv_size(n: int, nrhs: int, a: view, pivots: ptr, b: view, x: view, lwork: ptr)
        gesv(n: int, nrhs: int, a: view, pivots: ptr, b: view, x: view, work: ptr, lwork: size, iterations: ptr, info: ptr)
        { f32 => "hipsolverSSgesv"; f64 => "hipsolverDDgesv"; Complex32 => "hipsolverCCgesv"; Complex64 => "hipsolverZZgesv"; }
    /// Element types of [`Solver::sytrd`](crate::Solver::sytrd): reductions to tridiagonal form.
    Sytrd sytrd_size(uplo: flag, n: int, a: view, d: ptr, e: ptr, tau: ptr, lwork: ptr)
        sytrd(uplo: flag, n: int, a: view, d: ptr, e: ptr, tau: ptr, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSsytrd"; f64 => "hipsolverDsytrd"; Complex32 => "hipsolverChetrd"; Complex64 => "hipsolverZhetrd"; }
    /// Element types of [`Solver::orgtr`](crate::Solver::orgtr): Q of reductions to tridiagonal form.
    Orgtr orgtr_size(uplo: flag, n: int, a: view, tau: ptr, lwork: ptr)
        orgtr(uplo: flag, n: int, a: view, tau: ptr, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSorgtr"; f64 => "hipsolverDorgtr"; Complex32 => "hipsolverCungtr"; Complex64 => "hipsolverZungtr"; }
    /// Element types of [`Solver::ormtr`](crate::Solver::ormtr): products with the Q of reductions to tridiagonal form.
    Ormtr ormtr_size(side: flag, uplo: flag, op: flag, m: int, n: int, a: view, tau: ptr, c: view, lwork: ptr)
        ormtr(side: flag, uplo: flag, op: flag, m: int, n: int, a: view, tau: ptr, c: view, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSormtr"; f64 => "hipsolverDormtr"; Complex32 => "hipsolverCunmtr"; Complex64 => "hipsolverZunmtr"; }
    /// Element types of [`Solver::gebrd`](crate::Solver::gebrd): reductions to bidiagonal form.
    Gebrd gebrd_size(m: int, n: int, lwork: ptr)
        gebrd(m: int, n: int, a: view, d: ptr, e: ptr, tauq: ptr, taup: ptr, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSgebrd"; f64 => "hipsolverDgebrd"; Complex32 => "hipsolverCgebrd"; Complex64 => "hipsolverZgebrd"; }
    /// Element types of [`Solver::orgbr`](crate::Solver::orgbr): Q and P of reductions to bidiagonal form.
    Orgbr orgbr_size(side: flag, m: int, n: int, k: int, a: view, tau: ptr, lwork: ptr)
        orgbr(side: flag, m: int, n: int, k: int, a: view, tau: ptr, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSorgbr"; f64 => "hipsolverDorgbr"; Complex32 => "hipsolverCungbr"; Complex64 => "hipsolverZungbr"; }
    /// Element types of [`Solver::sytrf`](crate::Solver::sytrf): factorizations of symmetric indefinite matrices.
    Sytrf sytrf_size(n: int, a: view, lwork: ptr)
        sytrf(uplo: flag, n: int, a: view, pivots: ptr, work: ptr, lwork: int, info: ptr)
        { f32 => "hipsolverSsytrf"; f64 => "hipsolverDsytrf"; Complex32 => "hipsolverCsytrf"; Complex64 => "hipsolverZsytrf"; }
    /// Element types of [`Solver::sygvj`](crate::Solver::sygvj): generalized eigenvalues with Jacobi's method.
    Sygvj sygvj_size(kind: flag, vectors: flag, uplo: flag, n: int, a: view, b: view, values: ptr, lwork: ptr, parameters: ptr)
        sygvj(kind: flag, vectors: flag, uplo: flag, n: int, a: view, b: view, values: ptr, work: ptr, lwork: int, info: ptr, parameters: ptr)
        { f32 => "hipsolverSsygvj"; f64 => "hipsolverDsygvj"; Complex32 => "hipsolverChegvj"; Complex64 => "hipsolverZhegvj"; }
    /// Element types of [`Solver::syevdx`](crate::Solver::syevdx): some of the eigenvalues of symmetric and Hermitian
    /// matrices.
    Syevdx<R> syevdx_size(vectors: flag, range: flag, uplo: flag, n: int, a: view, vl: real, vu: real, il: int, iu: int, found: ptr, values: ptr, lwork: ptr)
        syevdx(vectors: flag, range: flag, uplo: flag, n: int, a: view, vl: real, vu: real, il: int, iu: int, found: ptr, values: ptr, work: ptr, lwork: int, info: ptr)
        since "6.2" { f32 => "hipsolverSsyevdx"; f64 => "hipsolverDsyevdx"; Complex32 => "hipsolverCheevdx"; Complex64 => "hipsolverZheevdx"; }
    /// Element types of [`Solver::sygvdx`](crate::Solver::sygvdx): some of the generalized eigenvalues of symmetric and
    /// Hermitian matrices.
    Sygvdx<R> sygvdx_size(kind: flag, vectors: flag, range: flag, uplo: flag, n: int, a: view, b: view, vl: real, vu: real, il: int, iu: int, found: ptr, values: ptr, lwork: ptr)
        sygvdx(kind: flag, vectors: flag, range: flag, uplo: flag, n: int, a: view, b: view, vl: real, vu: real, il: int, iu: int, found: ptr, values: ptr, work: ptr, lwork: int, info: ptr)
        since "6.2" { f32 => "hipsolverSsygvdx"; f64 => "hipsolverDsygvdx"; Complex32 => "hipsolverChegvdx"; Complex64 => "hipsolverZhegvdx"; }
    /// Element types of [`Solver::gesvda_batched`](crate::Solver::gesvda_batched): largest singular values of batches.
    GesvdaBatched gesvda_size(vectors: flag, rank: int, m: int, n: int, a: strided, s: apart, u: strided, v: strided, lwork: ptr, count: int)
        gesvda(vectors: flag, rank: int, m: int, n: int, a: strided, s: apart, u: strided, v: strided, work: ptr, lwork: int, info: ptr, residuals: ptr, count: int)
        { f32 => "hipsolverDnSgesvdaStridedBatched"; f64 => "hipsolverDnDgesvdaStridedBatched"; Complex32 => "hipsolverDnCgesvdaStridedBatched"; Complex64 => "hipsolverDnZgesvdaStridedBatched"; }
    /// Cholesky factorizations with 64-bit sizes: for all types, which are passed as codes.
    Xpotrf xpotrf_size(parameters: ptr, uplo: flag, n: long, a: typed, compute: flag, lwork: ptr, hostlwork: ptr)
        xpotrf(parameters: ptr, uplo: flag, n: long, a: typed, compute: flag, work: ptr, lwork: size, host: ptr, hostlwork: size, info: ptr)
        since "6.3" { f32 => "hipsolverDnXpotrf"; }
    /// LU factorizations with 64-bit sizes and pivots, in the same way.
    Xgetrf xgetrf_size(parameters: ptr, m: long, n: long, a: typed, compute: flag, lwork: ptr, hostlwork: ptr)
        xgetrf(parameters: ptr, m: long, n: long, a: typed, pivots: ptr, compute: flag, work: ptr, lwork: size, host: ptr, hostlwork: size, info: ptr)
        since "6.2" { f32 => "hipsolverDnXgetrf"; }
    /// Solves with LU factors with 64-bit sizes and pivots, in the same way. The library needs no workspace.
    Xgetrs xgetrs_size()
        xgetrs(parameters: ptr, op: flag, n: long, nrhs: long, a: typed, pivots: ptr, b: typed, info: ptr)
        since "6.2" { f32 => "hipsolverDnXgetrs"; }
    /// QR factorizations with 64-bit sizes, in the same way.
    Xgeqrf xgeqrf_size(parameters: ptr, m: long, n: long, a: typed, tau: column, compute: flag, lwork: ptr, hostlwork: ptr)
        xgeqrf(parameters: ptr, m: long, n: long, a: typed, tau: column, compute: flag, work: ptr, lwork: size, host: ptr, hostlwork: size, info: ptr)
        since "6.3" { f32 => "hipsolverDnXgeqrf"; }
}

macro_rules! functions {
    ($(fn $name:ident($($parameter:ident: $type:ty),* $(,)?) $(since $since:literal)?;)*) => {$(
        /// The C function.
        #[allow(non_snake_case, reason = "names are C's")]
        #[allow(clippy::too_many_arguments, reason = "the function is C's")]
        pub(crate) unsafe fn $name($($parameter: $type),*) -> Status {
            static SLOT: Slot = Slot::new(concat!(stringify!($name), "\0"), since!($($since)?));
            match SLOT.get(&BINDING) {
                Ok(function) => {
                    // SAFETY: the library has the function under this name, and its C signature is the one declared here.
                    let function = unsafe { transmute::<NonNull<c_void>, unsafe extern "C" fn($($type),*) -> Status>(function) };
                    // SAFETY: the caller keeps the function's contract.
                    unsafe { function($($parameter),*) }
                }
                Err(why) => hipsolver_sys::MissingValue::missing(why),
            }
        }
    )*
        /// The functions' names, and the types of their parameters.
        pub static FUNCTIONS: &[(&str, &[&str])] = &[$((stringify!($name), &[$(stringify!($type)),*])),*];
    };
}

/// A function of rocBLAS, whose handles hipSOLVER uses: sets the memory for calls without a workspace of their own.
///
/// # Safety
/// The handle must be alive, and the memory on its device. The memory must stay until a call is made with another
/// workspace.
pub(crate) unsafe fn rocblas_set_workspace(handle: Handle, memory: *mut c_void, bytes: usize) -> Status {
    static SLOT: Slot = Slot::new("rocblas_set_workspace\0", "5.7");
    match SLOT.get(&BINDING) {
        Ok(function) => {
            // SAFETY: rocBLAS has the function under this name, and its C signature is the one declared here.
            let function = unsafe {
                transmute::<NonNull<c_void>, unsafe extern "C" fn(Handle, *mut c_void, usize) -> Status>(function)
            };
            // SAFETY: the caller keeps the function's contract.
            unsafe { function(handle, memory, bytes) }
        }
        Err(why) => hipsolver_sys::MissingValue::missing(why),
    }
}

functions! {
    fn hipsolverCreate(handle: *mut Handle);
    fn hipsolverDestroy(handle: Handle);
    fn hipsolverSetStream(handle: Handle, stream: hip::sys::hipStream_t);
    fn hipsolverCreateSyevjInfo(info: *mut *mut c_void);
    fn hipsolverDestroySyevjInfo(info: *mut c_void);
    fn hipsolverXsyevjSetTolerance(info: *mut c_void, tolerance: f64);
    fn hipsolverXsyevjSetMaxSweeps(info: *mut c_void, sweeps: i32);
    fn hipsolverXsyevjSetSortEig(info: *mut c_void, sort: i32);
    fn hipsolverCreateGesvdjInfo(info: *mut *mut c_void);
    fn hipsolverDestroyGesvdjInfo(info: *mut c_void);
    fn hipsolverXgesvdjSetTolerance(info: *mut c_void, tolerance: f64);
    fn hipsolverXgesvdjSetMaxSweeps(info: *mut c_void, sweeps: i32);
    fn hipsolverXgesvdjSetSortEig(info: *mut c_void, sort: i32);
    fn hipsolverXsyevjGetResidual(handle: Handle, info: *mut c_void, residual: *mut f64);
    fn hipsolverXsyevjGetSweeps(handle: Handle, info: *mut c_void, sweeps: *mut i32);
    fn hipsolverXgesvdjGetResidual(handle: Handle, info: *mut c_void, residual: *mut f64);
    fn hipsolverXgesvdjGetSweeps(handle: Handle, info: *mut c_void, sweeps: *mut i32);
    fn hipsolverGetDeterministicMode(handle: Handle, mode: *mut u32) since "6.3";
    fn hipsolverSetDeterministicMode(handle: Handle, mode: u32) since "6.3";
    fn hipsolverDnCreateParams(parameters: *mut *mut c_void) since "6.2";
    fn hipsolverDnDestroyParams(parameters: *mut c_void) since "6.2";
}

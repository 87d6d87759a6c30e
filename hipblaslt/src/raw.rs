//! The C functions. All hipBLASLt names that this crate calls are here; they are looked up by name in the library that
//! [`hipblaslt_sys`] has opened.

use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::NonNull;

use hip::sys::hipStream_t;
use hip_linalg::__private::Slot;

// The statuses are hipBLAS's.
pub(crate) use hipblas_sys::{
    HIPBLAS_STATUS_NOT_INITIALIZED, HIPBLAS_STATUS_NOT_SUPPORTED, HIPBLAS_STATUS_SUCCESS, hipblasStatus_t,
};
pub(crate) use hipblaslt_sys::{BINDING, load_error, symbol_error};

/// An algorithm, which the library fills in.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Algo {
    pub(crate) data: [u8; 16],
    pub(crate) max_workspace_bytes: usize,
}

/// The heuristic's result for an algorithm.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct HeuristicResult {
    pub(crate) algo: Algo,
    pub(crate) workspace: usize,
    pub(crate) state: u32,
    pub(crate) waves: f32,
    pub(crate) reserved: [c_int; 4],
}

/// Zero bytes, the initial value in the C examples.
pub(crate) const NO_RESULT: HeuristicResult = HeuristicResult {
    algo: Algo { data: [0; 16], max_workspace_bytes: 0 },
    workspace: 0,
    state: 0,
    waves: 0.0,
    reserved: [0; 4],
};

/// Returns the first release that has a function.
macro_rules! since {
    () => {
        "6.2"
    };
    ($release:literal) => {
        $release
    };
}

macro_rules! functions {
    ($(fn $name:ident($($parameter:ident: $type:ty),* $(,)?) $(since $since:literal)?;)*) => {$(
        /// The C function.
        #[allow(non_snake_case, reason = "names are C's")]
        #[allow(clippy::too_many_arguments, reason = "the function is C's")]
        pub(crate) unsafe fn $name($($parameter: $type),*) -> hipblasStatus_t {
            static SLOT: Slot = Slot::new(concat!(stringify!($name), "\0"), since!($($since)?));
            match SLOT.get(&BINDING) {
                Ok(function) => {
                    // SAFETY: the library has the function under this name, and its C signature is the one declared here.
                    let function = unsafe {
                        transmute::<NonNull<c_void>, unsafe extern "C" fn($($type),*) -> hipblasStatus_t>(function)
                    };
                    // SAFETY: the caller keeps the function's contract.
                    unsafe { function($($parameter),*) }
                }
                Err(why) => hipblaslt_sys::MissingValue::missing(why),
            }
        }
    )*
        /// The functions' names, and the types of their parameters.
        pub static FUNCTIONS: &[(&str, &[&str])] = &[$((stringify!($name), &[$(stringify!($type)),*])),*];
    };
}

type Opaque = *mut c_void;

functions! {
    fn hipblasLtCreate(handle: *mut Opaque);
    fn hipblasLtDestroy(handle: Opaque);
    fn hipblasLtGetVersion(handle: Opaque, version: *mut c_int);
    fn hipblasLtGetGitRevision(handle: Opaque, revision: *mut c_char);
    fn hipblasLtGetArchName(name: *mut *mut c_char);
    fn hipblasLtGetSmCountTarget(handle: Opaque, count: *mut i32) since "10.0";
    fn hipblasLtSetSmCountTarget(handle: Opaque, count: i32) since "10.0";
    fn hipblasLtCheckNumericsDrain(handle: Opaque, first: *mut u32) since "10.0";
    fn hipblasLtMatrixLayoutCreate(layout: *mut Opaque, kind: u32, rows: u64, cols: u64, ld: i64);
    fn hipblasLtMatrixLayoutDestroy(layout: Opaque);
    fn hipblasLtMatrixLayoutSetAttribute(layout: Opaque, attribute: u32, value: *const c_void, bytes: usize);
    fn hipblasLtMatrixLayoutGetAttribute(
        layout: Opaque, attribute: u32, value: *mut c_void, bytes: usize, written: *mut usize,
    );
    fn hipblasLtMatmulDescCreate(desc: *mut Opaque, compute: u32, scale: u32);
    fn hipblasLtMatmulDescDestroy(desc: Opaque);
    fn hipblasLtMatmulDescSetAttribute(desc: Opaque, attribute: u32, value: *const c_void, bytes: usize);
    fn hipblasLtMatmulDescGetAttribute(
        desc: Opaque, attribute: u32, value: *mut c_void, bytes: usize, written: *mut usize,
    );
    fn hipblasLtMatmulPreferenceCreate(preference: *mut Opaque);
    fn hipblasLtMatmulPreferenceDestroy(preference: Opaque);
    fn hipblasLtMatmulPreferenceSetAttribute(preference: Opaque, attribute: u32, value: *const c_void, bytes: usize);
    fn hipblasLtMatmulPreferenceGetAttribute(
        preference: Opaque, attribute: u32, value: *mut c_void, bytes: usize, written: *mut usize,
    );
    fn hipblasLtMatmulAlgoGetHeuristic(
        handle: Opaque, desc: Opaque, a: Opaque, b: Opaque, c: Opaque, d: Opaque, preference: Opaque, requested: c_int,
        results: *mut HeuristicResult, returned: *mut c_int,
    );
    fn hipblasLtMatrixTransformDescCreate(desc: *mut Opaque, scale: u32);
    fn hipblasLtMatrixTransformDescDestroy(desc: Opaque);
    fn hipblasLtMatrixTransformDescSetAttribute(desc: Opaque, attribute: u32, value: *const c_void, bytes: usize);
    fn hipblasLtMatrixTransformDescGetAttribute(
        desc: Opaque, attribute: u32, value: *mut c_void, bytes: usize, written: *mut usize,
    );
    fn hipblasLtMatrixTransform(
        handle: Opaque, desc: Opaque, alpha: *const c_void, a: *const c_void, a_layout: Opaque, beta: *const c_void,
        b: *const c_void, b_layout: Opaque, c: *mut c_void, c_layout: Opaque, stream: hipStream_t,
    );
    fn hipblasLtMatmul(
        handle: Opaque, desc: Opaque, alpha: *const c_void, a: *const c_void, a_layout: Opaque, b: *const c_void,
        b_layout: Opaque, beta: *const c_void, c: *const c_void, c_layout: Opaque, d: *mut c_void, d_layout: Opaque,
        algo: *const Algo, workspace: *mut c_void, workspace_bytes: usize, stream: hipStream_t,
    );
}

//! The C functions. All hipFFT names that this crate calls are here; they are looked up by name in the library that
//! [`hipfft_sys`] has opened.

use std::ffi::{c_int, c_longlong, c_void};
use std::mem::transmute;
use std::ptr::NonNull;

use hip::sys::hipStream_t;
use hip_linalg::__private::Slot;

pub(crate) use hipfft_sys::{
    BINDING, HIPFFT_INTERNAL_ERROR, HIPFFT_NOT_IMPLEMENTED, HIPFFT_SUCCESS, hipfftResult_t, load_error, symbol_error,
};

macro_rules! functions {
    ($(fn $name:ident($($parameter:ident: $type:ty),* $(,)?);)*) => {$(
        /// The C function.
        #[allow(non_snake_case, reason = "names are C's")]
        #[allow(clippy::too_many_arguments, reason = "the function is C's")]
        pub(crate) unsafe fn $name($($parameter: $type),*) -> hipfftResult_t {
            static SLOT: Slot = Slot::new(concat!(stringify!($name), "\0"), "5.7");
            match SLOT.get(&BINDING) {
                Ok(function) => {
                    // SAFETY: the library has the function under this name, and its C signature is the one declared here.
                    let function = unsafe {
                        transmute::<NonNull<c_void>, unsafe extern "C" fn($($type),*) -> hipfftResult_t>(function)
                    };
                    // SAFETY: the caller keeps the function's contract.
                    unsafe { function($($parameter),*) }
                }
                Err(why) => hipfft_sys::MissingValue::missing(why),
            }
        }
    )*
        /// The functions' names, and the types of their parameters.
        pub static FUNCTIONS: &[(&str, &[&str])] = &[$((stringify!($name), &[$(stringify!($type)),*])),*];
    };
}

type Opaque = *mut c_void;
type Ints = *mut c_int;
type Longs = *mut c_longlong;
type Bytes = *mut usize;

functions! {
    fn hipfftCreate(plan: *mut Opaque);
    fn hipfftDestroy(plan: Opaque);
    fn hipfftSetStream(plan: Opaque, stream: hipStream_t);
    fn hipfftSetAutoAllocation(plan: Opaque, on: c_int);
    fn hipfftSetWorkArea(plan: Opaque, area: *mut c_void);
    fn hipfftExtPlanScaleFactor(plan: Opaque, factor: f64);
    fn hipfftPlan1d(plan: *mut Opaque, nx: c_int, kind: u32, batch: c_int);
    fn hipfftPlan2d(plan: *mut Opaque, nx: c_int, ny: c_int, kind: u32);
    fn hipfftPlan3d(plan: *mut Opaque, nx: c_int, ny: c_int, nz: c_int, kind: u32);
    fn hipfftPlanMany(
        plan: *mut Opaque, rank: c_int, n: Ints, inembed: Ints, istride: c_int, idist: c_int, onembed: Ints, ostride: c_int,
        odist: c_int, kind: u32, batch: c_int,
    );
    fn hipfftMakePlan1d(plan: Opaque, nx: c_int, kind: u32, batch: c_int, size: Bytes);
    fn hipfftMakePlan2d(plan: Opaque, nx: c_int, ny: c_int, kind: u32, size: Bytes);
    fn hipfftMakePlan3d(plan: Opaque, nx: c_int, ny: c_int, nz: c_int, kind: u32, size: Bytes);
    fn hipfftMakePlanMany(
        plan: Opaque, rank: c_int, n: Ints, inembed: Ints, istride: c_int, idist: c_int, onembed: Ints, ostride: c_int,
        odist: c_int, kind: u32, batch: c_int, size: Bytes,
    );
    fn hipfftMakePlanMany64(
        plan: Opaque, rank: c_int, n: Longs, inembed: Longs, istride: c_longlong, idist: c_longlong, onembed: Longs,
        ostride: c_longlong, odist: c_longlong, kind: u32, batch: c_longlong, size: Bytes,
    );
    fn hipfftXtMakePlanMany(
        plan: Opaque, rank: c_int, n: Longs, inembed: Longs, istride: c_longlong, idist: c_longlong, input: u32,
        onembed: Longs, ostride: c_longlong, odist: c_longlong, output: u32, batch: c_longlong, size: Bytes, execution: u32,
    );
    fn hipfftEstimate1d(nx: c_int, kind: u32, batch: c_int, size: Bytes);
    fn hipfftEstimate2d(nx: c_int, ny: c_int, kind: u32, size: Bytes);
    fn hipfftEstimate3d(nx: c_int, ny: c_int, nz: c_int, kind: u32, size: Bytes);
    fn hipfftEstimateMany(
        rank: c_int, n: Ints, inembed: Ints, istride: c_int, idist: c_int, onembed: Ints, ostride: c_int, odist: c_int,
        kind: u32, batch: c_int, size: Bytes,
    );
    fn hipfftGetSize(plan: Opaque, size: Bytes);
    fn hipfftGetSize1d(plan: Opaque, nx: c_int, kind: u32, batch: c_int, size: Bytes);
    fn hipfftGetSize2d(plan: Opaque, nx: c_int, ny: c_int, kind: u32, size: Bytes);
    fn hipfftGetSize3d(plan: Opaque, nx: c_int, ny: c_int, nz: c_int, kind: u32, size: Bytes);
    fn hipfftGetSizeMany(
        plan: Opaque, rank: c_int, n: Ints, inembed: Ints, istride: c_int, idist: c_int, onembed: Ints, ostride: c_int,
        odist: c_int, kind: u32, batch: c_int, size: Bytes,
    );
    fn hipfftGetSizeMany64(
        plan: Opaque, rank: c_int, n: Longs, inembed: Longs, istride: c_longlong, idist: c_longlong, onembed: Longs,
        ostride: c_longlong, odist: c_longlong, kind: u32, batch: c_longlong, size: Bytes,
    );
    fn hipfftXtGetSizeMany(
        plan: Opaque, rank: c_int, n: Longs, inembed: Longs, istride: c_longlong, idist: c_longlong, input: u32,
        onembed: Longs, ostride: c_longlong, odist: c_longlong, output: u32, batch: c_longlong, size: Bytes, execution: u32,
    );
    fn hipfftExecC2C(plan: Opaque, input: *mut c_void, output: *mut c_void, direction: c_int);
    fn hipfftExecZ2Z(plan: Opaque, input: *mut c_void, output: *mut c_void, direction: c_int);
    fn hipfftExecR2C(plan: Opaque, input: *mut c_void, output: *mut c_void);
    fn hipfftExecD2Z(plan: Opaque, input: *mut c_void, output: *mut c_void);
    fn hipfftExecC2R(plan: Opaque, input: *mut c_void, output: *mut c_void);
    fn hipfftExecZ2D(plan: Opaque, input: *mut c_void, output: *mut c_void);
    fn hipfftXtExec(plan: Opaque, input: *mut c_void, output: *mut c_void, direction: c_int);
    fn hipfftXtSetCallback(plan: Opaque, functions: *mut *mut c_void, kind: u32, data: *mut *mut c_void);
    fn hipfftXtClearCallback(plan: Opaque, kind: u32);
    fn hipfftXtSetCallbackSharedSize(plan: Opaque, kind: u32, bytes: usize);
    fn hipfftXtSetGPUs(plan: Opaque, count: c_int, devices: Ints);
    fn hipfftXtMalloc(plan: Opaque, descriptor: *mut Opaque, format: u32);
    fn hipfftXtFree(descriptor: Opaque);
    fn hipfftXtMemcpy(plan: Opaque, to: *mut c_void, from: *mut c_void, kind: u32);
    fn hipfftXtExecDescriptor(plan: Opaque, input: Opaque, output: Opaque, direction: c_int);
    fn hipfftXtExecDescriptorC2C(plan: Opaque, input: Opaque, output: Opaque, direction: c_int);
    fn hipfftXtExecDescriptorZ2Z(plan: Opaque, input: Opaque, output: Opaque, direction: c_int);
    fn hipfftXtExecDescriptorR2C(plan: Opaque, input: Opaque, output: Opaque);
    fn hipfftXtExecDescriptorD2Z(plan: Opaque, input: Opaque, output: Opaque);
    fn hipfftXtExecDescriptorC2R(plan: Opaque, input: Opaque, output: Opaque);
    fn hipfftXtExecDescriptorZ2D(plan: Opaque, input: Opaque, output: Opaque);
    fn hipfftGetVersion(version: *mut c_int);
    fn hipfftGetProperty(property: u32, value: *mut c_int);
}

//! cuFFT functions that return results instead of statuses.
//!
//! `n` contains the sizes of the dimensions, the last of which is contiguous. `inembed` and `onembed` are the
//! dimensions of the arrays that contain the points; null for contiguous points, and strides and distances are then
//! ignored.

use core::ffi::{c_int, c_longlong, c_void};
use core::ptr::null_mut;

use super::sys;

pub use hipfft_sys::cuda::CufftError;

/// Defines functions that write one value, which is returned.
macro_rules! values {
    ($($(#[$attribute:meta])* $([$unsafe:ident])? $name:ident($($argument:ident: $ty:ty),* $(,)?) -> $result:ty = $first:expr, $function:ident($($passed:tt)*);)+) => {$(
        $(#[$attribute])*
        ///
        /// # Errors
        /// If hipFFT cannot be loaded, or rejects the arguments.
        #[allow(clippy::too_many_arguments, reason = "C's")]
        pub $($unsafe)? fn $name($($argument: $ty),*) -> Result<$result, CufftError> {
            let mut value: $result = $first;
            values!(@call value, $function, [] $($passed)*).result()?;
            Ok(value)
        }
    )+};
    (@call $value:ident, $function:ident, [$($done:tt)*] out $($rest:tt)*) => {
        values!(@call $value, $function, [$($done)* &mut $value] $($rest)*)
    };
    (@call $value:ident, $function:ident, [$($done:tt)*] $next:tt $($rest:tt)*) => {
        values!(@call $value, $function, [$($done)* $next] $($rest)*)
    };
    (@call $value:ident, $function:ident, [$($done:tt)*]) => {
        // SAFETY: room for the result; the caller ensures the rest.
        unsafe { sys::$function($($done)*) }
    };
}

values! {
    /// Creates a plan without a layout.
    create() -> sys::cufftHandle = null_mut(), cufftCreate(out);
    /// Estimates the bytes of workspace for `batch` transforms of `nx` points.
    estimate_1d(nx: c_int, type_: sys::cufftType, batch: c_int) -> usize = 0, cufftEstimate1d(nx, type_, batch, out);
    /// Estimates the bytes of workspace for a transform of `nx` × `ny` points.
    estimate_2d(nx: c_int, ny: c_int, type_: sys::cufftType) -> usize = 0, cufftEstimate2d(nx, ny, type_, out);
    /// Estimates the bytes of workspace for a transform of `nx` × `ny` × `nz` points.
    estimate_3d(nx: c_int, ny: c_int, nz: c_int, type_: sys::cufftType) -> usize = 0,
        cufftEstimate3d(nx, ny, nz, type_, out);
    /// Returns a part of the library's version.
    get_property(property: sys::libraryPropertyType) -> c_int = 0, cufftGetProperty(property, out);
    /// Returns the library's version.
    get_version() -> c_int = 0, cufftGetVersion(out);
    /// Makes a plan of `batch` transforms of `nx` points.
    plan_1d(nx: c_int, type_: sys::cufftType, batch: c_int) -> sys::cufftHandle = null_mut(),
        cufftPlan1d(out, nx, type_, batch);
    /// Makes a plan of a transform of `nx` × `ny` points.
    plan_2d(nx: c_int, ny: c_int, type_: sys::cufftType) -> sys::cufftHandle = null_mut(),
        cufftPlan2d(out, nx, ny, type_);
    /// Makes a plan of a transform of `nx` × `ny` × `nz` points.
    plan_3d(nx: c_int, ny: c_int, nz: c_int, type_: sys::cufftType) -> sys::cufftHandle = null_mut(),
        cufftPlan3d(out, nx, ny, nz, type_);
    /// Makes a plan of `batch` transforms of `rank` dimensions.
    ///
    /// # Safety
    /// Pointers must be valid for reads of `rank` elements, or null where null is allowed.
    [unsafe] plan_many(
        rank: c_int, n: *mut c_int, inembed: *mut c_int, istride: c_int, idist: c_int, onembed: *mut c_int,
        ostride: c_int, odist: c_int, type_: sys::cufftType, batch: c_int,
    ) -> sys::cufftHandle = null_mut(), cufftPlanMany(
        out, rank, n, inembed, istride, idist, onembed, ostride, odist, type_, batch
    );
    /// Estimates the bytes of workspace for `batch` transforms of `rank` dimensions.
    ///
    /// # Safety
    /// Pointers must be valid for reads of `rank` elements, or null where null is allowed.
    [unsafe] estimate_many(
        rank: c_int, n: *mut c_int, inembed: *mut c_int, istride: c_int, idist: c_int, onembed: *mut c_int,
        ostride: c_int, odist: c_int, type_: sys::cufftType, batch: c_int,
    ) -> usize = 0, cufftEstimateMany(
        rank, n, inembed, istride, idist, onembed, ostride, odist, type_, batch, out
    );
    /// Returns the bytes of workspace of a plan.
    ///
    /// # Safety
    /// The plan must be alive.
    [unsafe] get_size(plan: sys::cufftHandle) -> usize = 0, cufftGetSize(plan, out);
    /// Returns the bytes of workspace for `batch` transforms of `nx` points.
    ///
    /// # Safety
    /// The plan must be alive.
    [unsafe] get_size_1d(plan: sys::cufftHandle, nx: c_int, type_: sys::cufftType, batch: c_int) -> usize = 0,
        cufftGetSize1d(plan, nx, type_, batch, out);
    /// Returns the bytes of workspace for a transform of `nx` × `ny` points.
    ///
    /// # Safety
    /// The plan must be alive.
    [unsafe] get_size_2d(plan: sys::cufftHandle, nx: c_int, ny: c_int, type_: sys::cufftType) -> usize = 0,
        cufftGetSize2d(plan, nx, ny, type_, out);
    /// Returns the bytes of workspace for a transform of `nx` × `ny` × `nz` points.
    ///
    /// # Safety
    /// The plan must be alive.
    [unsafe] get_size_3d(
        plan: sys::cufftHandle, nx: c_int, ny: c_int, nz: c_int, type_: sys::cufftType,
    ) -> usize = 0, cufftGetSize3d(plan, nx, ny, nz, type_, out);
    /// Returns the bytes of workspace for `batch` transforms of `rank` dimensions.
    ///
    /// # Safety
    /// The plan must be alive, and pointers valid for reads of `rank` elements, or null where null is allowed.
    [unsafe] get_size_many(
        plan: sys::cufftHandle, rank: c_int, n: *mut c_int, inembed: *mut c_int, istride: c_int, idist: c_int,
        onembed: *mut c_int, ostride: c_int, odist: c_int, type_: sys::cufftType, batch: c_int,
    ) -> usize = 0, cufftGetSizeMany(
        plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type_, batch, out
    );
    /// Returns the bytes of workspace for `batch` transforms of `rank` dimensions.
    ///
    /// # Safety
    /// The plan must be alive, and pointers valid for reads of `rank` elements, or null where null is allowed.
    [unsafe] get_size_many64(
        plan: sys::cufftHandle, rank: c_int, n: *mut c_longlong, inembed: *mut c_longlong, istride: c_longlong,
        idist: c_longlong, onembed: *mut c_longlong, ostride: c_longlong, odist: c_longlong, type_: sys::cufftType,
        batch: c_longlong,
    ) -> usize = 0, cufftGetSizeMany64(
        plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type_, batch, out
    );
    /// Makes a created plan of `batch` transforms of `nx` points. Returns the bytes of its workspace.
    ///
    /// # Safety
    /// The plan must be alive.
    [unsafe] make_plan_1d(plan: sys::cufftHandle, nx: c_int, type_: sys::cufftType, batch: c_int) -> usize = 0,
        cufftMakePlan1d(plan, nx, type_, batch, out);
    /// Makes a created plan of a transform of `nx` × `ny` points. Returns the bytes of its workspace.
    ///
    /// # Safety
    /// The plan must be alive.
    [unsafe] make_plan_2d(plan: sys::cufftHandle, nx: c_int, ny: c_int, type_: sys::cufftType) -> usize = 0,
        cufftMakePlan2d(plan, nx, ny, type_, out);
    /// Makes a created plan of a transform of `nx` × `ny` × `nz` points. Returns the bytes of its workspace.
    ///
    /// # Safety
    /// The plan must be alive.
    [unsafe] make_plan_3d(
        plan: sys::cufftHandle, nx: c_int, ny: c_int, nz: c_int, type_: sys::cufftType,
    ) -> usize = 0, cufftMakePlan3d(plan, nx, ny, nz, type_, out);
    /// Makes a created plan of `batch` transforms of `rank` dimensions. Returns the bytes of its workspace.
    ///
    /// # Safety
    /// The plan must be alive, and pointers valid for reads of `rank` elements, or null where null is allowed.
    [unsafe] make_plan_many(
        plan: sys::cufftHandle, rank: c_int, n: *mut c_int, inembed: *mut c_int, istride: c_int, idist: c_int,
        onembed: *mut c_int, ostride: c_int, odist: c_int, type_: sys::cufftType, batch: c_int,
    ) -> usize = 0, cufftMakePlanMany(
        plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type_, batch, out
    );
    /// Makes a created plan of `batch` transforms of `rank` dimensions. Returns the bytes of its workspace.
    ///
    /// # Safety
    /// The plan must be alive, and pointers valid for reads of `rank` elements, or null where null is allowed.
    [unsafe] make_plan_many64(
        plan: sys::cufftHandle, rank: c_int, n: *mut c_longlong, inembed: *mut c_longlong, istride: c_longlong,
        idist: c_longlong, onembed: *mut c_longlong, ostride: c_longlong, odist: c_longlong, type_: sys::cufftType,
        batch: c_longlong,
    ) -> usize = 0, cufftMakePlanMany64(
        plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type_, batch, out
    );
}

/// Defines calls on a plan.
macro_rules! calls {
    ($($(#[$attribute:meta])* $name:ident($($argument:ident: $ty:ty),* $(,)?) = $function:ident($($passed:expr),*);)+) => {$(
        $(#[$attribute])*
        ///
        /// # Errors
        /// If the library returns an error.
        pub unsafe fn $name(plan: sys::cufftHandle, $($argument: $ty),*) -> Result<(), CufftError> {
            // SAFETY: the caller's contract.
            unsafe { sys::$function(plan $(, $passed)*) }.result()
        }
    )+};
}

calls! {
    /// Destroys a plan.
    ///
    /// # Safety
    /// The plan must be alive, and not used again.
    destroy() = cufftDestroy();
    /// Queues a complex transform in single precision: `direction` is −1 for forward, 1 for inverse.
    ///
    /// # Safety
    /// The plan must be alive, and pointers valid on the device for the plan's sizes.
    exec_c2c(idata: *mut sys::cufftComplex, odata: *mut sys::cufftComplex, direction: c_int) =
        cufftExecC2C(idata, odata, direction);
    /// Queues an inverse transform to real numbers in single precision. The input is overwritten.
    ///
    /// # Safety
    /// The plan must be alive, and pointers valid on the device for the plan's sizes.
    exec_c2r(idata: *mut sys::cufftComplex, odata: *mut sys::cufftReal) = cufftExecC2R(idata, odata);
    /// Queues a forward transform of real numbers in single precision.
    ///
    /// # Safety
    /// The plan must be alive, and pointers valid on the device for the plan's sizes.
    exec_r2c(idata: *mut sys::cufftReal, odata: *mut sys::cufftComplex) = cufftExecR2C(idata, odata);
    /// Queues a forward transform of real numbers in double precision.
    ///
    /// # Safety
    /// The plan must be alive, and pointers valid on the device for the plan's sizes.
    exec_d2z(idata: *mut sys::cufftDoubleReal, odata: *mut sys::cufftDoubleComplex) = cufftExecD2Z(idata, odata);
    /// Queues an inverse transform to real numbers in double precision. The input is overwritten.
    ///
    /// # Safety
    /// The plan must be alive, and pointers valid on the device for the plan's sizes.
    exec_z2d(idata: *mut sys::cufftDoubleComplex, odata: *mut sys::cufftDoubleReal) = cufftExecZ2D(idata, odata);
    /// Queues a complex transform in double precision: `direction` is −1 for forward, 1 for inverse.
    ///
    /// # Safety
    /// The plan must be alive, and pointers valid on the device for the plan's sizes.
    exec_z2z(idata: *mut sys::cufftDoubleComplex, odata: *mut sys::cufftDoubleComplex, direction: c_int) =
        cufftExecZ2Z(idata, odata, direction);
    /// Sets whether making the plan allocates its workspace.
    ///
    /// # Safety
    /// The plan must be alive.
    set_auto_allocation(auto_allocate: bool) = cufftSetAutoAllocation(c_int::from(auto_allocate));
    /// Sets the stream of a plan.
    ///
    /// # Safety
    /// The plan and the stream must be alive.
    set_stream(stream: sys::cudaStream_t) = cufftSetStream(stream);
    /// Sets the workspace of a plan.
    ///
    /// # Safety
    /// The plan must be alive, and the address valid on the device for the bytes of [`get_size`].
    set_work_area(work_area: *mut c_void) = cufftSetWorkArea(work_area);
}

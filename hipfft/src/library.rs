//! C plans: their creation and their requirements.

use std::ffi::c_void;
use std::ptr;

use hip::Device;
use hip::interop::wait_for_device;
use hip::sys::{self, hipStream_t};
use hip_linalg::Library;

use crate::layout::{Layout, Many};
use crate::raw::{self, hipfftResult_t};
use crate::transform::{Codes, Transform, codes};
use crate::{Error, Result, check, invalid};

pub(crate) struct HipFft;

impl Library for HipFft {
    type Error = Error;
    const SCALARS: bool = false;

    /// Creates a plan without a layout, whose workspace the caller provides.
    fn create() -> Result<*mut c_void> {
        let mut plan = ptr::null_mut();
        // SAFETY: the function writes a plan through a valid pointer.
        check(unsafe { raw::hipfftCreate(&mut plan) }, "hipfftCreate", || "a plan".to_owned())?;
        Ok(plan)
    }

    unsafe fn destroy(plan: *mut c_void) {
        // SAFETY: no arguments. If the device is lost, the plan is leaked.
        if unsafe { sys::hipDeviceSynchronize() } == sys::hipSuccess {
            // SAFETY: the caller's plan.
            let _ = unsafe { raw::hipfftDestroy(plan) };
        }
    }

    unsafe fn set_stream(plan: *mut c_void, stream: hipStream_t) -> Result<()> {
        // SAFETY: a plan that is alive, and a stream of its device.
        check(unsafe { raw::hipfftSetStream(plan, stream) }, "hipfftSetStream", || "a stream".to_owned())
    }
}

/// A plan that is destroyed on drop unless it is taken.
pub(crate) struct Made(pub(crate) *mut c_void);

impl Made {
    pub(crate) fn new() -> Result<Self> {
        HipFft::create().map(Self)
    }

    pub(crate) fn take(self) -> *mut c_void {
        let plan = self.0;
        std::mem::forget(self);
        plan
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the plan has not been used.
            unsafe { HipFft::destroy(self.0) };
        }
    }
}

/// Returns an error unless the device can run the transform. This check comes before the library call, because hipFFT
/// of 5.7 throws C++ exceptions for invalid sizes.
pub(crate) fn check_size<T: Transform>(device: &Device, layout: &Layout) -> Result<()> {
    hip::interop::expect_rocm("a library of ROCm on this backend")?;
    layout.check::<T>()?;
    let bytes = (layout.input_len::<T>() as u128 * size_of::<T::Input>() as u128)
        .max(layout.output_len::<T>() as u128 * size_of::<T::Output>() as u128);
    let total = device.memory_info()?.total;
    if bytes > u128::from(total) {
        let found = format!("{layout:?}, which has {bytes} bytes");
        return Err(invalid("the size of a transform", found, format!("at most the device's memory, {total} bytes")));
    }
    Ok(())
}

/// Returns a pointer to the arguments, or null.
fn embed<I>(side: Option<&mut [I; 3]>) -> *mut I {
    side.map_or(ptr::null_mut(), |embed| embed.as_mut_ptr())
}

/// Strides, distances and arrays of both sides for C; null and ones for a layout without gaps.
struct Sides<I> {
    embeds: [Option<[I; 3]>; 2],
    stride: [I; 2],
    distance: [I; 2],
}

impl<I: Copy> Sides<I> {
    fn of(many: &Many<I>) -> Self {
        let Some(sides) = many.sides else {
            return Self { embeds: [None; 2], stride: [many.one; 2], distance: [many.one; 2] };
        };
        let embeds = sides.map(|(embed, ..)| Some(embed));
        Self { embeds, stride: sides.map(|(_, stride, _)| stride), distance: sides.map(|(.., distance)| distance) }
    }
}

type Status = (hipfftResult_t, &'static str);

/// Makes one of the calls that take a layout: the one with the fewest parameters that can express it.
macro_rules! by_layout {
    ($layout:expr, $codes:expr, before: ($($before:expr),*), after: ($($after:expr),*),
        one $one:ident, two $two:ident, three $three:ident, many $many:ident,
        wide |$w:ident, $ws:ident| $wide:expr, typed |$t:ident, $ts:ident| $typed:expr) => {{
        let (layout, codes): (&Layout, Codes) = ($layout, $codes);
        match (codes.kind, layout.narrow()) {
            (None, _) => {
                let mut $t = layout.wide()?;
                let mut $ts = Sides::of(&$t);
                $typed
            }
            (Some(kind), Some(narrow)) => {
                let [x, y, z] = narrow.n;
                match (narrow.rank, narrow.sides.is_none(), narrow.batch) {
                    // SAFETY: the caller's plan, a transform type that the library has, and room for a size.
                    (1, true, batch) => (unsafe { raw::$one($($before,)* x, kind, batch $(, $after)*) }, stringify!($one)),
                    // SAFETY: the caller's plan, a transform type that the library has, and room for a size.
                    (2, true, 1) => (unsafe { raw::$two($($before,)* x, y, kind $(, $after)*) }, stringify!($two)),
                    // SAFETY: the caller's plan, a transform type that the library has, and room for a size.
                    (3, true, 1) => (unsafe { raw::$three($($before,)* x, y, z, kind $(, $after)*) }, stringify!($three)),
                    _ => {
                        let (mut n, mut sides) = (narrow.n, Sides::of(&narrow));
                        let [input, output] = &mut sides.embeds;
                        // SAFETY: as in the arms above; the arrays have as many lengths as there are dimensions.
                        let status = unsafe {
                            raw::$many($($before,)* narrow.rank, n.as_mut_ptr(), embed(input.as_mut()), sides.stride[0],
                                sides.distance[0], embed(output.as_mut()), sides.stride[1], sides.distance[1], kind,
                                narrow.batch $(, $after)*)
                        };
                        (status, stringify!($many))
                    }
                }
            }
            (Some(_), None) => {
                let mut $w = layout.wide()?;
                let mut $ws = Sides::of(&$w);
                $wide
            }
        }
    }};
}

fn asked<T: Transform>(layout: &Layout) -> String {
    format!("{:?}, {layout:?}", T::KIND)
}

/// Gives a plan a layout, and returns the bytes of its workspace.
///
/// # Safety
/// The plan must be new, and its device current.
pub(crate) unsafe fn make<T: Transform>(plan: *mut c_void, layout: &Layout) -> Result<usize> {
    let mut bytes = 0_usize;
    let codes = codes::<T>();
    let kind = codes.kind.unwrap_or_default();
    let (status, function): Status = by_layout!(layout, codes, before: (plan), after: (&mut bytes),
    one hipfftMakePlan1d, two hipfftMakePlan2d, three hipfftMakePlan3d, many hipfftMakePlanMany,
    wide |w, s| {
        let [input, output] = &mut s.embeds;
        // SAFETY: the caller's plan, and arrays of as many lengths as there are dimensions.
        let status = unsafe {
            raw::hipfftMakePlanMany64(plan, w.rank, w.n.as_mut_ptr(), embed(input.as_mut()), s.stride[0], s.distance[0],
                embed(output.as_mut()), s.stride[1], s.distance[1], kind, w.batch, &mut bytes)
        };
        (status, "hipfftMakePlanMany64")
    },
    typed |t, s| {
        let ([input, output], [from, to, execution]) = (&mut s.embeds, codes.types);
        // SAFETY: the caller's plan, and arrays of as many lengths as there are dimensions.
        let status = unsafe {
            raw::hipfftXtMakePlanMany(plan, t.rank, t.n.as_mut_ptr(), embed(input.as_mut()), s.stride[0], s.distance[0],
                from, embed(output.as_mut()), s.stride[1], s.distance[1], to, t.batch, &mut bytes, execution)
        };
        (status, "hipfftXtMakePlanMany")
    });
    check(status, function, || asked::<T>(layout))?;
    Ok(bytes)
}

/// Creates a plan for which the library allocates the workspace, if it has a function for that: not in half precision,
/// and not for more than 2³¹ elements.
///
/// # Safety
/// The plan's device must be current.
pub(crate) unsafe fn plan<T: Transform>(layout: &Layout) -> Result<Made> {
    let mut plan = Made(ptr::null_mut());
    let codes = codes::<T>();
    let at = &raw mut plan.0;
    let (status, function): Status = by_layout!(layout, codes, before: (at), after: (),
    one hipfftPlan1d, two hipfftPlan2d, three hipfftPlan3d, many hipfftPlanMany,
    wide |_w, _s| {
        plan = Made::new()?;
        // SAFETY: a new plan.
        unsafe { make::<T>(plan.0, layout)? };
        (raw::HIPFFT_SUCCESS, "hipfftMakePlanMany64")
    },
    typed |_t, _s| {
        plan = Made::new()?;
        // SAFETY: a new plan.
        unsafe { make::<T>(plan.0, layout)? };
        (raw::HIPFFT_SUCCESS, "hipfftXtMakePlanMany")
    });
    check(status, function, || asked::<T>(layout))?;
    Ok(plan)
}

impl Layout {
    /// Returns the bytes of workspace that a plan of this layout needs. It takes as long as making a plan.
    ///
    /// # Errors
    /// The errors of [`Plan::new`](crate::Plan::new).
    #[doc(alias(
        "hipfftGetSize1d",
        "hipfftGetSize2d",
        "hipfftGetSize3d",
        "hipfftGetSizeMany",
        "hipfftGetSizeMany64",
        "hipfftXtGetSizeMany",
        "cufftGetSize1d",
        "cufftGetSizeMany"
    ))]
    pub fn workspace_len<T: Transform>(&self, device: &Device) -> Result<usize> {
        check_size::<T>(device, self)?;
        // rocFFT makes a plan to answer this, with device memory.
        wait_for_device(device, || {
            let (unused, codes) = (Made::new()?, codes::<T>());
            let (plan, kind, mut bytes) = (unused.0, codes.kind.unwrap_or_default(), 0_usize);
            let (status, function): Status = by_layout!(self, codes, before: (plan), after: (&mut bytes),
            one hipfftGetSize1d, two hipfftGetSize2d, three hipfftGetSize3d, many hipfftGetSizeMany,
            wide |w, s| {
                let [input, output] = &mut s.embeds;
                // SAFETY: a plan, and arrays of as many lengths as there are dimensions.
                let status = unsafe {
                    raw::hipfftGetSizeMany64(plan, w.rank, w.n.as_mut_ptr(), embed(input.as_mut()), s.stride[0],
                        s.distance[0], embed(output.as_mut()), s.stride[1], s.distance[1], kind, w.batch, &mut bytes)
                };
                (status, "hipfftGetSizeMany64")
            },
            typed |t, s| {
                let ([input, output], [from, to, execution]) = (&mut s.embeds, codes.types);
                // SAFETY: a plan, and arrays of as many lengths as there are dimensions.
                let status = unsafe {
                    raw::hipfftXtGetSizeMany(plan, t.rank, t.n.as_mut_ptr(), embed(input.as_mut()), s.stride[0],
                        s.distance[0], from, embed(output.as_mut()), s.stride[1], s.distance[1], to, t.batch, &mut bytes,
                        execution)
                };
                (status, "hipfftXtGetSizeMany")
            });
            check(status, function, || asked::<T>(self))?;
            Ok(bytes)
        })
    }

    /// Returns an estimate of [`workspace_len`](Self::workspace_len). AMD's library makes a plan for it as well, and
    /// returns the plan's size.
    ///
    /// # Errors
    /// The errors of [`Plan::new`](crate::Plan::new).
    #[doc(alias("hipfftEstimate1d", "hipfftEstimate2d", "hipfftEstimate3d", "hipfftEstimateMany", "cufftEstimate1d"))]
    pub fn estimate_workspace<T: Transform>(&self, device: &Device) -> Result<usize> {
        check_size::<T>(device, self)?;
        let estimate: Option<usize> = wait_for_device(device, || {
            let mut bytes = 0_usize;
            let (status, function): Status = by_layout!(self, codes::<T>(), before: (), after: (&mut bytes),
                one hipfftEstimate1d, two hipfftEstimate2d, three hipfftEstimate3d, many hipfftEstimateMany,
                wide |_w, _s| return Ok(None),
                typed |_t, _s| return Ok(None));
            check(status, function, || asked::<T>(self))?;
            Ok::<_, Error>(Some(bytes))
        })?;
        estimate.map_or_else(|| self.workspace_len::<T>(device), Ok)
    }
}

/// The version of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The major number.
    pub major: i32,
    /// The minor number.
    pub minor: i32,
    /// The patch number.
    pub patch: i32,
}

/// Returns the version of rocFFT, the library that hipFFT is built on.
///
/// # Errors
/// [`Error::NoLibrary`], with every path that was tried.
#[doc(alias("hipfftGetVersion", "hipfftGetProperty", "cufftGetVersion", "cufftGetProperty"))]
pub fn version() -> Result<Version> {
    let mut whole = 0;
    // SAFETY: the function writes the number through a valid pointer.
    check(unsafe { raw::hipfftGetVersion(&mut whole) }, "hipfftGetVersion", || "the version".to_owned())?;
    let part = |property| {
        let mut value = 0;
        // SAFETY: the function writes the number through a valid pointer.
        let status = unsafe { raw::hipfftGetProperty(property, &mut value) };
        check(status, "hipfftGetProperty", || format!("part {property} of version {whole}"))?;
        Ok::<_, Error>(value)
    };
    Ok(Version { major: part(0)?, minor: part(1)?, patch: part(2)? })
}

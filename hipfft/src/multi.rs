//! Transforms on several devices.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use hip::interop::Tracked;
use hip::{Device, sys};

use crate::layout::Layout;
use crate::library::{Made, check_size, make};
use crate::raw;
use crate::transform::{
    C2C, FORWARD, Forward, INVERSE, Inverse, Normalization, Transform, TransformKind, Unnormalized, execute_on_devices,
};
use crate::{Error, Result, check, invalid};

/// Transforms of one layout that run on several devices together (`hipfftXt`). Experimental in AMD's library; not in
/// ROCm 5.7.
///
/// Its memory is a [`MultiBuffer`], which the library divides among the devices. All calls block until their work is
/// done.
pub struct MultiPlan<T: Transform, N: Normalization = Unnormalized> {
    plan: Arc<Planned>,
    layout: Layout,
    direction: Option<i32>,
    types: PhantomData<fn(T, N)>,
}

/// A C plan, and its devices.
struct Planned {
    raw: *mut c_void,
    devices: Vec<Device>,
}

// SAFETY: a plan is not bound to a thread.
unsafe impl Send for Planned {}
// SAFETY: calls that change the plan borrow it mutably; calls of buffers only read its layout.
unsafe impl Sync for Planned {}

impl Planned {
    /// Waits for all work of the devices: the library's own streams are not accessible.
    fn wait(&self) -> Result<()> {
        for device in &self.devices {
            hip::interop::wait_for_device(device, || {
                // SAFETY: no arguments.
                let status = unsafe { sys::hipDeviceSynchronize() };
                hip::Status::from(status).check("hipDeviceSynchronize", || format!("device {}", device.index()))
            })?;
        }
        Ok(())
    }

    /// Runs a call that allocates, frees or waits, with the first device current.
    fn call<R>(&self, run: impl FnOnce(*mut c_void) -> Result<R>) -> Result<R> {
        hip::interop::wait_for_device(&self.devices[0], || run(self.raw))
    }
}

impl Drop for Planned {
    fn drop(&mut self) {
        let (raw, device) = (self.raw as usize, self.devices[0]);
        // Every call has waited, so no work is pending.
        Tracked::new().release_when_idle(&device.clone(), move || {
            // SAFETY: the plan's work is done, and nothing else has it.
            let _ = device.with_current(|| unsafe { raw::hipfftDestroy(raw as *mut c_void) });
        });
    }
}

/// The side of a transform that memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The input.
    Input,
    /// The output.
    Output,
    /// Both sides, for in-place complex transforms.
    InPlace,
}

/// Memory of a [`MultiPlan`], in parts on each of its devices.
pub struct MultiBuffer<T: Transform> {
    descriptor: *mut c_void,
    side: Side,
    plan: Arc<Planned>,
    /// Number of elements on the host: of input and output.
    lengths: [usize; 2],
    types: PhantomData<fn(T)>,
}

// SAFETY: a descriptor is not bound to a thread.
unsafe impl<T: Transform> Send for MultiBuffer<T> {}
// SAFETY: a shared reference only allows reads of the memory.
unsafe impl<T: Transform> Sync for MultiBuffer<T> {}

impl<T: Transform, N: Normalization> MultiPlan<T, N> {
    /// Plans transforms on these devices. If a complex transform is scaled in one direction only, plan each direction
    /// with [`forward`](Self::new_forward) or [`inverse`](Self::new_inverse).
    ///
    /// # Errors
    /// [`Error::Invalid`] for fewer than two devices, for a device that is named twice, for a layout with gaps, and for
    /// a complex transform whose directions have different scale factors; [`Error::NoSymbol`] on ROCm 5.7.
    #[doc(alias("hipfftXtSetGPUs", "cufftXtSetGPUs"))]
    pub fn new(devices: &[Device], layout: &Layout) -> Result<Self> {
        let points = layout.points() as f64;
        let (forward, inverse) = (N::forward(points), N::inverse(points));
        match T::KIND {
            TransformKind::R2C => Self::scaled(devices, layout, forward, Some(FORWARD)),
            TransformKind::C2R => Self::scaled(devices, layout, inverse, Some(INVERSE)),
            TransformKind::C2C if forward == inverse => Self::scaled(devices, layout, forward, None),
            TransformKind::C2C => {
                let allowed = "the same in both directions: plan one direction with `new_forward` or `new_inverse`";
                Err(invalid("the scale of a transform on several devices", format!("{forward} and {inverse}"), allowed))
            }
        }
    }

    fn scaled(devices: &[Device], layout: &Layout, factor: f64, direction: Option<i32>) -> Result<Self> {
        let numbers: Vec<usize> = devices.iter().map(Device::index).collect();
        let twice = (1..numbers.len()).any(|at| numbers[..at].contains(&numbers[at]));
        // The library's descriptors have room for 64 devices.
        if !(2..=64).contains(&numbers.len()) || twice {
            return Err(invalid("the devices of a transform", format!("{numbers:?}"), "2 to 64 different ones"));
        }
        if layout.spacing().is_some() {
            return Err(invalid("the layout of a transform on several devices", format!("{layout:?}"), "without gaps"));
        }
        check_size::<T>(&devices[0], layout)?;
        let plan = hip::interop::wait_for_device(&devices[0], || {
            let plan = Made::new()?;
            let mut raw: Vec<i32> = numbers.iter().map(|index| *index as i32).collect();
            // SAFETY: a new plan, and an array of the length that is passed.
            let status = unsafe { raw::hipfftXtSetGPUs(plan.0, raw.len() as i32, raw.as_mut_ptr()) };
            check(status, "hipfftXtSetGPUs", || format!("devices {numbers:?}"))?;
            if factor != 1.0 {
                // SAFETY: a new plan.
                let status = unsafe { raw::hipfftExtPlanScaleFactor(plan.0, factor) };
                check(status, "hipfftExtPlanScaleFactor", || factor.to_string())?;
            }
            // SAFETY: a new plan, whose device is current.
            unsafe { make::<T>(plan.0, layout)? };
            Ok::<_, Error>(Planned { raw: plan.take(), devices: devices.to_vec() })
        })?;
        Ok(Self { plan: Arc::new(plan), layout: layout.clone(), direction, types: PhantomData })
    }

    /// Returns the layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the devices.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.plan.devices
    }

    /// Allocates memory for one side of the plan's transforms.
    ///
    /// # Errors
    /// [`Error::Invalid`] for [`Side::InPlace`] of a real transform; an error from the library.
    #[doc(alias("hipfftXtMalloc", "cufftXtMalloc"))]
    pub fn buffer(&self, side: Side) -> Result<MultiBuffer<T>> {
        if side == Side::InPlace && T::KIND != TransformKind::C2C {
            let allowed = "an input and an output: only complex transforms on several devices are made in place";
            return Err(invalid("memory of a real transform on several devices", "in place", allowed));
        }
        let format = match side {
            Side::Input => 0,
            Side::Output => 1,
            Side::InPlace => 2,
        };
        let descriptor = self.plan.call(|plan| {
            let mut descriptor = ptr::null_mut();
            // SAFETY: a plan, and room for an address.
            let status = unsafe { raw::hipfftXtMalloc(plan, &mut descriptor, format) };
            check(status, "hipfftXtMalloc", || format!("{side:?} of {:?}", self.layout))?;
            Ok(descriptor)
        })?;
        let lengths = [self.layout.input_len::<T>(), self.layout.output_len::<T>()];
        Ok(MultiBuffer { descriptor, side, plan: self.plan.clone(), lengths, types: PhantomData })
    }

    fn execute(&mut self, direction: i32, input: &MultiBuffer<T>, output: &MultiBuffer<T>) -> Result<()> {
        if self.direction.is_some_and(|planned| planned != direction) {
            return Err(invalid("the direction of a transform", direction.to_string(), "that of the plan"));
        }
        for (what, buffer) in [("the input", input), ("the output", output)] {
            if !Arc::ptr_eq(&buffer.plan, &self.plan) {
                return Err(invalid(what, "memory of another plan", "memory of this plan's `buffer`"));
            }
        }
        self.plan.wait()?;
        let done = self.plan.call(|plan| {
            // SAFETY: the plan's own memory, which only this work uses.
            let (status, function) =
                unsafe { execute_on_devices::<T>(plan, input.descriptor, output.descriptor, direction) };
            check(status, function, || format!("{:?}, {:?}", T::KIND, self.layout))
        });
        self.plan.wait()?;
        done
    }

    fn apart(&mut self, direction: i32, input: &MultiBuffer<T>, output: &mut MultiBuffer<T>) -> Result<()> {
        for (what, found, needed) in [("the input", input.side, Side::Input), ("the output", output.side, Side::Output)]
        {
            if found != needed {
                return Err(invalid(what, format!("memory for {found:?}"), format!("memory for {needed:?}")));
            }
        }
        self.execute(direction, input, output)
    }

    fn in_place(&mut self, direction: i32, data: &MultiBuffer<T>) -> Result<()> {
        if data.side != Side::InPlace {
            return Err(invalid("the data", format!("memory for {:?}", data.side), "memory for InPlace"));
        }
        self.execute(direction, data, data)
    }
}

impl<T: crate::FftReal, N: Normalization> MultiPlan<C2C<T>, N> {
    /// Plans forward transforms only.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn new_forward(devices: &[Device], layout: &Layout) -> Result<Self> {
        Self::scaled(devices, layout, N::forward(layout.points() as f64), Some(FORWARD))
    }

    /// Plans inverse transforms only.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn new_inverse(devices: &[Device], layout: &Layout) -> Result<Self> {
        Self::scaled(devices, layout, N::inverse(layout.points() as f64), Some(INVERSE))
    }

    /// Runs a forward transform in place, and waits.
    ///
    /// # Errors
    /// [`Error::Invalid`] for memory of another plan, or not for in-place transforms.
    pub fn forward_in_place(&mut self, data: &mut MultiBuffer<C2C<T>>) -> Result<()> {
        self.in_place(FORWARD, data)
    }

    /// Runs an inverse transform in place, and waits.
    ///
    /// # Errors
    /// As [`forward_in_place`](Self::forward_in_place).
    pub fn inverse_in_place(&mut self, data: &mut MultiBuffer<C2C<T>>) -> Result<()> {
        self.in_place(INVERSE, data)
    }
}

impl<T: Forward, N: Normalization> MultiPlan<T, N> {
    /// Runs a forward transform, and waits.
    ///
    /// # Errors
    /// [`Error::Invalid`] for memory of another plan or another side; an error from the library.
    #[doc(alias("hipfftXtExecDescriptorC2C", "hipfftXtExecDescriptorR2C", "hipfftXtExecDescriptor"))]
    pub fn forward(&mut self, input: &mut MultiBuffer<T>, output: &mut MultiBuffer<T>) -> Result<()> {
        self.apart(FORWARD, input, output)
    }
}

impl<T: Inverse, N: Normalization> MultiPlan<T, N> {
    /// Runs an inverse transform, and waits. The library may overwrite the input.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    #[doc(alias("hipfftXtExecDescriptorC2C", "hipfftXtExecDescriptorC2R", "hipfftXtExecDescriptor"))]
    pub fn inverse(&mut self, input: &mut MultiBuffer<T>, output: &mut MultiBuffer<T>) -> Result<()> {
        self.apart(INVERSE, input, output)
    }
}

const TO_DEVICE: u32 = 0;
const TO_HOST: u32 = 1;
const BETWEEN_DEVICES: u32 = 2;

impl<T: Transform> MultiBuffer<T> {
    fn copy(&self, to: *mut c_void, from: *mut c_void, kind: u32) -> Result<()> {
        self.plan.call(|plan| {
            // SAFETY: the plan's own memory, and host memory of the layout's length, which the callers have checked.
            let status = unsafe { raw::hipfftXtMemcpy(plan, to, from, kind) };
            check(status, "hipfftXtMemcpy", || format!("{:?}", self.side))
        })?;
        self.plan.wait()
    }

    fn has(&self, what: &'static str, found: usize, needed: usize, sides: [Side; 2]) -> Result<()> {
        if !sides.contains(&self.side) {
            return Err(invalid(what, format!("for {:?}", self.side), format!("for {:?} or {:?}", sides[0], sides[1])));
        }
        if found != needed {
            return Err(invalid("the length on the host", found.to_string(), format!("{needed}, as the layout says")));
        }
        Ok(())
    }

    /// Copies the whole input from the host to the devices.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless the buffer is for the input, and the slice has the layout's length.
    #[doc(alias("hipfftXtMemcpy", "cufftXtMemcpy"))]
    pub fn copy_from_slice(&mut self, from: &[T::Input]) -> Result<()> {
        self.has("memory that is copied to", from.len(), self.lengths[0], [Side::Input, Side::InPlace])?;
        self.copy(self.descriptor, from.as_ptr().cast_mut().cast(), TO_DEVICE)
    }

    /// Copies the whole output from the devices to the host.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless the buffer is for the output, and the slice has the layout's length.
    #[doc(alias("hipfftXtMemcpy", "cufftXtMemcpy"))]
    pub fn copy_to_slice(&self, to: &mut [T::Output]) -> Result<()> {
        self.has("memory that is copied from", to.len(), self.lengths[1], [Side::Output, Side::InPlace])?;
        self.copy(to.as_mut_ptr().cast(), self.descriptor, TO_HOST)
    }

    /// Copies another buffer of the same plan and side.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a buffer of another plan or side.
    #[doc(alias("hipfftXtMemcpy", "cufftXtMemcpy"))]
    pub fn copy_from(&mut self, from: &Self) -> Result<()> {
        if !Arc::ptr_eq(&self.plan, &from.plan) || self.side != from.side {
            let found = format!("for {:?}, of the same plan: {}", from.side, Arc::ptr_eq(&self.plan, &from.plan));
            return Err(invalid("memory that is copied from", found, format!("for {:?} of the same plan", self.side)));
        }
        self.copy(self.descriptor, from.descriptor, BETWEEN_DEVICES)
    }
}

impl<T: Transform> Drop for MultiBuffer<T> {
    fn drop(&mut self) {
        // Every call has waited, so no work is pending.
        let (descriptor, plan) = (self.descriptor as usize, Arc::clone(&self.plan));
        Tracked::new().release_when_idle(&plan.devices[0].clone(), move || {
            // SAFETY: the library made the memory, and nothing uses it. The plan lives until then.
            let _ = plan.devices[0].with_current(|| unsafe { raw::hipfftXtFree(descriptor as *mut _) });
        });
    }
}

impl<T: Transform, N: Normalization> fmt::Debug for MultiPlan<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiPlan")
            .field("layout", &self.layout)
            .field("devices", &self.plan.devices)
            .finish_non_exhaustive()
    }
}

impl<T: Transform> fmt::Debug for MultiBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiBuffer").field("side", &self.side).field("lengths", &self.lengths).finish_non_exhaustive()
    }
}

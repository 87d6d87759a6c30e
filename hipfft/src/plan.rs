//! Plans, and their execution.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use hip::{DeviceBuffer, DeviceSlice, DeviceSliceMut, IntoSlice, IntoSliceMut, Stream};
use hip_linalg::{Handle, Operands};

use crate::layout::Layout;
use crate::library::{HipFft, Made, check_size, make, plan};
use crate::raw;
use crate::transform::{
    C2C, C2R, FORWARD, FftReal, Forward, INVERSE, Inverse, Normalization, Precision, R2C, Transform, TransformKind,
    Unnormalized, execute,
};
use crate::{Result, check, invalid};

/// Transforms of one layout, planned and compiled, on a stream.
///
/// `T` selects the transform, `N` the scaling: the device scales within the transform.
#[doc(alias("hipfftHandle", "cufftHandle", "rocfft_plan"))]
pub struct Plan<T: Transform, N: Normalization = Unnormalized> {
    /// Forward and inverse. A complex transform has one plan for both if they have the same scale factor and layout. It
    /// has no inverse plan if the positions that this would write overlap.
    plans: [Option<Planned>; 2],
    layout: Layout,
    /// Bytes of the workspace that the library uses.
    needed: usize,
    workspace: Workspace,
    types: PhantomData<fn(T, N)>,
}

/// A C plan.
struct Planned {
    handle: Handle<HipFft>,
    /// The address of the workspace that was set for the plan.
    area: u64,
    /// Arguments of the load and store callbacks: the library keeps their addresses.
    callbacks: [Option<Box<Told>>; 2],
}

/// The arguments of `hipfftXtSetCallback`: arrays with one element for each device.
struct Told {
    functions: [*mut c_void; 1],
    data: [*mut c_void; 1],
}

// SAFETY: device addresses, which are not dereferenced here.
unsafe impl Send for Told {}
// SAFETY: as above.
unsafe impl Sync for Told {}

impl Planned {
    fn new(handle: Handle<HipFft>) -> Self {
        Self { handle, area: 0, callbacks: [None, None] }
    }
}

/// The point at which a transform calls a function of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackKind {
    /// Instead of a load of an element of the input: `T load(void *input, size_t offset, void *data, void *shared)`.
    Load,
    /// Instead of a store of an element of the output: `void store(void *output, size_t offset, T element, void *data,
    /// void *shared)`.
    Store,
}

/// The owner of the workspace.
enum Workspace {
    Library,
    Ours(DeviceBuffer<u8>),
    /// The workspace is passed with each call.
    Lent,
}

/// The memory of one call.
enum Data<'a, T: Transform> {
    Apart(DeviceSlice<'a, T::Input>, DeviceSliceMut<'a, T::Output>),
    Overwritten(DeviceSliceMut<'a, T::Input>, DeviceSliceMut<'a, T::Output>),
    InPlace(DeviceSliceMut<'a, <T::Real as FftReal>::Complex>),
}

impl<T: Transform, N: Normalization> Plan<T, N> {
    /// Plans transforms on the stream's device, and queues them on the stream. Allocates a workspace if they need one.
    ///
    /// The library compiles kernels for the plan, which takes seconds for a new length: keep plans, and use them for
    /// many transforms. HIP waits for the device during that time: the call waits until no host function runs and no
    /// other thread captures a stream.
    ///
    /// # Errors
    /// [`Error::NoLibrary`](crate::Error::NoLibrary), with every path that was tried;
    /// [`Error::Invalid`](crate::Error::Invalid) for a layout whose outputs overlap, or that is larger than the
    /// device's memory; [`Error::Library`](crate::Error::Library) if the library does not support it;
    /// [`hip::Error::Capture`] if this thread captures a stream.
    #[doc(alias(
        "hipfftCreate",
        "hipfftMakePlan1d",
        "hipfftMakePlan2d",
        "hipfftMakePlan3d",
        "hipfftMakePlanMany",
        "hipfftMakePlanMany64",
        "hipfftXtMakePlanMany",
        "hipfftExtPlanScaleFactor",
        "cufftMakePlanMany"
    ))]
    pub fn new(stream: &Stream, layout: &Layout) -> Result<Self> {
        let mut plan = Self::without_workspace(stream, layout)?;
        plan.set_workspace(DeviceBuffer::uninit(&stream.device(), plan.needed)?)?;
        Ok(plan)
    }

    /// As [`new`](Self::new), but without allocating a workspace: call [`set_workspace`](Self::set_workspace) with
    /// [`workspace_len`](Self::workspace_len) bytes before the first transform.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    #[doc(alias("hipfftSetAutoAllocation", "cufftSetAutoAllocation"))]
    pub fn without_workspace(stream: &Stream, layout: &Layout) -> Result<Self> {
        check_size::<T>(&stream.device(), layout)?;
        let points = layout.points() as f64;
        let (forward, inverse) = (N::forward(points), N::inverse(points));
        let mut needed = 0;
        let mut planned = |factor: f64, layout: &Layout| {
            let handle = Handle::with(stream, || {
                let plan = Made::new()?;
                // SAFETY: a new plan.
                let status = unsafe { raw::hipfftSetAutoAllocation(plan.0, 0) };
                check(status, "hipfftSetAutoAllocation", || "off".to_owned())?;
                if factor != 1.0 {
                    // SAFETY: a new plan.
                    let status = unsafe { raw::hipfftExtPlanScaleFactor(plan.0, factor) };
                    check(status, "hipfftExtPlanScaleFactor", || factor.to_string())?;
                }
                // SAFETY: a new plan, whose device is current.
                let bytes = unsafe { make::<T>(plan.0, layout)? };
                let mut told = 0;
                // SAFETY: a plan, and room for the number.
                check(unsafe { raw::hipfftGetSize(plan.0, &mut told) }, "hipfftGetSize", || format!("{layout:?}"))?;
                needed = needed.max(bytes).max(told);
                Ok(plan.take())
            })?;
            Ok::<_, crate::Error>(Some(Planned::new(handle)))
        };
        let plans = match T::KIND {
            TransformKind::R2C => [planned(forward, layout)?, None],
            TransformKind::C2R => [None, planned(inverse, layout)?],
            TransformKind::C2C if forward == inverse && layout.is_symmetric() => [planned(forward, layout)?, None],
            TransformKind::C2C => {
                let back = Some(layout.exchanged()).filter(|back| back.check::<T>().is_ok());
                [planned(forward, layout)?, back.map(|back| planned(inverse, &back)).transpose()?.flatten()]
            }
        };
        let workspace =
            if needed == 0 { Workspace::Ours(DeviceBuffer::uninit(&stream.device(), 0)?) } else { Workspace::Lent };
        Ok(Self { plans, layout: layout.clone(), needed, workspace, types: PhantomData })
    }

    /// Returns the layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the stream that later calls queue their work on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.any().handle.stream()
    }

    /// Makes later calls queue their work on another stream of the device. Work of both streams that uses the workspace
    /// stays in order.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip) for a stream of another device.
    #[doc(alias("hipfftSetStream", "cufftSetStream"))]
    pub fn set_stream(&mut self, stream: &Stream) -> Result<()> {
        for plan in self.plans.iter_mut().flatten() {
            plan.handle.set_stream(stream)?;
        }
        Ok(())
    }

    /// Returns the bytes of workspace that the transforms need, often 0.
    #[must_use]
    #[doc(alias("hipfftGetSize", "cufftGetSize"))]
    pub fn workspace_len(&self) -> usize {
        self.needed
    }

    /// Sets the workspace, and returns the previous one.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for fewer bytes than [`workspace_len`](Self::workspace_len), and for a
    /// plan whose workspace the library allocated; [`Error::Hip`](crate::Error::Hip) for memory of another device.
    #[doc(alias("hipfftSetWorkArea", "cufftSetWorkArea"))]
    pub fn set_workspace(&mut self, workspace: DeviceBuffer<u8>) -> Result<Option<DeviceBuffer<u8>>> {
        self.fits(workspace.len())?;
        if workspace.device() != self.stream().device() {
            let (found, needed) = (workspace.device().index(), self.stream().device().index());
            return Err(invalid("the device of a workspace", found.to_string(), format!("{needed}, as of the plan")));
        }
        if let Workspace::Library = self.workspace {
            return Err(invalid("a workspace", "one for a plan that has the library's", "of a plan of `Plan::new`"));
        }
        Ok(match std::mem::replace(&mut self.workspace, Workspace::Ours(workspace)) {
            Workspace::Ours(before) => Some(before),
            Workspace::Library | Workspace::Lent => None,
        })
    }

    /// Makes later transforms call a device function for each element that they load or store, with an address from the
    /// caller and `shared` bytes of memory that a workgroup shares.
    ///
    /// `function` is the value of a `__device__` variable that points to the function
    /// ([`Module::global`](hip::Module::global)). The function takes the element type of that side. Half precision is
    /// not supported: C has no callback type for it.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) in half precision; [`Error::Library`](crate::Error::Library) if the
    /// library does not support it. AMD's library does not support shared memory: pass 0. After an error, no callback
    /// of the kind is set.
    ///
    /// # Safety
    /// The function must have the parameters that [`CallbackKind`] documents, for the element type of that side, and
    /// its module must stay loaded while transforms are queued. It must only access its element, `shared` bytes, and
    /// the memory that `data` points to, which the caller must keep alive and order with other work.
    #[doc(alias("hipfftXtSetCallback", "hipfftXtSetCallbackSharedSize", "cufftXtSetCallback"))]
    pub unsafe fn set_callback(&mut self, kind: CallbackKind, function: u64, data: u64, shared: usize) -> Result<()> {
        let code = callback::<T>(kind)?;
        for Planned { handle, callbacks, .. } in self.plans.iter_mut().flatten() {
            let mut told = Box::new(Told { functions: [function as *mut c_void], data: [data as *mut c_void] });
            let Told { functions, data } = &mut *told;
            let set = handle.configure(|plan| {
                // SAFETY: a plan that is alive, and arrays that are kept as long as the plan uses them.
                let status = unsafe { raw::hipfftXtSetCallback(plan, functions.as_mut_ptr(), code, data.as_mut_ptr()) };
                check(status, "hipfftXtSetCallback", || format!("{kind:?} of {:?}", T::KIND))?;
                if shared != 0 {
                    // SAFETY: a plan that is alive, and has the callback.
                    let status = unsafe { raw::hipfftXtSetCallbackSharedSize(plan, code, shared) };
                    let set = check(status, "hipfftXtSetCallbackSharedSize", || format!("{shared} bytes for {kind:?}"));
                    if set.is_err() {
                        // SAFETY: a plan that is alive. A callback that cannot be called as requested is removed.
                        let _ = unsafe { raw::hipfftXtClearCallback(plan, code) };
                    }
                    set?;
                }
                Ok(())
            });
            if let Err(error) = set {
                // The library may have kept the addresses despite the error.
                std::mem::forget(told);
                return Err(error);
            }
            callbacks[usize::from(kind == CallbackKind::Store)] = Some(told);
        }
        Ok(())
    }

    /// Makes later transforms load or store without a callback again.
    ///
    /// # Errors
    /// As [`set_callback`](Self::set_callback).
    #[doc(alias("hipfftXtClearCallback", "cufftXtClearCallback"))]
    pub fn clear_callback(&mut self, kind: CallbackKind) -> Result<()> {
        let code = callback::<T>(kind)?;
        for Planned { handle, callbacks, .. } in self.plans.iter_mut().flatten() {
            handle.configure(|plan| {
                // SAFETY: a plan that is alive.
                let status = unsafe { raw::hipfftXtClearCallback(plan, code) };
                check(status, "hipfftXtClearCallback", || format!("{kind:?} of {:?}", T::KIND))
            })?;
            callbacks[usize::from(kind == CallbackKind::Store)] = None;
        }
        Ok(())
    }

    fn fits(&self, bytes: usize) -> Result<()> {
        if bytes >= self.needed {
            return Ok(());
        }
        let allowed = format!("{} bytes or more: `workspace_len` of the plan", self.needed);
        Err(invalid("the workspace", format!("{bytes} bytes"), allowed))
    }

    fn any(&self) -> &Planned {
        // There is always at least one plan.
        let [forward, inverse] = &self.plans;
        match forward.as_ref().or(inverse.as_ref()) {
            Some(plan) => plan,
            None => unreachable!("a plan has a direction"),
        }
    }

    /// Runs calls with `lent` as their workspace, and returns it.
    pub(crate) fn run_in(
        &mut self,
        lent: DeviceBuffer<u8>,
        run: impl FnOnce(&mut Self) -> Result<()>,
    ) -> (Option<DeviceBuffer<u8>>, Result<()>) {
        let before = std::mem::replace(&mut self.workspace, Workspace::Ours(lent));
        let result = run(self);
        match std::mem::replace(&mut self.workspace, before) {
            Workspace::Ours(workspace) => (Some(workspace), result),
            Workspace::Library | Workspace::Lent => (None, result),
        }
    }

    fn execute(&mut self, direction: i32, data: Data<'_, T>) -> Result<()> {
        let Self { plans, layout, needed, workspace, .. } = self;
        let back = T::KIND == TransformKind::C2C && direction == INVERSE;
        let layout = &if back { layout.exchanged() } else { layout.clone() };
        if back && plans[1].is_none() && !layout.is_symmetric() {
            layout.check::<T>()?;
        }
        let index = usize::from(direction == INVERSE && plans[1].is_some());
        let Some(Planned { handle, area, .. }) = &mut plans[index] else {
            unreachable!("a direction that the transform has")
        };
        let mut operands = Operands::on(handle.stream());
        let expect = |what: &'static str, found: usize, least: usize| {
            let allowed = || format!("{least} or more, for {layout:?}");
            if found >= least { Ok(()) } else { Err(invalid(what, found.to_string(), allowed())) }
        };
        let (input, output) = match data {
            Data::Apart(input, output) => {
                expect("the length of the input", input.len(), layout.input_len::<T>())?;
                expect("the length of the output", output.len(), layout.output_len::<T>())?;
                (operands.slice("the input", input)?.cast_mut(), operands.slice_mut("the output", output)?)
            }
            Data::Overwritten(input, output) => {
                expect("the length of the input", input.len(), layout.input_len::<T>())?;
                expect("the length of the output", output.len(), layout.output_len::<T>())?;
                (operands.slice_mut("the input", input)?, operands.slice_mut("the output", output)?)
            }
            Data::InPlace(data) => {
                expect("the length of the data", data.len(), layout.in_place_len::<T>()?)?;
                let data = operands.slice_mut("the data", data)?;
                (data, data)
            }
        };
        let scratch = match workspace {
            Workspace::Library => None,
            Workspace::Ours(_) if *needed == 0 => None,
            Workspace::Ours(workspace) => {
                let address = workspace.as_device_ptr().address();
                // SAFETY: the workspace belongs to the plan, which is borrowed until the call has returned.
                unsafe { operands.lend("the workspace", workspace.as_slice_mut())? };
                Some(address)
            }
            Workspace::Lent => {
                let allowed = format!("{needed} bytes: give it to `set_workspace`");
                return Err(invalid("the workspace", "not there", allowed));
            }
        };
        operands.form()?;
        let asked = || format!("{:?}, {layout:?}", T::KIND);
        // SAFETY: the library queues its work on the handle's stream. It uses only the named memory, which has the layout's length.
        unsafe {
            handle.call(operands, &[], |plan, []| {
                if let Some(address) = scratch.filter(|address| address != area) {
                    let status = raw::hipfftSetWorkArea(plan, address as *mut c_void);
                    check(status, "hipfftSetWorkArea", || format!("{needed} bytes"))?;
                    *area = address;
                }
                let (status, function) = execute::<T>(plan, input, output, direction);
                check(status, function, asked)
            })
        }
    }
}

/// Returns the C code for a callback of a transform.
fn callback<T: Transform>(kind: CallbackKind) -> Result<u32> {
    let real = match kind {
        CallbackKind::Load => T::KIND == TransformKind::R2C,
        CallbackKind::Store => T::KIND == TransformKind::C2R,
    };
    let double = match <T::Real as FftReal>::PRECISION {
        Precision::Single => 0,
        Precision::Double => 1,
        Precision::Half => {
            return Err(invalid("the precision of a transform with callbacks", "half", "single or double"));
        }
    };
    Ok(if kind == CallbackKind::Store { 4 } else { 0 } + if real { 2 } else { 0 } + double)
}

impl<T: Transform> Plan<T> {
    /// As [`new`](Self::new), but the library allocates and keeps the workspace.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    #[doc(alias("hipfftPlan1d", "hipfftPlan2d", "hipfftPlan3d", "hipfftPlanMany", "cufftPlan1d", "cufftPlanMany"))]
    pub fn with_library_workspace(stream: &Stream, layout: &Layout) -> Result<Self> {
        check_size::<T>(&stream.device(), layout)?;
        let mut needed = 0;
        let mut planned = |layout: &Layout| {
            // SAFETY: the stream's device is current.
            let handle = Handle::with(stream, || unsafe { plan::<T>(layout) }.map(Made::take))?;
            handle.configure(|plan| {
                let mut bytes = 0;
                // SAFETY: a plan, and room for the number.
                check(unsafe { raw::hipfftGetSize(plan, &mut bytes) }, "hipfftGetSize", || format!("{layout:?}"))?;
                needed = needed.max(bytes);
                Ok(())
            })?;
            Ok::<_, crate::Error>(Some(Planned::new(handle)))
        };
        let plans = match T::KIND {
            TransformKind::C2R => [None, planned(layout)?],
            TransformKind::C2C if !layout.is_symmetric() => {
                let back = Some(layout.exchanged()).filter(|back| back.check::<T>().is_ok());
                [planned(layout)?, back.map(|back| planned(&back)).transpose()?.flatten()]
            }
            TransformKind::R2C | TransformKind::C2C => [planned(layout)?, None],
        };
        Ok(Self { plans, layout: layout.clone(), needed, workspace: Workspace::Library, types: PhantomData })
    }
}

impl<T: FftReal, N: Normalization> Plan<C2C<T>, N> {
    /// Queues forward transforms: sums with exp(−2πi jk/n). The input is not changed; gaps of strided memory may be
    /// overwritten, on both sides.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for memory that is shorter than the layout, or that overlaps.
    #[doc(alias("hipfftExecC2C", "hipfftExecZ2Z", "hipfftXtExec", "cufftExecC2C"))]
    pub fn forward<'a>(
        &mut self,
        input: impl IntoSlice<'a, T::Complex>,
        output: impl IntoSliceMut<'a, T::Complex>,
    ) -> Result<()> {
        self.execute(FORWARD, Data::Apart(input.into(), output.into()))
    }

    /// Queues inverse transforms: sums with exp(2πi jk/n). If the layout has different sides, they are exchanged: the
    /// input has the layout's output side, and the output its input side, so that a round trip restores the data.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and [`Error::Invalid`](crate::Error::Invalid) for a layout whose input overlaps.
    #[doc(alias("hipfftExecC2C", "hipfftExecZ2Z", "hipfftXtExec", "cufftExecC2C"))]
    pub fn inverse<'a>(
        &mut self,
        input: impl IntoSlice<'a, T::Complex>,
        output: impl IntoSliceMut<'a, T::Complex>,
    ) -> Result<()> {
        self.execute(INVERSE, Data::Apart(input.into(), output.into()))
    }
}

impl<T: FftReal, N: Normalization> Plan<R2C<T>, N> {
    /// Queues forward transforms of real numbers. The input is not changed.
    ///
    /// # Errors
    /// As [`forward`](Plan::forward) for complex numbers.
    #[doc(alias("hipfftExecR2C", "hipfftExecD2Z", "hipfftXtExec", "cufftExecR2C"))]
    pub fn forward<'a>(
        &mut self,
        input: impl IntoSlice<'a, T>,
        output: impl IntoSliceMut<'a, T::Complex>,
    ) -> Result<()> {
        self.execute(FORWARD, Data::Apart(input.into(), output.into()))
    }
}

impl<T: FftReal, N: Normalization> Plan<C2R<T>, N> {
    /// Queues inverse transforms to real numbers. The library overwrites the input.
    ///
    /// The input is the first half of a Hermitian-symmetric sequence: the imaginary parts of its first number, and of
    /// the middle number of an even length, are ignored.
    ///
    /// # Errors
    /// As [`forward`](Plan::forward) for complex numbers.
    #[doc(alias("hipfftExecC2R", "hipfftExecZ2D", "hipfftXtExec", "cufftExecC2R"))]
    pub fn inverse<'a>(
        &mut self,
        input: impl IntoSliceMut<'a, T::Complex>,
        output: impl IntoSliceMut<'a, T>,
    ) -> Result<()> {
        self.execute(INVERSE, Data::Overwritten(input.into(), output.into()))
    }
}

impl<T: Forward, N: Normalization> Plan<T, N> {
    /// Queues forward transforms in place. For real numbers, each row has room for the complex numbers of its result:
    /// `2 (n / 2 + 1)` numbers, of which the last one or two are not read.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for memory that is shorter than the layout, and for a layout whose
    /// input and output have different positions.
    #[doc(alias("hipfftExecC2C", "hipfftExecR2C", "hipfftXtExec"))]
    pub fn forward_in_place<'a>(&mut self, data: impl IntoSliceMut<'a, <T::Real as FftReal>::Complex>) -> Result<()> {
        self.execute(FORWARD, Data::InPlace(data.into()))
    }
}

impl<T: Inverse, N: Normalization> Plan<T, N> {
    /// Queues inverse transforms in place. Real numbers are written in rows with room for complex ones, as
    /// [`forward_in_place`](Self::forward_in_place) reads them.
    ///
    /// # Errors
    /// As [`forward_in_place`](Self::forward_in_place).
    #[doc(alias("hipfftExecC2C", "hipfftExecC2R", "hipfftXtExec"))]
    pub fn inverse_in_place<'a>(&mut self, data: impl IntoSliceMut<'a, <T::Real as FftReal>::Complex>) -> Result<()> {
        self.execute(INVERSE, Data::InPlace(data.into()))
    }
}

impl<T: Transform, N: Normalization> fmt::Debug for Plan<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { layout, needed, .. } = self;
        f.debug_struct("Plan").field("layout", layout).field("workspace", needed).finish_non_exhaustive()
    }
}

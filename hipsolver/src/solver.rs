//! The handle, its workspaces, and how calls end.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip::interop::{Tracked, wait_for_device};
use hip::sys::hipStream_t;
use hip::{DeviceBuffer, Stream};
use hip_linalg::{Handle, Library, Operands};
use hipsolver_sys::MissingValue;

use crate::dense::invalid;
use crate::raw::{self, BINDING, Pair, hipsolverStatus_t};
use crate::scaling::{Kernels, Scaled, Scaling, times_power};
use crate::{CallError, Cause, Error, Result, check};

pub(crate) struct HipSolver;

impl Library for HipSolver {
    type Error = CallError;

    fn create() -> Result<*mut c_void, CallError> {
        let mut handle = ptr::null_mut();
        // SAFETY: it writes a handle there.
        let status = unsafe { raw::hipsolverCreate(&mut handle) };
        check(status, "hipsolverCreate", || "a handle of the current device".to_owned())?;
        Ok(handle)
    }

    unsafe fn destroy(handle: *mut c_void) {
        // SAFETY: a handle that nothing uses any more.
        let _ = unsafe { raw::hipsolverDestroy(handle) };
    }

    unsafe fn set_stream(handle: *mut c_void, stream: hipStream_t) -> Result<(), CallError> {
        // SAFETY: a handle that is alive, and a stream of its device.
        check(unsafe { raw::hipsolverSetStream(handle, stream) }, "hipsolverSetStream", || "a stream".to_owned())
    }

    // hipSOLVER takes no scalars.
    unsafe fn set_pointer_mode(_: *mut c_void, _: bool) -> Result<(), CallError> {
        Ok(())
    }
}

/// How Jacobi's method ends: of [`Solver::syevj`] and [`Solver::gesvdj`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jacobi {
    /// Off-diagonal elements that are smaller, relative to the matrix, count as zero. 0 is the machine's precision.
    pub tolerance: f64,
    /// Passes over the matrix, at most.
    pub max_sweeps: u32,
    /// Whether the values are sorted.
    pub sort: bool,
}

impl Default for Jacobi {
    fn default() -> Self {
        Self { tolerance: 0.0, max_sweeps: 100, sort: true }
    }
}

/// How Jacobi's method ended: of [`Outcome::convergence`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convergence {
    /// Passes over the matrix.
    pub sweeps: u32,
    /// The norm of what is left beside the diagonal.
    pub residual: f64,
}

/// HIPSOLVER_DETERMINISTIC_RESULTS; the next number allows others.
const DETERMINISTIC: u32 = 241;

/// Memory that calls reuse.
#[derive(Default)]
struct Pool {
    work: Option<DeviceBuffer<u8>>,
    infos: Vec<DeviceBuffer<i32>>,
}

/// The library's objects for parameters. Those of Jacobi's method have device memory.
struct Parameters {
    eigen: *mut c_void,
    singular: *mut c_void,
    /// Of the functions with 64-bit sizes.
    wide: *mut c_void,
}

// SAFETY: they are of no thread; who uses them holds the lock.
unsafe impl Send for Parameters {}

/// hipSOLVER on a device: its methods queue factorisations and solves on a stream.
///
/// Each method returns an [`Outcome`], which says whether the matrix allowed it. Workspaces are kept and reused.
///
/// The first call frees the library's own workspace, for which HIP waits for the device: it is made when no host function is under way and no
/// stream of another thread is captured.
#[doc(alias("hipsolverHandle_t", "hipsolverDnHandle_t", "cusolverDnHandle_t"))]
pub struct Solver {
    handle: Handle<HipSolver>,
    pool: Mutex<Pool>,
    parameters: Mutex<Parameters>,
    always_wide: bool,
    /// Whether a call was made with it. The first frees the workspace that the library has of its own.
    used: AtomicBool,
}

impl std::fmt::Debug for Solver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Solver").field("stream", self.stream()).finish_non_exhaustive()
    }
}

impl Solver {
    /// hipSOLVER on the stream's device, which queues its work on the stream.
    ///
    /// # Errors
    /// [`CallError::NoLibrary`], with every path that was tried.
    #[doc(alias("hipsolverCreate", "hipsolverDnCreate", "cusolverDnCreate"))]
    pub fn new(stream: &Stream) -> Result<Self> {
        let handle = Handle::new(stream)?;
        let parameters =
            Mutex::new(Parameters { eigen: ptr::null_mut(), singular: ptr::null_mut(), wide: ptr::null_mut() });
        let used = AtomicBool::new(false);
        Ok(Self { handle, pool: Mutex::default(), parameters, always_wide: false, used })
    }

    /// The stream of the calls to come.
    #[must_use]
    #[doc(alias("hipsolverGetStream", "cusolverDnGetStream"))]
    pub fn stream(&self) -> &Stream {
        self.handle.stream()
    }

    /// Has the calls to come queue their work on another stream of the device.
    ///
    /// # Errors
    /// An error of `hip` for a stream of another device.
    #[doc(alias("hipsolverSetStream", "cusolverDnSetStream"))]
    pub fn set_stream(&mut self, stream: &Stream) -> Result<()> {
        Ok(self.handle.set_stream(stream)?)
    }

    /// Whether repeated calls return the same bits, without atomic operations, if `yes`. It may be slower. ROCm 6.3 and newer.
    ///
    /// # Errors
    /// [`CallError::NoSymbol`] on older releases.
    #[doc(alias("hipsolverSetDeterministicMode", "hipsolverDnSetDeterministicMode"))]
    #[doc(alias("cusolverDnSetDeterministicMode"))]
    pub fn set_deterministic(&mut self, yes: bool) -> Result<()> {
        let mode = if yes { DETERMINISTIC } else { DETERMINISTIC + 1 };
        self.handle.configure(|handle| {
            // SAFETY: a handle that is alive.
            let status = unsafe { raw::hipsolverSetDeterministicMode(handle, mode) };
            check(status, "hipsolverSetDeterministicMode", || format!("deterministic: {yes}"))
        })?;
        Ok(())
    }

    /// Whether repeated calls return the same bits: what [`set_deterministic`](Self::set_deterministic) has set, or the library's default.
    ///
    /// # Errors
    /// As [`set_deterministic`](Self::set_deterministic).
    #[doc(alias("hipsolverGetDeterministicMode", "hipsolverDnGetDeterministicMode"))]
    #[doc(alias("cusolverDnGetDeterministicMode"))]
    pub fn is_deterministic(&self) -> Result<bool> {
        let mut mode = 0;
        self.handle.configure(|handle| {
            // SAFETY: a handle that is alive; it writes the mode there.
            let status = unsafe { raw::hipsolverGetDeterministicMode(handle, &mut mode) };
            check(status, "hipsolverGetDeterministicMode", String::new)
        })?;
        Ok(mode == DETERMINISTIC)
    }

    /// Has calls use the functions with 64-bit sizes wherever there are such: for tests.
    #[doc(hidden)]
    pub fn always_wide(&mut self, yes: bool) {
        self.always_wide = yes;
    }

    /// Whether a call with these sizes needs the functions with 64-bit sizes.
    pub(crate) fn wide(&self, sizes: &[usize]) -> bool {
        self.always_wide || sizes.iter().any(|&size| i32::try_from(size).is_err())
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// At least so many bytes, to be given back with [`put_work`](Self::put_work).
    fn take_work(&self, bytes: usize) -> Result<DeviceBuffer<u8>> {
        match self.pool().work.take() {
            Some(work) if work.len() >= bytes => Ok(work),
            _ => Ok(DeviceBuffer::uninit(&self.stream().device(), bytes.max(256))?),
        }
    }

    /// Takes a workspace back, unless a graph has it: branches of a graph run side by side, each with a workspace of its own.
    fn put_work(&self, work: DeviceBuffer<u8>) {
        if work.as_slice().is_in_graph() {
            return;
        }
        let mut pool = self.pool();
        if pool.work.as_ref().is_none_or(|other| other.len() < work.len()) {
            pool.work = Some(work);
        }
    }

    /// Room for so many numbers. A call that is captured gets memory of its own, in which nothing failed yet.
    fn take_info(&self, count: usize, captured: bool) -> Result<DeviceBuffer<i32>> {
        if captured {
            return Ok(DeviceBuffer::zeroed(&self.stream().device(), count)?);
        }
        let mut pool = self.pool();
        if let Some(index) = pool.infos.iter().position(|info| info.len() >= count) {
            return Ok(pool.infos.swap_remove(index));
        }
        drop(pool);
        Ok(DeviceBuffer::zeroed(&self.stream().device(), count.max(16))?)
    }

    /// Takes the numbers of a call back, unless a graph writes them at each launch.
    fn put_info(&self, info: DeviceBuffer<i32>) {
        if !info.as_slice().is_in_graph() {
            self.pool().infos.push(info);
        }
    }

    /// Fills the workspace that calls share, for tests: no result may depend on what is in it.
    ///
    /// # Errors
    /// Those of an allocation and a fill.
    #[doc(hidden)]
    pub fn fill_workspace(&self, bytes: usize, byte: u8) -> Result<()> {
        let mut work = self.take_work(bytes)?;
        work.fill(byte)?;
        self.put_work(work);
        Ok(())
    }

    /// The parameters of Jacobi's method, set as asked. `singular`: for singular values, not eigenvalues.
    fn jacobi(&self, raw: &mut Parameters, jacobi: Jacobi, singular: bool) -> Result<*mut c_void, CallError> {
        let Parameters { eigen, singular: other, .. } = raw;
        let slot = if singular { other } else { eigen };
        let sweeps = i32::try_from(jacobi.max_sweeps).unwrap_or(i32::MAX);
        let ok = |status, function| check(status, function, || format!("{jacobi:?}"));
        // SAFETY: parameters that were made here and that the lock keeps from others.
        unsafe {
            if singular {
                if slot.is_null() {
                    ok(raw::hipsolverCreateGesvdjInfo(slot), "hipsolverCreateGesvdjInfo")?;
                }
                ok(raw::hipsolverXgesvdjSetTolerance(*slot, jacobi.tolerance), "hipsolverXgesvdjSetTolerance")?;
                ok(raw::hipsolverXgesvdjSetMaxSweeps(*slot, sweeps), "hipsolverXgesvdjSetMaxSweeps")?;
                ok(raw::hipsolverXgesvdjSetSortEig(*slot, jacobi.sort.into()), "hipsolverXgesvdjSetSortEig")?;
            } else {
                if slot.is_null() {
                    ok(raw::hipsolverCreateSyevjInfo(slot), "hipsolverCreateSyevjInfo")?;
                }
                ok(raw::hipsolverXsyevjSetTolerance(*slot, jacobi.tolerance), "hipsolverXsyevjSetTolerance")?;
                ok(raw::hipsolverXsyevjSetMaxSweeps(*slot, sweeps), "hipsolverXsyevjSetMaxSweeps")?;
                ok(raw::hipsolverXsyevjSetSortEig(*slot, jacobi.sort.into()), "hipsolverXsyevjSetSortEig")?;
            }
        }
        Ok(*slot)
    }

    /// The parameters of the functions with 64-bit sizes: the library's defaults.
    fn wide_parameters(raw: &mut Parameters) -> Result<*mut c_void, CallError> {
        if raw.wide.is_null() {
            // SAFETY: it writes the object there.
            let status = unsafe { raw::hipsolverDnCreateParams(&mut raw.wide) };
            check(status, "hipsolverDnCreateParams", String::new)?;
        }
        Ok(raw.wide)
    }

    /// What the library says of the last call with these parameters; nothing of batches.
    fn convergence(&self, parameters: *mut c_void, singular: bool) -> Result<Option<Convergence>> {
        let (mut sweeps, mut residual) = (0_i32, 0.0_f64);
        // Blocking copies from the device.
        let said = wait_for_device(&self.stream().device(), || {
            self.handle.configure(|handle| {
                // SAFETY: a handle and parameters that are alive and not in use: the call has ended, and the lock keeps them from others.
                let statuses = unsafe {
                    if singular {
                        [
                            raw::hipsolverXgesvdjGetSweeps(handle, parameters, &mut sweeps),
                            raw::hipsolverXgesvdjGetResidual(handle, parameters, &mut residual),
                        ]
                    } else {
                        [
                            raw::hipsolverXsyevjGetSweeps(handle, parameters, &mut sweeps),
                            raw::hipsolverXsyevjGetResidual(handle, parameters, &mut residual),
                        ]
                    }
                };
                Ok::<_, CallError>(statuses.iter().all(|&status| status == raw::HIPSOLVER_STATUS_SUCCESS))
            })
        })?;
        Ok(said.then(|| Convergence { sweeps: sweeps.unsigned_abs(), residual }))
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        let parameters = self.parameters.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !parameters.wide.is_null() {
            // SAFETY: made here; calls read it on the host, and have returned.
            let _ = unsafe { raw::hipsolverDnDestroyParams(parameters.wide) };
        }
        if parameters.eigen.is_null() && parameters.singular.is_null() {
            return;
        }
        // What is queued may write to their device memory. Calls that use them have waited, but for an error.
        let _ = self.handle.stream().synchronize();
        let device = self.handle.stream().device();
        let (eigen, singular) = (parameters.eigen as usize, parameters.singular as usize);
        let destroy = move || {
            if eigen != 0 {
                // SAFETY: made here, and used by nothing any more.
                let _ = unsafe { raw::hipsolverDestroySyevjInfo(eigen as *mut c_void) };
            }
            if singular != 0 {
                // SAFETY: made here, and used by nothing any more.
                let _ = unsafe { raw::hipsolverDestroyGesvdjInfo(singular as *mut c_void) };
            }
        };
        // That frees their memory.
        Tracked::new().release_when_idle(&device.clone(), move || drop(device.with_current(destroy)));
    }
}

/// The workspace of a call, as C takes it.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub(crate) pointer: *mut c_void,
    /// As the library told it.
    pub(crate) len: usize,
    pub(crate) info: *mut c_void,
    /// Memory of the host, of functions with 64-bit sizes.
    pub(crate) host: *mut c_void,
    pub(crate) host_len: usize,
    /// Of Jacobi's method, or of functions with 64-bit sizes; else null.
    pub(crate) parameters: *mut c_void,
    /// The power of two that the eigenvalues are multiplied by.
    pub(crate) power: i32,
}

impl Work {
    pub(crate) fn len(&self) -> i32 {
        i32::try_from(self.len).unwrap_or(i32::MAX)
    }
}

/// What a call is.
pub(crate) struct Plan<F> {
    pub(crate) routine: &'static str,
    pub(crate) pair: &'static Pair,
    pub(crate) cause: fn(usize) -> Cause,
    /// Numbers in `info`.
    pub(crate) members: usize,
    /// With Jacobi's parameters; `true` for those of singular values.
    pub(crate) jacobi: Option<(Jacobi, bool)>,
    /// Bytes for each unit of the size that the library tells. Some releases count bytes, some elements: there is room for elements.
    pub(crate) unit: usize,
    /// Bytes that the library needs beside what it tells.
    pub(crate) extra: usize,
    /// Whether the library may wait for the device.
    pub(crate) waits: bool,
    /// Whether the library reads parts of the workspace that it has not written: they are zeros then.
    pub(crate) cleared: bool,
    /// Matrices that are scaled where the library needs that. Only for functions that wait.
    pub(crate) scaling: Option<Scaling>,
    /// Whether the function has 64-bit sizes, and tells those of two workspaces: on the device and on the host.
    pub(crate) wide: bool,
    /// Shapes, for errors.
    pub(crate) asked: F,
}

fn function(slot: &'static hip_linalg::__private::Slot, name: &'static str) -> Result<NonNull<c_void>, CallError> {
    slot.get(&BINDING).or_else(|why| {
        check(hipsolverStatus_t::missing(why), name, String::new)?;
        let (value, allowed) = (name.to_owned(), "in the library".to_owned());
        Err(CallError::Invalid { what: "the function", value, allowed })
    })
}

impl Solver {
    /// Asks for the workspace, queues the call, and returns its outcome. `size` and `work` make the two C calls; the first gets the place
    /// for the size and the parameters of Jacobi's method.
    pub(crate) fn run<'s: 'b, 'b, S, W, F: Fn() -> String>(
        &'s self,
        operands: Operands<'b>,
        plan: Plan<F>,
        size: impl FnOnce(*mut c_void, *mut c_void) -> S,
        work: impl FnOnce(Work) -> W,
    ) -> Result<Outcome<'s>>
    where
        S: FnOnce(NonNull<c_void>, *mut c_void) -> hipsolverStatus_t,
        W: FnOnce(NonNull<c_void>, *mut c_void) -> hipsolverStatus_t,
    {
        let Plan { routine, pair, cause, members, jacobi, waits, cleared, scaling, unit, extra, wide, asked } = plan;
        let captured = self.stream().is_capturing()?;
        if captured && (waits || jacobi.is_some()) {
            // Before any of it is in the graph.
            let reason = format!("{routine} waits for the device: call it outside of the capture");
            return Err(CallError::Hip(hip::Error::Capture { reason }).into());
        }
        // For overlaps, and leading dimensions.
        if operands.form()?.wide && !wide {
            let allowed = format!("less than 2^31 for {routine} of these operands");
            return Err(invalid("a leading dimension or an increment", "2^31 or more", allowed));
        }
        let [size_name, work_name] = pair.names;
        let working = function(&pair.work, work_name)?;
        // Held until the call has waited: the library writes to the device memory of Jacobi's.
        let mut held =
            (wide || jacobi.is_some()).then(|| self.parameters.lock().unwrap_or_else(PoisonError::into_inner));
        let parameters = match (jacobi, &mut held) {
            (Some((jacobi, singular)), Some(held)) => self.jacobi(held, jacobi, singular)?,
            (None, Some(held)) => Self::wide_parameters(held)?,
            _ => ptr::null_mut(),
        };
        // Each as large as either kind of size.
        let mut lens = [0_usize; 2];
        if pair.sized {
            let sizing = function(&pair.size, size_name)?;
            let ask = size(lens.as_mut_ptr().cast(), parameters);
            let device = self.stream().device();
            device.with_current(|| {
                // What allocates for Jacobi's method does so here.
                self.handle.configure(|handle| check(ask(sizing, handle), size_name, &asked))
            })??;
        }
        let [len, host_len] = lens;
        // No function of ROCm 7.2 asks for any.
        let mut on_host = vec![0_u64; host_len.div_ceil(size_of::<u64>())];
        let host = on_host.as_mut_ptr().cast();
        let scaling = match scaling {
            Some(scaling) => Kernels::of(&self.stream().device())?.map(|kernels| (scaling, kernels)),
            None => None,
        };
        let used = len.saturating_mul(unit).saturating_add(extra).saturating_add(7) & !7;
        let of_scaling = scaling.as_ref().map_or(0, |(scaling, _)| scaling.bytes());
        let mut memory = self.take_work(used.saturating_add(of_scaling))?;
        if captured && host_len != 0 {
            let reason = format!("{routine} needs memory on the host until it is done: call it outside of the capture");
            return Err(CallError::Hip(hip::Error::Capture { reason }).into());
        }
        if cleared {
            memory.fill_async(self.stream(), 0)?;
        }
        let mut info = self.take_info(members, captured)?;
        let done = {
            let mut operands = operands;
            // SAFETY: the operands are gone at the end of this block, on every way out of it.
            let pointer = unsafe { operands.lend("the workspace", memory.as_slice_mut())? };
            let slice = info.slice_mut(..members)?;
            // SAFETY: as the workspace.
            let info = unsafe { operands.lend("info", slice)? };
            let name = work_name;
            let stream = self.stream().as_raw();
            let bytes = used.max(256);
            let call = |handle| {
                if !pair.sized {
                    // Else the library works in the workspace of the call before, which may be gone by now.
                    // SAFETY: the handle is alive, and the memory is lent to the call, which waits for its work.
                    let status = unsafe { raw::rocblas_set_workspace(handle, pointer, bytes) };
                    check(status, "rocblas_set_workspace", || format!("{bytes} bytes"))?;
                }
                let Some((scaling, kernels)) = &scaling else {
                    let call = work(Work { pointer, len, info, host, host_len, parameters, power: 0 });
                    check(call(working, handle), name, &asked)?;
                    return Ok(None);
                };
                let place = pointer.wrapping_byte_add(used);
                // SAFETY: the operands of the call, in the order of its stream, which this thread may wait for; memory behind the workspace.
                let scaled = unsafe { scaling.begin(kernels, stream, place)? };
                let power = scaled.of_values(scaling);
                let call = work(Work { pointer, len, info, host, host_len, parameters, power });
                check(call(working, handle), name, &asked)?;
                // SAFETY: as above.
                unsafe { scaling.end(kernels, stream, place, &scaled)? };
                Ok(Some(scaled))
            };
            // SAFETY: the routine queues its work on the handle's stream. It uses the operands that were named, whose views were checked when
            // they were made, with the sizes that the method has compared, and a workspace of the size that it asks for.
            unsafe {
                let first = !self.used.load(Ordering::Relaxed) && !captured;
                if first {
                    let done = self.handle.call_waiting_for_device(operands, call);
                    // Not before: a call of another thread may come first.
                    self.used.store(true, Ordering::Relaxed);
                    done
                } else if waits {
                    self.handle.call_blocking(operands, call)
                } else {
                    self.handle.call(operands, &[], |handle, []| call(handle))
                }
            }
        };
        self.put_work(memory);
        if host_len != 0 {
            self.stream().synchronize()?;
        }
        let scaled: Option<Scaled> = done?;
        let mut convergence = None;
        if let Some((_, singular)) = jacobi {
            self.stream().synchronize()?;
            convergence = self.convergence(parameters, singular)?;
        }
        let mut not_finite = Vec::new();
        if let (Some(scaled), Some((scaling, _))) = (scaled, &scaling) {
            if let Some(convergence) = &mut convergence {
                convergence.residual = times_power(convergence.residual, -scaled.of_values(scaling));
            }
            not_finite = scaled.not_finite;
        }
        let mut outcome = self.outcome(routine, cause, Some(info), members, convergence);
        outcome.not_finite = not_finite;
        Ok(outcome)
    }

    fn outcome(
        &self,
        routine: &'static str,
        cause: fn(usize) -> Cause,
        info: Option<DeviceBuffer<i32>>,
        members: usize,
        convergence: Option<Convergence>,
    ) -> Outcome<'_> {
        Outcome { solver: self, info, members, routine, cause, beyond: None, not_finite: Vec::new(), convergence }
    }

    /// The outcome of a call that has nothing to do.
    pub(crate) fn nothing(&self, routine: &'static str, cause: fn(usize) -> Cause) -> Outcome<'_> {
        self.outcome(routine, cause, None, 0, None)
    }
}

type Beyond = (usize, fn(usize) -> Cause);

/// Whether a matrix allowed what was asked, when the queued work is over. `wait` returns it; without, the work is queued all the same.
///
/// The results of a factorisation that failed are those that LAPACK leaves: a part of the factors, or nothing of use.
///
/// The outcome of a captured call is that of the last launch of its graph, which [`check`](Self::check) asks for after each launch. Before the first,
/// nothing has failed.
#[must_use = "whether it was possible is not known yet: `.wait()?`"]
#[derive(Debug)]
pub struct Outcome<'a> {
    solver: &'a Solver,
    info: Option<DeviceBuffer<i32>>,
    members: usize,
    routine: &'static str,
    cause: fn(usize) -> Cause,
    /// Numbers above the first have the cause that the second makes of the rest.
    beyond: Option<Beyond>,
    /// Members with an element that is NaN or infinite, if that was looked for.
    not_finite: Vec<bool>,
    convergence: Option<Convergence>,
}

impl Outcome<'_> {
    pub(crate) fn beyond(mut self, limit: usize, cause: fn(usize) -> Cause) -> Self {
        self.beyond = Some((limit, cause));
        self
    }

    /// Waits for the work.
    ///
    /// # Errors
    /// [`Error::Numerical`] for the first matrix that did not allow it; those of the queued work.
    pub fn wait(self) -> Result<()> {
        self.check()
    }

    /// As [`wait`](Self::wait), and can be asked again: of a captured call, after each launch.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn check(&self) -> Result<()> {
        let routine = self.routine;
        let fail = |member, cause| Err(Error::Numerical { routine, member, cause });
        if self.members == 1 {
            let Some(info) = &self.info else { return Ok(()) };
            let mut found = [0];
            info.slice(..1)?.copy_to_slice_on(self.solver.stream(), &mut found)?;
            return self.cause_of(0, found[0]).map_or(Ok(()), |cause| fail(0, cause));
        }
        let first = self.read()?.into_iter().enumerate().find_map(|(member, cause)| Some((member, cause?)));
        first.map_or(Ok(()), |(member, cause)| fail(member, cause))
    }

    fn read(&self) -> Result<Vec<Option<Cause>>> {
        let Some(info) = &self.info else { return Ok(Vec::new()) };
        let found = info.slice(..self.members)?.to_vec()?;
        Ok(found.iter().enumerate().map(|(member, &info)| self.cause_of(member, info)).collect())
    }

    /// Waits for the work, and returns for each member of the batch why it was not possible, or `None` where it was.
    ///
    /// # Errors
    /// Those of the queued work.
    pub fn causes(self) -> Result<Vec<Option<Cause>>> {
        self.read()
    }

    /// How Jacobi's method ended; `None` for other methods and for batches, of which the library does not say it.
    ///
    /// Where it ends after [`Jacobi::max_sweeps`] with a residual above the tolerance, rocSOLVER of 7.2 and older reports no failure.
    #[must_use]
    #[doc(alias("hipsolverXsyevjGetSweeps", "hipsolverXsyevjGetResidual", "cusolverDnXsyevjGetSweeps"))]
    #[doc(alias("hipsolverXgesvdjGetSweeps", "hipsolverXgesvdjGetResidual", "cusolverDnXgesvdjGetSweeps"))]
    pub fn convergence(&self) -> Option<Convergence> {
        self.convergence
    }

    /// Negative ones are arguments that the library refused: it returns a status then.
    fn cause_of(&self, member: usize, info: i32) -> Option<Cause> {
        let info = usize::try_from(info).ok().filter(|&info| info != 0);
        if info.is_none() && self.not_finite.get(member) == Some(&true) {
            // The library ends with numbers that are no eigenvalues, and some releases say that all went well.
            return Some(Cause::NotFinite);
        }
        let info = info?;
        Some(match self.beyond {
            Some((limit, beyond)) if info > limit => beyond(info - limit),
            _ => (self.cause)(info),
        })
    }
}

impl Drop for Outcome<'_> {
    fn drop(&mut self) {
        if let Some(info) = self.info.take() {
            // Its next use comes after this one's.
            self.solver.put_info(info);
        }
    }
}

//! The handle, its workspaces, and the outcomes of calls.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip::interop::{Tracked, wait_for_device};
use hip::sys::hipStream_t;
use hip::{DeviceBuffer, Stream};
use hip_linalg::{Handle, Library, Operands};
use hipsolver_sys::MissingValue;

use crate::checks::invalid;
use crate::raw::{self, BINDING, Pair, hipsolverStatus_t};
use crate::scaling::{Kernels, Scaled, Scaling, times_power};
use crate::{CallError, Cause, Error, Result, check};

pub(crate) struct HipSolver;

impl Library for HipSolver {
    type Error = CallError;

    fn create() -> Result<*mut c_void, CallError> {
        let mut handle = ptr::null_mut();
        // SAFETY: the function writes a handle through a valid pointer.
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

/// The stopping criteria of Jacobi's method, for [`Solver::syevj`] and [`Solver::gesvdj`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jacobi {
    /// Off-diagonal elements that are smaller, relative to the matrix, count as zero. 0 means the machine precision.
    pub tolerance: f64,
    /// Maximum number of sweeps over the matrix.
    pub max_sweeps: u32,
    /// Whether the values are sorted.
    pub sort: bool,
}

impl Default for Jacobi {
    fn default() -> Self {
        Self { tolerance: 0.0, max_sweeps: 100, sort: true }
    }
}

/// The convergence of Jacobi's method. [`Outcome::convergence`] returns it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convergence {
    /// Number of sweeps over the matrix.
    pub sweeps: u32,
    /// The norm of the remaining off-diagonal elements.
    pub residual: f64,
}

/// HIPSOLVER_DETERMINISTIC_RESULTS; the next number allows nondeterministic results.
const DETERMINISTIC: u32 = 241;

/// Memory that calls reuse.
#[derive(Default)]
struct Pool {
    work: Option<DeviceBuffer<u8>>,
    infos: Vec<DeviceBuffer<i32>>,
}

/// The library's parameter objects. Those of Jacobi's method have device memory.
struct Parameters {
    eigen: *mut c_void,
    singular: *mut c_void,
    /// For the functions with 64-bit sizes.
    wide: *mut c_void,
}

// SAFETY: the objects are not bound to a thread; the lock serializes their use.
unsafe impl Send for Parameters {}

/// hipSOLVER on a device: its methods queue factorizations and solves on a stream.
///
/// Each method returns an [`Outcome`], which reports numerical failures. Workspaces are kept and reused.
///
/// The first call frees the library's own workspace, for which HIP waits for the device: the call waits until no host
/// function runs and no other thread captures a stream.
#[doc(alias("hipsolverHandle_t", "hipsolverDnHandle_t", "cusolverDnHandle_t"))]
pub struct Solver {
    handle: Handle<HipSolver>,
    pool: Mutex<Pool>,
    parameters: Mutex<Parameters>,
    always_wide: bool,
    /// Whether a call was made with the handle. The first call frees the library's own workspace.
    used: AtomicBool,
}

impl std::fmt::Debug for Solver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Solver").field("stream", self.stream()).finish_non_exhaustive()
    }
}

impl Solver {
    /// Creates a hipSOLVER handle on the stream's device. It queues its work on the stream.
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

    /// Returns the stream that later calls queue their work on.
    #[must_use]
    #[doc(alias("hipsolverGetStream", "cusolverDnGetStream"))]
    pub fn stream(&self) -> &Stream {
        self.handle.stream()
    }

    /// Makes later calls queue their work on another stream of the device.
    ///
    /// # Errors
    /// An error from `hip` for a stream of another device.
    #[doc(alias("hipsolverSetStream", "cusolverDnSetStream"))]
    pub fn set_stream(&mut self, stream: &Stream) -> Result<()> {
        Ok(self.handle.set_stream(stream)?)
    }

    /// Sets whether repeated calls return the same bits, without atomic operations. It may be slower. ROCm 6.3 and
    /// newer.
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

    /// Returns whether repeated calls return the same bits: the value of
    /// [`set_deterministic`](Self::set_deterministic), or the library's default.
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

    /// Makes calls use the functions with 64-bit sizes if they exist, for tests.
    #[doc(hidden)]
    pub fn always_wide(&mut self, yes: bool) {
        self.always_wide = yes;
    }

    /// Returns whether a call with these sizes needs the functions with 64-bit sizes.
    pub(crate) fn wide(&self, sizes: &[usize]) -> bool {
        self.always_wide || sizes.iter().any(|&size| i32::try_from(size).is_err())
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a workspace with at least this many bytes. Return it with [`put_work`](Self::put_work).
    fn take_work(&self, bytes: usize) -> Result<DeviceBuffer<u8>> {
        match self.pool().work.take() {
            Some(work) if work.len() >= bytes => Ok(work),
            _ => Ok(DeviceBuffer::uninit(&self.stream().device(), bytes.max(256))?),
        }
    }

    /// Takes a workspace back, unless a graph uses it: branches of a graph run concurrently, each with its own
    /// workspace.
    fn put_work(&self, work: DeviceBuffer<u8>) {
        if work.as_slice().is_in_graph() {
            return;
        }
        let mut pool = self.pool();
        if pool.work.as_ref().is_none_or(|other| other.len() < work.len()) {
            pool.work = Some(work);
        }
    }

    /// Takes memory for this many numbers. A captured call gets its own memory, initialized to no failure.
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

    /// Fills the workspace that calls share, for tests: no result may depend on its content.
    ///
    /// # Errors
    /// An error from an allocation or a fill.
    #[doc(hidden)]
    pub fn fill_workspace(&self, bytes: usize, byte: u8) -> Result<()> {
        let mut work = self.take_work(bytes)?;
        work.fill(byte)?;
        self.put_work(work);
        Ok(())
    }

    /// Returns the parameters of Jacobi's method, set to `jacobi`. `singular`: for singular values instead of
    /// eigenvalues.
    fn jacobi(&self, raw: &mut Parameters, jacobi: Jacobi, singular: bool) -> Result<*mut c_void, CallError> {
        let Parameters { eigen, singular: other, .. } = raw;
        let slot = if singular { other } else { eigen };
        let sweeps = i32::try_from(jacobi.max_sweeps).unwrap_or(i32::MAX);
        let ok = |status, function| check(status, function, || format!("{jacobi:?}"));
        // SAFETY: parameters that were created here; the lock serializes their use.
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

    /// Returns the parameters of the functions with 64-bit sizes: the library's defaults.
    fn wide_parameters(raw: &mut Parameters) -> Result<*mut c_void, CallError> {
        if raw.wide.is_null() {
            // SAFETY: the function writes the object through a valid pointer.
            let status = unsafe { raw::hipsolverDnCreateParams(&mut raw.wide) };
            check(status, "hipsolverDnCreateParams", String::new)?;
        }
        Ok(raw.wide)
    }

    /// Returns the library's convergence of the last call with these parameters; not for batches.
    fn convergence(&self, parameters: *mut c_void, singular: bool) -> Result<Option<Convergence>> {
        let (mut sweeps, mut residual) = (0_i32, 0.0_f64);
        // The functions make blocking copies from the device.
        let said = wait_for_device(&self.stream().device(), || {
            self.handle.configure(|handle| {
                // SAFETY: a handle and parameters that are alive and not in use: the call has ended, and the lock serializes their use.
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
            // SAFETY: created here; calls read it on the host, and have returned.
            let _ = unsafe { raw::hipsolverDnDestroyParams(parameters.wide) };
        }
        if parameters.eigen.is_null() && parameters.singular.is_null() {
            return;
        }
        // Queued work may write to their device memory. Calls that use them have waited, unless they failed.
        let _ = self.handle.stream().synchronize();
        let device = self.handle.stream().device();
        let (eigen, singular) = (parameters.eigen as usize, parameters.singular as usize);
        let destroy = move || {
            if eigen != 0 {
                // SAFETY: created here, and no longer used.
                let _ = unsafe { raw::hipsolverDestroySyevjInfo(eigen as *mut c_void) };
            }
            if singular != 0 {
                // SAFETY: created here, and no longer used.
                let _ = unsafe { raw::hipsolverDestroyGesvdjInfo(singular as *mut c_void) };
            }
        };
        // Destroying them frees their memory.
        Tracked::new().release_when_idle(&device.clone(), move || drop(device.with_current(destroy)));
    }
}

/// The workspace of a call, as C expects it.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub(crate) pointer: *mut c_void,
    /// The size that the library returned.
    pub(crate) len: usize,
    pub(crate) info: *mut c_void,
    /// Host memory, for functions with 64-bit sizes.
    pub(crate) host: *mut c_void,
    pub(crate) host_len: usize,
    /// Parameters of Jacobi's method, or of functions with 64-bit sizes; otherwise null.
    pub(crate) parameters: *mut c_void,
    /// The power of two that the eigenvalues are multiplied by.
    pub(crate) power: i32,
}

impl Work {
    pub(crate) fn len(&self) -> i32 {
        i32::try_from(self.len).unwrap_or(i32::MAX)
    }
}

/// The properties of a call.
pub(crate) struct Plan<F> {
    pub(crate) routine: &'static str,
    pub(crate) pair: &'static Pair,
    pub(crate) cause: fn(usize) -> Cause,
    /// Number of elements in `info`.
    pub(crate) members: usize,
    /// Jacobi's parameters; `true` for singular values.
    pub(crate) jacobi: Option<(Jacobi, bool)>,
    /// Bytes for each unit of the size that the library returns. Some releases count bytes, some elements: the
    /// workspace has room for elements.
    pub(crate) unit: usize,
    /// Bytes that the library needs in addition to the size it returns.
    pub(crate) extra: usize,
    /// Whether the library may wait for the device.
    pub(crate) waits: bool,
    /// Whether the library reads parts of the workspace that it has not written: they are zeroed then.
    pub(crate) cleared: bool,
    /// Matrices that are scaled if the library needs it. Only for functions that wait.
    pub(crate) scaling: Option<Scaling>,
    /// Whether the function has 64-bit sizes, and returns the sizes of two workspaces: on the device and on the host.
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
    /// Queries the workspace size, queues the call, and returns its outcome. `size` and `work` make the two C calls;
    /// the first receives the address for the size and the parameters of Jacobi's method.
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
            // Checked before any part of the call is in the graph.
            let reason = format!("{routine} waits for the device: call it outside of the capture");
            return Err(CallError::Hip(hip::Error::Capture { reason }).into());
        }
        // Checks overlaps and leading dimensions.
        if operands.form()?.wide && !wide {
            let allowed = format!("less than 2^31 for {routine} of these operands");
            return Err(invalid("a leading dimension or an increment", "2^31 or more", allowed));
        }
        let [size_name, work_name] = pair.names;
        let working = function(&pair.work, work_name)?;
        // Held until the call has waited: the library writes to the device memory of Jacobi's parameters.
        let mut held =
            (wide || jacobi.is_some()).then(|| self.parameters.lock().unwrap_or_else(PoisonError::into_inner));
        let parameters = match (jacobi, &mut held) {
            (Some((jacobi, singular)), Some(held)) => self.jacobi(held, jacobi, singular)?,
            (None, Some(held)) => Self::wide_parameters(held)?,
            _ => ptr::null_mut(),
        };
        // Large enough for either kind of size.
        let mut lens = [0_usize; 2];
        if pair.sized {
            let sizing = function(&pair.size, size_name)?;
            let ask = size(lens.as_mut_ptr().cast(), parameters);
            let device = self.stream().device();
            device.with_current(|| {
                // Allocations for Jacobi's method happen here.
                self.handle.configure(|handle| check(ask(sizing, handle), size_name, &asked))
            })??;
        }
        let [len, host_len] = lens;
        // No function of ROCm 7.2 needs host memory.
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
            // SAFETY: the operands are dropped at the end of this block, on every way out of it.
            let pointer = unsafe { operands.lend("the workspace", memory.as_slice_mut())? };
            let slice = info.slice_mut(..members)?;
            // SAFETY: as for the workspace.
            let info = unsafe { operands.lend("info", slice)? };
            let name = work_name;
            let stream = self.stream().as_raw();
            let bytes = used.max(256);
            let call = |handle| {
                if !pair.sized {
                    // Otherwise the library works in the workspace of the previous call, which may have been freed.
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
                // SAFETY: the operands of the call, in the order of its stream, which this thread may wait for; memory after the workspace.
                let scaled = unsafe { scaling.begin(kernels, stream, place)? };
                let power = scaled.of_values(scaling);
                let call = work(Work { pointer, len, info, host, host_len, parameters, power });
                check(call(working, handle), name, &asked)?;
                // SAFETY: as above.
                unsafe { scaling.end(kernels, stream, place, &scaled)? };
                Ok(Some(scaled))
            };
            // SAFETY: the routine queues its work on the handle's stream. It uses only the named operands, whose views were checked when
            // they were made, with the sizes that the method has compared, and a workspace of the size that it requires.
            unsafe {
                let first = !self.used.load(Ordering::Relaxed) && !captured;
                if first {
                    let done = self.handle.call_waiting_for_device(operands, call);
                    // Not earlier: a call of another thread may come first.
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

    /// Returns the outcome of a call that has nothing to do.
    pub(crate) fn nothing(&self, routine: &'static str, cause: fn(usize) -> Cause) -> Outcome<'_> {
        self.outcome(routine, cause, None, 0, None)
    }
}

type Beyond = (usize, fn(usize) -> Cause);

/// The numerical outcome of a call, available when the queued work is done. `wait` returns it; the work runs even
/// without it.
///
/// After a failed factorization, the results are those of LAPACK: a part of the factors, or undefined.
///
/// The outcome of a captured call is that of the last launch of its graph; call [`check`](Self::check) after each
/// launch. Before the first launch, it is no failure.
#[must_use = "whether it was possible is not known yet: `.wait()?`"]
#[derive(Debug)]
pub struct Outcome<'a> {
    solver: &'a Solver,
    info: Option<DeviceBuffer<i32>>,
    members: usize,
    routine: &'static str,
    cause: fn(usize) -> Cause,
    /// A threshold, and the function that makes the cause for numbers above it.
    beyond: Option<Beyond>,
    /// Members with an element that is NaN or infinite, if this was checked.
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
    /// [`Error::Numerical`] for the first matrix that failed; errors of the queued work.
    pub fn wait(self) -> Result<()> {
        self.check()
    }

    /// As [`wait`](Self::wait), but can be called again: for a captured call, after each launch.
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

    /// Waits for the work, and returns for each member of the batch the cause of its failure, or `None` if it
    /// succeeded.
    ///
    /// # Errors
    /// Errors of the queued work.
    pub fn causes(self) -> Result<Vec<Option<Cause>>> {
        self.read()
    }

    /// Returns the convergence of Jacobi's method; `None` for other methods and for batches, for which the library does
    /// not report it.
    ///
    /// If the method stops after [`Jacobi::max_sweeps`] with a residual above the tolerance, rocSOLVER of 7.2 and older
    /// reports no failure.
    #[must_use]
    #[doc(alias("hipsolverXsyevjGetSweeps", "hipsolverXsyevjGetResidual", "cusolverDnXsyevjGetSweeps"))]
    #[doc(alias("hipsolverXgesvdjGetSweeps", "hipsolverXgesvdjGetResidual", "cusolverDnXgesvdjGetSweeps"))]
    pub fn convergence(&self) -> Option<Convergence> {
        self.convergence
    }

    /// Negative numbers are arguments that the library rejects: it returns a status then.
    fn cause_of(&self, member: usize, info: i32) -> Option<Cause> {
        let info = usize::try_from(info).ok().filter(|&info| info != 0);
        if info.is_none() && self.not_finite.get(member) == Some(&true) {
            // The library returns numbers that are not eigenvalues, and some releases report success.
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
            // Its next use is ordered after this call's use.
            self.solver.put_info(info);
        }
    }
}

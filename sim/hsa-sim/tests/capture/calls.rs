//! The calls and their arguments.
//!
//! Calls that crash HIP 7.2 are left out: `hipMallocAsync` on the default stream, and a wait of that stream for an
//! event of the capture.

use std::ffi::{c_uint, c_void};
use std::ptr::{from_ref, null, null_mut};

use hip_sys::*;

use crate::check;

const CODE: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../hip/tests/kernels/globals.gfx90a.co"));

/// The objects that calls use, all created before the capture.
pub(crate) struct Things {
    /// The stream that is captured; null once it is destroyed.
    pub(crate) captured: hipStream_t,
    /// Recorded on it in the capture.
    pub(crate) mark: hipEvent_t,
    pub(crate) device: *mut c_void,
    spare: *mut c_void,
    pinned: *mut c_void,
    spare_pinned: *mut c_void,
    /// Not captured: a blocking stream and a non-blocking one.
    blocking: hipStream_t,
    pub(crate) other: hipStream_t,
    /// Recorded on `other` before the capture, and completed.
    passed: hipEvent_t,
    unused: hipEvent_t,
    module: hipModule_t,
    function: hipFunction_t,
    graph: hipGraph_t,
    exec: hipGraphExec_t,
    array: hipArray_t,
    managed: *mut c_void,
    /// The device's default pool, and memory that was allocated on `other`.
    pool: hipMemPool_t,
    ordered: *mut c_void,
    is_registered: bool,
    /// Pageable, except for one registered page.
    host: Box<[u8; 3 * 4096]>,
}

// SAFETY: handles and pointers that any thread may use, one at a time.
unsafe impl Send for Things {}

unsafe extern "C" fn nothing(_: *mut c_void) {}

impl Things {
    pub(crate) fn new(flags: u32) -> Self {
        let mut new = Self {
            captured: null_mut(),
            mark: null_mut(),
            device: null_mut(),
            spare: null_mut(),
            pinned: null_mut(),
            spare_pinned: null_mut(),
            blocking: null_mut(),
            other: null_mut(),
            passed: null_mut(),
            unused: null_mut(),
            module: null_mut(),
            function: null_mut(),
            graph: null_mut(),
            exec: null_mut(),
            array: null_mut(),
            managed: null_mut(),
            pool: null_mut(),
            ordered: null_mut(),
            is_registered: true,
            host: Box::new([0; 3 * 4096]),
        };
        // SAFETY: places for results, and a whole code object.
        unsafe {
            check(hipStreamCreateWithFlags(&mut new.captured, flags));
            check(hipStreamCreateWithFlags(&mut new.blocking, hipStreamDefault));
            check(hipStreamCreateWithFlags(&mut new.other, hipStreamNonBlocking));
            check(hipMalloc(&mut new.device, 4096));
            check(hipMalloc(&mut new.spare, 4096));
            check(hipHostMalloc(&mut new.pinned, 4096, 0));
            check(hipHostMalloc(&mut new.spare_pinned, 4096, 0));
            check(hipModuleLoadData(&mut new.module, CODE.as_ptr().cast()));
            check(hipModuleGetFunction(&mut new.function, new.module, c"scaled".as_ptr()));
            check(hipGraphCreate(&mut new.graph, 0));
            let mut node = null_mut();
            check(hipGraphAddEmptyNode(&mut node, new.graph, null(), 0));
            check(hipGraphInstantiate(&mut new.exec, new.graph, null_mut(), null_mut(), 0));
            let format = hipChannelFormatDesc { x: 32, y: 0, z: 0, w: 0, f: hipChannelFormatKindUnsigned };
            check(hipMallocArray(&mut new.array, &format, 8, 8, 0));
            check(hipMallocManaged(&mut new.managed, 4096, hipMemAttachGlobal));
            check(hipDeviceGetDefaultMemPool(&mut new.pool, 0));
            check(hipMallocAsync(&mut new.ordered, 64, new.other));
            check(hipHostRegister(new.registered(), 64, 0));
        }
        new
    }

    /// Recreates the events, whose recordings are gone.
    pub(crate) fn renew_events(&mut self) {
        // SAFETY: events of ours, and places for new ones.
        unsafe {
            for event in [&mut self.mark, &mut self.passed, &mut self.unused] {
                if !event.is_null() {
                    hipEventDestroy(*event);
                }
                check(hipEventCreateWithFlags(event, hipEventDefault));
            }
            check(hipEventRecord(self.passed, self.other));
            check(hipDeviceSynchronize());
        }
    }

    /// Returns whether no call has destroyed an object that [`renew_events`](Self::renew_events) does not recreate.
    pub(crate) fn are_whole(&self) -> bool {
        let streams = [self.captured, self.blocking, self.other].iter().all(|stream| !stream.is_null());
        let memory = [self.spare, self.spare_pinned, self.ordered].iter().all(|memory| !memory.is_null());
        streams && memory && !self.module.is_null() && !self.array.is_null() && self.is_registered
    }

    /// Destroys the remaining objects.
    pub(crate) fn destroy(mut self) {
        // SAFETY: handles of ours; what a call has destroyed is null.
        unsafe {
            for stream in [self.captured, self.blocking, self.other].into_iter().filter(|stream| !stream.is_null()) {
                hipStreamDestroy(stream);
            }
            for event in [self.mark, self.passed, self.unused].into_iter().filter(|event| !event.is_null()) {
                hipEventDestroy(event);
            }
            hipFree(self.device);
            hipFree(self.managed);
            if !self.array.is_null() {
                hipFreeArray(self.array);
            }
            if !self.ordered.is_null() {
                hipFree(self.ordered);
            }
            if self.is_registered {
                hipHostUnregister(self.registered());
            }
            hipFree(self.spare);
            hipHostFree(self.pinned);
            hipHostFree(self.spare_pinned);
            if !self.module.is_null() {
                hipModuleUnload(self.module);
            }
            hipGraphExecDestroy(self.exec);
            hipGraphDestroy(self.graph);
            hipGetLastError();
        }
    }

    /// Launches the kernel that writes 64 numbers to the buffer.
    unsafe fn launch(&mut self, stream: hipStream_t) -> hipError_t {
        let mut arguments = [from_ref(&self.device).cast_mut().cast::<c_void>()];
        // SAFETY: one pointer, which is the kernel's argument.
        unsafe {
            hipModuleLaunchKernel(self.function, 1, 1, 1, 64, 1, 1, 0, stream, arguments.as_mut_ptr(), null_mut())
        }
    }

    /// Makes the other stream join the capture, with work of its own.
    unsafe fn fork(&mut self) -> hipError_t {
        // SAFETY: handles of ours, and 64 bytes.
        unsafe {
            check(hipStreamWaitEvent(self.other, self.mark, 0));
            hipMemsetAsync(self.spare, 1, 64, self.other)
        }
    }

    /// An address in the middle page, which contains nothing else.
    fn registered(&mut self) -> *mut c_void {
        let start = self.host.as_mut_ptr();
        start.wrapping_add(start.align_offset(4096) + 4096).cast()
    }

    fn pageable(&mut self) -> *mut c_void {
        self.host.as_mut_ptr().cast()
    }
}

/// A call: its name and a function that makes it.
pub(crate) type Call = (&'static str, unsafe fn(&mut Things) -> hipError_t);

/// Nulls a handle that a call has taken.
fn taken<T>(status: hipError_t, handle: &mut *mut T) -> hipError_t {
    if status == hipSuccess {
        *handle = null_mut();
    }
    status
}

/// Frees the result of a call, if it can be freed.
fn made(status: hipError_t, free: impl FnOnce()) -> hipError_t {
    if status == hipSuccess {
        free();
    }
    status
}

macro_rules! calls {
    ($($name:literal |$things:ident| $body:expr;)*) => {
        /// All of them.
        // SAFETY (of each): handles that are alive, places for results, and pointers to as many bytes as are said.
        pub(crate) const CALLS: &[Call] = &[$(($name, {
            unsafe fn call($things: &mut Things) -> hipError_t {
                // SAFETY: as said above.
                #[allow(unused_unsafe)]
                unsafe { $body }
            }
            call
        })),*];
    };
}

calls! {
    "hipMalloc" |_t| { let mut p = null_mut(); hipMalloc(&mut p, 64) };
    "hipFree" |t| taken(hipFree(t.spare), &mut t.spare);
    "hipFree(null)" |_t| hipFree(null_mut());
    "hipHostMalloc" |_t| { let mut p = null_mut(); hipHostMalloc(&mut p, 64, 0) };
    "hipHostFree" |t| taken(hipHostFree(t.spare_pinned), &mut t.spare_pinned);
    "hipMallocManaged" |_t| { let mut p = null_mut(); hipMallocManaged(&mut p, 64, hipMemAttachGlobal) };
    "hipMallocPitch" |_t| { let (mut p, mut pitch) = (null_mut(), 0); hipMallocPitch(&mut p, &mut pitch, 64, 4) };
    "hipExtMallocWithFlags" |_t| { let mut p = null_mut(); hipExtMallocWithFlags(&mut p, 64, 0) };
    "hipMallocAsync(other)" |t| { let mut p = null_mut(); hipMallocAsync(&mut p, 64, t.other) };
    "hipHostRegister" |t| { let p = t.pageable(); made(hipHostRegister(p, 64, 0), || { hipHostUnregister(p); }) };
    "hipHostUnregister" |t| {
        let status = hipHostUnregister(t.registered());
        t.is_registered &= status != hipSuccess;
        status
    };
    "hipMallocArray" |_t| {
        let format = hipChannelFormatDesc { x: 32, y: 0, z: 0, w: 0, f: hipChannelFormatKindUnsigned };
        let mut array = null_mut();
        made(hipMallocArray(&mut array, &format, 8, 8, 0), || { hipFreeArray(array); })
    };
    "hipFreeArray" |t| taken(hipFreeArray(t.array), &mut t.array);
    "hipMallocFromPoolAsync(other)" |t| {
        let mut p = null_mut();
        hipMallocFromPoolAsync(&mut p, 64, t.pool, t.other)
    };
    "hipFreeAsync(other)" |t| taken(hipFreeAsync(t.ordered, t.other), &mut t.ordered);
    "hipMemPoolCreate" |_t| {
        let mut properties = hipMemPoolProps { allocType: hipMemAllocationTypePinned, ..Default::default() };
        properties.location.type_ = hipMemLocationTypeDevice;
        let mut pool = null_mut();
        made(hipMemPoolCreate(&mut pool, &properties), || { hipMemPoolDestroy(pool); })
    };
    "hipMemPoolTrimTo" |t| hipMemPoolTrimTo(t.pool, 0);
    "hipMemAdvise" |t| hipMemAdvise(t.managed, 4096, hipMemAdviseSetReadMostly, 0);
    "hipMemPrefetchAsync(other)" |t| hipMemPrefetchAsync(t.managed, 4096, 0, t.other);
    "hipMemPrefetchAsync(captured)" |t| hipMemPrefetchAsync(t.managed, 4096, 0, t.captured);
    "hipMemPrefetchAsync(null)" |t| hipMemPrefetchAsync(t.managed, 4096, 0, null_mut());
    "hipMemGetInfo" |_t| { let (mut free, mut total) = (0, 0); hipMemGetInfo(&mut free, &mut total) };
    "hipPointerGetAttributes" |t| {
        let mut attributes = rocm_6_4::hipPointerAttribute_t::default();
        match rocm_5_7::has(c"hipPointerGetAttributes") {
            true => rocm_5_7::hipPointerGetAttributes((&raw mut attributes).cast(), t.device),
            false => rocm_6_4::hipPointerGetAttributes(&mut attributes, t.device),
        }
    };

    "hipMemcpy(HtoD)" |t| { let p = t.pageable(); hipMemcpy(t.device, p, 64, hipMemcpyHostToDevice) };
    "hipMemcpy(DtoH)" |t| { let p = t.pageable(); hipMemcpy(p, t.device, 64, hipMemcpyDeviceToHost) };
    "hipMemcpy(DtoD)" |t| hipMemcpy(t.spare, t.device, 64, hipMemcpyDeviceToDevice);
    "hipMemcpy(HtoH)" |t| { let p = t.pageable(); hipMemcpy(p, t.pinned, 64, hipMemcpyHostToHost) };
    "hipMemcpy(0 bytes)" |t| hipMemcpy(t.spare, t.device, 0, hipMemcpyDeviceToDevice);
    "hipMemcpyHtoD" |t| { let p = t.pageable(); hipMemcpyHtoD(t.device, p, 64) };
    "hipMemcpyDtoH" |t| { let p = t.pageable(); hipMemcpyDtoH(p, t.device, 64) };
    "hipMemcpyDtoD" |t| hipMemcpyDtoD(t.spare, t.device, 64);
    "hipMemcpy2D" |t| hipMemcpy2D(t.spare, 64, t.device, 64, 64, 4, hipMemcpyDeviceToDevice);
    "hipMemcpy3D" |t| {
        let copy = copy_3d(t);
        hipMemcpy3D(&copy)
    };
    "hipMemcpyWithStream(other)" |t| {
        let p = t.pageable();
        hipMemcpyWithStream(t.spare, p, 64, hipMemcpyHostToDevice, t.other)
    };
    "hipMemcpyWithStream(blocking)" |t| {
        let p = t.pageable();
        hipMemcpyWithStream(t.spare, p, 64, hipMemcpyHostToDevice, t.blocking)
    };
    "hipMemcpyWithStream(captured)" |t| {
        let p = t.pageable();
        hipMemcpyWithStream(t.spare, p, 64, hipMemcpyHostToDevice, t.captured)
    };
    "hipMemcpyWithStream(null)" |t| {
        let p = t.pageable();
        hipMemcpyWithStream(t.spare, p, 64, hipMemcpyHostToDevice, null_mut())
    };
    "hipMemcpyAsync(other)" |t| hipMemcpyAsync(t.spare, t.pinned, 64, hipMemcpyHostToDevice, t.other);
    "hipMemcpyAsync(blocking)" |t| hipMemcpyAsync(t.spare, t.pinned, 64, hipMemcpyHostToDevice, t.blocking);
    "hipMemcpyAsync(null)" |t| hipMemcpyAsync(t.spare, t.pinned, 64, hipMemcpyHostToDevice, null_mut());
    "hipMemcpyAsync(captured)" |t| hipMemcpyAsync(t.spare, t.pinned, 64, hipMemcpyHostToDevice, t.captured);
    "hipMemcpyAsync(captured, pageable)" |t| {
        let p = t.pageable();
        hipMemcpyAsync(t.spare, p, 64, hipMemcpyHostToDevice, t.captured)
    };
    "hipMemcpy2DAsync(null)" |t| {
        hipMemcpy2DAsync(t.spare, 64, t.device, 64, 64, 4, hipMemcpyDeviceToDevice, null_mut())
    };
    "hipMemcpy3DAsync(null)" |t| {
        let copy = copy_3d(t);
        hipMemcpy3DAsync(&copy, null_mut())
    };

    "hipMemset" |t| hipMemset(t.spare, 1, 64);
    "hipMemset(0 bytes)" |t| hipMemset(t.spare, 1, 0);
    "hipMemsetD8" |t| hipMemsetD8(t.spare, 1, 64);
    "hipMemsetD32" |t| hipMemsetD32(t.spare, 1, 64);
    "hipMemset2D" |t| hipMemset2D(t.spare, 64, 1, 64, 4);
    "hipMemsetAsync(other)" |t| hipMemsetAsync(t.spare, 1, 64, t.other);
    "hipMemsetAsync(blocking)" |t| hipMemsetAsync(t.spare, 1, 64, t.blocking);
    "hipMemsetAsync(null)" |t| hipMemsetAsync(t.spare, 1, 64, null_mut());
    "hipMemsetD32Async(null)" |t| hipMemsetD32Async(t.spare, 1, 16, null_mut());
    "hipMemset2DAsync(null)" |t| hipMemset2DAsync(t.spare, 64, 1, 64, 4, null_mut());

    "hipDeviceSynchronize" |_t| hipDeviceSynchronize();
    "hipStreamSynchronize(captured)" |t| hipStreamSynchronize(t.captured);
    "hipStreamSynchronize(other)" |t| hipStreamSynchronize(t.other);
    "hipStreamSynchronize(blocking)" |t| hipStreamSynchronize(t.blocking);
    "hipStreamSynchronize(null)" |_t| hipStreamSynchronize(null_mut());
    "hipStreamQuery(captured)" |t| hipStreamQuery(t.captured);
    "hipStreamQuery(other)" |t| hipStreamQuery(t.other);
    "hipStreamQuery(blocking)" |t| hipStreamQuery(t.blocking);
    "hipStreamQuery(null)" |_t| hipStreamQuery(null_mut());
    "hipStreamWaitEvent(other, passed)" |t| hipStreamWaitEvent(t.other, t.passed, 0);
    "hipStreamWaitEvent(null, passed)" |t| hipStreamWaitEvent(null_mut(), t.passed, 0);
    "hipStreamWaitEvent(captured, passed)" |t| hipStreamWaitEvent(t.captured, t.passed, 0);
    "hipStreamCreateWithFlags" |_t| {
        let mut stream = null_mut();
        made(hipStreamCreateWithFlags(&mut stream, hipStreamNonBlocking), || { hipStreamDestroy(stream); })
    };
    "hipStreamDestroy(other)" |t| taken(hipStreamDestroy(t.other), &mut t.other);
    "hipStreamDestroy(blocking)" |t| taken(hipStreamDestroy(t.blocking), &mut t.blocking);
    "hipStreamDestroy(captured)" |t| taken(hipStreamDestroy(t.captured), &mut t.captured);
    "hipStreamGetFlags(captured)" |t| { let mut flags: c_uint = 0; hipStreamGetFlags(t.captured, &mut flags) };
    "hipStreamBeginCapture(captured)" |t| hipStreamBeginCapture(t.captured, hipStreamCaptureModeGlobal);
    "hipStreamBeginCapture(other)" |t| {
        let status = hipStreamBeginCapture(t.other, hipStreamCaptureModeGlobal);
        made(status, || {
            let mut graph = null_mut();
            check(hipStreamEndCapture(t.other, &mut graph));
            check(hipGraphDestroy(graph));
        })
    };
    "hipStreamBeginCapture(null)" |_t| hipStreamBeginCapture(null_mut(), hipStreamCaptureModeGlobal);
    "hipStreamEndCapture(other)" |t| { let mut graph = null_mut(); hipStreamEndCapture(t.other, &mut graph) };
    "hipStreamIsCapturing(null)" |_t| {
        let mut status = hipStreamCaptureStatusNone;
        hipStreamIsCapturing(null_mut(), &mut status)
    };

    "a fork" |t| t.fork();
    "a fork and hipMalloc" |t| { check(t.fork()); let mut p = null_mut(); hipMalloc(&mut p, 64) };
    "a fork and hipMemset" |t| { check(t.fork()); hipMemset(t.spare, 1, 64) };
    "a fork and hipStreamSynchronize(other)" |t| { check(t.fork()); hipStreamSynchronize(t.other) };
    "a fork and hipStreamQuery(captured)" |t| { check(t.fork()); hipStreamQuery(t.captured) };
    "a fork and hipStreamEndCapture(other)" |t| {
        check(t.fork());
        let mut graph = null_mut();
        hipStreamEndCapture(t.other, &mut graph)
    };
    "a fork and hipStreamDestroy(other)" |t| { check(t.fork()); taken(hipStreamDestroy(t.other), &mut t.other) };
    "a fork and hipEventQuery(mark)" |t| { check(t.fork()); hipEventQuery(t.mark) };
    "a fork, joined" |t| {
        check(t.fork());
        check(hipEventRecord(t.unused, t.other));
        hipStreamWaitEvent(t.captured, t.unused, 0)
    };

    "hipEventCreateWithFlags" |_t| {
        let mut event = null_mut();
        made(hipEventCreateWithFlags(&mut event, hipEventDefault), || { hipEventDestroy(event); })
    };
    "hipEventDestroy(unused)" |t| taken(hipEventDestroy(t.unused), &mut t.unused);
    "hipEventDestroy(mark)" |t| taken(hipEventDestroy(t.mark), &mut t.mark);
    "hipEventQuery(mark)" |t| hipEventQuery(t.mark);
    "hipEventQuery(passed)" |t| hipEventQuery(t.passed);
    "hipEventQuery(unused)" |t| hipEventQuery(t.unused);
    "hipEventSynchronize(mark)" |t| hipEventSynchronize(t.mark);
    "hipEventSynchronize(passed)" |t| hipEventSynchronize(t.passed);
    "hipEventSynchronize(unused)" |t| hipEventSynchronize(t.unused);
    "hipEventElapsedTime(passed, passed)" |t| { let mut ms = 0.0; hipEventElapsedTime(&mut ms, t.passed, t.passed) };
    "hipEventElapsedTime(passed, mark)" |t| { let mut ms = 0.0; hipEventElapsedTime(&mut ms, t.passed, t.mark) };
    "hipEventRecord(other)" |t| hipEventRecord(t.unused, t.other);
    "hipEventRecord(blocking)" |t| hipEventRecord(t.unused, t.blocking);
    "hipEventRecord(null)" |t| hipEventRecord(t.unused, null_mut());

    "hipModuleLoadData" |_t| {
        let mut module = null_mut();
        hipModuleLoadData(&mut module, CODE.as_ptr().cast())
    };
    "hipModuleUnload" |t| taken(hipModuleUnload(t.module), &mut t.module);
    "hipModuleGetFunction" |t| {
        let mut function = null_mut();
        hipModuleGetFunction(&mut function, t.module, c"slow_count".as_ptr())
    };
    "hipModuleGetGlobal" |t| {
        let (mut address, mut bytes) = (null_mut(), 0);
        hipModuleGetGlobal(&mut address, &mut bytes, t.module, c"counters".as_ptr())
    };
    "hipModuleLaunchKernel(other)" |t| { let stream = t.other; t.launch(stream) };
    "hipModuleLaunchKernel(blocking)" |t| { let stream = t.blocking; t.launch(stream) };
    "hipModuleLaunchKernel(null)" |t| t.launch(null_mut());
    "hipModuleLaunchKernel(captured)" |t| { let stream = t.captured; t.launch(stream) };
    "hipLaunchHostFunc(null)" |_t| hipLaunchHostFunc(null_mut(), Some(nothing), null_mut());
    "hipLaunchHostFunc(other)" |t| hipLaunchHostFunc(t.other, Some(nothing), null_mut());

    "hipGraphCreate" |_t| {
        let mut graph = null_mut();
        made(hipGraphCreate(&mut graph, 0), || { hipGraphDestroy(graph); })
    };
    "hipGraphInstantiate" |t| {
        let mut exec = null_mut();
        made(hipGraphInstantiate(&mut exec, t.graph, null_mut(), null_mut(), 0), || { hipGraphExecDestroy(exec); })
    };
    "hipGraphLaunch(other)" |t| hipGraphLaunch(t.exec, t.other);
    "hipGraphLaunch(null)" |t| hipGraphLaunch(t.exec, null_mut());

    "hipSetDevice" |_t| hipSetDevice(0);
    "hipDeviceGetAttribute" |_t| { let mut value = 0; hipDeviceGetAttribute(&mut value, hipDeviceAttributeWarpSize, 0) };
    "hipDeviceSetCacheConfig" |_t| hipDeviceSetCacheConfig(hipFuncCachePreferNone);
    "hipIpcGetMemHandle" |t| {
        let mut handle = hipIpcMemHandle_t::default();
        hipIpcGetMemHandle(&mut handle, t.device)
    };
}

/// 64 bytes from one buffer to the other.
fn copy_3d(t: &Things) -> hipMemcpy3DParms {
    let end = |ptr| hipPitchedPtr { ptr, pitch: 64, xsize: 64, ysize: 1 };
    hipMemcpy3DParms {
        srcPtr: end(t.device),
        dstPtr: end(t.spare),
        extent: hipExtent { width: 64, height: 1, depth: 1 },
        kind: hipMemcpyDeviceToDevice,
        ..hipMemcpy3DParms::default()
    }
}

//! Runs a program on the process's HIP runtime, and records the results.
#![allow(non_upper_case_globals, reason = "constants as HIP names them, in patterns")]

use std::ffi::{CStr, c_void};
use std::fmt::Write as _;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

use hip_sys::*;

use super::op::*;

const CODE: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../hip/tests/kernels/kernels.gfx90a.co"));
const KERNELS: [&CStr; 5] = [c"add_in_place", c"vector_add", c"slow_store", c"bounded", c"empty"];

/// A buffer of the program, with margins on both sides that no call should touch.
#[repr(align(4096))]
struct Own([u8; HOST_BYTES]);

/// A process's module and buffers, and the program's handles.
pub(crate) struct Machine {
    kernels: [hipFunction_t; 5],
    own: [Box<Own>; HOST_BUFFERS],
    module: hipModule_t,
    pieces: [Piece; PIECES],
    streams: [hipStream_t; STREAMS],
    live_streams: [bool; STREAMS],
    events: [hipEvent_t; EVENTS + 1],
    live_events: [bool; EVENTS + 1],
    registered: [bool; HOST_BUFFERS],
    transcript: String,
    /// Whether memory types have their numbers from before HIP 6.
    old_kinds: bool,
}

#[derive(Clone, Copy)]
struct Piece {
    address: *mut c_void,
    size: usize,
    live: bool,
    host: bool,
}

const NO_PIECE: Piece = Piece { address: null_mut(), size: 0, live: false, host: false };

/// The work of a host function.
struct Task {
    bytes: *mut u8,
    value: u8,
}

unsafe extern "C" fn add(task: *mut c_void) {
    // SAFETY: made for this call by `HostFunction`; the buffer lives as long as the process, and the program is ordered such that nothing
    // else uses it now.
    unsafe {
        let task = Box::from_raw(task.cast::<Task>());
        (0..16).for_each(|n| *task.bytes.add(n) = (*task.bytes.add(n)).wrapping_add(task.value));
    }
}

unsafe extern "C" fn hold(open: *mut c_void) {
    // SAFETY: `Gate` waits for the stream before the flag is dropped.
    let open = unsafe { &*open.cast::<AtomicBool>() };
    while !open.load(Ordering::Acquire) {
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
}

/// Four bytes of the GPU's, never freed.
fn data() -> *mut c_void {
    let mut address = null_mut();
    // SAFETY: a place for the address.
    unsafe { hipMalloc(&mut address, 4) };
    address
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

impl Machine {
    /// Loads the module.
    pub(crate) fn new(old_kinds: bool) -> Self {
        let mut module = null_mut();
        let mut kernels = [null_mut(); 5];
        // SAFETY: a whole code object, places for the handles.
        unsafe {
            assert_eq!(hipModuleLoadData(&mut module, CODE.as_ptr().cast()), hipSuccess);
            for (kernel, name) in kernels.iter_mut().zip(KERNELS) {
                assert_eq!(hipModuleGetFunction(kernel, module, name.as_ptr()), hipSuccess, "{name:?}");
            }
            // The default streams are created on first use. Create them before a program's streams, whose addresses they might otherwise
            // reuse.
            assert_eq!(hipMemset(data(), 0, 4), hipSuccess);
            assert_eq!(hipMemsetAsync(data(), 0, 4, std::ptr::without_provenance_mut(2)), hipSuccess);
            assert_eq!(hipDeviceSynchronize(), hipSuccess);
        }
        Self {
            kernels,
            own: std::array::from_fn(|_| Box::new(Own([0; HOST_BYTES]))),
            module,
            pieces: [NO_PIECE; PIECES],
            streams: [null_mut(); STREAMS],
            live_streams: [false; STREAMS],
            events: [null_mut(); EVENTS + 1],
            live_events: [false; EVENTS + 1],
            registered: [false; HOST_BUFFERS],
            transcript: String::new(),
            old_kinds,
        }
    }

    /// Runs a program. Returns a line for each call, and at the end one for each piece of memory and the last error.
    pub(crate) fn run(&mut self, program: &[Op]) -> String {
        // SAFETY: no arguments.
        unsafe { hipGetLastError() };
        self.transcript.clear();
        for (n, own) in self.own.iter_mut().enumerate() {
            own.0.iter_mut().enumerate().for_each(|(at, byte)| *byte = (31 * at + n) as u8);
        }
        // SAFETY: programs are built such that no call does what HIP forbids without checking it.
        unsafe {
            hipEventCreateWithFlags(&mut self.events[ORDER], hipEventDisableTiming);
            self.live_events[ORDER] = true;
            for op in program {
                let (status, told) = self.call(op);
                let last = hipPeekAtLastError().0;
                let _ = writeln!(self.transcript, "{op:?} = {status} {told}; last {last}");
            }
            self.end();
        }
        std::mem::take(&mut self.transcript)
    }

    /// Records the contents of memory and frees everything.
    unsafe fn end(&mut self) {
        // SAFETY: as of `run`.
        unsafe {
            let status = hipDeviceSynchronize().0;
            let _ = writeln!(self.transcript, "end: {status}");
            for n in 0..PIECES {
                let piece = self.pieces[n];
                if piece.live && piece.size > 0 {
                    let mut bytes = vec![0_u8; piece.size];
                    let status = match piece.host {
                        true => {
                            bytes.copy_from_slice(std::slice::from_raw_parts(piece.address.cast(), piece.size));
                            0
                        }
                        false => hipMemcpyDtoH(bytes.as_mut_ptr().cast(), piece.address, piece.size).0,
                    };
                    let _ = writeln!(self.transcript, "piece {n}: {status} {:016x}", hash(&bytes));
                }
            }
            for (n, own) in self.own.iter().enumerate() {
                let _ = writeln!(self.transcript, "own {n}: {:016x}", hash(&own.0));
            }
            for (n, own) in self.own.iter_mut().enumerate() {
                if std::mem::take(&mut self.registered[n]) {
                    let status = hipHostUnregister(own.0.as_mut_ptr().cast()).0;
                    let _ = writeln!(self.transcript, "unregister {n}: {status}");
                }
            }
            for (stream, live) in self.streams.iter_mut().zip(&mut self.live_streams) {
                if std::mem::take(live) {
                    let status = hipStreamDestroy(*stream).0;
                    let _ = writeln!(self.transcript, "destroy stream: {status}");
                }
                *stream = null_mut();
            }
            for (event, live) in self.events.iter_mut().zip(&mut self.live_events) {
                if std::mem::take(live) {
                    let status = hipEventDestroy(*event).0;
                    let _ = writeln!(self.transcript, "destroy event: {status}");
                }
                *event = null_mut();
            }
            for piece in &mut self.pieces {
                if piece.live && !piece.address.is_null() {
                    let status = if piece.host { hipHostFree(piece.address) } else { hipFree(piece.address) };
                    let _ = writeln!(self.transcript, "free: {}", status.0);
                }
                *piece = NO_PIECE;
            }
            let (last, then) = (hipGetLastError().0, hipGetLastError().0);
            let _ = writeln!(self.transcript, "last error: {last}, then {then}");
        }
    }

    fn address(&mut self, place: Place) -> *mut c_void {
        let base = match place.base {
            Base::Null => return std::ptr::without_provenance_mut(place.offset),
            Base::Wild => std::ptr::without_provenance_mut(0x7ff0_0000_0000),
            Base::Piece(n) => self.pieces[n].address,
            Base::Own(n) => self.own[n].0.as_mut_ptr().cast(),
        };
        base.wrapping_byte_add(place.offset)
    }

    fn queue(&self, queue: Queue) -> hipStream_t {
        match queue {
            Queue::Default => null_mut(),
            Queue::PerThread => std::ptr::without_provenance_mut(2),
            Queue::Slot(n) => self.streams[n],
        }
    }

    /// Makes a call. Returns its status and its other results.
    #[allow(clippy::too_many_lines)]
    unsafe fn call(&mut self, op: &Op) -> (u32, String) {
        let mut told = String::new();
        // SAFETY: programs are built such that no call does what HIP forbids without checking it.
        let status = unsafe {
            match *op {
                Op::Allocate { piece, size, source } => {
                    let mut address = null_mut();
                    let mut bytes = size;
                    let status = match source {
                        Source::Malloc => hipMalloc(&mut address, size),
                        Source::Async(queue) => hipMallocAsync(&mut address, size, self.queue(queue)),
                        Source::Pinned(flags) => hipHostMalloc(&mut address, size, flags),
                        Source::Managed(flags) => hipMallocManaged(&mut address, size, flags),
                        Source::Pitch(rows) => {
                            let mut pitch = 0;
                            let status = hipMallocPitch(&mut address, &mut pitch, size, rows);
                            bytes = pitch.saturating_mul(rows);
                            told = format!("pitch {pitch}");
                            status
                        }
                    };
                    let host = matches!(source, Source::Pinned(_) | Source::Managed(_));
                    if status == hipSuccess {
                        let size = if address.is_null() { 0 } else { bytes };
                        self.pieces[piece] = Piece { address, size, live: true, host };
                        let _ = write!(told, "null {}", address.is_null());
                    }
                    status
                }
                Op::Free { place, how } => {
                    let address = self.address(place);
                    let status = match how {
                        Release::Free => hipFree(address),
                        Release::HostFree => hipHostFree(address),
                        Release::Async(queue) => hipFreeAsync(address, self.queue(queue)),
                    };
                    if let (Place { base: Base::Piece(n), offset: 0 }, true) = (place, status == hipSuccess) {
                        self.pieces[n].live = false;
                    }
                    status
                }
                Op::Copy { to, from, bytes, kind, call } => {
                    let (to, from, kind) = (self.address(to), self.address(from), hipMemcpyKind(kind));
                    match call {
                        Call::Plain => hipMemcpy(to, from, bytes, kind),
                        Call::Async(queue) => hipMemcpyAsync(to, from, bytes, kind, self.queue(queue)),
                        Call::With(queue) => hipMemcpyWithStream(to, from, bytes, kind, self.queue(queue)),
                        Call::Typed => match kind {
                            hipMemcpyHostToDevice => hipMemcpyHtoD(to, from, bytes),
                            hipMemcpyDeviceToHost => hipMemcpyDtoH(to, from, bytes),
                            _ => hipMemcpyDtoD(to, from, bytes),
                        },
                        Call::TypedAsync(queue) => match kind {
                            hipMemcpyHostToDevice => hipMemcpyHtoDAsync(to, from, bytes, self.queue(queue)),
                            hipMemcpyDeviceToHost => hipMemcpyDtoHAsync(to, from, bytes, self.queue(queue)),
                            _ => hipMemcpyDtoDAsync(to, from, bytes, self.queue(queue)),
                        },
                    }
                }
                Op::Copy2D { to, to_pitch, from, from_pitch, width, height, kind, call } => {
                    let (to, from, kind) = (self.address(to), self.address(from), hipMemcpyKind(kind));
                    match call {
                        Call::Async(queue) => {
                            let queue = self.queue(queue);
                            hipMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, queue)
                        }
                        _ => hipMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind),
                    }
                }
                Op::Fill { to, value, count, width, call } => {
                    let to = self.address(to);
                    match (width, call) {
                        (1, Call::Async(queue)) => hipMemsetD8Async(to, value as u8, count, self.queue(queue)),
                        (2, Call::Async(queue)) => hipMemsetD16Async(to, value as u16, count, self.queue(queue)),
                        (4, Call::Async(queue)) => hipMemsetD32Async(to, value as i32, count, self.queue(queue)),
                        (_, Call::Async(queue)) => hipMemsetAsync(to, value as i32, count, self.queue(queue)),
                        (1, _) => hipMemsetD8(to, value as u8, count),
                        (2, _) => hipMemsetD16(to, value as u16, count),
                        (4, _) => hipMemsetD32(to, value as i32, count),
                        _ => hipMemset(to, value as i32, count),
                    }
                }
                Op::Fill2D { to, pitch, value, width, height, call } => {
                    let to = self.address(to);
                    match call {
                        Call::Async(queue) => {
                            hipMemset2DAsync(to, pitch, value as i32, width, height, self.queue(queue))
                        }
                        _ => hipMemset2D(to, pitch, value as i32, width, height),
                    }
                }
                Op::Launch { kernel, data, n, grid, block, lds, queue } => {
                    let data = data.map(|place| self.address(place));
                    let pointer = |value: *const c_void| value.cast_mut();
                    let first = pointer((&raw const data[0]).cast());
                    let count = pointer((&raw const n).cast());
                    let rounds = 100 + n % 900;
                    let rounds = pointer((&raw const rounds).cast());
                    let (function, mut arguments) = match kernel {
                        Kernel::Add => (self.kernels[0], vec![first, count, count]),
                        Kernel::Sum => {
                            let rest = [&data[1], &data[2]].map(|data| pointer((&raw const *data).cast()));
                            (self.kernels[1], vec![first, rest[0], rest[1], count])
                        }
                        Kernel::Slow => (self.kernels[2], vec![first, rounds, count]),
                        Kernel::Bounded => (self.kernels[3], vec![first]),
                        Kernel::Empty => (self.kernels[4], vec![null_mut()]),
                        Kernel::None => (null_mut(), vec![first]),
                    };
                    let arguments = arguments.as_mut_ptr();
                    let ([gx, gy, gz], [bx, by, bz], queue) = (grid, block, self.queue(queue));
                    hipModuleLaunchKernel(function, gx, gy, gz, bx, by, bz, lds, queue, arguments, null_mut())
                }
                Op::Write { to, value, bytes } => {
                    std::ptr::write_bytes(self.address(to).cast::<u8>(), value, bytes);
                    hipSuccess
                }
                Op::CreateStream { slot, flags, priority } => {
                    let mut stream = null_mut();
                    let status = match (flags, priority) {
                        (0, 0) => hipStreamCreate(&mut stream),
                        (_, 0) => hipStreamCreateWithFlags(&mut stream, flags),
                        _ => hipStreamCreateWithPriority(&mut stream, flags, priority),
                    };
                    if status == hipSuccess {
                        (self.streams[slot], self.live_streams[slot]) = (stream, true);
                    }
                    status
                }
                Op::DestroyStream { queue } => {
                    let status = hipStreamDestroy(self.queue(queue));
                    if let (Queue::Slot(n), true) = (queue, status == hipSuccess) {
                        self.live_streams[n] = false;
                    }
                    status
                }
                Op::SyncStream { queue } => hipStreamSynchronize(self.queue(queue)),
                Op::QueryStream { queue, done } => known(hipStreamQuery(self.queue(queue)), done),
                Op::AskStream { queue } => {
                    let (mut flags, mut priority) = (77, 77);
                    let first = hipStreamGetFlags(self.queue(queue), &mut flags);
                    let second = hipStreamGetPriority(self.queue(queue), &mut priority);
                    told = format!("flags {flags}, priority {priority} ({})", second.0);
                    first
                }
                Op::CreateEvent { slot, flags } => {
                    let mut event = null_mut();
                    let status = match flags {
                        0 => hipEventCreate(&mut event),
                        _ => hipEventCreateWithFlags(&mut event, flags),
                    };
                    if status == hipSuccess {
                        (self.events[slot], self.live_events[slot]) = (event, true);
                    }
                    status
                }
                Op::DestroyEvent { slot } => {
                    let status = hipEventDestroy(self.events[slot]);
                    if status == hipSuccess {
                        self.live_events[slot] = false;
                    }
                    status
                }
                Op::Record { slot, queue } => hipEventRecord(self.events[slot], self.queue(queue)),
                Op::SyncEvent { slot } => hipEventSynchronize(self.events[slot]),
                Op::QueryEvent { slot, done } => known(hipEventQuery(self.events[slot]), done),
                Op::Elapsed { from, to, done } => {
                    let mut time = -1.0e9;
                    let status = hipEventElapsedTime(&mut time, self.events[from], self.events[to]);
                    if status == hipSuccess && done {
                        told = format!("finite {}", time.is_finite() && time > -1.0e9);
                    }
                    known(status, done)
                }
                Op::WaitEvent { queue, slot, flags } => hipStreamWaitEvent(self.queue(queue), self.events[slot], flags),
                Op::HostFunction { queue, buffer, value } => {
                    let bytes = self.own[buffer].0.as_mut_ptr();
                    let task = Box::into_raw(Box::new(Task { bytes, value }));
                    let status = hipLaunchHostFunc(self.queue(queue), Some(add), task.cast());
                    if status != hipSuccess {
                        drop(Box::from_raw(task));
                    }
                    status
                }
                Op::Gate { queue, slot } => {
                    let (stream, event) = (self.queue(queue), self.events[slot]);
                    let open = AtomicBool::new(false);
                    let held = hipLaunchHostFunc(stream, Some(hold), (&raw const open).cast_mut().cast());
                    let recorded = hipEventRecord(event, stream);
                    let asked = hipEventQuery(event).0;
                    let peeked = hipPeekAtLastError().0;
                    let stream_asked = hipStreamQuery(stream).0;
                    let mut time = 0.0;
                    let elapsed = hipEventElapsedTime(&mut time, event, event).0;
                    open.store(true, Ordering::Release);
                    let status = hipStreamSynchronize(stream);
                    told = format!(
                        "held {}, recorded {}, event {asked} ({peeked}), stream {stream_asked}, elapsed {elapsed}",
                        held.0, recorded.0
                    );
                    status
                }
                Op::SyncDevice => hipDeviceSynchronize(),
                Op::SetDevice { device } => {
                    let status = hipSetDevice(device);
                    let mut now = -1;
                    hipGetDevice(&mut now);
                    told = format!("device {now}");
                    status
                }
                Op::LastError => hipGetLastError(),
                Op::Attributes { place } => {
                    let address = self.address(place);
                    let mut raw = [0_u32; 64];
                    let to = raw.as_mut_ptr();
                    let status = match self.old_kinds {
                        true => rocm_5_7::hipPointerGetAttributes(to.cast(), address),
                        false => rocm_6_4::hipPointerGetAttributes(to.cast(), address),
                    };
                    if status == hipSuccess {
                        let word = |at: usize| u64::from(raw[at]) | u64::from(raw[at + 1]) << 32;
                        let near = |value: u64| match value {
                            0 => "null".to_owned(),
                            _ => format!("{:+}", value.wrapping_sub(address as u64) as i64),
                        };
                        let kind = match (raw[0], self.old_kinds) {
                            (0, true) | (1, false) => "host",
                            (1, true) | (2, false) => "device",
                            (4, true) | (3, _) => "managed",
                            _ => "none",
                        };
                        told = format!(
                            "{kind}, device {}, at {} {}, managed {}",
                            raw[1] as i32,
                            near(word(2)),
                            near(word(4)),
                            raw[6]
                        );
                    }
                    status
                }
                Op::Range { place } => {
                    let address = self.address(place);
                    let (mut base, mut size) = (null_mut(), 0);
                    let status = hipMemGetAddressRange(&mut base, &mut size, address);
                    if status == hipSuccess {
                        told = format!("{size} bytes from {:+}", (base as i64).wrapping_sub(address as i64));
                    }
                    status
                }
                Op::DevicePointer { place, flags } => {
                    let address = self.address(place);
                    let mut device = null_mut();
                    let status = hipHostGetDevicePointer(&mut device, address, flags);
                    if status == hipSuccess {
                        told = format!("at {:+}", (device as i64).wrapping_sub(address as i64));
                    }
                    status
                }
                Op::HostFlags { place } => {
                    let mut flags = 0x77;
                    let status = hipHostGetFlags(&mut flags, self.address(place));
                    told = format!("flags {flags:#x}");
                    status
                }
                Op::Register { buffer, bytes, flags } => {
                    let status = hipHostRegister(self.own[buffer].0.as_mut_ptr().cast(), bytes, flags);
                    self.registered[buffer] |= status == hipSuccess;
                    status
                }
                Op::Unregister { buffer, offset } => {
                    let address = self.own[buffer].0.as_mut_ptr().wrapping_add(offset);
                    let status = hipHostUnregister(address.cast());
                    self.registered[buffer] &= status != hipSuccess;
                    status
                }
                Op::Function { known } => {
                    let mut function = null_mut();
                    let name = if known { c"empty" } else { c"no_such_kernel" };
                    hipModuleGetFunction(&mut function, self.module, name.as_ptr())
                }
                Op::MemoryLeft => {
                    let (mut free, mut total) = (0, 0);
                    let status = hipMemGetInfo(&mut free, &mut total);
                    told = format!("of {total}, sensible {}", free <= total && free > 0);
                    status
                }
                Op::NoPlace { which } => match which {
                    0 => hipMalloc(null_mut(), 16),
                    1 => hipHostMalloc(null_mut(), 16, 0),
                    2 => hipStreamCreate(null_mut()),
                    4 => hipGetDevice(null_mut()),
                    5 => hipGetDeviceCount(null_mut()),
                    6 => hipEventElapsedTime(null_mut(), self.events[ORDER], self.events[ORDER]),
                    7 => hipModuleGetFunction(null_mut(), self.module, c"empty".as_ptr()),
                    8 => hipMallocManaged(null_mut(), 16, 1),
                    10 => hipMallocPitch(null_mut(), null_mut(), 16, 16),
                    11 => hipLaunchHostFunc(null_mut(), None, null_mut()),
                    _ => hipModuleLoadData(null_mut(), CODE.as_ptr().cast()),
                },
            }
        };
        (status.0, told)
    }
}

/// If it is not known whether work has completed, "not ready" is as correct as success.
fn known(status: hipError_t, done: bool) -> hipError_t {
    if !done && status == hipErrorNotReady { hipSuccess } else { status }
}

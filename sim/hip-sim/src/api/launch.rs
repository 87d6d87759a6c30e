//! Kernel launches.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use amdgpu_sim::{KernelInfo, ValueKind};
use hip_sys::rocm_7_2::*;

use super::copy::enqueue;
use super::event;
use super::hip_functions;
use crate::graph::{KernelNode, Operation};
use crate::launch::{Launch, Prepared};
use crate::queue::{Point, QueueKey, Work};
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};
use crate::target::Target;

/// The markers in a launch's `extra` array.
const PARAM_END: usize = 3;
const PARAM_BUFFER: usize = 1;
const PARAM_SIZE: usize = 2;
/// The number of `extra` entries that are searched for the end marker.
const MOST_EXTRA: usize = 16;

/// Collects the explicit arguments as bytes, from an array with a pointer to each.
///
/// # Safety
/// `params` must have a pointer for each explicit argument, null or valid for reads of the argument's size.
unsafe fn gather(info: &KernelInfo, params: *const *mut c_void) -> Result<Vec<u8>, Refusal> {
    let mut bytes = vec![0; info.explicit_size() as usize];
    let explicit = info.args.iter().filter(|arg| !matches!(arg.kind, ValueKind::Hidden(_)));
    for (n, arg) in explicit.enumerate() {
        // SAFETY: there is a pointer for each explicit argument, as the caller vouches.
        let from = unsafe { params.add(n).read() };
        if from.is_null() {
            return Err(Refusal::new(
                hipErrorInvalidValue,
                format!("kernel {}: the pointer to argument {n} is null", info.name),
            ));
        }
        let to = &mut bytes[arg.offset as usize..][..arg.size as usize];
        // SAFETY: valid for the argument's size, as the caller vouches.
        unsafe { to.as_mut_ptr().copy_from_nonoverlapping(from.cast(), to.len()) };
    }
    Ok(bytes)
}

/// Copies the explicit arguments as bytes, from the buffer that `extra` describes.
///
/// # Safety
/// `extra` must be an array as HIP describes it, ended by its mark, and its buffer valid for reads.
unsafe fn take_buffer(info: &KernelInfo, extra: *const *mut c_void) -> Result<Vec<u8>, Refusal> {
    let (mut buffer, mut size) = (std::ptr::null::<u8>(), None);
    let mut at = 0;
    loop {
        ensure(at < MOST_EXTRA, hipErrorInvalidValue)?;
        // SAFETY: the end marker has not been reached, so the entry is in the array; each value follows its marker.
        let mark = unsafe { extra.add(at).read() }.addr();
        if mark == PARAM_END {
            break;
        }
        ensure(mark == PARAM_BUFFER || mark == PARAM_SIZE, hipErrorInvalidValue)?;
        // SAFETY: as above.
        let value = unsafe { extra.add(at + 1).read() };
        ensure(!value.is_null(), hipErrorInvalidValue)?;
        match mark {
            PARAM_BUFFER => buffer = value.cast(),
            // SAFETY: HIP requires a pointer to the size here.
            _ => size = Some(unsafe { value.cast::<usize>().read_unaligned() }),
        }
        at += 2;
    }
    let needed = info.explicit_size() as usize;
    let size = size.ok_or(hipErrorInvalidValue)?;
    if buffer.is_null() || size < needed {
        return Err(Refusal::new(
            hipErrorInvalidValue,
            format!("kernel {}: {size} bytes of arguments, {needed} are needed", info.name),
        ));
    }
    // SAFETY: the buffer has `size >= needed` bytes, as the caller vouches.
    Ok(unsafe { std::slice::from_raw_parts(buffer, needed) }.to_vec())
}

impl Prepared {
    /// Validates a launch and copies its arguments.
    ///
    /// # Safety
    /// As HIP asks of the parameters.
    pub(crate) unsafe fn new(
        runtime: &Runtime,
        handle: hipFunction_t,
        launch: Launch,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> Result<Self, Refusal> {
        let function = runtime.functions.get(handle.cast()).ok_or(hipErrorInvalidHandle)?;
        let info = function.kernel.info();
        ensure(params.is_null() || extra.is_null(), hipErrorInvalidValue)?;
        launch.check(info)?;
        launch.check_cooperative(&runtime.devices[function.device], &function.kernel)?;
        let arguments = if info.explicit_size() == 0 {
            Vec::new()
        } else if !params.is_null() {
            // SAFETY: as the caller vouches.
            unsafe { gather(info, params) }?
        } else {
            ensure(!extra.is_null(), hipErrorInvalidValue)?;
            // SAFETY: as the caller vouches.
            unsafe { take_buffer(info, extra) }?
        };
        Ok(Self { device: function.device, kernel: function.kernel.clone(), launch, arguments })
    }
}

/// Validates and queues a launch, between its start and stop events if given.
///
/// # Safety
/// As HIP asks of the parameters.
unsafe fn launch(
    function: hipFunction_t,
    launch: Launch,
    stream: hipStream_t,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
    (start, stop): (hipEvent_t, hipEvent_t),
) -> Outcome {
    let runtime = runtime()?;
    let target = runtime.live_target(stream)?;
    // SAFETY: as the caller vouches.
    let prepared = unsafe { Prepared::new(runtime, function, launch, params, extra) }?;
    if prepared.device != target.device {
        return Err(Refusal::new(
            hipErrorInvalidDevice,
            format!(
                "kernel {} is loaded on device {}, the stream is of device {}",
                prepared.kernel.info().name,
                prepared.device,
                target.device
            ),
        ));
    }
    if !start.is_null() {
        event::record(runtime, start, stream)?;
    }
    if runtime.captures.is_captured(target.queue) {
        let node = KernelNode::new(prepared, launch.parameters(function));
        runtime.captures.add(&runtime.graphs, target.queue, Operation::Kernel(Arc::new(node)))?;
    } else {
        let work = Work::Device(Box::new(move || prepared.run(&runtime.devices)));
        enqueue(runtime, target, work, false)?;
    }
    if !stop.is_null() {
        event::record(runtime, stop, stream)?;
    }
    Ok(())
}

/// `hipCooperativeLaunchMultiDeviceNoPreSync` and `hipCooperativeLaunchMultiDeviceNoPostSync`.
const NO_PRE_SYNC: c_uint = 1;
const NO_POST_SYNC: c_uint = 2;

/// Validates and queues a cooperative launch on several devices: after earlier work on all of its streams, and before
/// later work on any of them.
///
/// # Safety
/// As HIP asks of the parameters.
unsafe fn launch_on_devices(parts: &[hipFunctionLaunchParams], flags: c_uint) -> Outcome {
    let runtime = runtime()?;
    let mut prepared = Vec::with_capacity(parts.len());
    for (at, part) in parts.iter().enumerate() {
        let grid = [part.gridDimX, part.gridDimY, part.gridDimZ];
        let block = [part.blockDimX, part.blockDimY, part.blockDimZ];
        ensure(!grid.contains(&0) && !block.contains(&0), hipErrorInvalidConfiguration)?;
        let handle = part.hStream.addr();
        // Only streams that the program created: the default stream cannot belong to several devices.
        ensure(handle > 2, hipErrorInvalidHandle)?;
        let target = runtime.live_target(part.hStream)?;
        runtime.captures.refuse_use(target.queue)?;
        let size = Launch { is_cooperative: true, ..Launch::from_blocks(grid, block, part.sharedMemBytes)? };
        // SAFETY: as the caller vouches.
        let kernel = unsafe { Prepared::new(runtime, part.function, size, part.kernelParams, NO_EXTRA) }?;
        ensure(kernel.device == target.device, hipErrorInvalidDevice)?;
        let name = &kernel.kernel.info().name;
        let fits = |(other, of): &(Target, Prepared)| {
            other.device != target.device && of.kernel.info().name == *name && of.launch.is_like(&size)
        };
        if !prepared.iter().all(fits) {
            let text = format!(
                "part {at} of a launch on several devices, of {name}, has the device of another part, or is not like it"
            );
            return Err(Refusal::new(hipErrorInvalidValue, text));
        }
        prepared.push((target, kernel));
    }
    let nothing = || Work::Always(Box::new(|| {}));
    let queues: Vec<QueueKey> = prepared.iter().map(|(target, _)| target.queue).collect();
    let before: Vec<Point> = match flags & NO_PRE_SYNC {
        0 => queues.iter().filter_map(|queue| runtime.scheduler.last(*queue)).collect(),
        _ => Vec::new(),
    };
    let mut after = Vec::with_capacity(queues.len());
    for (target, kernel) in prepared {
        let work = Work::Device(Box::new(move || kernel.run(&runtime.devices)));
        let point = runtime.scheduler.submit(target.queue, work, &before);
        after.push(point.ok_or(hipErrorContextIsDestroyed)?);
    }
    if flags & NO_POST_SYNC == 0 {
        for queue in queues {
            runtime.scheduler.submit(queue, nothing(), &after).ok_or(hipErrorContextIsDestroyed)?;
        }
    }
    Ok(())
}

const NONE: hipEvent_t = std::ptr::null_mut();
const NO_EXTRA: *mut *mut c_void = std::ptr::null_mut();
/// `hipLaunchAttributeCooperative`.
const COOPERATIVE: u32 = 2;

/// `HIP_LAUNCH_CONFIG`, added in HIP 7.0.
#[derive(Clone, Copy)]
#[repr(C)]
struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    lds: c_uint,
    stream: hipStream_t,
    attributes: *const Attribute,
    attribute_count: c_uint,
}

/// `hipLaunchAttribute`, added in HIP 7.0: its kind, and 64 bytes of which each kind uses a part.
#[derive(Clone, Copy)]
#[repr(C)]
struct Attribute {
    id: u32,
    pad: u32,
    value: [u32; 16],
}

hip_functions! {
    fn hipModuleLaunchKernel(
        function: hipFunction_t,
        grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        lds: c_uint, stream: hipStream_t, params: *mut *mut c_void, extra: *mut *mut c_void,
    ) {
        let size = Launch::from_blocks([grid_x, grid_y, grid_z], [block_x, block_y, block_z], lds)?;
        launch(function, size, stream, params, extra, (NONE, NONE))
    }

    fn hipModuleLaunchCooperativeKernel(
        function: hipFunction_t,
        grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        lds: c_uint, stream: hipStream_t, params: *mut *mut c_void,
    ) {
        let size = Launch::from_blocks([grid_x, grid_y, grid_z], [block_x, block_y, block_z], lds)?;
        launch(function, Launch { is_cooperative: true, ..size }, stream, params, NO_EXTRA, (NONE, NONE))
    }

    fn hipModuleLaunchCooperativeKernelMultiDevice(
        parts: *mut hipFunctionLaunchParams, count: c_uint, flags: c_uint,
    ) {
        let devices = runtime()?.devices.len();
        ensure(!parts.is_null() && (1..=devices).contains(&(count as usize)), hipErrorInvalidValue)?;
        ensure(flags & !(NO_PRE_SYNC | NO_POST_SYNC) == 0, hipErrorInvalidValue)?;
        launch_on_devices(std::slice::from_raw_parts(parts, count as usize), flags)
    }

    since:

    fn hipDrvLaunchKernelEx(
        config: *const LaunchConfig, function: hipFunction_t, params: *mut *mut c_void, extra: *mut *mut c_void,
    ) {
        ensure(!config.is_null(), hipErrorInvalidValue)?;
        let LaunchConfig { grid, block, lds, stream, attributes, attribute_count } = *config;
        ensure(attribute_count == 0 || !attributes.is_null(), hipErrorInvalidValue)?;
        let mut size = Launch::from_blocks(grid, block, lds)?;
        for at in 0..attribute_count as usize {
            // The other attributes are performance hints.
            let Attribute { id, value, .. } = *attributes.add(at);
            if id == COOPERATIVE {
                size.is_cooperative = value[0] as i32 != 0;
            }
        }
        launch(function, size, stream, params, extra, (NONE, NONE))
    }

    fn hipExtModuleLaunchKernel(
        function: hipFunction_t,
        grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        lds: usize, stream: hipStream_t, params: *mut *mut c_void, extra: *mut *mut c_void,
        start: hipEvent_t, stop: hipEvent_t, flags: c_uint,
    ) {
        let _ = flags;
        let lds = c_uint::try_from(lds).map_err(|_| hipErrorInvalidValue)?;
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let size = Launch { grid, block, lds, is_cooperative: false };
        launch(function, size, stream, params, extra, (start, stop))
    }
}

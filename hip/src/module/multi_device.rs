//! Cooperative launches on several devices.

use std::ffi::c_uint;

use super::args::{Arguments, Pointers};
use super::{Kernel, KernelArgs, LaunchConfig};
use crate::core::call::check;
use crate::core::error::{Error, Result};
use crate::core::releases::one_at_a_time;
use crate::interop::{Uses, on_streams};
use crate::stream::Stream;

/// One device's part of a launch on several devices ([`launch_cooperative_multi_device`]).
#[derive(Clone, Copy, Debug)]
pub struct DeviceLaunch<'a, A> {
    /// The kernel, loaded for the device.
    pub kernel: &'a Kernel,
    /// A stream of the device, not its default one.
    pub stream: &'a Stream,
    /// The arguments there, as for [`Kernel::launch`].
    pub args: A,
}

/// Queues a cooperative launch on several devices (`hipModuleLaunchCooperativeKernelMultiDevice`): the blocks on all of
/// them run concurrently, and can wait for each other (`cooperative_groups::this_multi_grid().sync()`). Each device
/// waits for the earlier work on the streams of all, and later work on any of the streams waits for all.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # const CODE: &[u8] = &[];
/// # if CODE.is_empty() { return Ok(()) }
/// use hip::{Device, DeviceBuffer, LaunchConfig, Module, Stream};
/// use hip::module::{DeviceLaunch, launch_cooperative_multi_device};
///
/// let [first, second] = [Device::get(0)?, Device::get(1)?];
/// let kernels = [Module::load(&first, CODE)?.kernel("step")?, Module::load(&second, CODE)?.kernel("step")?];
/// let streams = [Stream::new(&first)?, Stream::new(&second)?];
/// let mut a = DeviceBuffer::<f32>::zeroed(&first, 256)?;
/// let mut b = DeviceBuffer::<f32>::zeroed(&second, 256)?;
/// let parts = [
///     DeviceLaunch { kernel: &kernels[0], stream: &streams[0], args: (&mut a, 256u32) },
///     DeviceLaunch { kernel: &kernels[1], stream: &streams[1], args: (&mut b, 256u32) },
/// ];
/// // SAFETY: `step` takes a buffer and its length, and stays inside of it.
/// unsafe { launch_cooperative_multi_device(LaunchConfig::new(4, 64), &parts)? };
/// # Ok(()) }
/// ```
///
/// # Errors
/// Those of [`Kernel::launch_cooperative`] for each part; [`Error::InvalidValue`] for no parts, and for two on one
/// device; [`Error::Capture`] for a stream that is captured; the runtime's status, if the parts have different kernels.
///
/// # Safety
/// That of [`Kernel::launch`], for each part.
#[doc(alias("hipModuleLaunchCooperativeKernelMultiDevice", "cuLaunchCooperativeKernelMultiDevice"))]
pub unsafe fn launch_cooperative_multi_device<A: KernelArgs>(
    config: LaunchConfig,
    parts: &[DeviceLaunch<'_, A>],
) -> Result<()> {
    let (Some(first), Ok(count)) = (parts.first(), c_uint::try_from(parts.len())) else {
        return Err(bad_devices("none".to_owned()));
    };
    let mut arguments: Vec<Arguments<'_>> = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let device = part.kernel.device();
        if parts[..index].iter().any(|other| other.kernel.device() == device) {
            return Err(bad_devices(format!("device {} twice", device.index())));
        }
        device.expect(part.stream.device(), "the stream")?;
        arguments.push(part.kernel.arguments(config, &part.args)?);
        part.kernel.check_cooperative(config)?;
    }
    // The pointers point into the arguments, which are not moved from here on.
    let mut pointers: Vec<Pointers> = arguments.iter_mut().map(Arguments::pointers).collect();
    // The uses of the kernels, for the streams that they are queued on.
    let uses: Vec<Uses<'_>> = (parts.iter().zip(&arguments))
        .map(|(part, arguments)| Uses::from_accesses(part.stream, arguments.accesses()))
        .collect();
    on_streams(&uses, "a launch on several devices", || {
        let LaunchConfig { grid, block, shared_bytes } = config;
        let mut list: Vec<hip_sys::hipFunctionLaunchParams> = (parts.iter().zip(&mut pointers))
            .map(|(part, pointers)| hip_sys::hipFunctionLaunchParams {
                function: part.kernel.as_raw(),
                gridDimX: grid.x,
                gridDimY: grid.y,
                gridDimZ: grid.z,
                blockDimX: block.x,
                blockDimY: block.y,
                blockDimZ: block.z,
                sharedMemBytes: shared_bytes,
                hStream: part.stream.inner.raw(),
                kernelParams: pointers.as_mut_ptr(),
            })
            .collect();
        first.kernel.device().activate()?;
        let _one = one_at_a_time();
        // SAFETY: there are `count` parts, each as in `Kernel::launch`: the functions' modules are loaded; the arguments match the kernels'
        // parameters, and are valid during the call, which copies them. The caller ensures that the kernels are sound.
        let status = unsafe { hip_sys::hipModuleLaunchCooperativeKernelMultiDevice(list.as_mut_ptr(), count, 0) };
        check(status, "hipModuleLaunchCooperativeKernelMultiDevice", || {
            format!("{} and {} more", first.kernel.describe(config), count - 1)
        })
    })?;
    for part in parts {
        part.stream.inner.launched(part.kernel.named(&config));
    }
    Ok(())
}

fn bad_devices(value: String) -> Error {
    Error::InvalidValue { what: "the devices of a launch", value, allowed: "one at least, each once".to_owned() }
}

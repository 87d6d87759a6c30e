//! The device that OpenGL runs on, and the runtime's connection to it.

use std::ffi::{c_int, c_uint};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip::sys::{hipGLDeviceList, hipGLDeviceListAll, hipGLDeviceListCurrentFrame, hipGLDeviceListNextFrame};
use hip::{Backend, Device, Status, sys};

use crate::error::{Error, Result};
use crate::library::{self, Context, Gpu};

/// Selects among the devices that OpenGL runs on.
#[doc(alias = "hipGLDeviceList")]
#[doc(alias = "cudaGLDeviceList")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeviceList {
    /// All devices (`hipGLDeviceListAll`). ROCm's runtimes report one.
    #[default]
    All,
    /// The devices that draw the current frame (`hipGLDeviceListCurrentFrame`).
    CurrentFrame,
    /// The devices that will draw the next frame (`hipGLDeviceListNextFrame`). ROCm's runtimes do not support this:
    /// `hipErrorNotSupported`.
    NextFrame,
}

impl DeviceList {
    fn raw(self) -> hipGLDeviceList {
        match self {
            Self::All => hipGLDeviceListAll,
            Self::CurrentFrame => hipGLDeviceListCurrentFrame,
            Self::NextFrame => hipGLDeviceListNextFrame,
        }
    }
}

/// The state of the runtime's connection to OpenGL, which it makes once per process.
enum Connection {
    None,
    To(Device),
    /// The connection failed. The runtime does not try again.
    Failed(String),
}

/// Held during calls that change the runtime's current context, because the runtime does not lock all of them.
static CONNECTION: Mutex<Connection> = Mutex::new(Connection::None);

/// Keeps the runtime connected to the thread's context: while it is held, no other thread connects the runtime to its
/// own.
pub(crate) struct Connected {
    pub(crate) device: Device,
    pub(crate) context: Context,
    connection: MutexGuard<'static, Connection>,
}

/// Connects the runtime to the thread's context.
pub(crate) fn connect(what: &'static str) -> Result<Connected> {
    // Also returns an error where HIP cannot be called: in a host function, or in a forked child.
    Device::current()?;
    let reason = match hip::backend()? {
        Backend::Sim => Some("the embedded software GPU has none; ROCm's runtime is needed"),
        Backend::Cuda => Some("this crate shares with Mesa's driver of AMD's GPUs only"),
        _ => None,
    };
    if let Some(reason) = reason {
        return Err(hip::Error::Unsupported { what: "OpenGL", reason: reason.to_owned() }.into());
    }
    let context = library::current(what)?;
    let gpu = library::gpu(what, context)?;
    let device = device_of(what, gpu)?;
    let mut connection = CONNECTION.lock().unwrap_or_else(PoisonError::into_inner);
    match &*connection {
        Connection::None => {}
        Connection::To(first) if *first == device => {}
        Connection::To(first) => {
            let (first, device) = (first.index(), device.index());
            let reason = format!(
                "the HIP runtime shares with OpenGL on one device of a process, which is device {first} by now; this context is on device {device}"
            );
            return Err(Error::open_gl(what, reason));
        }
        Connection::Failed(reason) => return Err(Error::open_gl(what, reason.as_str())),
    }
    // Also notifies a connected runtime of the context, if it changed.
    match list(device, DeviceList::All) {
        Ok(found) if found.contains(&device) => *connection = Connection::To(device),
        outcome => {
            let found = match &outcome {
                Ok(found) => format!("it names {found:?}"),
                Err(error) => error.to_string(),
            };
            let reason = format!(
                "the HIP runtime did not connect device {} to OpenGL on {gpu}, and tries only once in a process: {found}",
                device.index()
            );
            if matches!(*connection, Connection::None) {
                *connection = Connection::Failed(reason.clone());
            }
            return Err(Error::open_gl(what, reason));
        }
    }
    Ok(Connected { device, context, connection })
}

/// Returns the HIP device of a GPU, by its PCI bus address, which the runtime compares too.
fn device_of(what: &'static str, gpu: Gpu) -> Result<Device> {
    for device in Device::all()? {
        let address = device.properties()?.pci;
        if (address.bus, address.device) == (gpu.bus, gpu.device) && gpu.is_amd() {
            return Ok(device);
        }
    }
    let reason =
        format!("OpenGL runs on {gpu}, which is none of HIP's devices: make the context on the AMD GPU (DRI_PRIME)");
    Err(Error::open_gl(what, reason))
}

/// Returns the devices of a list (`hipGLGetDevices`), with `device` current.
fn list(device: Device, list: DeviceList) -> Result<Vec<Device>> {
    let room = Device::count()?;
    let mut indices: Vec<c_int> = vec![0; room];
    let mut count: c_uint = 0;
    device.make_current()?;
    // SAFETY: there is room for this many devices and their count; a context is current on this thread.
    let status = unsafe { sys::hipGLGetDevices(&mut count, indices.as_mut_ptr(), room as c_uint, list.raw()) };
    let status = Status::from(status);
    if status == Status::NO_DEVICE {
        // Clears the runtime's last error, which this call sets.
        let _ = hip::runtime::take_last_error();
        return Ok(Vec::new());
    }
    status.check("hipGLGetDevices", || format!("{list:?} with device {} current", device.index()))?;
    let found = indices.iter().take(count as usize);
    Ok(found.map(|index| Device::get(usize::try_from(*index).unwrap_or(usize::MAX))).collect::<hip::Result<_>>()?)
}

/// Returns the devices that the OpenGL context of this thread runs on (`hipGLGetDevices`).
///
/// # Errors
/// [`Error::OpenGl`] if no context is current on this thread, if its GPU is not a HIP device, and if no OpenGL library
/// is available; [`hip::Error::Unsupported`] on the embedded software GPU; `hipErrorNotSupported` for
/// [`DeviceList::NextFrame`].
#[doc(alias("hipGLGetDevices", "cudaGLGetDevices", "cuGLGetDevices"))]
pub fn devices(of: DeviceList) -> Result<Vec<Device>> {
    let connected = connect("the devices of an OpenGL context")?;
    let found = list(connected.device, of);
    drop(connected.connection);
    found
}

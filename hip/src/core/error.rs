//! What can go wrong, and what was asked for when it did.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::arch::Arch;
use super::backend_kind::Backend;
use super::kernel_panic::KernelPanic;
use super::lost::DeviceLost;

/// The result of nearly every function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A status of the HIP runtime (`hipError_t`), open to values that a newer runtime may add.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Status(pub u32);

impl Status {
    /// `hipSuccess`
    pub const SUCCESS: Self = Self(0);
    /// `hipErrorInvalidValue`
    pub const INVALID_VALUE: Self = Self(1);
    /// `hipErrorOutOfMemory`
    pub const OUT_OF_MEMORY: Self = Self(2);
    /// `hipErrorNotInitialized`
    pub const NOT_INITIALIZED: Self = Self(3);
    /// `hipErrorNoDevice`
    pub const NO_DEVICE: Self = Self(100);
    /// `hipErrorInvalidDevice`
    pub const INVALID_DEVICE: Self = Self(101);
    /// `hipErrorInvalidImage`
    pub const INVALID_IMAGE: Self = Self(200);
    /// `hipErrorNoBinaryForGpu`
    pub const NO_BINARY_FOR_GPU: Self = Self(209);
    /// `hipErrorSharedObjectSymbolNotFound`: also what a function answers that the runtime found does not have.
    pub const SYMBOL_NOT_FOUND: Self = Self(302);
    /// `hipErrorSharedObjectInitFailed`: also what every function answers when there is no HIP runtime.
    pub const LIBRARY_NOT_FOUND: Self = Self(303);
    /// `hipErrorInvalidHandle`
    pub const INVALID_HANDLE: Self = Self(400);
    /// `hipErrorNotFound`
    pub const NOT_FOUND: Self = Self(500);
    /// `hipErrorNotReady`
    pub const NOT_READY: Self = Self(600);
    /// `hipErrorIllegalAddress`
    pub const ILLEGAL_ADDRESS: Self = Self(700);
    /// `hipErrorLaunchTimeOut`
    pub const LAUNCH_TIMEOUT: Self = Self(702);
    /// `hipErrorAssert`
    pub const ASSERT: Self = Self(710);
    /// `hipErrorLaunchFailure`
    pub const LAUNCH_FAILURE: Self = Self(719);
    /// `hipErrorNotSupported`
    pub const NOT_SUPPORTED: Self = Self(801);
    /// `hipErrorUnknown`
    pub const UNKNOWN: Self = Self(999);
}

impl From<hip_sys::hipError_t> for Status {
    fn from(status: hip_sys::hipError_t) -> Self {
        Self(status.0)
    }
}

impl From<Status> for hip_sys::hipError_t {
    fn from(status: Status) -> Self {
        Self(status.0)
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The generated constant's name, with no call into the runtime.
        write!(f, "{:?} ({})", hip_sys::hipError_t(self.0), self.0)
    }
}

/// A call into the HIP runtime that failed.
#[doc(alias("hipGetErrorName", "cudaGetErrorName"))]
#[doc(alias("hipGetErrorString", "cudaGetErrorString"))]
#[doc(alias("hipDrvGetErrorName", "cuGetErrorName"))]
#[doc(alias("hipDrvGetErrorString", "cuGetErrorString"))]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HipError {
    /// The status that came back.
    pub status: Status,
    /// Its name, as the runtime spells it: `hipErrorOutOfMemory`.
    pub name: String,
    /// The runtime's own description.
    pub description: String,
    /// The C function.
    pub function: &'static str,
    /// What was asked of it: sizes, names, the device.
    pub asked: String,
    /// The software GPU's account of a fault, if there was one: kernel, instruction, lane, address.
    pub fault: Option<String>,
}

impl fmt::Display for HipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, name, description, function, asked, fault } = self;
        write!(f, "{function} failed ({asked}): {name} ({})", status.0)?;
        if !description.is_empty() && description != name {
            write!(f, ": {description}")?;
        }
        if let Some(fault) = fault {
            write!(f, "\n{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for HipError {}

/// How to run with no AMD GPU, for the errors of those who have none.
#[cfg(feature = "sim")]
pub(crate) const SIM_HINT: &str = "to run on the software GPU, set HIP_RS_BACKEND=sim or call hip::sim_if_no_gpu()";
/// How to run with no AMD GPU, for the errors of those who have none.
#[cfg(not(feature = "sim"))]
pub(crate) const SIM_HINT: &str = "to run on the software GPU, build with the feature `sim` of `hip` and set HIP_RS_BACKEND=sim or call hip::sim_if_no_gpu()";

/// How to have a HIP runtime, for the error of those who have none.
const INSTALL_HINT: &str = "to have one: `rocm-sdk install 7.2` (Debian's packages, without root; `cargo install --locked --path rocm-sdk --features cli` installs the command, and `rocm-sdk run 7.2 -- PROGRAM` uses it), or AMD's packages; if one is installed where it was not looked for, set ROCM_PATH; `rocm-sdk doctor` tells what is wrong with what is there";

/// Why a function of this crate failed. Whatever can be checked is checked before the C call.
///
/// # A lost device
/// After a kernel's fault, the runtime of ROCm 7.2 runs nothing on the device any more, until the process ends. The call that waits for the work
/// returns [`Error::DeviceLost`], which names the launches in question, and so does every later call on that device: the process has to be restarted.
/// Drops stay silent, and nothing hangs. If no call has returned it, it is written to stderr once. The runtimes of 6.4 and 5.7 end the process at a
/// fault (`SIGABRT`), which no crate can prevent. The embedded software GPU goes on after a fault: the wait returns [`Error::Hip`], and the device can be
/// used.
///
/// A GPU that was reset or fell off the bus is the same error. HIP has no status of its own for that: the runtime of ROCm 7.2 answers
/// `hipErrorUnknown` ([`Status::UNKNOWN`]), for every device of the process. The software GPU answers so for the lost device alone: `HIP_SIM_LOSE=N`
/// loses it after N launches.
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// The HIP runtime returned a status other than success.
    Hip(Box<HipError>),

    /// A kernel's fault or a reset has ended all work of this process on a device: [the process has to be restarted](Error#a-lost-device).
    DeviceLost(Box<DeviceLost>),

    /// No HIP runtime library could be loaded.
    NoLibrary {
        /// Every path tried and what happened there.
        report: String,
    },

    /// The HIP runtime that was loaded lacks a function that was called.
    NoSymbol {
        /// The C function.
        function: &'static str,
        /// What was asked of it.
        asked: String,
        /// Which library was loaded, and the release that brought the function.
        report: String,
    },

    /// The HIP runtime is there but sees no AMD GPU.
    NoDevice,

    /// The HIP runtime is older than any that this crate can use.
    Version {
        /// The runtime's version: major, minor, patch.
        runtime: (u32, u32, u32),
        /// The oldest release that is supported: major, minor.
        oldest: (u32, u32),
    },

    /// A backend was asked for when another is already in use.
    BackendInUse {
        /// What was asked for.
        asked: Backend,
        /// Why it is too late.
        reason: String,
    },

    /// The software GPU was asked for in a build without it.
    NoSim,

    /// `HIP_RS_BACKEND` holds something other than `rocm` or `sim`.
    UnknownBackend(String),

    /// There is no device of that index.
    DeviceIndex {
        /// The index asked for.
        index: usize,
        /// How many devices there are; indices start at 0.
        count: usize,
    },

    /// Two things that must be on one device are on two.
    WrongDevice {
        /// What is in the wrong place.
        what: Cow<'static, str>,
        /// The device of the stream or kernel.
        expected: usize,
        /// The device where it is.
        found: usize,
    },

    /// Source and destination of a copy differ in length.
    Length {
        /// The operation.
        what: &'static str,
        /// Elements of the destination.
        destination: usize,
        /// Elements of the source.
        source_len: usize,
    },

    /// A range lies outside of its buffer, or ends before it starts.
    Range {
        /// First element.
        start: usize,
        /// One past the last element.
        end: usize,
        /// Elements that there are.
        len: usize,
    },

    /// A size in bytes does not fit.
    TooLarge {
        /// Elements asked for.
        elements: usize,
        /// Bytes of each.
        element_bytes: usize,
    },

    /// The element type has no size, so that a buffer of it would be nothing.
    ZeroSizedType {
        /// The element type.
        type_name: &'static str,
    },

    /// A value outside of what is allowed.
    InvalidValue {
        /// Of what.
        what: &'static str,
        /// What it was.
        value: String,
        /// What it may be.
        allowed: String,
    },

    /// The bytes are not a code object that can be loaded.
    Image {
        /// What is wrong with them.
        reason: String,
    },

    /// The code is for other GPUs than the device.
    Architecture {
        /// The device's architecture.
        device: Arch,
        /// The architectures in the image.
        found: Vec<String>,
    },

    /// A file could not be read.
    File {
        /// Which file.
        path: PathBuf,
        /// The operating system's reason.
        reason: Arc<std::io::Error>,
    },

    /// The module has no kernel of that name.
    KernelNotFound {
        /// The name asked for.
        name: String,
        /// The kernels that there are.
        available: Vec<String>,
    },

    /// The code of a kernel in Rust belongs to another source than the signature that it is loaded with.
    Stale {
        /// The kernel.
        kernel: String,
        /// In what they differ, and what to do.
        reason: String,
    },

    /// A launch gave more or fewer arguments than the kernel takes.
    ArgumentCount {
        /// The kernel and its parameters.
        signature: String,
        /// How many it takes.
        expected: usize,
        /// How many were given.
        given: usize,
    },

    /// A launch argument differs from the kernel's parameter.
    Argument {
        /// The kernel and its parameters.
        signature: String,
        /// Which argument, counted from 0.
        index: usize,
        /// The kernel's parameter.
        expected: String,
        /// The argument's type and size.
        given: String,
    },

    /// A grid or block that the kernel or the device cannot run.
    Geometry {
        /// The kernel.
        kernel: String,
        /// Which number is out of which limit.
        reason: String,
    },

    /// The event was never recorded.
    EventNotRecorded,

    /// The event was made without timing.
    EventWithoutTiming,

    /// A call in a host function ([`Stream::launch_host_function`](crate::Stream::launch_host_function)), where HIP must not be called.
    InHostFunction,

    /// A call in a thread that is ending, in a destructor of what it has for itself (`thread_local!`): HIP has given up what it keeps for
    /// the thread.
    ThreadEnding,

    /// A host function of the work that was waited for panicked.
    HostFunctionPanicked {
        /// What it panicked with.
        message: String,
    },

    /// A kernel in Rust panicked, in work that was waited for. Its wave ended; other waves went on. What the kernel was to write is
    /// incomplete. The error is returned once, by the first wait that covers the launch; later launches are not affected.
    KernelPanicked(Box<KernelPanic>),

    /// This process is the child of a `fork`: the GPU, the runtime's threads and its locks are the parent's.
    ForkedChild,

    /// What cannot be done while a stream is captured, or a capture that failed.
    Capture {
        /// Why.
        reason: String,
    },

    /// What cannot be done with a graph.
    Graph {
        /// Why.
        reason: String,
    },

    /// The device, the backend or the release cannot do it.
    Unsupported {
        /// What was asked for.
        what: &'static str,
        /// Why not.
        reason: String,
    },
}

/// As [`Display`](fmt::Display): a program whose `main` returns the error prints it this way, and so does `unwrap`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hip(error) => fmt::Display::fmt(error, f),
            Self::DeviceLost(lost) => fmt::Display::fmt(lost, f),
            Self::NoLibrary { report } => {
                write!(f, "no HIP runtime (libamdhip64): {report}\n{INSTALL_HINT}\n{SIM_HINT}")
            }
            Self::NoSymbol { function, asked, report } => {
                write!(f, "{function} is not in the HIP runtime that was loaded (asked: {asked}): {report}")
            }
            Self::NoDevice => write!(
                f,
                "the HIP runtime sees no AMD GPU (hipErrorNoDevice, 100): is there one, does this user have access to /dev/kfd and /dev/dri, and what do HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES say?\n{SIM_HINT}"
            ),
            Self::Version { runtime: (major, minor, patch), oldest } => write!(
                f,
                "the HIP runtime is {major}.{minor}.{patch}, which is not supported: install ROCm {}.{} or newer",
                oldest.0, oldest.1
            ),
            Self::BackendInUse { asked, reason } => write!(
                f,
                "the backend {asked:?} was asked for, but {reason}: choose it before the first use of a device"
            ),
            Self::NoSim => write!(
                f,
                "the software GPU was asked for, but this program was built without the feature `sim` of `hip`"
            ),
            Self::UnknownBackend(value) => write!(f, "HIP_RS_BACKEND={value:?} names no backend: use `rocm` or `sim`"),
            Self::DeviceIndex { index, count } => write!(
                f,
                "there is no device {index}: the HIP runtime sees {count}, counted from 0 (the software GPU has as many as HIP_SIM_DEVICES says)"
            ),
            Self::WrongDevice { what, expected, found } => {
                write!(f, "{what} is on device {found}, but must be on device {expected}")
            }
            Self::Length { what, destination, source_len } => {
                write!(f, "{what}: the destination has {destination} elements and the source has {source_len}")
            }
            Self::Range { start, end, len } => write!(f, "the range {start}..{end} is not inside 0..{len}"),
            Self::TooLarge { elements, element_bytes } => {
                write!(f, "{elements} elements of {element_bytes} bytes are more bytes than an address space holds")
            }
            Self::ZeroSizedType { type_name } => {
                write!(f, "elements of type {type_name} have no bytes: a buffer of them cannot be on a device")
            }
            Self::InvalidValue { what, value, allowed } => write!(f, "{what} is {value}, but must be {allowed}"),
            Self::Image { reason } => write!(f, "not a loadable code object: {reason}"),
            Self::Architecture { device, found } => {
                write!(f, "no code for {device}: the image has code for {}", list(found))
            }
            Self::File { path, reason } => write!(f, "cannot read {}: {reason}", path.display()),
            Self::KernelNotFound { name, available } => {
                write!(f, "no kernel {name:?} in the module, which has {}", list(available))
            }
            Self::Stale { kernel, reason } => write!(f, "the kernel {kernel:?} cannot be loaded: {reason}"),
            Self::ArgumentCount { signature, expected, given } => {
                write!(f, "{signature} takes {expected} arguments, {given} were given")
            }
            Self::Argument { signature, index, expected, given } => {
                write!(f, "argument {} of {signature}: the kernel takes {expected}, given was {given}", index + 1)
            }
            Self::Geometry { kernel, reason } => write!(f, "launch of {kernel}: {reason}"),
            Self::EventNotRecorded => write!(f, "the event was never recorded on a stream"),
            Self::InHostFunction => {
                write!(f, "HIP cannot be called in a host function of a stream: give the work to another thread")
            }
            Self::ThreadEnding => {
                write!(
                    f,
                    "HIP cannot be called from a thread-local destructor: make the call before the thread's closure returns"
                )
            }
            Self::HostFunctionPanicked { message } => write!(f, "a host function of the stream panicked: {message}"),
            Self::KernelPanicked(panic) => panic.fmt(f),
            Self::ForkedChild => write!(
                f,
                "this process is the child of a fork, where HIP cannot be used: start the child with exec (std::process::Command), or fork before the first use of a device"
            ),
            Self::Capture { reason } => write!(f, "capture: {reason}"),
            Self::Graph { reason } => write!(f, "graph: {reason}"),
            Self::Unsupported { what, reason } => write!(f, "{what} is not supported: {reason}"),
            Self::EventWithoutTiming => write!(f, "the event was made without timing: make it with Event::new"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Hip(error) => Some(&**error),
            Self::DeviceLost(lost) => Some(&**lost),
            Self::File { reason, .. } => Some(&**reason),
            _ => None,
        }
    }
}

impl Error {
    /// The runtime's status, if this error came from the runtime; of a lost device, the first one.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::Hip(error) => Some(error.status),
            Self::DeviceLost(lost) => Some(lost.first.status),
            Self::NoLibrary { .. } => Some(Status::LIBRARY_NOT_FOUND),
            Self::NoSymbol { .. } => Some(Status::SYMBOL_NOT_FOUND),
            Self::NoDevice => Some(Status::NO_DEVICE),
            _ => None,
        }
    }

    /// Whether there is no GPU to be had: no HIP runtime, or one that sees no device.
    #[must_use]
    pub fn is_no_gpu(&self) -> bool {
        matches!(self, Self::NoLibrary { .. } | Self::NoDevice)
    }
}

fn list(names: &[String]) -> String {
    const SHOWN: usize = 12;
    match names.len() {
        0 => "none".to_owned(),
        n if n <= SHOWN => names.join(", "),
        n => format!("{} and {} more", names[..SHOWN].join(", "), n - SHOWN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_stays_small_enough_to_return() {
        assert!(size_of::<Error>() <= 96, "{}", size_of::<Error>());
    }

    #[test]
    fn a_long_list_is_cut() {
        let names: Vec<String> = (0..20).map(|i| format!("k{i}")).collect();
        let text = Error::KernelNotFound { name: "x".into(), available: names }.to_string();
        assert!(text.ends_with("k11 and 8 more"), "{text}");
    }

    #[test]
    fn no_gpu_errors_say_how_to_get_the_software_gpu() {
        for error in [Error::NoDevice, Error::NoLibrary { report: "tried /nowhere".into() }] {
            let text = error.to_string();
            assert!(text.contains("HIP_RS_BACKEND=sim"), "{text}");
            assert!(error.is_no_gpu());
        }
    }

    #[test]
    fn the_error_without_a_library_says_how_to_have_one() {
        let text = Error::NoLibrary { report: "tried /nowhere".into() }.to_string();
        for part in ["tried /nowhere", "`rocm-sdk install 7.2`", "set ROCM_PATH", "`rocm-sdk doctor`"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        // A runtime that sees no GPU is there already.
        assert!(!Error::NoDevice.to_string().contains("rocm-sdk"));
    }
}

//! Errors of this crate, which record the request that failed.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rocm_loader::report::Reason;

use super::arch::Arch;
use super::backend_kind::Backend;
use super::device_lost::DeviceLost;
pub use super::hip_error::HipError;
use super::kernel_panic::KernelPanic;
use super::nvidia;
pub use super::status::Status;

/// The result of nearly every function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How to run without an AMD GPU, for errors on machines that have none.
#[cfg(feature = "sim")]
const SIM_HINT: &str = "without a GPU: set HIP_RS_BACKEND=sim or call hip::sim_if_no_gpu() to run on the embedded \
    software GPU; or run the program by `hip-sim run --rocm 7.2 -- PROGRAM`, on AMD's HIP runtime over a software GPU";
/// How to run without an AMD GPU, for errors on machines that have none.
#[cfg(not(feature = "sim"))]
const SIM_HINT: &str = "without a GPU: `hip-sim run --rocm 7.2 -- PROGRAM` runs the program on AMD's HIP runtime over a \
    software GPU (get the command by `cargo install --locked --path sim/hsa-sim --features cli` in a checkout); or build with \
    the feature `sim` of `hip`, and set HIP_RS_BACKEND=sim or call hip::sim_if_no_gpu()";

/// How to run on NVIDIA's GPUs, for errors on machines without one of AMD's.
#[cfg(feature = "nvidia")]
const NVIDIA_HINT: &str = "for NVIDIA's GPUs: set HIP_RS_BACKEND=cuda or call hip::select_any_gpu()\n";
/// How to run on NVIDIA's GPUs, for errors on machines without one of AMD's.
#[cfg(not(feature = "nvidia"))]
const NVIDIA_HINT: &str = "";

/// How to install a HIP runtime, for errors on machines that have none.
const INSTALL_HINT: &str = "`rocm-sdk install 7.2` installs Debian's packages, without root (get the command by `cargo \
    install --locked --path rocm-sdk --features cli` in a checkout), and `rocm-sdk run 7.2 -- PROGRAM` runs a program on \
    them; `rocm-sdk doctor` checks the installation";

/// Why there is no device, although there is a HIP runtime.
pub(crate) const NO_DEVICE: &str = "the HIP runtime sees no AMD GPU (hipErrorNoDevice, 100): is there one, does this \
    user have access to /dev/kfd and /dev/dri, and what do HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES say?";

/// What to do about a HIP runtime that is installed and cannot be used.
const DOCTOR_HINT: &str = "`rocm-sdk doctor` says what is wrong with it, and what to do";

/// Returns the report of [`Error::NoLibrary`]: the reason and what to do, then the search.
pub(crate) fn no_library(error: &rocm_loader::Error) -> String {
    let advice = match error {
        rocm_loader::Error::NotFound { .. } => format!("{INSTALL_HINT}\n{NVIDIA_HINT}{SIM_HINT}"),
        // The reason says how to run the program.
        rocm_loader::Error::Unusable { reason: Reason::SystemTooOld { run: Some(_), .. }, .. } => SIM_HINT.to_owned(),
        _ => format!("{DOCTOR_HINT}\n{SIM_HINT}"),
    };
    error.with_advice(&advice)
}

/// The reason why a function of this crate failed. Arguments are checked before the C call wherever possible.
///
/// # A lost device
/// After a kernel's fault, the runtime of ROCm 7.2 runs nothing on the device until the process ends. The call that
/// waits for the work returns [`Error::DeviceLost`] with the names of the launches in question, and so does every later
/// call on that device: the process has to be restarted. Drops stay silent, and nothing hangs. If no call has returned
/// the error, it is written to stderr once. The runtimes of 6.4 and 5.7 end the process at a fault (`SIGABRT`), which
/// no crate can prevent. The embedded software GPU continues after a fault: the wait returns [`Error::Hip`], and the
/// device stays usable.
///
/// A GPU that was reset or fell off the bus causes the same error. HIP has no status of its own for that: the runtime
/// of ROCm 7.2 returns `hipErrorUnknown` ([`Status::UNKNOWN`]) for every device of the process. The software GPU
/// returns it for the lost device only: `HIP_SIM_LOSE=N` loses the device after N launches.
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// The HIP runtime returned a status other than success.
    Hip(Box<HipError>),

    /// A kernel's fault or a reset has ended all work of this process on a device: [the process has to be
    /// restarted](Error#a-lost-device).
    DeviceLost(Box<DeviceLost>),

    /// No HIP runtime library could be loaded.
    NoLibrary {
        /// The reason, what to do, and every path that was tried.
        report: String,
    },

    /// The HIP runtime that was loaded lacks a function that was called.
    NoSymbol {
        /// The C function.
        function: &'static str,
        /// The request.
        asked: String,
        /// The library that was loaded, and the release that added the function.
        report: String,
    },

    /// The HIP runtime was loaded but sees no AMD GPU. For [`Backend::Cuda`], NVIDIA's driver was not found, or it sees no
    /// GPU.
    NoDevice,

    /// No GPU of either maker is available ([`select_any_gpu`](crate::select_any_gpu)).
    NoGpu {
        /// Why none of AMD's can be used.
        rocm: String,
        /// Why none of NVIDIA's can be used.
        cuda: String,
    },

    /// The HIP runtime is older than the oldest supported release.
    Version {
        /// The runtime's version: major, minor, patch.
        runtime: (u32, u32, u32),
        /// The oldest release that is supported: major, minor.
        oldest: (u32, u32),
    },

    /// A backend was chosen while another one is in use.
    BackendInUse {
        /// The requested backend.
        asked: Backend,
        /// Why it cannot be changed.
        reason: String,
    },

    /// The software GPU was chosen in a build that does not contain it.
    NoSim,

    /// NVIDIA's GPUs were chosen in a build that does not support them.
    NoCuda,

    /// `HIP_RS_BACKEND` is set to a value other than `rocm`, `cuda` or `sim`.
    UnknownBackend(String),

    /// No device has this index.
    DeviceIndex {
        /// The requested index.
        index: usize,
        /// The number of devices; indices start at 0.
        count: usize,
    },

    /// Two objects that must be on one device are on different devices.
    WrongDevice {
        /// The object on the wrong device.
        what: Cow<'static, str>,
        /// The device of the stream or kernel.
        expected: usize,
        /// The object's device.
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

    /// A range extends past its buffer, or ends before it starts.
    Range {
        /// First element.
        start: usize,
        /// One past the last element.
        end: usize,
        /// The buffer's number of elements.
        len: usize,
    },

    /// A size in bytes does not fit.
    TooLarge {
        /// The requested number of elements.
        elements: usize,
        /// Bytes of one element.
        element_bytes: usize,
    },

    /// The element type has size zero, so a buffer of it would have no memory.
    ZeroSizedType {
        /// The element type.
        type_name: &'static str,
    },

    /// A value outside of its allowed range.
    InvalidValue {
        /// The name of the value.
        what: &'static str,
        /// The value.
        value: String,
        /// The allowed values.
        allowed: String,
    },

    /// The bytes are not a code object that this crate can load.
    Image {
        /// The defect.
        reason: String,
    },

    /// The image has no code for the device's architecture.
    Architecture {
        /// The device's architecture.
        device: Arch,
        /// The architectures in the image.
        found: Vec<String>,
    },

    /// A file could not be read.
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        reason: Arc<std::io::Error>,
    },

    /// The module has no kernel of that name.
    KernelNotFound {
        /// The requested name.
        name: String,
        /// The module's kernels.
        available: Vec<String>,
    },

    /// The code of a Rust kernel was built from another source than the signature that it is loaded with.
    Stale {
        /// The kernel.
        kernel: String,
        /// The difference, and how to resolve it.
        reason: String,
    },

    /// A launch passed more or fewer arguments than the kernel has parameters.
    ArgumentCount {
        /// The kernel and its parameters.
        signature: String,
        /// The kernel's number of parameters.
        expected: usize,
        /// The number of arguments passed.
        given: usize,
    },

    /// A launch argument differs from the kernel's parameter.
    Argument {
        /// The kernel and its parameters.
        signature: String,
        /// The index of the argument, counted from 0.
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
        /// The number that exceeds a limit, and the limit.
        reason: String,
    },

    /// The event was never recorded.
    EventNotRecorded,

    /// The event was made without timing.
    EventWithoutTiming,

    /// A call in a host function ([`Stream::launch_host_function`](crate::Stream::launch_host_function)), where HIP
    /// must not be called.
    InHostFunction,

    /// A call in a thread that is ending, from a thread-local destructor (`thread_local!`): HIP has already dropped its
    /// data of the thread.
    ThreadEnding,

    /// A host function panicked in the work that was waited for.
    HostFunctionPanicked {
        /// The panic's message.
        message: String,
    },

    /// A Rust kernel panicked in the work that was waited for. Its wave ended; other waves continued. The kernel's
    /// output is incomplete. The error is returned once, by the first wait that covers the launch; later launches are
    /// not affected.
    KernelPanicked(Box<KernelPanic>),

    /// This process is the child of a `fork`: the GPU, the runtime's threads and its locks belong to the parent.
    ForkedChild,

    /// An operation that is not possible while a stream is captured, or a failed capture.
    Capture {
        /// The reason.
        reason: String,
    },

    /// An operation that is not possible with a graph.
    Graph {
        /// The reason.
        reason: String,
    },

    /// The device, the backend or the release does not support the operation.
    Unsupported {
        /// The requested operation.
        what: &'static str,
        /// The reason.
        reason: String,
    },
}

/// Same as [`Display`](fmt::Display), so that a `main` that returns the error and `unwrap` print a readable text.
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
            Self::NoLibrary { report } => write!(f, "no HIP runtime (libamdhip64): {report}"),
            Self::NoSymbol { function, asked, report } => {
                write!(f, "{function} is not in the HIP runtime that was loaded (asked: {asked}): {report}")
            }
            Self::NoDevice if nvidia::is_in_use() => {
                let reason = nvidia::refusal().unwrap_or_default();
                write!(f, "no GPU of NVIDIA's can be used: {reason}\n{SIM_HINT}")
            }
            Self::NoDevice => write!(f, "{NO_DEVICE}\n{NVIDIA_HINT}{SIM_HINT}"),
            Self::NoGpu { rocm, cuda } => {
                write!(f, "no GPU is available.\nAMD: {rocm}\nNVIDIA: {cuda}\n{SIM_HINT}")
            }
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
            Self::NoCuda => write!(
                f,
                "NVIDIA's GPUs were asked for, but this program was built without the feature `nvidia` of `hip`"
            ),
            Self::UnknownBackend(value) => {
                write!(f, "HIP_RS_BACKEND={value:?} names no backend: use `rocm`, `cuda` or `sim`")
            }
            Self::DeviceIndex { index, count } => write!(
                f,
                "there is no device {index}: the HIP runtime sees {count}, counted from 0 (the software GPU has as many as HIP_SIM_DEVICES says)"
            ),
            Self::WrongDevice { what, expected, found } => {
                write!(f, "{what} is on device {found}, but must be on device {expected}")
            }
            Self::Length { what, destination, source_len } => {
                let destination = counted(*destination, "element");
                write!(f, "{what}: the destination has {destination} and the source has {source_len}")
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
                let (takes, were) = (counted(*expected, "argument"), if *given == 1 { "was" } else { "were" });
                write!(f, "{signature} takes {takes}, {given} {were} given")
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
    /// Returns the runtime's status, if the error came from the runtime. For a lost device, it is the first status.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::Hip(error) => Some(error.status),
            Self::DeviceLost(lost) => Some(lost.first.status),
            Self::NoLibrary { .. } => Some(Status::LIBRARY_NOT_FOUND),
            Self::NoSymbol { .. } => Some(Status::SYMBOL_NOT_FOUND),
            Self::NoDevice | Self::NoGpu { .. } => Some(Status::NO_DEVICE),
            _ => None,
        }
    }

    /// Returns whether no GPU is available: there is no HIP runtime, or it sees no device.
    #[must_use]
    pub fn is_no_gpu(&self) -> bool {
        matches!(self, Self::NoLibrary { .. } | Self::NoDevice | Self::NoGpu { .. })
    }
}

/// Returns a number with the name of what it counts.
fn counted(count: usize, name: &str) -> String {
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
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
    fn counts_have_a_singular() {
        let count = |expected, given| Error::ArgumentCount { signature: "k()".into(), expected, given }.to_string();
        assert_eq!(count(1, 2), "k() takes 1 argument, 2 were given");
        assert_eq!(count(3, 1), "k() takes 3 arguments, 1 was given");
        assert_eq!(count(0, 1), "k() takes 0 arguments, 1 was given");
    }

    #[test]
    fn no_gpu_errors_say_how_to_get_the_software_gpu() {
        let neither = Error::NoGpu { rocm: "none of these".to_owned(), cuda: "none of those".to_owned() };
        assert!(neither.to_string().contains("AMD: none of these\nNVIDIA: none of those\n"), "{neither}");
        for error in [Error::NoDevice, Error::NoLibrary { report: no_library(&not_found()) }, neither] {
            let text = error.to_string();
            assert!(
                text.contains("HIP_RS_BACKEND=sim") && text.contains("`hip-sim run --rocm 7.2 -- PROGRAM`"),
                "{text}"
            );
            assert!(error.is_no_gpu());
        }
        // If the runtime sees no GPU, it is already installed: no installation hint.
        assert!(!Error::NoDevice.to_string().contains("rocm-sdk"));
    }

    fn not_found() -> rocm_loader::Error {
        rocm_loader::Search::nowhere().open(&rocm_loader::libraries::AMDHIP64).unwrap_err()
    }

    #[test]
    fn the_error_without_a_library_has_the_reason_then_what_to_do_then_the_search() {
        let text = Error::NoLibrary { report: no_library(&not_found()) }.to_string();
        let place = |part: &&str| text.find(part).unwrap_or_else(|| panic!("{part} is not in {text}"));
        let parts = [
            "amdhip64 was not found",
            "set ROCM_PATH",
            "`rocm-sdk run 7.2 -- PROGRAM`",
            "`hip-sim run",
            "\nSearch for amdhip64:",
        ];
        assert!(parts.iter().map(place).is_sorted(), "{text}");
        assert!(text.contains("`rocm-sdk doctor`"), "{text}");
    }

    #[test]
    fn an_installed_runtime_is_not_to_be_installed() {
        let rocm_loader::Error::NotFound { library, report } = not_found() else { panic!("not found") };
        let unusable = |reason| {
            let (target, report) = ("/usr/lib/libamdhip64.so.7".to_owned(), report.clone());
            no_library(&rocm_loader::Error::Unusable { library, target, reason, report })
        };
        let text = unusable(Reason::NotAFile);
        assert!(text.starts_with("/usr/lib/libamdhip64.so.7: not a regular file.\n`rocm-sdk doctor` says"), "{text}");
        assert!(!text.contains("rocm-sdk install"), "{text}");
        let run = Some("rocm-sdk run 7.2 -- PROGRAM".to_owned());
        let text = unusable(Reason::SystemTooOld { needed: "glibc 2.38".to_owned(), found: None, run });
        assert!(text.contains("with `rocm-sdk run 7.2 -- PROGRAM`.\nwithout a GPU: "), "{text}");
        assert!(!text.contains("rocm-sdk install") && !text.contains("rocm-sdk doctor"), "{text}");
    }
}

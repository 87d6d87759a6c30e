//! Errors of builds.

use std::fmt;
use std::path::PathBuf;

/// The result of a build.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why kernels could not be built. `Debug` prints the same as `Display`, for build scripts whose `main`
/// returns it.
#[non_exhaustive]
pub enum Error {
    /// The compiler or one of its requirements is missing, and there is no committed bundle. The text says what is
    /// missing, and what to do.
    Unavailable(String),
    /// The source does not compile. The compiler's messages have been printed to the standard error.
    Compilation {
        /// The source.
        source: PathBuf,
        /// The architecture.
        arch: String,
        /// The compiler's messages.
        log: String,
    },
    /// The code calls functions that the device does not have.
    Missing {
        /// The source.
        source: PathBuf,
        /// The functions.
        functions: Vec<String>,
    },
    /// Kernels call functions whose stack depth the compiler cannot determine, and do not state a stack.
    Stack {
        /// The source.
        source: PathBuf,
        /// The kernels, by their names in the code object.
        kernels: Vec<String>,
    },
    /// Kernels state a smaller stack than one call through a pointer or `dyn Trait` may need.
    StackTooSmall {
        /// The source.
        source: PathBuf,
        /// For each kernel, its name in the code object, the stated size, and the minimum size in bytes.
        kernels: Vec<(String, u32, u32)>,
    },
    /// The committed bundle does not belong to this source.
    Stale {
        /// The bundle.
        bundle: PathBuf,
        /// The difference.
        reason: String,
    },
    /// A file cannot be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: std::io::Error,
    },
    /// An invalid call, such as one without architectures.
    Invalid(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(why) => write!(f, "kernels in Rust cannot be built here: {why}"),
            Self::Compilation { source, arch, log } => {
                write!(f, "{} does not compile for {arch}:\n{log}", source.display())
            }
            Self::Missing { source, functions } => write!(
                f,
                "{}: the device has no function {}. LLVM would drop the calls. Use the methods of `hip_kernel::math::Float`, and functions of \
                 crates that are compiled with the kernel",
                source.display(),
                functions.join(", ")
            ),
            Self::Stack { source, kernels } => write!(
                f,
                "{}: the stack that {} needs is not known: recursion, `dyn Trait` and pointers to functions are calls that the compiler cannot \
                 follow. State the bytes that each thread needs at most: `#[kernel(stack(16384))]`; or use loops, generics and `match`",
                source.display(),
                kernels.join(", ")
            ),
            Self::StackTooSmall { source, kernels } => {
                let one = |(name, stated, needed): &(String, u32, u32)| {
                    format!("{name} states {stated} bytes of stack and needs {needed} for itself and one call")
                };
                let all: Vec<_> = kernels.iter().map(one).collect();
                write!(
                    f,
                    "{}: {}: the largest function of the module may be what is called through a pointer or `dyn Trait`. State more in \
                     `#[kernel(stack(..))]`, or move large arrays out of the functions",
                    source.display(),
                    all.join("; ")
                )
            }
            Self::Stale { bundle, reason } => {
                let package = std::env::var("CARGO_PKG_NAME").map(|name| format!(" -p {name}")).unwrap_or_default();
                write!(
                    f,
                    "{} is stale: {reason}. Run HIP_KERNEL_BUILD=update cargo build{package} where kernels in Rust can be built \
                     (`rustup component add rust-src`), and commit it",
                    bundle.display()
                )
            }
            Self::File { path, reason } => write!(f, "{}: {reason}", path.display()),
            Self::Invalid(why) => f.write_str(why),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { reason, .. } => Some(reason),
            _ => None,
        }
    }
}

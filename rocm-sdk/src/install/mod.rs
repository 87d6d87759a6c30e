//! Installs ROCm from Debian's packages into a user's directory, without root (feature `install`).
//!
//! ```no_run
//! use rocm_sdk::install::{self, Error, Installer, Silent};
//! # fn main() -> Result<(), Error> {
//! Installer::standard()?.release("7.2")?.with(["rocblas"]).run(&mut Silent)?;
//! for installed in install::installed()? {
//!     println!("{} {}", installed.release(), installed.root().display());
//! }
//! install::remove("7.2")?;
//! # Ok(())
//! # }
//! ```
//!
//! - An [`Installer`] creates installations in a directory, one per release: by default `~/.local/share/rocm-sdk/7.2`.
//!   Every [`Search`](crate::Search) finds complete ones there, after Python environments and before `/opt/rocm`.
//! - The packages are Debian's for x86-64, from this machine's Debian mirror, otherwise from Debian's own. apt resolves
//!   their dependencies and verifies signatures and checksums; dpkg only unpacks. This needs `apt-get`, `dpkg-deb` and
//!   the keys of the Debian archive, which are available on every Debian and Ubuntu.
//! - The packages need their own C library, which is newer than that of most machines: [`run`] starts a program through
//!   its loader.
//! - [`Progress`] reports the progress, and the sizes before anything is downloaded ([`Plan`]).
//! - [`debian`] is the implementation. It does not depend on ROCm.

#[cfg(feature = "bars")]
mod bars;
mod bytes;
pub mod command;
pub mod debian;
mod error;
mod host;
mod installed;
mod installer;
mod progress;
mod release;

#[cfg(feature = "bars")]
pub use bars::Bars;
pub use bytes::Bytes;
pub use debian::Plan;
pub use error::Error;
pub use installed::{Installed, directory, installed, run};
pub use installer::{Installer, Outcome, Request, remove};
pub use progress::{Amount, Event, Progress, Silent};
pub use release::{DebianRelease, RELEASES, check_name, release};

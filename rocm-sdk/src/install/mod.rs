//! Installs ROCm from Debian's packages into a folder of the user's, without root: behind the feature `install`.
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
//! - An [`Installer`] makes installations in a folder, one a release: `~/.local/share/rocm-sdk/7.2` where nothing else is said. Every
//!   [`Search`](crate::Search) finds those that are complete there, after a Python environment's and before `/opt/rocm`.
//! - The packages are Debian's for x86-64, from the mirror that this machine uses for Debian, else from Debian's own. apt
//!   resolves their dependencies and verifies signatures and checksums; dpkg only unpacks. Needs `apt-get`, `dpkg-deb` and the keys of
//!   the Debian archive, which every Debian and Ubuntu can have.
//! - They need the C library that comes with them, which is newer than that of most machines: [`run`] starts a program through its loader.
//! - [`Progress`] says how far it is, and announces the sizes before anything is downloaded ([`Plan`]).
//! - [`debian`] is what is below it, and knows nothing of ROCm.

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
pub use installed::{Installed, directory, installed, remove, run};
pub use installer::{Installer, Outcome, Request};
pub use progress::{Amount, Event, Progress, Silent};
pub use release::{DebianRelease, RELEASES, check_name, release};

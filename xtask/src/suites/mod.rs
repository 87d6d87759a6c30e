//! Other people's suites: AMD's test programs, cudarc's examples and tests, candle's kernels.
//!
//! They share `registry`, which fetches crates, and `reasons`, which reads why cases do not pass. `process::within`
//! runs a case in a process of its own, with a limit.

pub(crate) mod amd;
pub(crate) mod candle;
pub(crate) mod cudarc;
mod reasons;
mod registry;

use anyhow::{Result, ensure};

use crate::rocm::{self, Release};

/// The release that the suites run on: Debian has AMD's test programs for it.
pub(crate) const RELEASE: &str = "7.2";

/// Returns the release, and fetches it if it is missing.
fn release(offline: bool) -> Result<&'static Release> {
    let release = rocm::release(RELEASE)?;
    if !rocm::is_present(release) {
        ensure!(!offline, "ROCm {RELEASE} was not fetched yet, and --offline was given");
        rocm::fetch(release, &[], false)?;
    }
    Ok(release)
}

//! The ROCm releases in Debian, and the sets of packages of each.

use anyhow::{Context as _, Result};
use rocm_sdk::install::debian::{MIRROR_VARIABLE, Selection};
use rocm_sdk::install::{self, DebianRelease};

/// The set in every tree.
pub(super) const BASE: &str = "hip";
/// The set that `cargo xtask bindgen` needs in addition.
pub(crate) const BINDINGS: &str = "bindings";
/// Libraries whose symbols `cargo xtask bindgen` can compare as well.
pub(crate) const LARGE: &str = "bindings-large";

/// ROCm's own programs that run on the software GPU.
pub(super) const PROGRAMS: &str = "programs";

/// A ROCm release in Debian.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Release {
    /// `7.2`.
    pub(crate) name: &'static str,
    /// Its packages.
    pub(super) debian: &'static DebianRelease,
    /// The packages that `cargo xtask bindgen` reads, without their dependencies: headers, and libraries for their
    /// symbols.
    bindings: &'static [&'static str],
    /// Large libraries of which only the symbols are needed.
    large: &'static [&'static str],
}

impl Release {
    /// Returns the selection for apt; `name` separates the files of its state.
    pub(crate) fn selection<'a>(&self, name: &'a str) -> Selection<'a> {
        self.debian.selection(name)
    }

    /// Returns the packages of a set that is listed here; none for a set that Debian's dependencies determine.
    pub(super) fn listed(&self, set: &str) -> &'static [&'static str] {
        match set {
            BINDINGS => self.bindings,
            LARGE => self.large,
            PROGRAMS => &["rocminfo"],
            _ => &[],
        }
    }
}

/// Every release that can be fetched.
pub(crate) const RELEASES: &[Release] = &[
    Release {
        name: "5.7",
        debian: &install::RELEASES[0],
        bindings: &[
            "libhipblas-dev",
            "libhipblas0",
            "libhipfft-dev",
            "libhipfft0",
            "libhiprand-dev",
            "libhiprand1",
            "librocrand-dev",
            "libhipsolver-dev",
            "libhipsolver0",
            "libhipsparse-dev",
            "libhipsparse0",
            "librccl-dev",
            "libroctx-dev",
            "libroctx64-4",
            "libamd-smi-dev",
            "libamd-smi0",
            // For RCCL.
            "librocm-smi64-1",
            "llvm-17-dev",
            "libclang-17-dev",
            "libclang1-17t64",
        ],
        large: &["librccl1"],
    },
    Release {
        name: "6.4",
        debian: &install::RELEASES[1],
        bindings: &[
            "libhipblas-dev",
            "libhipblas-common-dev",
            "libhipblas2",
            // From ROCm 7.1.
            "libhipblaslt-dev",
            "libhipfft-dev",
            "libhipfft0",
            "libhiprand-dev",
            "libhiprand1",
            "librocrand-dev",
            "libhipsolver-dev",
            "libhipsolver0",
            "libhipsparse-dev",
            "libhipsparse1",
            "libroctx-dev",
            "libroctx64-4",
            "llvm-19-dev",
            "libllvm19",
            "libclang-19-dev",
            "libclang1-19",
        ],
        large: &["libhipblaslt1"],
    },
    Release {
        name: "7.2",
        debian: &install::RELEASES[2],
        bindings: &[
            "libhipblas-dev",
            "libhipblas-common-dev",
            "libhipblas3",
            "libhipblaslt-dev",
            "libhipfft-dev",
            "libhipfft0",
            "libhiprand-dev",
            "libhiprand1",
            "librocrand-dev",
            "libhipsolver-dev",
            "libhipsolver1",
            "libhipsparse-dev",
            "libhipsparse4",
            "libhipsparselt-dev",
            "librccl-dev",
            "libroctx-dev",
            "libroctx64-4",
            // From ROCm 10.1.
            "libamd-smi-dev",
            "libamd-smi27",
            "libe-smi64-1",
            "libmnl0",
            "libnl-3-200",
            "libnl-genl-3-200",
            // For RCCL.
            "librocm-smi64-7",
            "llvm-22-dev",
            "libclang-22-dev",
            "libclang1-22",
            "llvm-23-dev",
            "libclang-23-dev",
        ],
        large: &["libhipblaslt1", "libhipsparselt0", "librccl1"],
    },
];

/// Returns the error if none of these releases is available.
pub(crate) fn none_of(releases: &[&Release]) -> String {
    let names: Vec<&str> = releases.iter().map(|release| release.name).collect();
    format!(
        "the mirror has none of ROCm {}; set {MIRROR_VARIABLE} to a snapshot of Debian's archive that has one, such as \
         https://snapshot.debian.org/archive/debian/YYYYMMDDThhmmssZ",
        names.join(", ")
    )
}

/// Parses a release's name.
pub(crate) fn release(name: &str) -> Result<&'static Release> {
    let found = RELEASES.iter().find(|release| release.name == name);
    found.with_context(|| {
        let names: Vec<_> = RELEASES.iter().map(|release| release.name).collect();
        format!("the releases that can be fetched are {}", names.join(", "))
    })
}

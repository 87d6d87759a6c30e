//! Variables that name the Debian archive.

/// The variable that names a mirror, which overrides the machine's own sources. A snapshot of the archive works too,
/// which provides packages that Debian has replaced by newer ones.
pub const MIRROR_VARIABLE: &str = "ROCM_SDK_DEBIAN_MIRROR";
/// The variable that names the file of the archive's keys, if it is not in the place of Debian's package.
pub const KEYRING_VARIABLE: &str = "ROCM_SDK_DEBIAN_KEYRING";

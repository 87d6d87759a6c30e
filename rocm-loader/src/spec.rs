//! The names of a ROCm library, release by release.

use crate::releases::Abi;

/// A file name of a library, and the ROCm releases that use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Soname {
    /// The name that the system loader uses, such as `libamdhip64.so.7`.
    pub file: &'static str,
    /// First major release of ROCm with this name.
    pub first: u32,
    /// Last major release of ROCm known to have it.
    pub last: u32,
    /// The releases whose ABI it stands for, if they are not all of the above.
    abi: Option<Abi>,
}

impl Soname {
    /// Creates a name used by the major releases `first` to `last`, inclusive.
    pub const fn new(file: &'static str, first: u32, last: u32) -> Self {
        Self { file, first, last, abi: None }
    }

    /// Marks a name that stands for the ABI of the releases `first` to `last` (major, minor), inclusive, whatever
    /// release is installed next to it.
    pub const fn with_abi_of(mut self, first: (u32, u32), last: (u32, u32)) -> Self {
        self.abi = Some(Abi { first, last });
        self
    }

    /// Returns the releases whose ABI it stands for.
    pub const fn abi(&self) -> Abi {
        match self.abi {
            Some(abi) => abi,
            // A release newer than any known may still use the newest name.
            None => Abi { first: (self.first, 0), last: (self.last, u32::MAX) },
        }
    }

    /// Returns whether a minor number follows the major one: `libLLVM.so.22.1`.
    pub fn has_minor(&self) -> bool {
        self.file.rsplit_once(".so.").is_some_and(|(_, number)| number.contains('.'))
    }
}

/// The part of ROCm that a library belongs to: AMD's wheels come as `rocm-sdk-core` and `rocm-sdk-libraries-FAMILY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Group {
    /// Runtimes, compilers and tools, the same for every GPU.
    Core,
    /// Mathematics, communication and deep learning, with code for specific GPUs.
    Libraries,
}

/// The names of one library on every platform and in every major release, newest first.
///
/// [`libraries`](crate::libraries) has those of ROCm's libraries.
///
/// ```
/// use rocm_loader::{LibrarySpec, Soname};
/// static MINE: LibrarySpec =
///     LibrarySpec::new("mine", "libmine.so", &[Soname::new("libmine.so.2", 7, 10)], &["mine.dll"]);
/// assert_eq!(MINE.known_major(2).unwrap().file, "libmine.so.2");
/// assert!(MINE.known_major(3).is_none());
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct LibrarySpec {
    name: &'static str,
    unversioned: &'static str,
    sonames: &'static [Soname],
    windows: &'static [&'static str],
    directories: &'static [&'static str],
    group: Group,
    companion: Option<&'static LibrarySpec>,
    hip_numbered: bool,
    optional: bool,
}

impl LibrarySpec {
    /// Describes a library: its short name for messages, the unversioned file name (`libX.so`), its versioned sonames
    /// and its Windows file names, both newest first.
    pub const fn new(
        name: &'static str,
        unversioned: &'static str,
        sonames: &'static [Soname],
        windows: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            unversioned,
            sonames,
            windows,
            directories: &[],
            group: Group::Core,
            companion: None,
            hip_numbered: false,
            optional: false,
        }
    }

    /// Marks a library whose file name contains HIP's version (`libamdhip64.so.7.2.53211` is HIP 7.2). It determines
    /// the release if nothing better does.
    pub const fn numbered_by_hip(mut self) -> Self {
        self.hip_numbered = true;
        self
    }

    /// Marks a library that may also be in these directories of an installation, relative to its root. They are
    /// searched before the usual ones.
    pub const fn in_directories(mut self, directories: &'static [&'static str]) -> Self {
        self.directories = directories;
        self
    }

    /// Marks a library of which several releases can be installed. The one with the number that `companion` depends on
    /// is used, even if a newer one is installed.
    pub const fn numbered_as_needed_by(mut self, companion: &'static LibrarySpec) -> Self {
        self.companion = Some(companion);
        self
    }

    /// Marks a library of [`Group::Libraries`].
    pub const fn in_libraries(mut self) -> Self {
        self.group = Group::Libraries;
        self
    }

    /// Marks a library that a complete installation may lack.
    pub const fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Returns the short name, mostly as in `-lamdhip64`. Some differ: that of `-lMIOpen` is `miopen`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the name without a version, such as `libamdhip64.so`. It is tried last, because it does not identify the
    /// release.
    pub const fn unversioned(&self) -> &'static str {
        self.unversioned
    }

    /// Returns the versioned names, newest first.
    pub const fn sonames(&self) -> &'static [Soname] {
        self.sonames
    }

    /// Returns the file names on Windows, newest first.
    pub const fn windows_names(&self) -> &'static [&'static str] {
        self.windows
    }

    /// Returns the additional directories of an installation, relative to its root, that may contain it.
    pub const fn directories(&self) -> &'static [&'static str] {
        self.directories
    }

    /// Returns the library whose dependencies determine the number of this one.
    pub const fn companion(&self) -> Option<&'static LibrarySpec> {
        self.companion
    }

    /// Returns the part of ROCm that it belongs to.
    pub const fn group(&self) -> Group {
        self.group
    }

    /// Returns whether a complete installation may lack it.
    pub const fn is_optional(&self) -> bool {
        self.optional
    }

    /// Returns whether ROCm includes it on Windows.
    pub const fn is_on_windows(&self) -> bool {
        !self.windows.is_empty()
    }

    /// Returns whether ROCm includes it on this program's target platform.
    pub const fn is_on_this_platform(&self) -> bool {
        !cfg!(windows) || self.is_on_windows()
    }

    /// Returns whether the number in the file name is HIP's version.
    pub const fn is_numbered_by_hip(&self) -> bool {
        self.hip_numbered
    }

    /// Returns the versioned name with the soname major `major`, if it is known.
    pub fn known_major(&self, major: u32) -> Option<&'static Soname> {
        self.sonames.iter().find(|s| s.file.strip_prefix(self.unversioned).and_then(soname_major) == Some(major))
    }

    /// Returns whether `soname` is known.
    pub fn knows(&self, soname: &str) -> bool {
        self.sonames.iter().any(|s| s.file == soname)
    }

    /// Returns the newest known soname major.
    pub fn newest_major(&self) -> Option<u32> {
        self.sonames.iter().filter_map(|s| s.file.strip_prefix(self.unversioned).and_then(soname_major)).max()
    }

    /// Returns the names to try on this platform, in order; the unversioned one is last.
    pub fn file_names(&self) -> impl Iterator<Item = &'static str> + '_ {
        let versioned = if cfg!(windows) { &[][..] } else { self.sonames };
        let windows = if cfg!(windows) { self.windows } else { &[] };
        let last = if cfg!(windows) { None } else { Some(self.unversioned) };
        versioned
            .iter()
            .map(|s| s.file)
            .filter(move |&file| Some(file) != last)
            .chain(windows.iter().copied())
            .chain(last)
    }
}

/// Returns the major number in the part after `libX.so`: `".7.2.53211"` -> 7.
pub fn soname_major(suffix: &str) -> Option<u32> {
    suffix.strip_prefix('.')?.split('.').next()?.parse().ok()
}

/// Returns the first number in a library's name: 22 of `libLLVM.so.22.1`, `libclang-cpp.so.22.1`, `libLLVM-22.so.1`.
pub fn first_number(file: &str) -> Option<u32> {
    let digits = file.find(|c: char| c.is_ascii_digit()).map(|at| &file[at..])?;
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Returns the release of LLVM that a library depends on, from its dependencies.
pub fn number_of_llvm(needed: &[String]) -> Option<u32> {
    needed
        .iter()
        .filter(|name| ["libLLVM", "libclang"].iter().any(|p| name.starts_with(p)))
        .find_map(|n| first_number(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_llvm() {
        for (names, number) in [
            (&["libm.so.6", "libLLVM.so.22.1"][..], Some(22)),
            (&["libclang-cpp.so.23.0git"], Some(23)),
            (&["libLLVM-17.so.1"], Some(17)),
            (&["libc.so.6", "libz.so.1"], None),
            (&["libLLVM.so"], None),
            (&[], None),
        ] {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            assert_eq!(number_of_llvm(&names), number, "{names:?}");
        }
    }
}

//! Options of the pipelines.

use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Options of the [pipelines](crate::comgr).
///
/// ```
/// use rocm_llvm::comgr::Options;
///
/// let options = Options::new()
///     .optimize(3)
///     .define("N", 64)
///     .header("vec.h", "template<typename T> struct Vec { T x, y; };")
///     .option("-Wall");
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Options {
    pub(crate) options: Vec<String>,
    pub(crate) link_options: Vec<String>,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) device_libraries: bool,
    pub(crate) no_hip_header: bool,
    pub(crate) files_in_memory: Option<bool>,
}

impl Options {
    /// Returns no options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an option of Clang, such as `-ffast-math`. It is one word: an option with a separate value is two.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// Adds several options of Clang.
    pub fn options<T: Into<String>>(mut self, options: impl IntoIterator<Item = T>) -> Self {
        self.options.extend(options.into_iter().map(Into::into));
        self
    }

    /// Adds an option of the linker, such as `-Wl,--unresolved-symbols=ignore-all`.
    pub fn link_option(mut self, option: impl Into<String>) -> Self {
        self.link_options.push(option.into());
        self
    }

    /// Defines a macro (`-DNAME=VALUE`).
    pub fn define(self, name: &str, value: impl Display) -> Self {
        self.option(format!("-D{name}={value}"))
    }

    /// Sets the optimisation level (`-O0` to `-O3`). The default is `-O3`, for IR too.
    pub fn optimize(self, level: u8) -> Self {
        self.option(format!("-O{level}"))
    }

    /// Adds debug information (`-g`), which [`source_lines`](crate::comgr::source_lines()) reads.
    pub fn debug(self) -> Self {
        self.option("-g")
    }

    /// Adds a directory that is searched for headers (`-I`).
    pub fn include_directory(self, directory: impl AsRef<Path>) -> Self {
        self.option(format!("-I{}", directory.as_ref().display()))
    }

    /// Adds a header from memory: `#include "NAME"` finds it.
    pub fn header(mut self, name: impl Into<String>, text: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// Sets the directory that relative paths of included files start from.
    pub fn working_directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Links the device libraries (mathematical functions and others) in the pipelines that start from IR or bitcode.
    /// HIP sources are always linked with them.
    pub fn device_libraries(mut self) -> Self {
        self.device_libraries = true;
        self
    }

    /// Compiles HIP sources without [HIP's device header](crate::comgr::hip_header()), which otherwise is included
    /// first. Needed for sources that include `hip/hip_runtime.h` from a directory of their own.
    pub fn no_hip_header(mut self) -> Self {
        self.no_hip_header = true;
        self
    }

    /// Sets whether the compiler keeps its intermediate files in memory: see
    /// [`ActionInfo::files_in_memory`](crate::comgr::ActionInfo::files_in_memory).
    pub fn files_in_memory(mut self, use_memory: bool) -> Self {
        self.files_in_memory = Some(use_memory);
        self
    }
}

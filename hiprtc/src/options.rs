//! Compiler options.

use crate::error::{Error, Result};

/// A C++ standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CppStandard {
    /// C++11
    Cpp11,
    /// C++14
    Cpp14,
    /// C++17
    Cpp17,
    /// C++20
    Cpp20,
    /// C++23
    Cpp23,
}

/// The optimisation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OptLevel {
    /// `-O0`: not optimised, for debuggers.
    O0,
    /// `-O1`
    O1,
    /// `-O2`
    O2,
    /// `-O3`: HIPRTC's default.
    O3,
}

/// Compiler options, in the order given. The architecture is set with [`Program::arch`](crate::Program::arch) instead.
///
/// They are clang's. For an architecture of NVIDIA's, those with a counterpart are translated: the methods below except
/// [`llvm`](Options::llvm), and `-ffp-contract`, `-fgpu-flush-denormals-to-zero`, `-w`, `-Werror`; other warnings have no
/// effect. [`raw`](Options::raw) also takes NVRTC's own options that start with `--`. Others are
/// [`Error::InvalidOption`](crate::Error::InvalidOption).
///
/// ```
/// use hiprtc::{CppStandard, Options};
///
/// let options = Options::new().standard(CppStandard::Cpp20).define("TILE", "16").fast_math();
/// assert_eq!(options.as_slice(), ["-std=c++20", "-DTILE=16", "-ffast-math"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct Options {
    options: Vec<String>,
    /// Number of `-mllvm` options added with the method.
    llvm: usize,
}

impl Options {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds any option of the compiler (clang), as one argument.
    pub fn raw(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// `-std=c++17`
    pub fn standard(self, standard: CppStandard) -> Self {
        self.raw(match standard {
            CppStandard::Cpp11 => "-std=c++11",
            CppStandard::Cpp14 => "-std=c++14",
            CppStandard::Cpp17 => "-std=c++17",
            CppStandard::Cpp20 => "-std=c++20",
            CppStandard::Cpp23 => "-std=c++23",
        })
    }

    /// `-DNAME=VALUE`; an empty value makes the name empty, not 1.
    pub fn define(self, name: &str, value: impl std::fmt::Display) -> Self {
        self.raw(format!("-D{name}={value}"))
    }

    /// `-UNAME`
    pub fn undefine(self, name: &str) -> Self {
        self.raw(format!("-U{name}"))
    }

    /// `-IPATH`: a directory for `#include`. [`Program::header`](crate::Program::header) adds a header without a file.
    pub fn include_dir(self, path: &str) -> Self {
        self.raw(format!("-I{path}"))
    }

    /// `-O0` to `-O3`
    pub fn opt_level(self, level: OptLevel) -> Self {
        self.raw(match level {
            OptLevel::O0 => "-O0",
            OptLevel::O1 => "-O1",
            OptLevel::O2 => "-O2",
            OptLevel::O3 => "-O3",
        })
    }

    /// `-ffast-math`: arithmetic may be reordered, and NaN and infinities are assumed not to occur.
    pub fn fast_math(self) -> Self {
        self.raw("-ffast-math")
    }

    /// `-g`: debug information.
    pub fn debug(self) -> Self {
        self.raw("-g")
    }

    /// `--gpu-max-threads-per-block=N`: for kernels without `__launch_bounds__`.
    pub fn max_threads_per_block(self, threads: u32) -> Self {
        self.raw(format!("--gpu-max-threads-per-block={threads}"))
    }

    /// `-mllvm OPTION`: an option of LLVM itself. LLVM terminates the process, with a message on stderr, if it does not
    /// know the option. This cannot be prevented, so `-mllvm` through [`raw`](Self::raw) is an error.
    pub fn llvm(mut self, option: &str) -> Self {
        self.options.extend(["-mllvm".to_owned(), option.to_owned()]);
        self.llvm += 1;
        self
    }

    /// Returns the options as they are passed to the compiler.
    pub fn as_slice(&self) -> &[String] {
        &self.options
    }

    /// Rejects options that cannot be passed to a compiler.
    pub(crate) fn check(&self) -> Result<()> {
        if self.options.iter().filter(|option| *option == "-mllvm").count() > self.llvm {
            let reason = "LLVM terminates the process on an unknown option: use Options::llvm to pass one deliberately";
            return Err(Error::InvalidOption { option: "-mllvm".to_owned(), reason });
        }
        for option in &self.options {
            let refuse = |reason| Err(Error::InvalidOption { option: option.clone(), reason });
            if let Some(position) = option.bytes().position(|byte| byte == 0) {
                return Err(Error::Nul { what: format!("option {option:?}"), position });
            }
            if option.trim().is_empty() {
                return refuse("it is empty");
            }
            if option.starts_with("-mllvm=") {
                return refuse("use Options::llvm for options of LLVM");
            }
            if option == "-fgpu-rdc" {
                return refuse("it produces bitcode for linking: use Program::compile_bitcode");
            }
            if option.starts_with("--offload-arch") || option.starts_with("--gpu-architecture") {
                return refuse("set the architecture with Program::arch");
            }
            if let Some(definition) = option.strip_prefix("-D").or_else(|| option.strip_prefix("-U")) {
                let name = definition.split(['=', '(']).next().unwrap_or_default();
                let starts = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
                if !starts || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
                    return refuse("the macro's name is not an identifier");
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_spelt_as_clang_spells_them() {
        let options = Options::new()
            .standard(CppStandard::Cpp14)
            .define("A", 1)
            .undefine("B")
            .include_dir("/usr/include")
            .opt_level(OptLevel::O1)
            .debug()
            .max_threads_per_block(256)
            .raw("-Werror");
        let want =
            ["-std=c++14", "-DA=1", "-UB", "-I/usr/include", "-O1", "-g", "--gpu-max-threads-per-block=256", "-Werror"];
        assert_eq!(options.as_slice(), want);
        options.check().unwrap();
    }

    #[test]
    fn impossible_options_are_refused() {
        for (options, part) in [
            (Options::new().raw(""), "empty"),
            (Options::new().raw(" "), "empty"),
            (Options::new().raw("-g\0"), "NUL"),
            (Options::new().raw("-mllvm").raw("-x"), "Options::llvm"),
            (Options::new().raw("-mllvm=-x"), "Options::llvm"),
            (Options::new().raw("-fgpu-rdc"), "bitcode"),
            (Options::new().define("", 1), "macro"),
            (Options::new().define("1X", 1), "macro"),
            (Options::new().define("A B", 1), "macro"),
            (Options::new().undefine("-"), "macro"),
            (Options::new().raw("--offload-arch=gfx90a"), "Program::arch"),
        ] {
            let text = options.check().unwrap_err().to_string();
            assert!(text.contains(part), "{text}");
        }
        Options::new().define("F(x)", "(x)").check().unwrap();
        assert_eq!(Options::new().llvm("-amdgpu-function-calls=0").as_slice(), ["-mllvm", "-amdgpu-function-calls=0"]);
        Options::new().llvm("-amdgpu-function-calls=0").check().unwrap();
    }
}

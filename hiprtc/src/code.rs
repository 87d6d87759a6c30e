//! Compiled code.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use hip::{Arch, Device, Module};

use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::source::declarations::Declarations;

/// Where [`Code`] came from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Origin {
    /// It was compiled by this call.
    Compiled,
    /// It was compiled before, and is from the [`cache`](crate::cache).
    Cached,
    /// It is from the bundle. No compiler is available, for this reason.
    Bundle(Arc<Error>),
}

/// A code object for one architecture, ready to be [loaded](Code::load).
#[derive(Clone)]
pub struct Code {
    pub(crate) bytes: Cow<'static, [u8]>,
    pub(crate) arch: Arch,
    pub(crate) log: String,
    pub(crate) lowered: Vec<(String, String)>,
    pub(crate) origin: Origin,
    /// The source's declarations; empty for code from a bundle, which may come from another source.
    pub(crate) declarations: Arc<Declarations>,
}

impl Code {
    /// Returns the code object: an ELF file, or PTX for architectures like `compute_90`.
    #[doc(alias(
        "hiprtcGetCode",
        "hiprtcGetCodeSize",
        "nvrtcGetPTX",
        "nvrtcGetPTXSize",
        "nvrtcGetCUBIN",
        "nvrtcGetCUBINSize"
    ))]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Converts into the bytes of the code object.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes.into_owned()
    }

    /// Returns the architecture that the code was compiled or selected for.
    pub fn arch(&self) -> &Arch {
        &self.arch
    }

    /// Returns the compiler's messages. They are warnings, because the code compiled.
    #[doc(alias("hiprtcGetProgramLog", "hiprtcGetProgramLogSize", "nvrtcGetProgramLog", "nvrtcGetProgramLogSize"))]
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Returns the compiler's messages as values: warnings, with file, line and column.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        Diagnostic::parse(&self.log)
    }

    /// Returns whether the code was compiled, or is from the cache or a bundle.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns the name in the code of an expression that was passed to
    /// [`Program::name_expression`](crate::Program::name_expression).
    ///
    /// # Errors
    /// [`Error::UnknownName`] if the expression was not requested, or if the code is from a bundle, which has no
    /// lowered names: declare its kernels `extern "C"`.
    #[doc(alias("hiprtcGetLoweredName", "nvrtcGetLoweredName"))]
    pub fn lowered_name(&self, expression: &str) -> Result<&str> {
        let found = self.lowered.iter().find(|(known, _)| known == expression);
        found.map(|(_, name)| name.as_str()).ok_or_else(|| Error::UnknownName {
            expression: expression.to_owned(),
            known: self.lowered.iter().map(|(known, _)| known.clone()).collect(),
        })
    }

    /// Loads the code on `device` (`hipModuleLoadData`).
    ///
    /// Launches of its kernels also compare arguments with the source. If the code was compiled from source, now or
    /// earlier (not if it is from a bundle), [`hip::Kernel::launch`] and the `load` of [`hip::kernel!`] return
    /// [`hip::Error::Argument`] for
    ///
    /// - elements of another type: `DeviceBuffer<f64>` for `float *x`. Pointers to `void`, `char` and `unsigned char`
    ///   take any, those to `float4` also `f32` and `[f32; 4]`;
    /// - numbers of another type: `f32` for `unsigned n`. Integers of the same size count as one type, in memory too;
    /// - `&x` for `float *x`: the kernel may write, so it takes `&mut x`. `const float *x` takes both.
    ///
    /// The types are those of the mangled name, of templates and overloads too; for `extern "C"` they are read from the
    /// source's text. If neither shows a type, only the code object is compared: the number of parameters, which of
    /// them are pointers, and the size of each. This happens for a type that is neither C++'s nor a simple alias in the
    /// source, such as `typedef float real;`, for an `extern "C"` kernel in an `#if`, and for code that is loaded by
    /// its bytes (`hip::Module::load`).
    ///
    /// # Errors
    /// [`Error::Hip`] if the runtime or its checks reject the code.
    pub fn load(&self, device: &Device) -> Result<Module> {
        Ok(Module::load_declared(device, &self.bytes, |kernel| self.declarations.of_kernel(kernel))?)
    }
}

impl AsRef<[u8]> for Code {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Code")
            .field("arch", &self.arch.to_string())
            .field("bytes", &self.bytes.len())
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

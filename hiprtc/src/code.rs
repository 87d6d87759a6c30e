//! Compiled code.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use hip::{Arch, Device, Module};

use crate::bundle::Bundle;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::program::Program;
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
    /// Returns the code object: an ELF file.
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

    /// Returns the name in the code of an expression that was passed to [`Program::name_expression`].
    ///
    /// # Errors
    /// [`Error::UnknownName`] if the expression was not requested, or if the code is from a bundle, which has no
    /// lowered names: declare its kernels `extern "C"`.
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

/// Compiles `program` if a compiler is available, otherwise takes the code from `bundle`. [`Code::origin`] returns
/// which. A program that calls this also runs on a machine without a compiler.
///
/// A source that does not compile is an error: the bundle is not used then.
///
/// # Errors
/// Those of [`Program::compile`]. [`Error::Neither`] with both causes if no compiler is available and the bundle cannot
/// be used.
///
/// ```
/// use hiprtc::{BundleWriter, Program};
///
/// # let file = BundleWriter::new().add("gfx90a".parse()?, b"code").to_bytes();
/// // static FILE: &[u8] = include_bytes!("scale.bundle");
/// let program = Program::new("scale.hip", "extern \"C\" __global__ void scale(float *x) { x[threadIdx.x] *= 3; }").arch("gfx90a");
/// let code = hiprtc::compile_or_bundle(&program, &file)?;
/// println!("{:?}", code.origin());
/// # Ok::<(), hiprtc::Error>(())
/// ```
pub fn compile_or_bundle(program: &Program, bundle: &[u8]) -> Result<Code> {
    match program.compile() {
        Err(compiler) if compiler.is_unavailable() => from_bundle(program, bundle, compiler),
        result => result,
    }
}

/// Takes the code from the bundle, and records why.
fn from_bundle(program: &Program, bundle: &[u8], compiler: Error) -> Result<Code> {
    let arch = program.wanted_arch()?;
    let selected = match program.expressions().first() {
        // Code from a bundle has no lowered names, so the kernels of expressions could not be found in it.
        Some(expression) => Err(Error::UnknownName { expression: expression.clone(), known: Vec::new() }),
        None => Bundle::decompress(bundle).and_then(|bytes| Ok(Bundle::parse(&bytes)?.select(&arch)?.to_vec())),
    };
    match selected {
        Ok(bytes) => {
            let origin = Origin::Bundle(Arc::new(compiler));
            let declarations = Arc::default();
            Ok(Code { bytes: bytes.into(), arch, log: String::new(), lowered: Vec::new(), origin, declarations })
        }
        Err(error) => Err(Error::Neither { compiler: Box::new(compiler), bundle: Box::new(error) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::BundleWriter;

    fn no_compiler() -> Error {
        Error::NoHiprtc(Box::new(rocm_loader::Error::RelativePath { path: "here".into() }))
    }

    #[test]
    fn the_bundle_steps_in_and_says_why() {
        let file = BundleWriter::new().add("gfx90a".parse().unwrap(), b"code").to_bytes();
        let program = Program::new("a", "x").arch("gfx90a:xnack-");
        let code = from_bundle(&program, &file, no_compiler()).unwrap();
        assert_eq!(code.as_bytes(), b"code");
        assert!(matches!(code.origin(), Origin::Bundle(why) if why.is_unavailable()));
        assert!(code.lowered_name("f").is_err());
    }

    #[test]
    fn both_reasons_are_told() {
        let file = BundleWriter::new().add("gfx90a".parse().unwrap(), b"code").to_bytes();
        for (program, file, part) in [
            (Program::new("a", "x").arch("gfx1100"), &file[..], "has no code for gfx1100"),
            (Program::new("a", "x").arch("gfx90a"), b"junk", "not a valid code object bundle"),
            (Program::new("a", "x").arch("gfx90a").name_expression("f<int>"), &file[..], "f<int>"),
        ] {
            let text = from_bundle(&program, file, no_compiler()).unwrap_err().to_string();
            assert!(text.contains("no run-time compiler") && text.contains(part), "{text}");
        }
    }
}

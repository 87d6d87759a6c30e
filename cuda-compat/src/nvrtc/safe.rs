//! cudarc's types over [`result`].

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::path::PathBuf;

use super::result::{self, NvrtcError};
use super::sys;
use crate::driver::sys::CUresult;
use crate::driver::{DriverError, image, text};

/// Compiled code, or its file. [`CudaContext::load_module`](crate::driver::CudaContext::load_module) loads it.
///
/// The name is cudarc's. [`compile_ptx`] creates machine code of one AMD GPU; PTX cannot be loaded.
#[derive(Clone, Debug)]
pub struct Ptx(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Image(Vec<u8>),
    Source(String),
    File(PathBuf),
    Binary(Vec<u8>),
}

impl Ptx {
    /// Refers to the code in a file: a code object or an offload bundle.
    pub fn from_file<P: Into<PathBuf>>(path: P) -> Self {
        Self(Kind::File(path.into()))
    }

    /// Takes a text: one that `nvcc` of this crate has written ([its form](crate::driver::text)). PTX cannot be loaded.
    pub fn from_src<S: Into<String>>(src: S) -> Self {
        Self(Kind::Source(src.into()))
    }

    /// Takes a code object or an offload bundle.
    #[must_use]
    pub fn from_binary(data: Vec<u8>) -> Self {
        Self(Kind::Binary(data))
    }

    /// Returns the text. Bytes of machine code that are not UTF-8 are replaced.
    ///
    /// # Panics
    /// If the file cannot be read.
    pub fn to_src(&self) -> String {
        match &self.0 {
            Kind::Image(bytes) | Kind::Binary(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Kind::Source(text) => text.clone(),
            Kind::File(path) => match std::fs::read(path) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(error) => panic!("cannot read {}: {error}", path.display()),
            },
        }
    }

    /// Returns the bytes of compiled code; `None` for other kinds.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            Kind::Image(bytes) => Some(bytes),
            Kind::Source(_) | Kind::File(_) | Kind::Binary(_) => None,
        }
    }

    /// Returns the bytes that a device loads.
    pub(crate) fn image(&self) -> Result<Cow<'_, [u8]>, DriverError> {
        let (bytes, source) = match &self.0 {
            Kind::Image(bytes) | Kind::Binary(bytes) => (Cow::Borrowed(&bytes[..]), "the image".to_owned()),
            Kind::Source(text) => (Cow::Borrowed(text.as_bytes()), "the image".to_owned()),
            Kind::File(path) => {
                let bytes = std::fs::read(path).map_err(|error| {
                    let text = format!("cannot read {}: {error}", path.display());
                    DriverError(CUresult::CUDA_ERROR_FILE_NOT_FOUND).explained(text)
                })?;
                (Cow::Owned(bytes), path.display().to_string())
            }
        };
        match text::decode(&bytes) {
            Ok(Some(decoded)) => return Ok(Cow::Owned(decoded)),
            Ok(None) => {}
            Err(damaged) => {
                let text = format!("{source}: {damaged}");
                return Err(DriverError(CUresult::CUDA_ERROR_INVALID_IMAGE).explained(text));
            }
        }
        if let Some((status, why)) = image::kind(|at| bytes.get(at).copied()) {
            return Err(DriverError(status).explained(format!("{source}: {why}")));
        }
        Ok(bytes)
    }
}

impl<S: Into<String>> From<S> for Ptx {
    fn from(src: S) -> Self {
        Self::from_src(src)
    }
}

/// Compiles CUDA C++ for the current device.
///
/// # Errors
/// [`CompileError::CompileError`] with the compiler's messages if the source is invalid;
/// [`CompileError::CreationError`] if HIPRTC is not available.
///
/// # Panics
/// If the source contains a null.
pub fn compile_ptx<S: AsRef<str>>(src: S) -> Result<Ptx, CompileError> {
    compile_ptx_with_opts(src, CompileOptions::default())
}

/// As [`compile_ptx`], with options.
///
/// # Errors
/// The errors of [`compile_ptx`].
///
/// # Panics
/// If the source or the name contains a null.
pub fn compile_ptx_with_opts<S: AsRef<str>>(src: S, opts: CompileOptions) -> Result<Ptx, CompileError> {
    let source = CString::new(src.as_ref()).expect("the source has a null");
    let name = opts.name.as_deref().map(|name| CString::new(name).expect("the name has a null"));
    let program = result::create_program(&source, name.as_deref()).map_err(CompileError::CreationError)?;
    let program = Program(program);
    let options = opts.build();
    // SAFETY: the program is alive.
    if let Err(nvrtc) = unsafe { result::compile_program(program.0, &options) } {
        // SAFETY: as above.
        let log = unsafe { result::get_program_log(program.0) }.map_err(CompileError::GetLogError)?;
        return Err(CompileError::CompileError { nvrtc, options, log: c_text(&log) });
    }
    // SAFETY: as above.
    let code = unsafe { result::get_ptx(program.0) }.map_err(CompileError::GetPtxError)?;
    Ok(Ptx(Kind::Image(code.iter().map(|byte| byte.to_ne_bytes()[0]).collect())))
}

/// Returns the text up to the first null.
fn c_text(bytes: &[c_char]) -> CString {
    let bytes: Vec<u8> = bytes.iter().map(|byte| byte.to_ne_bytes()[0]).collect();
    CStr::from_bytes_until_nul(&bytes).unwrap_or_default().to_owned()
}

/// A program that is destroyed when it is dropped.
struct Program(sys::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: this value owns the program. `drop` cannot return an error.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

/// The reason that a source was not compiled.
#[derive(Clone, PartialEq, Eq)]
pub enum CompileError {
    /// No program could be created: HIPRTC is not available.
    CreationError(NvrtcError),
    /// The compiler returned an error.
    CompileError {
        /// The status.
        nvrtc: NvrtcError,
        /// NVRTC's options.
        options: Vec<String>,
        /// The compiler's messages.
        log: CString,
    },
    /// The compiler returned an error, and its messages could not be read.
    GetLogError(NvrtcError),
    /// The code could not be read.
    GetPtxError(NvrtcError),
    /// The program could not be destroyed. cudarc has this; it is not returned here.
    DestroyError(NvrtcError),
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreationError(error) => match hiprtc_sys::load_error() {
                Some(library) => write!(f, "no compiler is available: {library}"),
                None => write!(f, "the program could not be created: {error}"),
            },
            Self::CompileError { nvrtc, options, log } => {
                write!(f, "{nvrtc} with options {options:?}:\n{}", log.to_string_lossy())
            }
            Self::GetLogError(error) => write!(f, "the compiler's messages could not be read: {error}"),
            Self::GetPtxError(error) => write!(f, "the code could not be read: {error}"),
            Self::DestroyError(error) => write!(f, "the program could not be destroyed: {error}"),
        }
    }
}

impl std::error::Error for CompileError {}

/// Options of a compilation; [`translate_options`](super::translate_options) documents their effect on AMD GPUs.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub struct CompileOptions {
    /// Flush denormal numbers to 0.
    pub ftz: Option<bool>,
    /// Exact square roots. Ignored: they are always exact.
    pub prec_sqrt: Option<bool>,
    /// Exact division. Ignored: it is always exact.
    pub prec_div: Option<bool>,
    /// Contract products and sums to fused multiply-adds.
    pub fmad: Option<bool>,
    /// More NVRTC options.
    pub options: Vec<String>,
    /// Fast and less exact math.
    pub use_fast_math: Option<bool>,
    /// Maximum number of registers per thread. Ignored: use `__launch_bounds__`.
    pub maxrregcount: Option<usize>,
    /// Include folders.
    pub include_paths: Vec<String>,
    /// The architecture. One of NVIDIA is ignored: the target is the current device.
    pub arch: Option<&'static str>,
    /// The name of the source in messages.
    pub name: Option<String>,
}

impl CompileOptions {
    /// Returns the options in NVRTC's form.
    #[must_use]
    pub fn build(self) -> Vec<String> {
        let flags =
            [("ftz", self.ftz), ("prec-sqrt", self.prec_sqrt), ("prec-div", self.prec_div), ("fmad", self.fmad)];
        let mut options: Vec<String> =
            flags.iter().filter_map(|(name, value)| Some(format!("--{name}={}", (*value)?))).collect();
        if self.use_fast_math == Some(true) {
            options.push("--use_fast_math".to_owned());
        }
        options.extend(self.maxrregcount.map(|count| format!("--maxrregcount={count}")));
        options.extend(self.include_paths.iter().map(|path| format!("--include-path={path}")));
        options.extend(self.arch.map(|arch| format!("--gpu-architecture={arch}")));
        options.extend(self.options);
        options
    }
}

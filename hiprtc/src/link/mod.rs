//! Linking at run time: bitcode and LLVM IR to a code object.

mod arch;
mod archive;
mod input;
mod kind;
mod reason;

use std::ffi::{CString, c_char, c_uint, c_void};
use std::fmt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use hip::{Arch, Device};
use hiprtc_sys::{HIPRTC_ERROR_LINKING, HIPRTC_SUCCESS, hiprtcLinkComplete, hiprtcLinkDestroy, hiprtcLinkState};
use rocm_loader::libraries;

use crate::available;
use crate::bitcode::Bitcode;
use crate::code::{Code, Origin};
use crate::error::{Error, LinkError, Result, c_string, ok};
use crate::options::Options;
use crate::raw;

use input::pieces;
pub use kind::LinkInput;

/// Size of each log in bytes.
const LOG: usize = 64 << 10;

/// Links bitcode and LLVM IR, with ROCm's device libraries, to a code object for a device (`hiprtcLinkState`).
///
/// ```no_run
/// use hiprtc::{LinkInput, Linker, Program};
///
/// let device = hip::Device::get(0)?;
/// let helper = Program::new("helper.hip", "__device__ int twice(int x) { return 2 * x; }");
/// let kernel = Program::new(
///     "kernel.hip",
///     r#"__device__ int twice(int x);
///        extern "C" __global__ void k(int *x) { x[threadIdx.x] = twice(x[threadIdx.x]); }"#,
/// );
/// let mut linker = Linker::new(&device)?;
/// linker.add_bitcode(&helper.compile_bitcode()?)?;
/// linker.add_bitcode(&kernel.compile_bitcode()?)?;
/// // SAFETY: the library is as clang wrote it.
/// unsafe { linker.add_file(LinkInput::BitcodeArchive, "library.a")? };
/// let module = linker.finish()?.load(&device)?;
/// # Ok::<(), hiprtc::Error>(())
/// ```
///
/// HIPRTC asks ROCm's HIP runtime for the device's architecture, so linking needs a device, and linking for `hip`'s
/// embedded runtime (feature `sim`) is not supported. [`hip::module::Linker`](hip::module) does the same with
/// `hipLink*`, from ROCm 6.4 on.
///
/// # Trust
/// LLVM's reader of bitcode expects files that a compiler wrote. Damaged or crafted ones crash it, or end the process.
/// So only an `unsafe` call lets it read bytes from elsewhere: [`add`](Self::add), [`add_file`](Self::add_file). LLVM
/// IR as text ([`add_ir`](Self::add_ir)) and bitcode that this process compiled ([`add_bitcode`](Self::add_bitcode))
/// are safe. Options can name further files, which are trusted like the rest. The module `comgr` of the crate
/// `rocm-llvm` has the same rule.
///
/// Text has one exception: LLVM converts metadata and intrinsics of older releases while it reads, and crashes if their
/// form is wrong. No compiler writes such text. `llvm::Context::parse_ir` of `rocm-llvm` tries text in a child process.
///
/// LLVM terminates the process if bitcode or IR is valid but cannot be translated for the device, such as a call of an
/// intrinsic of another processor. Link only the output of a compiler for AMD GPUs.
#[doc(alias("hiprtcLinkState", "nvJitLinkHandle"))]
#[must_use]
pub struct Linker {
    state: hiprtcLinkState,
    device: Device,
    arch: Arch,
    options: Kept,
    /// HIPRTC may read the added inputs until the end.
    inputs: Vec<(CString, Box<[u8]>)>,
    lowered: Vec<(String, String)>,
}

// SAFETY: the handle may be used by any one thread at a time: every call takes `&mut self` or `self`. The memory that its options point to
// belongs to this value.
unsafe impl Send for Linker {}

/// Memory that HIPRTC's linker points to as long as it exists.
struct Kept {
    given: Vec<String>,
    /// The strings behind `pointers`.
    arguments: Vec<CString>,
    pointers: Vec<*const c_char>,
    info: Vec<u8>,
    errors: Vec<u8>,
}

impl Linker {
    /// Creates a linker for a device.
    ///
    /// # Errors
    /// [`Error::NoHiprtc`] and [`Error::NoComgr`] if no compiler is available; [`Error::EmbeddedRuntime`] if the device
    /// is not one of ROCm's HIP runtime; [`Error::Hip`] if the device cannot be queried.
    #[doc(alias("hiprtcLinkCreate", "nvJitLinkCreate"))]
    pub fn new(device: &Device) -> Result<Self> {
        Self::with_options(device, &Options::new())
    }

    /// Creates a linker with options for the compilation from bitcode to machine code, such as [`Options::opt_level`]
    /// and [`Options::llvm`]. Options that concern only sources have no effect.
    ///
    /// HIPRTC 5.7 always optimises with `-O3`. The other options of `hiprtcLinkCreate`, such as
    /// `HIPRTC_JIT_MAX_REGISTERS`, are CUDA's; HIPRTC ignores them.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); [`Error::InvalidOption`] and [`Error::Nul`] for invalid options. An option that the
    /// compiler does not know is [`Error::Link`] in [`finish`](Self::finish).
    pub fn with_options(device: &Device, options: &Options) -> Result<Self> {
        options.check()?;
        available::hiprtc()?;
        if device.is_simulated() {
            return Err(Error::EmbeddedRuntime);
        }
        let arch = device.properties()?.arch.clone();
        if arch.is_nvidia() {
            return Err(Error::Unsupported {
                what: "linking for NVIDIA's GPUs",
                reason: "HIPRTC links bitcode for AMD's",
            });
        }
        let mut kept = Kept::new(options)?;
        let (mut names, mut values) = kept.raw();
        let count = names.len().try_into().unwrap_or(c_uint::MAX);
        let mut state: hiprtcLinkState = ptr::null_mut();
        // SAFETY: `state` is valid for a write. There are `count` options, each with a value of its kind: buffers with their sizes, and an
        // array of C strings with its length, all of which `kept` owns as long as the linker exists.
        let status = unsafe { raw::hiprtcLinkCreate(count, names.as_mut_ptr(), values.as_mut_ptr(), &mut state) };
        ok(status, "hiprtcLinkCreate", || format!("for {arch} with options {:?}", kept.given))?;
        Ok(Self { state, device: *device, arch, options: kept, inputs: Vec::new(), lowered: Vec::new() })
    }

    /// Returns the target architecture: the device's.
    pub fn arch(&self) -> &Arch {
        &self.arch
    }

    /// Adds bitcode that this crate compiled. The result contains the lowered names of its expressions.
    ///
    /// # Errors
    /// Those of [`add`](Self::add).
    pub fn add_bitcode(&mut self, bitcode: &Bitcode) -> Result<()> {
        self.add_pieces(LinkInput::Bitcode, bitcode.as_bytes(), bitcode.name())?;
        for (expression, name) in bitcode.lowered() {
            if !self.lowered.iter().any(|(known, _)| known == expression) {
                self.lowered.push((expression.clone(), name.clone()));
            }
        }
        Ok(())
    }

    /// Adds LLVM IR as text; `name` is for messages. It must be for the LLVM of the installed ROCm, or older.
    ///
    /// # Errors
    /// Those of [`add`](Self::add). If LLVM's parser rejects the text, [`finish`](Self::finish) returns
    /// [`Error::Link`].
    pub fn add_ir(&mut self, text: &str, name: &str) -> Result<()> {
        self.add_pieces(LinkInput::Ir, text.as_bytes(), name)
    }

    /// Adds an input; `name` is for messages. The bytes are copied.
    ///
    /// # Errors
    /// [`Error::LinkInput`] if the bytes are empty, truncated, of another kind, or compiled for another architecture;
    /// [`Error::Nul`] if the name contains a NUL.
    ///
    /// # Safety
    /// The bytes must not be damaged or crafted bitcode, or contain it. They must be the output of a compiler, whole or
    /// truncated, or another kind of file. LLVM's reader trusts the content, and can access memory outside the input,
    /// or end the process.
    #[doc(alias("hiprtcLinkAddData", "nvJitLinkAddData"))]
    pub unsafe fn add(&mut self, kind: LinkInput, bytes: &[u8], name: &str) -> Result<()> {
        self.add_pieces(kind, bytes, name)
    }

    /// Adds text, bitcode of this process, or bytes that the caller of an `unsafe` function guarantees.
    fn add_pieces(&mut self, kind: LinkInput, bytes: &[u8], name: &str) -> Result<()> {
        for piece in pieces(kind, bytes, name, &self.arch)? {
            let (size, c_name) = (piece.size(), c_string("the name of an input", &piece.name)?);
            self.inputs.push((c_name, piece.bytes));
            let Some((c_name, kept)) = self.inputs.last_mut() else { continue };
            // SAFETY: the linker is alive; there are `size` bytes, kept until the end, and only read; a C string; no options.
            let status = unsafe {
                raw::hiprtcLinkAddData(
                    self.state,
                    raw::INPUT_LLVM_BITCODE,
                    kept.as_mut_ptr().cast(),
                    size,
                    c_name.as_ptr(),
                    0,
                    ptr::null_mut(),
                    ptr::null_mut(),
                )
            };
            ok(status, "hiprtcLinkAddData", || format!("{kind:?} {:?} of {size} bytes", piece.name))?;
        }
        Ok(())
    }

    /// Adds a file: [`add`](Self::add) of its contents.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read; those of [`add`](Self::add).
    ///
    /// # Safety
    /// The contents of the file must meet the requirements of [`add`](Self::add).
    #[doc(alias("hiprtcLinkAddFile", "nvJitLinkAddFile"))]
    pub unsafe fn add_file(&mut self, kind: LinkInput, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let bytes =
            std::fs::read(path).map_err(|reason| Error::File { path: path.to_owned(), reason: Arc::new(reason) })?;
        self.add_pieces(kind, &bytes, &path.display().to_string())
    }

    /// Links, and returns the code object, with the linker's messages as its [log](Code::log).
    ///
    /// # Errors
    /// [`Error::Link`] with the linker's messages, for example if a function is missing or defined twice.
    /// [`Error::Empty`] if nothing was added.
    #[doc(alias("hiprtcLinkComplete", "nvJitLinkComplete"))]
    pub fn finish(mut self) -> Result<Code> {
        if self.inputs.is_empty() {
            return Err(Error::Empty { what: "the linker's input".to_owned() });
        }
        let (mut code, mut size) = (ptr::null_mut(), 0);
        let state = self.state;
        // HIPRTC links for the current device.
        // SAFETY: the linker is alive, and the pointers are valid for the results; its inputs and options are alive.
        let status = self.device.with_current(|| unsafe { hiprtcLinkComplete(state, &mut code, &mut size) })?;
        let log = [&self.options.info, &self.options.errors].map(|log| text(log));
        let mut log = log.into_iter().filter(|log| !log.is_empty()).collect::<Vec<_>>().join("\n");
        let names = || self.inputs.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        if status == HIPRTC_ERROR_LINKING {
            let (arch, options, hint) = (self.arch.clone(), self.options.given.clone(), hint());
            if let (true, None, Ok(Some(comgr))) = (log.is_empty(), &hint, available::hiprtc()) {
                let again = reason::of_failure(comgr, &self.inputs, &arch, &self.options.arguments);
                log = again.unwrap_or_default();
            }
            return Err(Error::Link(Box::new(LinkError { arch, inputs: names(), options, log, hint })));
        }
        ok(status, "hiprtcLinkComplete", || format!("{} inputs for {}", self.inputs.len(), self.arch))?;
        let bytes = if code.is_null() {
            &[][..]
        } else {
            // SAFETY: the library's bytes, which live as long as the linker.
            unsafe { std::slice::from_raw_parts(code.cast::<u8>(), size) }
        };
        if !bytes.starts_with(b"\x7fELF") {
            let name = format!("the link of {}", names().join(", "));
            return Err(Error::NotCode { name, options: self.options.given.clone(), size });
        }
        let bytes = bytes.to_vec().into();
        let lowered = std::mem::take(&mut self.lowered);
        let (origin, declarations) = (Origin::Compiled, Arc::default());
        Ok(Code { bytes, arch: self.arch.clone(), log, lowered, origin, declarations })
    }
}

impl Drop for Linker {
    #[doc(alias("hiprtcLinkDestroy", "nvJitLinkDestroy"))]
    fn drop(&mut self) {
        // SAFETY: alive, and destroyed once; the memory that it points to is freed after this. Nothing can handle its status here.
        let _: bool = unsafe { hiprtcLinkDestroy(self.state) } == HIPRTC_SUCCESS;
    }
}

impl fmt::Debug for Linker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.inputs.iter().map(|(name, _)| name).collect();
        f.debug_struct("Linker").field("arch", &self.arch.to_string()).field("inputs", &names).finish_non_exhaustive()
    }
}

impl Kept {
    fn new(options: &Options) -> Result<Self> {
        let given = options.as_slice().to_vec();
        let arguments = given.iter().map(|option| c_string("an option", option)).collect::<Result<Vec<_>>>()?;
        let pointers = arguments.iter().map(|argument| argument.as_ptr()).collect();
        Ok(Self { given, arguments, pointers, info: vec![0; LOG], errors: vec![0; LOG] })
    }

    /// Returns the options and values as C expects them: numbers are passed as pointers. A value of 0 would be
    /// rejected.
    fn raw(&mut self) -> (Vec<c_uint>, Vec<*mut c_void>) {
        let number = |number: usize| ptr::without_provenance_mut::<c_void>(number);
        // One byte less, so that the text is always terminated.
        let room = LOG - 1;
        let mut options = vec![
            (raw::INFO_LOG_BUFFER, self.info.as_mut_ptr().cast()),
            (raw::INFO_LOG_BUFFER_SIZE_BYTES, number(room)),
            (raw::ERROR_LOG_BUFFER, self.errors.as_mut_ptr().cast()),
            (raw::ERROR_LOG_BUFFER_SIZE_BYTES, number(room)),
            (raw::LOG_VERBOSE, number(1)),
        ];
        if !self.pointers.is_empty() {
            options.push((raw::IR_TO_ISA_OPT_EXT, self.pointers.as_mut_ptr().cast()));
            options.push((raw::IR_TO_ISA_OPT_COUNT_EXT, number(self.pointers.len())));
        }
        options.into_iter().unzip()
    }
}

/// Returns a reason why HIPRTC may be unable to link at all on this installation. To determine the device's
/// architecture, it opens the HIP runtime under the name that only development packages have, and fails without a
/// message if there is none.
fn hint() -> Option<String> {
    let name = libraries::AMDHIP64.unversioned();
    let opened = [hiprtc_sys::BINDING.opened(), hip::sys::BINDING.opened()];
    let folders: Vec<&Path> = opened.into_iter().flatten().filter_map(|library| library.path()?.parent()).collect();
    let is_there = folders.is_empty() || folders.iter().any(|folder| folder.join(name).exists());
    (cfg!(unix) && !is_there).then(|| {
        let folder = folders.first().map_or_else(String::new, |folder| folder.display().to_string());
        format!(
            "HIPRTC asks the library {name}, under this name, for the device, and {folder} has it with a number only: install \
             ROCm's development package, or make a link"
        )
    })
}

/// Returns the text in a log.
fn text(log: &[u8]) -> String {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

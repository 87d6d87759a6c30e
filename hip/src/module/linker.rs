//! Linking at run time: LLVM bitcode to a code object.

use std::ffi::{CString, c_void};
use std::fmt;
use std::path::Path;
use std::ptr;

use hip_sys::{hipJitInputType, hipLinkState_t};

use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later;

/// The kind of a linker input ([`Linker::add`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkInput {
    /// LLVM bitcode for one architecture: the output of HIPRTC with `-fgpu-rdc`.
    Bitcode,
    /// An offload bundle of bitcode.
    BitcodeBundle,
    /// An archive of bitcode bundles.
    BitcodeArchive,
    /// SPIR-V (from ROCm 7.0 on).
    SpirV,
}

impl LinkInput {
    fn raw(self) -> hipJitInputType {
        match self {
            Self::Bitcode => hip_sys::hipJitInputLLVMBitcode,
            Self::BitcodeBundle => hip_sys::hipJitInputLLVMBundledBitcode,
            Self::BitcodeArchive => hip_sys::hipJitInputLLVMArchivesOfBundledBitcode,
            Self::SpirV => hipJitInputType(103),
        }
    }
}

/// Links bitcode to a code object (`hipLinkState_t`), for the current architecture of a device.
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// let device = hip::Device::get(0)?;
/// let mut linker = hip::module::Linker::new(&device)?;
/// // SAFETY: both files are as clang wrote them.
/// unsafe {
///     linker.add(hip::module::LinkInput::Bitcode, &std::fs::read("kernels.bc").unwrap(), "kernels")?;
///     linker.add_file(hip::module::LinkInput::Bitcode, "library.bc")?;
/// }
/// let module = hip::Module::load(&device, &linker.finish()?)?;
/// # Ok(()) }
/// ```
#[doc(alias("hipLinkDestroy", "cuLinkDestroy"))]
pub struct Linker {
    raw: hipLinkState_t,
    device: Device,
    /// Inputs are kept, because the runtime may read them until linking ends.
    inputs: Vec<Box<[u8]>>,
}

// SAFETY: a handle that any thread may use, one at a time: every call takes `&mut self`.
unsafe impl Send for Linker {}

impl Linker {
    /// Creates a linker for a device's architecture (`hipLinkCreate`).
    #[doc(alias("hipLinkCreate", "cuLinkCreate"))]
    pub fn new(device: &Device) -> Result<Self> {
        device.activate()?;
        let mut raw: hipLinkState_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write; there are no options.
        let status = unsafe { hip_sys::hipLinkCreate(0, ptr::null_mut(), ptr::null_mut(), &mut raw) };
        check(status, "hipLinkCreate", || format!("for device {}", device.index()))?;
        Ok(Self { raw, device: *device, inputs: Vec::new() })
    }

    /// Adds an input (`hipLinkAddData`); `name` is for messages. The bytes are copied.
    ///
    /// # Errors
    /// [`Error::Image`] if the input is empty or does not start with the magic bytes of its kind.
    ///
    /// # Safety
    /// The bytes must be the output of a compiler: neither they nor bitcode or SPIR-V inside of them may be damaged or
    /// crafted. LLVM's reader trusts its input, and can access memory outside of it, or end the process.
    #[doc(alias("hipLinkAddData", "cuLinkAddData"))]
    pub unsafe fn add(&mut self, kind: LinkInput, bytes: &[u8], name: &str) -> Result<()> {
        expect_start(kind, bytes)?;
        let c_name = CString::new(name).unwrap_or_default();
        self.device.activate()?;
        self.inputs.push(bytes.into());
        let data = bytes.as_ptr().cast_mut().cast::<c_void>();
        let data = self.inputs.last().map_or(data, |kept| kept.as_ptr().cast_mut().cast());
        // SAFETY: the linker is alive; `data` has as many bytes, is kept until the end, and is only read; the caller ensures that
        // LLVM can read them; there are no options.
        let status = unsafe {
            hip_sys::hipLinkAddData(
                self.raw,
                kind.raw(),
                data,
                bytes.len(),
                c_name.as_ptr(),
                0,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        check(status, "hipLinkAddData", || format!("{kind:?} {name:?} of {} bytes", bytes.len()))
    }

    /// Adds the contents of a file, like [`add`](Self::add).
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read; those of [`add`](Self::add).
    ///
    /// # Safety
    /// That of [`add`](Self::add), for the contents of the file.
    #[doc(alias("hipLinkAddFile", "cuLinkAddFile"))]
    pub unsafe fn add_file(&mut self, kind: LinkInput, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let bytes = std::fs::read(path)
            .map_err(|reason| Error::File { path: path.to_owned(), reason: std::sync::Arc::new(reason) })?;
        // SAFETY: the caller ensures it of the file's contents.
        unsafe { self.add(kind, &bytes, &path.to_string_lossy()) }
    }

    /// Links, and returns the code object (`hipLinkComplete`), for [`Module::load`](crate::Module::load).
    ///
    /// # Errors
    /// The runtime's status if linking fails; the runtime writes the reason to its log (`AMD_LOG_LEVEL=1`).
    #[doc(alias("hipLinkComplete", "cuLinkComplete"))]
    pub fn finish(self) -> Result<Vec<u8>> {
        self.device.activate()?;
        let (mut binary, mut bytes) = (ptr::null_mut::<c_void>(), 0usize);
        // SAFETY: the linker is alive; `binary` and `bytes` are valid for a write.
        let status = unsafe { hip_sys::hipLinkComplete(self.raw, &mut binary, &mut bytes) };
        check(status, "hipLinkComplete", || format!("{} inputs", self.inputs.len()))?;
        if binary.is_null() {
            return Err(Error::Image { reason: "the linker gave nothing".to_owned() });
        }
        // SAFETY: the runtime's bytes, which live as long as the linker.
        Ok(unsafe { std::slice::from_raw_parts(binary.cast::<u8>(), bytes) }.to_vec())
    }
}

/// Checks the magic bytes: the runtime passes its input to LLVM, which may crash on other input.
fn expect_start(kind: LinkInput, bytes: &[u8]) -> Result<()> {
    let starts: &[&[u8]] = match kind {
        LinkInput::Bitcode => &[b"BC\xc0\xde", &[0xde, 0xc0, 0x17, 0x0b]],
        LinkInput::BitcodeBundle => &[b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"],
        LinkInput::BitcodeArchive => &[b"!<arch>\n"],
        LinkInput::SpirV => &[&[0x03, 0x02, 0x23, 0x07], b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"],
    };
    if starts.iter().any(|start| bytes.starts_with(start)) {
        return Ok(());
    }
    Err(Error::Image { reason: format!("{} bytes that do not begin as {kind:?} does", bytes.len()) })
}

impl Drop for Linker {
    fn drop(&mut self) {
        let (raw, inputs) = (self.raw.expose_provenance(), std::mem::take(&mut self.inputs));
        later::in_time(move || {
            // SAFETY: owned by this object, not destroyed yet, and this is the last reference.
            let _ = unsafe { hip_sys::hipLinkDestroy(ptr::with_exposed_provenance_mut(raw)) };
            drop(inputs);
        });
    }
}

impl fmt::Debug for Linker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Linker").field("device", &self.device.index()).field("inputs", &self.inputs.len()).finish()
    }
}

//! Disassembly of machine code.

use std::ffi::c_char;
use std::fmt;

use super::error::{Error, Result};
use super::processor::{Processor, TRIPLE};
use super::raw;

/// Decodes the machine code of one GPU.
///
/// ```
/// use rocm_llvm::llvm::{Disassembler, Object, Optimization, TargetMachine};
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let machine = TargetMachine::new("gfx90a", Optimization::Default)?;
/// let file = machine.assemble("f.s", "v_add_u32 v0, v0, v1\ns_endpgm\n")?;
/// let code = Object::parse(&file)?.section(".text").unwrap_or_default();
/// // SAFETY: LLVM has just assembled it.
/// let instructions = unsafe { Disassembler::new("gfx90a")?.instructions(code, 0) }?;
/// assert_eq!((instructions[1].address, instructions[1].text.as_str()), (4, "s_endpgm"));
/// # Ok(())
/// # }
/// ```
pub struct Disassembler {
    raw: raw::LLVMDisasmContextRef,
    gpu: String,
}

/// An instruction that a [`Disassembler`] decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Its address: the address given for the code, plus its offset in the code.
    pub address: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its text, such as `s_endpgm`.
    pub text: String,
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Disassembler {
    /// Creates a disassembler for a GPU, see [`TargetMachine::new`](super::TargetMachine::new).
    ///
    /// # Errors
    /// [`Error::UnknownGpu`]; [`Error::NoAmdgpu`].
    #[doc(alias = "LLVMCreateDisasmCPUFeatures")]
    pub fn new(gpu: &str) -> Result<Self> {
        let processor = Processor::new(gpu)?;
        let (cpu, features) = (processor.cpu.as_ptr(), processor.features.as_ptr());
        let nothing = std::ptr::null_mut();
        // SAFETY: the texts are C strings, which are copied, and there are no callbacks.
        let raw = unsafe { raw::LLVMCreateDisasmCPUFeatures(TRIPLE.as_ptr(), cpu, features, nothing, 0, None, None) };
        match raw.is_null() {
            true => Err(Error::invalid("disassembler", format!("LLVM made none for {gpu}"))),
            false => Ok(Self { raw, gpu: gpu.to_owned() }),
        }
    }

    /// Decodes `code`, which is at `address`. Branches show their distance in words of 4 bytes.
    ///
    /// # Errors
    /// [`Error::Disassemble`] at the first bytes that are not an instruction of this GPU.
    ///
    /// # Safety
    /// The bytes must be the output of a compiler: instructions of the architecture, constants and padding. LLVM
    /// accesses memory that is not its own for some words that are none of these, such as those of a damaged file.
    #[doc(alias = "LLVMDisasmInstruction")]
    pub unsafe fn instructions(&self, code: &[u8], address: u64) -> Result<Vec<Instruction>> {
        let mut all = Vec::new();
        let mut at = 0;
        while at < code.len() {
            let rest = &code[at..];
            let mut text = [0 as c_char; 1024];
            let here = address.wrapping_add(at as u64);
            // SAFETY: the disassembler is live, reads at most the remaining bytes, and writes at most the text with a NUL byte. It does not
            // write to the bytes, although the C declaration allows it.
            let size = unsafe {
                let bytes = rest.as_ptr().cast_mut();
                raw::LLVMDisasmInstruction(self.raw, bytes, rest.len() as u64, here, text.as_mut_ptr(), text.len())
            };
            if size == 0 || size > rest.len() {
                let bytes = rest[..rest.len().min(8)].to_vec();
                return Err(Error::Disassemble { gpu: self.gpu.clone(), at, bytes });
            }
            // SAFETY: the buffer was zero, and LLVM terminates its text with a NUL byte.
            let text = unsafe { std::ffi::CStr::from_ptr(text.as_ptr()) }.to_string_lossy();
            let text = text.trim().replace('\t', " ");
            all.push(Instruction { address: here, bytes: rest[..size].to_vec(), text });
            at += size;
        }
        Ok(all)
    }
}

impl fmt::Debug for Disassembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disassembler").field("gpu", &self.gpu).finish_non_exhaustive()
    }
}

impl Drop for Disassembler {
    #[doc(alias = "LLVMDisasmDispose")]
    fn drop(&mut self) {
        // SAFETY: it is not used afterwards.
        unsafe { raw::LLVMDisasmDispose(self.raw) };
    }
}

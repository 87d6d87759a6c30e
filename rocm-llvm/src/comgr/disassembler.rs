//! Disassembly of single instructions.

use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::marker::PhantomData;

use rocm_llvm_sys::comgr::{self as sys, amd_comgr_disassembly_info_t};

use crate::comgr::error::Result;
use crate::comgr::isa::Isa;
use crate::comgr::library::check;

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Instruction {
    /// Its address.
    pub address: u64,
    /// Its size in bytes.
    pub size: usize,
    /// Its text, such as `s_endpgm`; `None` for bytes that are not an instruction.
    pub text: Option<String>,
    /// The addresses that Comgr annotates the instruction with, such as the target of a branch.
    pub addresses: Vec<u64>,
}

/// Disassembles machine code instruction by instruction (`amd_comgr_disassembly_info_t`).
///
/// ```
/// use rocm_llvm::comgr::{self, Disassembler, Isa};
///
/// # if comgr::available().is_err() { return Ok(()) }
/// let disassembler = Disassembler::new(&Isa::new("gfx90a")?)?;
/// // s_mov_b32 s0, 0x12345678 and s_endpgm
/// let code = [0xff, 0x00, 0x80, 0xbe, 0x78, 0x56, 0x34, 0x12, 0x00, 0x00, 0x81, 0xbf];
/// // SAFETY: these are instructions of the architecture.
/// let instructions = unsafe { disassembler.instructions(0x1000, &code) }?;
/// assert_eq!(instructions[1].address, 0x1008);
/// assert_eq!(instructions[1].text.as_deref(), Some("s_endpgm"));
/// # Ok::<(), comgr::Error>(())
/// ```
#[doc(alias("amd_comgr_disassembly_info_t", "amd_comgr_destroy_disassembly_info"))]
pub struct Disassembler {
    raw: amd_comgr_disassembly_info_t,
    isa: Isa,
    /// Not `Send`, like Comgr's other objects.
    _thread: PhantomData<*mut ()>,
}

/// Number of bytes to skip if they are not an instruction.
const SMALLEST: usize = 4;

impl Disassembler {
    /// Creates a disassembler for an architecture (`amd_comgr_create_disassembly_info`).
    ///
    /// # Errors
    /// [`Error::Call`](crate::comgr::Error::Call) if Comgr cannot disassemble for it.
    #[doc(alias = "amd_comgr_create_disassembly_info")]
    pub fn new(isa: &Isa) -> Result<Self> {
        let mut raw = amd_comgr_disassembly_info_t::default();
        // SAFETY: a C string that names a known architecture, callbacks for a `Reader`, and a pointer that is valid for the write.
        let status = unsafe {
            sys::amd_comgr_create_disassembly_info(
                isa.c_name().as_ptr(),
                Some(read),
                Some(print),
                Some(annotate),
                &mut raw,
            )
        };
        check(status, "amd_comgr_create_disassembly_info", || isa.to_string())?;
        Ok(Self { raw, isa: isa.clone(), _thread: PhantomData })
    }

    /// Disassembles the first instruction of `code`, which is at `address` (`amd_comgr_disassemble_instruction`);
    /// `None` if `code` is empty. If the bytes are not an instruction, the [`text`](Instruction::text) is `None`, and
    /// the size is that of the smallest instruction, 4 bytes.
    ///
    /// # Errors
    /// [`Error::Call`](crate::comgr::Error::Call) if the function is missing.
    ///
    /// # Safety
    /// The bytes must be the output of a compiler: instructions of the architecture, constants and padding. LLVM
    /// accesses memory that is not its own for some words that are none of these, such as those of a damaged file.
    #[doc(alias = "amd_comgr_disassemble_instruction")]
    pub unsafe fn instruction(&self, address: u64, code: &[u8]) -> Result<Option<Instruction>> {
        if code.is_empty() {
            return Ok(None);
        }
        let mut reader = Reader { address, code, text: None, addresses: Vec::new() };
        let mut size = 0;
        // SAFETY: a live disassembler whose callbacks are for such a reader, which lives until the call returns.
        let status =
            unsafe { sys::amd_comgr_disassemble_instruction(self.raw, address, (&raw mut reader).cast(), &mut size) };
        let Reader { text, addresses, .. } = reader;
        let size = usize::try_from(size).unwrap_or(0);
        if status == sys::AMD_COMGR_STATUS_SUCCESS && text.is_some() && (1..=code.len()).contains(&size) {
            return Ok(Some(Instruction { address, size, text, addresses }));
        }
        if status != sys::AMD_COMGR_STATUS_SUCCESS && !sys::has(c"amd_comgr_disassemble_instruction") {
            check(status, "amd_comgr_disassemble_instruction", || format!("{:#x} for {}", address, self.isa))?;
        }
        Ok(Some(Instruction { address, size: SMALLEST.min(code.len()), text: None, addresses: Vec::new() }))
    }

    /// Disassembles all of `code`, which starts at `address`.
    ///
    /// # Errors
    /// Those of [`instruction`](Self::instruction).
    ///
    /// # Safety
    /// The same as for [`instruction`](Self::instruction).
    pub unsafe fn instructions(&self, address: u64, code: &[u8]) -> Result<Vec<Instruction>> {
        let (mut found, mut at) = (Vec::new(), 0);
        // SAFETY: the caller vouches for all of the code.
        while let Some(next) = unsafe { self.instruction(address.wrapping_add(at as u64), &code[at..]) }? {
            at += next.size;
            found.push(next);
        }
        Ok(found)
    }
}

impl Drop for Disassembler {
    fn drop(&mut self) {
        // SAFETY: a live disassembler, destroyed once.
        let _ = unsafe { sys::amd_comgr_destroy_disassembly_info(self.raw) };
    }
}

impl fmt::Debug for Disassembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disassembler").field("isa", &self.isa).finish_non_exhaustive()
    }
}

/// The data that the callbacks read and write.
struct Reader<'a> {
    address: u64,
    code: &'a [u8],
    text: Option<String>,
    addresses: Vec<u64>,
}

/// Copies `size` bytes from an address: the bytes of the code, and zeros after its end. Comgr of ROCm 7.2 crashes if it
/// gets a part of an instruction. `instruction` rejects one that extends past the end.
unsafe extern "C" fn read(from: u64, to: *mut c_char, size: u64, reader: *mut c_void) -> u64 {
    // SAFETY: Comgr passes on the pointer that `instruction` gave it.
    let reader = unsafe { &*reader.cast::<Reader<'_>>() };
    let offset = from.checked_sub(reader.address).and_then(|offset| usize::try_from(offset).ok());
    let rest = offset.and_then(|offset| reader.code.get(offset..)).unwrap_or_default();
    let count = rest.len().min(usize::try_from(size).unwrap_or(usize::MAX));
    // SAFETY: Comgr's buffer has room for `size` bytes.
    unsafe { to.write_bytes(0, usize::try_from(size).unwrap_or(count)) };
    // SAFETY: likewise; `count` is at most `size`.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(rest.as_ptr(), count) };
    size
}

unsafe extern "C" fn print(instruction: *const c_char, reader: *mut c_void) {
    // SAFETY: Comgr passes on the pointer that `instruction` gave it.
    let reader = unsafe { &mut *reader.cast::<Reader<'_>>() };
    // SAFETY: Comgr passes a C string.
    let text = unsafe { CStr::from_ptr(instruction) }.to_string_lossy();
    reader.text = Some(text.trim().replace('\t', " "));
}

unsafe extern "C" fn annotate(address: u64, reader: *mut c_void) {
    // SAFETY: Comgr passes on the pointer that `instruction` gave it.
    unsafe { &mut *reader.cast::<Reader<'_>>() }.addresses.push(address);
}

//! Disassembly of whole files.

use std::fmt;

use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionFlags, SymbolKind};

use crate::comgr::data::Data;
use crate::comgr::disassembler::{Disassembler, Instruction};
use crate::comgr::error::{Error, Result};
use crate::comgr::format;
use crate::comgr::isa::Isa;

/// SHF_EXECINSTR
const EXECUTABLE: u64 = 4;

/// The instructions of a code object or an object file. Printing it gives assembly with addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disassembly {
    /// The ISA name, such as `amdgcn-amd-amdhsa--gfx90a`.
    pub isa: String,
    /// The functions, section by section, in the order of their addresses.
    pub functions: Vec<Function>,
}

/// The instructions of a function or kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Function {
    /// Its section.
    pub section: String,
    /// Its name, mangled if the source's was; `None` for code without a symbol.
    pub name: Option<String>,
    /// The address of its first instruction; in an object file, the offset in the section.
    pub address: u64,
    /// Its instructions, without the padding after the last one.
    pub instructions: Vec<Instruction>,
}

/// Disassembles a code object or an object file.
///
/// ```
/// use rocm_llvm::comgr::{self, Options};
///
/// # fn main() -> rocm_llvm::comgr::Result<()> {
/// # if rocm_llvm::comgr::available().is_err() { return Ok(()) }
/// let ir = "target triple = \"amdgcn-amd-amdhsa\"\ndefine amdgpu_kernel void @k() {\n  ret void\n}\n";
/// let code = comgr::ir_to_code_object("k.ll", ir, "gfx90a", &Options::new())?.bytes;
/// // SAFETY: Comgr has just made it.
/// let disassembly = unsafe { comgr::disassemble(&code) }?;
/// println!("{disassembly}");
/// if let Some(kernel) = disassembly.function("k") {
///     println!("{} instructions at {:#x}", kernel.instructions.len(), kernel.address);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Input`] if it is neither, or truncated. [`Error::UnknownIsa`] if Comgr does not know its architecture.
///
/// # Safety
/// A compiler must have written the file, and it must not be damaged. LLVM accesses memory that is not its own for some
/// words that are not instructions.
#[doc(alias("amd_comgr_disassemble_instruction", "llvm-objdump"))]
pub unsafe fn disassemble(code: &[u8]) -> Result<Disassembly> {
    const WHAT: &str = "the code object";
    let kind = format::kind_of_elf(WHAT, code)?;
    let isa = Isa::new(&Data::new(kind, "code", code)?.isa_name()?)?;
    let disassembler = Disassembler::new(&isa)?;
    let bad = |error: object::Error| Error::input(WHAT, error.to_string());
    let file = object::File::parse(code).map_err(bad)?;
    let mut functions = Vec::new();
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        if sh_flags.0 & EXECUTABLE == 0 {
            continue;
        }
        let (start, bytes) = (section.address(), section.data().map_err(bad)?);
        let end = start.saturating_add(bytes.len() as u64);
        let of_section = file.symbols().chain(file.dynamic_symbols()).filter(|symbol| {
            symbol.section_index() == Some(section.index())
                && matches!(symbol.kind(), SymbolKind::Text)
                && (start..end).contains(&symbol.address())
        });
        let mut starts: Vec<(u64, u64, String)> = of_section
            .map(|symbol| (symbol.address(), symbol.size(), symbol.name().unwrap_or_default().to_owned()))
            .collect();
        starts.sort();
        starts.dedup_by_key(|(address, ..)| *address);
        let section = section.name().unwrap_or_default();
        let mut add = |name: Option<&str>, from: u64, to: u64| -> Result<()> {
            let place = |address: u64| usize::try_from(address - start).unwrap_or(usize::MAX);
            let part = bytes.get(place(from)..place(to)).unwrap_or_default();
            // Between functions, there is padding or code without a symbol.
            if part.is_empty() || name.is_none() && is_padding(part) {
                return Ok(());
            }
            // SAFETY: the caller vouches for the code.
            let instructions = unsafe { disassembler.instructions(from, part) }?;
            let name = name.map(str::to_owned);
            functions.push(Function { section: section.to_owned(), name, address: from, instructions });
            Ok(())
        };
        let mut at = start;
        for (index, (address, size, name)) in starts.iter().enumerate() {
            let next = starts.get(index + 1).map_or(end, |(next, ..)| *next);
            let to = if *size == 0 { next } else { address.saturating_add(*size).min(next) };
            add(None, at, *address)?;
            add(Some(name), *address, to)?;
            at = to;
        }
        add(None, at, end)?;
    }
    Ok(Disassembly { isa: isa.name().to_owned(), functions })
}

/// Returns whether the code consists of padding that assemblers write: `s_code_end`, `s_nop 0` and zero.
fn is_padding(code: &[u8]) -> bool {
    const PADDING: [u32; 3] = [0xbf9f_0000, 0xbf80_0000, 0];
    code.chunks(4).all(|word| word.try_into().is_ok_and(|word| PADDING.contains(&u32::from_le_bytes(word))))
}

impl Disassembly {
    /// Returns the function of this name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name.as_deref() == Some(name))
    }

    /// Returns the symbol and offset of an address: `<kernel+0x1c>`.
    fn place(&self, section: &str, address: u64) -> Option<String> {
        let holds = |function: &&Function| {
            let last = function.instructions.last().map_or(function.address, |last| last.address + last.size as u64);
            function.section == section && (function.address..=last).contains(&address)
        };
        let function = self.functions.iter().rev().find(holds)?;
        let (name, offset) = (function.name.as_deref()?, address - function.address);
        Some(if offset == 0 { format!("<{name}>") } else { format!("<{name}+{offset:#x}>") })
    }
}

/// Prints a line for each instruction, after its address, and a label for each function.
impl fmt::Display for Disassembly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "; {}", self.isa)?;
        let mut section = None;
        for function in &self.functions {
            if section != Some(&function.section) {
                writeln!(f, "\nsection {}:", function.section)?;
                section = Some(&function.section);
            }
            writeln!(f, "\n{:012x} <{}>:", function.address, function.name.as_deref().unwrap_or("no symbol"))?;
            for instruction in &function.instructions {
                write!(
                    f,
                    "{:12x}:  {}",
                    instruction.address,
                    instruction.text.as_deref().unwrap_or("(not an instruction)")
                )?;
                for target in &instruction.addresses {
                    match self.place(&function.section, *target) {
                        Some(place) => write!(f, "  // {place}")?,
                        None => write!(f, "  // {target:#x}")?,
                    }
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

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
    /// Its name, mangled if the source's was; `None` for code before the first symbol of a section.
    pub name: Option<String>,
    /// The address of its first instruction; in an object file, the offset in the section.
    pub address: u64,
    /// Its instructions. Padding after the last one, up to the next function, is part of them.
    pub instructions: Vec<Instruction>,
}

/// Disassembles a code object or an object file.
///
/// # Errors
/// [`Error::Input`] if it is neither, or truncated. [`Error::UnknownIsa`] if Comgr does not know its architecture.
#[doc(alias("amd_comgr_disassemble_instruction", "llvm-objdump"))]
pub fn disassemble(code: &[u8]) -> Result<Disassembly> {
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
        let mut starts: Vec<(u64, Option<String>)> =
            of_section.map(|symbol| (symbol.address(), symbol.name().ok().map(str::to_owned))).collect();
        starts.sort();
        starts.dedup_by_key(|(address, _)| *address);
        if starts.first().is_none_or(|(address, _)| *address > start) {
            starts.insert(0, (start, None));
        }
        let ends: Vec<u64> = starts.iter().skip(1).map(|(address, _)| *address).chain([end]).collect();
        for ((address, name), end) in starts.into_iter().zip(ends) {
            let place = |address: u64| usize::try_from(address - start).unwrap_or(usize::MAX);
            let part = bytes.get(place(address)..place(end)).unwrap_or_default();
            if part.is_empty() {
                continue;
            }
            let instructions = disassembler.instructions(address, part)?;
            functions.push(Function {
                section: section.name().unwrap_or_default().to_owned(),
                name,
                address,
                instructions,
            });
        }
    }
    Ok(Disassembly { isa: isa.name().to_owned(), functions })
}

impl Disassembly {
    /// Returns the function of this name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name.as_deref() == Some(name))
    }

    /// Where an address is: `<kernel+0x1c>`.
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

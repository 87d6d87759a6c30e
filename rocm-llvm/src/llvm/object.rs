//! The parts of an object file that a disassembler needs.

use std::ops::Range;

use super::error::{Error, Result};

/// An ELF file with code for AMD GPUs: an object or a code object. It reads sections and symbols; every offset in the
/// file is checked.
///
/// ```
/// use rocm_llvm::llvm::{Object, Optimization, TargetMachine};
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let machine = TargetMachine::new("gfx90a", Optimization::Default)?;
/// let text = ".type f,@function\nf:\n  s_nop 0\n  s_endpgm\n.size f, . - f\n";
/// let file = machine.assemble("f.s", text)?;
/// let object = Object::parse(&file)?;
/// let functions = object.functions()?;
/// assert!(object.is_relocatable());
/// assert_eq!((functions[0].name.as_str(), functions[0].bytes.len()), ("f", 8));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Object<'a> {
    file: &'a [u8],
    sections: Vec<Section>,
}

#[derive(Debug, Clone)]
struct Section {
    name: String,
    kind: u32,
    address: u64,
    link: usize,
    data: Range<usize>,
}

/// A function in an [`Object`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code<'a> {
    /// Its name.
    pub name: String,
    /// Its address: in a code object relative to its load address, in an object relative to its section.
    pub address: u64,
    /// Its machine code.
    pub bytes: &'a [u8],
}

const AMDGPU: u64 = 224;
const NO_BITS: u32 = 8;
const SYMBOLS: [u32; 2] = [2, 11];
const FUNCTION: u64 = 2;

fn bad(why: impl Into<String>) -> Error {
    Error::Object { why: why.into() }
}

impl<'a> Object<'a> {
    /// Reads an ELF file.
    ///
    /// # Errors
    /// [`Error::Object`] if it is not one, is for another machine, or is truncated.
    pub fn parse(file: &'a [u8]) -> Result<Self> {
        if !file.starts_with(b"\x7fELF\x02\x01") {
            return Err(bad("it does not start like an ELF file of 64 bits"));
        }
        let machine = number(file, 18, 2)?;
        if machine != AMDGPU {
            return Err(bad(format!("it is for machine {machine}; AMD GPUs are {AMDGPU}")));
        }
        let (table, size) = (number(file, 40, 8)?, number(file, 58, 2)?);
        let (count, names) = (number(file, 60, 2)?, number(file, 62, 2)?);
        let mut sections = Vec::new();
        let mut name_places = Vec::new();
        for at in 0..count {
            let place = |offset: u64| {
                let at = table.checked_add(at.checked_mul(size)?)?.checked_add(offset)?;
                usize::try_from(at).ok()
            };
            let read = |offset, width| number(file, place(offset).ok_or_else(|| bad("truncated"))?, width);
            let (start, length) = (read(24, 8)?, read(32, 8)?);
            let kind = read(4, 4)? as u32;
            let data = match kind {
                NO_BITS => 0..0,
                _ => range(file, start, length)?,
            };
            name_places.push(read(0, 4)?);
            sections.push(Section {
                name: String::new(),
                kind,
                address: read(16, 8)?,
                link: read(40, 4)? as usize,
                data,
            });
        }
        let names = sections.get(names as usize).map(|section: &Section| section.data.clone());
        if let Some(names) = names {
            for (section, at) in sections.iter_mut().zip(name_places) {
                section.name = text(&file[names.clone()], at);
            }
        }
        Ok(Self { file, sections })
    }

    /// Returns whether it is an object that can be linked, not a code object.
    pub fn is_relocatable(&self) -> bool {
        number(self.file, 16, 2).is_ok_and(|kind| kind == 1)
    }

    /// Returns the content of the section `name`, such as `.text`.
    pub fn section(&self, name: &str) -> Option<&'a [u8]> {
        self.sections.iter().find(|section| section.name == name).map(|section| &self.file[section.data.clone()])
    }

    /// Returns its functions, kernels included, by address.
    ///
    /// # Errors
    /// [`Error::Object`] if a symbol is outside of its section.
    pub fn functions(&self) -> Result<Vec<Code<'a>>> {
        let mut all: Vec<Code<'a>> = Vec::new();
        for kind in SYMBOLS {
            let mut tables = self.sections.iter().filter(|section| section.kind == kind);
            let Some(table) = tables.next() else { continue };
            if tables.next().is_some() {
                return Err(bad("it has two symbol tables of one kind"));
            }
            let names = self.sections.get(table.link).ok_or_else(|| bad("symbols without names"))?;
            let names = &self.file[names.data.clone()];
            for symbol in self.file[table.data.clone()].chunks_exact(24) {
                if number(symbol, 4, 1)? & 15 != FUNCTION {
                    continue;
                }
                let Some(section) = self.sections.get(number(symbol, 6, 2)? as usize) else { continue };
                let (address, size) = (number(symbol, 8, 8)?, number(symbol, 16, 8)?);
                let name = text(names, number(symbol, 0, 4)?);
                let start = address.checked_sub(section.address);
                let bytes = start.and_then(|start| range(&self.file[section.data.clone()], start, size).ok());
                let Some(bytes) = bytes else { return Err(bad(format!("{name} is outside of its section"))) };
                all.push(Code { name, address, bytes: &self.file[section.data.clone()][bytes] });
            }
        }
        // A code object has them in both symbol tables.
        let place = |code: &Code<'a>| (code.address, code.bytes.as_ptr().addr(), code.bytes.len());
        all.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.name.cmp(&b.name)));
        all.dedup_by(|a, b| place(a) == place(b) && a.name == b.name);
        Ok(all)
    }
}

/// Reads a number of `width` bytes.
fn number(file: &[u8], at: usize, width: usize) -> Result<u64> {
    let bytes = at.checked_add(width).and_then(|end| file.get(at..end)).ok_or_else(|| bad("truncated"))?;
    Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn range(file: &[u8], start: u64, length: u64) -> Result<Range<usize>> {
    let end = start.checked_add(length).filter(|&end| end <= file.len() as u64);
    // Both fit, since they are within the file.
    end.map(|end| start as usize..end as usize).ok_or_else(|| bad("truncated"))
}

fn text(names: &[u8], at: u64) -> String {
    let rest = usize::try_from(at).ok().and_then(|at| names.get(at..)).unwrap_or_default();
    let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
    String::from_utf8_lossy(&rest[..end]).into_owned()
}

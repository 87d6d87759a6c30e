//! `rocm-llvm disasm`.

use std::fmt::Write as _;
use std::path::PathBuf;

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, SectionIndex, SymbolKind};

use super::disassembler::Disassembler;
use super::file::{CodeObject, File};
use super::kernel::Code;
use super::lines::Lines;
use super::output::{Result, print};

/// Show the instructions of kernels, with source lines if the code has debug information (-g, or -gline-tables-only).
///
/// LLVM runs in a process of its own, which can end at code that no compiler wrote. That is an error then.
#[derive(Debug, clap::Args)]
pub(crate) struct Disasm {
    /// A code object, object file, offload bundle, host library or program
    pub(super) file: PathBuf,
    /// Only this kernel or function: its name, mangled or not
    kernel: Option<String>,
    /// Only code for this architecture: gfx90a, or gfx90a:xnack-
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    /// The LLVM to disassemble with: a libLLVM.so with the AMDGPU target
    #[arg(long, value_name = "PATH")]
    llvm: Option<PathBuf>,
    /// Show the bytes of each instruction
    #[arg(long)]
    bytes: bool,
}

/// Code with a name.
pub(super) struct Function<'a> {
    name: String,
    pub(super) address: u64,
    pub(super) bytes: &'a [u8],
}

/// Words that the assembler pads code with: `s_code_end` and zero.
const PADDING: [u32; 2] = [0xbf9f_0000, 0];

impl Disasm {
    pub(crate) fn run(&self) -> Result<()> {
        let file = File::read(&self.file)?;
        let (mut seen, mut shown, mut names) = (0, 0, Vec::new());
        file.for_each(|code| {
            if !code.is_for(self.arch.as_deref()) {
                return Ok(());
            }
            seen += 1;
            let functions = functions(code.bytes)?;
            let wanted: Vec<_> = functions.iter().filter(|function| self.wants(function)).collect();
            names.extend(functions.iter().map(|function| function.name.clone()));
            shown += wanted.len();
            if wanted.is_empty() { Ok(()) } else { self.show(code, &wanted) }
        })?;
        match (seen, shown, &self.kernel, &self.arch) {
            (0, _, _, Some(arch)) => Err(format!("{} has no code for {arch}", file.path)),
            (0, ..) => Err(format!("{} has no code for AMD GPUs", file.path)),
            (_, 0, Some(kernel), _) => {
                names.sort();
                names.dedup();
                let more = names.len().saturating_sub(20);
                names.truncate(20);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                Err(format!("{} has no function {kernel}: it has {}{more}", file.path, names.join(", ")))
            }
            (_, 0, None, _) => Err(format!("{} has no functions", file.path)),
            _ => Ok(()),
        }
    }

    fn wants(&self, function: &Function<'_>) -> bool {
        let Some(wanted) = self.kernel.as_deref() else { return true };
        if function.name == wanted {
            return true;
        }
        let demangled = addr2line::demangle_auto(function.name.as_str().into(), None);
        // The name with its parameters, or without.
        demangled == wanted || demangled.split('(').next() == Some(wanted)
    }

    fn show(&self, code: &CodeObject<'_>, functions: &[&Function<'_>]) -> Result<()> {
        let read = Code::read(code.bytes);
        let target = code.target().ok_or("the architecture of the code is not known")?;
        let wave64 = |function: &Function<'_>| {
            let kernels = read.as_ref().map_or(&[][..], |read| &read.kernels);
            // Functions that are not kernels run in waves of the kernels that call them.
            let of = kernels.iter().find(|kernel| kernel.name == function.name).or(kernels.first());
            of.is_some_and(|kernel| kernel.wavefront_size == 64)
        };
        let mut lines = Lines::of(code.bytes);
        let mut used: Option<(bool, Disassembler)> = None;
        for function in functions {
            let wave64 = wave64(function);
            let disassembler = match used.take() {
                Some((of, disassembler)) if of == wave64 => disassembler,
                before => {
                    let disassembler = Disassembler::new(&target, wave64, self.llvm.as_deref())?;
                    if before.is_none() {
                        print(&format!("; {target}, disassembled by {}\n", disassembler.name()))?;
                    }
                    disassembler
                }
            };
            // Printed first: it tells where LLVM has ended the process.
            print(&heading(function))?;
            print(&self.text(function, &disassembler, &mut lines)?)?;
            used = Some((wave64, disassembler));
        }
        Ok(())
    }

    fn text(&self, function: &Function<'_>, disassembler: &Disassembler, lines: &mut Lines<'_>) -> Result<String> {
        let mut text = String::new();
        let mut last = None;
        let mut rest = function.bytes;
        let mut address = function.address;
        while !rest.is_empty() {
            if rest.chunks(4).all(|word| word.try_into().is_ok_and(|word| PADDING.contains(&u32::from_le_bytes(word))))
            {
                break;
            }
            let place = lines.at(address);
            if place.is_some() && place != last {
                if let Some((file, line)) = &place {
                    let source = lines.text(file, *line).map(|source| format!("  {source}")).unwrap_or_default();
                    let _ = writeln!(text, "; {file}:{line}{source}");
                }
                last = place;
            }
            let found = disassembler.next(address, rest)?;
            let size = found.as_ref().map_or(4, |(size, _)| *size).clamp(1, rest.len());
            let (bytes, after) = rest.split_at(size);
            let _ = write!(text, "{address:12x}:  ");
            if self.bytes {
                let words: Vec<String> = bytes.chunks(4).map(word).collect();
                let _ = write!(text, "{:<27}", words.join(" "));
            }
            let instruction = found.map_or_else(|| format!(".long 0x{}", word(bytes).to_lowercase()), |(_, text)| text);
            text.push_str(&instruction);
            if let Some(target) = branch_target(&instruction, address) {
                let offset = target.wrapping_sub(function.address);
                if offset < function.bytes.len() as u64 {
                    let _ = write!(text, "  // {target:x} <{}+{offset:#x}>", function.name);
                }
            }
            text.push('\n');
            (rest, address) = (after, address.wrapping_add(size as u64));
        }
        Ok(text)
    }
}

/// Returns the lines before the function's instructions: its address and its name.
fn heading(function: &Function<'_>) -> String {
    let mut text = format!("\n{:012x} <{}>:\n", function.address, function.name);
    let demangled = addr2line::demangle_auto(function.name.as_str().into(), None);
    if demangled != function.name {
        let _ = writeln!(text, "; {demangled}");
    }
    text
}

/// Prints four bytes as a hexadecimal number.
fn word(bytes: &[u8]) -> String {
    bytes.iter().rev().map(|byte| format!("{byte:02X}")).collect()
}

/// Returns the target of a relative branch: a number of words after the next instruction.
fn branch_target(instruction: &str, address: u64) -> Option<u64> {
    let (name, operand) = instruction.split_once(' ')?;
    if name != "s_branch" && !name.starts_with("s_cbranch_") {
        return None;
    }
    let operand = operand.trim();
    let words: u16 = match operand.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16).ok()?,
        None => operand.parse().ok()?,
    };
    Some(address.wrapping_add(4).wrapping_add_signed(4 * i64::from(words as i16)))
}

/// Returns the functions of a code object or an object file, by section and address. Hand-written assembly may omit the
/// size of a function: the function then ends where the next one starts.
pub(super) fn functions(code: &[u8]) -> Result<Vec<Function<'_>>> {
    let damaged = |error: object::Error| format!("the code object is damaged: {error}");
    let file = ElfFile64::<LittleEndian>::parse(code).map_err(damaged)?;
    let mut functions = Vec::new();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let (SymbolKind::Text, Some(section)) = (symbol.kind(), symbol.section_index()) else { continue };
        let section = file.section_by_index(section).map_err(damaged)?;
        let data = section.data().map_err(damaged)?;
        let offset = symbol.address().checked_sub(section.address()).and_then(|at| usize::try_from(at).ok());
        let Some(rest) = offset.and_then(|offset| data.get(offset..)) else { continue };
        let name = symbol.name().map_err(damaged)?.to_owned();
        let function = Function { name, address: symbol.address(), bytes: rest };
        functions.push((section.index(), function, usize::try_from(symbol.size()).unwrap_or(usize::MAX)));
    }
    functions
        .sort_by(|(a, of_a, _), (b, of_b, _)| (a.0, of_a.address, &of_a.name).cmp(&(b.0, of_b.address, &of_b.name)));
    functions.dedup_by(|(a, of_a, _), (b, of_b, _)| a == b && of_a.address == of_b.address && of_a.name == of_b.name);
    let starts: Vec<_> = functions.iter().map(|(section, function, _)| (*section, function.address)).collect();
    let size_of = |section: SectionIndex, address: u64, size: usize| {
        let behind = starts.partition_point(|&(of, start)| (of.0, start) <= (section.0, address));
        match (size, starts.get(behind).filter(|(of, _)| *of == section)) {
            (0, Some((_, next))) => usize::try_from(next - address).unwrap_or(usize::MAX),
            (0, None) => usize::MAX,
            (size, _) => size,
        }
    };
    let functions = functions.into_iter().map(|(section, function, size)| {
        let size = size_of(section, function.address, size).min(function.bytes.len());
        Function { bytes: &function.bytes[..size], ..function }
    });
    Ok(functions.collect())
}

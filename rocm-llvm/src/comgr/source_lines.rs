//! Source lines of machine code.

use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::marker::PhantomData;

use rocm_llvm_sys::comgr::{self as sys, amd_comgr_symbolizer_info_t};
use rocm_loader::clang_log::without_directories;

use crate::comgr::data::Data;
use crate::comgr::error::{Error, Result};
use crate::comgr::format;
use crate::comgr::library::check;
use crate::comgr::symbols::SymbolKind;

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SourcePlace {
    /// The function, demangled.
    pub function: String,
    /// The file, as the compiler wrote it.
    pub file: String,
    /// The line, from 1; 0 if the debug information has none.
    pub line: u32,
    /// The column, from 1; 0 if the debug information has none.
    pub column: u32,
}

/// The source of a range of machine code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SourceLine {
    /// The address of the first instruction.
    pub address: u64,
    /// Size of the instructions with this source in bytes.
    pub size: u64,
    /// The place in the source; if functions were inlined, the innermost.
    pub place: SourcePlace,
}

/// Returns the source-line table of a code object that has debug information ([`Options::debug`]): its functions in the
/// order of their addresses, in ranges of instructions with the same source. Empty if there is no debug information.
///
/// ```
/// use rocm_llvm::comgr::{self, Options};
///
/// # fn main() -> rocm_llvm::comgr::Result<()> {
/// # if rocm_llvm::comgr::available().is_err() { return Ok(()) }
/// let source = "extern \"C\" __global__ void k(int *x) {\n    *x = 1;\n}";
/// let code = comgr::hip_to_code_object("k.hip", source, "gfx90a", &Options::new().debug())?.bytes;
/// for line in comgr::source_lines(&code)? {
///     println!("{line:?}");
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Input`] if it is not a code object, or truncated.
///
/// [`Options::debug`]: crate::comgr::Options::debug
#[doc(alias("amd_comgr_create_symbolizer_info", "amd_comgr_symbolize"))]
pub fn source_lines(code: &[u8]) -> Result<Vec<SourceLine>> {
    /// Alignment of instructions.
    const STEP: usize = 4;
    let data = Data::new(format::kind_of_elf("the code object", code)?, "code", code)?;
    let mut functions = data.symbols()?;
    functions.retain(|symbol| symbol.kind == SymbolKind::Function && !symbol.is_undefined);
    functions.sort_by_key(|symbol| symbol.value);
    functions.dedup_by_key(|symbol| symbol.value);
    let symbolizer = Symbolizer::new(&data)?;
    let mut lines: Vec<SourceLine> = Vec::new();
    for function in functions {
        // A damaged symbol may claim any size.
        if function.size > code.len() as u64 {
            return Err(Error::input("the code object", format!("{} has {} bytes", function.name, function.size)));
        }
        let end = function.value.saturating_add(function.size);
        for address in (function.value..end).step_by(STEP) {
            let size = (end - address).min(STEP as u64);
            let Some(place) = symbolizer.code(address)?.into_iter().next() else { continue };
            match lines.last_mut() {
                Some(last) if last.address + last.size == address && last.place == place => last.size += size,
                _ => lines.push(SourceLine { address, size, place }),
            }
        }
    }
    Ok(lines)
}

/// Finds the source of addresses in a code object (`amd_comgr_symbolizer_info_t`).
#[doc(alias("amd_comgr_symbolizer_info_t", "amd_comgr_destroy_symbolizer_info"))]
pub struct Symbolizer<'a> {
    raw: amd_comgr_symbolizer_info_t,
    /// Reads from the data object; not `Send`, like it.
    _data: PhantomData<&'a Data>,
}

impl<'a> Symbolizer<'a> {
    /// Creates a symbolizer for a code object (`amd_comgr_create_symbolizer_info`).
    ///
    /// # Errors
    /// [`Error::Call`] for other kinds of data.
    #[doc(alias = "amd_comgr_create_symbolizer_info")]
    pub fn new(code: &'a Data) -> Result<Self> {
        let mut raw = amd_comgr_symbolizer_info_t::default();
        // SAFETY: a live data object, a callback that expects a `Vec<u8>`, and a pointer that is valid for the write.
        let status = unsafe { sys::amd_comgr_create_symbolizer_info(code.raw(), Some(print), &mut raw) };
        check(status, "amd_comgr_create_symbolizer_info", || code.describe())?;
        Ok(Self { raw, _data: PhantomData })
    }

    /// Returns the source of the instruction at an address (`amd_comgr_symbolize`): the innermost inlined function
    /// first. Empty if there is no debug information for it.
    ///
    /// # Errors
    /// [`Error::Call`] if Comgr fails.
    #[doc(alias = "amd_comgr_symbolize")]
    pub fn code(&self, address: u64) -> Result<Vec<SourcePlace>> {
        let mut text: Vec<u8> = Vec::new();
        // SAFETY: a live symbolizer whose callback expects such a vector, which lives until the call returns.
        let status = unsafe { sys::amd_comgr_symbolize(self.raw, address, true, (&raw mut text).cast()) };
        check(status, "amd_comgr_symbolize", || format!("{address:#x}"))?;
        Ok(places(&String::from_utf8_lossy(&text)))
    }
}

impl Drop for Symbolizer<'_> {
    fn drop(&mut self) {
        // SAFETY: a live symbolizer, destroyed once.
        let _ = unsafe { sys::amd_comgr_destroy_symbolizer_info(self.raw) };
    }
}

impl fmt::Debug for Symbolizer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbolizer").finish_non_exhaustive()
    }
}

/// Adds text to a `Vec<u8>`.
unsafe extern "C" fn print(text: *const c_char, to: *mut c_void) {
    // SAFETY: Comgr passes on the pointer that `code` gave it.
    let to = unsafe { &mut *to.cast::<Vec<u8>>() };
    // SAFETY: Comgr passes a C string.
    to.extend_from_slice(unsafe { CStr::from_ptr(text) }.to_bytes());
}

/// Parses the output of LLVM's symbolizer: for each function `FUNCTION at FILE:LINE:COLUMN`, after ` (inlined by) ` for
/// all but the first; in older releases the function and the place on two lines.
fn places(text: &str) -> Vec<SourcePlace> {
    const UNKNOWN: &str = "??";
    let mut places = Vec::new();
    let mut lines = text.lines().filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        let line = line.strip_prefix(" (inlined by) ").unwrap_or(line);
        let (function, place) = match line.split_once(" at ") {
            Some(both) => both,
            None => (line, lines.next().unwrap_or_default()),
        };
        let mut parts = place.rsplitn(3, ':');
        let (column, line, file) = (parts.next(), parts.next(), parts.next());
        let (Some(Ok(column)), Some(Ok(line)), Some(file)) = (column.map(str::parse), line.map(str::parse), file)
        else {
            continue;
        };
        if !file.starts_with(UNKNOWN) {
            places.push(SourcePlace { function: function.to_owned(), file: without_directories(file), line, column });
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_symbolizers_text_is_read() {
        let found = places("scale(float)\n/src/a:b.hip:3:7\nkernel\n/src/a.hip:12:0\n\n");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].file.as_str(), found[0].line, found[0].column), ("/src/a:b.hip", 3, 7));
        assert_eq!((found[1].function.as_str(), found[1].line), ("kernel", 12));
        let pretty = places("get() at /tmp/comgr-1-2/include/a.h:2:3\n (inlined by) f(int) at /s/b.hip:9:1\n");
        assert_eq!(pretty[0].file, "a.h");
        assert_eq!((pretty[1].function.as_str(), pretty[1].file.as_str(), pretty[1].line), ("f(int)", "/s/b.hip", 9));
        assert!(places("?? at ??:0:0\n").is_empty());
        assert!(places("??\n??:0:0\n\n").is_empty());
        assert!(places("<invalid>").is_empty() && places("").is_empty());
    }
}

//! The compiler's diagnostics, and locations in sources.

use std::fmt;
use std::path::PathBuf;

use super::raw;

/// How serious a [`Diagnostic`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Switched off.
    Ignored,
    /// A note that belongs to the diagnostic before it.
    Note,
    /// A warning.
    Warning,
    /// An error.
    Error,
    /// An error after which the compiler gave up, such as a header that was not found.
    Fatal,
}

impl Severity {
    pub(super) fn from_raw(raw: u32) -> Self {
        match raw {
            0 => Self::Ignored,
            1 => Self::Note,
            2 => Self::Warning,
            3 => Self::Error,
            _ => Self::Fatal,
        }
    }
}

/// A message of the compiler.
///
/// ```
/// use rocm_llvm::clang::{Index, Severity, Source};
///
/// # fn main() -> Result<(), rocm_llvm::clang::Error> {
/// # if rocm_llvm::clang::Library::load().is_err() { return Ok(()) }
/// let index = Index::new()?;
/// let unit = index.parse(&Source::text("f.c", "int f(void) { return 1 }"))?;
/// let errors: Vec<_> = unit.diagnostics().into_iter().filter(|found| found.severity >= Severity::Error).collect();
/// println!("{}", errors[0]); // f.c:1:23: error: expected ';' after return statement
/// assert_eq!(errors[0].fixes[0].text, ";");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How serious it is.
    pub severity: Severity,
    /// The message alone.
    pub message: String,
    /// The location in the source, if it has one.
    pub location: Option<Location>,
    /// The complete text, as the compiler prints it: `a.h:2:10: error: ...`.
    pub text: String,
    /// What would repair it, by the compiler.
    pub fixes: Vec<FixIt>,
    /// The option that controls a warning, such as `-Wunused-variable`; empty for others.
    pub option: String,
    /// The category, such as `Semantic Issue`; empty for none.
    pub category: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A change of the source that the compiler proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixIt {
    /// What to replace; empty to insert.
    pub range: Range,
    /// The text to put there.
    pub text: String,
}

/// A part of a source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Range {
    /// Its first byte.
    pub start: Location,
    /// The byte after its last one.
    pub end: Location,
}

impl Range {
    /// Returns `None` for ranges that are in no file.
    ///
    /// # Safety
    /// `raw` must be a range in a live unit.
    pub(super) unsafe fn from_raw(raw: raw::CXSourceRange) -> Option<Self> {
        // SAFETY: by the contract.
        unsafe {
            let start = Location::from_raw(raw::clang_getRangeStart(raw))?;
            Some(Self { start, end: Location::from_raw(raw::clang_getRangeEnd(raw))? })
        }
    }
}

/// A location in a source. For the expansion of a macro, it is the location of the macro's use.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in bytes.
    pub column: u32,
    /// The number of bytes before it in the file.
    pub offset: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

impl Location {
    /// Returns `None` for locations that are in no file.
    ///
    /// # Safety
    /// `raw` must be a location in a live unit.
    #[doc(alias = "clang_getExpansionLocation")]
    pub(super) unsafe fn from_raw(raw: raw::CXSourceLocation) -> Option<Self> {
        let (mut file, mut line, mut column, mut offset) = (std::ptr::null_mut(), 0, 0, 0);
        // SAFETY: the location is live, and all pointers are valid for the writes.
        unsafe { raw::clang_getExpansionLocation(raw, &mut file, &mut line, &mut column, &mut offset) };
        if file.is_null() {
            return None;
        }
        // SAFETY: the file is live with its unit, and the text given away.
        let file = unsafe { raw::take(raw::clang_getFileName(file)) }?.into();
        Some(Self { file, line, column, offset })
    }
}

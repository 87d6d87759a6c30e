//! Sources, and the translation units that they are parsed to.

use std::ffi::{CString, c_int, c_uint};
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use super::diagnostic::{Diagnostic, FixIt, Location, Range, Severity};
use super::error::{Error, Result};
use super::library::Library;
use super::raw;

/// The input of [`Index::parse`]: a file or a string, with the compiler's arguments.
///
/// ```
/// use rocm_llvm::clang::Source;
/// let source = Source::text("kernel.h", "struct vec { float x, y; };").arguments(["-x", "c++", "-std=c++17"]);
/// ```
#[derive(Debug, Clone)]
pub struct Source {
    name: PathBuf,
    arguments: Vec<String>,
    texts: Vec<(PathBuf, String)>,
    options: c_uint,
}

impl Source {
    /// A file. Its extension determines the language, unless an argument such as `-x c++` does.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { name: path.into(), arguments: Vec::new(), texts: Vec::new(), options: 0 }
    }

    /// A string, which is treated as a file of this name.
    pub fn text(name: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        let name = name.into();
        Self::file(name.clone()).with_file(name, text)
    }

    /// Adds an argument of the compiler, such as `-std=c++17`, `-I/opt/rocm/include`, `-D__HIP_PLATFORM_AMD__`.
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments of the compiler.
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Adds a file that need not exist, such as a header that the source includes. Name both by absolute paths: a
    /// header is searched for in the source's folder and in the folders of `-I`.
    pub fn with_file(mut self, name: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        self.texts.push((name.into(), text.into()));
        self
    }

    /// Parses macros as cursors too: definitions, expansions, inclusions.
    pub fn with_macros(mut self) -> Self {
        self.options |= rocm_llvm_sys::clang::CXTranslationUnit_DetailedPreprocessingRecord.0;
        self
    }

    /// Skips the bodies of functions. Headers are then parsed faster.
    pub fn without_bodies(mut self) -> Self {
        self.options |= rocm_llvm_sys::clang::CXTranslationUnit_SkipFunctionBodies.0;
        self
    }
}

impl Source {
    /// Returns the source with all its errors reported, with bodies, and without what `with_macros` adds.
    pub(super) fn complete(&self) -> Self {
        let mut source = self.clone();
        source.options = rocm_llvm_sys::clang::CXTranslationUnit_KeepGoing.0;
        // Warnings may be errors by an argument before.
        source.arguments(["-ferror-limit=0", "-w"])
    }

    /// Returns the source with a file that it includes after its last line.
    pub(super) fn with_end(&self, name: &str, text: String) -> Result<Self> {
        let mut source = self.clone();
        let main = match source.texts.iter().position(|(path, _)| *path == source.name) {
            Some(at) => source.texts.remove(at).1,
            None => match std::fs::read(&source.name) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(error) => return Err(Error::File { path: source.name, message: error.to_string() }),
            },
        };
        let path = source.name.clone();
        // Two ends of lines: the source may end in a backslash.
        Ok(source.with_file(path, format!("{main}\n\n#include \"{name}\"\n")).with_file(name, text))
    }

    /// Returns the names of the texts.
    fn names(&self) -> Result<Vec<CString>> {
        self.texts.iter().map(|(path, _)| path_text("a file's name", path)).collect()
    }

    /// Returns the texts for libclang, which borrow the names and this source.
    fn files(&self, names: &[CString]) -> Vec<raw::CXUnsavedFile> {
        let file = |(name, (_, text)): (&CString, &(PathBuf, String))| raw::CXUnsavedFile {
            Filename: name.as_ptr(),
            Contents: text.as_ptr().cast(),
            Length: text.len() as _,
        };
        names.iter().zip(&self.texts).map(file).collect()
    }
}

/// A file that a source includes, see [`TranslationUnit::inclusions`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Included {
    /// The file.
    pub file: PathBuf,
    /// The places of the inclusions that lead to it, the innermost one first; empty for the source itself.
    pub stack: Vec<Location>,
}

/// Owns the translation units that are parsed with it.
pub struct Index {
    raw: raw::CXIndex,
}

impl Index {
    /// Creates an index. The first one of a process chooses the libclang, see [`Library`].
    ///
    /// # Errors
    /// Those of [`Library::load`].
    #[doc(alias = "clang_createIndex")]
    pub fn new() -> Result<Self> {
        Library::load()?;
        // SAFETY: it takes two flags: include all declarations, print nothing.
        Ok(Self { raw: unsafe { raw::clang_createIndex(0, 0) } })
    }

    /// Parses a source. A source with errors is parsed too, as far as possible:
    /// [`diagnostics`](TranslationUnit::diagnostics) lists them.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read; [`Error::Parse`] if libclang cannot parse it at all, for example
    /// because of an unknown argument; [`Error::Null`].
    #[doc(alias = "clang_parseTranslationUnit2")]
    pub fn parse(&self, source: &Source) -> Result<TranslationUnit<'_>> {
        let name = path_text("a source's name", &source.name)?;
        if !source.texts.iter().any(|(path, _)| *path == source.name) {
            std::fs::File::open(&source.name)
                .and_then(|file| file.metadata())
                .and_then(|metadata| match metadata.is_file() {
                    true => Ok(()),
                    false => Err(std::io::Error::other("not a file")),
                })
                .map_err(|error| Error::File { path: source.name.clone(), message: error.to_string() })?;
        }
        let text = |argument: &String| raw::c_text("an argument", argument);
        let arguments = source.arguments.iter().map(text).collect::<Result<Vec<_>>>()?;
        let pointers: Vec<_> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        let names = source.names()?;
        let mut files = source.files(&names);
        let mut unit = std::ptr::null_mut();
        let count = c_int::try_from(pointers.len()).unwrap_or(c_int::MAX);
        // SAFETY: the index is live, the strings outlive the call and are copied, and the counts are at most those of the arrays. The
        // pointer is valid for the write.
        let code = unsafe {
            raw::clang_parseTranslationUnit2(
                self.raw,
                name.as_ptr(),
                pointers.as_ptr(),
                count,
                files.as_mut_ptr(),
                files.len() as c_uint,
                source.options,
                &mut unit,
            )
        };
        let why = match code.0 {
            0 if !unit.is_null() => return Ok(TranslationUnit { raw: unit, _index: PhantomData }),
            2 => "libclang crashed",
            3 => "the arguments are invalid",
            4 => "the syntax tree in the file cannot be read",
            _ => "libclang refused the source or the arguments",
        };
        Err(Error::Parse { name: source.name.display().to_string(), arguments: source.arguments.clone(), why })
    }
}

/// Returns the change `at` of a diagnostic.
///
/// # Safety
/// The diagnostic must be live, and have that many.
#[doc(alias("clang_getDiagnosticNumFixIts", "clang_getDiagnosticFixIt"))]
unsafe fn fix(diagnostic: raw::CXDiagnostic, at: c_uint) -> Option<FixIt> {
    // SAFETY: by the contract; the range is written before it is read, and the text given away.
    unsafe {
        let mut range: raw::CXSourceRange = std::mem::zeroed();
        let text = raw::take(raw::clang_getDiagnosticFixIt(diagnostic, at, &mut range))?;
        Some(FixIt { range: Range::from_raw(range)?, text })
    }
}

pub(super) fn path_text(what: &'static str, path: &Path) -> Result<CString> {
    let bytes = path.as_os_str().as_encoded_bytes();
    CString::new(bytes).map_err(|error| Error::Null { what, at: error.nul_position() })
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").finish_non_exhaustive()
    }
}

impl Drop for Index {
    #[doc(alias = "clang_disposeIndex")]
    fn drop(&mut self) {
        // SAFETY: the units that borrowed it have been dropped or leaked.
        unsafe { raw::clang_disposeIndex(self.raw) };
    }
}

/// A source that was parsed. It borrows its [`Index`]; cursors and types borrow it.
pub struct TranslationUnit<'i> {
    pub(super) raw: raw::CXTranslationUnit,
    _index: PhantomData<&'i Index>,
}

impl Index {
    /// Loads a unit that [`TranslationUnit::save`] wrote.
    ///
    /// # Safety
    /// The file must be one that the libclang in use wrote: it does not check what it reads.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read; [`Error::Null`].
    #[doc(alias = "clang_createTranslationUnit2")]
    pub unsafe fn load(&self, path: impl AsRef<Path>) -> Result<TranslationUnit<'_>> {
        let name = path_text("a file's name", path.as_ref())?;
        let mut unit = std::ptr::null_mut();
        // SAFETY: the index is live, the name a C string, and the place valid for the write.
        let code = unsafe { raw::clang_createTranslationUnit2(self.raw, name.as_ptr(), &mut unit) };
        match code.0 == 0 && !unit.is_null() {
            true => Ok(TranslationUnit { raw: unit, _index: PhantomData }),
            false => {
                Err(Error::File { path: path.as_ref().to_owned(), message: format!("libclang's error {}", code.0) })
            }
        }
    }
}

impl TranslationUnit<'_> {
    /// Parses the source again, after files changed: faster than a new unit, with the arguments of the first time. The
    /// texts are those of `source`; the rest of it is not used. If it fails, the unit is gone.
    ///
    /// # Errors
    /// [`Error::Parse`]; [`Error::Null`].
    #[doc(alias = "clang_reparseTranslationUnit")]
    pub fn reparse(self, source: &Source) -> Result<Self> {
        let names = source.names()?;
        let mut files = source.files(&names);
        let count = files.len() as c_uint;
        // SAFETY: the unit is live and nothing borrows it; the texts outlive the call and are copied. There are no options.
        let code = unsafe { raw::clang_reparseTranslationUnit(self.raw, count, files.as_mut_ptr(), 0) };
        match code {
            0 => Ok(self),
            _ => Err(Error::Parse {
                name: source.name.display().to_string(),
                arguments: Vec::new(),
                why: "libclang could not parse it again",
            }),
        }
    }

    /// Writes the syntax tree to a file, for [`Index::load`].
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written, or the source has errors that prevent it; [`Error::Null`].
    #[doc(alias = "clang_saveTranslationUnit")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let name = path_text("a file's name", path.as_ref())?;
        // SAFETY: the unit is live, and the name a C string. There are no options.
        let why = match unsafe { raw::clang_saveTranslationUnit(self.raw, name.as_ptr(), 0) } {
            0 => return Ok(()),
            2 => "the source has errors",
            3 => "the unit is not valid",
            _ => "it cannot be written",
        };
        Err(Error::File { path: path.as_ref().to_owned(), message: why.to_owned() })
    }

    /// Returns the source and all files that it includes.
    #[doc(alias = "clang_getInclusions")]
    pub fn inclusions(&self) -> Vec<Included> {
        unsafe extern "C" fn push(
            file: raw::CXFile,
            stack: *mut raw::CXSourceLocation,
            length: c_uint,
            all: raw::CXClientData,
        ) {
            let stack = match length {
                0 => &[],
                // SAFETY: libclang passes an array of this length.
                _ => unsafe { std::slice::from_raw_parts(stack, length as usize) },
            };
            // SAFETY: called below with a vector; the file and the locations are live, and the text is given away.
            unsafe {
                let file = raw::take(raw::clang_getFileName(file)).unwrap_or_default().into();
                let stack = stack.iter().filter_map(|location| Location::from_raw(*location)).collect();
                (*all.cast::<Vec<Included>>()).push(Included { file, stack });
            }
        }
        let mut all: Vec<Included> = Vec::new();
        // SAFETY: the unit is live, and the visitor expects such a vector, which outlives the call.
        unsafe { raw::clang_getInclusions(self.raw, Some(push), (&raw mut all).cast()) };
        all
    }

    /// Returns the compiler's messages, in the order of the source.
    #[doc(alias = "clang_getNumDiagnostics")]
    #[doc(alias = "clang_getDiagnostic")]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        // SAFETY: the unit is live.
        let count = unsafe { raw::clang_getNumDiagnostics(self.raw) };
        (0..count).map(|at| self.diagnostic(at)).collect()
    }

    /// Returns whether the source has errors.
    pub fn has_errors(&self) -> bool {
        self.diagnostics().iter().any(|diagnostic| diagnostic.severity >= Severity::Error)
    }

    fn diagnostic(&self, at: c_uint) -> Diagnostic {
        // Shows the location, its column, and the option that controls a warning.
        const OPTIONS: c_uint = 0x01 | 0x02 | 0x08;
        // SAFETY: the unit is live, and the index is below the count; the strings are given away; the diagnostic is freed once, after its
        // last use.
        unsafe {
            let raw: raw::CXDiagnostic = raw::clang_getDiagnostic(self.raw, at);
            let diagnostic = Diagnostic {
                severity: Severity::from_raw(raw::clang_getDiagnosticSeverity(raw).0),
                message: raw::take(raw::clang_getDiagnosticSpelling(raw)).unwrap_or_default(),
                location: Location::from_raw(raw::clang_getDiagnosticLocation(raw)),
                text: raw::take(raw::clang_formatDiagnostic(raw, OPTIONS)).unwrap_or_default(),
                fixes: (0..raw::clang_getDiagnosticNumFixIts(raw)).filter_map(|at| fix(raw, at)).collect(),
                option: raw::take(raw::clang_getDiagnosticOption(raw, std::ptr::null_mut())).unwrap_or_default(),
                category: raw::take(raw::clang_getDiagnosticCategoryText(raw)).unwrap_or_default(),
            };
            raw::clang_disposeDiagnostic(raw);
            diagnostic
        }
    }
}

impl Drop for TranslationUnit<'_> {
    #[doc(alias = "clang_disposeTranslationUnit")]
    fn drop(&mut self) {
        // SAFETY: its index is live, and nothing borrows it.
        unsafe { raw::clang_disposeTranslationUnit(self.raw) };
    }
}

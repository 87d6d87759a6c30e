//! Compilation databases: `compile_commands.json`.

use std::path::{Path, PathBuf};

use super::error::{Error, Result};
use super::library::Library;
use super::raw;
use super::unit::path_text;

/// How a file of a project is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileCommand {
    /// The folder that relative paths start from.
    pub directory: PathBuf,
    /// The file.
    pub file: PathBuf,
    /// The compiler with all its arguments.
    pub arguments: Vec<String>,
}

/// The compile commands of a project, as CMake writes them to `compile_commands.json`.
///
/// ```no_run
/// use rocm_llvm::clang::{CompilationDatabase, Index, Source};
///
/// # fn main() -> Result<(), rocm_llvm::clang::Error> {
/// # if rocm_llvm::clang::Library::load().is_err() { return Ok(()) }
/// let index = Index::new()?;
/// for command in CompilationDatabase::read("build")?.all() {
///     let options = command.arguments.into_iter().filter(|option| option.starts_with("-I") || option.starts_with("-D"));
///     let unit = index.parse(&Source::file(command.directory.join(command.file)).arguments(options))?;
///     println!("{} messages", unit.diagnostics().len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CompilationDatabase {
    raw: raw::CXCompilationDatabase,
}

impl CompilationDatabase {
    /// Reads the database of a build folder.
    ///
    /// # Errors
    /// [`Error::File`] if there is none, or it cannot be read; those of [`Library::load`].
    #[doc(alias = "clang_CompilationDatabase_fromDirectory")]
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        Library::load()?;
        let path = folder.as_ref().join("compile_commands.json");
        let failed = |message: String| Error::File { path: path.clone(), message };
        // libclang prints a message about a file that is not there.
        std::fs::File::open(&path).map_err(|error| failed(error.to_string()))?;
        let text = path_text("a folder's name", folder.as_ref())?;
        let mut code = rocm_llvm_sys::clang::CXCompilationDatabase_Error(0);
        // SAFETY: the text is a C string, and the place valid for the write.
        let raw = unsafe { raw::clang_CompilationDatabase_fromDirectory(text.as_ptr(), &mut code) };
        match code.0 == 0 && !raw.is_null() {
            true => Ok(Self { raw }),
            false => Err(failed("not a compilation database".to_owned())),
        }
    }

    /// Returns all commands.
    #[doc(alias = "clang_CompilationDatabase_getAllCompileCommands")]
    pub fn all(&self) -> Vec<CompileCommand> {
        // SAFETY: the database is live, and the commands are given away.
        unsafe { take(raw::clang_CompilationDatabase_getAllCompileCommands(self.raw)) }
    }

    /// Returns the commands that compile a file, by its absolute path. For a file that is not in the database, they are
    /// those of a similar file.
    ///
    /// # Errors
    /// [`Error::Null`].
    #[doc(alias = "clang_CompilationDatabase_getCompileCommands")]
    pub fn commands(&self, file: impl AsRef<Path>) -> Result<Vec<CompileCommand>> {
        let text = path_text("a file's name", file.as_ref())?;
        // SAFETY: the database is live, the text a C string, and the commands are given away.
        Ok(unsafe { take(raw::clang_CompilationDatabase_getCompileCommands(self.raw, text.as_ptr())) })
    }
}

/// Copies commands, and frees them.
///
/// # Safety
/// `commands` must be null, or commands that libclang gave away.
unsafe fn take(commands: raw::CXCompileCommands) -> Vec<CompileCommand> {
    if commands.is_null() {
        return Vec::new();
    }
    // SAFETY: the commands are live until they are freed, the indices are below the counts, and the texts are given away.
    unsafe {
        let text = |text| raw::take(text).unwrap_or_default();
        let command = |at| {
            let command = raw::clang_CompileCommands_getCommand(commands, at);
            let arguments = 0..raw::clang_CompileCommand_getNumArgs(command);
            CompileCommand {
                directory: text(raw::clang_CompileCommand_getDirectory(command)).into(),
                file: text(raw::clang_CompileCommand_getFilename(command)).into(),
                arguments: arguments.map(|at| text(raw::clang_CompileCommand_getArg(command, at))).collect(),
            }
        };
        let all = (0..raw::clang_CompileCommands_getSize(commands)).map(command).collect();
        raw::clang_CompileCommands_dispose(commands);
        all
    }
}

impl Drop for CompilationDatabase {
    #[doc(alias = "clang_CompilationDatabase_dispose")]
    fn drop(&mut self) {
        // SAFETY: it is not used afterwards.
        unsafe { raw::clang_CompilationDatabase_dispose(self.raw) };
    }
}

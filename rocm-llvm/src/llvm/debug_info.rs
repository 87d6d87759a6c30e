//! Debug information: the source lines of instructions.

use std::ffi::c_uint;

use super::error::{Error, Mixed, Result};
use super::function::Function;
use super::module::Module;
use super::{later, raw};

/// The language of a source, for debuggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// C99.
    C,
    /// C++.
    Cpp,
    /// OpenCL.
    OpenCl,
    /// Python.
    Python,
}

/// Describes the source of a module: files, functions and lines.
///
/// It is finished when it is dropped. Before that, the module cannot be verified, optimised or compiled.
///
/// ```
/// use rocm_llvm::llvm::{Context, DebugInfo, Language};
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let context = Context::new()?;
/// let module = context.module("debug")?;
/// let kernel = module.add_kernel("nothing", &[])?;
/// {
///     let debug = DebugInfo::new(&module, "nothing.dsl", "/src", Language::C)?;
///     let place = debug.function(kernel, 3)?;
///     let builder = kernel.append_block("entry")?.builder();
///     builder.set_location(Some(place.location(4, 1)))?;
///     builder.ret(None)?;
/// }
/// module.verify()?;
/// assert!(module.to_string().contains("!DILocation(line: 4, column: 1"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DebugInfo<'m> {
    raw: raw::LLVMDIBuilderRef,
    pub(super) module: &'m Module<'m>,
    unit: raw::LLVMMetadataRef,
    pub(super) file: raw::LLVMMetadataRef,
}

/// A function in the source.
#[derive(Debug, Clone, Copy)]
pub struct FunctionScope<'m> {
    pub(super) raw: raw::LLVMMetadataRef,
    pub(super) module: &'m Module<'m>,
}

/// A line and column in the source, for [`Builder::set_location`](super::Builder::set_location).
#[derive(Debug, Clone, Copy)]
pub struct Location<'m> {
    raw: raw::LLVMMetadataRef,
    module: &'m Module<'m>,
}

impl<'m> DebugInfo<'m> {
    pub(super) fn raw(&self) -> raw::LLVMDIBuilderRef {
        self.raw
    }

    /// Starts the debug information of a module whose source is the file `file` in the folder `directory`.
    ///
    /// # Errors
    /// [`Error::Null`]; [`Error::MissingFunction`].
    #[doc(alias = "LLVMCreateDIBuilder")]
    #[doc(alias = "LLVMDIBuilderCreateFile")]
    #[doc(alias = "LLVMDIBuilderCreateCompileUnit")]
    pub fn new(module: &'m Module<'m>, file: &str, directory: &str, language: Language) -> Result<Self> {
        let create_unit = later::LLVMDIBuilderCreateCompileUnit()?;
        raw::c_text("a file's name", file)?;
        raw::c_text("a folder's name", directory)?;
        // SAFETY: the module is live, the texts valid for their lengths and copied.
        let (raw, source) = unsafe {
            let raw = raw::LLVMCreateDIBuilder(module.raw());
            let (name, folder) = (file.as_ptr().cast(), directory.as_ptr().cast());
            (raw, raw::LLVMDIBuilderCreateFile(raw, name, file.len(), folder, directory.len()))
        };
        module.unfinished.set(module.unfinished.get() + 1);
        // LLVM's numbers, which are not DWARF's.
        let language: c_uint = match language {
            Language::C => 11,
            Language::Cpp => 3,
            Language::OpenCl => 20,
            Language::Python => 19,
        };
        let (none, producer) = (c"".as_ptr(), "rocm-llvm");
        // SAFETY: the builder and the file are live, the texts valid for their lengths and copied. 1: full debug information.
        let unit = unsafe {
            create_unit(
                raw,
                language,
                source,
                producer.as_ptr().cast(),
                producer.len(),
                0,
                none,
                0,
                0,
                none,
                0,
                1,
                0,
                0,
                0,
                none,
                0,
                none,
                0,
            )
        };
        let debug = Self { raw, module, unit, file: source };
        // SAFETY: it takes no arguments.
        let version = unsafe { raw::LLVMDebugMetadataVersion() };
        for (name, value) in [("Debug Info Version", version), ("Dwarf Version", 5)] {
            // SAFETY: the module is live, and the text valid for its length.
            if unsafe { raw::LLVMGetModuleFlag(module.raw(), name.as_ptr().cast(), name.len()).is_null() } {
                module.add_flag(name, value)?;
            }
        }
        Ok(debug)
    }

    /// Declares that `function` starts at `line` of the source.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the function already has a line; [`Error::Mixed`] if it belongs to another module.
    #[doc(alias = "LLVMDIBuilderCreateFunction")]
    #[doc(alias = "LLVMDIBuilderCreateSubroutineType")]
    #[doc(alias = "LLVMSetSubprogram")]
    pub fn function(&self, function: Function<'m>, line: u32) -> Result<FunctionScope<'m>> {
        same_module("debug information", self.module, function.module())?;
        // SAFETY: the function is live with its module.
        if unsafe { !raw::LLVMGetSubprogram(function.raw()).is_null() } {
            return Err(Error::invalid("debug information", format!("{} has a place already", function.name())));
        }
        let name = function.name();
        let (text, length) = (name.as_ptr().cast(), name.len());
        let flags = rocm_llvm_sys::llvm::LLVMDIFlagPrototyped;
        let mut result = std::ptr::null_mut();
        // SAFETY: the builder and all metadata are live, the strings valid for their lengths and copied. A type list with one element,
        // null, is that of a function without a result.
        let raw = unsafe {
            let ty = raw::LLVMDIBuilderCreateSubroutineType(self.raw, self.file, &mut result, 1, flags);
            let raw = raw::LLVMDIBuilderCreateFunction(
                self.raw, self.unit, text, length, text, length, self.file, line, ty, 0, 1, line, flags, 0,
            );
            raw::LLVMSetSubprogram(function.raw(), raw);
            raw
        };
        Ok(FunctionScope { raw, module: self.module })
    }
}

pub(super) fn same_module(operation: &'static str, a: &Module<'_>, b: &Module<'_>) -> Result<()> {
    match a.raw() == b.raw() {
        true => Ok(()),
        false => Err(Error::Mixed { operation, other: Mixed::Module }),
    }
}

impl<'m> FunctionScope<'m> {
    pub(super) fn raw(self) -> raw::LLVMMetadataRef {
        self.raw
    }

    /// Returns a location in the function. Columns above 65535 become 0, which means no column.
    #[doc(alias = "LLVMDIBuilderCreateDebugLocation")]
    pub fn location(self, line: u32, column: u32) -> Location<'m> {
        let context = self.module.context().raw();
        let column = if column > 0xffff { 0 } else { column };
        // SAFETY: the context and the scope are live.
        let raw =
            unsafe { raw::LLVMDIBuilderCreateDebugLocation(context, line, column, self.raw, std::ptr::null_mut()) };
        Location { raw, module: self.module }
    }
}

impl<'m> Location<'m> {
    pub(super) fn raw(self) -> raw::LLVMMetadataRef {
        self.raw
    }

    pub(super) fn check_in(self, operation: &'static str, module: &Module<'_>) -> Result<raw::LLVMMetadataRef> {
        same_module(operation, self.module, module)?;
        Ok(self.raw)
    }
}

impl Drop for DebugInfo<'_> {
    #[doc(alias = "LLVMDIBuilderFinalize")]
    #[doc(alias = "LLVMDisposeDIBuilder")]
    fn drop(&mut self) {
        // SAFETY: the builder and its module are live, and the builder is not used afterwards.
        unsafe {
            raw::LLVMDIBuilderFinalize(self.raw);
            raw::LLVMDisposeDIBuilder(self.raw);
        }
        self.module.unfinished.set(self.module.unfinished.get() - 1);
    }
}

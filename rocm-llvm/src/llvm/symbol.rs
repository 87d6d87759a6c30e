//! What functions and global variables have in common: linkage, visibility, section.

use super::error::{Error, Result};
use super::function::{Function, Visibility};
use super::globals::Global;
use super::linkage::Linkage;
use super::raw;
use super::value::Value;

/// A function or a global variable as the linker sees it: see [`Function::symbol`] and [`Global::symbol`].
///
/// ```
/// use rocm_llvm::llvm::{AddressSpace, Context, Linkage, Visibility};
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let context = Context::new()?;
/// let module = context.module("m")?;
/// let symbol = module.add_global("table", context.i32(), AddressSpace::Global)?.symbol();
/// assert_eq!((symbol.linkage(), symbol.visibility()), (Linkage::External, Visibility::Default));
/// symbol.set_section(".tables")?;
/// assert_eq!(symbol.section().as_deref(), Some(".tables"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol<'m>(Value<'m>);

/// Whether the address of a symbol matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnnamedAddress {
    /// It does.
    No,
    /// Not within the module.
    Local,
    /// Nowhere: equal constants can be merged.
    Global,
}

impl<'m> Function<'m> {
    /// Returns its properties for the linker.
    pub fn symbol(self) -> Symbol<'m> {
        Symbol(self.value())
    }
}

impl<'m> Global<'m> {
    /// Returns its properties for the linker.
    pub fn symbol(self) -> Symbol<'m> {
        Symbol(self.value())
    }
}

impl<'m> Symbol<'m> {
    /// Returns its address as a value.
    pub fn value(self) -> Value<'m> {
        self.0
    }

    /// Renames it.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the module already has the name, it is reserved (`llvm.*`) or empty, or this is an
    /// intrinsic; [`Error::Null`].
    #[doc(alias = "LLVMSetValueName2")]
    pub fn set_name(self, name: &str) -> Result<()> {
        let operation = "set_name";
        let Some(module) = self.0.module().filter(|_| !self.0.name().starts_with("llvm.")) else {
            return Err(Error::invalid(operation, format!("{} is LLVM's", self.0.name())));
        };
        let text = module.free_name(operation, name)?;
        // SAFETY: the symbol is live, and the text copied.
        unsafe { raw::LLVMSetValueName2(self.0.raw(), text.as_ptr(), name.len()) };
        Ok(())
    }

    /// Returns its linkage.
    #[doc(alias = "LLVMGetLinkage")]
    pub fn linkage(self) -> Linkage {
        // SAFETY: the symbol is live.
        Linkage::from_raw(unsafe { raw::LLVMGetLinkage(self.0.raw()) })
    }

    /// Returns its visibility to the dynamic linker.
    #[doc(alias = "LLVMGetVisibility")]
    pub fn visibility(self) -> Visibility {
        // SAFETY: the symbol is live.
        match unsafe { raw::LLVMGetVisibility(self.0.raw()) }.0 {
            1 => Visibility::Hidden,
            2 => Visibility::Protected,
            _ => Visibility::Default,
        }
    }

    /// Returns the section that it is put into, if one is named.
    #[doc(alias = "LLVMGetSection")]
    pub fn section(self) -> Option<String> {
        // SAFETY: the symbol is live, and its section null or a C string.
        unsafe {
            let section = raw::LLVMGetSection(self.0.raw());
            let text = (!section.is_null()).then(|| std::ffi::CStr::from_ptr(section).to_string_lossy().into_owned());
            text.filter(|text| !text.is_empty())
        }
    }

    /// Puts it into a section; an empty name means the usual one.
    ///
    /// # Errors
    /// [`Error::Null`].
    #[doc(alias = "LLVMSetSection")]
    pub fn set_section(self, section: &str) -> Result<()> {
        let text = raw::c_text("a section's name", section)?;
        // SAFETY: the symbol is live, and the text copied.
        unsafe { raw::LLVMSetSection(self.0.raw(), text.as_ptr()) };
        Ok(())
    }

    /// Returns whether its address matters.
    #[doc(alias = "LLVMGetUnnamedAddress")]
    pub fn unnamed_address(self) -> UnnamedAddress {
        // SAFETY: the symbol is live.
        match unsafe { raw::LLVMGetUnnamedAddress(self.0.raw()) }.0 {
            1 => UnnamedAddress::Local,
            2 => UnnamedAddress::Global,
            _ => UnnamedAddress::No,
        }
    }

    /// Sets whether its address matters.
    #[doc(alias = "LLVMSetUnnamedAddress")]
    pub fn set_unnamed_address(self, unnamed: UnnamedAddress) {
        let number = rocm_llvm_sys::llvm::LLVMUnnamedAddr(unnamed as u32);
        // SAFETY: the symbol is live, and the number one of LLVM's.
        unsafe { raw::LLVMSetUnnamedAddress(self.0.raw(), number) };
    }

    /// Returns whether its definition is elsewhere.
    #[doc(alias = "LLVMIsDeclaration")]
    pub fn is_declaration(self) -> bool {
        // SAFETY: the symbol is live.
        unsafe { raw::LLVMIsDeclaration(self.0.raw()) != 0 }
    }
}

/// Where the copies of a thread-local variable are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThreadLocal {
    /// It is not thread-local.
    No,
    /// In any library.
    GeneralDynamic,
    /// In this library.
    LocalDynamic,
    /// In a library that is loaded with the program.
    InitialExec,
    /// In the program.
    LocalExec,
}

impl<'m> Global<'m> {
    /// Returns its initial value; `None` for a declaration.
    #[doc(alias = "LLVMGetInitializer")]
    pub fn initial_value(self) -> Option<Value<'m>> {
        // SAFETY: the variable is live with its module.
        let raw = unsafe { raw::LLVMGetInitializer(self.value().raw()) };
        let module = self.value().module().filter(|_| !raw.is_null())?;
        Some(super::instruction::wrap(raw, module))
    }

    /// Returns whether it never changes.
    #[doc(alias = "LLVMIsGlobalConstant")]
    pub fn is_constant(self) -> bool {
        // SAFETY: the variable is live with its module.
        unsafe { raw::LLVMIsGlobalConstant(self.value().raw()) != 0 }
    }

    /// Returns whether it gets its value from outside of the module before the program starts, as `__device__`
    /// variables that the host writes.
    #[doc(alias = "LLVMIsExternallyInitialized")]
    pub fn is_externally_initialized(self) -> bool {
        // SAFETY: the variable is live with its module.
        unsafe { raw::LLVMIsExternallyInitialized(self.value().raw()) != 0 }
    }

    /// Sets whether it gets its value from outside of the module.
    #[doc(alias = "LLVMSetExternallyInitialized")]
    pub fn set_externally_initialized(self, external: bool) {
        // SAFETY: the variable is live with its module.
        unsafe { raw::LLVMSetExternallyInitialized(self.value().raw(), raw::flag(external)) };
    }

    /// Returns whether each thread has a copy, and how it is found.
    #[doc(alias = "LLVMGetThreadLocalMode")]
    pub fn thread_local(self) -> ThreadLocal {
        // SAFETY: the variable is live with its module.
        match unsafe { raw::LLVMGetThreadLocalMode(self.value().raw()) }.0 {
            1 => ThreadLocal::GeneralDynamic,
            2 => ThreadLocal::LocalDynamic,
            3 => ThreadLocal::InitialExec,
            4 => ThreadLocal::LocalExec,
            _ => ThreadLocal::No,
        }
    }

    /// Sets whether each thread has a copy. Code for GPUs does not support it.
    #[doc(alias = "LLVMSetThreadLocalMode")]
    pub fn set_thread_local(self, mode: ThreadLocal) {
        let number = rocm_llvm_sys::llvm::LLVMThreadLocalMode(mode as u32);
        // SAFETY: the variable is live with its module, and the number one of LLVM's.
        unsafe { raw::LLVMSetThreadLocalMode(self.value().raw(), number) };
    }
}

//! Flags of modules.

use super::error::{Error, Result};
use super::metadata::Metadata;
use super::module::Module;
use super::raw;

/// A flag of a module, see [`Module::flags`].
///
/// ```
/// use rocm_llvm::llvm::Context;
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let context = Context::new()?;
/// let module = context.module("example")?;
/// module.add_flag("amdhsa_code_object_version", 500)?;
/// let flags = module.flags()?;
/// assert_eq!(flags[0].name, "amdhsa_code_object_version");
/// assert_eq!(flags[0].value.as_constant().and_then(|value| value.as_int()), Some(500));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFlag<'m> {
    /// The result of linking modules with this flag.
    pub behavior: FlagBehavior,
    /// The flag's name, such as `PIC Level`.
    pub name: String,
    /// The value, most often a constant integer.
    pub value: Metadata<'m>,
}

impl<'m> ModuleFlag<'m> {
    fn of(node: Metadata<'m>) -> Option<Self> {
        let [Some(behavior), Some(name), Some(value)] = node.operands()[..] else { return None };
        let behavior = u32::try_from(behavior.as_constant()?.as_uint()?).ok()?;
        Some(Self { behavior: FlagBehavior::from_number(behavior), name: name.as_text()?, value })
    }
}

/// The result of linking two modules that have a flag with different values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlagBehavior {
    /// An error.
    Error,
    /// A warning, and the value of the first module.
    Warning,
    /// An error unless the linked module has the flag that the value names.
    Require,
    /// This module's value.
    Override,
    /// A node with the operands of both.
    Append,
    /// A node with the operands of both, each once.
    AppendUnique,
    /// The larger number.
    Max,
    /// The smaller number.
    Min,
    /// Unknown to this crate, by LLVM's number.
    Other(u32),
}

impl FlagBehavior {
    fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Error,
            2 => Self::Warning,
            3 => Self::Require,
            4 => Self::Override,
            5 => Self::Append,
            6 => Self::AppendUnique,
            7 => Self::Max,
            8 => Self::Min,
            other => Self::Other(other),
        }
    }
}

impl Module<'_> {
    /// Returns the module's flags, in its order.
    ///
    /// # Errors
    /// [`Error::Invalid`] while debug information of the module is not finished.
    pub fn flags(&self) -> Result<Vec<ModuleFlag<'_>>> {
        // LLVMCopyModuleFlagsMetadata has undefined behaviour for the behaviours Max and Min.
        Ok(self.named_metadata("llvm.module.flags")?.into_iter().filter_map(ModuleFlag::of).collect())
    }

    /// Adds a flag, such as `amdhsa_code_object_version` with the value 500. Modules with different values for it
    /// cannot be linked.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the module has the flag already.
    #[doc(alias = "LLVMAddModuleFlag")]
    #[doc(alias = "LLVMGetModuleFlag")]
    pub fn add_flag(&self, name: &str, value: u32) -> Result<()> {
        // SAFETY: the module is live, and the text valid for its length.
        if name.is_empty() || unsafe { !raw::LLVMGetModuleFlag(self.raw(), name.as_ptr().cast(), name.len()).is_null() }
        {
            return Err(Error::invalid(
                "add_flag",
                format!("the module has the flag `{name}` already, or it is empty"),
            ));
        }
        let value = self.context().i32().const_int(value.into())?.to_metadata()?;
        let error = rocm_llvm_sys::llvm::LLVMModuleFlagBehaviorError;
        // SAFETY: the module and the value are live, of one context; the text is valid for its length and copied.
        unsafe { raw::LLVMAddModuleFlag(self.raw(), error, name.as_ptr().cast(), name.len(), value.raw()) };
        Ok(())
    }
}

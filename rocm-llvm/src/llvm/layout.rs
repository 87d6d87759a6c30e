//! Sizes and offsets of types in memory.

use super::error::{Error, Result};
use super::module::Module;
use super::raw;
use super::types::Type;

/// The size of a type in memory, see [`Module::layout_of`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Layout {
    /// The bytes from one element of an array to the next.
    pub size: u64,
    /// The bytes that a store writes.
    pub stored: u64,
    /// The bits of a value.
    pub bits: u64,
    /// The alignment in bytes.
    pub alignment: u32,
    /// The alignment that LLVM prefers, in bytes.
    pub preferred_alignment: u32,
}

impl<'c> Module<'c> {
    fn checked(&self, operation: &'static str, ty: Type<'c>) -> Result<()> {
        self.context().same(operation, ty.context())?;
        ty.check_element(operation)
    }

    /// Returns the size and alignment of a type, in the layout of this module:
    /// [`TargetMachine::prepare`](super::TargetMachine::prepare) sets that of a target.
    ///
    /// ```
    /// use rocm_llvm::llvm::Context;
    ///
    /// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
    /// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
    /// let context = Context::new()?;
    /// let module = context.module("m")?;
    /// let pair = context.structure(&[context.i8(), context.i32()], false)?;
    /// let layout = module.layout_of(pair)?;
    /// assert_eq!((layout.size, layout.alignment), (8, 4));
    /// assert_eq!((module.offset_of(pair, 1)?, module.field_at(pair, 5)?), (4, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Type`] if the type has no size; [`Error::Mixed`].
    #[doc(alias("LLVMABISizeOfType", "LLVMStoreSizeOfType", "LLVMSizeOfTypeInBits"))]
    #[doc(alias("LLVMABIAlignmentOfType", "LLVMPreferredAlignmentOfType", "LLVMGetModuleDataLayout"))]
    pub fn layout_of(&self, ty: Type<'c>) -> Result<Layout> {
        self.checked("layout_of", ty)?;
        // SAFETY: the module and the type are live, of one context, and the type has a size.
        unsafe {
            let data = raw::LLVMGetModuleDataLayout(self.raw());
            Ok(Layout {
                size: raw::LLVMABISizeOfType(data, ty.raw()),
                stored: raw::LLVMStoreSizeOfType(data, ty.raw()),
                bits: raw::LLVMSizeOfTypeInBits(data, ty.raw()),
                alignment: raw::LLVMABIAlignmentOfType(data, ty.raw()),
                preferred_alignment: raw::LLVMPreferredAlignmentOfType(data, ty.raw()),
            })
        }
    }

    /// Returns the distance of a field from the start of a structure, in bytes.
    ///
    /// # Errors
    /// [`Error::Type`] if it is not a structure with a size; [`Error::Invalid`] if it has no such field;
    /// [`Error::Mixed`].
    #[doc(alias = "LLVMOffsetOfElement")]
    pub fn offset_of(&self, structure: Type<'c>, field: u32) -> Result<u64> {
        let operation = "offset_of";
        self.checked(operation, structure)?;
        let Some(fields) = structure.fields() else { return Err(Error::of_type(operation, "a structure", structure)) };
        if field as usize >= fields.len() {
            return Err(Error::invalid(operation, format!("{structure} has no field {field}")));
        }
        // SAFETY: the module and the structure are live, and it has the field.
        Ok(unsafe { raw::LLVMOffsetOfElement(raw::LLVMGetModuleDataLayout(self.raw()), structure.raw(), field) })
    }

    /// Returns the number of the field that has the byte at `offset` of a structure, or precedes it.
    ///
    /// # Errors
    /// [`Error::Type`] if it is not a structure with a size; [`Error::Invalid`] if it is not that large;
    /// [`Error::Mixed`].
    #[doc(alias = "LLVMElementAtOffset")]
    pub fn field_at(&self, structure: Type<'c>, offset: u64) -> Result<u32> {
        let operation = "field_at";
        if structure.fields().is_none() {
            return Err(Error::of_type(operation, "a structure", structure));
        }
        if offset >= self.layout_of(structure)?.size {
            return Err(Error::invalid(operation, format!("{structure} has no byte {offset}")));
        }
        // SAFETY: the module and the structure are live, and it has the byte.
        Ok(unsafe { raw::LLVMElementAtOffset(raw::LLVMGetModuleDataLayout(self.raw()), structure.raw(), offset) })
    }

    /// Returns the bytes of a pointer into the address space of this number.
    #[doc(alias = "LLVMPointerSizeForAS")]
    pub fn pointer_size(&self, space: u32) -> u32 {
        // SAFETY: the module is live.
        unsafe { raw::LLVMPointerSizeForAS(raw::LLVMGetModuleDataLayout(self.raw()), space) }
    }

    /// Returns the name of the source that it was compiled from.
    #[doc(alias = "LLVMGetSourceFileName")]
    pub fn source_name(&self) -> String {
        let mut length = 0;
        // SAFETY: the module is live, the pointer valid for the write, and the string has the returned length.
        unsafe {
            let text = raw::LLVMGetSourceFileName(self.raw(), &mut length);
            raw::copy_text(text, length)
        }
    }

    /// Sets the name of the source that it was compiled from.
    #[doc(alias = "LLVMSetSourceFileName")]
    pub fn set_source_name(&self, name: &str) {
        // SAFETY: the module is live, and the text valid for its length and copied.
        unsafe { raw::LLVMSetSourceFileName(self.raw(), name.as_ptr().cast(), name.len()) };
    }

    /// Returns the assembly that becomes part of the module's code.
    #[doc(alias = "LLVMGetModuleInlineAsm")]
    pub fn inline_assembly(&self) -> String {
        let mut length = 0;
        // SAFETY: as in `source_name`.
        unsafe {
            let text = raw::LLVMGetModuleInlineAsm(self.raw(), &mut length);
            raw::copy_text(text, length)
        }
    }

    /// Appends assembly to that of the module.
    #[doc(alias = "LLVMAppendModuleInlineAsm")]
    pub fn append_inline_assembly(&self, text: &str) {
        // SAFETY: the module is live, and the text valid for its length and copied.
        unsafe { raw::LLVMAppendModuleInlineAsm(self.raw(), text.as_ptr().cast(), text.len()) };
    }
}

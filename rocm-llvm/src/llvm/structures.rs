//! Named structures.

use super::context::Context;
use super::error::{Error, Result};
use super::extent::Extent;
use super::raw;
use super::types::{Type, TypeKind, count};
use super::value::{Value, constants};

impl Context {
    /// Creates a structure with a name and no body yet: an opaque one. LLVM adds a number if the context has the name
    /// already.
    ///
    /// ```
    /// use rocm_llvm::llvm::{AddressSpace, Context};
    ///
    /// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
    /// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
    /// let context = Context::new()?;
    /// let list = context.named_structure("list")?;
    /// assert!(list.is_opaque() && !list.is_sized());
    /// list.set_body(&[context.i32(), context.pointer(AddressSpace::Generic)], false)?;
    /// assert_eq!(list.fields().map(|fields| fields.len()), Some(2));
    /// assert_eq!(context.structure_of_name("list")?, Some(list));
    /// assert!(list.set_body(&[], false).is_err()); // it has one
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the name is empty; [`Error::Null`].
    #[doc(alias = "LLVMStructCreateNamed")]
    pub fn named_structure(&self, name: &str) -> Result<Type<'_>> {
        let text = raw::c_text("a structure's name", name)?;
        if name.is_empty() {
            return Err(Error::invalid("named_structure", "the name is empty"));
        }
        // SAFETY: the context is live, and the name copied.
        Ok(Type::from_raw(unsafe { raw::LLVMStructCreateNamed(self.raw(), text.as_ptr()) }, self))
    }

    /// Returns the structure of this name, if the context has it.
    ///
    /// # Errors
    /// [`Error::Null`].
    #[doc(alias = "LLVMGetTypeByName2")]
    pub fn structure_of_name(&self, name: &str) -> Result<Option<Type<'_>>> {
        let text = raw::c_text("a structure's name", name)?;
        // SAFETY: the context is live, and the name a C string.
        let raw = unsafe { raw::LLVMGetTypeByName2(self.raw(), text.as_ptr()) };
        Ok((!raw.is_null()).then(|| Type::from_raw(raw, self)))
    }
}

impl<'c> Type<'c> {
    fn is_structure(self) -> bool {
        self.kind() == TypeKind::Struct
    }

    /// Returns whether it is a structure without a body.
    #[doc(alias = "LLVMIsOpaqueStruct")]
    pub fn is_opaque(self) -> bool {
        // SAFETY: the type is live, and a structure.
        self.is_structure() && unsafe { raw::LLVMIsOpaqueStruct(self.raw()) != 0 }
    }

    /// Returns whether it is a structure without padding.
    #[doc(alias = "LLVMIsPackedStruct")]
    pub fn is_packed(self) -> bool {
        // SAFETY: the type is live, and a structure.
        self.is_structure() && unsafe { raw::LLVMIsPackedStruct(self.raw()) != 0 }
    }

    /// Returns the name of a named structure.
    #[doc(alias("LLVMGetStructName", "LLVMIsLiteralStruct"))]
    pub fn structure_name(self) -> Option<String> {
        // SAFETY: the type is live, and a structure. The name is a C string that lives with it.
        unsafe {
            if !self.is_structure() || raw::LLVMIsLiteralStruct(self.raw()) != 0 {
                return None;
            }
            let name = raw::LLVMGetStructName(self.raw());
            (!name.is_null()).then(|| std::ffi::CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }

    /// Gives an opaque structure its fields. A packed one has no padding.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not opaque, or too large; [`Error::Type`] if a type cannot be a field, as the
    /// structure itself; [`Error::Mixed`].
    #[doc(alias = "LLVMStructSetBody")]
    pub fn set_body(self, fields: &[Type<'c>], packed: bool) -> Result<()> {
        let operation = "set_body";
        if !self.is_opaque() {
            return Err(Error::invalid(operation, format!("{self} is not an opaque structure")));
        }
        let count = count(operation, fields.len())?;
        let mut extent = Extent { bytes: 0, depth: 0 };
        for field in fields {
            self.context().same(operation, field.context())?;
            // The structure has no size yet, so this excludes it and types that contain it.
            field.check_element(operation)?;
            let of = field.extent();
            extent = Extent { bytes: extent.bytes + of.bytes + 16, depth: extent.depth.max(of.depth + 1) };
        }
        extent.check(operation)?;
        let mut raws: Vec<_> = fields.iter().map(|field| field.raw()).collect();
        // SAFETY: all types are live, of one context, and can be fields; the count is that of the vector.
        unsafe { raw::LLVMStructSetBody(self.raw(), raws.as_mut_ptr(), count, raw::flag(packed)) };
        self.context().extents.borrow_mut().insert(self.raw().addr(), extent);
        Ok(())
    }

    /// Returns a constant of this structure.
    ///
    /// # Errors
    /// [`Error::Type`] if it is not a structure with a body, or a field not of its type; [`Error::Invalid`] if the
    /// number of fields differs, or one is not a constant; [`Error::Mixed`].
    #[doc(alias = "LLVMConstNamedStruct")]
    pub fn const_structure(self, fields: &[Value<'c>]) -> Result<Value<'c>> {
        let operation = "const_structure";
        let Some(types) = self.fields() else {
            return Err(Error::of_type(operation, "a structure with a body", self));
        };
        if types.len() != fields.len() {
            return Err(Error::invalid(operation, format!("{} fields for {} of {self}", fields.len(), types.len())));
        }
        let (mut raws, owner) = constants(operation, self.context(), fields, |at| types.get(at).copied())?;
        // SAFETY: the type is live, and the constants have the types of its fields; the count is that of the fields.
        let raw = unsafe { raw::LLVMConstNamedStruct(self.raw(), raws.as_mut_ptr(), raws.len() as u32) };
        Ok(Value::new(raw, owner, self.context()))
    }
}

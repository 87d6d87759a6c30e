//! Reads and removes attributes.

use rocm_llvm_sys::llvm::LLVMAttributeRef;

use super::attribute::{FLAGS, Place};
use super::error::{Error, Result};
use super::function::Function;
use super::raw;
use super::types::Type;
use super::value::Value;

/// An attribute that a function, a call, a result or a parameter has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttributeValue<'m> {
    /// One of LLVM's, with its number: 0 for attributes without a value.
    Number(String, u64),
    /// One of LLVM's that has a type: `byval`, `sret`, `byref`.
    Type(String, Type<'m>),
    /// A text attribute for a target, with its value.
    Text(String, String),
    /// One of LLVM's whose name this crate does not know, by its number in the LLVM in use.
    Other(u32),
}

impl AttributeValue<'_> {
    /// Returns its name; empty for [`Other`](Self::Other).
    pub fn name(&self) -> &str {
        match self {
            Self::Number(name, _) | Self::Type(name, _) | Self::Text(name, _) => name,
            Self::Other(_) => "",
        }
    }
}

/// The attributes with a value.
const WITH_VALUE: &[&str] = &[
    "align",
    "alignstack",
    "allockind",
    "allocsize",
    "byref",
    "byval",
    "captures",
    "dereferenceable",
    "dereferenceable_or_null",
    "elementtype",
    "inalloca",
    "initializes",
    "memory",
    "nofpclass",
    "preallocated",
    "range",
    "sret",
    "uwtable",
    "vscale_range",
];

fn kind_of(name: &str) -> u32 {
    // SAFETY: the text is valid for its length.
    unsafe { raw::LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
}

fn name_of(kind: u32) -> Option<String> {
    FLAGS.iter().chain(WITH_VALUE).find(|name| kind_of(name) == kind).map(|name| (*name).to_owned())
}

fn read<'m>(attribute: LLVMAttributeRef, of: Value<'m>) -> AttributeValue<'m> {
    let mut length = 0;
    // SAFETY: the attribute is live with its context, and each function is called for its class. The strings have the returned
    // lengths.
    unsafe {
        if raw::LLVMIsStringAttribute(attribute) != 0 {
            let name = raw::LLVMGetStringAttributeKind(attribute, &mut length);
            let name = raw::copy_text(name, length as usize);
            let value = raw::LLVMGetStringAttributeValue(attribute, &mut length);
            return AttributeValue::Text(name, raw::copy_text(value, length as usize));
        }
        let kind = raw::LLVMGetEnumAttributeKind(attribute);
        let Some(name) = name_of(kind) else { return AttributeValue::Other(kind) };
        if raw::LLVMIsTypeAttribute(attribute) != 0 {
            let ty = raw::LLVMGetTypeAttributeValue(attribute);
            if ty.is_null() {
                return AttributeValue::Number(name, 0);
            }
            return AttributeValue::Type(name, Type::from_raw(ty, of.context()));
        }
        match raw::LLVMIsEnumAttribute(attribute) != 0 {
            true => AttributeValue::Number(name, raw::LLVMGetEnumAttributeValue(attribute)),
            // Of a class that the C interface cannot read, such as ranges.
            false => AttributeValue::Other(kind),
        }
    }
}

impl<'m> Function<'m> {
    /// Returns the attributes of the function, its result or a parameter.
    ///
    /// ```
    /// use rocm_llvm::llvm::{Attribute, AttributeValue, Context, Place};
    ///
    /// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
    /// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
    /// let context = Context::new()?;
    /// let module = context.module("m")?;
    /// let kernel = module.add_kernel("k", &[])?;
    /// kernel.add_attribute(Place::Function, Attribute::Flag("nounwind"))?;
    /// kernel.add_attribute(Place::Function, Attribute::Text("amdgpu-flat-work-group-size", "1,256"))?;
    /// let names: Vec<_> = kernel.attributes(Place::Function)?.iter().map(|one| one.name().to_owned()).collect();
    /// assert_eq!(names, ["nounwind", "amdgpu-flat-work-group-size"]);
    /// assert!(kernel.remove_attribute(Place::Function, "nounwind")?);
    /// assert_eq!(kernel.attributes(Place::Function)?.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no such parameter.
    #[doc(alias("LLVMGetAttributeCountAtIndex", "LLVMGetAttributesAtIndex"))]
    pub fn attributes(self, place: Place) -> Result<Vec<AttributeValue<'m>>> {
        let index = place.index(self.function_type().parameters().len())?;
        // SAFETY: the function is live, and the buffer has room for the attributes that LLVM writes.
        let raws = unsafe {
            let mut raws = vec![std::ptr::null_mut(); raw::LLVMGetAttributeCountAtIndex(self.raw(), index) as usize];
            raw::LLVMGetAttributesAtIndex(self.raw(), index, raws.as_mut_ptr());
            raws
        };
        Ok(raws.into_iter().map(|attribute| read(attribute, self.value())).collect())
    }

    /// Removes an attribute by its name. Returns whether it was there.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no such parameter.
    #[doc(alias("LLVMRemoveEnumAttributeAtIndex", "LLVMRemoveStringAttributeAtIndex"))]
    pub fn remove_attribute(self, place: Place, name: &str) -> Result<bool> {
        let index = place.index(self.function_type().parameters().len())?;
        let Some(found) = self.attributes(place)?.into_iter().find(|attribute| attribute.name() == name) else {
            return Ok(false);
        };
        let length =
            u32::try_from(name.len()).map_err(|_| Error::invalid("remove_attribute", "the name is too long"))?;
        // SAFETY: the function is live and has the attribute, and the text is valid for its length.
        unsafe {
            match found {
                AttributeValue::Text(..) => {
                    raw::LLVMRemoveStringAttributeAtIndex(self.raw(), index, name.as_ptr().cast(), length);
                }
                _ => raw::LLVMRemoveEnumAttributeAtIndex(self.raw(), index, kind_of(name)),
            }
        }
        Ok(true)
    }
}

impl<'m> Value<'m> {
    /// Returns the attributes of a call, its result or an argument.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not a call, or has no such argument.
    #[doc(alias("LLVMGetCallSiteAttributeCount", "LLVMGetCallSiteAttributes"))]
    pub fn call_attributes(self, place: Place) -> Result<Vec<AttributeValue<'m>>> {
        if self.callee().is_none() {
            return Err(Error::invalid("call_attributes", format!("`{self}` is not a call")));
        }
        let index = place.index(self.arguments().len())?;
        // SAFETY: the call is live, and the buffer has room for the attributes that LLVM writes.
        let raws = unsafe {
            let mut raws = vec![std::ptr::null_mut(); raw::LLVMGetCallSiteAttributeCount(self.raw(), index) as usize];
            raw::LLVMGetCallSiteAttributes(self.raw(), index, raws.as_mut_ptr());
            raws
        };
        Ok(raws.into_iter().map(|attribute| read(attribute, self)).collect())
    }
}

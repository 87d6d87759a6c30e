//! Metadata for passes and for the runtime.

use super::context::Context;
use super::error::{Error, Result};
use super::module::Module;
use super::raw;
use super::value::{Owner, Value};

/// A string, a node, or a constant, as metadata.
#[derive(Debug, Clone, Copy)]
pub struct Metadata<'m> {
    raw: raw::LLVMMetadataRef,
    kind: Kind,
    owner: Owner<'m>,
    context: &'m Context,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Node,
    Value,
}

impl<'m> Metadata<'m> {
    pub(super) fn raw(self) -> raw::LLVMMetadataRef {
        self.raw
    }

    pub(super) fn context(self) -> &'m Context {
        self.context
    }

    pub(super) fn owner(self) -> Owner<'m> {
        self.owner
    }

    pub(super) fn is_node(self) -> bool {
        self.kind == Kind::Node
    }

    /// Returns it as a value, for intrinsics that take metadata.
    #[doc(alias = "LLVMMetadataAsValue")]
    pub fn to_value(self) -> Value<'m> {
        // SAFETY: the context and the metadata are live.
        Value::new(unsafe { raw::LLVMMetadataAsValue(self.context().raw(), self.raw()) }, self.owner, self.context())
    }
}

impl Context {
    /// Returns a string as metadata.
    #[doc(alias = "LLVMMDStringInContext2")]
    pub fn metadata_text(&self, text: &str) -> Metadata<'_> {
        // SAFETY: the context is live, and the text valid for its length and copied.
        let raw = unsafe { raw::LLVMMDStringInContext2(self.raw(), text.as_ptr().cast(), text.len()) };
        Metadata { raw, kind: Kind::Text, owner: Owner::Context, context: self }
    }

    /// Returns a node with these operands.
    ///
    /// # Errors
    /// [`Error::Mixed`] if operands belong to another context, or to two modules.
    #[doc(alias = "LLVMMDNodeInContext2")]
    pub fn metadata_node<'m>(&'m self, operands: &[Metadata<'m>]) -> Result<Metadata<'m>> {
        let mut owner = Owner::Context;
        let mut raws = Vec::with_capacity(operands.len());
        for operand in operands {
            self.same("metadata_node", operand.context)?;
            owner = owner.join("metadata_node", operand.owner)?;
            raws.push(operand.raw);
        }
        // SAFETY: the context is live, and all operands belong to it; the count is that of the vector.
        let raw = unsafe { raw::LLVMMDNodeInContext2(self.raw(), raws.as_mut_ptr(), raws.len()) };
        Ok(Metadata { raw, kind: Kind::Node, owner, context: self })
    }
}

impl<'m> Value<'m> {
    /// Returns a constant as metadata.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not a constant.
    #[doc(alias = "LLVMValueAsMetadata")]
    pub fn to_metadata(self) -> Result<Metadata<'m>> {
        if !self.is_constant() {
            return Err(Error::invalid("to_metadata", format!("`{self}` is not a constant")));
        }
        // SAFETY: the value is live, and a constant.
        let raw = unsafe { raw::LLVMValueAsMetadata(self.raw()) };
        Ok(Metadata { raw, kind: Kind::Value, owner: self.owner(), context: self.context() })
    }

    /// Attaches metadata to an instruction, such as a node of kind `range` or `amdgpu.noclobber`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the value is not an instruction, the metadata not a node, or the kind `dbg`, which a
    /// [`Builder`](super::Builder) sets; [`Error::Mixed`].
    #[doc(alias = "LLVMSetMetadata")]
    #[doc(alias = "LLVMGetMDKindIDInContext")]
    pub fn set_metadata(self, kind: &str, node: Metadata<'m>) -> Result<()> {
        let operation = "set_metadata";
        self.context().same(operation, node.context())?;
        // SAFETY: the value is live.
        if unsafe { raw::LLVMIsAInstruction(self.raw()).is_null() } {
            return Err(Error::invalid(operation, format!("`{self}` is not an instruction")));
        }
        if kind == "dbg" || kind.is_empty() || !node.is_node() {
            return Err(Error::invalid(operation, "a node and the name of its kind are needed, and not `dbg`"));
        }
        self.owner().join(operation, node.owner())?;
        let length = u32::try_from(kind.len()).map_err(|_| Error::invalid(operation, "the kind's name is too long"))?;
        // SAFETY: the context, the value and the node are live, and of one context. The text is valid for its length.
        unsafe {
            let kind = raw::LLVMGetMDKindIDInContext(self.context().raw(), kind.as_ptr().cast(), length);
            let node = raw::LLVMMetadataAsValue(self.context().raw(), node.raw());
            raw::LLVMSetMetadata(self.raw(), kind, node);
        }
        Ok(())
    }
}

impl Module<'_> {
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

    /// Adds a node to the named metadata, such as `opencl.ocl.version`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not a node, or the name is empty or reserved; [`Error::Null`]; [`Error::Mixed`].
    #[doc(alias = "LLVMAddNamedMetadataOperand")]
    pub fn add_named_metadata<'m>(&'m self, name: &str, node: Metadata<'m>) -> Result<()> {
        let operation = "add_named_metadata";
        self.context().same(operation, node.context())?;
        node.owner().join(operation, Owner::Module(self))?;
        let text = raw::c_text("a name of metadata", name)?;
        if !node.is_node() || name.is_empty() || name == "llvm.module.flags" || name.starts_with("llvm.dbg") {
            return Err(Error::invalid(
                operation,
                format!("`{name}`: a node and a name that is not LLVM's are needed"),
            ));
        }
        // SAFETY: the module and the node are live, of one context, and the name is a C string.
        unsafe { raw::LLVMAddNamedMetadataOperand(self.raw(), text.as_ptr(), node.to_value().raw()) };
        Ok(())
    }
}

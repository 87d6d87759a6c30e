//! Debug information: types and variables of the source.

use std::ffi::c_uint;

use super::debug_info::{DebugInfo, FunctionScope, Location, same_module};
use super::error::{Error, Result};
use super::function::BasicBlock;
use super::later::{self, Insert};
use super::module::Module;
use super::raw;
use super::value::Value;

/// How the bits of a basic type are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// 0 or 1.
    Boolean = 2,
    /// A floating-point number.
    Float = 4,
    /// A signed integer.
    Signed = 5,
    /// A signed character.
    SignedChar = 6,
    /// An unsigned integer.
    Unsigned = 7,
    /// An unsigned character.
    UnsignedChar = 8,
}

/// A type of the source.
#[derive(Debug, Clone, Copy)]
pub struct DebugType<'m> {
    raw: raw::LLVMMetadataRef,
    module: &'m Module<'m>,
}

/// A member of a structure of the source, for [`DebugInfo::structure_type`].
#[derive(Debug, Clone, Copy)]
pub struct Member<'a, 'm> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub ty: DebugType<'m>,
    /// Its size in bits.
    pub bits: u64,
    /// Its distance from the structure's start, in bits.
    pub offset: u64,
}

/// A variable or a parameter of the source.
#[derive(Debug, Clone, Copy)]
pub struct Variable<'m> {
    raw: raw::LLVMMetadataRef,
    module: &'m Module<'m>,
}

impl<'m> DebugInfo<'m> {
    fn ty(&self, raw: raw::LLVMMetadataRef) -> DebugType<'m> {
        DebugType { raw, module: self.module }
    }

    /// Returns a number type of the source: `float` of 32 bits.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the name is empty.
    #[doc(alias = "LLVMDIBuilderCreateBasicType")]
    pub fn basic_type(&self, name: &str, bits: u64, encoding: Encoding) -> Result<DebugType<'m>> {
        if name.is_empty() {
            return Err(Error::invalid("basic_type", "the name is empty"));
        }
        let (text, length) = (name.as_ptr().cast(), name.len());
        // SAFETY: the builder is live, the text valid for its length and copied, and the number one of DWARF's.
        Ok(self.ty(unsafe {
            raw::LLVMDIBuilderCreateBasicType(self.raw(), text, length, bits, encoding as c_uint, self.flags())
        }))
    }

    fn flags(&self) -> rocm_llvm_sys::llvm::LLVMDIFlags {
        rocm_llvm_sys::llvm::LLVMDIFlagZero
    }

    /// Returns the type of pointers of this many bits.
    ///
    /// # Errors
    /// [`Error::Mixed`].
    #[doc(alias = "LLVMDIBuilderCreatePointerType")]
    pub fn pointer_type(&self, to: DebugType<'m>, bits: u64) -> Result<DebugType<'m>> {
        same_module("pointer_type", self.module, to.module)?;
        // SAFETY: the builder and the type are live; it has no name.
        Ok(self.ty(unsafe { raw::LLVMDIBuilderCreatePointerType(self.raw(), to.raw, bits, 0, 0, c"".as_ptr(), 0) }))
    }

    /// Returns the type of arrays of this many elements, of `bits` bits in all.
    ///
    /// # Errors
    /// [`Error::Mixed`]; [`Error::Invalid`] for more than 2⁶³ elements.
    #[doc(alias("LLVMDIBuilderCreateArrayType", "LLVMDIBuilderGetOrCreateSubrange"))]
    pub fn array_type(&self, of: DebugType<'m>, length: u64, bits: u64) -> Result<DebugType<'m>> {
        same_module("array_type", self.module, of.module)?;
        let length = i64::try_from(length).map_err(|_| Error::invalid("array_type", "too many elements"))?;
        // SAFETY: the builder and the type are live; there is one range.
        Ok(self.ty(unsafe {
            let mut range = raw::LLVMDIBuilderGetOrCreateSubrange(self.raw(), 0, length);
            raw::LLVMDIBuilderCreateArrayType(self.raw(), bits, 0, of.raw, &mut range, 1)
        }))
    }

    /// Returns a structure of the source, of `bits` bits.
    ///
    /// # Errors
    /// [`Error::Mixed`].
    #[doc(alias("LLVMDIBuilderCreateStructType", "LLVMDIBuilderCreateMemberType"))]
    pub fn structure_type(
        &self,
        name: &str,
        line: u32,
        bits: u64,
        members: &[Member<'_, 'm>],
    ) -> Result<DebugType<'m>> {
        let mut raws = Vec::with_capacity(members.len());
        for member in members {
            same_module("structure_type", self.module, member.ty.module)?;
            let (text, length) = (member.name.as_ptr().cast(), member.name.len());
            // SAFETY: the builder and all metadata are live, and the text valid for its length and copied.
            raws.push(unsafe {
                raw::LLVMDIBuilderCreateMemberType(
                    self.raw(),
                    self.file,
                    text,
                    length,
                    self.file,
                    line,
                    member.bits,
                    0,
                    member.offset,
                    self.flags(),
                    member.ty.raw,
                )
            });
        }
        let (text, length, none) = (name.as_ptr().cast(), name.len(), std::ptr::null_mut());
        let count = u32::try_from(raws.len()).map_err(|_| Error::invalid("structure_type", "too many members"))?;
        // SAFETY: as above, and the count is that of the members.
        Ok(self.ty(unsafe {
            raw::LLVMDIBuilderCreateStructType(
                self.raw(),
                self.file,
                text,
                length,
                self.file,
                line,
                bits,
                0,
                self.flags(),
                none,
                raws.as_mut_ptr(),
                count,
                0,
                none,
                c"".as_ptr(),
                0,
            )
        }))
    }

    /// Returns the scope of a block `{ ... }` within a function or another block.
    ///
    /// # Errors
    /// [`Error::Mixed`].
    #[doc(alias = "LLVMDIBuilderCreateLexicalBlock")]
    pub fn block(&self, within: FunctionScope<'m>, line: u32, column: u32) -> Result<FunctionScope<'m>> {
        same_module("block", self.module, within.module)?;
        let column = if column > 0xffff { 0 } else { column };
        // SAFETY: the builder and all metadata are live.
        let raw = unsafe { raw::LLVMDIBuilderCreateLexicalBlock(self.raw(), within.raw(), self.file, line, column) };
        Ok(FunctionScope { raw, module: self.module })
    }

    /// Declares a variable of a function.
    ///
    /// ```
    /// use rocm_llvm::llvm::{Context, DebugInfo, Encoding, Language};
    ///
    /// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
    /// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
    /// let context = Context::new()?;
    /// let module = context.module("debug")?;
    /// let kernel = module.add_kernel("scale", &[context.f32()])?;
    /// {
    ///     let debug = DebugInfo::new(&module, "scale.dsl", "/src", Language::C)?;
    ///     let scope = debug.function(kernel, 3)?;
    ///     let float = debug.basic_type("float", 32, Encoding::Float)?;
    ///     let block = kernel.append_block("entry")?;
    ///     let builder = block.builder();
    ///     let here = scope.location(4, 1);
    ///     builder.set_location(Some(here))?;
    ///     let slot = builder.alloca(context.f32(), "x")?;
    ///     debug.declare(debug.local(scope, "x", 4, float)?, slot, here, block)?;
    ///     debug.record(debug.parameter(scope, "factor", 1, 3, float)?, kernel.parameter(0)?, here, block)?;
    ///     builder.ret(None)?;
    /// }
    /// module.verify()?;
    /// let text = module.to_string();
    /// assert!(text.contains("!DILocalVariable(name: \"x\"") && text.contains("arg: 1"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Mixed`].
    #[doc(alias = "LLVMDIBuilderCreateAutoVariable")]
    pub fn local(&self, scope: FunctionScope<'m>, name: &str, line: u32, ty: DebugType<'m>) -> Result<Variable<'m>> {
        same_module("local", self.module, scope.module)?;
        same_module("local", self.module, ty.module)?;
        let (text, length) = (name.as_ptr().cast(), name.len());
        // SAFETY: the builder and all metadata are live, and the text valid for its length and copied.
        let raw = unsafe {
            let (file, flags) = (self.file, self.flags());
            raw::LLVMDIBuilderCreateAutoVariable(self.raw(), scope.raw(), text, length, file, line, ty.raw, 1, flags, 0)
        };
        Ok(Variable { raw, module: self.module })
    }

    /// Declares a parameter of a function, by its number from 1.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the number is 0 or more than 65535; [`Error::Mixed`].
    #[doc(alias = "LLVMDIBuilderCreateParameterVariable")]
    pub fn parameter(
        &self,
        scope: FunctionScope<'m>,
        name: &str,
        number: u32,
        line: u32,
        ty: DebugType<'m>,
    ) -> Result<Variable<'m>> {
        same_module("parameter", self.module, scope.module)?;
        same_module("parameter", self.module, ty.module)?;
        if !(1..=0xffff).contains(&number) {
            return Err(Error::invalid("parameter", format!("{number}: parameters have the numbers 1 to 65535")));
        }
        let (text, length) = (name.as_ptr().cast(), name.len());
        // SAFETY: the builder and all metadata are live, and the text valid for its length and copied.
        let raw = unsafe {
            let (file, flags) = (self.file, self.flags());
            raw::LLVMDIBuilderCreateParameterVariable(
                self.raw(),
                scope.raw(),
                text,
                length,
                number,
                file,
                line,
                ty.raw,
                1,
                flags,
            )
        };
        Ok(Variable { raw, module: self.module })
    }

    /// Records in a block that a variable is in memory at `address`, from its start to its end.
    ///
    /// # Errors
    /// [`Error::Type`] if it is not a pointer; [`Error::Mixed`]; [`Error::Invalid`] for what was erased.
    #[doc(alias("LLVMDIBuilderInsertDeclareRecordAtEnd", "LLVMDIBuilderInsertDeclareRecordBefore"))]
    pub fn declare(
        &self,
        variable: Variable<'m>,
        address: Value<'m>,
        at: Location<'m>,
        block: BasicBlock<'m>,
    ) -> Result<()> {
        if !address.ty().is_pointer() {
            return Err(Error::of_type("declare", "a pointer", address.ty()));
        }
        self.insert("declare", [Insert::DeclareAtEnd, Insert::DeclareBefore], variable, address, at, block)
    }

    /// Records in a block that a variable has this value from here on.
    ///
    /// # Errors
    /// [`Error::Mixed`]; [`Error::Invalid`] for what was erased, and for a value without a size.
    #[doc(alias("LLVMDIBuilderInsertDbgValueRecordAtEnd", "LLVMDIBuilderInsertDbgValueRecordBefore"))]
    pub fn record(
        &self,
        variable: Variable<'m>,
        value: Value<'m>,
        at: Location<'m>,
        block: BasicBlock<'m>,
    ) -> Result<()> {
        value.ty().check_element("record")?;
        self.insert("record", [Insert::ValueAtEnd, Insert::ValueBefore], variable, value, at, block)
    }

    fn insert(
        &self,
        operation: &'static str,
        [end, before]: [Insert; 2],
        variable: Variable<'m>,
        value: Value<'m>,
        at: Location<'m>,
        block: BasicBlock<'m>,
    ) -> Result<()> {
        same_module(operation, self.module, variable.module)?;
        same_module(operation, self.module, block.function().module())?;
        let at = at.check_in(operation, self.module)?;
        block.check_placed(operation)?;
        let raw = block.function().check_operand(operation, value)?;
        later::check_records(operation, self.module.raw())?;
        // SAFETY: the builder is live, and an expression without operations is the value itself.
        let same = unsafe { raw::LLVMDIBuilderCreateExpression(self.raw(), std::ptr::null_mut(), 0) };
        match block.terminator() {
            Some(terminator) => {
                let insert = before.before()?;
                // SAFETY: all are live, of one module, and the value and the terminator of one function.
                unsafe { insert(self.raw(), raw, variable.raw, same, at, terminator.raw()) };
            }
            None => {
                let insert = end.at_end()?;
                // SAFETY: all are live, of one module, and the value and the block of one function.
                unsafe { insert(self.raw(), raw, variable.raw, same, at, block.raw()) };
            }
        }
        Ok(())
    }
}

//! Parts of structures, arrays and vectors.

use super::{Builder, Error, Result, Type, Value, raw};
use crate::llvm::types::TypeKind;

/// Returns the type of the part at `index` of a structure or an array.
fn part<'m>(operation: &'static str, of: Type<'m>, index: u32) -> Result<Type<'m>> {
    let part = match of.kind() {
        TypeKind::Array => of.element().filter(|_| of.length().is_some_and(|length| u64::from(index) < length)),
        TypeKind::Struct => of.fields().and_then(|fields| fields.get(index as usize).copied()),
        _ => return Err(Error::of_type(operation, "a structure or an array", of)),
    };
    part.ok_or_else(|| Error::invalid(operation, format!("{of} has no part {index}")))
}

impl<'m> Builder<'m> {
    /// Returns a part of a structure or an array.
    ///
    /// # Errors
    /// [`Error::Type`] if it is neither; [`Error::Invalid`] if it has no such part; see [`Builder`].
    #[doc(alias = "LLVMBuildExtractValue")]
    pub fn extract_value(&self, aggregate: Value<'m>, index: u32, name: &str) -> Result<Value<'m>> {
        let name = self.begin("extract_value", name)?;
        let raw = self.operand("extract_value", aggregate)?;
        part("extract_value", aggregate.ty(), index)?;
        // SAFETY: all are live, and the value has this part.
        Ok(self.result(unsafe { raw::LLVMBuildExtractValue(self.raw, raw, index, name.as_ptr()) }))
    }

    /// Returns the structure or array with one part replaced.
    ///
    /// # Errors
    /// [`Error::Type`] if it is neither, or `value` not of the part's type; [`Error::Invalid`] if it has no such part;
    /// see [`Builder`].
    #[doc(alias = "LLVMBuildInsertValue")]
    pub fn insert_value(&self, aggregate: Value<'m>, value: Value<'m>, index: u32, name: &str) -> Result<Value<'m>> {
        let operation = "insert_value";
        let name = self.begin(operation, name)?;
        let (into, raw) = (self.operand(operation, aggregate)?, self.operand(operation, value)?);
        let ty = part(operation, aggregate.ty(), index)?;
        if ty != value.ty() {
            return Err(Error::of_type(operation, ty, value.ty()));
        }
        // SAFETY: all are live, and the value is of the type of this part.
        Ok(self.result(unsafe { raw::LLVMBuildInsertValue(self.raw, into, raw, index, name.as_ptr()) }))
    }

    fn lane(&self, operation: &'static str, vector: Value<'m>, index: Value<'m>) -> Result<raw::LLVMValueRef> {
        let raw = self.operand(operation, index)?;
        if !vector.ty().is_vector() {
            return Err(Error::of_type(operation, "a vector", vector.ty()));
        }
        match index.ty().kind() {
            TypeKind::Int(_) => Ok(raw),
            _ => Err(Error::of_type(operation, "an integer index", index.ty())),
        }
    }

    /// Returns an element of a vector. The result is poison if there is no such element.
    ///
    /// # Errors
    /// [`Error::Type`] if it is not a vector, or the index not an integer; see [`Builder`].
    #[doc(alias = "LLVMBuildExtractElement")]
    pub fn extract_element(&self, vector: Value<'m>, index: Value<'m>, name: &str) -> Result<Value<'m>> {
        let name = self.begin("extract_element", name)?;
        let of = self.operand("extract_element", vector)?;
        let index = self.lane("extract_element", vector, index)?;
        // SAFETY: all are live, a vector and an integer.
        Ok(self.result(unsafe { raw::LLVMBuildExtractElement(self.raw, of, index, name.as_ptr()) }))
    }

    /// Returns the vector with one element replaced.
    ///
    /// # Errors
    /// [`Error::Type`] if it is not a vector, `value` not of its elements' type, or the index not an integer; see
    /// [`Builder`].
    #[doc(alias = "LLVMBuildInsertElement")]
    pub fn insert_element(
        &self,
        vector: Value<'m>,
        value: Value<'m>,
        index: Value<'m>,
        name: &str,
    ) -> Result<Value<'m>> {
        let operation = "insert_element";
        let name = self.begin(operation, name)?;
        let (into, raw) = (self.operand(operation, vector)?, self.operand(operation, value)?);
        let index = self.lane(operation, vector, index)?;
        if vector.ty().scalar() != value.ty() {
            return Err(Error::of_type(operation, vector.ty().scalar(), value.ty()));
        }
        // SAFETY: all are live: a vector, a value of its elements' type, and an integer.
        Ok(self.result(unsafe { raw::LLVMBuildInsertElement(self.raw, into, raw, index, name.as_ptr()) }))
    }

    /// Returns a vector of elements of two vectors: each number of `mask` selects one, where the elements of the second
    /// vector follow those of the first.
    ///
    /// # Errors
    /// [`Error::Type`] if the operands are not vectors of one type; [`Error::Invalid`] if `mask` is empty, or names an
    /// element that does not exist; see [`Builder`].
    #[doc(alias = "LLVMBuildShuffleVector")]
    pub fn shuffle(&self, left: Value<'m>, right: Value<'m>, mask: &[u32], name: &str) -> Result<Value<'m>> {
        let operation = "shuffle";
        let name = self.begin(operation, name)?;
        let (left, right, ty) = self.pair(operation, left, right)?;
        let Some(lanes) = ty.lanes() else { return Err(Error::of_type(operation, "vectors", ty)) };
        if mask.is_empty() || mask.len() > 65536 || mask.iter().any(|&lane| lane >= lanes.saturating_mul(2)) {
            return self.invalid(operation, format!("{mask:?}: 1 to 65536 numbers below {} are needed", lanes * 2));
        }
        let i32 = ty.context().i32();
        let numbers = mask.iter().map(|&lane| i32.const_int(lane.into())).collect::<Result<Vec<_>>>()?;
        let mask = i32.const_vector(&numbers)?;
        // SAFETY: all are live: vectors of one type, and a constant vector of numbers of their elements.
        Ok(self.result(unsafe { raw::LLVMBuildShuffleVector(self.raw, left, right, mask.raw(), name.as_ptr()) }))
    }
}

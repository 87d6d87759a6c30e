//! Memory: allocation, access, addresses, atomics.

use rocm_llvm_sys::llvm as sys;

use super::{Builder, Error, Result, Type, Value, raw};
use crate::llvm::later;
use crate::llvm::types::TypeKind;

/// The ordering of an atomic operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ordering {
    /// No torn values, as for Java's plain variables: for loads and stores only.
    Unordered,
    /// With operations on the same memory only.
    Monotonic,
    /// Later accesses stay after it.
    Acquire,
    /// Earlier accesses stay before it.
    Release,
    /// Both.
    AcquireRelease,
    /// Both, and all such operations have one order.
    SequentiallyConsistent,
}

const ORDERINGS: [(Ordering, sys::LLVMAtomicOrdering); 6] = [
    (Ordering::Unordered, sys::LLVMAtomicOrderingUnordered),
    (Ordering::Monotonic, sys::LLVMAtomicOrderingMonotonic),
    (Ordering::Acquire, sys::LLVMAtomicOrderingAcquire),
    (Ordering::Release, sys::LLVMAtomicOrderingRelease),
    (Ordering::AcquireRelease, sys::LLVMAtomicOrderingAcquireRelease),
    (Ordering::SequentiallyConsistent, sys::LLVMAtomicOrderingSequentiallyConsistent),
];

impl Ordering {
    fn raw(self) -> sys::LLVMAtomicOrdering {
        let found = ORDERINGS.iter().find(|(ordering, _)| *ordering == self);
        found.map_or(sys::LLVMAtomicOrderingSequentiallyConsistent, |(_, raw)| *raw)
    }

    /// Returns `None` for accesses that are not atomic.
    pub(in crate::llvm) fn from_raw(raw: sys::LLVMAtomicOrdering) -> Option<Self> {
        ORDERINGS.iter().find(|(_, number)| *number == raw).map(|(ordering, _)| *ordering)
    }
}

/// The threads for which an atomic operation is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope<'a> {
    /// All devices and the host.
    System,
    /// The work item alone.
    SingleThread,
    /// A scope of the target by its name: `agent`, `workgroup`, `wavefront`. Since LLVM 20.
    Named(&'a str),
}

/// The computation of an atomic read-modify-write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RmwOperation {
    /// The new value.
    Exchange,
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// Bitwise and.
    And,
    /// Bitwise not-and.
    Nand,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The signed maximum.
    Max,
    /// The signed minimum.
    Min,
    /// The unsigned maximum.
    UMax,
    /// The unsigned minimum.
    UMin,
    /// The sum of floating-point numbers.
    FAdd,
    /// The difference of floating-point numbers.
    FSub,
    /// The maximum of floating-point numbers.
    FMax,
    /// The minimum of floating-point numbers.
    FMin,
    /// Plus one, or 0 if the value was at least the operand. Since LLVM 19.
    UIncWrap,
    /// Minus one, or the operand if the value was 0 or larger than it. Since LLVM 19.
    UDecWrap,
    /// The unsigned difference, or the value if it was smaller than the operand. Since LLVM 20.
    USubCond,
    /// The unsigned difference, or 0 if the value was smaller than the operand. Since LLVM 20.
    USubSat,
    /// The maximum of floating-point numbers; NaN if one is. Since LLVM 21.
    FMaximum,
    /// The minimum of floating-point numbers; NaN if one is. Since LLVM 21.
    FMinimum,
}

/// The operations with LLVM's numbers and the first LLVM whose C interface has each.
const RMW_OPERATIONS: [(RmwOperation, u32, u32); 21] = {
    use RmwOperation::*;
    [
        (Exchange, 0, 17),
        (Add, 1, 17),
        (Sub, 2, 17),
        (And, 3, 17),
        (Nand, 4, 17),
        (Or, 5, 17),
        (Xor, 6, 17),
        (Max, 7, 17),
        (Min, 8, 17),
        (UMax, 9, 17),
        (UMin, 10, 17),
        (FAdd, 11, 17),
        (FSub, 12, 17),
        (FMax, 13, 17),
        (FMin, 14, 17),
        (UIncWrap, 15, 19),
        (UDecWrap, 16, 19),
        (USubCond, 17, 20),
        (USubSat, 18, 20),
        (FMaximum, 19, 21),
        (FMinimum, 20, 21),
    ]
};

impl RmwOperation {
    /// Fails if the LLVM in use does not have the operation.
    fn raw(self) -> Result<sys::LLVMAtomicRMWBinOp> {
        let version = crate::llvm::Library::load()?.version();
        let found = RMW_OPERATIONS.iter().find(|(operation, _, since)| *operation == self && *since <= version.major);
        let lacks = || Error::invalid("atomic_rmw", format!("LLVM {version} does not have {self:?}"));
        found.map(|(_, number, _)| sys::LLVMAtomicRMWBinOp(*number)).ok_or_else(lacks)
    }

    /// Returns `None` for an operation that this crate does not know.
    pub(in crate::llvm) fn from_raw(raw: sys::LLVMAtomicRMWBinOp) -> Option<Self> {
        RMW_OPERATIONS.iter().find(|(_, number, _)| *number == raw.0).map(|(operation, ..)| *operation)
    }

    fn takes(self, ty: Type<'_>) -> bool {
        let scalar = !ty.is_vector();
        match self {
            Self::Exchange => scalar && (ty.is_int() || ty.is_float() || ty.is_pointer()),
            Self::FAdd | Self::FSub | Self::FMax | Self::FMin | Self::FMaximum | Self::FMinimum => {
                scalar && ty.is_float()
            }
            _ => scalar && ty.is_int(),
        }
    }
}

impl<'m> Builder<'m> {
    fn pointer(&self, operation: &'static str, pointer: Value<'m>) -> Result<raw::LLVMValueRef> {
        let raw = self.operand(operation, pointer)?;
        match pointer.ty().kind() {
            TypeKind::Pointer(_) => Ok(raw),
            _ => Err(Error::of_type(operation, "a pointer", pointer.ty())),
        }
    }

    /// Allocates private memory for a value of this type, until the function returns. Put it into the first block.
    ///
    /// The address space is that of the module's data layout: set the layout first
    /// ([`TargetMachine::prepare`](crate::llvm::TargetMachine::prepare)).
    ///
    /// # Errors
    /// [`Error::Type`] if the type has no size; see [`Builder`].
    #[doc(alias = "LLVMBuildAlloca")]
    pub fn alloca(&self, ty: Type<'m>, name: &str) -> Result<Value<'m>> {
        let name = self.begin("alloca", name)?;
        self.check_type("alloca", ty)?;
        ty.check_element("alloca")?;
        // SAFETY: all are live and of one context, and the type has a size.
        Ok(self.result(unsafe { raw::LLVMBuildAlloca(self.raw, ty.raw(), name.as_ptr()) }))
    }

    /// Reads a value of this type.
    ///
    /// # Errors
    /// [`Error::Type`] if the type has no size, or `pointer` is not a pointer; see [`Builder`].
    #[doc(alias = "LLVMBuildLoad2")]
    pub fn load(&self, ty: Type<'m>, pointer: Value<'m>, name: &str) -> Result<Value<'m>> {
        let name = self.begin("load", name)?;
        self.check_type("load", ty)?;
        ty.check_element("load")?;
        let pointer = self.pointer("load", pointer)?;
        // SAFETY: all are live and of one context; the type has a size, and the pointer is a pointer.
        Ok(self.result(unsafe { raw::LLVMBuildLoad2(self.raw, ty.raw(), pointer, name.as_ptr()) }))
    }

    /// Writes a value.
    ///
    /// # Errors
    /// [`Error::Type`] if the value's type has no size, or `pointer` is not a pointer; see [`Builder`].
    #[doc(alias = "LLVMBuildStore")]
    pub fn store(&self, value: Value<'m>, pointer: Value<'m>) -> Result<Value<'m>> {
        self.begin("store", "")?;
        value.ty().check_element("store")?;
        let (value, pointer) = (self.operand("store", value)?, self.pointer("store", pointer)?);
        // SAFETY: all are live and of one context; the value has a size, and the pointer is a pointer.
        Ok(self.result(unsafe { raw::LLVMBuildStore(self.raw, value, pointer) }))
    }

    /// Computes the address of an element. The first index counts values of type `ty` from the pointer on, the others
    /// select parts of it: fields of structures, elements of arrays and vectors.
    ///
    /// # Errors
    /// [`Error::Type`] if an index is not an integer, or its type has no parts; [`Error::Invalid`] if a field does not
    /// exist or its index is not a constant `i32`; see [`Builder`].
    #[doc(alias = "LLVMBuildGEP2")]
    pub fn gep(&self, ty: Type<'m>, pointer: Value<'m>, indices: &[Value<'m>], name: &str) -> Result<Value<'m>> {
        self.address("gep", ty, pointer, indices, name, false)
    }

    /// Computes the address of an element like [`gep`](Self::gep). A result outside of the pointer's memory is
    /// undefined behaviour of the program.
    ///
    /// # Errors
    /// Those of [`gep`](Self::gep).
    #[doc(alias = "LLVMBuildInBoundsGEP2")]
    pub fn inbounds_gep(
        &self,
        ty: Type<'m>,
        pointer: Value<'m>,
        indices: &[Value<'m>],
        name: &str,
    ) -> Result<Value<'m>> {
        self.address("inbounds_gep", ty, pointer, indices, name, true)
    }

    fn address(
        &self,
        operation: &'static str,
        ty: Type<'m>,
        pointer: Value<'m>,
        indices: &[Value<'m>],
        name: &str,
        inbounds: bool,
    ) -> Result<Value<'m>> {
        let name = self.begin(operation, name)?;
        self.check_type(operation, ty)?;
        ty.check_element(operation)?;
        let pointer = self.pointer(operation, pointer)?;
        let mut raws = Vec::with_capacity(indices.len());
        let mut of = None;
        for index in indices {
            raws.push(self.operand(operation, *index)?);
            let TypeKind::Int(_) = index.ty().kind() else {
                return Err(Error::of_type(operation, "an integer index", index.ty()));
            };
            of = Some(match of {
                None => ty,
                Some(inner) => element_at(operation, inner, *index)?,
            });
        }
        if raws.is_empty() {
            return self.invalid(operation, "no index");
        }
        // Longer lists do not fit into memory.
        let count = raws.len() as u32;
        let (b, ty, indices, name) = (self.raw, ty.raw(), raws.as_mut_ptr(), name.as_ptr());
        // SAFETY: all are live and of one context. The type has a size, the pointer is a pointer, and the indices select an element.
        let raw = unsafe {
            match inbounds {
                true => raw::LLVMBuildInBoundsGEP2(b, ty, pointer, indices, count, name),
                false => raw::LLVMBuildGEP2(b, ty, pointer, indices, count, name),
            }
        };
        Ok(self.result(raw))
    }

    /// Makes a load or store atomic.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `access` is neither, or the ordering is not possible: a load does not release, a store
    /// does not acquire; [`Error::Type`] for a value that is not an integer, floating-point number or pointer of 8, 16,
    /// 32, 64 or 128 bits; [`Error::Mixed`].
    #[doc(alias = "LLVMSetOrdering")]
    pub fn set_atomic(&self, access: Value<'m>, ordering: Ordering) -> Result<()> {
        let operation = "set_atomic";
        let raw = self.operand(operation, access)?;
        // SAFETY: the value is live.
        let (load, store) = unsafe { (!raw::LLVMIsALoadInst(raw).is_null(), !raw::LLVMIsAStoreInst(raw).is_null()) };
        let possible = match ordering {
            Ordering::Unordered | Ordering::Monotonic | Ordering::SequentiallyConsistent => load || store,
            Ordering::Acquire => load,
            Ordering::Release => store,
            Ordering::AcquireRelease => false,
        };
        if !possible {
            return self.invalid(operation, format!("`{access}` cannot be {ordering:?}"));
        }
        let ty = match load {
            true => access.ty(),
            // SAFETY: a store, whose first operand is the value.
            false => Type::from_raw(unsafe { raw::LLVMTypeOf(raw::LLVMGetOperand(raw, 0)) }, access.context()),
        };
        let bits = if ty.is_pointer() { 64 } else { ty.scalar_bits() };
        if ty.is_vector() || !matches!(bits, 8 | 16 | 32 | 64 | 128) {
            return Err(Error::of_type(operation, "a number or pointer of 8, 16, 32, 64 or 128 bits", ty));
        }
        // SAFETY: a load or a store, with an ordering that it supports.
        unsafe { raw::LLVMSetOrdering(raw, ordering.raw()) };
        Ok(())
    }

    fn scope(&self, scope: Scope<'_>) -> Result<Option<u32>> {
        let Scope::Named(name) = scope else { return Ok(None) };
        let function = later::LLVMGetSyncScopeID()?;
        let context = self.function().module().context().raw();
        // SAFETY: the context is live, and the text valid for its length and copied.
        Ok(Some(unsafe { function(context, name.as_ptr().cast(), name.len()) }))
    }

    /// Reads a value, computes with it and writes the result, as one operation. The result is the value read.
    ///
    /// # Errors
    /// [`Error::Type`] if `pointer` is not a pointer, or the operation does not support the value's type;
    /// [`Error::MissingFunction`] for a named scope before LLVM 20; see [`Builder`].
    #[doc(alias = "LLVMBuildAtomicRMW")]
    #[doc(alias = "LLVMBuildAtomicRMWSyncScope")]
    pub fn atomic_rmw(
        &self,
        how: RmwOperation,
        pointer: Value<'m>,
        value: Value<'m>,
        ordering: Ordering,
        scope: Scope<'_>,
    ) -> Result<Value<'m>> {
        let operation = "atomic_rmw";
        self.begin(operation, "")?;
        let pointer = self.pointer(operation, pointer)?;
        let raw = self.operand(operation, value)?;
        let ty = value.ty();
        let bits = if ty.is_pointer() { 64 } else { ty.scalar_bits() };
        if !how.takes(ty) || !matches!(bits, 8 | 16 | 32 | 64 | 128) {
            return Err(Error::of_type(operation, format!("a value that {how:?} takes"), ty));
        }
        if ordering == Ordering::Unordered {
            return self.invalid(operation, "Unordered is for loads and stores");
        }
        let how = how.raw()?;
        let raw = match self.scope(scope)? {
            Some(scope) => {
                let build = later::LLVMBuildAtomicRMWSyncScope()?;
                // SAFETY: all are live and of one context; the pointer is a pointer, and the operation supports the value.
                unsafe { build(self.raw, how.0, pointer, raw, ordering.raw().0, scope) }
            }
            None => {
                let single = raw::flag(scope == Scope::SingleThread);
                // SAFETY: as above.
                unsafe { raw::LLVMBuildAtomicRMW(self.raw, how, pointer, raw, ordering.raw(), single) }
            }
        };
        Ok(self.result(raw))
    }

    /// Writes `new` if the memory contains `expected`, as one operation. The result is a structure: the value read, and
    /// an `i1` that is 1 if `new` was written. `failure` is the ordering of the read if nothing is written.
    ///
    /// # Errors
    /// [`Error::Type`] if `pointer` is not a pointer, or the values are not integers or pointers of one type;
    /// [`Error::Invalid`] if `failure` releases; [`Error::MissingFunction`] for a named scope before LLVM 20; see
    /// [`Builder`].
    #[doc(alias("LLVMBuildAtomicCmpXchg", "LLVMSetAtomicSyncScopeID"))]
    pub fn compare_exchange(
        &self,
        pointer: Value<'m>,
        expected: Value<'m>,
        new: Value<'m>,
        success: Ordering,
        failure: Ordering,
        scope: Scope<'_>,
    ) -> Result<Value<'m>> {
        let operation = "compare_exchange";
        self.begin(operation, "")?;
        let pointer = self.pointer(operation, pointer)?;
        let (expected, new, ty) = self.pair(operation, expected, new)?;
        let bits = if ty.is_pointer() { 64 } else { ty.scalar_bits() };
        if ty.is_vector() || !(ty.is_int() || ty.is_pointer()) || !matches!(bits, 8 | 16 | 32 | 64 | 128) {
            return Err(Error::of_type(operation, "integers of 8 to 128 bits, or pointers", ty));
        }
        if [success, failure].contains(&Ordering::Unordered) {
            return self.invalid(operation, "Unordered is for loads and stores");
        }
        if matches!(failure, Ordering::Release | Ordering::AcquireRelease) {
            return self.invalid(operation, format!("a failure cannot be {failure:?}: nothing is written"));
        }
        let named = match self.scope(scope)? {
            Some(id) => Some((id, later::LLVMSetAtomicSyncScopeID()?)),
            None => None,
        };
        let single = raw::flag(scope == Scope::SingleThread);
        // SAFETY: all are live and of one context; the pointer is a pointer, and the values are of one type that can be compared.
        let raw = unsafe {
            raw::LLVMBuildAtomicCmpXchg(self.raw, pointer, expected, new, success.raw(), failure.raw(), single)
        };
        if let Some((id, set)) = named {
            // SAFETY: an atomic instruction, which is live, and a scope of its context.
            unsafe { set(raw, id) };
        }
        Ok(self.result(raw))
    }

    /// Orders memory accesses before and after it.
    ///
    /// # Errors
    /// [`Error::Invalid`] for [`Ordering::Monotonic`]; [`Error::MissingFunction`] for a named scope before LLVM 20; see
    /// [`Builder`].
    #[doc(alias = "LLVMBuildFence")]
    #[doc(alias = "LLVMBuildFenceSyncScope")]
    pub fn fence(&self, ordering: Ordering, scope: Scope<'_>) -> Result<Value<'m>> {
        let name = self.begin("fence", "")?;
        if matches!(ordering, Ordering::Unordered | Ordering::Monotonic) {
            return self.invalid("fence", "a fence orders: Acquire, Release, both or SequentiallyConsistent");
        }
        let raw = match self.scope(scope)? {
            Some(scope) => {
                let build = later::LLVMBuildFenceSyncScope()?;
                // SAFETY: the builder is live, and a fence supports the ordering.
                unsafe { build(self.raw, ordering.raw().0, scope, name.as_ptr()) }
            }
            None => {
                let single = raw::flag(scope == Scope::SingleThread);
                // SAFETY: as above.
                unsafe { raw::LLVMBuildFence(self.raw, ordering.raw(), single, name.as_ptr()) }
            }
        };
        Ok(self.result(raw))
    }
}

/// Returns the type of the part of `of` that an index selects.
fn element_at<'m>(operation: &'static str, of: Type<'m>, index: Value<'m>) -> Result<Type<'m>> {
    if let Some(element) = of.element() {
        return Ok(element);
    }
    let Some(fields) = of.fields() else {
        return Err(Error::of_type(operation, "an array, a vector or a structure to index", of));
    };
    let field = match index.ty().kind() {
        TypeKind::Int(32) => index.as_uint().and_then(|at| fields.get(usize::try_from(at).ok()?).copied()),
        _ => None,
    };
    let why = || Error::invalid(operation, format!("`{index}` is not a constant i32 that names a field of {of}"));
    field.ok_or_else(why)
}

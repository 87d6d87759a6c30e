//! The library's descriptors of matrices and products.

use std::ffi::c_void;
use std::ptr;

use crate::checks::invalid;
use crate::problem::Problem;
use crate::raw::{self, hipblasStatus_t};
use crate::{Result, check};

type Destroy = unsafe fn(*mut c_void) -> hipblasStatus_t;
type Set = unsafe fn(*mut c_void, u32, *const c_void, usize) -> hipblasStatus_t;
type Get = unsafe fn(*mut c_void, u32, *mut c_void, usize, *mut usize) -> hipblasStatus_t;

/// A kind of C object: the functions that destroy it and that set and return its attributes, with the names of the
/// latter two.
pub(crate) struct Kind(Destroy, (Set, &'static str), (Get, &'static str));

macro_rules! kind {
    ($name:ident, $destroy:ident, $set:ident, $get:ident) => {
        pub(crate) static $name: Kind =
            Kind(raw::$destroy, (raw::$set, stringify!($set)), (raw::$get, stringify!($get)));
    };
}

kind!(LAYOUT, hipblasLtMatrixLayoutDestroy, hipblasLtMatrixLayoutSetAttribute, hipblasLtMatrixLayoutGetAttribute);
kind!(MATMUL, hipblasLtMatmulDescDestroy, hipblasLtMatmulDescSetAttribute, hipblasLtMatmulDescGetAttribute);
kind!(
    PREFERENCE,
    hipblasLtMatmulPreferenceDestroy,
    hipblasLtMatmulPreferenceSetAttribute,
    hipblasLtMatmulPreferenceGetAttribute
);
kind!(
    TRANSFORM,
    hipblasLtMatrixTransformDescDestroy,
    hipblasLtMatrixTransformDescSetAttribute,
    hipblasLtMatrixTransformDescGetAttribute
);

/// A C object with attributes.
pub(crate) struct Object {
    pub(crate) raw: *mut c_void,
    kind: &'static Kind,
}

impl Object {
    /// Creates an object with `create`, whose name is `function`.
    pub(crate) fn new(
        kind: &'static Kind,
        function: &'static str,
        create: impl FnOnce(*mut *mut c_void) -> hipblasStatus_t,
        asked: impl Fn() -> String,
    ) -> Result<Self> {
        let mut raw = ptr::null_mut();
        check(create(&mut raw), function, asked)?;
        Ok(Self { raw, kind })
    }

    pub(crate) fn set<V: Copy>(&self, attribute: u32, value: V) -> Result<()> {
        let (set, name) = self.kind.1;
        // SAFETY: an object of the function's kind, and a value of this size.
        let status = unsafe { set(self.raw, attribute, (&raw const value).cast(), size_of::<V>()) };
        check(status, name, || format!("attribute {attribute}"))
    }

    /// Returns an error unless the library kept an attribute's value: an attribute that it does not know would change
    /// which memory a call uses.
    pub(crate) fn expect<V: Copy + Default + PartialEq + std::fmt::Debug>(
        &self,
        attribute: u32,
        value: V,
    ) -> Result<()> {
        let (get, name) = self.kind.2;
        let (mut found, mut written) = (V::default(), 0);
        let to = (&raw mut found).cast();
        // SAFETY: an object of the function's kind, and room for a number of this size.
        let status = unsafe { get(self.raw, attribute, to, size_of::<V>(), &mut written) };
        check(status, name, || format!("attribute {attribute}"))?;
        if found == value && written == size_of::<V>() {
            return Ok(());
        }
        let found = format!("attribute {attribute} of {written} bytes, {found:?}");
        Err(invalid("what the library has of a description", found, format!("{value:?}, as it was set")))
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the kind's function made the object, and nothing else uses it; the library keeps no descriptors after a call.
        let _ = unsafe { (self.kind.0)(self.raw) };
    }
}

/// A matrix layout: rows, columns, leading dimension, stride.
pub(crate) fn layout(
    kind: u32,
    (rows, cols, ld, stride): (usize, usize, usize, usize),
    batch: usize,
) -> Result<Object> {
    let asked = || format!("{rows} x {cols}, leading dimension {ld}, {batch} of them {stride} apart");
    // SAFETY: the function writes the layout through a valid pointer.
    let create = |to| unsafe { raw::hipblasLtMatrixLayoutCreate(to, kind, rows as u64, cols as u64, ld as i64) };
    let layout = Object::new(&LAYOUT, "hipblasLtMatrixLayoutCreate", create, asked)?;
    if batch > 1 {
        let count = i32::try_from(batch).map_err(|_| invalid("the batch", batch.to_string(), "less than 2^31"))?;
        layout.set(0, count)?;
        layout.set(1, stride as i64)?;
    }
    Ok(layout)
}

/// The C descriptors of a product.
pub(crate) struct Descriptors {
    pub(crate) desc: Object,
    pub(crate) layouts: [Object; 4],
}

impl Descriptors {
    pub(crate) fn new(problem: &Problem, scale: u32) -> Result<Self> {
        // SAFETY: the function writes the description through a valid pointer.
        let create = |to| unsafe { raw::hipblasLtMatmulDescCreate(to, problem.compute, scale) };
        let desc = Object::new(&MATMUL, "hipblasLtMatmulDescCreate", create, || format!("{problem:?}"))?;
        let [a, b, c, d] =
            [0, 1, 2, 3].map(|index| layout(problem.types[index], problem.layouts[index], problem.batch));
        let this = Self { desc, layouts: [a?, b?, c?, d?] };
        for (attribute, value) in problem.flags() {
            this.desc.set(attribute, value)?;
        }
        if problem.device_scalars {
            this.desc.set(13, 1_u32)?;
        }
        if problem.aux.0 != 0 {
            this.desc.set(11, problem.aux.0 as i64)?;
            this.desc.set(12, problem.aux.1 as i64)?;
        }
        Ok(this)
    }

    /// Returns an error unless the library kept the attributes that decide which memory a product uses, as far as it
    /// returns them: it does not return the auxiliary matrix.
    pub(crate) fn verify(&self, problem: &Problem) -> Result<()> {
        for (attribute, value) in problem.flags() {
            self.desc.expect(attribute, value)?;
        }
        for (layout, (.., stride)) in self.layouts.iter().zip(problem.layouts).filter(|_| problem.batch > 1) {
            layout.expect(0, problem.batch as i32)?;
            layout.expect(1, stride as i64)?;
        }
        Ok(())
    }
}

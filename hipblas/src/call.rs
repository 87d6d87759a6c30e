//! One call: its operands, its form, its errors.

use std::ffi::c_void;
use std::ptr::NonNull;

use hip::{Status, sys};
use hip_linalg::{
    BandRef, Batch, Factor, Form, Forms, IntoScalar, Lowered, MatrixMut, MatrixRef, Misfit, Operands, PackedMut,
    PackedRef, Scalar, Shape, Shapes, VectorMut, VectorRef,
};
use hipblas_sys::MissingValue;

use crate::raw::{BINDING, hipblasStatus_t};
use crate::workspace::Growth;
use crate::{Blas, Error, Result, check};

/// Returns the error for an invalid argument.
pub(crate) fn invalid(what: &'static str, value: impl Into<String>, allowed: impl Into<String>) -> Error {
    Error::Invalid { what, value: value.into(), allowed: allowed.into() }
}

impl From<Misfit> for Error {
    fn from(Misfit { what, value, allowed }: Misfit) -> Self {
        invalid(what, value, allowed)
    }
}

pub(crate) struct Call<'a> {
    blas: &'a Blas,
    operands: Operands<'a>,
    shapes: Shapes,
}

/// A function that was found, and its form.
pub(crate) struct Found {
    pub(crate) function: NonNull<c_void>,
    pub(crate) form: Form,
    pub(crate) name: &'static str,
}

impl Blas {
    /// Starts a call with the name and the shapes that its errors state.
    pub(crate) fn start<const N: usize>(&self, name: &'static str, shapes: [(&'static str, Shape); N]) -> Call<'_> {
        Call { blas: self, operands: Operands::on(self.stream()), shapes: Shapes::of(name, shapes) }
    }
}

impl<'a> Call<'a> {
    /// Returns an error unless the lengths or orders are the same.
    pub(crate) fn fits(&self, what: &'static str, found: usize, needed: usize, of: &str) -> Result<()> {
        Ok(self.shapes.fits(what, found, needed, of)?)
    }

    /// Returns an error unless the shapes are the same.
    pub(crate) fn fits_shape(
        &self,
        what: &'static str,
        found: (usize, usize),
        needed: (usize, usize),
        of: &str,
    ) -> Result<()> {
        Ok(self.shapes.fits_shape(what, found, needed, of)?)
    }

    /// Returns the error for an operand of a wrong size.
    pub(crate) fn misfit(&self, what: &'static str, value: impl Into<String>, allowed: impl Into<String>) -> Error {
        self.shapes.misfit(what, value, allowed.into()).into()
    }

    /// Adds the call and its shapes to an error about operands.
    fn explain<R>(&self, result: hip::Result<R>) -> Result<R> {
        result.map_err(|error| self.shapes.explain(error).into())
    }

    pub(crate) fn size(&mut self, size: usize) -> i64 {
        self.operands.size(size)
    }

    pub(crate) fn factor<T: Scalar>(&mut self, what: &'static str, scalar: impl IntoScalar<'a, T>) -> Result<Factor> {
        Ok(self.operands.factor(what, scalar)?)
    }

    pub(crate) fn vector<T>(&mut self, what: &'static str, vector: &VectorRef<'a, T>) -> Result<Lowered> {
        let result = self.operands.vector(what, vector);
        self.explain(result)
    }

    pub(crate) fn vector_mut<T>(&mut self, what: &'static str, vector: VectorMut<'a, T>) -> Result<Lowered> {
        let result = self.operands.vector_mut(what, vector);
        self.explain(result)
    }

    pub(crate) fn matrix<T>(&mut self, what: &'static str, matrix: &MatrixRef<'a, T>) -> Result<Lowered> {
        let result = self.operands.matrix(what, matrix);
        self.explain(result)
    }

    pub(crate) fn matrix_mut<T>(&mut self, what: &'static str, matrix: MatrixMut<'a, T>) -> Result<Lowered> {
        let result = self.operands.matrix_mut(what, matrix);
        self.explain(result)
    }

    pub(crate) fn packed<T>(&mut self, what: &'static str, triangle: &PackedRef<'a, T>) -> Result<Lowered> {
        let result = self.operands.packed(what, triangle);
        self.explain(result)
    }

    pub(crate) fn packed_mut<T>(&mut self, what: &'static str, triangle: PackedMut<'a, T>) -> Result<Lowered> {
        let result = self.operands.packed_mut(what, triangle);
        self.explain(result)
    }

    pub(crate) fn band<T>(&mut self, what: &'static str, band: &BandRef<'a, T>) -> Result<Lowered> {
        let result = self.operands.band(what, band);
        self.explain(result)
    }

    pub(crate) fn operands(&mut self) -> &mut Operands<'a> {
        &mut self.operands
    }

    /// Returns the form for these operands, and the function.
    pub(crate) fn find(&self, forms: &'static Forms) -> Result<Found> {
        let form = self.explain(self.operands.form())?;
        let name = forms.name(form);
        match forms.get(form, &BINDING) {
            Ok(function) => Ok(Found { function, form, name }),
            Err(why) => {
                check(hipblasStatus_t::missing(why), name, || self.shapes.operands())?;
                Err(invalid("the function", name, "in the library"))
            }
        }
    }

    /// Queues the call that `make` builds from the scalars' addresses.
    pub(crate) fn run<const N: usize, F>(
        self,
        forms: &'static Forms,
        factors: [Factor; N],
        make: impl Fn([*const c_void; N]) -> F,
    ) -> Result<()>
    where
        F: FnOnce(NonNull<c_void>, Form, *mut c_void) -> hipblasStatus_t + Clone,
    {
        let Found { function, form, name } = self.find(forms)?;
        if form.count() == 0 {
            return Ok(());
        }
        let Self { blas, mut operands, shapes } = self;
        let (mut workspace, mut growth) = (blas.workspace.lock(), Growth::of(name));
        let (bytes, stream) = (workspace.len(), blas.stream().as_raw());
        // SAFETY: the call consumes the operands, so they are dropped before the workspace is unlocked.
        unsafe { operands.lend("the workspace", workspace.as_slice_mut())? };
        // SAFETY: the routine queues its work on the handle's stream. It uses only the named operands, whose views were checked when they
        // were made, with the sizes that the method has compared.
        let done = unsafe {
            blas.handle.call(operands, &factors, |handle, factors| {
                let status = growth.call(handle, stream, bytes, || make(factors)(function, form, handle));
                check(status, name, || shapes.operands())
            })
        };
        growth.settle(blas.stream(), name, &mut workspace)?;
        done
    }

    /// Queues a call that writes its results to device memory of an operand.
    pub(crate) fn run_into<F>(self, forms: &'static Forms, call: F) -> Result<()>
    where
        F: FnOnce(NonNull<c_void>, Form, *mut c_void) -> hipblasStatus_t + Clone,
    {
        let Found { function, form, name } = self.find(forms)?;
        if form.count() == 0 {
            return Ok(());
        }
        let Self { blas, mut operands, shapes } = self;
        let (mut workspace, mut growth) = (blas.workspace.lock(), Growth::of(name));
        let (bytes, stream) = (workspace.len(), blas.stream().as_raw());
        // SAFETY: the call consumes the operands, so they are dropped before the workspace is unlocked.
        unsafe { operands.lend("the workspace", workspace.as_slice_mut())? };
        // SAFETY: as in `run`.
        let done = unsafe {
            blas.handle.call_with_device_result(operands, |handle| {
                let status = growth.call(handle, stream, bytes, || call.clone()(function, form, handle));
                check(status, name, || shapes.operands())
            })
        };
        growth.settle(blas.stream(), name, &mut workspace)?;
        done
    }

    /// Makes a call that returns a number to the host, and waits for it. `make` receives the address for the number.
    pub(crate) fn run_for_number<N: hip::Pod, F>(
        self,
        forms: &'static Forms,
        make: impl Fn(*const c_void) -> F,
    ) -> Result<N>
    where
        F: FnOnce(NonNull<c_void>, Form, *mut c_void) -> hipblasStatus_t + Clone,
    {
        let Found { function, form, name } = self.find(forms)?;
        if form.batch != Batch::One {
            let allowed = "one vector: use the method with `_into` for batches";
            return Err(invalid("an operand", format!("{:?}", form.batch), allowed));
        }
        let Self { blas, mut operands, shapes } = self;
        let (mut workspace, mut growth) = (blas.workspace.lock(), Growth::of(name));
        let (bytes, stream) = (workspace.len(), blas.stream().as_raw());
        // SAFETY: the call consumes the operands, so they are dropped before the workspace is unlocked.
        unsafe { operands.lend("the workspace", workspace.as_slice_mut())? };
        // SAFETY: as in `run`.
        let done = unsafe {
            blas.handle.call_for_number(operands, |handle, number| {
                let call = || make(number.cast_const())(function, form, handle);
                check(growth.call(handle, stream, bytes, call), name, || shapes.operands())
            })
        };
        growth.settle(blas.stream(), name, &mut workspace)?;
        done
    }

    /// Reads the elements of an operand in parts, and waits for each part.
    pub(crate) fn read_blocking<T: Scalar>(
        self,
        vector: Lowered,
        len: usize,
        mut take: impl FnMut(&[T]),
    ) -> Result<()> {
        /// Elements per part.
        const PART: usize = 1 << 20;
        let Self { blas, operands, shapes: _ } = self;
        let stream = blas.handle.stream().as_raw();
        let size = size_of::<T>();
        let pitch = (vector.step.unsigned_abs() as usize * size).max(size);
        let mut part = vec![T::ZERO; len.min(PART)];
        let copy = |at: usize, part: &mut [T]| -> Result<()> {
            let from = vector.pointer.wrapping_byte_add(at * pitch);
            let (to, rows) = (part.as_mut_ptr().cast(), part.len());
            // SAFETY: elements of the operand, whose view was checked when it was made; the host buffer has room for as many, and stays
            // until the stream has been synchronized.
            let status =
                unsafe { sys::hipMemcpy2DAsync(to, size, from, pitch, size, rows, sys::hipMemcpyDeviceToHost, stream) };
            // SAFETY: the handle's stream.
            let waited = unsafe { sys::hipStreamSynchronize(stream) };
            Status::from(status).check("hipMemcpy2DAsync", || format!("{rows} elements"))?;
            Ok(Status::from(waited).check("hipStreamSynchronize", || "for a vector".to_owned())?)
        };
        // SAFETY: the call reads the named operand, in the order of the handle's stream, and waits.
        unsafe {
            blas.handle.call_blocking(operands, |_| {
                for at in (0..len).step_by(PART) {
                    let part = &mut part[..PART.min(len - at)];
                    copy(at, part)?;
                    take(part);
                }
                Ok(())
            })
        }
    }

    /// Makes a call that works on the host.
    pub(crate) fn run_blocking<F>(self, forms: &'static Forms, call: F) -> Result<()>
    where
        F: FnOnce(NonNull<c_void>, Form, *mut c_void) -> hipblasStatus_t,
    {
        let Found { function, form, name } = self.find(forms)?;
        let Self { blas, operands, shapes } = self;
        // SAFETY: as in `run`; the host memory that the call writes belongs to the caller, which waits.
        unsafe {
            blas.handle
                .call_blocking(operands, |handle| check(call(function, form, handle), name, || shapes.operands()))
        }
    }
}

//! Sums and transposes.

use std::ptr;

use hip::interop::Element;
use hip_linalg::{IntoMatrix, IntoMatrixMut, IntoScalar, MatrixRef, Operands, ScalarRef, Shapes};

use crate::checks::members;
use crate::descriptors::{Object, TRANSFORM, layout};
use crate::{BlasLt, Result, check, raw};

impl BlasLt {
    /// C ← α A + β B: sums, scaled copies, transposes, and from row-major to column-major memory. Without `b`, C ← α A.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the shapes do not fit, or the members of batches are not at equal
    /// distances in all matrices; `HIPBLAS_STATUS_NOT_SUPPORTED` for types that the library lacks.
    #[doc(alias("hipblasLtMatrixTransform", "cublasLtMatrixTransform"))]
    pub fn transform<'a, T: Element>(
        &'a self,
        alpha: impl IntoScalar<'a, f32>,
        a: impl IntoMatrix<'a, T>,
        b: Option<(ScalarRef<'a, f32>, MatrixRef<'a, T>)>,
        c: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let (a, c) = (a.into(), c.into());
        let mut shapes = Shapes::of("transform", [("A", (&a).into()), ("C", (&c).into())]);
        if let Some((_, b)) = &b {
            shapes = shapes.and("B", b.into());
        }
        let fits = |what, found, needed, of| -> Result<()> { Ok(shapes.fits(what, found, needed, of)?) };
        fits("the rows of C", c.rows(), a.rows(), "as A")?;
        fits("the columns of C", c.cols(), a.cols(), "as A")?;
        let batch = members(c.batch_size())?;
        fits("the batch of A", members(a.batch_size())?, batch, "as C")?;
        // The library's kernels use one stride for all matrices: with different strides they access memory out of bounds.
        let same_stride = |what, stride| if batch > 1 { fits(what, stride, c.stride(), "as C") } else { Ok(()) };
        same_stride("the stride of A", a.stride())?;
        if let Some((_, b)) = &b {
            same_stride("the stride of B", b.stride())?;
        }
        let mut operands = Operands::on(self.stream());
        let alpha = operands.factor("alpha", alpha)?;
        let turned = c.op().transposed;
        let kind = T::HIP_DATA_TYPE.0;
        let stored = |rows, cols, transposed| if transposed { (cols, rows) } else { (rows, cols) };
        let describe = |matrix: &MatrixRef<'_, T>| {
            let (rows, cols) = stored(matrix.rows(), matrix.cols(), matrix.op().transposed);
            layout(kind, (rows, cols, matrix.leading_dimension(), matrix.stride()), batch)
        };
        // The transpose of the whole equation: each operand is transposed unless it is transposed in memory exactly as C is.
        let code = |transposed: bool| if transposed == turned { 111_u32 } else { 112 };
        let (a_layout, a_op) = (describe(&a)?, code(a.op().transposed));
        let (rows, cols) = stored(c.rows(), c.cols(), turned);
        let c_layout = layout(kind, (rows, cols, c.leading_dimension(), c.stride()), batch)?;
        let asked = move || format!("{rows} x {cols}, {batch} of them");
        let (beta, b_layout, b_op, b) = match b {
            None => (operands.factor("beta", 0.0_f32)?, None, 111, ptr::null_mut()),
            Some((beta, b)) => {
                fits("the rows of B", b.rows(), a.rows(), "as A")?;
                fits("the columns of B", b.cols(), a.cols(), "as A")?;
                fits("the batch of B", members(b.batch_size())?, batch, "as C")?;
                let (description, op) = (describe(&b)?, code(b.op().transposed));
                (operands.factor("beta", beta)?, Some(description), op, operands.matrix("B", &b)?.pointer)
            }
        };
        let a = operands.matrix("A", &a)?.pointer;
        let c = operands.matrix_mut("C", c)?.pointer;
        let _ = operands.form().map_err(|error| shapes.explain(error))?; // for overlaps
        if batch == 0 || rows == 0 || cols == 0 {
            return Ok(());
        }
        // HIP_R_32F
        const SCALE: u32 = 0;
        // SAFETY: the function writes the description through a valid pointer.
        let create = |to| unsafe { raw::hipblasLtMatrixTransformDescCreate(to, SCALE) };
        let desc = Object::new(&TRANSFORM, "hipblasLtMatrixTransformDescCreate", create, asked)?;
        let factors = [alpha, beta];
        let mode = u32::from(factors.iter().any(hip_linalg::Factor::is_on_device));
        // Pointer mode, operation on A, operation on B.
        for (attribute, value) in [(1, mode), (2, a_op), (3, b_op)] {
            desc.set(attribute, value)?;
            desc.expect(attribute, value)?;
        }
        let stream = self.stream().as_raw();
        let b_layout = b_layout.as_ref().map_or(ptr::null_mut(), |layout| layout.raw);
        // SAFETY: the function queues its work on the stream. It uses only the named operands, in the layouts of their views.
        unsafe {
            self.handle.call(operands, &factors, |handle, [alpha, beta]| {
                let status = raw::hipblasLtMatrixTransform(
                    handle,
                    desc.raw,
                    alpha,
                    a,
                    a_layout.raw,
                    beta,
                    b,
                    b_layout,
                    c,
                    c_layout.raw,
                    stream,
                );
                check(status, "hipblasLtMatrixTransform", asked)
            })
        }
    }
}

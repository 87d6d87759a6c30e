//! Products.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use hip::interop::Element;
use hip::sys::hipStream_t;
use hip::{DeviceBuffer, DeviceSlice, DeviceSliceMut, Stream};
use hip_linalg::{
    Batch, Handle, IntoMatrix, IntoMatrixMut, IntoScalar, Library, MatrixMut, MatrixRef, Operands, ScalarRef, Shapes,
};

use smallvec::SmallVec;

use crate::checks::{invalid, members};
use crate::descriptors::{Descriptors, Object, PREFERENCE};
use crate::problem::Problem;
use crate::raw::{self, Algo, NO_RESULT};
use crate::{Error, LtTypes, Result, check};

pub(crate) struct Lt;

impl Library for Lt {
    type Error = Error;

    fn create() -> Result<*mut c_void> {
        let mut handle = ptr::null_mut();
        // SAFETY: the function writes a handle through a valid pointer.
        check(unsafe { raw::hipblasLtCreate(&mut handle) }, "hipblasLtCreate", || {
            "a handle of the current device".to_owned()
        })?;
        Ok(handle)
    }

    unsafe fn destroy(handle: *mut c_void) {
        // SAFETY: a handle that nothing uses any more.
        let _ = unsafe { raw::hipblasLtDestroy(handle) };
    }

    // The stream and the pointer mode are arguments of each call.
    unsafe fn set_stream(_: *mut c_void, _: hipStream_t) -> Result<()> {
        Ok(())
    }

    unsafe fn set_pointer_mode(_: *mut c_void, _: bool) -> Result<()> {
        Ok(())
    }
}

/// How a product is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compute {
    /// In the type of the scalars.
    #[default]
    Default,
    /// With inputs of `f32` rounded to `f16`.
    FastF16,
    /// With inputs of `f32` rounded to `bf16`.
    FastBf16,
    /// With inputs of `f32` rounded to TF32.
    FastTf32,
}

/// An operation that follows the product, in the same kernel. A bias has one element for each row of D in column-major
/// memory: for each row of D as viewed, or for each column of a row-major D. `T` is the type of D.
#[derive(Debug, Default)]
#[non_exhaustive]
pub enum Epilogue<'a, T> {
    /// No operation.
    #[default]
    None,
    /// max(0, x)
    Relu,
    /// The Gaussian error linear unit, approximated with tanh.
    Gelu,
    /// x + bias
    Bias(DeviceSlice<'a, T>),
    /// max(0, x + bias)
    ReluBias(DeviceSlice<'a, T>),
    /// GELU(x + bias)
    GeluBias(DeviceSlice<'a, T>),
    /// GELU(x + bias). Also writes x + bias to another matrix of D's shape, for the gradient.
    GeluBiasAux(DeviceSlice<'a, T>, MatrixMut<'a, T>),
    /// GELU(x). Also writes x to another matrix of D's shape, for the gradient.
    GeluAux(MatrixMut<'a, T>),
    /// x times the derivative of GELU at another matrix of D's shape.
    GeluGradient(MatrixRef<'a, T>),
    /// As `GeluGradient`. Also writes the sums of D's rows, which are the bias's gradient.
    GeluBiasGradient(MatrixRef<'a, T>, DeviceSliceMut<'a, T>),
    /// The product. Also writes the sums of A's rows over the inner dimension: a bias's gradient.
    BiasGradientA(DeviceSliceMut<'a, T>),
    /// The product. Also writes the sums of B's columns over the inner dimension: a bias's gradient.
    BiasGradientB(DeviceSliceMut<'a, T>),
}

impl<T> Epilogue<'_, T> {
    fn code(&self) -> u32 {
        match self {
            Self::None => 1,
            Self::Relu => 2,
            Self::Gelu => 32,
            Self::Bias(_) => 4,
            Self::ReluBias(_) => 6,
            Self::GeluBias(_) => 36,
            Self::GeluBiasAux(..) => 164,
            Self::GeluAux(_) => 160,
            Self::GeluGradient(_) => 192,
            Self::GeluBiasGradient(..) => 208,
            Self::BiasGradientA(_) => 256,
            Self::BiasGradientB(_) => 512,
        }
    }
}

/// The parameters of a product, except its matrices.
#[derive(Debug)]
pub struct Matmul<'a, T> {
    /// How the product is computed.
    pub compute: Compute,
    /// The operation that follows it.
    pub epilogue: Epilogue<'a, T>,
    /// Factor of A, one number in device memory: for 8-bit floats.
    pub scale_a: Option<DeviceSlice<'a, f32>>,
    /// Factor of B. See `scale_a`.
    pub scale_b: Option<DeviceSlice<'a, f32>>,
    /// The factor by which D is multiplied before it is rounded: for 8-bit floats.
    pub scale_d: Option<DeviceSlice<'a, f32>>,
    /// Receives the largest absolute value of D before it is scaled and rounded: for 8-bit floats.
    pub amax_d: Option<DeviceSliceMut<'a, f32>>,
    /// The matrix C, if it differs from D.
    pub c: Option<MatrixRef<'a, T>>,
    /// The algorithm, from [`BlasLt::algorithms`]. `None` is the heuristic's first.
    pub algorithm: Option<Algorithm>,
    /// Maximum workspace, in bytes.
    pub workspace_limit: usize,
}

impl<T> Default for Matmul<'_, T> {
    fn default() -> Self {
        Self {
            compute: Compute::Default,
            epilogue: Epilogue::None,
            scale_a: None,
            scale_b: None,
            scale_d: None,
            amax_d: None,
            c: None,
            algorithm: None,
            workspace_limit: 32 << 20,
        }
    }
}

/// An algorithm for one problem: types, shapes, strides, epilogue. It stays valid as long as the program runs.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    algo: Algo,
    workspace: usize,
    problem: Problem,
    index: usize,
    waves: f32,
}

impl Algorithm {
    /// Returns its position in the heuristic's list, from 0: the library puts the algorithm that it considers fastest
    /// first.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the library's number for the algorithm, to keep in a file: [`BlasLt::algorithm`] finds it again, in the
    /// same version of the library on the same architecture.
    #[must_use]
    #[doc(alias("getIndexFromAlgo"))]
    pub fn solution(&self) -> i32 {
        let [a, b, c, d, ..] = self.algo.data;
        i32::from_ne_bytes([a, b, c, d])
    }

    /// Returns the workspace that it uses, in bytes.
    #[must_use]
    pub fn workspace(&self) -> usize {
        self.workspace
    }

    /// Returns the library's estimate of how many times the algorithm fills the GPU; near a whole number is good.
    #[must_use]
    pub fn waves(&self) -> f32 {
        self.waves
    }
}

/// hipBLASLt on a device: its methods queue products on a stream.
#[doc(alias("hipblasLtHandle_t", "cublasLtHandle_t"))]
pub struct BlasLt {
    pub(crate) handle: Handle<Lt>,
    work: Mutex<Option<DeviceBuffer<u8>>>,
    chosen: Mutex<HashMap<Problem, Algorithm>>,
}

impl std::fmt::Debug for BlasLt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlasLt").field("stream", self.stream()).finish_non_exhaustive()
    }
}

/// Returns hipBLASLt's code for a computation.
fn compute_code(scale: u32, compute: Compute) -> Result<u32> {
    match (scale, compute) {
        (0, Compute::Default) => Ok(2),
        (1, Compute::Default) => Ok(7),
        (10, Compute::Default) => Ok(9),
        (0, Compute::FastF16) => Ok(4),
        (0, Compute::FastBf16) => Ok(5),
        (0, Compute::FastTf32) => Ok(6),
        _ => Err(invalid("the way to compute", format!("{compute:?}"), "the default, or one for 32-bit floats")),
    }
}

/// A product whose operands have been named and checked.
struct Ready<'a> {
    problem: Problem,
    scale: u32,
    operands: Operands<'a>,
    pointers: [*mut c_void; 4],
    /// Attributes that are addresses.
    addresses: SmallVec<[(u32, *mut c_void); 6]>,
    factors: [hip_linalg::Factor; 2],
    bias_type: Option<u32>,
}

impl BlasLt {
    /// Creates a hipBLASLt handle on the stream's device. It queues its work on the stream.
    ///
    /// # Errors
    /// [`Error::NoLibrary`], with every path that was tried.
    #[doc(alias("hipblasLtCreate", "cublasLtCreate"))]
    pub fn new(stream: &Stream) -> Result<Self> {
        Ok(Self { handle: Handle::new(stream)?, work: Mutex::new(None), chosen: Mutex::default() })
    }

    /// Returns the stream that later calls queue their work on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.handle.stream()
    }

    /// Makes later calls queue their work on another stream of the device.
    ///
    /// # Errors
    /// [`Error::Hip`] for a stream of another device.
    pub fn set_stream(&mut self, stream: &Stream) -> Result<()> {
        Ok(self.handle.set_stream(stream)?)
    }

    /// D ← epilogue(α A B + β C), where C is D unless `how` names another.
    ///
    /// Strided batches and row-major matrices are views of A, B, C and D. The heuristic's choice for a problem is
    /// remembered.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the shapes do not fit, or for an algorithm of another problem;
    /// `HIPBLAS_STATUS_NOT_SUPPORTED` if the library has no algorithm for this GPU.
    #[doc(alias("hipblasLtMatmul", "cublasLtMatmul"))]
    pub fn matmul<'a, A: LtTypes<B, D>, B: Element, D: Element>(
        &'a self,
        how: Matmul<'a, D>,
        alpha: impl IntoScalar<'a, A::Scale>,
        a: impl IntoMatrix<'a, A>,
        b: impl IntoMatrix<'a, B>,
        beta: impl IntoScalar<'a, A::Scale>,
        d: impl IntoMatrixMut<'a, D>,
    ) -> Result<()> {
        let algorithm = how.algorithm;
        let ready = self.ready(how, alpha.into(), a.into(), b.into(), beta.into(), d.into())?;
        let Ready { problem, scale, operands, pointers, addresses, factors, bias_type } = ready;
        if problem.batch == 0 || problem.layouts[3].0 == 0 || problem.layouts[3].1 == 0 {
            return Ok(());
        }
        let descriptors = Descriptors::new(&problem, scale)?;
        for &(attribute, address) in &addresses {
            descriptors.desc.set(attribute, address)?;
        }
        if let Some(bias_type) = bias_type {
            descriptors.desc.set(4, bias_type)?;
        }
        let algorithm = match algorithm {
            Some(algorithm) if algorithm.problem == problem => algorithm,
            Some(_) => {
                return Err(invalid("the algorithm", "for another problem", "of BlasLt::algorithms for this one"));
            }
            None => self.choose(&problem, &descriptors)?,
        };
        let mut work = self.take_work(algorithm.workspace)?;
        let done = {
            let mut operands = operands;
            // SAFETY: the operands are dropped at the end of this block, on every way out of it.
            let workspace = unsafe { operands.lend("the workspace", work.as_slice_mut())? };
            let stream = self.stream().as_raw();
            let [a, b, c, d] = pointers;
            let [la, lb, lc, ld] = [0, 1, 2, 3].map(|index| descriptors.layouts[index].raw);
            // SAFETY: the function queues its work on the stream. It uses only the named operands, whose views were checked when they were
            // made, in the views' layouts, and a workspace of the algorithm's size.
            unsafe {
                self.handle.call(operands, &factors, |handle, [alpha, beta]| {
                    let status = raw::hipblasLtMatmul(
                        handle,
                        descriptors.desc.raw,
                        alpha,
                        a,
                        la,
                        b,
                        lb,
                        beta,
                        c,
                        lc,
                        d,
                        ld,
                        &algorithm.algo,
                        workspace,
                        algorithm.workspace,
                        stream,
                    );
                    check(status, "hipblasLtMatmul", || format!("{problem:?}"))
                })
            }
        };
        self.put_work(work);
        done
    }

    /// Returns the library's algorithms for a product, the one that it considers fastest first: at most `count`, all
    /// with `usize::MAX`. Nothing is computed.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul).
    #[doc(alias("hipblasLtMatmulAlgoGetHeuristic", "cublasLtMatmulAlgoGetHeuristic"))]
    pub fn algorithms<'a, A: LtTypes<B, D>, B: Element, D: Element>(
        &'a self,
        how: Matmul<'a, D>,
        a: impl IntoMatrix<'a, A>,
        b: impl IntoMatrix<'a, B>,
        d: impl IntoMatrixMut<'a, D>,
        count: usize,
    ) -> Result<Vec<Algorithm>> {
        use hip_linalg::Scalar as _;
        let zero = ScalarRef::Host(A::Scale::ZERO);
        let ready = self.ready(how, zero, a.into(), b.into(), zero, d.into())?;
        let descriptors = Descriptors::new(&ready.problem, ready.scale)?;
        for &(attribute, address) in &ready.addresses {
            descriptors.desc.set(attribute, address)?;
        }
        if let Some(bias_type) = ready.bias_type {
            descriptors.desc.set(4, bias_type)?;
        }
        self.heuristic(&ready.problem, &descriptors, count)
    }

    /// Returns the algorithm with this [number](Algorithm::solution), if the library has it for the product.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul).
    #[doc(alias("getAlgosFromIndex"))]
    pub fn algorithm<'a, A: LtTypes<B, D>, B: Element, D: Element>(
        &'a self,
        how: Matmul<'a, D>,
        a: impl IntoMatrix<'a, A>,
        b: impl IntoMatrix<'a, B>,
        d: impl IntoMatrixMut<'a, D>,
        solution: i32,
    ) -> Result<Option<Algorithm>> {
        let all = self.algorithms(how, a, b, d, usize::MAX)?;
        Ok(all.into_iter().find(|algorithm| algorithm.solution() == solution))
    }

    /// Clears the remembered algorithms, which may no longer be the best.
    pub(crate) fn forget_algorithms(&mut self) {
        self.chosen.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn choose(&self, problem: &Problem, descriptors: &Descriptors) -> Result<Algorithm> {
        let chosen = || self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(algorithm) = chosen().get(problem) {
            return Ok(*algorithm);
        }
        let algorithm = self.heuristic(problem, descriptors, 1)?.into_iter().next();
        let algorithm = match algorithm {
            Some(algorithm) => algorithm,
            None => {
                check(raw::HIPBLAS_STATUS_NOT_SUPPORTED, "hipblasLtMatmulAlgoGetHeuristic", || format!("{problem:?}"))?;
                return Err(invalid(
                    "the problem",
                    format!("{problem:?}"),
                    "one that the library has an algorithm for",
                ));
            }
        };
        chosen().insert(*problem, algorithm);
        Ok(algorithm)
    }

    fn heuristic(&self, problem: &Problem, descriptors: &Descriptors, count: usize) -> Result<Vec<Algorithm>> {
        descriptors.verify(problem)?;
        // SAFETY: the function writes the preference through a valid pointer.
        let create = |to| unsafe { raw::hipblasLtMatmulPreferenceCreate(to) };
        let preference = Object::new(&PREFERENCE, "hipblasLtMatmulPreferenceCreate", create, String::new)?;
        let limit = problem.workspace_limit as u64;
        preference.set(1, limit)?;
        preference.expect(1, limit)?;
        let requested = i32::try_from(count).unwrap_or(i32::MAX).min(1 << 16);
        let mut results = vec![NO_RESULT; requested.max(0) as usize];
        let mut returned = 0;
        let [a, b, c, d] = [0, 1, 2, 3].map(|index| descriptors.layouts[index].raw);
        let device = self.stream().device();
        device.with_current(|| {
            self.handle.configure(|handle| {
                // SAFETY: a handle and descriptors of the problem; the function writes at most as many results as `results` has room for.
                let status = unsafe {
                    raw::hipblasLtMatmulAlgoGetHeuristic(
                        handle,
                        descriptors.desc.raw,
                        a,
                        b,
                        c,
                        d,
                        preference.raw,
                        requested,
                        results.as_mut_ptr(),
                        &mut returned,
                    )
                };
                check(status, "hipblasLtMatmulAlgoGetHeuristic", || format!("{problem:?}"))
            })
        })??;
        results.truncate(usize::try_from(returned).unwrap_or(0));
        let algorithm = |(index, result): (usize, &raw::HeuristicResult)| Algorithm {
            algo: result.algo,
            workspace: result.workspace,
            problem: *problem,
            index,
            waves: result.waves,
        };
        Ok(results.iter().enumerate().filter(|(_, result)| result.state == 0).map(algorithm).collect())
    }

    fn take_work(&self, bytes: usize) -> Result<DeviceBuffer<u8>> {
        match self.work.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(work) if work.len() >= bytes => Ok(work),
            _ => Ok(DeviceBuffer::uninit(&self.stream().device(), bytes.max(256))?),
        }
    }

    /// Takes a workspace back, unless a graph uses it: branches of a graph run concurrently, each with its own
    /// workspace.
    fn put_work(&self, work: DeviceBuffer<u8>) {
        if work.as_slice().is_in_graph() {
            return;
        }
        let mut kept = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|other| other.len() < work.len()) {
            *kept = Some(work);
        }
    }

    fn ready<'a, A: LtTypes<B, D>, B: Element, D: Element>(
        &'a self,
        how: Matmul<'a, D>,
        alpha: ScalarRef<'a, A::Scale>,
        a: MatrixRef<'a, A>,
        b: MatrixRef<'a, B>,
        beta: ScalarRef<'a, A::Scale>,
        d: MatrixMut<'a, D>,
    ) -> Result<Ready<'a>> {
        let mut shapes = Shapes::of("matmul", [("A", (&a).into()), ("B", (&b).into()), ("D", (&d).into())]);
        if let Some(c) = &how.c {
            shapes = shapes.and("C", c.into());
        }
        let fits = |what, found, needed, of| -> Result<()> { Ok(shapes.fits(what, found, needed, of)?) };
        fits("the rows of B", b.rows(), a.cols(), "the columns of A")?;
        fits("the rows of D", d.rows(), a.rows(), "the rows of A")?;
        fits("the columns of D", d.cols(), b.cols(), "the columns of B")?;
        let scale = <A::Scale as Element>::HIP_DATA_TYPE.0;
        let Matmul { compute, epilogue, scale_a, scale_b, scale_d, amax_d, c, workspace_limit, .. } = how;
        let compute = compute_code(scale, compute)?;
        let mut operands = Operands::on(self.stream());
        let factors = [operands.factor("alpha", alpha)?, operands.factor("beta", beta)?];
        let (rows, cols, batch) = (d.rows(), d.cols(), members(d.batch_size())?);
        // For a D that is transposed in memory, A and B change places.
        let turned = d.op().transposed;
        let stored = |rows, cols, op: hip_linalg::Op| if op.transposed { (cols, rows) } else { (rows, cols) };
        let describe = |rows, cols, ld, stride, op| {
            let (rows, cols) = stored(rows, cols, op);
            (rows, cols, ld, stride)
        };
        let d_layout = describe(rows, cols, d.leading_dimension(), d.stride(), d.op());
        let a_layout = describe(a.rows(), a.cols(), a.leading_dimension(), a.stride(), a.op());
        let b_layout = describe(b.rows(), b.cols(), b.leading_dimension(), b.stride(), b.op());
        for (what, found) in
            [("the batch of A", members(a.batch_size())?), ("the batch of B", members(b.batch_size())?)]
        {
            if found != 1 || batch == 0 {
                fits(what, found, batch, "as D")?;
            }
        }
        let code = |transposed: bool| if transposed != turned { 112 } else { 111 };
        let (a_op, b_op) = (code(a.op().transposed), code(b.op().transposed));
        let (c_layout, c_pointer) = match c {
            None => (d_layout, None),
            Some(c) => {
                fits("the rows of C", c.rows(), rows, "as D")?;
                fits("the columns of C", c.cols(), cols, "as D")?;
                if c.op().transposed != turned {
                    return Err(invalid("C", format!("{:?} in memory", c.op()), "as D is in memory"));
                }
                fits("the batch of C", members(c.batch_size())?, batch, "as D")?;
                let layout = describe(rows, cols, c.leading_dimension(), c.stride(), c.op());
                (layout, Some(operands.matrix("C", &c)?.pointer))
            }
        };
        let scales = [scale_a.is_some(), scale_b.is_some(), scale_d.is_some(), amax_d.is_some()];
        let (scale_a, scale_b) = if turned { (scale_b, scale_a) } else { (scale_a, scale_b) };
        let mut addresses = SmallVec::new();
        for (attribute, what, slice) in
            [(5, "the scale of A", scale_a), (6, "the scale of B", scale_b), (8, "the scale of D", scale_d)]
        {
            if let Some(slice) = slice {
                fits(what, slice.len(), 1, "a number")?;
                addresses.push((attribute, operands.slice(what, slice)?.cast_mut()));
            }
        }
        if let Some(slice) = amax_d {
            fits("the maximum of D", slice.len(), 1, "a number")?;
            addresses.push((14, operands.slice_mut("the maximum of D", slice)?));
        }
        let code = epilogue.code();
        let mut aux = (0, 0);
        let mut bias_type = None;
        let long = d_layout.0;
        let bias = |operands: &mut Operands<'a>, slice: DeviceSlice<'a, D>| -> Result<(u32, *mut c_void)> {
            fits("the length of the bias", slice.len(), long, "the rows of D in memory")?;
            Ok((3, operands.slice("the bias", slice)?.cast_mut()))
        };
        let gradient = |operands: &mut Operands<'a>, slice: DeviceSliceMut<'a, D>, len| -> Result<(u32, *mut c_void)> {
            fits("the length of the bias's gradient", slice.len(), len, "as the matrix has it in memory")?;
            Ok((3, operands.slice_mut("the bias's gradient", slice)?))
        };
        let shape_of_aux = |found: (usize, usize), op: hip_linalg::Op, members_: Batch| -> Result<()> {
            fits("the rows of the auxiliary matrix", found.0, rows, "as D")?;
            fits("the columns of the auxiliary matrix", found.1, cols, "as D")?;
            fits("the batch of the auxiliary matrix", members(members_)?, batch, "as D")?;
            if op.transposed == turned {
                Ok(())
            } else {
                Err(invalid("the auxiliary matrix", format!("{op:?}"), "as D is in memory"))
            }
        };
        match epilogue {
            Epilogue::None | Epilogue::Relu | Epilogue::Gelu => {}
            Epilogue::Bias(slice) | Epilogue::ReluBias(slice) | Epilogue::GeluBias(slice) => {
                addresses.push(bias(&mut operands, slice)?);
                bias_type = Some(D::HIP_DATA_TYPE.0);
            }
            Epilogue::GeluAux(out) => {
                shape_of_aux((out.rows(), out.cols()), out.op(), out.batch_size())?;
                aux = (out.leading_dimension(), out.stride());
                addresses.push((10, operands.matrix_mut("the auxiliary matrix", out)?.pointer));
            }
            Epilogue::GeluBiasAux(slice, out) => {
                shape_of_aux((out.rows(), out.cols()), out.op(), out.batch_size())?;
                aux = (out.leading_dimension(), out.stride());
                addresses.push(bias(&mut operands, slice)?);
                bias_type = Some(D::HIP_DATA_TYPE.0);
                addresses.push((10, operands.matrix_mut("the auxiliary matrix", out)?.pointer));
            }
            Epilogue::GeluGradient(input) => {
                shape_of_aux((input.rows(), input.cols()), input.op(), input.batch_size())?;
                aux = (input.leading_dimension(), input.stride());
                addresses.push((10, operands.matrix("the auxiliary matrix", &input)?.pointer));
            }
            Epilogue::GeluBiasGradient(input, out) => {
                shape_of_aux((input.rows(), input.cols()), input.op(), input.batch_size())?;
                aux = (input.leading_dimension(), input.stride());
                addresses.push((10, operands.matrix("the auxiliary matrix", &input)?.pointer));
                addresses.push(gradient(&mut operands, out, long)?);
                bias_type = Some(D::HIP_DATA_TYPE.0);
            }
            Epilogue::BiasGradientA(_) | Epilogue::BiasGradientB(_) if turned => {
                return Err(invalid(
                    "the sums of A's rows or B's columns",
                    "with a row-major D",
                    "with a column-major D",
                ));
            }
            Epilogue::BiasGradientA(out) => {
                addresses.push(gradient(&mut operands, out, rows)?);
                bias_type = Some(D::HIP_DATA_TYPE.0);
            }
            Epilogue::BiasGradientB(out) => {
                addresses.push(gradient(&mut operands, out, cols)?);
                bias_type = Some(D::HIP_DATA_TYPE.0);
            }
        }
        let (a_type, b_type, d_type) = (A::HIP_DATA_TYPE.0, B::HIP_DATA_TYPE.0, D::HIP_DATA_TYPE.0);
        let (a, b) = (operands.matrix("A", &a)?.pointer, operands.matrix("B", &b)?.pointer);
        let d = operands.matrix_mut("D", d)?.pointer;
        let _ = operands.form().map_err(|error| shapes.explain(error))?; // for overlaps
        let (types, ops, layouts, inputs) = if turned {
            ([b_type, a_type, d_type, d_type], [b_op, a_op], [b_layout, a_layout, c_layout, d_layout], [b, a])
        } else {
            ([a_type, b_type, d_type, d_type], [a_op, b_op], [a_layout, b_layout, c_layout, d_layout], [a, b])
        };
        let problem = Problem {
            types,
            compute,
            ops,
            epilogue: code,
            layouts,
            batch,
            scales,
            device_scalars: factors.iter().any(hip_linalg::Factor::is_on_device),
            aux,
            workspace_limit,
        };
        let pointers = [inputs[0], inputs[1], c_pointer.unwrap_or(d), d];
        Ok(Ready { problem, scale, operands, pointers, addresses, factors, bias_type })
    }
}

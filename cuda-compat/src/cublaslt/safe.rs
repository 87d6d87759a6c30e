//! Products of matrices with epilogues, with buffers of [`crate::driver`].

use core::ffi::{c_int, c_void};
use std::sync::Arc;

use super::{result, sys};
use crate::driver::safe::between;
use crate::driver::sys::CUdeviceptr;
use crate::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError, SyncOnDrop};

pub use super::result::CublasError;

const INVALID: CublasError = CublasError(sys::cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE);

/// The device or an operand is not usable; [`CudaContext::check_err`](crate::driver::CudaContext::check_err) returns
/// the reason.
const NOT_READY: CublasError = CublasError(sys::cublasStatus_t::CUBLAS_STATUS_EXECUTION_FAILED);

/// A cuBLASLt handle with a workspace, on a stream.
#[derive(Debug)]
pub struct CudaBlasLT {
    handle: sys::cublasLtHandle_t,
    workspace: Workspace,
    stream: Arc<CudaStream>,
}

// SAFETY: hipBLASLt allows several threads to use a handle.
unsafe impl Send for CudaBlasLT {}
// SAFETY: as above; the workspace is used in the stream's order.
unsafe impl Sync for CudaBlasLT {}

impl CudaBlasLT {
    /// Creates a handle on the device of a stream, which runs its work, and allocates a workspace.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_NOT_INITIALIZED` if hipBLASLt cannot be loaded: [`sys::load_error`] returns the reason;
    /// `CUBLAS_STATUS_ALLOC_FAILED` if the workspace cannot be allocated.
    #[doc(alias("hipblasLtCreate"))]
    pub fn new(stream: Arc<CudaStream>) -> Result<Self, CublasError> {
        stream.context().make_current(NOT_READY)?;
        let workspace =
            Workspace::new(stream.clone()).map_err(|_| CublasError(sys::cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED))?;
        let handle = stream.context().create_apart(NOT_READY, result::create_handle)?;
        Ok(Self { handle, workspace, stream })
    }
}

impl Drop for CudaBlasLT {
    fn drop(&mut self) {
        let (stream, handle) = (Arc::clone(&self.stream), crate::driver::safe::Shared(self.handle));
        self.stream.context().destroy_apart_after_graphs(move || {
            // If it fails, its context keeps the reason.
            let _ = stream.context().make_current(());
            // A handle that the library does not destroy is leaked: a panic in `drop` could end the process.
            // SAFETY: it is alive, and not used again.
            let _ = unsafe { result::destroy_handle(handle.get()) };
        });
    }
}

/// The workspace of algorithms: 32 MiB.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub(crate) buffer: CudaSlice<u8>,
    pub(crate) size: usize,
}

impl Workspace {
    /// Allocates a workspace on the device of a stream.
    ///
    /// # Errors
    /// If it cannot be allocated.
    pub fn new(stream: Arc<CudaStream>) -> Result<Self, DriverError> {
        let ctx = stream.context();
        ctx.bind_to_thread()?;
        let size = 32 << 20;
        // SAFETY: uninitialized bytes, which are not read before they are written.
        let buffer = unsafe { stream.alloc::<u8>(size)? };
        Ok(Self { buffer, size })
    }
}

/// The function that is applied to each element of a product, after the bias.
#[derive(Debug, Clone)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// The Gaussian error linear unit, approximated with `tanh`.
    Gelu,
}

/// The layout of a matrix.
struct MatrixLayout(sys::cublasLtMatrixLayout_t);

impl MatrixLayout {
    fn new(ty: sys::cudaDataType, rows: u64, columns: u64, leading: i64) -> Result<Self, CublasError> {
        result::create_matrix_layout(ty, rows, columns, leading).map(Self)
    }

    fn set<T>(&self, attribute: sys::cublasLtMatrixLayoutAttribute_t, value: T) -> Result<(), CublasError> {
        // SAFETY: the layout is alive, and the value has this size.
        unsafe { result::set_matrix_layout_attribute(self.0, attribute, (&raw const value).cast(), size_of::<T>()) }
    }

    fn set_batch(&self, size: c_int, stride: i64) -> Result<(), CublasError> {
        use sys::cublasLtMatrixLayoutAttribute_t as Attribute;
        self.set(Attribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, size)?;
        self.set(Attribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride)
    }
}

impl Drop for MatrixLayout {
    fn drop(&mut self) {
        // SAFETY: it is alive, and not used again.
        let _ = unsafe { result::destroy_matrix_layout(self.0) };
    }
}

/// The descriptor of a product.
struct MatmulDesc(sys::cublasLtMatmulDesc_t);

impl MatmulDesc {
    fn set<T>(&self, attribute: sys::cublasLtMatmulDescAttributes_t, value: T) -> Result<(), CublasError> {
        // SAFETY: the descriptor is alive, and the value has this size.
        unsafe { result::set_matmul_desc_attribute(self.0, attribute, (&raw const value).cast(), size_of::<T>()) }
    }

    fn set_epilogue(&self, act: Option<&Activation>, bias: Option<CUdeviceptr>) -> Result<(), CublasError> {
        use sys::{cublasLtEpilogue_t as Epilogue, cublasLtMatmulDescAttributes_t as Attribute};
        if let Some(bias) = bias {
            self.set(Attribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias)?;
        }
        let epilogue = match (act, bias) {
            (None, None) => Epilogue::CUBLASLT_EPILOGUE_DEFAULT,
            (None, Some(_)) => Epilogue::CUBLASLT_EPILOGUE_BIAS,
            (Some(Activation::Relu), None) => Epilogue::CUBLASLT_EPILOGUE_RELU,
            (Some(Activation::Relu), Some(_)) => Epilogue::CUBLASLT_EPILOGUE_RELU_BIAS,
            (Some(Activation::Gelu), None) => Epilogue::CUBLASLT_EPILOGUE_GELU,
            (Some(Activation::Gelu), Some(_)) => Epilogue::CUBLASLT_EPILOGUE_GELU_BIAS,
        };
        self.set(Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue)
    }

    #[cfg(feature = "rocm-10-0")]
    fn set_bias_stride(&self, stride: i64) -> Result<(), CublasError> {
        self.set(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, stride)
    }

    #[cfg(not(feature = "rocm-10-0"))]
    #[allow(clippy::unused_self, reason = "the form of ROCm 10.0")]
    fn set_bias_stride(&self, _: i64) -> Result<(), CublasError> {
        Err(CublasError(sys::cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED))
    }
}

impl Drop for MatmulDesc {
    fn drop(&mut self) {
        // SAFETY: it is alive, and not used again.
        let _ = unsafe { result::destroy_matmul_desc(self.0) };
    }
}

/// Preferences for the algorithm search.
struct MatmulPref(sys::cublasLtMatmulPreference_t);

impl MatmulPref {
    fn new(workspace: usize) -> Result<Self, CublasError> {
        let preference = Self(result::create_matmul_pref()?);
        let attribute = sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
        let value: *const c_void = (&raw const workspace).cast();
        // SAFETY: the preferences are alive, and the value has this size.
        unsafe { result::set_matmul_pref_attribute(preference.0, attribute, value, size_of::<usize>()) }?;
        Ok(preference)
    }
}

impl Drop for MatmulPref {
    fn drop(&mut self) {
        // SAFETY: they are alive, and not used again.
        let _ = unsafe { result::destroy_matmul_pref(self.0) };
    }
}

/// The parts of a handle that [`Matmul`] needs.
pub trait MatmulShared {
    /// Returns the handle.
    fn handle(&self) -> &sys::cublasLtHandle_t;

    /// Returns the workspace.
    fn workspace(&self) -> &Workspace;

    /// Returns the stream.
    fn stream(&self) -> &Arc<CudaStream>;
}

/// The arguments of [`Matmul::matmul`].
#[derive(Debug, Copy, Clone)]
pub struct MatmulConfig {
    /// Whether `A` is transposed.
    pub transa: bool,
    /// Whether `B` is transposed.
    pub transb: bool,
    /// Whether `C` is transposed: not supported.
    pub transc: bool,
    /// The rows of `op(A)` and `C`.
    pub m: u64,
    /// The columns of `op(B)` and `C`.
    pub n: u64,
    /// The columns of `op(A)` and the rows of `op(B)`.
    pub k: u64,
    /// The factor of the product.
    pub alpha: f32,
    /// The distance between columns of `A`.
    pub lda: i64,
    /// The distance between columns of `B`.
    pub ldb: i64,
    /// The factor of `C`.
    pub beta: f32,
    /// The distance between columns of `C`.
    pub ldc: i64,
    /// The distance between two `A` of a batch, in elements.
    pub stride_a: Option<i64>,
    /// The distance between two `B` of a batch, in elements.
    pub stride_b: Option<i64>,
    /// The distance between two `C` of a batch, in elements.
    pub stride_c: Option<i64>,
    /// The distance between two biases of a batch, in elements: needs ROCm 10.0.
    pub stride_bias: Option<i64>,
    /// The number of products; one if `None`.
    pub batch_size: Option<c_int>,
}

impl MatmulConfig {
    /// Returns the rows and columns of `A`, `B` and `C` as they are stored.
    fn shapes(&self) -> [(u64, u64); 3] {
        let swapped =
            |is_transposed: bool, (rows, columns)| if is_transposed { (columns, rows) } else { (rows, columns) };
        [swapped(self.transa, (self.m, self.k)), swapped(self.transb, (self.k, self.n)), (self.m, self.n)]
    }

    /// Returns the batch size and the stride of an operand.
    fn batch(&self, stride: Option<i64>) -> Option<(c_int, i64)> {
        self.batch_size.zip(stride)
    }

    /// Returns an error for operands that are too short: lengths of `A`, `B`, `C` and the bias.
    fn check(&self, has: [usize; 3], bias: Option<usize>) -> Result<(), CublasError> {
        let strides = [self.stride_a, self.stride_b, self.stride_c];
        let leading = [self.lda, self.ldb, self.ldc];
        for (operand, (rows, columns)) in self.shapes().into_iter().enumerate() {
            let needs = elements(rows, columns, leading[operand], self.batch(strides[operand]))?;
            if u128::from(has[operand] as u64) < needs {
                return Err(INVALID);
            }
        }
        let bias_needs =
            elements(self.m, 1, i64::try_from(self.m).map_err(|_| INVALID)?, self.batch(self.stride_bias))?;
        match bias {
            Some(has) if u128::from(has as u64) < bias_needs => Err(INVALID),
            _ => Ok(()),
        }
    }
}

/// Returns the number of elements of a batch of column-major matrices.
fn elements(rows: u64, columns: u64, leading: i64, batch: Option<(c_int, i64)>) -> Result<u128, CublasError> {
    let leading = u64::try_from(leading).map_err(|_| INVALID)?;
    if leading < rows {
        return Err(INVALID);
    }
    let (count, stride) = batch.unwrap_or((1, 0));
    let (count, stride) = (u64::try_from(count).map_err(|_| INVALID)?, u64::try_from(stride).map_err(|_| INVALID)?);
    if rows == 0 || columns == 0 || count == 0 {
        return Ok(0);
    }
    let [rows, columns, leading, count, stride] = [rows, columns, leading, count, stride].map(u128::from);
    // Each product is below 2^127.
    Ok((count - 1) * stride + (columns - 1) * leading + rows)
}

/// Products of matrices.
#[diagnostic::on_unimplemented(note = "`half::f16` and `bf16` need the feature `f16` of `cuda-compat`")]
pub trait Matmul<T>: MatmulShared {
    /// Returns the element's type.
    fn matrix_type() -> sys::cudaDataType;

    /// Returns the type of sums.
    fn compute_type() -> sys::cublasComputeType_t;

    /// Queues `C = act(alpha · op(A) · op(B) + beta · C + bias)`. Matrices are column-major; the bias has an element
    /// for each row of `C`. The algorithm is the library's first choice.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` if an operand has fewer elements than the configuration states;
    /// `CUBLAS_STATUS_NOT_SUPPORTED` for `transc`, for `stride_bias` before ROCm 10.0, and if the library has no
    /// algorithm.
    ///
    /// # Safety
    /// `T` must be the element's type, and no other thread may queue work of this handle on another stream.
    #[doc(alias("hipblasLtMatmul"))]
    unsafe fn matmul<I: DevicePtr<T>, O: DevicePtrMut<T>>(
        &self,
        cfg: MatmulConfig,
        a: &I,
        b: &I,
        c: &mut O,
        bias: Option<&I>,
        act: Option<&Activation>,
    ) -> Result<(), CublasError> {
        use sys::cublasLtMatmulDescAttributes_t as Attribute;

        cfg.check([a.len(), b.len(), c.len()], bias.map(|bias| bias.len()))?;
        let (stream, workspace) = (self.stream(), self.workspace());
        let layout = |(rows, columns), leading, stride| {
            let layout = MatrixLayout::new(Self::matrix_type(), rows, columns, leading)?;
            if let Some((size, stride)) = cfg.batch(stride) {
                layout.set_batch(size, stride)?;
            }
            Ok(layout)
        };
        let [of_a, of_b, of_c] = cfg.shapes();
        let of_a = layout(of_a, cfg.lda, cfg.stride_a)?;
        let of_b = layout(of_b, cfg.ldb, cfg.stride_b)?;
        let of_c = layout(of_c, cfg.ldc, cfg.stride_c)?;

        let desc = MatmulDesc(result::create_matmul_desc(Self::compute_type(), sys::cudaDataType_t::CUDA_R_32F)?);
        desc.set(Attribute::CUBLASLT_MATMUL_DESC_TRANSA, u32::from(cfg.transa))?;
        desc.set(Attribute::CUBLASLT_MATMUL_DESC_TRANSB, u32::from(cfg.transb))?;
        desc.set(Attribute::CUBLASLT_MATMUL_DESC_TRANSC, u32::from(cfg.transc))?;
        let (bias, bias_read) = bias.map(|bias| bias.device_ptr(stream)).unzip();
        desc.set_epilogue(act, bias)?;
        if let (Some(_), Some(stride)) = (bias, cfg.stride_bias) {
            desc.set_bias_stride(stride)?;
        }

        let preferences = MatmulPref::new(workspace.size)?;
        // SAFETY: all handles are alive.
        let heuristic = unsafe {
            result::get_matmul_algo_heuristic(*self.handle(), desc.0, of_a.0, of_b.0, of_c.0, of_c.0, preferences.0)
        }?;
        let (a, a_read) = a.device_ptr(stream);
        let (b, b_read) = b.device_ptr(stream);
        let (c, c_written) = c.device_ptr_mut(stream);
        let (scratch, scratch_used) = workspace.buffer.device_ptr(stream);
        let bias_read = bias_read.unwrap_or(SyncOnDrop::Record(None));
        let used = [bias_read, a_read, b_read, c_written, scratch_used];
        between(NOT_READY, stream.context(), used, || {
            // SAFETY: all handles are alive, operands are long enough, scalars have single precision as in the descriptor, and the
            // workspace is only used in stream order.
            unsafe {
                result::matmul(
                    *self.handle(),
                    desc.0,
                    (&raw const cfg.alpha).cast(),
                    (&raw const cfg.beta).cast(),
                    a as *const _,
                    of_a.0,
                    b as *const _,
                    of_b.0,
                    c as *const _,
                    of_c.0,
                    c as *mut _,
                    of_c.0,
                    &heuristic.algo,
                    scratch as *mut _,
                    workspace.size,
                    stream.cu_stream() as _,
                )
            }
        })
    }
}

impl MatmulShared for CudaBlasLT {
    fn handle(&self) -> &sys::cublasLtHandle_t {
        &self.handle
    }

    fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }
}

macro_rules! matmul {
    ($($(#[$attribute:meta])* $ty:ty: $data:ident, $compute:ident;)+) => {$(
        $(#[$attribute])*
        impl Matmul<$ty> for CudaBlasLT {
            fn matrix_type() -> sys::cudaDataType {
                sys::cudaDataType_t::$data
            }

            fn compute_type() -> sys::cublasComputeType_t {
                sys::cublasComputeType_t::$compute
            }
        }
    )+};
}

matmul! {
    // Not cudarc's fast type, whose factors have ten bits: few AMD GPUs support it.
    f32: CUDA_R_32F, CUBLAS_COMPUTE_32F;
    #[cfg(feature = "f16")]
    half::f16: CUDA_R_16F, CUBLAS_COMPUTE_32F;
    #[cfg(feature = "f16")]
    half::bf16: CUDA_R_16BF, CUBLAS_COMPUTE_32F;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_have_what_their_layout_needs() {
        assert_eq!(elements(3, 2, 5, None), Ok(8));
        assert_eq!(elements(3, 2, 5, Some((3, 10))), Ok(28));
        assert_eq!(elements(3, 2, 5, Some((3, 0))), Ok(8));
        assert_eq!(elements(0, 2, 5, None), Ok(0));
        assert_eq!(elements(3, 2, 2, None), Err(INVALID));
        assert_eq!(elements(3, 2, -3, None), Err(INVALID));
        assert_eq!(elements(3, 2, 5, Some((3, -1))), Err(INVALID));
        assert!(elements(1, u64::MAX, i64::MAX, Some((c_int::MAX, i64::MAX))).is_ok());
    }
}

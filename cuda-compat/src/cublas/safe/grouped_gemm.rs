use crate::cublas::{CublasError, CudaBlas, GemmConfig, sys};
use crate::driver::{DevicePtr, DevicePtrMut, DeviceRepr};

/// An element type of grouped products.
#[diagnostic::on_unimplemented(note = "`half::f16` and `bf16` need the feature `f16` of `cuda-compat`")]
pub trait GroupedGemmDtype: DeviceRepr {
    /// The type of scalars and sums.
    type ComputeType: DeviceRepr + Copy;

    /// Returns the element's type.
    fn data_type() -> sys::cudaDataType_t;

    /// Returns the type of sums, which is that of [`ComputeType`](Self::ComputeType).
    fn compute_type() -> sys::cublasComputeType_t;
}

#[cfg(feature = "f16")]
impl GroupedGemmDtype for half::f16 {
    type ComputeType = f32;

    fn data_type() -> sys::cudaDataType_t {
        sys::cudaDataType_t::CUDA_R_16F
    }

    fn compute_type() -> sys::cublasComputeType_t {
        sys::cublasComputeType_t::CUBLAS_COMPUTE_32F
    }
}

#[cfg(feature = "f16")]
impl GroupedGemmDtype for half::bf16 {
    type ComputeType = f32;

    fn data_type() -> sys::cudaDataType_t {
        sys::cudaDataType_t::CUDA_R_16BF
    }

    fn compute_type() -> sys::cublasComputeType_t {
        sys::cublasComputeType_t::CUBLAS_COMPUTE_32F
    }
}

/// The arguments of [`GroupedGemm::grouped_gemm`]: each list has one entry per group.
pub struct GroupedGemmConfig<T: GroupedGemmDtype> {
    /// The operation on `B`.
    pub transbs: Vec<sys::cublasOperation_t>,
    /// The operation on `A`.
    pub transas: Vec<sys::cublasOperation_t>,
    /// The rows of `op(A)` and `C`.
    pub ms: Vec<usize>,
    /// The columns of `op(B)` and `C`.
    pub ns: Vec<usize>,
    /// The columns of `op(A)` and the rows of `op(B)`.
    pub ks: Vec<usize>,
    /// The factor of the product.
    pub alphas: Vec<T::ComputeType>,
    /// The factor of `C`.
    pub betas: Vec<T::ComputeType>,
    /// The distance between columns of `A`.
    pub ldas: Vec<usize>,
    /// The distance between columns of `B`.
    pub ldbs: Vec<usize>,
    /// The distance between columns of `C`.
    pub ldcs: Vec<usize>,
    /// The number of products.
    pub problem_sizes: Vec<usize>,
}

impl<T: GroupedGemmDtype> GroupedGemmConfig<T> {
    /// Returns the number of products in all groups.
    pub fn problem_count(&self) -> usize {
        self.problem_sizes.iter().sum()
    }

    /// Returns the number of groups.
    pub fn group_count(&self) -> usize {
        self.problem_sizes.len()
    }

    /// Checks that each list has an entry for each group.
    ///
    /// # Panics
    /// If a list has another length.
    #[inline]
    pub fn validate(&self) {
        let lists = [
            ("transbs", self.transbs.len()),
            ("transas", self.transas.len()),
            ("ms", self.ms.len()),
            ("ns", self.ns.len()),
            ("ks", self.ks.len()),
            ("alphas", self.alphas.len()),
            ("betas", self.betas.len()),
            ("ldas", self.ldas.len()),
            ("ldbs", self.ldbs.len()),
            ("ldcs", self.ldcs.len()),
        ];
        for (name, len) in lists {
            assert_eq!(len, self.group_count(), "{name} must have an entry for each entry of problem_sizes");
        }
    }

    /// Returns the arguments of a group's products.
    fn group(&self, group: usize) -> Result<GemmConfig<T::ComputeType>, CublasError> {
        let int =
            |size: usize| size.try_into().map_err(|_| CublasError(sys::cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE));
        Ok(GemmConfig {
            transa: self.transas[group],
            transb: self.transbs[group],
            m: int(self.ms[group])?,
            n: int(self.ns[group])?,
            k: int(self.ks[group])?,
            alpha: self.alphas[group],
            lda: int(self.ldas[group])?,
            ldb: int(self.ldbs[group])?,
            beta: self.betas[group],
            ldc: int(self.ldcs[group])?,
        })
    }
}

/// Products of matrices whose sizes differ from group to group.
pub trait GroupedGemm<T: GroupedGemmDtype> {
    /// Queues `C = alpha · op(A) · op(B) + beta · C` for each problem, group after group.
    ///
    /// hipBLAS has no grouped product, so each problem is one call, and nothing is copied to the device.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` if a size does not fit, or an operand has fewer elements than the configuration
    /// states: then nothing is queued.
    ///
    /// # Panics
    /// If a list of the configuration does not have an entry for each group, or if `a_slices`, `b_slices` or `c_slices`
    /// does not have a slice for each problem.
    ///
    /// # Safety
    /// No other thread may make a call with this handle at the same time. In `CUBLAS_POINTER_MODE_DEVICE`, calls read
    /// `alpha` and `beta` on the device, but the configuration is on the host.
    unsafe fn grouped_gemm<A: DevicePtr<T>, B: DevicePtr<T>, C: DevicePtrMut<T>>(
        &self,
        config: GroupedGemmConfig<T>,
        a_slices: &[&A],
        b_slices: &[&B],
        c_slices: &mut [&mut C],
    ) -> Result<(), CublasError>;
}

impl<T: GroupedGemmDtype> GroupedGemm<T> for CudaBlas {
    unsafe fn grouped_gemm<A: DevicePtr<T>, B: DevicePtr<T>, C: DevicePtrMut<T>>(
        &self,
        config: GroupedGemmConfig<T>,
        a_slices: &[&A],
        b_slices: &[&B],
        c_slices: &mut [&mut C],
    ) -> Result<(), CublasError> {
        config.validate();
        let count = config.problem_count();
        for (name, len) in [("a_slices", a_slices.len()), ("b_slices", b_slices.len()), ("c_slices", c_slices.len())] {
            assert_eq!(len, count, "{name} must have a slice for each problem");
        }
        let groups = config.problem_sizes.iter().enumerate();
        let of: Vec<usize> = groups.flat_map(|(group, &problems)| std::iter::repeat_n(group, problems)).collect();
        let configs = (0..config.group_count()).map(|group| config.group(group)).collect::<Result<Vec<_>, _>>()?;
        for (problem, &group) in of.iter().enumerate() {
            configs[group].check([a_slices[problem].len(), b_slices[problem].len(), c_slices[problem].len()])?;
        }
        for (problem, &group) in of.iter().enumerate() {
            let cfg = &configs[group];
            let (a, a_read) = a_slices[problem].device_ptr(&self.stream);
            let (b, b_read) = b_slices[problem].device_ptr(&self.stream);
            let (c, c_written) = c_slices[problem].device_ptr_mut(&self.stream);
            let call = || {
                // SAFETY: operands are long enough, and the rest is the caller's contract.
                unsafe {
                    crate::cublas::result::gemm_ex(
                        self.handle,
                        cfg.transa,
                        cfg.transb,
                        cfg.m,
                        cfg.n,
                        cfg.k,
                        (&raw const cfg.alpha).cast(),
                        a as *const _,
                        T::data_type(),
                        cfg.lda,
                        b as *const _,
                        T::data_type(),
                        cfg.ldb,
                        (&raw const cfg.beta).cast(),
                        c as *mut _,
                        T::data_type(),
                        cfg.ldc,
                        T::compute_type(),
                        sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
                    )
                }
            };
            // SAFETY: the caller's contract.
            unsafe { self.queue([a_read, b_read, c_written], call) }?;
        }
        Ok(())
    }
}

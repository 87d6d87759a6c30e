use cuda_compat::cublaslt::result::CublasError;
use cuda_compat::cublaslt::sys::cublasStatus_t;
use cuda_compat::cublaslt::{Activation, CudaBlasLT, Matmul, MatmulConfig, MatmulShared as _};
use cuda_compat::driver::DeviceRepr;
use half::{bf16, f16};
use linalg_testing::{Number, Rng};

use crate::{assert_near, stream_with};

macro_rules! blas {
    () => {{
        let Some(stream) = stream_with!(cublaslt, "hipblasLtCreate") else { return };
        (stream.clone(), CudaBlasLT::new(stream).unwrap())
    }};
}

fn error(status: cublasStatus_t) -> Result<(), CublasError> {
    Err(CublasError(status))
}

const CONFIG: MatmulConfig = MatmulConfig {
    transa: false,
    transb: false,
    transc: false,
    m: 17,
    n: 5,
    k: 9,
    alpha: 1.5,
    lda: 17,
    ldb: 9,
    beta: 0.5,
    ldc: 17,
    stride_a: None,
    stride_b: None,
    stride_c: None,
    stride_bias: None,
    batch_size: None,
};

/// The reference of GELU by `tanh`.
fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
}

fn products<T: Number + DeviceRepr>(seed: u64, eps: f64)
where
    CudaBlasLT: Matmul<T>,
{
    let (stream, blas) = blas!();
    let mut rng = Rng::new(seed);
    let wide = |number: T| number.wide().re;
    let cases = [
        (CONFIG, false, None),
        (MatmulConfig { transa: true, lda: 9, ..CONFIG }, true, None),
        (MatmulConfig { transb: true, ldb: 5, ..CONFIG }, true, Some(Activation::Relu)),
        (
            MatmulConfig { stride_a: Some(160), stride_b: Some(0), stride_c: Some(90), batch_size: Some(2), ..CONFIG },
            false,
            Some(Activation::Relu),
        ),
        (MatmulConfig { beta: 0.0, ..CONFIG }, true, Some(Activation::Gelu)),
    ];
    for (cfg, has_bias, act) in cases {
        let a = rng.numbers::<T>(160 + 17 * 9);
        let b = rng.numbers::<T>(9 * 5);
        let before = rng.numbers::<T>(90 + 17 * 5);
        let bias = rng.numbers::<T>(17);
        let [on_a, on_b, on_bias] = [&a, &b, &bias].map(|host| stream.clone_htod(host).unwrap());
        let mut c = stream.clone_htod(&before).unwrap();
        let on_bias = has_bias.then_some(&on_bias);
        // SAFETY: the element's type is T, and only this thread queues work.
        unsafe { blas.matmul(cfg, &on_a, &on_b, &mut c, on_bias, act.as_ref()) }.unwrap();
        let after = stream.clone_dtoh(&c).unwrap();
        for product in 0..cfg.batch_size.unwrap_or(1) as usize {
            for (column, row) in (0..5).flat_map(|column| (0..17).map(move |row| (column, row))) {
                let place = 90 * product + 17 * column + row;
                let old = f64::from(cfg.beta) * wide(before[place]);
                let (mut sum, mut size) = (old, old.abs());
                for k in 0..9 {
                    let a = wide(a[160 * product + if cfg.transa { 9 * row + k } else { 17 * k + row }]);
                    let b = wide(b[if cfg.transb { 5 * k + column } else { 9 * column + k }]);
                    sum += f64::from(cfg.alpha) * a * b;
                    size += (1.5 * a * b).abs();
                }
                if has_bias {
                    sum += wide(bias[row]);
                    size += wide(bias[row]).abs();
                }
                let want = match act {
                    None => sum,
                    Some(Activation::Relu) => sum.max(0.0),
                    Some(Activation::Gelu) => gelu(sum),
                };
                assert_near(&format!("{cfg:?} {act:?} {row}, {column}"), wide(after[place]), want, size, 16.0 * eps);
            }
        }
    }
}

#[test]
fn products_with_bias_and_activation_are_those_of_the_reference() {
    products::<f32>(1, f64::from(f32::EPSILON));
    products::<f16>(2, 1e-3);
    products::<bf16>(3, 8e-3);
}

#[test]
fn what_does_not_fit_is_refused_before_the_call() {
    let (stream, blas) = blas!();
    let [a, b] = [17 * 9, 9 * 5].map(|len| stream.clone_htod(&vec![1.0_f32; len]).unwrap());
    let mut c = stream.clone_htod(&vec![2.0_f32; 17 * 5]).unwrap();
    let invalid = error(cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE);
    let unsupported = error(cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED);
    let bias = stream.clone_htod(&[1.0_f32; 17]).unwrap();
    // SAFETY: the element's type is f32, and only this thread queues work.
    let mut call = |cfg, bias| unsafe { blas.matmul(cfg, &a, &b, &mut c, bias, None) };
    let wrong = [
        MatmulConfig { k: 10, ldb: 10, ..CONFIG },
        MatmulConfig { lda: 16, ..CONFIG },
        MatmulConfig { ldc: -1, ..CONFIG },
        MatmulConfig { n: u64::MAX, ..CONFIG },
        MatmulConfig { stride_a: Some(1), batch_size: Some(2), ..CONFIG },
        MatmulConfig { stride_c: Some(-1), batch_size: Some(2), ..CONFIG },
    ];
    for cfg in wrong {
        assert_eq!(call(cfg, None), invalid, "{cfg:?}");
    }
    let short = stream.clone_htod(&[1.0_f32; 16]).unwrap();
    assert_eq!(call(CONFIG, Some(&short)), invalid);
    assert_eq!(call(MatmulConfig { transc: true, ..CONFIG }, None), unsupported);
    let strided = MatmulConfig { stride_bias: Some(0), batch_size: Some(1), ..CONFIG };
    // The library of 10.0 supports the attribute; older ones reject it.
    assert!(call(strided, Some(&bias)).is_err() || !linalg_testing::before((10, 0)));
    assert_eq!(stream.clone_dtoh(&c).unwrap(), vec![2.0; 17 * 5]);
    assert!(!blas.handle().is_null());
}

use cuda_compat::cublas::result::{self, CublasError};
use cuda_compat::cublas::sys::{cublasOperation_t, cublasPointerMode_t, cublasStatus_t};
use cuda_compat::cublas::{
    Asum, AsumConfig, CudaBlas, Gemm, GemmConfig, Gemv, GemvConfig, GroupedGemm, GroupedGemmConfig,
    StridedBatchedConfig,
};
use cuda_compat::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cuda_compat::driver::{DevicePtr, DevicePtrMut, DeviceRepr, ValidAsZeroBits};
use half::{bf16, f16};
use linalg_testing::{Number, Rng};

use crate::{assert_near, stream_with};

const N: cublasOperation_t = cublasOperation_t::CUBLAS_OP_N;
const T: cublasOperation_t = cublasOperation_t::CUBLAS_OP_T;
const INVALID: Result<(), CublasError> = Err(CublasError(cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE));

macro_rules! blas {
    () => {{
        let Some(stream) = stream_with!(cublas, "hipblasCreate") else { return };
        (stream.clone(), CudaBlas::new(stream).unwrap())
    }};
}

fn wide<T: Number>(number: T) -> f64 {
    number.wide().re
}

/// `op(A)` at a place, by columns.
fn at<T: Number>(a: &[T], op: cublasOperation_t, leading: i32, row: i32, column: i32) -> f64 {
    let (row, column) = if op == N { (row, column) } else { (column, row) };
    wide(a[(column * leading + row) as usize])
}

/// Holds each element of a product to the reference: `alpha · op(A) · op(B) + beta · C`, where `before` is C.
fn assert_product<T: Number>(cfg: &GemmConfig<T>, [a, b, before, after]: [&[T]; 4], eps: f64) {
    for column in 0..cfg.n {
        for row in 0..cfg.m {
            let place = (column * cfg.ldc + row) as usize;
            let (alpha, beta, old) = (wide(cfg.alpha), wide(cfg.beta), wide(before[place]));
            let (mut want, mut size) = (beta * old, (beta * old).abs());
            for k in 0..cfg.k {
                let term = alpha * at(a, cfg.transa, cfg.lda, row, k) * at(b, cfg.transb, cfg.ldb, k, column);
                want += term;
                size += term.abs();
            }
            assert_near(&format!("{row}, {column}"), wide(after[place]), want, size, eps * f64::from(cfg.k + 3));
        }
    }
    // Memory between columns does not change.
    for (place, (before, after)) in before.iter().zip(after).enumerate() {
        if place as i32 % cfg.ldc >= cfg.m {
            assert_eq!(wide(*before), wide(*after), "gap at {place}");
        }
    }
}

fn config<T>(rng: &mut Rng, alpha: T, beta: T) -> GemmConfig<T> {
    let mut size = || rng.one_of(&[1, 2, 3, 8, 17]);
    let (m, n, k) = (size(), size(), size());
    let (transa, transb) = (rng.one_of(&[N, T]), rng.one_of(&[N, T]));
    let rows = |op, rows, columns| if op == N { rows } else { columns };
    GemmConfig {
        transa,
        transb,
        m,
        n,
        k,
        alpha,
        lda: rows(transa, m, k) + rng.one_of(&[0, 3]),
        ldb: rows(transb, k, n) + rng.one_of(&[0, 3]),
        beta,
        ldc: m + rng.one_of(&[0, 3]),
    }
}

fn products<T: Number + DeviceRepr + ValidAsZeroBits>(seed: u64, eps: f64)
where
    CudaBlas: Gemm<T>,
{
    let (stream, blas) = blas!();
    let mut rng = Rng::new(seed);
    let narrow = |value: f64| T::narrow(value.into());
    for _ in 0..4 {
        let cfg = config(&mut rng, narrow(1.5), narrow(-0.5));
        let columns = |op, columns, rows| if op == N { columns } else { rows };
        let lens =
            [cfg.lda * columns(cfg.transa, cfg.k, cfg.m), cfg.ldb * columns(cfg.transb, cfg.n, cfg.k), cfg.ldc * cfg.n];
        let [a, b, c] = lens.map(|len| rng.numbers::<T>(len as usize));
        let [on_a, on_b] = [&a, &b].map(|host| stream.clone_htod(host).unwrap());
        let mut on_c = stream.clone_htod(&c).unwrap();
        // SAFETY: scalars are on the host.
        unsafe { blas.gemm(cfg, &on_a, &on_b, &mut on_c) }.unwrap();
        assert_product(&cfg, [&a, &b, &c, &stream.clone_dtoh(&on_c).unwrap()], eps);

        // Three products with one A, and gaps between the others.
        let (stride_b, stride_c) = (lens[1] as usize + 5, lens[2] as usize + 2);
        let b = rng.numbers::<T>(2 * stride_b + lens[1] as usize);
        let c = rng.numbers::<T>(2 * stride_c + lens[2] as usize);
        let (on_b, mut on_c) = (stream.clone_htod(&b).unwrap(), stream.clone_htod(&c).unwrap());
        let batch = StridedBatchedConfig {
            gemm: cfg,
            batch_size: 3,
            stride_a: 0,
            stride_b: stride_b as i64,
            stride_c: stride_c as i64,
        };
        // SAFETY: scalars are on the host.
        unsafe { blas.gemm_strided_batched(batch, &on_a, &on_b, &mut on_c) }.unwrap();
        let after = stream.clone_dtoh(&on_c).unwrap();
        for product in 0..3 {
            let c_of = product * stride_c..product * stride_c + lens[2] as usize;
            assert_product(&cfg, [&a, &b[product * stride_b..], &c[c_of.clone()], &after[c_of]], eps);
        }
    }
}

#[test]
fn products_of_each_type_are_those_of_the_reference() {
    products::<f32>(1, f64::from(f32::EPSILON));
    products::<f64>(2, f64::EPSILON);
    products::<f16>(3, 1e-3);
    products::<bf16>(4, 8e-3);
}

#[test]
fn a_vector_is_multiplied_with_increments() {
    let (stream, blas) = blas!();
    let mut rng = Rng::new(5);
    for trans in [N, T] {
        let (m, n, lda, incx, incy) = (7, 5, 9, 2, 3);
        let (input, output) = if trans == N { (n, m) } else { (m, n) };
        let a = rng.numbers::<f64>((lda * n) as usize);
        let x = rng.numbers::<f64>((1 + (input - 1) * incx) as usize);
        let y = rng.numbers::<f64>((1 + (output - 1) * incy) as usize);
        let (on_a, on_x) = (stream.clone_htod(&a).unwrap(), stream.clone_htod(&x).unwrap());
        let mut on_y = stream.clone_htod(&y).unwrap();
        let cfg = GemvConfig { trans, m, n, alpha: 2.0, lda, incx, beta: 0.5, incy };
        // SAFETY: scalars are on the host.
        unsafe { blas.gemv(cfg, &on_a, &on_x, &mut on_y) }.unwrap();
        let after = stream.clone_dtoh(&on_y).unwrap();
        for row in 0..output {
            let place = (row * incy) as usize;
            let terms = (0..input).map(|k| 2.0 * at(&a, trans, lda, row, k) * x[(k * incx) as usize]);
            let (want, size) =
                terms.fold((0.5 * y[place], 0.0), |(sum, size), term: f64| (sum + term, size + term.abs()));
            assert_near("y", after[place], want, size + y[place].abs(), 10.0 * f64::EPSILON);
        }
        let short = GemvConfig { incx: incx + 1, ..cfg };
        // SAFETY: scalars are on the host.
        assert_eq!(unsafe { blas.gemv(short, &on_a, &on_x, &mut on_y) }, INVALID);
    }
    let (a, x) = (stream.clone_htod(&[1.0_f32, 2.0]).unwrap(), stream.clone_htod(&[3.0_f32, 4.0]).unwrap());
    let mut y = stream.alloc_zeros::<f32>(1).unwrap();
    let cfg = GemvConfig { trans: T, m: 2, n: 1, alpha: 1.0, lda: 2, incx: 1, beta: 0.0, incy: 1 };
    // SAFETY: scalars are on the host.
    unsafe { blas.gemv(cfg, &a, &x, &mut y) }.unwrap();
    assert_eq!(stream.clone_dtoh(&y).unwrap(), [11.0]);
}

#[test]
fn absolute_values_are_summed() {
    let (stream, blas) = blas!();
    let x = stream.clone_htod(&[1.0_f64, -2.0, 4.0, -8.0, 16.0]).unwrap();
    let mut sum = -1.0;
    // SAFETY: the result is on the host.
    let mut asum = |n, incx| unsafe { blas.asum(AsumConfig { n, incx }, &x, &mut sum) }.map(|()| sum);
    assert_eq!(asum(5, 1), Ok(31.0));
    assert_eq!(asum(3, 2), Ok(21.0));
    assert_eq!(asum(0, 1), Ok(0.0));
    assert_eq!(asum(3, 0), Ok(0.0));
    assert_eq!(asum(4, 2).map(drop), INVALID);
    let x = stream.clone_htod(&[1.5_f32, -2.5]).unwrap();
    let mut sum = 0.0;
    // SAFETY: the result is on the host.
    unsafe { blas.asum(AsumConfig { n: 2, incx: 1 }, &x, &mut sum) }.unwrap();
    assert_eq!(sum, 4.0_f32);
}

fn grouped<T: GroupedTest>() {
    let (stream, blas) = blas!();
    let number = |value: i32| T::narrow(f64::from(value).into());
    let square = |order: i32, first: i32| (0..order * order).map(|i| number(first + i % 5)).collect::<Vec<T>>();
    let (sizes, orders) = ([2, 1], [2, 3]);
    let hosts: Vec<(i32, Vec<T>, Vec<T>)> =
        [(2, 1, 5), (2, 3, 2), (3, -2, 1)].map(|(order, a, b)| (order, square(order, a), square(order, b))).into();
    let on = |host: &Vec<T>| stream.clone_htod(host).unwrap();
    let (a, b): (Vec<_>, Vec<_>) = hosts.iter().map(|(_, a, b)| (on(a), on(b))).unzip();
    let mut c: Vec<_> = hosts.iter().map(|(_, a, _)| on(a)).collect();
    let config = || GroupedGemmConfig::<T> {
        transbs: vec![N, T_OP],
        transas: vec![N; 2],
        ms: orders.to_vec(),
        ns: orders.to_vec(),
        ks: orders.to_vec(),
        alphas: vec![1.0, 2.0],
        betas: vec![0.0, 1.0],
        ldas: orders.to_vec(),
        ldbs: orders.to_vec(),
        ldcs: orders.to_vec(),
        problem_sizes: sizes.to_vec(),
    };
    let (a, b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
    let mut results: Vec<_> = c.iter_mut().collect();
    // SAFETY: scalars are on the host.
    unsafe { blas.grouped_gemm(config(), &a, &b, &mut results) }.unwrap();
    for (problem, (order, a, b)) in hosts.iter().enumerate() {
        let (alpha, beta, transb) = if problem < 2 { (1, 0, N) } else { (2, 1, T_OP) };
        let (alpha, beta) = (number(alpha), number(beta));
        let (m, n, k) = (*order, *order, *order);
        let cfg = GemmConfig { transa: N, transb, m, n, k, alpha, lda: m, ldb: m, beta, ldc: m };
        // Small integers: exact.
        assert_product(&cfg, [a, b, a, &stream.clone_dtoh(results[problem]).unwrap()], 0.0);
    }
    let short = GroupedGemmConfig { ldas: vec![3, 3], ..config() };
    // SAFETY: scalars are on the host.
    assert_eq!(unsafe { blas.grouped_gemm(short, &a, &b, &mut results) }, INVALID);
    let large = GroupedGemmConfig { ms: vec![usize::MAX, 3], ..config() };
    // SAFETY: scalars are on the host.
    assert_eq!(unsafe { blas.grouped_gemm(large, &a, &b, &mut results) }, INVALID);
}

const T_OP: cublasOperation_t = T;

trait GroupedTest: Number + DeviceRepr + cuda_compat::cublas::GroupedGemmDtype<ComputeType = f32> {}
impl GroupedTest for f16 {}
impl GroupedTest for bf16 {}

#[test]
fn groups_have_sizes_of_their_own() {
    grouped::<f16>();
    grouped::<bf16>();
}

#[test]
#[should_panic(expected = "ldas must have an entry for each entry of problem_sizes")]
fn a_group_without_an_entry_panics() {
    let config = GroupedGemmConfig::<f16> {
        transbs: vec![N],
        transas: vec![N],
        ms: vec![1],
        ns: vec![1],
        ks: vec![1],
        alphas: vec![1.0],
        betas: vec![0.0],
        ldas: vec![],
        ldbs: vec![1],
        ldcs: vec![1],
        problem_sizes: vec![2],
    };
    assert_eq!((config.problem_count(), config.group_count()), (2, 1));
    config.validate();
}

#[test]
fn operands_that_do_not_fit_are_refused_before_the_call() {
    let (stream, blas) = blas!();
    let operand = stream.clone_htod(&[1.0_f32; 6]).unwrap();
    let mut c = stream.clone_htod(&[7.0_f32; 4]).unwrap();
    let right = GemmConfig { transa: N, transb: N, m: 2, n: 2, k: 3, alpha: 1.0, lda: 2, ldb: 3, beta: 0.0, ldc: 2 };
    let wrong = [
        GemmConfig { k: 4, ..right },
        GemmConfig { m: -1, ..right },
        GemmConfig { lda: 1, ..right },
        GemmConfig { ldb: 4, ..right },
        GemmConfig { ldc: 3, ..right },
        GemmConfig { transa: cublasOperation_t(0), ..right },
    ];
    for cfg in wrong {
        // SAFETY: scalars are on the host.
        assert_eq!(unsafe { blas.gemm(cfg, &operand, &operand, &mut c) }, INVALID, "{cfg:?}");
    }
    let batch = StridedBatchedConfig { gemm: right, batch_size: 2, stride_a: 0, stride_b: 0, stride_c: 4 };
    // SAFETY: scalars are on the host.
    assert_eq!(unsafe { blas.gemm_strided_batched(batch, &operand, &operand, &mut c) }, INVALID);
    assert_eq!(stream.clone_dtoh(&c).unwrap(), [7.0; 4]);
    // SAFETY: scalars are on the host.
    unsafe { blas.gemm(right, &operand, &operand, &mut c) }.unwrap();
    assert_eq!(stream.clone_dtoh(&c).unwrap(), [3.0; 4]);
    // Nothing to do: no operand needs memory.
    let (empty, mut none) = (stream.null::<f32>().unwrap(), stream.null::<f32>().unwrap());
    // SAFETY: scalars are on the host.
    unsafe { blas.gemm(GemmConfig { m: 0, lda: 1, ldc: 1, ..right }, &empty, &operand, &mut none) }.unwrap();
}

#[test]
fn a_call_waits_for_other_streams_that_use_its_operands() {
    let (stream, mut blas) = blas!();
    let (first, last) = (stream.fork().unwrap(), stream.fork().unwrap());
    let cfg =
        GemmConfig { transa: N, transb: N, m: 64, n: 64, k: 64, alpha: 1.0, lda: 64, ldb: 64, beta: 0.0, ldc: 64 };
    let mut a = first.alloc_zeros::<f32>(64 * 64).unwrap();
    let mut c = last.alloc_zeros::<f32>(64 * 64).unwrap();
    for round in 1..=3 {
        first.memcpy_htod(&vec![round as f32; 64 * 64], &mut a).unwrap();
        // SAFETY: scalars are on the host.
        unsafe { blas.gemm(cfg, &a, &a, &mut c) }.unwrap();
        let got = last.clone_dtoh(&c).unwrap();
        assert!(got.iter().all(|&got| got == (64 * round * round) as f32), "round {round}: {}", got[0]);
    }
    // SAFETY: nothing is queued.
    unsafe { blas.set_stream(first.clone()) }.unwrap();
    // SAFETY: scalars are on the host.
    unsafe { blas.gemm(cfg, &a, &a, &mut c) }.unwrap();
    assert_eq!(stream.clone_dtoh(&c).unwrap()[7], 576.0);
}

#[test]
fn the_pointer_mode_is_set_and_read() {
    let (stream, blas) = blas!();
    assert_eq!(blas.get_pointer_mode(), Ok(cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST));
    blas.set_pointer_mode(cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE).unwrap();
    assert_eq!(blas.get_pointer_mode(), Ok(cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE));
    // The result of a sum on the device, by the floor below.
    let x = stream.clone_htod(&[1.0_f32, -2.0]).unwrap();
    let mut sum = stream.alloc_zeros::<f32>(1).unwrap();
    {
        let ((x, _x), (sum, _sum)) = (x.device_ptr(&stream), sum.device_ptr_mut(&stream));
        // SAFETY: the handle is alive, two elements are read and one is written.
        unsafe { result::sasum(*blas.handle(), 2, x as *const f32, 1, sum as *mut f32) }.unwrap();
    }
    assert_eq!(stream.clone_dtoh(&sum).unwrap(), [3.0]);
    assert!(blas.set_pointer_mode(cublasPointerMode_t(9)).is_err());
}

#[test]
fn halves_are_multiplied_by_the_floor_below() {
    let (stream, blas) = blas!();
    let a: Vec<f16> = [1.0, 2.0, 3.0, 4.0].map(f16::from_f32).into();
    let on = stream.clone_htod(&a).unwrap();
    let mut c = stream.alloc_zeros::<f16>(8).unwrap();
    {
        let ((on, _on), (c, _c)) = (on.device_ptr(&stream), c.device_ptr_mut(&stream));
        let (a, c) = (on as *const f16, c as *mut f16);
        let (one, zero) = (f16::ONE, f16::ZERO);
        // SAFETY: the handle is alive; 2 × 2 matrices, two of which fit the result.
        unsafe {
            result::hgemm(*blas.handle(), N, N, 2, 2, 2, &one, a, 2, a, 2, &zero, c, 2).unwrap();
            result::hgemm_strided_batched(
                *blas.handle(),
                N,
                T,
                2,
                2,
                2,
                &one,
                a,
                2,
                0,
                a,
                2,
                0,
                &zero,
                c.add(4),
                2,
                4,
                1,
            )
            .unwrap();
        }
    }
    let want = [7.0, 10.0, 15.0, 22.0, 10.0, 14.0, 14.0, 20.0].map(f16::from_f32);
    assert_eq!(stream.clone_dtoh(&c).unwrap(), want);
}

#[test]
fn a_status_is_a_result_and_prints_its_name() {
    assert_eq!(cublasStatus_t::CUBLAS_STATUS_SUCCESS.result(), Ok(()));
    let error = cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED.result().unwrap_err();
    assert_eq!(error.to_string(), "CublasError(HIPBLAS_STATUS_NOT_SUPPORTED)");
    let _: &dyn std::error::Error = &error;
}

/// Functions that ROCm 7.0 renamed: each calls its own, by a name that the library has.
#[test]
fn what_was_renamed_is_called_by_one_of_its_names() {
    let _ = blas!();
    let (mut count, mut names) = (0, None);
    for line in include_str!("../../src/generated/cublas.rs").lines() {
        if let Some((old, rest)) =
            line.strip_prefix("/// `").and_then(|rest| rest.split_once("` of the libraries before"))
        {
            let new = rest.split('`').nth(1).expect("the newer name");
            assert_eq!(old.replace("_v2", ""), new);
            names = Some((old, new));
        }
        let declared = line.strip_prefix("pub unsafe extern \"C\" fn ").map(|rest| rest.trim_end_matches('('));
        if let (Some(function), Some((old, new))) = (declared, names.take_if(|_| declared.is_some())) {
            assert_eq!(function.replace("_v2", ""), new.replace("hipblas", "cublas"));
            let has = |name: &str| cuda_compat::cublas::sys::has(&std::ffi::CString::new(name).unwrap());
            assert!(has(old) || has(new), "{function}: the library has neither {old} nor {new}");
            count += 1;
        }
    }
    assert!(count > 200, "{count}");
}

/// While there are graphs, calls are asked how much workspace they need. They do their work once.
#[test]
fn products_beside_graphs_are_done_once() {
    let (stream, blas) = blas!();
    let a = stream.clone_htod(&[1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    let mut c = stream.alloc_zeros::<f32>(4).unwrap();
    let mut y = stream.alloc_zeros::<f32>(2).unwrap();
    let product = GemmConfig { transa: N, transb: N, m: 2, n: 2, k: 2, alpha: 1.0, lda: 2, ldb: 2, beta: 1.0, ldc: 2 };
    let of_vector = GemvConfig { trans: N, m: 2, n: 2, alpha: 1.0, lda: 2, incx: 1, beta: 1.0, incy: 1 };
    let mut queue = || {
        // SAFETY: one thread, and scalars on the host.
        let done = unsafe { blas.gemm(product, &a, &a, &mut c) };
        // SAFETY: as above.
        done.and(unsafe { blas.gemv(of_vector, &a, &a.slice(..2), &mut y) })
    };
    queue().unwrap();
    let mut sum = 7.0_f32;
    let config = AsumConfig { n: 4, incx: 1 };
    // A wait for the device in another test's thread ends a capture.
    let graph = loop {
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
        let queued = queue();
        // SAFETY: one thread, and a result on the host.
        let refused = unsafe { blas.asum(config, &a, &mut sum) }.unwrap_err();
        assert_eq!(refused.0, cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED);
        if let (Ok(()), Ok(Some(graph))) = (queued, stream.end_capture(CUgraphInstantiate_flags(0))) {
            break graph;
        }
    };
    queue().unwrap();
    graph.launch().unwrap();
    graph.launch().unwrap();
    // SAFETY: as above.
    unsafe { blas.asum(config, &a, &mut sum) }.unwrap();
    assert_eq!(sum, 10.0);
    drop(blas);
    graph.launch().unwrap();
    assert_eq!(stream.clone_dtoh(&c).unwrap(), [7.0, 10.0, 15.0, 22.0].map(|number| 5.0 * number));
    assert_eq!(stream.clone_dtoh(&y).unwrap(), [7.0, 10.0].map(|number| 5.0 * number));
}

use cuda_compat::cusolver::sys::{
    cublasFillMode_t, cusolverAlgMode_t, cusolverDeterministicMode_t, cusolverDnDsyevd, cusolverDnDsyevd_bufferSize,
    cusolverDnFunction_t, cusolverEigMode_t, cusolverRfFactorization_t, cusolverRfMatrixFormat_t,
    cusolverRfResetValuesFastMode_t, cusolverRfTriangularSolve_t, cusolverRfUnitDiagonal_t, cusolverStatus_t,
};
use cuda_compat::cusolver::{CusolverError, DnHandle, DnParams, RfHandle, SpHandle};
use cuda_compat::driver::DevicePtrMut;

use crate::stream_with;

macro_rules! device {
    () => {{
        let Some(stream) = stream_with!(cusolver, "hipsolverDnCreate") else { return };
        stream
    }};
}

/// The eigenvalues of a matrix with known eigenvalues: 2 on the diagonal and −1 next to it.
#[test]
fn a_handle_is_used_by_functions_of_the_raw_floor() {
    let stream = device!();
    let mut solver = DnHandle::new(stream.fork().unwrap()).unwrap();
    // SAFETY: nothing is queued.
    unsafe { solver.set_stream(stream.clone()) }.unwrap();
    assert_eq!(solver.stream().cu_stream(), stream.cu_stream());
    const N: usize = 6;
    let matrix: Vec<f64> = (0..N * N)
        .map(|place| match (place / N).abs_diff(place % N) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        })
        .collect();
    let mut a = stream.clone_htod(&matrix).unwrap();
    let mut values = stream.alloc_zeros::<f64>(N).unwrap();
    let mut info = stream.clone_htod(&[-1_i32]).unwrap();
    {
        let (a, _a) = a.device_ptr_mut(&stream);
        let (values, _values) = values.device_ptr_mut(&stream);
        let (info, _info) = info.device_ptr_mut(&stream);
        let (mode, fill) = (cusolverEigMode_t::CUSOLVER_EIG_MODE_NOVECTOR, cublasFillMode_t::CUBLAS_FILL_MODE_LOWER);
        let (a, values, n, mut len) = (a as *mut f64, values as *mut f64, N as i32, 0);
        // SAFETY: the handle is alive, and there is room for the result.
        unsafe { cusolverDnDsyevd_bufferSize(solver.cu(), mode, fill, n, a, n, values, &mut len) }.result().unwrap();
        let mut work = stream.alloc_zeros::<f64>(len.max(1) as usize).unwrap();
        let (work, _work) = work.device_ptr_mut(&stream);
        // SAFETY: the handle is alive, and buffers have the sizes that an order of N needs.
        unsafe { cusolverDnDsyevd(solver.cu(), mode, fill, n, a, n, values, work as *mut f64, len, info as *mut i32) }
            .result()
            .unwrap();
        stream.synchronize().unwrap();
    }
    assert_eq!(stream.clone_dtoh(&info).unwrap(), [0]);
    for (k, value) in stream.clone_dtoh(&values).unwrap().into_iter().enumerate() {
        let want = 2.0 - 2.0 * ((k + 1) as f64 * std::f64::consts::PI / (N + 1) as f64).cos();
        assert!((value - want).abs() < 1e-14, "{value} is not {want}");
    }
}

#[test]
fn settings_are_kept() {
    let stream = device!();
    let solver = DnHandle::new(stream.clone()).unwrap();
    for mode in [
        cusolverDeterministicMode_t::CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS,
        cusolverDeterministicMode_t::CUSOLVER_DETERMINISTIC_RESULTS,
    ] {
        solver.set_deterministic_mode(mode).unwrap();
        assert_eq!(solver.get_deterministic_mode(), mode);
    }
    let params = DnParams::new(cusolverDnFunction_t::CUSOLVERDN_GETRF, cusolverAlgMode_t::CUSOLVER_ALG_0).unwrap();
    assert!(!params.cu().is_null());
    // The library rejects every choice, and `CUSOLVER_ALG_0` makes none.
    assert!(DnParams::new(cusolverDnFunction_t::CUSOLVERDN_GETRF, cusolverAlgMode_t::CUSOLVER_ALG_2).is_err());
}

#[test]
fn a_sparse_handle_needs_cholmod() {
    let stream = device!();
    match SpHandle::new(stream.clone()) {
        Ok(mut solver) => {
            // SAFETY: nothing is queued.
            unsafe { solver.set_stream(stream.fork().unwrap()) }.unwrap();
            assert!(!solver.cu().is_null());
        }
        Err(error) => {
            assert_eq!(error, CusolverError(cusolverStatus_t::CUSOLVER_STATUS_NOT_SUPPORTED));
            linalg_testing::skipped(&"hipSOLVER finds no libcholmod");
        }
    }
}

/// hipSOLVER of ROCm 7.2 has one format and one algorithm, and rejects settings: as in cudarc, a setting then panics.
#[test]
fn a_handle_for_refactorisations_is_made_and_set() {
    let _stream = device!();
    let solver = RfHandle::new().unwrap();
    assert!(!solver.cu().is_null());
    let (format, diagonal) = (
        cusolverRfMatrixFormat_t::CUSOLVERRF_MATRIX_FORMAT_CSR,
        cusolverRfUnitDiagonal_t::CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_L,
    );
    let off = cusolverRfResetValuesFastMode_t::CUSOLVERRF_RESET_VALUES_FAST_MODE_OFF;
    let (factorisation, solve) = (
        cusolverRfFactorization_t::CUSOLVERRF_FACTORIZATION_ALG0,
        cusolverRfTriangularSolve_t::CUSOLVERRF_TRIANGULAR_SOLVE_ALG1,
    );
    let settings: [(&str, &dyn Fn()); 4] = [
        ("set_matrix_format", &|| solver.set_matrix_format(format, diagonal)),
        ("set_numeric_properties", &|| solver.set_numeric_properties(1e-12, 1e-6)),
        ("set_reset_values_fast_mode", &|| solver.set_reset_values_fast_mode(off)),
        ("set_algs", &|| solver.set_algs(factorisation, solve)),
    ];
    for (name, set) in settings {
        if let Err(why) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(set)) {
            let (why, unsupported) =
                (why.downcast::<String>().unwrap(), cusolverStatus_t::CUSOLVER_STATUS_NOT_SUPPORTED);
            assert_eq!(*why, format!("cuSOLVER refuses {name}: {}", CusolverError(unsupported)));
        }
    }
}

#[test]
fn a_status_is_a_result() {
    assert_eq!(cusolverStatus_t::CUSOLVER_STATUS_SUCCESS.result(), Ok(()));
    assert!(cusolverStatus_t::CUSOLVER_STATUS_INVALID_VALUE.result().is_err());
}

//! Graphs that are launched after the handle's own memory was made anew.

use hip::DeviceBuffer;
use hipblas::{Blas, MatrixMut, MatrixRef, Side};

use crate::blas;

const ORDER: usize = 1100;

/// The lower triangle of ones: a solve turns 1, 2, 3, ... into ones.
fn ones(order: usize) -> Vec<f32> {
    (0..order * order).map(|at| f32::from(u8::from(at % order >= at / order))).collect()
}

fn right_side(order: usize, cols: usize) -> Vec<f32> {
    (0..order * cols).map(|at| (at % order + 1) as f32).collect()
}

fn solve(blas: &Blas, a: &DeviceBuffer<f32>, b: &mut DeviceBuffer<f32>, order: usize) -> hipblas::Result<()> {
    let cols = b.len() / order;
    let triangle = MatrixRef::new(a, order, order)?.lower()?;
    blas.trsm(Side::Left, 1.0, triangle, MatrixMut::new(b, order, cols)?)
}

/// rocBLAS frees its workspace for a larger one: not that of a graph.
#[test]
fn a_graph_keeps_the_workspace_that_it_was_captured_with() {
    let Some((device, stream, blas)) = blas() else { return };
    if hipblas_sys::BINDING.symbol(c"hipblasSetWorkspace").is_none() {
        return linalg_testing::skipped(&"hipBLAS before 7.0 makes its workspace larger by itself");
    }
    let a = DeviceBuffer::from_slice(&device, &ones(ORDER)).unwrap();
    let small = right_side(ORDER, 64);
    let mut b = DeviceBuffer::from_slice(&device, &small).unwrap();
    solve(&blas, &a, &mut b, ORDER).unwrap();
    assert!(b.to_vec().unwrap().iter().all(|&x| x == 1.0));
    let graph = stream.capture(|_| {
        solve(&blas, &a, &mut b, ORDER).expect("captured");
        Ok(())
    });
    let graph = graph.unwrap().instantiate().unwrap();
    let mut large = DeviceBuffer::from_slice(&device, &right_side(ORDER, 9000)).unwrap();
    // What a captured call does not get while a graph may have what there is.
    let refused = stream.capture(|_| {
        let error = solve(&blas, &a, &mut large, ORDER).unwrap_err();
        assert!(matches!(error, hipblas::Error::Hip(hip::Error::Capture { .. })), "{error}");
        assert!(error.to_string().contains("hipblasStrsm"), "{error}");
        Ok(())
    });
    assert_eq!(refused.unwrap().nodes().unwrap().len(), 0);
    solve(&blas, &a, &mut large, ORDER).unwrap();
    assert!(large.to_vec().unwrap().iter().all(|&x| x == 1.0));
    let victims: Vec<_> =
        (12..26).map(|size| DeviceBuffer::from_slice(&device, &vec![7_u8; 1 << size]).unwrap()).collect();
    b.copy_from_slice(&small).unwrap();
    graph.launch(&stream).unwrap();
    assert!(b.to_vec().unwrap().iter().all(|&x| x == 1.0), "wrong numbers");
    let whole = |victim: &DeviceBuffer<u8>| victim.to_vec().unwrap().iter().all(|byte| *byte == 7);
    assert!(victims.iter().all(whole), "memory of others was written");
    // After the call of that size, one can be captured; and the first graph outlives the handle.
    let captured = stream.capture(|_| {
        solve(&blas, &a, &mut large, ORDER).expect("captured");
        Ok(())
    });
    drop((captured.unwrap(), blas));
    b.copy_from_slice(&small).unwrap();
    graph.launch(&stream).unwrap();
    assert!(b.to_vec().unwrap().iter().all(|&x| x == 1.0), "without its handle");
}

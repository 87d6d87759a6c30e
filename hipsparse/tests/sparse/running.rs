//! Streams, threads, graphs, and plans that outlive the objects that they were made from.

use hip::{DeviceBuffer, Stream};
use hipsparse::{Base, CallError, Csr, Error, SpVec};

use crate::sparse;

/// 2 0 / 1 3
fn small(device: &hip::Device) -> Csr<f64> {
    Csr::from_host(device, (2, 2), Base::Zero, &[0, 1, 3], &[0, 0, 1], &[2.0, 1.0, 3.0]).unwrap()
}

#[test]
fn work_follows_the_stream_and_the_buffers_know_it() {
    let Some((device, mut sparse)) = sparse() else { return };
    let (one, other) = (sparse.stream().clone(), Stream::new(&device).unwrap());
    let a = small(&device);
    let mut x = DeviceBuffer::<f64>::zeroed(&device, 2).unwrap();
    let mut y = DeviceBuffer::<f64>::zeroed(&device, 2).unwrap();
    for round in 1..10_u8 {
        x.fill_async(&other, f64::from(round)).unwrap();
        y.fill_async(&one, 1.0).unwrap();
        sparse.set_stream(if round % 2 == 0 { &one } else { &other }).unwrap();
        sparse.spmv(1.0, &a, &x, 2.0, &mut y).unwrap();
        let round = f64::from(round);
        assert_eq!(y.to_vec().unwrap(), [2.0 * round + 2.0, 4.0 * round + 2.0]);
    }
}

#[test]
fn matrices_plans_and_handles_outlive_their_work() {
    let Some((device, sparse)) = sparse() else { return };
    let stream = sparse.stream().clone();
    let mut y = DeviceBuffer::<f64>::zeroed(&device, 2).unwrap();
    let mut z = DeviceBuffer::<f64>::zeroed(&device, 2).unwrap();
    let (a, x) = (small(&device), DeviceBuffer::from_slice(&device, &[5.0, 7.0]).unwrap());
    let mut plan = sparse.spmv_plan(&a).unwrap();
    let mut solver = sparse.spsv(a.view().lower().unwrap()).unwrap();
    // Their code is loaded.
    plan.run(1.0, &x, 0.0, &mut y).unwrap();
    solver.solve(1.0, &y, &mut z).unwrap();
    let (go, held) = std::sync::mpsc::channel::<()>();
    stream.launch_host_function(move || held.recv().unwrap()).unwrap();
    plan.run(2.0, &x, 0.0, &mut y).unwrap();
    solver.solve(1.0, &y, &mut z).unwrap();
    drop((plan, solver));
    drop((a, x, sparse));
    go.send(()).unwrap();
    assert_eq!(y.to_vec().unwrap(), [20.0, 52.0]);
    assert_eq!(z.to_vec().unwrap(), [10.0, 14.0]);
}

#[test]
fn threads_share_a_handle() {
    let Some((device, sparse)) = sparse() else { return };
    let a = small(&device);
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let (a, sparse, device) = (&a, &sparse, &device);
            scope.spawn(move || {
                let factor = f64::from(thread);
                let on_device = DeviceBuffer::from_slice(device, &[factor]).unwrap();
                let x = DeviceBuffer::from_slice(device, &[5.0, 7.0]).unwrap();
                for round in 0..5 {
                    let mut y = DeviceBuffer::<f64>::zeroed(device, 2).unwrap();
                    if round % 2 == 0 {
                        sparse.spmv(factor, a, &x, 0.0, &mut y).unwrap();
                    } else {
                        sparse.spmv(&on_device, a, &x, 0.0, &mut y).unwrap();
                    }
                    assert_eq!(y.to_vec().unwrap(), [10.0, 26.0].map(|x| x * factor));
                }
            });
        }
    });
}

#[test]
fn calls_are_captured_in_graphs() {
    let Some((device, sparse)) = sparse() else { return };
    let stream = sparse.stream().clone();
    let (a, x) = (small(&device), DeviceBuffer::from_slice(&device, &[5.0, 7.0]).unwrap());
    let mut y = DeviceBuffer::<f64>::zeroed(&device, 2).unwrap();
    let alpha = DeviceBuffer::from_slice(&device, &[1.0]).unwrap();
    let beta = DeviceBuffer::from_slice(&device, &[1.0]).unwrap();
    let mut plan = sparse.spmv_plan(&a).unwrap();
    let vector = SpVec::from_host(&device, 2, Base::Zero, &[1], &[1.0]).unwrap();
    let mut scratch = DeviceBuffer::<f64>::zeroed(&device, 2).unwrap();
    plan.run(&alpha, &x, &beta, &mut scratch).unwrap(); // its code is loaded
    let captured = stream.capture(|_| {
        plan.run(&alpha, &x, &beta, &mut y).expect("captured");
        let refused = sparse.spvv(&vector, &x).expect_err("it waits");
        assert!(matches!(refused, Error::Call(CallError::Hip(hip::Error::Capture { .. }))), "{refused}");
        Ok(())
    });
    let graph = captured.unwrap().instantiate().unwrap();
    assert_eq!(y.to_vec().unwrap(), [0.0, 0.0]);
    for round in 1..=3_u8 {
        graph.launch(&stream).unwrap();
        assert_eq!(y.to_vec().unwrap(), [10.0, 26.0].map(|x| x * f64::from(round)));
    }
}

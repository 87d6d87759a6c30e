//! Streams, threads, graphs, handles.

use hip::{DeviceBuffer, Stream};
use hipblas::{Blas, MathMode, MatrixBuffer};

use crate::blas;

#[test]
fn work_follows_the_stream_and_the_buffers_know_it() {
    let Some((device, stream, mut blas)) = blas() else { return };
    let other = Stream::new(&device).unwrap();
    let mut x = DeviceBuffer::<f32>::zeroed(&device, 1 << 12).unwrap();
    let mut y = DeviceBuffer::<f32>::zeroed(&device, 1 << 12).unwrap();
    for round in 1..20_u8 {
        x.fill_async(&other, f32::from(round)).unwrap();
        y.fill_async(&stream, 1.0).unwrap();
        blas.set_stream(if round % 2 == 0 { &stream } else { &other }).unwrap();
        blas.axpy(2.0, &x, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), vec![1.0 + 2.0 * f32::from(round); 1 << 12]);
    }
    drop(blas);
}

#[test]
fn a_handle_outlives_its_work() {
    let Some((device, stream, _blas)) = blas() else { return };
    let mut y = DeviceBuffer::<f64>::zeroed(&device, 100).unwrap();
    let x = DeviceBuffer::from_slice(&device, &[1.0; 100]).unwrap();
    let (go, held) = std::sync::mpsc::channel::<()>();
    let blas = Blas::new(&stream).unwrap();
    blas.axpy(1.0, &x, &mut y).unwrap(); // its code is loaded
    stream.launch_host_function(move || held.recv().unwrap()).unwrap();
    blas.axpy(1.0, &x, &mut y).unwrap();
    drop((blas, x));
    go.send(()).unwrap();
    assert_eq!(y.to_vec().unwrap(), [2.0; 100]);
}

#[test]
fn threads_share_a_handle() {
    let Some((device, _stream, blas)) = blas() else { return };
    let a = MatrixBuffer::from_rows(&device, [[1.0_f32, 2.0], [3.0, 4.0]]).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (a, blas, device) = (&a, &blas, &device);
            scope.spawn(move || {
                let factor = thread as f32;
                let on_device = DeviceBuffer::from_slice(device, &[factor]).unwrap();
                for round in 0..5 {
                    let mut c = MatrixBuffer::<f32>::zeroed(device, 2, 2).unwrap();
                    if round % 2 == 0 {
                        blas.gemm(factor, a, a, 0.0, &mut c).unwrap();
                    } else {
                        blas.gemm(&on_device, a, a, 0.0, &mut c).unwrap();
                    }
                    assert_eq!(c.to_vec().unwrap(), [7.0, 15.0, 10.0, 22.0].map(|x| x * factor));
                }
            });
        }
    });
}

#[test]
fn calls_are_captured_in_graphs() {
    let Some((device, stream, blas)) = blas() else { return };
    let alpha = DeviceBuffer::from_slice(&device, &[3.0_f32]).unwrap();
    let x = DeviceBuffer::from_slice(&device, &[1.0_f32, 2.0]).unwrap();
    let mut y = DeviceBuffer::<f32>::zeroed(&device, 2).unwrap();
    let mut scratch = DeviceBuffer::<f32>::zeroed(&device, 2).unwrap();
    blas.axpy(&alpha, &x, &mut scratch).unwrap(); // its code is loaded
    let captured = stream.capture(|stream| {
        assert_eq!(blas.stream(), stream);
        blas.axpy(&alpha, &x, &mut y).expect("captured");
        let refused = blas.nrm2(&x).expect_err("it waits");
        assert!(matches!(refused, hipblas::Error::Hip(hip::Error::Capture { .. })), "{refused}");
        Ok(())
    });
    let graph = captured.unwrap().instantiate().unwrap();
    drop(blas); // the graph keeps the handle
    assert_eq!(y.to_vec().unwrap(), [0.0, 0.0]);
    for round in 1..=3_u8 {
        graph.launch(&stream).unwrap();
        assert_eq!(y.to_vec().unwrap(), [3.0 * f32::from(round), 6.0 * f32::from(round)]);
    }
}

/// ROCm 5.7 mixes up the arguments of a kernel that one thread launches and another has in a graph.
#[test]
fn calls_and_graphs_of_one_routine_keep_their_arguments_apart() {
    let Some((device, ..)) = blas() else { return };
    let work = |thread: u8| {
        let stream = Stream::new(&device).unwrap();
        let blas = Blas::new(&stream).unwrap();
        let value = f32::from(thread + 1);
        let alpha = DeviceBuffer::from_slice(&device, &[value]).unwrap();
        let x = DeviceBuffer::from_slice(&device, &[1.0_f32; 64]).unwrap();
        let mut y = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
        for _ in 0..100 {
            if thread % 2 == 0 {
                let graph = stream.capture(|_| blas.axpy(&alpha, &x, &mut y).map_err(|error| panic!("{error}")));
                graph.unwrap().instantiate().unwrap().launch(&stream).unwrap();
            } else {
                blas.axpy(&alpha, &x, &mut y).unwrap();
            }
        }
        assert_eq!(y.to_vec().unwrap(), [100.0 * value; 64]);
    };
    std::thread::scope(|scope| (0..4).for_each(|thread| drop(scope.spawn(move || work(thread)))));
}

#[test]
fn modes_are_kept() {
    let Some((_device, _stream, blas)) = blas() else { return };
    for allowed in [false, true] {
        blas.set_atomics(allowed).unwrap();
        assert_eq!(blas.atomics().unwrap(), allowed);
    }
    let done = blas.set_math_mode(MathMode::Default);
    if std::env::var("ROCM_RS_RELEASE").is_ok_and(|release| release == "5.7") {
        assert!(matches!(done, Err(hipblas::Error::NoSymbol { .. })), "{done:?}");
    } else {
        done.unwrap();
    }
}

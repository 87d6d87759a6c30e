//! Streams, threads, graphs, plans that are dropped; the raw calls.

use std::ptr;

use hip::{DeviceBuffer, Stream};
use hipfft::{C2C, Complex32, Complex64, Layout, Normalized, Plan, R2C};
use hipfft_sys as sys;

use crate::device;
use crate::known::N;

fn numbers(len: usize) -> Vec<Complex32> {
    linalg_testing::Rng::new(77).numbers(len)
}

#[test]
fn work_follows_the_stream_and_the_buffers_know_it() {
    let Some((device, stream)) = device() else { return };
    let other = Stream::new(&device).unwrap();
    let layout = Layout::new([N]).unwrap().batch(64).unwrap();
    let mut plan = Plan::<C2C<f32>>::new(&stream, &layout).unwrap();
    let mut x = DeviceBuffer::<Complex32>::zeroed(&device, 64 * N).unwrap();
    let mut y = DeviceBuffer::<Complex32>::zeroed(&device, 64 * N).unwrap();
    for round in 1..20_u8 {
        x.fill_async(&other, Complex32::new(f32::from(round), 0.0)).unwrap();
        y.fill_async(&stream, Complex32::ONE).unwrap();
        plan.set_stream(if round % 2 == 0 { &stream } else { &other }).unwrap();
        plan.forward(&x, &mut y).unwrap();
        let found = y.to_vec().unwrap();
        assert!(
            found.iter().enumerate().all(|(at, y)| {
                *y == if at % N == 0 { Complex32::new(f32::from(round) * N as f32, 0.0) } else { Complex32::ZERO }
            }),
            "round {round}"
        );
    }
}

#[test]
fn a_plan_outlives_its_work() {
    let Some((device, stream)) = device() else { return };
    // With a workspace, which is dropped with it.
    let layout = Layout::new([37]).unwrap();
    let input = DeviceBuffer::from_slice(&device, &numbers(37)).unwrap();
    let mut expected = DeviceBuffer::<Complex32>::zeroed(&device, 37).unwrap();
    let mut plan = Plan::<C2C<f32>, Normalized>::new(&stream, &layout).unwrap();
    plan.inverse(&input, &mut expected).unwrap();
    let expected = expected.to_vec().unwrap();
    let mut output = DeviceBuffer::<Complex32>::zeroed(&device, 37).unwrap();
    let (go, held) = std::sync::mpsc::channel::<()>();
    stream.launch_host_function(move || held.recv().unwrap()).unwrap();
    plan.inverse(&input, &mut output).unwrap();
    drop((plan, input));
    // The next allocation may get the workspace's memory.
    let _others: Vec<_> = (0..8).map(|_| DeviceBuffer::<u8>::uninit(&device, 4096).unwrap()).collect();
    go.send(()).unwrap();
    assert!(output.to_vec().unwrap() == expected);
}

#[test]
fn plans_move_between_threads() {
    let Some((device, _stream)) = device() else { return };
    let input = DeviceBuffer::from_slice(&device, &numbers(N)).unwrap();
    let results: Vec<Vec<Complex32>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let stream = Stream::new(&device).unwrap();
                    let mut plan = Plan::<C2C<f32>>::new(&stream, &Layout::new([N]).unwrap()).unwrap();
                    let mut output = DeviceBuffer::<Complex32>::zeroed(&device, N).unwrap();
                    for _ in 0..5 {
                        plan.forward(&input, &mut output).unwrap();
                    }
                    output.to_vec().unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn calls_are_captured_in_graphs() {
    let Some((device, stream)) = device() else { return };
    let mut input = DeviceBuffer::from_slice(&device, &numbers(37)).unwrap();
    let mut output = DeviceBuffer::<Complex32>::zeroed(&device, 37).unwrap();
    let mut plan = Plan::<C2C<f32>>::new(&stream, &Layout::new([37]).unwrap()).unwrap();
    plan.forward(&input, &mut output).unwrap();
    let first = output.to_vec().unwrap();
    output.fill(Complex32::ZERO).unwrap();
    let captured = stream.capture(|_| {
        plan.forward(&input, &mut output).expect("captured");
        Ok(())
    });
    let graph = captured.unwrap().instantiate().unwrap();
    drop(plan); // the graph keeps it, and its workspace
    assert!(output.to_vec().unwrap() == [Complex32::ZERO; 37]);
    for factor in [1.0, 2.0] {
        input.copy_from_slice(&numbers(37).iter().map(|x| x * factor).collect::<Vec<_>>()).unwrap();
        graph.launch(&stream).unwrap();
        // Twice the input is exactly twice the output.
        assert!(output.to_vec().unwrap() == first.iter().map(|x| x * factor).collect::<Vec<_>>());
    }
}

/// The same numbers as C gives, to the bit.
#[test]
fn results_are_those_of_c() {
    let Some((device, stream)) = device() else { return };
    let host: Vec<Complex64> = linalg_testing::Rng::new(5).numbers(2 * N);
    let input = DeviceBuffer::from_slice(&device, &host).unwrap();
    let mut ours = DeviceBuffer::<Complex64>::zeroed(&device, 2 * N).unwrap();
    let theirs = DeviceBuffer::<Complex64>::zeroed(&device, 2 * N).unwrap();
    let mut plan = Plan::<C2C<f64>>::new(&stream, &Layout::new([N]).unwrap().batch(2).unwrap()).unwrap();
    plan.forward(&input, &mut ours).unwrap();
    let raw = || {
        let mut plan = ptr::null_mut();
        let (from, to) = (input.as_device_ptr().address() as *mut _, theirs.as_device_ptr().address() as *mut _);
        // SAFETY: a plan that is written, its stream, memory of its length, and its end when its work is over.
        unsafe {
            assert_eq!(sys::hipfftPlan1d(&mut plan, N as i32, sys::HIPFFT_Z2Z, 2), sys::HIPFFT_SUCCESS);
            assert_eq!(sys::hipfftSetStream(plan, stream.as_raw()), sys::HIPFFT_SUCCESS);
            assert_eq!(sys::hipfftExecZ2Z(plan, from, to, sys::HIPFFT_FORWARD), sys::HIPFFT_SUCCESS);
            stream.synchronize().unwrap();
            assert_eq!(sys::hipfftDestroy(plan), sys::HIPFFT_SUCCESS);
        }
    };
    device.with_current(raw).unwrap();
    assert!(ours.to_vec().unwrap() == theirs.to_vec().unwrap());
}

#[test]
fn plans_say_what_they_are() {
    let Some((_device, stream)) = device() else { return };
    let layout = Layout::new([N]).unwrap().batch(2).unwrap();
    let plan = Plan::<R2C<f32>>::new(&stream, &layout).unwrap();
    assert_eq!((plan.layout(), plan.stream()), (&layout, &stream));
    assert!(format!("{plan:?}").starts_with("Plan { layout: 16, 2 of them"), "{plan:?}");
    assert_eq!((layout.lengths(), layout.batch_size(), layout.points()), (&[N][..], 2, N));
}

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use cuda_compat::curand::CudaRng;
use cuda_compat::curand::result::{self, CurandError};
use cuda_compat::curand::sys::{curandRngType_t, curandStatus_t};
use cuda_compat::driver::sys::CUresult;
use cuda_compat::driver::{CudaContext, CudaSlice, CudaStream, DevicePtrMut, DriverError};

use crate::sleeper::{Sleeper, SleeperEnds};
use crate::stream_with;

macro_rules! rng {
    ($seed:expr) => {{
        let Some(stream) = stream_with!(curand, "hiprandCreateGenerator") else { return };
        (stream.clone(), CudaRng::new($seed, stream).unwrap())
    }};
}

const COUNT: usize = 4_000;

/// Mean and standard deviation.
fn moments(numbers: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let mean = numbers.clone().sum::<f64>() / COUNT as f64;
    (mean, (numbers.map(|number| (number - mean).powi(2)).sum::<f64>() / COUNT as f64).sqrt())
}

/// Checks that a value is within five standard errors of the distribution's.
#[track_caller]
fn assert_moments((mean, deviation): (f64, f64), want_mean: f64, want_deviation: f64) {
    let error = 5.0 * want_deviation / (COUNT as f64).sqrt();
    assert!((mean - want_mean).abs() < error, "mean {mean}, not {want_mean} ± {error}");
    assert!((deviation / want_deviation - 1.0).abs() < 0.05, "deviation {deviation}, not {want_deviation}");
}

macro_rules! distributions {
    ($name:ident, $ty:ty) => {
        #[test]
        fn $name() {
            let (stream, rng) = rng!(42);
            let mut numbers = stream.alloc_zeros::<$ty>(COUNT).unwrap();
            rng.fill_with_uniform(&mut numbers).unwrap();
            let host = stream.clone_dtoh(&numbers).unwrap();
            assert!(host.iter().all(|&number| number > 0.0 && number <= 1.0));
            assert_moments(moments(host.iter().map(|&number| f64::from(number))), 0.5, 1.0 / 12_f64.sqrt());

            rng.fill_with_normal(&mut numbers, 3.0, 2.0).unwrap();
            let host = stream.clone_dtoh(&numbers).unwrap();
            assert_moments(moments(host.iter().map(|&number| f64::from(number))), 3.0, 2.0);

            rng.fill_with_log_normal(&mut numbers, -1.0, 0.5).unwrap();
            let host = stream.clone_dtoh(&numbers).unwrap();
            assert!(host.iter().all(|&number| number > 0.0));
            assert_moments(moments(host.iter().map(|&number| f64::from(number).ln())), -1.0, 0.5);
        }
    };
}

distributions!(distributions_of_single_precision, f32);
distributions!(distributions_of_double_precision, f64);

#[test]
fn a_seed_repeats_and_an_offset_skips() {
    let (stream, mut rng) = rng!(7);
    let fill = |rng: &CudaRng, count| {
        let mut numbers: CudaSlice<u32> = stream.alloc_zeros(count).unwrap();
        rng.fill_with_uniform(&mut numbers).unwrap();
        stream.clone_dtoh(&numbers).unwrap()
    };
    let first = fill(&rng, 1000);
    assert_eq!(fill(&CudaRng::new(7, stream.clone()).unwrap(), 1000), first);
    assert_ne!(fill(&CudaRng::new(8, stream.clone()).unwrap(), 1000), first);
    assert_ne!(fill(&rng, 1000), first);
    rng.set_seed(7).unwrap();
    assert_eq!(fill(&rng, 1000), first);
    rng.set_seed(7).unwrap();
    rng.set_offset(100).unwrap();
    assert_eq!(fill(&rng, 900).len(), 900);
    rng.set_seed(7).unwrap();
    rng.set_offset(0).unwrap();
    assert_eq!(fill(&rng, 1000), first);
    let bits = first.iter().map(|number| number.count_ones()).sum::<u32>();
    assert!((bits as i32 - 16_000).abs() < 5 * 90, "{bits} bits of 32,000 are set");
}

#[test]
fn odd_counts_and_none_are_filled() {
    let (stream, rng) = rng!(1);
    for count in [1, 3, 257] {
        let mut numbers = stream.clone_htod(&vec![-7.0_f32; count + 1]).unwrap();
        rng.fill_with_normal(&mut numbers.slice_mut(..count), 0.0, 1.0).unwrap();
        let host = stream.clone_dtoh(&numbers).unwrap();
        assert!(host[..count].iter().all(|&number| number != -7.0) && host[count] == -7.0, "{count}");
    }
    let mut none = stream.null::<f64>().unwrap();
    rng.fill_with_uniform(&mut none).unwrap();
    rng.fill_with_normal(&mut none, 0.0, 1.0).unwrap();
    rng.fill_with_log_normal(&mut none, 0.0, 1.0).unwrap();
}

#[test]
fn the_floor_below_has_kinds_and_the_poisson_distribution() {
    let (stream, mut rng) = rng!(1);
    let generator = result::create_generator_kind(curandRngType_t::CURAND_RNG_PSEUDO_PHILOX4_32_10).unwrap();
    let mut counts = stream.alloc_zeros::<u32>(COUNT).unwrap();
    {
        let (out, _out) = counts.device_ptr_mut(&stream);
        // SAFETY: the generator and the stream are alive, and the buffer has these elements.
        unsafe {
            result::set_stream(generator, stream.cu_stream() as _).unwrap();
            result::set_seed(generator, 3).unwrap();
            result::generate::poisson_u32(generator, out as *mut u32, COUNT, 4.0).unwrap();
        }
    }
    let host = stream.clone_dtoh(&counts).unwrap();
    // SAFETY: it is alive, and its work is done.
    unsafe { result::destroy_generator(generator) }.unwrap();
    assert_moments(moments(host.iter().map(|&number| f64::from(number))), 4.0, 2.0);

    let refused = result::create_generator_kind(curandRngType_t(12345)).unwrap_err();
    assert_eq!(refused, CurandError(curandStatus_t::CURAND_STATUS_TYPE_ERROR));
    // SAFETY: nothing is queued.
    unsafe { rng.set_stream(stream.fork().unwrap()) }.unwrap();
    let mut numbers = stream.alloc_zeros::<f64>(9).unwrap();
    rng.fill_with_uniform(&mut numbers).unwrap();
    assert!(stream.clone_dtoh(&numbers).unwrap().iter().all(|&number| number > 0.0));
}

/// A graph keeps the generator's state that it uses, when the generator restarts, and when it is dropped.
#[test]
fn a_graph_keeps_the_state_of_the_generator() {
    use cuda_compat::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};

    let (stream, _) = rng!(1);
    let stream = stream.context().new_stream().unwrap();
    let mut rng = CudaRng::new(1, stream.clone()).unwrap();
    let mut numbers = stream.alloc_zeros::<f32>(COUNT).unwrap();
    rng.fill_with_uniform(&mut numbers).unwrap();
    // A wait for the device in another test's thread ends a capture.
    let graph = loop {
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
        let queued = rng.fill_with_uniform(&mut numbers);
        if let (Ok(()), Ok(Some(graph))) = (queued, stream.end_capture(CUgraphInstantiate_flags(0))) {
            break graph;
        }
    };
    rng.set_seed(2).unwrap();
    let mut others = stream.alloc_zeros::<f32>(COUNT).unwrap();
    rng.fill_with_uniform(&mut others).unwrap();
    let after = stream.clone_dtoh(&others).unwrap();
    rng.set_offset(0).unwrap();
    rng.fill_with_uniform(&mut others).unwrap();
    assert_eq!(stream.clone_dtoh(&others).unwrap(), after, "the seed stays");
    drop(rng);
    let victims: Vec<_> = (10..20).map(|size| stream.clone_htod(&vec![7_u8; 1 << size]).unwrap()).collect();
    graph.launch().unwrap();
    assert_moments(moments(stream.clone_dtoh(&numbers).unwrap().iter().map(|&x| x.into())), 0.5, 1.0 / 12_f64.sqrt());
    assert!(victims.iter().all(|victim| stream.clone_dtoh(victim).unwrap().iter().all(|&byte| byte == 7)));
}

/// A buffer that is not in order is no address of the library's; the error is this call's, and its reason the
/// context's.
#[test]
fn an_earlier_error_is_an_error_of_the_call() {
    let earlier = DriverError(CUresult::CUDA_ERROR_NOT_PERMITTED);
    let (stream, rng) = rng!(3);
    let context = stream.context();
    let mut numbers = stream.alloc_zeros::<f32>(COUNT).unwrap();
    context.record_err::<()>(Err(earlier));
    let refused = rng.fill_with_uniform(&mut numbers).unwrap_err();
    assert_eq!(refused.0, curandStatus_t::CURAND_STATUS_PREEXISTING_FAILURE);
    assert_eq!(context.check_err(), Err(earlier));
    assert_eq!(stream.clone_dtoh(&numbers).unwrap(), [0.0; COUNT]);
    // A new generator is of the stream's device, and leaves the error.
    context.record_err::<()>(Err(earlier));
    let rng = CudaRng::new(4, stream.clone()).unwrap();
    assert_eq!(context.check_err(), Err(earlier));
    rng.fill_with_uniform(&mut numbers).unwrap();
    assert!(stream.clone_dtoh(&numbers).unwrap().iter().all(|&number| number > 0.0));
}

/// rocRAND fills the tables of a mean in a host function, which takes a lock that the call holds. If HIP waits for the
/// device in another thread meanwhile, all three wait for each other.
#[test]
fn tables_are_made_after_other_threads_have_waited_for_the_device() {
    let (stream, _) = rng!(1);
    let generator = result::create_generator_kind(curandRngType_t::CURAND_RNG_PSEUDO_PHILOX4_32_10).unwrap();
    let mut counts = stream.alloc_zeros::<u32>(COUNT).unwrap();
    let (over, tables) = (AtomicBool::new(false), Sleeper::default());
    let (inside, begun) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (over, tables) = (&over, &tables);
        let _ends = SleeperEnds(tables);
        scope.spawn(move || {
            let wait = || {
                inside.send(()).unwrap();
                tables.until_asleep();
                over.store(true, Ordering::Release);
                Ok::<_, hip::Error>(())
            };
            hip::interop::wait_for_current_device(wait).unwrap();
        });
        let (out, _out) = counts.device_ptr_mut(&stream);
        begun.recv().unwrap();
        tables.calls();
        // SAFETY: the generator and the stream are alive, and the buffer has these elements.
        unsafe {
            result::set_stream(generator, stream.cu_stream() as _).unwrap();
            result::generate::poisson_u32(generator, out as *mut u32, COUNT, 4.0).unwrap();
        }
        assert!(over.load(Ordering::Acquire), "the other thread still waits");
    });
    stream.synchronize().unwrap();
    // SAFETY: it is alive, and its work is done.
    unsafe { result::destroy_generator(generator) }.unwrap();
}

/// The other way round.
#[test]
fn nothing_waits_for_the_device_while_another_thread_makes_tables() {
    let (stream, _) = rng!(1);
    /// Prepares a wait.
    type Prepare = fn(Arc<CudaStream>) -> Box<dyn FnOnce()>;
    let waits: [Prepare; 6] = [
        |stream| Box::new(move || stream.context().synchronize().unwrap()),
        |_| Box::new(|| drop(CudaContext::new(0).unwrap().new_stream().unwrap())),
        |stream| Box::new(move || drop(CudaRng::new(1, stream).unwrap())),
        |stream| {
            let rng = CudaRng::new(1, stream).unwrap();
            Box::new(move || drop(rng))
        },
        |stream| {
            // SAFETY: nothing reads the elements.
            let pinned = unsafe { stream.context().alloc_pinned::<u8>(64) }.unwrap();
            Box::new(move || drop(pinned))
        },
        |stream| {
            // SAFETY: as above.
            let unified = unsafe { stream.context().alloc_unified::<u8>(64, true) }.unwrap();
            Box::new(move || drop(unified))
        },
    ];
    for (number, prepare) in waits.into_iter().enumerate() {
        let (over, waits) = (AtomicBool::new(false), Sleeper::default());
        let (inside, begun) = mpsc::channel::<()>();
        let (prepared, ready) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let (stream, over, waits) = (&stream, &over, &waits);
            scope.spawn(move || {
                let _ends = SleeperEnds(waits);
                stream.context().bind_to_thread().unwrap();
                let wait = prepare(stream.clone());
                prepared.send(()).unwrap();
                begun.recv().unwrap();
                waits.calls();
                wait();
                assert!(over.load(Ordering::Acquire), "wait {number}: the other thread still makes tables");
            });
            ready.recv().unwrap();
            let make_tables = move || {
                inside.send(()).unwrap();
                waits.until_asleep();
                over.store(true, Ordering::Release);
                Ok::<_, hip::Error>(())
            };
            hip::interop::queue_for_host(make_tables).unwrap();
        });
    }
    stream.context().check_err().unwrap();
}

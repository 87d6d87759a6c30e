//! Kernels that wait: for each other within a grid, for other dispatches, for other GPUs, for the host. All must make
//! progress.

mod common;

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex};
use std::thread;

use amdgpu_sim::{AllocKind, Cancel, Config, Dispatch, FaultKind, Gpu, Packet, Request, Rights};
use common::*;

static WAITING: &[u8] = include_bytes!("kernels/waiting.co");

/// With a pool of helpers of its own, and with none.
fn on_threads(test: impl Fn(&Gpu)) {
    for threads in [Some(1), Some(3), None] {
        test(&Gpu::new(Config { threads, ..Config::default() }));
    }
}

#[test]
fn four_gpus_pass_a_turn_round() {
    let gpus = Gpu::group(&vec![Config::default(); 4]);
    let memory = gpus[0].memory();
    let rights = Rights::full(gpus.iter().map(Gpu::agent).collect());
    let rounds = 200_u32;
    let alloc = |owner: usize, size| {
        let request = Request::new(size, AllocKind::Device, Some(gpus[owner].agent()));
        memory.allocate(&Request { rights, ..request }).unwrap()
    };
    let (turn, log) = (alloc(1, 4), alloc(3, u64::from(4 * 4 * rounds)));
    thread::scope(|scope| {
        for (me, gpu) in (0_u32..).zip(&gpus) {
            scope.spawn(move || {
                let args = Args::default().value(turn).value(me).value(4_u32).value(rounds).value(log);
                launch_1d(gpu, &load(gpu, WAITING), "ping_pong", 1, 64, &args);
            });
        }
    });
    let mut bytes = vec![0; (4 * 4 * rounds) as usize];
    memory.read(log, &mut bytes).unwrap();
    let players = bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap()));
    assert!(players.eq((0..4 * rounds).map(|i| i % 4)));
}

/// Far more dispatches than threads, each waiting for the one that was started after it.
#[test]
fn many_dispatches_of_one_gpu_wait_for_each_other() {
    on_threads(|gpu| {
        let module = load(gpu, WAITING);
        let all = 24_u32;
        let (turn, log) = (zeros::<u32>(gpu, 1), zeros::<u32>(gpu, 3 * all as usize));
        thread::scope(|scope| {
            for me in (0..all).rev() {
                let args = Args::default().pointer(&turn).value(me).value(all).value(3_u32).pointer(&log);
                let module = &module;
                scope.spawn(move || launch_1d(gpu, module, "ping_pong", 1, 128, &args));
            }
        });
        assert_eq!(turn.get()[0], 3 * all);
    });
}

#[test]
fn as_many_workgroups_as_are_resident_meet_at_a_barrier_over_the_grid() {
    on_threads(|gpu| {
        let module = load(gpu, WAITING);
        let kernel = module.kernel("grid_rounds").unwrap();
        let groups = gpu.max_resident_workgroups(&kernel, 256, kernel.info().lds_size);
        assert_eq!(groups, 104 * 8);
        let (count, data, wrong) = (zeros::<u32>(gpu, 1), zeros::<u32>(gpu, groups as usize), zeros::<u32>(gpu, 1));
        let args = Args::default().pointer(&count).pointer(&data).value(3_u32).pointer(&wrong);
        let stats = launch_1d(gpu, &module, "grid_rounds", groups as u32, 256, &args);
        assert_eq!((stats.workgroups, count.get()[0], wrong.get()[0]), (groups, 3 * groups as u32, 0));
    });
}

/// Workgroups that wait in vain do not cause unlimited further ones to start: the limit holds, and the dispatch can be
/// stopped.
#[test]
fn a_grid_that_is_too_large_for_its_barrier_is_cut_off_by_the_budget() {
    let config = Config { instruction_budget: Some(3_000_000), compute_units: Some(1), ..Config::default() };
    let gpu = Gpu::new(config);
    let module = load(&gpu, WAITING);
    let (count, data, wrong) = (zeros::<u32>(&gpu, 1), zeros::<u32>(&gpu, 64), zeros::<u32>(&gpu, 1));
    let args = Args::default().pointer(&count).pointer(&data).value(1_u32).pointer(&wrong);
    let fault = launch(&gpu, &module, "grid_rounds", [64, 1, 1], [256, 1, 1], &args).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Budget(3_000_000));
    // 8 of them are resident; each thread that runs workgroups may have one more.
    assert!((8..8 + 16).contains(&count.get()[0]), "{}", count.get()[0]);
}

/// Ends the wait of a kernel on drop.
struct LetGoOn<'a>(&'a AtomicU32);

impl Drop for LetGoOn<'_> {
    fn drop(&mut self) {
        self.0.store(7, Release);
    }
}

#[test]
fn a_kernel_waits_for_the_host_and_the_host_for_the_kernel() {
    on_threads(|gpu| {
        let module = load(gpu, WAITING);
        let (flag, abort) = (zeros::<u32>(gpu, 1), zeros::<u32>(gpu, 1));
        let out = zeros::<u32>(gpu, 100);
        let args = Args::default().pointer(&flag).value(7_u32).pointer(&abort).pointer(&out);
        // SAFETY: the word is in an allocation that outlives this; kernels access it by atomics.
        let host = unsafe { AtomicU32::from_ptr(std::ptr::with_exposed_provenance_mut(flag.address as usize)) };
        thread::scope(|scope| {
            let running = scope.spawn(|| launch_1d(gpu, &module, "wait_for", 100, 64, &args));
            // Whatever fails, the kernel ends.
            let _go_on = LetGoOn(host);
            // Other dispatches can run meanwhile.
            let done = zeros::<u32>(gpu, 1);
            let other = Args::default().pointer(&done).value(1_u32).value(1_u32).value(0_u32).pointer(&done);
            launch_1d(gpu, &module, "ping_pong", 300, 64, &other);
            assert!(!running.is_finished());
        });
        assert_eq!(host.load(Acquire), 7);
        assert_eq!(out.get(), [1; 100]);
    });
}

/// It checks its other flag once in 10,000 spins, however rarely it runs.
#[test]
fn a_kernel_that_counts_its_spins_gets_to_the_end_of_its_patience() {
    let gpu = Gpu::new(Config::default());
    let (flag, abort, out) = (zeros::<u32>(&gpu, 1), upload(&gpu, &[1_u32]), zeros::<u32>(&gpu, 1));
    let args = Args::default().pointer(&flag).value(7_u32).pointer(&abort).pointer(&out);
    launch_1d(&gpu, &load(&gpu, WAITING), "wait_for", 1, 64, &args);
    assert_eq!(out.get()[0], 2);
}

#[test]
fn locks_and_flags_in_lds() {
    on_threads(|gpu| {
        let module = load(gpu, WAITING);
        let (lock, plain) = (zeros::<u32>(gpu, 1), zeros::<u32>(gpu, 1));
        let args = Args::default().pointer(&lock).pointer(&plain).value(5_u32);
        launch_1d(gpu, &module, "locked_count", 40, 64, &args);
        assert_eq!(plain.get()[0], 200);

        let (out, steps) = (zeros::<u32>(gpu, 64), 50_000_u32);
        launch_1d(gpu, &module, "lds_flag", 1, 128, &Args::default().pointer(&out).value(steps));
        let expected = (0..steps).fold(1_u32, |x, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        assert_eq!(out.get(), [expected; 64]);
    });
}

#[test]
fn time_passes_for_a_kernel_that_waits_for_it() {
    let gpu = Gpu::new(Config::default());
    let out = zeros::<u64>(&gpu, 64);
    let args = Args::default().pointer(&out).value(100_000_u64);
    let stats = launch_1d(&gpu, &load(&gpu, WAITING), "delay", 1, 64, &args);
    assert!(out.get().iter().all(|ticks| *ticks >= 100_000));
    // A millisecond of continuous polling would be many times that.
    assert!(stats.instructions < 100_000, "{}", stats.instructions);
}

/// A loop over memory is not mistaken for waiting: its waves get long turns, and no thread sleeps.
#[test]
fn a_long_loop_over_memory_gives_the_right_sum() {
    on_threads(|gpu| {
        let module = load(gpu, WAITING);
        let data: Vec<u32> = (0..500).collect();
        let (input, out) = (upload(gpu, &data), zeros::<u32>(gpu, 8 * 64));
        let args = Args::default().pointer(&input).value(500_u32).value(100_u32).pointer(&out);
        launch_1d(gpu, &module, "long_sum", 8, 64, &args);
        let expected = (0..100).flat_map(|r| data.iter().map(move |v| v ^ r)).fold(0_u32, u32::wrapping_add);
        assert_eq!(out.get(), [expected; 8 * 64]);
    });
}

#[test]
fn the_global_wave_sync_barrier_holds_a_whole_grid() {
    on_threads(|gpu| {
        let module = load(gpu, WAITING);
        let groups = 300_u32;
        let (data, wrong) = (zeros::<u32>(gpu, groups as usize), zeros::<u32>(gpu, 1));
        for _ in 0..2 {
            launch_1d(gpu, &module, "gws_init", 1, 1, &Args::default().value(groups - 1));
            let args = Args::default().pointer(&data).value(3_u32).pointer(&wrong);
            launch_1d(gpu, &module, "gws_rounds", groups, 128, &args);
            assert_eq!((data.get(), wrong.get()[0]), (vec![3; groups as usize], 0));
        }
    });
}

#[test]
fn a_global_wave_sync_semaphore_lets_consumers_pass() {
    on_threads(|gpu| {
        let module = load(gpu, WAITING);
        let taken = zeros::<u32>(gpu, 1);
        launch_1d(gpu, &module, "gws_semaphore", 64, 64, &Args::default().pointer(&taken));
        assert_eq!(taken.get()[0], 32);
    });
}

/// A grid barrier that was not initialised: its waves wait for ever, without executing instructions that a budget
/// counts.
#[test]
fn waves_that_wait_for_a_barrier_in_vain_can_be_cut_off_and_cancelled() {
    let gpu = Gpu::new(Config { instruction_budget: Some(1_000_000), ..Config::default() });
    let module = load(&gpu, WAITING);
    let (data, wrong) = (zeros::<u32>(&gpu, 4), zeros::<u32>(&gpu, 1));
    launch_1d(&gpu, &module, "gws_init", 1, 1, &Args::default().value(100_u32));
    let args = Args::default().pointer(&data).value(1_u32).pointer(&wrong);
    let fault = launch(&gpu, &module, "gws_rounds", [4, 1, 1], [64, 1, 1], &args).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Budget(1_000_000));

    let gpu = Gpu::new(Config::default());
    let module = load(&gpu, WAITING);
    let (data, wrong) = (zeros::<u32>(&gpu, 4), zeros::<u32>(&gpu, 1));
    launch_1d(&gpu, &module, "gws_init", 1, 1, &Args::default().value(100_u32));
    let args = Args::default().pointer(&data).value(1_u32).pointer(&wrong);
    let kernel = module.kernel("gws_rounds").unwrap();
    let dispatch = Dispatch::of_blocks([4, 1, 1], [64, 1, 1]).unwrap();
    let kernarg = upload(&gpu, &kernel.build_kernarg(&args.0, &dispatch).unwrap());
    let packet = Packet {
        grid: dispatch.grid,
        workgroup: dispatch.workgroup,
        kernel_object: kernel.descriptor_address(),
        kernarg: kernarg.address,
        ..Packet::default()
    };
    let cancel = Cancel::default();
    thread::scope(|scope| {
        let running = scope.spawn(|| gpu.run_packet(&packet, &cancel));
        // All waves have reached the barrier.
        while data.get() != [1; 4] && !running.is_finished() {
            thread::yield_now();
        }
        cancel.cancel();
        assert_eq!(running.join().unwrap().unwrap_err().kind, FaultKind::Cancelled);
    });
}

/// After the configured number of dispatches the GPU is lost permanently; another GPU is not.
#[test]
fn a_lost_gpu_carries_out_nothing_more() {
    let config = Config { lose_after: Some(2), ..Config::default() };
    let gpus = Gpu::group(&[config.clone(), config]);
    let modules: Vec<_> = gpus.iter().map(|gpu| load(gpu, WAITING)).collect();
    let out = zeros::<u32>(&gpus[0], 64);
    gpus[0].memory().set_rights(out.address, Rights::full(gpus.iter().map(Gpu::agent).collect())).unwrap();
    let tell = |n: usize, event: u32| {
        let args = Args::default().value(event).pointer(&out);
        launch(&gpus[n], &modules[n], "tell", [1, 1, 1], [64, 1, 1], &args)
    };
    tell(0, 1).unwrap();
    tell(0, 2).unwrap();
    assert!(!gpus[0].is_lost());
    for event in [3, 4] {
        let fault = tell(0, event).unwrap_err();
        assert_eq!((&fault.kind, fault.kernel.as_str()), (&FaultKind::Lost, "tell"));
        assert!(fault.to_string().contains("the device is lost"), "{fault}");
        assert!(gpus[0].is_lost() && !gpus[1].is_lost());
    }
    assert_eq!(out.get(), [2; 64], "nothing was written");
    tell(1, 5).unwrap();
    assert_eq!(out.get(), [5; 64]);
}

/// A kernel that is running when its GPU is lost ends with it, even if it waits for ever.
#[test]
fn a_kernel_in_flight_is_lost_with_its_gpu() {
    let gpu = Gpu::new(Config::default());
    let module = load(&gpu, WAITING);
    let (data, wrong) = (zeros::<u32>(&gpu, 4), zeros::<u32>(&gpu, 1));
    launch_1d(&gpu, &module, "gws_init", 1, 1, &Args::default().value(100_u32));
    let args = Args::default().pointer(&data).value(1_u32).pointer(&wrong);
    thread::scope(|scope| {
        let running = scope.spawn(|| launch(&gpu, &module, "gws_rounds", [4, 1, 1], [64, 1, 1], &args));
        // All waves have reached the barrier.
        while data.get() != [1; 4] && !running.is_finished() {
            thread::yield_now();
        }
        gpu.lose();
        assert_eq!(running.join().unwrap().unwrap_err().kind, FaultKind::Lost);
    });
}

#[test]
fn a_kernel_tells_the_host_an_events_number() {
    let gpu = Gpu::new(Config { threads: Some(1), ..Config::default() });
    let module = load(&gpu, WAITING);
    let out = zeros::<u32>(&gpu, 64);
    let run = |event: u32| launch_1d(&gpu, &module, "tell", 2, 64, &Args::default().value(event).pointer(&out));
    // No interrupt function is set.
    run(1);
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&told);
    gpu.on_interrupt(Some(Arc::new(move |event| listener.lock().unwrap().push(event))));
    run(0x12_3456);
    // Bits 23:0.
    run(0xff00_0007);
    gpu.on_interrupt(None);
    run(2);
    assert_eq!(*told.lock().unwrap(), [0x12_3456, 0x12_3456, 7, 7]);
    assert_eq!(out.get(), [2; 64]);
}

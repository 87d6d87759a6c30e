//! Refused launches, kernels with errors, and the texts of their faults.

mod common;

use amdgpu_sim::{AllocKind, Config, Denied, Dispatch, Fault, FaultKind, Gpu, LaunchError, Misaligned, Module, Space};
use common::*;
use std::sync::Arc;

static FAULTS: &[u8] = include_bytes!("kernels/faults.co");
static BASIC: &[u8] = include_bytes!("kernels/basic-O1.co");

fn gpu_and(code: &[u8]) -> (Gpu, Arc<Module>) {
    let gpu = Gpu::new(Config { instruction_budget: Some(10_000_000), ..Config::default() });
    let module = load(&gpu, code);
    (gpu, module)
}

fn fault(gpu: &Gpu, module: &Module, name: &str, blocks: u32, threads: u32, args: &Args) -> Fault {
    launch(gpu, module, name, [blocks, 1, 1], [threads, 1, 1], args).unwrap_err()
}

/// The parts of a memory fault.
fn memory(fault: &Fault) -> (Space, u64, Denied) {
    match fault.kind {
        FaultKind::Memory { space, address, why, .. } => (space, address, why),
        _ => panic!("not a memory fault: {fault}"),
    }
}

#[test]
fn out_of_bounds_names_kernel_instruction_workgroup_lane_address_and_allocation() {
    let (gpu, module) = gpu_and(FAULTS);
    let p = zeros::<i32>(&gpu, 100);
    // Item 90 of the second... of a workgroup of 128 writes element 100.
    let fault = fault(&gpu, &module, "out_of_bounds", 1, 128, &Args::default().pointer(&p).value(10_i32));
    assert_eq!(memory(&fault), (Space::Global, p.address + 400, Denied::OutOfBounds));
    let place = fault.place.as_ref().unwrap();
    assert_eq!((place.workgroup, place.wave, place.lane), ([0, 0, 0], 1, Some(26)));
    let text = fault.to_string();
    for part in [
        "kernel out_of_bounds",
        "out of bounds: write of 4 bytes",
        &format!("{:#x}", p.address + 400),
        "global_store_dword",
        "workgroup (0, 0, 0)",
        "lane 26",
        "0 bytes past the end of 400 bytes of device memory",
    ] {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
    // The faulting wave's store was not performed in any lane, including those that were inside.
    assert!(p.get()[74..].iter().all(|v| *v == 0));
}

#[test]
fn use_after_free_says_so() {
    let (gpu, module) = gpu_and(FAULTS);
    let address = gpu.memory().alloc(1024, 0, AllocKind::Device).unwrap();
    gpu.memory().free(address).unwrap();
    let fault = fault(&gpu, &module, "out_of_bounds", 1, 64, &Args::default().value(address).value(0_i32));
    assert_eq!(memory(&fault), (Space::Global, address, Denied::Freed));
    assert!(
        fault.to_string().contains("use after free") && fault.to_string().contains("at byte 0 of freed 1024 bytes"),
        "{fault}"
    );
}

#[test]
fn null_is_no_address() {
    let (gpu, module) = gpu_and(FAULTS);
    let out = zeros::<i32>(&gpu, 64);
    let fault = fault(&gpu, &module, "read_null", 1, 64, &Args::default().value(0_u64).pointer(&out));
    assert_eq!(memory(&fault), (Space::Global, 0, Denied::OutOfBounds));
    assert!(fault.to_string().contains("read of 4 bytes at null;"), "{fault}");
}

#[test]
fn output_and_heap_of_kernels_are_refused_by_name() {
    for code in [&include_bytes!("kernels/services.co")[..], include_bytes!("kernels/services-O0.co")] {
        let (gpu, module) = gpu_and(code);
        let out = zeros::<u64>(&gpu, 64);
        for (name, says) in [("prints", "printf"), ("allocates", "malloc")] {
            let fault = fault(&gpu, &module, name, 1, 64, &Args::default().pointer(&out));
            assert!(matches!(fault.kind, FaultKind::Unsupported(_)), "{fault}");
            assert!(fault.to_string().contains(says) && fault.to_string().contains("hip-sim run"), "{fault}");
        }
        // Unoptimised code takes the same hidden arguments, even if it does not need them.
        launch(&gpu, &module, "asks_nothing", [1, 1, 1], [64, 1, 1], &Args::default().pointer(&out)).unwrap();
    }
}

#[test]
fn misaligned_accesses() {
    let (gpu, module) = gpu_and(FAULTS);
    let (p, out) = (upload(&gpu, &(0..=255).collect::<Vec<u8>>()), zeros::<u32>(&gpu, 32));
    let atomic = fault(&gpu, &module, "misaligned_atomic", 1, 32, &Args::default().pointer(&p));
    assert_eq!(memory(&atomic), (Space::Global, p.address + 1, Denied::Misaligned(4)));
    assert!(atomic.to_string().contains("misaligned: atomic operation of 4 bytes"), "{atomic}");
    let args = Args::default().pointer(&p).pointer(&out);
    let load = fault(&gpu, &module, "misaligned_load", 1, 32, &args);
    assert_eq!(memory(&load), (Space::Global, p.address + 2, Denied::Misaligned(4)));

    // Permitted, as on the hardware: unaligned bytes are accessed. Atomics are still a fault.
    let gpu = Gpu::new(Config { misaligned: Misaligned::Allow, ..Config::default() });
    let module = load_again(&gpu);
    let (p, out) = (upload(&gpu, &(0..=255).collect::<Vec<u8>>()), zeros::<u32>(&gpu, 32));
    let args = Args::default().pointer(&p).pointer(&out);
    launch_1d(&gpu, &module, "misaligned_load", 1, 32, &args);
    let expected: Vec<u32> = (0..32_u32).map(|t| (0..4).fold(0, |v, i| v | (4 * t + 2 + i) << (8 * i))).collect();
    assert_eq!(out.get(), expected);
    assert!(matches!(memory(&fault(&gpu, &module, "misaligned_atomic", 1, 32, &args)).2, Denied::Misaligned(4)));
}

fn load_again(gpu: &Gpu) -> Arc<Module> {
    load(gpu, FAULTS)
}

#[test]
fn an_endless_kernel_is_cut_off() {
    let (gpu, module) = gpu_and(FAULTS);
    let p = zeros::<i32>(&gpu, 1);
    for blocks in [1, 50] {
        let fault = fault(&gpu, &module, "endless", blocks, 64, &Args::default().pointer(&p));
        assert_eq!(fault.kind, FaultKind::Budget(10_000_000));
        assert!(fault.to_string().contains("cut off after 10000000 instructions"), "{fault}");
    }
    // The GPU is still usable.
    let out = zeros::<i32>(&gpu, 64);
    launch_1d(&gpu, &module, "read_null", 1, 64, &Args::default().pointer(&out).pointer(&out));
}

#[test]
fn many_short_waves_are_cut_off_too() {
    for threads in [1, 2] {
        let config = Config { instruction_budget: Some(5000), threads: Some(threads), ..Config::default() };
        let gpu = Gpu::new(config);
        let module = load(&gpu, FAULTS);
        let out = zeros::<i32>(&gpu, 64);
        let args = Args::default().pointer(&out).pointer(&out);
        launch_1d(&gpu, &module, "read_null", 10, 64, &args);
        let fault = fault(&gpu, &module, "read_null", 10_000, 64, &args);
        assert_eq!(fault.kind, FaultKind::Budget(5000));
        assert!(fault.place.is_some_and(|place| place.workgroup[0] > 10), "the first ones have run");
    }
}

#[test]
fn an_aborted_kernel_is_a_trap() {
    let (gpu, module) = gpu_and(FAULTS);
    let p = zeros::<i32>(&gpu, 128);
    launch_1d(&gpu, &module, "abort_kernel", 1, 64, &Args::default().pointer(&p));
    let fault = fault(&gpu, &module, "abort_kernel", 1, 128, &Args::default().pointer(&p));
    assert_eq!(fault.kind, FaultKind::Trap(2));
    assert_eq!(fault.place.as_ref().map(|p| p.wave), Some(1));
    assert!(fault.to_string().contains("the kernel aborted itself"), "{fault}");
}

#[test]
fn lds_and_scratch_end_where_the_kernel_said() {
    let (gpu, module) = gpu_and(FAULTS);
    let out = zeros::<i32>(&gpu, 64);
    let args = |n: i32| Args::default().pointer(&out).value(n);
    launch_1d(&gpu, &module, "lds_out_of_bounds", 1, 64, &args(0));
    let lds = fault(&gpu, &module, "lds_out_of_bounds", 1, 64, &args(1));
    assert_eq!(memory(&lds), (Space::Lds, 256, Denied::OutOfBounds));
    assert_eq!(lds.place.as_ref().unwrap().lane, Some(63));
    launch_1d(&gpu, &module, "scratch_out_of_bounds", 1, 64, &args(15));
    let scratch = fault(&gpu, &module, "scratch_out_of_bounds", 1, 64, &args(100_000));
    assert_eq!((memory(&scratch).0, memory(&scratch).2), (Space::Private, Denied::OutOfBounds));
}

#[test]
fn a_jump_out_of_the_code_is_a_fault() {
    let (gpu, module) = gpu_and(FAULTS);
    let data = zeros::<i32>(&gpu, 64);
    for target in [0, data.address, 0xdead_beef_0000, u64::MAX - 3] {
        let fault = fault(&gpu, &module, "wild_call", 1, 64, &Args::default().value(target));
        assert!(matches!(fault.kind, FaultKind::WildJump(_)), "{fault}");
    }
}

#[test]
fn read_only_segments_are_read_only() {
    let (gpu, module) = gpu_and(FAULTS);
    let code = module.kernel("out_of_bounds").unwrap().descriptor_address();
    let fault = fault(&gpu, &module, "out_of_bounds", 1, 64, &Args::default().value(code).value(0_i32));
    assert_eq!(memory(&fault), (Space::Global, code, Denied::ReadOnly));
}

/// HIP's runtime sets `__constant__` variables with a copy kernel. Code cannot be written, although it is in the same
/// code object.
#[test]
fn constants_that_have_a_name_can_be_written_and_code_can_not() {
    let (gpu, faults) = gpu_and(FAULTS);
    let basic = load(&gpu, BASIC);
    let (table, size) = basic.global("table").unwrap();
    assert_eq!(size, 32);
    let args = Args::default().value(table).value(0_i32);
    launch(&gpu, &faults, "out_of_bounds", [1, 1, 1], [8, 1, 1], &args).unwrap();
    let mut words = [0; 32];
    gpu.memory().read(table, &mut words).unwrap();
    assert!(words.chunks_exact(4).zip(0_u32..).all(|(word, n)| *word == n.to_le_bytes()), "{words:?}");
    // A descriptor contains the offset of the code.
    let descriptor = basic.kernel("globals").unwrap().descriptor_address();
    let mut offset = [0; 8];
    gpu.memory().read(descriptor + 16, &mut offset).unwrap();
    let entry = descriptor.wrapping_add(u64::from_le_bytes(offset));
    let fault = fault(&gpu, &faults, "out_of_bounds", 1, 64, &Args::default().value(entry).value(0_i32));
    assert_eq!(memory(&fault), (Space::Global, entry, Denied::ReadOnly));
}

#[test]
fn an_unknown_instruction_is_a_fault_that_shows_the_word() {
    // All instructions of the kernel are replaced by an invalid word.
    let (gpu, module) = gpu_and(FAULTS);
    let kernel = module.kernel("out_of_bounds").unwrap();
    let entry = kernel.descriptor_address().wrapping_add_signed(kernel.info().descriptor.kernel_code_entry_byte_offset);
    gpu.memory().fill(entry, &0xffff_ffff_u32.to_le_bytes(), 4).unwrap();
    let fault = fault(&gpu, &module, "out_of_bounds", 1, 64, &Args::default().value(0_u64).value(0_i32));
    assert_eq!(fault.kind, FaultKind::UnknownInstruction(0xffff_ffff));
    assert!(fault.to_string().contains("0xffffffff") && fault.to_string().contains("entry +0x0"), "{fault}");
}

#[test]
fn the_fault_of_a_dispatch_with_many_is_one_of_them_and_the_host_goes_on() {
    let (gpu, module) = gpu_and(FAULTS);
    let p = zeros::<i32>(&gpu, 4);
    for _ in 0..20 {
        let fault = fault(&gpu, &module, "out_of_bounds", 200, 256, &Args::default().pointer(&p).value(0_i32));
        assert_eq!(memory(&fault).2, Denied::OutOfBounds);
    }
}

#[test]
fn impossible_launches_are_refused_before_they_start() {
    let (gpu, module) = gpu_and(BASIC);
    let bounded = load(&gpu, FAULTS).kernel("bounded").unwrap();
    let kernel = module.kernel("reverse_dynamic").unwrap();
    let try_launch =
        |kernel: &amdgpu_sim::Kernel, args: &[u8], grid: [u32; 3], workgroup: [u32; 3], dynamic_lds: u32| {
            let dispatch = Dispatch { grid, workgroup, dynamic_lds, kernarg: 0 };
            match gpu.launch(kernel, args, &dispatch).unwrap_err().kind {
                FaultKind::Launch(error) => error,
                other => panic!("{other}"),
            }
        };
    let none = [0; 16];
    assert!(matches!(try_launch(&kernel, &none, [0, 1, 1], [1, 1, 1], 0), LaunchError::Empty { .. }));
    assert!(matches!(try_launch(&kernel, &none, [1, 1, 1], [1, 0, 1], 0), LaunchError::Empty { .. }));
    let error = try_launch(&kernel, &none, [2048, 1, 1], [1025, 1, 1], 0);
    assert!(matches!(error, LaunchError::WorkgroupTooLarge { work_items: 1025, limit: 1024, .. }), "{error}");
    let error = try_launch(&kernel, &none, [1; 3], [u32::MAX; 3], 0);
    assert!(matches!(error, LaunchError::WorkgroupTooLarge { .. }), "{error}");
    let error = try_launch(&bounded, &none[..8], [129, 1, 1], [129, 1, 1], 0);
    assert!(matches!(error, LaunchError::WorkgroupTooLarge { limit: 128, .. }), "{error}");
    let error = try_launch(&kernel, &none, [64, 1, 1], [64, 1, 1], 65_537);
    assert!(matches!(error, LaunchError::LdsTooLarge { dynamic: 65_537, limit: 65_536, .. }), "{error}");
    let error = try_launch(&kernel, &[0; 17], [64, 1, 1], [64, 1, 1], 0);
    assert!(matches!(error, LaunchError::Arguments { given: 17, takes: 16 }), "{error}");
    let error = try_launch(&kernel, &none, [u32::MAX; 3], [1, 1, 1], 0);
    assert!(matches!(error, LaunchError::GridTooLarge { .. }), "{error}");
    assert!(Dispatch::of_blocks([1 << 20, 1, 1], [1 << 12, 1, 1]).is_err());
    let dispatch = Dispatch { grid: [64, 1, 1], workgroup: [64, 1, 1], dynamic_lds: 0, kernarg: 0x1000 };
    let fault = gpu.dispatch(&kernel, &dispatch).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Launch(LaunchError::Kernarg { address: 0x1000, .. })), "{fault}");
}

#[test]
fn a_kernarg_segment_in_device_memory_does_as_well() {
    let (gpu, module) = gpu_and(BASIC);
    let kernel = module.kernel("vector_add").unwrap();
    let (a, out) = (upload(&gpu, &[1.5_f32; 64]), zeros::<f32>(&gpu, 64));
    let args = Args::default().pointer(&a).pointer(&a).pointer(&out).value(64_u32);
    let mut dispatch = Dispatch::of_blocks([1, 1, 1], [64, 1, 1]).unwrap();
    let segment = upload(&gpu, &kernel.build_kernarg(&args.0, &dispatch).unwrap());
    dispatch.kernarg = segment.address;
    let stats = gpu.dispatch(&kernel, &dispatch).unwrap();
    assert_eq!((stats.workgroups, stats.waves), (1, 1));
    assert!(stats.instructions > 5);
    assert_eq!(out.get(), [3.0; 64]);
}

#[test]
fn kernels_of_all_code_object_versions_know_their_geometry() {
    let files: [(&[u8], u8); 4] = [
        (include_bytes!("kernels/versions-v4.co"), 4),
        (include_bytes!("kernels/versions-v4-rocm57.co"), 4),
        (include_bytes!("kernels/versions-v5.co"), 5),
        (include_bytes!("kernels/versions-v6.co"), 6),
    ];
    for (bytes, version) in files {
        let gpu = Gpu::new(Config::default());
        assert_eq!(amdgpu_sim::CodeObject::parse(bytes).unwrap().version(), version);
        let module = load(&gpu, bytes);
        let out = zeros::<u32>(&gpu, 4 * 3 * 2 * 5);
        launch(&gpu, &module, "geometry", [3, 2, 5], [16, 4, 2], &Args::default().pointer(&out)).unwrap();
        let expected = [16 | 4 << 16, 2, 3 | 2 << 16, 5];
        assert!(out.get().chunks_exact(4).all(|got| got == expected), "v{version}: {:x?}", out.get());
    }
}

#[test]
fn memory_allocated_or_freed_while_a_kernel_runs_is_safe() {
    let (gpu, module) = gpu_and(BASIC);
    let data: Vec<f32> = vec![1.0; 200_000];
    let (a, out) = (upload(&gpu, &data), zeros::<f32>(&gpu, 256));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let args = Args::default().pointer(&a).pointer(&out).value(200_000_i32);
                    launch_1d(&gpu, &module, "reduce_lds", 16, 256, &args);
                }
            });
        }
        scope.spawn(|| {
            for i in 1..500 {
                let p = gpu.memory().alloc(i * 100, 0, AllocKind::Device).unwrap();
                gpu.memory().free(p).unwrap();
            }
        });
    });
    assert_eq!(out.get().iter().sum::<f32>(), 200_000.0);
}

#[test]
fn a_module_leaves_memory_when_the_last_kernel_of_it_is_dropped() {
    let (gpu, module) = gpu_and(BASIC);
    assert!(gpu.memory().used() > 0);
    let kernel = module.kernel("empty").unwrap();
    drop(module);
    gpu.launch(&kernel, &[], &Dispatch::of_blocks([1, 1, 1], [1, 1, 1]).unwrap()).unwrap();
    drop(kernel);
    assert_eq!((gpu.memory().used(), gpu.memory().allocations().len()), (0, 0));
}

/// A program's own parallel loop may wait, on all threads of rayon's global pool, for a kernel that another thread
/// runs.
#[test]
fn a_dispatch_does_not_need_rayons_global_threads() {
    let (started, start) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            rayon::broadcast(|_| {
                started.send(()).unwrap();
                // Until the other end is dropped.
                let _ = released.lock().unwrap().recv();
            });
        });
        (0..rayon::current_num_threads()).for_each(|_| start.recv().unwrap());
        let (done, result) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let (gpu, module) = gpu_and(FAULTS);
            let p = zeros::<i32>(&gpu, 100_000);
            let args = Args::default().pointer(&p).value(10_i32);
            done.send(launch_1d(&gpu, &module, "out_of_bounds", 64, 128, &args).workgroups).unwrap();
        });
        let workgroups = result.recv();
        drop(release);
        assert_eq!(workgroups, Ok(64));
    });
}

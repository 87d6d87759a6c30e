//! Mutated machine code: kernels that load are run with a small budget, and come to an end or to a fault.

mod common;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use amdgpu_sim::{AllocKind, CodeObject, Config, Dispatch, Gpu};
use common::Random;
use common::mutate::{mutate, on_all_cores, parts};

/// Device memory of the GPUs here.
const MEMORY: u64 = 1 << 20;

#[test]
fn mutated_code_that_loads_also_runs_into_an_end_or_a_fault() {
    static RUN: [&[u8]; 5] = [
        include_bytes!("kernels/versions-v5.co"),
        include_bytes!("kernels/versions-v4-rocm57.co"),
        include_bytes!("kernels/pointers.co"),
        include_bytes!("kernels/faults.co"),
        include_bytes!("kernels/memory.co"),
    ];
    let parts: Vec<_> = RUN.iter().map(|s| parts(s)).collect();
    let (ended, faulted) = (AtomicU64::new(0), AtomicU64::new(0));
    on_all_cores(20_000, |n| {
        let mut r = Random(n ^ 0xabcd_0000_0000);
        let which = r.next() as usize % RUN.len();
        let mut bytes = RUN[which].to_vec();
        // Instructions and descriptors: all that is not headers, notes and tables.
        mutate(&mut bytes, &parts[which][3..], &mut r);
        let Ok(code) = CodeObject::parse(&bytes) else { return };
        let config =
            Config { memory_bytes: MEMORY, threads: Some(1), instruction_budget: Some(5_000), ..Config::default() };
        let gpu = Gpu::new(config);
        let Ok(module) = gpu.load(&code) else { return };
        let out = gpu.memory().alloc(4096, 0, AllocKind::Device).unwrap();
        for kernel in module.kernels() {
            let workgroup = [1 + r.next() as u32 % 80, 1 + r.next() as u32 % 3, 1];
            let dispatch = Dispatch { grid: [100, 3, 1], workgroup, dynamic_lds: 64, kernarg: 0 };
            let arguments: Vec<u8> = (0..4).flat_map(|_| out.to_le_bytes()).collect();
            let size = (kernel.info().explicit_size() as usize).min(arguments.len());
            match gpu.launch(kernel, &arguments[..size], &dispatch) {
                Ok(_) => ended.fetch_add(1, Relaxed),
                Err(fault) => {
                    assert!(fault.to_string().starts_with("kernel "));
                    faulted.fetch_add(1, Relaxed)
                }
            };
        }
    });
    let (ended, faulted) = (ended.into_inner(), faulted.into_inner());
    println!("{ended} ended, {faulted} faulted");
    assert!(ended > 1000 && faulted > 1000, "{ended} {faulted}");
}

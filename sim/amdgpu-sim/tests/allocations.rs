//! Running a kernel takes no allocation an instruction and none a workgroup: a dispatch that does many times as much makes as
//! many.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use amdgpu_sim::{Config, Gpu};
use common::{Args, launch_1d, load, zeros};

/// The system's allocator, counting.
struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Relaxed);
        // SAFETY: as the caller vouches.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as the caller vouches.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Relaxed);
        // SAFETY: as the caller vouches.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations that `f` makes.
fn count(f: impl FnOnce()) -> u64 {
    let before = COUNT.load(Relaxed);
    f();
    COUNT.load(Relaxed) - before
}

// One test, as the count is of the whole process.
#[test]
fn instructions_and_workgroups_make_no_allocations() {
    let gpu = Gpu::new(Config { threads: Some(1), ..Config::default() });
    let module = load(&gpu, include_bytes!("kernels/lanes.co"));
    let out = zeros::<u32>(&gpu, 1 << 16);
    let xorshift = |rounds: u32, blocks: u32| {
        let args = Args::default().pointer(&out).value(rounds).value(blocks * 256);
        count(|| {
            launch_1d(&gpu, &module, "xorshift", blocks, 256, &args);
        })
    };
    // The first launch lowers the kernel.
    let first = xorshift(1, 1);
    let short = xorshift(1, 1);
    assert!(first > short && short > 0, "allocations are counted: {first}, {short}");
    // Waves that use up a turn get registers of their own: one for each wave, once.
    let long = xorshift(1000, 1);
    assert_eq!(xorshift(20_000, 1), long, "twenty times the instructions");
    assert_eq!(xorshift(1, 256), short, "256 times the workgroups");

    let [a, b, c] = [0, 1, 2].map(|_| zeros::<f32>(&gpu, 128 * 128));
    let kernel = module.kernel("matmul").unwrap();
    let matmul = |n: u32| {
        let args = Args::default().pointer(&a).pointer(&b).pointer(&c).value(n);
        let dispatch = amdgpu_sim::Dispatch::of_blocks([n / 16, n / 16, 1], [16, 16, 1]).unwrap();
        count(|| {
            gpu.launch(&kernel, &args.0, &dispatch).unwrap();
        })
    };
    matmul(16);
    assert_eq!(matmul(16), matmul(128), "64 times the workgroups, eight times as long each, with barriers");
}

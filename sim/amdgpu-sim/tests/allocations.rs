//! Running a kernel does not allocate per instruction or per workgroup, nor, except for the first time, per launch.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use amdgpu_sim::{Config, Dispatch, Gpu};
use common::{Args, load, zeros};

/// The system's allocator, counting what each thread takes.
struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller vouches.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as the caller vouches.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller vouches.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The allocations of `f` on this thread, on which the kernels run.
fn count(f: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    f();
    COUNT.get() - before
}

#[test]
fn launches_and_instructions_and_workgroups_make_no_allocations() {
    let gpu = Gpu::new(Config { threads: Some(1), ..Config::default() });
    let module = load(&gpu, include_bytes!("kernels/lanes.co"));
    let out = zeros::<u32>(&gpu, 1 << 16);
    let kernel = module.kernel("xorshift").unwrap();
    let xorshift = |rounds: u32, blocks: u32| {
        let args = Args::default().pointer(&out).value(rounds).value(blocks * 256);
        let dispatch = Dispatch::of_blocks([blocks, 1, 1], [256, 1, 1]).unwrap();
        count(|| {
            gpu.launch(&kernel, &args.0, &dispatch).unwrap();
        })
    };
    // The first launch lowers the kernel and allocates registers.
    assert!(xorshift(1, 1) > 0, "allocations are counted");
    assert_eq!(xorshift(1, 1), 0, "a launch");
    // The first that does not fit one wave's turn allocates registers for each wave.
    xorshift(1000, 1);
    assert_eq!(xorshift(20_000, 1), 0, "twenty times the instructions");
    // The first with several workgroups caches the initial registers of waves.
    xorshift(1, 2);
    assert_eq!(xorshift(1, 256), 0, "128 times the workgroups");

    let [a, b, c] = [0, 1, 2].map(|_| zeros::<f32>(&gpu, 128 * 128));
    let kernel = module.kernel("matmul").unwrap();
    let matmul = |n: u32| {
        let args = Args::default().pointer(&a).pointer(&b).pointer(&c).value(n);
        let dispatch = Dispatch::of_blocks([n / 16, n / 16, 1], [16, 16, 1]).unwrap();
        count(|| {
            gpu.launch(&kernel, &args.0, &dispatch).unwrap();
        })
    };
    matmul(32);
    assert_eq!(matmul(16), 0, "a launch of waves that meet at barriers");
    assert_eq!(matmul(128), 0, "64 times the workgroups, eight times as long each, with barriers");
    // Other kernels' registers do not evict these.
    assert_eq!(xorshift(1, 1), 0, "another kernel, which has run before");
}

//! A million mutated code objects: reading and loading them gives a result or an error. Nothing
//! panics, nothing stays in memory, nothing asks for more memory than a code object is worth.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use amdgpu_sim::{CodeObject, Config, Gpu, bundle};
use common::mutate::{mutate, parts};
use common::{Random, fuzz};

/// Remembers the largest request.
struct Watch;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Watch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Relaxed);
        // SAFETY: as the caller vouches.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Relaxed);
        // SAFETY: as the caller vouches.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller vouches.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static WATCH: Watch = Watch;

static SEEDS: [&[u8]; 6] = [
    include_bytes!("kernels/versions-v4.co"),
    include_bytes!("kernels/versions-v5.co"),
    include_bytes!("kernels/versions-v6.co"),
    include_bytes!("kernels/versions-v4-rocm57.co"),
    include_bytes!("kernels/pointers.co"),
    include_bytes!("kernels/undefined.co"),
];

/// Device memory of the GPUs here: no load may take more.
const MEMORY: u64 = 1 << 20;

#[test]
fn a_million_mutated_code_objects() {
    let parts: Vec<_> = SEEDS.iter().map(|s| parts(s)).collect();
    let (parsed, loaded) = (AtomicU64::new(0), AtomicU64::new(0));
    LARGEST.store(0, Relaxed);
    fuzz::cases("objects", 1_000_000, |n| {
        let mut r = Random(n);
        let which = r.next() as usize % SEEDS.len();
        let mut bytes = SEEDS[which].to_vec();
        mutate(&mut bytes, &parts[which], &mut r);
        let Ok(code) = CodeObject::parse(&bytes) else { return };
        parsed.fetch_add(1, Relaxed);
        // A GPU for each: what a load leaves behind is seen.
        let gpu = Gpu::new(Config { memory_bytes: MEMORY, threads: Some(1), ..Config::default() });
        if let Ok(module) = gpu.load(&code) {
            loaded.fetch_add(1, Relaxed);
            for kernel in module.kernels() {
                assert!(kernel.info().kernarg_size <= 1 << 16);
            }
        }
        assert_eq!(gpu.memory().allocations(), []);
    });
    let (parsed, loaded) = (parsed.into_inner(), loaded.into_inner());
    println!("{parsed} parsed, {loaded} loaded, largest request {} bytes", LARGEST.load(Relaxed));
    // The mutations are neither all fatal nor all harmless.
    let mixed = (100_000..900_000).contains(&parsed) && (20_000..parsed).contains(&loaded);
    assert!(mixed || !fuzz::is_usual(), "{parsed} {loaded}");
    assert!(LARGEST.load(Relaxed) < 2 * MEMORY as usize, "{}", LARGEST.load(Relaxed));
}

#[test]
fn mutated_bundles() {
    let mut seed = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    seed.extend(2_u64.to_le_bytes());
    for (offset, size, id) in [(120_u64, 8_u64, "hip-amdgcn-amd-amdhsa--gfx90a"), (128, 4, "host-x86_64")] {
        seed.extend([offset.to_le_bytes(), size.to_le_bytes(), (id.len() as u64).to_le_bytes()].concat());
        seed.extend(id.as_bytes());
    }
    seed.resize(132, 7);
    let device = Gpu::new(Config::default()).target();
    fuzz::cases("bundles", 200_000, |n| {
        let mut r = Random(n ^ 0x1234_0000_0000);
        let mut bytes = seed.clone();
        mutate(&mut bytes, std::slice::from_ref(&(24..132)), &mut r);
        let _ = bundle::pick(&bytes, &device);
    });
}

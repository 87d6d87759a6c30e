//! A million mutated code objects: parsing and loading them succeeds or returns an error. Nothing panics, leaks memory,
//! or requests more memory than a code object can need.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use amdgpu_sim::{CodeObject, Config, Gpu, bundle};
use common::mutate::{mutate, parts};
use common::{Random, fuzz};

/// Records the largest request.
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

/// Device memory of the GPUs: the limit for a load.
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
        // A GPU for each case, to detect leaks.
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
    // Not all mutations are fatal, and not all are harmless.
    let mixed =
        fuzz::expected(100_000..=900_000).contains(&parsed) && fuzz::expected(20_000..=900_000).contains(&loaded);
    assert!(mixed && loaded <= parsed, "{parsed} {loaded}");
    assert!(LARGEST.load(Relaxed) < 2 * MEMORY as usize, "{}", LARGEST.load(Relaxed));
}

#[test]
fn mutated_bundles() {
    let mut raw = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    raw.extend(2_u64.to_le_bytes());
    for (offset, size, id) in [(120_u64, 8_u64, "hip-amdgcn-amd-amdhsa--gfx90a"), (128, 4, "host-x86_64")] {
        raw.extend([offset.to_le_bytes(), size.to_le_bytes(), (id.len() as u64).to_le_bytes()].concat());
        raw.extend(id.as_bytes());
    }
    raw.resize(132, 7);
    let (v2, v3) = (include_bytes!("kernels/basic-ccob-v2.hipfb"), include_bytes!("kernels/basic-ccob-v3.hipfb"));
    let device = Gpu::new(Config::default()).target();
    let picked = AtomicU64::new(0);
    fuzz::cases("bundles", 120_000, |n| {
        let mut r = Random(n ^ 0x1234_0000_0000);
        let (seed, header) = match r.next() % 12 {
            0 => (&v2[..], 40),
            1 => (&v3[..], 48),
            _ => (&raw[..], 132),
        };
        let mut bytes = seed.to_vec();
        // Half of the time only in the header.
        mutate(&mut bytes, &[4..header, 24..seed.len()], &mut r);
        picked.fetch_add(u64::from(bundle::pick(&bytes, &device).is_ok()), Relaxed);
        let _ = bundle::for_each_code_object(&bytes, |_| true, |_, _| {});
    });
    let picked = picked.into_inner();
    assert!(fuzz::expected(1000..=110_000).contains(&picked), "{picked}");
}

/// A host library as far as its bundles matter: header, one segment, two sections, a relocation.
fn host_library(bundle: &[u8]) -> Vec<u8> {
    const AT: usize = 4096;
    let mut file = vec![0; AT];
    file.extend(bundle);
    file.resize(file.len().next_multiple_of(AT), 0);
    let wrapper = file.len();
    for number in [1 << 32 | 0x4849_5046_u64, 0, 0] {
        file.extend(number.to_le_bytes());
    }
    let rela = file.len();
    for number in [wrapper as u64 + 8, 8, AT as u64] {
        file.extend(number.to_le_bytes());
    }
    let names = file.len();
    file.extend(b"\0.hip_fatbin\0.hipFatBinSegment\0");
    let sections = file.len().next_multiple_of(8);
    file.resize(sections, 0);
    // Name, type, flags, address (which is the offset), size, size of an entry.
    for (name, kind, at, size, entry) in [
        (0, 0, 0, 0, 0),
        (1, 1, AT, bundle.len(), 0),
        (13, 1, wrapper, 24, 0),
        (0, 4, rela, 24, 24),
        (0, 3, names, 32, 0),
    ] {
        file.extend([name as u32, kind].map(u32::to_le_bytes).concat());
        for number in [2, at, at, size, 0, 8, entry] {
            file.extend((number as u64).to_le_bytes());
        }
    }
    let header = [b"\x7fELF\x02\x01\x01\0".as_slice(), &[0; 8], &[3, 0, 62, 0, 1, 0, 0, 0], &[0; 8]].concat();
    file[..32].copy_from_slice(&header);
    file[32..40].copy_from_slice(&64_u64.to_le_bytes());
    file[40..48].copy_from_slice(&(sections as u64).to_le_bytes());
    for (i, number) in [64_u16, 56, 1, 64, 5, 4].into_iter().enumerate() {
        file[52 + 2 * i..54 + 2 * i].copy_from_slice(&number.to_le_bytes());
    }
    let len = file.len() as u64;
    file[64..72].copy_from_slice(&[1, 0, 0, 0, 4, 0, 0, 0]);
    for (i, number) in [0, 0, 0, len, len, 4096].into_iter().enumerate() {
        file[72 + 8 * i..80 + 8 * i].copy_from_slice(&number.to_le_bytes());
    }
    file
}

#[test]
fn mutated_host_libraries() {
    let bundle = include_bytes!("kernels/basic-ccob-v3.hipfb");
    let seed = host_library(bundle);
    let mut found = 0;
    bundle::for_each_code_object(&seed, |_| true, |_, _| found += 1).unwrap();
    assert_eq!((found, bundle::bundles(&seed).unwrap().len()), (2, 1));
    // Without the section that contains the bundles, the wrapper is used.
    let name = seed.windows(11).position(|w| w == b".hip_fatbin").unwrap();
    let mut stripped = seed.clone();
    stripped[name] = b'x';
    assert_eq!(bundle::bundles(&stripped).unwrap()[0].bytes(), bundle);
    // A wrapper with another magic is reported.
    let wrapper = seed.windows(4).position(|w| w == b"FPIH").unwrap();
    stripped[wrapper] = b'K';
    assert!(bundle::bundles(&stripped).unwrap_err().to_string().contains("HIPK"));

    let parts = [0..64, 64..120, 4096..4144, wrapper..seed.len()];
    let ok = AtomicU64::new(0);
    fuzz::cases("libraries", 30_000, |n| {
        let mut r = Random(n ^ 0x4321_0000_0000);
        let mut bytes = seed.clone();
        mutate(&mut bytes, &parts, &mut r);
        ok.fetch_add(u64::from(bundle::bundles(&bytes).is_ok()), Relaxed);
    });
    let ok = ok.into_inner();
    assert!(fuzz::expected(1000..=25_000).contains(&ok), "{ok}");
}

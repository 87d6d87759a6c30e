//! Malicious code objects: each is refused with a `LoadError` (or `LaunchError`), with little time and memory.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use amdgpu_sim::{CodeObject, Config, Dispatch, FaultKind, Gpu, LaunchError, LoadError, Stats};
use common::object::*;
use common::zeros;

/// Counts allocations.
struct Watch;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Watch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(LIVE.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: as the caller vouches.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(LIVE.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: as the caller vouches.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller vouches.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static WATCH: Watch = Watch;

/// `s_endpgm`.
const END: u32 = 0xbf81_0000;

fn gpu() -> Gpu {
    Gpu::new(Config { instruction_budget: Some(100_000), memory_bytes: 1 << 30, ..Config::default() })
}

/// The result of loading an object.
fn load(object: &Object) -> Result<(), LoadError> {
    CodeObject::parse(&object.build()).and_then(|code| gpu().load(&code)).map(drop)
}

fn refused(object: &Object) -> LoadError {
    load(object).expect_err("it should have been refused")
}

fn launch(object: &Object) -> Result<Stats, FaultKind> {
    let gpu = gpu();
    let module = gpu.load(&CodeObject::parse(&object.build()).unwrap()).unwrap();
    let dispatch = Dispatch::of_blocks([1, 1, 1], [64, 1, 1]).unwrap();
    gpu.launch(&module.kernel("k").unwrap(), &[], &dispatch).map_err(|fault| fault.kind)
}

fn launch_error(object: &Object) -> LaunchError {
    match launch(object) {
        Err(FaultKind::Launch(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// The unmodified object, from which all others are made, is valid.
#[test]
fn a_plain_object_loads_and_runs() {
    assert_eq!(launch(&Object::of(&[END])).unwrap().instructions, 1);
}

// The other tests, which run beside it, need little.
#[test]
fn tables_that_share_their_bytes_do_not_multiply() {
    let mut objects = Vec::new();
    // 40 000 names of a megabyte each, all suffixes of the same megabyte.
    let strings = [vec![b'x'; 1 << 20], vec![0]].concat();
    objects.push(Object { symbols: (0..40_000).map(|n| (n, 0, 1)).collect(), strings, ..Object::of(&[END]) });
    // 10 000 times the same 20 000 relocations, of an undefined symbol with a long name.
    let relocations = vec![(DATA, 3, 3, 0); 20_000];
    objects.push(Object {
        data: vec![0; 64],
        relocations,
        relocation_sections: 10_000,
        strings: [vec![b'x'; 100_000], vec![0]].concat(),
        symbols: vec![(0, 0, 0)],
        ..Object::of(&[END])
    });
    // 200 times the same note.
    let mut notes =
        Object { metadata: Some([vec![0xc6], vec![0, 0x40, 0, 0], vec![7; 1 << 22]].concat()), ..Object::of(&[END]) };
    let size = notes.build().len() as u64;
    notes.headers = vec![[NOTE, READ, 0x200, 0, size - 0x1000, 0]; 200];
    objects.push(notes);
    for object in objects {
        let bytes = object.build();
        MOST.store(LIVE.load(Relaxed), Relaxed);
        let before = LIVE.load(Relaxed);
        let error = CodeObject::parse(&bytes).unwrap_err();
        let most = MOST.load(Relaxed) - before;
        assert!(most < 64 << 20, "{most} bytes for a file of {}: {error}", bytes.len());
        assert!(matches!(error, LoadError::Elf(_) | LoadError::Metadata(_)), "{error}");
    }
}

#[test]
fn relocations_that_share_a_long_undefined_name_are_one_error() {
    let object = Object {
        data: vec![0; 64],
        relocations: vec![(DATA, 3, 3, 0); 5000],
        strings: [vec![b'x'; 50_000], vec![0]].concat(),
        symbols: vec![(0, 0, 0)],
        ..Object::of(&[END])
    };
    assert!(matches!(refused(&object), LoadError::UndefinedSymbol(name) if name.len() == 50_000));
}

#[test]
fn segments_that_overlap_wrap_or_take_the_address_space_are_refused() {
    let with = |header: [u64; 6]| Object { headers: vec![header], ..Object::of(&[END]) };
    for (header, part) in [
        ([LOAD, READ, 0, TEXT + 4, 4, 4], "starts before"),
        ([LOAD, READ, 0, TEXT - 4, 8, 8], "starts before"),
        ([LOAD, READ, 0, u64::MAX - 8, 4, 64], "too far"),
        ([LOAD, READ, 0, 1 << 36, 4, 4], "too far"),
        ([LOAD, READ, 0, 1 << 35, 4, 4], "between them"),
        ([LOAD, READ, 0, 0x50_0000, 64, 4], "larger in the file"),
        ([LOAD, READ, u64::MAX, 0x50_0000, 64, 64], "outside the file"),
        ([LOAD, READ, 1 << 40, 0x50_0000, 64, 64], "outside the file"),
        ([LOAD, READ | WRITE | EXECUTE, 0, 0x50_0000, 64, 64], "writable and executable"),
        ([LOAD, READ | EXECUTE, 0, 0x50_0000, 64, 60 << 30], "executable, and too large or not in the file"),
    ] {
        let error = refused(&with(header)).to_string();
        assert!(error.contains(part), "{part:?}: {error}");
    }
    // Zero-filled memory that exceeds the device's.
    let error = refused(&with([LOAD, READ | WRITE, 0, 0x50_0000, 0, 4 << 30]));
    assert!(matches!(error, LoadError::Memory(_)), "{error}");
    assert!(matches!(refused(&Object { headers: vec![[0; 6]; 300], ..Object::of(&[END]) }), LoadError::Segment(_)));
}

#[test]
fn metadata_of_any_shape_is_read_or_refused() {
    let with = |metadata: Vec<u8>| refused(&Object { metadata: Some(metadata), ..Object::of(&[END]) });
    let kernels = || [vec![0x81], text("amdhsa.kernels")].concat();
    for metadata in [
        vec![],
        // A map, a list, a text, and binaries that claim 4 billion elements.
        vec![0xdf, 0xff, 0xff, 0xff, 0xff],
        [kernels(), vec![0xdd, 0xff, 0xff, 0xff, 0xff]].concat(),
        [kernels(), vec![0xdb, 0xff, 0xff, 0xff, 0xff]].concat(),
        [kernels(), vec![0xc6, 0xff, 0xff, 0xff, 0xff]].concat(),
        [kernels(), number(7)].concat(),
        [kernels(), vec![0x91, 0xc0]].concat(),
        [kernels(), vec![0x91, 0x81], text(".name"), number(3)].concat(),
        [kernels(), vec![0x91, 0x82], text(".name"), text("k"), text(".name"), text("k")].concat(),
        // The same list twice.
        [vec![0x82], text("amdhsa.kernels"), vec![0x90], text("amdhsa.kernels"), vec![0x90]].concat(),
    ] {
        let error = with(metadata.clone());
        assert!(matches!(error, LoadError::Metadata(_)), "{metadata:x?}: {error}");
    }
    // Every known key with a value of every other type.
    for key in [
        ".args",
        ".kernarg_segment_size",
        ".kernarg_segment_align",
        ".group_segment_fixed_size",
        ".vgpr_count",
        ".private_segment_fixed_size",
        ".uses_dynamic_stack",
        ".max_flat_workgroup_size",
        ".wavefront_size",
    ] {
        for value in [vec![0xc1], vec![0xcb, 1, 2, 3, 4, 5, 6, 7, 8], text("many"), vec![0x81, 0xc0, 0xc0]] {
            let names = [text(".name"), text("k"), text(".symbol"), text("k.kd"), text(key)].concat();
            let error = with([kernels(), vec![0x91, 0x83], names, value].concat());
            assert!(matches!(error, LoadError::Metadata(_)), "{key}: {error}");
        }
    }
}

/// A deeply nested note does not exhaust the stack: this thread has a small one.
#[test]
fn nested_metadata_is_refused_on_a_small_stack() {
    let nested = |open: &[u8]| [vec![0x81], text("x"), open.repeat(100_000), vec![0xc0; 100_000]].concat();
    let check = move || {
        for open in [&[0x91][..], &[0x81, 0x01], &[0xdd, 0, 0, 0, 1]] {
            let error = refused(&Object { metadata: Some(nested(open)), ..Object::of(&[END]) });
            assert!(matches!(&error, LoadError::Metadata(why) if why.contains("depth")), "{error}");
        }
    };
    std::thread::Builder::new().stack_size(128 << 10).spawn(check).unwrap().join().unwrap();
}

#[test]
fn two_kernels_of_one_name_are_refused() {
    let object = Object { kernels: vec![Kernel::new("k", &[END]); 2], ..Object::default() };
    let error = refused(&object);
    assert!(
        matches!(&error, LoadError::Kernel { kernel, reason } if kernel == "k" && reason.contains("two")),
        "{error}"
    );
}

#[test]
fn relocations_outside_the_image_of_no_symbol_or_of_no_type_are_refused() {
    let with = |relocation: Relocation| {
        refused(&Object { data: vec![0; 64], relocations: vec![relocation], ..Object::of(&[END]) })
    };
    for relocation in [
        (0, 3, 1, 0),
        (DATA + 57, 3, 1, 0),
        (DATA + 64, 1, 1, 0),
        (u64::MAX, 3, 1, 0),
        (u64::MAX - 3, 3, 1, 0),
        (DATA, 99, 1, 0),
        (DATA, 3, 1000, 0),
        (DATA, 3, u32::MAX, 0),
        (DATA, 6, 1, 1 << 40),
    ] {
        let error = with(relocation);
        assert!(matches!(error, LoadError::Relocation { .. }), "{relocation:x?}: {error}");
    }
}

/// Code may be relocated with any addend: the result is run like any code.
#[test]
fn relocations_of_code_end_in_a_fault_of_the_kernel() {
    for addend in [0, i64::MIN, i64::MAX, -1] {
        let object = Object { relocations: vec![(TEXT, 3, 1, addend)], ..Object::of(&[END, END, END]) };
        let _ = launch(&object);
    }
}

#[test]
fn flags_of_any_value_are_a_target_or_an_error() {
    for bits in 0..=0xfff_u32 {
        let object = Object { flags: Some(bits), ..Object::of(&[END]) };
        match load(&object) {
            Ok(()) => assert_eq!(bits & 0xff, 0x3f, "{bits:#x}"),
            Err(LoadError::NotAmdGpu(_) | LoadError::Target { .. }) => {}
            Err(other) => panic!("{bits:#x}: {other}"),
        }
    }
}

/// A kernel with a modification.
fn kernel(change: impl FnOnce(&mut Kernel)) -> Object {
    let mut object = Object::of(&[END]);
    change(&mut object.kernels[0]);
    object
}

#[test]
fn descriptors_that_ask_for_too_much_are_refused_at_launch() {
    let error = launch_error(&kernel(|k| k.lds = u32::MAX));
    assert!(matches!(error, LaunchError::LdsTooLarge { fixed: u32::MAX, .. }), "{error}");
    let error = launch_error(&kernel(|k| k.lds = 65_537));
    assert!(matches!(error, LaunchError::LdsTooLarge { .. }), "{error}");
    for scratch in [u32::MAX, 1 << 31, (128 << 10) + 1] {
        let error = launch_error(&kernel(|k| k.scratch = scratch));
        assert!(matches!(error, LaunchError::ScratchTooLarge { .. }), "{error}");
    }
    let error = launch_error(&kernel(|k| k.properties |= 1 << 10));
    assert!(matches!(error, LaunchError::Unsupported(_)), "{error}");
    for size in [u32::MAX, (1 << 16) + 1] {
        let error = refused(&kernel(|k| k.kernarg = size));
        assert!(matches!(error, LoadError::Kernel { .. }), "{error}");
    }
    for (key, value) in [(".wavefront_size", 16), (".wavefront_size", u32::MAX)] {
        let error = refused(&kernel(|k| k.more = vec![text(key), number(value)]));
        assert!(matches!(error, LoadError::Kernel { .. }), "{error}");
    }
    let error = launch_error(&kernel(|k| {
        k.more = vec![text(".reqd_workgroup_size"), [vec![0x93], number(1), number(1), number(1)].concat()];
    }));
    assert!(matches!(error, LaunchError::WorkgroupMismatch { .. }), "{error}");
}

/// Any register request in the descriptor: user SGPRs of every kind and number, IDs, and fewer VGPRs than the code
/// uses.
#[test]
fn descriptors_with_any_bits_run_or_are_refused() {
    // v_mov_b32 v255, 0; v_accvgpr_write_b32 a255, 0
    let code = [0x7ffe_0280, 0xd3d9_40ff, 0x0000_0080, END];
    let mut random = common::Random(3);
    let mut ran = 0;
    for n in 0..400 {
        let mut object = Object::of(&code);
        let k = &mut object.kernels[0];
        if n > 0 {
            // A little scratch and LDS, so that the launch is not refused for these.
            (k.lds, k.scratch) = (random.next() as u32 & 0xfff, random.next() as u32 & 0x3ff);
            k.rsrc = std::array::from_fn(|_| random.next() as u32);
            k.properties = random.next() as u16 & !(1 << 10);
            k.rsrc[0] |= [63, 0][n % 2];
            k.rsrc[2] |= [63, 0][n / 2 % 2];
        }
        let (rsrc, properties) = (k.rsrc, k.properties);
        let (all, split) = (8 * (rsrc[0] % 64) + 8, 4 * (rsrc[2] % 64) + 4);
        let about = format!("{rsrc:x?} {properties:x}");
        match launch(&object) {
            Ok(stats) => {
                assert_eq!((all, split, stats.waves), (512, 256, 1), "{about}");
                ran += 1;
            }
            Err(FaultKind::StrayRegister(stray)) => {
                let has_v255 = split == 256 && all >= 256;
                let there = if has_v255 { ('a', all - 256) } else { ('v', split.min(all)) };
                assert_eq!((stray.file, u32::from(stray.allocated), stray.first), (there.0, there.1, 255), "{about}");
            }
            Err(other) => panic!("{about}: {other:?}"),
        }
    }
    assert!((50..350).contains(&ran), "{ran}");
}

/// Arguments in memory that is freed before the launch are refused; in memory that is freed during it they stay
/// readable.
#[test]
fn arguments_in_freed_memory_are_refused() {
    let gpu = gpu();
    let module = common::load(&gpu, &Object::of(&[END]).build());
    let kernel = module.kernel("k").unwrap();
    let buffer = zeros::<u64>(&gpu, 2);
    let mut dispatch = Dispatch::of_blocks([1, 1, 1], [64, 1, 1]).unwrap();
    dispatch.kernarg = buffer.address;
    gpu.dispatch(&kernel, &dispatch).unwrap();
    for wrong in [buffer.address + 1, buffer.address + 16, u64::MAX, u64::MAX - 15, 0] {
        let fault = gpu.dispatch(&kernel, &Dispatch { kernarg: wrong, ..dispatch }).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Launch(LaunchError::Kernarg { .. })), "{wrong:#x}: {fault}");
    }
    drop(buffer);
    let fault = gpu.dispatch(&kernel, &dispatch).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Launch(LaunchError::Kernarg { size: 16, .. })), "{fault}");
}

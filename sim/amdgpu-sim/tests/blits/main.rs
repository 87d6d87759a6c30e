//! The kernels with which ROCm's runtime copies and fills memory and waits, run on the software GPU.
//!
//! Their source, OpenCL C, is text inside `libamdhip64`. It is extracted from the fetched library and compiled with
//! that release's own Comgr, so that no copy of it is kept here.

#![allow(missing_docs, reason = "a test")]

mod comgr;
#[path = "../common/mod.rs"]
mod common;
mod images;

use std::path::Path;
use std::sync::Arc;

use amdgpu_sim::{Arch, Config, Gpu, Misaligned, Module, ValueKind};
use comgr::Comgr;
use common::{Args, Random, launch, load, upload, zeros};

/// The kernels' source in a runtime library: the texts that have kernels of the runtime, each once.
fn source(library: &Path) -> String {
    let bytes = std::fs::read(library).unwrap();
    let has = |text: &[u8], part: &[u8]| text.windows(part.len()).any(|w| w == part);
    let texts =
        bytes.split(|b| *b == 0).filter(|t| t.len() > 100 && t.is_ascii() && has(t, b"__kernel void __amd_rocclr_"));
    let texts: Vec<&str> = texts.map(|t| std::str::from_utf8(t).unwrap()).collect();
    // One occurs twice, with an additional kernel: the longer one is used. The scheduler is for OpenCL's device queues, not for HIP.
    let contained = |text: &&str| texts.iter().any(|other| other.len() > text.len() && other.starts_with(*text));
    let chosen: Vec<&str> = texts.iter().copied().filter(|t| !contained(t) && !t.contains("scheduler")).collect();
    // Declarations of the device library's functions come first, wherever they are in the text.
    let (declarations, rest): (Vec<&str>, Vec<&str>) =
        chosen.iter().partition(|t| t.trim_start().starts_with("extern"));
    [declarations, rest].concat().join("\n")
}

/// The runtimes: fetched tree, its runtime and its Comgr.
const RUNTIMES: [(&str, &str, &str); 3] = [
    ("7.2", "libamdhip64.so.7", "libamd_comgr.so.3"),
    ("6.4", "libamdhip64.so.6", "libamd_comgr.so.3"),
    ("5.7", "libamdhip64.so.5", "libamd_comgr.so.2"),
];

/// The kernels of one runtime, compiled for one architecture, on a GPU.
struct Blits {
    name: String,
    gpu: Gpu,
    module: Arc<Module>,
}

impl Blits {
    /// Launches a kernel over at least `items`, in workgroups of `group`.
    fn run(&self, kernel: &str, items: [u32; 3], group: [u32; 3], args: &Args) {
        let blocks = std::array::from_fn(|d| items[d].div_ceil(group[d]));
        let name = format!("__amd_rocclr_{kernel}");
        launch(&self.gpu, &self.module, &name, blocks, group, args)
            .unwrap_or_else(|fault| panic!("{}: {fault}", self.name));
    }

    /// The explicit arguments that a kernel has.
    fn arguments(&self, kernel: &str) -> usize {
        let kernel = self.module.kernel(&format!("__amd_rocclr_{kernel}"));
        let kernel = kernel.unwrap_or_else(|| panic!("{}: it is not there", self.name));
        kernel.info().args.iter().filter(|arg| !matches!(arg.kind, ValueKind::Hidden(_))).count()
    }

    fn has(&self, kernel: &str) -> bool {
        self.module.kernel(&format!("__amd_rocclr_{kernel}")).is_some()
    }
}

fn check(test: &str, which: usize) {
    let (tree, runtime, comgr) = RUNTIMES[which];
    let path = format!("{}::{test}", module_path!());
    if sys_testing::child::run_with_libraries(&path, tree, &[runtime, comgr]) {
        return;
    }
    let text = source(&sys_testing::trees().join(tree).join("usr/lib/x86_64-linux-gnu").join(runtime));
    let comgr = Comgr::open(comgr);
    for arch in [Arch::Gfx90a, Arch::Gfx942] {
        let name = format!("{tree} {arch}");
        let code = comgr.compile(&text, arch.name()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let gpu = Gpu::new(Config {
            arch,
            instruction_budget: Some(3_000_000),
            misaligned: Misaligned::Fault,
            ..Config::default()
        });
        let module = load(&gpu, &code);
        let blits = Blits { name, gpu, module };
        copies(&blits);
        fills(&blits);
        rectangles(&blits);
        waits(&blits);
        heap(&blits);
        blits.run("gwsInit", [1; 3], [1; 3], &Args::default().value(3_u32));
        images::check(&blits);
    }
}

#[test]
fn of_rocm_7_2() {
    check("of_rocm_7_2", 0);
}

#[test]
fn of_rocm_6_4() {
    check("of_rocm_6_4", 1);
}

#[test]
fn of_rocm_5_7() {
    check("of_rocm_5_7", 2);
}

fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut random = Random(seed);
    (0..count).map(|_| random.next() as u8).collect()
}

/// That memory holds what it should; names the first byte that differs.
fn same(blits: &Blits, got: &[u8], expected: &[u8], what: std::fmt::Arguments<'_>) {
    let differing = got.iter().zip(expected).position(|(a, b)| a != b);
    assert!(differing.is_none() && got.len() == expected.len(), "{}: {what}: byte {differing:?} differs", blits.name);
}

/// Copies of whole buffers: by 16 or 4 bytes with a remainder by single bytes, and by words with origins.
fn copies(blits: &Blits) {
    let gpu = &blits.gpu;
    for size in [1_usize, 15, 16, 4096, 5003] {
        let data = bytes(1, size);
        let (from, to) = (upload(gpu, &data), zeros::<u8>(gpu, size + 16));
        match blits.arguments("copyBuffer") {
            // Source, destination, origins in bytes, items, and the amount that items copy: 8 means a byte each; otherwise a word each, and
            // one more item copies the remaining bytes.
            6 => {
                for (items, last) in [(size, 8), (size / 4 + 1, size % 4)] {
                    gpu.memory().fill(to.address, &[0], size as u64 + 16).unwrap();
                    let args = Args::default().pointer(&from).pointer(&to).value(0_u64).value(0_u64);
                    let args = args.value(items as u64).value(last as u32);
                    blits.run("copyBuffer", [items as u32, 1, 1], [256, 1, 1], &args);
                    same(blits, &to.get()[..size], &data, format_args!("{size}, the last item {last}"));
                }
            }
            // Source, destination, bytes, remaining bytes, width, end of the rest, items, and the workgroup size if the kernel does not
            // query it from the dispatch.
            arguments => {
                for width in [16_usize, 4] {
                    gpu.memory().fill(to.address, &[0], size as u64 + 16).unwrap();
                    let remainder = size % width;
                    let end = to.address + (size - remainder) as u64;
                    let args = Args::default().pointer(&from).pointer(&to).value(size as u64);
                    let args = args.value(remainder as u32).value(width as u32).value(end).value(512_u32);
                    let args = if arguments == 8 { args.value(256_u32) } else { args };
                    blits.run("copyBuffer", [512, 1, 1], [256, 1, 1], &args);
                    same(blits, &to.get()[..size], &data, format_args!("{size} by {width}"));
                }
            }
        }
        same(blits, &to.get()[size..], &[0; 16], format_args!("beyond {size}"));
    }
    for alignment in [4_usize, 16] {
        let data = bytes(2, 4096);
        let (from, to) = (upload(gpu, &data), zeros::<u8>(gpu, 4096));
        // Origins and count are in units of the alignment.
        let args = Args::default().pointer(&from).pointer(&to).value(3_u64).value(5_u64).value(100_u64);
        blits.run("copyBufferAligned", [100, 1, 1], [64, 1, 1], &args.value(alignment as u32));
        let mut expected = vec![0; 4096];
        expected[5 * alignment..105 * alignment].copy_from_slice(&data[3 * alignment..103 * alignment]);
        same(blits, &to.get(), &expected, format_args!("by {alignment}"));
    }
}

/// Fills with a pattern of several elements of 1, 2, 4, 8 (and, since 6, 16) bytes; in rows with a pitch too.
fn fills(blits: &Blits) {
    let gpu = &blits.gpu;
    for (width, elements) in [(1_usize, 1_usize), (1, 7), (2, 3), (4, 1), (4, 5), (8, 2), (16, 1)] {
        let pattern = bytes(3, width * elements);
        let (source, to) = (upload(gpu, &pattern), zeros::<u8>(gpu, 8192));
        let repeats = 90;
        let by_type = |offset: u64| {
            // One pointer per element type; unused ones are null.
            let pointers = [1, 2, 4, 8].map(|w| if w == width { to.address } else { 0 });
            let args = pointers.into_iter().fold(Args::default(), Args::value);
            args.pointer(&source).value(elements as u32).value(offset)
        };
        let mut start = 0;
        match blits.arguments("fillBufferAligned") {
            _ if width == 16 && blits.name.starts_with("5.7") => continue,
            // With an offset in elements, and how often.
            8 => {
                start = 4 * width;
                let args = by_type(4).value(repeats as u64);
                blits.run("fillBufferAligned", [repeats as u32, 1, 1], [64, 1, 1], &args);
            }
            // With the end of the filled range, and the number of elements that all items fill at a time.
            arguments => {
                let args = Args::default().pointer(&to).pointer(&source).value(elements as u32).value(width as u32);
                let args = args.value(to.address + (repeats * width * elements) as u64).value(64 * elements as u32);
                let args = if arguments == 7 { args.value(64_u32) } else { args };
                blits.run("fillBufferAligned", [64, 1, 1], [64, 1, 1], &args);
            }
        }
        let mut expected = vec![0; 8192];
        let filled = pattern.repeat(repeats);
        expected[start..start + filled.len()].copy_from_slice(&filled);
        same(blits, &to.get(), &expected, format_args!("{elements} of {width}"));

        // In rows each item starts at its own element: more than one would overlap.
        if width < 16 && elements == 1 {
            gpu.memory().fill(to.address, &[0], 8192).unwrap();
            let (columns, rows, offset) = (5, 9, 3);
            let pitch = columns + 2;
            let args = by_type(offset).value(columns as u64).value(rows as u64).value(pitch as u64);
            blits.run("fillBufferAligned2D", [columns as u32, rows as u32, 1], [16, 16, 1], &args);
            let mut expected = vec![0; 8192];
            for row in 0..rows {
                let at = width * (offset as usize + row * pitch);
                expected[at..at + columns * width].copy_from_slice(&pattern.repeat(columns));
            }
            same(blits, &to.get(), &expected, format_args!("{width} in rows"));
        }
    }
}

/// Copies of boxes: four numbers each for source, destination (pitch of a row, pitch of a slice, start) and size.
fn rectangles(blits: &Blits) {
    let gpu = &blits.gpu;
    let four = |args: Args, values: [u64; 4]| args.with(&values.map(u64::to_le_bytes).concat(), 32);
    for (kernel, unit, width) in
        [("copyBufferRect", 1, 0), ("copyBufferRectAligned", 4, 4), ("copyBufferRectAligned", 16, 16)]
    {
        let data = bytes(4, 16384);
        let (from, to) = (upload(gpu, &data), zeros::<u8>(gpu, 16384));
        let (source, target, size) = ([17_u64, 17 * 7, 5, 0], [12, 12 * 6, 9, 0], [11_u64, 5, 4, width]);
        let args = four(four(four(Args::default().pointer(&from).pointer(&to), source), target), size);
        blits.run(kernel, [11, 5, 4], [8, 4, 2], &args);
        let mut expected = vec![0; 16384];
        for (z, y, x) in (0..4).flat_map(|z| (0..5).flat_map(move |y| (0..11).map(move |x| (z, y, x)))) {
            let at = |rect: [u64; 4]| unit * (rect[2] + x + y * rect[0] + z * rect[1]) as usize;
            expected[at(target)..at(target) + unit].copy_from_slice(&data[at(source)..at(source) + unit]);
        }
        same(blits, &to.get(), &expected, format_args!("{kernel} by {unit}"));
    }
}

/// Values written and waited for in the order of a stream: 32 bits through the first pointer, 64 through the second.
fn waits(blits: &Blits) {
    let gpu = &blits.gpu;
    let cells = upload(gpu, &[0_u64, u64::MAX]);
    let write = |narrow: u64, wide: u64, value: u64| {
        let args = Args::default().value(narrow).value(wide).value(value);
        // 5.7 has an additional size argument.
        let sized = blits.arguments("streamOpsWrite") == 4;
        let args = if sized { args.value(if narrow != 0 { 4_u64 } else { 8 }) } else { args };
        blits.run("streamOpsWrite", [1; 3], [1; 3], &args);
    };
    write(cells.address, 0, 0x1234_5678_9abc_def0);
    assert_eq!(cells.get(), [0x9abc_def0, u64::MAX], "{}", blits.name);
    write(0, cells.address + 8, 0x1234_5678_9abc_def0);
    assert_eq!(cells.get(), [0x9abc_def0, 0x1234_5678_9abc_def0], "{}", blits.name);

    // Flags: at least, equal, any bit of, not all bits of. A condition that holds ends the wait at once; for another one the kernel is
    // stopped.
    let wait = |wide: bool, value: u64, flags: u64, mask: u64| {
        let (narrow, wide) = if wide { (0, cells.address + 8) } else { (cells.address, 0) };
        let args = Args::default().value(narrow).value(wide).value(value).value(flags).value(mask);
        launch(gpu, &blits.module, "__amd_rocclr_streamOpsWait", [1; 3], [1; 3], &args)
    };
    let held: [(bool, u64, u64, u64); 6] = [
        (false, 0x9abc_deef, 0, u64::MAX),
        (false, 0x9abc_def0, 1, u64::MAX),
        (false, 0x8000_0000, 2, u64::MAX),
        (true, 0x1234_5678_9abc_def0, 1, u64::MAX),
        (true, 0x9abc_def0, 1, 0xffff_ffff),
        (true, 0x0f, 2, 0xf0),
    ];
    for (i, (wide, value, flags, mask)) in held.into_iter().enumerate() {
        let holds = i != 5;
        let ended = wait(wide, value, flags, mask);
        match ended {
            Ok(_) => assert!(holds, "{}: wait {i} did not wait", blits.name),
            Err(fault) => assert!(!holds && fault.to_string().contains("cut off"), "{}: {i}: {fault}", blits.name),
        }
    }

    if !blits.has("batchMemOp") {
        return;
    }
    // Operations of 48 bytes: kind, address, value, flags, and an alias that the device does not use.
    let operation = |kind: u32, address: u64, value: u64, flags: u32| {
        let args = Args::default().value(kind).value(address).value(value).value(flags).value(0_u64);
        let mut bytes = args.0;
        bytes.resize(48, 0);
        bytes
    };
    let (wait32, write32, wait64, write64) = (1, 2, 4, 5);
    let batch = [
        operation(write32, cells.address, 77, 0),
        operation(write64, cells.address + 8, 1 << 40, 0),
        operation(wait32, cells.address, 77, 1),
        operation(wait64, cells.address + 8, 1 << 39, 0),
    ];
    let params = upload(gpu, &batch.concat());
    let args = Args::default().pointer(&params).value(batch.len() as u32);
    blits.run("batchMemOp", [batch.len() as u32, 1, 1], [batch.len() as u32, 1, 1], &args);
    assert_eq!(cells.get(), [77, 1 << 40], "{}", blits.name);
}

/// The device heap of `malloc` in kernels: 256 items clear its head, then the first one stores the address of the first
/// 2 MiB blocks.
///
/// 5.7's kernel has no barrier in between, so a later wave may clear that address again: a second launch, with clearing
/// disabled, stores it reliably.
fn heap(blits: &Blits) {
    let gpu = &blits.gpu;
    let (head, blocks) = (upload(gpu, &vec![0xee_u8; 128 << 10]), zeros::<u8>(gpu, 4 << 21));
    for clear in [1_u32, 0] {
        let args = Args::default().pointer(&head).pointer(&blocks).value(clear).value(4_u32);
        blits.run("initHeap", [256, 1, 1], [256, 1, 1], &args);
    }
    let words: Vec<u64> = head.get().chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect();
    let notes: Vec<u64> = words.into_iter().filter(|w| *w != 0).collect();
    assert_eq!(notes, [blocks.address, blocks.address + (4 << 21), blocks.address], "{}", blits.name);
}

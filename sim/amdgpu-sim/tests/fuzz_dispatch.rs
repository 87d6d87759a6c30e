//! Mutated machine code, and code objects of arbitrary structure: loaded kernels run with a small budget, and end or
//! fault.

mod common;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use amdgpu_sim::{AllocKind, Arch, CodeObject, Config, Dispatch, Fault, FaultKind, Gpu, ValueKind};
use common::mutate::{mutate, parts, text as text_of};
use common::object::*;
use common::{Random, fuzz};

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
    fuzz::cases("kernels", 20_000, |n| {
        let mut r = Random(n ^ 0xabcd_0000_0000);
        let which = r.next() as usize % RUN.len();
        let mut bytes = RUN[which].to_vec();
        // Instructions and descriptors: everything except headers, notes and tables.
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
    let usual = fuzz::expected(1001..=u64::MAX);
    assert!(usual.contains(&ended) && usual.contains(&faulted), "{ended} {faulted}");
}

/// Compiled kernels with a few bits of their code flipped.
#[test]
fn flipped_bits_of_code_end_or_fault() {
    static SEEDS: [&[u8]; 12] = [
        include_bytes!("kernels/basic-O0.co"),
        include_bytes!("kernels/basic-O1.co"),
        include_bytes!("kernels/basic-O2.co"),
        include_bytes!("kernels/basic-O3.co"),
        include_bytes!("kernels/functions-O0.co"),
        include_bytes!("kernels/functions-O3.co"),
        include_bytes!("kernels/lanes.co"),
        include_bytes!("kernels/faults.co"),
        include_bytes!("kernels/memory.co"),
        include_bytes!("kernels/matrices.co"),
        include_bytes!("kernels/matrices-gfx942.co"),
        include_bytes!("kernels/basic-gfx942-O3.co"),
    ];
    let texts: Vec<_> = SEEDS.iter().map(|s| text_of(s)).collect();
    let (ended, faulted) = (AtomicU64::new(0), AtomicU64::new(0));
    fuzz::cases("flips", 1_500, |n| {
        let mut r = Random(n ^ 0xf11b_0000_0000);
        let which = n as usize % SEEDS.len();
        let mut bytes = SEEDS[which].to_vec();
        let text = &texts[which];
        for _ in 0..1 + r.next() % 8 {
            bytes[text.start + r.next() as usize % text.len()] ^= 1 << (r.next() % 8);
        }
        let Ok(code) = CodeObject::parse(&bytes) else { return };
        let arch = if which < 10 { Arch::Gfx90a } else { Arch::Gfx942 };
        let gpu = Gpu::new(Config {
            arch,
            memory_bytes: 8 << 20,
            threads: Some(1),
            instruction_budget: Some(20_000),
            ..Config::default()
        });
        let Ok(module) = gpu.load(&code) else { return };
        let out = gpu.memory().alloc(1 << 16, 0, AllocKind::Device).unwrap();
        let mut kernels: Vec<_> = module.kernels().collect();
        kernels.sort_by_key(|k| &k.info().name);
        let kernel = kernels[r.next() as usize % kernels.len()];
        // Pointers to the buffer, and small numbers.
        let info = kernel.info();
        let mut arguments = vec![0; info.explicit_size() as usize];
        for arg in info.args.iter().filter(|a| !matches!(a.kind, ValueKind::Hidden(_))) {
            let value = if arg.size == 8 { out } else { r.next() % 100 };
            let len = (arg.size as usize).min(8);
            arguments[arg.offset as usize..][..len].copy_from_slice(&value.to_le_bytes()[..len]);
        }
        let workgroup = [64.min(info.max_workgroup_size), 1, 1];
        match gpu.launch(kernel, &arguments, &Dispatch { grid: [150, 1, 1], workgroup, dynamic_lds: 1024, kernarg: 0 })
        {
            Ok(_) => ended.fetch_add(1, Relaxed),
            Err(_) => faulted.fetch_add(1, Relaxed),
        };
    });
    let (ended, faulted) = (ended.into_inner(), faulted.into_inner());
    println!("{ended} ended, {faulted} faulted");
    let usual = fuzz::expected(101..=1_500);
    assert!(usual.contains(&ended) && usual.contains(&faulted), "{ended} {faulted}");
}

/// An edge-case number.
fn edge(r: &mut Random) -> u64 {
    let near = [0, 1, 64, DESCRIPTORS, TEXT, DATA, 1 << 16, 1 << 31, 1 << 32, 1 << 36, 1 << 63, u64::MAX]
        [r.next() as usize % 12];
    match r.next() % 4 {
        0 => r.next() >> (r.next() % 64),
        1 => near.wrapping_add(r.next() % 80).wrapping_sub(8),
        _ => near,
    }
}

/// A value in MessagePack, of any type and shape.
fn value(r: &mut Random, depth: u32) -> Vec<u8> {
    let keys =
        ["amdhsa.kernels", ".name", ".symbol", ".args", ".offset", ".size", ".value_kind", ".kernarg_segment_size"];
    match r.next() % if depth > 6 { 6 } else { 9 } {
        0 => text(["k", "k.kd", "", "by_value", "hidden_grid_dims"][r.next() as usize % 5]),
        1 => number(edge(r) as u32),
        2 => vec![[0xc0, 0xc1, 0xc2, 0xc3, 0xca, 0xcb, 0xd3][r.next() as usize % 7]],
        3 => [vec![0xcf], edge(r).to_be_bytes().to_vec()].concat(),
        4 => vec![(r.next() as u8) | 0x80],
        5 => [vec![0xc6], (edge(r) as u32).to_be_bytes().to_vec()].concat(),
        6 => {
            let n = r.next() % 4;
            (0..n).fold(vec![0x90 | n as u8], |all, _| [all, value(r, depth + 1)].concat())
        }
        _ => {
            let n = r.next() % 5;
            (0..n).fold(vec![0x80 | n as u8], |all, _| {
                [all, text(keys[r.next() as usize % keys.len()]), value(r, depth + 1)].concat()
            })
        }
    }
}

/// A code object whose tables have random contents.
fn structure(r: &mut Random) -> Vec<u8> {
    let some = |r: &mut Random, most: u64| if r.next() % 4 != 0 { 0 } else { r.next() % (most + 1) };
    let kernels = (0..1 + some(r, 3)).map(|n| {
        let words = [0xbf81_0000, 0x7e00_0280, 0xbf82_ffff, 0xbf8a_0000, r.next() as u32];
        let mut code: Vec<u32> = (0..r.next() % 6).map(|_| words[r.next() as usize % 5]).collect();
        code.push(0xbf81_0000);
        let mut kernel = Kernel::new(if r.next() % 8 == 0 { "k" } else { ["k", "l", "m", "n"][n as usize] }, &code);
        if r.next() % 2 == 0 {
            kernel.lds = edge(r) as u32;
        }
        if r.next() % 2 == 0 {
            kernel.scratch = edge(r) as u32;
        }
        if r.next() % 4 == 0 {
            kernel.kernarg = edge(r) as u32;
        }
        if r.next() % 2 == 0 {
            kernel.rsrc = std::array::from_fn(|_| r.next() as u32);
            kernel.properties = r.next() as u16;
        }
        if r.next() % 4 == 0 {
            let keys = [".vgpr_count", ".wavefront_size", ".reqd_workgroup_size", ".uses_dynamic_stack", ".name"];
            kernel.more = vec![text(keys[r.next() as usize % 5]), value(r, 5)];
        }
        kernel
    });
    let kernels = kernels.collect();
    let metadata = (r.next() % 8 == 0).then(|| [vec![0x81], text("amdhsa.kernels"), value(r, 0)].concat());
    let headers = (0..some(r, 4)).map(|_| {
        let kind = [LOAD, LOAD, NOTE, 2, 6, 0x6474_e551][r.next() as usize % 6];
        [kind, r.next() % 8, edge(r) % 5000, edge(r), edge(r) % 5000, edge(r)]
    });
    let headers = headers.collect();
    let relocations = (0..some(r, 5)).map(|_| (edge(r), r.next() as u32 % 16, r.next() as u32 % 8, edge(r) as i64));
    let relocations = relocations.collect();
    let symbols = (0..some(r, 5)).map(|_| {
        let section = [0, 1, 0xfff1, 0xfff2, r.next() as u16][r.next() as usize % 5];
        (r.next() as u32 % 50, edge(r), section)
    });
    let symbols = symbols.collect();
    let object = Object {
        kernels,
        flags: (r.next() % 8 == 0).then(|| r.next() as u32),
        metadata,
        data: vec![3; r.next() as usize % 300],
        relocations,
        relocation_sections: r.next() as usize % 4,
        headers,
        symbols,
        strings: b"\0k.kd\0data\0l.kd\0\xff\xfe\0k.kd\0".to_vec(),
    };
    let mut bytes = object.build();
    if r.next() % 3 == 0 {
        mutate(&mut bytes, std::slice::from_ref(&(0..1 << 12)), r);
    }
    bytes
}

/// Code objects with random tables are refused, or run.
#[test]
fn structures_of_any_kind_are_refused_or_run() {
    let [refused, not_launched, ended, faulted] = [const { AtomicU64::new(0) }; 4];
    fuzz::cases("structures", 40_000, |n| {
        let mut r = Random(n ^ 0x57c7_0000_0000);
        let bytes = structure(&mut r);
        let config =
            Config { memory_bytes: 4 << 20, threads: Some(1), instruction_budget: Some(2_000), ..Config::default() };
        let gpu = Gpu::new(config);
        let loaded = CodeObject::parse(&bytes).and_then(|code| gpu.load(&code));
        let Ok(module) = loaded else {
            refused.fetch_add(1, Relaxed);
            assert_eq!(gpu.memory().allocations(), []);
            return;
        };
        for kernel in module.kernels() {
            let count = match gpu.launch(kernel, &[], &Dispatch::of_blocks([2, 1, 1], [65, 1, 1]).unwrap()) {
                Ok(_) => &ended,
                Err(Fault { kind: FaultKind::Launch(_), .. }) => &not_launched,
                Err(_) => &faulted,
            };
            count.fetch_add(1, Relaxed);
        }
        drop(module);
        assert_eq!(gpu.memory().allocations(), []);
    });
    let counts = [refused, not_launched, ended, faulted].map(AtomicU64::into_inner);
    println!("{counts:?} refused, not launched, ended, faulted");
    let usual = fuzz::expected(501..=u64::MAX);
    assert!(counts.iter().all(|n| usual.contains(n)), "{counts:?}");
}

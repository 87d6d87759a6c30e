//! Malicious kernels: each ends in a descriptive fault, or behaves as on the hardware; the host continues.

mod common;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use amdgpu_sim::isa::{Arch, decode};
use amdgpu_sim::{AllocKind, Bounds, CodeObject, Config, Denied, Dispatch, Fault, FaultKind, Gpu, Space, Stats};
use common::object::*;
use common::{Random, in_own_process, zeros};

/// Words of machine code with their text.
macro_rules! code {
    ($($($word:literal),+ => $text:literal;)*) => {{
        let mut words = Vec::new();
        $({
            let inst = [$($word),+, 0, 0];
            let found = decode(&inst, Arch::Gfx90a).map(|i| i.to_string());
            assert_eq!(found.as_deref(), Ok($text));
            words.extend([$($word),+]);
        })*
        words
    }};
}

/// s[4:5] and s[6:7] are the arguments; v[2:3] is the first.
fn arguments() -> Vec<u32> {
    code! {
        0xc00a_0100, 0x0000_0000 => "s_load_dwordx4 s[4:7], s[0:1], 0x0";
        0xbf8c_0000 => "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)";
        0x7e04_0204 => "v_mov_b32_e32 v2, s4";
        0x7e06_0205 => "v_mov_b32_e32 v3, s5";
    }
}

const END: u32 = 0xbf81_0000;
const BUDGET: u64 = 50_000;

fn gpu() -> Gpu {
    Gpu::new(Config { instruction_budget: Some(BUDGET), threads: Some(2), ..Config::default() })
}

struct Run {
    gpu: Gpu,
    object: Object,
}

impl Run {
    fn new(parts: &[&[u32]]) -> Self {
        let mut text = arguments();
        parts.iter().for_each(|part| text.extend(*part));
        let mut object = Object::of(&text);
        (object.kernels[0].lds, object.kernels[0].scratch) = (256, 64);
        object.data = vec![0; 64];
        Self { gpu: gpu(), object }
    }

    fn with(mut self, change: impl FnOnce(&mut Kernel)) -> Self {
        change(&mut self.object.kernels[0]);
        self
    }

    /// Runs the kernel with 2 workgroups of 2 waves and two numbers as arguments.
    fn go(&self, arguments: [u64; 2]) -> Result<Stats, Fault> {
        let module = self.gpu.load(&CodeObject::parse(&self.object.build()).unwrap()).unwrap();
        let bytes: Vec<u8> = arguments.iter().flat_map(|a| a.to_le_bytes()).collect();
        self.gpu.launch(&module.kernel("k").unwrap(), &bytes, &Dispatch::of_blocks([2, 1, 1], [128, 1, 1]).unwrap())
    }

    fn fault(&self, arguments: [u64; 2]) -> Fault {
        let fault = self.go(arguments).expect_err("a fault");
        let text = fault.to_string();
        assert!(text.starts_with("kernel k: ") && fault.place.is_some() && text.contains("wave"), "{text}");
        fault
    }
}

fn memory(fault: &Fault) -> (Space, u64, Denied) {
    match fault.kind {
        FaultKind::Memory { space, address, why, .. } => (space, address, why),
        _ => panic!("{fault}"),
    }
}

#[test]
fn jumps_to_what_is_no_instruction_of_the_code() {
    let jump = Run::new(&[&code! { 0xbe80_1d04 => "s_setpc_b64 s[4:5]"; }, &[END]]);
    let data = zeros::<u32>(&jump.gpu, 64);
    for target in [0, 2, data.address, data.address + 4, u64::MAX, u64::MAX - 3, 1 << 47, 0x1_0000_0000_0000] {
        assert_eq!(jump.fault([target, 0]).kind, FaultKind::WildJump(target));
    }
    // A jump into the middle of an instruction: the word there is executed, here the end.
    let middle = Run::new(&[
        &code! { 0xbf82_0001 => "s_branch 1"; 0x7e00_02ff, 0xbf81_0000 => "v_mov_b32_e32 v0, 0xbf810000"; },
    ]);
    assert_eq!(middle.go([0, 0]).unwrap().waves, 4);
    // Off both ends of the code.
    for branch in [&[0xbf82_7fff][..], &[0xbf82_8000], &[0x7e00_0280]] {
        assert!(matches!(Run::new(&[branch]).fault([0, 0]).kind, FaultKind::WildJump(_)));
    }
}

#[test]
fn loops_of_every_kind_are_cut_off() {
    let again = |words: &[u32]| {
        let mut code = words.to_vec();
        code.push(0xbf82_0000 | (0xffff - words.len() as u32));
        code
    };
    let yields = code! { 0xbf8e_0001 => "s_sleep 1"; };
    let barrier = code! { 0xbf8a_0000 => "s_barrier"; };
    let nothing = code! { 0xbf80_0000 => "s_nop 0"; };
    for body in [&[][..], &yields, &barrier, &nothing, &[0xbf8c_0000]] {
        let fault = Run::new(&[&again(body)]).fault([0, 0]);
        assert_eq!(fault.kind, FaultKind::Budget(BUDGET), "{body:x?}");
    }
    // By jumps through registers: to itself.
    let jump = code! { 0xbe84_1c00 => "s_getpc_b64 s[4:5]"; 0xbe80_1d04 => "s_setpc_b64 s[4:5]"; };
    assert_eq!(Run::new(&[&jump]).fault([0, 0]).kind, FaultKind::Budget(BUDGET));
    // By calls.
    let call = code! { 0xba84_ffff => "s_call_b64 s[4:5], 65535"; };
    assert_eq!(Run::new(&[&call]).fault([0, 0]).kind, FaultKind::Budget(BUDGET));
}

/// A barrier does not wait for waves that have ended; one that some waves never reach is an endless loop.
#[test]
fn barriers_that_not_all_waves_reach() {
    // Work-items from 64 on skip the barrier: v0 is their number, the first lane's decides for the wave.
    let test = code! {
        0x7e0c_0500 => "v_readfirstlane_b32 s6, v0";
        0xbf07_8006 => "s_cmp_lg_u32 s6, 0";
    };
    let leave = code! { 0xbf85_0001 => "s_cbranch_scc1 1"; 0xbf8a_0000 => "s_barrier"; };
    assert_eq!(Run::new(&[&test, &leave, &[END]]).go([0, 0]).unwrap().waves, 4);
    let spin = code! { 0xbf85_ffff => "s_cbranch_scc1 65535"; 0xbf8a_0000 => "s_barrier"; };
    assert_eq!(Run::new(&[&test, &spin, &[END]]).fault([0, 0]).kind, FaultKind::Budget(BUDGET));
}

#[test]
fn code_cannot_be_written_by_kernels() {
    let store = code! { 0xdc70_8000, 0x007f_0002 => "global_store_dword v[2:3], v0, off"; };
    let run = Run::new(&[&store, &[END]]);
    let module = run.gpu.load(&CodeObject::parse(&run.object.build()).unwrap()).unwrap();
    for address in [TEXT, TEXT + 8, DESCRIPTORS].map(|at| module.base() + at) {
        assert_eq!(memory(&run.fault([address, 0])), (Space::Global, address, Denied::ReadOnly));
    }
    // The kernel may write to its variables.
    assert_eq!(run.go([module.base() + DATA, 0]).unwrap().waves, 4);
}

#[test]
fn hardware_registers_of_every_number_are_read_and_written_or_refused() {
    for id in 0..64 {
        for field in [id | 31 << 11, id | 7 << 6 | 3 << 11] {
            for access in [vec![0xb888_0000 | field], vec![0xba00_0000 | field, 0x0000_00ff], vec![0xb904_0000 | field]]
            {
                let result = Run::new(&[&access, &[END]]).go([0, 0]);
                if let Err(fault) = result {
                    assert!(matches!(fault.kind, FaultKind::Unsupported(_)), "{id}: {fault}");
                }
            }
        }
    }
}

/// With no lane enabled, no address matters.
#[test]
fn nothing_happens_where_no_lane_is_enabled() {
    let off = code! { 0xbefe_0180 => "s_mov_b64 exec, 0"; };
    let accesses = code! {
        0xdc70_8000, 0x007f_0002 => "global_store_dword v[2:3], v0, off";
        0xdc50_0000, 0x0500_0002 => "flat_load_dword v5, v[2:3]";
        0xdd08_0000, 0x0000_0002 => "flat_atomic_add v[2:3], v0";
        0xd81a_0000, 0x0000_0002 => "ds_write_b32 v2, v0";
        0xe070_2000, 0x8001_0000 => "buffer_store_dword v0, v0, s[4:7], 0 idxen";
        0xdc70_4000, 0x007f_0002 => "scratch_store_dword v2, v0, off";
    };
    let run = Run::new(&[&off, &accesses, &[END]]);
    for address in [0, 1, u64::MAX, 1 << 48, (2 << 48) + 3] {
        assert_eq!(run.go([address, u64::MAX]).unwrap().waves, 4);
    }
}

/// Addresses in, between and beyond the apertures, aligned and not.
#[test]
fn flat_addresses_anywhere() {
    let (shared, private) = (1_u64 << 48, 2_u64 << 48);
    let load = Run::new(&[&code! { 0xdc50_0000, 0x0500_0002 => "flat_load_dword v5, v[2:3]"; }, &[END]]);
    let atomic = Run::new(&[&code! { 0xdd08_0000, 0x0000_0002 => "flat_atomic_add v[2:3], v0"; }, &[END]]);
    for run in [load, atomic] {
        for address in [shared, shared + 252, private, private + 60] {
            run.go([address, 0]).unwrap();
        }
        for (address, space) in [
            (shared + 256, Space::Lds),
            (shared + 0xffff_fffc, Space::Lds),
            (private + 64, Space::Private),
            (private + 0xffff_fffc, Space::Private),
        ] {
            assert_eq!(memory(&run.fault([address, 0])).0, space, "{address:#x}");
        }
        for address in [shared - 4, shared + (1 << 32), private - 4, private + (1 << 32), 1 << 63, u64::MAX - 3] {
            assert_eq!(memory(&run.fault([address, 0])).0, Space::Global, "{address:#x}");
        }
        for address in [shared + 1, shared + 254, private + 2, 1, u64::MAX] {
            let why = memory(&run.fault([address, 0])).2;
            assert!(matches!(why, Denied::Misaligned(4)), "{address:#x}: {why:?}");
        }
    }
}

#[test]
fn local_memory_ends_where_it_ends() {
    let write = Run::new(&[&code! { 0xd81a_fffc, 0x0000_0002 => "ds_write_b32 v2, v0 offset:65532"; }, &[END]]);
    for address in [0_u64, 256, 0x8000_0000, 0xffff_ffff, 0xffff_0004] {
        let result = write.go([address, 0]);
        // The sum wraps, and may come out inside again.
        assert_eq!(result.is_ok(), (address as u32).wrapping_add(65532) <= 252, "{address:#x}");
    }
}

/// Random bits as a buffer descriptor, with every addressing mode, near a buffer of 4 KiB: host memory that is not the
/// GPU's is not written.
#[test]
fn buffer_descriptors_of_any_bits() {
    let accesses = [
        code! { 0xe050_2000, 0x8001_0500 => "buffer_load_dword v5, v0, s[4:7], 0 idxen"; },
        code! { 0xe070_2000, 0x8001_0000 => "buffer_store_dword v0, v0, s[4:7], 0 idxen"; },
        code! { 0xe07c_1004, 0x8001_0000 => "buffer_store_dwordx4 v[0:3], v0, s[4:7], 0 offen offset:4"; },
        code! { 0xe108_2000, 0x8001_0000 => "buffer_atomic_add v0, v0, s[4:7], 0 idxen"; },
        code! { 0xe01c_3000, 0x8001_0000 => "buffer_store_format_xyzw v[0:3], v[0:1], s[4:7], 0 idxen offen"; },
        code! { 0xe000_0010, 0x0401_0500 => "buffer_load_format_x v5, off, s[4:7], s4 offset:16"; },
    ];
    let mut random = Random(17);
    let (mut ended, mut faulted) = (0, 0);
    for access in accesses {
        let run = Run::new(&[&access, &[END]]);
        let buffer = zeros::<u8>(&run.gpu, 4096);
        let guard = std::hint::black_box(vec![0_u8; 1 << 16]);
        for _ in 0..150 {
            let mut bits = random.next();
            let base = buffer.address + if bits % 3 == 0 { bits >> 8 & 0xfff } else { 0 };
            bits = random.next();
            let high = match bits % 3 {
                0 => random.next(),
                _ => random.next() & 0x00ff_ffff_0000_1fff,
            };
            let word1 = (base >> 32) & 0xffff | if bits % 2 == 0 { bits & 0xffff_0000 } else { bits & 0x0010_0000 };
            match run.go([base & 0xffff_ffff | word1 << 32, high]) {
                Ok(_) => ended += 1,
                Err(fault) => {
                    // Typed accesses read the format from the descriptor.
                    assert!(matches!(fault.kind, FaultKind::Memory { .. } | FaultKind::Unsupported(_)), "{fault}");
                    faulted += 1;
                }
            }
        }
        assert!(std::hint::black_box(guard).iter().all(|b| *b == 0));
    }
    assert!(ended > 100 && faulted > 100, "{ended} {faulted}");
}

/// Indices in m0 beyond the kernel's registers: no fault, and only the kernel's own registers are accessed.
#[test]
fn register_indices_out_of_range() {
    let set = |value: u32| vec![0xbefc_00ff, value];
    let scalar = code! { 0xbe84_2a05 => "s_movrels_b32 s4, s5"; };
    let wide = code! { 0xbe84_2d06 => "s_movreld_b64 s[4:5], s[6:7]"; };
    let vector = code! { 0xbf11_0105 => "s_set_gpr_idx_on s5, gpr_idx(SRC0)"; 0x7e00_0301 => "v_mov_b32_e32 v0, v1"; 0xbf9c_0000 => "s_set_gpr_idx_off"; };
    for index in [3, 97, 98, 1000, 0x7fff_ffff, u32::MAX - 4, u32::MAX] {
        for code in [&scalar, &wide] {
            Run::new(&[&set(index), code, &[END]]).go([0, 0]).unwrap();
        }
    }
    let run = Run::new(&[&vector, &[END]]);
    for index in [3, 30, 31, 255] {
        run.go([index << 32, 0]).unwrap();
    }
}

/// Registers beyond the kernel's: a fault that states which, and how many are allocated.
#[test]
fn registers_that_are_not_the_kernels() {
    // 32 vector, 32 accumulation and 16 scalar registers.
    let run = |code: &[u32]| Run::new(&[code, &[END]]).with(|k| k.rsrc[0] &= !(0xf << 6));
    let last = code! {
        0x7e3e_0300 => "v_mov_b32_e32 v31, v0";
        0xd3d9_401f, 0x1800_0100 => "v_accvgpr_write_b32 a31, v0";
        0xbe8f_0080 => "s_mov_b32 s15, 0";
        0xc00a_0300, 0x0000_0000 => "s_load_dwordx4 s[12:15], s[0:1], 0x0";
    };
    run(&last).go([0, 0]).unwrap();
    let beyond = [
        (code! { 0x7e40_0300 => "v_mov_b32_e32 v32, v0"; }, ('v', 32, 1, 32)),
        (code! { 0xd280_001e, 0x0002_0120 => "v_add_f64 v[30:31], v[32:33], v[0:1]"; }, ('v', 32, 2, 32)),
        (code! { 0xdc5c_8000, 0x1e7f_0002 => "global_load_dwordx4 v[30:33], v[2:3], off"; }, ('v', 30, 4, 32)),
        (code! { 0xd3d9_4020, 0x1800_0100 => "v_accvgpr_write_b32 a32, v0"; }, ('a', 32, 1, 32)),
        (code! { 0xbe90_0080 => "s_mov_b32 s16, 0"; }, ('s', 16, 1, 16)),
        (code! { 0xc00a_0400, 0x0000_0000 => "s_load_dwordx4 s[16:19], s[0:1], 0x0"; }, ('s', 16, 4, 16)),
    ];
    for (code, expected) in beyond {
        let fault = run(&code).fault([0, 0]);
        let FaultKind::StrayRegister(stray) = fault.kind else { panic!("{fault}") };
        assert_eq!((stray.file, stray.first, stray.count, stray.allocated), expected, "{fault}");
        // Code that is not reached may use any registers.
        let jump = 0xbf82_0000 | code.len() as u32;
        run(&[&[jump], &code[..]].concat()).go([0, 0]).unwrap();
    }
    let text = run(&[0x7e40_0300]).fault([0, 0]).to_string();
    assert!(
        text.contains("v32 in a kernel that has 32 v registers, v0 to v31") && text.contains("v_mov_b32"),
        "{text}"
    );
}

/// A kernel polls a word in memory while it reads another buffer: freed memory stays readable for that kernel,
/// whichever thread frees it, and for nothing afterwards.
#[test]
fn memory_freed_while_a_kernel_reads_it() {
    let wait = code! {
        0xdc50_8000, 0x057f_0002 => "global_load_dword v5, v[2:3], off";
        0xbf8c_0000 => "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)";
        0xc002_0203, 0x0000_0000 => "s_load_dword s8, s[6:7], 0x0";
        0xbf8c_0000 => "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)";
        0xbf8e_0001 => "s_sleep 1";
        0xbf06_8008 => "s_cmp_eq_u32 s8, 0";
        0xbf85_fff7 => "s_cbranch_scc1 65527";
    };
    let run = Run { gpu: Gpu::new(Config { threads: Some(2), ..Config::default() }), ..Run::new(&[&wait, &[END]]) };
    let memory_of = run.gpu.memory();
    let host = vec![7_u32; 64];
    for registered in [false, true] {
        let data = if registered {
            let address = host.as_ptr().expose_provenance() as u64;
            // SAFETY: `host` outlives the dispatches, and nothing writes it.
            unsafe { memory_of.register_host(host.as_ptr().cast_mut().cast(), 256) }.unwrap();
            address
        } else {
            memory_of.alloc(256, 0, AllocKind::Device).unwrap()
        };
        let flag = zeros::<u32>(&run.gpu, 1);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let kernel = scope.spawn(|| {
                let result = run.go([data, flag.address]);
                over.store(true, Relaxed);
                result
            });
            // By now both workers have probably begun.
            std::thread::sleep(Duration::from_millis(30));
            if registered {
                memory_of.unregister_host(data).unwrap();
            } else {
                memory_of.free(data).unwrap();
            }
            std::thread::sleep(Duration::from_millis(10));
            // A worker that has not begun by now finds the memory freed; then the kernel ends with that fault.
            memory_of.write(flag.address, &1_u32.to_le_bytes()).unwrap();
            match kernel.join().unwrap() {
                Ok(stats) => assert_eq!(stats.waves, 4),
                Err(fault) => assert_eq!(memory(&fault).1, data),
            }
        });
        let why = memory(&run.fault([data, flag.address])).2;
        assert_eq!(why, Denied::Freed);
    }
}

/// A chip maps whole pages: reads may extend to the end of the last one if configured, writes may not.
#[test]
fn reads_may_go_to_the_end_of_the_page() {
    let load = code! { 0xdc50_8000, 0x057f_0002 => "global_load_dword v5, v[2:3], off"; };
    let wide = code! { 0xdc5c_8000, 0x067f_0002 => "global_load_dwordx4 v[6:9], v[2:3], off"; };
    let store = code! { 0xdc70_8000, 0x007f_0502 => "global_store_dword v[2:3], v5, off"; };
    for bounds in [Bounds::Exact, Bounds::Pages] {
        let run = |code: &[u32]| {
            let config = Config { bounds, threads: Some(2), ..Config::default() };
            Run { gpu: Gpu::new(config), ..Run::new(&[code, &[END]]) }
        };
        for (code, bytes, writes) in [(&load, 4, false), (&wide, 16, false), (&store, 4, true)] {
            let run = run(code);
            let base = run.gpu.memory().alloc(100, 4096, AllocKind::Device).unwrap();
            for (offset, inside) in [(100 - bytes, true), (100 - bytes + 4, false), (4096 - bytes, false)] {
                let result = run.go([base + offset, 0]);
                let may = inside || bounds == Bounds::Pages && !writes;
                match result {
                    Ok(_) => assert!(may, "{bounds:?}, {bytes} bytes at {offset}, writes: {writes}"),
                    Err(fault) => {
                        assert!(!may, "{fault}");
                        assert_eq!(memory(&fault), (Space::Global, base + offset, Denied::OutOfBounds));
                    }
                }
            }
            for offset in [4096 - bytes + 4, 4096] {
                let fault = run.fault([base + offset, 0]);
                assert_eq!(memory(&fault), (Space::Global, base + offset, Denied::OutOfBounds));
            }
        }
    }
}

/// Workgroups that all wait are run side by side, but limited by memory. In a separate process, whose address space no
/// other test uses.
#[test]
fn waiting_workgroups_with_much_scratch_do_not_take_all_memory() {
    if in_own_process("waiting_workgroups_with_much_scratch_do_not_take_all_memory") {
        return;
    }
    let wait = Run::new(&[&[0xbf8e_0001, 0xbf82_fffe]]).with(|k| k.scratch = 128 << 10);
    let gpu = Gpu::new(Config { instruction_budget: Some(3_000_000), threads: Some(1), ..Config::default() });
    let module = gpu.load(&CodeObject::parse(&wait.object.build()).unwrap()).unwrap();
    let before = address_space();
    let stop = AtomicBool::new(false);
    let most = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !stop.load(Relaxed) {
                most = most.max(address_space());
                std::thread::sleep(Duration::from_millis(1));
            }
            most
        });
        let dispatch = Dispatch::of_blocks([1000, 1, 1], [1024, 1, 1]).unwrap();
        let fault = gpu.launch(&module.kernel("k").unwrap(), &[], &dispatch).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Budget(3_000_000));
        stop.store(true, Relaxed);
        watch.join().unwrap()
    });
    assert!(most.saturating_sub(before) < 6 << 30, "{most} bytes of address space, {before} before");
}

/// The address space used by this process in bytes; 0 if unknown.
fn address_space() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 4096
}

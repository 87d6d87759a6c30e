//! Random instructions of both processors, including every opcode, as kernels: each launch succeeds or ends in a
//! descriptive fault, and the host continues.

mod common;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use amdgpu_sim::isa::{Arch, Op};
use amdgpu_sim::{AllocKind, CodeObject, Config, Dispatch, Gpu, Misaligned};
use common::object::{Kernel, Object};
use common::streams::forms;
use common::{Random, fuzz};

/// s[8:9] and s[10:11] become the first two arguments, v[2:3] the first for each lane 4 bytes on, v[4:5] an aperture,
/// m0 some LDS.
const PROLOGUE: [u32; 11] = [
    // s_load_dwordx4 s[8:11], s[0:1], 0x0
    0xc00a_0200,
    0,
    // s_waitcnt 0
    0xbf8c_0000,
    // v_lshlrev_b32 v2, 2, v0; v_add_co_u32 v2, vcc, s8, v2; v_mov_b32 v3, s9
    0x2404_0082,
    0x3204_0408,
    0x7e06_0209,
    // v_mov_b32 v4, v2; v_mov_b32 v5, 0; s_movk_i32 m0, 0x40; s_mov_b32 s12, 0x1000; (v_mov_b32 v6, s10)
    0x7e08_0302,
    0x7e0a_0280,
    0xb07c_0040,
    0xb00c_1000,
    0x7e0c_020a,
];

const END: u32 = 0xbf81_0000;

#[test]
fn random_streams_end_or_fault() {
    let all = Arch::ALL.map(|arch| forms(arch, |_| true));
    let (ended, faulted, unsupported) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let seen: [Mutex<BTreeSet<Op>>; 2] = Default::default();
    fuzz::cases("streams", 12_000, |case| {
        let mut r = Random(case ^ 0x57ea_0000_0000);
        let which = (case % 2) as usize;
        let arch = Arch::ALL[which];
        let mut text = PROLOGUE.to_vec();
        let length = 1 + r.next() % 24;
        let mut made = 0;
        while made < length {
            // The first instructions iterate over the table, so that each one is used.
            let at = if made == 0 { case as usize / 2 } else { r.next() as usize };
            let form = &all[which][at % all[which].len()];
            let Some((words, inst)) = (0..200).find_map(|_| form.words(arch, &mut || r.next())) else {
                made += 1;
                continue;
            };
            seen[which].lock().unwrap().insert(inst.op);
            text.extend(words);
            made += 1;
        }
        text.push(END);
        // Short forward branches also reach an end.
        text.extend([END; 8]);
        let mut kernel = Kernel::new("k", &text);
        (kernel.lds, kernel.scratch) = (r.next() as u32 % 4096, r.next() as u32 % 512);
        // Rounding and denormals of any mode, IEEE, clamp; any of the SGPRs that a dispatch sets up beside s[0:1].
        kernel.rsrc[0] ^= r.next() as u32 & 0x04af_f000;
        // Usually all vector registers, since otherwise most instructions would use some that the kernel does not have.
        if r.next() % 8 != 0 {
            (kernel.rsrc[0], kernel.rsrc[2]) = (kernel.rsrc[0] | 63, 63);
        }
        let config = Config {
            arch,
            memory_bytes: 1 << 20,
            threads: Some(1),
            instruction_budget: Some(20_000),
            misaligned: [Misaligned::Allow, Misaligned::FaultWords, Misaligned::Fault][r.next() as usize % 3],
            ..Config::default()
        };
        let gpu = Gpu::new(config);
        let flags = if arch == Arch::Gfx942 { 0x54c } else { 0x53f };
        let object = Object { kernels: vec![kernel], flags: Some(flags), data: vec![7; 256], ..Object::default() };
        let module = gpu.load(&CodeObject::parse(&object.build()).unwrap()).unwrap();
        let out = gpu.memory().alloc(4096, 0, AllocKind::Device).unwrap();
        let arguments: Vec<u8> = [out, out + 64].iter().flat_map(|a| a.to_le_bytes()).collect();
        let workgroup = [1 + r.next() as u32 % 150, 1 + r.next() as u32 % 2, 1];
        let dispatch = Dispatch { grid: [200, 2, 1], workgroup, dynamic_lds: 64, kernarg: 0 };
        match gpu.launch(&module.kernel("k").unwrap(), &arguments, &dispatch) {
            Ok(_) => ended.fetch_add(1, Relaxed),
            Err(fault) => {
                let text = fault.to_string();
                assert!(text.starts_with("kernel k: ") && fault.place.is_some(), "{text}");
                unsupported.fetch_add(u64::from(text.contains("not supported")), Relaxed);
                faulted.fetch_add(1, Relaxed)
            }
        };
    });
    let (ended, faulted) = (ended.into_inner(), faulted.into_inner());
    println!("{ended} ended, {faulted} faulted, of these {} not supported", unsupported.into_inner());
    let usual = fuzz::expected(1001..=12_000);
    assert!(usual.contains(&ended) && usual.contains(&faulted), "{ended} {faulted}");
    // A share of the cases need not contain all instructions.
    if fuzz::is_usual() {
        for (arch, seen) in Arch::ALL.into_iter().zip(seen) {
            let seen = seen.into_inner().unwrap();
            let exists = |op: &&Op| op.info().opcode[arch as usize].is_some();
            let missing: Vec<_> = Op::ALL.iter().filter(exists).filter(|op| !seen.contains(op)).collect();
            assert!(missing.is_empty(), "{arch}: no stream has {missing:?}");
        }
    }
}

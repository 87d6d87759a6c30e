//! The location of workgroups: kernels that query it find the compute units that their queue may use.

use std::collections::BTreeSet;

use amdgpu_sim::{Arch, Cancel, ComputeUnits, Config, Dispatch, Gpu, Packet};

use crate::common::*;
use crate::compiler::Compiler;

/// Each workgroup of 64 writes `HW_ID` (register 4, 32 bits) and `XCC_ID` (20, 4 bits).
const IR: &str = "
define amdgpu_kernel void @where(ptr addrspace(1) %out) {
 %group = call i32 @llvm.amdgcn.workgroup.id.x()
 %unit = call i32 @llvm.amdgcn.s.getreg(i32 63492)
 %die = call i32 @llvm.amdgcn.s.getreg(i32 6164)
 %at = mul i32 %group, 8
 %to = getelementptr i8, ptr addrspace(1) %out, i32 %at
 store i32 %unit, ptr addrspace(1) %to
 %next = getelementptr i8, ptr addrspace(1) %to, i32 4
 store i32 %die, ptr addrspace(1) %next
 ret void
}
";

/// The units on which 1000 workgroups ran: die, shader engine, unit of the engine.
fn found(gpu: &Gpu, code: &[u8], units: ComputeUnits) -> BTreeSet<[u32; 3]> {
    const GROUPS: u32 = 1000;
    let module = load(gpu, code);
    let kernel = module.kernel("where").unwrap();
    let out = zeros::<u32>(gpu, 2 * GROUPS as usize);
    let dispatch = Dispatch { grid: [64 * GROUPS, 1, 1], workgroup: [64, 1, 1], dynamic_lds: 0, kernarg: 0 };
    let kernarg = upload(gpu, &kernel.build_kernarg(&Args::default().pointer(&out).0, &dispatch).unwrap());
    let packet = Packet {
        grid: dispatch.grid,
        workgroup: dispatch.workgroup,
        kernel_object: kernel.descriptor_address(),
        kernarg: kernarg.address,
        units,
        ..Packet::default()
    };
    gpu.run_packet(&packet, &Cancel::default()).unwrap();
    // HW_ID has the unit in bits 11:8, the engine in 15:13.
    out.get().chunks_exact(2).map(|pair| [pair[1] & 15, pair[0] >> 13 & 7, pair[0] >> 8 & 15]).collect()
}

#[test]
fn kernels_find_themselves_on_the_units_that_they_may_use() {
    let Some(compiler) = Compiler::new() else { return };
    for (arch, all) in [(Arch::Gfx90a, 104), (Arch::Gfx942, 304)] {
        let code = compiler.compile(IR, arch, 2);
        let gpu = Gpu::new(Config { arch, ..Config::default() });
        let everywhere = found(&gpu, &code, ComputeUnits::ALL);
        assert_eq!(everywhere.len(), all, "{arch}");
        let mask = [0x00ff_00f0, 0, 0x8000_0001];
        let (some, others) = (ComputeUnits::from_words(&mask), ComputeUnits::from_words(&[!mask[0], !0, !mask[2], !0]));
        let (some, others) = (found(&gpu, &code, some), found(&gpu, &code, others));
        assert_eq!(some.len(), 14, "{arch}");
        assert!(some.is_subset(&everywhere) && some.is_disjoint(&others), "{arch}");
    }
}

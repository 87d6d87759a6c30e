//! Several GPUs in one address space.

mod common;

use amdgpu_sim::{
    Access, Agent, Agents, AllocKind, Config, Denied, Fault, FaultKind, Gpu, MAX_AGENTS, MemoryError, Request, Rights,
};
use common::*;

static FAULTS: &[u8] = include_bytes!("kernels/faults.co");

/// `p[i] = i` for one wave, on `gpu`.
fn write_ids(gpu: &Gpu, address: u64) -> Result<(), Fault> {
    let args = Args::default().value(address).value(0_i32);
    launch(gpu, &load(gpu, FAULTS), "out_of_bounds", [1, 1, 1], [64, 1, 1], &args).map(drop)
}

/// `out[i] = p[i]` for one wave, on `gpu`.
fn read_words(gpu: &Gpu, address: u64, out: u64) -> Result<(), Fault> {
    let args = Args::default().value(address).value(out);
    launch(gpu, &load(gpu, FAULTS), "read_null", [1, 1, 1], [64, 1, 1], &args).map(drop)
}

fn why(fault: &Fault) -> (Access, Denied) {
    match fault.kind {
        FaultKind::Memory { access, why, .. } => (access, why),
        _ => panic!("not a memory fault: {fault}"),
    }
}

#[test]
fn memory_of_another_gpu_needs_access() {
    let gpus = Gpu::group(&[Config::default(), Config::default()]);
    let [first, second] = [gpus[0].agent(), gpus[1].agent()];
    let memory = gpus[1].memory();
    let address = memory.allocate(&Request::new(256, AllocKind::Device, Some(first))).unwrap();
    let own = memory.allocate(&Request::new(256, AllocKind::Device, Some(second))).unwrap();
    write_ids(&gpus[0], address).unwrap();

    let fault = write_ids(&gpus[1], address).unwrap_err();
    assert_eq!(why(&fault), (Access::Write, Denied::NoAccess { agent: second, owner: Some(first) }));
    let text = fault.to_string();
    assert!(text.contains("no access: write of 4 bytes") && text.contains("memory of GPU 0 that GPU 1"), "{text}");
    let fault = read_words(&gpus[1], address, own).unwrap_err();
    assert_eq!(why(&fault), (Access::Read, Denied::NoAccess { agent: second, owner: Some(first) }));

    // Peer access on: the same bytes.
    memory.set_rights(address, Rights::full(Agents::of(first).with(second))).unwrap();
    read_words(&gpus[1], address, own).unwrap();
    let mut word = [0; 4];
    memory.read(own + 4 * 63, &mut word).unwrap();
    assert_eq!(u32::from_le_bytes(word), 63);
    write_ids(&gpus[1], address).unwrap();

    // For reading only.
    memory.set_rights(address, Rights::full(Agents::of(first)).set(second, true, false)).unwrap();
    read_words(&gpus[1], address, own).unwrap();
    assert_eq!(why(&write_ids(&gpus[1], address).unwrap_err()), (Access::Write, Denied::ReadOnly));
    write_ids(&gpus[0], address).unwrap();

    // And off again, for its owner too.
    memory.set_rights(address, Rights::full(Agents::NONE)).unwrap();
    let fault = write_ids(&gpus[0], address).unwrap_err();
    assert_eq!(why(&fault), (Access::Write, Denied::NoAccess { agent: first, owner: Some(first) }));
}

#[test]
fn host_memory_is_for_those_that_it_was_given_to() {
    let gpus = Gpu::group(&[Config::default(), Config::default()]);
    let request = Request::new(256, AllocKind::Host, None);
    let memory = gpus[0].memory();
    let everyones = memory.allocate(&request).unwrap();
    gpus.iter().for_each(|gpu| write_ids(gpu, everyones).unwrap());
    let rights = Rights::full(Agents::of(gpus[1].agent()));
    let one = memory.allocate(&Request { rights, ..request }).unwrap();
    write_ids(&gpus[1], one).unwrap();
    let fault = write_ids(&gpus[0], one).unwrap_err();
    assert!(fault.to_string().contains("host memory that GPU 0 was not let use"), "{fault}");
    assert_eq!(memory.used(), 0, "no GPU's memory");
}

#[test]
fn every_gpu_has_its_own_limit() {
    let config = |memory_bytes| Config { memory_bytes, ..Config::default() };
    let gpus = Gpu::group(&[config(1000), config(5000)]);
    let memory = gpus[0].memory();
    let [first, second] = [gpus[0].agent(), gpus[1].agent()];
    let request = |size, owner| Request::new(size, AllocKind::Device, Some(owner));
    let a = memory.allocate(&request(600, first)).unwrap();
    memory.allocate(&request(4000, second)).unwrap();
    let refused = memory.allocate(&request(600, first)).unwrap_err();
    assert_eq!(refused, MemoryError::OutOfMemory { requested: 600, used: 600, total: 1000 });
    assert_eq!((memory.used_of(first), memory.used_of(second), memory.used()), (600, 4000, 4600));
    assert_eq!((memory.total_of(second), memory.total(), memory.agents()), (Ok(5000), 6000, 2));
    memory.free(a).unwrap();
    assert_eq!(memory.used_of(first), 0);

    let nobody = Agent::new(2).unwrap();
    assert_eq!(memory.allocate(&request(1, nobody)), Err(MemoryError::NoAgent { agent: nobody, count: 2 }));
    assert!(matches!(memory.set_rights(a, Rights::full(Agents::ALL)), Err(MemoryError::NotAllocated { .. })));
    assert_eq!(Agent::new(MAX_AGENTS), None);
    assert_eq!(Gpu::group(&vec![Config::default(); 70]).len(), MAX_AGENTS);
    assert!(Gpu::group(&[]).is_empty());
}

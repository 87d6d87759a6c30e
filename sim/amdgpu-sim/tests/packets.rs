//! Kernels run from AQL packets, and cancelled dispatches.

mod common;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use amdgpu_sim::{
    Cancel, Config, Denied, Dispatch, FaultKind, Gpu, Kernel, LaunchError, MAX_SCRATCH, Module, PACKET_BYTES,
    PRIVATE_APERTURE, Packet, SHARED_APERTURE, Space,
};
use common::*;

static BASIC: &[u8] = include_bytes!("kernels/basic-O1.co");
static FAULTS: &[u8] = include_bytes!("kernels/faults.co");

fn gpu_and(code: &[u8]) -> (Gpu, Arc<Module>) {
    let gpu = Gpu::new(Config::default());
    let module = load(&gpu, code);
    (gpu, module)
}

/// A packet for `kernel` as a runtime writes it to its queue.
fn packet_bytes(kernel: &Kernel, grid: u32, workgroup: u16, dynamic_lds: u32, kernarg: u64) -> [u8; PACKET_BYTES] {
    let info = kernel.info();
    let mut bytes = [0; PACKET_BYTES];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &0x0b02_u16.to_le_bytes());
    put(2, &1_u16.to_le_bytes());
    put(4, &workgroup.to_le_bytes());
    put(12, &grid.to_le_bytes());
    put(24, &info.private_size.to_le_bytes());
    put(28, &(info.lds_size + dynamic_lds).to_le_bytes());
    put(32, &kernel.descriptor_address().to_le_bytes());
    put(40, &kernarg.to_le_bytes());
    bytes
}

/// The arguments of `kernel` in device memory.
fn kernarg<'g>(gpu: &'g Gpu, kernel: &Kernel, args: &Args, grid: u32, workgroup: u16) -> Buffer<'g, u8> {
    let dispatch = Dispatch { grid: [grid, 1, 1], workgroup: [workgroup.into(), 1, 1], dynamic_lds: 0, kernarg: 0 };
    upload(gpu, &kernel.build_kernarg(&args.0, &dispatch).unwrap())
}

#[test]
fn a_packet_names_its_kernel_by_the_descriptors_address() {
    let (gpu, module) = gpu_and(BASIC);
    let kernel = module.kernel("vector_add").unwrap();
    let (a, out) = (upload(&gpu, &[1.5_f32; 100]), zeros::<f32>(&gpu, 100));
    let args = Args::default().pointer(&a).pointer(&a).pointer(&out).value(100_u32);
    let kernarg = kernarg(&gpu, &kernel, &args, 128, 64);
    let packet = Packet::parse(&packet_bytes(&kernel, 128, 64, 0, kernarg.address));
    let stats = gpu.run_packet(&packet, &Cancel::default()).unwrap();
    assert_eq!((stats.workgroups, stats.waves), (2, 2));
    assert_eq!(out.get(), [3.0; 100]);

    // Not found any more after the code object has been unloaded.
    drop((kernel, module));
    let fault = gpu.run_packet(&packet, &Cancel::default()).unwrap_err();
    let address = packet.kernel_object;
    assert_eq!(fault.kind, FaultKind::Launch(LaunchError::KernelObject { address }));
}

#[test]
fn a_kernel_of_another_gpu_is_not_found() {
    let (_gpu, module) = gpu_and(BASIC);
    let kernel = module.kernel("empty").unwrap();
    let packet = Packet::parse(&packet_bytes(&kernel, 64, 64, 0, 0));
    let fault = Gpu::new(Config::default()).run_packet(&packet, &Cancel::default()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Launch(LaunchError::KernelObject { .. })), "{fault}");
}

/// Code object version 4 has no hidden block counts: the kernel reads the packet itself.
#[test]
fn a_kernel_reads_the_packet_where_the_queue_has_it() {
    let (gpu, module) = gpu_and(include_bytes!("kernels/versions-v4.co"));
    let kernel = module.kernel("geometry").unwrap();
    let out = zeros::<u32>(&gpu, 4 * 6);
    let kernarg = kernarg(&gpu, &kernel, &Args::default().pointer(&out), 6 * 16, 16);
    let mut bytes = packet_bytes(&kernel, 6 * 16, 16, 0, kernarg.address);
    let run = |bytes: &[u8; PACKET_BYTES]| {
        let queue = upload(&gpu, &[&[0; 2 * PACKET_BYTES], &bytes[..]].concat());
        let address = queue.address + 2 * PACKET_BYTES as u64;
        gpu.run_packet(&Packet { address, ..Packet::parse(bytes) }, &Cancel::default()).map(|_| out.get())
    };
    // Dimensions that the packet does not use: the GPU treats the sizes as 1, whatever the bytes are that the kernel reads.
    (bytes[6], bytes[8], bytes[16], bytes[20]) = (1, 1, 1, 1);
    assert!(run(&bytes).unwrap().chunks_exact(4).all(|got| got == [16 | 1 << 16, 1, 6 | 1 << 16, 1]));
    // The kernel reads the bytes in memory, not the values passed to the GPU.
    let told = Packet::parse(&bytes);
    bytes[4] = 8;
    let queue = upload(&gpu, &bytes);
    gpu.run_packet(&Packet { address: queue.address, ..told }, &Cancel::default()).unwrap();
    assert_eq!(out.get()[..4], [8 | 1 << 16, 1, 12 | 1 << 16, 1]);
    // A packet at an invalid address.
    let fault = gpu.run_packet(&told, &Cancel::default()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Memory { why: Denied::OutOfBounds, .. }), "{fault}");
}

#[test]
fn the_packet_says_how_much_lds_and_scratch_there_is() {
    let (gpu, module) = gpu_and(BASIC);
    let kernel = module.kernel("reverse_dynamic").unwrap();
    let data = upload(&gpu, &[1.5_f64; 64]);
    let out = zeros::<f64>(&gpu, 64);
    let kernarg = kernarg(&gpu, &kernel, &Args::default().pointer(&data).pointer(&out), 64, 64);
    let packet = Packet::parse(&packet_bytes(&kernel, 64, 64, 512, kernarg.address));
    gpu.run_packet(&packet, &Cancel::default()).unwrap();
    let small = Packet { group_segment_size: packet.group_segment_size - 4, ..packet };
    let fault = gpu.run_packet(&small, &Cancel::default()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Memory { space: Space::Lds, why: Denied::OutOfBounds, .. }), "{fault}");
    let large = Packet { group_segment_size: 65_537, ..packet };
    let fault = gpu.run_packet(&large, &Cancel::default()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Launch(LaunchError::LdsTooLarge { .. })), "{fault}");
    let deep = Packet { private_segment_size: MAX_SCRATCH + 1, ..packet };
    let fault = gpu.run_packet(&deep, &Cancel::default()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Launch(LaunchError::ScratchTooLarge { .. })), "{fault}");
}

#[test]
fn hostile_packets_are_faults() {
    let (gpu, module) = gpu_and(BASIC);
    let kernel = module.kernel("empty").unwrap();
    for (at, value) in [(2, 0_u8), (4, 0), (12, 0), (5, 0xff), (32, 1), (39, 0x80)] {
        let mut bytes = packet_bytes(&kernel, 64, 64, 0, 0);
        bytes[at] = value;
        let result = gpu.run_packet(&Packet::parse(&bytes), &Cancel::default());
        assert!(result.is_err(), "{at}: {result:?}");
    }
    assert_eq!((SHARED_APERTURE as u32, PRIVATE_APERTURE as u32), (0, 0), "only the high half is in a queue");
}

#[test]
fn an_endless_kernel_stops_when_it_is_told_to() {
    let (gpu, module) = gpu_and(FAULTS);
    let kernel = module.kernel("endless").unwrap();
    let p = zeros::<i32>(&gpu, 1);
    for groups in [1, 40] {
        let kernarg = kernarg(&gpu, &kernel, &Args::default().pointer(&p), 64 * groups, 64);
        let packet = Packet::parse(&packet_bytes(&kernel, 64 * groups, 64, 0, kernarg.address));
        let cancel = Cancel::default();
        thread::scope(|scope| {
            let running = scope.spawn(|| gpu.run_packet(&packet, &cancel));
            // By now it has probably begun; it is cancelled wherever it is.
            thread::sleep(Duration::from_millis(5));
            cancel.cancel();
            let fault = running.join().unwrap().unwrap_err();
            assert_eq!(fault.kind, FaultKind::Cancelled);
        });
        // It does not start.
        assert_eq!(gpu.run_packet(&packet, &cancel).unwrap_err().kind, FaultKind::Cancelled);
    }
    // Nor do waves that would end at once.
    let short = module.kernel("read_null").unwrap();
    let out = zeros::<i32>(&gpu, 64);
    let arguments = self::kernarg(&gpu, &short, &Args::default().pointer(&out).pointer(&out), 64 * 100, 64);
    let packet = Packet::parse(&packet_bytes(&short, 64 * 100, 64, 0, arguments.address));
    let cancel = Cancel::default();
    cancel.cancel();
    assert_eq!(gpu.run_packet(&packet, &cancel).unwrap_err().kind, FaultKind::Cancelled);
    assert!(gpu.run_packet(&packet, &Cancel::default()).is_ok());
    // A flag that the host sets ends the kernel.
    let flag = zeros::<i32>(&gpu, 1);
    let kernarg = kernarg(&gpu, &kernel, &Args::default().pointer(&flag), 64, 64);
    let packet = Packet::parse(&packet_bytes(&kernel, 64, 64, 0, kernarg.address));
    thread::scope(|scope| {
        let running = scope.spawn(|| gpu.run_packet(&packet, &Cancel::default()));
        // By now it has probably begun; it ends in any case.
        thread::sleep(Duration::from_millis(5));
        gpu.memory().write(flag.address, &[1]).unwrap();
        assert!(running.join().unwrap().is_ok());
    });
}

/// Size errors take precedence over other errors.
#[test]
fn sizes_that_cannot_be_are_refused_in_order() {
    let (gpu, module) = gpu_and(BASIC);
    let kernel = module.kernel("empty").unwrap();
    let run = |change: &dyn Fn(&mut [u8; PACKET_BYTES])| {
        let mut bytes = packet_bytes(&kernel, 64, 64, 0, 0);
        // Scratch and LDS that no GPU has.
        bytes[24..32].fill(0xff);
        change(&mut bytes);
        match gpu.run_packet(&Packet::parse(&bytes), &Cancel::default()).unwrap_err().kind {
            FaultKind::Launch(error) => error,
            other => panic!("{other:?}"),
        }
    };
    for dimensions in [0, 4, 8] {
        let error = run(&|bytes| bytes[2] = dimensions);
        assert!(matches!(error, LaunchError::Empty { grid: [0, 0, 0], .. }), "{dimensions}: {error:?}");
    }
    assert!(matches!(run(&|bytes| bytes[12] = 0), LaunchError::Empty { grid: [0, 1, 1], .. }));
    assert!(matches!(run(&|bytes| bytes[5] = 255), LaunchError::WorkgroupTooLarge { .. }));
    assert!(matches!(run(&|_| ()), LaunchError::LdsTooLarge { .. }));
    assert!(matches!(run(&|bytes| bytes[28..32].fill(0)), LaunchError::ScratchTooLarge { .. }));
}

//! Several devices that access each other's memory.

use std::sync::Mutex;

use hip::device::PeerAttribute;
use hip::memory::virtual_memory::{AddressRange, PhysicalMemory};
use hip::module::{DeviceLaunch, launch_cooperative_multi_device};
use hip::{Device, DeviceBuffer, Error, LaunchConfig, Module, Stream};

use crate::typed::AddInPlace;
use crate::{device, in_child, is_child, skipped, supported};

/// Returns two devices, in a process that has them.
pub(crate) fn two(test: &str) -> Option<(Device, Device)> {
    device()?;
    if !is_child() && Device::count().is_ok_and(|count| count < 2) {
        in_child(test, &[("HIP_SIM_DEVICES", "2")]);
        return None;
    }
    match Device::all().unwrap()[..] {
        [first, second, ..] => Some((first, second)),
        _ => {
            skipped(&"needs two devices");
            None
        }
    }
}

/// Held by tests that enable access to another device or rely on its absence: access is process-wide.
static ACCESS: Mutex<()> = Mutex::new(());

#[test]
fn access_is_given_and_taken() {
    let Some((first, second)) = two("peer::access_is_given_and_taken") else { return };
    let _access = ACCESS.lock().unwrap();
    let module = Module::load(&first, crate::kernels(&first)).unwrap();
    let add = module.kernel("add_in_place").unwrap();
    let stream = Stream::new(&first).unwrap();
    let mut theirs = DeviceBuffer::<i32>::zeroed(&second, 64).unwrap();
    assert!(!first.can_access_peer(&first).unwrap());
    if !first.can_access_peer(&second).unwrap() {
        assert!(first.enable_peer_access(&second).is_err() && !first.has_peer_access(second));
        skipped(&"the devices do not reach each other's memory");
        return;
    }
    let launch = |buffer: &mut DeviceBuffer<i32>, value: i32| {
        // SAFETY: 64 threads, 64 elements.
        unsafe { add.launch(&stream, LaunchConfig::new(1, 64), (buffer, value, 64u32)) }
    };
    let typed = AddInPlace::load(&module).unwrap();
    let launch_typed = |buffer: &mut DeviceBuffer<i32>, value: i32| {
        // SAFETY: 64 threads, 64 elements.
        unsafe { typed.launch(&stream, LaunchConfig::new(1, 64), buffer, value, 64) }
    };
    for refused in [launch(&mut theirs, 1), launch_typed(&mut theirs, 1)] {
        assert!(matches!(refused, Err(Error::WrongDevice { .. })), "{refused:?}");
    }
    for _ in 0..2 {
        first.enable_peer_access(&second).unwrap();
    }
    assert!(first.has_peer_access(second) && !second.has_peer_access(first), "one way");
    launch(&mut theirs, 3).unwrap();
    launch_typed(&mut theirs, 2).unwrap();
    assert_eq!(theirs.to_vec().unwrap(), [5; 64], "the host waits for the other device's kernel");
    // A copy on the other device's stream comes after it.
    let own = Stream::new(&second).unwrap();
    let mut copy = DeviceBuffer::<i32>::zeroed(&second, 64).unwrap();
    launch(&mut theirs, 1).unwrap();
    copy.copy_from_device_async(&own, &theirs).unwrap();
    assert_eq!(copy.to_vec().unwrap(), [6; 64]);
    // Work that uses the memory is over before the access is revoked.
    let slow = module.kernel("slow_store").unwrap();
    let mut busy = DeviceBuffer::<u32>::zeroed(&second, 64).unwrap();
    // SAFETY: 64 threads, 64 elements.
    unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (&mut busy, 100_000u32, 8u32)) }.unwrap();
    for _ in 0..2 {
        first.disable_peer_access(&second).unwrap();
        assert!(stream.is_idle().unwrap());
    }
    assert_eq!(busy.to_vec().unwrap(), [8; 64]);
    for refused in [launch(&mut theirs, 1), launch_typed(&mut theirs, 1)] {
        assert!(matches!(refused, Err(Error::WrongDevice { .. })), "{refused:?}");
    }
}

#[test]
fn copies_between_devices_need_no_access() {
    let Some((first, second)) = two("peer::copies_between_devices_need_no_access") else { return };
    let _access = ACCESS.lock().unwrap();
    let source = DeviceBuffer::from_slice(&first, &(0..1000u32).collect::<Vec<_>>()).unwrap();
    let mut target = DeviceBuffer::<u32>::zeroed(&second, 1000).unwrap();
    target.copy_from_device(&source).unwrap();
    assert_eq!(target.to_vec().unwrap(), source.to_vec().unwrap());
    let streams = [Stream::new(&first).unwrap(), Stream::new(&second).unwrap()];
    assert!(matches!(target.copy_from_device_async(&streams[0], &source), Err(Error::WrongDevice { .. })));
    target.copy_from_device_async(&streams[1], &source).unwrap();
    drop(source);
    assert_eq!(target.to_vec().unwrap()[999], 999);
}

#[test]
fn what_joins_devices_is_known() {
    let Some((first, second)) = two("peer::what_joins_devices_is_known") else { return };
    match first.link_to(&second) {
        Ok(link) => assert!(link.hops >= 1, "{link:?}"),
        Err(error) if error.status() == Some(hip::Status::NOT_SUPPORTED) => skipped(&error),
        Err(error) => panic!("{error}"),
    }
    match first.peer_attribute(&second, PeerAttribute::AccessSupported) {
        Ok(supported) => assert_eq!(supported, 1),
        Err(error) if error.status() == Some(hip::Status::NOT_SUPPORTED) => skipped(&error),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_device_is_not_its_own_peer() {
    let Some(device) = device() else { return };
    assert!(matches!(device.enable_peer_access(&device), Err(Error::InvalidValue { .. })));
    assert!(matches!(device.disable_peer_access(&device), Err(Error::InvalidValue { .. })));
    assert!(matches!(device.link_to(&device), Err(Error::InvalidValue { .. })));
    assert!(matches!(device.peer_attribute(&device, PeerAttribute::PerformanceRank), Err(Error::InvalidValue { .. })));
    assert!(!device.has_peer_access(device));
}

#[test]
fn a_launch_on_two_devices_is_one_piece_of_work_on_each() {
    let Some((first, second)) = two("peer::a_launch_on_two_devices_is_one_piece_of_work_on_each") else { return };
    let kernel_on =
        |device: &Device| Module::load(device, crate::kernels(device)).unwrap().kernel("add_in_place").unwrap();
    let kernels = [kernel_on(&first), kernel_on(&second)];
    let streams = [Stream::new(&first).unwrap(), Stream::new(&second).unwrap()];
    let mut a = DeviceBuffer::<i32>::zeroed(&first, 128).unwrap();
    let mut b = DeviceBuffer::<i32>::zeroed(&second, 128).unwrap();
    let config = LaunchConfig::new(2, 64);
    for round in 1..=3 {
        // Each on its own stream, which the launch has to wait for.
        a.fill_async(&Stream::new(&first).unwrap(), 10).unwrap();
        b.fill_async(&Stream::new(&second).unwrap(), 20).unwrap();
        let parts = [
            DeviceLaunch { kernel: &kernels[0], stream: &streams[0], args: (&mut a, round, 128u32) },
            DeviceLaunch { kernel: &kernels[1], stream: &streams[1], args: (&mut b, 2 * round, 128u32) },
        ];
        // SAFETY: 128 threads, 128 elements.
        if supported(unsafe { launch_cooperative_multi_device(config, &parts) }).is_none() {
            return;
        }
        assert_eq!(a.to_vec().unwrap(), [10 + round; 128]);
        assert_eq!(b.to_vec().unwrap(), [20 + 2 * round; 128]);
    }
    // Both parts are waited for.
    let slow = [first, second]
        .map(|device| Module::load(&device, crate::kernels(&device)).unwrap().kernel("slow_store").unwrap());
    let [mut low, mut high] = [first, second].map(|device| DeviceBuffer::<u32>::zeroed(&device, 64).unwrap());
    let parts = [
        DeviceLaunch { kernel: &slow[0], stream: &streams[0], args: (&mut low, 100_000u32, 1u32) },
        DeviceLaunch { kernel: &slow[1], stream: &streams[1], args: (&mut high, 100_000u32, 2u32) },
    ];
    // SAFETY: 64 threads, 64 elements.
    unsafe { launch_cooperative_multi_device(LaunchConfig::new(1, 64), &parts) }.unwrap();
    assert_eq!(high.to_vec().unwrap(), [2; 64]);
    assert_eq!(low.to_vec().unwrap(), [1; 64]);

    // SAFETY: rejected, like the ones below.
    let result = unsafe { launch_cooperative_multi_device::<(&mut DeviceBuffer<i32>, i32, u32)>(config, &[]) };
    assert!(matches!(result, Err(Error::InvalidValue { .. })), "{result:?}");
    let mut c = DeviceBuffer::<i32>::zeroed(&first, 128).unwrap();
    let twice = [&mut a, &mut c].map(|buffer| DeviceLaunch {
        kernel: &kernels[0],
        stream: &streams[0],
        args: (buffer, 1, 128u32),
    });
    // SAFETY: as above.
    let result = unsafe { launch_cooperative_multi_device(config, &twice) };
    assert!(matches!(&result, Err(Error::InvalidValue { value, .. }) if value == "device 0 twice"), "{result:?}");
    let wrong = [DeviceLaunch { kernel: &kernels[0], stream: &streams[1], args: (&mut a, 1, 128u32) }];
    // SAFETY: as above.
    let result = unsafe { launch_cooperative_multi_device(config, &wrong) };
    assert!(matches!(result, Err(Error::WrongDevice { .. })), "{result:?}");
    assert_eq!(a.to_vec().unwrap(), [13; 128]);
}

#[test]
fn memory_is_mapped_for_the_devices_that_are_named() {
    let Some((first, second)) = two("peer::memory_is_mapped_for_the_devices_that_are_named") else { return };
    if hip::runtime_version().unwrap().0 < 6 && !first.is_simulated() {
        skipped(&"the runtime of 5.7 has its own way of virtual memory management, without HSA");
        return;
    }
    let Some(memory) = supported(PhysicalMemory::new(&first, 1)) else { return };
    let range = AddressRange::reserve(&first, memory.byte_len()).unwrap();
    let add = Module::load(&second, crate::kernels(&second)).unwrap().kernel("add_in_place").unwrap();
    let stream = Stream::new(&second).unwrap();
    let launch = |numbers: &mut DeviceBuffer<i32>| {
        // SAFETY: 64 threads, and more elements.
        unsafe { add.launch(&stream, LaunchConfig::new(1, 64), (numbers, 7i32, 64u32)) }
    };
    let mut ours = range.map::<i32>(0, &[&memory]).unwrap();
    ours.fill(0).unwrap();
    assert!(matches!(launch(&mut ours), Err(Error::WrongDevice { .. })));
    drop(ours);
    let mut both = range.map_with_access::<i32>(0, &[&memory], &[second]).unwrap();
    launch(&mut both).unwrap();
    assert_eq!(both.slice(..65).unwrap().to_vec().unwrap(), [&[7; 64][..], &[0]].concat());
}

/// Access is revoked while another thread queues work that uses it: each piece is either rejected or done.
#[test]
fn work_on_memory_of_another_device_is_refused_or_done() {
    let Some((first, second)) = two("peer::work_on_memory_of_another_device_is_refused_or_done") else { return };
    let _access = ACCESS.lock().unwrap();
    let _watchdog = crate::Watchdog::new("access that comes and goes");
    if supported(second.enable_peer_access(&first)).is_none() {
        return;
    }
    second.disable_peer_access(&first).unwrap();
    let module = Module::load(&second, crate::kernels(&second)).unwrap();
    let add = module.kernel("add_in_place").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _stop = crate::SetOnDrop(&stop);
            let stream = Stream::new(&second).unwrap();
            let mut data = DeviceBuffer::<u32>::zeroed(&first, 1 << 10).unwrap();
            let mut counts = DeviceBuffer::<i32>::zeroed(&first, 256).unwrap();
            let (mut filled, mut added) = (0, 0);
            for round in 1..=2000 {
                match data.fill_async(&stream, round) {
                    Err(Error::WrongDevice { .. }) => {}
                    other => {
                        other.unwrap();
                        filled = round;
                    }
                }
                // SAFETY: 256 threads, 256 elements.
                match unsafe { add.launch(&stream, LaunchConfig::new(1, 256), (&mut counts, 1i32, 256u32)) } {
                    Err(Error::WrongDevice { .. }) => {}
                    other => {
                        other.unwrap();
                        added += 1;
                    }
                }
                if round % 16 == 0 {
                    stream.synchronize().unwrap();
                }
            }
            assert_eq!(counts.to_vec().unwrap(), [added; 256]);
            assert_eq!(data.to_vec().unwrap(), vec![filled; 1 << 10]);
        });
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                second.enable_peer_access(&first).unwrap();
                std::thread::sleep(std::time::Duration::from_micros(50));
                second.disable_peer_access(&first).unwrap();
            }
        });
    });
}

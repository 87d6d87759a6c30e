//! Generators of two devices.

use hip::{Device, DeviceBuffer, Stream};

use crate::{PSEUDO, seeded};

#[test]
fn each_device_generates_the_same_numbers_at_the_same_time() {
    if super::device().is_none() {
        return;
    }
    if Device::count().unwrap() < 2 {
        return linalg_testing::skipped(&"another device is not available");
    }
    let generate = |index: usize| {
        let device = Device::get(index).unwrap();
        let stream = Stream::new(&device).unwrap();
        PSEUDO.map(|kind| {
            let mut numbers = DeviceBuffer::<u32>::zeroed(&device, 1000).unwrap();
            seeded(&stream, kind, 4).generate(&mut numbers).unwrap();
            numbers.to_vec().unwrap()
        })
    };
    let (first, second) = std::thread::scope(|scope| {
        let (first, second) = (scope.spawn(|| generate(0)), scope.spawn(|| generate(1)));
        (first.join().unwrap(), second.join().unwrap())
    });
    assert_eq!(first, second);
}

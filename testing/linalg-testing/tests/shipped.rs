//! `hip_linalg::Shipped`: kernels are loaded once per device, and failed loads are retried.

use std::cell::Cell;

use hip::{Device, Error};
use hip_linalg::Shipped;

#[test]
fn kernels_are_taken_once_on_a_device() {
    if let Err(error) = hip::sim_if_no_gpu() {
        return linalg_testing::skipped(&error);
    }
    let device = Device::get(0).unwrap();
    if device.properties().unwrap().arch.name() != "gfx90a" {
        return linalg_testing::skipped(&"the code is for gfx90a");
    }
    let code: &'static [u8] = include_bytes!("../../../hip/tests/kernels/kernels.gfx90a.co");
    let (shipped, times) = (Shipped::new(code), Cell::new(0));
    let take = |name: &str| {
        shipped.on(&device, |module| {
            times.set(times.get() + 1);
            module.kernel(name)
        })
    };
    assert!(matches!(take("not_there"), Err(Error::KernelNotFound { .. })));
    for _ in 0..3 {
        assert_eq!(take("vector_add").unwrap().unwrap().info().name, "vector_add");
    }
    assert_eq!(times.get(), 2);
    let other: Shipped<hip::Kernel> = Shipped::new(include_bytes!("../../../hip/tests/kernels/kernels.gfx1100.co"));
    for _ in 0..2 {
        assert!(other.on(&device, |module| module.kernel("vector_add")).unwrap().is_none());
    }
    let damaged: Shipped<hip::Kernel> = Shipped::new(&code[..100]);
    assert!(matches!(damaged.on(&device, |module| module.kernel("vector_add")), Err(Error::Image { .. })));
}

//! In steady state, calls allocate nothing: no memory of the host, counted by the allocator, and no memory of the
//! device.

use hip::{DeviceBuffer, Stream};
use hiprand::{Generator, HostGenerator, Pseudo, Quasi};
use linalg_testing::{Counting, assert_steady, before};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn calls_allocate_nothing_in_steady_state() {
    let Some(device) = linalg_testing::device() else { return };
    if !hiprand::is_available() {
        return linalg_testing::skipped(&"hipRAND is not available");
    }
    let stream = Stream::new(&device).unwrap();
    let mut pseudo = Generator::new(&stream, Pseudo::Philox4x32_10).unwrap();
    let mut quasi = Generator::new(&stream, Quasi::Sobol32).unwrap();
    quasi.set_dimensions(3).unwrap();
    let mut bits = DeviceBuffer::<u32>::zeroed(&device, 96).unwrap();
    let mut numbers = DeviceBuffer::<f32>::zeroed(&device, 96).unwrap();
    assert_steady(&stream, || {
        pseudo.generate(&mut bits).unwrap();
        pseudo.uniform(&mut numbers).unwrap();
        pseudo.normal(numbers.slice_mut(1..8).unwrap(), 1.0, 2.0).unwrap();
        pseudo.log_normal(&mut numbers, 1.0, 2.0).unwrap();
        pseudo.poisson(&mut bits, 8.0).unwrap();
        quasi.uniform(&mut numbers).unwrap();
    });
    if before((6, 2)) {
        return;
    }
    let mut host = HostGenerator::new(&device, Pseudo::Philox4x32_10).unwrap();
    let (mut bits, mut numbers) = ([0_u8; 96], [0.0_f64; 96]);
    assert_steady(&stream, || {
        host.generate(&mut bits).unwrap();
        host.normal(&mut numbers, 1.0, 2.0).unwrap();
    });
}

//! In steady state, calls allocate nothing: no memory of the host, counted by the allocator, and no memory of the
//! device.

use hip::{DeviceBuffer, Stream};
use hipfft::{C2C, C2R, Complex32, Layout, Normalized, Plan, PlanCache, R2C, Unitary};
use linalg_testing::{Counting, assert_steady};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn calls_allocate_nothing_in_steady_state() {
    let Some(device) = linalg_testing::device() else { return };
    if !hipfft::is_available() {
        return linalg_testing::skipped(&"hipFFT is not available");
    }
    let stream = Stream::new(&device).unwrap();
    // With a workspace, and without.
    let (convolved, plain) = (Layout::new([37]).unwrap(), Layout::new([16]).unwrap());
    let mut complex = Plan::<C2C<f32>, Normalized>::new(&stream, &convolved).unwrap();
    let mut forward = Plan::<R2C<f32>>::new(&stream, &plain).unwrap();
    let mut inverse = Plan::<C2R<f32>>::new(&stream, &plain).unwrap();
    let mut cache = PlanCache::new(&stream, 4);
    let from = DeviceBuffer::<Complex32>::zeroed(&device, 37).unwrap();
    let mut to = DeviceBuffer::<Complex32>::zeroed(&device, 37).unwrap();
    let mut real = DeviceBuffer::<f32>::zeroed(&device, 16).unwrap();
    assert_steady(&stream, || {
        complex.forward(&from, &mut to).unwrap();
        complex.inverse_in_place(&mut to).unwrap();
        forward.forward(&real, &mut to).unwrap();
        inverse.inverse(&mut to, &mut real).unwrap();
        cache.run::<C2C<f32>, Unitary>(&convolved, |plan| plan.forward(&from, &mut to)).unwrap();
        cache.run::<C2C<f32>, Unitary>(&plain, |plan| plan.forward(from.slice(..16)?, &mut to)).unwrap();
    });
    assert_eq!(cache.len(), 2);
}

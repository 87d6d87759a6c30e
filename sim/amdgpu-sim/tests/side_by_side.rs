//! Waves of a workgroup run side by side, as far as a kernel without a race on a chip can tell.

mod common;

use std::num::NonZeroU32;

use amdgpu_sim::{Config, Gpu, Schedule};
use common::{Args, launch_1d, load, upload, zeros};

static SIDE_BY_SIDE: &[u8] = include_bytes!("kernels/side_by_side.co");

/// The sums of pivots as read by each thread, and the final pivots.
fn pivots(schedule: Schedule) -> (Vec<f32>, Vec<f32>) {
    let gpu = Gpu::new(Config { schedule, ..Config::default() });
    let input: Vec<f32> = (0..40).map(|i| (i * i) as f32).collect();
    let (from, to) = (upload(&gpu, &input), zeros::<f32>(&gpu, 256 + 40));
    let args = Args::default().pointer(&from).pointer(&to).value(40_u32);
    launch_1d(&gpu, &load(&gpu, SIDE_BY_SIDE), "pivots", 1, 256, &args);
    let mut sums = to.get();
    let roots = sums.split_off(256);
    (sums, roots)
}

/// A value that one wave replaces after a barrier has been read by the others before, if that is their first access.
#[test]
fn waves_read_what_another_is_about_to_replace() {
    let expected: f32 = (0..40).map(|i| (i * i) as f32).sum();
    for schedule in [Schedule::Parallel, Schedule::InOrder, Schedule::Interleaved(NonZeroU32::new(8).unwrap())] {
        let (sums, roots) = pivots(schedule);
        assert_eq!(sums, [expected; 256], "{schedule:?}");
        assert!(roots.iter().copied().eq((0..40).map(|i| i as f32)), "{schedule:?}");
    }
}

/// With long turns it becomes a race: the software GPU shows that the barrier is needed.
#[test]
fn long_slices_bring_the_race_to_light() {
    let (sums, _) = pivots(Schedule::Interleaved(NonZeroU32::new(1000).unwrap()));
    assert!(sums[..64].iter().all(|sum| *sum == sums[0]) && sums[64] != sums[0], "{sums:?}");
}

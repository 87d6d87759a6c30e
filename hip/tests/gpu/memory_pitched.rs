//! Memory of two and three dimensions.

use hip::memory::{Extent, PitchedBuffer};
use hip::{DeviceBuffer, Error, LaunchConfig, PinnedBuffer, Status, Stream};

use crate::{device, kernel};

fn numbers(extent: Extent) -> Vec<u32> {
    (0..extent.elements().unwrap() as u32).map(|n| n.wrapping_mul(0x9e37_79b9)).collect()
}

/// The element of a box at (x, y, z).
fn at<T: Copy>(elements: &[T], extent: Extent, x: usize, y: usize, z: usize) -> T {
    elements[(z * extent.height + y) * extent.width + x]
}

const SHAPES: [Extent; 6] = [
    Extent::new_2d(1, 1),
    Extent::new_2d(7, 5),
    Extent::new_2d(64, 1),
    Extent::new_2d(129, 3),
    Extent::new_3d(7, 5, 3),
    Extent::new_3d(33, 1, 4),
];

#[test]
fn elements_come_back_as_they_went() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    for extent in SHAPES {
        let elements = numbers(extent);
        let buffer = PitchedBuffer::from_slice(&device, extent, &elements).unwrap();
        assert_eq!(buffer.extent(), extent);
        assert!(buffer.pitch() >= extent.width * 4);
        assert_eq!(buffer.to_vec().unwrap(), elements, "{extent}");
        // Through pinned memory, and from device to device.
        let pinned = PinnedBuffer::from_slice(&device, &elements).unwrap();
        let mut other = PitchedBuffer::<u32>::zeroed(&device, extent).unwrap();
        assert_eq!(other.to_vec().unwrap(), vec![0; elements.len()], "{extent}");
        other.as_slice_mut().copy_from_pinned_async(&stream, &pinned).unwrap();
        let mut third = PitchedBuffer::<u32>::zeroed(&device, extent).unwrap();
        third.as_slice_mut().copy_from_device_async(&stream, &other).unwrap();
        let mut back = PinnedBuffer::<u32>::zeroed(&device, elements.len()).unwrap();
        third.as_slice().copy_to_pinned_async(&stream, &mut back).unwrap();
        assert_eq!(back.as_slice().unwrap(), elements, "{extent}");
    }
}

#[test]
fn a_region_is_a_part_and_leaves_the_rest() {
    let Some(device) = device() else { return };
    for extent in [Extent::new_2d(9, 6), Extent::new_3d(9, 6, 4)] {
        let elements = numbers(extent);
        let mut buffer = PitchedBuffer::from_slice(&device, extent, &elements).unwrap();
        let depth = if extent.depth == 1 { 0..1 } else { 1..3 };
        let part = buffer.region(2..5, 1..=3, depth.clone()).unwrap();
        assert_eq!(part.extent(), Extent::new_3d(3, 3, depth.len()));
        let got = part.to_vec().unwrap();
        for (z, y, x) in cells(depth.len(), 3, 3) {
            let expected = at(&elements, extent, x + 2, y + 1, z + depth.start);
            assert_eq!(at(&got, part.extent(), x, y, z), expected, "{extent} at {x}, {y}, {z}");
        }
        // Into a larger host image, whose other elements do not change.
        let mut canvas = vec![u32::MAX; 5 * 3 * depth.len()];
        part.copy_to_rows(&mut canvas, 5).unwrap();
        for (z, y, x) in cells(depth.len(), 3, 5) {
            let expected = if x < 3 { at(&elements, extent, x + 2, y + 1, z + depth.start) } else { u32::MAX };
            assert_eq!(canvas[(z * 3 + y) * 5 + x], expected);
        }
        // And back from one, and a fill of a part: all other elements do not change.
        buffer.region_mut(..2, ..2, depth.clone()).unwrap().fill(0xabcd_ef01).unwrap();
        buffer.region_mut(8.., 5.., depth.clone()).unwrap().fill(0).unwrap();
        let mut moved = PitchedBuffer::<u32>::zeroed(&device, part_extent(3, 3, depth.len())).unwrap();
        moved.as_slice_mut().copy_from_rows(&canvas, 5).unwrap();
        buffer.region_mut(5..8, 3.., depth.clone()).unwrap().copy_from_device(moved.as_slice()).unwrap();
        let now = buffer.to_vec().unwrap();
        for (z, y, x) in cells(extent.depth, extent.height, extent.width) {
            let old = at(&elements, extent, x, y, z);
            let expected = match () {
                () if !depth.contains(&z) => old,
                () if x < 2 && y < 2 => 0xabcd_ef01,
                () if x == 8 && y == 5 => 0,
                () if (5..8).contains(&x) && y >= 3 => canvas[((z - depth.start) * 3 + y - 3) * 5 + x - 5],
                () => old,
            };
            assert_eq!(at(&now, extent, x, y, z), expected, "{extent} at {x}, {y}, {z}");
        }
    }
}

fn part_extent(width: usize, height: usize, depth: usize) -> Extent {
    Extent::new_3d(width, height, depth)
}

/// All (z, y, x).
fn cells(depth: usize, height: usize, width: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..depth).flat_map(move |z| (0..height).flat_map(move |y| (0..width).map(move |x| (z, y, x))))
}

#[test]
fn fills_of_every_kind_of_value() {
    let Some(device) = device() else { return };
    fn fill<T: hip::Pod + PartialEq + std::fmt::Debug>(device: &hip::Device, value: T, around: T) {
        for extent in SHAPES {
            let elements = extent.elements().unwrap();
            let mut buffer = PitchedBuffer::from_slice(device, extent, &vec![around; elements]).unwrap();
            let part = Extent { width: extent.width.div_ceil(2), ..extent };
            buffer.region_mut(..part.width, .., ..).unwrap().fill(value).unwrap();
            for (n, element) in buffer.to_vec().unwrap().into_iter().enumerate() {
                let expected = if n % extent.width < part.width { value } else { around };
                assert_eq!(element, expected, "{extent}, element {n}");
            }
        }
    }
    fill(&device, 0xabu8, 0);
    fill(&device, 0xabcdu16, 0);
    fill(&device, -1.5f32, 0.0);
    fill(&device, 0u64, u64::MAX);
    fill(&device, std::f64::consts::PI, 0.0);
    fill(&device, [1u8, 2, 3], [0; 3]);
}

#[test]
fn linear_memory_in_rows() {
    let Some(device) = device() else { return };
    let mut linear = DeviceBuffer::from_slice(&device, &(0..12u16).collect::<Vec<_>>()).unwrap();
    let rows = linear.as_slice().into_rows(4).unwrap();
    assert_eq!((rows.extent(), rows.pitch()), (Extent::new_2d(4, 3), 8));
    assert_eq!(rows.region(1..3, 1.., ..).unwrap().to_vec().unwrap(), [5, 6, 9, 10]);
    linear.slice_mut(4..).unwrap().into_rows(2).unwrap().into_region(..1, .., ..).unwrap().fill(7).unwrap();
    assert_eq!(linear.to_vec().unwrap(), [0, 1, 2, 3, 7, 5, 7, 7, 7, 9, 7, 11]);
    assert!(matches!(linear.as_slice().into_rows(5), Err(Error::InvalidValue { .. })));
    assert!(matches!(linear.as_slice().into_rows(0), Err(Error::InvalidValue { .. })));
}

#[test]
fn no_elements_are_no_error() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    for extent in [Extent::new_2d(0, 5), Extent::new_2d(5, 0), Extent::new_3d(5, 5, 0), Extent::new_3d(0, 0, 0)] {
        let mut none = PitchedBuffer::<u32>::zeroed(&device, extent).unwrap();
        none.fill_async(&stream, 7).unwrap();
        none.copy_from_slice(&[]).unwrap();
        assert!(none.to_vec().unwrap().is_empty(), "{extent}");
    }
    let buffer = PitchedBuffer::<u32>::zeroed(&device, (5, 5)).unwrap();
    assert!(buffer.region(2..2, .., ..).unwrap().to_vec().unwrap().is_empty());
}

#[test]
fn bad_sizes_are_refused() {
    let Some(device) = device() else { return };
    for extent in [(usize::MAX, 2, 1), (1 << 30, 1 << 30, 1 << 30), (usize::MAX / 4, 1, 1)] {
        let error = PitchedBuffer::<u32>::uninit(&device, extent).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    }
    // The elements would fit an address space; their padded rows would not fit it, or not the device.
    for extent in [(1, 1 << 60, 1), (1, 1 << 30, 1 << 30), (1 << 59, 1, 1)] {
        let error = PitchedBuffer::<u8>::uninit(&device, extent).unwrap_err();
        let known = [Status::OUT_OF_MEMORY, Status::INVALID_VALUE];
        assert!(error.status().is_some_and(|status| known.contains(&status)), "{error}");
    }
    assert!(matches!(PitchedBuffer::<()>::uninit(&device, (1, 1)), Err(Error::ZeroSizedType { .. })));
    let mut buffer = PitchedBuffer::<u32>::zeroed(&device, (4, 3)).unwrap();
    assert!(matches!(buffer.copy_from_slice(&[0; 11]), Err(Error::Length { .. })));
    assert!(matches!(buffer.copy_to_slice(&mut [0; 13]), Err(Error::Length { .. })));
    assert!(matches!(buffer.region(..5, .., ..), Err(Error::Range { .. })));
    assert!(matches!(buffer.region(.., 3..5, ..), Err(Error::Range { .. })));
    assert!(matches!(buffer.region(.., .., 1..2), Err(Error::Range { .. })));
    assert!(matches!(buffer.as_slice().copy_to_rows(&mut [0; 100], 3), Err(Error::InvalidValue { .. })));
    assert!(matches!(buffer.as_slice_mut().copy_from_rows(&[0; 11], 4), Err(Error::InvalidValue { .. })));
    let other = PitchedBuffer::<u32>::zeroed(&device, (3, 4)).unwrap();
    assert!(matches!(buffer.as_slice_mut().copy_from_device(&other), Err(Error::InvalidValue { .. })));
}

/// The host's writes wait for queued reads, and its reads for queued writes.
#[test]
fn the_host_waits_for_what_is_queued() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let stream = Stream::new(&device).unwrap();
    let mut busy = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut hold = || {
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (&mut busy, 100_000u32, 1u32)) }.unwrap();
    };
    for extent in [Extent::new_2d(9, 4), Extent::new_3d(9, 2, 3)] {
        let (before, after) = (numbers(extent), vec![7; extent.elements().unwrap()]);
        let mut pitched = PitchedBuffer::from_slice(&device, extent, &before).unwrap();
        let mut copy = PitchedBuffer::<u32>::zeroed(&device, extent).unwrap();
        hold();
        copy.as_slice_mut().copy_from_device_async(&stream, &pitched).unwrap();
        pitched.as_slice_mut().copy_from_slice(&after).unwrap();
        assert_eq!(copy.to_vec().unwrap(), before, "{extent}");
        hold();
        pitched.as_slice_mut().copy_from_device_async(&stream, &copy).unwrap();
        assert_eq!(pitched.to_vec().unwrap(), before, "{extent}");
    }
}

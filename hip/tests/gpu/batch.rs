//! Copies in batches.

use hip::memory::array::{Array, ArrayShape};
use hip::memory::{CopyBatch, CopyBatch3d, Extent, PitchedBuffer};
use hip::{DeviceBuffer, Error, PinnedBuffer, Stream};

use super::peer::two;
use super::{device, supported};

const ROWS: usize = 40;
const ROW: usize = 25;

/// Rows of 25 numbers, each identified by row and index.
fn numbers() -> Vec<u32> {
    (0..ROWS * ROW).map(|i| i as u32).collect()
}

/// The source row for row `row`: a permutation without fixed points.
fn from(row: usize) -> usize {
    (row * 7 + 3) % ROWS
}

fn shuffled() -> Vec<u32> {
    (0..ROWS).flat_map(|row| (0..ROW).map(move |i| (from(row) * ROW + i) as u32)).collect()
}

#[test]
fn a_batch_copies_each_piece_to_its_place() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let pinned = PinnedBuffer::from_slice(&device, &numbers()).unwrap();
    let mut first = DeviceBuffer::<u32>::zeroed(&device, ROWS * ROW).unwrap();
    let mut second = DeviceBuffer::<u32>::zeroed(&device, ROWS * ROW).unwrap();
    let mut back = PinnedBuffer::<u32>::zeroed(&device, ROWS * ROW).unwrap();

    let mut batch = CopyBatch::new();
    for (row, to) in first.as_slice_mut().chunks_mut(ROW).unwrap().enumerate() {
        let source = pinned.slice(from(row) * ROW..(from(row) + 1) * ROW).unwrap();
        batch.from_pinned(to, source).unwrap();
    }
    assert_eq!(batch.len(), ROWS);
    if supported(batch.queue(&stream)).is_none() {
        return;
    }
    // Work that is queued later sees all of it: on the same stream, on another, and on the host.
    let other = Stream::new(&device).unwrap();
    let mut batch = CopyBatch::new();
    let mut whole = second.as_slice_mut();
    let (low, high) = whole.split_at_mut(ROW).unwrap();
    batch.on_device(high, first.slice(ROW..).unwrap()).unwrap();
    batch.on_device(low, first.slice(..ROW).unwrap()).unwrap();
    batch.queue(&other).unwrap();
    let mut batch = CopyBatch::new();
    batch.to_pinned(&mut back, &second).unwrap();
    batch.queue(&device.default_stream()).unwrap();
    assert_eq!(back.as_slice().unwrap(), shuffled());
    assert_eq!(second.to_vec().unwrap(), shuffled());
}

/// Every piece of memory records the use, not only the first.
#[test]
fn all_copies_of_a_batch_are_waited_for() {
    let Some(slow) = crate::kernel("slow_store") else { return };
    let device = slow.device();
    let stream = Stream::new(&device).unwrap();
    let source = DeviceBuffer::from_slice(&device, &[5u32; 64]).unwrap();
    let [mut busy, mut first, mut second] =
        [0u32; 3].map(|zero| DeviceBuffer::from_slice(&device, &[zero; 64]).unwrap());
    // SAFETY: 64 threads, 64 elements.
    unsafe { slow.launch(&stream, hip::LaunchConfig::new(1, 64), (&mut busy, 100_000u32, 1u32)) }.unwrap();
    let mut batch = CopyBatch::new();
    batch.on_device(&mut first, &source).unwrap();
    batch.on_device(&mut second, &busy).unwrap();
    if supported(batch.queue(&stream)).is_none() {
        return;
    }
    assert_eq!(second.to_vec().unwrap(), [1; 64]);
    assert_eq!(first.to_vec().unwrap(), [5; 64]);
}

#[test]
fn batches_of_nothing_and_of_other_lengths() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    CopyBatch::new().queue(&stream).unwrap();

    let source = DeviceBuffer::from_slice(&device, &[1u32, 2, 3]).unwrap();
    let mut destination = DeviceBuffer::<u32>::zeroed(&device, 3).unwrap();
    let mut batch = CopyBatch::new();
    let result = batch.on_device(&mut destination, source.slice(..2).unwrap());
    assert!(matches!(result, Err(Error::Length { destination: 3, source_len: 2, .. })), "{result:?}");
    assert!(batch.is_empty());
    let (mut none, nothing) =
        (DeviceBuffer::<u32>::uninit(&device, 0).unwrap(), DeviceBuffer::<u32>::uninit(&device, 0).unwrap());
    batch.on_device(&mut none, &nothing).unwrap();
    assert!(batch.is_empty(), "no bytes are no copy");
    batch.queue(&stream).unwrap();
}

#[test]
fn a_batch_for_another_device_is_refused() {
    let Some((device, second)) = two("batch::a_batch_for_another_device_is_refused") else { return };
    let source = DeviceBuffer::from_slice(&device, &[1u32, 2, 3]).unwrap();
    let mut destination = DeviceBuffer::<u32>::zeroed(&device, 3).unwrap();
    let there = Stream::new(&second).unwrap();
    let mut batch = CopyBatch::new();
    batch.on_device(&mut destination, &source).unwrap();
    let result = batch.queue(&there);
    assert!(matches!(result, Err(Error::WrongDevice { expected: 1, found: 0, .. })), "{result:?}");
    assert_eq!(destination.to_vec().unwrap(), [0; 3]);
    let image = PitchedBuffer::<u8>::zeroed(&device, (4, 4)).unwrap();
    let mut to = PitchedBuffer::<u8>::zeroed(&device, (4, 4)).unwrap();
    let mut batch = CopyBatch3d::new();
    batch.pitched(to.as_slice_mut(), &image).unwrap();
    let result = batch.queue(&there);
    assert!(matches!(result, Err(Error::WrongDevice { expected: 1, found: 0, .. })), "{result:?}");
}

#[test]
fn a_batch_copies_boxes() {
    let Some(device) = device() else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    CopyBatch3d::new().queue(&stream).unwrap();
    let values: Vec<u32> = (1..=5 * 4 * 3).collect();
    for extent in [Extent::new_3d(5, 4, 3), Extent::new_2d(5, 12)] {
        let image = PitchedBuffer::from_slice(&device, extent, &values).unwrap();
        let mut whole = PitchedBuffer::<u32>::zeroed(&device, extent).unwrap();
        let mut parts = PitchedBuffer::<u32>::zeroed(&device, extent).unwrap();
        let mut batch = CopyBatch3d::new();
        batch.pitched(whole.as_slice_mut(), &image).unwrap();
        batch.pitched(parts.region_mut(3.., 1..4, ..).unwrap(), image.region(1..3, ..3, ..).unwrap()).unwrap();
        assert_eq!(batch.len(), 2);
        if supported(batch.queue(&stream)).is_none() {
            return;
        }
        // The other stream waits for it.
        let mut again = PitchedBuffer::<u32>::zeroed(&device, extent).unwrap();
        let mut batch = CopyBatch3d::new();
        batch.pitched(again.as_slice_mut(), &parts).unwrap();
        batch.queue(&other).unwrap();
        assert_eq!(whole.to_vec().unwrap(), values);
        let expected = image.region(1..3, ..3, ..).unwrap().to_vec().unwrap();
        assert_eq!(again.region(3.., 1..4, ..).unwrap().to_vec().unwrap(), expected);
        assert_eq!(again.to_vec().unwrap().iter().filter(|value| **value != 0).count(), expected.len());
    }
}

#[test]
fn a_batch_copies_to_and_from_arrays() {
    let Some(device) = crate::images() else { return };
    let stream = Stream::new(&device).unwrap();
    let values: Vec<[u16; 2]> = (1..=5 * 4 * 3).map(|i| [i, 1000 - i]).collect();
    for shape in [ArrayShape::D3(5, 4, 3), ArrayShape::D2Layered(5, 4, 3), ArrayShape::D2(5, 12)] {
        let image = PitchedBuffer::from_slice(&device, shape.extent(), &values).unwrap();
        let mut array = Array::<[u16; 2]>::zeroed(&device, shape).unwrap();
        let mut back = PitchedBuffer::<[u16; 2]>::zeroed(&device, shape.extent()).unwrap();
        let mut corner = PitchedBuffer::<[u16; 2]>::zeroed(&device, (2, 2)).unwrap();
        let mut batch = CopyBatch3d::new();
        batch.to_array(&mut array, &image).unwrap();
        if supported(batch.queue(&stream)).is_none() {
            return;
        }
        let mut batch = CopyBatch3d::new();
        batch.from_array(back.as_slice_mut(), &array).unwrap();
        let part = array.region(2..4, 1..3, ..1).unwrap();
        batch.from_array(corner.as_slice_mut(), part).unwrap();
        batch.queue(&stream).unwrap();
        drop(array); // after the copies
        assert_eq!(back.to_vec().unwrap(), values, "{shape}");
        assert_eq!(corner.to_vec().unwrap(), [7, 8, 12, 13].map(|i| values[i]), "{shape}");
    }
    // Each layer of a layered 1D array is a plane.
    let shape = ArrayShape::D1Layered(5, 12);
    let image = PitchedBuffer::from_slice(&device, shape.extent(), &values).unwrap();
    let mut array = Array::<[u16; 2]>::zeroed(&device, shape).unwrap();
    let mut batch = CopyBatch3d::new();
    batch.to_array(&mut array, &image).unwrap();
    batch.queue(&stream).unwrap();
    assert_eq!(array.as_slice().to_vec().unwrap(), values);
}

#[test]
fn boxes_of_other_extents_are_refused() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let image = PitchedBuffer::<u8>::zeroed(&device, (4, 4)).unwrap();
    let mut to = PitchedBuffer::<u8>::zeroed(&device, (4, 4)).unwrap();
    let result = CopyBatch3d::new().pitched(to.as_slice_mut(), image.region(1.., .., ..).unwrap());
    assert!(matches!(result, Err(Error::InvalidValue { .. })), "{result:?}");
    let mut batch = CopyBatch3d::new();
    batch.pitched(to.region_mut(..0, .., ..).unwrap(), image.region(..0, .., ..).unwrap()).unwrap();
    assert!(batch.is_empty(), "no elements are no copy");
    batch.queue(&stream).unwrap();
}

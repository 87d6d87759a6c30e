//! Copies in batches.

use hip::{CopyBatch, Device, DeviceBuffer, Error, PinnedBuffer, Stream};

use super::{device, supported};

const ROWS: usize = 40;
const ROW: usize = 25;

/// Rows of 25 numbers, each told by row and place.
fn numbers() -> Vec<u32> {
    (0..ROWS * ROW).map(|i| i as u32).collect()
}

/// Where row `row` is taken from: all rows, none where it goes to.
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
    // What is queued later finds all of it: on the same stream, on another, and on the host.
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

#[test]
fn batches_of_nothing_of_other_lengths_and_of_other_devices() {
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

    let Ok(second) = Device::get(1) else { return };
    let there = Stream::new(&second).unwrap();
    let mut batch = CopyBatch::new();
    batch.on_device(&mut destination, &source).unwrap();
    let result = batch.queue(&there);
    assert!(matches!(result, Err(Error::WrongDevice { expected: 1, found: 0, .. })), "{result:?}");
    assert_eq!(destination.to_vec().unwrap(), [0; 3]);
}

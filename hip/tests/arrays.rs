//! Arrays of `ndarray` in every memory order, and shapes that do not fit.

#![allow(clippy::reversed_empty_ranges, reason = "ndarray counts from the end below 0")]

#[path = "gpu/common.rs"]
#[allow(dead_code, reason = "of the tests in tests/gpu too")]
mod common;

use common::device;
use hip::{DeviceBuffer, Error, PinnedBuffer, Stream};
use ndarray::{Array2, Ix1, Ix2, Ix3, s};

#[test]
fn arrays_go_and_come_in_their_logical_order() {
    let Some(device) = device() else { return };
    let whole = Array2::from_shape_fn((6, 8), |(row, column)| (row * 8 + column) as i32);
    let views = [whole.view(), whole.t(), whole.slice(s![1..;2, ..;-3]), whole.slice(s![..0, ..])];
    for view in views {
        let expected: Vec<i32> = view.iter().copied().collect();
        let buffer = DeviceBuffer::from_array(&device, &view).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), expected);
        assert_eq!(buffer.as_slice().to_array(view.raw_dim()).unwrap(), view);
        // Into a column-major array, and into the middle of one.
        let mut columns = Array2::<i32>::zeros((view.ncols(), view.nrows())).reversed_axes();
        buffer.as_slice().copy_to_array(&mut columns).unwrap();
        assert_eq!(columns, view);
        let mut around = Array2::<i32>::zeros((view.nrows() + 2, view.ncols() + 2));
        buffer.as_slice().copy_to_array(&mut around.slice_mut(s![1..-1, 1..-1])).unwrap();
        assert_eq!(around.slice(s![1..-1, 1..-1]), view);
        assert_eq!(around.sum(), view.sum(), "nothing beside it was written");
    }
}

#[test]
fn shapes_of_another_length_are_errors() {
    let Some(device) = device() else { return };
    let mut buffer = DeviceBuffer::<f32>::zeroed(&device, 6).unwrap();
    for shape in [Ix3(1, 2, 4), Ix3(1, 1, 5), Ix3(usize::MAX, 2, 3)] {
        assert!(matches!(buffer.as_slice().to_array(shape), Err(Error::InvalidValue { .. })), "{shape:?}");
    }
    let mut array = Array2::<f32>::zeros((2, 2));
    assert!(matches!(buffer.as_slice().copy_to_array(&mut array), Err(Error::Length { .. })));
    assert!(matches!(buffer.as_slice_mut().copy_from_array(&array), Err(Error::Length { .. })));
    let mut pinned = PinnedBuffer::<f32>::zeroed(&device, 6).unwrap();
    assert!(pinned.as_array(Ix2(2, 2)).is_err() && pinned.as_array_mut(Ix1(7)).is_err());
}

#[test]
fn pinned_memory_is_seen_after_the_work_on_it() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let buffer = DeviceBuffer::from_slice(&device, &[1u8, 2, 3, 4, 5, 6]).unwrap();
    let mut pinned = PinnedBuffer::<u8>::zeroed(&device, 6).unwrap();
    buffer.copy_to_pinned_async(&stream, &mut pinned).unwrap();
    assert_eq!(pinned.as_array(Ix2(2, 3)).unwrap(), ndarray::array![[1, 2, 3], [4, 5, 6]]);
    pinned.as_array_mut(Ix2(3, 2)).unwrap().row_mut(1).fill(9);
    assert_eq!(pinned.as_slice().unwrap(), [1, 2, 9, 9, 5, 6]);
}

//! The traits of arguments that are device memory, for the compiler's errors.

use super::slice::{DeviceSlice, DeviceSliceMut};

/// Device memory of `T` that a call reads: `&DeviceBuffer<T>`, `&ManagedBuffer<T>`, [`DeviceSlice<T>`](DeviceSlice), or
/// a slice to write to.
///
/// All types that convert to a [`DeviceSlice`] implement it, and no others can: implement
/// [`From`] for the slice.
///
/// ```
/// use hip::{DeviceBuffer, IntoSlice, Result};
///
/// fn bytes<'a>(memory: impl IntoSlice<'a, f32>) -> usize {
///     memory.into().byte_len()
/// }
/// # fn main() -> Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// let buffer = DeviceBuffer::from_slice(&hip::Device::get(0)?, &[1.0f32, 2.0])?;
/// assert_eq!((bytes(&buffer), bytes(buffer.slice(1..)?)), (8, 4));
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "expected device memory of `{T}` to read from, found `{Self}`: pass `&` of a `DeviceBuffer<{T}>`, or a `DeviceSlice<{T}>`",
    label = "not device memory of `{T}`",
    note = "memory of the host is copied to the device first: `DeviceBuffer::from_slice(&device, &values)`",
    note = "elements are not converted: a buffer of another type does not fit"
)]
pub trait IntoSlice<'a, T: 'a>: Into<DeviceSlice<'a, T>> {}

// Otherwise the compiler would mention only `From`.
#[diagnostic::do_not_recommend]
impl<'a, T: 'a, M: Into<DeviceSlice<'a, T>>> IntoSlice<'a, T> for M {}

/// Device memory of `T` that a call writes: `&mut DeviceBuffer<T>`, `&mut ManagedBuffer<T>`, or a
/// [`DeviceSliceMut<T>`](DeviceSliceMut).
///
/// All types that convert to a [`DeviceSliceMut`] implement it, and no others can: implement [`From`] for the slice.
#[diagnostic::on_unimplemented(
    message = "expected device memory of `{T}` to write to, found `{Self}`: pass `&mut` of a `DeviceBuffer<{T}>`, or a `DeviceSliceMut<{T}>`",
    label = "not device memory of `{T}` to write to",
    note = "memory of the host cannot be written: allocate with `DeviceBuffer::zeroed(&device, len)`, and copy the result with `to_vec`",
    note = "elements are not converted: a buffer of another type does not fit"
)]
pub trait IntoSliceMut<'a, T: 'a>: Into<DeviceSliceMut<'a, T>> {}

// Otherwise the compiler would mention only `From`.
#[diagnostic::do_not_recommend]
impl<'a, T: 'a, M: Into<DeviceSliceMut<'a, T>>> IntoSliceMut<'a, T> for M {}

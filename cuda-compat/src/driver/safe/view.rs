//! Views of device memory, and the common traits of slices and views.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use super::usage::{Usage, address, sealed::Sealed};
use super::{CudaStream, SyncOnDrop};
use crate::driver::sys;

/// A part of device memory, and its stream.
///
/// Only types of this crate implement it, and with it [`DevicePtr`] and [`DevicePtrMut`], whose addresses and lengths
/// are trusted:
///
/// ```compile_fail
/// use cuda_compat::driver::{CudaStream, DeviceSlice};
///
/// struct Everything(std::sync::Arc<CudaStream>);
///
/// impl DeviceSlice<u8> for Everything {
///     fn len(&self) -> usize {
///         usize::MAX
///     }
///
///     fn stream(&self) -> &std::sync::Arc<CudaStream> {
///         &self.0
///     }
/// }
/// ```
pub trait DeviceSlice<T>: Sealed {
    /// Returns the number of elements.
    fn len(&self) -> usize;

    /// Returns the number of bytes.
    fn num_bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }

    /// Returns whether there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the stream of the memory: the one that frees it.
    fn stream(&self) -> &Arc<CudaStream>;
}

/// Memory that a stream can read.
pub trait DevicePtr<T>: DeviceSlice<T> {
    /// Returns the address, for work that reads the memory on `stream`. The stream waits for earlier writes; keep the
    /// second value until the work is queued, so that later writes wait for the work.
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>);
}

/// Memory that a stream can write.
pub trait DevicePtrMut<T>: DeviceSlice<T> {
    /// Returns the address, for work that reads and writes the memory on `stream`. The stream waits for earlier uses;
    /// keep the second value until the work is queued, so that later uses wait for the work.
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>);
}

macro_rules! sealed {
    ($($ty:ty),*) => {$(
        impl<T> Sealed for $ty {
            fn usage(&self) -> Option<&Usage> {
                Some(self.usage)
            }
        }
    )*};
}

sealed! { CudaView<'_, T>, CudaViewMut<'_, T> }

/// Elements of a [`CudaSlice`](super::CudaSlice).
#[derive(Debug)]
pub struct CudaView<'a, T> {
    pub(super) ptr: sys::CUdeviceptr,
    pub(super) len: usize,
    pub(super) usage: &'a Usage,
    pub(super) stream: &'a Arc<CudaStream>,
    marker: PhantomData<&'a [T]>,
}

/// Elements of a [`CudaSlice`](super::CudaSlice), which can be written.
#[derive(Debug)]
pub struct CudaViewMut<'a, T> {
    pub(super) ptr: sys::CUdeviceptr,
    pub(super) len: usize,
    pub(super) usage: &'a Usage,
    pub(super) stream: &'a Arc<CudaStream>,
    marker: PhantomData<&'a mut [T]>,
}

/// Returns the start and end of a range within `len` elements; `None` if it is out of bounds.
pub(super) fn bounds(range: impl RangeBounds<usize>, len: usize) -> Option<(usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1)?,
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    (start <= end && end <= len).then_some((start, end))
}

/// As [`bounds`], but panics.
#[track_caller]
pub(super) fn bounds_or_panic(range: impl RangeBounds<usize>, len: usize) -> (usize, usize) {
    let shown = (range.start_bound().cloned(), range.end_bound().cloned());
    match bounds(range, len) {
        Some(bounds) => bounds,
        None => panic!("the range {shown:?} is not within {len} elements of device memory"),
    }
}

/// Returns whether `len` elements of `S` fit into `from` elements of `T`.
pub(super) fn fits<S, T>(len: usize, from: usize) -> bool {
    len.checked_mul(size_of::<S>()).is_some_and(|bytes| bytes <= from * size_of::<T>())
}

#[track_caller]
fn check_chunk(len: usize, chunk_size: usize) {
    assert!(
        chunk_size > 0 && len % chunk_size == 0,
        "{len} elements of device memory cannot be divided into chunks of {chunk_size}"
    );
}

impl<'a, T> CudaView<'a, T> {
    pub(super) fn new(ptr: sys::CUdeviceptr, len: usize, usage: &'a Usage, stream: &'a Arc<CudaStream>) -> Self {
        Self { ptr, len, usage, stream, marker: PhantomData }
    }

    /// Returns the elements from `start` to `end`, which are in bounds.
    fn part<S>(&self, start: usize, end: usize) -> CudaView<'a, S> {
        CudaView::new(self.ptr + (start * size_of::<T>()) as u64, end - start, self.usage, self.stream)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the address, for work that reads the memory on `stream`; see [`DevicePtr::device_ptr`].
    pub fn view_ptr(self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        address(self.ptr, self.usage.read_on(self.stream, stream))
    }

    /// Returns the elements of a range.
    ///
    /// # Panics
    /// If the range is out of bounds.
    #[track_caller]
    pub fn slice(&self, bounds: impl RangeBounds<usize>) -> Self {
        let (start, end) = bounds_or_panic(bounds, self.len);
        self.part(start, end)
    }

    /// Returns the elements of a range; `None` if it is out of bounds.
    pub fn try_slice(&self, bounds: impl RangeBounds<usize>) -> Option<Self> {
        let (start, end) = self::bounds(bounds, self.len)?;
        Some(self.part(start, end))
    }

    /// Returns the memory as `len` elements of another type; `None` if they do not fit.
    ///
    /// # Safety
    /// The bytes must be values of that type, and aligned for it.
    pub unsafe fn transmute<S>(&self, len: usize) -> Option<CudaView<'a, S>> {
        fits::<S, T>(len, self.len).then(|| CudaView::new(self.ptr, len, self.usage, self.stream))
    }

    /// Returns the elements before `mid`, and the rest.
    ///
    /// # Panics
    /// If there are fewer elements.
    #[track_caller]
    pub fn split_at(&self, mid: usize) -> (Self, Self) {
        (self.slice(..mid), self.slice(mid..))
    }

    /// Returns the elements before `mid`, and the rest; `None` if there are fewer.
    pub fn try_split_at(&self, mid: usize) -> Option<(Self, Self)> {
        Some((self.try_slice(..mid)?, self.try_slice(mid..)?))
    }

    /// Returns views of `chunk_size` elements each.
    ///
    /// # Panics
    /// If the length is not a multiple of `chunk_size`.
    #[track_caller]
    pub fn chunks_exact(&self, chunk_size: usize) -> impl Iterator<Item = CudaView<'a, T>> + '_ {
        check_chunk(self.len, chunk_size);
        (0..self.len / chunk_size).map(move |chunk| self.part(chunk * chunk_size, (chunk + 1) * chunk_size))
    }
}

impl<'a, T> CudaViewMut<'a, T> {
    pub(super) fn new(ptr: sys::CUdeviceptr, len: usize, usage: &'a Usage, stream: &'a Arc<CudaStream>) -> Self {
        Self { ptr, len, usage, stream, marker: PhantomData }
    }

    /// Returns the elements from `start` to `end`, which are in bounds. The caller's lifetime ends the other views of
    /// them.
    fn part<'b>(&self, start: usize, end: usize) -> CudaViewMut<'b, T>
    where
        'a: 'b,
    {
        CudaViewMut::new(self.ptr + (start * size_of::<T>()) as u64, end - start, self.usage, self.stream)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns a view that cannot be written.
    pub fn as_view<'b>(&'b self) -> CudaView<'b, T> {
        CudaView::new(self.ptr, self.len, self.usage, self.stream)
    }

    /// Turns this into a view that cannot be written.
    pub fn into_view(self) -> CudaView<'a, T> {
        CudaView::new(self.ptr, self.len, self.usage, self.stream)
    }

    /// Returns the address, for work that reads the memory on `stream`; see [`DevicePtr::device_ptr`].
    pub fn view_ptr(self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        address(self.ptr, self.usage.read_on(self.stream, stream))
    }

    /// Returns the address, for work that writes the memory on `stream`; see [`DevicePtrMut::device_ptr_mut`].
    pub fn view_ptr_mut(self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        address(self.ptr, self.usage.write_on(self.stream, stream))
    }

    /// Returns the elements of a range, which cannot be written.
    ///
    /// # Panics
    /// If the range is out of bounds.
    #[track_caller]
    pub fn slice<'b>(&'b self, bounds: impl RangeBounds<usize>) -> CudaView<'b, T> {
        self.as_view().slice(bounds)
    }

    /// Returns the elements of a range, which cannot be written; `None` if it is out of bounds.
    pub fn try_slice<'b>(&'b self, bounds: impl RangeBounds<usize>) -> Option<CudaView<'b, T>> {
        self.as_view().try_slice(bounds)
    }

    /// Returns the elements of a range.
    ///
    /// # Panics
    /// If the range is out of bounds.
    #[track_caller]
    pub fn slice_mut<'b>(&'b mut self, bounds: impl RangeBounds<usize>) -> CudaViewMut<'b, T> {
        let (start, end) = bounds_or_panic(bounds, self.len);
        self.part(start, end)
    }

    /// Returns the elements of a range; `None` if it is out of bounds.
    pub fn try_slice_mut<'b>(&'b mut self, bounds: impl RangeBounds<usize>) -> Option<CudaViewMut<'b, T>> {
        let (start, end) = self::bounds(bounds, self.len)?;
        Some(self.part(start, end))
    }

    /// Returns the memory as `len` elements of another type, which cannot be written; `None` if they do not fit.
    ///
    /// # Safety
    /// The bytes must be values of that type, and aligned for it.
    pub unsafe fn transmute<'b, S>(&'b self, len: usize) -> Option<CudaView<'b, S>> {
        fits::<S, T>(len, self.len).then(|| CudaView::new(self.ptr, len, self.usage, self.stream))
    }

    /// Returns the memory as `len` elements of another type; `None` if they do not fit.
    ///
    /// # Safety
    /// The bytes must be values of that type, and aligned for it; everything that is written must be values of `T`.
    pub unsafe fn transmute_mut<'b, S>(&'b mut self, len: usize) -> Option<CudaViewMut<'b, S>> {
        fits::<S, T>(len, self.len).then(|| CudaViewMut::new(self.ptr, len, self.usage, self.stream))
    }

    /// Returns the elements before `mid`, and the rest.
    ///
    /// # Panics
    /// If there are fewer elements.
    #[track_caller]
    pub fn split_at_mut<'b>(&'b mut self, mid: usize) -> (CudaViewMut<'b, T>, CudaViewMut<'b, T>) {
        let (_, mid) = bounds_or_panic(..mid, self.len);
        (self.part(0, mid), self.part(mid, self.len))
    }

    /// Returns the elements before `mid`, and the rest; `None` if there are fewer.
    pub fn try_split_at_mut<'b>(&'b mut self, mid: usize) -> Option<(CudaViewMut<'b, T>, CudaViewMut<'b, T>)> {
        (mid <= self.len).then(|| (self.part(0, mid), self.part(mid, self.len)))
    }

    /// Returns views of `chunk_size` elements each.
    ///
    /// # Panics
    /// If the length is not a multiple of `chunk_size`.
    #[track_caller]
    pub fn chunks_exact_mut(self, chunk_size: usize) -> impl Iterator<Item = CudaViewMut<'a, T>> {
        check_chunk(self.len, chunk_size);
        (0..self.len / chunk_size).map(move |chunk| self.part(chunk * chunk_size, (chunk + 1) * chunk_size))
    }
}

impl<T> DeviceSlice<T> for CudaView<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.stream
    }
}

impl<T> DeviceSlice<T> for CudaViewMut<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.stream
    }
}

macro_rules! reads {
    ($($ty:ty),*) => {$(
        impl<T> DevicePtr<T> for $ty {
            fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
                address(self.ptr, self.usage.read_on(self.stream, stream))
            }
        }
    )*};
}

reads! { CudaView<'_, T>, CudaViewMut<'_, T> }

impl<T> DevicePtrMut<T> for CudaViewMut<'_, T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        address(self.ptr, self.usage.write_on(self.stream, stream))
    }
}

//! Memory that the threads of a block share: HIP's `__shared__`, the hardware's LDS.
//!
//! A kernel takes it as parameters: [`Shared<T>`] with a fixed size, and [`SharedSlice<T>`], whose length the launch
//! determines. The host's `launch` adds up the bytes.
//!
//! ```ignore
//! #[kernel]
//! fn reverse(x: &[u32], mut y: DisjointSlice<u32>, tile: Shared<[u32; 64]>) {
//!     let (i, n) = (thread_idx().x as usize, block_dim().x as usize);
//!     // SAFETY: each thread writes its own element, and the barrier is between the writes and the reads.
//!     unsafe { tile.set(i, x[global_idx().x as usize]) };
//!     barrier();
//!     if let Some((_, y)) = y.mine() {
//!         *y = unsafe { tile.get(n - 1 - i) };
//!     }
//! }
//! ```

use core::marker::PhantomData;
use core::ops::Deref;

use crate::atomic::{Atomic, AtomicElement};
use crate::raw;

/// The maximum alignment of values in shared memory.
const ALIGN: usize = 16;

/// Returns the offset of a value that is placed after `end`, in bytes.
#[doc(hidden)]
#[must_use]
pub const fn start<T>(end: usize) -> usize {
    assert!(align_of::<T>() <= ALIGN, "shared memory is aligned to 16 bytes");
    end.next_multiple_of(align_of::<T>())
}

/// Returns the end of a value that is placed after `end`.
#[doc(hidden)]
#[must_use]
pub const fn end<T>(end: usize) -> usize {
    start::<T>(end) + size_of::<T>()
}

/// Returns the number of bytes with `count` elements after `end`.
#[cfg(not(target_arch = "amdgpu"))]
#[doc(hidden)]
pub fn dynamic<T>(end: usize, count: usize) -> Result<usize, usize> {
    count.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(start::<T>(end))).ok_or(count)
}

/// A value in shared memory, one for each block. It is not initialised: write before you read.
///
/// Atomic types can be used like any shared reference: `Shared<[Atomic<u32>; 256]>`. Everything else requires `unsafe`.
#[derive(Debug)]
#[doc(alias("__shared__"))]
pub struct Shared<'a, T> {
    pointer: *mut T,
    marker: PhantomData<&'a T>,
}

impl<T> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<'_, T> {}

impl<T> Shared<'_, T> {
    /// # Safety
    /// The launch must provide `end(before)` bytes or more, and the memory there must only be used with this type.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub unsafe fn at(before: usize) -> Self {
        // SAFETY: within the memory that the launch provides.
        Self { pointer: unsafe { raw::shared_memory().add(start::<T>(before)).cast() }, marker: PhantomData }
    }

    /// Returns the address.
    #[inline(always)]
    #[must_use]
    pub fn as_ptr(self) -> *mut T {
        self.pointer
    }
}

impl<T: Copy, const N: usize> Shared<'_, [T; N]> {
    /// Copies and returns an element.
    ///
    /// # Panics
    /// If `index` is not below `N`.
    ///
    /// # Safety
    /// The element must have been written in this launch, and no thread may write it at the same time: a
    /// [`barrier`](crate::sync::barrier) must be in between.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn get(self, index: usize) -> T {
        assert!(index < N);
        // SAFETY: within the array; the caller ensures that nothing writes it.
        unsafe { self.pointer.cast::<T>().add(index).read() }
    }

    /// Writes an element.
    ///
    /// # Panics
    /// If `index` is not below `N`.
    ///
    /// # Safety
    /// No other thread may read or write the element at the same time.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set(self, index: usize, value: T) {
        assert!(index < N);
        // SAFETY: within the array; the caller ensures that nothing else uses it.
        unsafe { self.pointer.cast::<T>().add(index).write(value) };
    }
}

impl<T: Copy, const N: usize, const M: usize> Shared<'_, [[T; N]; M]> {
    /// Copies and returns the element at `row` and `column`.
    ///
    /// # Panics
    /// If it is out of bounds.
    ///
    /// # Safety
    /// The same as for an array of one dimension.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn get_at(self, row: usize, column: usize) -> T {
        assert!(row < M && column < N);
        // SAFETY: within the array; the caller ensures that nothing writes it.
        unsafe { self.pointer.cast::<T>().add(row * N + column).read() }
    }

    /// Writes the element at `row` and `column`.
    ///
    /// # Panics
    /// If it is out of bounds.
    ///
    /// # Safety
    /// The same as for an array of one dimension.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set_at(self, row: usize, column: usize, value: T) {
        assert!(row < M && column < N);
        // SAFETY: within the array; the caller ensures that nothing else uses it.
        unsafe { self.pointer.cast::<T>().add(row * N + column).write(value) };
    }
}

impl<T: Copy, const N: usize> Shared<'_, [T; N]> {
    /// The same as [`get`](Self::get), without a check of the index.
    ///
    /// # Safety
    /// The same as for [`get`](Self::get), and `index` must be below `N`.
    #[inline(always)]
    #[must_use]
    pub unsafe fn get_unchecked(self, index: usize) -> T {
        // SAFETY: the caller ensures it.
        unsafe { self.pointer.cast::<T>().add(index).read() }
    }

    /// The same as [`set`](Self::set), without a check of the index.
    ///
    /// # Safety
    /// The same as for [`set`](Self::set), and `index` must be below `N`.
    #[inline(always)]
    pub unsafe fn set_unchecked(self, index: usize, value: T) {
        // SAFETY: the caller ensures it.
        unsafe { self.pointer.cast::<T>().add(index).write(value) };
    }
}

impl<T: AtomicElement> Deref for Shared<'_, Atomic<T>> {
    type Target = Atomic<T>;

    #[inline(always)]
    fn deref(&self) -> &Atomic<T> {
        // SAFETY: all threads access it by atomic operations, and every bit pattern is a value.
        unsafe { &*self.pointer }
    }
}

impl<T: AtomicElement, const N: usize> Deref for Shared<'_, [Atomic<T>; N]> {
    type Target = [Atomic<T>; N];

    #[inline(always)]
    fn deref(&self) -> &[Atomic<T>; N] {
        // SAFETY: as above.
        unsafe { &*self.pointer }
    }
}

/// Elements in shared memory, whose number the launch determines.
#[derive(Debug)]
#[doc(alias("__shared__"))]
pub struct SharedSlice<'a, T> {
    pointer: *mut T,
    len: usize,
    marker: PhantomData<&'a T>,
}

impl<T> Clone for SharedSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SharedSlice<'_, T> {}

impl<T> SharedSlice<'_, T> {
    /// # Safety
    /// The launch must provide `len` elements from `first` on.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub unsafe fn at(first: usize, len: usize) -> Self {
        // SAFETY: within the memory that the launch provides.
        Self { pointer: unsafe { raw::shared_memory().add(first).cast() }, len, marker: PhantomData }
    }

    /// Returns the address of the first element.
    #[inline(always)]
    #[must_use]
    pub fn as_ptr(self) -> *mut T {
        self.pointer
    }

    /// Returns the number of elements.
    #[inline(always)]
    #[must_use]
    pub fn len(self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

impl<T: Copy> SharedSlice<'_, T> {
    /// Copies and returns an element.
    ///
    /// # Panics
    /// If `index` is not below the length.
    ///
    /// # Safety
    /// The same as for [`Shared::get`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn get(self, index: usize) -> T {
        assert!(index < self.len);
        // SAFETY: within the memory; the caller ensures that nothing writes it.
        unsafe { self.pointer.add(index).read() }
    }

    /// Writes an element.
    ///
    /// # Panics
    /// If `index` is not below the length.
    ///
    /// # Safety
    /// The same as for [`Shared::set`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set(self, index: usize, value: T) {
        assert!(index < self.len);
        // SAFETY: within the memory; the caller ensures that nothing else uses it.
        unsafe { self.pointer.add(index).write(value) };
    }
}

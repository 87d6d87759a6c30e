//! Memory that the threads of a block share: HIP's `__shared__`, the hardware's LDS.
//!
//! A kernel takes it as parameters: [`Shared<T>`] of a fixed size, and [`SharedSlice<T>`] whose length the launch gives. The
//! host's `launch` adds up the bytes.
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

/// The largest alignment of what shared memory holds.
const ALIGN: usize = 16;

/// Where a value may begin behind `end`, in bytes.
#[doc(hidden)]
#[must_use]
pub const fn start<T>(end: usize) -> usize {
    assert!(align_of::<T>() <= ALIGN, "shared memory is aligned to 16 bytes");
    end.next_multiple_of(align_of::<T>())
}

/// Where a value ends that begins behind `end`.
#[doc(hidden)]
#[must_use]
pub const fn end<T>(end: usize) -> usize {
    start::<T>(end) + size_of::<T>()
}

/// The bytes with `count` elements behind `end`.
#[cfg(not(target_arch = "amdgpu"))]
#[doc(hidden)]
pub fn dynamic<T>(end: usize, count: usize) -> Result<usize, usize> {
    count.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(start::<T>(end))).ok_or(count)
}

/// A value in shared memory, one for each block. Its bytes are those that were there before: write before you read.
///
/// Atomic types can be used like any shared reference: `Shared<[Atomic<u32>; 256]>`. All else takes `unsafe`.
#[derive(Debug)]
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
    /// The launch gives `end(before)` bytes or more, and what begins there is of this type only.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub unsafe fn at(before: usize) -> Self {
        // SAFETY: within the memory that the launch gives.
        Self { pointer: unsafe { raw::shared_memory().add(start::<T>(before)).cast() }, marker: PhantomData }
    }

    /// The address.
    #[inline(always)]
    #[must_use]
    pub fn as_ptr(self) -> *mut T {
        self.pointer
    }
}

impl<T: Copy, const N: usize> Shared<'_, [T; N]> {
    /// Copies an element out.
    ///
    /// # Panics
    /// If `index` is not below `N`.
    ///
    /// # Safety
    /// The element was written in this launch, and no thread writes it at the same time: a [`barrier`](crate::sync::barrier) is between.
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
    /// No other thread reads or writes the element at the same time.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set(self, index: usize, value: T) {
        assert!(index < N);
        // SAFETY: within the array; the caller ensures that nothing else uses it.
        unsafe { self.pointer.cast::<T>().add(index).write(value) };
    }
}

impl<T: Copy, const N: usize, const M: usize> Shared<'_, [[T; N]; M]> {
    /// Copies the element at `row` and `column` out.
    ///
    /// # Panics
    /// If it is outside.
    ///
    /// # Safety
    /// As for an array of one dimension.
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
    /// If it is outside.
    ///
    /// # Safety
    /// As for an array of one dimension.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set_at(self, row: usize, column: usize, value: T) {
        assert!(row < M && column < N);
        // SAFETY: within the array; the caller ensures that nothing else uses it.
        unsafe { self.pointer.cast::<T>().add(row * N + column).write(value) };
    }
}

impl<T: Copy, const N: usize> Shared<'_, [T; N]> {
    /// As [`get`](Self::get), without a check of the index.
    ///
    /// # Safety
    /// That of [`get`](Self::get), and `index` is below `N`.
    #[inline(always)]
    #[must_use]
    pub unsafe fn get_unchecked(self, index: usize) -> T {
        // SAFETY: the caller ensures it.
        unsafe { self.pointer.cast::<T>().add(index).read() }
    }

    /// As [`set`](Self::set), without a check of the index.
    ///
    /// # Safety
    /// That of [`set`](Self::set), and `index` is below `N`.
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
        // SAFETY: all threads use it by atomic operations, and any bytes are a value.
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

/// Elements in shared memory, as many as the launch says.
#[derive(Debug)]
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
    /// The launch gives `len` elements from `first` on.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub unsafe fn at(first: usize, len: usize) -> Self {
        // SAFETY: within the memory that the launch gives.
        Self { pointer: unsafe { raw::shared_memory().add(first).cast() }, len, marker: PhantomData }
    }

    /// The address of the first element.
    #[inline(always)]
    #[must_use]
    pub fn as_ptr(self) -> *mut T {
        self.pointer
    }

    /// How many there are.
    #[inline(always)]
    #[must_use]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

impl<T: Copy> SharedSlice<'_, T> {
    /// Copies an element out.
    ///
    /// # Panics
    /// If `index` is not below the length.
    ///
    /// # Safety
    /// As for [`Shared::get`].
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
    /// As for [`Shared::set`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set(self, index: usize, value: T) {
        assert!(index < self.len);
        // SAFETY: within the memory; the caller ensures that nothing else uses it.
        unsafe { self.pointer.add(index).write(value) };
    }
}

//! Memory that a kernel writes, such that no two threads write the same element.

use core::marker::PhantomData;
use core::ptr::NonNull;
use core::slice;

use crate::identity::{Layout, Plain, Writes};
use crate::index::{global_dim, global_idx};

/// Elements that are distributed over the threads: thread `i` of a one-dimensional grid owns element `i`, and with
/// [`strided`](Self::strided) also `i + n`, `i + 2 n`, ... for `n` threads.
///
/// The host passes a `&mut DeviceBuffer<T>` or another `DeviceSliceMut<T>`.
#[derive(Debug)]
pub struct DisjointSlice<'a, T> {
    pointer: NonNull<T>,
    len: usize,
    marker: PhantomData<&'a mut [T]>,
}

/// Chunks of `N` elements that are distributed over the threads: thread `i` of a one-dimensional grid owns the elements
/// from `i * N` on. The last chunk may be shorter.
#[derive(Debug)]
pub struct DisjointChunks<'a, T, const N: usize> {
    pointer: NonNull<T>,
    len: usize,
    marker: PhantomData<&'a mut [T]>,
}

/// Rows of elements: thread `(x, y)` of a two-dimensional grid owns the element at column `x` of row `y`.
///
/// The host passes the memory and the width of a row, in elements.
#[derive(Debug)]
pub struct DisjointGrid<'a, T> {
    pointer: NonNull<T>,
    len: usize,
    width: usize,
    marker: PhantomData<&'a mut [T]>,
}

// SAFETY: the type belongs to this crate.
unsafe impl<T: Plain> Writes for DisjointSlice<'_, T> {
    const LAYOUT: Layout = Layout::of::<T>("DisjointSlice").field(0, T::LAYOUT);
}

// SAFETY: as above.
unsafe impl<T: Plain, const N: usize> Writes for DisjointChunks<'_, T, N> {
    const LAYOUT: Layout = Layout::of::<T>("DisjointChunks").field(0, T::LAYOUT).number(N as u64);
}

// SAFETY: as above.
unsafe impl<T: Plain> Writes for DisjointGrid<'_, T> {
    const LAYOUT: Layout = Layout::of::<T>("DisjointGrid").field(0, T::LAYOUT);
}

macro_rules! length {
    () => {
        /// Returns the number of all elements, including those of other threads.
        #[inline(always)]
        #[must_use]
        pub fn len(&self) -> usize {
            self.len
        }

        /// Returns whether there are no elements.
        #[inline(always)]
        #[must_use]
        pub fn is_empty(&self) -> bool {
            self.len == 0
        }
    };
}

impl<T> DisjointSlice<'_, T> {
    /// # Safety
    /// The memory must have `len` elements, every thread must belong to a one-dimensional launch and create one of
    /// these, and nothing else may use the memory.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn from_launch(pointer: NonNull<T>, len: usize) -> Self {
        Self { pointer, len, marker: PhantomData }
    }

    length!();

    /// Returns this thread's index and its element; `None` for threads beyond the end.
    #[inline(always)]
    pub fn mine(&mut self) -> Option<(usize, &mut T)> {
        let index = global_idx().x as usize;
        if index >= self.len {
            return None;
        }
        // SAFETY: within the memory, which therefore exists, and no other thread has this index: the host has checked that the grid has one
        // dimension.
        unsafe { Some((index, self.pointer.add(index).as_mut())) }
    }

    /// Sets this thread's element to the result of `value` for its index. Threads beyond the end do nothing. It takes
    /// fewer instructions than [`mine`](Self::mine).
    #[inline(always)]
    pub fn set(&mut self, value: impl FnOnce(usize) -> T) {
        let index = global_idx().x as usize;
        if index < self.len {
            // SAFETY: as for `mine`. The old value has no destructor: the host only accepts plain data.
            unsafe { self.pointer.add(index).write(value(index)) };
        }
    }

    /// Calls `each` with the index and the element of all elements of this thread, in the order of
    /// [`strided`](Self::strided).
    #[inline(always)]
    pub fn for_each(&mut self, mut each: impl FnMut(usize, &mut T)) {
        let (mut index, step) = (global_idx().x as usize, global_dim().x as usize);
        while index < self.len {
            // SAFETY: as for `strided`.
            each(index, unsafe { self.pointer.add(index).as_mut() });
            index += step;
        }
    }

    /// Returns all elements of this thread, with their indices: every `n`-th, where `n` is the number of threads. For a
    /// grid that is smaller than the memory (a grid-stride loop).
    #[inline(always)]
    pub fn strided(&mut self) -> Strided<'_, T> {
        Strided {
            pointer: self.pointer,
            next: global_idx().x as usize,
            len: self.len,
            step: global_dim().x as usize,
            marker: PhantomData,
        }
    }
}

/// The elements of a thread: [`DisjointSlice::strided`].
#[derive(Debug)]
pub struct Strided<'a, T> {
    pointer: NonNull<T>,
    next: usize,
    len: usize,
    step: usize,
    marker: PhantomData<&'a mut [T]>,
}

impl<'a, T> Iterator for Strided<'a, T> {
    type Item = (usize, &'a mut T);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next;
        if index >= self.len {
            return None;
        }
        self.next += self.step;
        // SAFETY: within the memory; the indices differ by the number of threads, so that no other thread has them.
        unsafe { Some((index, self.pointer.add(index).as_mut())) }
    }
}

impl<T, const N: usize> DisjointChunks<'_, T, N> {
    /// # Safety
    /// The same as for [`DisjointSlice`].
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn from_launch(pointer: NonNull<T>, len: usize) -> Self {
        Self { pointer, len, marker: PhantomData }
    }

    length!();

    /// Returns the index of this thread's first element, and its elements: `N`, fewer at the end, none beyond it.
    #[inline(always)]
    pub fn mine(&mut self) -> (usize, &mut [T]) {
        let first = (global_idx().x as usize * N).min(self.len);
        let count = N.min(self.len - first);
        // SAFETY: within the memory; chunks of other threads begin `N` elements apart.
        (first, unsafe { slice::from_raw_parts_mut(self.pointer.add(first).as_ptr(), count) })
    }
}

impl<T> DisjointGrid<'_, T> {
    /// # Safety
    /// The same as for [`DisjointSlice`], with a launch of two dimensions.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn from_launch(pointer: NonNull<T>, len: usize, width: usize) -> Self {
        Self { pointer, len, width, marker: PhantomData }
    }

    length!();

    /// Returns the number of elements of a row.
    #[inline(always)]
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of rows. The host has checked that all are complete.
    #[inline(always)]
    #[must_use]
    pub fn height(&self) -> usize {
        self.len.checked_div(self.width).unwrap_or(0)
    }

    /// Sets this thread's element to the result of `value` for its column and row. Threads outside do nothing.
    #[inline(always)]
    pub fn set(&mut self, value: impl FnOnce(usize, usize) -> T) {
        let (x, y) = (global_idx().x as usize, global_idx().y as usize);
        let index = y * self.width + x;
        if x < self.width && index < self.len {
            // SAFETY: as for `mine`.
            unsafe { self.pointer.add(index).write(value(x, y)) };
        }
    }

    /// Returns this thread's column, row and element; `None` for threads outside.
    #[inline(always)]
    pub fn mine(&mut self) -> Option<(usize, usize, &mut T)> {
        let (x, y) = (global_idx().x as usize, global_idx().y as usize);
        let index = y * self.width + x;
        if x >= self.width || index >= self.len {
            return None;
        }
        // SAFETY: within the memory; for columns within the width, no other thread has this index.
        unsafe { Some((x, y, self.pointer.add(index).as_mut())) }
    }
}

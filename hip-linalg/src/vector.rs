//! Vectors.

use hip::{DeviceSlice, DeviceSliceMut, IntoSlice, IntoSliceMut, Result};

use crate::place::{Batch, Mut, Place, Pointers, PointersMut, Ref, invalid};

/// A vector in device memory, or a batch of vectors of one length: [`VectorRef`] or [`VectorMut`].
#[derive(Clone, Copy, Debug)]
pub struct Vector<P> {
    pub(crate) place: P,
    pub(crate) len: usize,
    pub(crate) increment: isize,
}

/// A vector to read from. A buffer or slice converts with `into`: all its elements, contiguous.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, DeviceBuffer};
/// use hip_linalg::VectorRef;
///
/// let x = DeviceBuffer::from_slice(&Device::get(0)?, &[1.0f32, 2.0, 3.0, 4.0])?;
/// assert_eq!(VectorRef::from(&x).len(), 4);
/// let every_other = VectorRef::new(&x, 2, 2)?; // 1, 3
/// let backwards = VectorRef::new(&x, 4, -1)?; // 4, 3, 2, 1
/// assert!(VectorRef::new(&x, 3, 2).is_err(), "the third would be the fifth element");
/// # Ok(()) }
/// ```
pub type VectorRef<'a, T> = Vector<Ref<'a, T>>;

/// A vector to write to. See [`VectorRef`].
pub type VectorMut<'a, T> = Vector<Mut<'a, T>>;

impl<P: Place> Vector<P> {
    pub(crate) fn of(place: P, len: usize, increment: isize) -> Result<Self> {
        let step = increment.unsigned_abs();
        if step == 0 && (P::WRITES || len > 1) {
            return Err(invalid("the increment of a vector", "0", "not 0"));
        }
        let span = match len {
            0 => Some(0),
            _ => (len - 1).checked_mul(step).and_then(|last| last.checked_add(1)),
        };
        let shortest = place.shortest();
        let Some(span) = span.filter(|&span| span <= shortest) else {
            let what = format!("{len} elements with increment {increment}");
            return Err(invalid("a vector", what, format!("within the {shortest} elements of its memory")));
        };
        if let (true, Batch::Strided(count @ 2..)) = (P::WRITES, place.batch()) {
            let stride = place.stride();
            let interleaved = stride > 0 && stride.checked_mul(count - 1).is_some_and(|last| last < step);
            if len > 0 && stride < span && !interleaved {
                let allowed = format!("at least {span}, so that vectors that are written to are apart");
                return Err(invalid("the stride of a batch of vectors", stride.to_string(), allowed));
            }
        }
        Ok(Self { place, len, increment })
    }

    /// Returns the number of elements of each vector.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the vectors have no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the distance between two elements. If it is negative, the last element in memory is the first of the
    /// vector.
    #[must_use]
    pub fn increment(&self) -> isize {
        self.increment
    }

    /// Returns the distance between the starts of two members of a strided batch, in elements; 0 for other vectors.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.place.stride()
    }

    /// Returns the same elements in memory order.
    #[must_use]
    pub fn forward(mut self) -> Self {
        self.increment = isize::try_from(self.increment.unsigned_abs()).unwrap_or(isize::MAX);
        self
    }

    /// Returns the number of vectors.
    #[must_use]
    pub fn batch_size(&self) -> Batch {
        self.place.batch()
    }

    /// Returns the location of the elements, for crates that wrap libraries.
    #[must_use]
    pub fn into_place(self) -> P {
        self.place
    }
}

macro_rules! vectors {
    ($($place:ident, $slice:ident, $into:ident, $pointers:ident, [$($borrow:tt)*];)*) => {$(
        impl<'a, T> Vector<$place<'a, T>> {
            /// Creates a view of `len` elements of `memory`, `increment` elements apart. With a negative increment the
            /// vector starts at the end of these elements and runs backwards, as in BLAS.
            ///
            /// # Errors
            /// [`Error::InvalidValue`](hip::Error::InvalidValue) for an increment of 0, and if the memory is too short.
            pub fn new(memory: impl $into<'a, T>, len: usize, increment: isize) -> Result<Self> {
                Self::of($place::one(memory.into()), len, increment)
            }

            /// Creates a view of `count` vectors as of [`new`](Self::new), whose memory starts `stride` elements apart.
            ///
            /// # Errors
            /// The errors of [`new`](Self::new); vectors to write to must not overlap.
            pub fn strided_batch(
                memory: impl $into<'a, T>,
                len: usize,
                increment: isize,
                stride: usize,
                count: usize,
            ) -> Result<Self> {
                Self::of($place::strided(memory.into(), stride, count), len, increment)
            }

            /// Creates a view of the vectors at these addresses, each as of [`new`](Self::new).
            ///
            /// # Errors
            /// The errors of [`new`](Self::new).
            pub fn batch(pointers: &'a $($borrow)* $pointers<'_, T>, len: usize, increment: isize) -> Result<Self> {
                Self::of(pointers.place(), len, increment)
            }
        }

        impl<'a, T> From<$slice<'a, T>> for Vector<$place<'a, T>> {
            fn from(slice: $slice<'a, T>) -> Self {
                let len = slice.len();
                Self { place: $place::one(slice), len, increment: 1 }
            }
        }
    )*};
}

vectors! {
    Ref, DeviceSlice, IntoSlice, Pointers, [];
    Mut, DeviceSliceMut, IntoSliceMut, PointersMut, [mut];
}

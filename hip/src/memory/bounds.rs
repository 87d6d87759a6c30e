//! Lengths and ranges of elements, checked.

use std::ops::{Bound, RangeBounds};

use crate::core::error::{Error, Result};

/// Returns the size of `len` elements of `T` in bytes.
pub(crate) fn byte_len<T>(len: usize) -> Result<usize> {
    if size_of::<T>() == 0 {
        return Err(Error::ZeroSizedType { type_name: std::any::type_name::<T>() });
    }
    // Allocations and Rust slices are limited to isize::MAX bytes.
    match len.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(bytes),
        _ => Err(Error::TooLarge { elements: len, element_bytes: size_of::<T>() }),
    }
}

/// Converts a range within `0..len` to offset and length.
pub(crate) fn range_of(range: impl RangeBounds<usize>, len: usize) -> Result<(usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.checked_add(1).ok_or(Error::Range { start: before, end: len, len })?,
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1).ok_or(Error::Range { start, end: last, len })?,
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    if start <= end && end <= len { Ok((start, end - start)) } else { Err(Error::Range { start, end, len }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_do_not_fit_are_errors() {
        assert_eq!(byte_len::<f32>(3).unwrap(), 12);
        assert_eq!(byte_len::<f32>(0).unwrap(), 0);
        assert!(matches!(byte_len::<f32>(usize::MAX), Err(Error::TooLarge { element_bytes: 4, .. })));
        assert!(matches!(byte_len::<u8>(usize::MAX), Err(Error::TooLarge { .. })), "larger than isize::MAX");
        assert!(matches!(byte_len::<[u8; 0]>(1), Err(Error::ZeroSizedType { .. })));
    }

    #[test]
    fn ranges_of_all_shapes() {
        assert_eq!(range_of(.., 4).unwrap(), (0, 4));
        assert_eq!(range_of(1..3, 4).unwrap(), (1, 2));
        assert_eq!(range_of(1..=3, 4).unwrap(), (1, 3));
        assert_eq!(range_of(4.., 4).unwrap(), (4, 0));
        assert_eq!(range_of((Bound::Excluded(0), Bound::Unbounded), 4).unwrap(), (1, 3));
        #[allow(clippy::reversed_empty_ranges)]
        let bad = 3..2;
        assert!(range_of(bad, 4).is_err());
        assert!(range_of(..5, 4).is_err());
        assert!(range_of(5.., 4).is_err());
        assert!(range_of(..=usize::MAX, 4).is_err());
        assert!(range_of((Bound::Excluded(usize::MAX), Bound::Unbounded), 4).is_err());
    }
}

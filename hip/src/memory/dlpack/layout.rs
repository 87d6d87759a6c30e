//! Shapes and strides of tensors, checked for overflow.

use crate::core::error::{Error, Result};

/// The shape of a tensor, and its strides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    shape: Vec<usize>,
    strides: Vec<isize>,
    len: usize,
}

fn refused(what: &'static str, value: String, allowed: &str) -> Error {
    Error::InvalidValue { what, value, allowed: allowed.to_owned() }
}

impl Layout {
    /// Creates a row-major layout without gaps: the last dimension is the fastest.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for more elements than an address space holds.
    pub fn contiguous(shape: &[usize]) -> Result<Self> {
        let len = count(shape)?;
        let mut strides = vec![0; shape.len()];
        let mut stride = 1usize;
        for (place, &extent) in strides.iter_mut().zip(shape).rev() {
            *place = stride as isize;
            // At most the product of the non-zero extents, which fits.
            stride *= extent.max(1);
        }
        Ok(Self { shape: shape.to_vec(), strides, len })
    }

    /// Converts a C shape and strides. Without strides, the layout is [`contiguous`](Self::contiguous).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for negative extents, and for elements that are too many or too far apart for an address
    /// space.
    pub fn from_raw(shape: &[i64], strides: Option<&[i64]>) -> Result<Self> {
        let negative = |_| refused("the shape of a tensor", format!("{shape:?}"), "no negative extents");
        let extents: Vec<usize> =
            shape.iter().map(|&extent| usize::try_from(extent)).collect::<Result<_, _>>().map_err(negative)?;
        let Some(strides) = strides else { return Self::contiguous(&extents) };
        let len = count(&extents)?;
        let far = || refused("the strides of a tensor", format!("{strides:?} of {shape:?}"), "within an address space");
        let strides: Vec<isize> =
            strides.iter().map(|&stride| isize::try_from(stride)).collect::<Result<_, _>>().map_err(|_| far())?;
        let layout = Self { shape: extents, strides, len };
        layout.ends().ok_or_else(far)?;
        Ok(layout)
    }

    /// Returns the extent of each dimension.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the stride of each dimension, in elements.
    #[must_use]
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether the elements are in row-major order without gaps. The stride of a dimension with one element is
    /// ignored.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1isize;
        self.is_empty()
            || self.shape.iter().zip(&self.strides).rev().filter(|(extent, _)| **extent != 1).all(
                |(&extent, &stride)| {
                    let fits = stride == expected;
                    expected = expected.saturating_mul(isize::try_from(extent).unwrap_or(isize::MAX));
                    fits
                },
            )
    }

    /// Returns the number of elements from the first one in memory to the last, gaps included; `None` if some are
    /// located before the element with all indices 0.
    #[must_use]
    pub fn span(&self) -> Option<usize> {
        match self.ends()? {
            (0, last) => Some(if self.is_empty() { 0 } else { last.unsigned_abs() + 1 }),
            _ => None,
        }
    }

    /// Returns the offsets of the first and the last element in memory, relative to the element with all indices 0.
    fn ends(&self) -> Option<(isize, isize)> {
        let (mut first, mut last) = (0isize, 0isize);
        if self.is_empty() {
            return Some((0, 0));
        }
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = isize::try_from(extent - 1).ok()?.checked_mul(stride)?;
            if reach < 0 {
                first = first.checked_add(reach)?;
            } else {
                last = last.checked_add(reach)?;
            }
        }
        // The distance is at most an address space of bytes.
        last.checked_sub(first)?.checked_add(1)?;
        Some((first, last))
    }
}

/// Returns the number of elements of a shape.
fn count(shape: &[usize]) -> Result<usize> {
    // Not the plain product, which is 0 if one extent is: strides use products of the other extents too.
    let product = shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent.max(1)));
    match product.filter(|&product| isize::try_from(product).is_ok()) {
        Some(_) if shape.contains(&0) => Ok(0),
        Some(product) => Ok(product),
        None => Err(refused("the shape of a tensor", format!("{shape:?}"), "no more than an address space")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_lie_one_after_the_other() {
        let layout = Layout::contiguous(&[2, 3, 4]).unwrap();
        assert_eq!((layout.len(), layout.strides()), (24, &[12, 4, 1][..]));
        assert!(layout.is_contiguous());
        assert_eq!(layout.span(), Some(24));
        assert_eq!(Layout::contiguous(&[]).unwrap().len(), 1, "a number");
        let empty = Layout::contiguous(&[3, 0, 5]).unwrap();
        assert_eq!((empty.len(), empty.span(), empty.is_contiguous()), (0, Some(0), true));
    }

    #[test]
    fn strides_are_told_apart() {
        let of = |shape: &[i64], strides: &[i64]| Layout::from_raw(shape, Some(strides)).unwrap();
        assert!(of(&[2, 3], &[3, 1]).is_contiguous());
        assert!(of(&[1, 3], &[77, 1]).is_contiguous(), "there is one row");
        assert!(!of(&[2, 3], &[1, 2]).is_contiguous(), "columns");
        let padded = of(&[2, 3], &[4, 1]);
        assert_eq!((padded.is_contiguous(), padded.span()), (false, Some(7)));
        assert_eq!(of(&[2, 3], &[-3, 1]).span(), None, "a row lies before");
        assert_eq!(of(&[5], &[0]).span(), Some(1), "one element five times");
    }

    #[test]
    fn numbers_too_large_are_refused() {
        assert!(Layout::from_raw(&[-1], None).is_err());
        assert!(Layout::from_raw(&[i64::MAX, 2], None).is_err());
        assert!(Layout::from_raw(&[0, i64::MAX, 2], None).is_err());
        assert!(Layout::from_raw(&[2, 2], Some(&[i64::MAX, i64::MAX])).is_err());
        assert!(Layout::from_raw(&[2, 2], Some(&[i64::MIN, i64::MAX])).is_err());
        assert!(Layout::from_raw(&[3], Some(&[i64::MIN])).is_err());
        assert!(Layout::contiguous(&[usize::MAX]).is_err());
        assert!(Layout::contiguous(&[1 << 40, 1 << 40]).is_err());
    }

    proptest! {
        #[test]
        fn no_numbers_overflow(shape in prop::collection::vec(any::<i64>(), 0..6), strides in prop::collection::vec(any::<i64>(), 6)) {
            if let Ok(layout) = Layout::from_raw(&shape, Some(&strides[..shape.len()])) {
                let _ = (layout.is_contiguous(), layout.span());
            }
            let _ = Layout::from_raw(&shape, None);
        }

        #[test]
        fn the_span_ends_at_the_last_element(shape in prop::collection::vec(1usize..5, 0..4), strides in prop::collection::vec(0i64..9, 4)) {
            let raw: Vec<i64> = shape.iter().map(|&extent| extent as i64).collect();
            let layout = Layout::from_raw(&raw, Some(&strides[..shape.len()])).unwrap();
            let mut last = 0;
            for at in 0..layout.len() {
                let (mut rest, mut offset) = (at, 0);
                for (extent, stride) in shape.iter().zip(layout.strides()).rev() {
                    offset += (rest % extent) as isize * stride;
                    rest /= extent;
                }
                last = last.max(offset);
            }
            prop_assert_eq!(layout.span(), Some(last as usize + 1));
        }
    }
}

//! The requirements on index arrays.
//!
//! hipSPARSE's kernels trust the index arrays of a sparse matrix: an index that is out of range makes them access
//! memory outside the matrix. So safe calls only accept matrices whose arrays were checked, or were declared valid with
//! `unsafe`.

use crate::defect::Defect;
use crate::{Error, Index};

/// Returns whether the entries are sorted; an error for an unsafe defect.
pub(crate) fn sorted(found: Result<(), Defect>) -> crate::Result<bool> {
    match found {
        Ok(()) => Ok(true),
        Err(defect) if defect.is_unsafe() => Err(Error::Structure(defect)),
        Err(_) => Ok(false),
    }
}

/// The layout of an operand's entries in its index arrays.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Layout {
    /// Offsets of lines, then indices below `size`.
    Compressed { size: usize },
    /// A row and a column for each entry.
    Coordinates { rows: usize, cols: usize },
    /// The first blocks of all `rows`, then the second ones; indices below `size`, or −1.
    Ell { rows: usize, size: usize },
    /// Indices below `size`.
    Vector { size: usize },
}

impl Layout {
    /// Finds the first unsafe defect, or else the first of the others, on the host.
    pub(crate) fn check<I: Index>(self, base: i64, first: &[I], second: &[I]) -> Result<(), Defect> {
        match self {
            Self::Compressed { size } => compressed(first, second, size, base),
            Self::Coordinates { rows, cols } => coordinates(first, second, (rows, cols), base),
            Self::Ell { rows, size } => ell(second, rows, size, base),
            Self::Vector { size } => vector(second, size, base),
        }
    }
}

/// Returns the line, the index and the position of each entry of a matrix, from zero: for COO, the row and the column.
/// The arrays were checked.
pub(crate) fn entries<I: Index>(layout: Layout, base: i64, first: &[I], second: &[I]) -> Vec<(usize, usize, usize)> {
    let from_zero = |index: &I| usize::try_from(index.wide() - base).ok();
    let numbered = second.iter().enumerate();
    match layout {
        Layout::Compressed { .. } => first
            .windows(2)
            .enumerate()
            .flat_map(|(line, ends)| {
                let ends = from_zero(&ends[0]).unwrap_or(0)..from_zero(&ends[1]).unwrap_or(0);
                ends.filter_map(move |at| Some((line, from_zero(second.get(at)?)?, at)))
            })
            .collect(),
        Layout::Coordinates { .. } => first
            .iter()
            .zip(numbered)
            .filter_map(|(row, (at, col))| Some((from_zero(row)?, from_zero(col)?, at)))
            .collect(),
        Layout::Ell { rows, .. } => numbered
            .filter(|(_, index)| index.wide() != -1)
            .filter_map(|(at, index)| Some((at % rows, from_zero(index)?, at)))
            .collect(),
        Layout::Vector { .. } => numbered.filter_map(|(at, index)| Some((0, from_zero(index)?, at))).collect(),
    }
}

/// Finds the first unsafe defect, or else the first of the others.
fn compressed<I: Index>(offsets: &[I], indices: &[I], size: usize, base: i64) -> Result<(), Defect> {
    let entries = indices.len();
    let at = |line: usize| offsets[line].wide().wrapping_sub(base);
    if let Some(first) = offsets.first() {
        let found = first.wide().wrapping_sub(base);
        if found != 0 {
            return Err(Defect::FirstOffset { found });
        }
    }
    if let Some(line) = (1..offsets.len()).find(|&line| at(line) < at(line - 1)) {
        return Err(Defect::OffsetDecreases { line: line - 1 });
    }
    let found = at(offsets.len() - 1);
    if found != entries as i64 {
        return Err(Defect::LastOffset { found, entries });
    }
    in_range(indices, size, base)?;
    for line in 1..offsets.len() {
        // They are within the entries: the offsets do not decrease, and the last one is the number of entries.
        let (start, end) = (at(line - 1) as usize, at(line) as usize);
        for position in start + 1..end.max(start + 1) {
            follows(indices[position].cmp(&indices[position - 1]), position)?;
        }
    }
    Ok(())
}

/// As [`compressed`], for entries with a row and a column each. Sorted means row after row.
fn coordinates<I: Index>(rows: &[I], cols: &[I], size: (usize, usize), base: i64) -> Result<(), Defect> {
    in_range(rows, size.0, base)?;
    in_range(cols, size.1, base)?;
    let at = |position: usize| (rows[position], cols[position]);
    (1..rows.len()).try_for_each(|position| follows(at(position).cmp(&at(position - 1)), position))
}

/// As [`compressed`], for `rows` block rows with the same number of blocks, where −1 is a missing block: the first
/// blocks of all rows, then the second ones. After the first −1 of a row, all others are −1.
fn ell<I: Index>(indices: &[I], rows: usize, size: usize, base: i64) -> Result<(), Defect> {
    let padding = |index: &I| index.wide() == -1;
    for (position, index) in indices.iter().enumerate() {
        let found = index.wide().wrapping_sub(base);
        if !padding(index) && !(0..size as i64).contains(&found) {
            return Err(Defect::OutOfRange { position, found, size });
        }
    }
    for position in rows..indices.len() {
        let before = position - rows;
        match (padding(&indices[before]), padding(&indices[position])) {
            (_, true) => {}
            (true, false) => return Err(Defect::Unsorted { position }),
            (false, false) => follows(indices[position].cmp(&indices[before]), position)?,
        }
    }
    Ok(())
}

/// As [`compressed`], for the indices of a vector.
fn vector<I: Index>(indices: &[I], size: usize, base: i64) -> Result<(), Defect> {
    in_range(indices, size, base)?;
    (1..indices.len()).try_for_each(|position| follows(indices[position].cmp(&indices[position - 1]), position))
}

fn in_range<I: Index>(indices: &[I], size: usize, base: i64) -> Result<(), Defect> {
    let inside = |index: i64| (0..size as i64).contains(&index.wrapping_sub(base));
    match indices.iter().position(|index| !inside(index.wide())) {
        Some(position) => {
            let found = indices[position].wide().wrapping_sub(base);
            Err(Defect::OutOfRange { position, found, size })
        }
        None => Ok(()),
    }
}

fn follows(order: std::cmp::Ordering, position: usize) -> Result<(), Defect> {
    match order {
        std::cmp::Ordering::Less => Err(Defect::Unsorted { position }),
        std::cmp::Ordering::Equal => Err(Defect::Duplicate { position }),
        std::cmp::Ordering::Greater => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_defect_of_compressed_arrays_is_found() {
        for base in [0, 1] {
            let check = |offsets: &[i64], indices: &[i64]| {
                let shift = |numbers: &[i64]| numbers.iter().map(|number| number + base).collect::<Vec<_>>();
                compressed(&shift(offsets), &shift(indices), 3, base)
            };
            assert_eq!(check(&[0, 2, 2, 3], &[0, 2, 1]), Ok(()));
            assert_eq!(check(&[0], &[]), Ok(()));
            assert_eq!(check(&[1, 2], &[0, 1]), Err(Defect::FirstOffset { found: 1 }));
            assert_eq!(check(&[0, 2, 1, 3], &[0, 1, 2]), Err(Defect::OffsetDecreases { line: 1 }));
            assert_eq!(check(&[0, 2], &[0, 1, 2]), Err(Defect::LastOffset { found: 2, entries: 3 }));
            let out_of_range = |position, found| Err(Defect::OutOfRange { position, found, size: 3 });
            assert_eq!(check(&[0, 2], &[0, 3]), out_of_range(1, 3));
            assert_eq!(check(&[0, 2], &[-1, 2]), out_of_range(0, -1));
            // Unsafe defects come first.
            assert_eq!(check(&[0, 3], &[1, 0, 3]), out_of_range(2, 3));
            assert_eq!(check(&[0, 2, 4], &[0, 1, 2, 0]), Err(Defect::Unsorted { position: 3 }));
            assert_eq!(check(&[0, 2, 4], &[0, 1, 2, 2]), Err(Defect::Duplicate { position: 3 }));
        }
        let extreme = [i64::MIN, i64::MAX];
        assert!(compressed(&extreme, &[], 3, 1).is_err_and(|defect| defect.is_unsafe()));
        assert!(vector(&extreme, 3, 1).is_err_and(|defect| defect.is_unsafe()));
    }

    #[test]
    fn each_defect_of_coordinates_is_found() {
        assert_eq!(coordinates(&[0, 0, 2], &[0, 1, 1], (3, 2), 0), Ok(()));
        assert_eq!(coordinates(&[3], &[0], (3, 2), 0), Err(Defect::OutOfRange { position: 0, found: 3, size: 3 }));
        assert_eq!(coordinates(&[2], &[2], (3, 2), 0), Err(Defect::OutOfRange { position: 0, found: 2, size: 2 }));
        assert_eq!(coordinates(&[1, 0], &[0, 0], (3, 2), 0), Err(Defect::Unsorted { position: 1 }));
        assert_eq!(coordinates(&[1, 1], &[1, 0], (3, 2), 0), Err(Defect::Unsorted { position: 1 }));
        assert_eq!(coordinates(&[1, 1], &[1, 1], (3, 2), 0), Err(Defect::Duplicate { position: 1 }));
    }

    #[test]
    fn padding_is_behind_the_blocks_of_a_row() {
        assert_eq!(ell(&[0, 1, 2, -1], 2, 3, 0), Ok(()));
        assert_eq!(ell(&[-1, 1, -1, -1], 2, 3, 0), Ok(()));
        assert_eq!(ell(&[-1, 0, 2, 1], 2, 3, 0), Err(Defect::Unsorted { position: 2 }));
        assert_eq!(ell(&[0, 3], 1, 3, 0), Err(Defect::OutOfRange { position: 1, found: 3, size: 3 }));
        assert_eq!(ell(&[0, -2], 1, 3, 0), Err(Defect::OutOfRange { position: 1, found: -2, size: 3 }));
        assert_eq!(ell(&[1, 1], 1, 3, 0), Err(Defect::Duplicate { position: 1 }));
    }
}

//! Formats: the memory layouts of a sparse matrix's entries.

use std::fmt::Debug;

use hip_linalg::Op;

use crate::checks::{as_stored, invalid};
use crate::raw::{self, Ptr, Returned};
use crate::structure::Layout;
use crate::{Base, Result};

mod sealed {
    pub trait Sealed {}
}

/// The memory layout of a sparse matrix's entries: one type per format, which parameterizes [`SpMat`](crate::SpMat) and
/// its views.
pub trait Format: Copy + Debug + PartialEq + Send + Sync + sealed::Sealed + 'static {
    /// The format's name in errors.
    #[doc(hidden)]
    const NAME: &'static str;
    /// Checks the shape of a matrix. An error contains the invalid value, and the allowed values.
    #[doc(hidden)]
    fn shape(&self, rows: usize, cols: usize) -> Result<(), (String, String)> {
        let _ = (rows, cols);
        Ok(())
    }
    /// Returns the required length of the first index array, given the length of the second one.
    #[doc(hidden)]
    fn first_len(&self, rows: usize, cols: usize, second: usize) -> Option<usize>;
    /// Returns the number of values for this many indices.
    #[doc(hidden)]
    fn values_len(&self, second: usize) -> Option<usize> {
        Some(second)
    }
    /// Returns the required length of the second array; any length if `None`.
    #[doc(hidden)]
    fn second_len(&self, rows: usize) -> Option<usize> {
        let _ = rows;
        None
    }
    /// Returns an error if this crate has no products with the format: with this operation, or at all with the loaded
    /// library.
    #[doc(hidden)]
    fn supported(&self, op: Op) -> Result<()> {
        let _ = op;
        Ok(())
    }
    /// Returns the requirements on the index arrays of a matrix with this shape.
    #[doc(hidden)]
    fn layout(&self, size: (usize, usize)) -> Layout;
}

/// A format that hipSPARSE's generic functions support.
pub trait Generic: Format {
    /// Creates the descriptor of a matrix at `place`.
    ///
    /// # Safety
    /// `place` must be valid for writing a pointer; the memory must be a matrix of this format.
    #[doc(hidden)]
    unsafe fn describe(&self, place: Ptr, raw: &RawMatrix) -> Returned;
}

/// A matrix in the form that C expects.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct RawMatrix {
    pub(crate) rows: i64,
    pub(crate) cols: i64,
    pub(crate) entries: i64,
    pub(crate) first: Ptr,
    pub(crate) second: Ptr,
    pub(crate) values: Ptr,
    pub(crate) index: u32,
    pub(crate) base: u32,
    pub(crate) data: u32,
}

/// Compressed rows: offsets of the rows, then the column of each entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(alias("HIPSPARSE_FORMAT_CSR", "CUSPARSE_FORMAT_CSR"))]
pub struct Csr;

/// Compressed columns: offsets of the columns, then the row of each entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(alias("HIPSPARSE_FORMAT_CSC", "CUSPARSE_FORMAT_CSC"))]
pub struct Csc;

/// Coordinates: the row of each entry, then the column of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(alias("HIPSPARSE_FORMAT_COO", "CUSPARSE_FORMAT_COO"))]
pub struct Coo;

/// The memory order of a block's elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[doc(alias("hipsparseDirection_t", "cusparseDirection_t"))]
pub enum BlockOrder {
    /// Row after row.
    #[default]
    Rows,
    /// Column after column.
    Columns,
}

impl BlockOrder {
    pub(crate) fn code(self) -> u32 {
        (self == Self::Columns).into()
    }
}

/// Compressed rows of dense blocks: offsets of the block rows, then the block column of each block.
///
/// The rows and columns of the matrix are multiples of those of the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias("HIPSPARSE_FORMAT_BSR", "CUSPARSE_FORMAT_BSR", "GEBSR"))]
pub struct Bsr {
    /// Rows of a block.
    pub rows: usize,
    /// Columns of a block.
    pub cols: usize,
    /// The memory order of its elements.
    pub order: BlockOrder,
}

impl Bsr {
    /// Square row-major blocks.
    #[must_use]
    pub fn square(size: usize) -> Self {
        Self { rows: size, cols: size, order: BlockOrder::Rows }
    }
}

/// Rows of square dense blocks, with the same number of blocks in each row. The columns of the first blocks of all rows
/// come first, then those of the second blocks, and so on, with −1 for a missing block. The blocks have the same
/// order, each column-major.
///
/// This is the layout of ROCm up to 7.2. cuSPARSE's layout, which newer releases use, is row after row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias("HIPSPARSE_FORMAT_BLOCKED_ELL", "CUSPARSE_FORMAT_BLOCKED_ELL"))]
pub struct BlockedEll {
    /// Rows and columns of a block.
    pub block: usize,
    /// Columns of the values: blocks of each row times `block`.
    pub width: usize,
}

impl sealed::Sealed for Csr {}
impl sealed::Sealed for Csc {}
impl sealed::Sealed for Coo {}
impl sealed::Sealed for Bsr {}
impl sealed::Sealed for BlockedEll {}

impl Format for Csr {
    const NAME: &'static str = "CSR";

    fn first_len(&self, rows: usize, _: usize, _: usize) -> Option<usize> {
        rows.checked_add(1)
    }

    fn layout(&self, size: (usize, usize)) -> Layout {
        Layout::Compressed { size: size.1 }
    }
}

impl Format for Csc {
    const NAME: &'static str = "CSC";

    fn first_len(&self, _: usize, cols: usize, _: usize) -> Option<usize> {
        cols.checked_add(1)
    }

    fn layout(&self, size: (usize, usize)) -> Layout {
        Layout::Compressed { size: size.0 }
    }
}

impl Format for Coo {
    const NAME: &'static str = "COO";

    fn first_len(&self, _: usize, _: usize, second: usize) -> Option<usize> {
        Some(second)
    }

    fn layout(&self, size: (usize, usize)) -> Layout {
        Layout::Coordinates { rows: size.0, cols: size.1 }
    }
}

/// Checks that rows and columns are multiples of the block size.
fn whole_blocks(rows: usize, cols: usize, block: (usize, usize)) -> Result<(), (String, String)> {
    let multiple = |size: usize, of: usize| of != 0 && size % of == 0;
    if multiple(rows, block.0) && multiple(cols, block.1) {
        return Ok(());
    }
    Err((format!("{rows} x {cols}"), format!("of whole blocks of {} x {}", block.0, block.1)))
}

impl Format for Bsr {
    const NAME: &'static str = "BSR";

    fn shape(&self, rows: usize, cols: usize) -> Result<(), (String, String)> {
        whole_blocks(rows, cols, (self.rows, self.cols))
    }

    fn first_len(&self, rows: usize, _: usize, _: usize) -> Option<usize> {
        (rows / self.rows).checked_add(1)
    }

    fn values_len(&self, second: usize) -> Option<usize> {
        self.rows.checked_mul(self.cols)?.checked_mul(second)
    }

    fn layout(&self, size: (usize, usize)) -> Layout {
        Layout::Compressed { size: size.1 / self.cols }
    }
}

impl Format for BlockedEll {
    const NAME: &'static str = "blocked ELL";

    fn shape(&self, rows: usize, cols: usize) -> Result<(), (String, String)> {
        whole_blocks(rows, cols, (self.block, self.block))?;
        whole_blocks(rows, self.width, (self.block, self.block))?;
        if self.width <= cols {
            return Ok(());
        }
        Err((format!("{cols} columns wide with {} stored", self.width), "at least as wide as stored".to_owned()))
    }

    fn first_len(&self, _: usize, _: usize, _: usize) -> Option<usize> {
        Some(0)
    }

    fn second_len(&self, rows: usize) -> Option<usize> {
        (rows / self.block).checked_mul(self.width / self.block)
    }

    fn values_len(&self, second: usize) -> Option<usize> {
        self.block.checked_mul(self.block)?.checked_mul(second)
    }

    fn supported(&self, op: Op) -> Result<()> {
        as_stored("a matrix of blocked ELL", op)?;
        if raw::BINDING.has(c"hipsparseBlockedEllSetPointers") {
            let allowed = "used on ROCm 7.2 or older: later releases have another layout, which is not tested";
            return Err(invalid("a matrix of blocked ELL", "on ROCm 10.0 or newer", allowed));
        }
        Ok(())
    }

    fn layout(&self, size: (usize, usize)) -> Layout {
        Layout::Ell { rows: size.0 / self.block, size: size.1 / self.block }
    }
}

macro_rules! generic {
    ($($format:ty: $create:ident;)*) => {$(
        impl Generic for $format {
            unsafe fn describe(&self, place: Ptr, raw: &RawMatrix) -> Returned {
                let RawMatrix { rows, cols, entries, first, second, values, index, base, data } = *raw;
                // SAFETY: the caller's matrix and pointer.
                unsafe { raw::$create(place, rows, cols, entries, first, second, values, index, index, base, data) }
            }
        }
    )*};
}

generic! {
    Csr: hipsparseCreateCsr;
    Csc: hipsparseCreateCsc;
}

impl Generic for Coo {
    unsafe fn describe(&self, place: Ptr, raw: &RawMatrix) -> Returned {
        let RawMatrix { rows, cols, entries, first, second, values, index, base, data } = *raw;
        // SAFETY: the caller's matrix and pointer.
        unsafe { raw::hipsparseCreateCoo(place, rows, cols, entries, first, second, values, index, base, data) }
    }
}

impl Generic for BlockedEll {
    unsafe fn describe(&self, place: Ptr, raw: &RawMatrix) -> Returned {
        let RawMatrix { rows, cols, second, values, index, base, data, .. } = *raw;
        let (block, width) = (self.block as i64, self.width as i64);
        // SAFETY: the caller's matrix and pointer.
        unsafe { raw::hipsparseCreateBlockedEll(place, rows, cols, block, width, second, values, index, base, data) }
    }
}

impl Base {
    /// Converts an index that counts from zero.
    pub(crate) fn of(self, index: usize) -> i64 {
        index as i64 + self.first()
    }
}

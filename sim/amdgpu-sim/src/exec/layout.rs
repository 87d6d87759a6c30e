//! The rows of a wave.

/// The start of the rows of each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// The number of vector registers, including the reach of wide operands.
    pub(super) vgprs: u16,
    /// The same for accumulation registers.
    pub(super) agprs: u16,
    /// Broadcast constants.
    pub(super) constants: u16,
}

/// Rows for prepared operands: two for each of four sources.
pub(super) const PREPARED_ROWS: u16 = 8;

impl Layout {
    /// The vector registers in granules of 8.
    pub(crate) fn vgpr_granules(&self) -> u16 {
        self.vgprs.div_ceil(8).max(1)
    }

    /// The row of `v[n]`.
    pub(crate) fn vgpr(&self, n: u16) -> u16 {
        n
    }

    /// The row of `a[n]`.
    pub(crate) fn agpr(&self, n: u16) -> u16 {
        self.vgprs + n
    }

    /// The first of two rows for the prepared source `i`.
    pub(super) fn prepared(&self, i: usize) -> u16 {
        self.vgprs + self.agprs + 2 * i as u16
    }

    /// The row of the broadcast constant `i`.
    pub(super) fn constant_row(&self, i: u16) -> u16 {
        self.vgprs + self.agprs + PREPARED_ROWS + i
    }

    /// The first of the two last rows, which hold a result that is not written directly to its destination.
    pub(super) fn result(&self) -> u16 {
        self.constant_row(self.constants)
    }

    /// The number of rows of a wave.
    #[inline]
    pub(crate) fn rows(&self) -> usize {
        usize::from(self.result()) + 2
    }
}

/// The rows that must be cleared before a workgroup starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clear {
    /// If all lanes of the wave are enabled at the start: the rows that may be read before they are written.
    pub(super) whole: Vec<u16>,
    /// Otherwise: all rows that are written.
    pub(super) partial: Vec<u16>,
}

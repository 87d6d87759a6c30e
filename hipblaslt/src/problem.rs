//! What the library chooses an algorithm by.

/// The properties that an algorithm depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Problem {
    pub(crate) types: [u32; 4],
    pub(crate) compute: u32,
    pub(crate) ops: [u32; 2],
    pub(crate) epilogue: u32,
    /// Rows, columns, leading dimension, stride of A, B, C and D.
    pub(crate) layouts: [(usize, usize, usize, usize); 4],
    pub(crate) batch: usize,
    pub(crate) scales: [bool; 4],
    pub(crate) device_scalars: bool,
    pub(crate) aux: (usize, usize),
    pub(crate) workspace_limit: usize,
}

impl Problem {
    /// Returns the operations on A and B, and the epilogue, with their attribute numbers.
    pub(crate) fn flags(&self) -> [(u32, u32); 3] {
        [(0, self.ops[0]), (1, self.ops[1]), (2, self.epilogue)]
    }
}

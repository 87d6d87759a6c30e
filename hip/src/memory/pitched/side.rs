//! One side of a copy of rows.

use std::ffi::c_void;

use hip_sys::hipPitchedPtr;

/// One side of a copy: its start, the bytes from row to row, and the rows from plane to plane.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub(super) pointer: *mut c_void,
    pub(super) pitch: usize,
    pub(super) rows: usize,
}

impl Side {
    pub(super) fn pitched(self, row: usize) -> hipPitchedPtr {
        hipPitchedPtr { ptr: self.pointer, pitch: self.pitch, xsize: row, ysize: self.rows }
    }
}

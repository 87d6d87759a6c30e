//! Validated copies.

use std::ffi::c_void;
use std::slice;

use amdgpu_sim::{Memory, MemoryError};
use hip_sys::rocm_7_2::*;

use crate::memory::Block;
use crate::status::Refusal;

/// The shape of a copied box: rows of `width` bytes, `pitch` bytes apart on each side, in planes of `height` rows. A
/// flat copy is one row.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
    pub(crate) to: Strides,
    pub(crate) from: Strides,
}

/// One side of a copy.
#[derive(Clone, Copy)]
pub(crate) struct Side {
    /// The start address.
    pub(crate) ptr: *mut c_void,
    pub(crate) strides: Strides,
}

impl Side {
    /// The side that starts at `ptr`, with rows `pitch` and planes `plane` bytes apart.
    pub(crate) fn new(ptr: *mut c_void, pitch: usize, plane: usize) -> Self {
        Self { ptr, strides: Strides { pitch: pitch as u64, plane: plane as u64 } }
    }
}

/// The row and plane pitch in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Strides {
    pub(crate) pitch: u64,
    pub(crate) plane: u64,
}

impl Shape {
    /// Returns whether the box is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// The shape of a flat copy.
    pub(crate) fn flat(bytes: usize) -> Self {
        let strides = Strides { pitch: bytes as u64, plane: bytes as u64 };
        Self { width: bytes as u64, height: 1, depth: 1, to: strides, from: strides }
    }

    /// The shape of a box between two sides. The extent's width is in bytes.
    pub(crate) fn cuboid(extent: [usize; 3], to: Side, from: Side) -> Self {
        let [width, height, depth] = extent.map(|size| size as u64);
        Self { width, height, depth, to: to.strides, from: from.strides }
    }

    /// The copy as C's description of a 3D copy.
    pub(crate) fn parameters(&self, to: *mut c_void, from: *const c_void, kind: hipMemcpyKind) -> hipMemcpy3DParms {
        let side = |ptr: *mut c_void, strides: Strides| {
            let pitch = strides.pitch as usize;
            let ysize = strides.plane.checked_div(strides.pitch).unwrap_or(0) as usize;
            hipPitchedPtr { ptr, pitch, xsize: self.width as usize, ysize }
        };
        let (width, height, depth) = (self.width as usize, self.height as usize, self.depth as usize);
        hipMemcpy3DParms {
            dstPtr: side(to, self.to),
            srcPtr: side(from.cast_mut(), self.from),
            extent: hipExtent { width, height, depth },
            kind,
            ..Default::default()
        }
    }

    /// The bytes from the first to the end of the last row.
    pub(crate) fn span(&self, strides: Strides) -> Result<u64, Refusal> {
        let planes = strides.plane.checked_mul(self.depth - 1);
        let rows = strides.pitch.checked_mul(self.height - 1);
        let before = planes.zip(rows).and_then(|(planes, rows)| planes.checked_add(rows));
        Ok(before.and_then(|before| before.checked_add(self.width)).ok_or(hipErrorInvalidValue)?)
    }
}

/// One end of a copy.
#[derive(Clone, Copy)]
pub(crate) struct End {
    pub(crate) address: u64,
    /// `None` for memory of the program that HIP does not know.
    pub(crate) block: Option<Block>,
}

/// A validated copy.
pub(crate) struct Copy {
    pub(crate) to: End,
    pub(crate) from: End,
    pub(crate) shape: Shape,
}

impl Copy {
    /// Returns whether the call must wait for the copy, because an end is unpinned memory of the program.
    pub(crate) fn is_pageable(&self) -> bool {
        self.to.block.is_none() || self.from.block.is_none()
    }

    /// Performs the copy.
    ///
    /// # Safety
    /// Ends that are not in HIP's memory must be valid for the access, and not accessed otherwise meanwhile.
    pub(crate) unsafe fn run(&self, memory: &Memory) -> Result<(), MemoryError> {
        let Shape { height, depth, to, from, .. } = self.shape;
        for (plane, row) in (0..depth).flat_map(|plane| (0..height).map(move |row| (plane, row))) {
            let to = self.to.address + plane * to.plane + row * to.pitch;
            let from = self.from.address + plane * from.plane + row * from.pitch;
            // SAFETY: `Copy::check` ensured that the whole box is inside the blocks; the rest is guaranteed by the caller.
            unsafe { self.run_row(memory, to, from) }?;
        }
        Ok(())
    }

    /// # Safety
    /// As for [`run`](Self::run), for one row.
    unsafe fn run_row(&self, memory: &Memory, to: u64, from: u64) -> Result<(), MemoryError> {
        let width = self.shape.width;
        let to_ptr = std::ptr::with_exposed_provenance_mut::<u8>(to as usize);
        let from_ptr = std::ptr::with_exposed_provenance::<u8>(from as usize);
        match (self.to.block.is_some(), self.from.block.is_some()) {
            (true, true) => memory.copy(to, from, width),
            // SAFETY: the program's memory, valid for reads as the caller vouches.
            (true, false) => memory.write(to, unsafe { slice::from_raw_parts(from_ptr, width as usize) }),
            (false, true) => {
                // SAFETY: the program's memory, valid for writes as the caller vouches.
                memory.read(from, unsafe { slice::from_raw_parts_mut(to_ptr, width as usize) })
            }
            (false, false) => {
                // SAFETY: both are the program's memory, valid as the caller vouches; they may overlap.
                unsafe { std::ptr::copy(from_ptr, to_ptr, width as usize) };
                Ok(())
            }
        }
    }
}

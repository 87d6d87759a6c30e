//! Copies between images and memory, and image fills.

use amdgpu_sim::Memory;
use amdgpu_sim::image::Kind;

use super::Image;
use crate::abi::*;
use crate::memory::copy_bytes;
use crate::result::Result;

/// A box of texels of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Box3 {
    first: [u64; 3],
    size: [u64; 3],
}

/// The row and slice pitch in memory. 0 means no gaps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linear {
    pub(crate) base: u64,
    pub(crate) pitch: u64,
    pub(crate) slice: u64,
}

impl Box3 {
    /// The box at `offset` with `range` texels, which must be inside the image. For 1D images, `y` is the layer, as in
    /// their kernels.
    pub(crate) fn of(image: &Image, offset: hsa_dim3_t, range: hsa_dim3_t) -> Result<Self> {
        let widen = |d: hsa_dim3_t| [d.x, d.y, d.z].map(u64::from);
        let (mut first, mut size) = (widen(offset), widen(range));
        if image.layout.kind() == Kind::Lines && first[2] == 0 && size[2] <= 1 {
            (first, size) = ([first[0], 0, first[1]], [size[0], 1, size[1]]);
        }
        for ((first, size), limit) in first.iter().zip(&mut size).zip(image.layout.size()) {
            *size = (*size).max(1);
            if first + *size > limit as u64 {
                return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
            }
        }
        Ok(Self { first, size })
    }

    /// The address of the first texel of a row of the box.
    fn row(&self, image: &Image, y: u64, z: u64) -> u64 {
        let [x0, y0, z0] = self.first;
        let layout = &image.layout;
        let (pitch, slice) = (layout.pitch() as u64, layout.slice() as u64);
        image.data + (z0 + z) * slice + (y0 + y) * pitch + x0 * layout.format().bytes() as u64
    }

    /// Calls `row` for each row with its row and plane number in the box.
    fn rows(&self, mut row: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
        (0..self.size[2]).try_for_each(|z| (0..self.size[1]).try_for_each(|y| row(y, z)))
    }
}

impl Linear {
    /// Replaces pitches of zero by the real ones. Refuses pitches that are too small.
    fn checked(self, part: &Box3, row: u64) -> Result<Self> {
        let pitch = if self.pitch == 0 { row } else { self.pitch };
        let plane = pitch.checked_mul(part.size[1]).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let slice = if self.slice == 0 { plane } else { self.slice };
        let end = slice.checked_mul(part.size[2]).and_then(|bytes| self.base.checked_add(bytes));
        if self.base == 0 || pitch < row || slice < plane || end.is_none() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        Ok(Self { base: self.base, pitch, slice })
    }

    fn row(&self, y: u64, z: u64) -> u64 {
        self.base + z * self.slice + y * self.pitch
    }
}

/// Copies from memory into a box of an image.
pub(crate) fn import(space: &Memory, from: Linear, to: &Image, part: &Box3) -> Result<()> {
    let bytes = part.size[0] * to.layout.format().bytes() as u64;
    let from = from.checked(part, bytes)?;
    part.rows(|y, z| copy_bytes(space, part.row(to, y, z), from.row(y, z), bytes))
}

/// Copies from a box of an image into memory.
pub(crate) fn export(space: &Memory, from: &Image, part: &Box3, to: Linear) -> Result<()> {
    let bytes = part.size[0] * from.layout.format().bytes() as u64;
    let to = to.checked(part, bytes)?;
    part.rows(|y, z| copy_bytes(space, to.row(y, z), part.row(from, y, z), bytes))
}

/// Copies texels without conversion from a box of one image to an equally large box of another.
pub(crate) fn copy(space: &Memory, from: (&Image, &Box3), to: (&Image, &Box3)) -> Result<()> {
    if from.0.layout.format().bytes() != to.0.layout.format().bytes() || from.1.size != to.1.size {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    let bytes = from.1.size[0] * from.0.layout.format().bytes() as u64;
    from.1.rows(|y, z| copy_bytes(space, to.1.row(to.0, y, z), from.1.row(from.0, y, z), bytes))
}

/// The number of texels that are written at a time.
const PIECE: u64 = 4096;

/// Sets every texel of a box.
pub(crate) fn clear(space: &Memory, image: &Image, part: &Box3, components: [u32; 4]) -> Result<()> {
    let (width, texel) = (part.size[0], image.layout.format().bytes() as u64);
    let piece = image.layout.format().pack(components).repeat(width.min(PIECE) as usize);
    part.rows(|y, z| {
        let row = part.row(image, y, z);
        (0..width).step_by(PIECE as usize).try_for_each(|x| {
            let bytes = (width - x).min(PIECE) * texel;
            copy_bytes(space, row + x * texel, piece.as_ptr() as u64, bytes)
        })
    })
}

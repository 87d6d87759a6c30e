//! Mipmapped arrays.

use std::ffi::c_void;

use amdgpu_sim::image::{Kind, Layout};
use hip_sys::rocm_7_2::{hipErrorInvalidValue, hipErrorOutOfMemory};

use crate::allocation::{allocate, make_room};
use crate::array::{Array, Channels, MipmappedArray, shape};
use crate::device::Device;
use crate::runtime::Runtime;
use crate::status::{Refusal, ensure};

/// The extent of a level: each level halves the dimensions, except the layer count. Dimensions of size 0 stay 0.
fn at_level(kind: Kind, extent: [usize; 3], level: u32) -> [usize; 3] {
    let [width, height, depth] = extent;
    let half = |size: usize| if size == 0 { 0 } else { size.checked_shr(level).unwrap_or(0).max(1) };
    [half(width), half(height), if kind == Kind::Volume { half(depth) } else { depth }]
}

/// The number of levels down to a single texel.
fn most_levels(kind: Kind, [width, height, depth]: [usize; 3]) -> u32 {
    let depth = if kind == Kind::Volume { depth } else { 1 };
    width.max(height).max(depth).max(1).ilog2() + 1
}

impl MipmappedArray {
    /// Creates a mipmapped array on a device and returns its handle.
    pub(crate) fn create(
        runtime: &Runtime,
        device: &Device,
        channels: Channels,
        extent: [usize; 3],
        count: u32,
        flags: u32,
    ) -> Result<*mut c_void, Refusal> {
        let invalid = |text: String| Refusal::new(hipErrorInvalidValue, text);
        let (kind, _) = shape(extent, flags)
            .ok_or_else(|| invalid(format!("there is no array of {extent:?} texels with flags {flags}")))?;
        let most = most_levels(kind, extent);
        if count == 0 || count > most {
            return Err(invalid(format!("{count} levels of {extent:?} texels, which have from 1 to {most}")));
        }
        let format = channels.format(false, false).ok_or(hipErrorInvalidValue)?;
        let mut layouts = Vec::with_capacity(count as usize);
        let mut bytes = 0;
        for level in 0..count {
            let extent = at_level(kind, extent, level);
            let (kind, size) = shape(extent, flags).ok_or(hipErrorInvalidValue)?;
            let layout = Layout::opaque(kind, format, size).map_err(|error| invalid(error.to_string()))?;
            layouts.push((bytes, extent, layout));
            bytes += layout.bytes() as u64;
        }
        let alignment = layouts.iter().map(|(.., layout)| layout.alignment()).max().unwrap_or(1);
        // The row pitch is a multiple of the image alignment, and so are the level offsets.
        ensure(layouts.iter().all(|(offset, ..)| *offset % alignment as u64 == 0), hipErrorInvalidValue)?;
        make_room(runtime, device, bytes);
        let base = allocate(runtime, device, bytes, None)?;
        let mut levels = Vec::with_capacity(layouts.len());
        for (offset, extent, layout) in layouts {
            let base = base + offset;
            let array = Array { device: device.ordinal, base, layout, channels, extent, flags, is_level: true };
            levels.push(runtime.arrays.insert(array).ok_or(hipErrorOutOfMemory)?.addr());
        }
        let whole = Self { device: device.ordinal, base, bytes, alignment, levels };
        Ok(runtime.mipmaps.insert(whole).ok_or(hipErrorOutOfMemory)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_halves_down_to_one_texel() {
        for (kind, extent, expected) in [
            (Kind::Line, [9, 0, 0], vec![[9, 0, 0], [4, 0, 0], [2, 0, 0], [1, 0, 0]]),
            (Kind::Plane, [10, 3, 0], vec![[10, 3, 0], [5, 1, 0], [2, 1, 0], [1, 1, 0]]),
            (Kind::Volume, [2, 2, 5], vec![[2, 2, 5], [1, 1, 2], [1, 1, 1]]),
            (Kind::Planes, [4, 2, 9], vec![[4, 2, 9], [2, 1, 9], [1, 1, 9]]),
        ] {
            assert_eq!(most_levels(kind, extent) as usize, expected.len(), "{kind:?}");
            let levels: Vec<_> = (0..expected.len() as u32).map(|level| at_level(kind, extent, level)).collect();
            assert_eq!(levels, expected, "{kind:?}");
        }
    }
}

//! Image and sampler descriptors as made by a runtime for gfx90a: linear, with one level.
#![allow(dead_code, reason = "each test file uses a part of it")]

/// Types of images.
pub(crate) const LINE: u32 = 8;
pub(crate) const PLANE: u32 = 9;
pub(crate) const VOLUME: u32 = 10;
pub(crate) const CUBE: u32 = 11;
pub(crate) const LINES: u32 = 12;
pub(crate) const PLANES: u32 = 13;

/// Number formats.
pub(crate) const UNORM: u32 = 0;
pub(crate) const UINT: u32 = 4;
pub(crate) const SINT: u32 = 5;
pub(crate) const FLOAT: u32 = 7;

/// What an image is.
#[derive(Clone, Copy)]
pub(crate) struct Image {
    pub(crate) kind: u32,
    /// Width, height, and depth or layers.
    pub(crate) size: [u32; 3],
    /// Row pitch in texels.
    pub(crate) pitch: u32,
    /// Data format: the widths of the components.
    pub(crate) data: u32,
    pub(crate) number: u32,
    /// HSA's numbers for the channel type and order, which kernels query.
    pub(crate) hsa: [u32; 2],
}

impl Image {
    /// The descriptor (8 words), and 4 words more that ROCm's runtime keeps for the kernels.
    pub(crate) fn descriptor(&self, base: u64) -> [u32; 12] {
        assert_eq!(base % 256, 0);
        let [width, height, depth] = self.size.map(|s| s - 1);
        // A cube's six faces are not included.
        let depth = if self.kind == CUBE { 0 } else { depth };
        [
            (base >> 8) as u32,
            (base >> 40) as u32 | (self.data << 20) | (self.number << 26),
            width | (height << 14),
            // Every component is itself.
            0o7654 | (self.kind << 28),
            depth | ((self.pitch - 1) << 13),
            0,
            0,
            0,
            self.hsa[0],
            self.hsa[1],
            self.size[0],
            0,
        ]
    }

    /// The position of a texel, in texels.
    pub(crate) fn texel(&self, [x, y, z]: [u32; 3]) -> usize {
        ((z * self.size[1] + y) * self.pitch + x) as usize
    }

    /// Texels in memory.
    pub(crate) fn texels(&self) -> usize {
        (self.pitch * self.size[1] * self.size[2]) as usize
    }
}

/// A sampler: how coordinates outside of the image are clamped, whether texels are blended, whether coordinates are
/// normalised.
pub(crate) fn sampler(clamp: u32, linear: bool, normalized: bool) -> [u32; 4] {
    let filter = u32::from(linear);
    [(clamp * 0o111) | (u32::from(!normalized) << 15), 0xfff << 12, (filter << 20) | (filter << 22), 0]
}

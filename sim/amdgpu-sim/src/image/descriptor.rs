//! Descriptor words that kernels and the sampling hardware read: the image and sampler descriptors of AMD's CDNA2 ISA
//! manual.

use super::{Kind, Layout};

/// The words of an image descriptor, and those after it with properties that the descriptor lacks or encodes.
pub const IMAGE_WORDS: usize = 12;

/// The words of a sampler descriptor, and the unused words after it.
pub const SAMPLER_WORDS: usize = 8;

impl Layout {
    /// The descriptor of an image at an address.
    pub fn words(&self, base: u64) -> [u32; IMAGE_WORDS] {
        let (kind, format) = (self.kind(), self.format());
        let [width, height, planes] = self.size().map(|size| size as u32);
        let select = format.select.iter().rev().fold(0, |bits, select| bits << 3 | select);
        let mut words = [0; IMAGE_WORDS];
        if kind == Kind::Buffer {
            words[0] = base as u32;
            words[1] = (base >> 32) as u32 & 0xffff | (format.bytes as u32) << 16;
            words[2] = width;
            words[3] = select | format.number << 12 | format.data << 15;
        } else {
            let shape: u32 = match kind {
                Kind::Line | Kind::Buffer => 8,
                Kind::Plane => 9,
                Kind::Volume => 10,
                Kind::Lines => 12,
                Kind::Planes => 13,
            };
            let pitch = (self.pitch() / format.bytes).max(1) as u32;
            words[0] = (base >> 8) as u32;
            words[1] = (base >> 40) as u32 | format.data << 20 | format.number << 26;
            words[2] = (width - 1) | (height - 1) << 14;
            words[3] = select | shape << 28;
            words[4] = (planes - 1) | (pitch - 1) << 13;
        }
        words[8] = format.channel_type as u32;
        words[9] = format.channel_order as u32;
        words[10] = width;
        words
    }
}

/// The treatment of coordinates outside an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// Repeats the image.
    Repeat,
    /// Repeats the image, mirrored every other time.
    Mirror,
    /// Uses the nearest texel.
    Clamp,
    /// Uses transparent black.
    Border,
}

/// The sampling parameters of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sampler {
    /// The address mode of each dimension.
    pub address: [AddressMode; 3],
    /// Whether texels are interpolated, instead of using the nearest.
    pub linear: bool,
    /// Whether coordinates range from 0 to 1, instead of counting texels.
    pub normalized: bool,
}

impl Sampler {
    /// The sampler descriptor.
    pub fn words(&self) -> [u32; SAMPLER_WORDS] {
        let [x, y, z] = self.address.map(|mode| match mode {
            AddressMode::Repeat => 0,
            AddressMode::Mirror => 1,
            AddressMode::Clamp => 2,
            AddressMode::Border => 6,
        });
        let filter = u32::from(self.linear);
        let mut words = [0; SAMPLER_WORDS];
        words[0] = x | y << 3 | z << 6 | u32::from(!self.normalized) << 15;
        // No limit on the level of detail.
        words[1] = 0xfff << 12;
        words[2] = filter << 20 | filter << 22;
        words
    }
}

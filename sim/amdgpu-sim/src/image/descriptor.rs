//! The words that kernels and the sampling hardware read: the image and sampler descriptors of AMD's CDNA2 ISA manual.

use super::{Kind, Layout};

/// Words of an image's descriptor with those behind it, from which kernels take what the descriptor does not have in plain form.
pub const IMAGE_WORDS: usize = 12;

/// Words of a sampler's descriptor, with those that are kept free behind it.
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

/// How coordinates outside of an image are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// The image again.
    Repeat,
    /// The image again, every other time in reverse.
    Mirror,
    /// The nearest texel.
    Clamp,
    /// Transparent black.
    Border,
}

/// How an image is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sampler {
    /// Along each dimension.
    pub address: [AddressMode; 3],
    /// Whether texels are blended, rather than the nearest taken.
    pub linear: bool,
    /// Whether coordinates go from 0 to 1, rather than count texels.
    pub normalized: bool,
}

impl Sampler {
    /// Its descriptor.
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
        // No level of detail is too high.
        words[1] = 0xfff << 12;
        words[2] = filter << 20 | filter << 22;
        words
    }
}

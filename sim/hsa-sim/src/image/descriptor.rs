//! The words that kernels and the sampling hardware read: the image and sampler descriptors of AMD's CDNA2 ISA manual.

use super::{Kind, Layout};
use crate::abi::*;
use crate::runtime::Result;

/// Words of an image's descriptor with those behind it, from which kernels take what the descriptor does not have in plain form.
const IMAGE_WORDS: usize = 12;

/// Words of a sampler's descriptor, as many as HIP copies.
const SAMPLER_WORDS: usize = 8;

/// The descriptor of an image at an address.
pub(crate) fn image_words(layout: &Layout, base: u64) -> [u32; IMAGE_WORDS] {
    let Layout { kind, format, size, .. } = layout;
    let [width, height, planes] = size.map(|size| size as u32);
    let select = format.select.iter().rev().fold(0, |bits, select| bits << 3 | select);
    let mut words = [0; IMAGE_WORDS];
    if *kind == Kind::Buffer {
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
        let pitch = (layout.pitch / format.bytes).max(1) as u32;
        words[0] = (base >> 8) as u32;
        words[1] = (base >> 40) as u32 | format.data << 20 | format.number << 26;
        words[2] = (width - 1) | (height - 1) << 14;
        words[3] = select | shape << 28;
        words[4] = (planes - 1) | (pitch - 1) << 13;
    }
    words[8] = format.hsa.channel_type;
    words[9] = format.hsa.channel_order;
    words[10] = width;
    words
}

/// The layout that another driver has written into a descriptor for its own memory, if it is the one of an image like this, and linear.
pub(crate) fn layout_of_words(words: &[u32; 8], of: &hsa_ext_image_descriptor_t) -> Result<Layout> {
    let pitch = ((words[4] >> 13) & 0xffff) as usize + 1;
    let tiling = (words[3] >> 20) & 0x1f;
    let bytes = Layout::opaque(of)?.format.bytes;
    let layout = Layout::linear(of, pitch * bytes, 0)?;
    let ours = image_words(&layout, 0);
    // Levels of detail there are none of, and addresses are for who has the memory to know.
    let same = (ours[1] ^ words[1]) >> 20 == 0 && ours[2] == words[2] && (ours[3] ^ words[3]) & 0xf000_0fff == 0;
    if tiling != 0 || !same || (ours[4] ^ words[4]) & 0x1fff != 0 {
        return Err(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED);
    }
    Ok(layout)
}

/// How coordinates outside of the image are taken.
fn clamp(mode: u32) -> Result<u32> {
    Ok(match mode {
        HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT => 0,
        HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT => 1,
        HSA_EXT_SAMPLER_ADDRESSING_MODE_UNDEFINED | HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE => 2,
        HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER => 6,
        _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
    })
}

/// The descriptor of a sampler. The border is transparent black.
pub(crate) fn sampler_words(of: &hsa_ext_sampler_descriptor_v2_t) -> Result<[u32; SAMPLER_WORDS]> {
    let unnormalized = match of.coordinate_mode {
        HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED => 1,
        HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED => 0,
        _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
    };
    let filter = match of.filter_mode {
        HSA_EXT_SAMPLER_FILTER_MODE_NEAREST => 0,
        HSA_EXT_SAMPLER_FILTER_MODE_LINEAR => 1,
        _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
    };
    let [x, y, z] = of.address_modes;
    let mut words = [0; SAMPLER_WORDS];
    words[0] = clamp(x)? | clamp(y)? << 3 | clamp(z)? << 6 | unnormalized << 15;
    // No level of detail is too high.
    words[1] = 0xfff << 12;
    words[2] = filter << 20 | filter << 22;
    Ok(words)
}

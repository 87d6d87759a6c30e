//! The words that kernels and the sampling hardware read: the image and sampler descriptors of AMD's CDNA2 ISA manual.

use super::format::texel_bytes;
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

/// The layout that another driver has written into a descriptor for its own memory, if it is linear and its sizes are those of an image
/// like this. What the texels are, and whether planes are layers, is the image's to say, as views of it may see them in another way.
pub(crate) fn layout_of_words(words: &[u32; 8], of: &hsa_ext_image_descriptor_t) -> Result<Layout> {
    let opaque = Layout::opaque(of)?;
    let (data, tiling) = (words[1] >> 20 & 0x3f, words[3] >> 20 & 0x1f);
    let size = [words[2] & 0x3fff, words[2] >> 14 & 0x3fff, words[4] & 0x1fff].map(|size| size as usize + 1);
    if tiling != 0 || texel_bytes(data) != Some(opaque.format.bytes) || size != opaque.size {
        return Err(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED);
    }
    let pitch = ((words[4] >> 13) & 0xffff) as usize + 1;
    Layout::linear(of, pitch * opaque.format.bytes, 0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_driver_has_laid_out_is_told_by_its_words() {
        let format = hsa_ext_image_format_t {
            channel_type: HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT,
            channel_order: HSA_EXT_IMAGE_CHANNEL_ORDER_R,
        };
        let (geometry, width, height) = (HSA_EXT_IMAGE_GEOMETRY_2D, 5, 3);
        let of =
            hsa_ext_image_descriptor_t { geometry, width, height, format, ..hsa_ext_image_descriptor_t::default() };
        let theirs = Layout::linear(&of, 1024, 0).unwrap();
        let whole = image_words(&theirs, 0x1234_5600);
        let words: [u32; 8] = std::array::from_fn(|index| whole[index]);
        assert_eq!(layout_of_words(&words, &of), Ok(theirs));
        // As other numbers of as many bytes, for a copy.
        let channel_type = HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32;
        let number = hsa_ext_image_descriptor_t { format: hsa_ext_image_format_t { channel_type, ..format }, ..of };
        assert_eq!(layout_of_words(&words, &number).unwrap().pitch, 1024);
        let refused = Err(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED);
        let channel_type = HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8;
        let smaller = hsa_ext_image_descriptor_t { format: hsa_ext_image_format_t { channel_type, ..format }, ..of };
        assert_eq!(layout_of_words(&words, &smaller), refused);
        assert_eq!(layout_of_words(&words, &hsa_ext_image_descriptor_t { height: 4, ..of }), refused);
        let mut tiled = words;
        tiled[3] |= 9 << 20;
        assert_eq!(layout_of_words(&tiled, &of), refused);
    }
}

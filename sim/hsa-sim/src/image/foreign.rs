//! Images that another driver has laid out, described by the words of the GPU's image descriptor.

use amdgpu_sim::image::Layout;

use super::{linear, opaque};
use crate::abi::{HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED, hsa_ext_image_descriptor_t};
use crate::result::Result;

/// Bytes of a texel of a data format, by its number in AMD's CDNA2 ISA manual.
fn texel_bytes(data: u32) -> Option<usize> {
    Some(match data {
        1 => 1,
        2 | 3 => 2,
        4 | 5 | 10 => 4,
        11 | 12 => 8,
        14 => 16,
        _ => return None,
    })
}

/// The layout that another driver's descriptor specifies, if it is linear and has this image's sizes. The texel format,
/// and whether planes are layers, come from the image: views may interpret them differently.
pub(crate) fn layout_of_words(words: &[u32; 8], of: &hsa_ext_image_descriptor_t) -> Result<Layout> {
    let own = opaque(of)?;
    let bytes = own.format().bytes();
    let (data, tiling) = (words[1] >> 20 & 0x3f, words[3] >> 20 & 0x1f);
    let size = [words[2] & 0x3fff, words[2] >> 14 & 0x3fff, words[4] & 0x1fff].map(|size| size as usize + 1);
    if tiling != 0 || texel_bytes(data) != Some(bytes) || size != own.size() {
        return Err(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED);
    }
    let pitch = ((words[4] >> 13) & 0xffff) as usize + 1;
    linear(of, pitch * bytes, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::*;

    #[test]
    fn what_another_driver_has_laid_out_is_told_by_its_words() {
        let channel_order = HSA_EXT_IMAGE_CHANNEL_ORDER_R;
        let format = |channel_type| hsa_ext_image_format_t { channel_type, channel_order };
        let of = hsa_ext_image_descriptor_t {
            geometry: HSA_EXT_IMAGE_GEOMETRY_2D,
            width: 5,
            height: 3,
            format: format(HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT),
            ..hsa_ext_image_descriptor_t::default()
        };
        let theirs = linear(&of, 1024, 0).unwrap();
        let whole = theirs.words(0x1234_5600);
        let words: [u32; 8] = std::array::from_fn(|index| whole[index]);
        assert_eq!(layout_of_words(&words, &of), Ok(theirs));
        // Described as integers of the same size, for a copy.
        let number = hsa_ext_image_descriptor_t { format: format(HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32), ..of };
        assert_eq!(layout_of_words(&words, &number).unwrap().pitch(), 1024);
        let refused = Err(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED);
        let smaller = hsa_ext_image_descriptor_t { format: format(HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8), ..of };
        assert_eq!(layout_of_words(&words, &smaller), refused);
        assert_eq!(layout_of_words(&words, &hsa_ext_image_descriptor_t { height: 4, ..of }), refused);
        let mut tiled = words;
        tiled[3] |= 9 << 20;
        assert_eq!(layout_of_words(&tiled, &of), refused);
    }
}

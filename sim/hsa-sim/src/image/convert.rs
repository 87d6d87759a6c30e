//! Converts HSA's image and sampler descriptions to the software GPU's.

use amdgpu_sim::image::{AddressMode, ChannelOrder, ChannelType, Format, ImageError, Kind, Layout, Sampler};

use crate::abi::*;
use crate::result::Result;

/// The image kind of a geometry.
pub(crate) fn kind(geometry: u32) -> Result<Kind> {
    Ok(match geometry {
        HSA_EXT_IMAGE_GEOMETRY_1D => Kind::Line,
        HSA_EXT_IMAGE_GEOMETRY_2D | HSA_EXT_IMAGE_GEOMETRY_2DDEPTH => Kind::Plane,
        HSA_EXT_IMAGE_GEOMETRY_3D => Kind::Volume,
        HSA_EXT_IMAGE_GEOMETRY_1DA => Kind::Lines,
        HSA_EXT_IMAGE_GEOMETRY_2DA | HSA_EXT_IMAGE_GEOMETRY_2DADEPTH => Kind::Planes,
        HSA_EXT_IMAGE_GEOMETRY_1DB => Kind::Buffer,
        _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
    })
}

/// The format, if the software GPU supports it.
fn format(of: hsa_ext_image_format_t) -> Option<Format> {
    Format::new(ChannelType::from_number(of.channel_type)?, ChannelOrder::from_number(of.channel_order)?)
}

/// The access that kernels have to images of a format.
pub(crate) fn capability(of: hsa_ext_image_format_t) -> u32 {
    let load = HSA_EXT_IMAGE_CAPABILITY_READ_ONLY | HSA_EXT_IMAGE_CAPABILITY_ACCESS_INVARIANT_DATA_LAYOUT;
    let store = HSA_EXT_IMAGE_CAPABILITY_WRITE_ONLY | HSA_EXT_IMAGE_CAPABILITY_READ_WRITE;
    match format(of) {
        Some(format) if format.can_be_stored() => load | store,
        Some(_) => load,
        None => HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED,
    }
}

fn refused(error: ImageError) -> hsa_status_t {
    match error {
        ImageError::Size { .. } => HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED,
        ImageError::Pitch { .. } => HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED,
        _ => HSA_STATUS_ERROR_INVALID_ARGUMENT,
    }
}

/// Kind, format and size of an image.
fn parts(of: &hsa_ext_image_descriptor_t) -> Result<(Kind, Format, [usize; 3])> {
    let kind = kind(of.geometry)?;
    let format = format(of.format).ok_or(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED)?;
    // HSA requires that unused sizes are zero; programs also pass 1.
    let unused = |size: usize| if size <= 1 { Ok(1) } else { Err(HSA_STATUS_ERROR_INVALID_ARGUMENT) };
    let (height, planes) = match kind {
        Kind::Line | Kind::Buffer => (unused(of.height)?, unused(of.depth.max(of.array_size))?),
        Kind::Plane => (of.height, unused(of.depth.max(of.array_size))?),
        Kind::Volume => (of.height, of.depth),
        Kind::Lines => (unused(of.height)?, of.array_size),
        Kind::Planes => (of.height, of.array_size),
    };
    Ok((kind, format, [of.width, height, planes]))
}

/// The layout of an opaque image, which the runtime chooses.
pub(crate) fn opaque(of: &hsa_ext_image_descriptor_t) -> Result<Layout> {
    let (kind, format, size) = parts(of)?;
    Layout::opaque(kind, format, size).map_err(refused)
}

/// The layout that the program chose. A pitch of 0 means no gaps.
pub(crate) fn linear(of: &hsa_ext_image_descriptor_t, pitch: usize, slice: usize) -> Result<Layout> {
    let (kind, format, size) = parts(of)?;
    Layout::linear(kind, format, size, pitch, slice).map_err(refused)
}

/// The size and alignment of an image.
pub(crate) fn info(layout: &Layout) -> hsa_ext_image_data_info_t {
    hsa_ext_image_data_info_t { size: layout.bytes(), alignment: layout.alignment() }
}

/// The addressing mode for coordinates outside the image.
fn address(mode: u32) -> Result<AddressMode> {
    Ok(match mode {
        HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT => AddressMode::Repeat,
        HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT => AddressMode::Mirror,
        HSA_EXT_SAMPLER_ADDRESSING_MODE_UNDEFINED | HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE => AddressMode::Clamp,
        HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER => AddressMode::Border,
        _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
    })
}

/// The sampler of a description. The border is transparent black.
pub(crate) fn sampler(of: &hsa_ext_sampler_descriptor_v2_t) -> Result<Sampler> {
    let normalized = match of.coordinate_mode {
        HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED => false,
        HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED => true,
        _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
    };
    let linear = match of.filter_mode {
        HSA_EXT_SAMPLER_FILTER_MODE_NEAREST => false,
        HSA_EXT_SAMPLER_FILTER_MODE_LINEAR => true,
        _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
    };
    let [x, y, z] = of.address_modes;
    Ok(Sampler { address: [address(x)?, address(y)?, address(z)?], linear, normalized })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(width: usize, height: usize) -> hsa_ext_image_descriptor_t {
        let format = hsa_ext_image_format_t {
            channel_type: HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT,
            channel_order: HSA_EXT_IMAGE_CHANNEL_ORDER_R,
        };
        hsa_ext_image_descriptor_t {
            geometry: HSA_EXT_IMAGE_GEOMETRY_2D,
            width,
            height,
            format,
            ..hsa_ext_image_descriptor_t::default()
        }
    }

    #[test]
    fn images_that_cannot_be_have_their_status() {
        let opaque = |of: hsa_ext_image_descriptor_t| opaque(&of).err();
        assert_eq!(opaque(plane(16384, 16384)), None);
        assert_eq!(opaque(plane(16385, 1)), Some(HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED));
        assert_eq!(opaque(plane(1, usize::MAX)), Some(HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED));
        assert_eq!(opaque(plane(0, 1)), Some(HSA_STATUS_ERROR_INVALID_ARGUMENT));
        let line = hsa_ext_image_descriptor_t { geometry: HSA_EXT_IMAGE_GEOMETRY_1D, ..plane(4, 2) };
        assert_eq!(opaque(line), Some(HSA_STATUS_ERROR_INVALID_ARGUMENT));
        let unknown = hsa_ext_image_descriptor_t { geometry: 99, ..plane(4, 2) };
        assert_eq!(opaque(unknown), Some(HSA_STATUS_ERROR_INVALID_ARGUMENT));
        let planes =
            hsa_ext_image_descriptor_t { geometry: HSA_EXT_IMAGE_GEOMETRY_2DA, array_size: 8193, ..plane(4, 2) };
        assert_eq!(opaque(planes), Some(HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED));
        assert_eq!(linear(&plane(65, 3), 260, 0), Err(HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED));
        for (channel_type, channel_order) in [(99, 1), (1, 99), (15, 6), (15, 14)] {
            let format = hsa_ext_image_format_t { channel_type, channel_order };
            let of = hsa_ext_image_descriptor_t { format, ..plane(4, 2) };
            assert_eq!(opaque(of), Some(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED));
            assert_eq!(capability(format), HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED);
        }
    }
}

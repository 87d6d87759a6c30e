//! The image extension. Not supported on a GPU without image instructions.

use std::ffi::c_void;

use amdgpu_sim::image::{Layout, MOST_DEPTH, MOST_LAYERS, MOST_SIDE};

use super::function::{functions, put};
use crate::abi::*;
use crate::agent::AgentId;
use crate::driver::VENDOR;
use crate::image::{Box3, Image, Linear, capability, info, kind, linear, opaque, sampler};
use crate::image::{clear, copy, export, import, layout_of_words};
use crate::result::Result;
use crate::runtime::{Runtime, runtime};

/// The extension's functions.
pub(super) const TABLE: hsa_ext_images_1_pfn_t = hsa_ext_images_1_pfn_t {
    hsa_ext_image_get_capability,
    hsa_ext_image_data_get_info,
    hsa_ext_image_create,
    hsa_ext_image_destroy,
    hsa_ext_image_copy,
    hsa_ext_image_import,
    hsa_ext_image_export,
    hsa_ext_image_clear,
    hsa_ext_sampler_create,
    hsa_ext_sampler_destroy,
    hsa_ext_image_get_capability_with_layout,
    hsa_ext_image_data_get_info_with_layout,
    hsa_ext_image_create_with_layout,
    hsa_ext_sampler_create_v2,
};

/// The runtime and the agent behind a handle, which must be a GPU with image support.
fn with_images(agent: hsa_agent_t) -> Result<(&'static Runtime, AgentId)> {
    let runtime = runtime()?;
    let agent = runtime.agents.get(agent)?;
    let gpu = runtime.agents.gpu(agent)?;
    if has_images(gpu.config().arch) { Ok((runtime, agent)) } else { Err(HSA_STATUS_ERROR_NOT_SUPPORTED) }
}

/// Returns whether the processor has image instructions.
fn has_images(arch: amdgpu_sim::Arch) -> bool {
    arch != amdgpu_sim::Arch::Gfx942
}

/// Reads a value through a program's pointer; refuses null.
///
/// # Safety
/// It must be null or valid for the read.
unsafe fn read<T: Copy>(from: *const T) -> Result<T> {
    if from.is_null() {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: not null, so the caller vouches for it.
    Ok(unsafe { from.read_unaligned() })
}

/// The layout with this number and the program's pitches.
fn layout(of: &hsa_ext_image_descriptor_t, layout: u32, pitch: usize, slice: usize) -> Result<Layout> {
    match layout {
        HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE if pitch == 0 && slice == 0 => opaque(of),
        HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR => linear(of, pitch, slice),
        _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
    }
}

fn permitted(access: u32) -> Result<()> {
    match access {
        HSA_ACCESS_PERMISSION_RO | HSA_ACCESS_PERMISSION_WO | HSA_ACCESS_PERMISSION_RW => Ok(()),
        _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
    }
}

/// Creates an image.
unsafe fn create(
    runtime: &Runtime,
    layout: Layout,
    data: *const c_void,
    access: u32,
    image: *mut hsa_ext_image_t,
) -> Result<()> {
    permitted(access)?;
    let data = data as u64;
    if data == 0 || image.is_null() || data % layout.alignment() as u64 != 0 {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    let words = layout.words(data);
    let handle = runtime.images.insert_image((&runtime.memory, &runtime.agents), Image { layout, data }, &words)?;
    // SAFETY: the caller vouches for it.
    unsafe { put(image, hsa_ext_image_t { handle }) }
}

/// The image behind a handle, and the box that a region describes.
unsafe fn part(
    runtime: &Runtime,
    image: hsa_ext_image_t,
    region: *const hsa_ext_image_region_t,
) -> Result<(Image, Box3)> {
    let image = runtime.images.image(image.handle)?;
    // SAFETY: as the caller vouches.
    let region = unsafe { read(region) }?;
    Ok((image, Box3::of(&image, region.offset, region.range)?))
}

functions! {
    /// Returns the access that an agent's kernels have to images of a format, in the runtime's layout.
    fn hsa_ext_image_get_capability(
        agent: hsa_agent_t,
        geometry: u32,
        format: *const hsa_ext_image_format_t,
        to: *mut u32,
    ) {
        with_images(agent)?;
        kind(geometry)?;
        // SAFETY: the caller vouches for both.
        unsafe { put(to, capability(read(format)?)) }
    }

    /// The same for a given layout, with the same result.
    fn hsa_ext_image_get_capability_with_layout(
        agent: hsa_agent_t,
        geometry: u32,
        format: *const hsa_ext_image_format_t,
        layout: u32,
        to: *mut u32,
    ) {
        with_images(agent)?;
        kind(geometry)?;
        if layout > HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for both.
        unsafe { put(to, capability(read(format)?)) }
    }

    /// Returns the size and alignment of an image.
    fn hsa_ext_image_data_get_info(
        agent: hsa_agent_t,
        descriptor: *const hsa_ext_image_descriptor_t,
        access: u32,
        to: *mut hsa_ext_image_data_info_t,
    ) {
        with_images(agent)?;
        permitted(access)?;
        // SAFETY: the caller vouches for both.
        unsafe { put(to, info(&opaque(&read(descriptor)?)?)) }
    }

    /// Returns the size and alignment of an image in a layout.
    fn hsa_ext_image_data_get_info_with_layout(
        agent: hsa_agent_t,
        descriptor: *const hsa_ext_image_descriptor_t,
        access: u32,
        layout_of: u32,
        pitch: usize,
        slice: usize,
        to: *mut hsa_ext_image_data_info_t,
    ) {
        with_images(agent)?;
        permitted(access)?;
        // SAFETY: the caller vouches for both.
        unsafe { put(to, info(&layout(&read(descriptor)?, layout_of, pitch, slice)?)) }
    }

    /// Creates an image in memory.
    fn hsa_ext_image_create(
        agent: hsa_agent_t,
        descriptor: *const hsa_ext_image_descriptor_t,
        data: *const c_void,
        access: u32,
        image: *mut hsa_ext_image_t,
    ) {
        let (runtime, _) = with_images(agent)?;
        // SAFETY: the caller vouches for the pointers.
        unsafe { create(runtime, opaque(&read(descriptor)?)?, data, access, image) }
    }

    /// Creates an image in memory with a layout.
    fn hsa_ext_image_create_with_layout(
        agent: hsa_agent_t,
        descriptor: *const hsa_ext_image_descriptor_t,
        data: *const c_void,
        access: u32,
        layout_of: u32,
        pitch: usize,
        slice: usize,
        image: *mut hsa_ext_image_t,
    ) {
        let (runtime, _) = with_images(agent)?;
        // SAFETY: the caller vouches for the pointers.
        unsafe { create(runtime, layout(&read(descriptor)?, layout_of, pitch, slice)?, data, access, image) }
    }

    /// Creates an image in memory that another driver has laid out, described by the words of the GPU's image
    /// descriptor. Only the linear layout is supported.
    fn hsa_amd_image_create(
        agent: hsa_agent_t,
        descriptor: *const hsa_ext_image_descriptor_t,
        words: *const hsa_amd_image_descriptor_t,
        data: *const c_void,
        access: u32,
        image: *mut hsa_ext_image_t,
    ) {
        let (runtime, _) = with_images(agent)?;
        // SAFETY: the caller vouches for the pointers; a descriptor of this version has eight words.
        unsafe {
            let hsa_amd_image_descriptor_t { version, deviceID, .. } = read(words)?;
            if version != 1 || deviceID != VENDOR << 16 | runtime.agents.chip.chip_id {
                return Err(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED);
            }
            let layout = layout_of_words(&read((&raw const (*words).data).cast())?, &read(descriptor)?)?;
            create(runtime, layout, data, access, image)
        }
    }

    /// Destroys an image. Its memory stays.
    fn hsa_ext_image_destroy(agent: hsa_agent_t, image: hsa_ext_image_t) {
        let (runtime, _) = with_images(agent)?;
        runtime.images.remove_image(image.handle)
    }

    /// Copies a box of texels between images, synchronously.
    fn hsa_ext_image_copy(
        agent: hsa_agent_t,
        from: hsa_ext_image_t,
        from_offset: *const hsa_dim3_t,
        to: hsa_ext_image_t,
        to_offset: *const hsa_dim3_t,
        range: *const hsa_dim3_t,
    ) {
        let (runtime, _) = with_images(agent)?;
        let (from, to) = (runtime.images.image(from.handle)?, runtime.images.image(to.handle)?);
        // SAFETY: the caller vouches for the pointers.
        let (from_offset, to_offset, range) = unsafe { (read(from_offset)?, read(to_offset)?, read(range)?) };
        let (source, destination) = (Box3::of(&from, from_offset, range)?, Box3::of(&to, to_offset, range)?);
        copy(runtime.agents.space(), (&from, &source), (&to, &destination))
    }

    /// Copies from memory to an image, synchronously.
    fn hsa_ext_image_import(
        agent: hsa_agent_t,
        memory: *const c_void,
        pitch: usize,
        slice: usize,
        image: hsa_ext_image_t,
        region: *const hsa_ext_image_region_t,
    ) {
        let (runtime, _) = with_images(agent)?;
        // SAFETY: the caller vouches for the pointers.
        let (image, part) = unsafe { part(runtime, image, region) }?;
        let from = Linear { base: memory as u64, pitch: pitch as u64, slice: slice as u64 };
        import(runtime.agents.space(), from, &image, &part)
    }

    /// Copies from an image to memory, synchronously.
    fn hsa_ext_image_export(
        agent: hsa_agent_t,
        image: hsa_ext_image_t,
        memory: *mut c_void,
        pitch: usize,
        slice: usize,
        region: *const hsa_ext_image_region_t,
    ) {
        let (runtime, _) = with_images(agent)?;
        // SAFETY: the caller vouches for the pointers.
        let (image, part) = unsafe { part(runtime, image, region) }?;
        let to = Linear { base: memory as u64, pitch: pitch as u64, slice: slice as u64 };
        export(runtime.agents.space(), &image, &part, to)
    }

    /// Fills a box with a texel, given as four floats or integers, synchronously.
    fn hsa_ext_image_clear(
        agent: hsa_agent_t,
        image: hsa_ext_image_t,
        data: *const c_void,
        region: *const hsa_ext_image_region_t,
    ) {
        let (runtime, _) = with_images(agent)?;
        // SAFETY: the caller vouches for the pointers.
        let ((image, part), components) = unsafe { (part(runtime, image, region)?, read(data.cast::<[u32; 4]>())?) };
        clear(runtime.agents.space(), &image, &part, components)
    }

    /// Creates a sampler.
    fn hsa_ext_sampler_create(
        agent: hsa_agent_t,
        descriptor: *const hsa_ext_sampler_descriptor_t,
        sampler: *mut hsa_ext_sampler_t,
    ) {
        let (runtime, _) = with_images(agent)?;
        if sampler.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for it.
        let hsa_ext_sampler_descriptor_t { coordinate_mode, filter_mode, address_mode } = unsafe { read(descriptor) }?;
        let address_modes = [address_mode; 3];
        let of = hsa_ext_sampler_descriptor_v2_t { coordinate_mode, filter_mode, address_modes };
        let handle = runtime.images.insert_sampler((&runtime.memory, &runtime.agents), &self::sampler(&of)?.words())?;
        // SAFETY: the caller vouches for it.
        unsafe { put(sampler, hsa_ext_sampler_t { handle }) }
    }

    /// Creates a sampler with an addressing mode for each axis.
    fn hsa_ext_sampler_create_v2(
        agent: hsa_agent_t,
        descriptor: *const hsa_ext_sampler_descriptor_v2_t,
        sampler: *mut hsa_ext_sampler_t,
    ) {
        let (runtime, _) = with_images(agent)?;
        if sampler.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for it.
        let of = unsafe { read(descriptor) }?;
        let handle = runtime.images.insert_sampler((&runtime.memory, &runtime.agents), &self::sampler(&of)?.words())?;
        // SAFETY: the caller vouches for it.
        unsafe { put(sampler, hsa_ext_sampler_t { handle }) }
    }

    /// Destroys a sampler.
    fn hsa_ext_sampler_destroy(agent: hsa_agent_t, sampler: hsa_ext_sampler_t) {
        let (runtime, _) = with_images(agent)?;
        runtime.images.remove_sampler(sampler.handle)
    }

    /// Returns a size limit of images of a geometry.
    fn hsa_amd_image_get_info_max_dim(agent: hsa_agent_t, attribute: u32, value: *mut c_void) {
        with_images(agent)?;
        // SAFETY: the caller vouches that `value` has room for the attribute.
        unsafe { limit(attribute, value) }
    }
}

/// Writes an agent attribute that is a limit of its images.
///
/// # Safety
/// `value` must be null or have room for the attribute.
pub(super) unsafe fn limit(attribute: u32, value: *mut c_void) -> Result<()> {
    // SAFETY: the caller vouches for `value`.
    unsafe {
        match attribute {
            HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS..=HSA_EXT_AGENT_INFO_IMAGE_1DA_MAX_ELEMENTS => {
                put(value, MOST_SIDE as u32)
            }
            HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS => put(value, u32::MAX),
            HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS..=HSA_EXT_AGENT_INFO_IMAGE_2DADEPTH_MAX_ELEMENTS => {
                put(value, [MOST_SIDE as u32; 2])
            }
            HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS => {
                put(value, [MOST_SIDE, MOST_SIDE, MOST_DEPTH].map(|most| most as u32))
            }
            HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS => put(value, MOST_LAYERS as u32),
            _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
        }
    }
}

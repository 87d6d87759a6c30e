//! Texture and surface objects.

#![allow(non_upper_case_globals, reason = "HIP's names in patterns")]

use std::ffi::c_void;

use amdgpu_sim::image::{AddressMode, IMAGE_WORDS, ImageError, Kind, Layout, Sampler};
use hip_sys::rocm_7_2::*;

use super::graph::handle;
use super::mipmap::mipmap_of;
use super::{hip_functions, put};
use crate::allocation::{address, ensure_room, find, pointer};
use crate::array::{Channels, FACES};
use crate::images::Object;
use crate::properties::PITCH_ALIGN;
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};

/// The cube type, in the four highest bits of word 3 of an image descriptor. The lowest 13 bits of word 4 then hold the
/// number of cubes minus one.
const TYPE_CUBE: u32 = 11;

/// Texels in memory, without the way to read them.
struct Texels {
    device: usize,
    base: u64,
    channels: Channels,
    kind: Kind,
    size: [usize; 3],
    /// The row pitch in bytes; 0 for an array.
    pitch: usize,
    /// The planes are the faces of cubes.
    is_cube: bool,
}

fn invalid(text: impl Into<String>) -> Refusal {
    Refusal::new(hipErrorInvalidValue, text)
}

impl Texels {
    /// The texels of an array.
    fn of_array(runtime: &Runtime, array: hipArray_t) -> Result<Self, Refusal> {
        ensure(!array.is_null(), hipErrorInvalidValue)?;
        let array = runtime.array(array)?;
        let (kind, size) = (array.layout.kind(), array.layout.size());
        let is_cube = array.flags & hipArrayCubemap != 0;
        Ok(Self { device: array.device, base: array.base, channels: array.channels, kind, size, pitch: 0, is_cube })
    }

    /// The texels of the one level of a mipmapped array that a texture reads, chosen by [`level_of`].
    fn of_levels(
        runtime: &Runtime,
        mipmap: hipMipmappedArray_t,
        texture: &hipTextureDesc,
        view: Option<&hipResourceViewDesc>,
    ) -> Result<Self, Refusal> {
        ensure(!mipmap.is_null(), hipErrorInvalidValue)?;
        let mipmap = mipmap_of(runtime, mipmap.cast_const())?;
        let level = level_of(mipmap.levels.len() as u32, texture, view)?;
        let mut largest = Self::of_array(runtime, handle(mipmap.levels[0]))?;
        if let Some(view) = view {
            // The view has selected the levels; its sizes are those of the largest level.
            largest = largest.viewed(&hipResourceViewDesc { firstMipmapLevel: 0, lastMipmapLevel: 0, ..*view })?;
        }
        let texels = Self::of_array(runtime, handle(mipmap.levels[level as usize]))?;
        Ok(Self { channels: largest.channels, ..texels })
    }

    /// Texels in memory, starting at `ptr`.
    fn of_memory(
        runtime: &Runtime,
        ptr: *mut c_void,
        texel: &hipChannelFormatDesc,
        kind: Kind,
        size: [usize; 3],
        pitch: usize,
    ) -> Result<Self, Refusal> {
        let channels = Channels::of(texel).ok_or(hipErrorInvalidValue)?;
        let base = address(ptr);
        let block = find(runtime, base).ok_or_else(|| invalid(format!("{base:#x} is not in live device memory")))?;
        if base % PITCH_ALIGN as u64 != 0 {
            return Err(invalid(format!("a texture at {base:#x}, which is no multiple of {PITCH_ALIGN} bytes")));
        }
        ensure(size.iter().all(|size| *size > 0), hipErrorInvalidValue)?;
        let row = size[0].checked_mul((channels.bits * channels.count / 8) as usize).ok_or(hipErrorInvalidValue)?;
        let span = pitch.checked_mul(size[1] - 1).and_then(|before| before.checked_add(row));
        ensure_room(runtime, &block, base, span.ok_or(hipErrorInvalidValue)? as u64, false)?;
        Ok(Self { device: block.device, base, channels, kind, size, pitch, is_cube: false })
    }

    /// The texels of a resource, for a texture with this description.
    ///
    /// # Safety
    /// The kind in the description must be that of its contents.
    unsafe fn of_resource(
        runtime: &Runtime,
        resource: &hipResourceDesc,
        texture: &hipTextureDesc,
        view: Option<&hipResourceViewDesc>,
    ) -> Result<Self, Refusal> {
        // SAFETY: as the caller vouches.
        let texels = unsafe { Self::of_plain(runtime, resource) };
        match (resource.resType, view) {
            (hipResourceTypeMipmappedArray, _) => {
                // SAFETY: as the caller vouches.
                Self::of_levels(runtime, unsafe { resource.res.mipmap.mipmap }, texture, view)
            }
            (_, Some(view)) => texels?.viewed(view),
            (_, None) => texels,
        }
    }

    /// The texels of a resource without levels.
    ///
    /// # Safety
    /// As of [`of_resource`](Self::of_resource).
    unsafe fn of_plain(runtime: &Runtime, resource: &hipResourceDesc) -> Result<Self, Refusal> {
        let res = resource.res;
        match resource.resType {
            // SAFETY: as the caller vouches.
            hipResourceTypeArray => Self::of_array(runtime, unsafe { res.array.array }),
            hipResourceTypeLinear => {
                // SAFETY: as the caller vouches.
                let hipResourceDesc_res_linear { devPtr, desc, sizeInBytes } = unsafe { res.linear };
                let channels = Channels::of(&desc).ok_or(hipErrorInvalidValue)?;
                let texels = sizeInBytes / (channels.bits * channels.count / 8) as usize;
                Self::of_memory(runtime, devPtr, &desc, Kind::Buffer, [texels, 1, 1], 0)
            }
            hipResourceTypePitch2D => {
                // SAFETY: as the caller vouches.
                let hipResourceDesc_res_pitch2D { devPtr, desc, width, height, pitchInBytes } = unsafe { res.pitch2D };
                Self::of_memory(runtime, devPtr, &desc, Kind::Plane, [width, height, 1], pitchInBytes)
            }
            _ => Err(hipErrorInvalidValue.into()),
        }
    }

    /// The texels seen through a view, whose format must have the same texel size.
    fn viewed(self, view: &hipResourceViewDesc) -> Result<Self, Refusal> {
        if view.format.0 == 0 {
            return Ok(self);
        }
        let channels = Channels::of_view(view.format).ok_or(hipErrorNotSupported)?;
        let bits = |channels: Channels| channels.bits * channels.count;
        let same = |of: usize, size: usize| of == 0 || of == size;
        let [width, height, depth] = self.size;
        let whole = same(view.width, width) && same(view.height, height) && same(view.depth, depth);
        let whole = whole && view.firstLayer == 0 && same(view.lastLayer as usize, depth - 1);
        if !whole || bits(channels) != bits(self.channels) || view.firstMipmapLevel + view.lastMipmapLevel != 0 {
            let text = "a view of a part of an array, or of texels of another size, which this device does not have";
            return Err(Refusal::new(hipErrorNotSupported, text));
        }
        Ok(Self { channels, ..self })
    }

    /// The image descriptor. If the planes are faces, it describes cubes.
    fn words(&self, layout: &Layout) -> [u32; IMAGE_WORDS] {
        let mut words = layout.words(self.base);
        if self.is_cube {
            words[3] = words[3] & 0x0fff_ffff | TYPE_CUBE << 28;
            words[4] = words[4] & !0x1fff | (self.size[2] / FACES - 1) as u32;
        }
        words
    }

    /// The device's layout of the texels.
    fn layout(&self, normalized: bool, srgb: bool) -> Result<Layout, Refusal> {
        let refused = |error: ImageError| invalid(error.to_string());
        if self.is_cube && self.size[2] > FACES {
            // Code passes 8 times the cube index in the face number, which the software GPU does not decode.
            let text = "textures and surfaces of several cubes: the software GPU has those of one";
            return Err(Refusal::new(hipErrorNotSupported, text));
        }
        let format = self
            .channels
            .format(normalized, srgb)
            .ok_or_else(|| invalid(format!("integers of {} bits cannot be read as fractions", self.channels.bits)))?;
        match self.kind {
            Kind::Plane if self.pitch > 0 => Layout::linear(self.kind, format, self.size, self.pitch, 0),
            _ => Layout::opaque(self.kind, format, self.size),
        }
        .map_err(refused)
    }
}

/// The level that a texture of a mipmapped array with `levels` levels reads. The device has no instruction that selects
/// a level, and no derivatives. So it is always the level that level 0 with the bias gives, clamped to the allowed
/// range. far samples are apart, so that it is the one that level 0 with the bias comes to, between the least and the
/// most: always the same.
fn level_of(levels: u32, texture: &hipTextureDesc, view: Option<&hipResourceViewDesc>) -> Result<u32, Refusal> {
    let (first, last) = view.map_or((0, levels - 1), |view| (view.firstMipmapLevel, view.lastMipmapLevel));
    if first > last || last >= levels {
        return Err(invalid(format!("levels {first} to {last} of an array with {levels}")));
    }
    let hipTextureDesc { mipmapFilterMode, mipmapLevelBias: bias, .. } = *texture;
    let (least, most) = (texture.minMipmapLevelClamp, texture.maxMipmapLevelClamp);
    if !(bias.is_finite() && 0.0 <= least && least <= most) {
        return Err(invalid(format!("levels from {least} to {most} with a bias of {bias}")));
    }
    let level = bias.clamp(least, most).min((last - first) as f32);
    match mipmapFilterMode {
        hipFilterModePoint => Ok(first + (level + 0.5) as u32),
        hipFilterModeLinear if level.fract() == 0.0 => Ok(first + level as u32),
        hipFilterModeLinear => {
            Err(Refusal::new(hipErrorNotSupported, format!("level {level}: on this GPU no levels are blended")))
        }
        other => Err(invalid(format!("{other:?}"))),
    }
}

/// The sampler of a texture of this kind.
fn sampler(kind: Kind, of: &hipTextureDesc) -> Result<Sampler, Refusal> {
    let normalized = of.normalizedCoords != 0;
    let mut address = [AddressMode::Clamp; 3];
    for (mode, asked) in address.iter_mut().zip(of.addressMode) {
        *mode = match asked {
            // Unnormalised coordinates do not wrap or mirror.
            hipAddressModeWrap | hipAddressModeMirror if !normalized => AddressMode::Clamp,
            hipAddressModeWrap => AddressMode::Repeat,
            hipAddressModeMirror => AddressMode::Mirror,
            hipAddressModeClamp => AddressMode::Clamp,
            hipAddressModeBorder => AddressMode::Border,
            _ => return Err(invalid(format!("{asked:?}"))),
        };
    }
    let linear = match of.filterMode {
        hipFilterModePoint => false,
        hipFilterModeLinear => true,
        other => return Err(invalid(format!("{other:?}"))),
    };
    let unsupported = |text: &str| Err(Refusal::new(hipErrorNotSupported, text));
    if linear && !matches!(kind, Kind::Line | Kind::Plane | Kind::Buffer) {
        return unsupported(
            "on this GPU no texels of volumes and of layered arrays are blended, as on MI200 with ROCm",
        );
    }
    if of.maxAnisotropy != 0 {
        return unsupported("anisotropic filters");
    }
    if address.contains(&AddressMode::Border) && of.borderColor != [0.0; 4] {
        return unsupported("a border of another colour than transparent black");
    }
    Ok(Sampler { address, linear, normalized })
}

/// Creates a texture.
///
/// # Safety
/// Pointers must be null or valid, and the resource's kind must be that of its contents.
unsafe fn create(
    to: *mut hipTextureObject_t,
    resource: *const hipResourceDesc,
    texture: *const hipTextureDesc,
    view: *const hipResourceViewDesc,
) -> Outcome {
    let runtime = runtime()?;
    ensure(!to.is_null() && !resource.is_null() && !texture.is_null(), hipErrorInvalidValue)?;
    runtime.live_current()?.ensure_images()?;
    // SAFETY: not null, hence valid, as the caller vouches.
    let (resource, texture, view) = unsafe { (*resource, *texture, view.as_ref().copied()) };
    // SAFETY: as the caller vouches.
    let texels = unsafe { Texels::of_resource(runtime, &resource, &texture, view.as_ref()) }?;
    let normalized = match texture.readMode {
        hipReadModeElementType => false,
        hipReadModeNormalizedFloat => true,
        other => return Err(invalid(format!("{other:?}"))),
    };
    let layout = texels.layout(normalized, texture.sRGB != 0)?;
    let sampler = sampler(layout.kind(), &texture)?;
    let words = [&texels.words(&layout)[..], &sampler.words()].concat();
    let object = Object::Texture { resource, texture, view };
    let handle = runtime.images.insert(runtime.memory(), texels.device, object, &words)?;
    // SAFETY: not null, hence valid, as the caller vouches.
    unsafe { put(to, pointer(handle).cast()) }
}

/// Destroys an object that `is_it` selects, after all work on its device. A null handle is accepted.
fn destroy(handle: *mut c_void, is_it: impl Fn(&Object) -> bool) -> Outcome {
    let runtime = runtime()?;
    if handle.is_null() {
        return Ok(());
    }
    let device = runtime.images.device(address(handle), is_it).ok_or(hipErrorInvalidValue)?;
    runtime.drain(Some(device));
    runtime.images.remove(runtime.memory(), address(handle));
    Ok(())
}

/// The descriptions that a texture was created from.
type Parts = (hipResourceDesc, hipTextureDesc, Option<hipResourceViewDesc>);

fn parts(handle: hipTextureObject_t) -> Result<Parts, Refusal> {
    match runtime()?.images.get(address(handle.cast())) {
        Some(Object::Texture { resource, texture, view }) => Ok((resource, texture, view)),
        _ => Err(hipErrorInvalidValue.into()),
    }
}

hip_functions! {
    fn hipCreateTextureObject(
        to: *mut hipTextureObject_t,
        resource: *const hipResourceDesc,
        texture: *const hipTextureDesc,
        view: *const hipResourceViewDesc,
    ) {
        create(to, resource, texture, view)
    }

    fn hipDestroyTextureObject(texture: hipTextureObject_t) {
        destroy(texture.cast(), |object| matches!(object, Object::Texture { .. }))
    }

    fn hipGetTextureObjectResourceDesc(to: *mut hipResourceDesc, texture: hipTextureObject_t) {
        put(to, parts(texture)?.0)
    }

    fn hipGetTextureObjectTextureDesc(to: *mut hipTextureDesc, texture: hipTextureObject_t) {
        put(to, parts(texture)?.1)
    }

    fn hipGetTextureObjectResourceViewDesc(to: *mut hipResourceViewDesc, texture: hipTextureObject_t) {
        put(to, parts(texture)?.2.unwrap_or_default())
    }

    fn hipCreateSurfaceObject(to: *mut hipSurfaceObject_t, resource: *const hipResourceDesc) {
        let runtime = runtime()?;
        ensure(!to.is_null() && !resource.is_null(), hipErrorInvalidValue)?;
        runtime.live_current()?.ensure_images()?;
        ensure((*resource).resType == hipResourceTypeArray, hipErrorInvalidValue)?;
        let texels = Texels::of_array(runtime, (*resource).res.array.array)?;
        let words = texels.words(&texels.layout(false, false)?);
        let handle = runtime.images.insert(runtime.memory(), texels.device, Object::Surface, &words)?;
        put(to, pointer(handle).cast())
    }

    fn hipDestroySurfaceObject(surface: hipSurfaceObject_t) {
        destroy(surface.cast(), |object| matches!(object, Object::Surface))
    }
}

use hip::memory::array::ArrayShape;
use hip::texture::{FilterMode, ReadMode, TextureOptions};
use hip::{Device, DeviceBuffer, LaunchConfig, Stream};
use hip_gl::{Error, Image, ImageAccess, ImageTarget};

use super::context;
use super::opengl::{OpenGl, R32F, RG32UI, RGBA8, TEXTURE_2D, TEXTURE_3D};
use crate::image_kernel;

fn with_images() -> Option<(OpenGl, Device)> {
    let (context, device) = context()?;
    if !device.has_images().unwrap() {
        crate::skipped(&format_args!("{device} has no images"));
        return None;
    }
    Some((context, device))
}

/// Registers a texture.
fn register(device: &Device, name: u32, target: ImageTarget, access: ImageAccess) -> hip_gl::Result<Image> {
    // SAFETY: the texture keeps its texels' memory, and OpenGL leaves it alone while it is mapped.
    unsafe { Image::register(device, name, target, access) }
}

#[test]
fn texels_are_copied_to_and_from_opengl() {
    let Some((context, device)) = with_images() else { return };
    let stream = Stream::new(&device).unwrap();
    let before: Vec<f32> = (0..37 * 5).map(|n| n as f32).collect();
    let name = context.texture([37, 5, 0], R32F, &before);
    let mut image = register(&device, name, ImageTarget::Texture2d, ImageAccess::ReadWrite).unwrap();
    assert_eq!((image.target(), image.device()), (ImageTarget::Texture2d, device));
    let mut mapped = image.map::<f32>(&stream).unwrap();
    assert_eq!((mapped.shape(), mapped.device()), (ArrayShape::D2(37, 5), device));
    assert_eq!(mapped.as_slice().to_vec().unwrap(), before);
    let after: Vec<f32> = before.iter().map(|value| -value).collect();
    mapped.as_slice_mut().copy_from_slice(&after).unwrap();
    mapped.unmap().unwrap();
    assert_eq!(context.texels::<f32>(TEXTURE_2D, name, R32F, after.len()), after);
}

#[test]
fn kernels_sample_a_texture_of_opengls() {
    let Some((context, device)) = with_images() else { return };
    let Some(sample) = image_kernel(&device, "sample_2d") else { return };
    let stream = Stream::new(&device).unwrap();
    let name = context.texture([2, 2, 0], R32F, &[0.0_f32, 1.0, 2.0, 3.0]);
    let mut image = register(&device, name, ImageTarget::Texture2d, ImageAccess::ReadOnly).unwrap();
    let mapped = image.map::<f32>(&stream).unwrap();
    let texture = mapped.texture(TextureOptions::new()).unwrap();
    let xs = DeviceBuffer::from_slice(&device, &[0.5_f32, 1.5, 0.5, 1.5, 7.0]).unwrap();
    let ys = DeviceBuffer::from_slice(&device, &[0.5_f32, 0.5, 1.5, 1.5, -3.0]).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&device, 5).unwrap();
    let config = LaunchConfig::for_elements(5, 64);
    // SAFETY: five coordinates are read, and five samples written.
    unsafe { sample.launch(&stream, config, (&texture, &xs, &ys, &mut out, 5_u32)) }.unwrap();
    assert_eq!(out.to_vec().unwrap(), [0.0, 1.0, 2.0, 3.0, 1.0]);
    match mapped.texture(TextureOptions::new().filter(FilterMode::Linear)) {
        Ok(_) => {}
        Err(error @ Error::Hip(hip::Error::Unsupported { .. })) => {
            assert!(error.to_string().contains("blends"), "{error}")
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn kernels_write_by_a_surface_what_opengl_reads() {
    let Some((context, device)) = with_images() else { return };
    let Some(transpose) = image_kernel(&device, "transpose_surface") else { return };
    let stream = Stream::new(&device).unwrap();
    let before: Vec<f32> = (0..12).map(|n| n as f32).collect();
    let (from, to) = (context.texture([4, 3, 0], R32F, &before), context.texture([3, 4, 0], R32F, &[0.0_f32; 12]));
    let mut source = register(&device, from, ImageTarget::Texture2d, ImageAccess::SurfaceLoadStore).unwrap();
    let mut target = register(&device, to, ImageTarget::Texture2d, ImageAccess::WriteDiscard).unwrap();
    for _ in 0..2 {
        let (mut source, mut target) = (source.map::<f32>(&stream).unwrap(), target.map::<f32>(&stream).unwrap());
        let (reads, mut writes) = (source.surface().unwrap(), target.surface().unwrap());
        let config = LaunchConfig::new((1, 1), (8, 8));
        // SAFETY: the kernel reads 4 x 3 texels and writes 3 x 4.
        unsafe { transpose.launch(&stream, config, (&reads, &mut writes, 4_i32, 3_i32)) }.unwrap();
    }
    let expected: Vec<f32> = (0..12).map(|n| before[n % 3 * 4 + n / 3] + 0.5).collect();
    assert_eq!(context.texels::<f32>(TEXTURE_2D, to, R32F, 12), expected);
}

#[test]
fn a_volume_is_changed_in_place() {
    let Some((context, device)) = with_images() else { return };
    let Some(double) = image_kernel(&device, "double_surface_3d") else { return };
    let stream = Stream::new(&device).unwrap();
    let before: Vec<[u32; 2]> = (0..4 * 3 * 2).map(|n| [n, 100 * n]).collect();
    let name = context.texture([4, 3, 2], RG32UI, &before);
    let mut image = register(&device, name, ImageTarget::Texture3d, ImageAccess::ReadWrite).unwrap();
    let mut mapped = image.map::<[u32; 2]>(&stream).unwrap();
    assert_eq!(mapped.shape(), ArrayShape::D3(4, 3, 2));
    let mut surface = mapped.surface().unwrap();
    let config = LaunchConfig::new((1, 1, 1), (4, 4, 4));
    // SAFETY: the kernel doubles the first components of 4 x 3 x 2 texels, and adds 1 to the second.
    unsafe { double.launch(&stream, config, (&mut surface, 4_i32, 3_i32, 2_i32)) }.unwrap();
    drop(surface);
    mapped.unmap().unwrap();
    let expected: Vec<[u32; 2]> = before.iter().map(|[x, y]| [2 * x, y + 1]).collect();
    assert_eq!(context.texels::<[u32; 2]>(TEXTURE_3D, name, RG32UI, 24), expected);
}

#[test]
fn bytes_are_read_as_fractions() {
    let Some((context, device)) = with_images() else { return };
    let Some(sample) = image_kernel(&device, "sample_2d_four") else { return };
    let stream = Stream::new(&device).unwrap();
    let name = context.texture([1, 1, 0], RGBA8, &[[0_u8, 51, 102, 255]]);
    for access in [ImageAccess::ReadWrite, ImageAccess::TextureGather] {
        let mut image = register(&device, name, ImageTarget::Texture2d, access).unwrap();
        let mapped = image.map::<[u8; 4]>(&stream).unwrap();
        let texture = mapped.texture(TextureOptions::new().read(ReadMode::NormalizedFloat)).unwrap();
        let at = DeviceBuffer::from_slice(&device, &[0.5_f32]).unwrap();
        let mut out = DeviceBuffer::<[f32; 4]>::zeroed(&device, 1).unwrap();
        // SAFETY: one coordinate is read, and one sample written.
        unsafe { sample.launch(&stream, LaunchConfig::new(1, 64), (&texture, &at, &at, &mut out, 1_u32)) }.unwrap();
        let found = out.to_vec().unwrap()[0];
        let near = found.iter().zip([0.0, 0.2, 0.4, 1.0]).all(|(found, expected)| (found - expected).abs() < 1e-6);
        assert!(near, "{found:?}");
    }
}

#[test]
fn texels_of_another_type_are_refused_and_nothing_stays_mapped() {
    let Some((context, device)) = with_images() else { return };
    let stream = Stream::new(&device).unwrap();
    let name = context.texture([4, 4, 0], RGBA8, &[[7_u8; 4]; 16]);
    let mut image = register(&device, name, ImageTarget::Texture2d, ImageAccess::ReadWrite).unwrap();
    let refused = image.map::<f32>(&stream).unwrap_err().to_string();
    assert!(refused.contains("4 x unsigned 8") && refused.contains("1 x float 32"), "{refused}");
    assert_eq!(image.map::<[u8; 4]>(&stream).unwrap().as_slice().to_vec().unwrap(), [[7; 4]; 16]);
}

#[test]
fn what_is_no_texture_of_that_target_is_refused() {
    let Some((context, device)) = with_images() else { return };
    let refuse = |name, target| register(&device, name, target, ImageAccess::ReadWrite).unwrap_err().to_string();
    let zero = refuse(0, ImageTarget::Texture2d);
    assert!(zero.contains("the name of an OpenGL texture is 0"), "{zero}");
    let unknown = refuse(12_345, ImageTarget::Texture2d);
    assert!(unknown.contains("hipGraphicsGLRegisterImage failed (the OpenGL texture 12345 (Texture2d)"), "{unknown}");
    let without = context.name_of_texture(TEXTURE_2D);
    let refused = refuse(without, ImageTarget::Texture2d);
    assert!(refused.contains("hipGraphicsGLRegisterImage failed"), "{refused}");
    let plane = context.texture([4, 4, 0], R32F, &[0.0_f32; 16]);
    let refused = refuse(plane, ImageTarget::Texture3d);
    assert!(refused.contains("hipGraphicsGLRegisterImage failed"), "{refused}");
}

#[test]
fn a_mapping_that_is_forgotten_ends_with_the_next() {
    let Some((context, device)) = with_images() else { return };
    let stream = Stream::new(&device).unwrap();
    let name = context.texture([4, 4, 0], R32F, &[0.0_f32; 16]);
    let mut image = register(&device, name, ImageTarget::Texture2d, ImageAccess::ReadWrite).unwrap();
    for value in [1.0_f32, 2.0, 3.0] {
        let source = DeviceBuffer::from_slice(&device, &[value; 16]).unwrap();
        let mut mapped = image.map::<f32>(&stream).unwrap();
        mapped.as_slice_mut().copy_from_device_async(&stream, &source).unwrap();
        std::mem::forget(mapped);
    }
    image.map::<f32>(&stream).unwrap().unmap().unwrap();
    assert_eq!(context.texels::<f32>(TEXTURE_2D, name, R32F, 16), [3.0; 16]);
}

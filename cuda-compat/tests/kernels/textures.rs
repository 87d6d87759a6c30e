//! Texture objects. The embedded runtime has none.

use std::ptr::{null, null_mut};

use cuda_compat::driver::*;

use crate::device::{self, Buffer, Module, args, ok};
use crate::random::Random;

fn start() -> bool {
    if device::start() && device::is_embedded() {
        return device::skip("the embedded runtime has no textures");
    }
    device::start()
}

/// Runs a kernel with a texture of a resource.
fn with_texture(resource: &CUDA_RESOURCE_DESC, description: &CUDA_TEXTURE_DESC, run: impl FnOnce(u64)) {
    let mut texture = null_mut();
    // SAFETY: room for the result, and descriptions that live.
    unsafe { ok(cuTexObjectCreate(&mut texture, resource, description, null())) };
    run(texture as u64);
    // SAFETY: it is alive, and its kernels are done.
    unsafe { ok(cuTexObjectDestroy(texture)) };
}

#[test]
fn fetches_from_memory() {
    if !start() {
        return;
    }
    let values = Random::new(1).floats(100);
    let (input, output) = (Buffer::of(&values), Buffer::zeros::<f32>(100));
    let mut resource = CUDA_RESOURCE_DESC { resType: CU_RESOURCE_TYPE_LINEAR, ..Default::default() };
    resource.res.linear.devPtr = input.address() as *mut _;
    resource.res.linear.format = CU_AD_FORMAT_FLOAT;
    resource.res.linear.numChannels = 1;
    resource.res.linear.sizeInBytes = 400;
    with_texture(&resource, &CUDA_TEXTURE_DESC::default(), |texture| {
        Module::of("textures.cu", include_str!("textures.cu")).run("fetch", 1, 128, args![texture, &output, 100_i32]);
    });
    assert_eq!(output.read::<f32>(100), values.iter().rev().map(|value| value * 2.0).collect::<Vec<_>>());
}

#[test]
fn filters_between_elements() {
    if !start() {
        return;
    }
    let (width, height) = (32, 8);
    let values = Random::new(2).floats(width * height);
    let output = Buffer::zeros::<f32>(width * height);
    let shape = CUDA_ARRAY_DESCRIPTOR { Width: width, Height: height, Format: CU_AD_FORMAT_FLOAT, NumChannels: 1 };
    let mut array = null_mut();
    let mut resource = CUDA_RESOURCE_DESC { resType: CU_RESOURCE_TYPE_ARRAY, ..Default::default() };
    let description = CUDA_TEXTURE_DESC {
        addressMode: [CU_TR_ADDRESS_MODE_CLAMP; 3],
        filterMode: CU_TR_FILTER_MODE_LINEAR,
        ..Default::default()
    };
    let copy = CUDA_MEMCPY2D {
        srcMemoryType: CU_MEMORYTYPE_HOST,
        srcHost: values.as_ptr().cast(),
        srcPitch: width * 4,
        dstMemoryType: CU_MEMORYTYPE_ARRAY,
        WidthInBytes: width * 4,
        Height: height,
        ..Default::default()
    };
    // SAFETY: room for the result, and a source of the size.
    unsafe {
        ok(cuArrayCreate(&mut array, &shape));
        ok(cuMemcpy2D(&CUDA_MEMCPY2D { dstArray: array, ..copy }));
    }
    resource.res.array.hArray = array;
    with_texture(&resource, &description, |texture| {
        let module = Module::of("textures.cu", include_str!("textures.cu"));
        module.launch("filtered", (2, 1), (16, 8), 0, args![texture, &output, width as i32, height as i32]);
    });
    // SAFETY: it is alive, and its kernels are done.
    unsafe { ok(cuArrayDestroy(array)) };
    for (at, found) in output.read::<f32>(width * height).into_iter().enumerate() {
        // Half-way between an element and the next; at the edge, the last.
        let next = if at % width == width - 1 { at } else { at + 1 };
        assert_eq!(found, (values[at] + values[next]) / 2.0, "{at}");
    }
}

//! Arrays: copies from and to all other memory, and rejected calls.

use hip::memory::PitchedBuffer;
use hip::memory::array::{Array, ArrayShape, MipmappedArray, Texel};
use hip::texture::Surface;
use hip::{Device, DeviceBuffer, Error, LaunchConfig, PinnedBuffer, Stream};

use crate::{images, supported};

/// Array shapes that ROCm supports.
const SHAPES: [ArrayShape; 7] = [
    ArrayShape::D1(33),
    ArrayShape::D2(33, 7),
    ArrayShape::D2(5, 1),
    ArrayShape::D3(9, 5, 3),
    ArrayShape::D3(9, 5, 1),
    ArrayShape::D1Layered(17, 4),
    ArrayShape::D2Layered(9, 5, 3),
];

/// Texels that are all different.
fn texels<T: Texel>(count: usize) -> Vec<T> {
    let bytes: Vec<u8> = (0..count * size_of::<T>()).map(|i| (i ^ i >> 8 ^ i >> 5) as u8).collect();
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

fn go_and_return<T: Texel + PartialEq + std::fmt::Debug>(device: &Device) {
    for shape in SHAPES {
        let extent = shape.extent();
        let source = texels::<T>(extent.elements().unwrap());
        let mut array = Array::<T>::from_slice(device, shape, &source).unwrap();
        assert_eq!(array.to_vec().unwrap(), source, "{shape} of {}", T::FORMAT);
        // Copies a box of it in both directions.
        let (x, y, z) = (1..extent.width - 1, extent.height / 2.., extent.depth / 2..);
        let part = array.region(x.clone(), y.clone(), z.clone()).unwrap();
        let size = part.extent();
        let at = |x: usize, y: usize, z: usize| (z * extent.height + y) * extent.width + x;
        let mut inside = Vec::new();
        for z in z.start..extent.depth {
            for y in y.start..extent.height {
                inside.extend_from_slice(&source[at(x.start, y, z)..at(x.end, y, z)]);
            }
        }
        assert_eq!(part.to_vec().unwrap(), inside, "{size} of {shape} of {}", T::FORMAT);
        inside.reverse();
        array.region_mut(x.clone(), y.clone(), z.clone()).unwrap().copy_from_slice(&inside).unwrap();
        let mut expected = source;
        let mut rows = inside.chunks_exact(size.width);
        for z in z.start..extent.depth {
            for y in y.start..extent.height {
                expected[at(x.start, y, z)..at(x.end, y, z)].copy_from_slice(rows.next().unwrap());
            }
        }
        assert_eq!(array.to_vec().unwrap(), expected, "{size} into {shape} of {}", T::FORMAT);
    }
}

#[test]
fn texels_of_every_format_go_to_arrays_of_every_shape_and_return() {
    let Some(device) = images() else { return };
    go_and_return::<u8>(&device);
    go_and_return::<i16>(&device);
    go_and_return::<[u8; 2]>(&device);
    go_and_return::<[i8; 4]>(&device);
    go_and_return::<[u16; 4]>(&device);
    go_and_return::<u32>(&device);
    go_and_return::<[i32; 2]>(&device);
    go_and_return::<[u32; 4]>(&device);
    #[cfg(feature = "half")]
    {
        let halves: Vec<_> = (0..12_u8).map(half::f16::from).collect();
        let array = Array::<half::f16>::from_slice(&device, ArrayShape::D2(4, 3), &halves).unwrap();
        assert_eq!(array.to_vec().unwrap(), halves);
    }
}

#[test]
fn arrays_are_copied_in_the_order_of_streams() {
    let Some(device) = images() else { return };
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let source: Vec<u32> = (0..9 * 5 * 3).collect();
    for shape in [ArrayShape::D3(9, 5, 3), ArrayShape::D2Layered(9, 5, 3), ArrayShape::D2(9, 15)] {
        let extent = shape.extent();
        let pinned = PinnedBuffer::from_slice(&device, &source).unwrap();
        let mut array = Array::<u32>::zeroed(&device, shape).unwrap();
        let mut other = Array::<u32>::new(&device, shape).unwrap();
        let mut linear = DeviceBuffer::<u32>::zeroed(&device, source.len()).unwrap();
        let mut pitched = PitchedBuffer::<u32>::zeroed(&device, extent).unwrap();
        let mut back = PinnedBuffer::<u32>::zeroed(&device, source.len()).unwrap();
        // From one to the next, on two streams, which wait for each other without further calls.
        array.as_slice_mut().copy_from_pinned_async(&first, &pinned).unwrap();
        other.as_slice_mut().copy_from_array_async(&second, &array).unwrap();
        other.as_slice().copy_to_device_async(&first, &mut linear).unwrap();
        array.as_slice_mut().copy_from_device_async(&second, &linear).unwrap();
        array.as_slice().copy_to_pitched_async(&first, &mut pitched.as_slice_mut()).unwrap();
        other.as_slice_mut().copy_from_pitched_async(&second, &pitched).unwrap();
        other.as_slice().copy_to_pinned_async(&first, &mut back).unwrap();
        assert_eq!(back.as_slice().unwrap(), source, "{shape}");
        assert_eq!(pitched.to_vec().unwrap(), source, "{shape}");
        assert_eq!(linear.to_vec().unwrap(), source, "{shape}");
        array.synchronize().unwrap();
    }
}

#[test]
fn arrays_that_cannot_be_are_refused_before_the_call() {
    let Some(device) = images() else { return };
    let refused = |shape| match Array::<f32>::new(&device, shape) {
        Err(Error::InvalidValue { what: "the size of an array", .. } | Error::TooLarge { .. }) => {}
        other => panic!("{shape}: {other:?}"),
    };
    for shape in [
        ArrayShape::D1(0),
        ArrayShape::D2(4, 0),
        ArrayShape::D2(0, 4),
        ArrayShape::D3(4, 4, 0),
        ArrayShape::D2Layered(4, 4, 0),
        ArrayShape::D1Layered(4, 0),
        ArrayShape::D1(1 << 20),
        ArrayShape::D2(1, 1 << 20),
        ArrayShape::D3(1, 1, 1 << 20),
        ArrayShape::D2(usize::MAX, 2),
        ArrayShape::CubemapLayered(1 << 10, usize::MAX),
    ] {
        refused(shape);
    }
    let mut array = Array::<f32>::zeroed(&device, ArrayShape::D2(4, 3)).unwrap();
    let wrong_length = |result| assert!(matches!(result, Err(Error::Length { .. })), "{result:?}");
    wrong_length(array.copy_from_slice(&[0.0; 11]));
    wrong_length(array.copy_to_slice(&mut [0.0; 13]));
    wrong_length(array.copy_from_slice(&[]));
    let out_of_range = |result: hip::Result<_>| assert!(matches!(result, Err(Error::Range { .. })), "{result:?}");
    out_of_range(array.region(3..5, .., ..).map(drop));
    out_of_range(array.region(.., 4.., ..).map(drop));
    out_of_range(array.region(.., .., 1..2).map(drop));
    out_of_range(array.region(..usize::MAX, .., ..).map(drop));
    // An empty region is a no-op.
    array.region_mut(2..2, .., ..).unwrap().copy_from_slice(&[]).unwrap();
    let stream = Stream::new(&device).unwrap();
    let small = Array::<f32>::zeroed(&device, ArrayShape::D2(3, 3)).unwrap();
    let result = array.as_slice_mut().copy_from_array_async(&stream, &small);
    assert!(matches!(result, Err(Error::InvalidValue { .. })), "{result:?}");
    let pitched = PitchedBuffer::<f32>::zeroed(&device, (4, 4)).unwrap();
    let result = array.as_slice_mut().copy_from_pitched_async(&stream, &pitched);
    assert!(matches!(result, Err(Error::InvalidValue { .. })), "{result:?}");
    let linear = DeviceBuffer::<f32>::zeroed(&device, 13).unwrap();
    wrong_length(array.as_slice_mut().copy_from_device_async(&stream, &linear));
    assert_eq!(array.to_vec().unwrap(), [0.0; 12]);
}

#[test]
fn cubes_and_levels_are_there_or_an_error() {
    let Some(device) = images() else { return };
    for shape in [ArrayShape::Cubemap(8), ArrayShape::CubemapLayered(4, 2)] {
        match Array::<f32>::zeroed(&device, shape) {
            Ok(array) => assert_eq!(array.to_vec().unwrap().len(), shape.extent().elements().unwrap()),
            // The status of ROCm's runtimes for Linux.
            Err(error) => assert_eq!(error.status(), Some(hip::Status::INVALID_VALUE), "{error}"),
        }
    }
    let plane = ArrayShape::D2(16, 8);
    for levels in [0, 6, usize::MAX] {
        let refused = MipmappedArray::<f32>::new(&device, plane, levels);
        assert!(matches!(refused, Err(Error::InvalidValue { .. })), "{refused:?}");
    }
    let Some(mut array) = supported(MipmappedArray::<f32>::new(&device, plane, 3)) else { return };
    let halves: Vec<f32> = (0..32_u8).map(f32::from).collect();
    array.level_mut(1).unwrap().copy_from_slice(&halves).unwrap();
    assert_eq!(array.level(1).unwrap().to_vec().unwrap(), halves);
    assert!(matches!(array.level(3), Err(Error::Range { .. })));
    #[cfg(feature = "rocm-10-0")]
    if let Some(memory) = supported(array.memory_requirements()) {
        assert!(memory.bytes >= 4 * (16 * 8 + 8 * 4 + 4 * 2) && memory.alignment.is_power_of_two(), "{memory:?}");
    }
}

#[test]
fn kernels_read_and_write_surfaces() {
    let Some(device) = images() else { return };
    let Some(transpose) = crate::image_kernel(&device, "transpose_surface") else { return };
    let stream = Stream::new(&device).unwrap();
    let source: Vec<f32> = (0..33_u8 * 7).map(f32::from).collect();
    let mut from = Array::from_slice(&device, ArrayShape::D2(33, 7), &source).unwrap();
    let mut to = Array::<f32>::for_surfaces(&device, ArrayShape::D2(7, 33)).unwrap();
    {
        let (from, mut to) = (Surface::new(&mut from).unwrap(), Surface::new(&mut to).unwrap());
        let config = LaunchConfig::new((5, 1), (8, 8));
        // SAFETY: the kernel reads the first and writes the second, and stays inside of width and height.
        unsafe { transpose.launch(&stream, config, (&from, &mut to, 33, 7)) }.unwrap();
    }
    let expected: Vec<f32> = (0..33 * 7).map(|i| source[i % 7 * 33 + i / 7] + 0.5).collect();
    assert_eq!(to.to_vec().unwrap(), expected);
    assert_eq!(from.to_vec().unwrap(), source);

    let double = crate::image_kernel(&device, "double_surface_3d").unwrap();
    let source: Vec<[u32; 2]> = (0..9 * 5 * 3).map(|i| [i, 7 * i]).collect();
    let mut array = Array::from_slice(&device, ArrayShape::D3(9, 5, 3), &source).unwrap();
    {
        let mut surface = Surface::new(&mut array).unwrap();
        // SAFETY: the kernel stays inside of the extents.
        unsafe { double.launch(&stream, LaunchConfig::new((2, 1), (8, 8)), (&mut surface, 9, 5, 3)) }.unwrap();
        // SAFETY: rejected for its arguments.
        let wrong = unsafe { double.launch(&stream, LaunchConfig::new(1, 1), (&mut surface, 9u64, 5, 3)) };
        assert!(matches!(wrong, Err(Error::Argument { .. })), "{wrong:?}");
    }
    let expected: Vec<[u32; 2]> = source.iter().map(|[a, b]| [2 * a, b + 1]).collect();
    assert_eq!(array.to_vec().unwrap(), expected);
}

/// The host's write waits for queued work that reads the texels.
#[test]
fn the_host_writes_to_an_array_after_what_reads_it() {
    let Some(device) = images() else { return };
    let Some(slow) = crate::kernel("slow_store") else { return };
    let stream = Stream::new(&device).unwrap();
    let before: Vec<u32> = (0..64).collect();
    let mut array = Array::from_slice(&device, ArrayShape::D2(8, 8), &before).unwrap();
    let mut busy = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut copy = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    // SAFETY: 64 threads, 64 elements.
    unsafe { slow.launch(&stream, hip::LaunchConfig::new(1, 64), (&mut busy, 100_000u32, 1u32)) }.unwrap();
    array.as_slice().copy_to_device_async(&stream, &mut copy).unwrap();
    array.copy_from_slice(&[7; 64]).unwrap();
    assert_eq!(copy.to_vec().unwrap(), before);
}

//! Textures: a kernel's samples compared with a reference in f64, and rejected calls.

use hip::memory::PitchedBuffer;
use hip::memory::array::{Array, ArrayShape, MipmappedArray, Texel};
use hip::module::KernelArg;
use hip::texture::{AddressMode, FilterMode, MipmapOptions, ReadMode, Surface, Texture, TextureOptions};
use hip::{Device, DeviceBuffer, Error, Graph, Kernel, LaunchConfig, Pod, Stream};

use crate::{image_kernel, image_module, images, is_nvidia};

/// Fractional bits of the weights that a device uses for interpolation.
const WEIGHT_BITS: i32 = 8;

/// Returns the texel for an index, which may be out of range.
fn texel_of(mode: AddressMode, i: i64, size: i64) -> Option<usize> {
    let inside = match mode {
        AddressMode::Clamp => i.clamp(0, size - 1),
        AddressMode::Border => i,
        AddressMode::Wrap => i.rem_euclid(size),
        AddressMode::Mirror => {
            let i = i.rem_euclid(2 * size);
            if i < size { i } else { 2 * size - 1 - i }
        }
    };
    usize::try_from(inside).ok().filter(|i| *i < size as usize)
}

/// The options of a texture, for the reference.
#[derive(Clone, Copy, Debug)]
struct How {
    address: AddressMode,
    filter: FilterMode,
    normalized: bool,
}

impl How {
    fn options(self) -> TextureOptions {
        TextureOptions::new().address(self.address).filter(self.filter).normalized(self.normalized)
    }

    /// Returns the texels along one dimension that contribute, with their weights.
    fn axis(self, coordinate: f32, size: usize) -> Vec<(Option<usize>, f64)> {
        let size = size as i64;
        let u = f64::from(coordinate) * if self.normalized { size as f64 } else { 1.0 };
        if self.filter == FilterMode::Point {
            return vec![(texel_of(self.address, u.floor() as i64, size), 1.0)];
        }
        let first = (u - 0.5).floor();
        let steps = f64::from(WEIGHT_BITS).exp2();
        let weight = ((u - 0.5 - first) * steps).round() / steps;
        let texel = |i: f64| texel_of(self.address, i as i64, size);
        vec![(texel(first), 1.0 - weight), (texel(first + 1.0), weight)]
    }

    /// Returns a sample; texels outside are 0.
    fn sample(self, size: [usize; 3], at: [f32; 3], texel: impl Fn([usize; 3]) -> f64) -> f64 {
        let [xs, ys, zs] =
            [0, 1, 2].map(|d| if size[d] == 0 { vec![(Some(0), 1.0)] } else { self.axis(at[d], size[d]) });
        let mut sum = 0.0;
        for z in &zs {
            for y in &ys {
                for x in &xs {
                    if let (Some(i), Some(j), Some(k)) = (x.0, y.0, z.0) {
                        sum += x.1 * y.1 * z.1 * texel([i, j, k]);
                    }
                }
            }
        }
        sum
    }
}

/// Returns all combinations of options for floats.
fn ways() -> Vec<How> {
    let mut ways = Vec::new();
    for filter in [FilterMode::Point, FilterMode::Linear] {
        for (address, normalized) in [
            (AddressMode::Clamp, false),
            (AddressMode::Border, false),
            (AddressMode::Clamp, true),
            (AddressMode::Border, true),
            (AddressMode::Wrap, true),
            (AddressMode::Mirror, true),
        ] {
            ways.push(How { address, filter, normalized });
        }
    }
    ways
}

/// Returns coordinates for a dimension of `size` texels: some inside, some outside, none on a border between texels,
/// and with fractions that have no more bits than weights. `salt` varies them by dimension.
fn coordinates(count: usize, size: usize, normalized: bool, salt: u32) -> Vec<f32> {
    let mut state = 0x9e37_79b9_u32.wrapping_mul(salt + 1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    (0..count)
        .map(|_| {
            // From -size to 2 size, in odd multiples of 1/128.
            let steps = 2 * (next() % (3 * size as u32 * 64)) + 1;
            let texels = steps as f32 / 128.0 - size as f32;
            if normalized { texels / size as f32 } else { texels }
        })
        .collect()
}

/// Launches a kernel whose last arguments are the output and its length, and returns the output.
fn run<T: Pod>(device: &Device, kernel: &Kernel, count: usize, arguments: &[&dyn KernelArg]) -> Vec<T> {
    let stream = Stream::new(device).unwrap();
    let mut out = DeviceBuffer::<T>::zeroed(device, count).unwrap();
    {
        let (out, n) = (&mut out, count as u32);
        let mut all = arguments.to_vec();
        all.extend([&out as &dyn KernelArg, &n]);
        // SAFETY: each kernel of images.hip reads as many coordinates as it writes samples, which is what `n` says.
        unsafe { kernel.launch(&stream, LaunchConfig::for_elements(count, 64), &all[..]) }.unwrap();
    }
    out.to_vec().unwrap()
}

#[track_caller]
fn assert_close(found: &[f32], expected: impl Fn(usize) -> f64, range: f64, what: &dyn std::fmt::Debug) {
    // Coordinates have few bits, so weights are exact except for the rounding of normalised coordinates.
    let tolerance = range * 2e-6;
    for (i, found) in found.iter().enumerate() {
        let expected = expected(i);
        assert!((f64::from(*found) - expected).abs() <= tolerance, "{what:?}, sample {i}: {found}, not {expected}");
    }
}

const COUNT: usize = 300;

#[test]
fn planes_are_sampled_in_every_way() {
    let Some(device) = images() else { return };
    let Some(kernel) = image_kernel(&device, "sample_2d") else { return };
    let (width, height) = (16, 8);
    let texels: Vec<f32> = (0..width * height).map(|i| ((i * 37) % 101) as f32 - 50.0).collect();
    let array = Array::from_slice(&device, ArrayShape::D2(width, height), &texels).unwrap();
    let pitched = PitchedBuffer::from_slice(&device, (width, height), &texels).unwrap();
    for how in ways() {
        let [xs, ys] = [(width, 1), (height, 2)].map(|(size, salt)| coordinates(COUNT, size, how.normalized, salt));
        let [on_x, on_y] = [&xs, &ys].map(|c| DeviceBuffer::from_slice(&device, c).unwrap());
        let of_array = Texture::from_array(&array, how.options()).unwrap();
        let of_pitched = Texture::from_pitched(&pitched, how.options()).unwrap();
        for texture in [of_array, of_pitched] {
            let found: Vec<f32> = run(&device, &kernel, COUNT, &[&&texture, &&on_x, &&on_y]);
            let texel = |[x, y, _]: [usize; 3]| f64::from(texels[y * width + x]);
            let expected = |i: usize| how.sample([width, height, 0], [xs[i], ys[i], 0.0], texel);
            assert_close(&found, expected, 100.0, &how);
        }
    }
}

#[test]
fn blends_have_weights_of_eight_bits_or_more() {
    let Some(device) = images() else { return };
    let Some(kernel) = image_kernel(&device, "sample_2d") else { return };
    let texels = [0.0_f32, 1.0, 3.0, -2.0];
    let array = Array::from_slice(&device, ArrayShape::D2(2, 2), &texels).unwrap();
    let how = How { address: AddressMode::Clamp, filter: FilterMode::Linear, normalized: false };
    let texture = Texture::from_array(&array, how.options()).unwrap();
    let xs: Vec<f32> = (0..COUNT).map(|i| 0.5 + i as f32 * 0.003_331).collect();
    let ys: Vec<f32> = (0..COUNT).map(|i| 0.5 + ((i * 7919) % COUNT) as f32 / COUNT as f32).collect();
    let [on_x, on_y] = [&xs, &ys].map(|c| DeviceBuffer::from_slice(&device, c).unwrap());
    let found: Vec<f32> = run(&device, &kernel, COUNT, &[&&texture, &&on_x, &&on_y]);
    for (i, found) in found.iter().enumerate() {
        let expected = how.sample([2, 2, 0], [xs[i], ys[i], 0.0], |[x, y, _]| f64::from(texels[2 * y + x]));
        // One step of each weight, between texels that differ by 5.
        assert!((f64::from(*found) - expected).abs() <= 2.0 * 5.0 / 256.0, "sample {i}: {found}, not {expected}");
    }
}

#[test]
fn lines_volumes_and_layers_are_sampled() {
    let Some(device) = images() else { return };
    let Some(line) = image_kernel(&device, "sample_1d") else { return };
    let kernel = |name| image_kernel(&device, name).unwrap();
    let (volume, lines, planes) = (kernel("sample_3d"), kernel("sample_1d_layered"), kernel("sample_2d_layered"));
    let (width, height, depth) = (16, 8, 4);
    let texels: Vec<f32> = (0..width * height * depth).map(|i| ((i * 53) % 97) as f32).collect();
    let texel = |[x, y, z]: [usize; 3]| f64::from(texels[(z * height + y) * width + x]);
    let of_line = Array::from_slice(&device, ArrayShape::D1(width), &texels[..width]).unwrap();
    let of_volume = Array::from_slice(&device, ArrayShape::D3(width, height, depth), &texels).unwrap();
    let of_lines = Array::from_slice(&device, ArrayShape::D1Layered(width, depth), &texels[..width * depth]).unwrap();
    let of_planes = Array::from_slice(&device, ArrayShape::D2Layered(width, height, depth), &texels).unwrap();
    for how in ways() {
        let all = [(width, 1), (height, 2), (depth, 3)];
        let [xs, ys, zs] = all.map(|(size, salt)| coordinates(COUNT, size, how.normalized, salt));
        let [on_x, on_y, on_z] = [&xs, &ys, &zs].map(|c| DeviceBuffer::from_slice(&device, c).unwrap());
        let texture = Texture::from_array(&of_line, how.options()).unwrap();
        let found: Vec<f32> = run(&device, &line, COUNT, &[&&texture, &&on_x]);
        assert_close(&found, |i| how.sample([width, 0, 0], [xs[i], 0.0, 0.0], texel), 97.0, &how);

        // ROCm's runtimes do not interpolate texels of volumes and layers on MI200.
        let made = |texture: hip::Result<_>| match texture {
            Ok(texture) => Some(texture),
            Err(error) => {
                assert!(matches!(error, Error::Unsupported { .. }) && how.filter == FilterMode::Linear, "{error}");
                None
            }
        };
        if let Some(texture) = made(Texture::from_array(&of_volume, how.options())) {
            let found: Vec<f32> = run(&device, &volume, COUNT, &[&&texture, &&on_x, &&on_y, &&on_z]);
            let expected = |i: usize| how.sample([width, height, depth], [xs[i], ys[i], zs[i]], texel);
            assert_close(&found, expected, 97.0, &how);
        }
        for layer in 0..depth {
            let number = layer as i32;
            let Some(texture) = made(Texture::from_array(&of_lines, how.options())) else { continue };
            let found: Vec<f32> = run(&device, &lines, COUNT, &[&&texture, &&on_x, &number]);
            let texel_of_line = |[x, ..]: [usize; 3]| f64::from(texels[layer * width + x]);
            assert_close(&found, |i| how.sample([width, 0, 0], [xs[i], 0.0, 0.0], texel_of_line), 97.0, &how);

            let Some(texture) = made(Texture::from_array(&of_planes, how.options())) else { continue };
            let found: Vec<f32> = run(&device, &planes, COUNT, &[&&texture, &&on_x, &&on_y, &number]);
            let expected =
                |i: usize| how.sample([width, height, 0], [xs[i], ys[i], 0.0], |[x, y, _]| texel([x, y, layer]));
            assert_close(&found, expected, 97.0, &how);
        }
    }
}

#[test]
fn buffers_are_read_as_textures() {
    let Some(device) = images() else { return };
    let Some(kernel) = image_kernel(&device, "fetch_buffer") else { return };
    let source: Vec<f32> = (0..1000_u16).map(|i| f32::from(i) * 0.25).collect();
    let buffer = DeviceBuffer::from_slice(&device, &source).unwrap();
    let texture = Texture::from_buffer(&buffer, ReadMode::Element).unwrap();
    assert_eq!(run::<f32>(&device, &kernel, 1000, &[&&texture]), source);
    // A part of it; texels beyond are zeros.
    let texture = Texture::from_buffer(buffer.slice(64..164).unwrap(), ReadMode::Element).unwrap();
    let found = run::<f32>(&device, &kernel, 120, &[&&texture]);
    assert_eq!((&found[..100], &found[100..]), (&source[64..164], &[0.0; 20][..]));

    let four = image_kernel(&device, "fetch_buffer_bytes").unwrap();
    let bytes: Vec<[u8; 4]> = (0..=255).map(|i| [i, 255 - i, i / 2, 255]).collect();
    let buffer = DeviceBuffer::from_slice(&device, &bytes).unwrap();
    let texture = Texture::from_buffer(&buffer, ReadMode::NormalizedFloat).unwrap();
    let found = run::<[f32; 4]>(&device, &four, bytes.len(), &[&&texture]);
    for (found, texel) in found.iter().zip(&bytes) {
        assert_eq!(*found, texel.map(|component| (f64::from(component) / 255.0) as f32));
    }
}

/// The centres of all texels of a plane.
fn centres(width: usize, height: usize) -> [Vec<f32>; 2] {
    let of = |i: usize| i as f32 + 0.5;
    [0, 1].map(|d| (0..width * height).map(|i| of(if d == 0 { i % width } else { i / width })).collect())
}

fn read_all<T: Texel, R: Pod>(device: &Device, kernel: &str, texels: &[T], options: TextureOptions) -> Vec<R> {
    let (width, height) = (8, texels.len() / 8);
    let array = Array::from_slice(device, ArrayShape::D2(width, height), texels).unwrap();
    let texture = Texture::from_array(&array, options).unwrap();
    let [xs, ys] = centres(width, height).map(|c| DeviceBuffer::from_slice(device, &c).unwrap());
    let kernel = image_kernel(device, kernel).unwrap();
    run(device, &kernel, texels.len(), &[&&texture, &&xs, &&ys])
}

#[test]
fn texels_are_read_as_they_are_and_as_fractions() {
    let Some(device) = images() else { return };
    if image_kernel(&device, "sample_2d").is_none() {
        return;
    }
    let plain = TextureOptions::new();
    let normalized = plain.read(ReadMode::NormalizedFloat);
    let shorts: Vec<[i16; 2]> = (0..64_i16).map(|i| [(i - 32) * 1000, -i]).collect();
    assert_eq!(read_all::<_, [i16; 2]>(&device, "sample_2d_short", &shorts, plain), shorts);
    let found = read_all::<_, [f32; 4]>(&device, "sample_2d_four", &shorts, normalized);
    for (found, texel) in found.iter().zip(&shorts) {
        let expected = texel.map(|component| (f64::from(component) / 32767.0).max(-1.0) as f32);
        assert_eq!(*found, [expected[0], expected[1], 0.0, 1.0], "components that are not there are 0, 0, 0 and 1");
    }
    let bytes: Vec<[u8; 4]> = (0..64).map(|i| [4 * i, 255 - i, i, 3 * i]).collect();
    let found = read_all::<_, [f32; 4]>(&device, "sample_2d_four", &bytes, normalized);
    for (found, texel) in found.iter().zip(&bytes) {
        assert_eq!(*found, texel.map(|component| (f64::from(component) / 255.0) as f32));
    }
    let found = read_all::<_, [f32; 4]>(&device, "sample_2d_four", &bytes, plain.srgb(true));
    for (found, texel) in found.iter().zip(&bytes) {
        let part = texel.map(|component| f64::from(component) / 255.0);
        let linear = |c: f64| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
        let expected = [linear(part[0]), linear(part[1]), linear(part[2]), part[3]];
        for (found, expected) in found.iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-6, "{texel:?}: {found}, not {expected}");
        }
    }
    #[cfg(feature = "half")]
    {
        let halves: Vec<half::f16> = (0..64_u8).map(|i| half::f16::from_f32(f32::from(i) * 0.125 - 4.0)).collect();
        let found = read_all::<_, f32>(&device, "sample_2d", &halves, plain);
        assert!(found.iter().zip(&halves).all(|(found, texel)| *found == texel.to_f32()), "{found:?}");
    }
}

#[test]
fn a_texture_is_read_after_what_was_queued_before_and_goes_after_its_kernels() {
    let Some(device) = images() else { return };
    let Some(kernel) = image_kernel(&device, "sample_2d") else { return };
    let [xs, ys] = centres(8, 8).map(|c| DeviceBuffer::from_slice(&device, &c).unwrap());
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let values: Vec<f32> = (0..64_u8).map(f32::from).collect();
    let source = DeviceBuffer::from_slice(&device, &values).unwrap();
    for _ in 0..20 {
        let mut out = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
        let mut array = Array::<f32>::zeroed(&device, ArrayShape::D2(8, 8)).unwrap();
        array.as_slice_mut().copy_from_device_async(&first, &source).unwrap();
        let texture = Texture::from_array(&array, TextureOptions::new()).unwrap();
        // SAFETY: as `run`.
        unsafe { kernel.launch(&second, LaunchConfig::new(1, 64), (&texture, &xs, &ys, &mut out, 64u32)) }.unwrap();
        drop(texture);
        // The copy comes after the kernel, which the array tracks.
        array.as_slice_mut().copy_from_slice(&[0.0; 64]).unwrap();
        drop(array);
        assert_eq!(out.to_vec().unwrap(), values);
    }
}

hip::kernel! {
    struct Sample2D: fn sample_2d(t: &Texture, xs: *const f32, ys: *const f32, out: *mut f32, n: u32);
    struct Transpose: fn transpose_surface(from: &Surface, to: &mut Surface, width: i32, height: i32);
    // A number is not accepted for a texture, nor a texture for a number.
    struct NumberForTexture: fn sample_2d(t: u64, xs: *const f32, ys: *const f32, out: *mut f32, n: u32);
    struct TextureForNumber: fn sample_2d(t: &Texture, xs: *const f32, ys: *const f32, out: *mut f32, n: &Texture);
}

#[test]
fn a_typed_kernel_takes_textures_and_orders_its_launches_by_them() {
    let Some(device) = images() else { return };
    let Some(module) = image_module(&device) else { return };
    let sample = Sample2D::load(&module).unwrap();
    assert_eq!(NumberForTexture::load(&module).is_ok(), is_nvidia(&device));
    let refused = TextureForNumber::load(&module).unwrap_err();
    assert!(
        matches!(&refused, Error::Argument { index: 4, .. }) && refused.to_string().contains("Texture"),
        "{refused}"
    );
    let [xs, ys] = centres(8, 8).map(|c| DeviceBuffer::from_slice(&device, &c).unwrap());
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let values: Vec<f32> = (0..64_u8).map(f32::from).collect();
    let source = DeviceBuffer::from_slice(&device, &values).unwrap();
    let slow = crate::kernel("slow_store").unwrap();
    let mut busy =
        [DeviceBuffer::<u32>::zeroed(&device, 64).unwrap(), DeviceBuffer::<u32>::zeroed(&device, 64).unwrap()];
    for round in 0..6 {
        let mut out = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
        let mut array = Array::<f32>::zeroed(&device, ArrayShape::D2(8, 8)).unwrap();
        // Either the copy or the kernel is late.
        let late = [&first, &second][round % 2];
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(late, LaunchConfig::new(1, 64), (&mut busy[round % 2], 1_000_000u32, 1u32)) }.unwrap();
        array.as_slice_mut().copy_from_device_async(&first, &source).unwrap();
        let texture = Texture::from_array(&array, TextureOptions::new()).unwrap();
        // SAFETY: as `run`. It waits for the other stream's copy.
        unsafe { sample.launch(&second, LaunchConfig::new(1, 64), &texture, &xs, &ys, &mut out, 64) }.unwrap();
        drop(texture); // after the kernel
        array.as_slice_mut().copy_from_slice(&[0.0; 64]).unwrap(); // likewise
        drop(array);
        assert_eq!(out.to_vec().unwrap(), values);
    }
}

#[test]
fn a_typed_kernel_takes_surfaces_and_orders_its_launches_by_them() {
    let Some(device) = images() else { return };
    let Some(module) = image_module(&device) else { return };
    let transpose = Transpose::load(&module).unwrap();
    let values: Vec<f32> = (0..64_u8).map(f32::from).collect();
    let mut from = Array::from_slice(&device, ArrayShape::D2(8, 8), &values).unwrap();
    let mut to = Array::<f32>::zeroed(&device, ArrayShape::D2(8, 8)).unwrap();
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let config = LaunchConfig::new((1, 1), (8, 8));
    {
        let (mut low, mut high) = (Surface::new(&mut from).unwrap(), Surface::new(&mut to).unwrap());
        for _ in 0..10 {
            // Writes and reads back, on one stream each: the second reads what the first writes.
            // SAFETY: a thread for each texel.
            unsafe {
                transpose.launch(&first, config, &low, &mut high, 8, 8).unwrap();
                transpose.launch(&second, config, &high, &mut low, 8, 8).unwrap();
            }
        }
    }
    let expected: Vec<f32> = values.iter().map(|value| value + 10.0).collect();
    assert_eq!(from.as_slice().to_vec().unwrap(), expected);
}

#[test]
fn a_graph_keeps_the_texture_of_a_typed_kernel_and_knows_what_a_surface_is_for() {
    let Some(device) = images() else { return };
    let Some(module) = image_module(&device) else { return };
    let Some(mut graph) = crate::supported(Graph::new(&device)) else { return };
    let (sample, transpose) = (Sample2D::load(&module).unwrap(), Transpose::load(&module).unwrap());
    let [xs, ys] = centres(8, 8).map(|c| DeviceBuffer::from_slice(&device, &c).unwrap());
    let values: Vec<f32> = (0..64_u8).map(f32::from).collect();
    let mut from = Array::from_slice(&device, ArrayShape::D2(8, 8), &values).unwrap();
    let mut to = Array::<f32>::zeroed(&device, ArrayShape::D2(8, 8)).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
    let (low, mut high) = (Surface::new(&mut from).unwrap(), Surface::new(&mut to).unwrap());
    // SAFETY: a thread for each texel.
    let written =
        unsafe { transpose.add_to(&mut graph, &[], LaunchConfig::new((1, 1), (8, 8)), &low, &mut high, 8, 8) }.unwrap();
    drop((low, high));
    let texture = Texture::from_array(&to, TextureOptions::new()).unwrap();
    // SAFETY: as `run`.
    unsafe { sample.add_to(&mut graph, &[written], LaunchConfig::new(1, 64), &texture, &xs, &ys, &mut out, 64) }
        .unwrap();
    drop(texture);
    drop((from, to, xs, ys));
    let exec = graph.instantiate().unwrap();
    exec.launch(&Stream::new(&device).unwrap()).unwrap();
    let expected: Vec<f32> = (0..64).map(|i| values[i % 8 * 8 + i / 8] + 0.5).collect();
    assert_eq!(out.to_vec().unwrap(), expected);
}

#[test]
fn textures_that_cannot_be_are_refused_before_the_call() {
    let Some(device) = images() else { return };
    let options = TextureOptions::new();
    let linear = options.filter(FilterMode::Linear);
    #[track_caller]
    fn refused(result: hip::Result<Texture<'_>>) {
        assert!(matches!(result, Err(Error::InvalidValue { .. })), "{result:?}");
    }
    let floats = Array::<f32>::zeroed(&device, ArrayShape::D2(8, 4)).unwrap();
    let bytes = Array::<[u8; 2]>::zeroed(&device, ArrayShape::D2(8, 4)).unwrap();
    let words = Array::<u32>::zeroed(&device, ArrayShape::D2(8, 4)).unwrap();
    refused(Texture::from_array(&floats, options.address(AddressMode::Wrap)));
    refused(Texture::from_array(&floats, options.srgb(true)));
    refused(Texture::from_array(&bytes, options.srgb(true)));
    refused(Texture::from_array(&bytes, linear));
    refused(Texture::from_array(&words, linear));
    refused(Texture::from_array(&words, options.read(ReadMode::NormalizedFloat)));
    let buffer = DeviceBuffer::<f32>::zeroed(&device, 100).unwrap();
    refused(Texture::from_buffer(buffer.slice(3..).unwrap(), ReadMode::Element));
    refused(Texture::from_buffer(buffer.slice(..0).unwrap(), ReadMode::Element));
    let integers = DeviceBuffer::<u32>::zeroed(&device, 100).unwrap();
    refused(Texture::from_buffer(&integers, ReadMode::NormalizedFloat));
    let plane = PitchedBuffer::<f32>::zeroed(&device, (8, 4)).unwrap();
    refused(Texture::from_pitched(plane.region(1.., .., ..).unwrap(), options));
    refused(Texture::from_pitched(plane.region(..0, .., ..).unwrap(), options));
    refused(Texture::from_pitched(buffer.as_slice().into_rows(10).unwrap(), options));
    let volume = PitchedBuffer::<f32>::zeroed(&device, (8, 4, 2)).unwrap();
    refused(Texture::from_pitched(&volume, options));
    // Valid regions still work.
    assert!(Texture::from_pitched(plane.region(.., 1.., ..).unwrap(), linear).is_ok());
}

/// Returns a direction from the middle of a cube to a point on a face, with both coordinates from 0 to 1.
fn direction(face: usize, at: [f32; 2]) -> [f32; 3] {
    let [s, t] = at.map(|c| 2.0 * c - 1.0);
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// Returns directions to the middle of each texel of a cube, scaled by `far`.
///
/// The device library of ROCm (7.2) divides by the signed main axis, so the faces of negative directions are rotated by
/// 180 degrees.
fn directions(width: usize, far: f32) -> [Vec<f32>; 3] {
    let middle = |i: usize| (i as f32 + 0.5) / width as f32;
    let texel = |n: usize| {
        let (face, at) = (n / (width * width), [middle(n % width), middle(n / width % width)]);
        (face, if face % 2 == 0 { at } else { at.map(|c| 1.0 - c) })
    };
    let all: Vec<[f32; 3]> = (0..6 * width * width).map(texel).map(|(face, at)| direction(face, at)).collect();
    [0, 1, 2].map(|d| all.iter().map(|v| far * v[d]).collect())
}

#[test]
fn cubes_are_sampled_by_directions() {
    let Some(device) = images() else { return };
    let width = 5;
    let texels: Vec<f32> = (0..6 * 25_u8).map(f32::from).collect();
    let mut cube = match Array::from_slice(&device, ArrayShape::Cubemap(width), &texels) {
        Ok(cube) => cube,
        // The status of ROCm's runtimes for Linux.
        Err(error) if error.status() == Some(hip::Status::INVALID_VALUE) => return crate::skipped(&error),
        Err(error) => panic!("{error}"),
    };
    let Some(sample) = image_kernel(&device, "sample_cube") else { return };
    let options = TextureOptions::new().normalized(true);
    for far in [1.0, 0.25, 1000.0] {
        let texture = Texture::from_array(&cube, options).unwrap();
        let [xs, ys, zs] = directions(width, far).map(|axis| DeviceBuffer::from_slice(&device, &axis).unwrap());
        let found: Vec<f32> = run(&device, &sample, texels.len(), &[&&texture, &&xs, &&ys, &&zs]);
        assert_eq!(found, texels, "{far}");
    }
    let linear = Texture::from_array(&cube, options.filter(FilterMode::Linear)).unwrap_err();
    assert!(matches!(linear, Error::Unsupported { .. }), "{linear:?}");
    let cubes = Array::<f32>::zeroed(&device, ArrayShape::CubemapLayered(width, 2)).unwrap();
    if device.is_simulated() {
        let several = Texture::from_array(&cubes, options).unwrap_err();
        assert_eq!(several.status(), Some(hip::Status::NOT_SUPPORTED), "{several}");
    }
    // As a surface.
    let add = image_kernel(&device, "add_to_cube_surface").unwrap();
    let stream = Stream::new(&device).unwrap();
    {
        let mut surface = Surface::new(&mut cube).unwrap();
        // SAFETY: the kernel stays inside of the width.
        unsafe { add.launch(&stream, LaunchConfig::new((1, 1), (8, 8)), (&mut surface, width as i32, 0.5f32)) }
            .unwrap();
    }
    let expected: Vec<f32> = texels.iter().map(|texel| texel + 0.5).collect();
    assert_eq!(cube.to_vec().unwrap(), expected);
}

#[test]
fn the_level_is_read_that_the_options_come_to() {
    let Some(device) = images() else { return };
    let Some(mut array) = crate::supported(MipmappedArray::<f32>::new(&device, ArrayShape::D2(12, 4), 3)) else {
        return;
    };
    let texels = |level: usize| -> Vec<f32> { (0..48 >> (2 * level)).map(|i| (100 * level + i) as f32).collect() };
    for level in [2, 0, 1] {
        array.level_mut(level).unwrap().copy_from_slice(&texels(level)).unwrap();
    }
    let Some(sample) = image_kernel(&device, "sample_2d") else { return };
    let read = |options: TextureOptions, level: usize| {
        let texture = Texture::from_mipmap(&array, options).unwrap();
        let [xs, ys] = centres(12 >> level, 4 >> level).map(|axis| DeviceBuffer::from_slice(&device, &axis).unwrap());
        run::<f32>(&device, &sample, 48 >> (2 * level), &[&&texture, &&xs, &&ys])
    };
    let plain = TextureOptions::new();
    let levels = MipmapOptions::default();
    let exactly = |level: f32| MipmapOptions { min_level: level, max_level: level, ..levels };
    for (options, level) in [
        (plain, 0),
        (plain.mipmap(levels), 0),
        (plain.mipmap(exactly(0.0)), 0),
        (plain.mipmap(exactly(1.0)), 1),
        (plain.mipmap(exactly(2.0)), 2),
        (plain.mipmap(MipmapOptions { bias: 1.25, ..levels }), 1),
        (plain.mipmap(MipmapOptions { bias: 1.5, ..levels }), 2),
        (plain.mipmap(MipmapOptions { bias: -3.0, ..levels }), 0),
        // There are no more levels.
        (plain.mipmap(exactly(7.0)), 2),
        (plain.mipmap(MipmapOptions { filter: FilterMode::Linear, bias: 1.0, ..levels }), 1),
    ] {
        assert_eq!(read(options, level), texels(level), "{options:?}");
    }
    let between = MipmapOptions { filter: FilterMode::Linear, bias: 0.5, ..levels };
    let refused = Texture::from_mipmap(&array, plain.mipmap(between)).unwrap_err();
    assert_eq!(refused.status(), Some(hip::Status::NOT_SUPPORTED), "{refused}");
    // Interpolation within one level.
    let blended = plain.filter(FilterMode::Linear).mipmap(exactly(1.0));
    let texture = Texture::from_mipmap(&array, blended).unwrap();
    let (xs, ys) = (DeviceBuffer::from_slice(&device, &[1.0f32]), DeviceBuffer::from_slice(&device, &[0.5f32]));
    let found: Vec<f32> = run(&device, &sample, 1, &[&&texture, &&xs.unwrap(), &&ys.unwrap()]);
    assert_eq!(found, [100.5]);
}

#[test]
fn a_device_without_images_says_so() {
    let Some(device) = crate::device() else { return };
    if device.has_images().unwrap() {
        crate::skipped(&"the device has images");
        return;
    }
    let array = Array::<f32>::new(&device, ArrayShape::D2(8, 4));
    assert!(matches!(array, Err(Error::Unsupported { what: "an array", .. })), "{array:?}");
    let buffer = DeviceBuffer::<f32>::zeroed(&device, 100).unwrap();
    let texture = Texture::from_buffer(&buffer, ReadMode::Element);
    assert!(matches!(texture, Err(Error::Unsupported { what: "a texture", .. })), "{texture:?}");
    let pitched = PitchedBuffer::<f32>::zeroed(&device, (8, 4)).unwrap();
    let texture = Texture::from_pitched(&pitched, TextureOptions::new());
    assert!(matches!(texture, Err(Error::Unsupported { what: "a texture", .. })), "{texture:?}");
}

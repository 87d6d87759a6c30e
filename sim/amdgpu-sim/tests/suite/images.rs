//! Textures and surfaces, on gfx90a: gfx942 has no images.

use std::sync::Arc;

use amdgpu_sim::{Gpu, Module};

use crate::common::image::{CUBE, FLOAT, Image, LINE, LINES, PLANE, PLANES, UINT, UNORM, VOLUME, sampler};
use crate::common::{Args, Buffer, Random, launch_1d, upload, zeros};
use crate::levels::{Level, only_gfx90a};

only_gfx90a!("images", check);

const COUNT: usize = 300;

fn check(_: Level, gpu: &Gpu, module: &Arc<Module>) {
    textures(gpu, module);
    other_formats(gpu, module);
    cubes(gpu, module);
    surfaces(gpu, module);
}

/// The data behind a `hipTextureObject_t`: descriptor, properties for the kernels, sampler.
fn object<'g>(gpu: &'g Gpu, image: &Image, base: u64, sampler: [u32; 4]) -> Buffer<'g, u32> {
    upload(gpu, &[&image.descriptor(base)[..], &sampler].concat())
}

/// HSA's channel types and orders: floats, normalised bytes, bytes and half words as integers, and words; one, two or
/// four components.
const HSA_FLOAT: u32 = 15;
const HSA_UNORM8: u32 = 2;
const HSA_INT32: u32 = 10;
const HSA_UINT8: u32 = 11;
const HSA_UINT16: u32 = 12;
const HSA_R: u32 = 1;
const HSA_RG: u32 = 3;
const HSA_RGBA: u32 = 8;

fn floats(kind: u32, size: [u32; 3]) -> Image {
    Image { kind, size, pitch: size[0] + 3, data: 14, number: FLOAT, hsa: [HSA_FLOAT, HSA_RGBA] }
}

/// The index for a coordinate outside the image; `None` is the border.
fn outside(clamp: u32, i: i64, n: i64) -> Option<i64> {
    match clamp {
        // hipAddressModeWrap, Mirror, Clamp and Border.
        0 => Some((i % n + n) % n),
        1 => {
            let i = (i % (2 * n) + 2 * n) % (2 * n);
            Some(if i < n { i } else { 2 * n - 1 - i })
        }
        2 => Some(i.clamp(0, n - 1)),
        _ => (0..n).contains(&i).then_some(i),
    }
}

/// The texels along an axis, with their weights.
fn axis(clamp: u32, linear: bool, u: f64, n: u32) -> Vec<(Option<i64>, f64)> {
    if !linear {
        return vec![(outside(clamp, u.floor() as i64, n.into()), 1.0)];
    }
    let (first, part) = ((u - 0.5).floor(), (u - 0.5) - (u - 0.5).floor());
    [(first, 1.0 - part), (first + 1.0, part)].map(|(i, w)| (outside(clamp, i as i64, n.into()), w)).to_vec()
}

fn textures(gpu: &Gpu, module: &Module) {
    let mut random = Random(400);
    // Kernel, image, coordinates, whether the third is a layer.
    let cases = [
        ("lines", floats(LINE, [32, 1, 1]), 1, false),
        ("planes", floats(PLANE, [16, 8, 1]), 2, false),
        ("volumes", floats(VOLUME, [8, 4, 4]), 3, false),
        ("line_layers", floats(LINES, [16, 1, 5]), 1, true),
        ("plane_layers", floats(PLANES, [8, 8, 3]), 2, true),
    ];
    for (kernel, image, sides, layered) in cases {
        let texels: Vec<f32> = (0..4 * image.texels()).map(|_| (random.next() % 2001) as f32 - 1000.0).collect();
        let memory = upload(gpu, &texels);
        for (clamp, linear, normalized) in [0, 1, 2, 6].into_iter().flat_map(|clamp| {
            [(false, false), (false, true), (true, false), (true, true)].map(|(linear, norm)| (clamp, linear, norm))
        }) {
            let texture = object(gpu, &image, memory.address, sampler(clamp, linear, normalized));
            // In eighths of texels: every weight is exact.
            let at: Vec<[f64; 3]> = (0..COUNT)
                .map(|_| {
                    std::array::from_fn(|d| {
                        let n = u64::from(image.size[d]);
                        if d == 2 && layered {
                            (random.next() % (n + 2)) as f64 - 1.0
                        } else {
                            (random.next() % (8 * 3 * n)) as f64 / 8.0 - n as f64
                        }
                    })
                })
                .collect();
            let scale = |d: usize| if normalized && d < sides { f64::from(image.size[d]) } else { 1.0 };
            let places: Vec<f32> = at
                .iter()
                .flat_map(|u| [u[0] / scale(0), u[1] / scale(1), u[2] / scale(2), 0.0])
                .map(|x| x as f32)
                .collect();
            let (input, out) = (upload(gpu, &places), zeros::<f32>(gpu, 4 * COUNT));
            let args = Args::default().value(texture.address).pointer(&input).pointer(&out).value(COUNT as u32);
            launch_1d(gpu, module, kernel, COUNT.div_ceil(64) as u32, 64, &args);
            for (got, u) in out.get().chunks_exact(4).zip(&at) {
                let along =
                    |d: usize| if d < sides { axis(clamp, linear, u[d], image.size[d]) } else { vec![(Some(0), 1.0)] };
                let (xs, ys, mut zs) = (along(0), along(1), along(2));
                if layered {
                    zs = vec![(Some((u[2] as i64).clamp(0, i64::from(image.size[2]) - 1)), 1.0)];
                }
                let mut expected = [0.0; 4];
                for (x, wx) in &xs {
                    for (y, wy) in &ys {
                        for (z, wz) in &zs {
                            let (Some(x), Some(y), Some(z)) = (x, y, z) else { continue };
                            let texel = image.texel([*x as u32, *y as u32, *z as u32]);
                            for (i, sum) in expected.iter_mut().enumerate() {
                                *sum += wx * wy * wz * f64::from(texels[4 * texel + i]);
                            }
                        }
                    }
                }
                let got: Vec<f64> = got.iter().map(|x| f64::from(*x)).collect();
                assert_eq!(got, expected, "{kernel} clamp {clamp} linear {linear} normalized {normalized} at {u:?}");
            }
        }
    }
}

/// Bytes, as fractions of 255 and as integers.
fn other_formats(gpu: &Gpu, module: &Module) {
    let mut random = Random(401);
    let image =
        Image { kind: PLANE, size: [16, 16, 1], pitch: 64, data: 10, number: UNORM, hsa: [HSA_UNORM8, HSA_RGBA] };
    let texels: Vec<u8> = (0..4 * image.texels()).map(|_| random.next() as u8).collect();
    let memory = upload(gpu, &texels);
    let places: Vec<f32> = (0..256).flat_map(|i| [(i % 16) as f32 + 0.25, (i / 16) as f32 + 0.75, 0.0, 0.0]).collect();
    let input = upload(gpu, &places);
    let of = |i: usize| 4 * image.texel([i as u32 % 16, i as u32 / 16, 0]);

    let texture = object(gpu, &image, memory.address, sampler(2, false, false));
    let out = zeros::<f32>(gpu, 1024);
    let args = Args::default().value(texture.address).pointer(&input).pointer(&out).value(256_u32);
    launch_1d(gpu, module, "planes", 4, 64, &args);
    for (i, got) in out.get().chunks_exact(4).enumerate() {
        let expected: Vec<f32> = texels[of(i)..of(i) + 4].iter().map(|b| (f64::from(*b) / 255.0) as f32).collect();
        assert_eq!(got, expected, "texel {i}");
    }

    let integers = Image { number: UINT, hsa: [HSA_UINT8, HSA_RGBA], ..image };
    let texture = object(gpu, &integers, memory.address, sampler(2, false, false));
    let out = zeros::<u8>(gpu, 1024);
    let args = Args::default().value(texture.address).pointer(&input).pointer(&out).value(256_u32);
    launch_1d(gpu, module, "integers", 4, 64, &args);
    for (i, got) in out.get().chunks_exact(4).enumerate() {
        assert_eq!(got, &texels[of(i)..of(i) + 4], "texel {i}");
    }
}

/// The texel of a cube in a direction, by the manual's faces: +x, -x, +y, -y, +z, -z. AMD's device library divides by
/// the signed largest coordinate.
fn cubes(gpu: &Gpu, module: &Module) {
    let mut random = Random(402);
    let image = floats(CUBE, [8, 8, 6]);
    let texels: Vec<f32> = (0..4 * image.texels()).map(|i| i as f32).collect();
    let memory = upload(gpu, &texels);
    let texture = object(gpu, &image, memory.address, sampler(2, false, true));
    let directions: Vec<[f64; 3]> =
        (0..COUNT).map(|_| std::array::from_fn(|_| f64::from(random.between(-1.0, 1.0) as f32))).collect();
    let places: Vec<f32> = directions.iter().flat_map(|d| [d[0], d[1], d[2], 0.0]).map(|x| x as f32).collect();
    let (input, out) = (upload(gpu, &places), zeros::<f32>(gpu, 4 * COUNT));
    let args = Args::default().value(texture.address).pointer(&input).pointer(&out).value(COUNT as u32);
    launch_1d(gpu, module, "cubes", COUNT.div_ceil(64) as u32, 64, &args);
    let mut faces = [0; 6];
    for (got, [x, y, z]) in out.get().chunks_exact(4).zip(directions) {
        let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
        let (face, s, t, size) = if az >= ax && az >= ay {
            (if z < 0.0 { 5 } else { 4 }, if z < 0.0 { -x } else { x }, -y, z)
        } else if ay >= ax {
            (if y < 0.0 { 3 } else { 2 }, x, if y < 0.0 { -z } else { z }, y)
        } else {
            (if x < 0.0 { 1 } else { 0 }, if x < 0.0 { z } else { -z }, -y, x)
        };
        let texel = |c: f64| (c / size * 4.0 + 4.0).floor().clamp(0.0, 7.0) as u32;
        // Coordinates that could round to the next texel are left out.
        let near = |c: f64| ((c / size * 4.0) - (c / size * 4.0).round()).abs() < 1e-4;
        if near(s) || near(t) {
            continue;
        }
        faces[face as usize] += 1;
        assert_eq!(got[0], texels[4 * image.texel([texel(s), texel(t), face])], "{x} {y} {z}: face {face}");
    }
    assert!(faces.iter().all(|n| *n > 10), "{faces:?}");
}

fn surfaces(gpu: &Gpu, module: &Module) {
    let mut random = Random(403);
    let none = [0; 4];
    let plane = floats(PLANE, [13, 9, 1]);
    let texels: Vec<f32> = (0..4 * plane.texels()).map(|_| (random.next() % 1000) as f32).collect();
    let (from, to) = (upload(gpu, &texels), zeros::<f32>(gpu, 4 * plane.texels()));
    let objects = [from.address, to.address].map(|base| object(gpu, &plane, base, none));
    let args = Args::default().value(objects[0].address).value(objects[1].address).value(13_i32).value(9_i32);
    launch_1d(gpu, module, "flip", 2, 64, &args);
    let mut expected = vec![0.0; 4 * plane.texels()];
    for (x, y) in (0..13).flat_map(|x| (0..9).map(move |y| (x, y))) {
        let (a, b) = (4 * plane.texel([x, y, 0]), 4 * plane.texel([12 - x, 8 - y, 0]));
        expected[b..b + 4].copy_from_slice(&texels[a..a + 4]);
        expected[b + 3] += 1.0;
    }
    assert_eq!(to.get(), expected);

    let line = Image { kind: LINE, size: [50, 1, 1], pitch: 64, data: 4, number: 5, hsa: [HSA_INT32, HSA_R] };
    let texels: Vec<i32> = (0..64).map(|_| random.next() as i32 >> 3).collect();
    let (from, to) = (upload(gpu, &texels), zeros::<i32>(gpu, 64));
    let objects = [from.address, to.address].map(|base| object(gpu, &line, base, none));
    launch_1d(
        gpu,
        module,
        "flip_line",
        1,
        64,
        &Args::default().value(objects[0].address).value(objects[1].address).value(50_i32),
    );
    let expected: Vec<i32> = (0..64).map(|x| if x < 50 { texels[49 - x].wrapping_mul(3) } else { 0 }).collect();
    assert_eq!(to.get(), expected);

    let volume = Image { kind: VOLUME, size: [5, 5, 5], pitch: 8, data: 5, number: UINT, hsa: [HSA_UINT16, HSA_RG] };
    let texels: Vec<u16> = (0..2 * volume.texels()).map(|_| random.next() as u16).collect();
    let (from, to) = (upload(gpu, &texels), zeros::<u16>(gpu, 2 * volume.texels()));
    let objects = [from.address, to.address].map(|base| object(gpu, &volume, base, none));
    let args = Args::default().value(objects[0].address).value(objects[1].address).value(5_i32);
    launch_1d(gpu, module, "turn", 2, 64, &args);
    let mut expected = vec![0; 2 * volume.texels()];
    for n in 0..125 {
        let [x, y, z] = [n % 5, n / 5 % 5, n / 25];
        let (a, b) = (2 * volume.texel([x, y, z]), 2 * volume.texel([z, x, y]));
        (expected[b], expected[b + 1]) = (texels[a + 1], texels[a]);
    }
    assert_eq!(to.get(), expected);

    let layers = Image { kind: PLANES, size: [6, 6, 4], pitch: 64, data: 10, number: UINT, hsa: [HSA_UINT8, HSA_RGBA] };
    let texels: Vec<u8> = (0..4 * layers.texels()).map(|_| random.next() as u8).collect();
    let (from, to) = (upload(gpu, &texels), upload(gpu, &vec![0xff_u8; 4 * layers.texels()]));
    let objects = [from.address, to.address].map(|base| object(gpu, &layers, base, none));
    let args = Args::default().value(objects[0].address).value(objects[1].address).value(6_i32).value(4_i32);
    launch_1d(gpu, module, "shuffle_layers", 3, 64, &args);
    // HIP's functions pass the layer as a mip level. There is one level, of which they access the first layer: loads from other levels
    // return zero, and stores to them are discarded.
    let mut expected = vec![0xff; 4 * layers.texels()];
    for (x, y) in (0..6).flat_map(|x| (0..6).map(move |y| (x, y))) {
        let at = 4 * layers.texel([x, y, 0]);
        expected[at..at + 4].fill(0);
    }
    assert_eq!(to.get(), expected);
}

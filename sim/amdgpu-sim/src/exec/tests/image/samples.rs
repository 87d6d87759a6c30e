//! Samples, against the formulas of OpenGL's specification.

use super::*;

/// The texel for a number that may be outside, according to OpenGL's formulas: `None` is the border.
fn wrapped(mode: u32, i: i64, n: i64) -> Option<i64> {
    let mirror = |a: i64| if a >= 0 { a } else { -(1 + a) };
    let inside = |i: i64| (0..n).contains(&i).then_some(i);
    match mode {
        0 => Some(i - n * (i as f64 / n as f64).floor() as i64),
        1 => Some((n - 1) - mirror((i - 2 * n * (i as f64 / (2 * n) as f64).floor() as i64) - n)),
        2 => Some(i.max(0).min(n - 1)),
        3 => Some(mirror(i).min(n - 1)),
        6 => inside(i),
        7 => inside(mirror(i)),
        _ => unreachable!(),
    }
}

/// The texels along an axis with their weights.
fn axis(mode: u32, linear: bool, u: f64, n: i64) -> Vec<(Option<i64>, f64)> {
    let (mode, u) = match mode {
        // OpenGL's old CLAMP: the coordinate is limited to the image, and the border contributes up to half a texel.
        4 => (6, u.max(0.0).min(n as f64)),
        // Below zero the image is mirrored.
        5 => (7, u.abs().min(n as f64)),
        other => (other, u),
    };
    if linear {
        let start = (u - 0.5).floor();
        let part = u - 0.5 - start;
        vec![(wrapped(mode, start as i64, n), 1.0 - part), (wrapped(mode, start as i64 + 1, n), part)]
    } else {
        vec![(wrapped(mode, u.floor() as i64, n), 1.0)]
    }
}

#[test]
fn samples() {
    // Words that are small integers as floats: interpolation with weights in eighths is exact.
    let mut random = Random::new(960);
    let memory: Vec<u8> =
        (0..SIZE / 4).flat_map(|_| ((random.next() % 1000) as f32 - 500.0).to_bits().to_le_bytes()).collect();
    let at = |i: usize| f64::from(f32::from_bits(u32::from_le_bytes(memory[4 * i..4 * i + 4].try_into().unwrap())));
    let borders = [[0.0; 4], [0.0, 0.0, 0.0, 1.0], [1.0; 4]];
    let cases: [(u32, [u32; 3], bool, usize); 5] = [
        (LINE, [16, 1, 1], false, 1),
        (LINES, [8, 1, 4], true, 1),
        (PLANE, [8, 4, 1], false, 2),
        (PLANES, [4, 8, 3], true, 2),
        (VOLUME, [4, 4, 8], false, 3),
    ];
    for (kind, size, da, sides) in cases {
        for n in 0..8 * 2 * 3 * 2 * 2 {
            let (clamp, filter, reduction) = (n % 8, n / 8 % 2, n / 16 % 3);
            let (unnormalized, by_instruction, border) = (n / 48 % 2 == 1, n / 96 % 2 == 1, random.next() as u32 % 3);
            let unnormalized_by_it = unnormalized && !by_instruction;
            let sampler =
                Sampling { clamp, filter, border, reduction, unnormalized: unnormalized_by_it, ..Sampling::default() };
            let image = Description { pitch: size[0] + 1, ..Description::new(kind, size, 4, FLOAT) };
            let mut code = mimg(Op::image_sample, Image { da, ..all(0b1001) }, false);
            if let Some(image) = &mut code.mods.image {
                image.unorm = unnormalized && by_instruction;
            }
            let texels: Vec<[f64; 3]> = (0..LANES)
                .map(|_| {
                    std::array::from_fn(|d| {
                        let range = f64::from(size[d]) * 8.0 * 5.0;
                        let eighths = (random.next() as f64 / u64::MAX as f64 * range).floor() - range * 0.4;
                        if d < sides { eighths / 8.0 } else { (random.next() % 80) as f64 / 8.0 - 2.0 }
                    })
                })
                .collect();
            let outcome = sampled(code, &image, sampler, &memory, &|w| {
                for lane in 0..LANES {
                    for d in 0..3 {
                        let scale = if unnormalized || d >= sides { 1.0 } else { f64::from(size[d]) };
                        // The layer follows the coordinates.
                        let from = if d == sides { 2 } else { d };
                        w.row_mut(d as u16)[lane] = ((texels[lane][from] / scale) as f32).to_bits();
                    }
                }
            });
            for lane in 0..LANES {
                let u = texels[lane];
                let mut axes: Vec<_> = (0..sides).map(|d| axis(clamp, filter == 1, u[d], i64::from(size[d]))).collect();
                if clamp == 4 || clamp == 5 {
                    // Without interpolation the clamped coordinate never shows the border.
                    for (d, axis) in axes.iter_mut().enumerate().filter(|_| filter == 0) {
                        let last = i64::from(size[d]) - 1;
                        let limited = if clamp == 5 { u[d].abs() } else { u[d] };
                        *axis = vec![(Some((limited.floor() as i64).max(0).min(last)), 1.0)];
                    }
                }
                axes.resize(2.max(sides), vec![(Some(0), 1.0)]);
                if sides < 3 {
                    let layer = if da { u[2].round_ties_even().clamp(0.0, f64::from(size[2]) - 1.0) as i64 } else { 0 };
                    axes.push(vec![(Some(layer), 1.0)]);
                }
                for (register, component) in [(0, 0), (1, 3)] {
                    let mut parts = Vec::new();
                    for x in &axes[0] {
                        for y in &axes[1] {
                            for z in &axes[2] {
                                let weight = x.1 * y.1 * z.1;
                                let value = match (x.0, y.0, z.0) {
                                    _ if component == 3 && !(x.0.is_none() || y.0.is_none() || z.0.is_none()) => 1.0,
                                    (Some(x), Some(y), Some(z)) => {
                                        let row = z * i64::from(image.size[1]) + y;
                                        at((row * i64::from(image.pitch) + x) as usize)
                                    }
                                    _ => borders[border as usize][component],
                                };
                                if weight != 0.0 {
                                    parts.push((value, weight));
                                }
                            }
                        }
                    }
                    let values = parts.iter().map(|p| p.0);
                    let expected = match reduction {
                        0 => parts.iter().map(|p| p.0 * p.1).sum::<f64>(),
                        1 => values.fold(f64::INFINITY, f64::min),
                        _ => values.fold(f64::NEG_INFINITY, f64::max),
                    };
                    let got = f32::from_bits(registers(&outcome, lane)[register]);
                    assert_eq!(
                        f64::from(got),
                        expected,
                        "{kind} clamp {clamp} filter {filter} reduction {reduction} border {border} at {u:?}: {parts:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn samples_of_integers_halves_and_cubes() {
    let memory = noise(970);
    // Integers are not interpolated, even if the sampler says so.
    let image = Description::new(LINE, [64, 1, 1], 1, UINT);
    let sampler = Sampling { filter: 1, unnormalized: true, ..Sampling::default() };
    let outcome = sampled(mimg(Op::image_sample, all(1), false), &image, sampler, &memory, &|w| {
        (0..LANES).for_each(|lane| w.row_mut(0)[lane] = (lane as f32 + 0.875).to_bits());
    });
    (0..LANES).for_each(|lane| assert_eq!(registers(&outcome, lane)[0], u32::from(memory[lane])));
    // Coordinates of 16 bits, results of 16 bits.
    let image = Description::new(PLANE, [8, 8, 1], 10, UNORM);
    let code = mimg(Op::image_sample, Image { a16: true, d16: true, ..all(15) }, false);
    let outcome = sampled(code, &image, Sampling { unnormalized: true, ..Sampling::default() }, &memory, &|w| {
        for lane in 0..LANES {
            let half = |x: usize| u32::from(f16::from_f32(x as f32 + 0.5).to_bits());
            w.row_mut(0)[lane] = half(lane % 8) | half(lane / 8) << 16;
        }
    });
    for lane in 0..LANES {
        let got = registers(&outcome, lane);
        for i in 0..4 {
            let expected = f16::from_f64((f64::from(memory[4 * lane + i]) / 255.0) as f32 as f64).to_bits();
            assert_eq!(got[i / 2] >> (16 * (i % 2)) & 0xffff, u32::from(expected), "{lane} {i}");
        }
        assert_eq!(got[2], 0xdead_0006);
    }
    // The coordinates on a face begin at zero or one; the face is a number.
    let image = Description::new(CUBE, [4, 4, 1], 4, UINT);
    let code = mimg(Op::image_sample, Image { da: true, ..all(1) }, false);
    for begin in [0.0, 1.0] {
        let outcome = sampled(code, &image, Sampling::default(), &memory, &|w| {
            for lane in 0..LANES {
                w.row_mut(0)[lane] = (begin + (lane % 4) as f32 / 4.0 + 0.1_f32).to_bits();
                w.row_mut(1)[lane] = (begin + (lane / 4 % 4) as f32 / 4.0 + 0.1_f32).to_bits();
                w.row_mut(2)[lane] = ((lane / 16) as f32 + 2.0).to_bits();
            }
        });
        for lane in 0..LANES {
            let at = 4 * (32 + lane);
            assert_eq!(registers(&outcome, lane)[0], u32::from_le_bytes(memory[at..at + 4].try_into().unwrap()));
        }
    }
    // NaN and infinities select some texel or the border, and must not panic.
    for clamp in 0..8 {
        let sampler = Sampling { clamp, filter: 1, ..Sampling::default() };
        let image = Description::new(PLANE, [8, 8, 1], 4, FLOAT);
        let outcome = sampled(mimg(Op::image_sample, all(15), false), &image, sampler, &memory, &|w| {
            let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -1e30, 1e-40, -0.0];
            for lane in 0..LANES {
                w.row_mut(0)[lane] = odd[lane % 7].to_bits();
                w.row_mut(1)[lane] = odd[lane / 7 % 7].to_bits();
            }
        });
        assert_eq!(outcome.trap, None, "{clamp}");
    }
}

/// Floats that arithmetic would change are preserved by a sample of one texel; NaN is treated as coordinate zero.
#[test]
fn single_texels_keep_their_bits() {
    let image = Description::new(LINE, [4, 1, 1], 4, FLOAT);
    let texels = [0x8000_0000_u32, 0x7fc1_2345, 0xffc0_0001, 0x0000_0001];
    let memory: Vec<u8> = texels.iter().flat_map(|t| t.to_le_bytes()).collect();
    let sampler = Sampling { clamp: 2, unnormalized: true, ..Sampling::default() };
    let outcome = sampled(mimg(Op::image_sample, all(1), false), &image, sampler, &memory, &|w| {
        (0..LANES).for_each(|lane| w.row_mut(0)[lane] = (lane as f32 % 4.0 + 0.5).to_bits());
        w.row_mut(0)[63] = f32::NAN.to_bits();
    });
    (0..63).for_each(|lane| assert_eq!(registers(&outcome, lane)[0], texels[lane % 4], "{lane}"));
    assert_eq!(registers(&outcome, 63)[0], texels[0]);
    // If the outside contributes, coordinate zero is half a texel from the border.
    let sampler = Sampling { clamp: 6, filter: 1, unnormalized: true, border: 2, ..Sampling::default() };
    let memory: Vec<u8> = [5.0_f32; 4].iter().flat_map(|t| t.to_le_bytes()).collect();
    let outcome = sampled(mimg(Op::image_sample, all(1), false), &image, sampler, &memory, &|w| {
        w.row_mut(0).fill(f32::NAN.to_bits());
    });
    assert_eq!(registers(&outcome, 7)[0], 3.0_f32.to_bits());
}

/// With separate faces, a cube interpolates only within a face; other settings are refused there.
#[test]
fn faces_that_are_apart_end_at_their_edges() {
    let image = Description::new(CUBE, [4, 4, 1], 4, FLOAT);
    let code = mimg(Op::image_sample, Image { da: true, ..all(1) }, false);
    let memory: Vec<u8> = (0..96).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let sampler = Sampling { filter: 1, separate_faces: true, ..Sampling::default() };
    let at = |w: &mut Wave, x: f32| {
        w.row_mut(0).fill(x.to_bits());
        w.row_mut(1).fill(0.375_f32.to_bits());
        w.row_mut(2).fill(2.0_f32.to_bits());
    };
    // Half a texel outside the second row of the third face, and between its first two texels.
    for (x, expected) in [(0.0, 36.0_f32), (0.25, 36.5), (1.0, 39.0)] {
        let outcome = sampled(code, &image, sampler, &memory, &|w| at(w, x));
        assert_eq!(registers(&outcome, 9)[0], expected.to_bits(), "{x}");
    }
    let joined = Sampling { separate_faces: false, ..sampler };
    let outcome = sampled(code, &image, joined, &memory, &|w| at(w, 0.0));
    assert!(
        matches!(outcome.trap, Some(Trap::Unsupported(why)) if why.contains("edges of a cube")),
        "{:?}",
        outcome.trap
    );
}

#[test]
fn what_is_refused_says_why() {
    let load = mimg(Op::image_load, all(15), false);
    let sample = mimg(Op::image_sample, all(15), false);
    let plane = Description::new(PLANE, [8, 8, 1], 4, FLOAT);
    let none = Sampling::default();
    for kind in 0..8 {
        assert!(refusal(load, &Description { kind, ..plane }, none).contains("type"));
    }
    for kind in [14, 15] {
        assert!(refusal(load, &Description { kind, ..plane }, none).contains("multisampled"));
    }
    for tiling in [1, 9, 31] {
        assert!(refusal(load, &Description { tiling, ..plane }, none).contains("tiled"));
    }
    assert!(refusal(load, &Description { compressed: true, ..plane }, none).contains("compressed"));
    for (levels, op) in [([1, 1], Op::image_load), ([1, 2], Op::image_sample), ([1, 1], Op::image_store)] {
        assert!(refusal(mimg(op, all(15), false), &Description { levels, ..plane }, none).contains("mip"), "{op}");
    }
    let second =
        sampled(mimg(Op::image_load_mip, all(1), false), &Description { levels: [0, 1], ..plane }, none, &[], &|w| {
            w.row_mut(2).fill(1)
        });
    assert!(matches!(second.trap, Some(Trap::Unsupported(why)) if why.contains("mip")));
    assert!(refusal(sample, &plane, Sampling { border: 3, clamp: 6, ..none }).contains("table"));
    assert_eq!(sampled(sample, &plane, Sampling { border: 3, ..none }, &[], &|_| ()).trap, None, "no border shows");
    assert!(refusal(sample, &plane, Sampling { reduction: 3, ..none }).contains("filter"));
    let detail = |change: fn(&mut Wave), image: &Description| {
        sampled(sample, image, Sampling { filter: 3, ..none }, &[], &|w| change(w)).trap
    };
    let anisotropic: fn(&mut Wave) = |w| w.set_slot(16, w.slot(16) | 1 << 9);
    let two_filters: fn(&mut Wave) = |w| w.set_slot(18, 1 << 20);
    let levels: fn(&mut Wave) = |w| w.set_slot(18, w.slot(18) | 1 << 26);
    let mips = Description { levels: [0, 3], ..plane };
    for (change, image) in [(anisotropic, &plane), (two_filters, &plane), (levels, &mips)] {
        assert!(matches!(detail(change, image), Some(Trap::Unsupported(why)) if why.contains("detail")));
    }
    assert_eq!(detail(|_| (), &plane), None, "a ratio of one to one is no other than linear");
    assert_eq!(detail(levels, &plane), None, "there is but one level");
    let cube = Description::new(CUBE, [4, 4, 1], 4, FLOAT);
    let edge = sampled(
        mimg(Op::image_sample, Image { da: true, ..all(1) }, false),
        &cube,
        Sampling { filter: 1, ..none },
        &[],
        &|w| (0..2).for_each(|i| w.row_mut(i).fill(1.05_f32.to_bits())),
    );
    assert!(matches!(edge.trap, Some(Trap::Unsupported(why)) if why.contains("edges")));
}

//! Stores, atomic operations, and invalid accesses of images.

use super::*;

#[test]
fn stores_of_every_format() {
    let before = noise(930);
    let mut random = Random::new(931);
    for (data, widths) in FORMATS {
        for number in (0..8).filter(|number| exists(data, widths, *number)) {
            let bytes = widths.iter().sum::<u32>() as usize / 8;
            let image = Description::new(LINE, [60, 1, 1], data, number);
            // Texels that a load gives are stored as they were.
            let texels = noise(random.next());
            let float = number == FLOAT;
            let values: Vec<[u32; 4]> =
                (0..LANES).map(|lane| decoded(&texels[lane * bytes..(lane + 1) * bytes], widths, number)).collect();
            let outcome = run_one(mimg(Op::image_store, all(15), false), &image, &before, &|w| {
                for lane in 0..LANES {
                    w.row_mut(0)[lane] = lane as u32;
                    (0..4).for_each(|i| w.row_mut(DATA + i)[lane] = values[lane][usize::from(i)]);
                }
            });
            assert_eq!(outcome.trap, None);
            for lane in 0..LANES {
                let got = &outcome.memory[lane * bytes..(lane + 1) * bytes];
                if lane >= 60 {
                    assert_eq!(got, &before[lane * bytes..(lane + 1) * bytes], "outside");
                    continue;
                }
                let mut from = 0;
                for (i, width) in widths.iter().enumerate() {
                    let (got, old) = (field(got, from, *width), field(&texels[lane * bytes..], from, *width));
                    let nan = float && f32::from_bits(values[lane][i]).is_nan();
                    // The lowest value of a normalised integer has two encodings.
                    let lowest = number == 1 && old == 1 << (width - 1);
                    assert!(got == old || nan || lowest, "{data} {number} {i}: {got:#x}, not {old:#x}");
                    from += width;
                }
            }
        }
    }
    let image = Description::new(LINE, [60, 1, 1], 10, SRGB);
    assert!(refusal(mimg(Op::image_store, all(15), false), &image, Sampling::default()).contains("sRGB"));
}

#[test]
fn stores_limit_what_does_not_fit() {
    // Number format, the stored value (a float, or an integer's bits), and the resulting byte.
    let cases: [(u32, u32, u8); 14] = [
        (0, 2.0_f32.to_bits(), 255),
        (0, (-1.0_f32).to_bits(), 0),
        (0, f32::NAN.to_bits(), 0),
        (0, 0.5_f32.to_bits(), 128),
        (1, 2.0_f32.to_bits(), 127),
        (1, (-2.0_f32).to_bits(), 0x81),
        (2, 300.0_f32.to_bits(), 255),
        (2, 3.75_f32.to_bits(), 3),
        (3, (-200.0_f32).to_bits(), 0x80),
        (4, 300, 255),
        (4, u32::MAX, 255),
        (5, 200, 127),
        (5, -200_i32 as u32, 0x80),
        (5, -3_i32 as u32, 0xfd),
    ];
    for (number, value, expected) in cases {
        let image = Description::new(LINE, [1, 1, 1], 1, number);
        let outcome = run_one(mimg(Op::image_store, all(1), false), &image, &[7; 8], &|w| {
            w.set_exec(1);
            w.row_mut(DATA).fill(value);
        });
        assert_eq!((&outcome.trap, &outcome.memory[..2]), (&None, &[expected, 7][..]), "{number} {value:#x}");
    }
}

#[test]
fn stores_by_mask_halves_swizzles_and_levels() {
    let before = noise(940);
    let run = |op, image: Image, description: Description, values: [u32; 4], level: u32| {
        let outcome = run_one(mimg(op, image, false), &description, &before, &|w| {
            w.set_exec(1 << 9);
            w.row_mut(0)[9] = 3;
            w.row_mut(1)[9] = level;
            (0..4).for_each(|i| w.row_mut(DATA + i)[9] = values[usize::from(i)]);
        });
        assert_eq!(outcome.trap, None);
        let changed = (0..SIZE).filter(|at| outcome.memory[*at] != before[*at]).collect::<Vec<_>>();
        assert!(changed.iter().all(|at| at / 4 == 3), "only the fourth texel: {changed:?}");
        <[u8; 4]>::try_from(&outcome.memory[12..16]).unwrap()
    };
    let bytes = Description::new(LINE, [64, 1, 1], 10, UINT);
    let [a, b, c, d] = [0x11, 0x22, 0x33, 0x44];
    assert_eq!(run(Op::image_store, all(15), bytes, [a, b, c, d], 0), [0x11, 0x22, 0x33, 0x44]);
    assert_eq!(run(Op::image_store, all(0b1010), bytes, [a, b, c, d], 0), [0, 0x11, 0, 0x22], "the others are zero");
    // For halves only the number of components matters.
    let halves = Image { d16: true, ..all(0b1010) };
    assert_eq!(run(Op::image_store, halves, bytes, [0x0022_0011, c, d, d], 0), [0x11, 0x22, 0, 0]);
    let halves = Image { d16: true, ..all(0b0111) };
    assert_eq!(run(Op::image_store, halves, bytes, [0x0022_0011, 0x33, d, d], 0), [0x11, 0x22, 0x33, 0]);
    let bgra = Description { select: [6, 5, 4, 7], ..bytes };
    assert_eq!(run(Op::image_store, all(15), bgra, [a, b, c, d], 0), [0x33, 0x22, 0x11, 0x44]);
    let alpha = Description { select: [0, 0, 0, 4], ..bytes };
    assert_eq!(run(Op::image_store, all(15), alpha, [a, b, c, d], 0), [0x44, 0, 0, 0]);
    for op in [Op::image_store_pck, Op::image_store_mip_pck] {
        assert_eq!(run(op, all(1), bgra, [0x8877_6655, b, c, d], 0), [0x55, 0x66, 0x77, 0x88], "{op}");
    }
    assert_eq!(run(Op::image_store_mip, all(15), bytes, [a, b, c, d], 0), [0x11, 0x22, 0x33, 0x44]);
    assert_eq!(run(Op::image_store_mip, all(15), bytes, [a, b, c, d], 1), before[12..16], "there is no second level");
}

#[test]
fn atomics() {
    let mut random = Random::new(950);
    type Model = fn(u64, u64, u64, u32) -> u64;
    let models: [(Op, Model); 13] = [
        (Op::image_atomic_swap, |_, b, _, _| b),
        (Op::image_atomic_cmpswap, |a, b, c, _| if a == c { b } else { a }),
        (Op::image_atomic_add, |a, b, _, _| a.wrapping_add(b)),
        (Op::image_atomic_sub, |a, b, _, _| a.wrapping_sub(b)),
        (Op::image_atomic_smin, |a, b, _, n| if ((a << n) as i64) < (b << n) as i64 { a } else { b }),
        (Op::image_atomic_umin, |a, b, _, _| if a < b { a } else { b }),
        (Op::image_atomic_smax, |a, b, _, n| if ((a << n) as i64) > (b << n) as i64 { a } else { b }),
        (Op::image_atomic_umax, |a, b, _, _| if a > b { a } else { b }),
        (Op::image_atomic_and, |a, b, _, _| a & b),
        (Op::image_atomic_or, |a, b, _, _| (a ^ b) | (a & b)),
        (Op::image_atomic_xor, |a, b, _, _| (a | b) & !(a & b)),
        (Op::image_atomic_inc, |a, b, _, _| if a < b { a + 1 } else { 0 }),
        (Op::image_atomic_dec, |a, b, _, _| if (1..=b).contains(&a) { a - 1 } else { b }),
    ];
    for (op, model) in models {
        for wide in [false, true] {
            for glc in [false, true] {
                let (words, mask) = if wide { (2, u64::MAX) } else { (1, 0xffff_ffff) };
                let registers_of = words * if op == Op::image_atomic_cmpswap { 2 } else { 1 };
                let bytes = 4 * words;
                let mut memory = noise(random.next());
                // Small numbers, so that some are equal.
                for lane in 0..LANES {
                    let small = random.next() % 4;
                    if lane % 2 == 0 {
                        memory[lane * bytes..(lane + 1) * bytes].copy_from_slice(&small.to_le_bytes()[..bytes]);
                    }
                }
                let image = Description::new(LINE, [60, 1, 1], if wide { 11 } else { 4 }, UINT);
                let data: Vec<[u64; 2]> = (0..LANES)
                    .map(|lane| [(); 2].map(|()| if lane % 4 < 2 { random.next() % 4 } else { random.next() } & mask))
                    .collect();
                let code = mimg(op, all((1 << registers_of) - 1), glc);
                let outcome = run_one(code, &image, &memory, &|w| {
                    for lane in 0..LANES {
                        w.row_mut(0)[lane] = lane as u32;
                        for (n, value) in data[lane].iter().enumerate() {
                            for word in 0..words {
                                w.row_mut(DATA + (n * words + word) as u16)[lane] = (value >> (32 * word)) as u32;
                            }
                        }
                    }
                });
                assert_eq!(outcome.trap, None);
                let read = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, b| all << 8 | u64::from(*b));
                for lane in 0..LANES {
                    let range = lane * bytes..(lane + 1) * bytes;
                    let old = read(&memory[range.clone()]);
                    let new = model(old, data[lane][0], data[lane][1], if wide { 0 } else { 32 }) & mask;
                    let inside = lane < 60;
                    assert_eq!(read(&outcome.memory[range]), if inside { new } else { old }, "{op} {wide} {lane}");
                    let got = value(&outcome.wave, DATA, words as u16, lane);
                    let returned = if !glc {
                        data[lane][0]
                    } else if inside {
                        old
                    } else {
                        0
                    };
                    assert_eq!(got, returned, "{op} {wide} returns in lane {lane}");
                }
            }
        }
    }
    let image = Description::new(LINE, [60, 1, 1], 2, UINT);
    assert!(refusal(mimg(Op::image_atomic_add, all(1), false), &image, Sampling::default()).contains("width"));
}

#[test]
fn sizes() {
    let base = |kind, size| Description { levels: [0, 4], ..Description::new(kind, size, 4, UINT) };
    let cases = [
        (base(LINE, [40, 1, 1]), 0, [40, 0, 0, 5]),
        (base(LINE, [40, 1, 1]), 2, [10, 0, 0, 5]),
        (base(LINES, [40, 1, 7]), 1, [20, 7, 0, 5]),
        (base(PLANE, [40, 9, 1]), 4, [2, 1, 0, 5]),
        (Description { first_layer: 2, ..base(PLANES, [40, 9, 7]) }, 0, [40, 9, 5, 5]),
        (base(VOLUME, [40, 9, 7]), 1, [20, 4, 3, 5]),
        (base(CUBE, [16, 16, 2]), 0, [16, 16, 2, 5]),
        (Description { levels: [1, 4], ..base(PLANE, [40, 9, 1]) }, 0, [20, 4, 0, 4]),
        (base(PLANE, [40, 9, 1]), 5, [0, 0, 0, 5]),
        // A tiled image has sizes too.
        (Description { tiling: 9, ..base(PLANE, [40, 9, 1]) }, 0, [40, 9, 0, 5]),
    ];
    for (image, level, expected) in cases {
        let code = mimg(Op::image_get_resinfo, all(15), false);
        let outcome = run_one(code, &image, &[], &|w| w.row_mut(0).fill(level));
        assert_eq!(registers(&outcome, 11)[..4], expected, "{}", image.kind);
        let code = mimg(Op::image_get_resinfo, all(0b1010), false);
        let outcome = run_one(code, &image, &[], &|w| w.row_mut(0).fill(level));
        assert_eq!(registers(&outcome, 11)[..3], [expected[1], expected[3], 0xdead_0006]);
    }
}

#[test]
fn images_beyond_their_memory_fault_and_write_nothing() {
    // 32 texels of 16 bytes more than there is memory for.
    let count = (SIZE / 16) as u32;
    let image = Description::new(LINE, [count + 32, 1, 1], WORDS4, UINT);
    let before = noise(980);
    let place = |w: &mut Wave| (0..LANES).for_each(|lane| w.row_mut(0)[lane] = count - 40 + lane as u32);
    let ops = [
        (mimg(Op::image_load, all(15), false), WORDS4),
        (mimg(Op::image_store, all(15), false), WORDS4),
        (mimg(Op::image_atomic_add, all(1), true), 4),
        (mimg(Op::image_sample, all(15), false), WORDS4),
    ];
    for (code, data) in ops {
        let (image, first) = if data == 4 {
            (Description { data, size: [4 * count + 32, 1, 1], ..image }, 4 * count - 40)
        } else {
            (image, count - 40)
        };
        let outcome = sampled(code, &image, Sampling { unnormalized: true, ..Sampling::default() }, &before, &|w| {
            place(w);
            for lane in 0..LANES {
                let x = first + lane as u32;
                w.row_mut(0)[lane] = if code.op == Op::image_sample { (x as f32).to_bits() } else { x };
            }
        });
        match &outcome.trap {
            Some(Trap::Memory(fault)) => {
                assert_eq!((fault.why, fault.lane), (Denied::OutOfBounds, Some(40)), "{}", code.op)
            }
            other => panic!("{}: {other:?}", code.op),
        }
        assert!(outcome.memory == before, "{} has written", code.op);
    }
}

//! Loads, against texels decoded in double precision.

use super::*;

#[test]
fn loads_of_every_format() {
    let memory = noise(900);
    let mut random = Random::new(901);
    for (data, widths) in FORMATS {
        for number in 0..16 {
            let image = Description::new(LINE, [64, 1, 1], data, number);
            let code = mimg(Op::image_load, all(15), false);
            if !exists(data, widths, number) {
                assert!(refusal(code, &image, Sampling::default()).contains("format"), "{data} {number}");
                continue;
            }
            let bytes = widths.iter().sum::<u32>() as usize / 8;
            for select in [[4, 5, 6, 7], std::array::from_fn(|_| [0, 1, 4, 5, 6, 7][random.next() as usize % 6])] {
                let image = Description { select, ..image };
                let outcome = run_one(code, &image, &memory, &|w| {
                    (0..LANES).for_each(|lane| w.row_mut(0)[lane] = 63 - lane as u32);
                });
                for lane in 0..LANES {
                    let at = (63 - lane) * bytes;
                    let texel = decoded(&memory[at..at + bytes], widths, number);
                    let got = registers(&outcome, lane);
                    for (i, choice) in select.into_iter().enumerate() {
                        let expected = match choice {
                            0 => 0,
                            1 => one(number),
                            n => texel[n as usize - 4],
                        };
                        assert!(
                            same(got[i], expected, number),
                            "{data} {number} {i}: {:#x}, not {expected:#x}",
                            got[i]
                        );
                    }
                    assert_eq!(got[4], 0xdead_0008, "the register behind");
                }
            }
        }
    }
    for data in [0, 15, 20, 21, 22, 35, 41, 63] {
        let image = Description::new(LINE, [64, 1, 1], data, UNORM);
        assert!(refusal(mimg(Op::image_load, all(15), false), &image, Sampling::default()).contains("format"));
    }
}

/// The computed position of a texel; `None` if it is outside.
fn offset(image: &Description, x: u32, y: u32, z: u32, bytes: usize) -> Option<usize> {
    let [width, height, depth] = image.size;
    let inside = x < width && y < height && z < depth;
    inside.then(|| ((z * height + y) * image.pitch + x) as usize * bytes)
}

#[test]
fn addresses_of_every_kind_of_image() {
    let memory = noise(910);
    let mut random = Random::new(911);
    // Kind, size, first layer, declared as an array; then the address components of x, y and z.
    type Case = (u32, [u32; 3], u32, bool, [Option<u16>; 3], u16);
    let cases: [Case; 11] = [
        (LINE, [40, 1, 1], 0, false, [Some(0), None, None], 1),
        // An image that is not an array has one layer, whatever the address says.
        (LINE, [40, 1, 1], 0, true, [Some(0), None, None], 2),
        (LINES, [10, 1, 5], 0, true, [Some(0), None, Some(1)], 2),
        (LINES, [10, 1, 5], 2, true, [Some(0), None, Some(1)], 2),
        (LINES, [10, 1, 5], 2, false, [Some(0), None, None], 1),
        (PLANE, [7, 9, 1], 0, false, [Some(0), Some(1), None], 2),
        (PLANES, [7, 5, 4], 0, true, [Some(0), Some(1), Some(2)], 3),
        (PLANES, [7, 5, 4], 3, true, [Some(0), Some(1), Some(2)], 3),
        (VOLUME, [7, 5, 4], 0, false, [Some(0), Some(1), Some(2)], 3),
        // Faces are layers.
        (CUBE, [5, 5, 1], 0, true, [Some(0), Some(1), Some(2)], 3),
        (CUBE, [5, 5, 1], 2, true, [Some(0), Some(1), Some(2)], 3),
    ];
    for (kind, size, first_layer, da, places, count) in cases {
        for (short, mip) in [(false, false), (true, false), (false, true), (true, true)] {
            let pitch = size[0] + 3;
            let image = Description { pitch, first_layer, ..Description::new(kind, size, 4, UINT) };
            let faces = Description { size: if kind == CUBE { [5, 5, 6] } else { size }, ..image };
            let op = if mip { Op::image_load_mip } else { Op::image_load };
            let code = mimg(op, Image { da, a16: short, ..all(1) }, false);
            // Sometimes one texel outside each side, and sometimes far outside.
            let mut address: Vec<[u32; 4]> =
                (0..LANES).map(|_| std::array::from_fn(|i| (random.next() % [12, 11, 7, 4][i]) as u32)).collect();
            address[3][0] = if short { 0xffff } else { u32::MAX };
            address[5][usize::from(count - 1)] = 0x8000;
            for (lane, address) in address.iter_mut().enumerate() {
                // The level: nearly always the only existing one.
                address[usize::from(count)] = u32::from(mip && lane % 16 == 15);
            }
            let outcome = run_one(code, &image, &memory, &|w| {
                for (lane, address) in address.iter().enumerate() {
                    for i in 0..4 {
                        let (row, shift) = if short { (i / 2, 16 * (i % 2)) } else { (i, 0) };
                        let old = if shift == 16 { w.row(row as u16)[lane] & 0xffff } else { 0 };
                        w.row_mut(row as u16)[lane] = old | address[i] << shift;
                    }
                }
            });
            for (lane, address) in address.iter().enumerate() {
                let [x, y, z] = places.map(|place| place.map_or(0, |i| address[usize::from(i)]));
                let there = offset(&faces, x, y, z.saturating_add(first_layer), 4);
                let there = there.filter(|_| !mip || address[usize::from(count)] == 0);
                let expected = there.map_or(0, |at| u32::from_le_bytes(memory[at..at + 4].try_into().unwrap()));
                assert_eq!(registers(&outcome, lane)[0], expected, "{kind} {da} {short} {mip} at {address:?}");
                assert_eq!(registers(&outcome, lane)[1], 0xdead_0005);
            }
        }
    }
}

#[test]
fn components_go_where_the_mask_and_the_widths_say() {
    let memory = noise(920);
    let image = Description::new(LINE, [64, 1, 1], 12, FLOAT);
    for dmask in 0..16_u8 {
        for (d16, lwe) in [(false, false), (true, false), (false, true), (true, true)] {
            let outcome =
                run_one(mimg(Op::image_load, Image { d16, lwe, ..all(dmask) }, false), &image, &memory, &|w| {
                    w.set_exec(0xffff_0000_ffff_0f0f);
                    (0..LANES).for_each(|lane| w.row_mut(0)[lane] = lane as u32);
                });
            for lane in 0..LANES {
                let mut expected: [u32; 5] = std::array::from_fn(|i| 0xdead_0004 + i as u32);
                let mut next = 0;
                if 0xffff_0000_ffff_0f0f_u64 >> lane & 1 == 1 {
                    let mask = if dmask == 0 { 1 } else { dmask };
                    for i in (0..4).filter(|i| mask >> i & 1 == 1) {
                        let bits = field(&memory[8 * lane..], 16 * i, 16);
                        if !d16 {
                            expected[next] = f16::from_bits(bits as u16).to_f32().to_bits();
                            next += 1;
                        } else if let (register, 0) = (next / 2, next % 2) {
                            expected[register] = expected[register] & 0xffff_0000 | bits;
                            next += 1;
                        } else {
                            expected[next / 2] = expected[next / 2] & 0xffff | bits << 16;
                            next += 1;
                        }
                    }
                    if lwe {
                        expected[if d16 { next.div_ceil(2) } else { next }] = 0;
                    }
                }
                let got = registers(&outcome, lane);
                for (got, expected) in got.into_iter().zip(expected) {
                    let nan = |x: u32| f32::from_bits(x).is_nan() || x >> 10 & 31 == 31 || x >> 26 & 31 == 31;
                    assert!(got == expected || nan(got) && nan(expected), "{dmask} {d16}: {got:#x} {expected:#x}");
                }
            }
        }
    }
    // Texels as they are: words, or one that is extended.
    for (data, bytes) in [(1, 1), (2, 2), (3, 2), (10, 4), (12, 8), (WORDS4, 16)] {
        for (op, signed) in [
            (Op::image_load_pck, false),
            (Op::image_load_pck_sgn, true),
            (Op::image_load_mip_pck, false),
            (Op::image_load_mip_pck_sgn, true),
        ] {
            let image = Description::new(LINE, [64, 1, 1], data, UINT);
            let outcome = run_one(mimg(op, all(15), false), &image, &memory, &|w| {
                (0..LANES).for_each(|lane| w.row_mut(0)[lane] = lane as u32);
            });
            for lane in 0..LANES {
                let texel = &memory[bytes * lane..bytes * (lane + 1)];
                let fill = if signed && bytes < 4 && texel[bytes - 1] >= 128 { 0xff } else { 0 };
                let expected: Vec<u32> = (0..4)
                    .map(|word| {
                        let byte = |i: usize| match texel.get(4 * word + i) {
                            Some(byte) => *byte,
                            None if word == 0 => fill,
                            None => 0,
                        };
                        u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
                    })
                    .collect();
                assert_eq!(registers(&outcome, lane)[..4], expected, "{op} {data}");
            }
        }
    }
}

#[test]
fn half_loads_clear_the_rest_where_memory_is_corrected() {
    // One and three components of 16 bits, of which the last has a register to itself.
    let memory = noise(925);
    for (mask, register) in [(1, 0), (7, 1)] {
        let image = Description::new(LINE, [64, 1, 1], if mask == 1 { 2 } else { 12 }, UINT);
        let code = mimg(Op::image_load, Image { d16: true, ..all(mask) }, false);
        for (sramecc, above) in [(false, 0xdead), (true, 0)] {
            let outcome = on(&[code], &Memories { device: &memory, sramecc, ..Memories::default() }, &|w, base| {
                image.words(base).into_iter().enumerate().for_each(|(i, word)| w.set_slot(8 + i as u16, word));
                (DATA..DATA + 5).for_each(|row| w.row_mut(row).fill(0xdead_0000 | u32::from(row)));
            });
            assert_eq!(registers(&outcome, 7)[register] >> 16, above, "{mask}");
        }
    }
}

/// A load from outside is zero in every component, including those that the descriptor sets to one.
#[test]
fn loads_from_outside_are_zero() {
    let image = Description { select: [1, 4, 1, 0], ..Description::new(LINE, [16, 1, 1], 4, UINT) };
    let memory = noise(980);
    let outcome = run_one(mimg(Op::image_load, all(15), false), &image, &memory, &|w| {
        (0..LANES).for_each(|lane| w.row_mut(0)[lane] = lane as u32);
    });
    for lane in 0..LANES {
        let inside = [1, u32::from_le_bytes(memory[4 * lane..][..4].try_into().unwrap()), 1, 0];
        let expected = if lane < 16 { inside } else { [0; 4] };
        assert_eq!(registers(&outcome, lane)[..4], expected, "{lane}");
    }
}

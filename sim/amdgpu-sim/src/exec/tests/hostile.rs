//! Instructions with any modifiers and operands, on registers with any values: an outcome or a trap, never a panic.

use super::device::{Memories, attempt};
use super::*;
use crate::isa::Arch;

#[test]
fn any_instruction_on_any_values_ends() {
    let mut random = Random::new(900);
    // The first bits of each encoding; the rest is random.
    let encodings: &[(u32, u32)] = &[
        (0x8000_0000, 0x3fff_ffff),
        (0xb000_0000, 0x0fff_ffff),
        (0xbe80_0000, 0x007f_ffff),
        (0xbf00_0000, 0x007f_ffff),
        (0xc000_0000, 0x03ff_ffff),
        (0x0000_0000, 0x7fff_ffff),
        (0x7e00_0000, 0x01ff_ffff),
        (0xd000_0000, 0x03ff_ffff),
        (0xd380_0000, 0x007f_ffff),
        (0xd800_0000, 0x03ff_ffff),
        (0xdc00_0000, 0x03ff_ffff),
        (0xe000_0000, 0x03ff_ffff),
        (0xe800_0000, 0x03ff_ffff),
        (0xf000_0000, 0x03ff_ffff),
    ];
    let bytes: Vec<u8> = (0..2048_u32).map(|i| (i * 89) as u8).collect();
    let (mut decoded, mut ended) = (0, 0);
    for n in 0..30_000 {
        let arch = Arch::ALL[n % 2];
        let (fixed, free) = encodings[n / 2 % encodings.len()];
        // Many reserved fields must be zero: some words have mostly zero bits.
        let mask = if n % 3 == 0 { u64::MAX } else { random.next() | random.next() };
        let (first, second, third) = (random.next() & mask, random.next() & mask, random.next());
        let words = [fixed | first as u32 & free, second as u32, third as u32];
        let Ok(inst) = crate::isa::decode(&words, arch) else { continue };
        // Jumps lead to invalid addresses, and loops of one instruction use up their turn.
        decoded += 1;
        let values = random.next();
        let memories = Memories {
            device: &bytes,
            lds: &bytes,
            scratch: 64,
            gfx942: n % 2 == 1,
            rsrc1: (values as u32) & 0x048f_f000,
            ..Memories::default()
        };
        let (_, stop) = attempt(&[inst], &memories, &|w, base| {
            let mut random = Random::new(values);
            let mut value = |sixteen: u64| match random.next() {
                x if x % 4 == 0 => x,
                x if x % 4 == 1 => x >> 58,
                x if x % 4 == 2 => base + x % 4096,
                x => (x >> 8) % sixteen,
            };
            for slot in (0..102).chain(106..126) {
                w.set_slot(slot, value(2048) as u32);
            }
            for row in 0..w.rows.len() as u16 {
                for lane in 0..LANES {
                    w.row_mut(row)[lane] = value(1 << 32) as u32;
                }
            }
            w.set_exec(values | values >> 7);
        });
        ended += u32::from(stop == Stop::End);
    }
    assert!(decoded > 5_000 && ended > 2_000, "{decoded} decoded, {ended} ended");
}

//! Memory instructions in each form, from handwritten assembly: the expected value of each lane follows AMD's manual.

mod common;

use amdgpu_sim::{Config, Gpu, Misaligned};
use common::*;

static MEMORY: &[u8] = include_bytes!("kernels/memory.co");

/// The input: byte i is a hash of i, so that every offset is distinguishable.
fn input() -> Vec<u8> {
    (0..4096_u32).map(|i| (i.wrapping_mul(167) ^ (i >> 5)) as u8).collect()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

/// Runs a kernel of `memory.s` with one wave. The result is indexed by number and lane.
fn run(name: &str) -> Vec<Vec<u32>> {
    run_with(name, true)
}

/// The same, on a GPU with or without SRAMECC.
fn run_with(name: &str, sramecc: bool) -> Vec<Vec<u32>> {
    let gpu = Gpu::new(Config { misaligned: Misaligned::Allow, sramecc, ..Config::default() });
    let module = load(&gpu, MEMORY);
    let (data, out) = (upload(&gpu, &input()), zeros::<u32>(&gpu, 2048));
    launch_1d(&gpu, &module, name, 1, 64, &Args::default().pointer(&data).pointer(&out));
    out.get().chunks(64).map(<[u32]>::to_vec).collect()
}

/// Checks result `i` of every lane.
fn expect(name: &str, results: &[Vec<u32>], i: usize, of_lane: impl Fn(usize) -> u32) {
    let expected: Vec<u32> = (0..64).map(of_lane).collect();
    assert_eq!(results[i], expected, "{name}, result {i}: {:x?} instead of {expected:x?}", results[i]);
}

#[test]
fn global_loads() {
    for sramecc in [false, true] {
        global_loads_on(sramecc);
    }
}

/// With SRAMECC the 16 bits that a load does not write become zero; without it they are kept.
fn left_out(sramecc: bool, bits: u32) -> u32 {
    if sramecc { 0 } else { bits }
}

fn global_loads_on(sramecc: bool) {
    let (r, data) = (run_with("global_loads", sramecc), input());
    let (upper, lower) = (left_out(sramecc, 0xffff_0000), left_out(sramecc, 0xffff));
    let check = |i: usize, f: &dyn Fn(usize) -> u32| expect("global_loads", &r, i, |lane| f(16 * lane));
    check(0, &|a| u32::from(data[a + 1]));
    check(1, &|a| data[a + 1] as i8 as u32);
    check(2, &|a| u32::from(u16_at(&data, a + 1)));
    check(3, &|a| u16_at(&data, a + 2) as i16 as u32);
    check(4, &|a| upper | u32::from(data[a]));
    check(5, &|a| lower | u32::from(data[a]) << 16);
    check(6, &|a| upper | u32::from(data[a + 3] as i8 as u16));
    check(7, &|a| lower | u32::from(data[a + 3] as i8 as u16) << 16);
    check(8, &|a| upper | u32::from(u16_at(&data, a + 4)));
    check(9, &|a| lower | u32::from(u16_at(&data, a + 6)) << 16);
    for (i, offset) in [
        (10, 8),
        (11, 12),
        (12, 4),
        (13, 8),
        (14, 12),
        (15, 0),
        (16, 4),
        (17, 8),
        (18, 12),
        (19, 0),
        (20, 80),
        (21, 84),
    ] {
        check(i, &|a| u32_at(&data, a + offset));
    }
    let enabled = 0xff_0f0f_0f0f_u64;
    expect("global_loads", &r, 22, |lane| if enabled >> lane & 1 != 0 { u32_at(&data, 16 * lane) } else { 7 });
}

#[test]
fn global_stores() {
    let r = run("global_stores").concat();
    for lane in 0..64_u32 {
        let v4 = 0xa1b2_c3d4_u32 + lane;
        let word = |area: usize, i: usize| r[256 * area + 4 * lane as usize + i];
        let high = v4 >> 16;
        assert_eq!(word(0, 0), (v4 & 0xff) | (high & 0xff) << 8 | v4 << 16, "byte, byte_d16_hi, short of lane {lane}");
        assert_eq!(word(0, 1), high, "short_d16_hi of lane {lane}");
        let stored = [v4, 0x1111_1111, 0x2222_2222, 0x3333_3333];
        for (area, n) in [(1, 2), (2, 3), (3, 4)] {
            for (i, value) in stored.into_iter().enumerate() {
                assert_eq!(word(area, i), if i < n { value } else { 0 }, "x{n} of lane {lane}");
            }
        }
    }
}

#[test]
fn local_memory() {
    for sramecc in [false, true] {
        local_memory_on(sramecc);
    }
}

fn local_memory_on(sramecc: bool) {
    let r = run_with("lds", sramecc);
    let (upper, lower) = (left_out(sramecc, 0xffff_0000), left_out(sramecc, 0xffff));
    let v2 = |lane: usize| 0x80ff_7f01_u32 ^ (lane as u32 * 0x0101_0101);
    // The first words of LDS before the second round of writes.
    let lds = |word: usize| match word {
        0..64 => v2(word),
        _ => 0,
    };
    let check = |i: usize, f: &dyn Fn(usize) -> u32| expect("lds", &r, i, f);
    check(0, &|l| v2(l) >> 24);
    check(1, &|l| (v2(l) >> 24) as i8 as u32);
    check(2, &|l| v2(l) >> 16);
    check(3, &|l| (v2(l) >> 16) as i16 as u32);
    check(4, &|l| upper | (v2(l) & 0xff));
    check(5, &|l| lower | (v2(l) >> 16) << 16);
    check(6, &|l| lower | u32::from((v2(l) >> 16) as u8 as i8 as u16) << 16);
    // v12 is the byte address lane / 2 * 4, v11 is 4 * lane.
    check(7, &|l| lds(l / 2 + 1));
    check(8, &|l| lds(l / 2 + 9));
    check(9, &|l| lds(l));
    // Two words a lane: its number, and 4 times that.
    check(10, &|l| if l % 2 == 0 { l as u32 / 2 } else { 4 * (l as u32 / 2) });
    check(11, &|l| lds(l / 2));
    check(12, &|l| lds(l / 2 + 2));
    check(13, &|l| lds(l / 2 + 4));
    check(14, &|l| lds(l / 2 + 7));
    check(15, &|l| lds(l / 2 + 4));
    check(16, &|l| lds(l / 2 + 7));
    check(17, &|l| l as u32);
    check(18, &v2);
    check(19, &|l| (v2(l) & 0xff) | (v2(l) >> 16 & 0xff) << 8 | v2(l) >> 16 << 16);
    check(20, &|l| l as u32);
    check(21, &|l| 4 * l as u32);
    check(22, &v2);
}

#[test]
fn local_atomics() {
    let r = run("lds_atomics");
    let check = |i: usize, f: &dyn Fn(usize) -> u32| expect("lds_atomics", &r, i, f);
    // Lanes are processed in order: the k-th of 16 lanes on a cell finds k completed additions.
    check(0, &|l| 100 + 3 * (l as u32 % 16));
    // Cell l: 100, the first of each 16 with 48 more; lane l - 1 has subtracted its number.
    let cell = |l: usize| 100 + if l % 16 == 0 { 48 } else { 0 } - if l > 0 { l as u32 - 1 } else { 0 };
    check(1, &cell);
    // Cell l + 1 holds l + 1 after the exchange (cell 64: 0 - 63); 100 never, so that nothing is swapped.
    check(2, &|l| if l == 63 { 63_u32.wrapping_neg() } else { l as u32 + 1 });
    check(3, &|_| 100);
    // Maximum over lanes in order: the old value is the lane before, or 0; these cells start at zero.
    check(4, &|l| if l % 16 == 0 { 0 } else { l as u32 - 1 });
    check(5, &|l| (1.5 * (l % 16) as f32).to_bits());
    check(6, &|_| 0);
    // Append by 8 lanes gives 64 back, consume 72; the other lanes keep what they had.
    check(7, &|l| if l < 8 { 72 } else { 0 });
    check(8, &|l| if l == 63 { 63_u32.wrapping_neg() } else { l as u32 + 1 });
    check(9, &|l| l as u32);
}

#[test]
fn data_between_lanes() {
    let r = run("lanes");
    let check = |i: usize, f: &dyn Fn(usize) -> u32| expect("lanes", &r, i, f);
    let v2 = |l: usize| 3 * l as u32;
    check(0, &|l| v2(l ^ 3));
    check(1, &|l| v2((l & !7) | 5));
    // Lane l sends to lane 5 l: lane t gets from the lane with 5 l = t modulo 64, and 13 * 5 = 65 = 1.
    check(2, &|t| v2(13 * t % 64));
    check(3, &|l| v2((5 * l + 1) % 64));
    check(4, &|l| match l {
        0..32 if 5 * l % 64 < 32 => v2(5 * l % 64),
        0..32 => 0,
        _ => u32::MAX,
    });
}

#[test]
fn buffers_end_where_their_descriptor_says() {
    let (r, data) = (run("buffers"), input());
    let check = |i: usize, f: &dyn Fn(usize) -> u32| expect("buffers", &r, i, f);
    let word = |at: usize| u32_at(&data, at);
    check(0, &|l| if 16 * l + 8 <= 512 { word(16 * l + 4) } else { 0 });
    check(1, &|l| u32::from(data[4 * l + 1]));
    for (i, more) in [(2, 0), (3, 4)] {
        check(i, &|l| if 16 * l + 16 + 8 <= 512 { word(16 * l + 16 + more) } else { 0 });
    }
    check(4, &|l| if l < 32 { word(8 * l + 4) } else { 0 });
    check(5, &|l| if l < 32 { word(8 * l) } else { 0 });
    // 4 records of 8 bytes: the word at 28 is the last, the one at 32 reads as zero.
    check(6, &|_| word(28));
    check(7, &|_| word(28));
    check(8, &|_| 0);
    check(9, &|l| if l < 32 { 77 } else { 0 });
}

#[test]
fn scratch_by_lane_and_through_generic_pointers() {
    let r = run("scratch");
    let check = |i: usize, f: &dyn Fn(usize) -> u32| expect("scratch", &r, i, f);
    let low = |l: usize| 0x5566_7788_u32 + l as u32;
    check(0, &|_| 0x1122_3344);
    check(1, &|l| low(l) >> 8 & 0xff);
    check(2, &low);
    check(3, &|l| low(l) & 0xffff);
    check(4, &low);
    check(5, &|l| l as u32);
    check(6, &|l| l as u32);
    check(7, &|l| 2 * l as u32);
}

#[test]
fn scalar_loads() {
    let (r, data) = (run("scalar"), input());
    for (i, at) in [4, 8, 12, 32, 60, 36].into_iter().enumerate() {
        expect("scalar", &r, i, |_| u32_at(&data, at));
    }
}

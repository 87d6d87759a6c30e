//! `hip::Module::load` of damaged code objects with AMD's loaders, each release in a separate process, which must not
//! crash: the crate must refuse what the loaders cannot handle.
//!
//! A case depends only on its number. `ROCM_RS_FUZZ_COUNT` sets the number of cases per code object (10,000 take half a
//! minute per release with `--release`), `ROCM_RS_FUZZ_START` the first.
#![cfg(target_os = "linux")]

mod support;

use hip::{Device, Module};

const CASES: u64 = 150;
/// Cases that used to crash a process: see `hip/src/module/layout.rs`.
const FORMER: [u64; 12] = [351, 946, 2168, 2642, 2873, 4605, 6317, 6333, 8410, 8885, 9544, 9557];

const RUNTIMES: [(&str, &str); 3] =
    [("7.2", "libamdhip64.so.7"), ("6.4", "libamdhip64.so.6"), ("5.7", "libamdhip64.so.5")];

/// Files of code for gfx90a, from the workspace's root.
const OBJECTS: [&str; 14] = [
    "hip/tests/kernels/kernels.gfx90a.co",
    "hip/tests/kernels/globals.gfx90a.co",
    "hip/tests/kernels/managed.gfx90a.co",
    "hip/tests/kernels/images.gfx90a.co",
    "hip/tests/kernels/vector_add.v4.gfx90a.co",
    "hip/tests/kernels/vector_add.v5.gfx90a.co",
    "hip/tests/kernels/vector_add.v6.gfx90a.co",
    "sim/amdgpu-sim/tests/kernels/pointers.co",
    "sim/amdgpu-sim/tests/kernels/functions-O0.co",
    "sim/amdgpu-sim/tests/kernels/memory.co",
    "sim/amdgpu-sim/tests/kernels/services.co",
    "sim/amdgpu-sim/tests/kernels/basic-O3.co",
    "sim/amdgpu-sim/tests/kernels/lanes.co",
    "sim/hsa-sim/tests/kernels/features.gfx90a.co",
];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn one_of(&mut self, values: &[u64]) -> u64 {
        values[(self.next() % values.len() as u64) as usize]
    }
}

/// The areas in which a file is damaged: most often its headers, whose values are trusted.
struct Places {
    bytes: u64,
    segments: (u64, u64),
    sections: (u64, u64),
}

impl Places {
    fn of(file: &[u8]) -> Self {
        let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
        let half = |at: usize| u64::from(u16::from_le_bytes(file[at..at + 2].try_into().unwrap()));
        Self { bytes: file.len() as u64, segments: (64, half(56) * 56), sections: (word(40), half(60) * 64) }
    }

    /// A byte of the area.
    fn one(&self, area: u64, random: &mut Random) -> usize {
        let body = 64 + self.segments.1;
        let (start, len) = match area {
            0 => (0, 64),
            1 | 2 => self.segments,
            3 | 4 => self.sections,
            5 => (0, self.bytes.min(4096)),
            6 => (body, self.sections.0.saturating_sub(body).max(1)),
            _ => (0, self.bytes),
        };
        (start + random.next() % len).min(self.bytes - 1) as usize
    }
}

/// The damaged copy with this number.
fn damaged(file: &[u8], case: u64) -> Vec<u8> {
    let (places, mut random, mut bytes) = (Places::of(file), Random(case), file.to_vec());
    let len = file.len() as u64;
    let (kind, area) = (random.next() % 10, random.next() % 8);
    let put = |bytes: &mut Vec<u8>, at: usize, value: &[u8]| {
        if let Some(place) = bytes.get_mut(at..at + value.len()) {
            place.copy_from_slice(value);
        }
    };
    match kind {
        0..=4 => {
            let at = places.one(area, &mut random);
            bytes[at] ^= 1 << (random.next() % 8);
        }
        5 => {
            for _ in 0..3 {
                let at = places.one(area, &mut random);
                bytes[at] = random.next() as u8;
            }
        }
        6 | 7 => {
            let at = places.one(area, &mut random) & !7;
            let any = random.next();
            let value = random.one_of(&[0, u64::MAX, 1 << 63, len, len - 1, 8, 1 << 32, 0x1000, any]);
            put(&mut bytes, at, &value.to_le_bytes());
        }
        8 => {
            let at = places.one(area, &mut random) & !3;
            let any = random.next();
            let value = random.one_of(&[0, u64::MAX, 1 << 31, 3, 1, 8, 64, 0x1000, any]) as u32;
            put(&mut bytes, at, &value.to_le_bytes());
        }
        _ => {
            let (from, to) = (places.one(area, &mut random), places.one(area, &mut random));
            let len = 8.min(file.len() - from.max(to));
            put(&mut bytes, to, &file[from..from + len]);
        }
    }
    bytes
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text:?} is no number")))
}

#[test]
fn no_damaged_code_object_ends_the_process() {
    let Some(release) = support::inside() else {
        for (release, file) in RUNTIMES {
            support::run_on(release, &[file], "no_damaged_code_object_ends_the_process", &[]);
        }
        return;
    };
    let device = Device::get(0).unwrap();
    let start = number("ROCM_RS_FUZZ_START").unwrap_or(0);
    let more = start..start + number("ROCM_RS_FUZZ_COUNT").unwrap_or(CASES);
    let (mut refused, mut loaded, mut failed) = (0, 0, 0);
    for name in OBJECTS {
        let file = std::fs::read(format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        for case in FORMER.into_iter().chain(more.clone()) {
            let bytes = damaged(&file, case);
            if Module::architectures(&bytes).is_err() {
                refused += 1;
                continue;
            }
            // The last of these lines identifies the case in which the process crashed.
            eprintln!("case {case} of {name}");
            match Module::load(&device, &bytes) {
                Ok(module) => {
                    loaded += 1;
                    // Some kernels are not found by that name.
                    module.kernels().for_each(|kernel| drop(module.kernel(&kernel.name)));
                }
                Err(_) => failed += 1,
            }
        }
    }
    assert!(refused != 0 && loaded != 0, "{refused} refused, {loaded} loaded");
    println!("ROCm {release}: {refused} refused before the loader, {loaded} loaded, {failed} refused by it");
}

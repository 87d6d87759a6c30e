//! Damaged files give errors, or some result: nothing panics, overflows or allocates unbounded memory. Each run tries
//! the same files, from a fixed seed.

use super::disasm::functions;
use super::file::File;
use super::inspect::Inspect;
use super::kernel::{Code, Kernel};
use super::lines::Lines;

/// Small files, so that changes hit bytes that are read.
const CODE: &[u8] = include_bytes!("../../../hip/tests/kernels/vector_add.v5.gfx90a.co");
const WITH_LINES: &[u8] = include_bytes!("../../../sim/amdgpu-sim/tests/kernels/lines.co");
const BUNDLE: &[u8] = include_bytes!("../../../examples/kernels/saxpy.hipfb");
const COMPRESSED: [&[u8]; 2] = [
    include_bytes!("../../../sim/amdgpu-sim/tests/kernels/basic-ccob-v2.hipfb"),
    include_bytes!("../../../sim/amdgpu-sim/tests/kernels/basic-ccob-v3.hipfb"),
];

/// Knuth's linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }

    /// Returns the file with a few changes: bytes, bits, numbers at the limits of their types, or a truncation.
    fn damaged(&mut self, good: &[u8]) -> Vec<u8> {
        let mut bytes = good.to_vec();
        for _ in 0..=self.below(3) {
            // Headers and tables are at the start and at the end.
            let at = match self.below(4) {
                0 => self.below(bytes.len().min(256)),
                1 => bytes.len() - 1 - self.below(bytes.len().min(1024)),
                _ => self.below(bytes.len()),
            };
            match self.below(4) {
                0 => bytes[at] = self.below(256) as u8,
                1 => bytes[at] ^= 1 << self.below(8),
                _ => {
                    let numbers =
                        [0, 1, u64::MAX, u64::MAX - 7, 1 << 63, 1 << 31, 0xffff_ffff, good.len() as u64, 4096];
                    let number = numbers[self.below(numbers.len())].to_le_bytes();
                    let at = at / 4 * 4;
                    let size = [2, 4, 8][self.below(3)].min(bytes.len() - at);
                    bytes[at..at + size].copy_from_slice(&number[..size]);
                }
            }
        }
        if self.below(4) == 0 {
            bytes.truncate(self.below(good.len()));
        }
        bytes
    }
}

/// Reads everything that the commands read of a file. Returns the numbers of kernels and functions.
fn read(bytes: Vec<u8>) -> (usize, usize) {
    let (mut kernels, mut seen) = (0, 0);
    let file = File::of(bytes);
    let _ = file.for_each(|code| {
        let (target, is_for) = (code.target(), code.is_for(Some("gfx90a")));
        assert!(target.is_some() || !is_for);
        if let Ok(read) = Code::read(code.bytes) {
            let mut text = String::new();
            read.kernels.iter().for_each(|kernel| Inspect::default().kernel(&mut text, kernel));
            kernels += read.kernels.len();
        }
        let lines = Lines::of(code.bytes);
        for function in functions(code.bytes).unwrap_or_default() {
            // The bytes are in the file.
            assert!(code.bytes.as_ptr_range().contains(&function.bytes.as_ptr()) || function.bytes.is_empty());
            let _ = lines.at(function.address);
            seen += 1;
        }
        Ok(())
    });
    (kernels, seen)
}

fn try_damaged(good: &[u8], rounds: usize) {
    assert_ne!(read(good.to_vec()), (0, 0), "the whole file is read");
    let mut random = Random(rounds as u64);
    for _ in 0..rounds {
        read(random.damaged(good));
    }
}

#[test]
fn damaged_code_objects() {
    try_damaged(CODE, 3000);
    try_damaged(WITH_LINES, 3000);
    for length in (0..CODE.len()).step_by(7) {
        read(CODE[..length].to_vec());
    }
}

#[test]
fn damaged_bundles() {
    try_damaged(BUNDLE, 300);
    COMPRESSED.iter().for_each(|bundle| try_damaged(bundle, 20));
    // Headers alone, which contain all sizes.
    let mut random = Random(5);
    for bundle in COMPRESSED {
        for _ in 0..3000 {
            let mut bytes = random.damaged(&bundle[..64]);
            bytes.extend(&bundle[64..200]);
            read(bytes);
        }
    }
}

/// Makes a host library with two bundles, the second one after padding.
fn host() -> Vec<u8> {
    let mut section = BUNDLE.to_vec();
    section.resize(BUNDLE.len().next_multiple_of(4096), 0);
    section.extend(BUNDLE);
    let names = b"\0.hip_fatbin\0.shstrtab\0";
    let mut file = vec![0; 64];
    file[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\0");
    let mut field = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    field(16, &[3, 0, 62, 0, 1, 0, 0, 0]);
    field(40, &((64 + section.len() + names.len()) as u64).to_le_bytes());
    field(52, &[64, 0, 56, 0, 0, 0, 64, 0, 3, 0, 2, 0]);
    file.extend(&section);
    file.extend(names);
    for (name, kind, offset, size) in
        [(0, 0, 0, 0), (1, 1, 64, section.len()), (13, 3, 64 + section.len(), names.len())]
    {
        let mut header = [0; 64];
        header[..8].copy_from_slice(&[name, 0, 0, 0, kind, 0, 0, 0]);
        header[24..32].copy_from_slice(&(offset as u64).to_le_bytes());
        header[32..40].copy_from_slice(&(size as u64).to_le_bytes());
        file.extend(header);
    }
    file
}

#[test]
fn damaged_host_libraries() {
    let host = host();
    assert_eq!(read(host.clone()).0, 8, "both bundles, of four architectures each");
    try_damaged(&host, 200);
}

/// Register numbers that no GPU has, and a source that never ends.
#[test]
fn metadata_is_not_believed() {
    const KEYS: [&str; 8] = [
        ".vgpr_count",
        ".agpr_count",
        ".sgpr_count",
        ".vgpr_spill_count",
        ".sgpr_spill_count",
        ".group_segment_fixed_size",
        ".wavefront_size",
        ".max_flat_workgroup_size",
    ];
    let mut random = Random(1);
    for round in 0..2000 {
        let number = |random: &mut Random| [0, 1, 32, 64, 1024, u64::MAX, u64::MAX - 3, 1 << 63][random.below(8)];
        let pairs = KEYS.map(|key| (key.into(), number(&mut random).into()));
        let targets = ["gfx90a", "gfx803", "gfx1030", "gfx1201:xnack-", "gfx9-4-generic", "gfx", "gfx\u{e9}1", ""];
        let kernel = Kernel::read(&rmpv::Value::Map(pairs.to_vec()), targets[round % targets.len()]);
        if let Some(occupancy) = &kernel.occupancy {
            assert!((1..=occupancy.most).contains(&occupancy.waves_per_simd));
        }
        Inspect::default().kernel(&mut String::new(), &kernel);
    }
    let zero = "/dev/zero";
    if std::path::Path::new(zero).exists() {
        assert_eq!(Lines::of(CODE).text(zero, 1), None);
    }
    assert!(
        Lines::of(CODE).text(concat!(env!("CARGO_MANIFEST_DIR"), "/src/cli/fuzz.rs"), 1).unwrap().contains("Damaged")
    );
}

//! Tests of compressed bundles, down to the code in them.

use super::*;
use crate::module::image::{select, targets, tests::VECTOR_ADD};

/// Kernels of this repository for gfx90a and gfx942, compressed with zstd by LLVM 22.
const BUNDLES: [&[u8]; 2] = [
    include_bytes!("../../../../sim/amdgpu-sim/tests/kernels/basic-ccob-v2.hipfb"),
    include_bytes!("../../../../sim/amdgpu-sim/tests/kernels/basic-ccob-v3.hipfb"),
];
const INSIDE: &[u8] = include_bytes!("../../../../sim/amdgpu-sim/tests/kernels/basic-O3.co");

fn device() -> crate::core::arch::Arch {
    "gfx90a:sramecc+:xnack-".parse().unwrap()
}

/// Puts a header of version 1 before `data`, which is `bundle` compressed with `method`.
fn version_1(bundle: &[u8], method: u16, data: &[u8]) -> Vec<u8> {
    let mut image = MAGIC.to_vec();
    image.extend(1_u16.to_le_bytes());
    image.extend(method.to_le_bytes());
    image.extend((bundle.len() as u32).to_le_bytes());
    image.extend([0; 8]);
    image.extend(data);
    image
}

#[test]
fn code_is_found_in_bundles_of_all_versions() {
    for image in BUNDLES {
        let object = select(image, &device()).unwrap();
        assert!(*object.bytes == *INSIDE);
        assert!(object.metadata.kernels.contains_key("empty"));
        let names: Vec<String> = targets(image).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["gfx90a", "gfx942"]);
    }
    let bundle = decompress(BUNDLES[0]).unwrap();
    let zlib = version_1(&bundle, ZLIB, &miniz_oxide::deflate::compress_to_vec_zlib(&bundle, 6));
    assert!(decompress(&zlib).unwrap() == bundle);
    let error = select(BUNDLES[0], &"gfx1100".parse().unwrap()).unwrap_err().to_string();
    assert!(error.contains("gfx942"), "{error}");
}

#[test]
fn what_is_damaged_is_an_error() {
    for image in BUNDLES {
        for len in (0..64).chain((64..image.len()).step_by(211)) {
            assert!(select(&image[..len], &device()).is_err(), "{len}");
        }
    }
    let reason = |at: usize, bytes: &[u8]| {
        let mut image = BUNDLES[1].to_vec();
        image[at..at + bytes.len()].copy_from_slice(bytes);
        select(&image, &device()).unwrap_err().to_string()
    };
    assert!(reason(4, &[9]).contains("version 9"));
    assert!(reason(6, &[7]).contains("method 7"));
    assert!(reason(8, &[0xff; 8]).contains("cut off"));
    assert!(reason(16, &[0xff; 8]).contains("bytes become"));
    assert!(reason(16, &[1, 0, 0, 0, 0, 0, 0, 0]).contains("its header says 1"));
    assert!(reason(32, &[0; 4]).contains("zstd"));
    let nested = version_1(BUNDLES[0], ZLIB, &miniz_oxide::deflate::compress_to_vec_zlib(BUNDLES[0], 6));
    assert!(targets(&nested).unwrap_err().to_string().contains("no offload bundle"));
    let zlib = version_1(VECTOR_ADD, ZLIB, b"no zlib");
    assert!(select(&zlib, &device()).unwrap_err().to_string().contains("zlib"));
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(60))]
    #[test]
    fn flipped_bytes_never_panic(flips in proptest::collection::vec((0..BUNDLES[1].len(), proptest::num::u8::ANY), 1..8)) {
        let mut image = BUNDLES[1].to_vec();
        for (at, byte) in flips {
            image[at] ^= byte;
        }
        let _ = select(&image, &device());
    }
}

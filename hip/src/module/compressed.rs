//! Compressed offload bundles (`CCOB`): a header, and a bundle compressed with zstd or zlib.

use crate::core::error::{Error, Result};

/// The magic bytes at the start.
pub(crate) const MAGIC: &[u8] = b"CCOB";

/// Compression methods, by LLVM's numbers.
#[cfg(feature = "compressed")]
const ZLIB: u16 = 0;
#[cfg(feature = "compressed")]
const ZSTD: u16 = 1;

/// Maximum ratio of the claimed size to the available bytes, beyond [`SLACK`]. Compilers' bundles are compressed to
/// between a half and a twenty-fifth; damaged headers may claim any size.
#[cfg(feature = "compressed")]
const MAX_RATIO: u64 = 256;
/// Size that every bundle may claim.
#[cfg(feature = "compressed")]
const SLACK: u64 = 1 << 16;

/// Decompresses a bundle.
///
/// # Errors
/// [`Error::Image`] if it is damaged, or if the feature `compressed` is off.
#[cfg(not(feature = "compressed"))]
pub(crate) fn decompress(_: &[u8]) -> Result<Vec<u8>> {
    let reason = "it is a compressed offload bundle (CCOB), whose kernels can't be checked without hip's feature \
                  `compressed`: switch it on, or build the bundle with --no-offload-compress";
    Err(Error::Image { reason: reason.to_owned() })
}

/// Decompresses a bundle.
///
/// # Errors
/// [`Error::Image`] if it is damaged.
#[cfg(feature = "compressed")]
pub(crate) fn decompress(image: &[u8]) -> Result<Vec<u8>> {
    let header = Header::parse(image)?;
    let data = &image[header.data.clone()];
    if header.uncompressed > (data.len() as u64).saturating_mul(MAX_RATIO).saturating_add(SLACK) {
        return Err(bad(format!("it says that {} bytes become {}", data.len(), header.uncompressed)));
    }
    let bundle = match header.method {
        ZLIB => inflate(data, header.uncompressed)?,
        ZSTD => unzstd(data, header.uncompressed)?,
        other => return Err(bad(format!("compression method {other} is not known: 0 (zlib) and 1 (zstd) are"))),
    };
    if bundle.len() as u64 != header.uncompressed {
        return Err(bad(format!("it has {} bytes, where its header says {}", bundle.len(), header.uncompressed)));
    }
    // The result must not be compressed again, which could recur without end.
    if !bundle.starts_with(super::image::BUNDLE) {
        return Err(bad("what was compressed is no offload bundle"));
    }
    Ok(bundle)
}

#[cfg(feature = "compressed")]
fn bad(reason: impl std::fmt::Display) -> Error {
    Error::Image { reason: format!("the compressed offload bundle (CCOB): {reason}") }
}

/// The header before the compressed bytes. It also has a hash of the contents, which no loader checks.
#[cfg(feature = "compressed")]
struct Header {
    method: u16,
    /// Size of the decompressed bundle.
    uncompressed: u64,
    /// The range of the compressed bytes.
    data: std::ops::Range<usize>,
}

#[cfg(feature = "compressed")]
impl Header {
    fn parse(image: &[u8]) -> Result<Self> {
        let number = |at: usize, len: usize| -> Result<u64> {
            let bytes = image.get(at..at + len).ok_or_else(|| bad("its header is cut off"))?;
            Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
        };
        let (version, method) = (number(4, 2)?, number(6, 2)? as u16);
        // Version 1 does not contain the size of the file.
        let (size, uncompressed, start) = match version {
            1 => (image.len() as u64, number(8, 4)?, 20),
            2 => (number(8, 4)?, number(12, 4)?, 24),
            3 => (number(8, 8)?, number(16, 8)?, 32),
            other => return Err(bad(format!("version {other} is not known: 1 to 3 are"))),
        };
        let end = usize::try_from(size).ok().filter(|end| (start..=image.len()).contains(end));
        let end = end.ok_or_else(|| bad(format!("it is cut off: {} of {size} bytes are here", image.len())))?;
        Ok(Self { method, uncompressed, data: start..end })
    }
}

#[cfg(feature = "compressed")]
fn inflate(data: &[u8], size: u64) -> Result<Vec<u8>> {
    let most = usize::try_from(size).map_err(|_| bad(format!("{size} bytes are too many")))?;
    miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(data, most).map_err(|e| bad(format!("zlib: {e}")))
}

#[cfg(feature = "compressed")]
fn unzstd(data: &[u8], size: u64) -> Result<Vec<u8>> {
    use std::io::Read;
    let decoder = ruzstd::decoding::StreamingDecoder::new(data).map_err(|e| bad(format!("zstd: {e}")))?;
    // Memory is allocated as the data arrives.
    let mut bundle = Vec::new();
    decoder.take(size.saturating_add(1)).read_to_end(&mut bundle).map_err(|e| bad(format!("zstd: {e}")))?;
    Ok(bundle)
}

#[cfg(all(test, feature = "compressed"))]
mod tests {
    use super::*;
    use crate::module::image::{select, targets, tests::VECTOR_ADD};

    /// Kernels of this repository for gfx90a and gfx942, compressed with zstd by LLVM 22.
    const BUNDLES: [&[u8]; 2] = [
        include_bytes!("../../../sim/amdgpu-sim/tests/kernels/basic-ccob-v2.hipfb"),
        include_bytes!("../../../sim/amdgpu-sim/tests/kernels/basic-ccob-v3.hipfb"),
    ];
    const INSIDE: &[u8] = include_bytes!("../../../sim/amdgpu-sim/tests/kernels/basic-O3.co");

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
}

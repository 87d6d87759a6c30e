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
    if !bundle.starts_with(super::bundle::BUNDLE) {
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
mod tests;

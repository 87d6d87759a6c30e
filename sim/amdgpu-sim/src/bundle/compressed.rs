//! Compressed bundles (`CCOB`): a header, and a raw bundle compressed with zstd or zlib.

use std::io::{self, Read};

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};
use ruzstd::decoding::StreamingDecoder;

use super::error::bad;
use crate::code_object::LoadError;

/// The magic of compressed bundles.
pub(super) const COMPRESSED_MAGIC: &[u8] = b"CCOB";
/// The maximum ratio of the stated size of a bundle to its compressed size. ROCm's own are compressed to between a half
/// and a twenty-fifth; damaged and hostile headers can state anything.
const MAX_RATIO: u64 = 256;
/// The maximum size in bytes of a code object in a compressed bundle.
const MAX_CODE: u64 = 4 << 30;
/// Allowed in addition to that ratio, for bundles that are nearly empty.
const SLACK: u64 = 1 << 16;
/// The maximum zstd window in bytes: that of its levels and of its long-distance matching. A decoder allocates that
/// much memory.
const MAX_WINDOW: u64 = 128 << 20;

/// The compression method, by LLVM's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Zlib,
    Zstd,
}

/// The header, validated against the bytes.
#[derive(Clone, Debug)]
pub(super) struct Header {
    method: Method,
    /// Bytes of the header.
    pub(super) size: usize,
    /// Size of the whole file, header included; `None` in version 1, which does not state it.
    pub(super) file_size: Option<usize>,
    /// Size of the raw bundle.
    pub(super) uncompressed: u64,
}

/// The little-endian number of `N` bytes at `at`.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    Some(bytes.get(at..)?.get(..N)?.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
}

impl Header {
    /// Reads the header of the compressed bundle at the start of `bytes`.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, LoadError> {
        let short = || bad(format!("a compressed bundle of {} bytes", bytes.len()));
        let version = number::<2>(bytes, 4).ok_or_else(short)?;
        let method = match number::<2>(bytes, 6).ok_or_else(short)? {
            0 => Method::Zlib,
            1 => Method::Zstd,
            other => return Err(bad(format!("compression method {other} is not known: 0 (zlib) and 1 (zstd) are"))),
        };
        // A hash of the contents follows, which no loader checks.
        let (file_size, uncompressed, size) = match version {
            1 => (None, number::<4>(bytes, 8), 20),
            2 => (number::<4>(bytes, 8), number::<4>(bytes, 12), 24),
            3 => (number::<8>(bytes, 8), number::<8>(bytes, 16), 32),
            other => return Err(bad(format!("compressed bundles of version {other} are not known: 1 to 3 are"))),
        };
        let uncompressed = uncompressed.filter(|_| bytes.len() >= size).ok_or_else(short)?;
        let file_size = match file_size {
            None => None,
            Some(len) => {
                let fits = usize::try_from(len).ok().filter(|len| (size..=bytes.len()).contains(len));
                Some(fits.ok_or_else(|| bad(format!("it says that it has {len} bytes, of {} here", bytes.len())))?)
            }
        };
        let compressed = (file_size.unwrap_or(bytes.len()) - size) as u64;
        if uncompressed > compressed.saturating_mul(MAX_RATIO).saturating_add(SLACK) {
            return Err(bad(format!("it says that {compressed} bytes become {uncompressed}")));
        }
        Ok(Self { method, size, file_size, uncompressed })
    }

    /// The bundle length that a header states.
    pub(super) fn stated_len(bytes: &[u8]) -> Option<u64> {
        match number::<2>(bytes, 4)? {
            2 => number::<4>(bytes, 8),
            3 => number::<8>(bytes, 8),
            _ => None,
        }
    }

    /// A stream of the raw bundle. `bytes` must be those from which this header was parsed.
    pub(super) fn stream<'a>(&self, bytes: &'a [u8]) -> Result<Stream<'a>, LoadError> {
        let data = bytes.get(self.size..).unwrap_or(&[]);
        let source: Box<dyn Read + 'a> = match self.method {
            Method::Zlib => Box::new(Zlib { state: InflateState::new_boxed(DataFormat::Zlib), data }),
            Method::Zstd => {
                check_window(data)?;
                Box::new(StreamingDecoder::new(data).map_err(|e| bad(format!("zstd: {e}")))?)
            }
        };
        Ok(Stream { source, at: 0, len: self.uncompressed })
    }
}

/// Refuses a frame that requires a large window.
fn check_window(frame: &[u8]) -> Result<(), LoadError> {
    let cut = || bad("zstd: it ends inside the frame's header");
    if number::<4>(frame, 0).ok_or_else(cut)? != 0xfd2f_b528 {
        return Err(bad("zstd: no frame"));
    }
    let descriptor = number::<1>(frame, 4).ok_or_else(cut)?;
    let window = if descriptor & 0x20 == 0 {
        let byte = number::<1>(frame, 5).ok_or_else(cut)?;
        let base = 1_u64 << (10 + (byte >> 3));
        base + base / 8 * (byte & 7)
    } else {
        // A single segment: the window is the content. Its size follows the dictionary ID.
        let at = 5 + [0, 1, 2, 4][descriptor as usize & 3];
        match descriptor >> 6 {
            0 => number::<1>(frame, at),
            1 => number::<2>(frame, at).map(|n| n + 256),
            2 => number::<4>(frame, at),
            _ => number::<8>(frame, at),
        }
        .ok_or_else(cut)?
    };
    if window > MAX_WINDOW {
        return Err(bad(format!("zstd: a window of {window} bytes, {MAX_WINDOW} are allowed")));
    }
    Ok(())
}

/// A raw bundle that is decompressed as a stream.
pub(super) struct Stream<'a> {
    source: Box<dyn Read + 'a>,
    /// The number of bytes read so far.
    at: u64,
    /// The size of the raw bundle.
    len: u64,
}

impl Read for Stream<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.len - self.at).unwrap_or(usize::MAX).min(out.len());
        let count = self.source.read(&mut out[..left])?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Stream<'_> {
    /// The `size` bytes at `offset`, which must not be before the current position.
    pub(super) fn part(&mut self, offset: u64, size: u64) -> Result<Vec<u8>, LoadError> {
        if size > MAX_CODE {
            return Err(bad(format!("a code object of {size} bytes, {MAX_CODE} are allowed")));
        }
        let skip = offset.checked_sub(self.at).ok_or_else(|| bad("its entries overlap"))?;
        let failed = |e: io::Error| bad(format!("it cannot be decompressed: {e}"));
        let skipped = io::copy(&mut self.by_ref().take(skip), &mut io::sink()).map_err(failed)?;
        // Memory is allocated only as bytes arrive.
        let mut bytes = Vec::new();
        let read = self.by_ref().take(size).read_to_end(&mut bytes).map_err(failed)? as u64;
        if skipped + read < skip + size {
            return Err(bad(format!("it ends after {} of {} bytes", self.at, self.len)));
        }
        Ok(bytes)
    }
}

/// zlib's format as a stream.
struct Zlib<'a> {
    state: Box<InflateState>,
    data: &'a [u8],
}

impl Read for Zlib<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let result = inflate(&mut self.state, self.data, out, MZFlush::None);
        self.data = &self.data[result.bytes_consumed..];
        match result.status {
            Ok(MZStatus::Ok | MZStatus::StreamEnd) => Ok(result.bytes_written),
            // No more input, or an empty output buffer.
            Err(MZError::Buf) => Ok(result.bytes_written),
            other => Err(io::Error::new(io::ErrorKind::InvalidData, format!("zlib: {other:?}"))),
        }
    }
}

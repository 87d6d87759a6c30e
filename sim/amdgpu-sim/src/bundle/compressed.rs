//! Compressed bundles (`CCOB`): a header, and a raw bundle compressed with zstd or zlib.

use std::io::{self, Read};

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};
use ruzstd::decoding::StreamingDecoder;

use super::bad;
use crate::code_object::LoadError;

/// A bundle may not say that it is larger than this many times what is there of it. ROCm's own are compressed to between
/// a half and a twenty-fifth; damaged and hostile headers say anything.
const MAX_RATIO: u64 = 256;
/// The largest code object that is taken out of a compressed bundle, in bytes.
const MAX_CODE: u64 = 4 << 30;
/// Beside that ratio: bundles with nothing in them.
const SLACK: u64 = 1 << 16;
/// The largest window of zstd that is accepted, in bytes: what its levels and its long-distance matching use at most. A decoder
/// keeps as much in memory.
const MAX_WINDOW: u64 = 128 << 20;

/// How the bundle is compressed, by LLVM's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Zlib,
    Zstd,
}

/// The header, with its numbers checked against the bytes.
#[derive(Clone, Debug)]
pub(super) struct Header {
    method: Method,
    /// Bytes of the header.
    pub(super) size: usize,
    /// Bytes of the whole, header included: version 1 does not say.
    pub(super) file_size: Option<usize>,
    /// Bytes of the raw bundle.
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
        // A hash of the contents follows, which no loader looks at.
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

    /// The length that a header says its bundle has.
    pub(super) fn stated_len(bytes: &[u8]) -> Option<u64> {
        match number::<2>(bytes, 4)? {
            2 => number::<4>(bytes, 8),
            3 => number::<8>(bytes, 8),
            _ => None,
        }
    }

    /// The raw bundle in `bytes`, which are those that this header was read from.
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

/// Refuses a frame that asks for a large window.
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
        // A single segment: the window is the content, whose size stands behind the dictionary's number.
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

/// A raw bundle as it comes out of its compressed form.
pub(super) struct Stream<'a> {
    source: Box<dyn Read + 'a>,
    /// Bytes that have been read.
    at: u64,
    /// Bytes that there are.
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
    /// The `size` bytes at `offset`, which is not before what has been read already.
    pub(super) fn part(&mut self, offset: u64, size: u64) -> Result<Vec<u8>, LoadError> {
        if size > MAX_CODE {
            return Err(bad(format!("a code object of {size} bytes, {MAX_CODE} are allowed")));
        }
        let skip = offset.checked_sub(self.at).ok_or_else(|| bad("its entries overlap"))?;
        let failed = |e: io::Error| bad(format!("it cannot be decompressed: {e}"));
        let skipped = io::copy(&mut self.by_ref().take(skip), &mut io::sink()).map_err(failed)?;
        // Memory is taken as the bytes come.
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
            // No more input, or nothing asked for.
            Err(MZError::Buf) => Ok(result.bytes_written),
            other => Err(io::Error::new(io::ErrorKind::InvalidData, format!("zlib: {other:?}"))),
        }
    }
}

//! Fills of device memory with a value.

use std::ffi::c_void;

use bytemuck::Pod;
use hip_sys::{hipError_t, hipMemcpyDeviceToDevice, hipStream_t};

use super::DeviceSliceMut;
use crate::core::call::check;
use crate::core::error::Result;
use crate::core::trace;
use crate::stream::Stream;

/// A value in the form of the runtime's fill functions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pattern<'a> {
    Bytes1(u8),
    Bytes2(u16),
    Bytes4(u32),
    /// A longer value that does not repeat 1, 2 or 4 bytes.
    Long(&'a [u8]),
}

impl<'a> Pattern<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        let repeats = |n: usize| bytes.len() % n == 0 && bytes.chunks_exact(n).all(|chunk| chunk == &bytes[..n]);
        match *bytes {
            [a, ..] if repeats(1) => Self::Bytes1(a),
            [a, b, ..] if repeats(2) => Self::Bytes2(u16::from_ne_bytes([a, b])),
            [a, b, c, d, ..] if repeats(4) => Self::Bytes4(u32::from_ne_bytes([a, b, c, d])),
            _ => Self::Long(bytes),
        }
    }
}

impl<T: Pod> DeviceSliceMut<'_, T> {
    /// Queues a fill with `value`.
    ///
    /// A value that repeats 1, 2 or 4 bytes (all values of those sizes, and all zeros) takes one `hipMemsetD8Async`,
    /// `hipMemsetD16Async` or `hipMemsetD32Async`. Any other value is written once, in pieces of those sizes, and
    /// doubled by copies on the device (`hipMemcpyAsync`) until the slice is full. No host memory is read later.
    ///
    /// # Errors
    /// [`WrongDevice`](crate::Error::WrongDevice) if the stream is on another device.
    #[doc(alias("hipMemsetD8Async", "cuMemsetD8Async"))]
    #[doc(alias("hipMemsetD16Async", "cuMemsetD16Async"))]
    #[doc(alias("hipMemsetD32Async", "cuMemsetD32Async"))]
    #[doc(alias("hipMemsetAsync", "cudaMemsetAsync"))]
    pub fn fill_async(&mut self, stream: &Stream, value: T) -> Result<()> {
        let _admitted = self.admit(stream.device(), "the destination")?;
        if self.is_empty() {
            return Ok(());
        }
        let (pointer, bytes) = (self.pointer(), self.byte_len());
        trace::fill(self.device(), stream.inner.id(), bytes);
        stream.inner.submit(&[self.access()], None, |raw| fill_linear(pointer, bytemuck::bytes_of(&value), bytes, raw))
    }

    /// Queues a fill of every byte (`hipMemsetD8Async`).
    ///
    /// # Errors
    /// [`WrongDevice`](crate::Error::WrongDevice) if the stream is on another device.
    #[doc(alias("hipMemsetD8Async", "cuMemsetD8Async"))]
    pub fn fill_bytes_async(&mut self, stream: &Stream, value: u8) -> Result<()> {
        let _admitted = self.admit(stream.device(), "the destination")?;
        if self.is_empty() {
            return Ok(());
        }
        let (pointer, bytes) = (self.pointer(), self.byte_len());
        trace::fill(self.device(), stream.inner.id(), bytes);
        stream.inner.submit(&[self.access()], None, |raw| set(pointer, &Pattern::Bytes1(value), bytes, raw))
    }

    /// Fills with `value`, after all queued work that uses the buffer: [`fill_async`](Self::fill_async) on a private
    /// stream, and waits.
    #[doc(alias("hipMemset", "cudaMemset"))]
    #[doc(alias("hipMemsetD8", "cuMemsetD8"))]
    #[doc(alias("hipMemsetD16", "cuMemsetD16"))]
    #[doc(alias("hipMemsetD32", "cuMemsetD32"))]
    pub fn fill(&mut self, value: T) -> Result<()> {
        let stream = self.device().blocking_stream()?;
        self.fill_async(&stream, value)?;
        stream.synchronize()
    }
}

/// Fills `bytes` bytes, a multiple of the value's length. The caller must have marked the memory.
pub(super) fn fill_linear(pointer: *mut c_void, value: &[u8], bytes: usize, stream: hipStream_t) -> Result<()> {
    match Pattern::of(value) {
        Pattern::Long(_) => {
            put(pointer, value, stream)?;
            double(pointer, value.len(), bytes, stream)
        }
        short => set(pointer, &short, bytes, stream),
    }
}

/// Fills `bytes` bytes, a multiple of the pattern's length, with a pattern of 1, 2 or 4 bytes. The caller must have
/// marked the memory.
fn set(pointer: *mut c_void, pattern: &Pattern<'_>, bytes: usize, stream: hipStream_t) -> Result<()> {
    let (status, function): (hipError_t, _) = match *pattern {
        Pattern::Bytes1(value) => {
            // SAFETY: the caller's memory holds `bytes` bytes and is kept until the stream is done with it.
            let status = unsafe { hip_sys::hipMemsetD8Async(pointer, value, bytes, stream) };
            (status, "hipMemsetD8Async")
        }
        Pattern::Bytes2(value) => {
            // SAFETY: as above; the count is in units of 2 bytes.
            let status = unsafe { hip_sys::hipMemsetD16Async(pointer, value, bytes / 2, stream) };
            (status, "hipMemsetD16Async")
        }
        Pattern::Bytes4(value) => {
            let value = i32::from_ne_bytes(value.to_ne_bytes());
            // SAFETY: as above; the count is in units of 4 bytes.
            let status = unsafe { hip_sys::hipMemsetD32Async(pointer, value, bytes / 4, stream) };
            (status, "hipMemsetD32Async")
        }
        Pattern::Long(value) => return put(pointer, value, stream),
    };
    check(status, function, || format!("{bytes} bytes of {pattern:?}"))
}

/// Writes one value in the largest units that its length allows.
fn put(pointer: *mut c_void, value: &[u8], stream: hipStream_t) -> Result<()> {
    let unit = match value.len() {
        n if n % 4 == 0 => 4,
        n if n % 2 == 0 => 2,
        _ => 1,
    };
    for (index, bytes) in value.chunks_exact(unit).enumerate() {
        let pattern = match *bytes {
            [a, b, c, d] => Pattern::Bytes4(u32::from_ne_bytes([a, b, c, d])),
            [a, b] => Pattern::Bytes2(u16::from_ne_bytes([a, b])),
            _ => Pattern::Bytes1(bytes[0]),
        };
        set(pointer.wrapping_byte_add(index * unit), &pattern, unit, stream)?;
    }
    Ok(())
}

/// Doubles the first `done` bytes by copies until `total` bytes are written.
fn double(pointer: *mut c_void, mut done: usize, total: usize, stream: hipStream_t) -> Result<()> {
    while done < total {
        let step = done.min(total - done);
        // SAFETY: source and destination are inside of the caller's `total` bytes and do not overlap, as step <= done.
        let status = unsafe {
            hip_sys::hipMemcpyAsync(pointer.wrapping_byte_add(done), pointer, step, hipMemcpyDeviceToDevice, stream)
        };
        check(status, "hipMemcpyAsync", || format!("{step} bytes on the device, to fill {total}"))?;
        done += step;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_as_short_as_they_can_be() {
        assert_eq!(Pattern::of(&[0; 64]), Pattern::Bytes1(0));
        assert_eq!(Pattern::of(bytemuck::bytes_of(&0x0101_0101u32)), Pattern::Bytes1(1));
        assert_eq!(Pattern::of(bytemuck::bytes_of(&[7u16, 7])), Pattern::Bytes2(7));
        assert_eq!(Pattern::of(bytemuck::bytes_of(&1.5f32)), Pattern::Bytes4(1.5f32.to_bits()));
        assert_eq!(Pattern::of(bytemuck::bytes_of(&[1.5f32; 5])), Pattern::Bytes4(1.5f32.to_bits()));
        assert!(matches!(Pattern::of(bytemuck::bytes_of(&1.1f64)), Pattern::Long(_)));
        assert!(matches!(Pattern::of(&[1, 2, 3]), Pattern::Long(_)));
        assert!(matches!(Pattern::of(&[1, 2, 1]), Pattern::Long(_)), "2 does not divide 3");
        assert_eq!(Pattern::of(&[5, 5, 5]), Pattern::Bytes1(5));
    }
}

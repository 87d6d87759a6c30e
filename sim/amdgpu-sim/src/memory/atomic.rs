//! Reads and writes of memory that other workgroups, or the host, may touch at the same time.
//!
//! A race inside a kernel gives *some* value on a GPU; it must not be undefined behaviour here. So every access to global memory is
//! a relaxed atomic one: whole words where the address is aligned, single bytes where it is not.
//! On x86-64 and AArch64 these are plain loads and stores.

use std::ptr::with_exposed_provenance_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

macro_rules! word {
    ($load:ident, $store:ident, $cell:ident, $atomic:ident, $int:ident, $bytes:literal, $what:literal) => {
        #[doc = concat!("The ", $what, " at `address` as an atomic.")]
        ///
        /// # Safety
        /// The bytes must be valid for reads and writes for `'a`, accessed by atomics only meanwhile, and aligned to their size.
        #[inline(always)]
        pub(crate) unsafe fn $cell<'a>(address: u64) -> &'a $atomic {
            // SAFETY: the caller vouches for validity, alignment and atomic-only access; the provenance was exposed when the
            // memory was allocated or registered.
            unsafe { $atomic::from_ptr(with_exposed_provenance_mut(address as usize)) }
        }

        #[doc = concat!("Loads a little-endian ", $what, ", atomically if `address` is aligned to it.")]
        ///
        /// # Safety
        /// The bytes must be valid for reads, and accessed by atomics only meanwhile.
        #[allow(clippy::modulo_one, reason = "a byte is always aligned")]
        #[inline(always)]
        pub(crate) unsafe fn $load(address: u64) -> $int {
            if address % $bytes == 0 {
                // SAFETY: as the caller vouches; aligned as just tested.
                $int::from_le(unsafe { $cell(address) }.load(Relaxed))
            } else {
                let mut bytes = [0; $bytes];
                // SAFETY: as the caller vouches.
                unsafe { each_byte(address, &mut bytes) };
                $int::from_le_bytes(bytes)
            }
        }

        #[doc = concat!("Stores a little-endian ", $what, ", atomically if `address` is aligned to it.")]
        ///
        /// # Safety
        /// The bytes must be valid for writes, and accessed by atomics only meanwhile.
        #[allow(clippy::modulo_one, reason = "a byte is always aligned")]
        #[inline(always)]
        pub(crate) unsafe fn $store(address: u64, value: $int) {
            if address % $bytes == 0 {
                // SAFETY: as the caller vouches; aligned as just tested.
                unsafe { $cell(address) }.store(value.to_le(), Relaxed);
            } else {
                for (i, byte) in value.to_le_bytes().into_iter().enumerate() {
                    // SAFETY: as the caller vouches.
                    unsafe { cell_u8(address + i as u64) }.store(byte, Relaxed);
                }
            }
        }
    };
}

word!(load_u8, store_u8, cell_u8, AtomicU8, u8, 1, "byte");
word!(load_u16, store_u16, cell_u16, AtomicU16, u16, 2, "16-bit word");
word!(load_u32, store_u32, cell_u32, AtomicU32, u32, 4, "32-bit word");
word!(load_u64, store_u64, cell_u64, AtomicU64, u64, 8, "64-bit word");

/// Loads bytes one by one.
///
/// # Safety
/// The bytes at `address` must be valid for reads, and accessed by atomics only meanwhile.
unsafe fn each_byte(address: u64, out: &mut [u8]) {
    for (i, byte) in out.iter_mut().enumerate() {
        // SAFETY: as the caller vouches.
        *byte = unsafe { cell_u8(address + i as u64) }.load(Relaxed);
    }
}

/// Bytes from `address` up to the next multiple of 8, at most `len`.
fn head(address: u64, len: usize) -> usize {
    (address.wrapping_neg() as usize % 8).min(len)
}

/// Copies device memory to a slice, whole words where `address` allows it.
///
/// # Safety
/// `out.len()` bytes at `address` must be valid for reads, and accessed by atomics only meanwhile.
pub(crate) unsafe fn read_bytes(address: u64, out: &mut [u8]) {
    let (first, rest) = out.split_at_mut(head(address, out.len()));
    let start = address + first.len() as u64;
    // SAFETY (of the three): as the caller vouches; the words are inside the range and aligned.
    unsafe { each_byte(address, first) };
    let mut words = rest.chunks_exact_mut(8);
    let mut at = start;
    for word in &mut words {
        // SAFETY: see above.
        word.copy_from_slice(&unsafe { load_u64(at) }.to_le_bytes());
        at += 8;
    }
    // SAFETY: see above.
    unsafe { each_byte(at, words.into_remainder()) };
}

/// Copies a slice to device memory, whole words where `address` allows it.
///
/// # Safety
/// `data.len()` bytes at `address` must be valid for writes, and accessed by atomics only meanwhile.
pub(crate) unsafe fn write_bytes(address: u64, data: &[u8]) {
    let (first, rest) = data.split_at(head(address, data.len()));
    let mut at = address;
    let words = rest.chunks_exact(8);
    let last = words.remainder();
    for &byte in first {
        // SAFETY: as the caller vouches.
        unsafe { store_u8(at, byte) };
        at += 1;
    }
    for word in words {
        let mut value = [0; 8];
        value.copy_from_slice(word);
        // SAFETY: as the caller vouches; the word is inside the range.
        unsafe { store_u64(at, u64::from_le_bytes(value)) };
        at += 8;
    }
    for &byte in last {
        // SAFETY: as the caller vouches.
        unsafe { store_u8(at, byte) };
        at += 1;
    }
}

/// Copies inside device memory, in either direction where the ranges overlap.
///
/// # Safety
/// Both ranges must be valid (`from` for reads, `to` for writes), and accessed by atomics only meanwhile.
pub(crate) unsafe fn copy(to: u64, from: u64, len: u64) {
    let mut buffer = [0; 4096];
    let chunk = buffer.len() as u64;
    let backwards = to > from;
    let mut done = 0;
    while done < len {
        let part = (len - done).min(chunk);
        let offset = if backwards { len - done - part } else { done };
        let buffer = &mut buffer[..part as usize];
        // SAFETY: `offset + part <= len`, so both are inside the ranges that the caller vouches for. A chunk is read
        // whole before it is written, and the order keeps a chunk from overwriting one that is still to be read.
        unsafe {
            read_bytes(from + offset, buffer);
            write_bytes(to + offset, buffer);
        }
        done += part;
    }
}

macro_rules! update {
    ($name:ident, $cell:ident, $int:ident) => {
        /// Replaces the word at `address` by what `f` makes of it, as one step, and returns the old one.
        ///
        /// # Safety
        /// As of the cell: valid, aligned, accessed by atomics only.
        #[inline(always)]
        pub(crate) unsafe fn $name(address: u64, f: impl Fn($int) -> $int) -> $int {
            // SAFETY: as the caller vouches.
            let cell = unsafe { $cell(address) };
            let mut old = cell.load(Relaxed);
            loop {
                // Acquire and release, as the fences around a kernel's atomics are no instructions here.
                let new = f($int::from_le(old)).to_le();
                match cell.compare_exchange_weak(old, new, AcqRel, Acquire) {
                    Ok(_) => return $int::from_le(old),
                    Err(now) => old = now,
                }
            }
        }
    };
}

update!(update_u32, cell_u32, u32);
update!(update_u64, cell_u64, u64);

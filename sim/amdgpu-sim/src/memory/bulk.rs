//! Bulk copies of memory that others may access at the same time.
//!
//! A loop of atomic words is correct but slow: the compiler neither merges nor vectorises them. On x86-64, wide loads
//! and stores in assembly are used instead, for which a race gives some value and not undefined behaviour. Other
//! platforms use the loop.

/// The size of a row of 64 words in bytes.
pub(crate) const ROW: usize = 256;

#[cfg(target_arch = "x86_64")]
mod machine {
    use std::arch::asm;

    /// Copies `len` bytes; the ranges do not overlap.
    ///
    /// # Safety
    /// Both must be valid for `len` bytes. Others may access them at the same time only by atomics or by this module.
    pub(super) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
        // SAFETY: the copy stays within the ranges that the caller vouches for; the direction flag is clear, as the ABI says.
        unsafe {
            asm!("rep movsb", inout("rcx") len => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags));
        }
    }

    /// Copies 128 bytes.
    ///
    /// # Safety
    /// As of [`copy`], and the CPU has to have AVX.
    #[inline]
    #[target_feature(enable = "avx")]
    pub(super) unsafe fn copy_128(to: *mut u8, from: *const u8) {
        // SAFETY: four loads and four stores of 32 bytes, within the ranges that the caller vouches for.
        unsafe {
            asm!(
                "vmovups {a}, [{from}]",
                "vmovups {b}, [{from} + 32]",
                "vmovups {c}, [{from} + 64]",
                "vmovups {d}, [{from} + 96]",
                "vmovups [{to}], {a}",
                "vmovups [{to} + 32], {b}",
                "vmovups [{to} + 64], {c}",
                "vmovups [{to} + 96], {d}",
                from = in(reg) from, to = in(reg) to,
                a = out(ymm_reg) _, b = out(ymm_reg) _, c = out(ymm_reg) _, d = out(ymm_reg) _,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Copies 64 bytes.
    ///
    /// # Safety
    /// As of [`copy`].
    #[inline(always)]
    pub(super) unsafe fn copy_64(to: *mut u8, from: *const u8) {
        // SAFETY: four loads and four stores of 16 bytes, within the ranges that the caller vouches for.
        unsafe {
            asm!(
                "movups {a}, [{from}]",
                "movups {b}, [{from} + 16]",
                "movups {c}, [{from} + 32]",
                "movups {d}, [{from} + 48]",
                "movups [{to}], {a}",
                "movups [{to} + 16], {b}",
                "movups [{to} + 32], {c}",
                "movups [{to} + 48], {d}",
                from = in(reg) from, to = in(reg) to,
                a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod machine {
    use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

    /// Copies `len` bytes; the ranges do not overlap.
    ///
    /// # Safety
    /// Both must be valid for `len` bytes. Others may access them at the same time only by atomics or by this module.
    pub(super) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
        let mut at = 0;
        while at < len {
            // SAFETY: within the ranges that the caller vouches for; words only where both are aligned.
            unsafe {
                let (to, from) = (to.add(at), from.add(at));
                if (to as usize | from as usize) % 4 == 0 && len - at >= 4 {
                    let word = AtomicU32::from_ptr(from.cast_mut().cast()).load(Relaxed);
                    AtomicU32::from_ptr(to.cast()).store(word, Relaxed);
                    at += 4;
                } else {
                    let byte = AtomicU8::from_ptr(from.cast_mut()).load(Relaxed);
                    AtomicU8::from_ptr(to).store(byte, Relaxed);
                    at += 1;
                }
            }
        }
    }

    /// Copies 64 bytes.
    ///
    /// # Safety
    /// As of [`copy`].
    #[inline(always)]
    pub(super) unsafe fn copy_64(to: *mut u8, from: *const u8) {
        // SAFETY: as the caller vouches.
        unsafe { copy(to, from, 64) }
    }
}

use std::ptr::with_exposed_provenance_mut;

/// Copies device memory to a slice.
///
/// # Safety
/// `out.len()` bytes at `address` must be valid for reads, and accessed by atomics or this module only meanwhile.
pub(crate) unsafe fn read_bytes(address: u64, out: &mut [u8]) {
    // SAFETY: as the caller vouches; a slice that is borrowed mutably does not overlap what others may touch.
    unsafe { machine::copy(out.as_mut_ptr(), with_exposed_provenance_mut(address as usize), out.len()) }
}

/// Copies a slice to device memory.
///
/// # Safety
/// `data.len()` bytes at `address` must be valid for writes, and accessed by atomics or this module only meanwhile.
pub(crate) unsafe fn write_bytes(address: u64, data: &[u8]) {
    // SAFETY: as the caller vouches.
    unsafe { machine::copy(with_exposed_provenance_mut(address as usize), data.as_ptr(), data.len()) }
}

/// Copies the bytes of a row.
///
/// # Safety
/// Both must be valid for `ROW` bytes and accessed by atomics or this module only meanwhile. With `FAST` the CPU has to
/// have AVX.
#[inline(always)]
unsafe fn copy_row<const FAST: bool>(to: *mut u8, from: *const u8) {
    #[cfg(target_arch = "x86_64")]
    if FAST {
        for part in (0..ROW).step_by(128) {
            // SAFETY: within the row and within what the caller vouches for.
            unsafe { machine::copy_128(to.wrapping_add(part), from.wrapping_add(part)) }
        }
        return;
    }
    for part in (0..ROW).step_by(64) {
        // SAFETY: within the row and within what the caller vouches for.
        unsafe { machine::copy_64(to.wrapping_add(part), from.wrapping_add(part)) }
    }
}

/// Copies a row's bytes of device memory to a row of words.
///
/// # Safety
/// `ROW` bytes at `address` must be valid for reads, and accessed by atomics or this module only meanwhile. With `FAST`
/// the CPU has to have AVX.
#[inline(always)]
pub(crate) unsafe fn read_row<const FAST: bool>(address: u64, out: &mut [u32; 64]) {
    // SAFETY: as the caller vouches.
    unsafe { copy_row::<FAST>(out.as_mut_ptr().cast(), with_exposed_provenance_mut(address as usize)) }
}

/// Copies a row of words to device memory.
///
/// # Safety
/// `ROW` bytes at `address` must be valid for writes, and accessed by atomics or this module only meanwhile. With
/// `FAST` the CPU has to have AVX.
#[inline(always)]
pub(crate) unsafe fn write_row<const FAST: bool>(address: u64, data: &[u32; 64]) {
    // SAFETY: as the caller vouches.
    unsafe { copy_row::<FAST>(with_exposed_provenance_mut(address as usize), data.as_ptr().cast()) }
}

/// Copies inside device memory, as `memmove` does.
///
/// # Safety
/// Both ranges must be valid (`from` for reads, `to` for writes), and accessed by atomics or this module only
/// meanwhile.
pub(crate) unsafe fn copy(to: u64, from: u64, len: u64) {
    if to.abs_diff(from) >= len {
        // SAFETY: as the caller vouches; the ranges do not overlap.
        unsafe {
            machine::copy(
                with_exposed_provenance_mut(to as usize),
                with_exposed_provenance_mut(from as usize),
                len as usize,
            );
        }
        return;
    }
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

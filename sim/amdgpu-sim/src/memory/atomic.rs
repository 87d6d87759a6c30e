//! Accesses to memory that other workgroups or the host may access at the same time.
//!
//! A race in a kernel gives *some* value on a GPU, and must not be undefined behaviour here. So every access to global
//! memory is a relaxed atomic: up to 16 bytes at once if the address is aligned to them, single bytes if it is
//! unaligned. On x86-64 and AArch64 these are plain loads and stores; on AArch64, 16 bytes are two accesses of 8.

use std::ptr::with_exposed_provenance_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

macro_rules! cell {
    ($cell:ident, $atomic:ident, $what:literal) => {
        #[doc = concat!("The ", $what, " at `address` as an atomic.")]
        ///
        /// # Safety
        /// The bytes must be valid for reads and writes for `'a`, accessed by atomics only meanwhile, and aligned to
        /// their size.
        #[inline(always)]
        unsafe fn $cell<'a>(address: u64) -> &'a $atomic {
            // SAFETY: the caller vouches for validity, alignment and atomic-only access; the provenance was exposed when the
            // memory was allocated or registered.
            unsafe { $atomic::from_ptr(with_exposed_provenance_mut(address as usize)) }
        }
    };
}

cell!(cell_u8, AtomicU8, "byte");
cell!(cell_u16, AtomicU16, "16-bit word");
cell!(cell_u32, AtomicU32, "32-bit word");
cell!(cell_u64, AtomicU64, "64-bit word");

/// Loads a byte.
///
/// # Safety
/// The byte must be valid for reads, and accessed by atomics only meanwhile.
#[inline(always)]
pub(crate) unsafe fn load_u8(address: u64) -> u8 {
    // SAFETY: as the caller vouches.
    unsafe { cell_u8(address) }.load(Relaxed)
}

/// Stores a byte.
///
/// # Safety
/// The byte must be valid for writes, and accessed by atomics only meanwhile.
#[inline(always)]
pub(crate) unsafe fn store_u8(address: u64, value: u8) {
    // SAFETY: as the caller vouches.
    unsafe { cell_u8(address) }.store(value, Relaxed);
}

/// Loads a little-endian 32-bit word that is aligned.
///
/// # Safety
/// The bytes must be valid for reads, aligned to 4, and accessed by atomics only meanwhile.
#[inline(always)]
pub(crate) unsafe fn load_aligned_u32(address: u64) -> u32 {
    debug_assert!(address % 4 == 0);
    // SAFETY: as the caller vouches.
    u32::from_le(unsafe { cell_u32(address) }.load(Relaxed))
}

macro_rules! word {
    ($load:ident, $store:ident, $cell:ident, $int:ident, $bytes:literal, $what:literal) => {
        #[doc = concat!("Loads a little-endian ", $what, ", atomically if `address` is aligned to it.")]
        ///
        /// # Safety
        /// The bytes must be valid for reads, and accessed by atomics only meanwhile.
        #[inline(always)]
        pub(crate) unsafe fn $load(address: u64) -> $int {
            if address % $bytes == 0 {
                // SAFETY: as the caller vouches; aligned as just tested.
                return $int::from_le(unsafe { $cell(address) }.load(Relaxed));
            }
            let mut bytes = [0; $bytes];
            for (i, byte) in bytes.iter_mut().enumerate() {
                // SAFETY: as the caller vouches.
                *byte = unsafe { load_u8(address + i as u64) };
            }
            $int::from_le_bytes(bytes)
        }

        #[doc = concat!("Stores a little-endian ", $what, ", atomically if `address` is aligned to it.")]
        ///
        /// # Safety
        /// The bytes must be valid for writes, and accessed by atomics only meanwhile.
        #[inline(always)]
        pub(crate) unsafe fn $store(address: u64, value: $int) {
            if address % $bytes == 0 {
                // SAFETY: as the caller vouches; aligned as just tested.
                return unsafe { $cell(address) }.store(value.to_le(), Relaxed);
            }
            for (i, byte) in value.to_le_bytes().into_iter().enumerate() {
                // SAFETY: as the caller vouches.
                unsafe { store_u8(address + i as u64, byte) };
            }
        }
    };
}

word!(load_u16, store_u16, cell_u16, u16, 2, "16-bit word");
word!(load_u32, store_u32, cell_u32, u32, 4, "32-bit word");
word!(load_u64, store_u64, cell_u64, u64, 8, "64-bit word");

/// Loads four little-endian words, the lowest first: at once if `address` is aligned to 16, each pair at once if it is
/// aligned to 8.
///
/// # Safety
/// The bytes must be valid for reads, and accessed by atomics only meanwhile.
#[inline(always)]
pub(crate) unsafe fn load_u128(address: u64) -> u128 {
    #[cfg(target_arch = "x86_64")]
    if address % 16 == 0 {
        // SAFETY: as the caller vouches; aligned as just tested.
        return unsafe { machine::load(address) };
    }
    // SAFETY: as the caller vouches.
    unsafe { u128::from(load_u64(address)) | u128::from(load_u64(address + 8)) << 64 }
}

/// Stores four little-endian words: at once if `address` is aligned to 16, each pair at once if it is aligned to 8.
///
/// # Safety
/// The bytes must be valid for writes, and accessed by atomics only meanwhile.
#[inline(always)]
pub(crate) unsafe fn store_u128(address: u64, value: u128) {
    #[cfg(target_arch = "x86_64")]
    if address % 16 == 0 {
        // SAFETY: as the caller vouches; aligned as just tested.
        return unsafe { machine::store(address, value) };
    }
    // SAFETY: as the caller vouches.
    unsafe {
        store_u64(address, value as u64);
        store_u64(address + 8, (value >> 64) as u64);
    }
}

/// Aligned accesses of 16 bytes. Every x86-64 processor with AVX performs them atomically (guaranteed by the vendors),
/// and the others do as far as is known. In assembly, because a compiler may split the language's accesses.
#[cfg(target_arch = "x86_64")]
mod machine {
    use std::arch::asm;
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_storeu_si128};
    use std::ptr::with_exposed_provenance_mut;

    /// # Safety
    /// As of [`super::load_u128`], and `address` is aligned to 16.
    #[inline(always)]
    pub(super) unsafe fn load(address: u64) -> u128 {
        let from: *const u128 = with_exposed_provenance_mut(address as usize);
        let (wide, mut value): (__m128i, u128);
        // SAFETY: one load of 16 bytes that are valid and aligned, as the caller vouches.
        unsafe {
            asm!("movdqa {wide}, [{from}]", from = in(reg) from, wide = out(xmm_reg) wide, options(nostack, preserves_flags, readonly))
        };
        value = 0;
        // SAFETY: a local variable of 16 bytes.
        unsafe { _mm_storeu_si128((&raw mut value).cast(), wide) };
        value
    }

    /// # Safety
    /// As of [`super::store_u128`], and `address` is aligned to 16.
    #[inline(always)]
    pub(super) unsafe fn store(address: u64, value: u128) {
        let to: *mut u128 = with_exposed_provenance_mut(address as usize);
        // SAFETY: a local variable of 16 bytes.
        let wide = unsafe { _mm_loadu_si128((&raw const value).cast()) };
        // SAFETY: one store of 16 bytes that are valid and aligned, as the caller vouches.
        unsafe {
            asm!("movdqa [{to}], {wide}", to = in(reg) to, wide = in(xmm_reg) wide, options(nostack, preserves_flags))
        };
    }
}

macro_rules! update {
    ($name:ident, $cell:ident, $int:ident) => {
        /// Atomically replaces the word at `address` by the result of `f`, and returns the old one.
        ///
        /// # Safety
        /// As of the cell: valid, aligned, accessed by atomics only.
        #[inline(always)]
        pub(crate) unsafe fn $name(address: u64, f: impl Fn($int) -> $int) -> $int {
            // SAFETY: as the caller vouches.
            let cell = unsafe { $cell(address) };
            let mut old = cell.load(Relaxed);
            loop {
                // Acquire and release, since the fences around a kernel's atomics are not executed here.
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

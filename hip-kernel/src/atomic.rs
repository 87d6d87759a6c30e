//! Atomic operations with scopes.
//!
//! All are relaxed; order other accesses with [`fence`](crate::sync::fence) or a [`barrier`](crate::sync::barrier). The
//! plain methods are atomic for all threads of the device, like `atomicAdd`; those with `_in` take a [`Scope`].

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

use crate::raw;

/// The threads between which an operation is atomic, or a fence orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The lanes of a wave.
    Wave,
    /// The threads of a block: `__hip_atomic_fetch_add(..., __HIP_MEMORY_SCOPE_WORKGROUP)`.
    Block,
    /// The threads of the device.
    Device,
    /// All threads, including the host's and other devices': `atomicAdd_system`.
    System,
}

/// A number that is only accessed by atomic operations: `u32`, `i32`, `u64`, `i64`, `f32`, `f64`.
#[repr(transparent)]
#[derive(Debug)]
pub struct Atomic<T>(UnsafeCell<T>);

// SAFETY: all methods are atomic.
unsafe impl<T: AtomicElement> Sync for Atomic<T> {}

/// Numbers with atomic operations.
///
/// # Safety
/// Every bit pattern must be a value, and the functions must be atomic.
#[doc(hidden)]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe trait AtomicElement: Copy {
    unsafe fn load(address: *mut Self, scope: Scope) -> Self;
    unsafe fn store(address: *mut Self, value: Self, scope: Scope);
    unsafe fn swap(address: *mut Self, value: Self, scope: Scope) -> Self;
    unsafe fn compare_exchange(address: *mut Self, old: Self, new: Self, scope: Scope) -> (Self, bool);
    unsafe fn add(address: *mut Self, value: Self, scope: Scope) -> Self;
    unsafe fn max(address: *mut Self, value: Self, scope: Scope) -> Self;
    unsafe fn min(address: *mut Self, value: Self, scope: Scope) -> Self;
}

/// Integers with atomic operations.
#[doc(hidden)]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe trait AtomicInteger: AtomicElement {
    unsafe fn sub(address: *mut Self, value: Self, scope: Scope) -> Self;
    unsafe fn and(address: *mut Self, value: Self, scope: Scope) -> Self;
    unsafe fn or(address: *mut Self, value: Self, scope: Scope) -> Self;
    unsafe fn xor(address: *mut Self, value: Self, scope: Scope) -> Self;
    unsafe fn inc(address: *mut Self, limit: Self, scope: Scope) -> Self;
    unsafe fn dec(address: *mut Self, limit: Self, scope: Scope) -> Self;
}

/// Floats with atomic operations.
#[doc(hidden)]
#[allow(missing_docs, clippy::missing_safety_doc)]
pub unsafe trait AtomicFloat: AtomicElement {
    unsafe fn add_coarse(address: *mut Self, value: Self, scope: Scope) -> Self;
    unsafe fn max_coarse(address: *mut Self, value: Self, scope: Scope) -> Self;
    unsafe fn min_coarse(address: *mut Self, value: Self, scope: Scope) -> Self;
}

/// Selects a function by its scope, and applies it to a value's bits.
macro_rules! by_scope {
    ($scope:expr, $function:ident($($argument:expr),*)) => {
        // SAFETY: the caller ensures that the address is valid.
        unsafe {
            match $scope {
                Scope::Wave => raw::wave::$function($($argument),*),
                Scope::Block => raw::block::$function($($argument),*),
                Scope::Device => raw::device::$function($($argument),*),
                Scope::System => raw::system::$function($($argument),*),
            }
        }
    };
}

macro_rules! integers {
    ($($type:ident as $bits:ident: $load:ident $store:ident $swap:ident $cas:ident $add:ident $max:ident $min:ident $sub:ident $and:ident $or:ident $xor:ident $inc:ident $dec:ident;)*) => {$(
        // SAFETY: the functions are LLVM's atomic operations.
        unsafe impl AtomicElement for $type {
            #[inline(always)]
            unsafe fn load(address: *mut Self, scope: Scope) -> Self {
                by_scope!(scope, $load(address.cast())) as Self
            }
            #[inline(always)]
            unsafe fn store(address: *mut Self, value: Self, scope: Scope) {
                by_scope!(scope, $store(address.cast(), value as $bits));
            }
            #[inline(always)]
            unsafe fn swap(address: *mut Self, value: Self, scope: Scope) -> Self {
                by_scope!(scope, $swap(address.cast(), value as $bits)) as Self
            }
            #[inline(always)]
            unsafe fn compare_exchange(address: *mut Self, old: Self, new: Self, scope: Scope) -> (Self, bool) {
                let found = by_scope!(scope, $cas(address.cast(), old as $bits, new as $bits)) as Self;
                (found, found == old)
            }
            #[inline(always)]
            unsafe fn add(address: *mut Self, value: Self, scope: Scope) -> Self {
                by_scope!(scope, $add(address.cast(), value as $bits)) as Self
            }
            #[inline(always)]
            unsafe fn max(address: *mut Self, value: Self, scope: Scope) -> Self {
                by_scope!(scope, $max(address.cast(), value as $bits)) as Self
            }
            #[inline(always)]
            unsafe fn min(address: *mut Self, value: Self, scope: Scope) -> Self {
                by_scope!(scope, $min(address.cast(), value as $bits)) as Self
            }
        }

        // SAFETY: as above.
        unsafe impl AtomicInteger for $type {
            #[inline(always)]
            unsafe fn sub(address: *mut Self, value: Self, scope: Scope) -> Self {
                by_scope!(scope, $sub(address.cast(), value as $bits)) as Self
            }
            #[inline(always)]
            unsafe fn and(address: *mut Self, value: Self, scope: Scope) -> Self {
                by_scope!(scope, $and(address.cast(), value as $bits)) as Self
            }
            #[inline(always)]
            unsafe fn or(address: *mut Self, value: Self, scope: Scope) -> Self {
                by_scope!(scope, $or(address.cast(), value as $bits)) as Self
            }
            #[inline(always)]
            unsafe fn xor(address: *mut Self, value: Self, scope: Scope) -> Self {
                by_scope!(scope, $xor(address.cast(), value as $bits)) as Self
            }
            #[inline(always)]
            unsafe fn inc(address: *mut Self, limit: Self, scope: Scope) -> Self {
                by_scope!(scope, $inc(address.cast(), limit as $bits)) as Self
            }
            #[inline(always)]
            unsafe fn dec(address: *mut Self, limit: Self, scope: Scope) -> Self {
                by_scope!(scope, $dec(address.cast(), limit as $bits)) as Self
            }
        }
    )*};
}

integers! {
    u32 as u32: load_u32 store_u32 swap_u32 cas_u32 add_u32 umax_u32 umin_u32 sub_u32 and_u32 or_u32 xor_u32 inc_u32 dec_u32;
    i32 as u32: load_u32 store_u32 swap_u32 cas_u32 add_u32 max_u32 min_u32 sub_u32 and_u32 or_u32 xor_u32 inc_u32 dec_u32;
    u64 as u64: load_u64 store_u64 swap_u64 cas_u64 add_u64 umax_u64 umin_u64 sub_u64 and_u64 or_u64 xor_u64 inc_u64 dec_u64;
    i64 as u64: load_u64 store_u64 swap_u64 cas_u64 add_u64 max_u64 min_u64 sub_u64 and_u64 or_u64 xor_u64 inc_u64 dec_u64;
}

macro_rules! floats {
    ($($type:ident as $bits:ident: $load:ident $store:ident $swap:ident $cas:ident $add:ident $max:ident $min:ident $add_coarse:ident $max_coarse:ident $min_coarse:ident;)*) => {$(
        // SAFETY: the functions are LLVM's atomic operations.
        unsafe impl AtomicElement for $type {
            #[inline(always)]
            unsafe fn load(address: *mut Self, scope: Scope) -> Self {
                Self::from_bits(by_scope!(scope, $load(address.cast())))
            }
            #[inline(always)]
            unsafe fn store(address: *mut Self, value: Self, scope: Scope) {
                by_scope!(scope, $store(address.cast(), value.to_bits()));
            }
            #[inline(always)]
            unsafe fn swap(address: *mut Self, value: Self, scope: Scope) -> Self {
                Self::from_bits(by_scope!(scope, $swap(address.cast(), value.to_bits())))
            }
            #[inline(always)]
            unsafe fn compare_exchange(address: *mut Self, old: Self, new: Self, scope: Scope) -> (Self, bool) {
                let found = by_scope!(scope, $cas(address.cast(), old.to_bits(), new.to_bits()));
                (Self::from_bits(found), found == old.to_bits())
            }
            #[inline(always)]
            unsafe fn add(address: *mut Self, value: Self, scope: Scope) -> Self {
                by_scope!(scope, $add(address, value))
            }
            #[inline(always)]
            unsafe fn max(address: *mut Self, value: Self, scope: Scope) -> Self {
                by_scope!(scope, $max(address, value))
            }
            #[inline(always)]
            unsafe fn min(address: *mut Self, value: Self, scope: Scope) -> Self {
                by_scope!(scope, $min(address, value))
            }
        }

        // SAFETY: as above.
        unsafe impl AtomicFloat for $type {
            #[inline(always)]
            unsafe fn add_coarse(address: *mut Self, value: Self, scope: Scope) -> Self {
                by_scope!(scope, $add_coarse(address, value))
            }
            #[inline(always)]
            unsafe fn max_coarse(address: *mut Self, value: Self, scope: Scope) -> Self {
                by_scope!(scope, $max_coarse(address, value))
            }
            #[inline(always)]
            unsafe fn min_coarse(address: *mut Self, value: Self, scope: Scope) -> Self {
                by_scope!(scope, $min_coarse(address, value))
            }
        }
    )*};
}

floats! {
    f32 as u32: load_u32 store_u32 swap_u32 cas_u32 add_f32 max_f32 min_f32 add_f32_coarse max_f32_coarse min_f32_coarse;
    f64 as u64: load_u64 store_u64 swap_u64 cas_u64 add_f64 max_f64 min_f64 add_f64_coarse max_f64_coarse min_f64_coarse;
}

/// Declares methods for all threads of the device and for those of a scope.
macro_rules! methods {
    ($($(#[$attribute:meta])* $plain:ident $scoped:ident = $function:ident($($argument:ident),*) -> $result:ty;)*) => {$(
        $(#[$attribute])*
        #[inline(always)]
        pub fn $plain(&self $(, $argument: T)*) -> $result {
            self.$scoped($($argument,)* Scope::Device)
        }

        #[doc = concat!("As [`", stringify!($plain), "`](Self::", stringify!($plain), "), for the threads of a scope.")]
        #[inline(always)]
        pub fn $scoped(&self $(, $argument: T)*, scope: Scope) -> $result {
            // SAFETY: the address is that of `self`.
            unsafe { T::$function(self.0.get() $(, $argument)*, scope) }
        }
    )*};
}

impl<T: AtomicElement> Atomic<T> {
    methods! {
        /// Returns the value.
        load load_in = load() -> T;
        /// Writes a value.
        store store_in = store(value) -> ();
        /// Writes a value, and returns the previous one: `atomicExch`.
        #[doc(alias("atomicExch"))]
        swap swap_in = swap(value) -> T;
        /// Adds, and returns the previous value: `atomicAdd`.
        #[doc(alias("atomicAdd"))]
        fetch_add fetch_add_in = add(value) -> T;
        /// Writes the larger value, and returns the previous one: `atomicMax`.
        #[doc(alias("atomicMax"))]
        fetch_max fetch_max_in = max(value) -> T;
        /// Writes the smaller value, and returns the previous one: `atomicMin`.
        #[doc(alias("atomicMin"))]
        fetch_min fetch_min_in = min(value) -> T;
    }

    /// Writes `new` if the value has the bits of `old`: `atomicCAS`. Returns the previous value.
    ///
    /// # Errors
    /// The value found, if it differs from `old`.
    #[inline(always)]
    #[doc(alias("atomicCAS"))]
    pub fn compare_exchange(&self, old: T, new: T) -> Result<T, T> {
        self.compare_exchange_in(old, new, Scope::Device)
    }

    /// The same as [`compare_exchange`](Self::compare_exchange), for the threads of a scope.
    ///
    /// # Errors
    /// The value found, if it differs from `old`.
    #[inline(always)]
    pub fn compare_exchange_in(&self, old: T, new: T, scope: Scope) -> Result<T, T> {
        // SAFETY: the address is that of `self`.
        let (found, same) = unsafe { T::compare_exchange(self.0.get(), old, new, scope) };
        if same { Ok(found) } else { Err(found) }
    }

    /// Returns the atomic at an address, such as a field of a structure.
    ///
    /// # Safety
    /// The memory must be valid for `'a`, and must only be accessed by atomic operations during that time.
    #[inline(always)]
    #[must_use]
    pub unsafe fn from_ptr<'a>(address: *mut T) -> &'a Self {
        // SAFETY: the caller ensures it; the layout is the same.
        unsafe { &*address.cast() }
    }
}

impl<T: AtomicInteger> Atomic<T> {
    methods! {
        /// Subtracts, and returns the previous value: `atomicSub`.
        fetch_sub fetch_sub_in = sub(value) -> T;
        /// Computes the bitwise and; returns the previous value: `atomicAnd`.
        fetch_and fetch_and_in = and(value) -> T;
        /// Computes the bitwise or; returns the previous value: `atomicOr`.
        fetch_or fetch_or_in = or(value) -> T;
        /// Computes the bitwise exclusive or; returns the previous value: `atomicXor`.
        fetch_xor fetch_xor_in = xor(value) -> T;
        /// Increments, or writes 0 if the result would be above `limit` (unsigned); returns the previous value:
        /// `atomicInc`.
        fetch_inc fetch_inc_in = inc(limit) -> T;
        /// Decrements, or writes `limit` if the value is 0 or above `limit` (unsigned); returns the previous value:
        /// `atomicDec`.
        fetch_dec fetch_dec_in = dec(limit) -> T;
    }
}

impl<T: AtomicFloat> Atomic<T> {
    methods! {
        /// The same as [`fetch_add`](Self::fetch_add), with the hardware's instruction for coarse-grained memory:
        /// `unsafeAtomicAdd`. In memory of the host or of another device (fine-grained memory) it may have no effect. A
        /// `DeviceBuffer` is coarse-grained.
        fetch_add_coarse fetch_add_coarse_in = add_coarse(value) -> T;
        /// The same as [`fetch_max`](Self::fetch_max), for coarse-grained memory.
        fetch_max_coarse fetch_max_coarse_in = max_coarse(value) -> T;
        /// The same as [`fetch_min`](Self::fetch_min), for coarse-grained memory.
        fetch_min_coarse fetch_min_coarse_in = min_coarse(value) -> T;
    }
}

/// Memory that all threads access by atomic operations.
///
/// The host passes a `&mut DeviceBuffer<T>` or another `DeviceSliceMut<T>`.
#[derive(Debug)]
pub struct AtomicSlice<'a, T> {
    pointer: NonNull<Atomic<T>>,
    len: usize,
    marker: PhantomData<&'a [Atomic<T>]>,
}

// SAFETY: the type belongs to this crate.
unsafe impl<T: crate::Plain> crate::identity::Writes for AtomicSlice<'_, T> {
    const LAYOUT: crate::Layout = crate::Layout::of::<T>("AtomicSlice").field(0, T::LAYOUT);
}

impl<T> Clone for AtomicSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for AtomicSlice<'_, T> {}

impl<T: AtomicElement> AtomicSlice<'_, T> {
    /// # Safety
    /// The memory must have `len` elements, and the whole launch must access it only by atomic operations.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub unsafe fn from_launch(pointer: NonNull<T>, len: usize) -> Self {
        Self { pointer: pointer.cast(), len, marker: PhantomData }
    }
}

impl<T: AtomicElement> Deref for AtomicSlice<'_, T> {
    type Target = [Atomic<T>];

    #[inline(always)]
    fn deref(&self) -> &[Atomic<T>] {
        // SAFETY: `from_launch`.
        unsafe { core::slice::from_raw_parts(self.pointer.as_ptr(), self.len) }
    }
}

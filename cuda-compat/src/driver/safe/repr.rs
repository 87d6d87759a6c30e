//! Types that device memory and kernel parameters can hold.

/// A type whose values can be in device memory, or a parameter of a kernel.
///
/// # Safety
/// The type must have the layout of its counterpart in the kernel (`#[repr(C)]`), and contain no host addresses.
#[diagnostic::on_unimplemented(
    note = "`half::f16` and `bf16` need the feature `f16` of `cuda-compat`, types of `float8` the feature `f8`, of `float4` the feature `f4`"
)]
pub unsafe trait DeviceRepr {}

/// A type for which all-zero bytes are a valid value.
///
/// # Safety
/// All-zero bytes must be a valid value of the type.
#[diagnostic::on_unimplemented(
    note = "`half::f16` and `bf16` need the feature `f16` of `cuda-compat`, types of `float8` the feature `f8`, of `float4` the feature `f4`"
)]
pub unsafe trait ValidAsZeroBits {}

macro_rules! numbers {
    ($($(#[$meta:meta])* $ty:ty,)*) => {$(
        // SAFETY: a number, or a bool, which is one byte on the host and the device; 0 is a value.
        $(#[$meta])* unsafe impl DeviceRepr for $ty {}
        // SAFETY: as above.
        $(#[$meta])* unsafe impl ValidAsZeroBits for $ty {}
    )*};
}

numbers! {
    bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64,
    #[cfg(feature = "f16")] half::f16,
    #[cfg(feature = "f16")] half::bf16,
    #[cfg(feature = "f8")] float8::F8E4M3,
    #[cfg(feature = "f8")] float8::F8E5M2,
    #[cfg(feature = "f4")] float4::F4E2M1,
    #[cfg(feature = "f4")] float4::F4E2M1x2,
    #[cfg(feature = "f4")] float4::E8M0,
}

// SAFETY: the elements follow each other without gaps, as in C.
unsafe impl<T: DeviceRepr, const N: usize> DeviceRepr for [T; N] {}
// SAFETY: as above.
unsafe impl<T: ValidAsZeroBits, const N: usize> ValidAsZeroBits for [T; N] {}

macro_rules! tuples {
    () => {};
    ($first:ident $($rest:ident)*) => {
        // SAFETY: all-zero bytes are a valid value of each field.
        unsafe impl<$first: ValidAsZeroBits, $($rest: ValidAsZeroBits),*> ValidAsZeroBits for ($first, $($rest,)*) {}
        tuples! { $($rest)* }
    };
}

tuples! { A B C D E F G H I J K L }

//! Parameters by value.

use crate::identity::{Layout, Plain};

/// A type that a kernel takes by value: numbers, `bool`, [`f16`](crate::half::f16), [`bf16`](crate::half::bf16), arrays
/// of numbers, and types with `#[derive(DeviceCopy)]`, of up to 256 bytes.
///
/// The representation of one type's value cannot be used as another type:
///
/// ```compile_fail,E0133
/// use hip_kernel::prelude::*;
///
/// #[derive(Clone, Copy, DeviceCopy)]
/// #[repr(u32)]
/// enum Mode {
///     Add,
///     Multiply,
/// }
///
/// let mode: Mode = hip_kernel::Value::from_abi(hip_kernel::Value::to_abi([7u32]));
/// ```
///
/// # Safety
/// `Abi` must be passed to the device in registers or as a vector, and have room for the type's bytes. `LAYOUT` must be
/// made from the type and from the layouts of all its parts: two compilers that see the same layout must see the same
/// type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a kernel",
    label = "not a parameter of a kernel",
    note = "a type of yours is passed by value with `#[derive(Clone, Copy, DeviceCopy)]` and `#[repr(C)]`",
    note = "memory is passed as `&[T]`, `DisjointSlice<T>` or `AtomicSlice<T>`, which must be named by these names"
)]
pub unsafe trait Value: Copy {
    /// The representation that is passed.
    type Abi: Copy;

    /// The type as this compiler sees it: the code's must be equal to the host's.
    const LAYOUT: Layout;

    /// Converts from the representation, on the device.
    ///
    /// # Safety
    /// [`to_abi`](Self::to_abi) of this type must have made it. Other types have the same `Abi`, but other values.
    #[doc(hidden)]
    unsafe fn from_abi(abi: Self::Abi) -> Self;

    /// Converts to the representation, on the host.
    #[doc(hidden)]
    fn to_abi(self) -> Self::Abi;
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        // SAFETY: it is passed unchanged.
        unsafe impl Value for $type {
            type Abi = Self;
            const LAYOUT: Layout = <Self as Plain>::LAYOUT;
            #[inline(always)]
            unsafe fn from_abi(abi: Self) -> Self {
                abi
            }
            #[inline(always)]
            fn to_abi(self) -> Self {
                self
            }
        }
    )*};
}

numbers!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize f32 f64);

// SAFETY: a byte is passed.
unsafe impl Value for bool {
    type Abi = u8;
    const LAYOUT: Layout = Layout::of::<Self>("bool");
    #[inline(always)]
    unsafe fn from_abi(abi: u8) -> Self {
        abi != 0
    }
    #[inline(always)]
    fn to_abi(self) -> u8 {
        self.into()
    }
}

/// Returns the number of words that a type needs, rounded up to a supported size.
#[doc(hidden)]
#[must_use]
pub const fn words(bytes: usize) -> usize {
    bytes.div_ceil(4).next_power_of_two()
}

/// A number of words.
#[doc(hidden)]
#[derive(Debug)]
pub struct Size<const N: usize>;

/// The vector with this many words.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the type is too large to be passed to a kernel by value",
    note = "up to 256 bytes are passed; pass a larger one as a slice of one element"
)]
pub trait HasWords {
    /// The vector.
    type Words: Copy;
}

macro_rules! words {
    ($($name:ident $count:literal $align:literal)*) => {$(
        // A structure is passed as a pointer, a vector is not.
        #[doc(hidden)]
        #[derive(Clone, Copy)]
        #[allow(missing_debug_implementations)]
        #[cfg_attr(target_arch = "amdgpu", repr(simd))]
        #[cfg_attr(not(target_arch = "amdgpu"), repr(C, align($align)))]
        pub struct $name([u32; $count]);

        impl HasWords for Size<$count> {
            type Words = $name;
        }

        #[cfg(not(target_arch = "amdgpu"))]
        // SAFETY: words without gaps: the alignment is the size.
        unsafe impl hip::bytemuck::NoUninit for $name {}
    )*};
}

words! {
    Words1 1 4
    Words2 2 8
    Words4 4 16
    Words8 8 32
    Words16 16 64
    Words32 32 128
    Words64 64 256
}

/// Converts words to a value.
///
/// # Safety
/// [`to_words`] must have made the words from a value of this type.
#[doc(hidden)]
#[inline(always)]
pub unsafe fn from_words<W: Copy, T: Copy>(words: W) -> T {
    const { assert!(size_of::<T>() <= size_of::<W>()) };
    // SAFETY: there are enough bytes, and the caller ensures that they are a value.
    unsafe { core::ptr::from_ref(&words).cast::<T>().read_unaligned() }
}

/// Converts a value to words; those after it are zero.
///
/// # Safety
/// The type must have no padding, and every bit pattern must be valid for `W`.
#[doc(hidden)]
#[inline(always)]
pub unsafe fn to_words<W: Copy, T: Copy>(value: T) -> W {
    const { assert!(size_of::<T>() <= size_of::<W>()) };
    let mut words = core::mem::MaybeUninit::<W>::zeroed();
    // SAFETY: there are enough bytes; the rest is zero.
    unsafe {
        words.as_mut_ptr().cast::<T>().write_unaligned(value);
        words.assume_init()
    }
}

macro_rules! arrays {
    ($($type:ty)*) => {$(
        // SAFETY: the words have room for the numbers, which have no padding.
        unsafe impl<const N: usize> Value for [$type; N]
        where
            ArrayOf<$type, N>: HasWords,
        {
            type Abi = <ArrayOf<$type, N> as HasWords>::Words;
            const LAYOUT: Layout = <Self as Plain>::LAYOUT;
            #[inline(always)]
            unsafe fn from_abi(abi: Self::Abi) -> Self {
                // SAFETY: the caller ensures it.
                unsafe { from_words(abi) }
            }
            #[inline(always)]
            fn to_abi(self) -> Self::Abi {
                // SAFETY: numbers have no padding.
                unsafe { to_words(self) }
            }
        }
    )*};
}

/// An array, for its words.
#[doc(hidden)]
#[derive(Debug)]
pub struct ArrayOf<T, const N: usize>(core::marker::PhantomData<T>);

macro_rules! array_words {
    ($type:ty: $($count:literal $words:ident)*) => {$(
        impl HasWords for ArrayOf<$type, $count> {
            type Words = $words;
        }
    )*};
}

array_words!(f32: 1 Words1 2 Words2 3 Words4 4 Words4 5 Words8 6 Words8 7 Words8 8 Words8 9 Words16 12 Words16 16 Words16);
array_words!(i32: 1 Words1 2 Words2 3 Words4 4 Words4 5 Words8 6 Words8 7 Words8 8 Words8 9 Words16 12 Words16 16 Words16);
array_words!(u32: 1 Words1 2 Words2 3 Words4 4 Words4 5 Words8 6 Words8 7 Words8 8 Words8 9 Words16 12 Words16 16 Words16);
array_words!(f64: 1 Words2 2 Words4 3 Words8 4 Words8 6 Words16 8 Words16 9 Words32 16 Words32);
array_words!(u64: 1 Words2 2 Words4 3 Words8 4 Words8 6 Words16 8 Words16);
arrays!(f32 i32 u32 f64 u64);

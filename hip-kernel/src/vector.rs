//! Short vectors, with the layout of HIP's: [`F32x4`] is `float4`.
//!
//! They can be elements of slices and parameters of kernels. A load or store of one takes one instruction if its
//! alignment allows that.

use crate::identity::{Layout, Plain};
use crate::value::{HasWords, Size, Value, from_words, to_words, words};

macro_rules! vectors {
    ($($(#[$attribute:meta])* $name:ident: $element:ty, $count:literal, align $align:literal { $($field:ident $index:literal),* };)*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[repr(C, align($align))]
        pub struct $name {
            $(
                #[doc = concat!("Element ", $index, ".")]
                pub $field: $element,
            )*
        }

        impl $name {
            /// Creates a vector of these elements.
            #[inline(always)]
            #[must_use]
            pub const fn new($($field: $element),*) -> Self {
                Self { $($field),* }
            }

            /// Creates a vector with one number as all its elements.
            #[inline(always)]
            #[must_use]
            pub const fn splat(value: $element) -> Self {
                Self { $($field: value),* }
            }

            /// Returns the sum of the products of the elements.
            #[inline(always)]
            #[must_use]
            pub fn dot(self, other: Self) -> $element {
                let mut sum = Default::default();
                $(sum += self.$field * other.$field;)*
                sum
            }
        }

        impl From<[$element; $count]> for $name {
            #[inline(always)]
            fn from([$($field),*]: [$element; $count]) -> Self {
                Self { $($field),* }
            }
        }

        impl From<$name> for [$element; $count] {
            #[inline(always)]
            fn from(vector: $name) -> Self {
                [$(vector.$field),*]
            }
        }

        vectors!(@operator $name $element { $($field),* } Add add Sub sub Mul mul Div div);

        // SAFETY: the words have room for the elements, which have no padding.
        unsafe impl Value for $name {
            type Abi = <Size<{ words(size_of::<Self>()) }> as HasWords>::Words;
            const LAYOUT: Layout = <Self as Plain>::LAYOUT;
            #[inline(always)]
            unsafe fn from_abi(abi: Self::Abi) -> Self {
                // SAFETY: the caller ensures it.
                unsafe { from_words(abi) }
            }
            #[inline(always)]
            fn to_abi(self) -> Self::Abi {
                const { assert!(size_of::<$name>() == size_of::<$element>() * $count) };
                // SAFETY: there is no padding.
                unsafe { to_words(self) }
            }
        }

        // SAFETY: numbers without padding.
        unsafe impl Plain for $name {
            const LAYOUT: Layout = Layout::of::<Self>(stringify!($name)).field(0, <[$element; $count] as Plain>::LAYOUT);
        }

        #[cfg(not(target_arch = "amdgpu"))]
        // SAFETY: numbers without padding, for which every bit pattern is a value.
        unsafe impl hip::bytemuck::Zeroable for $name {}
        #[cfg(not(target_arch = "amdgpu"))]
        // SAFETY: as above.
        unsafe impl hip::bytemuck::Pod for $name {}
    )*};
    (@operator $name:ident $element:ty { $($field:ident),* }) => {};
    (@operator $name:ident $element:ty { $($field:ident),* } $trait:ident $method:ident $($rest:ident)*) => {
        impl core::ops::$trait for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self { $($field: core::ops::$trait::$method(self.$field, other.$field)),* }
            }
        }

        impl core::ops::$trait<$element> for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: $element) -> Self {
                Self { $($field: core::ops::$trait::$method(self.$field, other)),* }
            }
        }

        vectors!(@operator $name $element { $($field),* } $($rest)*);
    };
}

vectors! {
    /// `float2`
    F32x2: f32, 2, align 8 { x 0, y 1 };
    /// `float3`
    F32x3: f32, 3, align 4 { x 0, y 1, z 2 };
    /// `float4`
    F32x4: f32, 4, align 16 { x 0, y 1, z 2, w 3 };
    /// `double2`
    F64x2: f64, 2, align 16 { x 0, y 1 };
    /// `double3`
    F64x3: f64, 3, align 8 { x 0, y 1, z 2 };
    /// `double4`
    F64x4: f64, 4, align 16 { x 0, y 1, z 2, w 3 };
    /// `int2`
    I32x2: i32, 2, align 8 { x 0, y 1 };
    /// `int3`
    I32x3: i32, 3, align 4 { x 0, y 1, z 2 };
    /// `int4`
    I32x4: i32, 4, align 16 { x 0, y 1, z 2, w 3 };
    /// `uint2`
    U32x2: u32, 2, align 8 { x 0, y 1 };
    /// `uint3`
    U32x3: u32, 3, align 4 { x 0, y 1, z 2 };
    /// `uint4`
    U32x4: u32, 4, align 16 { x 0, y 1, z 2, w 3 };
}

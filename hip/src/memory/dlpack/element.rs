//! Rust types and their DLPack types.

use std::fmt;

use hip_sys::hipDataType;

use super::abi::DLDataType;
use crate::memory::{F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, Pod};

impl DLDataType {
    /// `kDLBool`, a byte that is 0 or 1. Rust's `bool` is not a [`Pod`] type: the elements are `u8` here.
    pub const BOOL: Self = Self::new(6, 8);

    /// Creates the type of one number of `bits` bits.
    #[must_use]
    pub const fn new(code: u8, bits: u8) -> Self {
        Self { code, bits, lanes: 1 }
    }

    /// Returns the bytes of an element; `None` if its bits do not fill whole bytes.
    #[must_use]
    pub fn bytes(self) -> Option<usize> {
        let bits = usize::from(self.bits) * usize::from(self.lanes);
        if bits != 0 && bits % 8 == 0 { Some(bits / 8) } else { None }
    }
}

/// Prints NumPy's notation: `float32`, `bfloat16`, `float8_e4m3fn`, followed by `x4` for a vector of four.
impl fmt::Display for DLDataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, bits, lanes } = *self;
        match code {
            0 => write!(f, "int{bits}")?,
            1 => write!(f, "uint{bits}")?,
            2 => write!(f, "float{bits}")?,
            3 => write!(f, "handle{bits}")?,
            4 => write!(f, "bfloat{bits}")?,
            5 => write!(f, "complex{bits}")?,
            6 => write!(f, "bool")?,
            7 => write!(f, "float8_e3m4")?,
            8 => write!(f, "float8_e4m3")?,
            9 => write!(f, "float8_e4m3b11fnuz")?,
            10 => write!(f, "float8_e4m3fn")?,
            11 => write!(f, "float8_e4m3fnuz")?,
            12 => write!(f, "float8_e5m2")?,
            13 => write!(f, "float8_e5m2fnuz")?,
            14 => write!(f, "float8_e8m0fnu")?,
            15 => write!(f, "float6_e2m3fn")?,
            16 => write!(f, "float6_e3m2fn")?,
            17 => write!(f, "float4_e2m1fn")?,
            _ => write!(f, "type {code} of {bits} bits")?,
        }
        if lanes == 1 { Ok(()) } else { write!(f, "x{lanes}") }
    }
}

/// An element type that libraries support, with its names in DLPack, in libraries that use `hipDataType`, and in RCCL.
///
/// # Safety
/// The names must match the size and the format of `Self`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of elements that libraries know",
    label = "not a type of elements",
    note = "`half::f16` and `bf16` need the feature `half` of `hip`, `Complex` the feature `complex`"
)]
pub unsafe trait Element: Pod {
    /// The DLPack type.
    const DATA_TYPE: DLDataType;

    /// The type in hipBLAS, hipSPARSE, hipFFT and others (`hipDataType`).
    const HIP_DATA_TYPE: hipDataType;

    /// The type in RCCL (the value of `ncclDataType_t`). `None` for types that RCCL does not support, and for 8-bit
    /// floats, whose RCCL types mean different formats on different GPUs.
    const NCCL_DATA_TYPE: Option<u32>;

    /// Returns whether elements of another DLPack type are accepted too: only `bool` for `u8`.
    #[must_use]
    fn takes(data_type: DLDataType) -> bool {
        data_type == Self::DATA_TYPE
    }
}

// SAFETY: has the size of bool, which DLPack defines as a byte.
unsafe impl Element for u8 {
    const DATA_TYPE: DLDataType = DLDataType::new(1, 8);
    const HIP_DATA_TYPE: hipDataType = hip_sys::HIP_R_8U;
    const NCCL_DATA_TYPE: Option<u32> = Some(1);

    fn takes(data_type: DLDataType) -> bool {
        data_type == Self::DATA_TYPE || data_type == DLDataType::BOOL
    }
}

macro_rules! elements {
    ($($type:ty: $code:literal, $hip:expr, $nccl:expr;)*) => {$(
        const _: () = assert!(size_of::<$type>() <= 16);
        // SAFETY: the number of bits and the kind are those of the type.
        unsafe impl Element for $type {
            const DATA_TYPE: DLDataType = DLDataType::new($code, (size_of::<$type>() * 8) as u8);
            const HIP_DATA_TYPE: hipDataType = $hip;
            const NCCL_DATA_TYPE: Option<u32> = $nccl;
        }
    )*};
}

// Later releases added the names of 8-bit floats, so plain numbers are used for all.
elements! {
    i8: 0, hip_sys::HIP_R_8I, Some(0);
    i16: 0, hip_sys::HIP_R_16I, None;
    i32: 0, hip_sys::HIP_R_32I, Some(2);
    i64: 0, hip_sys::HIP_R_64I, Some(4);
    u16: 1, hip_sys::HIP_R_16U, None;
    u32: 1, hip_sys::HIP_R_32U, Some(3);
    u64: 1, hip_sys::HIP_R_64U, Some(5);
    f32: 2, hip_sys::HIP_R_32F, Some(7);
    f64: 2, hip_sys::HIP_R_64F, Some(8);
    F8E4M3: 10, hipDataType(28), None;
    F8E4M3Fnuz: 11, hipDataType(1000), None;
    F8E5M2: 12, hipDataType(29), None;
    F8E5M2Fnuz: 13, hipDataType(1001), None;
}

#[cfg(feature = "half")]
elements! {
    half::f16: 2, hip_sys::HIP_R_16F, Some(6);
    half::bf16: 4, hip_sys::HIP_R_16BF, Some(9);
}

#[cfg(feature = "complex")]
elements! {
    num_complex::Complex<f32>: 5, hip_sys::HIP_C_32F, None;
    num_complex::Complex<f64>: 5, hip_sys::HIP_C_64F, None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_names_of_the_protocol() {
        fn name<T: Element>() -> String {
            assert_eq!(T::DATA_TYPE.bytes(), Some(size_of::<T>()));
            assert!(T::takes(T::DATA_TYPE));
            T::DATA_TYPE.to_string()
        }
        assert_eq!([name::<i8>(), name::<u64>(), name::<f32>()], ["int8", "uint64", "float32"]);
        assert_eq!([name::<F8E4M3>(), name::<F8E5M2Fnuz>()], ["float8_e4m3fn", "float8_e5m2fnuz"]);
        #[cfg(feature = "half")]
        assert_eq!([name::<half::f16>(), name::<half::bf16>()], ["float16", "bfloat16"]);
        #[cfg(feature = "complex")]
        assert_eq!(name::<num_complex::Complex<f64>>(), "complex128");
        assert!(u8::takes(DLDataType::BOOL) && !i8::takes(DLDataType::BOOL) && !u8::takes(i8::DATA_TYPE));
        assert_eq!(DLDataType { code: 2, bits: 32, lanes: 4 }.to_string(), "float32x4");
        assert_eq!(DLDataType::new(17, 4).bytes(), None, "half a byte");
    }

    /// Checks the numbers against `library_types.h` and `nccl.h`.
    #[test]
    fn types_have_the_numbers_of_the_libraries() {
        fn numbers<T: Element>() -> (u32, Option<u32>) {
            (T::HIP_DATA_TYPE.0, T::NCCL_DATA_TYPE)
        }
        assert_eq!([numbers::<i8>(), numbers::<u8>(), numbers::<i32>()], [(3, Some(0)), (8, Some(1)), (10, Some(2))]);
        assert_eq!(
            [numbers::<u32>(), numbers::<i64>(), numbers::<u64>()],
            [(12, Some(3)), (24, Some(4)), (26, Some(5))]
        );
        assert_eq!([numbers::<f32>(), numbers::<f64>()], [(0, Some(7)), (1, Some(8))]);
        #[cfg(feature = "rocm-6-3")]
        assert_eq!(
            [F8E4M3::HIP_DATA_TYPE, F8E5M2::HIP_DATA_TYPE, F8E4M3Fnuz::HIP_DATA_TYPE, F8E5M2Fnuz::HIP_DATA_TYPE],
            [hip_sys::HIP_R_8F_E4M3, hip_sys::HIP_R_8F_E5M2, hip_sys::HIP_R_8F_E4M3_FNUZ, hip_sys::HIP_R_8F_E5M2_FNUZ]
        );
        #[cfg(feature = "half")]
        assert_eq!([numbers::<half::f16>(), numbers::<half::bf16>()], [(2, Some(6)), (14, Some(9))]);
    }
}

//! Which Rust types are elements of which DLPack types.

use std::fmt;

use super::abi::DLDataType;
use crate::memory::{F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, Pod};

impl DLDataType {
    /// `kDLBool`, a byte that is 0 or 1. Rust's `bool` is no [`Pod`]: the elements are `u8` here.
    pub const BOOL: Self = Self::new(6, 8);

    /// One number of `bits` bits.
    #[must_use]
    pub const fn new(code: u8, bits: u8) -> Self {
        Self { code, bits, lanes: 1 }
    }

    /// Bytes of an element; `None` if they are no whole number.
    #[must_use]
    pub fn bytes(self) -> Option<usize> {
        let bits = usize::from(self.bits) * usize::from(self.lanes);
        if bits != 0 && bits % 8 == 0 { Some(bits / 8) } else { None }
    }
}

/// As NumPy writes it: `float32`, `bfloat16`, `float8_e4m3fn`, with `x4` behind it for a vector of four.
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

/// A type whose buffers pass for tensors.
///
/// # Safety
/// `DATA_TYPE` has the size of `Self`, and says what its bytes mean.
pub unsafe trait Element: Pod {
    /// What DLPack calls it.
    const DATA_TYPE: DLDataType;

    /// Whether elements of another name are taken for these: only `bool` for `u8`.
    #[must_use]
    fn takes(data_type: DLDataType) -> bool {
        data_type == Self::DATA_TYPE
    }
}

// SAFETY: as big as bool, of which DLPack says that it is a byte.
unsafe impl Element for u8 {
    const DATA_TYPE: DLDataType = DLDataType::new(1, 8);

    fn takes(data_type: DLDataType) -> bool {
        data_type == Self::DATA_TYPE || data_type == DLDataType::BOOL
    }
}

macro_rules! elements {
    ($($type:ty: $code:literal,)*) => {$(
        const _: () = assert!(size_of::<$type>() <= 16);
        // SAFETY: the number of bits is that of the type, whose kind this is.
        unsafe impl Element for $type {
            const DATA_TYPE: DLDataType = DLDataType::new($code, (size_of::<$type>() * 8) as u8);
        }
    )*};
}

elements! {
    i8: 0, i16: 0, i32: 0, i64: 0,
    u16: 1, u32: 1, u64: 1,
    f32: 2, f64: 2,
    F8E4M3: 10, F8E4M3Fnuz: 11, F8E5M2: 12, F8E5M2Fnuz: 13,
}

#[cfg(feature = "half")]
elements! { half::f16: 2, half::bf16: 4, }

#[cfg(feature = "complex")]
elements! { num_complex::Complex<f32>: 5, num_complex::Complex<f64>: 5, }

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
}

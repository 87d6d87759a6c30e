//! Elements and operators.

use half::{bf16, f16};
use hip::memory::{F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz};
use hip::{Device, DeviceSlice, Pod};

use crate::error::{Error, Result};
use crate::library;
use crate::raw::{self, ncclDataType_t, ncclRedOp_t};

/// An element type of the library (`ncclDataType_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "ncclDataType_t")]
#[non_exhaustive]
pub enum DataType {
    /// `i8`
    I8,
    /// `u8`
    U8,
    /// `i32`
    I32,
    /// `u32`
    U32,
    /// `i64`
    I64,
    /// `u64`
    U64,
    /// `half::f16`
    F16,
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// `half::bf16`
    Bf16,
    /// 8 bits, 3 of them mantissa, in the GPU's own format.
    F8E4M3,
    /// 8 bits, 2 of them mantissa, in the GPU's own format.
    F8E5M2,
}

impl DataType {
    /// Returns the C value.
    #[must_use]
    pub fn as_raw(self) -> ncclDataType_t {
        ncclDataType_t(match self {
            Self::I8 => 0,
            Self::U8 => 1,
            Self::I32 => 2,
            Self::U32 => 3,
            Self::I64 => 4,
            Self::U64 => 5,
            Self::F16 => 6,
            Self::F32 => 7,
            Self::F64 => 8,
            Self::Bf16 => 9,
            Self::F8E4M3 => 10,
            Self::F8E5M2 => 11,
        })
    }

    /// Returns the bytes of one element.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 | Self::F8E4M3 | Self::F8E5M2 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    fn is_integer(self) -> bool {
        matches!(self, Self::I8 | Self::U8 | Self::I32 | Self::U32 | Self::I64 | Self::U64)
    }

    /// Returns a type to move elements of any type with, and how many of its elements make one `T`.
    pub(crate) fn to_move<T>() -> (Self, usize) {
        let (size, align) = (size_of::<T>(), align_of::<T>());
        match () {
            () if align >= 8 && size % 8 == 0 => (Self::U64, size / 8),
            () if align >= 4 && size % 4 == 0 => (Self::U32, size / 4),
            () => (Self::U8, size),
        }
    }
}

/// An element type that reductions support: integers of 8, 32 and 64 bits, `f16`, `bf16`, `f32`, `f64`, and 8-bit
/// floats.
///
/// Collectives that only move elements take any [`Pod`] type.
pub trait Reduce: Pod + sealed::Sealed {
    /// The library's name of the type.
    const DATA_TYPE: DataType;
}

mod sealed {
    /// The 8-bit float format, if it is one.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub enum Eight {
        No,
        Ocp,
        Fnuz,
    }

    pub trait Sealed {
        const EIGHT: Eight;
    }
}

use sealed::Eight;

macro_rules! elements {
    ($($t:ty: $name:ident $(, $eight:ident)?;)*) => {$(
        impl sealed::Sealed for $t {
            const EIGHT: Eight = elements!(@ $($eight)?);
        }
        impl Reduce for $t {
            const DATA_TYPE: DataType = DataType::$name;
        }
    )*};
    (@) => { Eight::No };
    (@ $eight:ident) => { Eight::$eight };
}

elements! {
    i8: I8;
    u8: U8;
    i32: I32;
    u32: U32;
    i64: I64;
    u64: U64;
    f16: F16;
    f32: F32;
    f64: F64;
    bf16: Bf16;
    F8E4M3: F8E4M3, Ocp;
    F8E5M2: F8E5M2, Ocp;
    F8E4M3Fnuz: F8E4M3, Fnuz;
    F8E5M2Fnuz: F8E5M2, Fnuz;
}

/// The operator that a reduction applies to the elements of all ranks. Sums and products of integers wrap.
#[derive(Clone, Copy, Debug)]
#[doc(alias("ncclRedOp_t", "ncclSum", "ncclProd", "ncclMax", "ncclMin", "ncclAvg"))]
pub enum Op<'a, T> {
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Their sum, divided by the number of ranks. Floats only: RCCL divides the wrapped sum of integers, so that the
    /// average of 200 and 201 in `u8` would be 72. For integers that are small enough, use [`Sum`](Self::Sum) and divide.
    Average,
    /// The sum of each rank's elements times that rank's factor (`ncclRedOpCreatePreMulSum`).
    Scaled(T),
    /// As [`Scaled`](Self::Scaled), with the factor in device memory: the first element, read when the work runs.
    ScaledBy(DeviceSlice<'a, T>),
}

/// An operator of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RawOp {
    Plain(ncclRedOp_t),
    /// A factor, unaligned.
    Host([u8; 8]),
    Device(*const std::ffi::c_void),
}

impl RawOp {
    pub(crate) const SUM: Self = Self::Plain(raw::ncclSum);

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain(raw::ncclSum) => "sum",
            Self::Plain(raw::ncclProd) => "product",
            Self::Plain(raw::ncclMin) => "minimum",
            Self::Plain(raw::ncclMax) => "maximum",
            Self::Plain(raw::ncclAvg) => "average",
            Self::Plain(_) => "an operator",
            Self::Host(_) | Self::Device(_) => "scaled sum",
        }
    }
}

impl<T: Reduce> Op<'_, T> {
    /// Returns the C form, or an error if the device or the library does not support it. The caller must name a factor
    /// in device memory.
    pub(crate) fn to_raw(self, device: &Device) -> Result<RawOp> {
        if T::EIGHT != Eight::No {
            self.check_eight_bits(device)?;
        }
        if matches!(self, Self::Average) && T::DATA_TYPE.is_integer() {
            let allowed = "with floats: RCCL divides a sum that may have wrapped. Use Op::Sum, and divide its result";
            return Err(Error::invalid("an average", format!("of {:?}", T::DATA_TYPE), allowed));
        }
        Ok(match self {
            Self::Sum => RawOp::SUM,
            Self::Product => RawOp::Plain(raw::ncclProd),
            Self::Min => RawOp::Plain(raw::ncclMin),
            Self::Max => RawOp::Plain(raw::ncclMax),
            Self::Average => RawOp::Plain(raw::ncclAvg),
            Self::Scaled(factor) => {
                let mut bytes = [0; 8];
                bytes[..size_of::<T>()].copy_from_slice(hip::bytemuck::bytes_of(&factor));
                RawOp::Host(bytes)
            }
            Self::ScaledBy(slice) if slice.is_empty() => {
                return Err(Error::invalid("a factor", "a slice of no elements", "one element or more"));
            }
            Self::ScaledBy(slice) => RawOp::Device(slice.as_device_ptr().address() as *const std::ffi::c_void),
        })
    }

    /// The library has two names for four formats: each GPU supports two of them.
    fn check_eight_bits(self, device: &Device) -> Result<()> {
        let version = library::version()?;
        if version < (2, 24, 0) {
            let found = format!("{:?} with a library of {}.{}", T::DATA_TYPE, version.0, version.1);
            return Err(Error::invalid("the element type", found, "one of more than 8 bits before NCCL 2.24"));
        }
        let arch = device.properties()?.arch.name();
        let own = if matches!(arch, "gfx940" | "gfx941" | "gfx942") { Eight::Fnuz } else { Eight::Ocp };
        if T::EIGHT != own {
            let name = |eight| if eight == Eight::Fnuz { "FNUZ" } else { "OCP" };
            let found = format!("{:?} in the {} format", T::DATA_TYPE, name(T::EIGHT));
            return Err(Error::invalid("the element type", found, format!("{} on {arch}", name(own))));
        }
        if own == Eight::Fnuz && matches!(self, Self::Average | Self::Scaled(_)) {
            // The library's host code writes the factor with the exponents of the other format.
            let allowed = "sum, product, minimum, maximum: RCCL returns half of the average in this format";
            return Err(Error::invalid("the operator", "one with a factor", allowed));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_type_is_moved_in_whole_elements() {
        assert_eq!(DataType::to_move::<f64>(), (DataType::U64, 1));
        assert_eq!(DataType::to_move::<[f32; 3]>(), (DataType::U32, 3));
        assert_eq!(DataType::to_move::<[u64; 2]>(), (DataType::U64, 2));
        assert_eq!(DataType::to_move::<f16>(), (DataType::U8, 2));
        assert_eq!(DataType::to_move::<[u8; 8]>(), (DataType::U8, 8));
    }

    #[test]
    fn types_have_the_numbers_that_hip_knows() {
        use hip::interop::Element;
        fn same<T: Reduce + Element>() {
            assert_eq!(T::NCCL_DATA_TYPE, Some(<T as Reduce>::DATA_TYPE.as_raw().0));
            assert_eq!(<T as Reduce>::DATA_TYPE.size(), size_of::<T>());
        }
        same::<i8>();
        same::<u8>();
        same::<i32>();
        same::<u32>();
        same::<i64>();
        same::<u64>();
        same::<f16>();
        same::<bf16>();
        same::<f32>();
        same::<f64>();
    }
}

//! The types of candle's kernels, and comparisons in them.

use super::Outcome;
use crate::device::{Argument, Buffer};
use crate::numbers::{BF16, E4M3, F16};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Bf16,
    F16,
    F8,
    F32,
    F64,
    U8,
    U32,
    I16,
    I32,
    I64,
}

/// Names in those of kernels.
const NAMES: [(&str, Type); 11] = [
    ("fp8_e4m3", Type::F8),
    ("f8_e4m3", Type::F8),
    ("bf16", Type::Bf16),
    ("f16", Type::F16),
    ("f32", Type::F32),
    ("f64", Type::F64),
    ("u8", Type::U8),
    ("u32", Type::U32),
    ("i16", Type::I16),
    ("i32", Type::I32),
    ("i64", Type::I64),
];

impl Type {
    /// The type that a kernel's name ends with, and the name before it.
    pub(super) fn of(name: &str) -> Option<(&str, Self)> {
        NAMES.into_iter().find_map(|(suffix, kind)| Some((name.strip_suffix(suffix)?.strip_suffix('_')?, kind)))
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::Bf16 | Self::F16 | Self::F8 | Self::F32 | Self::F64)
    }

    pub(super) fn bytes(self, value: f64) -> Vec<u8> {
        match self {
            Self::Bf16 => BF16.nearest(value).to_ne_bytes().to_vec(),
            Self::F16 => F16.nearest(value).to_ne_bytes().to_vec(),
            Self::F8 => vec![E4M3.nearest(value.clamp(-448.0, 448.0)) as u8],
            Self::F32 => (value as f32).to_ne_bytes().to_vec(),
            Self::F64 => value.to_ne_bytes().to_vec(),
            Self::U8 => vec![value as i64 as u8],
            Self::U32 => (value as i64 as u32).to_ne_bytes().to_vec(),
            Self::I16 => (value as i16).to_ne_bytes().to_vec(),
            Self::I32 => (value as i32).to_ne_bytes().to_vec(),
            Self::I64 => (value as i64).to_ne_bytes().to_vec(),
        }
    }

    pub(super) fn value(self, bytes: &[u8]) -> f64 {
        match self {
            Self::Bf16 => BF16.value(u16::from_ne_bytes(bytes.try_into().unwrap())),
            Self::F16 => F16.value(u16::from_ne_bytes(bytes.try_into().unwrap())),
            Self::F8 => E4M3.value(u16::from(bytes[0])),
            Self::F32 => f64::from(f32::from_ne_bytes(bytes.try_into().unwrap())),
            Self::F64 => f64::from_ne_bytes(bytes.try_into().unwrap()),
            Self::U8 => f64::from(bytes[0]),
            Self::U32 => f64::from(u32::from_ne_bytes(bytes.try_into().unwrap())),
            Self::I16 => f64::from(i16::from_ne_bytes(bytes.try_into().unwrap())),
            Self::I32 => f64::from(i32::from_ne_bytes(bytes.try_into().unwrap())),
            Self::I64 => i64::from_ne_bytes(bytes.try_into().unwrap()) as f64,
        }
    }

    pub(super) fn size(self) -> usize {
        self.bytes(0.0).len()
    }

    /// The nearest value of the type.
    pub(super) fn round(self, value: f64) -> f64 {
        self.value(&self.bytes(value))
    }

    /// The step after one.
    fn step(self) -> f64 {
        2_f64.powi(match self {
            Self::Bf16 => -7,
            Self::F16 => -10,
            Self::F8 => -3,
            Self::F32 => -23,
            Self::F64 => -52,
            _ => return 0.0,
        })
    }

    pub(super) fn buffer(self, values: &[f64]) -> Buffer {
        Buffer::of(&values.iter().flat_map(|value| self.bytes(*value)).collect::<Vec<u8>>())
    }

    pub(super) fn zeros(self, count: usize) -> Buffer {
        self.buffer(&vec![0.0; count])
    }

    pub(super) fn read(self, buffer: &Buffer, count: usize) -> Vec<f64> {
        buffer.read::<u8>(count * self.size()).chunks(self.size()).map(|bytes| self.value(bytes)).collect()
    }

    pub(super) fn argument(self, value: f64) -> Argument {
        Argument::of_bytes(self.bytes(value))
    }

    /// Compares the output of a kernel: the nearest values exactly, or within this many steps of the expected value or
    /// of one.
    pub(super) fn compare(self, buffer: &Buffer, expected: &[f64], steps: f64) -> Outcome {
        for (at, (found, expected)) in self.read(buffer, expected.len()).into_iter().zip(expected).enumerate() {
            let near = match steps {
                0.0 => found == self.round(*expected),
                _ => (found - expected).abs() <= steps * self.step() * expected.abs().max(1.0),
            };
            if !near {
                return Err(format!("element {at} is {found}, and should be {expected}"));
            }
        }
        Ok(())
    }

    /// Numbers of the type: multiples of 1/8 from -3 to 3, or integers of the size.
    pub(super) fn numbers(self, count: usize) -> Vec<f64> {
        (0..count)
            .map(|at| (at * 37 % 49) as f64 - 24.0)
            .map(|value| match self {
                _ if self.is_float() => self.round(value / 8.0),
                Self::U8 | Self::U32 => value.abs(),
                _ => value,
            })
            .collect()
    }
}

/// A buffer of `size_t`.
pub(super) fn sizes(values: &[u64]) -> Buffer {
    Buffer::of(values)
}

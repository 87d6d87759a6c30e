//! Decoding errors.

use crate::isa::{Arch, Format, Op};
use std::fmt;

/// The error for words that are not an instruction.
#[derive(Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// The architecture that they were decoded for.
    pub arch: Arch,
    /// The words, at most two.
    pub words: Vec<u32>,
    /// The instruction, when the opcode is known.
    pub op: Option<Op>,
    /// The problem.
    pub problem: Problem,
}

/// Why words cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The code ends inside the instruction.
    Truncated {
        /// The instruction's size in bytes.
        needed: u8,
    },
    /// No encoding starts with these bits.
    Encoding,
    /// The encoding has no such opcode.
    Opcode {
        /// The encoding.
        format: Format,
        /// The opcode field.
        opcode: u32,
    },
    /// A field has an invalid value.
    Field {
        /// The field, by the ISA manual's name.
        field: &'static str,
        /// Its value.
        value: u32,
        /// Why it is invalid.
        reason: &'static str,
    },
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {} instruction", self.arch)?;
        for (i, word) in self.words.iter().enumerate() {
            write!(f, "{} {word:#010x}", if i == 0 { ":" } else { "" })?;
        }
        if let Some(op) = self.op {
            write!(f, ": {op}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Truncated { needed } => write!(f, "the code ends before the {needed} bytes of the instruction"),
            Problem::Encoding => f.write_str("no encoding starts with these bits"),
            Problem::Opcode { format, opcode } => write!(f, "{format:?} has no opcode {opcode:#x}"),
            Problem::Field { field, value, reason } => write!(f, "{field} is {value:#x}: {reason}"),
        }
    }
}

impl std::error::Error for DecodeError {}

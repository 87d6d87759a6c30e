//! Source locations of instructions.

use std::fmt;

/// A function in the inlining stack of an instruction, from the debug information.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "profile", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SourceFrame {
    /// The function, demangled if the compiler provides that.
    pub function: Option<String>,
    /// The file, as passed to the compiler.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
}

impl fmt::Display for SourceFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}"),
            (Some(file), None) => f.write_str(file),
            (None, _) => f.write_str("an unknown file"),
        }?;
        match &self.function {
            Some(function) => write!(f, " ({function})"),
            None => Ok(()),
        }
    }
}

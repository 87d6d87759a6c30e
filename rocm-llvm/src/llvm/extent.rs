//! Sizes of types, before LLVM computes with them.

use super::error::{Error, Result};

/// The approximate size and nesting depth of a type: LLVM computes with sizes in 64 bits, and recurses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) bytes: u128,
    pub(super) depth: u32,
}

const LARGEST: u128 = 1 << 46;
const DEEPEST: u32 = 200;

impl Extent {
    pub(super) fn check(self, operation: &'static str) -> Result<()> {
        if self.bytes > LARGEST {
            return Err(Error::invalid(
                operation,
                format!("a type of {} bytes; at most {LARGEST} are supported", self.bytes),
            ));
        }
        if self.depth > DEEPEST {
            return Err(Error::invalid(operation, format!("types nested more than {DEEPEST} deep")));
        }
        Ok(())
    }
}

//! Registers that a kernel does not have.

use std::fmt;

/// An operand that includes registers which the kernel does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct StrayRegister {
    /// `v` for vector registers, `a` for accumulation registers, `s` for scalar registers.
    pub file: char,
    /// The number of the first register of the operand.
    pub first: u16,
    /// How many registers the operand takes.
    pub count: u16,
    /// How many registers of that kind are allocated to the kernel.
    pub allocated: u16,
}

impl fmt::Display for StrayRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, first, count, allocated } = *self;
        let last = first + count - 1;
        if count == 1 { write!(f, "{file}{first}") } else { write!(f, "{file}[{first}:{last}]") }?;
        match allocated {
            0 => write!(f, " in a kernel that has no {file} registers"),
            _ => write!(f, " in a kernel that has {allocated} {file} registers, {file}0 to {file}{}", allocated - 1),
        }?;
        f.write_str(" (amdhsa_next_free_vgpr, accum_offset or next_free_sgpr of its descriptor are too small)")
    }
}

//! Tables that `cargo xtask nvidia` writes.

#[rustfmt::skip]
pub(crate) mod attributes;
#[rustfmt::skip]
pub(crate) mod forward;

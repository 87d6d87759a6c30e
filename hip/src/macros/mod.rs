//! The macros of the crate, which name what all layers below them have.

mod kernel;

//! Placeholder until hip exists.
fn main() {}

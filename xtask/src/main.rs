//! Everything that is not product.
fn main() {}

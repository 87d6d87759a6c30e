//! The command `rocm-sdk`.

fn main() {}

//! A module that was linked into another is consumed.
use rocm_llvm::llvm::Context;

fn main() {
    let context = Context::new().unwrap();
    let mut module = context.module("a").unwrap();
    let other = context.module("b").unwrap();
    module.link(other).unwrap();
    println!("{other}");
}

//! A module borrows its context.
use rocm_llvm::llvm::{Context, Module};

fn dangling() -> Module<'static> {
    let context = Context::new().unwrap();
    context.module("m").unwrap()
}

fn main() {
    dangling();
}

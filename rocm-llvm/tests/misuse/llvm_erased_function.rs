//! A function is deleted with its module borrowed exclusively: no handle to it is left.
use rocm_llvm::llvm::Context;

fn main() {
    let context = Context::new().unwrap();
    let mut module = context.module("m").unwrap();
    let kernel = module.add_kernel("k", &[]).unwrap();
    module.erase_function("k").unwrap();
    println!("{kernel}");
}

//! Passes may delete instructions: no value of the module is left when they run.
use rocm_llvm::llvm::Context;

fn main() {
    let context = Context::new().unwrap();
    let mut module = context.module("m").unwrap();
    let value = module.add_kernel("k", &[context.i32()]).unwrap().parameter(0).unwrap();
    module.run_passes("default<O2>").unwrap();
    println!("{value}");
}

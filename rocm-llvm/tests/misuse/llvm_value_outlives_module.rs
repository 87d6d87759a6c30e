//! A parameter borrows its module, not only the context.
use rocm_llvm::llvm::Context;

fn main() {
    let context = Context::new().unwrap();
    let value = {
        let module = context.module("m").unwrap();
        module.add_kernel("k", &[context.i32()]).unwrap().parameter(0).unwrap()
    };
    println!("{value}");
}

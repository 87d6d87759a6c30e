//! A type borrows its context.
use rocm_llvm::llvm::Context;

fn main() {
    let ty = {
        let context = Context::new().unwrap();
        context.i32().array(4).unwrap()
    };
    println!("{ty}");
}

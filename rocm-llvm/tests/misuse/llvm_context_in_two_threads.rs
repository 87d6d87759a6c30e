//! A context is used by one thread at a time.
use rocm_llvm::llvm::Context;

fn main() {
    let context = Context::new().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| context.module("a").unwrap());
        context.module("b").unwrap();
    });
}

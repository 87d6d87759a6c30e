//! A context does not move to another thread while a module borrows it.
use rocm_llvm::llvm::Context;

fn main() {
    let context = Context::new().unwrap();
    let module = context.module("a").unwrap();
    let thread = std::thread::spawn(move || drop(context));
    println!("{module}");
    thread.join().unwrap();
}

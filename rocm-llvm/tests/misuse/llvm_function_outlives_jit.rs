//! Compiled code lives as long as its compiler.
use rocm_llvm::llvm::{Jit, Optimization};

fn main() {
    let jit = Jit::new(Optimization::Default).unwrap();
    // SAFETY: not run.
    let f = unsafe { jit.function::<unsafe extern "C" fn()>("f") }.unwrap();
    drop(jit);
    // SAFETY: not run.
    unsafe { f() };
}

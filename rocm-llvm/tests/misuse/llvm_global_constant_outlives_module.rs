//! A constant that is made of a global's address borrows the module.
use rocm_llvm::llvm::{AddressSpace, Context};

fn main() {
    let context = Context::new().unwrap();
    let module = context.module("m").unwrap();
    let global = module.add_global("g", context.i32(), AddressSpace::Global).unwrap();
    let table = global.value().ty().const_array(&[global.value()]).unwrap();
    drop(module);
    println!("{table}");
}

//! A place in the source borrows the module that it describes.
use rocm_llvm::llvm::{Context, DebugInfo, Language};

fn main() {
    let context = Context::new().unwrap();
    let place = {
        let module = context.module("m").unwrap();
        let kernel = module.add_kernel("k", &[]).unwrap();
        let debug = DebugInfo::new(&module, "a.c", "/", Language::C).unwrap();
        debug.function(kernel, 1).unwrap().location(1, 1)
    };
    println!("{place:?}");
}

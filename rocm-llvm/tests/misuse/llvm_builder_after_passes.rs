//! A builder is in a block, which passes may delete.
use rocm_llvm::llvm::{Context, Optimization, TargetMachine};

fn main() {
    let context = Context::new().unwrap();
    let mut module = context.module("m").unwrap();
    let builder = module.add_kernel("k", &[]).unwrap().append_block("entry").unwrap().builder();
    let machine = TargetMachine::new("gfx90a", Optimization::Default).unwrap();
    machine.run_passes(&mut module, "default<O2>").unwrap();
    builder.ret(None).unwrap();
}

//! What describes the source of a module borrows it: passes have to wait until it is finished.
use rocm_llvm::llvm::{Context, DebugInfo, Language};

fn main() {
    let context = Context::new().unwrap();
    let mut module = context.module("m").unwrap();
    let debug = DebugInfo::new(&module, "a.dsl", "/src", Language::C).unwrap();
    module.run_passes("globaldce").unwrap();
    drop(debug);
}

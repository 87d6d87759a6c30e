//! A machine is used by one thread at a time.
use rocm_llvm::llvm::{Optimization, TargetMachine};

fn main() {
    let machine = TargetMachine::new("gfx90a", Optimization::Default).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| println!("{}", machine.gpu()));
    });
}

//! Borrowed memory is registered while the closure runs: its handle cannot be taken out.
use hip::Device;
use hip::memory::{RegisterOptions, Registered};

fn main() {
    let device = Device::get(0).unwrap();
    let mut mine = [0u32; 16];
    let mut kept = None;
    Registered::scope(&device, &mut mine, RegisterOptions::new(), |registered| kept = Some(registered)).unwrap();
    mine[0] = 1;
    drop(kept);
}

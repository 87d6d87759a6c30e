//! While borrowed memory is registered, the host gets at it through its handle alone.
use hip::Device;
use hip::memory::{RegisterOptions, Registered};

fn main() {
    let device = Device::get(0).unwrap();
    let mut mine = [0u32; 16];
    Registered::scope(&device, &mut mine, RegisterOptions::new(), |registered| {
        mine[0] = 1;
        drop(registered);
    })
    .unwrap();
}

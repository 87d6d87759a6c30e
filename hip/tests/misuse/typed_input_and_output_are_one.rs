use hip::{DeviceBuffer, LaunchConfig, Stream};

hip::kernel! {
    struct Add: fn vector_add(a: *const f32, b: *const f32, c: *mut f32, n: u32);
}

fn launch(add: Add, stream: Stream, config: LaunchConfig, a: DeviceBuffer<f32>, mut c: DeviceBuffer<f32>) {
    unsafe { add.launch(&stream, config, &a, &c, &mut c, 3) }.unwrap();
}

fn main() {}

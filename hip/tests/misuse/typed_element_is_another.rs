use hip::{DeviceBuffer, LaunchConfig, Stream};

hip::kernel! {
    struct Fill: fn fill(data: *mut f32);
}

fn launch(fill: Fill, stream: Stream, config: LaunchConfig, mut data: DeviceBuffer<f64>) {
    unsafe { fill.launch(&stream, config, &mut data) }.unwrap();
}

fn main() {}

//! What a declaration of `kernel!` cannot take: the message says how a structure is passed.
#[derive(Clone, Copy)]
struct Settings {
    scale: f32,
    count: u32,
}

hip::kernel! {
    struct Scale: fn scale(data: *mut f32, settings: Settings);
}

fn main() {
    let _ = |module: &hip::Module| Scale::load(module);
}

use hip::{LaunchConfig, Stream};

hip::kernel! {
    struct Empty: fn empty();
}

fn launch(empty: Empty, stream: Stream, config: LaunchConfig) {
    empty.launch(&stream, config).unwrap();
}

fn main() {}

use hip::Stream;

fn call(stream: Stream) {
    let text = String::from("gone before the function runs");
    stream.launch_host_function(|| println!("{text}")).unwrap();
}

fn main() {}

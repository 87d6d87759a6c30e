use std::rc::Rc;

fn call(stream: hip::Stream) {
    let count = Rc::new(1);
    stream.launch_host_function(move || drop(count)).unwrap();
}

fn main() {}

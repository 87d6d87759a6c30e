fn unordered() {
    hip::without_stream_order(|| ());
}

fn main() {}

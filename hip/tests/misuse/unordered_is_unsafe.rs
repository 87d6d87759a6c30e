fn unordered() {
    hip::stream::without_stream_order(|| ());
}

fn main() {}

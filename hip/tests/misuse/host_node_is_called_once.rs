fn add(mut graph: hip::Graph) {
    let text = String::from("a graph may run many times");
    graph.add_host(&[], move || drop(text)).unwrap();
}

fn main() {}

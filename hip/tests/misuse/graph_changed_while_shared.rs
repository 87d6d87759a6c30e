use std::sync::Arc;

fn add(graph: Arc<hip::Graph>) {
    graph.add_empty(&[]).unwrap();
}

fn main() {}

use hip::{DeviceBuffer, Graph};
use hip::graph::GraphCopy;

fn add(mut graph: Graph, mut data: DeviceBuffer<u32>) {
    graph.add_copy(&[], GraphCopy::on_device(&mut data, &data).unwrap()).unwrap();
}

fn main() {}

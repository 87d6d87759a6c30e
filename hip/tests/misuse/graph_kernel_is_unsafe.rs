use hip::{Graph, GraphExec, Kernel, LaunchConfig, Stream};

fn add(mut graph: Graph, kernel: Kernel, config: LaunchConfig) {
    graph.add_kernel(&[], &kernel, config, ()).unwrap();
}

fn launch(exec: GraphExec, stream: Stream) {
    exec.launch_with_host_memory(&stream).unwrap();
}

fn main() {}

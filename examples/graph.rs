//! Work that is described once and launched many times: a graph, captured from a stream and built node by node.
//!
//! `cargo run --example graph`

use hip::graph::{GraphCopy, GraphFill};
use hip::{DeviceBuffer, Graph, LaunchConfig, Stream};
use rocm_examples::{Result, check, kernels, open_device};

fn main() -> Result {
    let device = open_device()?;
    let module = kernels!("streams").load(&device)?;
    let (fill_squares, scale) = (module.kernel("fill_squares")?, module.kernel("scale")?);
    let stream = Stream::new(&device)?;

    const N: usize = 10_000;
    let mut squares = DeviceBuffer::<f32>::zeroed(&device, N)?;
    let mut scaled = DeviceBuffer::<f32>::zeroed(&device, N)?;
    let config = LaunchConfig::for_elements(N, 256);

    // The operations that a stream would run, put into a graph.
    let captured = stream.capture(|stream| {
        // SAFETY: both kernels check their index against N, which is the length of the buffers, in every launch of the graph.
        unsafe {
            fill_squares.launch(stream, config, (&mut squares, N as u32))?;
            scale.launch(stream, config, (&squares, &mut scaled, 0.5f32, N as u32))
        }
    })?;
    let exec = captured.instantiate()?;
    for _ in 0..3 {
        scaled.fill(0.0)?;
        exec.launch(&stream)?;
        check(scaled.to_vec()?[100] == 5000.0, "half of 100 squared")?;
    }
    println!("graph: captured {} nodes, launched 3 times", captured.nodes()?.len());

    // The same graph, built node by node, with a result that the graph copies.
    let mut result = DeviceBuffer::<f32>::zeroed(&device, N)?;
    let mut graph = Graph::new(&device)?;
    let clear = graph.add_fill(&[], GraphFill::new(&mut scaled, 0.0))?;
    // SAFETY: as above; the edges order the nodes that use the same buffers.
    let half = unsafe {
        let fill = graph.add_kernel(&[], &fill_squares, config, (&mut squares, N as u32))?;
        graph.add_kernel(&[clear, fill], &scale, config, (&squares, &mut scaled, 0.5f32, N as u32))?
    };
    let copy = graph.add_copy(&[half], GraphCopy::on_device(&mut result, &scaled)?)?;
    graph.add_host(&[copy], || println!("graph: the copy is done"))?;
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    check(result.to_vec()?[100] == 5000.0, "half of 100 squared")?;

    // Changes the factor without building the graph again.
    // SAFETY: as above.
    unsafe { exec.set_kernel(half, &scale, config, (&squares, &mut scaled, 2.0f32, N as u32))? };
    // The graph keeps the memory of dropped buffers.
    drop((squares, scaled));
    exec.launch(&stream)?;
    check(result.to_vec()?[100] == 20_000.0, "twice 100 squared")?;
    println!("graph: built {} nodes, changed one of them: all right", graph.nodes()?.len());
    Ok(())
}

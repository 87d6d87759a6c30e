//! The crate with the available engine: the reference engine, unless hipGRAPH is installed. Results are compared with
//! published figures and with brute force that shares no code with the engine; invalid input is tested.

mod bad_input;
mod brute_force;
mod composed;
mod extremes;
mod generators;
mod inputs;
mod published;
mod random;

use hipgraph::{Graph, GraphOptions, ResourceHandle};

/// A handle on the engine, which is named once.
pub(crate) fn handle() -> ResourceHandle {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        hip::sim_if_no_gpu().expect("a GPU or the software GPU");
        println!("engine: {}", hipgraph::reference_if_missing().expect("an engine"));
    });
    ResourceHandle::new().expect("a handle")
}

/// An undirected graph without weights, in `f32`.
pub(crate) fn undirected(edges: &[(i32, i32)]) -> Graph<i32, f32> {
    let (sources, destinations): (Vec<i32>, Vec<i32>) = edges.iter().copied().unzip();
    Graph::from_edges(&handle(), &sources, &destinations, GraphOptions::undirected()).expect("a graph")
}

/// An undirected graph whose edges have the weight 1, in `f64`.
pub(crate) fn undirected_f64(edges: &[(i32, i32)]) -> Graph<i32, f64> {
    let (sources, destinations): (Vec<i32>, Vec<i32>) = edges.iter().copied().unzip();
    let weights = vec![1.0; edges.len()];
    Graph::from_weighted_edges(&handle(), &sources, &destinations, &weights, GraphOptions::undirected())
        .expect("a graph")
}

/// Values in the ascending order of the vertices.
pub(crate) fn sorted<V: hipgraph::Vertex, T: hipgraph::Element>(
    vertices: &hipgraph::Column<V>,
    values: &hipgraph::Column<T>,
) -> Vec<T> {
    let mut all: Vec<(V, T)> = vertices.to_vec().unwrap().into_iter().zip(values.to_vec().unwrap()).collect();
    all.sort_by_key(|(vertex, _)| *vertex);
    all.into_iter().map(|(_, value)| value).collect()
}

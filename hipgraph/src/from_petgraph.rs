//! Graphs of `petgraph` as input.

use petgraph::EdgeType;
use petgraph::graph::{Graph as PetGraph, IndexType};

use crate::array::Weight;
use crate::error::{Result, invalid};
use crate::graph::{Graph, GraphOptions};
use crate::handle::ResourceHandle;

/// Returns the number of vertices of a `petgraph` graph, and the ends of its edges as indices.
fn edges<N, E, D: EdgeType, I: IndexType>(graph: &PetGraph<N, E, D, I>) -> Result<[Vec<i32>; 3]> {
    let count = graph.node_count();
    let most = i32::try_from(count).map_err(|_| invalid("the number of vertices", count.to_string(), "below 2^31"))?;
    let ends = graph.raw_edges().iter();
    // Fits: an index is below the number of vertices.
    let ends = ends.map(|edge| (edge.source().index() as i32, edge.target().index() as i32));
    let (sources, destinations) = ends.unzip();
    Ok([(0..most).collect(), sources, destinations])
}

fn options<D: EdgeType>(options: GraphOptions) -> GraphOptions {
    options.with_direction_of(D::is_directed())
}

impl Graph<i32, f32> {
    /// Builds a graph without weights from a `petgraph` graph, with the same directedness. Its node indices are the
    /// vertices, including nodes without edges. The direction in `options` is not used.
    ///
    /// # Errors
    /// As [`from_edges`](Self::from_edges).
    pub fn from_petgraph<N, E, D: EdgeType, I: IndexType>(
        handle: &ResourceHandle,
        graph: &PetGraph<N, E, D, I>,
        options: GraphOptions,
    ) -> Result<Self> {
        let [vertices, sources, destinations] = edges(graph)?;
        Graph::from_vertices_and_edges(handle, &vertices, &sources, &destinations, self::options::<D>(options))
    }
}

impl<W: Weight> Graph<i32, W> {
    /// Builds a graph with weights from a `petgraph` graph; `weight` returns the weight of an edge.
    ///
    /// # Errors
    /// As [`from_weighted_edges`](Self::from_weighted_edges).
    pub fn from_petgraph_with<N, E, D: EdgeType, I: IndexType>(
        handle: &ResourceHandle,
        graph: &PetGraph<N, E, D, I>,
        weight: impl FnMut(&E) -> W,
        options: GraphOptions,
    ) -> Result<Self> {
        let [vertices, sources, destinations] = edges(graph)?;
        let weights: Vec<W> = graph.edge_weights().map(weight).collect();
        let options = self::options::<D>(options);
        Graph::build(handle, &vertices, &sources, &destinations, Some(&weights), options)
    }
}

//! Induced subgraphs and ego graphs.

use hipgraph_sys::*;

use super::array::view;
use super::function::algorithms;
use super::graph::graph_at;
use crate::algorithms::subgraphs;
use crate::graph::{Result, invalid};

type Handle = hipgraph_resource_handle_t;
type DeviceView = hipgraph_type_erased_device_array_view_t;

algorithms! {
    fn hipgraph_extract_induced_subgraph(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, subgraph_offsets: *const DeviceView,
        subgraph_vertices: *const DeviceView, _check: hipgraph_bool_t,
    ) -> hipgraph_induced_subgraph_result_t {
        let object = graph_at(graph)?;
        let vertices = object.find(view(subgraph_vertices, "vertices of subgraphs")?, "vertices of subgraphs")?;
        let offsets = view(subgraph_offsets, "offsets of subgraphs")?.integers("offsets of subgraphs")?;
        let fits = offsets.first() == Some(&0) && offsets.is_sorted() && offsets.last() == Some(&(vertices.len() as i64));
        if !fits {
            return Err(invalid(format!("the offsets of subgraphs must ascend from 0 to {}", vertices.len())));
        }
        let sets: Vec<Vec<usize>> =
            offsets.windows(2).map(|pair| vertices[pair[0] as usize..pair[1] as usize].to_vec()).collect();
        object.edges(&subgraphs::induced(&object.graph, &sets))
    }
    fn hipgraph_extract_ego(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, sources: *const DeviceView, radius: usize,
        _check: hipgraph_bool_t,
    ) -> hipgraph_induced_subgraph_result_t {
        let object = graph_at(graph)?;
        let sources = object.find(view(sources, "sources")?, "sources")?;
        // cuGraph refuses it.
        if radius == 0 {
            return Err(invalid("the radius of an ego graph is 0, and must be at least 1"));
        }
        let sets: Result<Vec<Vec<usize>>> = subgraphs::ego(&object.graph, &sources, radius);
        object.edges(&sets?)
    }
    also:
}

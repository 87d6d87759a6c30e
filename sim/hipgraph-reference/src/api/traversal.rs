//! Breadth-first search and shortest paths.

use hipgraph_sys::*;

use super::array::{DeviceArray, Kind, view};
use super::function::algorithms;
use super::function::at;
use super::graph::{GraphObject, graph_at};
use super::results::Outcome;
use crate::algorithms::traversal;
use crate::graph::{Result, invalid};

type Handle = hipgraph_resource_handle_t;
type DeviceView = hipgraph_type_erased_device_array_view_t;

/// The value for a missing vertex.
pub(super) const NO_VERTEX: i64 = -1;

fn predecessors(object: &GraphObject, found: &[Option<usize>], wanted: hipgraph_bool_t) -> Result<DeviceArray> {
    let names: Vec<i64> = match wanted {
        HIPGRAPH_FALSE => Vec::new(),
        _ => found.iter().map(|before| before.map_or(NO_VERTEX, |place| object.graph.names[place])).collect(),
    };
    DeviceArray::integers(&names, object.vertex)
}

/// The distance of a vertex that was not reached.
fn unreached(object: &GraphObject) -> i64 {
    if object.vertex == Kind::I32 { i64::from(i32::MAX) } else { i64::MAX }
}

algorithms! {
    fn hipgraph_bfs(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, sources: *mut DeviceView, _direction: hipgraph_bool_t,
        depth_limit: usize, compute_predecessors: hipgraph_bool_t, _check: hipgraph_bool_t,
    ) -> hipgraph_paths_result_t {
        let object = graph_at(graph)?;
        let sources = object.find(view(sources, "sources")?, "sources")?;
        let found = traversal::bfs(&object.graph, &sources, depth_limit)?;
        let far = unreached(object);
        let distances: Vec<i64> = found.distances.iter().map(|d| d.map_or(far, |d| d as i64)).collect();
        Ok(Outcome::of([
            object.names()?,
            DeviceArray::integers(&distances, object.vertex)?,
            predecessors(object, &found.predecessors, compute_predecessors)?,
        ]))
    }
    fn hipgraph_sssp(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, source: usize, cutoff: f64,
        compute_predecessors: hipgraph_bool_t, _check: hipgraph_bool_t,
    ) -> hipgraph_paths_result_t {
        let object = graph_at(graph)?;
        let source = object.graph.find_all(&[i64::try_from(source).unwrap_or(i64::MAX)])?[0];
        let found = traversal::sssp(&object.graph, source, cutoff)?;
        let values = object.reals(&[])?;
        let far = if values.view().kind == Kind::F32 { f64::from(f32::MAX) } else { f64::MAX };
        let distances: Vec<f64> = found.distances.iter().map(|distance| distance.unwrap_or(far)).collect();
        Ok(Outcome::of([
            object.names()?,
            object.reals(&distances)?,
            predecessors(object, &found.predecessors, compute_predecessors)?,
        ]))
    }
    fn hipgraph_extract_paths(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, _sources: *const DeviceView,
        paths_result: *const hipgraph_paths_result_t, destinations: *const DeviceView,
    ) -> hipgraph_extract_paths_result_t {
        let object = graph_at(graph)?;
        let known: &Outcome = at(paths_result, "paths")?;
        let (Some(distances), Some(before)) = (known.column(1), known.column(2)) else {
            return Err(invalid("the paths are incomplete"));
        };
        let far = unreached(object);
        let distances = distances.view().integers("distances of a breadth-first search")?;
        let before = before.view().integers("predecessors")?;
        if before.len() != object.graph.len() || distances.len() != before.len() {
            return Err(invalid("the search was made without predecessors, or in another graph"));
        }
        let distances: Vec<Option<usize>> =
            distances.into_iter().map(|d| (d != far).then_some(usize::try_from(d).unwrap_or(0))).collect();
        let before: Vec<Option<usize>> = before.into_iter().map(|name| object.graph.find(name)).collect();
        let to = object.find(view(destinations, "destinations")?, "destinations")?;
        let paths = traversal::paths(&before, &distances, &to);
        let longest = paths.iter().map(Vec::len).max().unwrap_or(0);
        let mut all = Vec::with_capacity(longest * paths.len());
        for path in &paths {
            all.extend(path.iter().map(|&place| object.graph.names[place]));
            all.extend(std::iter::repeat_n(NO_VERTEX, longest - path.len()));
        }
        Ok(Outcome { count: longest, ..Outcome::of([DeviceArray::integers(&all, object.vertex)?]) })
    }
    also:
}

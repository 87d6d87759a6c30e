//! Graphs.

use hipgraph_sys::*;

use super::array::{DeviceArray, Kind, View, view};
use super::function::{at, at_or_null, functions, run, take};
use super::results::Outcome;
use crate::graph::{EdgeList, Failure, FailureKind, Graph, Options, Result, invalid};

/// The object behind a `hipgraph_graph_t`.
pub(super) struct GraphObject {
    pub(super) graph: Graph,
    /// The type of vertex names.
    pub(super) vertex: Kind,
    /// The type of weights and of floating-point results.
    weight: Kind,
    edge_id: Kind,
    edge_type: Kind,
}

impl GraphObject {
    /// The names of all vertices.
    pub(super) fn names(&self) -> Result<DeviceArray> {
        DeviceArray::integers(&self.graph.names, self.vertex)
    }

    /// The names of some vertices.
    pub(super) fn vertices(&self, places: impl IntoIterator<Item = usize>) -> Result<DeviceArray> {
        let names: Vec<i64> = places.into_iter().map(|place| self.graph.names[place]).collect();
        DeviceArray::integers(&names, self.vertex)
    }

    /// An array of counts, with the type of vertices.
    pub(super) fn counts(&self, values: impl IntoIterator<Item = usize>) -> Result<DeviceArray> {
        let values: Vec<i64> = values.into_iter().map(|value| value as i64).collect();
        DeviceArray::integers(&values, self.vertex)
    }

    /// An array of floating-point numbers, with the type of weights.
    pub(super) fn reals(&self, values: &[f64]) -> Result<DeviceArray> {
        DeviceArray::reals(values, self.weight)
    }

    /// The vertices with the names in an array.
    pub(super) fn find(&self, names: &View, what: &str) -> Result<Vec<usize>> {
        if names.kind != self.vertex {
            let message = format!("the {what} are {:?}, and the vertices of the graph {:?}", names.kind, self.vertex);
            return Err(Failure { kind: FailureKind::Types, message });
        }
        self.graph.find_all(&names.integers(what)?)
    }

    /// The vertices with the names in an array, or all vertices without one.
    pub(super) fn find_or_all(&self, names: Option<&View>, what: &str) -> Result<Vec<usize>> {
        names.map_or_else(|| Ok((0..self.graph.len()).collect()), |names| self.find(names, what))
    }

    /// One value per vertex, from pairs; 0 for vertices that are not listed.
    pub(super) fn by_vertex(&self, names: &View, values: &View, what: &str) -> Result<Vec<f64>> {
        let (places, values) = (self.find(names, what)?, values.reals(what)?);
        if places.len() != values.len() {
            return Err(invalid(format!("there are {} vertices and {} values of {what}", places.len(), values.len())));
        }
        let mut all = vec![0.0; self.graph.len()];
        places.into_iter().zip(values).for_each(|(place, value)| all[place] = value);
        Ok(all)
    }

    /// Concatenated sets of edges, with the offsets of the sets.
    pub(super) fn edges(&self, sets: &[Vec<usize>]) -> Result<Outcome> {
        let graph = &self.graph;
        let mut sources = vec![0_usize; graph.edges()];
        graph.all_edges().for_each(|(from, _, edge)| sources[edge] = from);
        let all = || sets.iter().flatten().copied();
        let pick = |values: &Option<Vec<i64>>, kind: Kind| -> Result<Option<DeviceArray>> {
            let picked = values.as_ref().map(|values| all().map(|edge| values[edge]).collect::<Vec<_>>());
            picked.map(|values| DeviceArray::integers(&values, kind)).transpose()
        };
        let weights = graph.weights.as_ref().map(|weights| all().map(|edge| weights[edge]).collect::<Vec<_>>());
        let mut offsets = vec![0];
        sets.iter().for_each(|set| offsets.push(offsets[offsets.len() - 1] + set.len() as i64));
        Ok(Outcome::with_gaps([
            Some(self.vertices(all().map(|edge| sources[edge]))?),
            Some(self.vertices(all().map(|edge| graph.out.ends[edge] as usize))?),
            weights.map(|weights| self.reals(&weights)).transpose()?,
            pick(&graph.edge_ids, self.edge_id)?,
            pick(&graph.edge_types, self.edge_type)?,
            Some(DeviceArray::integers(&offsets, Kind::Size)?),
        ]))
    }
}

/// The graph behind a pointer.
///
/// # Safety
/// As for [`at`].
pub(super) unsafe fn graph_at<'a>(pointer: *const hipgraph_graph_t) -> Result<&'a GraphObject> {
    // SAFETY: as the caller ensures.
    unsafe { at(pointer, "graph") }
}

type DeviceView = hipgraph_type_erased_device_array_view_t;
type Errors = *mut *mut hipgraph_error_t;

/// The arrays of an edge list or of a CSR.
struct Arrays {
    vertices: *const DeviceView,
    sources: *const DeviceView,
    destinations: *const DeviceView,
    weights: *const DeviceView,
    ids: *const DeviceView,
    types: *const DeviceView,
}

fn is(value: hipgraph_bool_t) -> bool {
    value != HIPGRAPH_FALSE
}

/// # Safety
/// The pointers are null or C's.
unsafe fn build(
    properties: *const hipgraph_graph_properties_t,
    arrays: &Arrays,
    mut options: Options,
    csr: bool,
) -> Result<GraphObject> {
    // SAFETY: as the caller ensures.
    unsafe {
        let properties = properties.as_ref().ok_or_else(|| invalid("the properties are null"))?;
        options.symmetric = is(properties.is_symmetric);
        options.multigraph = is(properties.is_multigraph);
        let destinations = view(arrays.destinations, if csr { "indices" } else { "destinations" })?;
        let sources = view(arrays.sources, if csr { "offsets" } else { "sources" })?;
        let vertex = destinations.kind;
        if !matches!(vertex, Kind::I32 | Kind::I64) || (!csr && sources.kind != vertex) {
            let message =
                format!("sources are {:?} and destinations {vertex:?}: both must be i32, or both i64", sources.kind);
            return Err(Failure { kind: FailureKind::Types, message });
        }
        let weights: Option<&View> = at_or_null(arrays.weights, "weights")?;
        let ids: Option<&View> = at_or_null(arrays.ids, "edge IDs")?;
        let types: Option<&View> = at_or_null(arrays.types, "edge types")?;
        let vertices: Option<&View> = at_or_null(arrays.vertices, "vertices")?;
        let list = EdgeList {
            vertices: vertices.map(|view| view.integers("vertices")).transpose()?.unwrap_or_default(),
            sources: if csr { Vec::new() } else { sources.integers("sources")? },
            destinations: destinations.integers("destinations")?,
            weights: weights.map(|view| view.reals("weights")).transpose()?,
            ids: ids.map(|view| view.integers("edge IDs")).transpose()?,
            types: types.map(|view| view.integers("edge types")).transpose()?,
        };
        let graph = match csr {
            true => Graph::from_rows(&sources.integers("offsets")?, list, options)?,
            false => Graph::new(list, options)?,
        };
        Ok(GraphObject {
            graph,
            vertex,
            weight: weights.map_or(Kind::F32, |view| view.kind),
            edge_id: ids.map_or(vertex, |view| view.kind),
            edge_type: types.map_or(Kind::I32, |view| view.kind),
        })
    }
}

unsafe extern "C" fn hipgraph_graph_create_sg(
    _handle: *const hipgraph_resource_handle_t,
    properties: *const hipgraph_graph_properties_t,
    vertices: *const DeviceView,
    src: *const DeviceView,
    dst: *const DeviceView,
    weights: *const DeviceView,
    edge_ids: *const DeviceView,
    edge_type_ids: *const DeviceView,
    _store_transposed: hipgraph_bool_t,
    renumber: hipgraph_bool_t,
    drop_self_loops: hipgraph_bool_t,
    drop_multi_edges: hipgraph_bool_t,
    _do_expensive_check: hipgraph_bool_t,
    graph: *mut *mut hipgraph_graph_t,
    error: Errors,
) -> hipgraph_error_code_t {
    let arrays = Arrays { vertices, sources: src, destinations: dst, weights, ids: edge_ids, types: edge_type_ids };
    let options = Options {
        renumber: is(renumber),
        drop_self_loops: is(drop_self_loops),
        drop_multi_edges: is(drop_multi_edges),
        ..Options::default()
    };
    // SAFETY: the pointers are C's.
    unsafe { run(graph, error, || build(properties, &arrays, options, false)) }
}

unsafe extern "C" fn hipgraph_sg_graph_create(
    handle: *const hipgraph_resource_handle_t,
    properties: *const hipgraph_graph_properties_t,
    src: *const DeviceView,
    dst: *const DeviceView,
    weights: *const DeviceView,
    edge_ids: *const DeviceView,
    edge_type_ids: *const DeviceView,
    store_transposed: hipgraph_bool_t,
    renumber: hipgraph_bool_t,
    do_expensive_check: hipgraph_bool_t,
    graph: *mut *mut hipgraph_graph_t,
    error: Errors,
) -> hipgraph_error_code_t {
    // SAFETY: the pointers are C's.
    unsafe {
        hipgraph_graph_create_sg(
            handle,
            properties,
            std::ptr::null(),
            src,
            dst,
            weights,
            edge_ids,
            edge_type_ids,
            store_transposed,
            renumber,
            HIPGRAPH_FALSE,
            HIPGRAPH_FALSE,
            do_expensive_check,
            graph,
            error,
        )
    }
}

unsafe extern "C" fn hipgraph_graph_create_sg_from_csr(
    _handle: *const hipgraph_resource_handle_t,
    properties: *const hipgraph_graph_properties_t,
    offsets: *const DeviceView,
    indices: *const DeviceView,
    weights: *const DeviceView,
    edge_ids: *const DeviceView,
    edge_type_ids: *const DeviceView,
    _store_transposed: hipgraph_bool_t,
    renumber: hipgraph_bool_t,
    _do_expensive_check: hipgraph_bool_t,
    graph: *mut *mut hipgraph_graph_t,
    error: Errors,
) -> hipgraph_error_code_t {
    let vertices = std::ptr::null();
    let arrays =
        Arrays { vertices, sources: offsets, destinations: indices, weights, ids: edge_ids, types: edge_type_ids };
    let options = Options { renumber: is(renumber), ..Options::default() };
    // SAFETY: the pointers are C's.
    unsafe { run(graph, error, || build(properties, &arrays, options, true)) }
}

unsafe extern "C" fn hipgraph_sg_graph_create_from_csr(
    handle: *const hipgraph_resource_handle_t,
    properties: *const hipgraph_graph_properties_t,
    offsets: *const DeviceView,
    indices: *const DeviceView,
    weights: *const DeviceView,
    edge_ids: *const DeviceView,
    edge_type_ids: *const DeviceView,
    store_transposed: hipgraph_bool_t,
    renumber: hipgraph_bool_t,
    do_expensive_check: hipgraph_bool_t,
    graph: *mut *mut hipgraph_graph_t,
    error: Errors,
) -> hipgraph_error_code_t {
    // SAFETY: the pointers are C's.
    unsafe {
        hipgraph_graph_create_sg_from_csr(
            handle,
            properties,
            offsets,
            indices,
            weights,
            edge_ids,
            edge_type_ids,
            store_transposed,
            renumber,
            do_expensive_check,
            graph,
            error,
        )
    }
}

unsafe extern "C" fn hipgraph_graph_free(graph: *mut hipgraph_graph_t) {
    // SAFETY: the pointer is C's.
    unsafe { take(graph) }
}

unsafe extern "C" fn hipgraph_sg_graph_free(graph: *mut hipgraph_graph_t) {
    // SAFETY: the pointer is C's.
    unsafe { take(graph) }
}

functions! {
    hipgraph_graph_create_sg, hipgraph_sg_graph_create, hipgraph_graph_create_sg_from_csr,
    hipgraph_sg_graph_create_from_csr, hipgraph_graph_free, hipgraph_sg_graph_free,
}

//! Graphs: their construction, and the checks of their edges.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::null;
use std::rc::Rc;

use hip::DeviceBuffer;
use hipgraph_sys::*;

use crate::array::{Input, Object, Vertex, View, Weight, of_input, or_null};
use crate::error::{Result, flag, invalid, make};
use crate::handle::ResourceHandle;

/// The direction of edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Directed,
    /// Each edge is listed once: the reverse is added.
    Undirected,
    /// Both directions are listed.
    Symmetric,
}

/// The properties of a graph, and how its edges are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphOptions {
    direction: Direction,
    multigraph: bool,
    renumber: bool,
    drop_self_loops: bool,
    drop_multi_edges: bool,
    store_transposed: bool,
    check: bool,
}

impl GraphOptions {
    const fn new(direction: Direction) -> GraphOptions {
        GraphOptions {
            direction,
            multigraph: false,
            renumber: true,
            drop_self_loops: false,
            drop_multi_edges: false,
            store_transposed: false,
            check: true,
        }
    }

    /// A directed graph: an edge leads from its source to its destination.
    pub const fn directed() -> GraphOptions {
        GraphOptions::new(Direction::Directed)
    }

    /// An undirected graph whose edges are listed once, in either direction. The reverse is added; a self-loop stays
    /// one edge.
    pub const fn undirected() -> GraphOptions {
        GraphOptions::new(Direction::Undirected)
    }

    /// An undirected graph whose edges are listed in both directions, with the same weight.
    pub const fn symmetric() -> GraphOptions {
        GraphOptions::new(Direction::Symmetric)
    }

    /// Allows several edges between the same vertices. Without it, a repeated edge is an error. Several algorithms
    /// reject multigraphs.
    pub const fn multigraph(self, multigraph: bool) -> GraphOptions {
        GraphOptions { multigraph, ..self }
    }

    /// Sets whether the library renumbers the vertices internally, as it should for speed and for numbers with gaps:
    /// the default. Results use the caller's vertex numbers. Without renumbering, the vertices are all numbers from 0
    /// to the largest.
    pub const fn renumber(self, renumber: bool) -> GraphOptions {
        GraphOptions { renumber, ..self }
    }

    /// Drops edges from a vertex to itself.
    pub const fn drop_self_loops(self, drop: bool) -> GraphOptions {
        GraphOptions { drop_self_loops: drop, ..self }
    }

    /// Keeps one of several edges that join the same vertices; the engine chooses which.
    pub const fn drop_multi_edges(self, drop: bool) -> GraphOptions {
        GraphOptions { drop_multi_edges: drop, ..self }
    }

    /// Stores the edges by destination. PageRank, Katz and eigenvector centrality and HITS read them in this order; a
    /// graph that is stored otherwise is transposed on first need.
    pub const fn store_transposed(self, transposed: bool) -> GraphOptions {
        GraphOptions { store_transposed: transposed, ..self }
    }

    /// Sets whether the edges, and the arguments of algorithms, are checked against the options: the default. The
    /// checks read all edges. Without them, wrong options may give wrong results.
    pub const fn check(self, check: bool) -> GraphOptions {
        GraphOptions { check, ..self }
    }

    #[cfg(feature = "petgraph")]
    pub(crate) fn with_direction_of(self, directed: bool) -> GraphOptions {
        GraphOptions { direction: if directed { Direction::Directed } else { Direction::Undirected }, ..self }
    }

    fn properties(self) -> hipgraph_graph_properties_t {
        hipgraph_graph_properties_t {
            is_symmetric: flag(self.direction != Direction::Directed),
            is_multigraph: flag(self.multigraph),
        }
    }
}

/// A graph on a device. `V` is the type of vertices, `W` the type of weights and scores.
///
/// Results use the vertex numbers of the edges. Each result has a column of vertices, in the order of its other
/// columns; the engine chooses the order, which is the same for all results of a graph over all vertices.
pub struct Graph<V = i32, W = f32> {
    object: Rc<Object<hipgraph_graph_t>>,
    weighted: bool,
    symmetric: bool,
    multigraph: bool,
    /// Whether an edge may lead from a vertex to itself: `false` only if that is known.
    self_loops: bool,
    check: bool,
    _types: PhantomData<(V, W)>,
}

impl<V: Vertex> Graph<V, f32> {
    /// Builds a graph without weights from an edge list: `sources[i]` to `destinations[i]`.
    ///
    /// # Errors
    /// If the lists differ in length, a vertex is negative, or the edges do not match the options.
    #[doc(alias("hipgraph_graph_create_sg", "hipgraph_sg_graph_create"))]
    pub fn from_edges(
        handle: &ResourceHandle,
        sources: &[V],
        destinations: &[V],
        options: GraphOptions,
    ) -> Result<Self> {
        Graph::build(handle, &[], sources, destinations, None, options)
    }

    /// Builds a graph without weights whose `vertices` include some without edges.
    ///
    /// # Errors
    /// As [`from_edges`](Self::from_edges).
    pub fn from_vertices_and_edges(
        handle: &ResourceHandle,
        vertices: &[V],
        sources: &[V],
        destinations: &[V],
        options: GraphOptions,
    ) -> Result<Self> {
        Graph::build(handle, vertices, sources, destinations, None, options)
    }

    /// Builds a graph without weights from compressed sparse rows: the edges of vertex `v` lead to
    /// `indices[offsets[v]..offsets[v + 1]]`.
    ///
    /// # Errors
    /// If the rows are malformed or not square, or the edges do not match the options.
    #[doc(alias("hipgraph_graph_create_sg_from_csr", "hipgraph_sg_graph_create_from_csr"))]
    pub fn from_csr(handle: &ResourceHandle, offsets: &[V], indices: &[V], options: GraphOptions) -> Result<Self> {
        Graph::build_csr(handle, offsets, indices, None, options)
    }
}

/// hipGRAPH computes in `f32` for graphs without weights. For these graphs it computes in `f64`: the library gets the
/// weight 1 for each edge, and the results have no weights.
impl<V: Vertex> Graph<V, f64> {
    /// Builds a graph without weights from an edge list, as [`from_edges`](Graph::from_edges); its scores are `f64`.
    ///
    /// ```
    /// use hipgraph::{Graph, GraphOptions, PageRankOptions, ResourceHandle};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # hip::sim_if_no_gpu()?;
    /// # hipgraph::reference_if_missing()?;
    /// let handle = ResourceHandle::new()?;
    /// let graph = Graph::from_edges_f64(&handle, &[0, 1, 2], &[1, 2, 0], GraphOptions::directed())?;
    /// let ranks: Vec<f64> = graph.pagerank(&PageRankOptions::default())?.values.to_vec()?;
    /// assert!(ranks.iter().all(|rank| (rank - 1.0 / 3.0).abs() < 1e-12));
    /// assert!(!graph.is_weighted());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`from_edges`](Graph::from_edges).
    pub fn from_edges_f64(
        handle: &ResourceHandle,
        sources: &[V],
        destinations: &[V],
        options: GraphOptions,
    ) -> Result<Self> {
        Graph::from_vertices_and_edges_f64(handle, &[], sources, destinations, options)
    }

    /// Builds a graph without weights whose `vertices` include some without edges; its scores are `f64`.
    ///
    /// # Errors
    /// As [`from_edges`](Graph::from_edges).
    pub fn from_vertices_and_edges_f64(
        handle: &ResourceHandle,
        vertices: &[V],
        sources: &[V],
        destinations: &[V],
        options: GraphOptions,
    ) -> Result<Self> {
        let ones = vec![1.0; sources.len()];
        let graph = Graph::build(handle, vertices, sources, destinations, Some(&ones), options)?;
        Ok(Graph { weighted: false, ..graph })
    }

    /// Builds a graph without weights from compressed sparse rows, as [`from_csr`](Graph::from_csr); its scores are
    /// `f64`.
    ///
    /// # Errors
    /// As [`from_csr`](Graph::from_csr).
    pub fn from_csr_f64(handle: &ResourceHandle, offsets: &[V], indices: &[V], options: GraphOptions) -> Result<Self> {
        let ones = vec![1.0; indices.len()];
        let graph = Graph::build_csr(handle, offsets, indices, Some(&ones), options)?;
        Ok(Graph { weighted: false, ..graph })
    }
}

impl<V: Vertex, W: Weight> Graph<V, W> {
    /// Builds a graph from an edge list with weights: `sources[i]` to `destinations[i]` with `weights[i]`.
    ///
    /// # Errors
    /// If the lists differ in length, a vertex is negative, a weight is not a number, or the edges do not match the
    /// options.
    pub fn from_weighted_edges(
        handle: &ResourceHandle,
        sources: &[V],
        destinations: &[V],
        weights: &[W],
        options: GraphOptions,
    ) -> Result<Self> {
        Graph::build(handle, &[], sources, destinations, Some(weights), options)
    }

    /// Builds a graph with weights whose `vertices` include some without edges.
    ///
    /// ```
    /// use hipgraph::{Graph, GraphOptions, ResourceHandle};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # hip::sim_if_no_gpu()?;
    /// # hipgraph::reference_if_missing()?;
    /// let (handle, options) = (ResourceHandle::new()?, GraphOptions::directed());
    /// let graph = Graph::from_vertices_and_weighted_edges(&handle, &[7], &[0], &[1], &[2.5_f32], options)?;
    /// assert_eq!(graph.degrees(None)?.vertices.len(), 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`from_weighted_edges`](Self::from_weighted_edges).
    pub fn from_vertices_and_weighted_edges(
        handle: &ResourceHandle,
        vertices: &[V],
        sources: &[V],
        destinations: &[V],
        weights: &[W],
        options: GraphOptions,
    ) -> Result<Self> {
        Graph::build(handle, vertices, sources, destinations, Some(weights), options)
    }

    /// Builds a graph from compressed sparse rows with one weight for each index.
    ///
    /// # Errors
    /// If the rows are malformed or not square, a weight is not a number, or the edges do not match the options.
    pub fn from_weighted_csr(
        handle: &ResourceHandle,
        offsets: &[V],
        indices: &[V],
        weights: &[W],
        options: GraphOptions,
    ) -> Result<Self> {
        Graph::build_csr(handle, offsets, indices, Some(weights), options)
    }

    /// Builds a graph from an edge list in device memory. Waits for the work that is queued on the buffers.
    /// `GraphOptions::undirected` is not supported: list both directions.
    ///
    /// # Errors
    /// If the buffers differ in length or device, or the edges do not match the options; if a `hip` graph that can
    /// still be launched writes to a buffer.
    pub fn from_buffers(
        handle: &ResourceHandle,
        sources: &DeviceBuffer<V>,
        destinations: &DeviceBuffer<V>,
        weights: Option<&DeviceBuffer<W>>,
        options: GraphOptions,
    ) -> Result<Self> {
        if options.direction == Direction::Undirected {
            let allowed = "`GraphOptions::directed` or `symmetric`: edges on the device are not changed";
            return Err(invalid("the direction of a graph from buffers", "undirected", allowed));
        }
        same_len(sources.len(), "destinations", Some(destinations.len()))?;
        same_len(sources.len(), "weights", weights.map(DeviceBuffer::len))?;
        for device in [Some(destinations.device()), weights.map(DeviceBuffer::device)].into_iter().flatten() {
            if device != sources.device() {
                let allowed = format!("that of the sources, {:?}", sources.device());
                return Err(invalid("the device of a buffer", format!("{device:?}"), allowed));
            }
        }
        let (from, to) = (of_input("the sources", sources)?, of_input("the destinations", destinations)?);
        let weights = weights.map(|weights| of_input("the weights", weights)).transpose()?;
        let weight = weights.as_ref().map_or(null(), |view: &View| view.raw().cast_const());
        let arrays = [null(), from.raw().cast_const(), to.raw().cast_const(), weight];
        Graph::create(handle, arrays, sources.len(), weights.is_some(), true, options)
    }

    pub(crate) fn build(
        handle: &ResourceHandle,
        vertices: &[V],
        sources: &[V],
        destinations: &[V],
        weights: Option<&[W]>,
        options: GraphOptions,
    ) -> Result<Self> {
        same_len(sources.len(), "destinations", Some(destinations.len()))?;
        same_len(sources.len(), "weights", weights.map(<[W]>::len))?;
        check_vertices("a vertex", sources.iter().chain(destinations).chain(vertices))?;
        check_weights(weights)?;
        let mut reversed = None;
        if options.direction == Direction::Undirected {
            reversed = Some(with_reverse(sources, destinations, weights, options)?);
        }
        let (sources, destinations, weights) = match &reversed {
            Some((sources, destinations, weights)) => (&sources[..], &destinations[..], weights.as_deref()),
            None => (sources, destinations, weights),
        };
        if sources.is_empty() && vertices.is_empty() {
            return Err(invalid("the number of edges", "0", "at least 1, or vertices must be listed"));
        }
        let listed = (!vertices.is_empty()).then(|| {
            // The library requires each vertex once, and all of them.
            let mut all: Vec<V> = vertices.iter().chain(sources).chain(destinations).copied().collect();
            all.sort_unstable();
            all.dedup();
            all
        });
        let listed = listed.map(|all| Input::new(handle, &all)).transpose()?;
        let (from, to) = (Input::new(handle, sources)?, Input::new(handle, destinations)?);
        let weight = weights.map(|weights| Input::new(handle, weights)).transpose()?;
        let arrays = [or_null(listed.as_ref()), from.raw(), to.raw(), or_null(weight.as_ref())];
        let self_loops = sources.iter().zip(destinations).any(|(from, to)| from == to);
        Graph::create(handle, arrays, sources.len(), weight.is_some(), self_loops, options)
    }

    fn create(
        handle: &ResourceHandle,
        [vertices, sources, destinations, weights]: [*const hipgraph_type_erased_device_array_view_t; 4],
        edges: usize,
        weighted: bool,
        self_loops: bool,
        options: GraphOptions,
    ) -> Result<Self> {
        let properties = options.properties();
        let request = || format!("a graph of {edges} edges with {options:?}");
        // SAFETY: the handle and the views are alive, and the places are valid for writes.
        let graph = make("hipgraph_graph_create_sg", request, |graph, error| unsafe {
            hipgraph_graph_create_sg(
                handle.raw(),
                &properties,
                vertices,
                sources,
                destinations,
                weights,
                null(),
                null(),
                flag(options.store_transposed),
                flag(options.renumber),
                flag(options.drop_self_loops),
                flag(options.drop_multi_edges),
                flag(options.check),
                graph,
                error,
            )
        })?;
        Ok(Graph::own(handle, graph, weighted, self_loops, options))
    }

    fn build_csr(
        handle: &ResourceHandle,
        offsets: &[V],
        indices: &[V],
        weights: Option<&[W]>,
        options: GraphOptions,
    ) -> Result<Self> {
        if options.direction == Direction::Undirected {
            let allowed = "`GraphOptions::directed` or `symmetric`: rows are not changed";
            return Err(invalid("the direction of a graph from CSR", "undirected", allowed));
        }
        if options.drop_self_loops || options.drop_multi_edges {
            return Err(invalid("an option of a graph from CSR", "to drop edges", "used with edge lists only"));
        }
        same_len(indices.len(), "weights", weights.map(<[W]>::len))?;
        check_weights(weights)?;
        let numbers: Vec<i64> = offsets.iter().map(|offset| offset.to_i64()).collect();
        let rows = numbers.len().saturating_sub(1);
        let fits = rows > 0 && numbers[0] == 0 && numbers.is_sorted() && numbers[rows] == indices.len() as i64;
        if !fits {
            let found = format!("{} offsets, the last {:?}", numbers.len(), numbers.last());
            let allowed =
                format!("one more than there are rows, ascending from 0 to the number of indices, {}", indices.len());
            return Err(invalid("the list of offsets", found, allowed));
        }
        if let Some(index) = indices.iter().find(|index| !(0..rows as i64).contains(&index.to_i64())) {
            let allowed = format!("0 to {}: the matrix is square", rows - 1);
            return Err(invalid("an index", index.to_string(), allowed));
        }
        let (offset, index) = (Input::new(handle, offsets)?, Input::new(handle, indices)?);
        let weight = weights.map(|weights| Input::new(handle, weights)).transpose()?;
        let properties = options.properties();
        let request = || format!("a graph of {rows} rows and {} edges with {options:?}", indices.len());
        // SAFETY: the handle and the views are alive, and the places are valid for writes.
        let graph = make("hipgraph_graph_create_sg_from_csr", request, |graph, error| unsafe {
            hipgraph_graph_create_sg_from_csr(
                handle.raw(),
                &properties,
                offset.raw(),
                index.raw(),
                or_null(weight.as_ref()),
                null(),
                null(),
                flag(options.store_transposed),
                flag(options.renumber),
                flag(options.check),
                graph,
                error,
            )
        })?;
        Ok(Graph::own(handle, graph, weight.is_some(), true, options))
    }

    fn own(
        handle: &ResourceHandle,
        graph: *mut hipgraph_graph_t,
        weighted: bool,
        self_loops: bool,
        options: GraphOptions,
    ) -> Self {
        Graph {
            object: Object::new(handle, graph, hipgraph_graph_free),
            weighted,
            symmetric: options.direction != Direction::Directed,
            multigraph: options.multigraph,
            self_loops: self_loops && !options.drop_self_loops,
            check: options.check,
            _types: PhantomData,
        }
    }

    /// Returns the handle that the graph was made with.
    pub fn handle(&self) -> &ResourceHandle {
        self.object.handle()
    }

    /// Returns whether the graph has weights.
    pub fn is_weighted(&self) -> bool {
        self.weighted
    }

    /// Returns whether the graph is undirected.
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// Returns whether several edges may join the same vertices.
    pub fn is_multigraph(&self) -> bool {
        self.multigraph
    }

    pub(crate) fn may_have_self_loops(&self) -> bool {
        self.self_loops
    }

    pub(crate) fn raw(&self) -> *mut hipgraph_graph_t {
        self.object.raw()
    }

    pub(crate) fn resources(&self) -> *const hipgraph_resource_handle_t {
        self.object.handle().raw()
    }

    pub(crate) fn check(&self) -> hipgraph_bool_t {
        flag(self.check)
    }

    /// Makes an input array of vertices.
    pub(crate) fn vertices(&self, what: &'static str, vertices: &[V]) -> Result<Input> {
        check_vertices(what, vertices.iter())?;
        Input::new(self.handle(), vertices)
    }

    /// Returns the same for an optional list, which must not be empty.
    pub(crate) fn some_vertices(&self, what: &'static str, vertices: Option<&[V]>) -> Result<Option<Input>> {
        vertices.map(|vertices| self.not_empty(what, vertices)).transpose()
    }

    pub(crate) fn not_empty(&self, what: &'static str, vertices: &[V]) -> Result<Input> {
        if vertices.is_empty() {
            return Err(invalid(what, "no vertex", "at least one"));
        }
        self.vertices(what, vertices)
    }

    /// Makes input arrays of vertices and values.
    pub(crate) fn values(&self, what: &'static str, pairs: Option<&[(V, W)]>) -> Result<Option<(Input, Input)>> {
        let Some(pairs) = pairs else { return Ok(None) };
        let (vertices, values): (Vec<V>, Vec<W>) = pairs.iter().copied().unzip();
        if let Some(value) = values.iter().find(|value| !value.to_f64().is_finite()) {
            return Err(invalid(what, format!("{value:?}"), "a finite number"));
        }
        Ok(Some((self.not_empty(what, &vertices)?, Input::new(self.handle(), &values)?)))
    }

    pub(crate) fn needs_symmetric(&self, what: &'static str) -> Result<()> {
        match self.symmetric {
            true => Ok(()),
            false => Err(invalid(what, "asked for in a directed graph", "used with undirected graphs only")),
        }
    }

    pub(crate) fn needs_simple(&self, what: &'static str) -> Result<()> {
        match self.multigraph {
            false => Ok(()),
            true => Err(invalid(what, "asked for in a multigraph", "used with graphs without repeated edges")),
        }
    }

    pub(crate) fn needs_weights(&self, what: &'static str) -> Result<()> {
        match self.weighted {
            true => Ok(()),
            false => Err(invalid(what, "asked for in a graph without weights", "used with weights only")),
        }
    }
}

impl<V, W> fmt::Debug for Graph<V, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Graph { weighted, symmetric, .. } = self;
        f.debug_struct("Graph").field("weighted", weighted).field("symmetric", symmetric).finish_non_exhaustive()
    }
}

pub(crate) fn same_len(sources: usize, what: &'static str, len: Option<usize>) -> Result<()> {
    match len {
        Some(len) if len != sources => Err(invalid(
            match what {
                "weights" => "the number of weights",
                _ => "the number of destinations",
            },
            len.to_string(),
            format!("that of the edges, {sources}"),
        )),
        _ => Ok(()),
    }
}

fn check_vertices<'a, V: Vertex + 'a>(what: &'static str, mut vertices: impl Iterator<Item = &'a V>) -> Result<()> {
    match vertices.find(|vertex| vertex.to_i64() < 0) {
        Some(vertex) => Err(invalid(what, vertex.to_string(), "at least 0")),
        None => Ok(()),
    }
}

fn check_weights<W: Weight>(weights: Option<&[W]>) -> Result<()> {
    let infinite = |weights: &[W]| {
        weights.iter().map(|weight| weight.to_f64()).enumerate().find(|(_, weight)| !weight.is_finite())
    };
    match weights.and_then(infinite) {
        Some((at, weight)) => Err(invalid("a weight", format!("{weight} (of edge {at})"), "a finite number")),
        None => Ok(()),
    }
}

type Edges<V, W> = (Vec<V>, Vec<V>, Option<Vec<W>>);

/// Returns the edges and their reverses.
fn with_reverse<V: Vertex, W: Weight>(
    sources: &[V],
    destinations: &[V],
    weights: Option<&[W]>,
    options: GraphOptions,
) -> Result<Edges<V, W>> {
    if options.check && !options.multigraph && !options.drop_multi_edges {
        let mut seen = HashSet::with_capacity(sources.len());
        for (&a, &b) in sources.iter().zip(destinations) {
            if !seen.insert((a.min(b), a.max(b))) {
                let allowed =
                    "listed once: an undirected edge is listed in one direction (`GraphOptions::symmetric` takes both)";
                return Err(invalid("an edge", format!("{a} to {b}, which is listed before"), allowed));
            }
        }
    }
    let (mut from, mut to, mut all) = (sources.to_vec(), destinations.to_vec(), weights.map(<[W]>::to_vec));
    for (at, (&a, &b)) in sources.iter().zip(destinations).enumerate() {
        if a != b {
            from.push(b);
            to.push(a);
            if let (Some(all), Some(weights)) = (&mut all, weights) {
                all.push(weights[at]);
            }
        }
    }
    Ok((from, to, all))
}

//! Shortest paths.

use std::rc::Rc;

use hipgraph_sys::*;

use crate::array::{Column, Object, Vertex, Weight};
use crate::error::{Result, invalid, make};
use crate::graph::Graph;

/// The distances from the sources, and the predecessors on the paths.
#[derive(Debug)]
pub struct Paths<V, D> {
    /// The vertices.
    pub vertices: Column<V>,
    /// The distance of each vertex; [`Vertex::UNREACHED`] or [`Weight::UNREACHED`] if it was not reached.
    pub distances: Column<D>,
    /// The predecessor of each vertex on a shortest path; [`Vertex::NONE`] for a source and for a vertex that was not
    /// reached.
    pub predecessors: Column<V>,
    object: Rc<Object<hipgraph_paths_result_t>>,
}

impl std::fmt::Debug for Object<hipgraph_paths_result_t> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("hipgraph_paths_result_t")
    }
}

impl<V, D> Paths<V, D> {
    /// Returns the same search with other columns.
    pub(crate) fn with<E>(self, distances: Column<E>, predecessors: Column<V>) -> Paths<V, E> {
        Paths { vertices: self.vertices, distances, predecessors, object: self.object }
    }
}

impl<V: Vertex, W: Weight> Graph<V, W> {
    fn paths<D: crate::Element>(&self, result: *mut hipgraph_paths_result_t) -> Result<Paths<V, D>> {
        let all = Object::new(self.handle(), result, hipgraph_paths_result_free);
        let name = "hipgraph_paths_result_get";
        Ok(Paths {
            vertices: Column::new(&all, name, hipgraph_paths_result_get_vertices)?,
            distances: Column::new(&all, name, hipgraph_paths_result_get_distances)?,
            predecessors: Column::new(&all, name, hipgraph_paths_result_get_predecessors)?,
            object: all,
        })
    }

    /// Performs a breadth-first search from `sources`: returns the number of edges to each vertex, at most
    /// `depth_limit`.
    ///
    /// # Errors
    /// If there is no source, one is not in the graph, or the library returns an error.
    #[doc(alias = "hipgraph_bfs")]
    pub fn bfs(&self, sources: &[V], depth_limit: Option<usize>) -> Result<Paths<V, V>> {
        let input = self.not_empty("the list of sources", sources)?;
        // The library stores the limit as a vertex.
        let most = usize::try_from(V::UNREACHED.to_i64()).unwrap_or(usize::MAX);
        let limit = depth_limit.unwrap_or(most).min(most);
        let request = || format!("a search from {} sources", sources.len());
        // SAFETY: the handle, the graph and the view are alive, and the places are valid for writes.
        let result = make("hipgraph_bfs", request, |result, error| unsafe {
            let (directions, predecessors) = (HIPGRAPH_FALSE, HIPGRAPH_TRUE);
            hipgraph_bfs(
                self.resources(),
                self.raw(),
                input.raw(),
                directions,
                limit,
                predecessors,
                self.check(),
                result,
                error,
            )
        })?;
        self.paths(result)
    }

    /// Finds the paths with the smallest sum of weights from `source`; paths with sums of `cutoff` or more are ignored.
    ///
    /// In a graph without weights, each edge has the weight 1. hipGRAPH needs weights: without them, this function calls
    /// [`bfs`](Self::bfs).
    ///
    /// ```
    /// use hipgraph::{ResourceHandle, generators};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # hip::sim_if_no_gpu()?;
    /// # hipgraph::reference_if_missing()?;
    /// let path = generators::path_graph(3)?.graph(&ResourceHandle::new()?)?;
    /// assert_eq!(path.sssp(0, None)?.distances.to_vec()?.iter().sum::<f32>(), 0.0 + 1.0 + 2.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the graph has a negative weight, the source is not in the graph, or the library returns an error.
    #[doc(alias("hipgraph_sssp", "dijkstra"))]
    pub fn sssp(&self, source: V, cutoff: Option<f64>) -> Result<Paths<V, W>> {
        let start =
            usize::try_from(source.to_i64()).map_err(|_| invalid("the source", source.to_string(), "at least 0"))?;
        // The library stores the cutoff as a weight.
        let cutoff = cutoff.unwrap_or(f64::MAX);
        if cutoff.is_nan() {
            return Err(invalid("the cutoff", "NaN", "a number"));
        }
        let cutoff = cutoff.min(W::UNREACHED.to_f64());
        if !self.is_weighted() {
            return self.sssp_of_unweighted(source, cutoff);
        }
        // SAFETY: the handle and the graph are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_sssp",
            || format!("paths from {source}"),
            |result, error| unsafe {
                hipgraph_sssp(self.resources(), self.raw(), start, cutoff, HIPGRAPH_TRUE, self.check(), result, error)
            },
        )?;
        self.paths(result)
    }

    /// Follows the predecessors of a breadth-first search to each destination. Each path leads from a source to its
    /// destination; the path to a vertex that was not reached is empty.
    ///
    /// # Errors
    /// If a destination is not in the graph, or the library returns an error.
    #[doc(alias = "hipgraph_extract_paths")]
    pub fn extract_paths(&self, sources: &[V], search: &Paths<V, V>, destinations: &[V]) -> Result<Vec<Vec<V>>> {
        let from = self.not_empty("the list of sources", sources)?;
        let to = self.not_empty("the list of destinations", destinations)?;
        let request = || format!("paths to {} destinations", destinations.len());
        // SAFETY: the handle, the graph, the search and the views are alive, and the places are valid for writes.
        let result = make("hipgraph_extract_paths", request, |result, error| unsafe {
            hipgraph_extract_paths(
                self.resources(),
                self.raw(),
                from.raw(),
                search.object.raw(),
                to.raw(),
                result,
                error,
            )
        })?;
        let all = Object::new(self.handle(), result, hipgraph_extract_paths_result_free);
        // SAFETY: the result is alive.
        let length = unsafe { hipgraph_extract_paths_result_get_max_path_length(all.raw()) };
        let paths =
            Column::<V>::new(&all, "hipgraph_extract_paths_result_get_paths", hipgraph_extract_paths_result_get_paths)?
                .to_vec()?;
        if length == 0 {
            return Ok(vec![Vec::new(); destinations.len()]);
        }
        Ok(paths
            .chunks(length)
            .map(|path| path.iter().copied().filter(|vertex| *vertex != V::NONE).collect())
            .collect())
    }
}

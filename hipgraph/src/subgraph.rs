//! Subgraphs, and pairs of vertices.

use std::rc::Rc;

use hipgraph_sys::*;

use crate::array::{Column, Input, Object, Vertex, Weight, or_null};
use crate::error::{Result, flag, invalid, make};
use crate::graph::Graph;

/// Edges. An undirected edge has two rows.
#[derive(Debug)]
pub struct Edges<V, W> {
    /// The source of each edge.
    pub sources: Column<V>,
    /// The destination of each edge.
    pub destinations: Column<V>,
    /// Their weights, if the graph has any.
    pub weights: Option<Column<W>>,
}

/// Several sets of edges, concatenated.
#[derive(Debug)]
pub struct Subgraphs<V, W> {
    /// The edges of all sets.
    pub edges: Edges<V, W>,
    /// Set `i` has the edges `offsets[i]..offsets[i + 1]`.
    pub offsets: Column<usize>,
}

/// Pairs of vertices.
#[derive(Debug)]
pub struct Pairs<V> {
    /// The first of each pair.
    pub first: Column<V>,
    /// The second of each pair.
    pub second: Column<V>,
}

/// Pairs of vertices and how similar they are.
#[derive(Debug)]
pub struct Similarity<V, W> {
    /// The pairs.
    pub pairs: Pairs<V>,
    /// The coefficient of each pair.
    pub coefficients: Column<W>,
}

/// The measure of similarity, based on the neighbours that two vertices share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coefficient {
    /// The number of shared neighbours divided by the number of all neighbours of the two.
    Jaccard,
    /// Twice the number of shared neighbours divided by the sum of the two degrees.
    Sorensen,
    /// The number of shared neighbours divided by the smaller degree.
    Overlap,
}

type OfPairs = unsafe extern "C" fn(
    *const hipgraph_resource_handle_t,
    *mut hipgraph_graph_t,
    *const hipgraph_vertex_pairs_t,
    hipgraph_bool_t,
    hipgraph_bool_t,
    *mut *mut hipgraph_similarity_result_t,
    *mut *mut hipgraph_error_t,
) -> hipgraph_error_code_t;

type OfAll = unsafe extern "C" fn(
    *const hipgraph_resource_handle_t,
    *mut hipgraph_graph_t,
    *const hipgraph_type_erased_device_array_view_t,
    hipgraph_bool_t,
    usize,
    hipgraph_bool_t,
    *mut *mut hipgraph_similarity_result_t,
    *mut *mut hipgraph_error_t,
) -> hipgraph_error_code_t;

impl Coefficient {
    fn of_pairs(self) -> (&'static str, OfPairs) {
        match self {
            Coefficient::Jaccard => ("hipgraph_jaccard_coefficients", hipgraph_jaccard_coefficients),
            Coefficient::Sorensen => ("hipgraph_sorensen_coefficients", hipgraph_sorensen_coefficients),
            Coefficient::Overlap => ("hipgraph_overlap_coefficients", hipgraph_overlap_coefficients),
        }
    }

    fn of_all(self) -> (&'static str, OfAll) {
        match self {
            Coefficient::Jaccard => {
                ("hipgraph_all_pairs_jaccard_coefficients", hipgraph_all_pairs_jaccard_coefficients)
            }
            Coefficient::Sorensen => {
                ("hipgraph_all_pairs_sorensen_coefficients", hipgraph_all_pairs_sorensen_coefficients)
            }
            Coefficient::Overlap => {
                ("hipgraph_all_pairs_overlap_coefficients", hipgraph_all_pairs_overlap_coefficients)
            }
        }
    }
}

type WeightsOf<R> = unsafe extern "C" fn(*mut R) -> *mut hipgraph_type_erased_device_array_view_t;

impl<V: Vertex, W: Weight> Graph<V, W> {
    /// Returns the weights of a result; an engine may return weights for a graph that has none.
    pub(crate) fn weights_of<R: 'static>(
        &self,
        all: &Rc<Object<R>>,
        getter: WeightsOf<R>,
    ) -> Result<Option<Column<W>>> {
        if self.is_weighted() { Column::optional(all, "the column of weights", getter) } else { Ok(None) }
    }

    pub(crate) fn subgraphs(&self, result: *mut hipgraph_induced_subgraph_result_t) -> Result<Subgraphs<V, W>> {
        let all = Object::new(self.handle(), result, hipgraph_induced_subgraph_result_free);
        let name = "hipgraph_induced_subgraph_get";
        Ok(Subgraphs {
            edges: Edges {
                sources: Column::new(&all, name, hipgraph_induced_subgraph_get_sources)?,
                destinations: Column::new(&all, name, hipgraph_induced_subgraph_get_destinations)?,
                weights: self.weights_of(&all, hipgraph_induced_subgraph_get_edge_weights)?,
            },
            offsets: Column::new(&all, name, hipgraph_induced_subgraph_get_subgraph_offsets)?,
        })
    }

    /// Returns the edges between the vertices of each set.
    ///
    /// # Errors
    /// If there is no set, a set is empty, a vertex is not in the graph, or the library returns an error.
    #[doc(alias = "hipgraph_extract_induced_subgraph")]
    pub fn induced_subgraphs(&self, sets: &[&[V]]) -> Result<Subgraphs<V, W>> {
        if sets.is_empty() || sets.iter().any(|set| set.is_empty()) {
            return Err(invalid(
                "the list of sets of vertices",
                "empty, or has an empty set",
                "sets of at least one vertex",
            ));
        }
        let vertices = self.vertices("the list of vertices", &sets.concat())?;
        let mut offsets = vec![0_usize];
        sets.iter().for_each(|set| offsets.push(offsets[offsets.len() - 1] + set.len()));
        let offsets = Input::new(self.handle(), &offsets)?;
        let request = || format!("{} subgraphs", sets.len());
        // SAFETY: the handle, the graph and the views are alive, and the places are valid for writes.
        let result = make("hipgraph_extract_induced_subgraph", request, |result, error| unsafe {
            hipgraph_extract_induced_subgraph(
                self.resources(),
                self.raw(),
                offsets.raw(),
                vertices.raw(),
                self.check(),
                result,
                error,
            )
        })?;
        self.subgraphs(result)
    }

    /// Returns the ego graph of each source: the edges between the vertices that it reaches in at most `radius` steps,
    /// including the source. With the radius 0, these are its self-loops: hipGRAPH rejects that radius, and this function
    /// calls [`induced_subgraphs`](Self::induced_subgraphs).
    ///
    /// # Errors
    /// If there is no source, one is not in the graph, the radius is not below the number of vertices, or the library
    /// returns an error.
    #[doc(alias("hipgraph_extract_ego", "ego_graph"))]
    pub fn ego_graphs(&self, sources: &[V], radius: usize) -> Result<Subgraphs<V, W>> {
        if radius == 0 && !sources.is_empty() {
            return self.induced_subgraphs(&sources.chunks(1).collect::<Vec<_>>());
        }
        let sources = self.not_empty("the list of sources", sources)?;
        // SAFETY: the handle, the graph and the view are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_extract_ego",
            || format!("the radius {radius}"),
            |result, error| unsafe {
                hipgraph_extract_ego(self.resources(), self.raw(), sources.raw(), radius, self.check(), result, error)
            },
        )?;
        self.subgraphs(result)
    }

    fn pairs(&self, pairs: *mut hipgraph_vertex_pairs_t) -> Result<Pairs<V>> {
        self.pairs_of(&Object::new(self.handle(), pairs, hipgraph_vertex_pairs_free))
    }

    fn pairs_of(&self, all: &Rc<Object<hipgraph_vertex_pairs_t>>) -> Result<Pairs<V>> {
        let name = "hipgraph_vertex_pairs_get";
        Ok(Pairs {
            first: Column::new(all, name, hipgraph_vertex_pairs_get_first)?,
            second: Column::new(all, name, hipgraph_vertex_pairs_get_second)?,
        })
    }

    /// Returns all pairs of a vertex of `starts`, or of any vertex, and a vertex that is two edges away, each pair
    /// once. In an undirected graph, a vertex with an edge is such a neighbour of itself.
    ///
    /// # Errors
    /// If a vertex is not in the graph, or the library returns an error.
    #[doc(alias = "hipgraph_two_hop_neighbors")]
    pub fn two_hop_neighbors(&self, starts: Option<&[V]>) -> Result<Pairs<V>> {
        let starts = self.some_vertices("the list of start vertices", starts)?;
        // SAFETY: the handle, the graph and the view are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_two_hop_neighbors",
            || "pairs".to_owned(),
            |result, error| unsafe {
                hipgraph_two_hop_neighbors(
                    self.resources(),
                    self.raw(),
                    or_null(starts.as_ref()),
                    self.check(),
                    result,
                    error,
                )
            },
        )?;
        self.pairs(result)
    }

    fn coefficients(&self, all: &Rc<Object<hipgraph_similarity_result_t>>) -> Result<Column<W>> {
        Column::new(all, "hipgraph_similarity_result_get_similarity", hipgraph_similarity_result_get_similarity)
    }

    fn check_similarity(&self, weighted: bool) -> Result<()> {
        self.needs_symmetric("similarity")?;
        if weighted { self.needs_weights("weighted similarity") } else { Ok(()) }
    }

    /// Returns the similarity of pairs of vertices. If `weighted`, an edge to a shared neighbour counts with the
    /// smaller of its two weights as shared, and with the larger in the total.
    ///
    /// # Errors
    /// If the graph is directed, or without weights if `weighted`; if a vertex is not in it, or the library returns an
    /// error.
    #[doc(alias(
        "hipgraph_jaccard_coefficients",
        "hipgraph_sorensen_coefficients",
        "hipgraph_overlap_coefficients",
        "hipgraph_create_vertex_pairs"
    ))]
    pub fn similarity(&self, pairs: &[(V, V)], coefficient: Coefficient, weighted: bool) -> Result<Similarity<V, W>> {
        self.check_similarity(weighted)?;
        let (first, second): (Vec<V>, Vec<V>) = pairs.iter().copied().unzip();
        let (first, second) =
            (self.not_empty("the list of pairs", &first)?, self.vertices("a vertex of a pair", &second)?);
        let request = || format!("{} pairs", pairs.len());
        // SAFETY: the handle, the graph and the views are alive, and the places are valid for writes.
        let given = make("hipgraph_create_vertex_pairs", request, |result, error| unsafe {
            hipgraph_create_vertex_pairs(self.resources(), self.raw(), first.raw(), second.raw(), result, error)
        })?;
        let given = Object::new(self.handle(), given, hipgraph_vertex_pairs_free);
        let (function, run) = coefficient.of_pairs();
        // SAFETY: the handle, the graph and the pairs are alive, and the places are valid for writes.
        let result = make(function, request, |result, error| unsafe {
            run(self.resources(), self.raw(), given.raw(), flag(weighted), self.check(), result, error)
        })?;
        let all = Object::new(self.handle(), result, hipgraph_similarity_result_free);
        Ok(Similarity { pairs: self.pairs_of(&given)?, coefficients: self.coefficients(&all)? })
    }

    /// Returns the similarity of all pairs of different vertices that share a neighbour: of `vertices` with all others,
    /// or of all vertices. With `most`, returns only that number of the most similar pairs.
    ///
    /// # Errors
    /// As [`similarity`](Self::similarity).
    #[doc(alias(
        "hipgraph_all_pairs_jaccard_coefficients",
        "hipgraph_all_pairs_sorensen_coefficients",
        "hipgraph_all_pairs_overlap_coefficients"
    ))]
    pub fn all_pairs_similarity(
        &self,
        vertices: Option<&[V]>,
        coefficient: Coefficient,
        weighted: bool,
        most: Option<usize>,
    ) -> Result<Similarity<V, W>> {
        self.check_similarity(weighted)?;
        let vertices = self.some_vertices("the list of vertices", vertices)?;
        let (function, run) = coefficient.of_all();
        // SAFETY: the handle, the graph and the view are alive, and the places are valid for writes.
        let result = make(
            function,
            || format!("at most {most:?} pairs"),
            |result, error| unsafe {
                run(
                    self.resources(),
                    self.raw(),
                    or_null(vertices.as_ref()),
                    flag(weighted),
                    most.unwrap_or(usize::MAX),
                    self.check(),
                    result,
                    error,
                )
            },
        )?;
        let all = Object::new(self.handle(), result, hipgraph_similarity_result_free);
        // The pairs are a separate object, which the result does not free.
        // SAFETY: the result is alive.
        let pairs = unsafe { hipgraph_similarity_result_get_vertex_pairs(all.raw()) };
        if pairs.is_null() {
            return Err(invalid("the list of pairs of a result", "null", "an object"));
        }
        Ok(Similarity { pairs: self.pairs(pairs)?, coefficients: self.coefficients(&all)? })
    }
}

//! Degrees and centralities.

use std::ptr::null;

use hipgraph_sys::*;

use crate::array::{Column, Input, Object, Vertex, Weight, or_null};
use crate::error::{Result, flag, invalid, make};
use crate::graph::Graph;

/// The degrees of vertices.
#[derive(Debug)]
pub struct Degrees<V> {
    /// The vertices.
    pub vertices: Column<V>,
    /// The number of incoming edges of each vertex.
    pub incoming: Column<V>,
    /// The number of outgoing edges of each vertex.
    pub outgoing: Column<V>,
}

/// One score per vertex.
#[derive(Debug)]
pub struct Centrality<V, W> {
    /// The vertices.
    pub vertices: Column<V>,
    /// The score of each vertex.
    pub values: Column<W>,
    /// Number of iterations, if the algorithm iterates and the library reports it.
    pub iterations: usize,
    /// Whether the iteration converged.
    pub converged: bool,
}

/// One score per edge. An undirected edge has two rows.
#[derive(Debug)]
pub struct EdgeCentrality<V, W> {
    /// The source of each edge.
    pub sources: Column<V>,
    /// The destination of each edge.
    pub destinations: Column<V>,
    /// The score of each edge.
    pub values: Column<W>,
}

/// Hubs and authorities.
#[derive(Debug)]
pub struct Hits<V, W> {
    /// The vertices.
    pub vertices: Column<V>,
    /// The hub score of each vertex: high if it links to good authorities.
    pub hubs: Column<W>,
    /// The authority score of each vertex: high if good hubs link to it.
    pub authorities: Column<W>,
    /// The sum of the hubs' changes in the last iteration.
    pub change: f64,
    /// Number of iterations.
    pub iterations: usize,
}

/// The stopping criteria of an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convergence {
    /// The change below which the iteration has converged; each algorithm documents which change.
    pub epsilon: f64,
    /// Maximum number of iterations.
    pub max_iterations: usize,
}

impl Convergence {
    fn check(self) -> Result<()> {
        if self.epsilon.is_nan() || self.epsilon < 0.0 {
            return Err(invalid("the tolerance", self.epsilon.to_string(), "at least 0"));
        }
        if self.max_iterations == 0 {
            return Err(invalid("the number of iterations", "0", "at least 1"));
        }
        Ok(())
    }
}

/// The parameters of PageRank.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRankOptions<'a, V = i32, W = f32> {
    /// The probability of following an edge, from 0 to 1: 0.85 by default.
    pub alpha: f64,
    /// Converged when the sum of the changes is below `epsilon`. By default 1e-6 and 500 iterations.
    pub convergence: Convergence,
    /// Whether the last ranks are returned without convergence, instead of an error.
    pub allow_nonconvergence: bool,
    /// The targets of jumps: vertices and their weights, whose sum need not be 1. By default, all vertices equally.
    pub personalization: Option<&'a [(V, W)]>,
    /// The ranks to start from: vertices that are not listed start with 0.
    pub initial: Option<&'a [(V, W)]>,
}

impl<V, W> Default for PageRankOptions<'_, V, W> {
    fn default() -> Self {
        PageRankOptions {
            alpha: 0.85,
            convergence: Convergence { epsilon: 1e-6, max_iterations: 500 },
            allow_nonconvergence: false,
            personalization: None,
            initial: None,
        }
    }
}

fn sides(pair: Option<&(Input, Input)>) -> [*const hipgraph_type_erased_device_array_view_t; 2] {
    pair.map_or([null(); 2], |(vertices, values)| [vertices.raw(), values.raw()].map(|raw| raw.cast_const()))
}

impl<V: Vertex, W: Weight> Graph<V, W> {
    /// Returns the degrees of `vertices`, or of all vertices.
    ///
    /// # Errors
    /// If a vertex is not in the graph, or the library returns an error.
    #[doc(alias("hipgraph_degrees", "hipgraph_in_degrees", "hipgraph_out_degrees"))]
    pub fn degrees(&self, vertices: Option<&[V]>) -> Result<Degrees<V>> {
        let vertices = self.some_vertices("the list of vertices", vertices)?;
        // SAFETY: the handle, the graph and the view are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_degrees",
            || "degrees".to_owned(),
            |result, error| unsafe {
                hipgraph_degrees(self.resources(), self.raw(), or_null(vertices.as_ref()), self.check(), result, error)
            },
        )?;
        let all = Object::new(self.handle(), result, hipgraph_degrees_result_free);
        let name = "hipgraph_degrees_result_get";
        Ok(Degrees {
            vertices: Column::new(&all, name, hipgraph_degrees_result_get_vertices)?,
            incoming: Column::new(&all, name, hipgraph_degrees_result_get_in_degrees)?,
            outgoing: Column::new(&all, name, hipgraph_degrees_result_get_out_degrees)?,
        })
    }

    fn centrality(&self, result: *mut hipgraph_centrality_result_t, iterates: bool) -> Result<Centrality<V, W>> {
        let all = Object::new(self.handle(), result, hipgraph_centrality_result_free);
        // SAFETY: the result is alive.
        let (iterations, converged) = unsafe {
            match iterates {
                true => (
                    hipgraph_centrality_result_get_num_iterations(all.raw()),
                    hipgraph_centrality_result_converged(all.raw()),
                ),
                false => (0, HIPGRAPH_TRUE),
            }
        };
        Ok(Centrality {
            vertices: Column::new(
                &all,
                "hipgraph_centrality_result_get_vertices",
                hipgraph_centrality_result_get_vertices,
            )?,
            values: Column::new(&all, "hipgraph_centrality_result_get_values", hipgraph_centrality_result_get_values)?,
            iterations,
            converged: converged != HIPGRAPH_FALSE,
        })
    }

    /// Computes PageRank. The sum of the ranks is 1. A vertex without outgoing edges distributes its rank as a jump
    /// does. Weights are used if the graph has them.
    ///
    /// # Errors
    /// If an option or a weight is invalid, or the iteration does not converge and that is not allowed.
    #[doc(alias(
        "hipgraph_pagerank",
        "hipgraph_pagerank_allow_nonconvergence",
        "hipgraph_personalized_pagerank",
        "hipgraph_personalized_pagerank_allow_nonconvergence"
    ))]
    pub fn pagerank(&self, options: &PageRankOptions<'_, V, W>) -> Result<Centrality<V, W>> {
        let PageRankOptions { alpha, convergence, allow_nonconvergence, .. } = *options;
        convergence.check()?;
        if !(0.0..=1.0).contains(&alpha) {
            return Err(invalid("alpha", alpha.to_string(), "between 0 and 1"));
        }
        let jump = self.values("the personalization", options.personalization)?;
        let initial = self.values("the list of initial ranks", options.initial)?;
        let ([jump_vertices, jump_values], [initial_vertices, initial_values]) =
            (sides(jump.as_ref()), sides(initial.as_ref()));
        let Convergence { epsilon, max_iterations } = convergence;
        let request =
            || format!("PageRank with alpha {alpha}, epsilon {epsilon} and at most {max_iterations} iterations");
        let plain = if allow_nonconvergence { hipgraph_pagerank_allow_nonconvergence } else { hipgraph_pagerank };
        let personal = match allow_nonconvergence {
            true => hipgraph_personalized_pagerank_allow_nonconvergence,
            false => hipgraph_personalized_pagerank,
        };
        let function = match (jump.is_some(), allow_nonconvergence) {
            (false, false) => "hipgraph_pagerank",
            (false, true) => "hipgraph_pagerank_allow_nonconvergence",
            (true, false) => "hipgraph_personalized_pagerank",
            (true, true) => "hipgraph_personalized_pagerank_allow_nonconvergence",
        };
        // SAFETY: the handle, the graph and the views are alive, and the places are valid for writes.
        let result = make(function, request, |result, error| unsafe {
            match jump {
                None => plain(
                    self.resources(),
                    self.raw(),
                    null(),
                    null(),
                    initial_vertices,
                    initial_values,
                    alpha,
                    epsilon,
                    max_iterations,
                    self.check(),
                    result,
                    error,
                ),
                Some(_) => personal(
                    self.resources(),
                    self.raw(),
                    null(),
                    null(),
                    initial_vertices,
                    initial_values,
                    jump_vertices,
                    jump_values,
                    alpha,
                    epsilon,
                    max_iterations,
                    self.check(),
                    result,
                    error,
                ),
            }
        })?;
        self.centrality(result, true)
    }

    /// Computes Katz centrality: the solution of `x = alpha A'x + beta`, with a Euclidean norm of 1. It converges for
    /// `alpha` below the inverse of the largest eigenvalue, when the sum of the changes is below `epsilon` before the
    /// scaling.
    ///
    /// # Errors
    /// If a parameter is invalid, the iteration does not converge, or `beta` is 0, which makes all values 0.
    #[doc(alias = "hipgraph_katz_centrality")]
    pub fn katz_centrality(&self, alpha: f64, beta: f64, convergence: Convergence) -> Result<Centrality<V, W>> {
        convergence.check()?;
        if !(0.0..=1.0).contains(&alpha) {
            return Err(invalid("alpha", alpha.to_string(), "between 0 and 1"));
        }
        let Convergence { epsilon, max_iterations } = convergence;
        let request = || format!("Katz centrality with alpha {alpha} and beta {beta}");
        // SAFETY: the handle and the graph are alive, and the places are valid for writes.
        let result = make("hipgraph_katz_centrality", request, |result, error| unsafe {
            hipgraph_katz_centrality(
                self.resources(),
                self.raw(),
                null(),
                alpha,
                beta,
                epsilon,
                max_iterations,
                self.check(),
                result,
                error,
            )
        })?;
        self.centrality(result, false)
    }

    /// Computes eigenvector centrality, with a Euclidean norm of 1. It has converged when the values change by less
    /// than `epsilon` per vertex.
    ///
    /// # Errors
    /// If a parameter is invalid or the iteration does not converge.
    #[doc(alias = "hipgraph_eigenvector_centrality")]
    pub fn eigenvector_centrality(&self, convergence: Convergence) -> Result<Centrality<V, W>> {
        convergence.check()?;
        let Convergence { epsilon, max_iterations } = convergence;
        // SAFETY: the handle and the graph are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_eigenvector_centrality",
            || format!("at most {max_iterations} iterations"),
            |result, error| unsafe {
                hipgraph_eigenvector_centrality(
                    self.resources(),
                    self.raw(),
                    epsilon,
                    max_iterations,
                    self.check(),
                    result,
                    error,
                )
            },
        )?;
        self.centrality(result, false)
    }

    /// Computes betweenness centrality: the share of shortest paths that pass through each vertex, ignoring weights.
    /// Paths start at `sources`, or at all vertices. `normalized` divides by the number of pairs; with `endpoints`, the
    /// ends of a path count as passed.
    ///
    /// With fewer sources than vertices, the sums are extrapolated to all vertices. Engines extrapolate differently:
    /// hipGRAPH 1.0.0b1 multiplies by the number of vertices over that of sources, except in a directed graph without
    /// `normalized`; the reference engine and cuGraph 26.10 extrapolate the value of a source from the other sources
    /// only.
    ///
    /// # Errors
    /// If a source is not in the graph, or the library returns an error.
    #[doc(alias = "hipgraph_betweenness_centrality")]
    pub fn betweenness_centrality(
        &self,
        sources: Option<&[V]>,
        normalized: bool,
        endpoints: bool,
    ) -> Result<Centrality<V, W>> {
        let sources = self.some_vertices("the list of sources", sources)?;
        // SAFETY: the handle, the graph and the view are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_betweenness_centrality",
            || format!("normalized: {normalized}"),
            |result, error| unsafe {
                hipgraph_betweenness_centrality(
                    self.resources(),
                    self.raw(),
                    or_null(sources.as_ref()),
                    flag(normalized),
                    flag(endpoints),
                    self.check(),
                    result,
                    error,
                )
            },
        )?;
        self.centrality(result, false)
    }

    /// Computes the share of shortest paths that pass through each edge. Without `normalized`, each direction of an
    /// undirected edge gets half of the paths in that direction.
    ///
    /// # Errors
    /// If a source is not in the graph, or the library returns an error.
    #[doc(alias = "hipgraph_edge_betweenness_centrality")]
    pub fn edge_betweenness_centrality(&self, sources: Option<&[V]>, normalized: bool) -> Result<EdgeCentrality<V, W>> {
        let sources = self.some_vertices("the list of sources", sources)?;
        // SAFETY: the handle, the graph and the view are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_edge_betweenness_centrality",
            || format!("normalized: {normalized}"),
            |result, error| unsafe {
                hipgraph_edge_betweenness_centrality(
                    self.resources(),
                    self.raw(),
                    or_null(sources.as_ref()),
                    flag(normalized),
                    self.check(),
                    result,
                    error,
                )
            },
        )?;
        let all = Object::new(self.handle(), result, hipgraph_edge_centrality_result_free);
        let name = "hipgraph_edge_centrality_result_get";
        Ok(EdgeCentrality {
            sources: Column::new(&all, name, hipgraph_edge_centrality_result_get_src_vertices)?,
            destinations: Column::new(&all, name, hipgraph_edge_centrality_result_get_dst_vertices)?,
            values: Column::new(&all, name, hipgraph_edge_centrality_result_get_values)?,
        })
    }

    /// Computes hubs and authorities (HITS), ignoring weights. With `normalize`, each has a sum of 1, otherwise a
    /// maximum of 1. It has converged when the hubs change by less than `epsilon` per vertex. `initial` gives vertices
    /// and their initial hub scores.
    ///
    /// # Errors
    /// If a parameter is invalid or the iteration does not converge.
    #[doc(alias = "hipgraph_hits")]
    pub fn hits(&self, convergence: Convergence, initial: Option<&[(V, W)]>, normalize: bool) -> Result<Hits<V, W>> {
        convergence.check()?;
        let initial = self.values("the list of initial hubs", initial)?;
        let [vertices, values] = sides(initial.as_ref());
        let Convergence { epsilon, max_iterations } = convergence;
        // SAFETY: the handle, the graph and the views are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_hits",
            || format!("at most {max_iterations} iterations"),
            |result, error| unsafe {
                hipgraph_hits(
                    self.resources(),
                    self.raw(),
                    epsilon,
                    max_iterations,
                    vertices,
                    values,
                    flag(normalize),
                    self.check(),
                    result,
                    error,
                )
            },
        )?;
        let all = Object::new(self.handle(), result, hipgraph_hits_result_free);
        let name = "hipgraph_hits_result_get";
        Ok(Hits {
            vertices: Column::new(&all, name, hipgraph_hits_result_get_vertices)?,
            hubs: Column::new(&all, name, hipgraph_hits_result_get_hubs)?,
            authorities: Column::new(&all, name, hipgraph_hits_result_get_authorities)?,
            // SAFETY: the result is alive.
            change: unsafe { hipgraph_hits_result_get_hub_score_differences(all.raw()) },
            // SAFETY: the result is alive.
            iterations: unsafe { hipgraph_hits_result_get_number_of_iterations(all.raw()) },
        })
    }
}

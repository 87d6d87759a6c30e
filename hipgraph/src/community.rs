//! Communities, triangles, components, cores and trusses.

use std::ptr::null;

use hipgraph_sys::*;

use crate::array::{Column, Input, Object, Vertex, Weight, or_null};
use crate::error::{Result, call, invalid, make};
use crate::graph::Graph;
use crate::handle::RandomState;
use crate::subgraph::Edges;

/// A clustering.
#[derive(Debug)]
pub struct Clustering<V> {
    /// The vertices.
    pub vertices: Column<V>,
    /// The cluster of each vertex, numbered from 0.
    pub clusters: Column<V>,
    /// Its modularity, as reported by the engine.
    pub modularity: f64,
}

/// A label for each vertex; vertices of one component have the same label.
#[derive(Debug)]
pub struct Labels<V> {
    /// The vertices.
    pub vertices: Column<V>,
    /// The label of each vertex. The engine chooses the number for a component.
    pub labels: Column<V>,
}

/// One count per vertex.
#[derive(Debug)]
pub struct Counts<V> {
    /// The vertices.
    pub vertices: Column<V>,
    /// The count of each vertex.
    pub counts: Column<V>,
}

/// The edges that count towards a vertex's degree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DegreeType {
    /// Incoming edges.
    In,
    /// Outgoing edges.
    Out,
    /// Both: an undirected edge counts twice, and core numbers are twice as large.
    InOut,
}

impl DegreeType {
    fn raw(self) -> hipgraph_k_core_degree_type_t {
        match self {
            DegreeType::In => HIPGRAPH_K_CORE_DEGREE_TYPE_IN,
            DegreeType::Out => HIPGRAPH_K_CORE_DEGREE_TYPE_OUT,
            DegreeType::InOut => HIPGRAPH_K_CORE_DEGREE_TYPE_INOUT,
        }
    }
}

/// The parameters of community detection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommunityOptions {
    /// Maximum number of levels, which merge clusters into vertices: 100 by default.
    pub max_level: usize,
    /// The minimum increase of the modularity in a level: 1e-7 by default. Leiden does not use it.
    pub threshold: f64,
    /// Larger values give smaller clusters: 1 by default.
    pub resolution: f64,
}

impl Default for CommunityOptions {
    fn default() -> CommunityOptions {
        CommunityOptions { max_level: 100, threshold: 1e-7, resolution: 1.0 }
    }
}

impl CommunityOptions {
    fn check(self) -> Result<()> {
        if self.max_level == 0 {
            return Err(invalid("the number of levels", "0", "at least 1"));
        }
        if self.threshold.is_nan() || self.threshold < 0.0 {
            return Err(invalid("the threshold", self.threshold.to_string(), "at least 0"));
        }
        if !(self.resolution > 0.0 && self.resolution.is_finite()) {
            return Err(invalid("the resolution", self.resolution.to_string(), "positive"));
        }
        Ok(())
    }
}

type Analysis = unsafe extern "C" fn(
    *const hipgraph_resource_handle_t,
    *mut hipgraph_graph_t,
    usize,
    *const hipgraph_type_erased_device_array_view_t,
    *const hipgraph_type_erased_device_array_view_t,
    *mut f64,
    *mut *mut hipgraph_error_t,
) -> hipgraph_error_code_t;

impl<V: Vertex, W: Weight> Graph<V, W> {
    fn clustering_of(&self, result: *mut hipgraph_hierarchical_clustering_result_t) -> Result<Clustering<V>> {
        let all = Object::new(self.handle(), result, hipgraph_hierarchical_clustering_result_free);
        let name = "hipgraph_hierarchical_clustering_result_get";
        Ok(Clustering {
            vertices: Column::new(&all, name, hipgraph_hierarchical_clustering_result_get_vertices)?,
            clusters: Column::new(&all, name, hipgraph_hierarchical_clustering_result_get_clusters)?,
            // SAFETY: the result is alive.
            modularity: unsafe { hipgraph_hierarchical_clustering_result_get_modularity(all.raw()) },
        })
    }

    /// Finds communities with Louvain's method.
    ///
    /// # Errors
    /// If the graph is directed, an option is invalid, or the library returns an error.
    #[doc(alias = "hipgraph_louvain")]
    pub fn louvain(&self, options: CommunityOptions) -> Result<Clustering<V>> {
        self.needs_symmetric("Louvain")?;
        options.check()?;
        let CommunityOptions { max_level, threshold, resolution } = options;
        // SAFETY: the handle and the graph are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_louvain",
            || format!("{options:?}"),
            |result, error| unsafe {
                hipgraph_louvain(
                    self.resources(),
                    self.raw(),
                    max_level,
                    threshold,
                    resolution,
                    self.check(),
                    result,
                    error,
                )
            },
        )?;
        self.clustering_of(result)
    }

    /// Finds communities with Leiden's method; they are connected. `theta` is the temperature of the refinement, 1 in
    /// most programs. hipGRAPH 1.0.0b1 and cuGraph 26.10 accept it and always use 1.
    ///
    /// hipGRAPH 1.0.0b1 and cuGraph 26.10 may report the modularity of a different step than that of the returned
    /// clusters: [`modularity`](Self::modularity) computes the modularity of the clusters.
    ///
    /// # Errors
    /// As [`louvain`](Self::louvain).
    #[doc(alias = "hipgraph_leiden")]
    pub fn leiden(&self, random: &mut RandomState, options: CommunityOptions, theta: f64) -> Result<Clustering<V>> {
        self.needs_symmetric("Leiden")?;
        options.check()?;
        if !(theta > 0.0 && theta.is_finite()) {
            return Err(invalid("theta", theta.to_string(), "positive"));
        }
        let CommunityOptions { max_level, resolution, .. } = options;
        // SAFETY: the handle, the state and the graph are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_leiden",
            || format!("{options:?}"),
            |result, error| unsafe {
                hipgraph_leiden(
                    self.resources(),
                    random.raw(),
                    self.raw(),
                    max_level,
                    resolution,
                    theta,
                    self.check(),
                    result,
                    error,
                )
            },
        )?;
        self.clustering_of(result)
    }

    /// Finds communities that an ensemble of clusterings agrees on (ECG). The weight of an edge is `min_weight` if its
    /// ends are never in one cluster of the ensemble, and its own if they always are.
    ///
    /// # Errors
    /// As [`louvain`](Self::louvain), and if the ensemble is empty or the weight negative.
    #[doc(alias = "hipgraph_ecg")]
    pub fn ecg(
        &self,
        random: &mut RandomState,
        min_weight: f64,
        ensemble_size: usize,
        options: CommunityOptions,
    ) -> Result<Clustering<V>> {
        self.needs_symmetric("ensemble clustering")?;
        options.check()?;
        if min_weight.is_nan() || min_weight < 0.0 {
            return Err(invalid("the least weight", min_weight.to_string(), "at least 0"));
        }
        if ensemble_size == 0 {
            return Err(invalid("the size of the ensemble", "0", "at least 1"));
        }
        let CommunityOptions { max_level, threshold, resolution } = options;
        // SAFETY: the handle, the state and the graph are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_ecg",
            || format!("{options:?}"),
            |result, error| unsafe {
                hipgraph_ecg(
                    self.resources(),
                    random.raw(),
                    self.raw(),
                    min_weight,
                    ensemble_size,
                    max_level,
                    threshold,
                    resolution,
                    self.check(),
                    result,
                    error,
                )
            },
        )?;
        self.clustering_of(result)
    }

    fn analyze(&self, function: &'static str, analysis: Analysis, clusters: &[(V, V)]) -> Result<f64> {
        self.needs_symmetric("the quality of a clustering")?;
        let (vertices, labels): (Vec<V>, Vec<V>) = clusters.iter().copied().unzip();
        let vertices = self.not_empty("the clustering", &vertices)?;
        let most = labels.iter().map(|label| label.to_i64()).max().unwrap_or(0);
        if let Some(label) = labels.iter().find(|label| label.to_i64() < 0) {
            return Err(invalid("a cluster", label.to_string(), "at least 0"));
        }
        let labels = Input::new(self.handle(), &labels)?;
        let mut score = 0.0;
        // SAFETY: the handle, the graph and the views are alive, and the places are valid for writes.
        call(
            function,
            || format!("{} clusters", most + 1),
            // SAFETY: as above.
            |error| unsafe {
                analysis(
                    self.resources(),
                    self.raw(),
                    most as usize + 1,
                    vertices.raw(),
                    labels.raw(),
                    &mut score,
                    error,
                )
            },
        )?;
        Ok(score)
    }

    /// Returns the modularity of a clustering: vertices and their clusters, numbered from 0.
    ///
    /// # Errors
    /// If the graph is directed, a vertex is missing, or the library returns an error.
    #[doc(alias = "hipgraph_analyze_clustering_modularity")]
    pub fn modularity(&self, clusters: &[(V, V)]) -> Result<f64> {
        self.analyze("hipgraph_analyze_clustering_modularity", hipgraph_analyze_clustering_modularity, clusters)
    }

    /// Returns the weight of the edges between clusters.
    ///
    /// # Errors
    /// As [`modularity`](Self::modularity).
    #[doc(alias = "hipgraph_analyze_clustering_edge_cut")]
    pub fn edge_cut(&self, clusters: &[(V, V)]) -> Result<f64> {
        self.analyze("hipgraph_analyze_clustering_edge_cut", hipgraph_analyze_clustering_edge_cut, clusters)
    }

    /// Returns the sum, over the clusters, of the weight of the edges that leave the cluster, divided by its number of
    /// vertices.
    ///
    /// # Errors
    /// As [`modularity`](Self::modularity).
    #[doc(alias = "hipgraph_analyze_clustering_ratio_cut")]
    pub fn ratio_cut(&self, clusters: &[(V, V)]) -> Result<f64> {
        self.analyze("hipgraph_analyze_clustering_ratio_cut", hipgraph_analyze_clustering_ratio_cut, clusters)
    }

    /// Counts the triangles that contain each of `vertices`, or each vertex.
    ///
    /// # Errors
    /// If the graph is directed or a multigraph, a vertex is not in it, or the library returns an error.
    #[doc(alias = "hipgraph_triangle_count")]
    pub fn triangle_count(&self, vertices: Option<&[V]>) -> Result<Counts<V>> {
        self.needs_symmetric("the triangle count")?;
        let vertices = self.some_vertices("the list of vertices", vertices)?;
        // SAFETY: the handle, the graph and the view are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_triangle_count",
            || "triangles".to_owned(),
            |result, error| unsafe {
                hipgraph_triangle_count(
                    self.resources(),
                    self.raw(),
                    or_null(vertices.as_ref()),
                    self.check(),
                    result,
                    error,
                )
            },
        )?;
        let all = Object::new(self.handle(), result, hipgraph_triangle_count_result_free);
        let name = "hipgraph_triangle_count_result_get";
        Ok(Counts {
            vertices: Column::new(&all, name, hipgraph_triangle_count_result_get_vertices)?,
            counts: Column::new(&all, name, hipgraph_triangle_count_result_get_counts)?,
        })
    }

    fn labels(&self, result: *mut hipgraph_labeling_result_t) -> Result<Labels<V>> {
        let all = Object::new(self.handle(), result, hipgraph_labeling_result_free);
        let name = "hipgraph_labeling_result_get";
        Ok(Labels {
            vertices: Column::new(&all, name, hipgraph_labeling_result_get_vertices)?,
            labels: Column::new(&all, name, hipgraph_labeling_result_get_labels)?,
        })
    }

    /// Finds the connected components; in a directed graph, those without regard to directions.
    ///
    /// hipGRAPH rejects directed graphs: this function copies their edges to an undirected graph.
    ///
    /// ```
    /// use hipgraph::{Graph, GraphOptions, ResourceHandle};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # hip::sim_if_no_gpu()?;
    /// # hipgraph::reference_if_missing()?;
    /// // 0 -> 1 <- 2, and 3 -> 4.
    /// let graph = Graph::from_edges(&ResourceHandle::new()?, &[0, 2, 3], &[1, 1, 4], GraphOptions::directed())?;
    /// let labels = graph.weakly_connected_components()?.labels.to_vec()?;
    /// assert_eq!(labels.iter().filter(|label| **label == labels[0]).count(), 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the library returns an error.
    #[doc(alias = "hipgraph_weakly_connected_components")]
    pub fn weakly_connected_components(&self) -> Result<Labels<V>> {
        if !self.is_symmetric() {
            return self.weak_components_of_directed();
        }
        // SAFETY: the handle and the graph are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_weakly_connected_components",
            || "components".to_owned(),
            |result, error| unsafe {
                hipgraph_weakly_connected_components(self.resources(), self.raw(), self.check(), result, error)
            },
        )?;
        self.labels(result)
    }

    /// Finds the strongly connected components, in which each vertex is reachable from every other. In an undirected
    /// graph these are the connected components.
    ///
    /// # Errors
    /// If the library returns an error.
    #[doc(alias = "hipgraph_strongly_connected_components")]
    pub fn strongly_connected_components(&self) -> Result<Labels<V>> {
        // cuGraph's library, which defines this interface, rejects undirected graphs.
        if self.is_symmetric() {
            return self.weakly_connected_components();
        }
        // SAFETY: the handle and the graph are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_strongly_connected_components",
            || "components".to_owned(),
            |result, error| unsafe {
                hipgraph_strongly_connected_components(self.resources(), self.raw(), self.check(), result, error)
            },
        )?;
        self.labels(result)
    }

    /// Returns the largest `k` for which each vertex is in the `k`-core. Self-loops are ignored.
    ///
    /// hipGRAPH rejects multigraphs: this function computes their core numbers on the host, from the edges that the
    /// library returns. Repeated edges count separately.
    ///
    /// ```
    /// use hipgraph::{DegreeType, Graph, GraphOptions, ResourceHandle};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # hip::sim_if_no_gpu()?;
    /// # hipgraph::reference_if_missing()?;
    /// // Two edges between 0 and 1.
    /// let options = GraphOptions::undirected().multigraph(true);
    /// let graph = Graph::from_edges(&ResourceHandle::new()?, &[0, 0], &[1, 1], options)?;
    /// assert_eq!(graph.core_number(DegreeType::Out)?.counts.to_vec()?, [2, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the graph is directed, or the library returns an error.
    #[doc(alias("hipgraph_core_number", "coreness"))]
    pub fn core_number(&self, degree: DegreeType) -> Result<Counts<V>> {
        self.needs_symmetric("the core number")?;
        if self.is_multigraph() {
            return self.core_number_of_multigraph(degree);
        }
        // SAFETY: the handle and the graph are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_core_number",
            || format!("degrees {degree:?}"),
            |result, error| unsafe {
                hipgraph_core_number(self.resources(), self.raw(), degree.raw(), self.check(), result, error)
            },
        )?;
        let all = Object::new(self.handle(), result, hipgraph_core_result_free);
        let name = "hipgraph_core_result_get";
        Ok(Counts {
            vertices: Column::new(&all, name, hipgraph_core_result_get_vertices)?,
            counts: Column::new(&all, name, hipgraph_core_result_get_core_numbers)?,
        })
    }

    /// Returns the edges of the `k`-core: the largest subgraph in which each vertex has at least `k` edges.
    ///
    /// # Errors
    /// As [`core_number`](Self::core_number).
    #[doc(alias = "hipgraph_k_core")]
    pub fn k_core(&self, k: usize, degree: DegreeType) -> Result<Edges<V, W>> {
        self.needs_symmetric("the k-core")?;
        if self.is_multigraph() {
            return self.k_core_of_multigraph(k, degree);
        }
        // SAFETY: the handle and the graph are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_k_core",
            || format!("the {k}-core"),
            |result, error| unsafe {
                hipgraph_k_core(self.resources(), self.raw(), k, degree.raw(), null(), self.check(), result, error)
            },
        )?;
        let all = Object::new(self.handle(), result, hipgraph_k_core_result_free);
        let name = "hipgraph_k_core_result_get";
        Ok(Edges {
            sources: Column::new(&all, name, hipgraph_k_core_result_get_src_vertices)?,
            destinations: Column::new(&all, name, hipgraph_k_core_result_get_dst_vertices)?,
            weights: self.weights_of(&all, hipgraph_k_core_result_get_weights)?,
        })
    }

    /// Returns the edges of the `k`-truss: the largest subgraph in which each edge is part of at least `k - 2`
    /// triangles. The 2-truss has all edges but self-loops.
    ///
    /// # Errors
    /// If the graph is directed or a multigraph, `k` is below 2, or the library returns an error.
    #[doc(alias = "hipgraph_k_truss_subgraph")]
    pub fn k_truss(&self, k: usize) -> Result<Edges<V, W>> {
        self.needs_symmetric("the k-truss")?;
        match k {
            0 | 1 => return Err(invalid("k", k.to_string(), "at least 2")),
            // cuGraph's library, which defines this interface, drops the edges that are in no triangle.
            2 => return self.two_truss(),
            _ => {}
        }
        // SAFETY: the handle and the graph are alive, and the places are valid for writes.
        let result = make(
            "hipgraph_k_truss_subgraph",
            || format!("the {k}-truss"),
            |result, error| unsafe {
                hipgraph_k_truss_subgraph(self.resources(), self.raw(), k, self.check(), result, error)
            },
        )?;
        Ok(self.subgraphs(result)?.edges)
    }
}

//! Communities and triangles.

use hipgraph_sys::*;

use super::array::view;
use super::function::{algorithms, at, at_or_null, guard};
use super::graph::{GraphObject, graph_at};
use super::resource::State;
use super::results::Outcome;
use crate::algorithms::community::{self, Clustering, Ensemble};
use crate::algorithms::triangles;
use crate::graph::{Result, invalid};
use crate::random::Random;

type Handle = hipgraph_resource_handle_t;
type DeviceView = hipgraph_type_erased_device_array_view_t;

fn clustering(object: &GraphObject, found: Clustering) -> Result<Outcome> {
    let columns = [object.names()?, object.counts(found.clusters)?];
    Ok(Outcome { number: found.modularity, ..Outcome::of(columns) })
}

/// Calls `run` with the generator of a random number state.
///
/// # Safety
/// The pointer is null or C's.
pub(super) unsafe fn with_random<T>(state: *mut hipgraph_rng_state_t, run: impl FnOnce(&mut Random) -> T) -> Result<T> {
    // SAFETY: as the caller ensures.
    let state = unsafe { at::<State, _>(state, "state of random numbers") }?;
    Ok(run(&mut state.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())))
}

/// Writes a quality measure of a clustering.
///
/// # Safety
/// The pointers are null or C's.
unsafe fn analyze(
    graph: *mut hipgraph_graph_t,
    (count, vertices, clusters): (usize, *const DeviceView, *const DeviceView),
    score: *mut f64,
    error: *mut *mut hipgraph_error_t,
    of: impl FnOnce(&crate::Graph, &[usize]) -> Result<f64>,
) -> hipgraph_error_code_t {
    // SAFETY: as the caller ensures.
    unsafe {
        guard(error, || {
            let object = graph_at(graph)?;
            let places = object.find(view(vertices, "vertices")?, "vertices")?;
            let labels = view(clusters, "clusters")?.integers("clusters")?;
            if places.len() != labels.len() || places.len() != object.graph.len() {
                return Err(invalid(format!(
                    "{} vertices and {} clusters: the graph has {} vertices, and each has one cluster",
                    places.len(),
                    labels.len(),
                    object.graph.len()
                )));
            }
            let mut all = vec![0; object.graph.len()];
            // Clusters are renumbered, so that the allocation depends on their number, not on their labels.
            let mut numbers = std::collections::HashMap::new();
            for (place, label) in places.into_iter().zip(labels) {
                usize::try_from(label)
                    .ok()
                    .filter(|cluster| *cluster < count)
                    .ok_or_else(|| invalid(format!("cluster {label} is not below {count}")))?;
                let next = numbers.len();
                all[place] = *numbers.entry(label).or_insert(next);
            }
            if score.is_null() {
                return Err(invalid("the place of the score is null"));
            }
            *score = of(&object.graph, &all)?;
            Ok(())
        })
    }
}

macro_rules! analyses {
    ($($name:ident = $of:expr),* $(,)?) => {$(
        unsafe extern "C" fn $name(
            _handle: *const Handle,
            graph: *mut hipgraph_graph_t,
            n_clusters: usize,
            vertices: *const DeviceView,
            clusters: *const DeviceView,
            score: *mut f64,
            error: *mut *mut hipgraph_error_t,
        ) -> hipgraph_error_code_t {
            // SAFETY: the pointers are C's.
            unsafe { analyze(graph, (n_clusters, vertices, clusters), score, error, $of) }
        }
    )*};
}

analyses! {
    hipgraph_analyze_clustering_modularity = |graph, clusters| community::modularity(graph, clusters, 1.0),
    hipgraph_analyze_clustering_edge_cut = community::edge_cut,
    hipgraph_analyze_clustering_ratio_cut = community::ratio_cut,
}

algorithms! {
    fn hipgraph_louvain(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, max_level: usize, threshold: f64, resolution: f64,
        _check: hipgraph_bool_t,
    ) -> hipgraph_hierarchical_clustering_result_t {
        let object = graph_at(graph)?;
        clustering(object, community::louvain(&object.graph, max_level, threshold, resolution)?)
    }
    fn hipgraph_leiden(
        _handle: *const Handle, state: *mut hipgraph_rng_state_t, graph: *mut hipgraph_graph_t, max_level: usize,
        resolution: f64, theta: f64, _check: hipgraph_bool_t,
    ) -> hipgraph_hierarchical_clustering_result_t {
        let object = graph_at(graph)?;
        let found = with_random(state, |random| community::leiden(&object.graph, max_level, resolution, theta, random))?;
        clustering(object, found?)
    }
    fn hipgraph_ecg(
        _handle: *const Handle, state: *mut hipgraph_rng_state_t, graph: *mut hipgraph_graph_t, min_weight: f64,
        ensemble_size: usize, max_level: usize, threshold: f64, resolution: f64, _check: hipgraph_bool_t,
    ) -> hipgraph_hierarchical_clustering_result_t {
        let object = graph_at(graph)?;
        let options = Ensemble { min_weight, size: ensemble_size, levels: max_level, threshold, resolution };
        clustering(object, with_random(state, |random| community::ensemble(&object.graph, options, random))??)
    }
    fn hipgraph_triangle_count(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, start: *const DeviceView, _check: hipgraph_bool_t,
    ) -> hipgraph_triangle_count_result_t {
        let object = graph_at(graph)?;
        let places = object.find_or_all(at_or_null(start, "vertices")?, "vertices")?;
        let counts = triangles::counts(&object.graph)?;
        let counts = object.counts(places.iter().map(|&place| counts[place]))?;
        Ok(Outcome::of([object.vertices(places)?, counts]))
    }
    also: hipgraph_analyze_clustering_modularity, hipgraph_analyze_clustering_edge_cut,
        hipgraph_analyze_clustering_ratio_cut
}

//! Result objects: columns of arrays, and their getters.

use hipgraph_sys::*;

use super::array::{DeviceArray, view_of};
use super::function::{at, functions, take};

/// The object behind every result.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) columns: Vec<Option<DeviceArray>>,
    pub(super) number: f64,
    pub(super) count: usize,
    pub(super) flag: bool,
}

impl Outcome {
    pub(super) fn of(columns: impl IntoIterator<Item = DeviceArray>) -> Outcome {
        Outcome::with_gaps(columns.into_iter().map(Some))
    }

    pub(super) fn with_gaps(columns: impl IntoIterator<Item = Option<DeviceArray>>) -> Outcome {
        Outcome { columns: columns.into_iter().collect(), ..Outcome::default() }
    }

    pub(super) fn column(&self, index: usize) -> Option<&DeviceArray> {
        self.columns.get(index).and_then(Option::as_ref)
    }
}

macro_rules! results {
    ($({ $object:ident, $free:ident: $($getter:ident = $column:literal),* $(; $($value:ident -> $ty:ty = $field:ident),*)? })*) => {
        $(
            unsafe extern "C" fn $free(result: *mut $object) {
                // SAFETY: the pointer is C's.
                unsafe { take(result) }
            }
            $(
                unsafe extern "C" fn $getter(result: *mut $object) -> *mut hipgraph_type_erased_device_array_view_t {
                    // SAFETY: the pointer is C's.
                    view_of(unsafe { at::<Outcome, _>(result, "result") }.ok().and_then(|all| all.column($column)))
                }
            )*
            $($(
                unsafe extern "C" fn $value(result: *mut $object) -> $ty {
                    // SAFETY: the pointer is C's.
                    unsafe { at::<Outcome, _>(result, "result") }.map(|all| all.$field).unwrap_or_default()
                }
            )*)?
        )*
        functions! {
            $($free, $($getter,)* $($($value,)*)?)*
            hipgraph_centrality_result_converged, hipgraph_sample_result_free, hipgraph_sample_result_get_sources,
            hipgraph_sample_result_get_destinations, hipgraph_sample_result_get_majors, hipgraph_sample_result_get_minors,
            hipgraph_sample_result_get_major_offsets, hipgraph_sample_result_get_start_labels,
            hipgraph_sample_result_get_edge_id, hipgraph_sample_result_get_edge_type,
            hipgraph_sample_result_get_edge_weight, hipgraph_sample_result_get_hop,
            hipgraph_sample_result_get_label_hop_offsets, hipgraph_sample_result_get_index,
            hipgraph_sample_result_get_offsets, hipgraph_sample_result_get_renumber_map,
            hipgraph_sample_result_get_renumber_map_offsets,
        }
    };
}

results! {
    { hipgraph_centrality_result_t, hipgraph_centrality_result_free:
        hipgraph_centrality_result_get_vertices = 0, hipgraph_centrality_result_get_values = 1;
        hipgraph_centrality_result_get_num_iterations -> usize = count }
    { hipgraph_edge_centrality_result_t, hipgraph_edge_centrality_result_free:
        hipgraph_edge_centrality_result_get_src_vertices = 0, hipgraph_edge_centrality_result_get_dst_vertices = 1,
        hipgraph_edge_centrality_result_get_values = 2, hipgraph_edge_centrality_result_get_edge_ids = 3 }
    { hipgraph_hits_result_t, hipgraph_hits_result_free:
        hipgraph_hits_result_get_vertices = 0, hipgraph_hits_result_get_hubs = 1,
        hipgraph_hits_result_get_authorities = 2;
        hipgraph_hits_result_get_hub_score_differences -> f64 = number,
        hipgraph_hits_result_get_number_of_iterations -> usize = count }
    { hipgraph_paths_result_t, hipgraph_paths_result_free:
        hipgraph_paths_result_get_vertices = 0, hipgraph_paths_result_get_distances = 1,
        hipgraph_paths_result_get_predecessors = 2 }
    { hipgraph_extract_paths_result_t, hipgraph_extract_paths_result_free:
        hipgraph_extract_paths_result_get_paths = 0;
        hipgraph_extract_paths_result_get_max_path_length -> usize = count }
    { hipgraph_labeling_result_t, hipgraph_labeling_result_free:
        hipgraph_labeling_result_get_vertices = 0, hipgraph_labeling_result_get_labels = 1 }
    { hipgraph_hierarchical_clustering_result_t, hipgraph_hierarchical_clustering_result_free:
        hipgraph_hierarchical_clustering_result_get_vertices = 0,
        hipgraph_hierarchical_clustering_result_get_clusters = 1;
        hipgraph_hierarchical_clustering_result_get_modularity -> f64 = number }
    { hipgraph_triangle_count_result_t, hipgraph_triangle_count_result_free:
        hipgraph_triangle_count_result_get_vertices = 0, hipgraph_triangle_count_result_get_counts = 1 }
    { hipgraph_core_result_t, hipgraph_core_result_free:
        hipgraph_core_result_get_vertices = 0, hipgraph_core_result_get_core_numbers = 1 }
    { hipgraph_k_core_result_t, hipgraph_k_core_result_free:
        hipgraph_k_core_result_get_src_vertices = 0, hipgraph_k_core_result_get_dst_vertices = 1,
        hipgraph_k_core_result_get_weights = 2 }
    { hipgraph_induced_subgraph_result_t, hipgraph_induced_subgraph_result_free:
        hipgraph_induced_subgraph_get_sources = 0, hipgraph_induced_subgraph_get_destinations = 1,
        hipgraph_induced_subgraph_get_edge_weights = 2, hipgraph_induced_subgraph_get_edge_ids = 3,
        hipgraph_induced_subgraph_get_edge_type_ids = 4, hipgraph_induced_subgraph_get_subgraph_offsets = 5 }
    { hipgraph_vertex_pairs_t, hipgraph_vertex_pairs_free:
        hipgraph_vertex_pairs_get_first = 0, hipgraph_vertex_pairs_get_second = 1 }
    { hipgraph_degrees_result_t, hipgraph_degrees_result_free:
        hipgraph_degrees_result_get_vertices = 0, hipgraph_degrees_result_get_in_degrees = 1,
        hipgraph_degrees_result_get_out_degrees = 2 }
    { hipgraph_random_walk_result_t, hipgraph_random_walk_result_free:
        hipgraph_random_walk_result_get_paths = 0, hipgraph_random_walk_result_get_weights = 1,
        hipgraph_random_walk_result_get_path_sizes = 2;
        hipgraph_random_walk_result_get_max_path_length -> usize = count }
}

unsafe extern "C" fn hipgraph_centrality_result_converged(
    result: *mut hipgraph_centrality_result_t,
) -> hipgraph_bool_t {
    // SAFETY: the pointer is C's.
    let converged = unsafe { at::<Outcome, _>(result, "result") }.is_ok_and(|all| all.flag);
    if converged { HIPGRAPH_TRUE } else { HIPGRAPH_FALSE }
}

unsafe extern "C" fn hipgraph_sample_result_free(result: *mut hipgraph_sample_result_t) {
    // SAFETY: the pointer is C's.
    unsafe { take(result) }
}

/// The getters of samples take a const pointer.
macro_rules! sample_getters {
    ($($getter:ident = $column:expr),* $(,)?) => {$(
        unsafe extern "C" fn $getter(
            result: *const hipgraph_sample_result_t,
        ) -> *mut hipgraph_type_erased_device_array_view_t {
            // SAFETY: the pointer is C's.
            view_of(unsafe { at::<Outcome, _>(result, "result") }.ok().and_then(|all| all.column($column)))
        }
    )*};
}

/// The index of the column that `hipgraph_sample_result_get_label_hop_offsets` returns.
pub(super) const LABEL_HOP_OFFSETS: usize = 10;

// Compression and renumbering are not supported: those columns are absent.
sample_getters! {
    hipgraph_sample_result_get_sources = 0, hipgraph_sample_result_get_destinations = 1,
    hipgraph_sample_result_get_majors = 0, hipgraph_sample_result_get_minors = 1,
    hipgraph_sample_result_get_edge_weight = 2, hipgraph_sample_result_get_edge_id = 3,
    hipgraph_sample_result_get_edge_type = 4, hipgraph_sample_result_get_hop = 5,
    hipgraph_sample_result_get_index = 6, hipgraph_sample_result_get_offsets = 7,
    hipgraph_sample_result_get_major_offsets = 8, hipgraph_sample_result_get_start_labels = 9,
    hipgraph_sample_result_get_label_hop_offsets = LABEL_HOP_OFFSETS, hipgraph_sample_result_get_renumber_map = 11,
    hipgraph_sample_result_get_renumber_map_offsets = 12,
}

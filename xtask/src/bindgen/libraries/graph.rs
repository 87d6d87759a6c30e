//! Graph analytics: hipGRAPH.

use super::super::library::{BackTo, Library, Status};

pub(super) const HIPGRAPH: Library = Library {
    name: "hipgraph",
    package: "hipgraph-sys",
    allow: "hipgraph.*|HIPGRAPH.*",
    statuses: &[Status::new("hipgraph_error_code_t", "HIPGRAPH_UNKNOWN_ERROR", "HIPGRAPH_NOT_IMPLEMENTED")],
    back_to: Some(BackTo {
        level: (6, 4),
        why: "hipGRAPH is not part of a ROCm release: its version 1.0.0b1, of May 2025, was built for ROCm 6.4",
        later: &[],
    }),
    topics: &[
        ("hipgraph_", "resource"),
        ("hipgraph_type_erased", "array"),
        ("hipgraph_(error|rng|data_mask)", "resource"),
        ("hipgraph_(sg_|mg_)?graph_", "graph"),
        (
            "hipgraph_.*(degrees|vertex_pairs|two_hop|induced_subgraph|gather|select_random|extract_ego)",
            "graph_functions",
        ),
        ("hipgraph_.*(centrality|pagerank|hits)", "centrality"),
        ("hipgraph_.*(louvain|leiden|ecg|clustering|spectral|triangle|k_truss)", "community"),
        ("hipgraph_.*(labeling|connected_components|core|minimum_spanning|layout)", "components_and_cores"),
        ("hipgraph_.*(bfs|sssp|paths)", "traversal"),
        ("hipgraph_.*(coefficients|similarity)", "similarity"),
        ("hipgraph_.*(sample|sampling|walk|node2vec)", "sampling"),
        ("hipgraph_(generate|coo)", "generators"),
    ],
    ..Library::NEW
};

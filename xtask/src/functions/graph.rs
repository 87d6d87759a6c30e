//! Lists which functions of hipGRAPH its safe crate calls. The crate has no table: functions are named where they are
//! called.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use regex::Regex;

use crate::paths;

/// Functions that are left out, and why.
pub(super) const REASONS: &[(&str, &str)] = &[
    (r"hipgraph_(graph_create_mg|mg_graph_\w+|allgather)", "several GPUs: `ResourceHandle` says what is missing"),
    (r"hipgraph_sg_graph_\w+", "older names of what `Graph` calls"),
    (r"hipgraph_(data_mask_\w+|graph_\w+_data_mask)", "masks, which AMD's library does not define"),
    (r"hipgraph_type_erased_(device|host)_array_\w+", "arrays: a `Column` or a slice holds what they hold"),
    (
        r"hipgraph_(balanced_cut_clustering|spectral_modularity_maximization|clustering_result_\w+)",
        "spectral clustering: `hipgraph-sys` only",
    ),
    (r"hipgraph_(in|out)_degrees", "`Graph::degrees` returns both"),
    (r"hipgraph_core_result_create", "core numbers from elsewhere: `Graph::k_core` computes them"),
    (r"hipgraph_(node2vec|random_walk_result_get_(path_sizes|max_path_length))", "the older form of node2vec's walks"),
    (
        r"hipgraph_(generate_edge_(ids|types)|\w+_edge_(type_)?ids?|\w+_edge_type)",
        "edge IDs and edge types: `hipgraph-sys` only",
    ),
    (r"hipgraph_(generate_rmat_edgelists|coo_list_\w+)", "lists of random graphs: `generate_rmat` makes one"),
    (r"hipgraph_sampl\w+", "samples that are labelled, renumbered or compressed: `hipgraph-sys` only"),
    (r"hipgraph_test_\w+", "for the library's own tests"),
];

/// The subjects of functions: patterns, in order.
const TOPICS: &[(&str, &str)] = &[
    (r"hipgraph_(error|rng|create_resource|free_resource|resource)\w*", "`ResourceHandle`, `RandomState`, `Error`"),
    (r"hipgraph_type_erased\w*", "`Column`"),
    (r"hipgraph_graph_\w*", "`Graph`"),
    (r"hipgraph_\w*(similarity|coefficients|vertex_pairs|two_hop)\w*", "similarity, pairs of vertices"),
    (r"hipgraph_\w*(degrees|centrality|pagerank|hits)\w*", "degrees and centralities"),
    (r"hipgraph_\w*(bfs|sssp|paths)\w*", "shortest paths"),
    (r"hipgraph_\w*(louvain|leiden|ecg|hierarchical|analyze)\w*", "communities"),
    (r"hipgraph_\w*(labeling|connected|core|truss|triangle)\w*", "components, cores, triangles"),
    (r"hipgraph_\w*(sampl|walk|select_random|generate|coo)\w*", "walks, samples, random graphs"),
    (r"hipgraph_\w*", "subgraphs"),
];

/// Returns the functions that the crate calls, with the subject of each.
pub(super) fn called(functions: &[String]) -> Result<BTreeMap<String, String>> {
    let name = Regex::new(r"\bhipgraph_\w+")?;
    let mut called = BTreeMap::new();
    let folder = paths::root().join("hipgraph/src");
    for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
        let text = fs::read_to_string(entry?.path())?;
        // Names in documentation are not calls.
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//") && !line.contains("doc(alias"));
        for line in code {
            for found in name.find_iter(line).filter(|found| functions.iter().any(|name| name == found.as_str())) {
                called.insert(found.as_str().to_owned(), topic(found.as_str())?.to_owned());
            }
        }
    }
    Ok(called)
}

fn topic(function: &str) -> Result<&'static str> {
    for (pattern, topic) in TOPICS {
        if Regex::new(&format!("^(?:{pattern})$"))?.is_match(function) {
            return Ok(topic);
        }
    }
    Ok("subgraphs")
}

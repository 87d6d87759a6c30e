//! Invalid input is an error: before the C call if this crate can check it, otherwise with the engine's message.

use hip::{Device, DeviceBuffer};
use hipgraph::sys::{HIPGRAPH_INVALID_INPUT, hipgraph_error_code_t};
use hipgraph::{
    Coefficient, CommunityOptions, Convergence, DegreeType, Error, Graph, GraphOptions, PageRankOptions, RandomState,
    Result, Rmat, SamplingOptions, Step,
};

use crate::{handle, undirected, undirected_f64};

/// An error before the C call whose text has all of these.
fn invalid<T>(result: Result<T>, words: &[&str]) {
    match result {
        Err(error @ Error::Invalid { .. }) => {
            assert_eq!(error.status(), None);
            let text = error.to_string();
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
        }
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("no error"),
    }
}

/// An error of the engine's whose message has all of these.
fn refused<T>(result: Result<T>, status: hipgraph_error_code_t, words: &[&str]) {
    match result {
        Err(Error::Library { status: found, message, function, .. }) => {
            assert_eq!(found, status, "{message}");
            assert!(function.starts_with("hipgraph_"));
            assert!(words.iter().all(|word| message.contains(word)), "{message}");
        }
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("no error"),
    }
}

const DIRECTED: GraphOptions = GraphOptions::directed();

#[test]
fn lists_that_do_not_fit() {
    let handle = handle();
    invalid(Graph::from_edges(&handle, &[0, 1], &[1], DIRECTED), &["destinations", "1", "2"]);
    invalid(Graph::from_weighted_edges(&handle, &[0, 1], &[1, 0], &[1.0_f32], DIRECTED), &["weights", "1", "2"]);
    invalid(Graph::from_weighted_edges(&handle, &[0, 1], &[1, 0], &[1.0, f64::NAN], DIRECTED), &["NaN", "edge 1"]);
    invalid(Graph::from_edges(&handle, &[0, -1], &[1, 0], DIRECTED), &["vertex", "-1"]);
    invalid(Graph::from_edges(&handle, &[0_i32; 0], &[], DIRECTED), &["edges", "0"]);
    let device = Device::get(0).unwrap();
    let buffer = |values: &[i32]| DeviceBuffer::from_slice(&device, values).unwrap();
    let (one, two) = (buffer(&[0]), buffer(&[0, 1]));
    invalid(Graph::<i32, f32>::from_buffers(&handle, &one, &two, None, DIRECTED), &["destinations"]);
    invalid(Graph::<i32, f32>::from_buffers(&handle, &one, &one, None, GraphOptions::undirected()), &["undirected"]);
}

#[test]
fn rows_that_do_not_fit() {
    let handle = handle();
    invalid(Graph::from_csr(&handle, &[0_i32; 0], &[], DIRECTED), &["offsets"]);
    invalid(Graph::from_csr(&handle, &[0, 2, 1], &[0, 1], DIRECTED), &["offsets", "ascending"]);
    invalid(Graph::from_csr(&handle, &[0, 1, 3], &[0, 1], DIRECTED), &["offsets"]);
    invalid(Graph::from_csr(&handle, &[1, 1, 2], &[0, 1], DIRECTED), &["offsets"]);
    invalid(Graph::from_csr(&handle, &[0, 1, 2], &[0, 2], DIRECTED), &["index", "2", "square"]);
    invalid(Graph::from_csr(&handle, &[0, 1, 2], &[0, -1], DIRECTED), &["index", "-1"]);
    invalid(Graph::from_weighted_csr(&handle, &[0, 1, 2], &[1, 0], &[1.0_f32], DIRECTED), &["weights"]);
    invalid(Graph::from_csr(&handle, &[0, 1, 2], &[1, 0], GraphOptions::undirected()), &["undirected"]);
    invalid(Graph::from_csr(&handle, &[0, 1, 2], &[1, 0], DIRECTED.drop_self_loops(true)), &["drop"]);
}

#[test]
fn graphs_that_are_not_what_is_stated() {
    let handle = handle();
    invalid(Graph::from_edges(&handle, &[0, 1], &[1, 0], GraphOptions::undirected()), &["1 to 0", "once"]);
    refused(Graph::from_edges(&handle, &[0, 0], &[1, 1], DIRECTED), HIPGRAPH_INVALID_INPUT, &["multigraph"]);
    refused(Graph::from_edges(&handle, &[0], &[1], GraphOptions::symmetric()), HIPGRAPH_INVALID_INPUT, &["symmetric"]);
    let uneven = Graph::from_weighted_edges(&handle, &[0, 1], &[1, 0], &[1.0_f32, 2.0], GraphOptions::symmetric());
    refused(uneven, HIPGRAPH_INVALID_INPUT, &["weights", "symmetric"]);
}

#[test]
fn vertices_that_are_not_there() {
    let graph = undirected(&[(0, 1), (1, 2)]);
    invalid(graph.bfs(&[], None), &["sources", "at least one"]);
    invalid(graph.bfs(&[-3], None), &["-3"]);
    refused(graph.bfs(&[9], None), HIPGRAPH_INVALID_INPUT, &["9"]);
    refused(graph.degrees(Some(&[9])), HIPGRAPH_INVALID_INPUT, &["9"]);
    refused(graph.triangle_count(Some(&[9])), HIPGRAPH_INVALID_INPUT, &["9"]);
    refused(graph.betweenness_centrality(Some(&[9]), true, false), HIPGRAPH_INVALID_INPUT, &["9"]);
    refused(graph.similarity(&[(0, 9)], Coefficient::Jaccard, false), HIPGRAPH_INVALID_INPUT, &["9"]);
    refused(graph.random_walks(&[9], 2, Step::Uniform), HIPGRAPH_INVALID_INPUT, &["9"]);
    refused(graph.induced_subgraphs(&[&[0, 9]]), HIPGRAPH_INVALID_INPUT, &["9"]);
    invalid(graph.induced_subgraphs(&[]), &["sets"]);
    invalid(graph.induced_subgraphs(&[&[]]), &["empty"]);
    invalid(graph.similarity(&[], Coefficient::Jaccard, false), &["pairs"]);
    let weighted = undirected_f64(&[(0, 1)]);
    refused(weighted.sssp(9, None), HIPGRAPH_INVALID_INPUT, &["9"]);
    invalid(weighted.sssp(-9, None), &["-9"]);
    refused(graph.sssp(9, None), HIPGRAPH_INVALID_INPUT, &["9"]);
    invalid(graph.sssp(-9, None), &["-9"]);
    invalid(graph.sssp(0, Some(f64::NAN)), &["cutoff"]);
    refused(graph.modularity(&[(0, 0), (1, 0)]), HIPGRAPH_INVALID_INPUT, &["3 vertices"]);
}

#[test]
fn parameters_out_of_range() {
    let graph = undirected_f64(&[(0, 1), (1, 2)]);
    let ranks = |options: PageRankOptions<'_, i32, f64>| graph.pagerank(&options);
    let plain = PageRankOptions::default;
    invalid(ranks(PageRankOptions { alpha: 1.5, ..plain() }), &["alpha", "1.5"]);
    invalid(ranks(PageRankOptions { alpha: f64::NAN, ..plain() }), &["alpha", "NaN"]);
    let never = Convergence { epsilon: 0.0, max_iterations: 3 };
    invalid(ranks(PageRankOptions { convergence: Convergence { epsilon: -1.0, ..never }, ..plain() }), &["tolerance"]);
    invalid(
        ranks(PageRankOptions { convergence: Convergence { max_iterations: 0, ..never }, ..plain() }),
        &["iterations"],
    );
    invalid(ranks(PageRankOptions { personalization: Some(&[]), ..plain() }), &["personalization"]);
    invalid(ranks(PageRankOptions { personalization: Some(&[(0, f64::INFINITY)]), ..plain() }), &["inf"]);
    refused(
        ranks(PageRankOptions { personalization: Some(&[(0, -1.0)]), ..plain() }),
        HIPGRAPH_INVALID_INPUT,
        &["personalization"],
    );
    refused(
        ranks(PageRankOptions { personalization: Some(&[(0, 1.0), (0, 1.0)]), ..plain() }),
        HIPGRAPH_INVALID_INPUT,
        &["twice"],
    );
    refused(ranks(PageRankOptions { initial: Some(&[(1, 0.0)]), ..plain() }), HIPGRAPH_INVALID_INPUT, &["initial"]);
    // Without convergence: an error, unless it is allowed.
    let error = ranks(PageRankOptions { convergence: never, ..plain() }).unwrap_err().to_string();
    assert!(error.contains("failed to converge"), "{error}");
    let allowed = ranks(PageRankOptions { convergence: never, allow_nonconvergence: true, ..plain() }).unwrap();
    assert!(!allowed.converged && allowed.iterations == 3);
    assert!(graph.katz_centrality(0.99, 1.0, Convergence { epsilon: 1e-6, max_iterations: 20 }).is_err());
    invalid(graph.katz_centrality(2.0, 1.0, never), &["alpha"]);
    refused(
        graph.katz_centrality(0.01, 0.0, Convergence { epsilon: 1e-6, max_iterations: 20 }),
        HIPGRAPH_INVALID_INPUT,
        &["beta"],
    );
    invalid(graph.louvain(CommunityOptions { resolution: 0.0, ..Default::default() }), &["resolution"]);
    invalid(graph.louvain(CommunityOptions { max_level: 0, ..Default::default() }), &["levels"]);
    invalid(graph.louvain(CommunityOptions { threshold: f64::NAN, ..Default::default() }), &["threshold"]);
    let mut random = RandomState::new(graph.handle(), 0).unwrap();
    invalid(graph.leiden(&mut random, CommunityOptions::default(), 0.0), &["theta"]);
    invalid(graph.ecg(&mut random, -1.0, 4, CommunityOptions::default()), &["weight"]);
    invalid(graph.ecg(&mut random, 0.1, 0, CommunityOptions::default()), &["ensemble"]);
    invalid(graph.k_truss(1), &["k", "2"]);
    invalid(graph.ego_graphs(&[], 0), &["sources"]);
    refused(graph.ego_graphs(&[9], 0), HIPGRAPH_INVALID_INPUT, &["9"]);
    refused(graph.ego_graphs(&[0], 9), HIPGRAPH_INVALID_INPUT, &["radius"]);
    invalid(graph.random_walks(&[0], 0, Step::Uniform), &["steps"]);
    invalid(graph.random_walks(&[0], 3, Step::Node2Vec { p: 0.0, q: 1.0 }), &["p = 0"]);
    invalid(graph.sample_neighbors(&mut random, &[0], &[], SamplingOptions::default()), &["fan-out"]);
    invalid(graph.sample_neighbors(&mut random, &[0], &[-2], SamplingOptions::default()), &["-2"]);
    refused(graph.random_vertices(&mut random, 4), HIPGRAPH_INVALID_INPUT, &["4"]);
    invalid(hipgraph::generate_rmat::<f32>(graph.handle(), &mut random, Rmat::new(40, 10), None), &["scale"]);
    let lopsided = Rmat { a: 0.9, b: 0.9, ..Rmat::new(4, 10) };
    invalid(hipgraph::generate_rmat::<f32>(graph.handle(), &mut random, lopsided, None), &["probability"]);
}

#[test]
fn graphs_that_an_algorithm_does_not_take() {
    let handle = handle();
    let directed = Graph::from_edges(&handle, &[0, 1], &[1, 2], DIRECTED).unwrap();
    let options = CommunityOptions::default();
    invalid(directed.louvain(options), &["undirected"]);
    invalid(directed.clustering(), &["undirected"]);
    invalid(directed.average_clustering(), &["undirected"]);
    invalid(directed.transitivity(), &["undirected"]);
    invalid(directed.minimum_spanning_tree(), &["undirected"]);
    invalid(directed.maximum_spanning_tree(), &["undirected"]);
    invalid(undirected(&[(0, 1)]).reciprocity(), &["directed"]);
    invalid(undirected(&[(0, 1)]).vertex_reciprocity(), &["directed"]);
    invalid(directed.triangle_count(None), &["undirected"]);
    invalid(directed.core_number(DegreeType::In), &["undirected"]);
    invalid(directed.k_core(2, DegreeType::In), &["undirected"]);
    invalid(directed.k_truss(3), &["undirected"]);
    invalid(directed.similarity(&[(0, 1)], Coefficient::Jaccard, false), &["undirected"]);
    invalid(directed.modularity(&[(0, 0)]), &["undirected"]);
    // Without weights.
    invalid(directed.random_walks(&[0], 2, Step::Biased), &["weights"]);
    invalid(undirected(&[(0, 1)]).similarity(&[(0, 1)], Coefficient::Overlap, true), &["weights"]);
    // Negative weights.
    let negative = Graph::from_weighted_edges(&handle, &[0, 1], &[1, 2], &[1.0_f32, -2.0], DIRECTED).unwrap();
    refused(negative.sssp(0, None), HIPGRAPH_INVALID_INPUT, &["-2"]);
    refused(negative.pagerank(&PageRankOptions::default()), HIPGRAPH_INVALID_INPUT, &["-2"]);
    // Multigraphs.
    let multi = Graph::from_edges(&handle, &[0, 0], &[1, 1], GraphOptions::undirected().multigraph(true)).unwrap();
    refused(multi.triangle_count(None), HIPGRAPH_INVALID_INPUT, &["multigraph"]);
    invalid(multi.k_truss(2), &["multigraph"]);
    invalid(multi.clustering(), &["multigraph"]);
    invalid(multi.transitivity(), &["multigraph"]);
    let multi = Graph::from_edges(&handle, &[0, 0], &[1, 1], DIRECTED.multigraph(true)).unwrap();
    invalid(multi.reciprocity(), &["multigraph"]);
}

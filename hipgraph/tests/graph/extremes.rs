//! Weights, counts and labels at the ends of their ranges, and definitions that differ between libraries: NetworkX's
//! hold.

use hipgraph::{
    Convergence, Graph, GraphOptions, PageRankOptions, RandomState, Rmat, SamplingOptions, Step, generate_rmat,
};

use crate::{handle, sorted, undirected_f64};

const DIRECTED: GraphOptions = GraphOptions::directed();

fn close(found: &[f64], expected: &[f64]) {
    let is_close = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-6 * expected.abs().max(1.0);
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(is_close), "{found:?} is not {expected:?}");
}

fn directed_f64(edges: &[(i32, i32)], weights: &[f64]) -> Graph<i32, f64> {
    let (sources, destinations): (Vec<i32>, Vec<i32>) = edges.iter().copied().unzip();
    Graph::from_weighted_edges(&handle(), &sources, &destinations, weights, DIRECTED).unwrap()
}

/// `nx.eigenvector_centrality_numpy` of a star: the scale of the weights does not matter.
#[test]
fn eigenvectors_of_small_weights() {
    let (sources, destinations) = ([0, 0, 0], [1, 2, 3]);
    for weight in [1e-300, 1e-6, 1.0] {
        let options = GraphOptions::undirected();
        let graph = Graph::from_weighted_edges(&handle(), &sources, &destinations, &[weight; 3], options).unwrap();
        let found = graph.eigenvector_centrality(Convergence { epsilon: 1e-10, max_iterations: 10_000 }).unwrap();
        let leaf = 1.0 / 6_f64.sqrt();
        close(&sorted(&found.vertices, &found.values), &[0.5_f64.sqrt(), leaf, leaf, leaf]);
    }
}

#[test]
fn ranks_of_the_largest_weights() {
    let ranks = |weight: f64| {
        let graph = directed_f64(&[(0, 1), (0, 2), (1, 0), (2, 0)], &[weight, weight, 1.0, 1.0]);
        let found = graph.pagerank(&PageRankOptions::default()).unwrap();
        sorted(&found.vertices, &found.values)
    };
    close(&ranks(1e308), &ranks(1.0));
    assert!((ranks(f64::MAX).iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let infinite = Graph::from_weighted_edges(&handle(), &[0, 1], &[1, 0], &[1.0, f64::INFINITY], DIRECTED);
    let error = infinite.map(drop).unwrap_err().to_string();
    assert!(error.contains("inf (of edge 1)") && error.contains("finite"), "{error}");
}

/// `nx.community.modularity` counts both ends of a self-loop: an edge and a loop, each vertex a cluster, are -1/8.
#[test]
fn modularity_of_a_self_loop() {
    let graph = undirected_f64(&[(0, 1), (0, 0)]);
    close(&[graph.modularity(&[(0, 0), (1, 1)]).unwrap()], &[-0.125]);
    close(&[graph.modularity(&[(0, 0), (1, 0)]).unwrap()], &[0.0]);
    let found = graph.louvain(Default::default()).unwrap();
    let pairs: Vec<(i32, i32)> =
        found.vertices.to_vec().unwrap().into_iter().zip(found.clusters.to_vec().unwrap()).collect();
    close(&[found.modularity], &[graph.modularity(&pairs).unwrap()]);
}

/// There are 2^1100 shortest paths along a chain of 1,100 diamonds, more than `f64` holds.
#[test]
fn betweenness_with_more_paths_than_numbers() {
    let diamonds = 1100;
    let edges: Vec<(i32, i32)> = (0..diamonds)
        .flat_map(|at| {
            let (from, left, right, to) = (3 * at, 3 * at + 1, 3 * at + 2, 3 * at + 3);
            [(from, left), (from, right), (left, to), (right, to)]
        })
        .collect();
    let graph = directed_f64(&edges, &vec![1.0; edges.len()]);
    let found = graph.betweenness_centrality(None, false, false).unwrap();
    let found = sorted(&found.vertices, &found.values);
    for at in [0, 1, diamonds / 2, diamonds - 1] {
        // Half of the paths from each vertex before to each vertex behind.
        let (before, behind) = (f64::from(3 * at + 1), f64::from(3 * (diamonds - at) - 2));
        let both = [found[3 * at as usize + 1], found[3 * at as usize + 2]];
        close(&both, &[before * behind / 2.0; 2]);
    }
    let found = graph.edge_betweenness_centrality(None, false).unwrap();
    assert!(found.values.to_vec().unwrap().iter().all(|value| value.is_finite() && *value > 0.0));
}

/// `nx.betweenness_centrality(k=...)`, version 3.5: a sample is extrapolated to all sources, for a source from the
/// others.
#[test]
fn samples_are_extrapolated() {
    let path = undirected_f64(&[(0, 1), (1, 2)]);
    let found = path.betweenness_centrality(Some(&[0, 1]), false, false).unwrap();
    close(&sorted(&found.vertices, &found.values), &[0.0, 1.0, 0.0]);
    let line = directed_f64(&[(0, 1), (1, 2), (2, 3)], &[1.0; 3]);
    let found = line.edge_betweenness_centrality(Some(&[0]), false).unwrap();
    let mut edges: Vec<(i32, f64)> =
        found.sources.to_vec().unwrap().into_iter().zip(found.values.to_vec().unwrap()).collect();
    edges.sort_by_key(|edge| edge.0);
    close(&edges.iter().map(|edge| edge.1).collect::<Vec<_>>(), &[12.0, 8.0, 4.0]);
    let error = path.betweenness_centrality(Some(&[1, 1]), false, false).map(drop).unwrap_err().to_string();
    assert!(error.contains("vertex 1 is among the sources twice"), "{error}");
}

/// What is allocated depends on how many labels, vertices and steps there are, or is refused.
#[test]
fn large_labels_and_counts() {
    let options = GraphOptions::undirected();
    let graph = Graph::<i64, f64>::from_weighted_edges(&handle(), &[0, 1], &[1, 2], &[1.0; 2], options).unwrap();
    let (small, large) = ([(0, 0), (1, 0), (2, 1)], [(0, 7), (1, 7), (2, 1 << 40)]);
    close(&[graph.modularity(&large).unwrap()], &[graph.modularity(&small).unwrap()]);
    close(&[graph.ratio_cut(&large).unwrap()], &[graph.ratio_cut(&small).unwrap()]);

    for vertex in [i32::MAX - 1, i32::MAX] {
        let far = Graph::from_edges(&handle(), &[0], &[vertex], DIRECTED.renumber(false)).map(drop).unwrap_err();
        assert!(far.to_string().contains("too large without renumbering"), "{far}");
    }
    let far = Graph::from_edges(&handle(), &[0], &[i64::MAX], DIRECTED.renumber(false)).map(drop).unwrap_err();
    assert!(far.to_string().contains("too large without renumbering"), "{far}");
    let error = graph.random_walks(&[0], 1_usize << 40, Step::Uniform).map(drop).unwrap_err().to_string();
    assert!(error.contains("at most 134217728"), "{error}");
    let error = graph.random_walks(&[0, 1], usize::MAX, Step::Uniform).map(drop).unwrap_err().to_string();
    assert!(error.contains("at most 134217728"), "{error}");
    let mut random = RandomState::new(graph.handle(), 0).unwrap();
    for edges in [1 << 40, usize::MAX] {
        let error = generate_rmat::<f64>(graph.handle(), &mut random, Rmat::new(3, edges), None).map(drop);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("at most 134217728"), "{error}");
    }
    let sampling = SamplingOptions { with_replacement: true, ..SamplingOptions::default() };
    let error = graph.sample_neighbors(&mut random, &[0], &[i32::MAX], sampling).map(drop).unwrap_err().to_string();
    assert!(error.contains("fan-out of 2147483647"), "{error}");
    // Each hop samples from all that the last one reached.
    let error =
        graph.sample_neighbors(&mut random, &[0], &[20_000, 20_000], sampling).map(drop).unwrap_err().to_string();
    assert!(error.contains("fan-out of 20000"), "{error}");
}

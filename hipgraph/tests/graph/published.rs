//! Figures that others have published.

use hipgraph::{CommunityOptions, Convergence, DegreeType, Graph, GraphOptions, PageRankOptions, RandomState};
use hipgraph_reference::published::{FLORENTINE, KARATE, KITE};

use crate::{handle, sorted, undirected, undirected_f64};

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= tolerance, "{at}: {found} is not {expected}");
    }
}

const EXACT: Convergence = Convergence { epsilon: 1e-12, max_iterations: 2000 };

/// NetworkX, `pagerank(karate_club_graph(), weight=None)`, alpha 0.85: the first and last vertices, to five digits.
#[test]
fn pagerank_of_the_karate_club() {
    let graph = undirected_f64(&KARATE);
    let found = graph.pagerank(&PageRankOptions { convergence: EXACT, ..PageRankOptions::default() }).unwrap();
    assert!(found.converged && found.iterations > 10);
    let ranks = sorted(&found.vertices, &found.values);
    close(&ranks[..4], &[0.09700, 0.05288, 0.05708, 0.03586], 6e-6);
    close(&ranks[32..], &[0.07169, 0.10092], 6e-6);
    assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-12);
}

/// Freeman's betweenness: of the karate club as NetworkX and igraph print it, of the Florentine families as in
/// Wasserman and Faust, "Social Network Analysis" (1994), of the kite as in Krackhardt (1990).
#[test]
fn betweenness() {
    let found = undirected_f64(&KARATE).betweenness_centrality(None, true, false).unwrap();
    let karate = sorted(&found.vertices, &found.values);
    close(&karate[..4], &[0.437635, 0.053937, 0.143657, 0.011909], 1e-6);
    close(&karate[31..], &[0.138276, 0.145247, 0.304075], 1e-6);
    let found = undirected_f64(&FLORENTINE).betweenness_centrality(None, true, false).unwrap();
    let families = sorted(&found.vertices, &found.values);
    // Medici, Guadagni, Strozzi, Albizzi.
    close(&[families[8], families[6], families[13], families[1]], &[0.521978, 0.254579, 0.102564, 0.212454], 1e-6);
    let found = undirected_f64(&KITE).betweenness_centrality(None, false, false).unwrap();
    let kite = sorted(&found.vertices, &found.values);
    // By 36 pairs: 0.389 for Heather, 0.231 for Fernando and Garth, 0.222 for Ike, 0.102 for Diane.
    close(&kite, &[0.8333333, 0.8333333, 0.0, 3.6666667, 0.0, 8.3333333, 8.3333333, 14.0, 8.0, 0.0], 1e-6);
}

/// NetworkX: `eigenvector_centrality` and `katz_centrality(alpha=0.1, beta=1)` of a path of three, by hand.
#[test]
fn fixed_points_by_hand() {
    let path = undirected_f64(&[(0, 1), (1, 2)]);
    let found = path.eigenvector_centrality(EXACT).unwrap();
    close(&sorted(&found.vertices, &found.values), &[0.5, std::f64::consts::FRAC_1_SQRT_2, 0.5], 1e-9);
    // x0 = 1 + x1 / 10, x1 = 1 + (x0 + x2) / 10: as 11 : 12 : 11, and then a norm of 1.
    let found = path.katz_centrality(0.1, 1.0, EXACT).unwrap();
    let norm = (11.0_f64 * 11.0 + 12.0 * 12.0 + 11.0 * 11.0).sqrt();
    close(&sorted(&found.vertices, &found.values), &[11.0 / norm, 12.0 / norm, 11.0 / norm], 1e-9);
    let found = path.hits(EXACT, None, true).unwrap();
    assert!((found.hubs.to_vec().unwrap().iter().sum::<f64>() - 1.0).abs() < 1e-9);
}

/// Zachary's two factions have the modularity 0.3715 (Newman and Girvan, "Finding and evaluating community structure in
/// networks", 2004, give 0.371 for it); the best partition has 0.4198 (Brandes et al., "On Modularity Clustering",
/// 2008).
#[test]
fn modularity_of_the_karate_club() {
    let graph = undirected(&KARATE);
    let officer = [8, 9, 14, 15, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33];
    let factions: Vec<(i32, i32)> = (0..34).map(|member| (member, i32::from(officer.contains(&member)))).collect();
    assert!((graph.modularity(&factions).unwrap() - 0.3715).abs() < 5e-4, "{:?}", graph.modularity(&factions));
    let options = CommunityOptions::default();
    let mut random = RandomState::new(graph.handle(), 7).unwrap();
    for found in [
        graph.louvain(options).unwrap(),
        graph.leiden(&mut random, options, 1.0).unwrap(),
        graph.ecg(&mut random, 0.05, 16, options).unwrap(),
    ] {
        assert!(found.modularity > 0.35 && found.modularity < 0.41980, "{}", found.modularity);
        let (vertices, clusters) = (found.vertices.to_vec().unwrap(), found.clusters.to_vec().unwrap());
        let pairs: Vec<(i32, i32)> = vertices.into_iter().zip(clusters).collect();
        assert!((graph.modularity(&pairs).unwrap() - found.modularity).abs() < 1e-6);
    }
}

/// The graph of cuGraph's own tests of its C interface, and their expected results: `katz_test.c`, `leiden_test.c`,
/// `louvain_test.c`.
#[test]
fn what_cugraphs_tests_expect() {
    let edges = [(0, 1), (1, 3), (1, 4), (2, 0), (2, 1), (2, 3), (3, 5), (4, 5)];
    let (sources, destinations): (Vec<i32>, Vec<i32>) = edges.into_iter().unzip();
    let weights = [0.1, 2.1, 1.1, 5.1, 3.1, 4.1, 7.2, 3.2_f64];
    let build = |options| Graph::from_weighted_edges(&handle(), &sources, &destinations, &weights, options).unwrap();
    let katz = build(GraphOptions::directed()).katz_centrality(0.01, 1.0, EXACT).unwrap();
    let katz = sorted(&katz.vertices, &katz.values);
    close(&katz, &[0.410614, 0.403211, 0.390689, 0.415175, 0.395125, 0.433226], 1e-6);
    let graph = build(GraphOptions::undirected());
    let mut random = RandomState::new(graph.handle(), 1).unwrap();
    let options = CommunityOptions::default();
    for found in [graph.louvain(options).unwrap(), graph.leiden(&mut random, options, 1.0).unwrap()] {
        assert!((found.modularity - 0.215969).abs() < 1e-6, "{}", found.modularity);
        let clusters = sorted(&found.vertices, &found.clusters);
        assert_eq!(clusters, [0, 0, 0, 1, 1, 1]);
    }
}

/// Leiden, which has a random order, finds the best partition of the karate club in some of its runs.
#[test]
fn leiden_finds_the_best_partition_of_the_karate_club() {
    let graph = undirected_f64(&KARATE);
    let mut random = RandomState::new(graph.handle(), 1).unwrap();
    let mut run = || graph.leiden(&mut random, CommunityOptions::default(), 1.0).unwrap().modularity;
    let found: Vec<f64> = (0..20).map(|_| run()).collect();
    let best = found.iter().copied().fold(0.0, f64::max);
    assert!((best - 0.4197896).abs() < 1e-6, "{found:?}");
}

/// NetworkX: 45 triangles, one component, the largest core is 4, the 5-truss has 30 edges... counts of the karate club
/// that its documentation and tests give.
#[test]
fn triangles_cores_and_components_of_the_karate_club() {
    let graph = undirected(&KARATE);
    let triangles = graph.triangle_count(None).unwrap();
    assert_eq!(triangles.counts.to_vec().unwrap().iter().sum::<i32>(), 3 * 45);
    let numbers = graph.core_number(DegreeType::Out).unwrap();
    let numbers = sorted(&numbers.vertices, &numbers.counts);
    assert_eq!(numbers.iter().max(), Some(&4));
    let fours: Vec<usize> = (0..34).filter(|&member| numbers[member] == 4).collect();
    assert_eq!(fours, [0, 1, 2, 3, 7, 8, 13, 30, 32, 33]);
    let both = graph.core_number(DegreeType::InOut).unwrap();
    assert_eq!(sorted(&both.vertices, &both.counts), numbers.iter().map(|number| 2 * number).collect::<Vec<_>>());
    let labels = graph.weakly_connected_components().unwrap().labels.to_vec().unwrap();
    assert!(labels.iter().all(|label| *label == labels[0]) && labels.len() == 34);
    // The club's diameter is 5.
    let far = (0..34)
        .map(|member| *graph.bfs(&[member], None).unwrap().distances.to_vec().unwrap().iter().max().unwrap())
        .max();
    assert_eq!(far, Some(5));
    drop(handle());
}

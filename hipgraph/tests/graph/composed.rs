//! What the crate composes from hipGRAPH's results: published values, and brute force on random graphs.

use std::collections::{BTreeMap, BTreeSet};

use hipgraph::{DegreeType, Edges, Graph, GraphOptions, PageRankOptions, Vertex, Weight, generators};
use hipgraph_reference::published::KARATE;
use proptest::prelude::*;

use crate::{handle, sorted, undirected};

const DIRECTED: GraphOptions = GraphOptions::directed();

fn build(n: i32, edges: &[(i32, i32)], options: GraphOptions) -> Graph<i32, f64> {
    let (sources, destinations): (Vec<i32>, Vec<i32>) = edges.iter().copied().unzip();
    let vertices: Vec<i32> = (0..n).collect();
    Graph::from_vertices_and_edges_f64(&handle(), &vertices, &sources, &destinations, options).unwrap()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

/// The sorted rows of edges.
fn rows<V: Vertex, W: Weight>(edges: &Edges<V, W>) -> Vec<(V, V)> {
    let (sources, destinations) = (edges.sources.to_vec().unwrap(), edges.destinations.to_vec().unwrap());
    let mut rows: Vec<(V, V)> = sources.into_iter().zip(destinations).collect();
    rows.sort_unstable();
    rows
}

/// NetworkX: `average_clustering` and `transitivity` of `karate_club_graph()`, and `clustering` of some members.
#[test]
fn clustering_of_the_karate_club() {
    let graph = build(34, &KARATE, GraphOptions::undirected());
    close(graph.average_clustering().unwrap(), 0.570_638_478_207_682_3);
    close(graph.transitivity().unwrap(), 0.255_681_818_181_818_2);
    let found = graph.clustering().unwrap();
    let found = sorted(&found.vertices, &found.values);
    for (member, expected) in [(0, 0.15), (1, 1.0 / 3.0), (2, 11.0 / 45.0), (3, 2.0 / 3.0), (11, 0.0)] {
        close(found[member], expected);
    }
    // In `f32`, too.
    assert_eq!(undirected(&KARATE).clustering().unwrap().values.to_vec().unwrap().len(), 34);
}

/// The tests of NetworkX: `test_reciprocity.py`.
#[test]
fn reciprocity_as_networkx() {
    let both = build(2, &[(0, 1), (1, 0)], DIRECTED);
    close(both.reciprocity().unwrap(), 1.0);
    let one = build(4, &[(1, 2), (2, 3), (3, 2)], DIRECTED);
    close(one.reciprocity().unwrap(), 2.0 / 3.0);
    let found = one.vertex_reciprocity().unwrap();
    let found = sorted(&found.vertices, &found.values);
    assert!(found[0].is_nan());
    assert_eq!(found[1..], [0.0, 2.0 / 3.0, 1.0]);
    // A self-loop: 0 in all, and 1 for its vertex.
    let own = build(1, &[(0, 0)], DIRECTED);
    assert_eq!(own.reciprocity().unwrap(), 0.0);
    assert_eq!(own.vertex_reciprocity().unwrap().values.to_vec().unwrap(), [1.0]);
    let error = build(2, &[], DIRECTED).reciprocity().unwrap_err().to_string();
    assert!(error.contains("the number of edges is 0"), "{error}");
}

/// NetworkX's examples of `minimum_spanning_tree` and `maximum_spanning_tree`: a cycle of four, one edge of the weight
/// 2.
#[test]
fn spanning_trees_as_networkx() {
    let (sources, destinations, weights) = ([0, 1, 2, 0], [1, 2, 3, 3], [1.0_f32, 1.0, 1.0, 2.0]);
    let options = GraphOptions::undirected();
    let graph = Graph::from_weighted_edges(&handle(), &sources, &destinations, &weights, options).unwrap();
    let least = graph.minimum_spanning_tree().unwrap();
    assert_eq!(rows(&least), [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)]);
    let most = graph.maximum_spanning_tree().unwrap();
    assert_eq!(rows(&most), [(0, 1), (0, 3), (1, 0), (1, 2), (2, 1), (3, 0)]);
    assert_eq!(most.weights.unwrap().to_vec().unwrap().iter().sum::<f32>(), 8.0);
    // Without weights: any tree, and no column of weights.
    let tree = undirected(&KARATE).minimum_spanning_tree().unwrap();
    assert!(tree.weights.is_none() && tree.sources.len() == 2 * 33);
    // Without edges.
    assert!(build(3, &[], options).minimum_spanning_tree().unwrap().sources.is_empty());
}

/// Of repeated edges, a tree has the lightest; negative weights are weights.
#[test]
fn spanning_trees_of_multigraphs() {
    let (sources, destinations, weights) = ([0, 1, 0, 0, 1], [1, 0, 1, 0, 2], [2.0, 1.0, 1.0, -9.0, -3.0_f64]);
    let options = GraphOptions::undirected().multigraph(true);
    let graph = Graph::from_weighted_edges(&handle(), &sources, &destinations, &weights, options).unwrap();
    for (tree, sum) in [(graph.minimum_spanning_tree().unwrap(), -4.0), (graph.maximum_spanning_tree().unwrap(), -2.0)]
    {
        assert_eq!(rows(&tree), [(0, 1), (1, 0), (1, 2), (2, 1)]);
        assert_eq!(tree.weights.unwrap().to_vec().unwrap().iter().sum::<f64>(), sum);
    }
}

/// NetworkX's example of `weakly_connected_components`: paths of four and of three vertices.
#[test]
fn weak_components_of_directed_paths() {
    let sources = [0_i64, 1, 2, 10, 11];
    let graph = Graph::from_edges(&handle(), &sources, &[1, 2, 3, 11, 12], DIRECTED).unwrap();
    let found = graph.weakly_connected_components().unwrap();
    // Results of a graph have one order.
    assert_eq!(found.vertices.to_vec().unwrap(), graph.degrees(None).unwrap().vertices.to_vec().unwrap());
    let labels = sorted(&found.vertices, &found.labels);
    assert!(labels[..4].iter().all(|label| *label == labels[0]));
    assert!(labels[4..].iter().all(|label| *label == labels[4]) && labels[0] != labels[4]);
}

/// A triangle of double edges with a tail, and a loop, by hand.
#[test]
fn cores_of_a_multigraph() {
    let edges = [(0, 1), (0, 1), (1, 2), (2, 1), (2, 0), (0, 2), (2, 3), (3, 3), (3, 3)];
    let graph = build(5, &edges, GraphOptions::undirected().multigraph(true));
    for (degree, expected) in [(DegreeType::Out, [4, 4, 4, 1, 0]), (DegreeType::InOut, [8, 8, 8, 2, 0])] {
        let found = graph.core_number(degree).unwrap();
        assert_eq!(sorted(&found.vertices, &found.counts), expected);
    }
    assert_eq!(graph.k_core(4, DegreeType::In).unwrap().sources.len(), 12);
    assert_eq!(graph.k_core(1, DegreeType::In).unwrap().sources.len(), 16);
    let none = graph.k_core(5, DegreeType::In).unwrap();
    assert!(none.sources.is_empty() && none.weights.is_none());
}

#[test]
fn paths_without_weights() {
    // 0 -> 1 -> 2 -> 3, 0 -> 2, and 4.
    let graph = build(5, &[(0, 1), (1, 2), (2, 3), (0, 2)], DIRECTED);
    let far = f64::MAX;
    for (cutoff, distances, predecessors) in [
        (None, [0.0, 1.0, 1.0, 2.0, far], [-1, 0, 0, 2, -1]),
        (Some(2.0), [0.0, 1.0, 1.0, far, far], [-1, 0, 0, -1, -1]),
        (Some(0.5), [0.0, far, far, far, far], [-1; 5]),
        (Some(-1.0), [0.0, far, far, far, far], [-1; 5]),
    ] {
        let found = graph.sssp(0, cutoff).unwrap();
        assert_eq!(sorted(&found.vertices, &found.distances), distances, "{cutoff:?}");
        assert_eq!(sorted(&found.vertices, &found.predecessors), predecessors, "{cutoff:?}");
    }
}

#[test]
fn egos_of_radius_0_and_trusses_of_2() {
    let graph = undirected(&[(0, 0), (0, 1), (1, 2), (3, 3)]);
    let egos = graph.ego_graphs(&[0, 1, 3], 0).unwrap();
    assert_eq!(rows(&egos.edges), [(0, 0), (3, 3)]);
    assert_eq!(egos.offsets.to_vec().unwrap(), [0, 1, 1, 2]);
    assert_eq!(rows(&graph.k_truss(2).unwrap()), [(0, 1), (1, 0), (1, 2), (2, 1)]);
    // The only vertex of a graph.
    assert_eq!(undirected(&[(5, 5)]).ego_graphs(&[5], 0).unwrap().edges.sources.to_vec().unwrap(), [5]);
}

#[test]
fn weights_and_isolated_vertices() {
    let (handle, options) = (handle(), GraphOptions::undirected());
    let graph =
        Graph::from_vertices_and_weighted_edges(&handle, &[9, 1], &[0, 1], &[1, 4], &[0.5, 2.0_f64], options).unwrap();
    let found = graph.sssp(0, None).unwrap();
    assert_eq!(sorted(&found.vertices, &found.distances), [0.0, 0.5, 2.5, f64::MAX]);
    assert_eq!(graph.edges().unwrap().weights.unwrap().to_vec().unwrap().iter().sum::<f64>(), 5.0);
    let wrong = Graph::from_vertices_and_weighted_edges(&handle, &[9], &[0], &[1], &[f32::NAN], options);
    assert!(wrong.map(drop).unwrap_err().to_string().contains("NaN"));
    let wrong = Graph::from_vertices_and_weighted_edges(&handle, &[-9], &[0], &[1], &[1.0_f32], options);
    assert!(wrong.map(drop).unwrap_err().to_string().contains("-9"));
}

/// Ranks of a star, NetworkX's formula, with more digits than `f32` has.
#[test]
fn scores_of_f64_without_weights() {
    let handle = handle();
    let star = generators::star_graph(3).unwrap().graph_f64(&handle).unwrap();
    assert!(!star.is_weighted() && star.edges().unwrap().weights.is_none());
    let rows = Graph::from_csr_f64(&handle, &[0, 3, 4, 5, 6], &[1, 2, 3, 0, 0, 0], GraphOptions::symmetric()).unwrap();
    assert!(!rows.is_weighted());
    let convergence = hipgraph::Convergence { epsilon: 1e-14, max_iterations: 1000 };
    let options = PageRankOptions { convergence, ..PageRankOptions::default() };
    for graph in [star, rows] {
        let found = graph.pagerank(&options).unwrap();
        // c = 0.15 / 4 + 0.85 * 3 l and l = 0.15 / 4 + 0.85 c / 3.
        let center = (0.0375 + 0.85 * 3.0 * 0.0375) / (1.0 - 0.85 * 0.85);
        close(sorted(&found.vertices, &found.values)[0], center);
    }
    let uneven = Graph::from_edges_f64(&handle, &[0, 1], &[1], DIRECTED);
    assert!(uneven.map(drop).unwrap_err().to_string().contains("destinations"));
}

/// Different edges between up to `n` vertices, loops included.
fn edges(n: i32, most: usize) -> impl Strategy<Value = BTreeSet<(i32, i32)>> {
    prop::collection::btree_set((0..n, 0..n), 0..most)
}

/// Edges once, with the smaller end first.
fn once(edges: BTreeSet<(i32, i32)>) -> Vec<(i32, i32)> {
    edges.into_iter().map(|(a, b)| (a.min(b), a.max(b))).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Labels of components, by repeated comparison of the ends of edges.
fn components(n: i32, edges: &[(i32, i32)]) -> Vec<i32> {
    let mut labels: Vec<i32> = (0..n).collect();
    for _ in 0..n {
        for &(a, b) in edges {
            let least = labels[a as usize].min(labels[b as usize]);
            (labels[a as usize], labels[b as usize]) = (least, least);
        }
    }
    labels
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn clustering_by_pairs(all in edges(8, 30)) {
        let all = once(all);
        let graph = build(8, &all, GraphOptions::undirected());
        let has = |a: i32, b: i32| a != b && all.contains(&(a.min(b), a.max(b)));
        let (mut shares, mut closed, mut open) = (Vec::new(), 0.0, 0.0);
        for v in 0..8 {
            let near: Vec<i32> = (0..8).filter(|&u| has(u, v)).collect();
            let pairs: Vec<(i32, i32)> =
                near.iter().flat_map(|&a| near.iter().map(move |&b| (a, b))).filter(|(a, b)| a < b).collect();
            let joined = pairs.iter().filter(|(a, b)| has(*a, *b)).count() as f64;
            shares.push(if pairs.is_empty() { 0.0 } else { joined / pairs.len() as f64 });
            (closed, open) = (closed + joined, open + pairs.len() as f64);
        }
        let found = graph.clustering().unwrap();
        prop_assert_eq!(sorted(&found.vertices, &found.values), shares.clone());
        close(graph.average_clustering().unwrap(), shares.iter().sum::<f64>() / 8.0);
        close(graph.transitivity().unwrap(), if open > 0.0 { closed / open } else { 0.0 });
    }

    #[test]
    fn directed_graphs_by_their_edges(all in edges(8, 20)) {
        let all: Vec<(i32, i32)> = all.into_iter().collect();
        let graph = build(8, &all, DIRECTED);
        prop_assert_eq!(rows(&graph.edges().unwrap()), all.clone());
        let found = graph.weakly_connected_components().unwrap();
        let labels = sorted(&found.vertices, &found.labels);
        let expected = components(8, &all);
        for a in 0..8 {
            for b in 0..8 {
                prop_assert_eq!(labels[a] == labels[b], expected[a] == expected[b]);
            }
        }
        if !all.is_empty() {
            let mutual = all.iter().filter(|(a, b)| a != b && all.contains(&(*b, *a))).count();
            close(graph.reciprocity().unwrap(), mutual as f64 / all.len() as f64);
        }
        let found = graph.vertex_reciprocity().unwrap();
        for (v, found) in (0..8).zip(sorted(&found.vertices, &found.values)) {
            let to: BTreeSet<i32> = all.iter().filter(|edge| edge.0 == v).map(|edge| edge.1).collect();
            let from: BTreeSet<i32> = all.iter().filter(|edge| edge.1 == v).map(|edge| edge.0).collect();
            let expected = 2.0 * to.intersection(&from).count() as f64 / (to.len() + from.len()) as f64;
            prop_assert!(found == expected || (found.is_nan() && expected.is_nan()), "{found} is not {expected}");
        }
    }

    /// All sets of edges are tried: a spanning tree is a smallest set that leaves the components as they are.
    #[test]
    fn spanning_trees_by_all_sets(all in edges(6, 12), weights in prop::collection::vec(-4..5_i32, 12)) {
        let all = once(all);
        let weights: Vec<f64> = weights[..all.len()].iter().map(|weight| f64::from(*weight)).collect();
        let (sources, destinations): (Vec<i32>, Vec<i32>) = all.iter().copied().unzip();
        let (vertices, options) = ([0, 1, 2, 3, 4, 5], GraphOptions::undirected());
        let graph = Graph::from_vertices_and_weighted_edges(
            &handle(), &vertices, &sources, &destinations, &weights, options).unwrap();
        let whole = components(6, &all);
        let size = 6 - whole.iter().collect::<BTreeSet<_>>().len();
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for set in (0..1_u32 << all.len()).filter(|set| set.count_ones() as usize == size) {
            let inside: Vec<usize> = (0..all.len()).filter(|at| set >> at & 1 == 1).collect();
            let chosen: Vec<(i32, i32)> = inside.iter().map(|&at| all[at]).collect();
            if components(6, &chosen) == whole {
                let sum: f64 = inside.iter().map(|&at| weights[at]).sum();
                (least, most) = (least.min(sum), most.max(sum));
            }
        }
        for (tree, sum) in [(graph.minimum_spanning_tree(), least), (graph.maximum_spanning_tree(), most)] {
            let tree = tree.unwrap();
            let found = rows(&tree);
            prop_assert_eq!(found.len(), 2 * size);
            prop_assert_eq!(components(6, &found), whole.clone());
            prop_assert_eq!(tree.weights.unwrap().to_vec().unwrap().iter().sum::<f64>(), 2.0 * sum);
        }
    }

    /// The core number by its definition: vertices with fewer edges than `k` are removed until there are none.
    #[test]
    fn cores_of_multigraphs_by_removal(all in prop::collection::vec((0..7_i32, 0..7_i32), 0..30)) {
        let graph = build(7, &all, GraphOptions::undirected().multigraph(true));
        let mut expected = vec![0; 7];
        for k in 1..=30 {
            let mut inside = [true; 7];
            loop {
                let mut degrees: BTreeMap<i32, usize> = BTreeMap::new();
                for &(a, b) in all.iter().filter(|(a, b)| a != b && inside[*a as usize] && inside[*b as usize]) {
                    *degrees.entry(a).or_default() += 1;
                    *degrees.entry(b).or_default() += 1;
                }
                let weak: Vec<i32> = (0..7)
                    .filter(|v| inside[*v as usize] && degrees.get(v).copied().unwrap_or(0) < k).collect();
                if weak.is_empty() {
                    break;
                }
                weak.into_iter().for_each(|v| inside[v as usize] = false);
            }
            (0..7).filter(|&v| inside[v]).for_each(|v| expected[v] = k as i32);
        }
        let found = graph.core_number(DegreeType::Out).unwrap();
        prop_assert_eq!(sorted(&found.vertices, &found.counts), expected.clone());
        let core = graph.k_core(2, DegreeType::Out).unwrap();
        let inside = |v: &i32| expected[*v as usize] >= 2;
        let both = all.iter().flat_map(|&(a, b)| if a == b { vec![(a, b)] } else { vec![(a, b), (b, a)] });
        let mut both: Vec<(i32, i32)> = both.filter(|(a, b)| inside(a) && inside(b)).collect();
        both.sort_unstable();
        prop_assert_eq!(rows(&core), both);
    }

    /// Weights of 1 give the same paths.
    #[test]
    fn paths_without_weights_are_those_of_weight_1(all in edges(7, 20), cutoff in prop::option::of(0.0..5.0_f64)) {
        let all: Vec<(i32, i32)> = all.into_iter().collect();
        let (sources, destinations): (Vec<i32>, Vec<i32>) = all.iter().copied().unzip();
        let (vertices, ones) = ([0, 1, 2, 3, 4, 5, 6], vec![1.0_f64; all.len()]);
        let weighted = Graph::from_vertices_and_weighted_edges(
            &handle(), &vertices, &sources, &destinations, &ones, DIRECTED).unwrap();
        let (found, expected) = (build(7, &all, DIRECTED).sssp(0, cutoff).unwrap(), weighted.sssp(0, cutoff).unwrap());
        prop_assert_eq!(
            sorted(&found.vertices, &found.distances), sorted(&expected.vertices, &expected.distances));
    }
}

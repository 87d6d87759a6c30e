//! Small random graphs against brute force.

use std::collections::BTreeMap;

use hipgraph::{
    Coefficient, CommunityOptions, Convergence, DegreeType, Graph, GraphOptions, PageRankOptions, RandomState,
    SamplingOptions, Step, Vertex, Weight,
};
use proptest::prelude::*;

use crate::brute_force::Matrix;
use crate::{handle, sorted};

/// Up to 9 vertices, and edges with weights, each pair at most once.
fn graphs(directed: bool) -> impl Strategy<Value = (usize, Vec<(i32, i32, f64)>)> {
    (2_usize..9).prop_flat_map(move |n| {
        let pairs: Vec<(i32, i32)> = (0..n as i32)
            .flat_map(|a| (0..n as i32).map(move |b| (a, b)))
            .filter(move |(a, b)| if directed { a != b } else { a < b })
            .collect();
        let most = pairs.len();
        (Just(n), proptest::sample::subsequence(pairs, 1..=most), proptest::collection::vec(1_u8..20, most)).prop_map(
            |(n, pairs, weights)| {
                (n, pairs.into_iter().zip(weights).map(|((a, b), w)| (a, b, f64::from(w) / 4.0)).collect())
            },
        )
    })
}

/// With all vertices, also those without edges: without renumbering they are all numbers up to the largest.
fn build(n: usize, edges: &[(i32, i32, f64)], options: GraphOptions) -> (Graph<i32, f64>, usize) {
    let sources: Vec<i32> = edges.iter().map(|edge| edge.0).collect();
    let destinations: Vec<i32> = edges.iter().map(|edge| edge.1).collect();
    let weights: Vec<f64> = edges.iter().map(|edge| edge.2).collect();
    let graph =
        Graph::from_weighted_edges(&handle(), &sources, &destinations, &weights, options.renumber(false)).unwrap();
    let largest = sources.iter().chain(&destinations).max().map_or(0, |largest| *largest as usize + 1);
    (graph, largest.min(n))
}

fn close(found: &[f64], expected: &[f64]) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        prop_assert!((found - expected).abs() < 1e-9, "{} is not {}", found, expected);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn directed_graphs((n, edges) in graphs(true)) {
        let (graph, n) = build(n, &edges, GraphOptions::directed());
        let matrix = Matrix::new(n, &edges, false);
        let exact = Convergence { epsilon: 1e-14, max_iterations: 5000 };
        let found = graph.pagerank(&PageRankOptions { convergence: exact, allow_nonconvergence: true, ..PageRankOptions::default() }).unwrap();
        close(&sorted(&found.vertices, &found.values), &matrix.pagerank(0.85))?;
        let found = graph.betweenness_centrality(None, false, false).unwrap();
        close(&sorted(&found.vertices, &found.values), &matrix.betweenness(false))?;
        let from = edges[0].0;
        let found = graph.bfs(&[from], None).unwrap();
        let hops: Vec<i32> = matrix.hops(from as usize).into_iter().map(|d| d.map_or(i32::UNREACHED, |d| d as i32)).collect();
        prop_assert_eq!(sorted(&found.vertices, &found.distances), hops.clone());
        // Paths that are extracted are paths of that length.
        let all: Vec<i32> = (0..n as i32).collect();
        for (to, path) in graph.extract_paths(&[from], &found, &all).unwrap().into_iter().enumerate() {
            prop_assert_eq!(path.len() as i64, if hops[to] == i32::MAX { 0 } else { i64::from(hops[to]) + 1 });
            prop_assert!(path.windows(2).all(|pair| matrix.has(pair[0] as usize, pair[1] as usize)));
        }
        let found = graph.sssp(from, None).unwrap();
        let sums: Vec<f64> = matrix.sums(from as usize).into_iter().map(|d| if d.is_finite() { d } else { f64::UNREACHED }).collect();
        prop_assert_eq!(sorted(&found.vertices, &found.distances), sums.clone());
        let cut = graph.sssp(from, Some(3.0)).unwrap();
        let below: Vec<f64> = sums.iter().map(|&d| if d < 3.0 { d } else { f64::UNREACHED }).collect();
        prop_assert_eq!(sorted(&cut.vertices, &cut.distances), below);
        let found = graph.strongly_connected_components().unwrap();
        let labels = sorted(&found.vertices, &found.labels);
        for a in 0..n {
            for b in 0..n {
                prop_assert_eq!(labels[a] == labels[b], matrix.reaches(a, b) && matrix.reaches(b, a));
            }
        }
        let found = graph.two_hop_neighbors(None).unwrap();
        let mut pairs: Vec<(i32, i32)> = found.first.to_vec().unwrap().into_iter().zip(found.second.to_vec().unwrap()).collect();
        pairs.sort_unstable();
        let mut expected = Vec::new();
        for a in 0..n {
            for b in (0..n).filter(|&b| (0..n).any(|middle| matrix.has(a, middle) && matrix.has(middle, b))) {
                expected.push((a as i32, b as i32));
            }
        }
        prop_assert_eq!(pairs, expected);
        let found = graph.degrees(None).unwrap();
        let count = |f: &dyn Fn(usize, usize) -> bool| (0..n).map(|v| (0..n).filter(|&u| f(v, u)).count() as i32).collect::<Vec<_>>();
        prop_assert_eq!(sorted(&found.vertices, &found.outgoing), count(&|v, u| matrix.has(v, u)));
        prop_assert_eq!(sorted(&found.vertices, &found.incoming), count(&|v, u| matrix.has(u, v)));
    }

    #[test]
    fn undirected_graphs((n, edges) in graphs(false)) {
        let (graph, n) = build(n, &edges, GraphOptions::undirected());
        let matrix = Matrix::new(n, &edges, true);
        let found = graph.betweenness_centrality(None, false, false).unwrap();
        close(&sorted(&found.vertices, &found.values), &matrix.betweenness(true))?;
        let found = graph.triangle_count(None).unwrap();
        prop_assert_eq!(sorted(&found.vertices, &found.counts), matrix.triangles());
        let found = graph.core_number(DegreeType::In).unwrap();
        prop_assert_eq!(sorted(&found.vertices, &found.counts), matrix.cores());
        for k in 3..6 {
            let found = graph.k_truss(k).unwrap();
            let mut ends: Vec<(i32, i32)> = found.sources.to_vec().unwrap().into_iter().zip(found.destinations.to_vec().unwrap()).collect();
            ends.sort_unstable();
            prop_assert_eq!(ends, matrix.truss(k));
        }
        let found = graph.weakly_connected_components().unwrap();
        let labels = sorted(&found.vertices, &found.labels);
        for a in 0..n {
            for b in 0..n {
                prop_assert_eq!(labels[a] == labels[b], matrix.reaches(a, b));
            }
        }
        for weighted in [false, true] {
            let pairs: Vec<(i32, i32)> = (0..n as i32).map(|a| (a, (a + 1) % n as i32)).collect();
            let found = graph.similarity(&pairs, Coefficient::Jaccard, weighted).unwrap();
            let expected: Vec<f64> = pairs.iter().map(|&(a, b)| matrix.jaccard(a as usize, b as usize, weighted)).collect();
            close(&found.coefficients.to_vec().unwrap(), &expected)?;
            // Sørensen and overlap follow from Jaccard's parts: S = 2J / (1 + J).
            let sorensen = graph.similarity(&pairs, Coefficient::Sorensen, weighted).unwrap().coefficients.to_vec().unwrap();
            close(&sorensen, &expected.iter().map(|j| 2.0 * j / (1.0 + j)).collect::<Vec<_>>())?;
        }
        let all = graph.all_pairs_similarity(None, Coefficient::Overlap, false, None).unwrap();
        for ((a, b), score) in all.pairs.first.to_vec().unwrap().into_iter().zip(all.pairs.second.to_vec().unwrap()).zip(all.coefficients.to_vec().unwrap()) {
            let (a, b) = (a as usize, b as usize);
            let shared = (0..n).filter(|&u| matrix.has(a, u) && matrix.has(b, u)).count() as f64;
            let degree = |v: usize| (0..n).filter(|&u| matrix.has(v, u)).count() as f64;
            prop_assert!((score - shared / degree(a).min(degree(b))).abs() < 1e-9);
        }
        // Heuristics: the reported values are correct, and Leiden's communities are connected.
        let mut random = RandomState::new(graph.handle(), 1).unwrap();
        let options = CommunityOptions::default();
        let louvain = graph.louvain(options).unwrap();
        let ecg = graph.ecg(&mut random, 0.05, 4, options).unwrap();
        let leiden = graph.leiden(&mut random, options, 1.0).unwrap();
        for (found, connected) in [(louvain, false), (ecg, false), (leiden, true)] {
            let clusters = sorted(&found.vertices, &found.clusters);
            prop_assert!((found.modularity - matrix.modularity(&clusters)).abs() < 1e-9);
            let single: Vec<i32> = (0..n as i32).collect();
            prop_assert!(found.modularity >= matrix.modularity(&single) - 1e-12);
            if connected {
                let inside: Vec<(i32, i32, f64)> = edges.iter().copied().filter(|(a, b, _)| clusters[*a as usize] == clusters[*b as usize]).collect();
                let inside = Matrix::new(n, &inside, true);
                for a in 0..n {
                    for b in (0..n).filter(|&b| clusters[a] == clusters[b]) {
                        prop_assert!(inside.reaches(a, b), "{:?} is not connected", clusters);
                    }
                }
            }
        }
        let cut: f64 = edges.iter().filter(|(a, b, _)| a % 2 != b % 2).map(|edge| edge.2).sum();
        let parity: Vec<(i32, i32)> = (0..n as i32).map(|v| (v, v % 2)).collect();
        prop_assert!((graph.edge_cut(&parity).unwrap() - cut).abs() < 1e-9);
    }

    #[test]
    fn parts_walks_and_samples((n, edges) in graphs(true), seed in 0_u64..1000) {
        let (graph, n) = build(n, &edges, GraphOptions::directed());
        let matrix = Matrix::new(n, &edges, false);
        let weights: BTreeMap<(i32, i32), f64> = edges.iter().map(|&(a, b, w)| ((a, b), w)).collect();
        let all: Vec<i32> = (0..n as i32).collect();
        let half: Vec<i32> = all.iter().copied().filter(|v| v % 2 == 0).collect();
        let found = graph.induced_subgraphs(&[&half, &all]).unwrap();
        let ends: Vec<(i32, i32)> = found.edges.sources.to_vec().unwrap().into_iter().zip(found.edges.destinations.to_vec().unwrap()).collect();
        let offsets = found.offsets.to_vec().unwrap();
        let expected: Vec<(i32, i32)> = weights.keys().copied().filter(|(a, b)| a % 2 == 0 && b % 2 == 0).collect();
        prop_assert_eq!(&ends[offsets[0]..offsets[1]], &expected[..]);
        prop_assert_eq!(offsets[2] - offsets[1], edges.len());
        let kept = found.edges.weights.unwrap().to_vec().unwrap();
        prop_assert!(ends.iter().zip(kept).all(|(ends, weight)| weights[ends] == weight));
        if n > 2 {
            let from = edges[0].0;
            let hops = matrix.hops(from as usize);
            let near = |v: i32| hops[v as usize].is_some_and(|hops| hops <= 1);
            let found = graph.ego_graphs(&[from], 1).unwrap().edges;
            let expected = weights.keys().filter(|(a, b)| near(*a) && near(*b)).count();
            prop_assert_eq!(found.sources.len(), expected);
        }
        for step in [Step::Uniform, Step::Biased, Step::Node2Vec { p: 0.5, q: 2.0 }] {
            let walks = graph.random_walks(&all, 5, step).unwrap();
            prop_assert_eq!(walks.row_len, 6);
            let taken = walks.weights.as_ref().unwrap().to_vec().unwrap();
            for ((row, taken), start) in walks.vertices.to_vec().unwrap().chunks(6).zip(taken.chunks(5)).zip(&all) {
                prop_assert_eq!(row[0], *start);
                for (pair, weight) in row.windows(2).zip(taken) {
                    match (pair[0], pair[1]) {
                        (-1, to) => prop_assert_eq!((to, *weight), (-1, 0.0)),
                        (from, -1) => prop_assert!((0..n).all(|to| !matrix.has(from as usize, to)) && *weight == 0.0),
                        ends => prop_assert_eq!(weights.get(&ends), Some(weight)),
                    }
                }
            }
        }
        let mut random = RandomState::new(graph.handle(), seed).unwrap();
        let out = |v: i32| (0..n).filter(|&to| matrix.has(v as usize, to)).count();
        let sample = graph.sample_neighbors(&mut random, &all, &[2, -1], SamplingOptions::default()).unwrap();
        let ends: Vec<(i32, i32)> = sample.edges.sources.to_vec().unwrap().into_iter().zip(sample.edges.destinations.to_vec().unwrap()).collect();
        prop_assert!(ends.iter().all(|ends| weights.contains_key(ends)));
        let hops = sample.hop_offsets.to_vec().unwrap();
        prop_assert_eq!((hops.len(), hops[0], hops[2]), (3, 0, ends.len()));
        let first = &ends[..hops[1]];
        prop_assert_eq!(first.len(), all.iter().map(|&v| out(v).min(2)).sum::<usize>());
        // Without replacement no edge is chosen twice; in the second hop all edges of the ends of the first are.
        prop_assert_eq!(first.iter().collect::<std::collections::BTreeSet<_>>().len(), first.len());
        prop_assert_eq!(ends.len() - first.len(), first.iter().map(|ends| out(ends.1)).sum::<usize>());
        let many = graph.sample_neighbors(&mut random, &all, &[7], SamplingOptions { with_replacement: true, ..Default::default() }).unwrap();
        prop_assert_eq!(many.hop_offsets.to_vec().unwrap()[1], all.iter().map(|&v| if out(v) > 0 { 7 } else { 0 }).sum::<usize>());
        let mut chosen = graph.random_vertices(&mut random, n).unwrap().to_vec().unwrap();
        chosen.sort_unstable();
        prop_assert_eq!(chosen, all);
    }
}

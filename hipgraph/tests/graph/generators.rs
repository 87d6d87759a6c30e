//! Graphs with names: their sizes, and what is known of them.

use hipgraph::generators::{self as make, EdgeList};
use hipgraph::{Error, Result};

use crate::handle;

/// The sorted edges, with the smaller end first.
fn edges(list: &EdgeList) -> Vec<(i32, i32)> {
    let ends = list.sources.iter().zip(&list.destinations);
    let mut all: Vec<(i32, i32)> = ends.map(|(&a, &b)| (a.min(b), a.max(b))).collect();
    all.sort_unstable();
    all
}

/// The ascending degrees, from the engine; the graph is what its options state, so no edge is there twice.
fn degrees(list: &EdgeList) -> Vec<i32> {
    let mut all = list.graph(&handle()).unwrap().degrees(None).unwrap().outgoing.to_vec().unwrap();
    all.sort_unstable();
    all
}

/// The edges that NetworkX 3 gives for the same calls.
#[test]
fn edges_as_networkx() {
    assert_eq!(edges(&make::path_graph(4).unwrap()), [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(edges(&make::cycle_graph(4).unwrap()), [(0, 1), (0, 3), (1, 2), (2, 3)]);
    assert_eq!(edges(&make::complete_graph(4).unwrap()), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
    assert_eq!(edges(&make::star_graph(3).unwrap()), [(0, 1), (0, 2), (0, 3)]);
    assert_eq!(edges(&make::wheel_graph(4).unwrap()), edges(&make::complete_graph(4).unwrap()));
    assert_eq!(edges(&make::ladder_graph(2).unwrap()), [(0, 1), (0, 2), (1, 3), (2, 3)]);
    let prism = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (3, 5), (4, 5)];
    assert_eq!(edges(&make::circular_ladder_graph(3).unwrap()), prism);
    let barbell = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (4, 6), (5, 6)];
    assert_eq!(edges(&make::barbell_graph(3, 1).unwrap()), barbell);
    assert_eq!(edges(&make::barbell_graph(2, 0).unwrap()), [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(edges(&make::lollipop_graph(3, 2).unwrap()), [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)]);
    assert_eq!(edges(&make::tadpole_graph(3, 2).unwrap()), [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)]);
    let tripartite = [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5)];
    assert_eq!(edges(&make::complete_multipartite_graph(&[1, 2, 3]).unwrap()), tripartite);
    assert_eq!(edges(&make::turan_graph(4, 2).unwrap()), [(0, 2), (0, 3), (1, 2), (1, 3)]);
    assert_eq!(edges(&make::turan_graph(3, 2).unwrap()), [(0, 1), (0, 2)]);
    assert_eq!(edges(&make::grid_2d_graph(2, 3).unwrap()), [(0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (4, 5)]);
    assert_eq!(edges(&make::caveman_graph(2, 3).unwrap()), [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)]);
    assert_eq!(make::empty_graph(3).unwrap(), EdgeList { vertices: 3, sources: vec![], destinations: vec![] });
}

#[test]
fn degrees_and_sizes() {
    assert_eq!(degrees(&make::wheel_graph(7).unwrap()), [3, 3, 3, 3, 3, 3, 6]);
    assert_eq!(degrees(&make::empty_graph(2).unwrap()), [0, 0]);
    assert_eq!(degrees(&make::path_graph(1).unwrap()), [0]);
    // Turán's theorem, and NetworkX's tests: 13 vertices in 4 sets have 63 edges.
    assert_eq!(make::turan_graph(13, 4).unwrap().edges(), 63);
    assert_eq!(make::turan_graph(15, 15).unwrap(), make::complete_graph(15).unwrap());
    // The degrees that NetworkX gives.
    assert_eq!(degrees(&make::krackhardt_kite_graph()), [1, 2, 3, 3, 3, 4, 4, 5, 5, 6]);
    assert_eq!(degrees(&make::florentine_families_graph()), [1, 1, 1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 6]);
    assert_eq!(degrees(&make::karate_club_graph())[31..], [12, 16, 17]);
    // Heawood's, Pappus's and Desargues's graphs: of three edges a vertex.
    for (vertices, shifts) in
        [(14, &[5, -5][..]), (18, &[5, 7, -7, 7, -7, -5]), (20, &[5, -5, 9, -9]), (16, &[5, -5]), (4, &[2])]
    {
        assert_eq!(degrees(&make::lcf_graph(vertices, shifts).unwrap()), vec![3; vertices]);
    }
}

/// The girth of Petersen's graph is 5, and its diameter 2; Heawood's graph has 6 and 3.
#[test]
fn girths_and_diameters() {
    for (list, girth, diameter) in [(make::petersen_graph(), 5, 2), (make::lcf_graph(14, &[5, -5]).unwrap(), 6, 3)] {
        assert_eq!(degrees(&list), vec![3; list.vertices]);
        let whole = list.graph(&handle()).unwrap();
        let far = |vertex: usize| {
            let found = whole.bfs(&[vertex as i32], None).unwrap();
            found.distances.to_vec().unwrap().into_iter().max().unwrap()
        };
        assert_eq!((0..list.vertices).map(far).max(), Some(diameter));
        // The shortest cycle through an edge: the way back without it.
        let around = |edge: usize| {
            let mut rest = list.clone();
            let (from, to) = (rest.sources.remove(edge), rest.destinations.remove(edge));
            let found = rest.graph(&handle()).unwrap().bfs(&[from], None).unwrap();
            1 + crate::sorted(&found.vertices, &found.distances)[to as usize]
        };
        assert_eq!((0..list.edges()).map(around).min(), Some(girth));
    }
}

#[test]
fn random_graphs() {
    let make = |p, seed| make::gnp_random_graph(200, p, seed).unwrap();
    assert_eq!(make(0.1, 7), make(0.1, 7));
    assert_ne!(make(0.1, 7), make(0.1, 8));
    assert_eq!(make(0.0, 7).edges(), 0);
    assert_eq!(make(1.0, 7).edges(), 19_900);
    assert_eq!(make(1e-300, 7).edges(), 0);
    for (p, seed) in [(0.01, 1), (0.3, 2), (0.9, 3), (1.0 - 1e-12, 4)] {
        let list = make(p, seed);
        let all = edges(&list);
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]) && all.iter().all(|(a, b)| a < b && *b < 200));
        let (mean, spread) = (19_900.0 * p, (19_900.0 * p * (1.0 - p)).sqrt());
        assert!((list.edges() as f64 - mean).abs() <= 5.0 * spread + 1.0, "{} edges, p = {p}", list.edges());
    }
}

#[test]
fn sizes_out_of_range() {
    let invalid = |list: Result<EdgeList>, word: &str| match list {
        Err(error @ Error::Invalid { .. }) => assert!(error.to_string().contains(word), "{error}"),
        other => panic!("{other:?}"),
    };
    let most = usize::MAX;
    for list in [
        make::empty_graph(1 << 31),
        make::path_graph(most),
        make::cycle_graph(most),
        make::complete_graph(100_000),
        make::complete_graph(most),
        make::star_graph(most),
        make::wheel_graph(most),
        make::ladder_graph(most),
        make::circular_ladder_graph(most),
        make::barbell_graph(most, 1),
        make::barbell_graph(2, most),
        make::lollipop_graph(3, most),
        make::tadpole_graph(most, most),
        make::complete_multipartite_graph(&[most, most]),
        make::complete_multipartite_graph(&[1 << 20, 1 << 20]),
        make::turan_graph(1 << 20, 2),
        make::grid_2d_graph(most, 2),
        make::caveman_graph(most, most),
        make::gnp_random_graph(1 << 40, 0.5, 0),
    ] {
        invalid(list, "at most 2147483647");
    }
    invalid(make::cycle_graph(2), "at least 3");
    invalid(make::wheel_graph(3), "at least 4");
    invalid(make::circular_ladder_graph(2), "at least 3");
    invalid(make::barbell_graph(1, 1), "at least 2");
    invalid(make::lollipop_graph(1, 1), "at least 2");
    invalid(make::tadpole_graph(2, 1), "at least 3");
    invalid(make::turan_graph(3, 0), "from 1");
    invalid(make::turan_graph(3, 4), "vertices, 3");
    invalid(make::lcf_graph(6, &[]), "empty");
    invalid(make::lcf_graph(6, &[12]), "multiple");
    invalid(make::gnp_random_graph(3, 1.5, 0), "1.5");
    invalid(make::gnp_random_graph(3, f64::NAN, 0), "NaN");
    let error = make::empty_graph(0).unwrap().graph(&handle()).map(drop).unwrap_err().to_string();
    assert!(error.contains("number of edges is 0"), "{error}");
}

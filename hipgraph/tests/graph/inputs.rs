//! The ways into a graph and out of a result give the same.

use hip::{Device, DeviceBuffer};
use hipgraph::{Engine, Graph, GraphOptions, PageRankOptions, RandomState, Rmat};

use crate::{handle, sorted, undirected};

const SOURCES: [i32; 5] = [0, 1, 2, 3, 3];
const DESTINATIONS: [i32; 5] = [1, 2, 0, 0, 4];
const WEIGHTS: [f32; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];

fn ranks(graph: &Graph<i32, f32>) -> Vec<f32> {
    let found = graph.pagerank(&PageRankOptions::default()).unwrap();
    sorted(&found.vertices, &found.values)
}

#[test]
fn edge_lists_rows_and_buffers_are_one_graph() {
    let handle = handle();
    let options = GraphOptions::directed();
    let list = Graph::from_weighted_edges(&handle, &SOURCES, &DESTINATIONS, &WEIGHTS, options).unwrap();
    let rows = Graph::from_weighted_csr(&handle, &[0, 1, 2, 3, 5, 5], &DESTINATIONS, &WEIGHTS, options).unwrap();
    assert!(list.is_weighted() && !list.is_symmetric());
    let expected = ranks(&list);
    assert_eq!(ranks(&rows), expected);
    let device = Device::get(0).unwrap();
    let buffer = |values: &[i32]| DeviceBuffer::from_slice(&device, values).unwrap();
    let weights = DeviceBuffer::from_slice(&device, &WEIGHTS).unwrap();
    let buffers =
        Graph::from_buffers(&handle, &buffer(&SOURCES), &buffer(&DESTINATIONS), Some(&weights), options).unwrap();
    assert_eq!(ranks(&buffers), expected);
    // Results as buffers of `hip`.
    let found = list.pagerank(&PageRankOptions::default()).unwrap();
    let copy = found.values.to_buffer(&device).unwrap();
    assert_eq!(copy.to_vec().unwrap(), found.values.to_vec().unwrap());
    assert!(!found.values.as_ptr().is_null() && !found.values.is_empty());
    // Stored by destination it is the same graph.
    let turned =
        Graph::from_weighted_edges(&handle, &SOURCES, &DESTINATIONS, &WEIGHTS, options.store_transposed(true)).unwrap();
    assert_eq!(ranks(&turned), expected);
}

/// The library reads the edges twice, and relies on them not to change: a `hip` graph could be launched in between.
#[test]
fn buffers_that_a_graph_of_hip_writes_to_are_refused() {
    let handle = handle();
    let device = Device::get(0).unwrap();
    let stream = hip::Stream::new(&device).unwrap();
    let mut sources = DeviceBuffer::from_slice(&device, &SOURCES).unwrap();
    let destinations = DeviceBuffer::from_slice(&device, &DESTINATIONS).unwrap();
    let captured = match stream.capture(|stream| sources.fill_async(stream, -1)) {
        Err(error) if error.status() == Some(hip::Status::NOT_SUPPORTED) => return,
        captured => captured.unwrap(),
    };
    let build = || Graph::<i32, f32>::from_buffers(&handle, &sources, &destinations, None, GraphOptions::directed());
    let error = build().unwrap_err();
    assert!(matches!(error, hipgraph::Error::Hip(hip::Error::Graph { .. })), "{error}");
    assert!(error.to_string().contains("the sources"), "{error}");
    drop(captured);
    build().unwrap();
}

#[test]
fn results_outlive_their_graph() {
    let found = {
        let graph = undirected(&[(0, 1), (1, 2)]);
        graph.degrees(Some(&[1, 2])).unwrap()
    };
    assert_eq!(found.vertices.to_vec().unwrap(), [1, 2]);
    assert_eq!(found.outgoing.to_vec().unwrap(), [2, 1]);
}

/// Names with gaps, 64 bits, vertices without edges.
#[test]
fn vertices_have_the_callers_names() {
    let far = 5_000_000_000_i64;
    let graph =
        Graph::from_vertices_and_edges(&handle(), &[7], &[far, 3], &[3, 9], GraphOptions::undirected()).unwrap();
    let found = graph.degrees(None).unwrap();
    assert_eq!(sorted(&found.vertices, &found.vertices), [3, 7, 9, far]);
    assert_eq!(sorted(&found.vertices, &found.outgoing), [2, 0, 1, 1]);
    // Without renumbering, all numbers up to the largest.
    let graph = Graph::from_edges(&handle(), &[0, 4], &[1, 1], GraphOptions::directed().renumber(false)).unwrap();
    let found = graph.degrees(None).unwrap();
    assert_eq!(sorted(&found.vertices, &found.incoming), [0, 2, 0, 0, 0]);
}

#[test]
fn edges_are_dropped_and_repeated_as_asked() {
    let (sources, destinations) = ([0, 0, 1, 1], [1, 1, 1, 0]);
    let count = |options: GraphOptions| {
        let graph = Graph::from_edges(&handle(), &sources, &destinations, options).unwrap();
        graph.degrees(None).unwrap().outgoing.to_vec().unwrap().into_iter().sum::<i32>()
    };
    let multi = GraphOptions::directed().multigraph(true);
    assert_eq!(count(multi), 4);
    assert_eq!(count(multi.drop_self_loops(true)), 3);
    assert_eq!(count(GraphOptions::directed().drop_multi_edges(true)), 3);
    assert_eq!(count(GraphOptions::directed().drop_multi_edges(true).drop_self_loops(true)), 2);
}

#[test]
fn random_graphs() {
    let handle = handle();
    let mut random = RandomState::new(&handle, 1).unwrap();
    let edges = hipgraph::generate_rmat::<f32>(&handle, &mut random, Rmat::new(8, 2000), Some((1.0, 2.0))).unwrap();
    let (sources, destinations) = (edges.sources.to_vec().unwrap(), edges.destinations.to_vec().unwrap());
    assert_eq!((sources.len(), destinations.len()), (2000, 2000));
    assert!(sources.iter().chain(&destinations).all(|vertex| (0..256).contains(vertex)));
    assert!(edges.weights.unwrap().to_vec().unwrap().iter().all(|weight| (1.0..=2.0).contains(weight)));
    // A power law: one vertex has many times the mean degree of 8.
    let most = (0..256).map(|vertex| sources.iter().filter(|source| **source == vertex).count()).max();
    assert!(most > Some(32), "{most:?}");
}

#[test]
fn the_engine_is_named() {
    let handle = handle();
    assert!(matches!(hipgraph::engine().unwrap(), Engine::Library | Engine::Provider(_)));
    assert_eq!((handle.rank(), handle.ranks()), (0, 1));
    #[cfg(feature = "rccl")]
    let _: fn(&rccl::Communicator) -> hipgraph::Result<hipgraph::ResourceHandle> =
        hipgraph::ResourceHandle::from_communicator;
}

#[cfg(feature = "petgraph")]
#[test]
fn graphs_of_petgraph() {
    let mut graph = petgraph::graph::UnGraph::<&str, f32>::new_undirected();
    let [a, b, c, _alone] = ["a", "b", "c", "d"].map(|name| graph.add_node(name));
    graph.extend_with_edges([(a, b, 2.0), (b, c, 3.0)]);
    let plain = Graph::from_petgraph(&handle(), &graph, GraphOptions::undirected()).unwrap();
    let found = plain.degrees(None).unwrap();
    assert_eq!(sorted(&found.vertices, &found.outgoing), [1, 2, 1, 0]);
    let weighted = Graph::from_petgraph_with(&handle(), &graph, |weight| *weight, GraphOptions::directed()).unwrap();
    assert!(weighted.is_symmetric());
    let found = weighted.sssp(0, None).unwrap();
    assert_eq!(sorted(&found.vertices, &found.distances), [0.0, 2.0, 5.0, f32::MAX]);
}

#[cfg(feature = "ndarray")]
#[test]
fn results_as_arrays() {
    let graph = undirected(&[(0, 1)]);
    let found = graph.pagerank(&PageRankOptions::default()).unwrap().values.to_array().unwrap();
    assert_eq!(found, ndarray::array![0.5, 0.5]);
}

/// HIP ends the captures of all threads where the library waits for the device.
#[test]
fn calls_leave_captures_of_other_threads_alone() {
    let handle = handle();
    let device = Device::get(0).unwrap();
    let stream = hip::Stream::new(&device).unwrap();
    let mut filled = DeviceBuffer::<i32>::zeroed(&device, 5).unwrap();
    if stream.capture(|stream| filled.fill_async(stream, 1)).is_err() {
        return; // this runtime has no captures
    }
    let over = std::sync::atomic::AtomicBool::new(false);
    let (built, captured) = std::thread::scope(|scope| {
        let capturing = scope.spawn(|| {
            let mut last = Ok(());
            while last.is_ok() && !over.load(std::sync::atomic::Ordering::Relaxed) {
                last = stream.capture(|stream| filled.fill_async(stream, 1)).map(drop);
            }
            last
        });
        let build = || Graph::<i32, f32>::from_edges(&handle, &SOURCES, &DESTINATIONS, GraphOptions::directed());
        let built: Vec<_> = (0..100).map(|_| build().map(drop)).collect();
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        (built, capturing.join().unwrap())
    });
    captured.unwrap();
    built.into_iter().for_each(|built| built.unwrap());
}

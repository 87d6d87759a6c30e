//! Times at 2^24 edges.

use std::time::{Duration, Instant};

use hipgraph::{
    CommunityOptions, Convergence, DegreeType, Graph, GraphOptions, PageRankOptions, RandomState, ResourceHandle, Rmat,
};

use crate::Result;

/// Prints the fastest and the median time of some runs.
fn time<T>(what: &str, run: impl Fn() -> hipgraph::Result<T>) {
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..6 {
        let start = Instant::now();
        if let Err(error) = run() {
            println!("| {what} | **{error}** | |");
            return;
        }
        times.push(start.elapsed());
    }
    // The first run is a warm-up.
    times.remove(0);
    times.sort_unstable();
    let ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    println!("| {what} | {} | {} |", ms(times[0]), ms(times[times.len() / 2]));
}

pub(crate) fn all() -> Result<()> {
    let handle = ResourceHandle::new()?;
    let mut random = RandomState::new(&handle, 1)?;
    let edges = hipgraph::generate_rmat::<f32>(&handle, &mut random, Rmat::new(20, 1 << 24), None)?;
    let (sources, destinations) = (edges.sources.to_vec()?, edges.destinations.to_vec()?);
    let weights: Vec<f32> = (0..sources.len()).map(|at| 1.0 + (at % 97) as f32 / 32.0).collect();
    println!(
        "\n## Times at 2^24 edges\n\nR-MAT, 2^20 vertices, f32; five runs after one, until the result is on the host's side of a wait.\n"
    );
    println!("| algorithm | fastest | median |\n|---|---:|---:|");
    let options = GraphOptions::directed().multigraph(true).check(false);
    time("graph from an edge list on the host", || {
        Graph::from_weighted_edges(&handle, &sources, &destinations, &weights, options)
    });
    let turned =
        Graph::from_weighted_edges(&handle, &sources, &destinations, &weights, options.store_transposed(true))?;
    time("PageRank, epsilon 1e-6", || turned.pagerank(&PageRankOptions::default())?.values.to_vec());
    time("HITS, epsilon 1e-6", || {
        turned.hits(Convergence { epsilon: 1e-6, max_iterations: 500 }, None, true)?.hubs.to_vec()
    });
    let graph = Graph::from_weighted_edges(&handle, &sources, &destinations, &weights, options)?;
    let start = sources[0];
    time("BFS", || graph.bfs(&[start], None)?.distances.to_vec());
    time("SSSP", || graph.sssp(start, None)?.distances.to_vec());
    time("strongly connected components", || graph.strongly_connected_components()?.labels.to_vec());
    drop((turned, graph));
    let mut once: Vec<(i32, i32)> =
        sources.iter().zip(&destinations).filter(|(a, b)| a != b).map(|(&a, &b)| (a.min(b), a.max(b))).collect();
    once.sort_unstable();
    once.dedup();
    let (sources, destinations): (Vec<i32>, Vec<i32>) = once.iter().copied().unzip();
    let weights = vec![1.0_f32; sources.len()];
    let graph = Graph::from_weighted_edges(
        &handle,
        &sources,
        &destinations,
        &weights,
        GraphOptions::undirected().check(false),
    )?;
    println!("| *undirected, {} edges:* | | |", sources.len());
    time("weakly connected components", || graph.weakly_connected_components()?.labels.to_vec());
    time("Louvain", || graph.louvain(CommunityOptions::default())?.clusters.to_vec());
    time("triangle count", || graph.triangle_count(None)?.counts.to_vec());
    time("core number", || graph.core_number(DegreeType::Out)?.counts.to_vec());
    Ok(())
}

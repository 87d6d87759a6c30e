//! PageRank of a graph with the structure of the web, and its ten highest ranked pages. `cargo run -p hipgraph
//! --example pagerank`

use hipgraph::{Graph, GraphOptions, PageRankOptions, RandomState, ResourceHandle, Rmat};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    hip::sim_if_no_gpu()?;
    println!("engine: {}", hipgraph::reference_if_missing()?);
    let handle = ResourceHandle::new()?;
    // Few pages have many links, most have few: an R-MAT graph of 4096 pages and 32768 links.
    let mut random = RandomState::new(&handle, 2026)?;
    let links = hipgraph::generate_rmat::<f32>(&handle, &mut random, Rmat::new(12, 32_768), None)?;
    let options = GraphOptions::directed().drop_multi_edges(true).drop_self_loops(true).store_transposed(true);
    let graph = Graph::from_edges(&handle, &links.sources.to_vec()?, &links.destinations.to_vec()?, options)?;
    let ranks = graph.pagerank(&PageRankOptions::default())?;
    println!("{} pages with links, {} iterations", ranks.vertices.len(), ranks.iterations);
    let mut pages: Vec<(i32, f32)> = ranks.vertices.to_vec()?.into_iter().zip(ranks.values.to_vec()?).collect();
    pages.sort_by(|a, b| b.1.total_cmp(&a.1));
    let best: Vec<i32> = pages.iter().take(10).map(|page| page.0).collect();
    let degrees = graph.degrees(Some(&best))?;
    println!("page   rank      links to it");
    for ((page, rank), linked) in pages.iter().zip(degrees.incoming.to_vec()?) {
        println!("{page:5}  {rank:.6}  {linked}");
    }
    let sum: f32 = pages.iter().map(|page| page.1).sum();
    assert!((sum - 1.0).abs() < 1e-3, "the ranks have a sum of 1, not {sum}");
    Ok(())
}

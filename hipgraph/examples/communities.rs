//! Communities of Zachary's karate club, drawn to an SVG file. `cargo run -p hipgraph --example communities [FILE]`

use std::fmt::Write;

use hipgraph::{CommunityOptions, Graph, GraphOptions, RandomState, ResourceHandle};
use hipgraph_reference::published::KARATE;

const COLOURS: [&str; 6] = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    hip::sim_if_no_gpu()?;
    println!("engine: {}", hipgraph::reference_if_missing()?);
    let handle = ResourceHandle::new()?;
    let (from, to): (Vec<i32>, Vec<i32>) = KARATE.iter().copied().unzip();
    let graph = Graph::from_edges(&handle, &from, &to, GraphOptions::undirected())?;
    let mut random = RandomState::new(&handle, 1)?;
    let found = graph.leiden(&mut random, CommunityOptions::default(), 1.0)?;
    let mut clusters = vec![0; 34];
    for (member, cluster) in found.vertices.to_vec()?.into_iter().zip(found.clusters.to_vec()?) {
        clusters[member as usize] = cluster as usize;
    }
    let count = clusters.iter().max().map_or(0, |most| most + 1);
    println!("{count} communities, modularity {:.4}", found.modularity);
    for cluster in 0..count {
        let members: Vec<usize> = (0..34).filter(|&member| clusters[member] == cluster).collect();
        println!("community {cluster}: {members:?}");
    }
    let path = std::env::args().nth(1).map_or_else(|| std::env::temp_dir().join("karate.svg"), Into::into);
    std::fs::write(&path, draw(&clusters)?)?;
    println!("drawn to {}", path.display());
    Ok(())
}

/// Members on a circle, with the members of a community next to each other.
fn draw(clusters: &[usize]) -> Result<String, std::fmt::Error> {
    let mut order: Vec<usize> = (0..clusters.len()).collect();
    order.sort_by_key(|&member| (clusters[member], member));
    let mut place = vec![(0.0, 0.0); clusters.len()];
    for (at, &member) in order.iter().enumerate() {
        let angle = std::f64::consts::TAU * at as f64 / order.len() as f64;
        place[member] = (300.0 + 260.0 * angle.cos(), 300.0 + 260.0 * angle.sin());
    }
    let mut svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 600 600\">\n".to_owned();
    for (a, b) in KARATE {
        let ((x1, y1), (x2, y2)) = (place[a as usize], place[b as usize]);
        let inside = clusters[a as usize] == clusters[b as usize];
        let colour = if inside { COLOURS[clusters[a as usize] % COLOURS.len()] } else { "#cccccc" };
        writeln!(svg, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>")?;
    }
    for (member, &(x, y)) in place.iter().enumerate() {
        let colour = COLOURS[clusters[member] % COLOURS.len()];
        writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"13\" fill=\"{colour}\"/>")?;
        let style = "font-size=\"12\" fill=\"white\" text-anchor=\"middle\" dominant-baseline=\"central\"";
        writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{member}</text>")?;
    }
    Ok(svg + "</svg>\n")
}

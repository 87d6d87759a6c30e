//! The shortest path across a grid with walls. `cargo run -p hipgraph --example shortest_path`

use hipgraph::{Graph, GraphOptions, ResourceHandle, Vertex};

/// `#` is a wall; a digit is the cost of entering the cell.
const GRID: [&str; 8] =
    ["1111#11111", "1#11#11#11", "1#111119#1", "1####1#9#1", "1111#1#9#1", "##11#1#1#1", "1111111#11", "1#####111#"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    hip::sim_if_no_gpu()?;
    println!("engine: {}", hipgraph::reference_if_missing()?);
    let handle = ResourceHandle::new()?;
    let width = GRID[0].len();
    let cost = |at: usize| {
        GRID[at / width].as_bytes()[at % width]
            .is_ascii_digit()
            .then(|| f32::from(GRID[at / width].as_bytes()[at % width] - b'0'))
    };
    let (mut from, mut to, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    let cells = width * GRID.len();
    for at in (0..cells).filter(|&at| cost(at).is_some()) {
        let right = (at % width + 1 < width).then_some(at + 1);
        let left = (at % width > 0).then(|| at - 1);
        let (down, up) = ((at + width < cells).then_some(at + width), at.checked_sub(width));
        for next in [right, left, down, up].into_iter().flatten() {
            if let Some(cost) = cost(next) {
                from.push(at as i32);
                to.push(next as i32);
                costs.push(cost);
            }
        }
    }
    let graph = Graph::from_weighted_edges(&handle, &from, &to, &costs, GraphOptions::directed())?;
    let found = graph.sssp(0, None)?;
    let (vertices, distances, before) =
        (found.vertices.to_vec()?, found.distances.to_vec()?, found.predecessors.to_vec()?);
    // Rows are in the engine's order: look vertices up by name.
    let row = |vertex: i32| vertices.iter().position(|other| *other == vertex);
    let goal = (width - 1) as i32;
    let Some(end) = row(goal) else { return Err("the goal is a wall".into()) };
    let mut drawn: Vec<Vec<u8>> = GRID.iter().map(|line| line.bytes().collect()).collect();
    let mut at = goal;
    while at != i32::NONE {
        drawn[at as usize / width][at as usize % width] = b'*';
        at = row(at).map_or(i32::NONE, |row| before[row]);
    }
    for line in drawn {
        println!("{}", String::from_utf8_lossy(&line));
    }
    println!("cost from the left to the right corner: {}", distances[end]);
    assert_eq!(distances[end], 13.0);
    Ok(())
}

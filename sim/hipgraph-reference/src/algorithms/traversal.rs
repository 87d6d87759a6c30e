//! Shortest paths: breadth-first search and Dijkstra's algorithm.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::graph::{Graph, Result, invalid};

/// Distances and predecessors.
#[derive(Debug, Clone, PartialEq)]
pub struct Paths<D> {
    /// The distance of each vertex; `None` if it was not reached.
    pub distances: Vec<Option<D>>,
    /// The previous vertex on a shortest path; `None` for a source and for a vertex that was not reached.
    pub predecessors: Vec<Option<usize>>,
}

/// The number of edges from the nearest source, up to `limit`.
///
/// # Errors
/// Returns an error if there is no source.
pub fn bfs(graph: &Graph, sources: &[usize], limit: usize) -> Result<Paths<usize>> {
    if sources.is_empty() {
        return Err(invalid("breadth-first search needs at least one source"));
    }
    let mut found = Paths { distances: vec![None; graph.len()], predecessors: vec![None; graph.len()] };
    let mut queue = VecDeque::new();
    for &source in sources {
        if found.distances[source].replace(0).is_none() {
            queue.push_back((source, 0));
        }
    }
    while let Some((from, depth)) = queue.pop_front() {
        if depth >= limit {
            break;
        }
        for &to in graph.out.ends(from) {
            let to = to as usize;
            if found.distances[to].is_none() {
                found.distances[to] = Some(depth + 1);
                found.predecessors[to] = Some(from);
                queue.push_back((to, depth + 1));
            }
        }
    }
    Ok(found)
}

/// A distance in the heap.
#[derive(PartialEq)]
struct Distance(f64);

impl Eq for Distance {}

impl PartialOrd for Distance {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Distance {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The smallest sum of weights from the source, if it is below `cutoff`.
///
/// # Errors
/// Returns an error if the graph has no weights, or a negative one.
pub fn sssp(graph: &Graph, source: usize, cutoff: f64) -> Result<Paths<f64>> {
    if graph.weights.is_none() {
        return Err(invalid("shortest paths by weight need a graph with weights"));
    }
    graph.needs_nonnegative("the shortest paths")?;
    let mut found = Paths { distances: vec![None; graph.len()], predecessors: vec![None; graph.len()] };
    let mut done = vec![false; graph.len()];
    let mut heap = BinaryHeap::from([(Reverse(Distance(0.0)), source)]);
    found.distances[source] = Some(0.0);
    while let Some((Reverse(Distance(distance)), from)) = heap.pop() {
        if std::mem::replace(&mut done[from], true) {
            continue;
        }
        for (to, edge) in graph.out.of(from) {
            let longer = distance + graph.weight(edge);
            if longer < cutoff && found.distances[to].is_none_or(|known| longer < known) {
                found.distances[to] = Some(longer);
                found.predecessors[to] = Some(from);
                heap.push((Reverse(Distance(longer)), to));
            }
        }
    }
    Ok(found)
}

/// The path to each destination from its source, following the predecessors of a search.
pub fn paths(predecessors: &[Option<usize>], distances: &[Option<usize>], to: &[usize]) -> Vec<Vec<usize>> {
    let one = |&destination: &usize| {
        let mut path = Vec::new();
        if distances[destination].is_some() {
            path.push(destination);
            while let Some(before) = path.last().and_then(|&vertex| predecessors[vertex]) {
                path.push(before);
            }
            path.reverse();
        }
        path
    };
    to.iter().map(one).collect()
}

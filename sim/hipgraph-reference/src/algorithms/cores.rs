//! Cores and trusses.

use std::collections::HashMap;

use crate::graph::{Graph, Result, invalid};

/// The edges that count as a vertex's degree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Degree {
    /// Incoming edges.
    In,
    /// Outgoing edges.
    Out,
    /// Both: each edge of an undirected graph counts twice.
    InOut,
}

/// The largest `k` for which each vertex is in the `k`-core. Self-loops do not count; in a multigraph, each of several
/// edges between the same vertices counts.
///
/// # Errors
/// Returns an error if the graph is directed.
pub fn core_numbers(graph: &Graph, degree: Degree) -> Result<Vec<usize>> {
    graph.needs_symmetric("the core number")?;
    let ends = |vertex: usize| graph.out.ends(vertex).iter().map(|end| *end as usize).filter(move |&end| end != vertex);
    let mut degrees: Vec<usize> = (0..graph.len()).map(|vertex| ends(vertex).count()).collect();
    // Vertices by degree; a vertex moves to a lower bucket when a neighbour is removed.
    let most = degrees.iter().copied().max().unwrap_or(0);
    let mut buckets = vec![Vec::new(); most + 1];
    degrees.iter().enumerate().for_each(|(vertex, &degree)| buckets[degree].push(vertex));
    let mut removed = vec![false; graph.len()];
    let mut cores = vec![0; graph.len()];
    let (mut at, mut core) = (0, 0);
    while at <= most {
        let Some(vertex) = buckets[at].pop() else {
            at += 1;
            continue;
        };
        if removed[vertex] || degrees[vertex] != at {
            continue;
        }
        removed[vertex] = true;
        core = core.max(at);
        cores[vertex] = core;
        for to in ends(vertex).filter(|&to| !removed[to]) {
            degrees[to] -= 1;
            buckets[degrees[to]].push(to);
            at = at.min(degrees[to]);
        }
    }
    if degree == Degree::InOut {
        cores.iter_mut().for_each(|core| *core *= 2);
    }
    Ok(cores)
}

/// The edges of the `k`-truss: the largest subgraph in which each edge is part of at least `k - 2` triangles.
///
/// # Errors
/// Returns an error if the graph is directed or a multigraph, or `k` is below 2.
pub fn truss(graph: &Graph, k: usize) -> Result<Vec<usize>> {
    graph.needs_symmetric("the k-truss")?;
    graph.needs_simple("the k-truss")?;
    let needed = k.checked_sub(2).ok_or_else(|| invalid(format!("k is {k}, and must be at least 2 for a k-truss")))?;
    // Each undirected edge once, with its ends in ascending order.
    let mut edges = Vec::new();
    let mut number = HashMap::new();
    for (from, to, _) in graph.all_edges().filter(|(from, to, _)| from < to) {
        number.insert((from, to), edges.len());
        edges.push((from, to));
    }
    let name = |a: usize, b: usize| number[&(a.min(b), a.max(b))];
    let neighbours: Vec<Vec<u32>> = (0..graph.len()).map(|vertex| graph.neighbours(vertex)).collect();
    let common = |a: usize, b: usize| -> Vec<usize> {
        let (a, b) = (&neighbours[a], &neighbours[b]);
        a.iter().filter(|end| b.binary_search(end).is_ok()).map(|end| *end as usize).collect()
    };
    let mut triangles: Vec<usize> = edges.iter().map(|&(a, b)| common(a, b).len()).collect();
    let mut kept = vec![true; edges.len()];
    let mut weak: Vec<usize> = (0..edges.len()).filter(|&edge| triangles[edge] < needed).collect();
    weak.iter().for_each(|&edge| kept[edge] = false);
    let mut gone = vec![false; edges.len()];
    while let Some(edge) = weak.pop() {
        gone[edge] = true;
        let (a, b) = edges[edge];
        for third in common(a, b) {
            let (one, other) = (name(a, third), name(b, third));
            // A triangle is destroyed once, by the first of its edges that is removed.
            if gone[one] || gone[other] {
                continue;
            }
            for side in [one, other] {
                triangles[side] -= 1;
                if kept[side] && triangles[side] < needed {
                    kept[side] = false;
                    weak.push(side);
                }
            }
        }
    }
    let in_truss = |&(from, to, _): &(usize, usize, usize)| from != to && kept[name(from, to)];
    Ok(graph.all_edges().filter(in_truss).map(|(_, _, edge)| edge).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, Options};

    /// A triangle of double edges with a tail that ends in a loop.
    #[test]
    fn each_of_several_edges_counts() {
        let once = [(0, 1), (0, 1), (1, 2), (1, 2), (0, 2), (0, 2), (2, 3)];
        let mut all: Vec<(i64, i64)> = once.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        all.push((3, 3));
        let (sources, destinations) = all.into_iter().unzip();
        let list = EdgeList { sources, destinations, ..EdgeList::default() };
        let options = Options { symmetric: true, multigraph: true, ..Options::default() };
        let graph = Graph::new(list, options).unwrap();
        assert_eq!(core_numbers(&graph, Degree::Out).unwrap(), [4, 4, 4, 1]);
        assert_eq!(core_numbers(&graph, Degree::InOut).unwrap(), [8, 8, 8, 2]);
        assert!(truss(&graph, 2).unwrap_err().message.contains("multigraphs"));
    }
}

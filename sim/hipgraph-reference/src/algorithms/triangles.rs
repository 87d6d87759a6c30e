//! Triangles.

use rayon::prelude::*;

use crate::graph::{Graph, Result};

/// The number of triangles that contain each vertex. Self-loops do not count.
///
/// # Errors
/// Returns an error if the graph is directed or a multigraph.
pub fn counts(graph: &Graph) -> Result<Vec<usize>> {
    graph.needs_symmetric("the triangle count")?;
    graph.needs_simple("the triangle count")?;
    let neighbours: Vec<Vec<u32>> = (0..graph.len()).into_par_iter().map(|vertex| graph.neighbours(vertex)).collect();
    let one = |vertex: usize| {
        let mine = &neighbours[vertex];
        let shared = mine.iter().map(|&other| common(mine, &neighbours[other as usize]));
        shared.sum::<usize>() / 2
    };
    Ok((0..graph.len()).into_par_iter().map(one).collect())
}

/// The number of common elements of two ascending lists.
pub(crate) fn common(a: &[u32], b: &[u32]) -> usize {
    let (mut a, mut b, mut count) = (a, b, 0);
    while let (Some(first), Some(second)) = (a.first(), b.first()) {
        match first.cmp(second) {
            std::cmp::Ordering::Less => a = &a[1..],
            std::cmp::Ordering::Greater => b = &b[1..],
            std::cmp::Ordering::Equal => {
                (a, b) = (&a[1..], &b[1..]);
                count += 1;
            }
        }
    }
    count
}

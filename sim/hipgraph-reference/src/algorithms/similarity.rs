//! Similarity of vertices by the neighbours that they share.

use rayon::prelude::*;

use crate::algorithms::subgraphs::two_hop;
use crate::graph::{Graph, Result, invalid};

/// A similarity coefficient. `a` and `b` are the sums of the weights of two vertices' edges, or their degrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coefficient {
    /// Intersection over union.
    Jaccard,
    /// Twice the intersection over `a + b`.
    Sorensen,
    /// Intersection over the smaller of `a` and `b`.
    Overlap,
}

impl Coefficient {
    fn score(self, a: f64, b: f64, shared: f64, united: f64) -> f64 {
        let (above, below) = match self {
            Coefficient::Jaccard => (shared, united),
            Coefficient::Sorensen => (2.0 * shared, a + b),
            Coefficient::Overlap => (shared, a.min(b)),
        };
        if below <= f64::MIN_POSITIVE { 0.0 } else { above / below }
    }
}

fn check(graph: &Graph, weighted: bool) -> Result<()> {
    graph.needs_symmetric("similarity")?;
    if weighted {
        graph.needs_nonnegative("similarity")?;
        if graph.weights.is_none() {
            return Err(invalid("weighted similarity needs a graph with weights"));
        }
        graph.needs_simple("weighted similarity")?;
    }
    Ok(())
}

/// The similarity of each pair. If weighted, a common neighbour contributes the smaller of its two edge weights to the
/// intersection and the larger to the union.
///
/// # Errors
/// Returns an error if the graph is directed. If weighted, also if it has no weights, a negative one, or is a
/// multigraph.
pub fn pairs(graph: &Graph, pairs: &[(usize, usize)], kind: Coefficient, weighted: bool) -> Result<Vec<f64>> {
    check(graph, weighted)?;
    Ok(pairs.par_iter().map(|&(a, b)| one(graph, a, b, kind, weighted)).collect())
}

fn one(graph: &Graph, a: usize, b: usize, kind: Coefficient, weighted: bool) -> f64 {
    let weight = |edge: usize| if weighted { graph.weight(edge) } else { 1.0 };
    let total = |vertex: usize| graph.out.of(vertex).map(|(_, edge)| weight(edge)).sum::<f64>();
    let (sum_a, sum_b) = (total(a), total(b));
    let (mut shared, mut larger, mut shared_a, mut shared_b) = (0.0, 0.0, 0.0, 0.0);
    let mut others = graph.out.of(b).peekable();
    for (end, edge) in graph.out.of(a) {
        while others.next_if(|(other, _)| *other < end).is_some() {}
        if let Some((_, other)) = others.next_if(|(other, _)| *other == end) {
            let (mine, theirs) = (weight(edge), weight(other));
            shared += mine.min(theirs);
            larger += mine.max(theirs);
            shared_a += mine;
            shared_b += theirs;
        }
    }
    kind.score(sum_a, sum_b, shared, larger + (sum_a - shared_a) + (sum_b - shared_b))
}

/// The similarity of all pairs with a common neighbour: pairs of one of `vertices` and any vertex, or all pairs. With
/// `most`, only the most similar ones.
///
/// # Errors
/// As for [`pairs`].
#[allow(clippy::type_complexity, reason = "pairs and their scores")]
pub fn all_pairs(
    graph: &Graph,
    vertices: Option<&[usize]>,
    kind: Coefficient,
    weighted: bool,
    most: Option<usize>,
) -> Result<(Vec<(usize, usize)>, Vec<f64>)> {
    check(graph, weighted)?;
    let mut near = two_hop(graph, vertices);
    near.retain(|(a, b)| a != b);
    let scores = pairs(graph, &near, kind, weighted)?;
    let Some(most) = most else { return Ok((near, scores)) };
    let mut ranked: Vec<((usize, usize), f64)> = near.into_iter().zip(scores).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked.truncate(most);
    Ok(ranked.into_iter().unzip())
}

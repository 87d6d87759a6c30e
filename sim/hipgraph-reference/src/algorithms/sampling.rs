//! Random walks and neighbourhood sampling.

use std::collections::HashSet;

use crate::graph::{Graph, Result, invalid};
use crate::random::Random;

/// The maximum number of vertices or edges of a result: more would not fit into the memory of most machines.
pub(crate) const MOST_SAMPLED: usize = 1 << 27;

/// How a walk chooses its next edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// All edges are equally likely.
    Uniform,
    /// The probability of an edge is proportional to its weight.
    Biased,
    /// node2vec: an edge back counts `1 / p`, an edge to a neighbour of the previous vertex 1, any other `1 / q`; times
    /// its weight.
    Node2Vec {
        /// The return parameter.
        p: f64,
        /// The in-out parameter.
        q: f64,
    },
}

/// A walk, as its consecutive edges.
pub type Walk = Vec<(usize, usize)>;

/// Walks of at most `length` edges from each start, as the end and the index of each edge. A walk ends early at a
/// vertex without outgoing edges.
///
/// # Errors
/// Returns an error if the length is 0, or a parameter or a weight is invalid.
pub fn walks(graph: &Graph, starts: &[usize], length: usize, step: Step, random: &mut Random) -> Result<Vec<Walk>> {
    if length == 0 {
        return Err(invalid("a random walk has at least one step"));
    }
    if length.saturating_add(1).saturating_mul(starts.len()) > MOST_SAMPLED {
        return Err(invalid(format!(
            "{} walks of {length} steps: the reference engine returns at most {MOST_SAMPLED} vertices",
            starts.len()
        )));
    }
    match step {
        Step::Uniform => {}
        Step::Biased if graph.weights.is_none() => return Err(invalid("a biased walk needs a graph with weights")),
        Step::Node2Vec { p, q } if !(p > 0.0 && q > 0.0) => {
            return Err(invalid(format!("p is {p} and q is {q}: both must be positive")));
        }
        Step::Biased | Step::Node2Vec { .. } => graph.needs_nonnegative("a walk by weight")?,
    }
    let mut walks = Vec::with_capacity(starts.len());
    for &start in starts {
        let (mut walk, mut at, mut before) = (Walk::new(), start, None);
        while walk.len() < length {
            let Some((to, edge)) = next(graph, at, before, step, random) else { break };
            walk.push((to, edge));
            (before, at) = (Some(at), to);
        }
        walks.push(walk);
    }
    Ok(walks)
}

fn next(graph: &Graph, at: usize, before: Option<usize>, step: Step, random: &mut Random) -> Option<(usize, usize)> {
    let edges: Vec<(usize, usize)> = graph.out.of(at).collect();
    let chosen = match step {
        Step::Uniform => (!edges.is_empty()).then(|| random.below(edges.len())),
        Step::Biased => random.weighted(edges.iter().map(|(_, edge)| graph.weight(*edge))),
        Step::Node2Vec { p, q } => {
            let bias = |to: usize| match before {
                None => 1.0,
                Some(before) if to == before => 1.0 / p,
                Some(before) if graph.out.ends(before).binary_search(&(to as u32)).is_ok() => 1.0,
                Some(_) => 1.0 / q,
            };
            random.weighted(edges.iter().map(|&(to, edge)| graph.weight(edge) * bias(to)))
        }
    };
    chosen.map(|at| edges[at])
}

/// The vertices from which a later hop samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prior {
    /// The ends of the last hop's edges.
    Default,
    /// Also the sources of the earlier hops.
    CarryOver,
    /// The ends of the last hop's edges that have not been sources yet.
    Exclude,
}

/// The parameters of neighbourhood sampling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// An edge may be chosen several times.
    pub with_replacement: bool,
    /// Each vertex is a source at most once per hop.
    pub dedupe_sources: bool,
    /// The vertices from which a later hop samples.
    pub prior: Prior,
}

/// A sampled edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampled {
    /// Its source.
    pub from: usize,
    /// Its destination.
    pub to: usize,
    /// Its index in the graph.
    pub edge: usize,
    /// The hop, starting at 0.
    pub hop: usize,
}

/// Samples edges from `starts` on, at most `fan_out[hop]` per vertex in each hop; all edges if that is negative.
///
/// # Errors
/// Returns an error if there would be too many.
pub fn neighbours(
    graph: &Graph,
    starts: &[usize],
    fan_out: &[i32],
    how: Sampling,
    random: &mut Random,
) -> Result<Vec<Sampled>> {
    let mut found = Vec::new();
    let mut frontier = starts.to_vec();
    let mut sources: HashSet<usize> = HashSet::new();
    for (hop, &most) in fan_out.iter().enumerate() {
        if how.dedupe_sources {
            frontier.sort_unstable();
            frontier.dedup();
        }
        let mut ends = Vec::new();
        for &from in &frontier {
            let edges: Vec<(usize, usize)> = graph.out.of(from).collect();
            let wanted = usize::try_from(most).unwrap_or(usize::MAX);
            let chosen = if how.with_replacement && most >= 0 { wanted } else { wanted.min(edges.len()) };
            if !edges.is_empty() && chosen > MOST_SAMPLED - found.len() {
                return Err(invalid(format!(
                    "a fan-out of {most}: the reference engine samples at most {MOST_SAMPLED} edges"
                )));
            }
            let chosen: Vec<usize> = if edges.is_empty() {
                Vec::new()
            } else if how.with_replacement && most >= 0 {
                (0..wanted).map(|_| random.below(edges.len())).collect()
            } else {
                let mut all: Vec<usize> = (0..edges.len()).collect();
                if wanted < all.len() {
                    random.shuffle(&mut all);
                    all.truncate(wanted);
                }
                all
            };
            for at in chosen {
                let (to, edge) = edges[at];
                found.push(Sampled { from, to, edge, hop });
                ends.push(to);
            }
        }
        sources.extend(&frontier);
        match how.prior {
            Prior::Default => frontier = ends,
            Prior::CarryOver => frontier.extend(ends),
            Prior::Exclude => {
                ends.retain(|end| !sources.contains(end));
                frontier = ends;
            }
        }
    }
    Ok(found)
}

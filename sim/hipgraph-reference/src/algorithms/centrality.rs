//! Degrees, and the centralities that are computed by iteration: PageRank, Katz, eigenvector, HITS.

use rayon::prelude::*;

use crate::graph::{Failure, FailureKind, Graph, Result, invalid};

/// The result of an iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Iterated {
    /// One value per vertex.
    pub values: Vec<f64>,
    /// The number of iterations.
    pub iterations: usize,
    /// Whether the last change was below the tolerance.
    pub converged: bool,
}

/// The sum of the weights of each vertex's outgoing edges.
pub fn out_weights(graph: &Graph) -> Vec<f64> {
    (0..graph.len()).map(|vertex| graph.out.of(vertex).map(|(_, edge)| graph.weight(edge)).sum()).collect()
}

fn not_converged(what: &str, iterations: usize) -> Failure {
    Failure {
        kind: FailureKind::NotConverged,
        message: format!("{what} failed to converge in {iterations} iterations"),
    }
}

fn tolerance(epsilon: f64) -> Result<()> {
    if epsilon >= 0.0 { Ok(()) } else { Err(invalid(format!("the tolerance is {epsilon}, and must be at least 0"))) }
}

/// One value per vertex: the sum over its incoming edges of `value(source) * weight(edge)`.
fn pull(graph: &Graph, values: &[f64], weight: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
    let one = |vertex: usize| {
        let term = |(from, edge): (usize, usize)| values[from] * weight(edge);
        graph.incoming.of(vertex).map(term).sum()
    };
    (0..graph.len()).into_par_iter().map(one).collect()
}

fn difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
}

/// The parameters of [`pagerank`].
#[derive(Debug, Clone, Default)]
pub struct PageRank {
    /// The probability of following an edge, 0 to 1.
    pub alpha: f64,
    /// The iteration ends when the sum of the changes is smaller.
    pub epsilon: f64,
    /// The maximum number of iterations.
    pub max_iterations: usize,
    /// The sums of the outgoing weights, if already known.
    pub out_weights: Option<Vec<f64>>,
    /// The initial values; scaled to a sum of 1.
    pub initial: Option<Vec<f64>>,
    /// The personalization: vertices and their share of the jumps, scaled to a sum of 1.
    pub personalization: Option<(Vec<usize>, Vec<f64>)>,
}

/// PageRank. A vertex without outgoing weight distributes its rank to all vertices, or according to the
/// personalization.
///
/// # Errors
/// Returns an error if a parameter or a weight is invalid.
pub fn pagerank(graph: &Graph, options: &PageRank) -> Result<Iterated> {
    let &PageRank { alpha, epsilon, max_iterations, .. } = options;
    let count = graph.len();
    if !(0.0..=1.0).contains(&alpha) {
        return Err(invalid(format!("alpha is {alpha}, and must be between 0 and 1")));
    }
    tolerance(epsilon)?;
    graph.needs_nonnegative("PageRank")?;
    if count == 0 {
        return Ok(Iterated { values: Vec::new(), iterations: 0, converged: true });
    }
    let jump = match &options.personalization {
        Some((vertices, shares)) => Some(personalization(count, vertices, shares)?),
        None => None,
    };
    let mut sums = options.out_weights.clone().unwrap_or_else(|| out_weights(graph));
    // The ranks depend only on the ratios of the weights.
    let mut unit = 1.0;
    if options.out_weights.is_none() && sums.contains(&f64::INFINITY) {
        unit = 2_f64.powi(-64);
        let sum = |vertex| graph.out.of(vertex).map(|(_, edge)| graph.weight(edge) * unit).sum();
        sums = (0..count).map(sum).collect();
    }
    if let Some(sum) = sums.iter().find(|sum| !(0.0..f64::INFINITY).contains(*sum)) {
        return Err(invalid(format!("a sum of outgoing weights is {sum}, and must be at least 0 and finite")));
    }
    let mut ranks = match &options.initial {
        Some(initial) => {
            let sum: f64 = initial.iter().sum();
            if initial.iter().any(|value| *value < 0.0) || sum.is_nan() || sum <= 0.0 {
                return Err(invalid("the initial ranks must be at least 0, and their sum positive"));
            }
            initial.iter().map(|value| value / sum).collect()
        }
        None => vec![1.0 / count as f64; count],
    };
    let mut iterations = 0;
    loop {
        let dangling: f64 = ranks.iter().zip(&sums).filter(|(_, sum)| **sum == 0.0).map(|(rank, _)| rank).sum();
        let shares: Vec<f64> =
            ranks.iter().zip(&sums).map(|(rank, sum)| if *sum == 0.0 { *rank } else { rank / sum }).collect();
        let spread = dangling * alpha + (1.0 - alpha);
        let mut next = pull(graph, &shares, |edge| graph.weight(edge) * unit);
        for (vertex, value) in next.iter_mut().enumerate() {
            *value = alpha * *value + spread * jump.as_ref().map_or(1.0 / count as f64, |jump| jump[vertex]);
        }
        let change = difference(&next, &ranks);
        ranks = next;
        iterations += 1;
        let converged = change < epsilon;
        if converged || iterations >= max_iterations {
            return Ok(Iterated { values: ranks, iterations, converged });
        }
    }
}

fn personalization(count: usize, vertices: &[usize], shares: &[f64]) -> Result<Vec<f64>> {
    let sum: f64 = shares.iter().sum();
    if vertices.is_empty() || vertices.len() != shares.len() {
        return Err(invalid("personalization needs at least one vertex, and one value for each"));
    }
    if shares.iter().any(|share| *share < 0.0) || sum.is_nan() || sum <= 0.0 {
        return Err(invalid("personalization values must be at least 0, and their sum positive"));
    }
    let mut jump = vec![0.0; count];
    let mut seen = vec![false; count];
    for (&vertex, share) in vertices.iter().zip(shares) {
        if std::mem::replace(&mut seen[vertex], true) {
            return Err(invalid("a vertex is in the personalization twice"));
        }
        jump[vertex] = share / sum;
    }
    Ok(jump)
}

/// Katz centrality: the solution of `x = alpha A'x + beta`, scaled to a Euclidean norm of 1 as in cuGraph and rocGRAPH.
/// `betas` has a value for each vertex; both libraries accept such an array and ignore it.
///
/// # Errors
/// Returns an error if a parameter is invalid, the iteration does not converge, or all values are 0.
pub fn katz(
    graph: &Graph,
    betas: Option<&[f64]>,
    alpha: f64,
    beta: f64,
    epsilon: f64,
    most: usize,
) -> Result<Iterated> {
    if !(0.0..=1.0).contains(&alpha) {
        return Err(invalid(format!("alpha is {alpha}, and must be between 0 and 1")));
    }
    tolerance(epsilon)?;
    let mut values = vec![0.0; graph.len()];
    for iterations in 1.. {
        let mut next = pull(graph, &values, |edge| graph.weight(edge));
        for (vertex, value) in next.iter_mut().enumerate() {
            *value = alpha * *value + betas.map_or(beta, |betas| betas[vertex]);
        }
        let change = difference(&next, &values);
        values = next;
        if values.is_empty() {
            return Ok(Iterated { values, iterations, converged: true });
        }
        if change < epsilon {
            let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
            if norm.is_nan() || norm <= 0.0 {
                return Err(invalid("all values are 0: beta must not be 0"));
            }
            values.iter_mut().for_each(|value| *value /= norm);
            return Ok(Iterated { values, iterations, converged: true });
        }
        if iterations >= most {
            break;
        }
    }
    Err(not_converged("Katz centrality", most))
}

/// Eigenvector centrality by power iteration on `A' + I`, with a Euclidean norm of 1. Weights that are small compared
/// to 1 are scaled: the values depend only on their ratios, and the identity matrix would dominate them.
///
/// # Errors
/// Returns an error if a parameter is invalid, or if the iteration does not converge: the values must change by less
/// than `epsilon` per vertex.
pub fn eigenvector(graph: &Graph, epsilon: f64, most: usize) -> Result<Iterated> {
    tolerance(epsilon)?;
    if let Some(weight) = graph.weights.as_ref().and_then(|weights| weights.iter().find(|weight| **weight <= 0.0)) {
        return Err(invalid(format!("eigenvector centrality needs positive weights, and an edge has {weight}")));
    }
    let count = graph.len() as f64;
    let mut values = vec![1.0 / count; graph.len()];
    let most_in = pull(graph, &vec![1.0; graph.len()], |edge| graph.weight(edge)).into_iter().fold(0.0, f64::max);
    let unit = if most_in > 0.0 && most_in < 1.0 { most_in } else { 1.0 };
    for iterations in 1.. {
        let mut next = pull(graph, &values, |edge| graph.weight(edge) / unit);
        next.iter_mut().zip(&values).for_each(|(next, old)| *next += old);
        let norm = next.iter().map(|value| value * value).sum::<f64>().sqrt();
        next.iter_mut().for_each(|value| *value /= norm);
        let change = difference(&next, &values);
        values = next;
        if change < count * epsilon || values.is_empty() {
            return Ok(Iterated { values, iterations, converged: true });
        }
        if iterations >= most {
            break;
        }
    }
    Err(not_converged("eigenvector centrality", most))
}

/// The result of HITS.
#[derive(Debug, Clone, PartialEq)]
pub struct Hits {
    /// The hub value of each vertex.
    pub hubs: Vec<f64>,
    /// The authority value of each vertex.
    pub authorities: Vec<f64>,
    /// The sum of the last changes of the hub values.
    pub change: f64,
    /// The number of iterations.
    pub iterations: usize,
}

/// HITS; weights are not used. With `normalize`, hubs and authorities each have a sum of 1, otherwise a maximum of 1.
///
/// # Errors
/// Returns an error if a parameter is invalid, or if the iteration does not converge: the hub values must change by
/// less than `epsilon` per vertex.
pub fn hits(graph: &Graph, epsilon: f64, most: usize, initial: Option<Vec<f64>>, normalize: bool) -> Result<Hits> {
    tolerance(epsilon)?;
    let count = graph.len();
    let scale = |values: &mut [f64], by: f64| {
        if by > 0.0 {
            values.iter_mut().for_each(|value| *value /= by);
        }
    };
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let mut hubs = match initial {
        Some(mut initial) => {
            if initial.iter().any(|value| *value < 0.0 || value.is_nan()) || sum(&initial) <= 0.0 {
                return Err(invalid("the initial hubs must be at least 0, and their sum positive"));
            }
            let total = sum(&initial);
            scale(&mut initial, total);
            initial
        }
        None => vec![1.0 / count as f64; count],
    };
    for iterations in 1.. {
        let mut authorities = pull(graph, &hubs, |_| 1.0);
        let hub = |vertex: usize| graph.out.of(vertex).map(|(to, _)| authorities[to]).sum();
        let mut next: Vec<f64> = (0..count).into_par_iter().map(hub).collect();
        let (most_hub, most_authority) = (largest(&next), largest(&authorities));
        scale(&mut next, most_hub);
        scale(&mut authorities, most_authority);
        let change = difference(&next, &hubs);
        hubs = next;
        if change < count as f64 * epsilon || count == 0 || graph.edges() == 0 {
            if normalize {
                let (total_hub, total_authority) = (sum(&hubs), sum(&authorities));
                scale(&mut hubs, total_hub);
                scale(&mut authorities, total_authority);
            }
            return Ok(Hits { hubs, authorities, change, iterations });
        }
        if iterations >= most {
            break;
        }
    }
    Err(not_converged("HITS", most))
}

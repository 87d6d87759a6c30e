//! Betweenness centrality of vertices and edges, by Brandes' algorithm. Weights are not used.

use rayon::prelude::*;

use crate::graph::Graph;

/// The shortest paths from one vertex.
struct Paths {
    /// The vertices in order of their distance.
    order: Vec<usize>,
    distance: Vec<u32>,
    /// The number of shortest paths to each vertex, in units of `2^exponents`.
    paths: Vec<f64>,
    /// Multiples of [`STEP`]. Path counts grow exponentially with the distance: those of a grid of 530 by 530 exceed
    /// `f64`.
    exponents: Vec<i32>,
}

/// A count above `LARGE`, which is `2^STEP`, is rescaled.
const STEP: i32 = 512;
const LARGE: f64 = f64::from_bits((1023 + STEP as u64) << 52);

/// `value * 2^exponent`.
fn scaled(value: f64, exponent: i32) -> f64 {
    if exponent == 0 { value } else { value * 2_f64.powi(exponent) }
}

impl Paths {
    fn from(graph: &Graph, source: usize) -> Paths {
        let mut found = Paths {
            order: vec![source],
            distance: vec![u32::MAX; graph.len()],
            paths: vec![0.0; graph.len()],
            exponents: vec![0; graph.len()],
        };
        found.distance[source] = 0;
        found.paths[source] = 1.0;
        let mut at = 0;
        while at < found.order.len() {
            let from = found.order[at];
            at += 1;
            for (to, _) in graph.out.of(from) {
                if found.distance[to] == u32::MAX {
                    found.distance[to] = found.distance[from] + 1;
                    found.order.push(to);
                }
                if found.distance[to] == found.distance[from] + 1 {
                    found.add(from, to);
                }
            }
        }
        found
    }

    /// Adds the paths to `from` to the paths to `to`.
    fn add(&mut self, from: usize, to: usize) {
        let (paths, exponent) = (self.paths[from], self.exponents[from]);
        if self.paths[to] == 0.0 {
            self.exponents[to] = exponent;
        } else if exponent > self.exponents[to] {
            self.paths[to] = scaled(self.paths[to], self.exponents[to] - exponent);
            self.exponents[to] = exponent;
        }
        self.paths[to] += scaled(paths, exponent - self.exponents[to]);
        if self.paths[to] > LARGE {
            self.paths[to] = scaled(self.paths[to], -STEP);
            self.exponents[to] += STEP;
        }
    }

    /// The share of the paths to `to` that go through `from`.
    fn share(&self, from: usize, to: usize) -> f64 {
        scaled(self.paths[from] / self.paths[to], self.exponents[from] - self.exponents[to])
    }

    /// The dependency of each vertex: the share of the paths that pass it. Calls `edge` with that of each edge.
    fn dependencies(&self, graph: &Graph, mut edge: impl FnMut(usize, f64)) -> Vec<f64> {
        let mut passing = vec![0.0; graph.len()];
        for &from in self.order.iter().rev() {
            for (to, at) in graph.out.of(from) {
                if self.distance[to] == self.distance[from] + 1 {
                    let share = self.share(from, to) * (1.0 + passing[to]);
                    passing[from] += share;
                    edge(at, share);
                }
            }
        }
        passing
    }
}

fn add(mut a: Vec<f64>, b: Vec<f64>) -> Vec<f64> {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}

/// Sums one vector per source. Blocks of sources are summed in order, so the result is the same on every machine.
fn over_sources(sources: &[usize], len: usize, one: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
    let block = sources.len().div_ceil(64).max(1);
    let sums: Vec<Vec<f64>> = sources
        .par_chunks(block)
        .map(|chunk| {
            let mut sum = vec![0.0; len];
            chunk.iter().for_each(|&source| one(source, &mut sum));
            sum
        })
        .collect();
    sums.into_iter().reduce(add).unwrap_or_else(|| vec![0.0; len])
}

/// Betweenness of the vertices over paths from `sources`, scaled like cuGraph 26.10. With all vertices as sources it is
/// Freeman's definition, with each undirected path counted once. With fewer sources the sum is extrapolated to all; for
/// a source, to all others. rocGRAPH 1.0.0b1 extrapolates by the number of vertices over the number of sources, and not
/// at all in a directed graph without `normalized`.
pub fn vertices(graph: &Graph, sources: &[usize], normalized: bool, endpoints: bool) -> Vec<f64> {
    let mut values = over_sources(sources, graph.len(), |source, sum| {
        let paths = Paths::from(graph, source);
        let passing = paths.dependencies(graph, |_, _| {});
        for &vertex in &paths.order[1..] {
            sum[vertex] += passing[vertex] + if endpoints { 1.0 } else { 0.0 };
        }
        if endpoints {
            sum[source] += (paths.order.len() - 1) as f64;
        }
    });
    let count = graph.len() as f64 - if endpoints { 0.0 } else { 1.0 };
    let used = sources.len() as f64;
    let twice = if graph.symmetric { 2.0 } else { 1.0 };
    let (other, source) = if endpoints {
        let scale = if normalized { used * (count - 1.0) } else { used * twice / count };
        (scale, scale)
    } else if normalized {
        (used * (count - 1.0), (used - 1.0) * (count - 1.0))
    } else {
        (used / count * twice, (used - 1.0) / count * twice)
    };
    let mut is_source = vec![false; graph.len()];
    sources.iter().for_each(|&vertex| is_source[vertex] = true);
    for (value, is_source) in values.iter_mut().zip(is_source) {
        let scale = if is_source { source } else { other };
        // In so small a graph, no path passes through a vertex.
        *value = if *value == 0.0 { 0.0 } else { *value / scale };
    }
    values
}

/// Betweenness of the edges over paths from `sources`, in the order of the outgoing rows. In an undirected graph each
/// direction of an edge has its own value: half of the paths that pass the edge in that direction.
pub fn edges(graph: &Graph, sources: &[usize], normalized: bool) -> Vec<f64> {
    let mut values = over_sources(sources, graph.edges(), |source, sum| {
        Paths::from(graph, source).dependencies(graph, |edge, share| sum[edge] += share);
    });
    let count = graph.len() as f64;
    let mut scale = match (normalized, graph.symmetric) {
        (true, _) => count * (count - 1.0),
        (false, true) => 2.0,
        (false, false) => 1.0,
    };
    if (sources.len() as f64) < count {
        scale *= sources.len() as f64 / count;
    }
    if graph.len() > 1 {
        values.iter_mut().for_each(|value| *value /= scale);
    }
    values
}

//! Communities: Louvain, Leiden, ensemble clustering, and quality measures of clusterings.

use crate::graph::{Graph, Result, invalid};
use crate::random::Random;

/// A clustering and its modularity.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustering {
    /// The cluster of each vertex. Clusters are numbered from 0 in the order of their first vertices.
    pub clusters: Vec<usize>,
    /// Its modularity.
    pub modularity: f64,
}

/// A weighted undirected graph whose vertices are clusters of another graph. An edge is in the lists of both its ends.
struct Level {
    neighbours: Vec<Vec<(usize, f64)>>,
    /// Twice the weight of the edges inside each vertex.
    inside: Vec<f64>,
    /// The sum of the weights of each vertex's edges. Those inside it count twice.
    strength: Vec<f64>,
    total: f64,
}

impl Level {
    fn of(graph: &Graph, weight: impl Fn(usize) -> f64) -> Level {
        let mut neighbours = vec![Vec::new(); graph.len()];
        let mut inside = vec![0.0; graph.len()];
        for (from, to, edge) in graph.all_edges() {
            // Both ends of a self-loop are at its vertex, and it is listed once.
            if from == to { inside[from] += 2.0 * weight(edge) } else { neighbours[from].push((to, weight(edge))) }
        }
        Level::new(neighbours, inside)
    }

    fn new(neighbours: Vec<Vec<(usize, f64)>>, inside: Vec<f64>) -> Level {
        let of = |(list, inside): (&Vec<(usize, f64)>, &f64)| list.iter().map(|edge| edge.1).sum::<f64>() + inside;
        let strength: Vec<f64> = neighbours.iter().zip(&inside).map(of).collect();
        let total = strength.iter().sum();
        Level { neighbours, inside, strength, total }
    }

    fn len(&self) -> usize {
        self.inside.len()
    }

    /// The graph whose vertices are the clusters.
    fn merged(&self, clusters: &[usize], count: usize) -> Level {
        let mut inside = vec![0.0; count];
        let mut sums: Vec<std::collections::BTreeMap<usize, f64>> = vec![Default::default(); count];
        for (vertex, &cluster) in clusters.iter().enumerate() {
            inside[cluster] += self.inside[vertex];
            for &(to, weight) in &self.neighbours[vertex] {
                match clusters[to] {
                    same if same == cluster => inside[cluster] += weight,
                    other => *sums[cluster].entry(other).or_default() += weight,
                }
            }
        }
        Level::new(sums.into_iter().map(|sums| sums.into_iter().collect()).collect(), inside)
    }

    fn modularity(&self, clusters: &[usize], resolution: f64) -> f64 {
        if self.total <= 0.0 {
            return 0.0;
        }
        let count = clusters.iter().max().map_or(0, |most| most + 1);
        let (mut inside, mut strength) = (vec![0.0; count], vec![0.0; count]);
        for (vertex, &cluster) in clusters.iter().enumerate() {
            strength[cluster] += self.strength[vertex];
            inside[cluster] += self.inside[vertex];
            let same = self.neighbours[vertex].iter().filter(|(to, _)| clusters[*to] == cluster);
            inside[cluster] += same.map(|(_, weight)| weight).sum::<f64>();
        }
        let one = |(inside, strength): (&f64, &f64)| {
            inside / self.total - resolution * (strength / self.total) * (strength / self.total)
        };
        inside.iter().zip(&strength).map(one).sum()
    }

    /// Moves single vertices to the neighbouring cluster with the largest gain, or to a cluster of their own, until no
    /// vertex moves.
    fn local_moves(&self, clusters: &mut [usize], resolution: f64, order: &[usize]) -> bool {
        let mut strength = vec![0.0; self.len()];
        clusters.iter().zip(&self.strength).for_each(|(&cluster, weight)| strength[cluster] += weight);
        let mut sizes = vec![0_usize; self.len()];
        clusters.iter().for_each(|&cluster| sizes[cluster] += 1);
        let mut empty: Vec<usize> = (0..self.len()).filter(|&cluster| sizes[cluster] == 0).collect();
        let mut towards = vec![0.0; self.len()];
        let (mut any, mut moved) = (false, true);
        while moved {
            moved = false;
            for &vertex in order {
                let from = clusters[vertex];
                let mut near = vec![from];
                for &(to, weight) in &self.neighbours[vertex] {
                    let cluster = clusters[to];
                    if towards[cluster] == 0.0 && cluster != from {
                        near.push(cluster);
                    }
                    towards[cluster] += weight;
                }
                strength[from] -= self.strength[vertex];
                let gain = |cluster: usize| {
                    towards[cluster] - resolution * strength[cluster] * self.strength[vertex] / self.total
                };
                let (mut best, mut most) = (from, gain(from));
                for &cluster in &near[1..] {
                    // A move must gain more than the rounding error: otherwise vertices could swap for ever.
                    if gain(cluster) > most + 1e-12 * self.total {
                        (best, most) = (cluster, gain(cluster));
                    }
                }
                // A cluster of its own is better than one to which it has too few edges.
                if most < -1e-12 * self.total && sizes[from] > 1 {
                    best = empty.pop().unwrap_or(best);
                }
                strength[best] += self.strength[vertex];
                near.iter().for_each(|&cluster| towards[cluster] = 0.0);
                if best != from {
                    clusters[vertex] = best;
                    sizes[best] += 1;
                    sizes[from] -= 1;
                    if sizes[from] == 0 {
                        empty.push(from);
                    }
                    (moved, any) = (true, true);
                }
            }
        }
        any
    }

    /// Leiden's refinement: merges single vertices of a cluster into well-connected parts of it, at random with a
    /// probability by their gain.
    fn refined(&self, clusters: &[usize], resolution: f64, theta: f64, random: &mut Random) -> Vec<usize> {
        let mut parts: Vec<usize> = (0..self.len()).collect();
        let mut strength = self.strength.clone();
        let mut alone = vec![true; self.len()];
        let mut whole = vec![0.0; self.len()];
        clusters.iter().zip(&self.strength).for_each(|(&cluster, weight)| whole[cluster] += weight);
        // The weight between a part and the rest of its cluster.
        let within = |vertex: usize| -> f64 {
            let same = self.neighbours[vertex].iter().filter(|(to, _)| clusters[*to] == clusters[vertex]);
            same.map(|(_, weight)| weight).sum()
        };
        let mut outside: Vec<f64> = (0..self.len()).map(within).collect();
        let well = |cut: f64, strength: f64, whole: f64| cut >= resolution * strength * (whole - strength) / self.total;
        let mut order: Vec<usize> = (0..self.len()).collect();
        random.shuffle(&mut order);
        for vertex in order {
            let cluster = clusters[vertex];
            if !alone[vertex] || !well(outside[vertex], self.strength[vertex], whole[cluster]) {
                continue;
            }
            let mut towards: std::collections::BTreeMap<usize, f64> = Default::default();
            for &(to, weight) in self.neighbours[vertex].iter().filter(|(to, _)| clusters[*to] == cluster) {
                *towards.entry(parts[to]).or_default() += weight;
            }
            let gains: Vec<(usize, f64, f64)> = towards
                .into_iter()
                .filter(|(part, _)| *part != parts[vertex] && well(outside[*part], strength[*part], whole[cluster]))
                .map(|(part, weight)| {
                    let gain = weight - resolution * strength[part] * self.strength[vertex] / self.total;
                    (part, weight, gain)
                })
                .filter(|(.., gain)| *gain >= 0.0)
                .collect();
            let most = gains.iter().map(|gain| gain.2).fold(0.0, f64::max);
            // The modularity grows by twice the gain over the total weight.
            let likely = gains.iter().map(|gain| (2.0 * (gain.2 - most) / (theta * self.total)).exp());
            if let Some(at) = random.weighted(likely) {
                let (part, weight, _) = gains[at];
                parts[vertex] = part;
                strength[part] += self.strength[vertex];
                outside[part] += outside[vertex] - 2.0 * weight;
                (alone[vertex], alone[part]) = (false, false);
            }
        }
        parts
    }
}

/// Numbers clusters from 0 in the order of their first vertices. Returns their number.
fn renumber(clusters: &mut [usize]) -> usize {
    let mut names = vec![usize::MAX; clusters.iter().max().map_or(0, |most| most + 1)];
    let mut count = 0;
    for cluster in clusters {
        if names[*cluster] == usize::MAX {
            names[*cluster] = count;
            count += 1;
        }
        *cluster = names[*cluster];
    }
    count
}

fn check(graph: &Graph, what: &str, resolution: f64) -> Result<()> {
    graph.needs_symmetric(what)?;
    graph.needs_nonnegative(what)?;
    if resolution > 0.0 {
        return Ok(());
    }
    Err(invalid(format!("the resolution is {resolution}, and must be positive")))
}

/// Louvain clustering, which maximises the modularity. Merges clusters to vertices at most `levels` times, and ends
/// when the modularity grows by `threshold` or less.
///
/// # Errors
/// Returns an error if the graph is directed, has negative weights, or a parameter is invalid.
/// If the graph is directed, has negative weights, or a parameter is invalid.
pub fn louvain(graph: &Graph, levels: usize, threshold: f64, resolution: f64) -> Result<Clustering> {
    check(graph, "Louvain", resolution)?;
    let base = Level::of(graph, |edge| graph.weight(edge));
    Ok(louvain_of(&base, levels, threshold, resolution, None))
}

fn louvain_of(
    base: &Level,
    levels: usize,
    threshold: f64,
    resolution: f64,
    mut random: Option<&mut Random>,
) -> Clustering {
    let mut clusters: Vec<usize> = (0..base.len()).collect();
    let mut best = base.modularity(&clusters, resolution);
    let mut merged;
    let mut level = base;
    for _ in 0..levels {
        let mut moves: Vec<usize> = (0..level.len()).collect();
        let mut order = moves.clone();
        if let Some(random) = &mut random {
            random.shuffle(&mut order);
        }
        if level.total <= 0.0 || !level.local_moves(&mut moves, resolution, &order) {
            break;
        }
        let count = renumber(&mut moves);
        let next: Vec<usize> = clusters.iter().map(|&cluster| moves[cluster]).collect();
        let modularity = base.modularity(&next, resolution);
        if modularity - best <= threshold {
            break;
        }
        (best, clusters) = (modularity, next);
        merged = level.merged(&moves, count);
        level = &merged;
    }
    renumber(&mut clusters);
    Clustering { modularity: base.modularity(&clusters, resolution), clusters }
}

/// Leiden clustering: like Louvain, with connected clusters. `theta` is the temperature of the refinement, which merges
/// a vertex into a part with a probability proportional to `exp(growth of the modularity / theta)`. cuGraph and
/// rocGRAPH accept `theta` and always use 1.
///
/// # Errors
/// As for [`louvain`].
/// As [`louvain`].
pub fn leiden(graph: &Graph, levels: usize, resolution: f64, theta: f64, random: &mut Random) -> Result<Clustering> {
    check(graph, "Leiden", resolution)?;
    if theta.is_nan() || theta <= 0.0 {
        return Err(invalid(format!("theta is {theta}, and must be positive")));
    }
    let base = Level::of(graph, |edge| graph.weight(edge));
    let mut level = Level::of(graph, |edge| graph.weight(edge));
    // The vertex of the current level that contains each vertex of the graph.
    let mut place: Vec<usize> = (0..graph.len()).collect();
    let mut clusters: Vec<usize> = (0..graph.len()).collect();
    for _ in 0..levels {
        let mut order: Vec<usize> = (0..level.len()).collect();
        random.shuffle(&mut order);
        if level.total <= 0.0 || !level.local_moves(&mut clusters, resolution, &order) {
            break;
        }
        let mut parts = level.refined(&clusters, resolution, theta, random);
        let count = renumber(&mut parts);
        let mut of_part = vec![0; count];
        parts.iter().zip(&clusters).for_each(|(&part, &cluster)| of_part[part] = cluster);
        renumber(&mut of_part);
        place.iter_mut().for_each(|place| *place = parts[*place]);
        level = level.merged(&parts, count);
        clusters = of_part;
    }
    let mut found: Vec<usize> = place.iter().map(|&place| clusters[place]).collect();
    renumber(&mut found);
    Ok(Clustering { modularity: base.modularity(&found, resolution), clusters: found })
}

/// The parameters of [`ensemble`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ensemble {
    /// The weight of an edge whose ends are never in the same cluster.
    pub min_weight: f64,
    /// The number of clusterings.
    pub size: usize,
    /// As for [`louvain`].
    pub levels: usize,
    /// As for [`louvain`].
    pub threshold: f64,
    /// As for [`louvain`].
    pub resolution: f64,
}

/// Ensemble clustering (ECG): Louvain with edge weights that reflect how often single-level clusterings, in random
/// vertex orders, put the ends of an edge into the same cluster. The modularity is computed with the graph's own
/// weights.
///
/// # Errors
/// As for [`louvain`], and if the ensemble is empty or a weight is negative.
/// As [`louvain`], and if the ensemble is empty or a weight negative.
pub fn ensemble(graph: &Graph, options: Ensemble, random: &mut Random) -> Result<Clustering> {
    let Ensemble { min_weight, size, levels, threshold, resolution } = options;
    check(graph, "ensemble clustering", resolution)?;
    if min_weight.is_nan() || min_weight < 0.0 || size == 0 {
        return Err(invalid(format!(
            "the least weight is {min_weight} and the ensemble has {size} clusterings: at least 0 and 1"
        )));
    }
    let base = Level::of(graph, |edge| graph.weight(edge));
    let mut together = vec![0_usize; graph.edges()];
    for _ in 0..size {
        let found = louvain_of(&base, 1, threshold, resolution, Some(random)).clusters;
        for (from, to, edge) in graph.all_edges() {
            together[edge] += usize::from(found[from] == found[to]);
        }
    }
    let weight = |edge: usize| min_weight + (graph.weight(edge) - min_weight) * together[edge] as f64 / size as f64;
    let found = louvain_of(&Level::of(graph, weight), levels, threshold, resolution, Some(random));
    Ok(Clustering { modularity: base.modularity(&found.clusters, resolution), clusters: found.clusters })
}

/// The modularity of a clustering.
///
/// # Errors
/// Returns an error if the graph is directed.
pub fn modularity(graph: &Graph, clusters: &[usize], resolution: f64) -> Result<f64> {
    graph.needs_symmetric("modularity")?;
    Ok(Level::of(graph, |edge| graph.weight(edge)).modularity(clusters, resolution))
}

/// The weight of the edges between clusters, counting each undirected edge once.
///
/// # Errors
/// Returns an error if the graph is directed.
pub fn edge_cut(graph: &Graph, clusters: &[usize]) -> Result<f64> {
    graph.needs_symmetric("the edge cut")?;
    let cut = graph.all_edges().filter(|(from, to, _)| clusters[*from] != clusters[*to]);
    Ok(cut.map(|(.., edge)| graph.weight(edge)).sum::<f64>() / 2.0)
}

/// The sum over the clusters of the weight of the edges that leave the cluster, divided by its number of vertices.
///
/// # Errors
/// Returns an error if the graph is directed.
pub fn ratio_cut(graph: &Graph, clusters: &[usize]) -> Result<f64> {
    graph.needs_symmetric("the ratio cut")?;
    let count = clusters.iter().max().map_or(0, |most| most + 1);
    let (mut cut, mut size) = (vec![0.0; count], vec![0.0; count]);
    clusters.iter().for_each(|&cluster| size[cluster] += 1.0);
    for (from, _, edge) in graph.all_edges().filter(|(from, to, _)| clusters[*from] != clusters[*to]) {
        cut[clusters[from]] += graph.weight(edge);
    }
    Ok(cut.iter().zip(&size).filter(|(_, size)| **size > 0.0).map(|(cut, size)| cut / size).sum())
}

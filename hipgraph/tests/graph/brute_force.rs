//! Algorithms by their definitions: adjacency matrices, enumeration of paths and sets. No code of the engine's is used.

/// A graph as a matrix of weights; `None` is no edge.
pub(crate) struct Matrix {
    pub(crate) n: usize,
    pub(crate) edges: Vec<Vec<Option<f64>>>,
}

impl Matrix {
    pub(crate) fn new(n: usize, edges: &[(i32, i32, f64)], both: bool) -> Matrix {
        let mut matrix = Matrix { n, edges: vec![vec![None; n]; n] };
        for &(a, b, weight) in edges {
            matrix.edges[a as usize][b as usize] = Some(weight);
            if both {
                matrix.edges[b as usize][a as usize] = Some(weight);
            }
        }
        matrix
    }

    pub(crate) fn has(&self, a: usize, b: usize) -> bool {
        self.edges[a][b].is_some()
    }

    /// Distances in edges, by powers of the adjacency matrix: the first power with a walk.
    pub(crate) fn hops(&self, from: usize) -> Vec<Option<usize>> {
        let mut found = vec![None; self.n];
        let mut reached: Vec<bool> = (0..self.n).map(|v| v == from).collect();
        for power in 0..=self.n {
            for v in 0..self.n {
                if reached[v] && found[v].is_none() {
                    found[v] = Some(power);
                }
            }
            reached = (0..self.n).map(|v| (0..self.n).any(|u| reached[u] && self.has(u, v))).collect();
        }
        found
    }

    /// Smallest sums of weights, by Bellman and Ford.
    pub(crate) fn sums(&self, from: usize) -> Vec<f64> {
        let mut sums = vec![f64::INFINITY; self.n];
        sums[from] = 0.0;
        for _ in 0..self.n {
            for a in 0..self.n {
                for b in 0..self.n {
                    if let Some(weight) = self.edges[a][b] {
                        sums[b] = sums[b].min(sums[a] + weight);
                    }
                }
            }
        }
        sums
    }

    /// All shortest paths between two vertices, one by one.
    fn paths(&self, from: usize, to: usize) -> Vec<Vec<usize>> {
        let Some(length) = self.hops(from)[to] else { return Vec::new() };
        let mut paths = vec![vec![from]];
        for _ in 0..length {
            paths = paths
                .into_iter()
                .flat_map(|path| {
                    let last = path[path.len() - 1];
                    let next = (0..self.n).filter(move |&v| self.has(last, v));
                    next.map(move |v| [&path[..], &[v]].concat()).collect::<Vec<_>>()
                })
                .collect();
        }
        paths.retain(|path| path[path.len() - 1] == to);
        paths
    }

    /// The share of shortest paths between others that pass each vertex.
    pub(crate) fn betweenness(&self, undirected: bool) -> Vec<f64> {
        let mut sums = vec![0.0; self.n];
        for from in 0..self.n {
            for to in (0..self.n).filter(|&to| to != from) {
                let paths = self.paths(from, to);
                for path in &paths {
                    for &inside in &path[1..path.len() - 1] {
                        sums[inside] += 1.0 / paths.len() as f64 / if undirected { 2.0 } else { 1.0 };
                    }
                }
            }
        }
        sums
    }

    pub(crate) fn triangles(&self) -> Vec<i32> {
        let mut counts = vec![0; self.n];
        for a in 0..self.n {
            for b in a + 1..self.n {
                for c in b + 1..self.n {
                    if self.has(a, b) && self.has(b, c) && self.has(a, c) {
                        [a, b, c].iter().for_each(|&v| counts[v] += 1);
                    }
                }
            }
        }
        counts
    }

    /// Removes edges until each is part of `k - 2` triangles.
    pub(crate) fn truss(&self, k: usize) -> Vec<(i32, i32)> {
        let mut kept: Vec<(usize, usize)> = (0..self.n)
            .flat_map(|a| (0..self.n).map(move |b| (a, b)))
            .filter(|&(a, b)| a != b && self.has(a, b))
            .collect();
        loop {
            let before = kept.clone();
            kept.retain(|&(a, b)| {
                (0..self.n).filter(|&c| before.contains(&(a, c)) && before.contains(&(b, c))).count() + 2 >= k
            });
            if kept.len() == before.len() {
                return kept.into_iter().map(|(a, b)| (a as i32, b as i32)).collect();
            }
        }
    }

    /// The largest `k` for which removing vertices with fewer than `k` edges leaves the vertex.
    pub(crate) fn cores(&self) -> Vec<i32> {
        let mut cores = vec![0; self.n];
        for k in 1..self.n {
            let mut inside = vec![true; self.n];
            loop {
                let degree = |v: usize| (0..self.n).filter(|&u| u != v && inside[u] && self.has(v, u)).count();
                let out: Vec<usize> = (0..self.n).filter(|&v| inside[v] && degree(v) < k).collect();
                if out.is_empty() {
                    break;
                }
                out.into_iter().for_each(|v| inside[v] = false);
            }
            (0..self.n).filter(|&v| inside[v]).for_each(|v| cores[v] = k as i32);
        }
        cores
    }

    /// PageRank by solving its linear system, with Gaussian elimination.
    pub(crate) fn pagerank(&self, alpha: f64) -> Vec<f64> {
        let n = self.n;
        let out: Vec<f64> = (0..n).map(|a| self.edges[a].iter().flatten().sum()).collect();
        let mut rows: Vec<Vec<f64>> = (0..n)
            .map(|b| {
                let mut row: Vec<f64> = (0..n)
                    .map(|a| {
                        let share =
                            if out[a] == 0.0 { 1.0 / n as f64 } else { self.edges[a][b].unwrap_or(0.0) / out[a] };
                        f64::from(u8::from(a == b)) - alpha * share
                    })
                    .collect();
                row.push((1.0 - alpha) / n as f64);
                row
            })
            .collect();
        for at in 0..n {
            let pivot = (at..n).max_by(|&a, &b| rows[a][at].abs().total_cmp(&rows[b][at].abs())).unwrap();
            rows.swap(at, pivot);
            let top = rows[at].clone();
            for (_, row) in rows.iter_mut().enumerate().filter(|(other, _)| *other != at) {
                let factor = row[at] / top[at];
                row.iter_mut().zip(&top).for_each(|(value, top)| *value -= factor * top);
            }
        }
        (0..n).map(|at| rows[at][n] / rows[at][at]).collect()
    }

    /// Shared and united neighbours of two vertices, weighted by minimum and maximum.
    pub(crate) fn jaccard(&self, a: usize, b: usize, weighted: bool) -> f64 {
        let weight = |v: usize, u: usize| self.edges[v][u].map_or(0.0, |weight| if weighted { weight } else { 1.0 });
        let shared: f64 = (0..self.n).map(|u| weight(a, u).min(weight(b, u))).sum();
        let united: f64 = (0..self.n).map(|u| weight(a, u).max(weight(b, u))).sum();
        if united == 0.0 { 0.0 } else { shared / united }
    }

    /// By definition: the weight inside clusters compared with that of a random graph with the same degrees.
    pub(crate) fn modularity(&self, clusters: &[i32]) -> f64 {
        let strength: Vec<f64> = (0..self.n).map(|v| self.edges[v].iter().flatten().sum()).collect();
        let total: f64 = strength.iter().sum();
        let pairs = (0..self.n).flat_map(|a| (0..self.n).map(move |b| (a, b)));
        let inside = pairs.filter(|&(a, b)| clusters[a] == clusters[b]);
        inside.map(|(a, b)| self.edges[a][b].unwrap_or(0.0) / total - strength[a] * strength[b] / (total * total)).sum()
    }

    /// Returns whether `b` is reached from `a`.
    pub(crate) fn reaches(&self, a: usize, b: usize) -> bool {
        self.hops(a)[b].is_some()
    }
}

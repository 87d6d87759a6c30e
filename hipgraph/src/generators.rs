//! Generators of well-known graphs, with NetworkX's names. They run on the host: hipGRAPH only generates R-MAT graphs
//! ([`generate_rmat`](crate::generate_rmat)).
//!
//! ```
//! use hipgraph::{ResourceHandle, generators};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # hip::sim_if_no_gpu()?;
//! # hipgraph::reference_if_missing()?;
//! let wheel = generators::wheel_graph(5)?.graph(&ResourceHandle::new()?)?;
//! assert_eq!(wheel.degrees(Some(&[0]))?.outgoing.to_vec()?, [4]);
//! # Ok(())
//! # }
//! ```

use crate::error::{Result, invalid};
use crate::graph::{Graph, GraphOptions};
use crate::handle::ResourceHandle;

/// The vertices and edges of an undirected graph on the host; each edge once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeList {
    /// The number of vertices. They are the numbers from 0 on.
    pub vertices: usize,
    /// One end of each edge.
    pub sources: Vec<i32>,
    /// The other end of each edge.
    pub destinations: Vec<i32>,
}

impl EdgeList {
    /// Builds the undirected graph without weights, with scores of `f32`.
    ///
    /// # Errors
    /// If there are no vertices, or the library returns an error.
    pub fn graph(&self, handle: &ResourceHandle) -> Result<Graph<i32, f32>> {
        let (vertices, options) = (self.names(), GraphOptions::undirected());
        Graph::from_vertices_and_edges(handle, &vertices, &self.sources, &self.destinations, options)
    }

    /// Builds the undirected graph without weights, with scores of `f64`.
    ///
    /// # Errors
    /// As [`graph`](Self::graph).
    pub fn graph_f64(&self, handle: &ResourceHandle) -> Result<Graph<i32, f64>> {
        let (vertices, options) = (self.names(), GraphOptions::undirected());
        Graph::from_vertices_and_edges_f64(handle, &vertices, &self.sources, &self.destinations, options)
    }

    /// Returns the number of edges.
    pub fn edges(&self) -> usize {
        self.sources.len()
    }

    fn names(&self) -> Vec<i32> {
        (0..self.vertices).map(|vertex| vertex as i32).collect()
    }

    /// Adds edges between all vertices of a range.
    fn join_all(&mut self, vertices: std::ops::Range<usize>) {
        let end = vertices.end;
        vertices.for_each(|from| (from + 1..end).for_each(|to| self.join(from, to)));
    }

    /// Adds edges between the neighbours of a range.
    fn join_path(&mut self, vertices: std::ops::Range<usize>) {
        vertices.clone().zip(vertices.skip(1)).for_each(|(from, to)| self.join(from, to));
    }

    fn join(&mut self, from: usize, to: usize) {
        self.sources.push(from as i32);
        self.destinations.push(to as i32);
    }
}

/// Returns a list without edges, with space for them. `None` stands for a number that is too large for `usize`.
fn list(vertices: Option<usize>, edges: Option<usize>) -> Result<EdgeList> {
    let most = i32::MAX as usize;
    let check = |what, count: Option<usize>| match count {
        Some(count) if count <= most => Ok(count),
        Some(count) => Err(invalid(what, count.to_string(), format!("at most {most}"))),
        None => Err(invalid(what, "too large", format!("at most {most}"))),
    };
    let vertices = check("the number of vertices", vertices)?;
    let edges = check("the number of edges", edges)?;
    Ok(EdgeList { vertices, sources: Vec::with_capacity(edges), destinations: Vec::with_capacity(edges) })
}

fn pairs(count: usize) -> Option<usize> {
    // One of the two is even.
    if count % 2 == 0 { (count / 2).checked_mul(count.saturating_sub(1)) } else { count.checked_mul(count / 2) }
}

fn at_least(what: &'static str, count: usize, least: usize) -> Result<()> {
    if count < least { Err(invalid(what, count.to_string(), format!("at least {least}"))) } else { Ok(()) }
}

/// Returns `n` vertices without edges.
///
/// # Errors
/// If the graph is too large for `i32`.
pub fn empty_graph(n: usize) -> Result<EdgeList> {
    list(Some(n), Some(0))
}

/// Returns a path of `n` vertices.
///
/// # Errors
/// If the graph is too large for `i32`.
pub fn path_graph(n: usize) -> Result<EdgeList> {
    let mut path = list(Some(n), Some(n.saturating_sub(1)))?;
    path.join_path(0..n);
    Ok(path)
}

/// Returns a cycle of `n` vertices. NetworkX also makes cycles of two vertices, which are an edge, and of one, which is
/// a self-loop.
///
/// # Errors
/// If `n` is below 3, or the graph is too large for `i32`.
pub fn cycle_graph(n: usize) -> Result<EdgeList> {
    at_least("the number of vertices of a cycle", n, 3)?;
    let mut cycle = list(Some(n), Some(n))?;
    cycle.join_path(0..n);
    cycle.join(n - 1, 0);
    Ok(cycle)
}

/// Returns `n` vertices with all edges between them.
///
/// # Errors
/// If the graph is too large for `i32`.
#[doc(alias = "clique")]
pub fn complete_graph(n: usize) -> Result<EdgeList> {
    let mut complete = list(Some(n), pairs(n))?;
    complete.join_all(0..n);
    Ok(complete)
}

/// Returns vertex 0 with edges to `n` others.
///
/// # Errors
/// If the graph is too large for `i32`.
pub fn star_graph(n: usize) -> Result<EdgeList> {
    let mut star = list(n.checked_add(1), Some(n))?;
    (1..=n).for_each(|leaf| star.join(0, leaf));
    Ok(star)
}

/// Returns vertex 0 with edges to a cycle of the other `n - 1` vertices.
///
/// # Errors
/// If `n` is below 4, or the graph is too large for `i32`.
pub fn wheel_graph(n: usize) -> Result<EdgeList> {
    at_least("the number of vertices of a wheel", n, 4)?;
    let mut wheel = list(Some(n), (n - 1).checked_mul(2))?;
    (1..n).for_each(|rim| wheel.join(0, rim));
    wheel.join_path(1..n);
    wheel.join(n - 1, 1);
    Ok(wheel)
}

/// Returns two paths of `n` vertices, with an edge between each two vertices at the same place.
///
/// # Errors
/// If the graph is too large for `i32`.
pub fn ladder_graph(n: usize) -> Result<EdgeList> {
    let mut ladder = list(n.checked_mul(2), n.checked_mul(3))?;
    ladder.join_path(0..n);
    ladder.join_path(n..2 * n);
    (0..n).for_each(|rung| ladder.join(rung, n + rung));
    Ok(ladder)
}

/// Returns a ladder whose ends are joined: a prism.
///
/// # Errors
/// If `n` is below 3, or the graph is too large for `i32`.
pub fn circular_ladder_graph(n: usize) -> Result<EdgeList> {
    at_least("the number of rungs of a circular ladder", n, 3)?;
    let mut ladder = ladder_graph(n)?;
    ladder.join(n - 1, 0);
    ladder.join(2 * n - 1, n);
    Ok(ladder)
}

/// Returns two complete graphs of `m1` vertices, joined by a path of `m2` more.
///
/// # Errors
/// If `m1` is below 2, or the graph is too large for `i32`.
pub fn barbell_graph(m1: usize, m2: usize) -> Result<EdgeList> {
    at_least("the number of vertices of a bell", m1, 2)?;
    let vertices = m1.checked_mul(2).and_then(|both| both.checked_add(m2));
    let edges = pairs(m1).and_then(|one| one.checked_mul(2)?.checked_add(m2)?.checked_add(1));
    let mut barbell = list(vertices, edges)?;
    barbell.join_all(0..m1);
    barbell.join_path(m1 - 1..m1 + m2 + 1);
    barbell.join_all(m1 + m2..2 * m1 + m2);
    Ok(barbell)
}

/// Returns a complete graph of `m` vertices with a path of `n` more.
///
/// # Errors
/// If `m` is below 2, or the graph is too large for `i32`.
pub fn lollipop_graph(m: usize, n: usize) -> Result<EdgeList> {
    at_least("the number of vertices of the complete graph", m, 2)?;
    let mut lollipop = list(m.checked_add(n), pairs(m).and_then(|all| all.checked_add(n)))?;
    lollipop.join_all(0..m);
    lollipop.join_path(m - 1..m + n);
    Ok(lollipop)
}

/// Returns a cycle of `m` vertices with a path of `n` more.
///
/// # Errors
/// If `m` is below 3, or the graph is too large for `i32`.
pub fn tadpole_graph(m: usize, n: usize) -> Result<EdgeList> {
    at_least("the number of vertices of the cycle", m, 3)?;
    let size = m.checked_add(n);
    let mut tadpole = list(size, size)?;
    tadpole.join_path(0..m + n);
    tadpole.join(m - 1, 0);
    Ok(tadpole)
}

/// Returns sets of vertices of these sizes, with all edges between vertices of different sets.
///
/// # Errors
/// If the graph is too large for `i32`.
#[doc(alias = "complete_bipartite_graph")]
pub fn complete_multipartite_graph(sizes: &[usize]) -> Result<EdgeList> {
    let vertices = sizes.iter().try_fold(0_usize, |sum, &size| sum.checked_add(size));
    let (mut before, mut edges) = (0_usize, Some(0_usize));
    for &size in sizes {
        edges = edges.and_then(|edges| edges.checked_add(before.checked_mul(size)?));
        before = before.saturating_add(size);
    }
    let mut graph = list(vertices, edges)?;
    let mut start = 0;
    for &size in sizes {
        for from in start..start + size {
            (start + size..graph.vertices).for_each(|to| graph.join(from, to));
        }
        start += size;
    }
    Ok(graph)
}

/// Returns the graph of `n` vertices with the most edges that has no complete graph of `r + 1` vertices.
///
/// # Errors
/// If `r` is 0 or above `n`, or the graph is too large for `i32`.
pub fn turan_graph(n: usize, r: usize) -> Result<EdgeList> {
    if r == 0 || r > n {
        return Err(invalid("the number of sets", r.to_string(), format!("from 1 to the number of vertices, {n}")));
    }
    let sizes: Vec<usize> = (0..r).map(|set| n / r + usize::from(set >= r - n % r)).collect();
    complete_multipartite_graph(&sizes)
}

/// Returns a grid of `m` rows and `n` columns; the vertex in row `i` and column `j` is `i * n + j`.
///
/// # Errors
/// If the graph is too large for `i32`.
#[doc(alias("mesh", "lattice"))]
pub fn grid_2d_graph(m: usize, n: usize) -> Result<EdgeList> {
    let vertices = m.checked_mul(n);
    let mut grid = list(vertices, vertices.and_then(|all| all.checked_mul(2)))?;
    for row in 0..m {
        grid.join_path(row * n..(row + 1) * n);
        if row > 0 {
            (row * n..(row + 1) * n).for_each(|vertex| grid.join(vertex - n, vertex));
        }
    }
    Ok(grid)
}

/// Returns `l` complete graphs of `k` vertices, not joined.
///
/// # Errors
/// If the graph is too large for `i32`.
pub fn caveman_graph(l: usize, k: usize) -> Result<EdgeList> {
    let mut caves = list(l.checked_mul(k), pairs(k).and_then(|one| one.checked_mul(l)))?;
    (0..l).for_each(|cave| caves.join_all(cave * k..(cave + 1) * k));
    Ok(caves)
}

/// Returns a cycle of `n` vertices with chords: vertex `v` has one to `v + shifts[v % shifts.len()]`, around the cycle.
/// `LCF_graph` of NetworkX: many graphs with names are such, for example Heawood's, of 14 vertices with the shifts 5
/// and -5.
///
/// ```
/// use hipgraph::generators::lcf_graph;
///
/// let heawood = lcf_graph(14, &[5, -5])?;
/// assert_eq!(heawood.edges(), 21);
/// # Ok::<(), hipgraph::Error>(())
/// ```
///
/// # Errors
/// If `n` is below 3, there are no shifts, a shift is a multiple of `n`, or the graph is too large for `i32`.
#[doc(alias = "LCF_graph")]
pub fn lcf_graph(n: usize, shifts: &[i32]) -> Result<EdgeList> {
    let mut graph = cycle_graph(n)?;
    if shifts.is_empty() {
        return Err(invalid("the list of shifts", "empty", "of at least one"));
    }
    let mut known: std::collections::HashSet<(usize, usize)> = (1..n).map(|to| (to - 1, to)).collect();
    known.insert((0, n - 1));
    for vertex in 0..n {
        let shift = shifts[vertex % shifts.len()];
        // Both fit: `n` is at most `i32::MAX`.
        let to = (vertex as i64 + i64::from(shift)).rem_euclid(n as i64) as usize;
        if to == vertex {
            return Err(invalid("a shift", shift.to_string(), format!("no multiple of the number of vertices, {n}")));
        }
        if known.insert((vertex.min(to), vertex.max(to))) {
            graph.join(vertex, to);
        }
    }
    Ok(graph)
}

/// Returns Petersen's graph: 10 vertices of three edges each, without cycles of fewer than five.
pub fn petersen_graph() -> EdgeList {
    let mut graph = EdgeList { vertices: 10, sources: Vec::new(), destinations: Vec::new() };
    for at in 0..5 {
        graph.join(at, (at + 1) % 5);
        graph.join(at, at + 5);
        graph.join(at + 5, (at + 2) % 5 + 5);
    }
    graph
}

/// Returns a random graph of `n` vertices that has each edge with the probability `p`: the same for the same seed.
///
/// # Errors
/// If `p` is not from 0 to 1, or the graph is too large for `i32`.
#[doc(alias("erdos_renyi_graph", "binomial_graph", "fast_gnp_random_graph"))]
pub fn gnp_random_graph(n: usize, p: f64, seed: u64) -> Result<EdgeList> {
    if !(0.0..=1.0).contains(&p) {
        return Err(invalid("the probability of an edge", p.to_string(), "from 0 to 1"));
    }
    if p == 1.0 {
        return complete_graph(n);
    }
    let mut graph = list(Some(n), Some(0))?;
    if p == 0.0 {
        return Ok(graph);
    }
    let mut state = seed;
    // SplitMix64, as a number in (0, 1].
    let mut unit = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((mixed ^ (mixed >> 31)) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    };
    // The number of skipped pairs between two edges has a geometric distribution (V. Batagelj and U. Brandes, "Efficient
    // generation of large random networks", Physical Review E 71, 2005).
    let (mut row, mut column) = (1, -1_i64);
    while row < n {
        // The cast saturates.
        let skipped = (unit().ln() / (-p).ln_1p()) as i64;
        column = column.saturating_add(1).saturating_add(skipped);
        while row < n && column >= row as i64 {
            column -= row as i64;
            row += 1;
        }
        if row < n {
            if graph.edges() == i32::MAX as usize {
                return Err(invalid("the number of edges", "too large", format!("at most {}", i32::MAX)));
            }
            graph.join(row, column as usize);
        }
    }
    Ok(graph)
}

#[cfg(feature = "reference")]
fn published(vertices: usize, edges: &[(i32, i32)]) -> EdgeList {
    let (sources, destinations) = edges.iter().copied().unzip();
    EdgeList { vertices, sources, destinations }
}

/// Returns Zachary's karate club: 34 members and 78 friendships.
///
/// ```
/// assert_eq!(hipgraph::generators::karate_club_graph().edges(), 78);
/// ```
#[cfg(feature = "reference")]
pub fn karate_club_graph() -> EdgeList {
    published(34, &hipgraph_reference::published::KARATE)
}

/// Returns the marriages of Florentine families: 15 families, in the alphabetical order of their names, and 20
/// marriages.
#[cfg(feature = "reference")]
pub fn florentine_families_graph() -> EdgeList {
    published(15, &hipgraph_reference::published::FLORENTINE)
}

/// Returns Krackhardt's kite: 10 vertices and 18 edges. The vertices with the most edges, the highest betweenness and
/// the highest closeness are different.
#[cfg(feature = "reference")]
pub fn krackhardt_kite_graph() -> EdgeList {
    published(10, &hipgraph_reference::published::KITE)
}

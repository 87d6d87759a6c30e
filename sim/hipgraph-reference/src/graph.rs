//! Graphs in memory: compressed sparse rows in both directions.

use std::fmt;

/// Why a graph or an algorithm's input is rejected.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// A message that states the input and what is allowed.
    pub message: String,
}

/// The kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// An argument is invalid.
    Input,
    /// The iteration did not converge.
    NotConverged,
    /// The function is not implemented.
    NotImplemented,
    /// Device memory could not be allocated or copied.
    Memory,
    /// The types of the arguments do not match.
    Types,
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The failure for an invalid argument.
pub(crate) fn invalid(message: impl Into<String>) -> Failure {
    Failure { kind: FailureKind::Input, message: message.into() }
}

/// A result of this crate.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Edges in one direction, by row: the edges of row `v` are `offsets[v]..offsets[v + 1]`.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// The start of each row, and the end of the last.
    pub offsets: Vec<usize>,
    /// The other end of each edge, ascending within a row.
    pub ends: Vec<u32>,
    /// The index of the edge in the outgoing rows.
    pub edges: Vec<u32>,
}

impl Rows {
    /// The edges of a row: the other end, and the index in the outgoing rows.
    pub fn of(&self, row: usize) -> impl ExactSizeIterator<Item = (usize, usize)> + '_ {
        let range = self.offsets[row]..self.offsets[row + 1];
        self.ends[range.clone()].iter().zip(&self.edges[range]).map(|(&end, &edge)| (end as usize, edge as usize))
    }

    /// The other ends of the edges of a row.
    pub fn ends(&self, row: usize) -> &[u32] {
        &self.ends[self.offsets[row]..self.offsets[row + 1]]
    }

    /// The number of edges of a row.
    pub fn len(&self, row: usize) -> usize {
        self.offsets[row + 1] - self.offsets[row]
    }
}

/// The properties of a new graph, and the processing of its edges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Every edge has its reverse. The graph is checked for that.
    pub symmetric: bool,
    /// Several edges may join the same vertices. If not set, the graph is checked for duplicates.
    pub multigraph: bool,
    /// Vertices are those that edges or the list of vertices mention; otherwise all numbers from 0 on.
    pub renumber: bool,
    /// Removes edges from a vertex to itself.
    pub drop_self_loops: bool,
    /// Of several edges between the same vertices, keeps the lightest.
    pub drop_multi_edges: bool,
}

/// Edges as the caller lists them.
#[derive(Debug, Clone, Default)]
pub struct EdgeList {
    /// Vertices without edges. May also contain vertices with edges.
    pub vertices: Vec<i64>,
    /// The sources of the edges.
    pub sources: Vec<i64>,
    /// The destinations of the edges.
    pub destinations: Vec<i64>,
    /// One weight per edge.
    pub weights: Option<Vec<f64>>,
    /// One ID per edge.
    pub ids: Option<Vec<i64>>,
    /// One type per edge.
    pub types: Option<Vec<i64>>,
}

/// A graph whose vertices are numbered from 0 in ascending order of their names.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// The caller's name of each vertex, ascending.
    pub names: Vec<i64>,
    /// Edges by source; `out.edges[i] == i`.
    pub out: Rows,
    /// Edges by destination.
    pub incoming: Rows,
    /// The weight of each edge, in the order of `out`.
    pub weights: Option<Vec<f64>>,
    /// The ID of each edge.
    pub edge_ids: Option<Vec<i64>>,
    /// The type of each edge.
    pub edge_types: Option<Vec<i64>>,
    /// Every edge has its reverse.
    pub symmetric: bool,
    /// Several edges may join the same vertices.
    pub multigraph: bool,
}

impl Graph {
    /// Builds a graph.
    ///
    /// # Errors
    /// Returns an error if lists differ in length, a name is negative, a weight is NaN, or the graph is not as
    /// `options` state.
    pub fn new(list: EdgeList, options: Options) -> Result<Graph> {
        let count = list.sources.len();
        for (what, len) in [
            ("destinations", Some(list.destinations.len())),
            ("weights", list.weights.as_ref().map(Vec::len)),
            ("edge IDs", list.ids.as_ref().map(Vec::len)),
            ("edge types", list.types.as_ref().map(Vec::len)),
        ] {
            if len.is_some_and(|len| len != count) {
                let len = len.unwrap_or_default();
                return Err(invalid(format!("there are {count} sources and {len} {what}: they must be as many")));
            }
        }
        if count > u32::MAX as usize {
            return Err(invalid(format!("{count} edges: the reference engine has at most {}", u32::MAX)));
        }
        let all = || list.sources.iter().chain(&list.destinations).chain(&list.vertices);
        if let Some(name) = all().find(|&&name| name < 0) {
            return Err(invalid(format!("vertex {name} is negative")));
        }
        let infinite =
            |weights: &Vec<f64>| weights.iter().position(|weight| !weight.is_finite()).map(|at| (at, weights[at]));
        if let Some((at, weight)) = list.weights.as_ref().and_then(infinite) {
            return Err(invalid(format!("the weight of edge {at} is {weight}, and must be a finite number")));
        }
        let names = names(all().copied(), options.renumber)?;
        let mut rows = sorted(&list, &names, options);
        rows.shrink_to_fit();
        let pick = |values: Option<Vec<i64>>| values.map(|values| rows.iter().map(|row| values[row.2]).collect());
        let mut graph = Graph {
            weights: list.weights.as_ref().map(|weights| rows.iter().map(|row| weights[row.2]).collect()),
            edge_ids: pick(list.ids),
            edge_types: pick(list.types),
            out: by_row(names.len(), rows.iter().enumerate().map(|(at, row)| (row.0, row.1, at as u32))),
            incoming: Rows::default(),
            names,
            symmetric: options.symmetric,
            multigraph: options.multigraph,
        };
        graph.incoming = {
            let mut turned: Vec<(u32, u32, u32)> =
                rows.iter().enumerate().map(|(at, row)| (row.1, row.0, at as u32)).collect();
            turned.sort_unstable();
            by_row(graph.names.len(), turned.into_iter())
        };
        graph.check()?;
        Ok(graph)
    }

    /// Builds a graph from compressed sparse rows; the vertices are 0 to `offsets.len() - 2`.
    ///
    /// # Errors
    /// Returns an error if the rows are malformed, and as for [`Graph::new`].
    pub fn from_rows(offsets: &[i64], mut list: EdgeList, options: Options) -> Result<Graph> {
        let rows =
            offsets.len().checked_sub(1).ok_or_else(|| invalid("the offsets of a CSR are one more than its rows"))?;
        let edges = list.destinations.len();
        let fits = offsets[0] == 0 && offsets.is_sorted() && offsets[rows] == edges as i64;
        if !fits {
            return Err(invalid(format!("the offsets of a CSR ascend from 0 to the number of its indices, {edges}")));
        }
        if let Some(end) = list.destinations.iter().find(|end| !(0..rows as i64).contains(end)) {
            return Err(invalid(format!(
                "index {end}: the CSR is square, with rows and columns 0 to {}",
                rows as i64 - 1
            )));
        }
        list.sources = (0..rows).flat_map(|row| (offsets[row]..offsets[row + 1]).map(move |_| row as i64)).collect();
        list.vertices = (0..rows as i64).collect();
        Graph::new(list, options)
    }

    /// Checks that the graph has its stated properties.
    fn check(&self) -> Result<()> {
        if !self.multigraph {
            for vertex in 0..self.len() {
                if let Some(pair) = self.out.ends(vertex).windows(2).find(|pair| pair[0] == pair[1]) {
                    let (from, to) = (self.names[vertex], self.names[pair[0] as usize]);
                    return Err(invalid(format!(
                        "several edges lead from {from} to {to}, and the graph is no multigraph"
                    )));
                }
            }
        }
        if self.symmetric {
            for vertex in 0..self.len() {
                if self.out.ends(vertex) != self.incoming.ends(vertex) {
                    let name = self.names[vertex];
                    return Err(invalid(format!(
                        "the edges of vertex {name} are not symmetric: each needs its reverse"
                    )));
                }
            }
            if let Some(weights) = &self.weights {
                for vertex in 0..self.len() {
                    let sorted = |rows: &Rows| {
                        let mut all: Vec<(usize, u64)> =
                            rows.of(vertex).map(|(end, edge)| (end, weights[edge].to_bits())).collect();
                        all.sort_unstable();
                        all
                    };
                    if sorted(&self.out) != sorted(&self.incoming) {
                        let name = self.names[vertex];
                        return Err(invalid(format!("the weights of the edges of vertex {name} are not symmetric")));
                    }
                }
            }
        }
        Ok(())
    }

    /// The number of vertices.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether it has no vertices.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The number of edges; an undirected edge counts twice.
    pub fn edges(&self) -> usize {
        self.out.ends.len()
    }

    /// The weight of an edge; 1 in a graph without weights.
    pub fn weight(&self, edge: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[edge])
    }

    /// The vertex with this name.
    pub fn find(&self, name: i64) -> Option<usize> {
        // In most graphs the names are the numbers from 0 on.
        match usize::try_from(name) {
            Ok(at) if self.names.get(at) == Some(&name) => Some(at),
            _ => self.names.binary_search(&name).ok(),
        }
    }

    /// The vertices with these names.
    ///
    /// # Errors
    /// Returns an error if a vertex does not exist.
    pub fn find_all(&self, names: &[i64]) -> Result<Vec<usize>> {
        let find = |&name: &i64| self.find(name).ok_or_else(|| invalid(format!("vertex {name} is not in the graph")));
        names.iter().map(find).collect()
    }

    /// All edges: source, destination, index.
    pub fn all_edges(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        (0..self.len()).flat_map(|from| self.out.of(from).map(move |(to, edge)| (from, to, edge)))
    }

    /// The distinct neighbours of a vertex along outgoing edges, without the vertex itself.
    pub fn neighbours(&self, vertex: usize) -> Vec<u32> {
        let mut ends = self.out.ends(vertex).to_vec();
        ends.dedup();
        ends.retain(|&end| end as usize != vertex);
        ends
    }

    /// # Errors
    /// Returns an error if the graph is not symmetric.
    pub fn needs_symmetric(&self, what: &str) -> Result<()> {
        if self.symmetric { Ok(()) } else { Err(invalid(format!("{what} needs an undirected (symmetric) graph"))) }
    }

    /// # Errors
    /// Returns an error if the graph is a multigraph.
    pub fn needs_simple(&self, what: &str) -> Result<()> {
        if self.multigraph { Err(invalid(format!("{what} does not support multigraphs"))) } else { Ok(()) }
    }

    /// # Errors
    /// Returns an error if an edge has a negative weight.
    pub fn needs_nonnegative(&self, what: &str) -> Result<()> {
        match self.weights.as_ref().and_then(|weights| weights.iter().find(|weight| **weight < 0.0)) {
            Some(weight) => Err(invalid(format!("{what} needs weights of at least 0, and an edge has {weight}"))),
            None => Ok(()),
        }
    }
}

/// The maximum number of vertices of a graph that is not renumbered, unless it lists more.
const MOST_UNLISTED: i64 = 1 << 26;

fn names(all: impl Iterator<Item = i64> + Clone, renumber: bool) -> Result<Vec<i64>> {
    let largest = all.clone().max();
    let Some(largest) = largest else { return Ok(Vec::new()) };
    if !renumber {
        // Every number up to the largest is a vertex and uses memory.
        let most = MOST_UNLISTED.max(all.count() as i64);
        if largest >= most.min(u32::MAX.into()) {
            return Err(invalid(format!(
                "vertex {largest} is too large without renumbering: the graph would have all vertices up to it, and has at most {most}"
            )));
        }
        return Ok((0..=largest).collect());
    }
    let mut names: Vec<i64> = all.collect();
    names.sort_unstable();
    names.dedup();
    if names.len() >= u32::MAX as usize {
        return Err(invalid(format!("{} vertices are too many for the reference engine", names.len())));
    }
    Ok(names)
}

/// Source, destination and index in the list, sorted.
fn sorted(list: &EdgeList, names: &[i64], options: Options) -> Vec<(u32, u32, usize)> {
    let dense = names.last().is_none_or(|&last| last as usize == names.len() - 1);
    let find = |name: i64| match dense {
        true => name as u32,
        // Always found: the names were collected from the list.
        false => names.binary_search(&name).unwrap_or_default() as u32,
    };
    let ends = list.sources.iter().zip(&list.destinations).enumerate();
    let mut rows: Vec<(u32, u32, usize)> = ends
        .filter(|(_, (from, to))| !(options.drop_self_loops && from == to))
        .map(|(at, (&from, &to))| (find(from), find(to), at))
        .collect();
    let weight = |at: usize| list.weights.as_ref().map_or(0.0, |weights| weights[at]);
    rows.sort_unstable_by(|a, b| {
        (a.0, a.1).cmp(&(b.0, b.1)).then(weight(a.2).total_cmp(&weight(b.2))).then(a.2.cmp(&b.2))
    });
    if options.drop_multi_edges {
        rows.dedup_by_key(|row| (row.0, row.1));
    }
    rows
}

/// Builds rows from sorted edges.
fn by_row(rows: usize, edges: impl Iterator<Item = (u32, u32, u32)>) -> Rows {
    let mut found = Rows { offsets: vec![0; rows + 1], ..Rows::default() };
    for (row, end, edge) in edges {
        found.offsets[row as usize + 1] += 1;
        found.ends.push(end);
        found.edges.push(edge);
    }
    for row in 0..rows {
        found.offsets[row + 1] += found.offsets[row];
    }
    found
}

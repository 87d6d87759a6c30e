//! Functions that hipGRAPH lacks, composed from its other functions. They work on every engine. The documentation of
//! each function says what runs on the host.

use std::collections::HashMap;

use crate::array::{Column, Vertex, Weight};
use crate::community::{Counts, DegreeType, Labels};
use crate::error::{Result, invalid};
use crate::graph::{Graph, GraphOptions};
use crate::subgraph::Edges;
use crate::traversal::Paths;

/// One score per vertex.
#[derive(Debug)]
pub struct Scores<V, W> {
    /// The vertices.
    pub vertices: Column<V>,
    /// The score of each vertex.
    pub values: Column<W>,
}

/// A graph on the host.
struct Host<V, W> {
    vertices: Vec<V>,
    /// The edges, as indices in `vertices`.
    ends: Vec<(usize, usize)>,
    /// Their weights, if the graph has any.
    weights: Option<Vec<W>>,
}

impl<V: Vertex, W: Weight> Graph<V, W> {
    /// Returns all edges, as the library stores them. An undirected edge has two rows, a self-loop has one.
    ///
    /// ```
    /// use hipgraph::{Graph, GraphOptions, ResourceHandle};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # hip::sim_if_no_gpu()?;
    /// # hipgraph::reference_if_missing()?;
    /// let graph = Graph::from_edges(&ResourceHandle::new()?, &[0, 1], &[1, 2], GraphOptions::undirected())?;
    /// assert_eq!(graph.edges()?.sources.len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the library returns one.
    #[doc(alias("cugraph_decompress_to_edgelist", "decompress_to_edgelist", "view_edge_list"))]
    pub fn edges(&self) -> Result<Edges<V, W>> {
        Ok(self.induced_subgraphs(&[&self.degrees(None)?.vertices.to_vec()?])?.edges)
    }

    fn to_host(&self) -> Result<Host<V, W>> {
        let vertices = self.degrees(None)?.vertices.to_vec()?;
        let edges = self.induced_subgraphs(&[&vertices])?.edges;
        let number: HashMap<V, usize> = vertices.iter().enumerate().map(|(at, vertex)| (*vertex, at)).collect();
        let (sources, destinations) = (edges.sources.to_vec()?, edges.destinations.to_vec()?);
        let ends = sources.iter().zip(&destinations).map(|(from, to)| (number[from], number[to])).collect();
        Ok(Host { vertices, ends, weights: edges.weights.map(|weights| weights.to_vec()).transpose()? })
    }

    /// Copies the edges with these indices to columns.
    fn edges_of(&self, host: &Host<V, W>, chosen: &[usize]) -> Result<Edges<V, W>> {
        let names = |end: fn(&(usize, usize)) -> usize| -> Result<Column<V>> {
            let all: Vec<V> = chosen.iter().map(|&edge| host.vertices[end(&host.ends[edge])]).collect();
            Column::of_values(self.handle(), &all)
        };
        let weights = host.weights.as_ref().map(|weights| chosen.iter().map(|&edge| weights[edge]).collect::<Vec<W>>());
        Ok(Edges {
            sources: names(|ends| ends.0)?,
            destinations: names(|ends| ends.1)?,
            weights: weights.map(|weights| Column::of_values(self.handle(), &weights)).transpose()?,
        })
    }

    /// Returns the weak components of a directed graph: builds an undirected graph from its edges, and calls the library
    /// on it.
    pub(crate) fn weak_components_of_directed(&self) -> Result<Labels<V>> {
        let (edges, names) = (self.edges()?, self.degrees(None)?.vertices.to_vec()?);
        let (sources, destinations) = (edges.sources.to_vec()?, edges.destinations.to_vec()?);
        let options = GraphOptions::undirected().drop_multi_edges(true);
        let both = Graph::<V, f32>::from_vertices_and_edges(self.handle(), &names, &sources, &destinations, options)?;
        let found = both.weakly_connected_components()?;
        // All results of a graph list the vertices in the same order, so the labels are reordered.
        let label: HashMap<V, V> = found.vertices.to_vec()?.into_iter().zip(found.labels.to_vec()?).collect();
        let labels: Vec<V> = names.iter().map(|name| label[name]).collect();
        Ok(Labels {
            vertices: Column::of_values(self.handle(), &names)?,
            labels: Column::of_values(self.handle(), &labels)?,
        })
    }

    /// Returns shortest paths in which each edge has the weight 1, from a breadth-first search.
    pub(crate) fn sssp_of_unweighted(&self, source: V, cutoff: f64) -> Result<Paths<V, W>> {
        let found = self.bfs(&[source], None)?;
        let (mut predecessors, hops) = (found.predecessors.to_vec()?, found.distances.to_vec()?);
        let mut distances = Vec::with_capacity(hops.len());
        for (hops, predecessor) in hops.into_iter().zip(&mut predecessors) {
            // The cutoff does not apply to the source.
            let near = hops != V::UNREACHED && (hops.to_i64() == 0 || (hops.to_i64() as f64) < cutoff);
            distances.push(if near { W::from_f64(hops.to_i64() as f64) } else { W::UNREACHED });
            if !near {
                *predecessor = V::NONE;
            }
        }
        let distances = Column::of_values(self.handle(), &distances)?;
        let predecessors = Column::of_values(self.handle(), &predecessors)?;
        Ok(found.with(distances, predecessors))
    }

    /// Computes the core numbers of a multigraph on the host: the library rejects multigraphs.
    pub(crate) fn core_number_of_multigraph(&self, degree: DegreeType) -> Result<Counts<V>> {
        let host = self.to_host()?;
        let mut numbers = cores(host.vertices.len(), &host.ends);
        if degree == DegreeType::InOut {
            numbers.iter_mut().for_each(|number| *number *= 2);
        }
        let count = |number: usize| {
            let allowed = "what the type of vertices holds";
            V::from_i64(number as i64).ok_or_else(|| invalid("a core number", number.to_string(), allowed))
        };
        let counts: Vec<V> = numbers.into_iter().map(count).collect::<Result<_>>()?;
        Ok(Counts {
            vertices: Column::of_values(self.handle(), &host.vertices)?,
            counts: Column::of_values(self.handle(), &counts)?,
        })
    }

    pub(crate) fn k_core_of_multigraph(&self, k: usize, degree: DegreeType) -> Result<Edges<V, W>> {
        let found = self.core_number_of_multigraph(degree)?;
        let numbers = found.vertices.to_vec()?.into_iter().zip(found.counts.to_vec()?);
        // A core number is not negative.
        let inside = numbers.filter(|(_, number)| number.to_i64() as u64 >= k as u64).map(|(vertex, _)| vertex);
        let inside: Vec<V> = inside.collect();
        match inside.is_empty() {
            true => Ok(Edges {
                sources: Column::of_values(self.handle(), &[])?,
                destinations: Column::of_values(self.handle(), &[])?,
                weights: self.is_weighted().then(|| Column::of_values(self.handle(), &[])).transpose()?,
            }),
            false => Ok(self.induced_subgraphs(&[&inside])?.edges),
        }
    }

    /// Returns all edges except self-loops.
    pub(crate) fn two_truss(&self) -> Result<Edges<V, W>> {
        self.needs_simple("the k-truss")?;
        let host = self.to_host()?;
        let chosen: Vec<usize> = (0..host.ends.len()).filter(|&edge| host.ends[edge].0 != host.ends[edge].1).collect();
        self.edges_of(&host, &chosen)
    }

    /// Returns the vertices, the number of triangles of each, and the number of pairs of its neighbours.
    fn triads(&self, what: &'static str) -> Result<(Vec<V>, Vec<f64>, Vec<f64>)> {
        self.needs_symmetric(what)?;
        self.needs_simple(what)?;
        let found = self.triangle_count(None)?;
        let (vertices, triangles) = (found.vertices.to_vec()?, found.counts.to_vec()?);
        let degrees = self.degrees(None)?;
        let mut degree: HashMap<V, i64> = HashMap::with_capacity(vertices.len());
        for (vertex, count) in degrees.vertices.to_vec()?.into_iter().zip(degrees.outgoing.to_vec()?) {
            degree.insert(vertex, count.to_i64());
        }
        if self.may_have_self_loops() {
            let edges = self.edges()?;
            for (from, to) in edges.sources.to_vec()?.into_iter().zip(edges.destinations.to_vec()?) {
                if from == to {
                    degree.entry(from).and_modify(|degree| *degree -= 1);
                }
            }
        }
        let pairs = |vertex: &V| {
            let degree = degree.get(vertex).map_or(0.0, |&degree| degree as f64);
            degree * (degree - 1.0) / 2.0
        };
        let pairs = vertices.iter().map(pairs).collect();
        Ok((vertices, triangles.into_iter().map(|count| count.to_i64() as f64).collect(), pairs))
    }

    /// Returns the clustering coefficient of each vertex: the fraction of the pairs of its neighbours that are joined by
    /// an edge. A vertex with fewer than two neighbours has 0. Weights and self-loops are ignored.
    ///
    /// hipGRAPH has no such function: this one divides its triangle counts by the degrees, on the host.
    ///
    /// ```
    /// use hipgraph::{ResourceHandle, generators};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # hip::sim_if_no_gpu()?;
    /// # hipgraph::reference_if_missing()?;
    /// let graph = generators::complete_graph(5)?.graph(&ResourceHandle::new()?)?;
    /// assert_eq!(graph.clustering()?.values.to_vec()?, [1.0; 5]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the graph is directed or a multigraph, or the library returns an error.
    #[doc(alias("clustering_coefficient", "local_clustering_coefficient", "networkx.clustering"))]
    pub fn clustering(&self) -> Result<Scores<V, W>> {
        let (vertices, triangles, pairs) = self.triads("the clustering coefficient")?;
        let values: Vec<W> = shares(&triangles, &pairs).map(W::from_f64).collect();
        self.scores(&vertices, &values)
    }

    fn scores(&self, vertices: &[V], values: &[W]) -> Result<Scores<V, W>> {
        Ok(Scores {
            vertices: Column::of_values(self.handle(), vertices)?,
            values: Column::of_values(self.handle(), values)?,
        })
    }

    /// Returns the mean of the [`clustering`](Self::clustering) coefficients of all vertices.
    ///
    /// ```
    /// use hipgraph::{ResourceHandle, generators};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # hip::sim_if_no_gpu()?;
    /// # hipgraph::reference_if_missing()?;
    /// let graph = generators::complete_graph(5)?.graph(&ResourceHandle::new()?)?;
    /// assert_eq!(graph.average_clustering()?, 1.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`clustering`](Self::clustering).
    pub fn average_clustering(&self) -> Result<f64> {
        let (vertices, triangles, pairs) = self.triads("the clustering coefficient")?;
        Ok(shares(&triangles, &pairs).sum::<f64>() / vertices.len() as f64)
    }

    /// Returns the fraction of all pairs of edges with a common end that are part of a triangle; 0 if there are no such
    /// pairs. Weights and self-loops are ignored.
    ///
    /// hipGRAPH has no such function: this one divides sums of its triangle counts and degrees, on the host.
    ///
    /// ```
    /// use hipgraph::{ResourceHandle, generators};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # hip::sim_if_no_gpu()?;
    /// # hipgraph::reference_if_missing()?;
    /// // A triangle with a tail of one edge.
    /// let graph = generators::tadpole_graph(3, 1)?.graph(&ResourceHandle::new()?)?;
    /// assert_eq!(graph.transitivity()?, 3.0 / 5.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`clustering`](Self::clustering).
    #[doc(alias("global_clustering_coefficient", "networkx.transitivity"))]
    pub fn transitivity(&self) -> Result<f64> {
        let (_, triangles, pairs) = self.triads("the transitivity")?;
        let pairs: f64 = pairs.iter().sum();
        Ok(if pairs > 0.0 { triangles.iter().sum::<f64>() / pairs } else { 0.0 })
    }

    /// Copies a directed graph without repeated edges to the host. Its edges are sorted, and the weights are dropped.
    fn sorted_arcs(&self, what: &'static str) -> Result<Host<V, W>> {
        if self.is_symmetric() {
            return Err(invalid(what, "asked for in an undirected graph", "used with directed graphs only"));
        }
        self.needs_simple(what)?;
        let mut host = self.to_host()?;
        host.ends.sort_unstable();
        host.weights = None;
        Ok(host)
    }

    /// Returns the fraction of the edges of a directed graph whose reverse is also an edge. As in NetworkX, a self-loop
    /// counts as an edge without a reverse.
    ///
    /// hipGRAPH has no such function: the edges are compared on the host.
    ///
    /// ```
    /// use hipgraph::{Graph, GraphOptions, ResourceHandle};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # hip::sim_if_no_gpu()?;
    /// # hipgraph::reference_if_missing()?;
    /// // 1 -> 2, and 2 <-> 3.
    /// let graph = Graph::from_edges(&ResourceHandle::new()?, &[1, 2, 3], &[2, 3, 2], GraphOptions::directed())?;
    /// assert_eq!(graph.reciprocity()?, 2.0 / 3.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the graph is undirected or a multigraph, has no edges, or the library returns an error.
    #[doc(alias("overall_reciprocity", "networkx.overall_reciprocity"))]
    pub fn reciprocity(&self) -> Result<f64> {
        let Host { ends, .. } = self.sorted_arcs("the reciprocity")?;
        if ends.is_empty() {
            return Err(invalid("the number of edges", "0", "at least 1 for the reciprocity"));
        }
        let mutual = ends.iter().filter(|(from, to)| from != to && ends.binary_search(&(*to, *from)).is_ok()).count();
        Ok(mutual as f64 / ends.len() as f64)
    }

    /// Returns for each vertex the fraction of its incoming and outgoing edges whose reverse is also an edge; NaN for a
    /// vertex without edges. As in NetworkX, a self-loop is its own reverse here.
    ///
    /// hipGRAPH has no such function: the edges are compared on the host.
    ///
    /// ```
    /// use hipgraph::{Graph, GraphOptions, ResourceHandle};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # hip::sim_if_no_gpu()?;
    /// # hipgraph::reference_if_missing()?;
    /// // 0 <-> 1.
    /// let graph = Graph::from_edges(&ResourceHandle::new()?, &[0, 1], &[1, 0], GraphOptions::directed())?;
    /// assert_eq!(graph.vertex_reciprocity()?.values.to_vec()?, [1.0, 1.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the graph is undirected or a multigraph, or the library returns an error.
    #[doc(alias("networkx.reciprocity"))]
    pub fn vertex_reciprocity(&self) -> Result<Scores<V, W>> {
        let Host { vertices, ends, .. } = self.sorted_arcs("the reciprocity")?;
        let (mut mutual, mut total) = (vec![0.0; vertices.len()], vec![0.0; vertices.len()]);
        for &(from, to) in &ends {
            total[from] += 1.0;
            total[to] += 1.0;
            if ends.binary_search(&(to, from)).is_ok() {
                mutual[from] += 2.0;
            }
        }
        let values: Vec<W> =
            mutual.iter().zip(&total).map(|(mutual, total): (&f64, &f64)| W::from_f64(mutual / total)).collect();
        self.scores(&vertices, &values)
    }

    fn spanning_tree(&self, what: &'static str, maximum: bool) -> Result<Edges<V, W>> {
        self.needs_symmetric(what)?;
        let host = self.to_host()?;
        let weight = |edge: usize| host.weights.as_ref().map_or(1.0, |weights| weights[edge].to_f64());
        let ends = |edge: usize| (host.ends[edge].0.min(host.ends[edge].1), host.ends[edge].0.max(host.ends[edge].1));
        let key = |edge: usize| if maximum { -weight(edge) } else { weight(edge) };
        // Kruskal's algorithm. The two rows of an edge are adjacent in this order, apart from repeated edges.
        let mut order: Vec<usize> = (0..host.ends.len()).filter(|&edge| ends(edge).0 != ends(edge).1).collect();
        order.sort_unstable_by(|&a, &b| {
            key(a).total_cmp(&key(b)).then(ends(a).cmp(&ends(b))).then(host.ends[a].cmp(&host.ends[b]))
        });
        let mut parents: Vec<usize> = (0..host.vertices.len()).collect();
        let mut chosen = Vec::new();
        let mut last = None;
        for edge in order {
            let (a, b) = (root(&mut parents, ends(edge).0), root(&mut parents, ends(edge).1));
            if a != b {
                parents[a] = b;
                chosen.push(edge);
                last = Some(edge);
            } else if let Some(before) = last {
                // Take the reverse of the last chosen edge, once.
                let (from, to): (usize, usize) = host.ends[before];
                if host.ends[edge] == (to, from) && key(edge) == key(before) {
                    chosen.push(edge);
                    last = None;
                }
            }
        }
        chosen.sort_unstable();
        self.edges_of(&host, &chosen)
    }

    /// Returns the edges of a spanning tree with the smallest sum of weights, or of one tree per component. In a graph
    /// without weights, each edge has the weight 1. Self-loops are ignored. In a multigraph, the tree has at most one of
    /// several edges between the same vertices.
    ///
    /// hipGRAPH has no such function: this one runs Kruskal's algorithm on the host, on the edges that the library
    /// returns.
    ///
    /// ```
    /// use hipgraph::{Graph, GraphOptions, ResourceHandle};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # hip::sim_if_no_gpu()?;
    /// # hipgraph::reference_if_missing()?;
    /// let (sources, destinations, weights) = ([0, 1, 2, 0], [1, 2, 3, 3], [1.0_f32, 1.0, 1.0, 2.0]);
    /// let handle = ResourceHandle::new()?;
    /// let graph =
    ///     Graph::from_weighted_edges(&handle, &sources, &destinations, &weights, GraphOptions::undirected())?;
    /// let tree = graph.minimum_spanning_tree()?;
    /// let weights = tree.weights.expect("the graph has weights").to_vec()?;
    /// assert_eq!(weights, [1.0; 6]); // three edges, in both directions
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the graph is directed, or the library returns an error.
    #[doc(alias("cugraph_minimum_spanning_tree", "minimum_spanning_edges", "mst", "kruskal"))]
    pub fn minimum_spanning_tree(&self) -> Result<Edges<V, W>> {
        self.spanning_tree("a minimum spanning tree", false)
    }

    /// Returns the edges of a spanning tree with the largest sum of weights; otherwise as
    /// [`minimum_spanning_tree`](Self::minimum_spanning_tree).
    ///
    /// ```
    /// use hipgraph::{Graph, GraphOptions, ResourceHandle};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # hip::sim_if_no_gpu()?;
    /// # hipgraph::reference_if_missing()?;
    /// let (sources, destinations, weights) = ([0, 1, 2], [1, 2, 0], [1.0_f64, 2.0, 3.0]);
    /// let handle = ResourceHandle::new()?;
    /// let graph =
    ///     Graph::from_weighted_edges(&handle, &sources, &destinations, &weights, GraphOptions::undirected())?;
    /// let weights = graph.maximum_spanning_tree()?.weights.expect("the graph has weights").to_vec()?;
    /// assert_eq!(weights.iter().sum::<f64>(), 2.0 * (2.0 + 3.0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`minimum_spanning_tree`](Self::minimum_spanning_tree).
    #[doc(alias("maximum_spanning_edges"))]
    pub fn maximum_spanning_tree(&self) -> Result<Edges<V, W>> {
        self.spanning_tree("a maximum spanning tree", true)
    }
}

/// Returns the triangles of each vertex divided by the pairs of its neighbours.
fn shares<'a>(triangles: &'a [f64], pairs: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    triangles.iter().zip(pairs).map(|(triangles, &pairs)| if pairs > 0.0 { triangles / pairs } else { 0.0 })
}

/// Returns the root of a set, and shortens the path to it.
fn root(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

/// Returns the core number of each vertex. Repeated edges count separately; self-loops are ignored.
fn cores(vertices: usize, ends: &[(usize, usize)]) -> Vec<usize> {
    let mut neighbours = vec![Vec::new(); vertices];
    ends.iter().filter(|(from, to)| from != to).for_each(|&(from, to)| neighbours[from].push(to));
    let mut degrees: Vec<usize> = neighbours.iter().map(Vec::len).collect();
    let most = degrees.iter().copied().max().unwrap_or(0);
    // Vertices by degree; a vertex is added to a lower bucket when a neighbour is removed.
    let mut buckets = vec![Vec::new(); most + 1];
    degrees.iter().enumerate().for_each(|(vertex, &degree)| buckets[degree].push(vertex));
    let (mut removed, mut numbers) = (vec![false; vertices], vec![0; vertices]);
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
        numbers[vertex] = core;
        for &to in neighbours[vertex].iter().filter(|&&to| !removed[to]) {
            degrees[to] -= 1;
            buckets[degrees[to]].push(to);
            at = at.min(degrees[to]);
        }
    }
    numbers
}

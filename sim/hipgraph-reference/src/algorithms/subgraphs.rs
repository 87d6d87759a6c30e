//! Parts of a graph: induced subgraphs, neighbourhoods, spanning trees.

use petgraph::algo::min_spanning_tree;
use petgraph::data::Element;
use petgraph::graph::{NodeIndex, UnGraph};
use rayon::prelude::*;

use crate::algorithms::traversal::bfs;
use crate::graph::{Graph, Result, invalid};

/// The edges between the vertices of each set.
pub fn induced(graph: &Graph, sets: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let one = |set: &Vec<usize>| {
        let mut inside = vec![false; graph.len()];
        set.iter().for_each(|&vertex| inside[vertex] = true);
        let mut vertices = set.clone();
        vertices.sort_unstable();
        vertices.dedup();
        let edges = vertices.iter().flat_map(|&from| graph.out.of(from));
        edges.filter(|(to, _)| inside[*to]).map(|(_, edge)| edge).collect()
    };
    sets.par_iter().map(one).collect()
}

/// The edges between the vertices that each source reaches in at most `radius` steps.
///
/// # Errors
/// Returns an error if the radius is not smaller than the number of vertices.
pub fn ego(graph: &Graph, sources: &[usize], radius: usize) -> Result<Vec<Vec<usize>>> {
    if radius >= graph.len() {
        let most = graph.len().saturating_sub(1);
        return Err(invalid(format!(
            "the radius of an ego graph is {radius}, and must be at most {most} in this graph"
        )));
    }
    let near = |&source: &usize| -> Result<Vec<usize>> {
        let distances = bfs(graph, &[source], radius)?.distances;
        Ok((0..graph.len()).filter(|&vertex| distances[vertex].is_some()).collect())
    };
    Ok(induced(graph, &sources.iter().map(near).collect::<Result<Vec<_>>>()?))
}

/// All distinct pairs of a start vertex and a vertex two edges away. Without `starts`, every vertex is a start.
pub fn two_hop(graph: &Graph, starts: Option<&[usize]>) -> Vec<(usize, usize)> {
    let all: Vec<usize>;
    let starts = match starts {
        Some(starts) => starts,
        None => {
            all = (0..graph.len()).collect();
            &all
        }
    };
    let one = |&start: &usize| {
        let mut ends: Vec<u32> =
            graph.out.ends(start).iter().flat_map(|&middle| graph.out.ends(middle as usize)).copied().collect();
        ends.sort_unstable();
        ends.dedup();
        ends.into_iter().map(move |end| (start, end as usize)).collect::<Vec<_>>()
    };
    starts.par_iter().flat_map_iter(one).collect()
}

/// The edges of a minimum spanning tree of each component, in both directions; of a maximum one if `maximum`.
///
/// # Errors
/// Returns an error if the graph is directed.
pub fn spanning_tree(graph: &Graph, maximum: bool) -> Result<Vec<usize>> {
    graph.needs_symmetric("a spanning tree")?;
    let sign = if maximum { -1.0 } else { 1.0 };
    let mut copy = UnGraph::<(), f64>::with_capacity(graph.len(), graph.edges() / 2);
    for _ in 0..graph.len() {
        copy.add_node(());
    }
    for (from, to, edge) in graph.all_edges().filter(|(from, to, _)| from < to) {
        copy.add_edge(NodeIndex::new(from), NodeIndex::new(to), sign * graph.weight(edge));
    }
    let mut chosen = Vec::new();
    for element in min_spanning_tree(&copy) {
        if let Element::Edge { source, target, weight } = element {
            for (from, to) in [(source, target), (target, source)] {
                chosen.extend(graph.out.of(from).find(|&(end, edge)| end == to && sign * graph.weight(edge) == weight));
            }
        }
    }
    let mut edges: Vec<usize> = chosen.into_iter().map(|(_, edge)| edge).collect();
    edges.sort_unstable();
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, Options};

    /// NetworkX's examples: a cycle of four, one edge of the weight 2.
    #[test]
    fn spanning_trees_and_egos() {
        let list = EdgeList {
            sources: vec![0, 1, 2, 0, 1, 2, 3, 3],
            destinations: vec![1, 2, 3, 3, 0, 1, 2, 0],
            weights: Some(vec![1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 2.0]),
            ..EdgeList::default()
        };
        let graph = Graph::new(list, Options { symmetric: true, ..Options::default() }).unwrap();
        for (maximum, sum) in [(false, 6.0), (true, 8.0)] {
            let tree = spanning_tree(&graph, maximum).unwrap();
            assert_eq!((tree.len(), tree.iter().map(|&edge| graph.weight(edge)).sum::<f64>()), (6, sum));
        }
        assert_eq!(ego(&graph, &[1], 0).unwrap(), [[0; 0]]);
        assert_eq!(ego(&graph, &[1], 1).unwrap()[0].len(), 4);
        assert!(ego(&graph, &[1], 4).unwrap_err().message.contains("at most 3"));
    }
}

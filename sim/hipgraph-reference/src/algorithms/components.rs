//! Connected components.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::unionfind::UnionFind;

use crate::graph::Graph;

/// The weakly connected component of each vertex, without regard to the directions of edges. A component is named after
/// its first vertex.
pub fn weak(graph: &Graph) -> Vec<usize> {
    let mut sets = UnionFind::new(graph.len());
    for (from, to, _) in graph.all_edges() {
        sets.union(from, to);
    }
    first_of_each(&sets.into_labeling())
}

/// The strongly connected component of each vertex. A component is named after its first vertex.
pub fn strong(graph: &Graph) -> Vec<usize> {
    let mut copy = DiGraph::<(), ()>::with_capacity(graph.len(), graph.edges());
    for _ in 0..graph.len() {
        copy.add_node(());
    }
    for (from, to, _) in graph.all_edges() {
        copy.add_edge(NodeIndex::new(from), NodeIndex::new(to), ());
    }
    let mut labels = vec![0; graph.len()];
    for (number, component) in kosaraju_scc(&copy).into_iter().enumerate() {
        component.into_iter().for_each(|vertex| labels[vertex.index()] = number);
    }
    first_of_each(&labels)
}

/// Renames labels to the first vertex that has each.
fn first_of_each(labels: &[usize]) -> Vec<usize> {
    let mut first = vec![usize::MAX; labels.len()];
    let one = |(vertex, &label): (usize, &usize)| {
        if first[label] == usize::MAX {
            first[label] = vertex;
        }
        first[label]
    };
    labels.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, Options};

    /// 0 -> 1 <- 2, 3 -> 4, and 5.
    #[test]
    fn directions_do_not_matter() {
        let (sources, destinations) = (vec![0, 2, 3], vec![1, 1, 4]);
        let list = EdgeList { vertices: (0..6).collect(), sources, destinations, ..EdgeList::default() };
        let graph = Graph::new(list, Options { renumber: true, ..Options::default() }).unwrap();
        assert_eq!(weak(&graph), [0, 0, 0, 3, 3, 5]);
        assert_eq!(strong(&graph), [0, 1, 2, 3, 4, 5]);
    }
}

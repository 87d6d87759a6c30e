//! The algorithms, on graphs in memory. Vertices are indices in [`Graph::names`](crate::Graph::names).

pub mod betweenness;
pub mod centrality;
pub mod community;
pub mod components;
pub mod cores;
pub mod generators;
pub mod sampling;
pub mod similarity;
pub mod subgraphs;
pub mod traversal;
pub mod triangles;

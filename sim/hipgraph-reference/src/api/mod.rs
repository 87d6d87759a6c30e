//! hipGRAPH's C functions, implemented with the algorithms.

mod array;
mod centrality;
mod community;
mod cores;
mod function;
mod generators;
mod graph;
mod links;
mod resource;
mod results;
mod sampling;
mod subgraphs;
mod traversal;

pub(crate) use function::Function;

/// All functions, by file.
pub(crate) const FUNCTIONS: &[&[(&str, Function)]] = &[
    array::FUNCTIONS,
    centrality::FUNCTIONS,
    community::FUNCTIONS,
    cores::FUNCTIONS,
    generators::FUNCTIONS,
    graph::FUNCTIONS,
    links::FUNCTIONS,
    resource::FUNCTIONS,
    results::FUNCTIONS,
    sampling::FUNCTIONS,
    subgraphs::FUNCTIONS,
    traversal::FUNCTIONS,
];

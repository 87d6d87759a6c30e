//! hipGRAPH's functions in plain Rust: a reference engine, correct and checked, not fast.
//!
//! [`provider`] replaces `libhipgraph` below [`hipgraph_sys`]: graph analytics then run on the CPU. Arrays stay in the
//! memory of the HIP runtime in use, AMD's or the embedded software GPU, and are copied by HIP. The crate
//! [`hipgraph`](https://docs.rs/hipgraph) does this with its feature `reference`.
//!
//! [`algorithms`] has the algorithms without C and without HIP, on a [`Graph`] in memory:
//!
//! ```
//! use hipgraph_reference::{EdgeList, Graph, Options, algorithms::centrality};
//!
//! let list = EdgeList { sources: vec![0, 1, 2], destinations: vec![1, 2, 0], ..EdgeList::default() };
//! let graph = Graph::new(list, Options::default())?;
//! let options = centrality::PageRank { alpha: 0.85, epsilon: 1e-9, max_iterations: 100, ..Default::default() };
//! assert!(centrality::pagerank(&graph, &options)?.values.iter().all(|rank| (rank - 1.0 / 3.0).abs() < 1e-9));
//! # Ok::<(), hipgraph_reference::Failure>(())
//! ```
//!
//! # Behaviour
//! The definitions are cuGraph's, whose C interface hipGRAPH implements: see the functions. Where cuGraph does not
//! specify an order, results are in ascending order of the vertices. The stated properties of a graph (undirected,
//! without multi-edges) are always checked, and NaN weights are rejected. Everything is computed in `f64` and stored as
//! the graph's weight type.
//!
//! Functions that are not implemented (several GPUs, spectral clustering) return `HIPGRAPH_NOT_IMPLEMENTED`;
//! [`is_supported`] returns whether a function is supported.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod algorithms;
mod api;
mod graph;
mod provider;
pub mod published;
mod random;

pub use graph::{EdgeList, Failure, FailureKind, Graph, Options, Result, Rows};
pub use provider::{is_supported, provider};
pub use random::Random;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

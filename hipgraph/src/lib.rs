//! Safe Rust for hipGRAPH on AMD GPUs: graph analytics such as PageRank, shortest paths and communities.
//!
//! ```
//! use hipgraph::{Graph, GraphOptions, PageRankOptions, ResourceHandle};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! hip::sim_if_no_gpu()?;
//! println!("engine: {}", hipgraph::reference_if_missing()?); // hipGRAPH, or the reference engine
//! let handle = ResourceHandle::new()?;
//! // 0 -> 1 -> 2 -> 0, and 3 -> 0.
//! let graph = Graph::from_edges(&handle, &[0, 1, 2, 3], &[1, 2, 0, 0], GraphOptions::directed())?;
//! let ranks = graph.pagerank(&PageRankOptions::default())?;
//! let vertices = ranks.vertices.to_vec()?;
//! let values = ranks.values.to_vec()?;
//! let best = (0..4).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap();
//! assert_eq!(vertices[best], 0);
//! # Ok(())
//! # }
//! ```
//!
//! # Graphs
//! A [`Graph`] is made from an edge list or compressed rows on the host, from `hip` buffers, or with the feature
//! `petgraph` from a graph of that crate. [`GraphOptions`] states whether it is directed and whether edges repeat; the
//! edges are checked against it. Vertices are `i32` or `i64` and need not be contiguous. Weights and scores are `f32`
//! or `f64`; for a graph without weights, scores are `f32`, or `f64` if it is made so ([`Graph::from_edges_f64`]).
//!
//! # Results
//! Results are columns in device memory ([`Column`]), which the result owns: [`Column::to_vec`] copies to the host,
//! [`Column::to_buffer`] to a `hip` buffer, and with the feature `ndarray` `Column::to_array` to an array of that
//! crate. One of the columns contains the vertices. The engine chooses their order: AMD's library sorts by degree, the
//! reference engine by number.
//!
//! # Engines
//! [`engine`] returns the engine that runs the algorithms. No package registry has a binary of hipGRAPH, and building
//! it takes AMD's whole data science stack. So the crate has a reference engine in plain Rust, with the feature
//! `reference`, which is on by default: [`reference_if_missing`] selects it if hipGRAPH cannot be loaded. It is correct
//! and checked, not fast. The example `cugraph` runs this crate on NVIDIA's cuGraph, which has the same C interface as
//! hipGRAPH, and compares each algorithm with the reference engine: [`CUGRAPH.md`] has the results.
//!
//! [`CUGRAPH.md`]: https://docs.rs/crate/hipgraph/latest/source/CUGRAPH.md
//!
//! # Captures and graphs of `hip`
//! The library uses its own streams, and its calls cannot be captured. It copies its input: during the copy, the
//! buffers stay borrowed, and a buffer that a `hip` graph can write to is rejected. Results are memory of the library,
//! which a `hip` graph cannot use.
//!
//! # Errors
//! [`Error`] carries the library's status and message, the function that was called and the request. Invalid input is
//! an error before the C call.
//!
//! # Features
//!
//! | feature | what it does |
//! |---|---|
//! | `reference` | the reference engine; on by default |
//! | `petgraph` | graphs of `petgraph` as input |
//! | `ndarray` | columns of results as arrays of `ndarray` |
//! | `rccl` | `ResourceHandle::from_communicator`, for a communicator of `rccl` |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod array;
mod centrality;
mod community;
mod composed;
mod error;
#[cfg(feature = "petgraph")]
mod from_petgraph;
pub mod generators;
mod graph;
mod handle;
mod sampling;
mod subgraph;
mod traversal;

pub use array::{Column, Element, Vertex, Weight};
pub use centrality::{Centrality, Convergence, Degrees, EdgeCentrality, Hits, PageRankOptions};
pub use community::{Clustering, CommunityOptions, Counts, DegreeType, Labels};
pub use composed::Scores;
pub use error::{Error, Result};
pub use graph::{Graph, GraphOptions};
pub use handle::{Engine, RandomState, ResourceHandle, engine};
#[cfg(feature = "reference")]
pub use handle::{reference_if_missing, use_reference};
pub use hipgraph_sys as sys;
pub use sampling::{PriorSources, Rmat, Sample, SamplingOptions, Step, Walks, generate_rmat};
pub use subgraph::{Coefficient, Edges, Pairs, Similarity, Subgraphs};
pub use traversal::Paths;

/// Compiles the README's example.
#[cfg(all(doctest, feature = "reference"))]
#[doc = include_str!("../README.md")]
struct Readme;

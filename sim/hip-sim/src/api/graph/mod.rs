//! Graphs and their nodes.

mod describe;
mod dot;
mod exec;
mod generic;
mod graphs;
mod handles;
mod memory;
mod node;
mod object;
#[cfg(target_os = "linux")]
mod semaphore;
mod signal;

use super::Function;
pub(crate) use handles::{handle, nodes_from};

/// The functions of graphs by name.
pub(crate) const FUNCTIONS: &[&[(&str, Function)]] = &[
    graphs::FUNCTIONS,
    node::FUNCTIONS,
    describe::FUNCTIONS,
    exec::FUNCTIONS,
    memory::FUNCTIONS,
    dot::FUNCTIONS,
    generic::FUNCTIONS,
    object::FUNCTIONS,
    signal::FUNCTIONS,
    #[cfg(target_os = "linux")]
    semaphore::FUNCTIONS,
];

//! Kernels in HIP C++, one file per topic, compared with references on the CPU.
//!
//! Each topic runs twice: from committed code objects, so that it is tested on every machine, and, if ROCm 7.2 is
//! fetched, compiled at run time by the real HIPRTC for every architecture at `-O0` to `-O3`.

#![allow(missing_docs, reason = "a test")]
#![allow(clippy::precedence, clippy::type_complexity, reason = "tables of short formulas")]
#![allow(clippy::needless_range_loop, reason = "an item is the same place in several arrays")]

#[path = "../common/mod.rs"]
mod common;

mod algorithms;
mod atomics;
mod control;
mod conversions;
mod data;
mod examples;
mod floats;
mod hashes;
mod images;
mod integers;
mod levels;
mod local;
mod math;
mod numbers;
mod packed;
mod waves;

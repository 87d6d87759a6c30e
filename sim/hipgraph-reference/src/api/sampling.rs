//! Random walks and neighbourhood sampling.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hipgraph_sys::*;

use super::array::{DeviceArray, HostView, Kind, View, view};
use super::community::with_random;
use super::function::{algorithms, at, at_or_null, run, take};
use super::graph::graph_at;
use super::results::{LABEL_HOP_OFFSETS, Outcome};
use super::traversal::NO_VERTEX;
use crate::algorithms::sampling::{self, Prior, Sampling, Step};
use crate::graph::{Failure, FailureKind, Result, invalid};
use crate::random::Random;

type Handle = hipgraph_resource_handle_t;
type DeviceView = hipgraph_type_erased_device_array_view_t;

/// The seed of the next walk. hipGRAPH's walks take no random number state: each call uses another seed, and a program
/// that makes the same calls gets the same walks.
static SEED: AtomicU64 = AtomicU64::new(0);

/// # Safety
/// The pointers are null or C's.
unsafe fn walks(
    graph: *mut hipgraph_graph_t,
    starts: *const DeviceView,
    length: usize,
    step: Step,
    packed: bool,
) -> Result<Outcome> {
    // SAFETY: as the caller ensures.
    unsafe {
        let object = graph_at(graph)?;
        let starts = object.find(view(starts, "start vertices")?, "start vertices")?;
        let mut random = Random::new(SEED.fetch_add(1, Ordering::Relaxed));
        let found = sampling::walks(&object.graph, &starts, length, step, &mut random)?;
        let (mut paths, mut weights, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for (&start, walk) in starts.iter().zip(&found) {
            paths.push(object.graph.names[start]);
            paths.extend(walk.iter().map(|(to, _)| object.graph.names[*to]));
            weights.extend(walk.iter().map(|(_, edge)| object.graph.weight(*edge)));
            sizes.push(walk.len() as i64 + 1);
            if !packed {
                paths.extend(std::iter::repeat_n(NO_VERTEX, length - walk.len()));
                weights.extend(std::iter::repeat_n(0.0, length - walk.len()));
            }
        }
        let weights = object.graph.weights.as_ref().map(|_| object.reals(&weights)).transpose()?;
        let sizes = packed.then(|| DeviceArray::integers(&sizes, object.vertex)).transpose()?;
        let columns = [Some(DeviceArray::integers(&paths, object.vertex)?), weights, sizes];
        Ok(Outcome { count: length + 1, ..Outcome::with_gaps(columns) })
    }
}

/// The object behind a `hipgraph_sampling_options_t`.
#[derive(Clone, Copy)]
struct Options {
    how: Sampling,
    return_hops: bool,
    /// A requested feature that the engine does not support: renumbered or compressed results.
    unsupported: Option<&'static str>,
}

unsafe extern "C" fn hipgraph_sampling_options_create(
    options: *mut *mut hipgraph_sampling_options_t,
    error: *mut *mut hipgraph_error_t,
) -> hipgraph_error_code_t {
    let how = Sampling { with_replacement: false, dedupe_sources: false, prior: Prior::Default };
    // SAFETY: the pointers are C's.
    unsafe { run(options, error, || Ok(Mutex::new(Options { how, return_hops: false, unsupported: None }))) }
}

unsafe extern "C" fn hipgraph_sampling_options_free(options: *mut hipgraph_sampling_options_t) {
    // SAFETY: the pointer is C's.
    unsafe { take(options) }
}

macro_rules! setters {
    ($($name:ident($ty:ty) = |$options:ident, $value:ident| $set:expr;)*) => {$(
        unsafe extern "C" fn $name(options: *mut hipgraph_sampling_options_t, $value: $ty) {
            // SAFETY: the pointer is C's.
            if let Ok(options) = unsafe { at::<Mutex<Options>, _>(options, "options") } {
                let $options = &mut *options.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                $set;
            }
        }
    )*};
}

setters! {
    hipgraph_sampling_set_with_replacement(hipgraph_bool_t) =
        |options, value| options.how.with_replacement = value != HIPGRAPH_FALSE;
    hipgraph_sampling_set_return_hops(hipgraph_bool_t) = |options, value| options.return_hops = value != HIPGRAPH_FALSE;
    hipgraph_sampling_set_dedupe_sources(hipgraph_bool_t) =
        |options, value| options.how.dedupe_sources = value != HIPGRAPH_FALSE;
    hipgraph_sampling_set_prior_sources_behavior(hipgraph_prior_sources_behavior_t) = |options, value| {
        options.how.prior = match value {
            HIPGRAPH_CARRY_OVER => Prior::CarryOver,
            HIPGRAPH_EXCLUDE => Prior::Exclude,
            _ => Prior::Default,
        }
    };
    hipgraph_sampling_set_renumber_results(hipgraph_bool_t) = |options, value| {
        if value != HIPGRAPH_FALSE {
            options.unsupported = Some("renumbered samples");
        }
    };
    hipgraph_sampling_set_compress_per_hop(hipgraph_bool_t) = |options, value| {
        if value != HIPGRAPH_FALSE {
            options.unsupported = Some("samples that are compressed for each hop");
        }
    };
    hipgraph_sampling_set_compression_type(hipgraph_compression_type_t) = |options, value| {
        if value != HIPGRAPH_COO {
            options.unsupported = Some("compressed samples");
        }
    };
}

algorithms! {
    fn hipgraph_uniform_random_walks(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, starts: *const DeviceView, max_length: usize,
    ) -> hipgraph_random_walk_result_t {
        walks(graph, starts, max_length, Step::Uniform, false)
    }
    fn hipgraph_biased_random_walks(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, starts: *const DeviceView, max_length: usize,
    ) -> hipgraph_random_walk_result_t {
        walks(graph, starts, max_length, Step::Biased, false)
    }
    fn hipgraph_node2vec_random_walks(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, starts: *const DeviceView, max_length: usize, p: f64, q: f64,
    ) -> hipgraph_random_walk_result_t {
        walks(graph, starts, max_length, Step::Node2Vec { p, q }, false)
    }
    fn hipgraph_node2vec(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, sources: *const DeviceView, max_depth: usize,
        compress_result: hipgraph_bool_t, p: f64, q: f64,
    ) -> hipgraph_random_walk_result_t {
        let length = max_depth.checked_sub(1).ok_or_else(|| invalid("the depth of a walk is at least 1"))?;
        walks(graph, sources, length, Step::Node2Vec { p, q }, compress_result != HIPGRAPH_FALSE)
    }
    fn hipgraph_uniform_neighbor_sample(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, starts: *const DeviceView, labels: *const DeviceView,
        _label_list: *const DeviceView, label_to_rank: *const DeviceView, _label_offsets: *const DeviceView,
        fan_out: *const hipgraph_type_erased_host_array_view_t, state: *mut hipgraph_rng_state_t,
        options: *const hipgraph_sampling_options_t, _check: hipgraph_bool_t,
    ) -> hipgraph_sample_result_t {
        let object = graph_at(graph)?;
        let options = *at::<Mutex<Options>, _>(options, "options")?.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let labelled: Option<&View> = at_or_null(labels, "labels")?;
        let missing = options.unsupported.or_else(|| {
            (labelled.is_some() || !label_to_rank.is_null()).then_some("samples by label")
        });
        if let Some(what) = missing {
            let message = format!("the reference engine does not support {what}");
            return Err(Failure { kind: FailureKind::NotImplemented, message });
        }
        let starts = object.find(view(starts, "start vertices")?, "start vertices")?;
        let fan_out = at::<HostView, _>(fan_out, "fan-out")?.integers("fan-out")?;
        let fan_out: Vec<i32> = fan_out.into_iter().map(|most| most.clamp(-1, i64::from(i32::MAX)) as i32).collect();
        if fan_out.is_empty() {
            return Err(invalid("the fan-out has at least one hop"));
        }
        let found = with_random(state, |random| {
            sampling::neighbours(&object.graph, &starts, &fan_out, options.how, random)
        })??;
        let mut all = object.edges(&[found.iter().map(|sampled| sampled.edge).collect()])?;
        // The edges are ordered by hop. As in rocGRAPH and cuGraph, the array of each edge's hop is null, and only the offsets of the hops
        // are returned.
        let offsets: Vec<i64> =
            (0..=fan_out.len()).map(|hop| found.partition_point(|sampled| sampled.hop < hop) as i64).collect();
        all.columns.truncate(5);
        all.columns.resize_with(LABEL_HOP_OFFSETS, || None);
        all.columns.push(options.return_hops.then(|| DeviceArray::integers(&offsets, Kind::Size)).transpose()?);
        Ok(all)
    }
    fn hipgraph_select_random_vertices(
        _handle: *const Handle, graph: *const hipgraph_graph_t, state: *mut hipgraph_rng_state_t, num_vertices: usize,
    ) -> hipgraph_type_erased_device_array_t {
        let object = graph_at(graph)?;
        if num_vertices > object.graph.len() {
            return Err(invalid(format!("{num_vertices} vertices of a graph that has {}", object.graph.len())));
        }
        let mut all: Vec<usize> = (0..object.graph.len()).collect();
        with_random(state, |random| random.shuffle(&mut all))?;
        all.truncate(num_vertices);
        object.vertices(all)
    }
    also: hipgraph_sampling_options_create, hipgraph_sampling_options_free, hipgraph_sampling_set_with_replacement,
        hipgraph_sampling_set_return_hops, hipgraph_sampling_set_dedupe_sources,
        hipgraph_sampling_set_prior_sources_behavior, hipgraph_sampling_set_renumber_results,
        hipgraph_sampling_set_compress_per_hop, hipgraph_sampling_set_compression_type
}

//! Random walks, samples and random graphs.

use std::ptr::null;

use hipgraph_sys::*;

use crate::array::{Column, Object, Vertex, Weight};
use crate::error::{Result, call, flag, invalid, make};
use crate::graph::Graph;
use crate::handle::{RandomState, ResourceHandle};
use crate::subgraph::Edges;

/// Random walks: a row for each start vertex.
#[derive(Debug)]
pub struct Walks<V, W> {
    /// `row_len` vertices per walk, beginning with its start. After a vertex without outgoing edges, [`Vertex::NONE`].
    pub vertices: Column<V>,
    /// The weight of each step, `row_len - 1` per walk, if the graph has weights; 0 after the end.
    pub weights: Option<Column<W>>,
    /// Number of vertices per row: one more than the number of steps.
    pub row_len: usize,
}

/// How a walk chooses its next edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// All edges have the same probability.
    Uniform,
    /// The probability of an edge is proportional to its weight.
    Biased,
    /// node2vec: a factor of `1 / p` for an edge back, 1 for an edge to a neighbour of the previous vertex, `1 / q` for
    /// any other; multiplied by the edge's weight.
    Node2Vec {
        /// The return parameter.
        p: f64,
        /// The in-out parameter.
        q: f64,
    },
}

/// The vertices that a later hop samples from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PriorSources {
    /// The destinations of the last hop's edges.
    #[default]
    Default,
    /// Also the sources of earlier hops.
    CarryOver,
    /// The destinations of the last hop's edges that have not been sources yet.
    Exclude,
}

/// The parameters of neighbourhood sampling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamplingOptions {
    /// Whether an edge may be chosen several times.
    pub with_replacement: bool,
    /// Whether a vertex is sampled from once per hop, however often it was reached.
    pub dedupe_sources: bool,
    /// The vertices that a later hop samples from.
    pub prior_sources: PriorSources,
}

/// Sampled edges, in the order of their hops.
#[derive(Debug)]
pub struct Sample<V, W> {
    /// The edges.
    pub edges: Edges<V, W>,
    /// One more than the number of hops: the edges of a hop are at `hop_offsets[hop]..hop_offsets[hop + 1]`.
    pub hop_offsets: Column<usize>,
}

/// The library's options for sampling, freed when dropped.
struct RawOptions(*mut hipgraph_sampling_options_t);

impl Drop for RawOptions {
    fn drop(&mut self) {
        // SAFETY: the options are alive, and freed once.
        unsafe { hipgraph_sampling_options_free(self.0) }
    }
}

impl RawOptions {
    fn new(options: SamplingOptions) -> Result<RawOptions> {
        // SAFETY: the places are valid for writes.
        let raw = make(
            "hipgraph_sampling_options_create",
            || "options".to_owned(),
            |result, error| unsafe { hipgraph_sampling_options_create(result, error) },
        )?;
        let prior = match options.prior_sources {
            PriorSources::Default => HIPGRAPH_DEFAULT,
            PriorSources::CarryOver => HIPGRAPH_CARRY_OVER,
            PriorSources::Exclude => HIPGRAPH_EXCLUDE,
        };
        // SAFETY: the options are alive.
        unsafe {
            hipgraph_sampling_set_with_replacement(raw, flag(options.with_replacement));
            hipgraph_sampling_set_dedupe_sources(raw, flag(options.dedupe_sources));
            hipgraph_sampling_set_prior_sources_behavior(raw, prior);
            hipgraph_sampling_set_return_hops(raw, HIPGRAPH_TRUE);
        }
        Ok(RawOptions(raw))
    }
}

/// A view of a host array, freed when dropped.
struct HostView(*mut hipgraph_type_erased_host_array_view_t);

impl Drop for HostView {
    fn drop(&mut self) {
        // SAFETY: the view is alive, and freed once.
        unsafe { hipgraph_type_erased_host_array_view_free(self.0) }
    }
}

impl<V: Vertex, W: Weight> Graph<V, W> {
    /// Performs a random walk of `steps` edges from each of `starts`.
    ///
    /// # Errors
    /// If there is no start or step, a start is not in the graph, a parameter is invalid, or the library returns an
    /// error.
    #[doc(alias("hipgraph_uniform_random_walks", "hipgraph_biased_random_walks", "hipgraph_node2vec_random_walks"))]
    pub fn random_walks(&self, starts: &[V], steps: usize, step: Step) -> Result<Walks<V, W>> {
        if steps == 0 {
            return Err(invalid("the number of steps", "0", "at least 1"));
        }
        match step {
            Step::Biased => self.needs_weights("a biased walk")?,
            Step::Node2Vec { p, q } if !(p > 0.0 && q > 0.0 && p.is_finite() && q.is_finite()) => {
                return Err(invalid("a parameter of node2vec", format!("p = {p}, q = {q}"), "positive"));
            }
            Step::Uniform | Step::Node2Vec { .. } => {}
        }
        let input = self.not_empty("the list of start vertices", starts)?;
        let function = match step {
            Step::Uniform => "hipgraph_uniform_random_walks",
            Step::Biased => "hipgraph_biased_random_walks",
            Step::Node2Vec { .. } => "hipgraph_node2vec_random_walks",
        };
        let (handle, graph, from) = (self.resources(), self.raw(), input.raw());
        // SAFETY: the handle, the graph and the view are alive, and the places are valid for writes.
        let result = make(
            function,
            || format!("{} walks of {steps} steps", starts.len()),
            |result, error| unsafe {
                match step {
                    Step::Uniform => hipgraph_uniform_random_walks(handle, graph, from, steps, result, error),
                    Step::Biased => hipgraph_biased_random_walks(handle, graph, from, steps, result, error),
                    Step::Node2Vec { p, q } => {
                        hipgraph_node2vec_random_walks(handle, graph, from, steps, p, q, result, error)
                    }
                }
            },
        )?;
        let all = Object::new(self.handle(), result, hipgraph_random_walk_result_free);
        let vertices: Column<V> =
            Column::new(&all, "hipgraph_random_walk_result_get_paths", hipgraph_random_walk_result_get_paths)?;
        Ok(Walks {
            row_len: vertices.len() / starts.len(),
            vertices,
            weights: self.weights_of(&all, hipgraph_random_walk_result_get_weights)?,
        })
    }

    /// Samples the neighbourhoods of `starts`: in each hop, up to `fan_out[hop]` outgoing edges of each vertex, or all
    /// if it is -1.
    ///
    /// # Errors
    /// If there is no start or hop, a start is not in the graph, a fan-out is below -1, or the library returns an
    /// error.
    #[doc(alias("hipgraph_uniform_neighbor_sample", "hipgraph_sampling_options_create"))]
    pub fn sample_neighbors(
        &self,
        random: &mut RandomState,
        starts: &[V],
        fan_out: &[i32],
        options: SamplingOptions,
    ) -> Result<Sample<V, W>> {
        if fan_out.is_empty() {
            return Err(invalid("the list of fan-outs", "empty", "of one number for each hop"));
        }
        if let Some(most) = fan_out.iter().find(|most| **most < -1) {
            return Err(invalid("a fan-out", most.to_string(), "at least 0, or -1 for all edges"));
        }
        let input = self.not_empty("the list of start vertices", starts)?;
        let options = RawOptions::new(options)?;
        // SAFETY: the slice outlives the view, and nothing writes to it.
        let hops = HostView(unsafe {
            hipgraph_type_erased_host_array_view_create(
                fan_out.as_ptr().cast_mut().cast(),
                fan_out.len(),
                HIPGRAPH_INT32,
            )
        });
        let request = || format!("{} starts with the fan-out {fan_out:?}", starts.len());
        // SAFETY: the handle, the graph, the state, the options and the views are alive, and the places are valid for writes.
        let result = make("hipgraph_uniform_neighbor_sample", request, |result, error| unsafe {
            hipgraph_uniform_neighbor_sample(
                self.resources(),
                self.raw(),
                input.raw(),
                null(),
                null(),
                null(),
                null(),
                hops.0,
                random.raw(),
                options.0,
                self.check(),
                result,
                error,
            )
        })?;
        let all = Object::new(self.handle(), result, hipgraph_sample_result_free);
        Ok(Sample {
            edges: Edges {
                sources: Column::new(&all, "hipgraph_sample_result_get_majors", majors)?,
                destinations: Column::new(&all, "hipgraph_sample_result_get_minors", minors)?,
                weights: self.weights_of(&all, sample_weights)?,
            },
            hop_offsets: Column::new(&all, "hipgraph_sample_result_get_label_hop_offsets", hop_offsets)?,
        })
    }

    /// Selects `count` different vertices at random.
    ///
    /// # Errors
    /// If the graph has fewer vertices, or the library returns an error.
    #[doc(alias = "hipgraph_select_random_vertices")]
    pub fn random_vertices(&self, random: &mut RandomState, count: usize) -> Result<Column<V>> {
        // SAFETY: the handle, the graph and the state are alive, and the places are valid for writes.
        let array = make(
            "hipgraph_select_random_vertices",
            || format!("{count} vertices"),
            |result, error| unsafe {
                hipgraph_select_random_vertices(self.resources(), self.raw(), random.raw(), count, result, error)
            },
        )?;
        let all = Object::new(self.handle(), array, hipgraph_type_erased_device_array_free);
        Column::new(&all, "hipgraph_type_erased_device_array_view", hipgraph_type_erased_device_array_view)
    }
}

type DeviceView = hipgraph_type_erased_device_array_view_t;

/// The getters of samples take a pointer to const; those of all other results do not.
macro_rules! getters {
    ($($name:ident = $getter:ident),* $(,)?) => {$(
        unsafe extern "C" fn $name(result: *mut hipgraph_sample_result_t) -> *mut DeviceView {
            // SAFETY: as the caller ensures.
            unsafe { $getter(result) }
        }
    )*};
}

getters! {
    majors = hipgraph_sample_result_get_majors, minors = hipgraph_sample_result_get_minors,
    sample_weights = hipgraph_sample_result_get_edge_weight,
    hop_offsets = hipgraph_sample_result_get_label_hop_offsets,
}

/// The parameters of an R-MAT graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rmat {
    /// The graph has `1 << scale` vertices; at most 30.
    pub scale: usize,
    /// Number of edges, repeated ones included.
    pub edges: usize,
    /// The probability of the upper left quadrant of the adjacency matrix: 0.57 by default.
    pub a: f64,
    /// The probability of the upper right quadrant: 0.19 by default.
    pub b: f64,
    /// The probability of the lower left quadrant: 0.19 by default.
    pub c: f64,
    /// Whether only edges below the diagonal are generated.
    pub clip_and_flip: bool,
    /// Whether vertices are renamed, so that their degree does not depend on their number.
    pub scramble_vertices: bool,
}

impl Rmat {
    /// Returns the parameters of the Graph 500 benchmark.
    pub const fn new(scale: usize, edges: usize) -> Rmat {
        Rmat { scale, edges, a: 0.57, b: 0.19, c: 0.19, clip_and_flip: false, scramble_vertices: true }
    }
}

/// Generates the edges of an R-MAT graph, repeated edges and self-loops included. With `weights` (smallest, largest)
/// they have uniformly distributed random weights.
///
/// # Errors
/// If a parameter is invalid or the library returns an error.
#[doc(alias("hipgraph_generate_rmat_edgelist", "hipgraph_generate_edge_weights"))]
pub fn generate_rmat<W: Weight>(
    handle: &ResourceHandle,
    random: &mut RandomState,
    rmat: Rmat,
    weights: Option<(f64, f64)>,
) -> Result<Edges<i32, W>> {
    let Rmat { scale, edges, a, b, c, clip_and_flip, scramble_vertices } = rmat;
    if scale > 30 {
        return Err(invalid("the scale", scale.to_string(), "at most 30"));
    }
    if !(a >= 0.0 && b >= 0.0 && c >= 0.0 && a + b + c <= 1.0) {
        return Err(invalid(
            "a probability",
            format!("a = {a}, b = {b}, c = {c}"),
            "at least 0, with a sum of at most 1",
        ));
    }
    let (clip, scramble) = (flag(clip_and_flip), flag(scramble_vertices));
    // SAFETY: the handle and the state are alive, and the places are valid for writes.
    let coo = make(
        "hipgraph_generate_rmat_edgelist",
        || format!("{rmat:?}"),
        |result, error| unsafe {
            hipgraph_generate_rmat_edgelist(
                handle.raw(),
                random.raw(),
                scale,
                edges,
                a,
                b,
                c,
                clip,
                scramble,
                result,
                error,
            )
        },
    )?;
    let all = Object::new(handle, coo, hipgraph_coo_free);
    if let Some((least, most)) = weights {
        // SAFETY: as above.
        call(
            "hipgraph_generate_edge_weights",
            || format!("weights from {least} to {most}"),
            // SAFETY: as above.
            |error| unsafe {
                hipgraph_generate_edge_weights(handle.raw(), random.raw(), all.raw(), W::ID, least, most, error)
            },
        )?;
    }
    Ok(Edges {
        sources: Column::new(&all, "hipgraph_coo_get_sources", hipgraph_coo_get_sources)?,
        destinations: Column::new(&all, "hipgraph_coo_get_destinations", hipgraph_coo_get_destinations)?,
        weights: match weights {
            Some(_) => Column::optional(&all, "hipgraph_coo_get_edge_weights", hipgraph_coo_get_edge_weights)?,
            None => None,
        },
    })
}

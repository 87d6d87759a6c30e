//! Degrees and centralities.

use hipgraph_sys::*;

use super::array::View;
use super::function::{algorithms, at_or_null};
use super::graph::{GraphObject, graph_at};
use super::results::Outcome;
use crate::algorithms::betweenness;
use crate::algorithms::centrality::{self, Iterated, PageRank};
use crate::graph::{Failure, FailureKind, Result, invalid};

type Handle = hipgraph_resource_handle_t;
type DeviceView = hipgraph_type_erased_device_array_view_t;

fn centrality(object: &GraphObject, found: &Iterated) -> Result<Outcome> {
    Ok(Outcome {
        count: found.iterations,
        flag: found.converged,
        ..Outcome::of([object.names()?, object.reals(&found.values)?])
    })
}

/// A list of vertices and values; both pointers are null, or neither.
///
/// # Safety
/// The pointers are null or C's.
unsafe fn pairs<'a>(
    vertices: *const DeviceView,
    values: *const DeviceView,
    what: &str,
) -> Result<Option<(&'a View, &'a View)>> {
    // SAFETY: as the caller ensures.
    match unsafe { (at_or_null(vertices, what)?, at_or_null(values, what)?) } {
        (Some(vertices), Some(values)) => Ok(Some((vertices, values))),
        (None, None) => Ok(None),
        _ => Err(invalid(format!("{what}: vertices and values are needed, or neither"))),
    }
}

/// The arrays common to all variants of PageRank.
struct Ranks {
    graph: *mut hipgraph_graph_t,
    sums: (*const DeviceView, *const DeviceView),
    initial: (*const DeviceView, *const DeviceView),
    personalization: Option<(*const DeviceView, *const DeviceView)>,
}

/// # Safety
/// The pointers are null or C's.
unsafe fn pagerank(
    ranks: &Ranks,
    (alpha, epsilon, max_iterations): (f64, f64, usize),
    must_converge: bool,
) -> Result<Outcome> {
    // SAFETY: as the caller ensures.
    unsafe {
        let object = graph_at(ranks.graph)?;
        let by_vertex = |(vertices, values), what: &str| -> Result<Option<Vec<f64>>> {
            pairs(vertices, values, what)?.map(|(names, values)| object.by_vertex(names, values, what)).transpose()
        };
        let personalization = match ranks.personalization {
            None => None,
            Some((vertices, values)) => {
                let found = pairs(vertices, values, "personalization")?;
                let (names, values) = found.ok_or_else(|| invalid("the personalization is null"))?;
                Some((object.find(names, "personalization")?, values.reals("personalization")?))
            }
        };
        let options = PageRank {
            alpha,
            epsilon,
            max_iterations,
            out_weights: by_vertex(ranks.sums, "sums of outgoing weights")?,
            initial: by_vertex(ranks.initial, "initial ranks")?,
            personalization,
        };
        let found = centrality::pagerank(&object.graph, &options)?;
        if must_converge && !found.converged {
            let message = format!("PageRank failed to converge in {max_iterations} iterations");
            return Err(Failure { kind: FailureKind::NotConverged, message });
        }
        self::centrality(object, &found)
    }
}

/// The sources for betweenness: the listed ones, or all vertices if the pointer is null.
///
/// # Safety
/// The pointer is null or C's.
unsafe fn sources(object: &GraphObject, vertices: *const DeviceView) -> Result<Vec<usize>> {
    // SAFETY: as the caller ensures.
    let sources = unsafe { object.find_or_all(at_or_null(vertices, "vertices")?, "vertices")? };
    let mut seen = vec![false; object.graph.len()];
    match sources.iter().find(|&&source| std::mem::replace(&mut seen[source], true)) {
        Some(&twice) => Err(invalid(format!("vertex {} is among the sources twice", object.graph.names[twice]))),
        None => Ok(sources),
    }
}

/// The kind of degree.
#[derive(PartialEq)]
enum Side {
    In,
    Out,
    Both,
}

/// # Safety
/// The pointers are null or C's.
unsafe fn degrees(graph: *mut hipgraph_graph_t, vertices: *const DeviceView, side: Side) -> Result<Outcome> {
    // SAFETY: as the caller ensures.
    unsafe {
        let object = graph_at(graph)?;
        let places = object.find_or_all(at_or_null(vertices, "vertices")?, "vertices")?;
        let incoming = object.counts(places.iter().map(|&place| object.graph.incoming.len(place)))?;
        let outgoing = object.counts(places.iter().map(|&place| object.graph.out.len(place)))?;
        let names = object.vertices(places)?;
        let (has_in, has_out) = (side != Side::Out, side != Side::In);
        Ok(Outcome::with_gaps([Some(names), has_in.then_some(incoming), has_out.then_some(outgoing)]))
    }
}

algorithms! {
    fn hipgraph_degrees(_handle: *const Handle, graph: *mut hipgraph_graph_t, vertices: *const DeviceView, _check: hipgraph_bool_t) -> hipgraph_degrees_result_t {
        degrees(graph, vertices, Side::Both)
    }
    fn hipgraph_in_degrees(_handle: *const Handle, graph: *mut hipgraph_graph_t, vertices: *const DeviceView, _check: hipgraph_bool_t) -> hipgraph_degrees_result_t {
        degrees(graph, vertices, Side::In)
    }
    fn hipgraph_out_degrees(_handle: *const Handle, graph: *mut hipgraph_graph_t, vertices: *const DeviceView, _check: hipgraph_bool_t) -> hipgraph_degrees_result_t {
        degrees(graph, vertices, Side::Out)
    }
    fn hipgraph_pagerank(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, sum_vertices: *const DeviceView, sums: *const DeviceView,
        guess_vertices: *const DeviceView, guess: *const DeviceView, alpha: f64, epsilon: f64, most: usize,
        _check: hipgraph_bool_t,
    ) -> hipgraph_centrality_result_t {
        let ranks = Ranks { graph, sums: (sum_vertices, sums), initial: (guess_vertices, guess), personalization: None };
        pagerank(&ranks, (alpha, epsilon, most), true)
    }
    fn hipgraph_pagerank_allow_nonconvergence(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, sum_vertices: *const DeviceView, sums: *const DeviceView,
        guess_vertices: *const DeviceView, guess: *const DeviceView, alpha: f64, epsilon: f64, most: usize,
        _check: hipgraph_bool_t,
    ) -> hipgraph_centrality_result_t {
        let ranks = Ranks { graph, sums: (sum_vertices, sums), initial: (guess_vertices, guess), personalization: None };
        pagerank(&ranks, (alpha, epsilon, most), false)
    }
    fn hipgraph_personalized_pagerank(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, sum_vertices: *const DeviceView, sums: *const DeviceView,
        guess_vertices: *const DeviceView, guess: *const DeviceView, jump_vertices: *const DeviceView,
        jump: *const DeviceView, alpha: f64, epsilon: f64, most: usize, _check: hipgraph_bool_t,
    ) -> hipgraph_centrality_result_t {
        let personalization = Some((jump_vertices, jump));
        let ranks = Ranks { graph, sums: (sum_vertices, sums), initial: (guess_vertices, guess), personalization };
        pagerank(&ranks, (alpha, epsilon, most), true)
    }
    fn hipgraph_personalized_pagerank_allow_nonconvergence(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, sum_vertices: *const DeviceView, sums: *const DeviceView,
        guess_vertices: *const DeviceView, guess: *const DeviceView, jump_vertices: *const DeviceView,
        jump: *const DeviceView, alpha: f64, epsilon: f64, most: usize, _check: hipgraph_bool_t,
    ) -> hipgraph_centrality_result_t {
        let personalization = Some((jump_vertices, jump));
        let ranks = Ranks { graph, sums: (sum_vertices, sums), initial: (guess_vertices, guess), personalization };
        pagerank(&ranks, (alpha, epsilon, most), false)
    }
    fn hipgraph_katz_centrality(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, betas: *const DeviceView, alpha: f64, beta: f64,
        epsilon: f64, most: usize, _check: hipgraph_bool_t,
    ) -> hipgraph_centrality_result_t {
        let object = graph_at(graph)?;
        let betas = at_or_null::<View, _>(betas, "betas")?.map(|view| view.reals("betas")).transpose()?;
        if betas.as_ref().is_some_and(|betas| betas.len() != object.graph.len()) {
            return Err(invalid("there must be one beta for each vertex"));
        }
        let found = centrality::katz(&object.graph, betas.as_deref(), alpha, beta, epsilon, most)?;
        self::centrality(object, &found)
    }
    fn hipgraph_eigenvector_centrality(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, epsilon: f64, most: usize, _check: hipgraph_bool_t,
    ) -> hipgraph_centrality_result_t {
        let object = graph_at(graph)?;
        self::centrality(object, &centrality::eigenvector(&object.graph, epsilon, most)?)
    }
    fn hipgraph_betweenness_centrality(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, vertices: *const DeviceView, normalized: hipgraph_bool_t,
        endpoints: hipgraph_bool_t, _check: hipgraph_bool_t,
    ) -> hipgraph_centrality_result_t {
        let object = graph_at(graph)?;
        let sources = sources(object, vertices)?;
        let is = |value| value != HIPGRAPH_FALSE;
        let values = betweenness::vertices(&object.graph, &sources, is(normalized), is(endpoints));
        self::centrality(object, &Iterated { values, iterations: 0, converged: true })
    }
    fn hipgraph_edge_betweenness_centrality(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, vertices: *const DeviceView, normalized: hipgraph_bool_t,
        _check: hipgraph_bool_t,
    ) -> hipgraph_edge_centrality_result_t {
        let object = graph_at(graph)?;
        let sources = sources(object, vertices)?;
        let values = betweenness::edges(&object.graph, &sources, normalized != HIPGRAPH_FALSE);
        let mut all = object.edges(&[(0..object.graph.edges()).collect()])?.columns;
        let ids = all.remove(3);
        all.truncate(2);
        all.extend([Some(object.reals(&values)?), ids]);
        Ok(Outcome::with_gaps(all))
    }
    fn hipgraph_hits(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, epsilon: f64, most: usize, guess_vertices: *const DeviceView,
        guess: *const DeviceView, normalize: hipgraph_bool_t, _check: hipgraph_bool_t,
    ) -> hipgraph_hits_result_t {
        let object = graph_at(graph)?;
        let initial = pairs(guess_vertices, guess, "initial hubs")?
            .map(|(names, values)| object.by_vertex(names, values, "initial hubs"))
            .transpose()?;
        let found = centrality::hits(&object.graph, epsilon, most, initial, normalize != HIPGRAPH_FALSE)?;
        let columns = [object.names()?, object.reals(&found.hubs)?, object.reals(&found.authorities)?];
        Ok(Outcome { number: found.change, count: found.iterations, ..Outcome::of(columns) })
    }
    also:
}

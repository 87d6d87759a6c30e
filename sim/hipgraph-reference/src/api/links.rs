//! Pairs of vertices and their similarity.

use hipgraph_sys::*;

use super::array::{View, view, view_of};
use super::function::{algorithms, at, at_or_null, give, take};
use super::graph::{GraphObject, graph_at};
use super::results::Outcome;
use crate::algorithms::similarity::{self, Coefficient};
use crate::algorithms::subgraphs;
use crate::graph::{Result, invalid};

type Handle = hipgraph_resource_handle_t;
type DeviceView = hipgraph_type_erased_device_array_view_t;

/// The object behind a similarity result: pairs and scores.
struct Similar(Outcome);

fn pairs(object: &GraphObject, pairs: &[(usize, usize)]) -> Result<Outcome> {
    Ok(Outcome::of([
        object.vertices(pairs.iter().map(|pair| pair.0))?,
        object.vertices(pairs.iter().map(|pair| pair.1))?,
    ]))
}

fn similar(object: &GraphObject, found: &[(usize, usize)], scores: &[f64]) -> Result<Similar> {
    let mut all = pairs(object, found)?;
    all.columns.push(Some(object.reals(scores)?));
    Ok(Similar(all))
}

/// # Safety
/// The pointers are null or C's.
unsafe fn of_pairs(
    graph: *mut hipgraph_graph_t,
    vertex_pairs: *const hipgraph_vertex_pairs_t,
    use_weight: hipgraph_bool_t,
    kind: Coefficient,
) -> Result<Similar> {
    // SAFETY: as the caller ensures.
    unsafe {
        let object = graph_at(graph)?;
        let given: &Outcome = at(vertex_pairs, "pairs")?;
        let side = |index| given.column(index).ok_or_else(|| invalid("the pairs are incomplete"));
        let first = object.find(&side(0)?.view(), "first vertices")?;
        let second = object.find(&side(1)?.view(), "second vertices")?;
        let all: Vec<(usize, usize)> = first.into_iter().zip(second).collect();
        let scores = similarity::pairs(&object.graph, &all, kind, use_weight != HIPGRAPH_FALSE)?;
        similar(object, &all, &scores)
    }
}

/// # Safety
/// The pointers are null or C's.
unsafe fn of_all(
    graph: *mut hipgraph_graph_t,
    vertices: *const DeviceView,
    use_weight: hipgraph_bool_t,
    topk: usize,
    kind: Coefficient,
) -> Result<Similar> {
    // SAFETY: as the caller ensures.
    unsafe {
        let object = graph_at(graph)?;
        let given: Option<&View> = at_or_null(vertices, "vertices")?;
        let given = given.map(|view| object.find(view, "vertices")).transpose()?;
        let most = (topk != usize::MAX).then_some(topk);
        let weighted = use_weight != HIPGRAPH_FALSE;
        let (found, scores) = similarity::all_pairs(&object.graph, given.as_deref(), kind, weighted, most)?;
        similar(object, &found, &scores)
    }
}

unsafe extern "C" fn hipgraph_similarity_result_free(result: *mut hipgraph_similarity_result_t) {
    // SAFETY: the pointer is C's.
    unsafe { take(result) }
}

unsafe extern "C" fn hipgraph_similarity_result_get_similarity(
    result: *mut hipgraph_similarity_result_t,
) -> *mut DeviceView {
    // SAFETY: the pointer is C's.
    view_of(unsafe { at::<Similar, _>(result, "result") }.ok().and_then(|all| all.0.column(2)))
}

/// Returns a copy of the pairs, which the caller frees.
unsafe extern "C" fn hipgraph_similarity_result_get_vertex_pairs(
    result: *mut hipgraph_similarity_result_t,
) -> *mut hipgraph_vertex_pairs_t {
    // SAFETY: the pointer is C's.
    let Ok(Similar(all)) = (unsafe { at(result, "result") }) else { return std::ptr::null_mut() };
    give(Outcome::with_gaps(all.columns[..2].iter().cloned()))
}

macro_rules! coefficients {
    ($($pairs:ident, $all:ident = $kind:ident;)*) => {
        algorithms! {
            $(
                fn $pairs(
                    _handle: *const Handle, graph: *mut hipgraph_graph_t, vertex_pairs: *const hipgraph_vertex_pairs_t,
                    use_weight: hipgraph_bool_t, _check: hipgraph_bool_t,
                ) -> hipgraph_similarity_result_t {
                    of_pairs(graph, vertex_pairs, use_weight, Coefficient::$kind)
                }
                fn $all(
                    _handle: *const Handle, graph: *mut hipgraph_graph_t, vertices: *const DeviceView,
                    use_weight: hipgraph_bool_t, topk: usize, _check: hipgraph_bool_t,
                ) -> hipgraph_similarity_result_t {
                    of_all(graph, vertices, use_weight, topk, Coefficient::$kind)
                }
            )*
            fn hipgraph_create_vertex_pairs(
                _handle: *const Handle, graph: *mut hipgraph_graph_t, first: *const DeviceView, second: *const DeviceView,
            ) -> hipgraph_vertex_pairs_t {
                let object = graph_at(graph)?;
                let (first, second) = (view(first, "first vertices")?, view(second, "second vertices")?);
                if first.len != second.len {
                    return Err(invalid(format!("there are {} first and {} second vertices", first.len, second.len)));
                }
                let first = object.find(first, "first vertices")?;
                let all: Vec<_> = first.into_iter().zip(object.find(second, "second vertices")?).collect();
                pairs(object, &all)
            }
            fn hipgraph_two_hop_neighbors(
                _handle: *const Handle, graph: *mut hipgraph_graph_t, starts: *const DeviceView, _check: hipgraph_bool_t,
            ) -> hipgraph_vertex_pairs_t {
                let object = graph_at(graph)?;
                let starts: Option<&View> = at_or_null(starts, "start vertices")?;
                let starts = starts.map(|view| object.find(view, "start vertices")).transpose()?;
                pairs(object, &subgraphs::two_hop(&object.graph, starts.as_deref()))
            }
            also: hipgraph_similarity_result_free, hipgraph_similarity_result_get_similarity,
                hipgraph_similarity_result_get_vertex_pairs
        }
    };
}

coefficients! {
    hipgraph_jaccard_coefficients, hipgraph_all_pairs_jaccard_coefficients = Jaccard;
    hipgraph_sorensen_coefficients, hipgraph_all_pairs_sorensen_coefficients = Sorensen;
    hipgraph_overlap_coefficients, hipgraph_all_pairs_overlap_coefficients = Overlap;
}

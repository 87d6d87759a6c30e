//! Components, cores and trusses.

use hipgraph_sys::*;

use super::function::{algorithms, at_or_null};
use super::graph::graph_at;
use super::results::Outcome;
use crate::algorithms::cores::Degree;
use crate::algorithms::{components, cores, subgraphs};
use crate::graph::{Result, invalid};

type Handle = hipgraph_resource_handle_t;
type DeviceView = hipgraph_type_erased_device_array_view_t;

fn degree(degree: hipgraph_k_core_degree_type_t) -> Result<Degree> {
    match degree {
        HIPGRAPH_K_CORE_DEGREE_TYPE_IN => Ok(Degree::In),
        HIPGRAPH_K_CORE_DEGREE_TYPE_OUT => Ok(Degree::Out),
        HIPGRAPH_K_CORE_DEGREE_TYPE_INOUT => Ok(Degree::InOut),
        other => Err(invalid(format!("{other:?} is not a type of degree"))),
    }
}

algorithms! {
    fn hipgraph_weakly_connected_components(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, _check: hipgraph_bool_t,
    ) -> hipgraph_labeling_result_t {
        let object = graph_at(graph)?;
        // cuGraph refuses directed graphs.
        object.graph.needs_symmetric("weakly connected components")?;
        Ok(Outcome::of([object.names()?, object.vertices(components::weak(&object.graph))?]))
    }
    fn hipgraph_strongly_connected_components(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, _check: hipgraph_bool_t,
    ) -> hipgraph_labeling_result_t {
        let object = graph_at(graph)?;
        Ok(Outcome::of([object.names()?, object.vertices(components::strong(&object.graph))?]))
    }
    fn hipgraph_core_number(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, degree_type: hipgraph_k_core_degree_type_t,
        _check: hipgraph_bool_t,
    ) -> hipgraph_core_result_t {
        let object = graph_at(graph)?;
        // cuGraph refuses multigraphs.
        object.graph.needs_simple("the core number")?;
        let numbers = cores::core_numbers(&object.graph, degree(degree_type)?)?;
        Ok(Outcome::of([object.names()?, object.counts(numbers)?]))
    }
    fn hipgraph_k_core(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, k: usize, degree_type: hipgraph_k_core_degree_type_t,
        core_result: *const hipgraph_core_result_t, _check: hipgraph_bool_t,
    ) -> hipgraph_k_core_result_t {
        let object = graph_at(graph)?;
        let numbers: Vec<usize> = match at_or_null::<Outcome, _>(core_result, "core numbers")? {
            None => {
                object.graph.needs_simple("the core number")?;
                cores::core_numbers(&object.graph, degree(degree_type)?)?
            }
            Some(known) => {
                let (Some(names), Some(numbers)) = (known.column(0), known.column(1)) else {
                    return Err(invalid("the core numbers are incomplete"));
                };
                let places = object.find(&names.view(), "vertices of the core numbers")?;
                let mut all = vec![0; object.graph.len()];
                for (place, number) in places.into_iter().zip(numbers.view().integers("core numbers")?) {
                    all[place] = usize::try_from(number).unwrap_or(0);
                }
                all
            }
        };
        let inside = (0..object.graph.len()).filter(|&vertex| numbers[vertex] >= k).collect();
        let mut found = object.edges(&subgraphs::induced(&object.graph, &[inside]))?;
        found.columns.truncate(3);
        Ok(found)
    }
    fn hipgraph_k_truss_subgraph(
        _handle: *const Handle, graph: *mut hipgraph_graph_t, k: usize, _check: hipgraph_bool_t,
    ) -> hipgraph_induced_subgraph_result_t {
        let object = graph_at(graph)?;
        object.edges(&[cores::truss(&object.graph, k)?])
    }
    fn hipgraph_core_result_create(
        _handle: *const Handle, vertices: *mut DeviceView, core_numbers: *mut DeviceView,
    ) -> hipgraph_core_result_t {
        let (names, numbers) = (super::array::view(vertices, "vertices")?, super::array::view(core_numbers, "core numbers")?);
        let columns = [
            super::array::DeviceArray::integers(&names.integers("vertices")?, names.kind)?,
            super::array::DeviceArray::integers(&numbers.integers("core numbers")?, numbers.kind)?,
        ];
        Ok(Outcome::of(columns))
    }
    also:
}

//! Random graphs.

use std::ptr::null_mut;

use std::sync::Mutex;

use hipgraph_sys::*;

use super::array::{DeviceArray, Kind, view_of};
use super::community::with_random;
use super::function::{algorithms, at, give, guard, take};
use crate::algorithms::generators::{self, Rmat};
use crate::algorithms::sampling::MOST_SAMPLED;
use crate::graph::{Result, invalid};
use crate::random::Random;

type Handle = hipgraph_resource_handle_t;
type DeviceView = hipgraph_type_erased_device_array_view_t;

/// The object behind a `hipgraph_coo_t`: sources, destinations, weights, IDs, types.
struct Coo(Mutex<[Option<DeviceArray>; 5]>);

/// The object behind a `hipgraph_coo_list_t`: objects that the list owns.
struct CooList(Vec<*mut hipgraph_coo_t>);

impl Drop for CooList {
    fn drop(&mut self) {
        // SAFETY: made by `give`, freed once.
        self.0.drain(..).for_each(|coo| unsafe { take(coo) });
    }
}

impl Coo {
    fn column(&self, index: usize) -> Option<DeviceArray> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())[index].clone()
    }

    fn set(&self, index: usize, array: DeviceArray) {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())[index] = Some(array);
    }

    fn len(&self) -> usize {
        self.column(0).map_or(0, |array| array.view().len)
    }
}

fn rmat(options: Rmat, random: &mut Random) -> Result<Coo> {
    let (sources, destinations) = generators::rmat(options, random)?;
    let array = |values: &[i64]| DeviceArray::integers(values, Kind::I32);
    Ok(Coo(Mutex::new([Some(array(&sources)?), Some(array(&destinations)?), None, None, None])))
}

macro_rules! getters {
    ($($name:ident = $column:literal),* $(,)?) => {$(
        unsafe extern "C" fn $name(coo: *mut hipgraph_coo_t) -> *mut DeviceView {
            // SAFETY: the pointer is C's.
            view_of(unsafe { at::<Coo, _>(coo, "edges") }.ok().and_then(|coo| coo.column($column)).as_ref())
        }
    )*};
}

getters! {
    hipgraph_coo_get_sources = 0, hipgraph_coo_get_destinations = 1, hipgraph_coo_get_edge_weights = 2,
    hipgraph_coo_get_edge_id = 3, hipgraph_coo_get_edge_type = 4,
}

unsafe extern "C" fn hipgraph_coo_free(coo: *mut hipgraph_coo_t) {
    // SAFETY: the pointer is C's.
    unsafe { take(coo) }
}

unsafe extern "C" fn hipgraph_coo_list_free(coo_list: *mut hipgraph_coo_list_t) {
    // SAFETY: the pointer is C's.
    unsafe { take(coo_list) }
}

unsafe extern "C" fn hipgraph_coo_list_size(coo_list: *const hipgraph_coo_list_t) -> usize {
    // SAFETY: the pointer is C's.
    unsafe { at::<CooList, _>(coo_list, "list") }.map_or(0, |list| list.0.len())
}

/// The list keeps the ownership of the element.
unsafe extern "C" fn hipgraph_coo_list_element(
    coo_list: *mut hipgraph_coo_list_t,
    index: usize,
) -> *mut hipgraph_coo_t {
    // SAFETY: the pointer is C's.
    let list = unsafe { at::<CooList, _>(coo_list, "list") };
    list.ok().and_then(|list| list.0.get(index).copied()).unwrap_or(null_mut())
}

unsafe extern "C" fn hipgraph_generate_edge_weights(
    _handle: *const Handle,
    state: *mut hipgraph_rng_state_t,
    coo: *mut hipgraph_coo_t,
    dtype: hipgraph_data_type_id_t,
    least: f64,
    most: f64,
    error: *mut *mut hipgraph_error_t,
) -> hipgraph_error_code_t {
    // SAFETY: the pointers are C's.
    unsafe {
        guard(error, || {
            let coo: &Coo = at(coo, "edges")?;
            let kind = Kind::of(dtype)?;
            if !matches!(kind, Kind::F32 | Kind::F64) || least.is_nan() || most.is_nan() || least > most {
                return Err(invalid(format!(
                    "weights of {kind:?} from {least} to {most}: f32 or f64, in ascending order"
                )));
            }
            let one = |random: &mut Random| least + (most - least) * random.unit();
            let values: Vec<f64> = with_random(state, |random| (0..coo.len()).map(|_| one(random)).collect())?;
            coo.set(2, DeviceArray::reals(&values, kind)?);
            Ok(())
        })
    }
}

unsafe extern "C" fn hipgraph_generate_edge_ids(
    _handle: *const Handle,
    coo: *mut hipgraph_coo_t,
    _multi_gpu: hipgraph_bool_t,
    error: *mut *mut hipgraph_error_t,
) -> hipgraph_error_code_t {
    // SAFETY: the pointers are C's.
    unsafe {
        guard(error, || {
            let coo: &Coo = at(coo, "edges")?;
            let ids: Vec<i64> = (0..coo.len() as i64).collect();
            coo.set(3, DeviceArray::integers(&ids, Kind::I32)?);
            Ok(())
        })
    }
}

unsafe extern "C" fn hipgraph_generate_edge_types(
    _handle: *const Handle,
    state: *mut hipgraph_rng_state_t,
    coo: *mut hipgraph_coo_t,
    least: i32,
    most: i32,
    error: *mut *mut hipgraph_error_t,
) -> hipgraph_error_code_t {
    // SAFETY: the pointers are C's.
    unsafe {
        guard(error, || {
            let coo: &Coo = at(coo, "edges")?;
            let range = i64::from(most) - i64::from(least) + 1;
            if range < 1 {
                return Err(invalid(format!("edge types from {least} to {most} must ascend")));
            }
            let one = |random: &mut Random| i64::from(least) + random.below(range as usize) as i64;
            let types: Vec<i64> = with_random(state, |random| (0..coo.len()).map(|_| one(random)).collect())?;
            coo.set(4, DeviceArray::integers(&types, Kind::I32)?);
            Ok(())
        })
    }
}

algorithms! {
    fn hipgraph_generate_rmat_edgelist(
        _handle: *const Handle, state: *mut hipgraph_rng_state_t, scale: usize, num_edges: usize, a: f64, b: f64, c: f64,
        clip_and_flip: hipgraph_bool_t, scramble: hipgraph_bool_t,
    ) -> hipgraph_coo_t {
        let options = Rmat {
            scale: u32::try_from(scale).unwrap_or(u32::MAX),
            edges: num_edges,
            a,
            b,
            c,
            clip_and_flip: clip_and_flip != HIPGRAPH_FALSE,
            scramble: scramble != HIPGRAPH_FALSE,
        };
        with_random(state, |random| rmat(options, random))?
    }
    fn hipgraph_generate_rmat_edgelists(
        _handle: *const Handle, state: *mut hipgraph_rng_state_t, count: usize, min_scale: usize, max_scale: usize,
        edge_factor: usize, sizes: hipgraph_generator_distribution_t, edges: hipgraph_generator_distribution_t,
        clip_and_flip: hipgraph_bool_t, scramble: hipgraph_bool_t,
    ) -> hipgraph_coo_list_t {
        if min_scale > max_scale {
            return Err(invalid(format!("scales from {min_scale} to {max_scale} must ascend")));
        }
        let most = 1_usize.checked_shl(max_scale.min(31) as u32).and_then(|size| size.checked_mul(edge_factor));
        if most.and_then(|most| most.checked_mul(count)).is_none_or(|all| all > MOST_SAMPLED) {
            return Err(invalid(format!(
                "{count} lists of at most {edge_factor} edges for each of 2^{max_scale} vertices: the reference engine generates at most {MOST_SAMPLED} edges"
            )));
        }
        let (a, b, c) = if edges == HIPGRAPH_UNIFORM { (0.25, 0.25, 0.25) } else { (0.57, 0.19, 0.19) };
        let one = |random: &mut Random| {
            let range = max_scale - min_scale + 1;
            // With a power law, small graphs are more frequent.
            let above = match sizes {
                HIPGRAPH_UNIFORM => random.below(range),
                _ => (range as f64 * random.unit().powi(3)) as usize,
            };
            let scale = (min_scale + above).min(max_scale);
            let options = Rmat {
                scale: u32::try_from(scale).unwrap_or(u32::MAX),
                edges: edge_factor << scale.min(31),
                a,
                b,
                c,
                clip_and_flip: clip_and_flip != HIPGRAPH_FALSE,
                scramble: scramble != HIPGRAPH_FALSE,
            };
            rmat(options, random)
        };
        let lists: Result<Vec<Coo>> = with_random(state, |random| (0..count).map(|_| one(random)).collect())?;
        Ok(CooList(lists?.into_iter().map(give).collect()))
    }
    also: hipgraph_coo_get_sources, hipgraph_coo_get_destinations, hipgraph_coo_get_edge_weights,
        hipgraph_coo_get_edge_id, hipgraph_coo_get_edge_type, hipgraph_coo_free, hipgraph_coo_list_free,
        hipgraph_coo_list_size, hipgraph_coo_list_element, hipgraph_generate_edge_weights, hipgraph_generate_edge_ids,
        hipgraph_generate_edge_types
}

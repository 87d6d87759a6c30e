//! NVIDIA's cuGraph in place of hipGRAPH: its functions under hipGRAPH's names. All differences between the two
//! interfaces are handled here.
//!
//! hipGRAPH 1.0.0b1 has the C interface that cuGraph had in early 2025. cuGraph 26.10 differs in:
//! - the prefix `cugraph_`;
//! - the numbers of data types (`INT32` is 2, and so on);
//! - `graph_create_sg` and `graph_create_sg_from_csr`, which take `symmetrize` before the last flag;
//! - random walks, which take a state of random numbers;
//! - `uniform_neighbor_sample`, which became `homogeneous_uniform_neighbor_sample` with the state first and fewer
//!   labels.
//!
//! Not covered, because this crate does not call them: spectral clustering, several GPUs, constructors with older
//! names.

use std::ffi::{CStr, c_void};
use std::mem::transmute;
use std::path::Path;
use std::ptr::{NonNull, null, null_mut};
use std::sync::OnceLock;

use hipgraph::sys::*;
use rocm_loader::Provider;

type Handle = *const hipgraph_resource_handle_t;
type Graph = *mut hipgraph_graph_t;
type View = *const hipgraph_type_erased_device_array_view_t;
type Flag = hipgraph_bool_t;
type Status = hipgraph_error_code_t;
type Errors = *mut *mut hipgraph_error_t;

struct CuGraph {
    library: libloading::Library,
}

static CUGRAPH: OnceLock<CuGraph> = OnceLock::new();

/// Opens cuGraph's C library.
pub(crate) fn open(path: &Path) -> Result<&'static dyn Provider, libloading::Error> {
    // SAFETY: NVIDIA's library, whose initializers are trusted. Lazy binding: libraries that no function here needs may be replaced by
    // empty ones.
    let library = unsafe {
        libloading::os::unix::Library::open(
            Some(path),
            libloading::os::unix::RTLD_LAZY | libloading::os::unix::RTLD_GLOBAL,
        )?
    };
    Ok(CUGRAPH.get_or_init(|| CuGraph { library: library.into() }))
}

impl CuGraph {
    fn find(&self, name: &str) -> Option<NonNull<c_void>> {
        let name = format!("{name}\0");
        // SAFETY: only the address is read.
        let symbol = unsafe { self.library.get::<*mut c_void>(name.as_bytes()) }.ok()?;
        // SAFETY: as above.
        NonNull::new(unsafe { symbol.try_as_raw_ptr() }?)
    }
}

impl Provider for CuGraph {
    fn name(&self) -> &str {
        "cuGraph"
    }

    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        let name = name.to_str().ok()?;
        let theirs = name.replacen("hipgraph_", "cugraph_", 1);
        match SHIMS.iter().find(|(shim, ..)| *shim == name) {
            // Only if cuGraph has the function that the shim calls.
            Some((_, needed, address)) => self.find(needed).and(NonNull::new(address.0.cast_mut().cast())),
            None => self.find(&theirs),
        }
    }
}

/// Returns a function of cuGraph. The shims are only used if it exists.
fn theirs(name: &str) -> *mut c_void {
    CUGRAPH.get().and_then(|library| library.find(name)).map_or(null_mut(), NonNull::as_ptr)
}

/// Returns cuGraph's code of a data type.
fn number(id: hipgraph_data_type_id_t) -> u32 {
    match id {
        HIPGRAPH_INT32 => 2,
        HIPGRAPH_INT64 => 3,
        HIPGRAPH_FLOAT32 => 8,
        HIPGRAPH_FLOAT64 => 9,
        HIPGRAPH_SIZE_T => 10,
        // Its `NTYPES`.
        _ => 12,
    }
}

/// Returns hipGRAPH's code of a data type.
fn id(number: u32) -> hipgraph_data_type_id_t {
    match number {
        2 => HIPGRAPH_INT32,
        3 => HIPGRAPH_INT64,
        8 => HIPGRAPH_FLOAT32,
        9 => HIPGRAPH_FLOAT64,
        10 => HIPGRAPH_SIZE_T,
        _ => HIPGRAPH_NTYPES,
    }
}

struct Address(*const ());

// SAFETY: the address of a function: nothing is read or written through it.
unsafe impl Sync for Address {}

/// Defines functions of hipGRAPH that call a function of cuGraph. The compiler checks the signatures against the
/// bindings.
macro_rules! shims {
    ($(
        $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $result:ty =
            $theirs:literal as fn($($their:ty),* $(,)?) -> $returns:ty, |$call:ident| $body:expr;
    )*) => {
        $(
            #[allow(clippy::too_many_arguments, reason = "the function is C's")]
            unsafe extern "C" fn $name($($arg: $ty),*) -> $result {
                // SAFETY: cuGraph's header declares the function this way; it exists, because otherwise the shim would not be used.
                let $call = unsafe {
                    transmute::<*mut c_void, unsafe extern "C" fn($($their),*) -> $returns>(theirs($theirs))
                };
                // SAFETY: the caller keeps the function's contract.
                unsafe { $body }
            }
        )*

        static SHIMS: &[(&str, &str, Address)] = &[$((stringify!($name), $theirs, Address({
            let both = [hipgraph::sys::$name, $name];
            both[1] as *const ()
        }))),*];
    };
}

type DeviceArray = *mut hipgraph_type_erased_device_array_t;
type HostView = *mut hipgraph_type_erased_host_array_view_t;
type Walks = *mut *mut hipgraph_random_walk_result_t;
type State = *mut hipgraph_rng_state_t;

/// Returns a random state for calls for which hipGRAPH's interface has none. It lives until the program ends.
fn state(handle: Handle) -> State {
    use std::cell::Cell;
    thread_local!(static STATE: Cell<State> = const { Cell::new(null_mut()) });
    STATE.with(|kept| {
        if kept.get().is_null() {
            let (mut state, mut error) = (null_mut(), null_mut());
            // SAFETY: the handle is the caller's, and the places are valid for writes.
            let status = unsafe { hipgraph_rng_state_create(handle, 1, &mut state, &mut error) };
            if status == HIPGRAPH_SUCCESS {
                kept.set(state);
            }
        }
        kept.get()
    })
}

shims! {
    hipgraph_type_erased_device_array_create(
        handle: Handle, n: usize, kind: hipgraph_data_type_id_t, array: *mut DeviceArray, error: Errors,
    ) -> Status = "cugraph_type_erased_device_array_create" as fn(Handle, usize, u32, *mut DeviceArray, Errors) -> Status,
        |call| call(handle, n, number(kind), array, error);
    hipgraph_type_erased_device_array_view_as_type(
        array: DeviceArray, kind: hipgraph_data_type_id_t, view: *mut *mut hipgraph_type_erased_device_array_view_t,
        error: Errors,
    ) -> Status = "cugraph_type_erased_device_array_view_as_type"
            as fn(DeviceArray, u32, *mut *mut hipgraph_type_erased_device_array_view_t, Errors) -> Status,
        |call| call(array, number(kind), view, error);
    hipgraph_type_erased_device_array_view_create(
        pointer: *mut c_void, n: usize, kind: hipgraph_data_type_id_t,
    ) -> *mut hipgraph_type_erased_device_array_view_t = "cugraph_type_erased_device_array_view_create"
            as fn(*mut c_void, usize, u32) -> *mut hipgraph_type_erased_device_array_view_t,
        |call| call(pointer, n, number(kind));
    hipgraph_type_erased_device_array_view_type(view: View) -> hipgraph_data_type_id_t =
        "cugraph_type_erased_device_array_view_type" as fn(View) -> u32, |call| id(call(view));
    hipgraph_type_erased_host_array_view_create(pointer: *mut c_void, n: usize, kind: hipgraph_data_type_id_t) -> HostView =
        "cugraph_type_erased_host_array_view_create" as fn(*mut c_void, usize, u32) -> HostView,
        |call| call(pointer, n, number(kind));
    hipgraph_generate_edge_weights(
        handle: Handle, random: State, coo: *mut hipgraph_coo_t, kind: hipgraph_data_type_id_t, least: f64, most: f64,
        error: Errors,
    ) -> Status = "cugraph_generate_edge_weights" as fn(Handle, State, *mut hipgraph_coo_t, u32, f64, f64, Errors) -> Status,
        |call| call(handle, random, coo, number(kind), least, most, error);
    hipgraph_graph_create_sg(
        handle: Handle, properties: *const hipgraph_graph_properties_t, vertices: View, src: View, dst: View, weights: View,
        ids: View, types: View, transposed: Flag, renumber: Flag, loops: Flag, multi: Flag, check: Flag, graph: *mut Graph,
        error: Errors,
    ) -> Status = "cugraph_graph_create_sg" as fn(
            Handle, *const hipgraph_graph_properties_t, View, View, View, View, View, View, Flag, Flag, Flag, Flag, Flag,
            Flag, *mut Graph, Errors,
        ) -> Status,
        |call| call(
            handle, properties, vertices, src, dst, weights, ids, types, transposed, renumber, loops, multi, HIPGRAPH_FALSE,
            check, graph, error,
        );
    hipgraph_graph_create_sg_from_csr(
        handle: Handle, properties: *const hipgraph_graph_properties_t, offsets: View, indices: View, weights: View,
        ids: View, types: View, transposed: Flag, renumber: Flag, check: Flag, graph: *mut Graph, error: Errors,
    ) -> Status = "cugraph_graph_create_sg_from_csr" as fn(
            Handle, *const hipgraph_graph_properties_t, View, View, View, View, View, Flag, Flag, Flag, Flag, *mut Graph,
            Errors,
        ) -> Status,
        |call| call(
            handle, properties, offsets, indices, weights, ids, types, transposed, renumber, HIPGRAPH_FALSE, check, graph,
            error,
        );
    hipgraph_uniform_random_walks(handle: Handle, graph: Graph, starts: View, length: usize, result: Walks, error: Errors) -> Status =
        "cugraph_uniform_random_walks" as fn(Handle, State, Graph, View, usize, Walks, Errors) -> Status,
        |call| call(handle, state(handle), graph, starts, length, result, error);
    hipgraph_biased_random_walks(handle: Handle, graph: Graph, starts: View, length: usize, result: Walks, error: Errors) -> Status =
        "cugraph_biased_random_walks" as fn(Handle, State, Graph, View, usize, Walks, Errors) -> Status,
        |call| call(handle, state(handle), graph, starts, length, result, error);
    hipgraph_node2vec_random_walks(
        handle: Handle, graph: Graph, starts: View, length: usize, p: f64, q: f64, result: Walks, error: Errors,
    ) -> Status = "cugraph_node2vec_random_walks" as fn(Handle, State, Graph, View, usize, f64, f64, Walks, Errors) -> Status,
        |call| call(handle, state(handle), graph, starts, length, p, q, result, error);
    hipgraph_uniform_neighbor_sample(
        handle: Handle, graph: Graph, starts: View, _labels: View, _label_list: View, _ranks: View, _offsets: View,
        fan_out: *const hipgraph_type_erased_host_array_view_t, random: State, options: *const hipgraph_sampling_options_t,
        check: Flag, result: *mut *mut hipgraph_sample_result_t, error: Errors,
    ) -> Status = "cugraph_homogeneous_uniform_neighbor_sample" as fn(
            Handle, State, Graph, View, View, *const hipgraph_type_erased_host_array_view_t,
            *const hipgraph_sampling_options_t, Flag, *mut *mut hipgraph_sample_result_t, Errors,
        ) -> Status,
        |call| call(handle, random, graph, starts, null(), fan_out, options, check, result, error);
}

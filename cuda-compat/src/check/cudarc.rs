//! The items of cudarc's safe API: the table that `cargo xtask cuda` generates from the sources of cudarc and of this
//! crate.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::report::Verdict;

const TABLE: &str = include_str!("../generated/cudarc.tsv");

/// Items by module: the path in it, and whether it exists here.
static ITEMS: LazyLock<BTreeMap<&'static str, BTreeMap<&'static str, bool>>> = LazyLock::new(|| {
    let mut items: BTreeMap<&str, BTreeMap<&str, bool>> = BTreeMap::new();
    for line in TABLE.lines().skip(1) {
        let mut columns = line.split('\t');
        let mut next = || columns.next().unwrap_or_default();
        let (module, item, here) = (next(), next(), next());
        items.entry(module).or_default().insert(item, here == "yes");
    }
    items
});

/// Methods by name: the types that have the method, each with its module.
static METHODS: LazyLock<BTreeMap<&'static str, BTreeSet<(&'static str, &'static str)>>> = LazyLock::new(|| {
    let mut methods: BTreeMap<&str, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for (module, items) in ITEMS.iter() {
        for item in items.keys() {
            if let Some((of, method)) = item.rsplit_once("::").filter(|(of, _)| of.starts_with(char::is_uppercase)) {
                methods.entry(method).or_default().insert((module, of));
            }
        }
    }
    methods
});

/// Items of cudarc before 0.14, and their replacements. No later release has them.
const OLD: &[(&str, &str)] = &[
    ("CudaDevice", "CudaContext, and CudaStream for copies and launches"),
    ("LaunchAsync", "CudaStream::launch_builder"),
    ("htod_copy", "CudaStream::clone_htod"),
    ("htod_copy_into", "CudaStream::memcpy_htod"),
    ("htod_sync_copy", "CudaStream::clone_htod"),
    ("htod_sync_copy_into", "CudaStream::memcpy_htod"),
    ("dtoh_sync_copy", "CudaStream::clone_dtoh"),
    ("dtoh_sync_copy_into", "CudaStream::memcpy_dtoh"),
    ("dtod_copy", "CudaStream::memcpy_dtod"),
    ("sync_reclaim", "CudaStream::clone_dtoh"),
    ("load_ptx", "CudaContext::load_module"),
    ("get_func", "CudaModule::load_function"),
    ("get_or_load_func", "CudaModule::load_function"),
    ("get_or_load_custom_func", "CudaModule::load_function"),
    ("fork_default_stream", "CudaStream::fork"),
    ("wait_for", "CudaStream::join"),
    ("launch_on_stream", "CudaStream::launch_builder"),
];

/// Return types of methods, as far as calls on the result need them.
const RETURNS: &[(&str, &str)] = &[
    ("default_stream", "CudaStream"),
    ("new_stream", "CudaStream"),
    ("per_thread_stream", "CudaStream"),
    ("new_stream_with_priority", "CudaStream"),
    ("fork", "CudaStream"),
    ("stream", "CudaStream"),
    ("context", "CudaContext"),
    ("load_module", "CudaModule"),
    ("load_function", "CudaFunction"),
    ("launch_builder", "LaunchArgs"),
    ("arg", "LaunchArgs"),
    ("alloc", "CudaSlice"),
    ("alloc_zeros", "CudaSlice"),
    ("clone_htod", "CudaSlice"),
    ("memcpy_stod", "CudaSlice"),
    ("clone_dtod", "CudaSlice"),
    ("slice", "CudaView"),
    ("slice_mut", "CudaViewMut"),
    ("as_view", "CudaView"),
    ("as_view_mut", "CudaViewMut"),
    ("alloc_pinned", "PinnedHostSlice"),
    ("record_event", "CudaEvent"),
    ("new_event", "CudaEvent"),
    ("end_capture", "CudaGraph"),
];

/// Methods with names that other types also have: they only count on a known receiver.
const COMMON: &[&str] = &[
    "as_mut_ptr",
    "as_mut_slice",
    "as_ptr",
    "as_slice",
    "from_file",
    "from_src",
    "is_empty",
    "num_bytes",
    "slice_mut",
    "split_at",
    "split_at_mut",
    "to_bytes",
    "try_clone",
    "try_slice",
    "try_split_at",
    "as_view",
    "from_raw",
    "is_complete",
    "max_value",
    "get_info",
    "total_mem",
    "set_stream",
    "elapsed_ms",
];

/// Returns whether cudarc has a module of this name.
pub(crate) fn is_module(name: &str) -> bool {
    ITEMS.contains_key(name)
}

/// Returns the advice for a module that this crate does not cover.
pub(crate) fn module(name: &str) -> Option<&'static str> {
    Some(match name {
        "cudnn" => "MIOpen, or hipDNN by the crate `hipdnn-sys`",
        "cupti" => "rocprofiler-sdk: run the program under rocprofv3",
        "cutensor" => "hipTensor by the crate `hiptensor-sys`",
        "cusolvermg" => "distribute by RCCL (module `nccl`), and solve by hipSOLVER on each GPU",
        _ if ITEMS.get(name).is_some_and(|items| items.values().any(|is_here| *is_here)) => return None,
        "cufile" => "not in cudarc's shape: the C names of the module `cufile`",
        "nvtx" => "not in cudarc's shape: the C names of the module `nvtx`",
        "runtime" => "not in cudarc's shape: the C names of the module `runtime`",
        _ => return None,
    })
}

/// Returns the full path of an item in a module, if cudarc has it: items of `result` are often used without its name.
pub(crate) fn find(module: &str, item: &str) -> Option<&'static str> {
    let items = ITEMS.get(module)?;
    let get = |item: &str| items.get_key_value(item).map(|(item, _)| *item);
    let item = item.strip_prefix("safe::").unwrap_or(item);
    get(item).or_else(|| get(&format!("result::{item}")))
}

/// Returns the type of cudarc with this name, in any module.
pub(crate) fn is_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && ITEMS.keys().any(|module| find(module, name).is_some())
}

/// Returns the type that a method returns, if known.
pub(crate) fn returned(method: &str) -> Option<&'static str> {
    RETURNS.iter().find(|(name, _)| *name == method).map(|(_, ty)| *ty)
}

/// Returns the method of cudarc for a call: module and item. `receiver` contains the types that it may be called on;
/// empty if unknown.
pub(crate) fn method(receiver: &BTreeSet<String>, name: &str) -> Option<(&'static str, String)> {
    let of = METHODS.get(name)?;
    if let Some((module, ty)) = of.iter().find(|(_, ty)| receiver.contains(*ty)) {
        return Some((module, format!("{ty}::{name}")));
    }
    // `CudaSlice` has the methods of its traits, and a receiver of another type is not one of cudarc's.
    let is_distinct = name.contains('_') && !COMMON.contains(&name);
    let (module, ty) = of.iter().find(|(module, _)| *module == "driver").or_else(|| of.first())?;
    is_distinct.then(|| (*module, format!("{ty}::{name}")))
}

/// Returns the replacement of an item of cudarc before 0.14.
pub(crate) fn old(name: &str) -> Option<&'static str> {
    let name = name.rsplit("::").next().unwrap_or(name);
    OLD.iter().find(|(old, _)| *old == name).map(|(_, new)| *new)
}

/// Returns the verdict for an item.
pub(crate) fn verdict(module: &str, item: &str) -> Verdict {
    let Some(is_here) = ITEMS.get(module).and_then(|items| items.get(item)) else {
        return Verdict::missing("not an item of cudarc 0.19: update to cudarc 0.19 first, then check again");
    };
    if !is_here {
        return Verdict::missing(advice(module, item));
    }
    let mut verdict = Verdict::mapped(format!("cuda_compat::{module}::{item}"));
    if !["driver", "runtime", "nvrtc", "cublas", "cublaslt", "curand", "types"].contains(&module) {
        verdict.features.push(module.to_owned());
    }
    verdict
}

/// Returns the advice for a missing item.
fn advice(module: &str, item: &str) -> String {
    let text = match item {
        _ if item.contains("cluster") => "clusters of blocks are NVIDIA's: launch without them",
        _ if item.contains("new_cig") || item.contains("green") => {
            "of NVIDIA's driver: use a context of CudaContext::new"
        }
        _ if item.contains("win32") => "Windows handles: import a file descriptor",
        _ => return format!("absent: call the C function under it, of the module `{module}::sys`"),
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_found_by_receiver_or_by_a_distinct_name() {
        let none = BTreeSet::new();
        let stream = BTreeSet::from(["CudaStream".to_owned()]);
        assert_eq!(method(&none, "memcpy_htod").unwrap().1, "CudaStream::memcpy_htod");
        assert_eq!(method(&none, "synchronize"), None);
        assert_eq!(method(&stream, "synchronize").unwrap().1, "CudaStream::synchronize");
        assert_eq!(method(&none, "split_at"), None);
        assert_eq!(method(&none, "no_such_method"), None);
    }

    #[test]
    fn what_is_listed_by_hand_is_cudarcs() {
        for (method, ty) in RETURNS {
            assert!(METHODS.contains_key(method), "{method}");
            assert!(is_type(ty), "{ty}");
        }
        for (old, new) in OLD {
            assert!(!METHODS.contains_key(old) && !is_type(old), "{old} is in cudarc 0.19");
            let new = new.split([',', ' ']).next().unwrap();
            assert!(find("driver", new).is_some(), "{new}");
        }
    }

    #[test]
    fn items_of_result_are_found_without_its_name() {
        assert_eq!(find("driver", "memcpy_dtod_sync"), Some("result::memcpy_dtod_sync"));
        assert_eq!(find("driver", "CudaStream::fork"), Some("CudaStream::fork"));
        assert_eq!(find("driver", "safe::CudaStream"), Some("CudaStream"));
        assert_eq!(find("driver", "CudaDevice"), None);
        assert!(old("CudaDevice::new").is_none() && old("CudaDevice").is_some());
    }
}

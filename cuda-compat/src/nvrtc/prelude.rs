//! Headers for NVRTC programs that HIPRTC compiles: the parts of CUDA C++ that HIPRTC lacks.

macro_rules! texts {
    ($($file:literal)*) => { &[$(($file, include_str!(concat!("prelude/", $file)))),*] };
}

/// The texts by file name. Programs see them in `cuda_compat/`.
const TEXTS: &[(&str, &str)] = texts! {
    "prelude.h" "shifts.h" "lanes.h" "intrinsics.h" "rounding.h" "simd.h" "atomics.h" "ptx.h" "runtime.h" "math_constants.h" "fp16.h" "bf16.h" "fp8.h"
    "cooperative_groups.h" "cooperative_groups_reduce.h" "cooperative_groups_memcpy_async.h" "pipeline.h" "cuda_pipeline.h"
    "barrier.h" "copies.h" "host.h" "cub_host.h" "cub_warps.h" "complex.h" "fp46.h" "curand_kernel.h" "mma.h"
    "std/cstdint.h" "std/cstddef.h" "std/climits.h" "std/type_traits.h" "std/utility.h" "std/limits.h" "std/cmath.h"
    "std/cassert.h" "std/cstring.h" "std/atomic.h" "std/tuple.h" "std/complex.h" "std/std.h"
};

/// CUDA's headers: the text that each group includes, and their names.
const CUDA: &[(&str, &[&str])] = &[
    (
        "runtime.h",
        &[
            "builtin_types.h",
            "crt/device_functions.h",
            "crt/host_defines.h",
            "crt/math_functions.h",
            "cuda.h",
            "cuda_runtime.h",
            "cuda_runtime_api.h",
            "device_atomic_functions.h",
            "device_functions.h",
            "device_launch_parameters.h",
            "driver_types.h",
            "host_defines.h",
            "math_functions.h",
            "sm_20_intrinsics.h",
            "sm_30_intrinsics.h",
            "sm_32_intrinsics.h",
            "sm_35_intrinsics.h",
            "sm_60_atomic_functions.h",
            "sm_61_intrinsics.h",
            "surface_functions.h",
            "surface_indirect_functions.h",
            "surface_types.h",
            "texture_fetch_functions.h",
            "texture_indirect_functions.h",
            "texture_types.h",
            "vector_functions.h",
            "vector_types.h",
        ],
    ),
    ("math_constants.h", &["math_constants.h"]),
    ("fp16.h", &["cuda_fp16.h", "cuda_fp16.hpp"]),
    ("bf16.h", &["cuda_bf16.h", "cuda_bf16.hpp"]),
    ("fp8.h", &["cuda_fp8.h", "cuda_fp8.hpp"]),
    ("cooperative_groups.h", &["cooperative_groups.h"]),
    ("cooperative_groups_reduce.h", &["cooperative_groups/reduce.h", "cooperative_groups/scan.h"]),
    ("pipeline.h", &["cuda_pipeline.h", "cuda_pipeline_primitives.h"]),
    ("cooperative_groups_memcpy_async.h", &["cooperative_groups/memcpy_async.h"]),
    ("cuda_pipeline.h", &["cuda/pipeline"]),
    ("barrier.h", &["cuda/barrier", "cuda/std/barrier"]),
    ("complex.h", &["cuComplex.h"]),
    ("fp46.h", &["cuda_fp4.h", "cuda_fp4.hpp", "cuda_fp6.h", "cuda_fp6.hpp"]),
    ("std/atomic.h", &["cuda/atomic"]),
    ("curand_kernel.h", &["curand_kernel.h"]),
    ("mma.h", &["crt/mma.h", "mma.h"]),
];

/// C++ headers by their text in `std/`. Each is available as `NAME`, `cuda/std/NAME`, and for C headers as `NAME.h`.
const STANDARD: &[(&str, &str)] = &[
    ("cstdint", "cstdint"),
    ("cstddef", "cstddef"),
    ("climits", "climits"),
    ("cfloat", "climits"),
    ("cmath", "cmath"),
    ("cassert", "cassert"),
    ("cstring", "cstring"),
    ("cstdlib", "cmath"),
    ("cstdio", "cstddef"),
    ("type_traits", "type_traits"),
    ("utility", "utility"),
    ("array", "utility"),
    ("functional", "utility"),
    ("algorithm", "utility"),
    ("bit", "utility"),
    ("limits", "limits"),
    ("atomic", "atomic"),
    ("tuple", "tuple"),
    ("complex", "complex"),
];

/// The lines before a program, which its diagnostics do not count.
const FIRST: &str = "#include \"cuda_compat/prelude.h\"\n#line 1\n";

/// Returns a program with the prelude before it.
pub(super) fn with_prelude(source: &str) -> String {
    format!("{FIRST}{source}")
}

/// Returns the names and texts of the headers, except for names that the caller provides. `has_library`: the program has
/// a C++ library, which takes the place of our standard headers, as hipCUB needs it.
pub(super) fn headers(is_callers: impl Fn(&str) -> bool, has_library: bool) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> =
        TEXTS.iter().map(|(file, text)| (format!("cuda_compat/{file}"), (*text).to_owned())).collect();
    let include = |file: &str| format!("#include \"cuda_compat/{file}\"\n");
    for (file, names) in CUDA {
        headers.extend(names.iter().map(|name| ((*name).to_owned(), include(file))));
    }
    for (name, text) in STANDARD {
        let file = format!("std/{text}.h");
        let both = include(&file) + &include("std/std.h");
        headers.push((format!("cuda/std/{name}"), include(&file)));
        if has_library {
            continue;
        }
        if let Some(name) = name.strip_prefix('c') {
            headers.push((format!("{name}.h"), both.clone()));
        }
        headers.push(((*name).to_owned(), both));
    }
    headers.retain(|(name, _)| !is_callers(name));
    headers
}

/// Returns the names and texts of CUDA's headers, for ROCm's clang, which has a standard library: with `-DCUDA_COMPAT_HOST`,
/// `-include hip/hip_runtime.h` and `-include cuda_compat/prelude.h`. The stand-in for `nvcc` writes them for files with functions of the
/// host. They include `cuda_compat/names.h`, with macros for the names of HIP's functions, and need `CUDA_COMPAT_CAPABILITY`, the compute
/// capability times 10.
pub fn headers_for_clang() -> Vec<(String, String)> {
    headers(|_| false, true)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_what_is_included_is_there() {
        let headers = headers(|_| false, false);
        let names: HashSet<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.len(), headers.len());
        for (name, text) in &headers {
            let included = text.lines().filter_map(|line| line.strip_prefix("#include \""));
            for included in included.map(|line| line.trim_end_matches('"')) {
                // The command nvcc writes it.
                let is_known = included == "cuda_compat/names.h" || names.contains(included);
                assert!(is_known, "{name} includes {included}");
            }
        }
    }

    #[test]
    fn a_header_of_the_callers_is_used_in_the_place_of_ours() {
        let headers = headers(|name| name == "cuda_fp16.h", false);
        assert!(!headers.iter().any(|(name, _)| name == "cuda_fp16.h"));
        assert!(headers.iter().any(|(name, _)| name == "cuda_bf16.h"));
    }

    #[test]
    fn clang_has_its_own_standard_headers() {
        let names: HashSet<String> = headers_for_clang().into_iter().map(|(name, _)| name).collect();
        for (name, is_ours) in [("cmath", false), ("math.h", false), ("cuda/std/cmath", true), ("cuda_fp16.h", true)] {
            assert_eq!(names.contains(name), is_ours, "{name}");
        }
    }

    #[test]
    fn lines_are_those_of_the_program() {
        assert!(with_prelude("first").ends_with("#line 1\nfirst"));
    }
}

//! CUB: the headers of hipCUB in an installation of ROCm.
//!
//! As with NVRTC, a program has CUB's collectives of blocks and warps. Device-wide algorithms, and Thrust, run on the host.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rocm_loader::Search;

/// The headers of `cub/cub.cuh`, apart from those of warps.
const BLOCK: [&str; 13] = [
    "block/block_adjacent_difference",
    "block/block_discontinuity",
    "block/block_exchange",
    "block/block_histogram",
    "block/block_load",
    "block/block_merge_sort",
    "block/block_radix_rank",
    "block/block_radix_sort",
    "block/block_reduce",
    "block/block_run_length_decode",
    "block/block_scan",
    "block/block_shuffle",
    "block/block_store",
];

/// Macros of the prelude for warps of 32 lanes. hipCUB uses HIP's functions of waves.
const MACROS: [&str; 18] = [
    "__shfl_sync",
    "__shfl_up_sync",
    "__shfl_down_sync",
    "__shfl_xor_sync",
    "__ballot_sync",
    "__any_sync",
    "__all_sync",
    "__activemask",
    "__syncwarp",
    "__match_any_sync",
    "__match_all_sync",
    "__shfl",
    "__shfl_up",
    "__shfl_down",
    "__shfl_xor",
    "__ballot",
    "__any",
    "__all",
];

/// The reason that a program cannot call functions of the host.
const HOST: &str = "these functions run on the host, and a program for NVRTC has no host: use hipCUB and rocThrust in a program for hipcc";

/// A header of CUB or Thrust that a program includes.
fn included(text: &str) -> impl Iterator<Item = &str> {
    let names = text.lines().filter_map(|line| {
        let name = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        name.strip_prefix(['<', '"'])?.split(['>', '"']).next()
    });
    names.filter(|name| ["cub/", "thrust/", "hipcub/"].iter().any(|folder| name.starts_with(folder)))
}

/// Returns whether a program includes CUB or Thrust.
pub(super) fn is_used(text: &str) -> bool {
    included(text).next().is_some()
}

/// Returns headers by CUB's names, which include hipCUB's: `cub/block/block_reduce.cuh`.
pub(super) fn headers(text: &str) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for name in included(text) {
        let text = match name.strip_prefix("cub/").and_then(|name| name.strip_suffix(".cuh")) {
            Some("cub") => with_parts(&BLOCK, true),
            Some(part) if part.starts_with("warp/") => with_parts(&[], true),
            Some(part) if !part.starts_with("device/") => with_parts(&[part], false),
            None if name.starts_with("hipcub/") => continue,
            _ => format!("#error \"{HOST}\"\n"),
        };
        if headers.iter().all(|(known, _)| known != name) {
            headers.push((name.to_owned(), text));
        }
    }
    headers
}

/// Returns a header that includes some of hipCUB's.
fn with_parts(parts: &[&str], has_warps: bool) -> String {
    let mut text = "#pragma once\n#include \"cuda_compat/cub_host.h\"\n".to_owned();
    let (mut before, mut after) = (String::new(), String::new());
    for name in MACROS.into_iter().chain(["warpSize"]) {
        let _ = write!(before, "#pragma push_macro(\"{name}\")\n#undef {name}\n");
        let _ = writeln!(after, "#pragma pop_macro(\"{name}\")");
    }
    text += &before;
    for part in parts {
        let _ = writeln!(text, "#include <hipcub/{part}.hpp>");
    }
    if has_warps {
        text.push_str("#include \"cuda_compat/cub_warps.h\"\n");
    }
    text + &after + "namespace cub {\nusing namespace hipcub;\n}\n"
}

/// Returns the include folders of the first installation that has hipCUB: its own, and its compiler's.
pub(super) fn folders() -> Vec<PathBuf> {
    let roots = Search::standard().installations().into_iter().map(|found| found.root);
    let root = roots.into_iter().find(|root| root.join("include/hipcub/hipcub.hpp").is_file());
    root.map_or_else(Vec::new, |root| [Some(root.join("include")), compilers(&root)].into_iter().flatten().collect())
}

/// Returns the folder of the compiler's own headers, such as `stdarg.h`: `lib/llvm-22/lib/clang/22/include`.
fn compilers(root: &Path) -> Option<PathBuf> {
    let inside = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let lib = root.join("lib");
    let folders: Vec<PathBuf> =
        inside(&lib).into_iter().map(|folder| folder.join("lib/clang")).chain([lib.join("clang")]).collect();
    let mut versions = folders.iter().flat_map(|folder| inside(folder)).map(|version| version.join("include"));
    versions.rfind(|folder| folder.join("stdarg.h").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_cub_are_those_of_hipcub() {
        let source = "#include <cub/cub.cuh>\n # include \"cub/block/block_reduce.cuh\"\n#include <thrust/scan.h>\n#include <cub/cub.cuh>\n#include <cuda.h>\n#include <cub/device/device_scan.cuh>";
        assert!(is_used(source));
        let found = headers(source);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["cub/cub.cuh", "cub/block/block_reduce.cuh", "thrust/scan.h", "cub/device/device_scan.cuh"]);
        assert!(found[0].1.contains("<hipcub/block/block_scan.hpp>") && found[0].1.contains("cub_warps.h"));
        assert!(found[1].1.contains("<hipcub/block/block_reduce.hpp>") && !found[1].1.contains("cub_warps.h"));
        assert!(found[2].1.starts_with("#error") && found[3].1.starts_with("#error"));
        assert!(!is_used("#include <cuda/std/cstdint>\n// <cub/cub.cuh>"));
    }

    #[test]
    fn headers_of_a_compiler_are_found_beside_its_libraries() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(compilers(root.path()), None);
        let folder = root.path().join("lib/llvm-22/lib/clang/22/include");
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(compilers(root.path()), None);
        std::fs::write(folder.join("stdarg.h"), "").unwrap();
        assert_eq!(compilers(root.path()), Some(folder));
    }
}

//! The page `nvidia/COVERAGE.md`.

use std::fmt::Write as _;

use super::forward::{Functions, Kind};

/// Returns the page.
pub(super) fn page(functions: &Functions) -> String {
    let mut counts = [0; 4];
    let mut rows = String::new();
    for (name, kind) in &functions.kinds {
        let (index, kind, note) = match kind {
            Kind::Forwarded(cuda) => (0, "forwarded", format!("`{}`", cuda.join("`, else `"))),
            Kind::Written(kind) if kind == "translated" => (1, "translated", String::new()),
            Kind::Written(_) => (2, "emulated", String::new()),
            Kind::NotSupported(why) => (3, "not supported", (*why).to_owned()),
        };
        counts[index] += 1;
        let _ = writeln!(rows, "| `{name}` | {kind} | {note} |");
    }
    let [forwarded, translated, emulated, refused] = counts;
    format!(
        "# HIP functions on NVIDIA GPUs\n\n\
         Written by `cargo xtask nvidia`. The functions that the crate `hip` calls, and some that programs call through `hip-sys`. \
         All others return\n`hipErrorNotSupported`.\n\n\
         | how | functions | meaning |\n| --- | --- | --- |\n\
         | forwarded | {forwarded} | the CUDA driver has the function with the same parameters |\n\
         | translated | {translated} | the driver has the function with other parameters, flags or structures |\n\
         | emulated | {emulated} | the driver has no such function; this crate does it |\n\
         | not supported | {refused} | returns `hipErrorNotSupported` (801) |\n\n\
         | function | how | function of the driver, or reason |\n| --- | --- | --- |\n{rows}"
    )
}

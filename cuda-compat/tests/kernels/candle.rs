//! The kernels of the crate `candle-kernels`, of which nothing is in this repository: `cargo xtask candle-kernels`
//! fetches it, and runs this.
//!
//! `CUDA_COMPAT_CANDLE` is the crate's `src`. The table is written to the file `CUDA_COMPAT_CANDLE_TABLE`, if that is
//! set.

mod convolutions;
mod elementwise;
mod formats;
mod indexed;
mod quantized;
mod reductions;
mod types;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::device::{self, Argument, Module};

/// Modules of the crate, in its order: its `ALL_IDS`.
const MODULES: [&str; 11] =
    ["affine", "binary", "cast", "conv", "fill", "indexing", "quantized", "reduce", "sort", "ternary", "unary"];

/// The compute capability that the sources require: kernels for `__half`, `__nv_bfloat16` and `__nv_fp8_e4m3` exist
/// from compute capability 8.9 on.
const OPTIONS: [&str; 3] = ["--std=c++17", "-O3", "-D__CUDA_ARCH__=890"];

/// The result of a kernel: an error, or nothing.
type Outcome = Result<(), String>;

/// The kernels of a module.
struct Kernels {
    module: Module,
    names: Vec<String>,
    outcomes: BTreeMap<String, Outcome>,
}

impl Kernels {
    /// Checks each kernel that `check` knows: it returns `None` of another.
    fn check(&mut self, check: impl Fn(&Module, &str) -> Option<Outcome>) {
        for name in &self.names {
            if let Some(outcome) = check(&self.module, name) {
                self.outcomes.insert(name.clone(), outcome);
            }
        }
    }
}

/// Launches three blocks of 64 threads.
fn run(module: &Module, name: &str, arguments: &mut [Argument]) {
    module.run(name, 3, 64, arguments);
}

/// The names of the kernels in a code object: those of their descriptors.
fn names(code: &[u8]) -> Vec<String> {
    let mut names: Vec<String> = code
        .split(|byte| *byte == 0)
        .filter_map(|text| std::str::from_utf8(text).ok()?.strip_suffix(".kd"))
        .filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn kernels_of_candle_are_right() {
    let Some(folder) = std::env::var_os("CUDA_COMPAT_CANDLE") else {
        device::skip("candle's kernels are not there: cargo xtask candle-kernels");
        return;
    };
    assert!(device::start(), "there must be a device");
    let only = std::env::var("CUDA_COMPAT_CANDLE_MODULES").ok();
    let mut table =
        String::from("| module | compiled | kernels | run | right | not run |\n|---|---|---|---|---|---|\n");
    let mut wrong = Vec::new();
    for name in
        MODULES.into_iter().filter(|name| only.as_ref().is_none_or(|only| only.split(',').any(|one| one == *name)))
    {
        let folder = Path::new(&folder);
        let source = std::fs::read_to_string(folder.join(format!("{name}.cu"))).unwrap();
        let include = format!("-I{}", folder.display());
        let options: Vec<&str> = OPTIONS.into_iter().chain([include.as_str()]).collect();
        let (module, code) = Module::compiled(&format!("{name}.cu"), &source, &options);
        let mut kernels = Kernels { module, names: names(&code), outcomes: BTreeMap::new() };
        assert!(!kernels.names.is_empty(), "{name}");
        match name {
            "conv" => kernels.check(convolutions::check),
            "quantized" => kernels.check(quantized::check),
            "reduce" => kernels.check(reductions::check),
            "indexing" | "sort" | "ternary" => kernels.check(indexed::check),
            _ => kernels.check(elementwise::check),
        }
        let right = kernels.outcomes.values().filter(|outcome| outcome.is_ok()).count();
        let rest: Vec<&String> = kernels.names.iter().filter(|name| !kernels.outcomes.contains_key(*name)).collect();
        let rest = match rest.len() {
            0 => String::new(),
            1..=6 => rest.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
            many => format!("{many}, such as `{}`", rest[0]),
        };
        let (all, ran) = (kernels.names.len(), kernels.outcomes.len());
        writeln!(table, "| `{name}` | yes | {all} | {ran} | {right} | {rest} |").unwrap();
        for (kernel, outcome) in kernels.outcomes {
            if let Err(why) = outcome {
                wrong.push(format!("{kernel}: {why}"));
            }
        }
    }
    println!("{table}");
    if let Some(file) = std::env::var_os("CUDA_COMPAT_CANDLE_TABLE") {
        std::fs::write(file, &table).unwrap();
    }
    assert!(wrong.is_empty(), "{} kernels are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

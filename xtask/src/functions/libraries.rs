//! Lists which functions of a math library its safe crate calls: a page for each crate.
//!
//! A crate names the functions that it calls in a table in its `raw.rs`. The page has a row for each routine, and a
//! reason for each function of the newest release that is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use regex::Regex;

use super::{graph, sparse};
use crate::paths;

/// A crate with its library's functions.
pub(super) struct Library {
    /// The crate, and the prefix of the functions' names.
    name: &'static str,
    /// The name in prose.
    title: &'static str,
    /// The release whose functions the page counts, after the title.
    release: &'static str,
    /// The file of the page.
    file: &'static str,
    /// Names of the same function: their prefix, and that of the other name.
    same: Option<(&'static str, &'static str)>,
    /// Patterns of functions that are left out, and why.
    reasons: &'static [(&'static str, &'static str)],
}

const NEWEST: &str = "in ROCm 10.0";

/// All libraries. hipGRAPH is not in any release of ROCm.
pub(super) const LIBRARIES: [Library; 7] = [
    Library {
        name: "hipblas",
        title: "hipBLAS",
        release: NEWEST,
        file: "HIPBLAS_FUNCTIONS.md",
        same: None,
        reasons: &[
            (r"hipblas[GS]et(Vector|Matrix)(Async)?", "copies: `hip` copies buffers, slices and pitched memory"),
            (r"hipblasGetPointerMode|hipblasGetStream|hipblasGetMathMode", "the `Blas` knows what it has set"),
            (
                r"hipblasGemm(StridedBatched|Batched)?ExWithFlags(_64)?",
                "flags for rocBLAS alone; `gemm_ex` passes none",
            ),
            (
                r"hipblasTrsm(StridedBatched|Batched)?Ex",
                "`trsm` with inverses of diagonal blocks that the caller keeps",
            ),
            (r"hipblasStatusToString", "errors carry the status's name"),
            (r"hipblasSetWorkspace", "rocBLAS keeps a workspace for each handle"),
            (r"hipblas(GetVersion|GetProperty|SyrkEx|HerkEx)", "new in 10.0: no library of that release to test with"),
            (r"hipblas[GS]etBatch(Alpha|Beta)Stride", "new in 10.0: no library of that release to test with"),
        ],
    },
    Library {
        name: "hipblaslt",
        title: "hipBLASLt",
        release: NEWEST,
        file: "HIPBLASLT_FUNCTIONS.md",
        same: None,
        reasons: &[],
    },
    Library {
        name: "hipsolver",
        title: "hipSOLVER",
        release: NEWEST,
        file: "HIPSOLVER_FUNCTIONS.md",
        same: Some(("hipsolverDn", "hipsolver")),
        reasons: &[
            (r"hipsolverRf\w+", "refactorisation of sparse matrices: `hipsolver-sys` only"),
            (r"hipsolverSp\w*(Create|Destroy|SetStream|csrls\w+)", "sparse solves: `hipsolver-sys` only"),
            (
                r"hipsolverX(geev|syevd|syevBatched|sytrs)(_bufferSize)?",
                "new in 10.0: no library of that release to test with",
            ),
            (
                r"hipsolverXpotrs",
                "rocSOLVER's 32-bit function, in the workspace of whatever call came before: `potrs` does the same",
            ),
            (r"hipsolverSetAdvOptions", "AMD's library returns `HIPSOLVER_STATUS_NOT_SUPPORTED` for every option"),
            (r"hipsolverGetStream", "the `Solver` knows it"),
        ],
    },
    Library {
        name: "hiprand",
        title: "hipRAND",
        release: NEWEST,
        file: "HIPRAND_FUNCTIONS.md",
        same: None,
        reasons: &[],
    },
    Library { name: "hipfft", title: "hipFFT", release: NEWEST, file: "HIPFFT_FUNCTIONS.md", same: None, reasons: &[] },
    Library {
        name: "hipsparse",
        title: "hipSPARSE",
        release: NEWEST,
        file: "HIPSPARSE_FUNCTIONS.md",
        same: None,
        reasons: sparse::REASONS,
    },
    Library {
        name: "hipgraph",
        title: "hipGRAPH",
        release: "1.0.0b1",
        file: "HIPGRAPH_FUNCTIONS.md",
        same: None,
        reasons: graph::REASONS,
    },
];

/// The subjects of functions for crates whose tables have no routines: patterns, in order.
const TOPICS: [(&str, &str); 14] = [
    (r"hiprandGenerate(Char|Short|LongLong)?", "random bits: `generate`"),
    (r"hiprandGenerateUniform\w*", "`uniform`"),
    (r"hiprandGenerateNormal\w*", "`normal`"),
    (r"hiprandGenerateLogNormal\w*", "`log_normal`"),
    (r"hiprand\w*(Poisson|DestroyDistribution)\w*", "`poisson`, `PoissonDistribution`"),
    (
        r"hiprandGet(Direction|Scramble)\w*",
        "tables of Sobol's sequences: `sobol32_vectors`, `scramble_constants32`, ...",
    ),
    (r"hiprand\w*", "generators and their settings: `Generator`, `HostGenerator`"),
    (r"hipfftXt\w*Callback\w*", "callbacks: `Plan::set_callback`"),
    (r"hipfftXt(SetGPUs|Malloc|Free|Memcpy|ExecDescriptor\w*)", "several devices: `MultiPlan`, `MultiBuffer`"),
    (r"hipfft(Exec|XtExec)\w*", "transforms: `Plan::forward`, `Plan::inverse`, and in place"),
    (r"hipfft(Get|XtGet)(Size\w*)|hipfftEstimate\w*|hipfftSet(AutoAllocation|WorkArea)", "workspaces"),
    (r"hipfft(Xt)?(Make)?Plan\w*|hipfftExtPlan\w*", "plans of a `Layout`: `Plan::new`, `Plan::with_library_workspace`"),
    (r"hipfftGet(Version|Property)", "`version`"),
    (r"hipfft\w*", "the handle of a plan"),
];

fn topic(function: &str) -> Result<&'static str> {
    for (pattern, topic) in TOPICS {
        if Regex::new(&format!("^(?:{pattern})$"))?.is_match(function) {
            return Ok(topic);
        }
    }
    Ok("the handle and descriptions")
}

impl Library {
    /// Returns the path of the page.
    pub(super) fn path(&self) -> PathBuf {
        paths::root().join(self.name).join(self.file)
    }

    /// Returns the functions of the newest release.
    fn functions(&self) -> Result<Vec<String>> {
        let path = paths::root().join(format!("{}-sys/src/generated/coverage.rs", self.name));
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let (_, rows) = text.split_once("pub static FUNCTIONS").context("no table of functions")?;
        let row = Regex::new(r#"\("(\w+)",\s*"[\d.]+",\s*None\)"#)?;
        Ok(row.captures_iter(rows).map(|found| found[1].to_owned()).collect())
    }

    /// Returns the functions in the crate's table, with the routine of each.
    fn called(&self) -> Result<BTreeMap<String, String>> {
        if self.name == "hipgraph" {
            return graph::called(&self.functions()?);
        }
        let text = fs::read_to_string(paths::root().join(self.name).join("src/raw.rs"))?;
        let mut called = BTreeMap::new();
        let routine = Regex::new(r"(?m)^    \w+(?:<\w>)? (?:fn )?(\w+)\(")?;
        let second = Regex::new(r"(?m)^        (\w+)\(.*\)$")?;
        let function = Regex::new(r#"=> "(\w+)""#)?;
        let starts: Vec<_> =
            routine.captures_iter(&text).map(|found| (found.get(0).unwrap().start(), found[1].to_owned())).collect();
        for (index, (start, name)) in starts.iter().enumerate() {
            let end = starts.get(index + 1).map_or(text.len(), |(start, _)| *start);
            let part = &text[*start..end];
            let name = second.captures(part).map_or(name.clone(), |found| found[1].to_owned());
            for found in function.captures_iter(part) {
                for form in forms(self.name, &found[1]) {
                    called.insert(form, name.clone());
                }
            }
        }
        let mixed = Regex::new(r#"fn (\w+_ex)\([^;]*;[^;]*\), \w+ = "(\w+)";"#)?;
        for found in mixed.captures_iter(&text) {
            for batch in ["", "Batched", "StridedBatched"] {
                for wide in ["", "_64"] {
                    called.insert(format!("{}{batch}Ex{wide}", &found[2]), found[1].to_owned());
                }
            }
        }
        let plain = Regex::new(r"(?m)^    fn (hip\w+)\(")?;
        for found in plain.captures_iter(&text) {
            called.insert(found[1].to_owned(), topic(&found[1])?.to_owned());
        }
        if self.name == "hipsparse" {
            sparse::called(&text, &mut called)?;
        }
        Ok(called)
    }

    /// Returns the page.
    pub(super) fn page(&self) -> Result<String> {
        let (functions, called) = (self.functions()?, self.called()?);
        let mut reached: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut left_out: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        let reasons: Vec<Regex> = self
            .reasons
            .iter()
            .map(|(pattern, _)| Regex::new(&format!("^(?:{pattern})$")))
            .collect::<Result<_, _>>()?;
        for function in &functions {
            let other = self.same.map(|(from, to)| function.replacen(from, to, 1));
            let other = other.as_deref().unwrap_or(function);
            if let Some(routine) = called.get(function).or_else(|| called.get(other)) {
                reached.entry(routine).or_default().push(function);
                continue;
            }
            let found = reasons.iter().position(|pattern| pattern.is_match(other));
            left_out
                .entry(found.with_context(|| format!("{function} is neither called nor left out for a reason"))?)
                .or_default()
                .push(function);
        }
        let served: BTreeSet<usize> = left_out.keys().copied().collect();
        for (index, (pattern, _)) in self.reasons.iter().enumerate() {
            ensure!(served.contains(&index), "no function that is left out matches {pattern}: take it off the list");
        }
        let (all, within) = (functions.len(), reached.values().map(Vec::len).sum::<usize>());
        let mut page = format!(
            "<!-- Written by `cargo xtask functions`; do not edit. -->\n\
             # {title} functions in the crate `{name}`\n\n\
             Of the {all} functions of {title} {release}, {within} are reached ({percent} %). Raw bindings of all are in\n\
             [`{name}-sys`](../{name}-sys).\n",
            title = self.title,
            name = self.name,
            release = self.release,
            percent = within * 100 / all,
        );
        if let Some((from, to)) = self.same {
            write!(page, "\nThe functions `{from}...` are those named `{to}...`, under cuSOLVER's names.\n")?;
        }
        page.push_str("\n| routine | functions | such as |\n|---|---|---|\n");
        for (routine, functions) in &reached {
            let shown: Vec<String> = functions.iter().take(3).map(|name| format!("`{name}`")).collect();
            writeln!(page, "| {routine} | {} | {} |", functions.len(), shown.join(", "))?;
        }
        if !left_out.is_empty() {
            page.push_str("\n## Left out\n\n| functions | why |\n|---|---|\n");
        }
        for (index, functions) in &left_out {
            let shown: Vec<String> = functions.iter().take(4).map(|name| format!("`{name}`")).collect();
            let more = if functions.len() > 4 { format!(" and {} more", functions.len() - 4) } else { String::new() };
            writeln!(page, "| {}{more} | {} |", shown.join(", "), self.reasons[*index].1)?;
        }
        Ok(page)
    }
}

/// Returns the functions that one name in a table stands for.
fn forms(library: &str, name: &str) -> Vec<String> {
    match library {
        "hipsolver" => vec![name.to_owned(), format!("{name}_bufferSize")],
        _ => ["", "Batched", "StridedBatched", "_64", "Batched_64", "StridedBatched_64"]
            .map(|form| format!("{name}{form}"))
            .into(),
    }
}

//! CUDA's names: the tables below `api/`, and the handwritten modules of `cuda-compat`.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail, ensure};
use regex::Regex;

use crate::paths;

/// The kinds of items in CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sort {
    Function,
    Type,
    Constant,
}

/// A row of `api/cuda-api.tsv`.
pub(super) struct Declared {
    pub(super) module: String,
    pub(super) sort: Sort,
    pub(super) name: String,
    pub(super) of: String,
    pub(super) value: Option<i64>,
}

pub(super) fn rows(file: &str, columns: usize) -> Result<Vec<Vec<String>>> {
    let path = paths::root().join("api").join(file);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let rows = text.lines().skip(1).map(|line| {
        let row: Vec<String> = line.split('\t').map(str::to_owned).collect();
        ensure!(row.len() == columns, "{}: {line:?} does not have {columns} columns", path.display());
        Ok(row)
    });
    rows.collect()
}

pub(super) fn declared() -> Result<Vec<Declared>> {
    let rows = rows("cuda-api.tsv", 5)?.into_iter().map(|row| {
        let sort = match row[1].as_str() {
            "function" => Sort::Function,
            "type" => Sort::Type,
            "constant" => Sort::Constant,
            other => bail!("api/cuda-api.tsv: {other}"),
        };
        let [module, _, name, of, value] = <[String; 5]>::try_from(row).unwrap_or_default();
        Ok(Declared { module, sort, name, of, value: value.parse().ok() })
    });
    rows.collect()
}

/// Returns the module of a name in AMD's table.
pub(super) fn module_of(name: &str) -> &'static str {
    if name.starts_with("nvrtc") || name.starts_with("NVRTC_") || name == "_nvrtcProgram" {
        "nvrtc"
    } else if name.starts_with("cublas") {
        "cublas"
    } else if name.starts_with("CUDA_R_") || name.starts_with("CUDA_C_") {
        "runtime"
    } else if name.starts_with("cu") && !name.starts_with("cuda") || name.starts_with("CU") {
        "driver"
    } else {
        "runtime"
    }
}

/// Returns the public names of a handwritten module, each with the functions of ROCm in its `doc(alias)`.
pub(super) fn written(module: &str) -> Result<BTreeMap<String, String>> {
    let item = Regex::new(concat!(
        r#"(?:#\[doc\(alias\(([^)]*)\)\)\]\s*)?pub (?:unsafe extern "C" )?(?:fn|type|struct|const) (\w+)"#,
        r"|pub use (\w+) as (\w+);|(?m:^\s+([A-Z]\w+) = \d+,)|(?m:^    (\w+_t) \{)",
    ))?;
    let folder = paths::root().join("cuda-compat/src").join(module);
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut others = Vec::new();
    for file in ["types.rs", "sys.rs"] {
        let path = folder.join(file);
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        for found in item.captures_iter(&text) {
            let group = |index: usize| found.get(index).map(|group| group.as_str().to_owned());
            match (group(2), group(3).zip(group(4)), group(5).or_else(|| group(6))) {
                (Some(name), ..) => drop(names.insert(name, group(1).unwrap_or_default().replace('"', ""))),
                (_, Some((of, name)), _) => others.push((of, name)),
                (.., name) => drop(names.insert(name.unwrap_or_default(), String::new())),
            }
        }
    }
    for (of, name) in others {
        let beneath = names.get(&of).with_context(|| format!("{of} is not a name of {module}"))?.clone();
        names.insert(name, beneath);
    }
    Ok(names)
}

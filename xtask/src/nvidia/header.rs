//! The CUDA driver's functions, as its headers declare them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use regex::Regex;

/// Returns the table `api/cuda-driver.tsv`: the driver's functions in all versions, with their parameters. A parameter
/// is the number of its bytes, `s` for a structure, or `*` and the type that it points to.
pub(super) fn table(folder: &Path) -> Result<String> {
    let text = preprocessed(folder)?;
    let types = types(&text)?;
    let function = Regex::new(r"CUresult (cu\w+)\(([^;]*?)\);")?;
    // Of `cudaProfiler.h`, which NVIDIA's Python package of the headers leaves out. They have no parameters.
    let mut rows: BTreeSet<_> = ["cuProfilerStart\t", "cuProfilerStop\t"].map(str::to_owned).into();
    for found in function.captures_iter(&text) {
        let list = found[2].trim();
        let list = if list == "void" || list.is_empty() { Vec::new() } else { list.split(',').collect() };
        let parameters = list.iter().map(|parameter| passed(parameter, &types)).collect::<Result<Vec<_>>>();
        let parameters = parameters.with_context(|| format!("the function {}", &found[1]))?;
        rows.insert(format!("{}\t{}", &found[1], parameters.join(" ")));
    }
    ensure!(rows.len() > 500, "the headers in {} have only {} functions", folder.display(), rows.len());
    let mut table = String::from("function\tparameters\n");
    for row in rows {
        writeln!(table, "{row}")?;
    }
    Ok(table)
}

/// Returns the headers after the preprocessor, on one line: with the functions of old versions.
fn preprocessed(folder: &Path) -> Result<String> {
    let mut compiler = Command::new("cc");
    compiler.args(["-E", "-P", "-D__CUDA_API_VERSION_INTERNAL", "-x", "c", "-include", "cuda.h", "-I"]);
    compiler.arg(folder).arg("/dev/null");
    let output = compiler.output().context("running cc")?;
    ensure!(output.status.success(), "cc failed: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns how types are passed by value, by name.
fn types(text: &str) -> Result<BTreeMap<String, &'static str>> {
    let number = Regex::new(r"typedef enum \w* ?\{[^}]*\} (\w+);")?;
    let handle = Regex::new(r"typedef (?:const )?struct \w+ ?\*(\w+);")?;
    let callback = Regex::new(r"typedef \w+ ?\( ?\* ?(\w+)\)")?;
    let mut types = BTreeMap::new();
    for name in ["int", "unsigned", "unsigned int", "CUdevice", "CUdevice_v1", "cuuint32_t", "GLenum", "CUdeviceptr_v1"]
    {
        types.insert(name.to_owned(), "4");
    }
    for name in [
        "size_t",
        "unsigned long long",
        "cuuint64_t",
        "CUdeviceptr",
        "CUdeviceptr_v2",
        "CUtexObject",
        "CUsurfObject",
        "CUmemGenericAllocationHandle",
        "CUgraphConditionalHandle",
        "CUlogIterator",
        "CUcheckpointRestoreArgs",
    ] {
        types.insert(name.to_owned(), "8");
    }
    types.insert("unsigned short".to_owned(), "2");
    types.insert("unsigned char".to_owned(), "1");
    types.insert("float".to_owned(), "f");
    for (expression, class) in [(&number, "4"), (&handle, "8"), (&callback, "8")] {
        types.extend(expression.captures_iter(text).map(|found| (found[1].to_owned(), class)));
    }
    // Structures, and other names of types.
    let structure = Regex::new(r"\} (\w+);")?;
    for found in structure.captures_iter(text) {
        types.entry(found[1].to_owned()).or_insert("s");
    }
    let alias = Regex::new(r"typedef (\w+) (\w+);")?;
    for _ in 0..3 {
        for found in alias.captures_iter(text) {
            if let Some(class) = types.get(&found[1]).copied() {
                types.entry(found[2].to_owned()).or_insert(class);
            }
        }
    }
    Ok(types)
}

/// Returns how a parameter is passed.
fn passed(parameter: &str, types: &BTreeMap<String, &'static str>) -> Result<String> {
    let plain = parameter.replace("const ", " ").replace("struct ", " ");
    let before = plain.rsplit_once('*').map(|(before, _)| before.split_whitespace().collect::<String>());
    if let Some(to) = before {
        return Ok(format!("*{to}"));
    }
    let words: Vec<_> = plain.split_whitespace().collect();
    // The last word is the name, unless the parameter has none.
    for count in [words.len().saturating_sub(1), words.len()] {
        if let Some(class) = types.get(&words[..count].join(" ")) {
            let is_array = words.last().is_some_and(|name| name.ends_with(']'));
            return Ok(if is_array { format!("*{}", words[..count].join("")) } else { (*class).to_owned() });
        }
    }
    anyhow::bail!("the parameter {parameter:?} has an unknown type")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbers_structures_or_addresses() {
        let text = "typedef enum CUkind_enum { A = 1 } CUkind; typedef struct CUstream_st *CUstream; \
                    typedef struct CUhandle_st { char reserved[64]; } CUhandle_v1; typedef CUhandle_v1 CUhandle;";
        let types = types(text).unwrap();
        let passed = |parameter| passed(parameter, &types).unwrap();
        assert_eq!(passed("CUstream hStream"), "8");
        assert_eq!(passed("CUkind kind"), "4");
        assert_eq!(passed("CUhandle handle"), "s");
        assert_eq!(passed("const void *src"), "*void");
        assert_eq!(passed("unsigned long long flags"), "8");
        assert_eq!(passed("void **pp"), "*void*");
    }
}

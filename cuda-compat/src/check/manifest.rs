//! Cargo.toml: dependencies on CUDA.

use std::collections::BTreeSet;

use crate::cudarc;
use crate::report::{Findings, Kind, Place, Verdict};

/// Crates: name, whether a missing counterpart is a gap (`false`: changing one line is enough), the advice.
const CRATES: &[(&str, bool, &str)] = &[
    (
        "cust",
        true,
        "no layer of its shape: the crate `hip` has the same items (Device, Stream, Module, DeviceBuffer), or use cudarc's API",
    ),
    ("cust_core", true, "use `hip::DeviceCopy`, or cudarc's DeviceRepr"),
    ("cust_raw", false, "the same names: cuda-compat's modules `driver`, `nvrtc`, `cublas`"),
    ("rustacuda", true, "no layer of its shape, and no longer maintained: the crate `hip`, or cudarc's API"),
    ("rustacuda_core", true, "use the crate `hip`"),
    ("rustacuda_derive", true, "use `hip`'s derive, or cudarc's DeviceRepr"),
    ("cuda-sys", false, "the same names: cuda-compat's modules `driver` and `runtime`"),
    ("cuda-driver-sys", false, "the same names: cuda-compat's module `driver`"),
    ("cuda-runtime-sys", false, "the same names: cuda-compat's module `runtime`"),
    ("cublas-sys", false, "the same names: cuda-compat's module `cublas`"),
    ("nvml-wrapper", true, "no layer of its shape: cuda-compat's module `nvml` has the C names"),
    ("nvml-wrapper-sys", false, "the same names: cuda-compat's module `nvml`"),
    ("cuda_std", true, "kernels in Rust for PTX: `hip-kernel`"),
    ("cuda_builder", true, "kernels in Rust for PTX: `hip-kernel-build`"),
    ("cudnn", true, "MIOpen, or hipDNN by the crate `hipdnn-sys`"),
    ("optix", true, "HIP RT"),
    ("bindgen_cuda", false, "it runs nvcc: `cuda-compat env -- cargo build` puts a stand-in on the path"),
    ("cudaforge", false, "it runs nvcc: `cuda-compat env -- cargo build` puts a stand-in on the path"),
    ("find_cuda_helper", false, "nothing is linked: remove it"),
    ("cuda-config", false, "nothing is linked: remove it"),
    ("ptx-builder", true, "AMD GPUs have no PTX: `hip-kernel-build`"),
    ("ptx_compiler", true, "AMD GPUs have no PTX"),
    (
        "candle-kernels",
        true,
        "its kernels compile by the stand-in of nvcc (`cuda-compat env`), and its static library of host functions does not",
    ),
    ("candle-flash-attn", true, "CUTLASS kernels: Composable Kernel has flash attention"),
    ("cubecl-cuda", true, "cubecl has its own runtime for AMD GPUs: `cubecl-hip`"),
    ("burn-cuda", true, "burn has its own backend for AMD GPUs: `burn-rocm`"),
];

/// The first release of cudarc with the API of this crate.
const CUDARC: (u64, u64) = (0, 16);

/// Published forks of cudarc, which have its API and features.
const FORKS: &[&str] = &["luminal_cudarc", "mistralrs_cudarc_fork"];

/// Returns whether a package is cudarc, or a fork of it.
fn is_cudarc(package: &str) -> bool {
    package == "cudarc" || FORKS.contains(&package)
}

/// Reads a Cargo.toml. Adds the names that the source uses for cudarc.
pub(crate) fn read(file: &str, text: &str, roots: &mut BTreeSet<String>, findings: &mut Findings) {
    let mut table: Vec<String> = Vec::new();
    let mut open_features = None::<String>;
    for (index, line) in text.lines().enumerate() {
        let place = || Place { file: file.to_owned(), line: index + 1, column: 1 };
        let code = uncommented(line).trim();
        if let Some(name) = open_features.take() {
            // A list of features over several lines.
            features(&name, code, &place(), findings);
            if !code.contains(']') {
                open_features = Some(name);
            }
            continue;
        }
        if let Some(header) = code.strip_prefix('[') {
            table = keys(header.trim_matches(['[', ']']));
            if let [.., section, name] = &table[..] {
                if section.ends_with("dependencies") {
                    dependency(name, None, &place(), roots, findings);
                }
            }
            continue;
        }
        let Some((key, value)) = code.split_once('=') else { continue };
        let (key, value) = (keys(key), value.trim());
        let (name, value, inner) = match (&table[..], &key[..]) {
            // `cudarc = …` and `cudarc.version = …`
            ([.., section], [name, inner @ ..]) if section.ends_with("dependencies") => {
                (name.clone(), value, inner.first().cloned())
            }
            ([.., section, name], [inner]) if section.ends_with("dependencies") => {
                (name.clone(), value, Some(inner.clone()))
            }
            _ => continue,
        };
        match inner.as_deref() {
            None => {
                let package = field(value, "package").unwrap_or(name.clone());
                if is_cudarc(&package) {
                    roots.insert(name.replace('-', "_"));
                }
                let version = if value.starts_with('"') {
                    Some(value.trim_matches('"').to_owned())
                } else {
                    field(value, "version")
                };
                dependency(&package, version.as_deref(), &place(), roots, findings);
                if value.contains("features") {
                    features(&package, value, &place(), findings);
                    if value.matches('[').count() > value.matches(']').count() {
                        open_features = Some(package);
                    }
                }
            }
            Some("package") => {
                let package = value.trim_matches('"');
                if is_cudarc(package) {
                    roots.insert(name.replace('-', "_"));
                }
                dependency(package, None, &place(), roots, findings);
            }
            // For other crates, the table header counts.
            Some("version") if name == "cudarc" || table.last().is_some_and(|last| *last != name) => {
                dependency(&name, Some(value.trim_matches('"')), &place(), roots, findings)
            }
            Some("features") => {
                features(&name, value, &place(), findings);
                if !value.contains(']') {
                    open_features = Some(name);
                }
            }
            Some(_) => {}
        }
    }
}

/// Returns the line without its comment.
fn uncommented(line: &str) -> &str {
    let mut in_text = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => in_text = !in_text,
            '#' if !in_text => return &line[..at],
            _ => {}
        }
    }
    line
}

/// Splits a key into parts: `target.'cfg(a.b)'.dependencies` has three.
fn keys(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    for c in text.trim().chars() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '.') => parts.push(String::new()),
            (None, c) if c.is_whitespace() => {}
            (_, c) => {
                if let Some(last) = parts.last_mut() {
                    last.push(c);
                }
            }
        }
    }
    parts
}

/// Returns a string of an inline table.
fn field(value: &str, name: &str) -> Option<String> {
    let start = value.find(name)?;
    let rest = value[start + name.len()..].trim_start().strip_prefix('=')?.trim_start();
    Some(rest.strip_prefix('"')?.split('"').next()?.to_owned())
}

fn dependency(
    package: &str,
    version: Option<&str>,
    place: &Place,
    roots: &mut BTreeSet<String>,
    findings: &mut Findings,
) {
    if FORKS.contains(&package) {
        roots.insert(package.to_owned());
        findings.add(Kind::Crate, &format!("{package}, a fork of cudarc"), place.clone(), || {
            Verdict::differs(format!(
                "write `{package} = {{ package = \"cuda-compat\", … }}`, with what `In Cargo.toml` says: cudarc's API is here, and what the fork adds is not"
            ))
        });
        return;
    }
    if package == "cudarc" {
        roots.insert("cudarc".to_owned());
        let Some(version) = version else { return };
        let mut numbers = version
            .trim_start_matches(['^', '=', '~', '>', ' '])
            .split(['.', ',', ' '])
            .map(|part| part.parse::<u64>().ok());
        let is_old = match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(major), Some(minor)) => (major, minor) < CUDARC,
            _ => false,
        };
        findings.add(Kind::Crate, &format!("cudarc {version}"), place.clone(), || {
            if is_old {
                Verdict::missing(
                    "its API is older than the one that is here: update to cudarc 0.19 first, then check again",
                )
            } else {
                Verdict::differs("change one line: see `In Cargo.toml`")
            }
        });
        return;
    }
    if let Some((_, is_missing, advice)) = CRATES.iter().find(|(name, ..)| *name == package) {
        findings.add(Kind::Crate, package, place.clone(), || {
            if *is_missing { Verdict::missing(*advice) } else { Verdict::differs(*advice) }
        });
    }
}

/// Adds features of cudarc for modules that this crate lacks.
fn features(package: &str, value: &str, place: &Place, findings: &mut Findings) {
    if !is_cudarc(package) {
        // These features only add types for cudarc, no code.
        if ["glam", "vek", "half", "num-complex"].contains(&package) {
            return;
        }
        // A crate that has its own CUDA code behind a feature.
        let feature = value
            .split('"')
            .skip(1)
            .step_by(2)
            .find(|feature| ["cuda", "cudnn", "nccl", "flash-attn"].contains(feature));
        if let Some(feature) = feature {
            findings.add(Kind::Crate, &format!("{package}'s feature {feature}"), place.clone(), || {
                Verdict::differs(
                    "CUDA code of that crate: if it is for cudarc, patch cudarc by [patch.crates-io], as PORTING.md says; otherwise check its source",
                )
            });
        }
        return;
    }
    for feature in value.split('"').skip(1).step_by(2) {
        if let Some(advice) = cudarc::module(feature) {
            findings
                .add(Kind::Crate, &format!("cudarc's feature {feature}"), place.clone(), || Verdict::missing(advice));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Status;

    #[test]
    fn forks_of_cudarc_are_seen() {
        let text = "[dependencies]\nluminal_cudarc = \"0.18\"\ngpu = { package = \"mistralrs_cudarc_fork\", version = \"0.16\", features = [\"cudnn\"] }\n";
        let (mut roots, mut findings) = (BTreeSet::new(), Findings::default());
        read("Cargo.toml", text, &mut roots, &mut findings);
        assert!(roots.contains("luminal_cudarc") && roots.contains("gpu"), "{roots:?}");
        let report = findings.report(String::new(), 1);
        let found =
            |name: &str| report.items.iter().find(|item| item.name.starts_with(name)).map(|item| item.verdict.status);
        assert_eq!(found("luminal_cudarc, a fork"), Some(Status::Differs));
        assert_eq!(found("mistralrs_cudarc_fork, a fork"), Some(Status::Differs));
        assert_eq!(found("cudarc's feature cudnn"), Some(Status::Missing));
    }

    #[test]
    fn dependencies_are_found_in_every_form() {
        let text = "\
[dependencies]
cudarc = { version = \"0.19\", features = [\"cudnn\", \"driver\"] } # cust = \"0\"
gpu = { package = \"cudarc\", version = \"0.13.1\" }
[target.'cfg(a.b)'.dependencies]
cust.version = \"0.3\"
[workspace.dependencies.rustacuda]
version = \"0.1\"
[package.metadata]
optix = \"1\"
[dependencies.cudarc12]
package = \"cudarc\"
features = [
    \"cutensor\",
]
";
        let (mut roots, mut findings) = (BTreeSet::new(), Findings::default());
        read("Cargo.toml", text, &mut roots, &mut findings);
        assert_eq!(roots.into_iter().collect::<Vec<_>>(), ["cudarc", "cudarc12", "gpu"]);
        let report = findings.report(String::new(), 1);
        let found: Vec<(&str, Status, usize)> =
            report.items.iter().map(|item| (item.name.as_str(), item.verdict.status, item.places[0].line)).collect();
        assert_eq!(
            found,
            [
                ("cudarc 0.13.1", Status::Missing, 3),
                ("cudarc's feature cudnn", Status::Missing, 2),
                ("cust", Status::Missing, 5),
                ("rustacuda", Status::Missing, 6),
                ("cudarc 0.19", Status::Differs, 2),
            ]
        );
    }
}

//! The declarations of `src/raw.rs` against those of `rccl-sys`, in every form that a release has.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Names of functions, with the types of the parameters and of the result in each place that declares them.
type Declarations = BTreeMap<String, Vec<Vec<String>>>;

/// A type, as both sides write it. A configuration says its own size and version; a stream is a pointer.
fn plain(ty: &str) -> String {
    let ty = ty.trim().replace("::core::ffi::", "");
    match ty.as_str() {
        "hipStream_t" | "RawStream" => "*mut c_void".to_owned(),
        "RawWindow" => "ncclWindow_t".to_owned(),
        "*mut RawWindow" => "*mut ncclWindow_t".to_owned(),
        "*mut RawWaitSignal" => "*mut ncclWaitSignalDesc_t".to_owned(),
        "*mut RawConfig" => "*mut ncclConfig_t".to_owned(),
        other if other.starts_with("*mut ncclConfig_v") => "*mut ncclConfig_t".to_owned(),
        _ => ty,
    }
}

fn declarations(files: &[PathBuf]) -> Declarations {
    let mut found = Declarations::new();
    for file in files {
        let text = fs::read_to_string(file).unwrap();
        for part in text.split(" pub fn ").skip(1) {
            let (name, rest) = part.split_once('(').unwrap();
            let (parameters, rest) = rest.split_once(')').unwrap();
            let result = rest.split(';').next().unwrap().trim().trim_start_matches("->");
            let parameters = parameters.split(',').filter(|parameter| !parameter.trim().is_empty());
            let mut types: Vec<String> =
                parameters.map(|parameter| plain(parameter.split_once(':').unwrap().1)).collect();
            types.push(plain(result));
            found.entry(name.to_owned()).or_default().push(types);
        }
    }
    found
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else {
            files.push(path);
        }
    }
}

#[test]
fn each_function_has_the_parameters_that_c_has() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    rust_files(&root.join("../rccl-sys/src/generated"), &mut files);
    // CUDA's names have methods of enums, too.
    files.retain(|file| !file.ends_with("cuda.rs"));
    let theirs = declarations(&files);
    let ours = declarations(&[root.join("src/raw.rs")]);
    let mut compared = 0;
    for (name, types) in &ours {
        let declared = theirs.get(name).unwrap_or_else(|| panic!("{name} is not declared"));
        for other in declared {
            assert_eq!(types, std::slice::from_ref(other), "{name}");
            compared += 1;
        }
    }
    assert!(ours.len() >= 38 && compared >= ours.len() + 4, "{} functions, {compared} compared", ours.len());
}

#[test]
fn each_function_has_the_release_that_brought_it() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/raw.rs")).unwrap();
    for line in text.lines().filter(|line| line.contains(" pub fn ")) {
        let since = line.split('"').nth(1).unwrap();
        let name = line.split(" pub fn ").nth(1).unwrap().split('(').next().unwrap();
        let known = rccl_sys::coverage::FUNCTIONS.iter().find(|(function, ..)| *function == name);
        assert_eq!(known.map(|(_, since, _)| *since), Some(since), "{name}");
    }
}

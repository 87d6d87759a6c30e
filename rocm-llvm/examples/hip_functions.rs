//! Prints every function of HIP's runtime, with its signature: libclang walks the header.
//!
//! `cargo run -p rocm-llvm --example hip_functions -- /opt/rocm/include`

use std::path::PathBuf;

use rocm_llvm::clang::{CursorKind, Index, Library, Source};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let include = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| "/opt/rocm/include".into()));
    let library = Library::load()?;
    eprintln!("{} at {}", library.version(), library.path());

    let index = Index::new()?;
    let source = Source::file(include.join("hip/hip_runtime_api.h"))
        .arguments(["-x", "c++", "-std=c++17", "-D__HIP_PLATFORM_AMD__"])
        .argument(format!("-I{}", include.display()))
        .without_bodies();
    let unit = index.parse(&source)?;
    for diagnostic in unit.diagnostics() {
        eprintln!("{diagnostic}");
    }
    if unit.has_errors() {
        return Err("the header has errors".into());
    }

    // `extern "C" { ... }` is a node of its own. HIP also has overloads and templates for C++.
    let mut functions = Vec::new();
    for cursor in unit.cursor().descendants().filter(|cursor| cursor.kind() == CursorKind::Function) {
        let in_hip = cursor.location().is_some_and(|place| place.file.starts_with(&include));
        let (Some(result), true) = (cursor.result_type(), in_hip) else { continue };
        let parameters = cursor.arguments().into_iter().map(|parameter| {
            let ty = parameter.ty().map(|ty| ty.spelling()).unwrap_or_default();
            format!("{ty} {}", parameter.spelling()).trim_end().to_owned()
        });
        let parameters: Vec<_> = parameters.collect();
        functions.push(format!("{result} {}({})", cursor.spelling(), parameters.join(", ")));
    }
    for function in &functions {
        println!("{function}");
    }
    println!("{} functions", functions.len());
    Ok(())
}

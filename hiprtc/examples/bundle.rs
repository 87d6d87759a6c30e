//! Compiles a HIP source for several architectures into one bundle, which a program can ship with `include_bytes!`.
//!
//! `cargo run -p hiprtc --example bundle -- kernels.hip kernels.hipfb gfx90a gfx942 gfx1100`

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [source, bundle, architectures @ ..] = &arguments[..] else { return Err(usage().into()) };
    if architectures.is_empty() {
        return Err(usage().into());
    }
    let text = std::fs::read_to_string(source).map_err(|error| format!("cannot read {source}: {error}"))?;
    // The file's name without its folder: what is compiled must not depend on where it lies.
    let name = Path::new(source).file_name().map_or_else(|| source.clone(), |name| name.to_string_lossy().into_owned());
    let bytes = hiprtc::Program::new(name, text).compile_bundle(architectures)?;
    std::fs::write(bundle, &bytes).map_err(|error| format!("cannot write {bundle}: {error}"))?;
    println!("{bundle}: {} bytes of code for {}", bytes.len(), architectures.join(", "));
    Ok(())
}

fn usage() -> &'static str {
    "usage: bundle SOURCE.hip BUNDLE.hipfb ARCHITECTURE..."
}

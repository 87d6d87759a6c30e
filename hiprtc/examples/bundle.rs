//! Compiles a HIP source for several architectures into one bundle, which a program can ship with `include_bytes!`.
//!
//! `cargo run -p hiprtc --example bundle -- kernels.hip kernels.hipfb gfx90a gfx942 gfx1100`
//!
//! Arguments that start with a dash are options for the compiler: `-O2`, `-DTILE=16`. For an output that ends in `.co`,
//! the code of one architecture is written as it is, without a bundle around it.

use std::path::Path;

use hiprtc::{Options, Program};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (options, arguments): (Vec<String>, Vec<String>) = arguments.into_iter().partition(|a| a.starts_with('-'));
    let [source, output, architectures @ ..] = &arguments[..] else { return Err(usage().into()) };
    let text = std::fs::read_to_string(source).map_err(|error| format!("cannot read {source}: {error}"))?;
    // The file's name without its folder: the output must not depend on where the file lies.
    let name = Path::new(source).file_name().map_or_else(|| source.clone(), |name| name.to_string_lossy().into_owned());
    let program = Program::new(name, text).options(options.into_iter().fold(Options::new(), Options::raw));
    let plain = Path::new(output).extension().is_some_and(|extension| extension == "co");
    let bytes = match architectures {
        [] => return Err(usage().into()),
        [architecture] if plain => program.arch(architecture).compile()?.into_bytes(),
        _ if plain => return Err(format!("{output} holds the code of one architecture\n{}", usage()).into()),
        _ => program.compile_bundle(architectures)?,
    };
    std::fs::write(output, &bytes).map_err(|error| format!("cannot write {output}: {error}"))?;
    println!("{output}: {} bytes of code for {}", bytes.len(), architectures.join(", "));
    Ok(())
}

fn usage() -> &'static str {
    "usage: bundle SOURCE.hip BUNDLE.hipfb ARCHITECTURE... [-OPTION...]\n       \
     bundle SOURCE.hip CODE.co ARCHITECTURE [-OPTION...]"
}

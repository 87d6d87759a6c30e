//! Compiles HIP C++ kernels for several AMD GPUs into one file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use hiprtc::Options;
use hiprtc::build::{Build, Choice};

/// Compile HIP C++ kernels for several AMD GPUs into one bundle, which a program can include.
#[derive(Debug, Parser)]
#[command(name = "hiprtc-compile", version, after_long_help = AFTER)]
struct Cli {
    /// The HIP C++ source
    source: PathBuf,

    /// Architectures to compile for, such as gfx90a,gfx942 or gfx90a:xnack-
    #[arg(short, long = "arch", value_name = "ARCH", value_delimiter = ',', required = true)]
    arch: Vec<String>,

    /// The bundle to write [default: SOURCE with the extension hipfb]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Also write the kernels' Rust declarations to this file, which includes the bundle
    #[arg(long, value_name = "FILE")]
    rust: Option<PathBuf>,

    /// Add a directory for headers; those in the source's own directory are found without it
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<String>,

    /// Define a macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,

    /// The Rust type of a C++ type, for --rust: Params=crate::Params
    #[arg(long, value_name = "C=RUST")]
    rust_type: Vec<String>,

    /// Which compiler to use
    #[arg(long, value_enum, default_value_t = Compiler::Any)]
    compiler: Compiler,

    /// Further options of clang, after --
    #[arg(last = true)]
    options: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Compiler {
    /// ROCm's clang if it is installed, otherwise HIPRTC
    Any,
    /// ROCm's clang: amdclang++ or clang++ in ROCM_PATH, HIP_PATH, /opt/rocm*, or amdclang++ on the PATH
    Clang,
    /// HIPRTC, the run-time compiler; `rocm-sdk install` installs it without root
    Hiprtc,
}

const AFTER: &str = "\
No GPU is necessary. The bundle has the format of `hipcc --genco`: hipModuleLoadData, hip::Module::load and
hiprtc::compile_or_bundle read it.

Examples:
  hiprtc-compile scale.hip --arch gfx90a,gfx942                  writes scale.hipfb
  hiprtc-compile scale.hip --arch gfx1100 -o out.hipfb -DTILE=16 -- -ffast-math
  rocm-sdk run 7.2 -- hiprtc-compile scale.hip --arch gfx90a     with the HIPRTC of `rocm-sdk install 7.2`

In a build script, use hiprtc::build instead: it runs again when a header changes, and a program then gets
functions with the kernels' signatures.

Exit codes:
  0  done
  1  failed; stderr states the cause
  2  the command line is wrong";

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ERROR: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<(), Box<dyn std::error::Error>> {
    let output = cli.output.clone().unwrap_or_else(|| cli.source.with_extension("hipfb"));
    if output == cli.source {
        return Err(format!("the output would replace the source {}: choose another with -o", output.display()).into());
    }
    let options = cli.define.iter().fold(Options::new(), |options, definition| options.raw(format!("-D{definition}")));
    let options = cli.include.iter().fold(options, |options, folder| options.include_dir(folder));
    let options = cli.options.iter().fold(options, Options::raw);
    let mut build = Build::new(&cli.source).archs(&cli.arch).options(options).compiler(match cli.compiler {
        Compiler::Any => Choice::Any,
        Compiler::Clang => Choice::Clang,
        Compiler::Hiprtc => Choice::Hiprtc,
    });
    for pair in &cli.rust_type {
        let (c, rust) = pair.split_once('=').ok_or_else(|| format!("--rust-type {pair}: expected C=RUST"))?;
        build = build.rust_type(c, rust);
    }
    // Declarations include the bundle by its file name if it lies in the same folder, otherwise by its whole path.
    let beside = cli.rust.as_deref().is_some_and(|rust| rust.parent() == output.parent());
    let name = match output.file_name() {
        Some(name) if beside || cli.rust.is_none() => PathBuf::from(name),
        _ => std::path::absolute(&output)?,
    };
    let made = build.make(&name.display().to_string(), &std::env::temp_dir())?;
    if !made.log.trim().is_empty() {
        eprintln!("{}", made.log.trim());
    }
    let write = |path: &PathBuf, bytes: &[u8]| {
        std::fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    write(&output, &made.bundle)?;
    println!("{}: {} bytes of code for {}, by {}", output.display(), made.bundle.len(), cli.arch.join(", "), made.by);
    if let Some(rust) = &cli.rust {
        write(rust, made.rust.as_bytes())?;
        made.left_out.iter().for_each(|reason| eprintln!("{}: no declaration for {reason}", rust.display()));
    }
    Ok(())
}

//! hipGRAPH's interface on NVIDIA's cuGraph: each algorithm of this crate, compared with the reference engine, and
//! timed.
//!
//! The program needs `libcugraph_c.so` of cuGraph 26.10 (the wheel `libcugraph-cu13`) with its dependencies, an NVIDIA
//! driver, and no Rust toolchain. The library allocates the memory: `hip` has no backend for NVIDIA.
//!
//! ```sh
//! cargo build --release -p hipgraph --example cugraph      # target/release/examples/cugraph
//! ./cugraph --library /path/to/libcugraph_c.so check       # compares; tables in Markdown
//! ./cugraph --library /path/to/libcugraph_c.so time        # times at 2^24 edges
//! ./cugraph --reference check --scales 10                  # the reference engine with itself: tests the program
//! ```
//!
//! `--skip "ECG;Leiden"` skips algorithms, such as one that ends the process; the name of each is printed to standard
//! error before it runs. `--scales ""` checks the published graphs only, `--no-published` the random ones only.

mod checks;
mod provider;
mod times;

use std::path::PathBuf;

type Failure = Box<dyn std::error::Error>;
type Result<T, E = Failure> = std::result::Result<T, E>;

/// The command line's settings.
struct Wanted {
    library: Option<PathBuf>,
    reference: bool,
    check: bool,
    time: bool,
    scales: Vec<u32>,
    skip: Vec<String>,
    published: bool,
}

fn wanted() -> Result<Wanted> {
    let mut wanted = Wanted {
        library: None,
        reference: false,
        check: false,
        time: false,
        scales: vec![10, 12, 14, 16, 18, 20],
        skip: Vec::new(),
        published: true,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--library" => wanted.library = Some(arguments.next().ok_or("--library needs a path")?.into()),
            "--reference" => wanted.reference = true,
            "--scales" => {
                let list = arguments.next().ok_or("--scales needs a list, such as 10,14")?;
                wanted.scales =
                    list.split(',').filter(|one| !one.is_empty()).map(str::parse).collect::<Result<_, _>>()?;
            }
            "--skip" => {
                let list = arguments.next().ok_or("--skip needs a list of algorithms, such as `ECG;Leiden`")?;
                wanted.skip = list.split(';').map(str::to_owned).collect();
            }
            "--no-published" => wanted.published = false,
            "check" => wanted.check = true,
            "time" => wanted.time = true,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    Ok(wanted)
}

fn main() -> Result<()> {
    let wanted = wanted()?;
    match &wanted.library {
        Some(path) => hipgraph::sys::set_provider(provider::open(path)?)?,
        None if wanted.reference => {
            hip::sim_if_no_gpu()?;
            hipgraph::use_reference()?;
        }
        None => {
            println!("usage: cugraph (--library libcugraph_c.so | --reference) [check] [time] [--scales 10,14]");
            return Ok(());
        }
    }
    println!("engine: {}\n", hipgraph::engine()?);
    let mut failed = 0;
    if wanted.check {
        failed = checks::all(&wanted.scales, wanted.published, wanted.skip)?;
    }
    if wanted.time {
        times::all()?;
    }
    if failed > 0 {
        return Err(format!("{failed} comparisons failed").into());
    }
    Ok(())
}

//! The number of instructions that the software GPU executes for the algorithms, in Rust and in HIP C++.

use std::fmt::Write as _;
use std::process::Command;

use hip::{Device, DeviceBuffer, LaunchConfig, Module, Stream};

use crate::kernels::algorithms as alg;

/// The algorithms, by the names of their kernels.
pub const ALGORITHMS: [&str; 7] = ["vector_add", "saxpy", "reduce", "matmul", "histogram", "scan", "nbody"];
/// The targets.
pub const TARGETS: [&str; 2] = ["gfx90a", "gfx942"];
/// The code of `algorithms.hip`, which `cargo xtask kernels` compiles with ROCm's HIPRTC.
const HIP: &[u8] = include_bytes!("../bundles/algorithms.hipfb");

/// One algorithm on one target: wave instructions in Rust and in HIP C++.
#[derive(Clone, Debug)]
pub struct Row {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The target.
    pub target: &'static str,
    /// In Rust.
    pub rust: u64,
    /// In HIP C++.
    pub hip: u64,
}

impl Row {
    /// The ratio of Rust's number to HIP C++'s.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.rust as f64 / self.hip as f64
    }
}

/// Runs this program again for each target and language, with the argument `run` and the language, and reads the
/// profiles.
///
/// # Errors
/// The output of a run that fails.
pub fn measure(arguments: &[&str]) -> Result<Vec<Row>, Box<dyn std::error::Error>> {
    let mut rows = Vec::new();
    for target in TARGETS {
        let mut counts = Vec::new();
        for language in ["rust", "hip"] {
            let profile =
                std::env::temp_dir().join(format!("hip-kernel-{}-{target}-{language}.txt", std::process::id()));
            let mut command = Command::new(std::env::current_exe()?);
            command.args(arguments).env("HIP_KERNEL_COMPARE", language).env("HIP_SIM_PROFILE", &profile);
            command.env("HIP_SIM_TARGET", target).env("HIP_RS_BACKEND", "sim").env("HIP_SIM_SCHEDULE", "in-order");
            let output = command.output()?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
            }
            let text = std::fs::read_to_string(&profile)?;
            std::fs::remove_file(&profile)?;
            counts.push(text);
        }
        for algorithm in ALGORITHMS {
            let count = |text: &str| {
                let mut lines = text.lines().skip_while(|line| *line != format!("kernel {algorithm}"));
                let line = lines.find_map(|line| line.trim().strip_prefix("instructions "));
                let number = line.and_then(|line| line.split(' ').next()?.parse().ok());
                number.ok_or_else(|| format!("no instructions of {algorithm} in\n{text}"))
            };
            rows.push(Row { algorithm, target, rust: count(&counts[0])?, hip: count(&counts[1])? });
        }
    }
    Ok(rows)
}

/// The committed page.
#[must_use]
pub fn page(rows: &[Row]) -> String {
    let mut page = String::from(
        "# Instructions in Rust and in HIP C++\n\n\
         Wave instructions that the software GPU executes for the same algorithm, written statement by statement in\n\
         [Rust](src/kernels/algorithms.rs) and in [HIP C++](src/algorithms.hip). The Rust kernels are launched by safe calls; panics report\n\
         their place. `cargo run -p hip-kernel-testing --bin compare -- --record` writes this page; a test fails if a ratio is above\n\
         its bound.\n\n\
         | algorithm | target | Rust | HIP C++ | ratio |\n|---|---|---:|---:|---:|\n",
    );
    for row in rows {
        let Row { algorithm, target, rust, hip } = row;
        // `write!` to a String does not fail.
        let _ = writeln!(page, "| `{algorithm}` | {target} | {rust} | {hip} | {:.2} |", row.ratio());
    }
    page + NOTES
}

const NOTES: &str = "\n`matmul` (128 by 128) is above 1.10: the Rust kernel checks the sizes of its matrices and of its grid before its loop reads without\n\
                     checks, and computes addresses with some instructions more. A wave executes 74 instructions more on gfx90a, of 474.\n";

/// Runs all algorithms once in a language, in a process that [`measure`] starts.
///
/// # Errors
/// Launch errors, and wrong results.
pub fn run(language: &str) -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::get(0)?;
    let stream = Stream::new(&device)?;
    let rust = language == "rust";
    let (code, module) = (crate::kernels_code().load(&device)?, Module::load(&device, HIP)?);
    let number = |i: usize| (i * 37 % 101) as f32 * 0.25 - 7.0;
    const N: usize = 1 << 16;
    let values: Vec<f32> = (0..N).map(number).collect();
    let a = DeviceBuffer::from_slice(&device, &values)?;
    let b = DeviceBuffer::from_slice(&device, &values)?;
    let mut c = DeviceBuffer::<f32>::zeroed(&device, N)?;
    let (all, few) = (LaunchConfig::for_elements(N, 256), LaunchConfig::new(32, 256));
    let n = N as u64;
    if rust {
        alg::VectorAdd::load(&code)?.launch(&stream, all, &a, &b, &mut c)?;
    } else {
        // SAFETY: the kernels of `algorithms.hip` read and write as many elements as they are told, here and below.
        unsafe { module.kernel("vector_add")?.launch(&stream, all, (&a, &b, &mut c, n))? };
    }
    let sums = c.to_vec()?;
    if rust {
        alg::Saxpy::load(&code)?.launch(&stream, few, 1.5, &a, &mut c)?;
    } else {
        // SAFETY: as above.
        unsafe { module.kernel("saxpy")?.launch(&stream, few, (1.5f32, &a, &mut c, n))? };
    }
    let mut total = DeviceBuffer::<f32>::zeroed(&device, 1)?;
    if rust {
        alg::Reduce::load(&code)?.launch(&stream, few, &a, &mut total)?;
    } else {
        // SAFETY: as above.
        unsafe { module.kernel("reduce")?.launch(&stream, few, (&a, n, &mut total))? };
    }
    let side = 128usize;
    let (ma, mb) = (a.slice(..side * side)?, b.slice(..side * side)?);
    let mut product = DeviceBuffer::<f32>::zeroed(&device, side * side)?;
    let tiles = LaunchConfig::new((8, 8), (16, 16));
    if rust {
        alg::Matmul::load(&code)?.launch(&stream, tiles, ma, mb, &mut product, side, side as u32)?;
    } else {
        // SAFETY: as above.
        unsafe { module.kernel("matmul")?.launch(&stream, tiles, (ma, mb, &mut product, side as u32))? };
    }
    let bytes: Vec<u8> = (0..N).map(|i| (i * i % 251) as u8).collect();
    let x = DeviceBuffer::from_slice(&device, &bytes)?;
    let mut counts = DeviceBuffer::<u32>::zeroed(&device, alg::BINS)?;
    if rust {
        alg::Histogram::load(&code)?.launch(&stream, few, &x, &mut counts)?;
    } else {
        // SAFETY: as above.
        unsafe { module.kernel("histogram")?.launch(&stream, few, (&x, n, &mut counts))? };
    }
    let numbers = DeviceBuffer::from_slice(&device, &(0..N as u32).map(|i| i * 13 % 29).collect::<Vec<_>>())?;
    let mut running = DeviceBuffer::<u32>::zeroed(&device, N)?;
    let mut blocks = DeviceBuffer::<u32>::zeroed(&device, N / 256)?;
    if rust {
        alg::Scan::load(&code)?.launch(&stream, all, &numbers, &mut running, &mut blocks)?;
    } else {
        // SAFETY: as above.
        unsafe { module.kernel("scan")?.launch(&stream, all, (&numbers, &mut running, n, &mut blocks))? };
    }
    let body = |i: usize| alg::Body { x: number(i), y: number(i * 3), z: number(i * 7 + 1), mass: 1.0 };
    let bodies = DeviceBuffer::from_slice(&device, &(0..512).map(body).collect::<Vec<_>>())?;
    let mut moved = DeviceBuffer::<alg::Body>::zeroed(&device, 512)?;
    if rust {
        alg::Nbody::load(&code)?.launch(&stream, LaunchConfig::new(2, 256), &bodies, &mut moved, 0.5)?;
    } else {
        // SAFETY: as above.
        unsafe {
            module.kernel("nbody")?.launch(&stream, LaunchConfig::new(2, 256), (&bodies, &mut moved, 512u64, 0.5f32))?
        };
    }
    let expect = |right: bool, what: &str| if right { Ok(()) } else { Err(format!("{language}: {what} is wrong")) };
    expect(sums.iter().zip(&values).all(|(sum, x)| *sum == x + x), "vector_add")?;
    expect((0..N).all(|i| c.len() == N && sums[i] == values[i] * 2.0), "saxpy")?;
    expect((total.to_vec()?[0] - values.iter().sum::<f32>()).abs() < 64.0, "reduce")?;
    expect(counts.to_vec()?.iter().sum::<u32>() == N as u32, "histogram")?;
    expect(blocks.to_vec()?.iter().sum::<u32>() == (0..N as u32).map(|i| i * 13 % 29).sum::<u32>(), "scan")?;
    let entry: f32 = (0..side).map(|k| values[k] * values[k * side]).sum();
    expect((product.to_vec()?[0] - entry).abs() < 1e-2, "matmul")?;
    expect(moved.to_vec()?.iter().all(|body| body.x.is_finite() && body.x != 0.0), "nbody")?;
    Ok(())
}

//! The software GPU compared with native Rust and with a lane-by-lane interpreter, in one run, with the targets that it
//! must meet: `cargo bench -p amdgpu-sim --bench targets`.
//!
//! All contenders alternate, so that other load on the machine affects them equally; the shortest time of each counts.
//! `cargo bench -p amdgpu-sim --bench targets -- --only vector_add sim 5` runs only that one 5 times, for a profiler.

mod native;
#[path = "../../tests/reference/mod.rs"]
mod reference;

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use amdgpu_sim::{AllocKind, CodeObject, Config, Dispatch, Gpu, Module};

const CODE: &[u8] = include_bytes!("../../tests/kernels/lanes.co");

/// Elements of the vectors: three of them fit the last-level cache of any server.
const ELEMENTS: usize = 1 << 18;
/// Rows and columns of the matrices.
const SIDE: usize = 256;
/// Rounds in which every contender has a turn.
const ROUNDS: usize = 60;
/// Rounds that include the lane-by-lane interpreter: it takes as long as all others together.
const SLOW_ROUNDS: usize = 5;
/// The maximum ratio of the scalar loop's time to the vectorised one's: the compiler's vectors have four lanes. A
/// larger ratio means that the time is not that of the loop, and is meaningless for the comparison.
const MOST_LANES: f64 = 6.0;
/// The required speed relative to that interpreter.
const AS_FAST: f64 = 20.0;

/// One kernel with its grid and its data.
struct Case {
    name: &'static str,
    blocks: [u32; 3],
    threads: [u32; 3],
    /// Contents of the buffers; the last one is the output.
    buffers: Vec<Vec<f32>>,
    /// Arguments before and after the buffers' addresses, as 32-bit words.
    before: Vec<u32>,
    after: Vec<u32>,
    native: fn(&mut [Vec<f32>], scalar: bool),
    /// The maximum time relative to scalar native Rust.
    target: f64,
}

fn cases() -> Vec<Case> {
    let ramp = |scale: f32| -> Vec<f32> { (0..ELEMENTS).map(|i| scale * i as f32).collect() };
    let matrix = || -> Vec<f32> { (0..SIDE * SIDE).map(|i| (i % 17) as f32 - 8.0).collect() };
    let (flat, n) = ([ELEMENTS as u32 / 256, 1, 1], ELEMENTS as u32);
    let tiles = SIDE as u32 / 16;
    vec![
        Case {
            name: "vector_add",
            blocks: flat,
            threads: [256, 1, 1],
            buffers: vec![ramp(1.0), ramp(0.5), ramp(0.0)],
            before: vec![],
            after: vec![n],
            native: |buffers, scalar| {
                let [a, b, c] = buffers else { return };
                let run = if scalar { native::vector_add::<true> } else { native::vector_add::<false> };
                run(a, b, c);
            },
            target: 8.0,
        },
        Case {
            name: "saxpy",
            blocks: flat,
            threads: [256, 1, 1],
            buffers: vec![ramp(1.0), ramp(0.0)],
            before: vec![0.5_f32.to_bits(), 0],
            after: vec![n],
            native: |buffers, scalar| {
                let [x, y] = buffers else { return };
                let run = if scalar { native::saxpy::<true> } else { native::saxpy::<false> };
                run(0.5, x, y);
            },
            target: 8.0,
        },
        Case {
            name: "matmul",
            blocks: [tiles, tiles, 1],
            threads: [16, 16, 1],
            buffers: vec![matrix(), matrix(), vec![0.0; SIDE * SIDE]],
            before: vec![],
            after: vec![SIDE as u32],
            native: |buffers, scalar| {
                let [a, b, c] = buffers else { return };
                let run = if scalar { native::matmul::<true> } else { native::matmul::<false> };
                run(SIDE, a, b, c);
            },
            target: 20.0,
        },
    ]
}

impl Case {
    /// The explicit arguments, with the buffers at `addresses`.
    fn arguments(&self, addresses: &[u64]) -> Vec<u8> {
        let words = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        let pointers: Vec<u8> = addresses.iter().flat_map(|a| a.to_le_bytes()).collect();
        [words(&self.before), pointers, words(&self.after)].concat()
    }
}

/// A GPU with a case's data in its memory.
struct Device {
    gpu: Gpu,
    module: Arc<Module>,
    arguments: Vec<u8>,
    output: u64,
}

impl Device {
    fn new(threads: usize, case: &Case) -> Self {
        let gpu = Gpu::new(Config { threads: Some(threads), ..Config::default() });
        let module = gpu.load(&CodeObject::parse(CODE).expect("a code object")).expect("loads");
        let addresses: Vec<u64> = case
            .buffers
            .iter()
            .map(|data| {
                let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
                let address = gpu.memory().alloc(bytes.len() as u64, 0, AllocKind::Device).expect("memory");
                gpu.memory().write(address, &bytes).expect("writes");
                address
            })
            .collect();
        let arguments = case.arguments(&addresses);
        Device { gpu, module, arguments, output: addresses[addresses.len() - 1] }
    }

    /// Runs the case. Returns the executed instructions, counted once per wave.
    fn run(&self, case: &Case) -> u64 {
        let kernel = self.module.kernel(case.name).expect("is there");
        let dispatch = Dispatch::of_blocks(case.blocks, case.threads).expect("fits");
        self.gpu.launch(&kernel, &self.arguments, &dispatch).expect("runs").instructions
    }

    fn output(&self, len: usize) -> Vec<f32> {
        let mut bytes = vec![0; 4 * len];
        self.gpu.memory().read(self.output, &mut bytes).expect("reads");
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }
}

/// The shortest time so far.
struct Best(Duration);

impl Best {
    fn new() -> Self {
        Best(Duration::MAX)
    }

    fn time<T>(&mut self, f: impl FnOnce() -> T) {
        let start = Instant::now();
        black_box(f());
        self.0 = self.0.min(start.elapsed());
    }

    fn seconds(&self) -> f64 {
        self.0.as_secs_f64()
    }
}

/// Measures a case, prints its lines, and returns whether it met its targets.
fn measure(case: &Case) -> bool {
    let devices = [Device::new(1, case), Device::new(2, case)];
    let mut buffers = case.buffers.clone();
    let instructions = devices[0].run(case);
    (case.native)(&mut buffers, true);
    let len = buffers[buffers.len() - 1].len();
    assert_eq!(devices[0].output(len), buffers[buffers.len() - 1], "{}: not what native Rust computes", case.name);

    let kernel = devices[0].module.kernel(case.name).expect("is there");
    let dispatch = Dispatch::of_blocks(case.blocks, case.threads).expect("fits");
    let program = reference::Program::of(&devices[0].gpu, &kernel);
    let mut memory = reference::Memory::default();
    let bytes = |data: &Vec<f32>| data.iter().flat_map(|x| x.to_le_bytes()).collect();
    let addresses: Vec<u64> = case.buffers.iter().map(|data| memory.add(bytes(data))).collect();
    let arguments = case.arguments(&addresses);

    let [mut one, mut two, mut scalar, mut vector, mut plain] = std::array::from_fn(|_| Best::new());
    for round in 0..ROUNDS {
        if round < SLOW_ROUNDS {
            plain.time(|| reference::run(&program, &kernel, &mut memory, &arguments, &dispatch));
        }
        one.time(|| devices[0].run(case));
        two.time(|| devices[1].run(case));
        native::clear_upper_halves();
        scalar.time(|| (case.native)(black_box(&mut buffers), true));
        vector.time(|| (case.native)(black_box(&mut buffers), false));
    }
    let [native, times] = [one.seconds() / scalar.seconds(), plain.seconds() / one.seconds()];
    let lanes = scalar.seconds() / vector.seconds();
    let credible = lanes <= MOST_LANES;
    let verdict = |met: bool| if met { "met" } else { "missed" };
    let met = [credible && native <= case.target, times >= AS_FAST];
    println!(
        "{}: {:.3} ms, {:.2e} lane-instructions/s on one thread, {:.2} x on two",
        case.name,
        1e3 * one.seconds(),
        64.0 * instructions as f64 / one.seconds(),
        one.seconds() / two.seconds(),
    );
    println!(
        "  {native:.1} times as long as scalar native Rust (target: at most {}, {}); {:.1} times as long as vectorised",
        case.target,
        verdict(met[0]),
        one.seconds() / vector.seconds(),
    );
    println!(
        "  {times:.1} times as fast as an interpreter of one lane at a time (target: at least {AS_FAST}, {})",
        verdict(met[1])
    );
    if !credible {
        println!(
            "  scalar native Rust took {lanes:.1} times as long as vectorised: something held it up, measure again"
        );
    }
    met == [true; 2]
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let cases = cases();
    if let [only, name, who, runs] = &words[..] {
        let case = cases.iter().find(|c| only == "--only" && c.name == name);
        let (Some(case), Ok(runs)) = (case, runs.parse::<u32>()) else {
            eprintln!(
                "--only NAME WHO RUNS, where NAME is vector_add, saxpy or matmul, WHO is sim, scalar or vectorised"
            );
            return ExitCode::FAILURE;
        };
        let device = Device::new(1, case);
        let mut buffers = case.buffers.clone();
        for _ in 0..runs {
            match &who[..] {
                "sim" => {
                    device.run(case);
                }
                scalar => (case.native)(black_box(&mut buffers), scalar == "scalar"),
            }
        }
        return ExitCode::SUCCESS;
    }
    let met = cases.iter().map(measure).fold(true, |all, met| all & met);
    if !met {
        println!("A target was missed: is the machine quiet?");
    }
    ExitCode::SUCCESS
}

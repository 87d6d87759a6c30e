//! Data-parallel training with several processes: each rank has a part of the data, and an all-reduce averages the
//! gradients of all ranks in each step. Rank 0 prints the loss and draws it, as `training.svg` or under the given name.
//!
//! The model is small, and its arithmetic runs on the host: the example shows how ranks start, share parameters and sum
//! gradients.
//!
//! ```sh
//! cargo build -p rccl --example training
//! rccl-run --sim 4 -- target/debug/examples/training    # or -n 4, on GPUs; or srun, mpirun
//! ```

use hip::DeviceBuffer;
use plotters::prelude::{BLUE, ChartBuilder, IntoDrawingArea as _, LineSeries, SVGBackend, WHITE};
use rccl::start::World;
use rccl::{Config, Op};

/// Number of units in the hidden layer.
const HIDDEN: usize = 16;
/// Weights and biases of a network with one input, one hidden layer and one output; followed by a place for the loss.
const PARAMETERS: usize = 3 * HIDDEN + 1;
/// Number of points per rank.
const POINTS: usize = 64;
const STEPS: usize = 300;

/// Returns the curve to learn.
fn curve(x: f32) -> f32 {
    (3.0 * x).sin() * 0.7 + 0.2 * x
}

/// Returns the network's output.
fn output(parameters: &[f32], x: f32) -> (f32, [f32; HIDDEN]) {
    let mut hidden = [0.0; HIDDEN];
    let mut sum = parameters[3 * HIDDEN];
    for (unit, hidden) in hidden.iter_mut().enumerate() {
        *hidden = (parameters[unit] * x + parameters[HIDDEN + unit]).tanh();
        sum += parameters[2 * HIDDEN + unit] * *hidden;
    }
    (sum, hidden)
}

/// Returns the gradients of the mean squared error over points, followed by the error.
fn gradients(parameters: &[f32], points: &[f32]) -> Vec<f32> {
    let mut sums = vec![0.0; PARAMETERS + 1];
    for &x in points {
        let (y, hidden) = output(parameters, x);
        let error = y - curve(x);
        let scale = 2.0 * error / points.len() as f32;
        for (unit, hidden) in hidden.into_iter().enumerate() {
            let through = scale * parameters[2 * HIDDEN + unit] * (1.0 - hidden * hidden);
            sums[unit] += through * x;
            sums[HIDDEN + unit] += through;
            sums[2 * HIDDEN + unit] += scale * hidden;
        }
        sums[3 * HIDDEN] += scale;
        sums[PARAMETERS] += error * error / points.len() as f32;
    }
    sums
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if hip::sim_if_no_gpu().is_err() || hip::backend()? == hip::Backend::Sim || !rccl::is_available() {
        println!("no GPU or no RCCL is available");
        return Ok(());
    }
    if std::env::var_os("RANK").is_none() && std::env::var_os("SLURM_PROCID").is_none() {
        println!("start several ranks: rccl-run -n 4 -- target/debug/examples/training");
        return Ok(());
    }
    let world = World::from_environment()?;
    let device = world.device()?;
    let communicator = world.communicator(&device, &Config::new().name("gradients"))?;
    let (rank, size) = (communicator.rank(), communicator.size());

    // Rank 0 chooses the parameters, and all ranks start with the same.
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 * 2.0 - 1.0
    };
    let start: Vec<f32> = (0..PARAMETERS).map(|_| if rank == 0 { random() } else { 0.0 }).collect();
    let mut shared = DeviceBuffer::from_slice(&device, &start)?;
    communicator.broadcast(&mut shared, 0)?;
    let mut parameters = shared.to_vec()?;

    // Each rank's own part of the data.
    let points: Vec<f32> =
        (0..POINTS).map(|point| ((point * size + rank) as f32 + 0.5) / (POINTS * size) as f32 * 4.0 - 2.0).collect();
    let mut momentum = vec![0.0; PARAMETERS];
    let mut losses = Vec::new();
    for step in 0..STEPS {
        let mut gradient = DeviceBuffer::from_slice(&device, &gradients(&parameters, &points))?;
        communicator.all_reduce_in_place(&mut gradient, Op::Average)?;
        communicator.synchronize()?; // with a deadline: a lost rank is an error, not a hang
        let gradient = gradient.to_vec()?;
        for ((parameter, momentum), gradient) in parameters.iter_mut().zip(&mut momentum).zip(&gradient) {
            *momentum = 0.9 * *momentum + gradient;
            *parameter -= 0.05 * *momentum;
        }
        losses.push(gradient[PARAMETERS]);
        if rank == 0 && (step % 50 == 0 || step + 1 == STEPS) {
            println!("step {step:>4}: loss {:.5}", gradient[PARAMETERS]);
        }
    }

    // All ranks have bitwise identical parameters.
    let mut checksum = DeviceBuffer::from_slice(&device, &parameters)?;
    communicator.broadcast(&mut checksum, 0)?;
    assert_eq!(checksum.to_vec()?, parameters);
    assert!(losses[STEPS - 1] < losses[0] / 10.0, "it learns: {} to {}", losses[0], losses[STEPS - 1]);
    if rank == 0 {
        let path = std::env::args().nth(1).unwrap_or_else(|| "training.svg".to_owned());
        plot(&losses, &path)?;
        println!("{size} ranks; the curve of the loss is in {path}");
    }
    world.barrier()?;
    communicator.finalize()?;
    Ok(())
}

fn plot(losses: &[f32], path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::new(path, (640, 400)).into_drawing_area();
    area.fill(&WHITE)?;
    let top = losses.iter().copied().fold(0.0, f32::max);
    let mut chart = ChartBuilder::on(&area).margin(10).build_cartesian_2d(0..losses.len(), 0.0..top)?;
    let line = losses.iter().copied().enumerate();
    chart.draw_series(LineSeries::new(line, &BLUE))?;
    area.present()?;
    Ok(())
}

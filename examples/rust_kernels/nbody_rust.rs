//! Bodies that attract each other, with a kernel in Rust that uses tiles in shared memory, against a CPU reference in
//! f64.
//!
//! `cargo run --release --example nbody_rust`

use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, numbers, open_device};
use rust_kernels::kernels::nbody::{BLOCK, Body, Nbody};

const N: usize = 4 * BLOCK;
const STEP: f32 = 0.01;
const SOFTENING: f32 = 0.05;

pub(crate) fn main() -> Result {
    const STEPS: usize = 4;
    let device = open_device()?;
    let nbody = Nbody::load(&rust_kernels::load(&device)?)?;
    let stream = Stream::new(&device)?;

    let mut random = numbers(9);
    let mut number = || random.next().unwrap_or_default();
    let bodies: Vec<Body> =
        (0..N).map(|_| Body { position: [0; 3].map(|_| number() * 2.0 - 1.0), mass: number() / N as f32 }).collect();
    let mut now = DeviceBuffer::from_slice(&device, &bodies)?;
    let mut next = DeviceBuffer::<Body>::zeroed(&device, N)?;
    let mut velocities = DeviceBuffer::<[f32; 4]>::zeroed(&device, N)?;
    for _ in 0..STEPS {
        let config = LaunchConfig::for_elements(N, BLOCK as u32);
        nbody.launch(&stream, config, &now, &mut next, &mut velocities, STEP, SOFTENING)?;
        std::mem::swap(&mut now, &mut next);
    }

    let got = now.to_vec()?;
    let want = reference(&bodies, STEPS);
    let error = |(got, want): (&Body, &[f64; 3])| (0..3).map(|k| (f64::from(got.position[k]) - want[k]).abs()).sum();
    let error = got.iter().zip(&want).map(error).fold(0.0, rocm_examples::larger);
    let moved = got.iter().zip(&bodies).filter(|(now, before)| now.position != before.position).count();
    check(error < 1e-5 && moved == N, format!("{moved} of {N} bodies moved; error {error:e}"))?;
    println!("nbody_rust: {N} bodies, {STEPS} steps; largest error of a position {error:.1e}");
    Ok(())
}

/// Returns the positions after some steps.
fn reference(bodies: &[Body], steps: usize) -> Vec<[f64; 3]> {
    let mut positions: Vec<[f64; 3]> = bodies.iter().map(|body| body.position.map(f64::from)).collect();
    let mut velocities = vec![[0.0f64; 3]; bodies.len()];
    for _ in 0..steps {
        for (position, velocity) in positions.iter().zip(&mut velocities) {
            for (other, body) in positions.iter().zip(bodies) {
                let d: [f64; 3] = std::array::from_fn(|k| other[k] - position[k]);
                let squared = d.iter().map(|d| d * d).sum::<f64>() + f64::from(SOFTENING);
                let scale = f64::from(body.mass) * squared.powf(-1.5) * f64::from(STEP);
                velocity.iter_mut().zip(d).for_each(|(velocity, d)| *velocity += d * scale);
            }
        }
        for (position, velocity) in positions.iter_mut().zip(&velocities) {
            position.iter_mut().zip(velocity).for_each(|(x, v)| *x += v * f64::from(STEP));
        }
    }
    positions
}

//! The Laplace equation on a square plate by Jacobi iteration: hundreds of launches, with the residual from time to
//! time.
//!
//! `cargo run --release --example jacobi`

use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, kernels, larger, open_device};

/// Points along an edge of the plate, including the border.
const N: usize = 64;
const SWEEPS: usize = 600;

fn main() -> Result {
    let device = open_device()?;
    let step = kernels!("jacobi").load(&device)?.kernel("jacobi_step")?;
    let stream = Stream::new(&device)?;

    // The upper edge is hot; the other three are cold.
    let mut plate = vec![0.0f64; N * N];
    plate[..N].fill(1.0);
    let mut u = DeviceBuffer::from_slice(&device, &plate)?;
    let mut next = DeviceBuffer::from_slice(&device, &plate)?;
    let mut change = DeviceBuffer::<f64>::zeroed(&device, N * N)?;

    let config = LaunchConfig::for_elements_2d((N, N), (16, 16));
    let mut residual = f64::INFINITY;
    for sweep in 1..=SWEEPS {
        // SAFETY: all three grids are N x N, and the kernel leaves the border alone.
        unsafe { step.launch(&stream, config, (&u, &mut next, &mut change, N as u32, N as u32))? };
        std::mem::swap(&mut u, &mut next);
        if sweep % 100 == 0 {
            let now = change.to_vec()?.iter().sum::<f64>().sqrt();
            println!("jacobi: sweep {sweep:4}, residual {now:.3e}");
            check(now < residual, "the residual grew")?;
            residual = now;
        }
    }

    let got = u.to_vec()?;
    let want = on_the_cpu(plate);
    let error = got.iter().zip(&want).map(|(got, want)| (got - want).abs()).fold(0.0, larger);
    check(error < 1e-12, format!("differs from the CPU's by {error:e}"))?;
    println!("jacobi: {SWEEPS} sweeps of a {N} x {N} plate, at most {error:.1e} from the CPU's");
    Ok(())
}

/// The same sweeps on the CPU.
fn on_the_cpu(mut u: Vec<f64>) -> Vec<f64> {
    let mut next = u.clone();
    for _ in 0..SWEEPS {
        for y in 1..N - 1 {
            for x in 1..N - 1 {
                let i = y * N + x;
                next[i] = 0.25 * (u[i - 1] + u[i + 1] + u[i - N] + u[i + N]);
            }
        }
        std::mem::swap(&mut u, &mut next);
    }
    u
}

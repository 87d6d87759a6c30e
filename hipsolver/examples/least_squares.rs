//! Fits a parabola to noisy points by least squares.
//!
//! `cargo run -p hipsolver --example least_squares`, with an AMD GPU and hipSOLVER; without:
//! `rocm-sdk install 7.2 --with hipsolver`, then `hip-sim run --rocm 7.2 -- target/debug/examples/least_squares`

use hip::{Device, Stream};
use hipsolver::{MatrixBuffer, Solver};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::get(0)?;
    let solver = Solver::new(&Stream::new(&device)?)?;
    let points = 40;
    let x = |index: usize| index as f64 / 10.0 - 2.0;
    // 3 - 2 x + x²/2, with some noise.
    let y = |index: usize| 3.0 - 2.0 * x(index) + 0.5 * x(index).powi(2) + 0.01 * ((index * 7919) as f64).sin();
    let columns: Vec<f64> = (0..3).flat_map(|power| (0..points).map(move |index| x(index).powi(power))).collect();
    let mut a = MatrixBuffer::from_columns(&device, &columns, points, 3)?;
    let mut b = MatrixBuffer::from_columns(&device, &(0..points).map(y).collect::<Vec<_>>(), points, 1)?;
    let mut fit = MatrixBuffer::zeroed(&device, 3, 1)?;
    solver.gels(&mut a, &mut b, &mut fit)?.wait()?;
    let fit = fit.to_vec()?;
    let close = fit.iter().zip([3.0, -2.0, 0.5]).all(|(found, want)| (found - want).abs() < 0.02);
    if !close {
        return Err(format!("the fit is {fit:?}").into());
    }
    println!("least_squares: {:.3} + {:.3} x + {:.3} x²", fit[0], fit[1], fit[2]);
    Ok(())
}

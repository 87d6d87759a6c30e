//! The vibrations of a string: eigenvalues and eigenvectors of its stiffness, drawn as text.
//!
//! `cargo run -p hipsolver --example eigenvalues`, with an AMD GPU and hipSOLVER; without:
//! `rocm-sdk install 7.2 --with hipsolver`, then `hip-sim run --rocm 7.2 -- target/debug/examples/eigenvalues`

use hip::{Device, DeviceBuffer, Stream};
use hipsolver::{MatrixBuffer, Solver};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::get(0)?;
    let solver = Solver::new(&Stream::new(&device)?)?;
    // Masses on a string: 2 on the diagonal, -1 beside it. Only the lower triangle is read.
    let n = 32_usize;
    let stiffness: Vec<f64> = (0..n * n)
        .map(|index| match (index % n).abs_diff(index / n) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        })
        .collect();
    let mut modes = MatrixBuffer::from_columns(&device, &stiffness, n, n)?;
    let mut values = DeviceBuffer::<f64>::zeroed(&device, n)?;
    solver.syevd(true, modes.view_mut().lower()?, &mut values)?.wait()?;
    let (values, modes) = (values.to_vec()?, modes.to_vec()?);
    for mode in 0..3 {
        let vector = &modes[mode * n..][..n];
        println!("mode {}, frequency {:.4}", mode + 1, values[mode].sqrt());
        let height = 3;
        for level in (-height..=height).rev() {
            let row = |x: &f64| if (x * 4.0 * f64::from(height)).round() as i32 == level { '*' } else { ' ' };
            println!("  |{}", vector.iter().map(row).collect::<String>());
        }
    }
    // What the textbook says: 2 sin(k π / (2 (n + 1))).
    let theory = |k: usize| 2.0 * (k as f64 * std::f64::consts::PI / (2.0 * (n + 1) as f64)).sin();
    let largest = (1..=n).map(|k| (values[k - 1].sqrt() - theory(k)).abs()).fold(0.0, f64::max);
    if largest.is_nan() || largest > 1e-10 {
        return Err(format!("a frequency is off by {largest:e}").into());
    }
    println!("eigenvalues: {n} frequencies, largest error {largest:.1e}");
    Ok(())
}

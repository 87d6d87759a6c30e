//! The vibrations of a string: the eigenvalues and eigenvectors of its stiffness matrix, drawn to `eigenvalues.svg` in
//! the current folder.
//!
//! `cargo run -p hipsolver --example eigenvalues`, with an AMD GPU and hipSOLVER; without:
//! `rocm-sdk install 7.2 --with hipsolver`, then `hip-sim run --rocm 7.2 -- target/debug/examples/eigenvalues`

use hip::{Device, DeviceBuffer, Stream};
use hipsolver::{MatrixBuffer, Solver};
use plotters::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::get(0)?;
    let solver = Solver::new(&Stream::new(&device)?)?;
    // Masses on a string: 2 on the diagonal, -1 next to it. Only the lower triangle is read.
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
    let file = "eigenvalues.svg";
    plot(file, &values, &modes)?;
    // The textbook's value: 2 sin(k π / (2 (n + 1))).
    let theory = |k: usize| 2.0 * (k as f64 * std::f64::consts::PI / (2.0 * (n + 1) as f64)).sin();
    let largest = (1..=n).map(|k| (values[k - 1].sqrt() - theory(k)).abs()).fold(0.0, f64::max);
    if largest.is_nan() || largest > 1e-10 {
        return Err(format!("a frequency is off by {largest:e}").into());
    }
    println!("eigenvalues: {n} frequencies, largest error {largest:.1e}; the first modes are drawn in {file}");
    Ok(())
}

/// Draws the modes of the lowest frequencies.
fn plot(file: &str, values: &[f64], modes: &[f64]) -> Result<(), Box<dyn std::error::Error>> {
    let n = values.len();
    let area = SVGBackend::new(file, (800, 480)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("The first vibrations of a string", ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(40)
        .build_cartesian_2d(0..n + 1, -0.3..0.3)?;
    chart.configure_mesh().x_desc("mass").y_desc("displacement").draw()?;
    for (mode, color) in [RED, GREEN, BLUE].into_iter().enumerate() {
        let inner = modes[mode * n..][..n].iter().enumerate().map(|(at, &x)| (at + 1, x));
        // The ends of the string are fixed.
        let points = std::iter::once((0, 0.0)).chain(inner).chain([(n + 1, 0.0)]);
        chart
            .draw_series(LineSeries::new(points, &color))?
            .label(format!("mode {}, frequency {:.4}", mode + 1, values[mode].sqrt()))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color));
    }
    chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw()?;
    area.present()?;
    Ok(())
}

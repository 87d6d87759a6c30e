//! Estimates π by counting random points in a quarter circle, with pseudo-random and quasi-random points. Draws the
//! convergence of both to `monte_carlo_pi.svg` in the current folder.
//!
//! `cargo run -p hiprand --example monte_carlo_pi`, with an AMD GPU and hipRAND; without:
//! `rocm-sdk install 7.2 --with hiprand`, then `hip-sim run --rocm 7.2 -- target/debug/examples/monte_carlo_pi`

use std::f64::consts::PI;

use hip::{Device, DeviceBuffer, Stream};
use hiprand::{Generator, Pseudo, Quasi};
use plotters::prelude::*;

/// Number of points of each kind.
const POINTS: usize = 1 << 15;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::get(0)?;
    let stream = Stream::new(&device)?;
    let mut coordinates = DeviceBuffer::<f32>::zeroed(&device, 2 * POINTS)?;

    let mut pseudo = Generator::new(&stream, Pseudo::Philox4x32_10)?;
    pseudo.set_seed(2026)?;
    pseudo.uniform(&mut coordinates)?; // all x, then all y
    let by_chance = errors(&coordinates.to_vec()?);

    let mut quasi = Generator::new(&stream, Quasi::Sobol32)?;
    quasi.set_dimensions(2)?;
    quasi.uniform(&mut coordinates)?; // likewise
    let evenly = errors(&coordinates.to_vec()?);

    let file = "monte_carlo_pi.svg";
    plot(file, &by_chance, &evenly)?;
    let (chance, even) = (by_chance[by_chance.len() - 1].1, evenly[evenly.len() - 1].1);
    // Five standard deviations for random points, and far less for points that fill the square evenly.
    if !(chance < 5.0 * 1.64 / (POINTS as f64).sqrt() && even < 50.0 / POINTS as f64) {
        return Err(format!("π is off by {chance:e} and {even:e}").into());
    }
    println!("monte_carlo_pi: {POINTS} points; off by {chance:.1e} by chance, {even:.1e} evenly; drawn in {file}");
    Ok(())
}

/// Returns the error of the estimate of π after 2, 4, 8, ... points.
fn errors(coordinates: &[f32]) -> Vec<(f64, f64)> {
    let (x, y) = coordinates.split_at(POINTS);
    let mut inside = 0_u32;
    let mut found = Vec::new();
    for (at, (x, y)) in x.iter().zip(y).enumerate() {
        inside += u32::from(f64::from(*x).hypot(f64::from(*y)) <= 1.0);
        let points = at + 1;
        if points.is_power_of_two() && points > 1 {
            found.push((points as f64, (4.0 * f64::from(inside) / points as f64 - PI).abs()));
        }
    }
    found
}

fn plot(file: &str, by_chance: &[(f64, f64)], evenly: &[(f64, f64)]) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::new(file, (800, 480)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("π by counting points", ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(50)
        .build_cartesian_2d((2.0..POINTS as f64).log_scale(), (1e-5..2.0).log_scale())?;
    chart.configure_mesh().x_desc("points").y_desc("error").draw()?;
    let theory = by_chance.iter().map(|&(n, _)| (n, 1.64 / n.sqrt()));
    for (name, color, points) in [
        ("pseudo-random (Philox)", RED, by_chance.to_vec()),
        ("quasi-random (Sobol)", BLUE, evenly.to_vec()),
        ("expected by chance", BLACK, theory.collect()),
    ] {
        // An error of 0 is off the scale.
        let points = points.into_iter().map(|(n, error)| (n, error.max(1e-5)));
        chart
            .draw_series(LineSeries::new(points, &color))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color));
    }
    chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw()?;
    area.present()?;
    Ok(())
}

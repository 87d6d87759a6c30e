//! Heat in a plate: conjugate gradients with ILU(0) on a Laplacian. The residual is drawn to `conjugate_gradient.svg`
//! in the current folder.
//!
//! `cargo run -p hipsparse --example conjugate_gradient`, with an AMD GPU and hipSPARSE; without:
//! `rocm-sdk install 7.2 --with hipsparse`, then `hip-sim run --rocm 7.2 -- target/debug/examples/conjugate_gradient`

use hip::{Device, DeviceBuffer, Stream};
use hipsparse::{Base, Csr, Sparse};
use plotters::prelude::*;

/// Points of the plate in each direction.
const SIDE: usize = 16;
/// The norm of the residual to reach, relative to the right-hand side.
const GOAL: f64 = 1e-10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::get(0)?;
    let sparse = Sparse::new(&Stream::new(&device)?)?;
    let a = laplacian(&device)?;
    // The plate is heated everywhere. For brevity, the vectors are on the host and only the matrices on the device.
    let b = vec![1.0; a.rows()];
    let plain = solve(&sparse, &a, &b, |r| Ok(r.to_vec()))?;

    let mut factors = a.try_clone()?;
    let factors = sparse.ilu0(&mut factors)?.factorize()?;
    let (mut lower, mut upper) = (sparse.spsv(factors.lower()?)?, sparse.spsv(factors.upper()?)?);
    let mut middle = DeviceBuffer::<f64>::zeroed(&device, a.rows())?;
    let mut out = DeviceBuffer::<f64>::zeroed(&device, a.rows())?;
    let preconditioned = solve(&sparse, &a, &b, |r| {
        lower.solve(1.0, &DeviceBuffer::from_slice(&device, r)?, &mut middle)?;
        upper.solve(1.0, &middle, &mut out)?;
        Ok(out.to_vec()?)
    })?;

    let file = "conjugate_gradient.svg";
    plot(file, &plain, &preconditioned)?;
    if preconditioned.len() >= plain.len() {
        return Err(format!("{} steps with ILU(0), {} without", preconditioned.len(), plain.len()).into());
    }
    let (with, without) = (preconditioned.len(), plain.len());
    println!("conjugate_gradient: {with} steps with ILU(0), {without} without; the residuals are drawn in {file}");
    Ok(())
}

/// Returns the five-point stencil: 4 on the diagonal, -1 for each neighbour.
fn laplacian(device: &Device) -> hipsparse::Result<Csr<f64>> {
    let (mut offsets, mut cols, mut values) = (vec![0], Vec::new(), Vec::new());
    for at in 0..SIDE * SIDE {
        let (x, y) = (at % SIDE, at / SIDE);
        let neighbours = [
            (y > 0).then(|| (at - SIDE, -1.0)),
            (x > 0).then(|| (at - 1, -1.0)),
            Some((at, 4.0)),
            (x + 1 < SIDE).then(|| (at + 1, -1.0)),
            (y + 1 < SIDE).then(|| (at + SIDE, -1.0)),
        ];
        for (col, value) in neighbours.into_iter().flatten() {
            cols.push(col as i32);
            values.push(value);
        }
        offsets.push(cols.len() as i32);
    }
    Csr::from_host(device, (SIDE * SIDE, SIDE * SIDE), Base::Zero, &offsets, &cols, &values)
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Solves A x = b, checks x, and returns the norm of the residual relative to that of b, before each step.
fn solve(
    sparse: &Sparse,
    a: &Csr<f64>,
    b: &[f64],
    mut precondition: impl FnMut(&[f64]) -> hipsparse::Result<Vec<f64>>,
) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let device = sparse.stream().device();
    let mut product = DeviceBuffer::<f64>::zeroed(&device, b.len())?;
    let mut plan = sparse.spmv_plan(a)?;
    let mut times_a = |p: &[f64]| -> hipsparse::Result<Vec<f64>> {
        plan.run(1.0, &DeviceBuffer::from_slice(&device, p)?, 0.0, &mut product)?;
        Ok(product.to_vec()?)
    };
    let norm = dot(b, b).sqrt();
    let (mut x, mut r) = (vec![0.0; b.len()], b.to_vec());
    let mut z = precondition(&r)?;
    let mut p = z.clone();
    let mut residuals = vec![1.0];
    while residuals[residuals.len() - 1] > GOAL {
        if residuals.len() > 10 * SIDE {
            return Err(format!("no solution in {} steps", residuals.len()).into());
        }
        let q = times_a(&p)?;
        let before = dot(&r, &z);
        let step = before / dot(&p, &q);
        x.iter_mut().zip(&p).for_each(|(x, p)| *x += step * p);
        r.iter_mut().zip(&q).for_each(|(r, q)| *r -= step * q);
        z = precondition(&r)?;
        let turn = dot(&r, &z) / before;
        p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + turn * *p);
        residuals.push(dot(&r, &r).sqrt() / norm);
    }
    // The residual of the recurrence matches the true one.
    let error: Vec<f64> = times_a(&x)?.iter().zip(b).map(|(product, b)| product - b).collect();
    let found = dot(&error, &error).sqrt() / norm;
    if found.is_nan() || found > 10.0 * GOAL {
        return Err(format!("the residual is {found:e}").into());
    }
    Ok(residuals)
}

fn plot(file: &str, plain: &[f64], preconditioned: &[f64]) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::new(file, (800, 480)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("Conjugate gradients on a Laplacian", ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(70)
        .build_cartesian_2d(0..plain.len(), (GOAL / 10.0..10.0).log_scale())?;
    chart.configure_mesh().x_desc("step").y_desc("residual").y_label_formatter(&|y| format!("{y:.0e}")).draw()?;
    for (residuals, color, name) in [(plain, RED, "plain"), (preconditioned, BLUE, "with ILU(0)")] {
        chart
            .draw_series(LineSeries::new(residuals.iter().copied().enumerate(), &color))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color));
    }
    chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw()?;
    area.present()?;
    Ok(())
}

//! Steps of training a small network: y = W2 GELU(W1 x + b1), with bias, activation and their gradients as epilogues of
//! the products.
//!
//! `cargo run -p hipblaslt --example training_step`, with an AMD GPU and hipBLASLt; without:
//! `rocm-sdk install 7.2 --with hipblaslt`, then `hip-sim run --rocm 7.2 -- target/debug/examples/training_step`

use half::f16;
use hip::{Device, DeviceBuffer, Stream};
use hipblaslt::{BlasLt, Epilogue, Matmul, MatrixBuffer};

const INPUTS: usize = 8;
const HIDDEN: usize = 16;
const OUTPUTS: usize = 8;
const SAMPLES: usize = 32;
const RATE: f32 = 0.002;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::get(0)?;
    let lt = BlasLt::new(&Stream::new(&device)?)?;
    let numbers = |len: usize, seed: usize, scale: f32| -> Vec<f16> {
        (0..len).map(|index| f16::from_f32(scale * (((index + seed) * 7919 % 101) as f32 / 50.0 - 1.0))).collect()
    };
    let matrix =
        |rows, cols, seed, scale| MatrixBuffer::from_columns(&device, &numbers(rows * cols, seed, scale), rows, cols);
    let x = matrix(INPUTS, SAMPLES, 1, 1.0)?;
    let target = numbers(OUTPUTS * SAMPLES, 5, 0.5);
    let (mut w1, mut w2) = (matrix(HIDDEN, INPUTS, 2, 0.5)?, matrix(OUTPUTS, HIDDEN, 3, 0.5)?);
    let mut b1 = DeviceBuffer::from_slice(&device, &numbers(HIDDEN, 4, 0.1))?;
    let (mut h, mut before) = (matrix(HIDDEN, SAMPLES, 0, 0.0)?, matrix(HIDDEN, SAMPLES, 0, 0.0)?);
    let (mut y, mut error) = (matrix(OUTPUTS, SAMPLES, 0, 0.0)?, matrix(OUTPUTS, SAMPLES, 0, 0.0)?);
    let mut h_gradient = matrix(HIDDEN, SAMPLES, 0, 0.0)?;
    let mut b1_gradient = DeviceBuffer::<f16>::zeroed(&device, HIDDEN)?;
    let mut losses = Vec::new();
    for _ in 0..5 {
        // Forward: h = GELU(W1 x + b1), y = W2 h. W1 x + b1 is kept.
        let forward = Epilogue::GeluBiasAux(b1.as_slice(), before.view_mut());
        lt.matmul(Matmul { epilogue: forward, ..Matmul::default() }, 1.0, &w1, &x, 0.0, &mut h)?;
        lt.matmul(Matmul::default(), 1.0, &w2, &h, 0.0, &mut y)?;
        // The error is computed on the host; a real program would use a kernel.
        let difference: Vec<f32> = y.to_vec()?.iter().zip(&target).map(|(y, t)| y.to_f32() - t.to_f32()).collect();
        losses.push(difference.iter().map(|e| e * e).sum::<f32>() / SAMPLES as f32);
        error.buffer_mut().copy_from_slice(&difference.iter().map(|&e| f16::from_f32(e)).collect::<Vec<_>>())?;
        // Backward: the gradient of W1 x + b1 and the sums of its rows, in one call.
        let backward = Epilogue::GeluBiasGradient(before.view(), b1_gradient.as_slice_mut());
        lt.matmul(Matmul { epilogue: backward, ..Matmul::default() }, 1.0, w2.t(), &error, 0.0, &mut h_gradient)?;
        // The step: W ← W − rate · gradient, with α and β.
        lt.matmul(Matmul::default(), -RATE, &error, h.t(), 1.0, &mut w2)?;
        lt.matmul(Matmul::default(), -RATE, &h_gradient, x.t(), 1.0, &mut w1)?;
        let moved = b1
            .to_vec()?
            .iter()
            .zip(b1_gradient.to_vec()?)
            .map(|(b, g)| f16::from_f32(b.to_f32() - RATE * g.to_f32()))
            .collect::<Vec<_>>();
        b1.copy_from_slice(&moved)?;
    }
    if !losses.windows(2).all(|two| two[1] < two[0]) {
        return Err(format!("the loss does not fall: {losses:?}").into());
    }
    println!("training_step: loss {:.4} -> {:.4} in {} steps", losses[0], losses[4], losses.len());
    Ok(())
}

//! Convolutions, pools and their preparation kernels. Shapes are batch, channels, and one or two sizes.

use super::Outcome;
use super::types::{Type, sizes};
use crate::device::{Argument, Buffer, Module, args};

const BATCH: usize = 2;
/// Channels that go in and come out.
const IN: usize = 2;
const OUT: usize = 3;
/// Sizes of the input, and of the kernel. Convolutions call the second one the width, pools the first.
const W: usize = 7;
const H: usize = 6;
const K: usize = 3;
const STRIDE: usize = 2;
const PADDING: usize = 1;

pub(super) fn check(module: &Module, name: &str) -> Option<Outcome> {
    let (op, kind) = Type::of(name)?;
    match op {
        "conv1d" => Some(convolve(module, name, kind, false)),
        "conv2d" => Some(convolve(module, name, kind, true)),
        "conv_transpose1d" => Some(transposed(module, name, kind, false)),
        "conv_transpose2d" => Some(transposed(module, name, kind, true)),
        "avg_pool2d" | "max_pool2d" => Some(pool(module, name, kind, op == "avg_pool2d")),
        "upsample_nearest2d" => Some(nearest(module, name, kind)),
        "upsample_bilinear2d" => Some(bilinear(module, name, kind)),
        "im2col1d" => Some(columns_1d(module, name, kind)),
        "im2col" => Some(columns_2d(module, name, kind)),
        "col2im1d" => Some(from_columns(module, name, kind)),
        _ => None,
    }
}

/// Numbers whose sums of products no type has not.
fn numbers(kind: Type, count: usize) -> Vec<f64> {
    if kind.is_float() { kind.numbers(count) } else { (0..count).map(|at| (at * 7 % 3) as f64).collect() }
}

/// Dimensions and strides of a contiguous tensor.
fn layout(dims: &[usize]) -> Vec<u64> {
    let strides = (0..dims.len()).map(|at| dims[at + 1..].iter().product::<usize>());
    dims.iter().copied().chain(strides).map(|size| size as u64).collect()
}

/// How many windows there are over a size.
fn windows(size: usize, padding: usize) -> usize {
    (size + 2 * padding - K) / STRIDE + 1
}

fn run(module: &Module, name: &str, threads: usize, arguments: &mut [Argument]) {
    module.run(name, threads.div_ceil(64) as u32, 64, arguments);
}

/// Steps that sums of products may lose, by their order.
fn steps(kind: Type) -> f64 {
    if kind.is_float() { 8.0 } else { 0.0 }
}

/// Returns, for each input element, the output elements that it contributes to, with the position in the kernel, along
/// one size.
fn pairs(size: usize, out: usize) -> Vec<(usize, usize, usize)> {
    let all = (0..out).flat_map(|to| (0..K).map(move |k| (to, k)));
    all.filter_map(|(to, k)| Some(((to * STRIDE + k).checked_sub(PADDING)?, to, k)))
        .filter(|pair| pair.0 < size)
        .collect()
}

fn convolve(module: &Module, name: &str, kind: Type, is_2d: bool) -> Outcome {
    let (h, kh) = if is_2d { (H, K) } else { (1, 1) };
    let (w_out, h_out) = (windows(W, PADDING), if is_2d { windows(H, PADDING) } else { 1 });
    let (x, k) = (numbers(kind, BATCH * IN * W * h), numbers(kind, OUT * IN * K * kh));
    let count = BATCH * OUT * w_out * h_out;
    let (input, kernel, output) = (kind.buffer(&x), kind.buffer(&k), kind.zeros(count));
    let (numel, w, stride, padding) = (x.len() as u64, w_out as u64, STRIDE as u64, PADDING as u64);
    if is_2d {
        let info = sizes(&[layout(&[BATCH, IN, W, H]), layout(&[OUT, IN, K, K])].concat());
        run(
            module,
            name,
            count,
            args![numel, h_out as u64, w, stride, padding, 1_u64, &info, &input, &kernel, &output],
        );
    } else {
        let info = sizes(&[layout(&[BATCH, IN, W]), layout(&[OUT, IN, K])].concat());
        run(module, name, count, args![numel, w, stride, padding, 1_u64, &info, &input, &kernel, &output]);
    }
    let along_h = if is_2d { pairs(H, h_out) } else { vec![(0, 0, 0)] };
    let mut expected = vec![0.0; count];
    for (b, o, c) in triples(BATCH, OUT, IN) {
        for (x_w, y_w, k_w) in pairs(W, w_out) {
            for &(x_h, y_h, k_h) in &along_h {
                let from = ((b * IN + c) * W + x_w) * h + x_h;
                let by = ((o * IN + c) * K + k_w) * kh + k_h;
                expected[((b * OUT + o) * w_out + y_w) * h_out + y_h] += x[from] * k[by];
            }
        }
    }
    kind.compare(&output, &expected, steps(kind))
}

/// A transposed convolution: the roles of its input and output are exchanged.
fn transposed(module: &Module, name: &str, kind: Type, is_2d: bool) -> Outcome {
    let (h, kh) = if is_2d { (H, K) } else { (1, 1) };
    let size = |of: usize| (of - 1) * STRIDE + K - 2 * PADDING;
    let (w_out, h_out) = (size(W), if is_2d { size(H) } else { 1 });
    let (x, k) = (numbers(kind, BATCH * IN * W * h), numbers(kind, IN * OUT * K * kh));
    let count = BATCH * OUT * w_out * h_out;
    let (input, kernel, output) = (kind.buffer(&x), kind.buffer(&k), kind.zeros(count));
    let (numel, w, stride, padding) = (x.len() as u64, w_out as u64, STRIDE as u64, PADDING as u64);
    if is_2d {
        let info = sizes(&[layout(&[BATCH, IN, W, H]), layout(&[IN, OUT, K, K])].concat());
        let h = h_out as u64;
        run(module, name, count, args![numel, h, w, stride, padding, 0_u64, 1_u64, &info, &input, &kernel, &output]);
    } else {
        let info = sizes(&[layout(&[BATCH, IN, W]), layout(&[IN, OUT, K])].concat());
        run(module, name, count, args![numel, w, stride, padding, 0_u64, 1_u64, &info, &input, &kernel, &output]);
    }
    let along_h = if is_2d { pairs(h_out, H) } else { vec![(0, 0, 0)] };
    let mut expected = vec![0.0; count];
    for (b, o, c) in triples(BATCH, OUT, IN) {
        for (y_w, x_w, k_w) in pairs(w_out, W) {
            for &(y_h, x_h, k_h) in &along_h {
                let from = ((b * IN + c) * W + x_w) * h + x_h;
                let by = ((c * OUT + o) * K + k_w) * kh + k_h;
                expected[((b * OUT + o) * w_out + y_w) * h_out + y_h] += x[from] * k[by];
            }
        }
    }
    kind.compare(&output, &expected, steps(kind))
}

fn triples(a: usize, b: usize, c: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a * b * c).map(move |at| (at / (b * c), at / c % b, at % c))
}

/// Images of the batch, each channel one.
fn images(kind: Type) -> (Vec<f64>, Buffer, Buffer) {
    let x = numbers(kind, BATCH * IN * W * H);
    let input = kind.buffer(&x);
    (x, input, sizes(&layout(&[BATCH, IN, W, H])))
}

fn pool(module: &Module, name: &str, kind: Type, is_average: bool) -> Outcome {
    let (x, input, info) = images(kind);
    let (w_out, h_out) = (windows(W, 0), windows(H, 0));
    let count = BATCH * IN * w_out * h_out;
    let output = kind.zeros(count);
    let (k, stride) = (K as u64, STRIDE as u64);
    run(module, name, count, args![x.len() as u64, k, k, stride, stride, &info, &input, &output]);
    let of = |at: usize| {
        let (image, w, h) = (at / (w_out * h_out), at / h_out % w_out, at % h_out);
        let window = (0..K * K).map(|k| x[(image * W + w * STRIDE + k / K) * H + h * STRIDE + k % K]);
        if is_average { window.sum::<f64>() / (K * K) as f64 } else { window.fold(f64::NEG_INFINITY, f64::max) }
    };
    let expected: Vec<f64> =
        (0..count).map(of).map(|value| if kind.is_float() { value } else { value.trunc() }).collect();
    // Of integers the sum is multiplied by a rounded reciprocal: one is lost where the average is an integer.
    if is_average && !kind.is_float() {
        let found = kind.read(&output, count);
        let bad = found.iter().zip((0..count).map(of)).find(|(found, exact)| (**found - exact).abs() > 1.0);
        return bad.map_or(Ok(()), |(found, exact)| Err(format!("{found} for {exact}")));
    }
    // The reciprocal is an f32, of doubles too.
    let steps = if kind == Type::F64 { 2_f64.powi(30) } else { 4.0 };
    kind.compare(&output, &expected, if is_average { steps } else { 0.0 })
}

fn nearest(module: &Module, name: &str, kind: Type) -> Outcome {
    let (x, input, info) = images(kind);
    let (w_out, h_out) = (2 * W, 9);
    let count = BATCH * IN * w_out * h_out;
    let output = kind.zeros(count);
    let (w_scale, h_scale) = (W as f64 / w_out as f64, H as f64 / h_out as f64);
    run(module, name, count, args![w_out as u64, h_out as u64, w_scale, h_scale, &info, &input, &output]);
    let of = |at: usize| {
        let (image, w, h) = (at / (w_out * h_out), at / h_out % w_out, at % h_out);
        x[(image * W + w * W / w_out) * H + h * H / h_out]
    };
    kind.compare(&output, &(0..count).map(of).collect::<Vec<f64>>(), 0.0)
}

/// Twice as large: weights are quarters, and results exact.
fn bilinear(module: &Module, name: &str, kind: Type) -> Outcome {
    let (x, input, info) = images(kind);
    let (rows, columns) = (2 * W, 2 * H);
    let count = BATCH * IN * rows * columns;
    let output = kind.zeros(count);
    let (width, height, no, none) = (columns as u64, rows as u64, 0_u8, 0_f64);
    run(module, name, count, args![width, height, no, no, none, no, none, &info, &input, &output]);
    let between = |at: usize, size: usize| {
        let place = (0.5 * (at as f64 + 0.5) - 0.5).max(0.0);
        (place as usize, (place as usize + 1).min(size - 1), place.fract())
    };
    let of = |at: usize| {
        let (image, (r0, r1, down)) = (at / (rows * columns), between(at / columns % rows, W));
        let (c0, c1, right) = between(at % columns, H);
        let value = |row: usize, column: usize| x[(image * W + row) * H + column];
        let along = |row: usize| value(row, c0) * (1.0 - right) + value(row, c1) * right;
        along(r0) * (1.0 - down) + along(r1) * down
    };
    kind.compare(&output, &(0..count).map(of).collect::<Vec<f64>>(), 0.0)
}

fn columns_1d(module: &Module, name: &str, kind: Type) -> Outcome {
    let x = numbers(kind, BATCH * IN * W);
    let (out, info, input) = (windows(W, PADDING), sizes(&layout(&[BATCH, IN, W])), kind.buffer(&x));
    let count = BATCH * out * IN * K;
    let output = kind.zeros(count);
    let (threads, k, stride, padding) = (count / K, K as u64, STRIDE as u64, PADDING as u64);
    run(module, name, threads, args![threads as u64, out as u64, k, stride, padding, 1_u64, &info, &input, &output]);
    let mut expected = vec![0.0; count];
    for (b, c, _) in triples(BATCH, IN, 1) {
        for (from, to, k) in pairs(W, out) {
            expected[((b * out + to) * IN + c) * K + k] = x[(b * IN + c) * W + from];
        }
    }
    kind.compare(&output, &expected, 0.0)
}

fn columns_2d(module: &Module, name: &str, kind: Type) -> Outcome {
    let (x, input, info) = images(kind);
    let (w_out, h_out) = (windows(W, PADDING), windows(H, PADDING));
    let count = BATCH * w_out * h_out * IN * K * K;
    let output = kind.zeros(count);
    let (k, stride, padding, one) = (K as u64, STRIDE as u64, PADDING as u64, 1_u64);
    let (numel, w, h) = (count as u64, w_out as u64, h_out as u64);
    run(module, name, count, args![numel, w, h, k, k, stride, padding, one, &info, &input, &output]);
    let mut expected = vec![0.0; count];
    for (b, c, _) in triples(BATCH, IN, 1) {
        for (x_w, y_w, k_w) in pairs(W, w_out) {
            for (x_h, y_h, k_h) in pairs(H, h_out) {
                let to = ((((b * w_out + y_w) * h_out + y_h) * IN + c) * K + k_w) * K + k_h;
                expected[to] = x[((b * IN + c) * W + x_w) * H + x_h];
            }
        }
    }
    kind.compare(&output, &expected, 0.0)
}

fn from_columns(module: &Module, name: &str, kind: Type) -> Outcome {
    let out = (W - 1) * STRIDE + K;
    let x = numbers(kind, BATCH * W * OUT * K);
    let (input, count) = (kind.buffer(&x), BATCH * OUT * out);
    let output = kind.zeros(count);
    let [numel, to, from, channels, k, stride] = [count, out, W, OUT, K, STRIDE].map(|size| size as u64);
    run(module, name, count, args![numel, to, from, channels, k, stride, &input, &output]);
    let mut expected = vec![0.0; count];
    for (at, value) in x.iter().enumerate() {
        let (b, place, c, k) = (at / (K * OUT * W), at / (K * OUT) % W, at / K % OUT, at % K);
        expected[(b * OUT + c) * out + place * STRIDE + k] += value;
    }
    kind.compare(&output, &expected, steps(kind))
}

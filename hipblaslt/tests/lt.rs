//! hipBLASLt on a device with ROCm's own libraries, against a reference on the host.

use half::{bf16, f16};
use hip::interop::Element;
use hip::memory::{F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz};
use hip::{Device, DeviceBuffer, Stream};
use hipblaslt::{BlasLt, Epilogue, Error, LtTypes, Matmul, MatrixBuffer, MatrixMut, MatrixRef};
use linalg_testing::{Host, Kind, Number, Rng, TestMatrix, skipped};

fn lt() -> Option<(Device, BlasLt)> {
    let device = linalg_testing::device()?;
    if !hipblaslt::is_available() {
        skipped(&"hipBLASLt is not available (cargo xtask rocm fetch 7.2 --with hipblaslt)");
        return None;
    }
    let lt = BlasLt::new(&Stream::new(&device).unwrap()).unwrap();
    Some((device, lt))
}

/// Returns whether the library has no algorithm for this GPU.
fn missing(result: &hipblaslt::Result<()>) -> bool {
    match result {
        Ok(()) => false,
        Err(error) if error.to_string().contains("NOT_SUPPORTED") => {
            skipped(error);
            true
        }
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn close<D: Number, S: Number>(what: &str, got: &Host, want: &Host, size: &Host, terms: usize) {
    for (((got, want), size), at) in got.data.iter().zip(&want.data).zip(&size.data).zip(0..) {
        let sum = (terms + 4) as f64 * S::EPS * size.norm();
        let bound = 4.0 * (sum + D::EPS * (want.norm() + sum));
        assert!((got - want).norm() <= bound, "{what}: element {at} is {got}, not {want}; bound {bound:e}");
    }
}

fn matmul<A: Number + LtTypes<A, D>, D: Number>(device: &Device, lt: &BlasLt, rng: &mut Rng)
where
    A::Scale: Number,
{
    let size = |rng: &mut Rng| rng.one_of(&[1, 3, 8, 16, 17, 32]);
    let (m, n, k) = (size(rng), size(rng), size(rng));
    let kind = rng.one_of(&[Kind::One, Kind::Strided(3)]);
    let op = |rng: &mut Rng| rng.one_of(&['N', 'T']);
    let (a_op, b_op, d_op) = (op(rng), op(rng), op(rng));
    let a = TestMatrix::<A>::new(device, rng, kind, (m, k), a_op);
    let b = TestMatrix::<A>::new(device, rng, kind, (k, n), b_op);
    let mut d = TestMatrix::<D>::new(device, rng, kind, (m, n), d_op);
    let (alpha, beta): (A::Scale, A::Scale) = (rng.number(), rng.number());
    let before: Vec<Host> = (0..kind.count()).map(|index| d.reference(index)).collect();
    let layout = d.layout();
    let done = {
        let (a_held, b_held, mut d_held) = (a.memory.held(), b.memory.held(), d.memory.held_mut());
        lt.matmul(Matmul::default(), alpha, a.view(&a_held), b.view(&b_held), beta, layout.view(&mut d_held))
    };
    if missing(&done) {
        // Debian's library supports f64 only for some shapes.
        let known = std::env::var_os("ROCM_RS_RELEASE").is_none() || size_of::<A>() == 8;
        assert!(known, "{done:?}");
        return;
    }
    d.read(|_, _| true);
    for (index, before) in before.iter().enumerate() {
        let (a, b, old) = (a.reference(index), b.reference(index), before.scale(beta.wide()));
        let want = a.mul(&b).scale(alpha.wide()).add(&old);
        let size = a.abs().mul(&b.abs()).scale(alpha.wide().norm().into()).add(&old.abs());
        close::<D, A::Scale>("matmul", &d.reference(index), &want, &size, k);
    }
}

#[test]
fn products_are_those_of_the_reference() {
    let Some((device, lt)) = lt() else { return };
    for seed in 0..4 {
        let mut rng = Rng::new(seed + 1);
        matmul::<f32, f32>(&device, &lt, &mut rng);
        matmul::<f16, f16>(&device, &lt, &mut rng);
        matmul::<f16, f32>(&device, &lt, &mut rng);
        matmul::<bf16, bf16>(&device, &lt, &mut rng);
        matmul::<f64, f64>(&device, &lt, &mut rng);
        matmul::<i8, i32>(&device, &lt, &mut rng);
    }
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)).tanh())
}

#[test]
fn epilogues_follow_the_product() {
    let Some((device, lt)) = lt() else { return };
    let mut rng = Rng::new(5);
    let (m, n, k) = (16, 8, 12);
    let (a, b) = (rng.numbers::<f16>(m * k), rng.numbers::<f16>(k * n));
    let bias = rng.numbers::<f16>(m);
    let (host_a, host_b) = (Host::of(&a, m, k, m), Host::of(&b, k, n, k));
    let product = host_a.mul(&host_b);
    let with_bias = Host::from_fn(m, n, |row, col| product.at(row, col) + bias[row].wide());
    let size = host_a.abs().mul(&host_b.abs()).map(|x| x + 1.0);
    let (a, b) = (upload(&device, &a, m, k), upload(&device, &b, k, n));
    let bias = DeviceBuffer::from_slice(&device, &bias).unwrap();
    let relu = |x: &Host| x.map(|x| x.re.max(0.0).into());
    let gelu_of = |x: &Host| x.map(|x| gelu(x.re).into());
    type Make = for<'a> fn(&'a DeviceBuffer<f16>) -> Epilogue<'a, f16>;
    let cases: [(&str, Make, Host); 6] = [
        ("none", |_| Epilogue::None, product.clone()),
        ("relu", |_| Epilogue::Relu, relu(&product)),
        ("gelu", |_| Epilogue::Gelu, gelu_of(&product)),
        ("bias", |bias| Epilogue::Bias(bias.as_slice()), with_bias.clone()),
        ("relu of bias", |bias| Epilogue::ReluBias(bias.as_slice()), relu(&with_bias)),
        ("gelu of bias", |bias| Epilogue::GeluBias(bias.as_slice()), gelu_of(&with_bias)),
    ];
    for (what, make, want) in cases {
        let mut d = MatrixBuffer::<f16>::zeroed(&device, m, n).unwrap();
        let how = Matmul { epilogue: make(&bias), ..Matmul::default() };
        let done = lt.matmul(how, 1.0, &a, &b, 0.0, &mut d);
        if missing(&done) {
            continue;
        }
        let got = Host::of(&d.to_vec().unwrap(), m, n, m);
        close::<f16, f32>(what, &got, &want, &size, k);
    }
}

/// A layer with GELU and the inputs of its gradient: forward with the auxiliary output, backward with it.
#[test]
fn gradients_of_a_layer() {
    let Some((device, lt)) = lt() else { return };
    let mut rng = Rng::new(9);
    let (m, n, k) = (16, 8, 16);
    let (w, x, g) = (rng.numbers::<f16>(m * k), rng.numbers::<f16>(k * n), rng.numbers::<f16>(m * n));
    let bias = rng.numbers::<f16>(m);
    let (host_w, host_x, host_g) = (Host::of(&w, m, k, m), Host::of(&x, k, n, k), Host::of(&g, m, n, m));
    let product = host_w.mul(&host_x);
    let before = Host::from_fn(m, n, |row, col| product.at(row, col) + bias[row].wide());
    let size = host_w.abs().mul(&host_x.abs()).map(|x| x + 1.0);
    let (w, x, g) = (upload(&device, &w, m, k), upload(&device, &x, k, n), upload(&device, &g, m, n));
    let bias = DeviceBuffer::from_slice(&device, &bias).unwrap();
    let (mut y, mut aux) = (upload(&device, &[f16::ZERO; 128], m, n), upload(&device, &[f16::ZERO; 128], m, n));
    let forward = Epilogue::GeluBiasAux(bias.as_slice(), aux.view_mut());
    let done = lt.matmul(Matmul { epilogue: forward, ..Matmul::default() }, 1.0, &w, &x, 0.0, &mut y);
    if missing(&done) {
        return;
    }
    let host = |matrix: &MatrixBuffer<f16>| Host::of(&matrix.to_vec().unwrap(), m, n, m);
    close::<f16, f32>("forward", &host(&y), &before.map(|x| gelu(x.re).into()), &size, k);
    close::<f16, f32>("auxiliary", &host(&aux), &before, &size, k);
    // Backward: the derivative of GELU at the kept values, times W G.
    let aux_host = host(&aux);
    let slope = |x: f64| (gelu(x + 1e-4) - gelu(x - 1e-4)) / 2e-4;
    let incoming = host_w.mul(&host_g);
    let want = Host::from_fn(m, n, |row, col| incoming.at(row, col) * slope(aux_host.at(row, col).re));
    let (mut d, mut sums) =
        (upload(&device, &[f16::ZERO; 128], m, n), DeviceBuffer::<f16>::zeroed(&device, m).unwrap());
    let backward = Epilogue::GeluBiasGradient(aux.view(), sums.as_slice_mut());
    let done = lt.matmul(Matmul { epilogue: backward, ..Matmul::default() }, 1.0, &w, &g, 0.0, &mut d);
    if missing(&done) {
        return;
    }
    let size = host_w.abs().mul(&host_g.abs()).scale(2.0.into()).map(|x| x + 1.0);
    close::<f16, f32>("backward", &host(&d), &want, &size, 2 * k);
    let want = Host::from_fn(m, 1, |row, _| (0..n).map(|col| want.at(row, col)).sum());
    let size = Host::from_fn(m, 1, |row, _| (0..n).map(|col| size.at(row, col)).sum());
    close::<f16, f32>("bias's gradient", &Host::of(&sums.to_vec().unwrap(), m, 1, m), &want, &size, 2 * k + n);
}

fn upload(device: &Device, elements: &[f16], rows: usize, cols: usize) -> MatrixBuffer<f16> {
    MatrixBuffer::from_columns(device, elements, rows, cols).unwrap()
}

#[test]
fn algorithms_are_chosen_and_kept() {
    let Some((device, lt)) = lt() else { return };
    assert!(lt.version().unwrap() > 0);
    let a = MatrixBuffer::from_columns(&device, &[f16::ONE; 256], 16, 16).unwrap();
    let mut d = MatrixBuffer::<f16>::zeroed(&device, 16, 16).unwrap();
    let found = match lt.algorithms(Matmul::default(), &a, &a, &mut d, 4) {
        Ok(found) if !found.is_empty() => found,
        other => return skipped(&format!("no algorithm for this GPU: {other:?}")),
    };
    for algorithm in &found {
        d.buffer_mut().fill(f16::ZERO).unwrap();
        let how = Matmul { algorithm: Some(*algorithm), ..Matmul::default() };
        lt.matmul(how, 1.0, &a, &a, 0.0, &mut d).unwrap();
        assert_eq!(d.to_vec().unwrap(), [f16::from_f32(16.0); 256], "{}", algorithm.index());
    }
    // Not for another problem.
    let how = Matmul { algorithm: Some(found[0]), ..Matmul::default() };
    let refused = lt.matmul(how, 1.0, a.t(), &a, 0.0, &mut d);
    assert!(matches!(refused, Err(Error::Invalid { what: "the algorithm", .. })), "{refused:?}");
    // By its number, among all.
    let all = lt.algorithms(Matmul::default(), &a, &a, &mut d, usize::MAX).unwrap();
    assert!(all.len() >= found.len() && all[0].solution() == found[0].solution(), "{}", all.len());
    let last = all[all.len() - 1];
    let again = lt.algorithm(Matmul::default(), &a, &a, &mut d, last.solution()).unwrap().expect("it was there");
    d.buffer_mut().fill(f16::ZERO).unwrap();
    lt.matmul(Matmul { algorithm: Some(again), ..Matmul::default() }, 1.0, &a, &a, 0.0, &mut d).unwrap();
    assert_eq!(d.to_vec().unwrap(), [f16::from_f32(16.0); 256], "{last:?}");
    assert!(lt.algorithm(Matmul::default(), &a, &a, &mut d, i32::MAX).unwrap().is_none());
    let how = Matmul { workspace_limit: 0, ..Matmul::default() };
    let small = lt.algorithms(how, &a, &a, &mut d, 4).unwrap();
    assert!(small.iter().all(|algorithm| algorithm.workspace() == 0), "{small:?}");
}

#[test]
fn the_library_says_what_it_is() {
    let Some((device, mut lt)) = lt() else { return };
    assert_eq!(lt.arch().unwrap(), device.properties().unwrap().arch.name());
    // Debian's build did not record it.
    let revision = lt.revision().unwrap();
    assert!(revision.chars().all(|letter| letter.is_ascii_graphic()), "{revision:?}");
    // New in 10.0.
    if hipblaslt_sys::BINDING.symbol(c"hipblasLtSetSmCountTarget").is_some() {
        lt.set_compute_units(8).unwrap();
        assert_eq!(lt.compute_units().unwrap(), 8);
        assert_eq!(lt.first_nan().unwrap(), None);
        return;
    }
    let errors = [
        lt.set_compute_units(8).unwrap_err(),
        lt.compute_units().map(|_| ()).unwrap_err(),
        lt.first_nan().map(|_| ()).unwrap_err(),
    ];
    for (error, function) in
        errors.iter().zip(["hipblasLtSetSmCountTarget", "hipblasLtGetSmCountTarget", "hipblasLtCheckNumericsDrain"])
    {
        let text = error.to_string();
        assert!(text.contains(function) && text.contains("10.0"), "{text}");
    }
}

/// 8-bit floats: gfx90a has none, which the error says.
fn eight_bits<T: Element + LtTypes<T, f32, Scale = f32>>(device: &Device, lt: &BlasLt, one: T) {
    let numbers = DeviceBuffer::from_slice(device, &[one; 256]).unwrap();
    let a = MatrixRef::new(&numbers, 16, 16).unwrap();
    let scale = DeviceBuffer::from_slice(device, &[0.5_f32]).unwrap();
    let mut d = MatrixBuffer::<f32>::zeroed(device, 16, 16).unwrap();
    let how = Matmul { scale_a: Some(scale.as_slice()), scale_b: Some(scale.as_slice()), ..Matmul::default() };
    match lt.matmul(how, 1.0, a, a.t(), 0.0, &mut d) {
        Ok(()) => assert_eq!(d.to_vec().unwrap(), [4.0; 256]),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("hipblasLtMatmul") && text.contains("NOT_SUPPORTED"), "{text}");
            assert!(lt.arch().unwrap() == "gfx90a", "{text}");
        }
    }
}

#[test]
fn products_of_8_bit_floats_or_the_error() {
    let Some((device, lt)) = lt() else { return };
    eight_bits(&device, &lt, F8E4M3::from_f32(1.0));
    eight_bits(&device, &lt, F8E5M2::from_f32(1.0));
    eight_bits(&device, &lt, F8E4M3Fnuz::from_f32(1.0));
    eight_bits(&device, &lt, F8E5M2Fnuz::from_f32(1.0));
}

/// The product, and the sums of A's rows or B's columns: by the library's kernels, or its error.
#[test]
fn gradients_of_a_bias() {
    let Some((device, lt)) = lt() else { return };
    let mut rng = Rng::new(21);
    let (m, n, k) = (16, 32, 48);
    let (a, b) = (rng.numbers::<f16>(m * k), rng.numbers::<f16>(k * n));
    let (host_a, host_b) = (Host::of(&a, m, k, m), Host::of(&b, k, n, k));
    let (a, b) = (upload(&device, &a, m, k), upload(&device, &b, k, n));
    let ones = |rows, cols| Host::from_fn(rows, cols, |_, _| 1.0.into());
    for of_a in [true, false] {
        let len = if of_a { m } else { n };
        let mut sums = DeviceBuffer::<f16>::zeroed(&device, len).unwrap();
        let mut d = MatrixBuffer::<f16>::zeroed(&device, m, n).unwrap();
        let make = if of_a { Epilogue::BiasGradientA } else { Epilogue::BiasGradientB };
        let how = Matmul { epilogue: make(sums.as_slice_mut()), ..Matmul::default() };
        if missing(&lt.matmul(how, 1.0, &a, &b, 0.0, &mut d)) {
            continue;
        }
        let size = host_a.abs().mul(&host_b.abs());
        close::<f16, f32>("product", &Host::of(&d.to_vec().unwrap(), m, n, m), &host_a.mul(&host_b), &size, k);
        let sum = |x: &Host, y: &Host| if of_a { x.mul(&ones(k, 1)) } else { ones(1, k).mul(y).t() };
        let (want, size) = (sum(&host_a, &host_b), sum(&host_a.abs(), &host_b.abs()));
        close::<f16, f32>("sums", &Host::of(&sums.to_vec().unwrap(), len, 1, len), &want, &size, k);
    }
}

#[test]
fn empty_overlapping_and_foreign_operands() {
    let Some((device, mut lt)) = lt() else { return };
    let a = MatrixBuffer::<f16>::zeroed(&device, 4, 0).unwrap();
    let mut none = MatrixBuffer::<f16>::zeroed(&device, 0, 0).unwrap();
    lt.matmul(Matmul::default(), 1.0, a.t(), &a, 0.0, &mut none).unwrap();
    let mut memory = DeviceBuffer::<f16>::zeroed(&device, 64).unwrap();
    // The same memory a second time, as other code could pass it.
    // SAFETY: `memory` owns it and lives to the end of the test, and no call uses both.
    let again = unsafe { DeviceBuffer::from_raw_parts_with(&device, memory.as_device_ptr(), 64, ()).unwrap() };
    let a = MatrixRef::new(&again, 4, 4).unwrap();
    let d = MatrixMut::new(&mut memory, 4, 4).unwrap();
    let error = lt.matmul(Matmul::default(), 1.0, a, a, 0.0, d).unwrap_err().to_string();
    assert!(error.contains("overlaps"), "{error}");
    let d = MatrixMut::new(&mut memory, 4, 4).unwrap();
    let error = lt.transform(1.0, a, None, d).unwrap_err().to_string();
    assert!(error.contains("overlaps"), "{error}");
    if Device::count().unwrap() < 2 {
        return skipped(&"another device is not available");
    }
    let other = Device::get(1).unwrap();
    assert!(lt.set_stream(&Stream::new(&other).unwrap()).is_err());
    let far = MatrixBuffer::<f16>::zeroed(&other, 4, 4).unwrap();
    let d = MatrixMut::new(&mut memory, 4, 4).unwrap();
    let error = lt.matmul(Matmul::default(), 1.0, &far, &far, 0.0, d).unwrap_err();
    assert!(matches!(error, Error::Hip(hip::Error::WrongDevice { .. })), "{error}");
}

fn transform<T: Number>(device: &Device, lt: &BlasLt, rng: &mut Rng) {
    let (m, n) = (rng.one_of(&[1, 7, 16, 33]), rng.one_of(&[1, 8, 19]));
    let kind = Kind::One;
    let op = |rng: &mut Rng| rng.one_of(&['N', 'T']);
    let (a_op, b_op, c_op) = (op(rng), op(rng), op(rng));
    let a = TestMatrix::<T>::new(device, rng, kind, (m, n), a_op);
    let b = TestMatrix::<T>::new(device, rng, kind, (m, n), b_op);
    let mut c = TestMatrix::<T>::new(device, rng, kind, (m, n), c_op);
    let (alpha, beta): (f32, f32) = (rng.number(), rng.number());
    let layout = c.layout();
    for with_b in [true, false] {
        let done = {
            let (a_held, b_held, mut c_held) = (a.memory.held(), b.memory.held(), c.memory.held_mut());
            let other = with_b.then(|| (beta.into(), b.view(&b_held)));
            lt.transform(alpha, a.view(&a_held), other, layout.view(&mut c_held))
        };
        if missing(&done) {
            return;
        }
        c.read(|_, _| true);
        for index in 0..kind.count() {
            let (a, b) = (a.reference(index).scale(alpha.wide()), b.reference(index).scale(beta.wide()));
            let want = if with_b { a.add(&b) } else { a.clone() };
            close::<T, f32>("transform", &c.reference(index), &want, &a.abs().add(&b.abs()), 2);
        }
    }
}

#[test]
fn matrices_are_added_and_transposed() {
    let Some((device, lt)) = lt() else { return };
    for seed in 0..4 {
        let mut rng = Rng::new(seed + 1);
        transform::<f32>(&device, &lt, &mut rng);
        transform::<f16>(&device, &lt, &mut rng);
        transform::<bf16>(&device, &lt, &mut rng);
    }
    // A batch: transposes of 2 x 3 matrices.
    let memory = DeviceBuffer::from_slice(&device, &(0..12).map(|x| x as f32).collect::<Vec<_>>()).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&device, 12).unwrap();
    let batch = MatrixRef::strided_batch(&memory, (2, 3, 2), 6, 2).unwrap();
    let done = lt.transform(2.0, batch.t(), None, MatrixMut::strided_batch(&mut out, (3, 2, 3), 6, 2).unwrap());
    if !missing(&done) {
        let want = [0.0, 4.0, 8.0, 2.0, 6.0, 10.0, 12.0, 16.0, 20.0, 14.0, 18.0, 22.0];
        assert_eq!(out.to_vec().unwrap(), want);
    }
    let wide = MatrixRef::strided_batch(&memory, (2, 2, 2), 6, 2).unwrap();
    let refused = lt.transform(1.0, wide, None, MatrixMut::strided_batch(&mut out, (2, 2, 2), 4, 2).unwrap());
    assert!(matches!(refused, Err(Error::Invalid { what: "the stride of A", .. })), "{refused:?}");
    let a = MatrixBuffer::<f32>::zeroed(&device, 2, 3).unwrap();
    let mut c = MatrixBuffer::<f32>::zeroed(&device, 2, 2).unwrap();
    let refused = lt.transform(1.0, &a, None, &mut c).unwrap_err().to_string();
    assert_eq!(refused, "the columns of C is 2, but must be 3, as A, in transform(A 2 x 3, C 2 x 2)");
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some((device, lt)) = lt() else { return };
    let a = MatrixBuffer::<f32>::zeroed(&device, 2, 3).unwrap();
    let mut d = MatrixBuffer::<f32>::zeroed(&device, 2, 2).unwrap();
    let bias = DeviceBuffer::<f32>::zeroed(&device, 3).unwrap();
    let refused = |result: hipblaslt::Result<()>, words: &str| match result {
        Err(error @ Error::Invalid { .. }) => assert!(error.to_string().contains(words), "{error}"),
        other => panic!("{other:?}"),
    };
    refused(
        lt.matmul(Matmul::default(), 1.0, &a, &a, 0.0, &mut d),
        "the rows of B is 2, but must be 3, the columns of A, in matmul(A 2 x 3, B 2 x 3, D 2 x 2)",
    );
    let how = Matmul { epilogue: Epilogue::Bias(bias.as_slice()), ..Matmul::default() };
    refused(lt.matmul(how, 1.0, &a, a.t(), 0.0, &mut d), "length of the bias is 3, but must be 2");
    let how = Matmul { c: Some(a.view()), ..Matmul::default() };
    refused(
        lt.matmul(how, 1.0, &a, a.t(), 0.0, &mut d),
        "the columns of C is 3, but must be 2, as D, in matmul(A 2 x 3, B 3 x 2, D 2 x 2, C 2 x 3)",
    );
    let how = Matmul { scale_a: Some(bias.as_slice()), ..Matmul::default() };
    refused(lt.matmul(how, 1.0, &a, a.t(), 0.0, &mut d), "scale of A");
    let memory = DeviceBuffer::<f32>::zeroed(&device, 12).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&device, 12).unwrap();
    let two = MatrixRef::strided_batch(&memory, (2, 2, 2), 4, 2).unwrap();
    let three = MatrixMut::strided_batch(&mut out, (2, 2, 2), 4, 3).unwrap();
    refused(lt.matmul(Matmul::default(), 1.0, two, two, 0.0, three), "batch of A");
}

//! Dimensions, lengths, batches, strides, arrays that are parts of others; no memory outside the layout is written.

use hip::{Device, DeviceBuffer, Pod, Stream};
use hipfft::{C2C, C2R, Complex, Complex64, Layout, Plan, R2C, Spacing, Transform, Unnormalized};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::bad_input::refused;
use crate::device;
use crate::reference::{Number, assert_close, transform};

/// Where each point of a batch is: of lengths, an array around them, a stride and a distance.
fn places(lengths: &[usize], batch: usize, embed: &[usize], stride: usize, distance: usize) -> Vec<usize> {
    let points: usize = lengths.iter().product();
    (0..batch * points)
        .map(|at| {
            let (member, mut point) = (at / points, at % points);
            let (mut place, mut step) = (member * distance, stride);
            for dimension in (0..lengths.len()).rev() {
                place += point % lengths[dimension] * step;
                point /= lengths[dimension];
                step *= embed[dimension];
            }
            place
        })
        .collect()
}

/// Lengths without gaps, or where points are.
struct Case {
    lengths: Vec<usize>,
    batch: usize,
    /// Array, stride and distance of both sides.
    spacing: Option<[(Vec<usize>, usize, usize); 2]>,
}

impl Case {
    fn plain(lengths: &[usize], batch: usize) -> Self {
        Self { lengths: lengths.to_vec(), batch, spacing: None }
    }

    fn layout(&self) -> Layout {
        let layout = match self.lengths[..] {
            [x] => Layout::new([x]),
            [x, y] => Layout::new([x, y]),
            [x, y, z] => Layout::new([x, y, z]),
            _ => panic!("dimensions"),
        };
        let layout = layout.unwrap().batch(self.batch).unwrap();
        let Some(sides) = &self.spacing else { return layout };
        let [input, output] = sides.each_ref().map(|(embed, stride, distance)| match embed[..] {
            [x] => Spacing::new([x], *stride, *distance),
            [x, y] => Spacing::new([x, y], *stride, *distance),
            [x, y, z] => Spacing::new([x, y, z], *stride, *distance),
            _ => panic!("dimensions"),
        });
        layout.spaced(input, output).unwrap()
    }

    fn half(&self) -> Vec<usize> {
        let mut lengths = self.lengths.clone();
        *lengths.last_mut().unwrap() = lengths.last().unwrap() / 2 + 1;
        lengths
    }

    fn places(&self, side: usize, lengths: &[usize]) -> Vec<usize> {
        match &self.spacing {
            Some(sides) => {
                let (embed, stride, distance) = &sides[side];
                places(lengths, self.batch, embed, *stride, *distance)
            }
            None => places(lengths, self.batch, lengths, 1, lengths.iter().product()),
        }
    }
}

const GUARD: usize = 5;

/// Memory of a layout with guards on both sides.
fn guarded<T: Pod>(device: &Device, len: usize, guard: T) -> DeviceBuffer<T> {
    DeviceBuffer::from_slice(device, &vec![guard; len + 2 * GUARD]).unwrap()
}

#[track_caller]
fn assert_guarded<T: Pod + PartialEq + std::fmt::Debug>(what: &str, memory: &[T], guard: T) {
    let (first, last) = (&memory[..GUARD], &memory[memory.len() - GUARD..]);
    assert!(first.iter().chain(last).all(|x| *x == guard), "{what}: memory beside it was written");
}

fn complex<T: Number>(device: &Device, stream: &Stream, case: &Case)
where
    T::Complex: PartialEq,
{
    let layout = case.layout();
    let what = format!("{layout:?}");
    let mut plan = Plan::<C2C<T>>::new(stream, &layout).unwrap_or_else(|error| panic!("{what}: {error}"));
    let points: usize = case.lengths.iter().product();
    let numbers: Vec<Complex64> = linalg_testing::Rng::new(points as u64).numbers(points * case.batch);
    let numbers: Vec<Complex64> = numbers.into_iter().map(|x| T::wide_complex(T::complex(x))).collect();
    let guard = T::complex(Complex::new(77.0, -77.0));
    let overlaps = {
        let mut places = case.places(0, &case.lengths);
        places.sort_unstable();
        places.windows(2).any(|pair| pair[0] == pair[1])
    };
    for inverse in [false, true] {
        // The inverse transform goes from the second side to the first.
        let [side, other] = if inverse { [1, 0] } else { [0, 1] };
        let lens = [layout.input_len::<C2C<T>>(), layout.output_len::<C2C<T>>()];
        let (from, to) = (case.places(side, &case.lengths), case.places(other, &case.lengths));
        let mut host = vec![guard; lens[side] + 2 * GUARD];
        from.iter().zip(&numbers).for_each(|(place, number)| host[GUARD + place] = T::complex(*number));
        // Where windows overlap, the last one has decided.
        let numbers: Vec<Complex64> = from.iter().map(|place| T::wide_complex(host[GUARD + place])).collect();
        let input = DeviceBuffer::from_slice(device, &host).unwrap();
        let mut output = guarded(device, lens[other], guard);
        let end = output.len() - GUARD;
        let source = input.slice(GUARD..input.len() - GUARD).unwrap();
        let target = output.slice_mut(GUARD..end).unwrap();
        if inverse && overlaps {
            refused(plan.inverse(source, target), "points overlap");
            continue;
        }
        if inverse { plan.inverse(source, target) } else { plan.forward(source, target) }.unwrap();
        let found = output.to_vec().unwrap();
        assert_guarded(&what, &found, guard);
        for (member, want) in numbers.chunks(points).enumerate() {
            let mut want = want.to_vec();
            transform(&mut want, &case.lengths, inverse);
            let got: Vec<_> =
                to[member * points..][..points].iter().map(|at| T::wide_complex(found[GUARD + at])).collect();
            assert_close::<T>(&what, &got, &want, points);
        }
        assert!(input.to_vec().unwrap() == host, "{what}: the input was written");
    }
}

fn real<T>(device: &Device, stream: &Stream, case: &Case)
where
    T: Number + PartialEq,
    T::Complex: PartialEq,
{
    let (layout, half) = (case.layout(), case.half());
    let what = format!("real, {layout:?}");
    let (points, few): (usize, usize) = (case.lengths.iter().product(), half.iter().product());
    let numbers: Vec<f64> = linalg_testing::Rng::new(points as u64).numbers(points * case.batch);
    let (guard, complex_guard) = (T::narrow(77.0), T::complex(Complex::new(77.0, -77.0)));
    // Forward.
    let mut plan = Plan::<R2C<T>>::new(stream, &layout).unwrap_or_else(|error| panic!("{what}: {error}"));
    let (from, to) = (case.places(0, &case.lengths), case.places(1, &half));
    let mut host = vec![guard; layout.input_len::<R2C<T>>() + 2 * GUARD];
    from.iter().zip(&numbers).for_each(|(place, number)| host[GUARD + place] = T::narrow(*number));
    let input = DeviceBuffer::from_slice(device, &host).unwrap();
    let mut output = guarded(device, layout.output_len::<R2C<T>>(), complex_guard);
    let end = output.len() - GUARD;
    plan.forward(input.slice(GUARD..host.len() - GUARD).unwrap(), output.slice_mut(GUARD..end).unwrap()).unwrap();
    let found = output.to_vec().unwrap();
    assert_guarded(&what, &found, complex_guard);
    assert!(input.to_vec().unwrap() == host, "{what}: the input was written");
    let last = *case.lengths.last().unwrap();
    let spectra: Vec<Vec<Complex64>> = numbers
        .chunks(points)
        .map(|numbers| {
            let mut whole: Vec<Complex64> = numbers.iter().map(|x| Complex::new(*x, 0.0)).collect();
            transform(&mut whole, &case.lengths, false);
            whole.chunks(last).flat_map(|row| row[..last / 2 + 1].to_vec()).collect()
        })
        .collect();
    for (member, want) in spectra.iter().enumerate() {
        let got: Vec<_> = to[member * few..][..few].iter().map(|at| T::wide_complex(found[GUARD + at])).collect();
        assert_close::<T>(&what, &got, want, points);
    }
    // Inverse.
    let mut plan = Plan::<C2R<T>>::new(stream, &layout).unwrap_or_else(|error| panic!("{what}: {error}"));
    let (from, to) = (case.places(0, &half), case.places(1, &case.lengths));
    let mut host = vec![complex_guard; layout.input_len::<C2R<T>>() + 2 * GUARD];
    for (member, spectrum) in spectra.iter().enumerate() {
        for (place, number) in from[member * few..].iter().zip(spectrum) {
            host[GUARD + place] = T::complex(number / points as f64);
        }
    }
    let mut input = DeviceBuffer::from_slice(device, &host).unwrap();
    let mut output = guarded(device, layout.output_len::<C2R<T>>(), guard);
    let end = output.len() - GUARD;
    plan.inverse(input.slice_mut(GUARD..host.len() - GUARD).unwrap(), output.slice_mut(GUARD..end).unwrap()).unwrap();
    let found = output.to_vec().unwrap();
    assert_guarded(&what, &found, guard);
    assert_guarded(&what, &input.to_vec().unwrap(), complex_guard);
    let got: Vec<Complex64> = to.iter().map(|at| Complex::new(found[GUARD + at].wide(), 0.0)).collect();
    let want: Vec<Complex64> = numbers.iter().map(|x| Complex::new(*x, 0.0)).collect();
    assert_close::<T>(&format!("{what}, back"), &got, &want, points * points);
}

/// Powers of 2, 3, 5, 7, a prime that the library has a kernel for, one that it convolves for, and products of them.
#[test]
fn one_dimension() {
    let Some((device, stream)) = device() else { return };
    for n in [1, 2, 7, 17, 30, 64, 4096] {
        complex::<f32>(&device, &stream, &Case::plain(&[n], 1));
    }
    complex::<f64>(&device, &stream, &Case::plain(&[19], 3));
    real::<f32>(&device, &stream, &Case::plain(&[30], 2));
    real::<f64>(&device, &stream, &Case::plain(&[9], 2));
}

#[test]
fn two_dimensions() {
    let Some((device, stream)) = device() else { return };
    complex::<f32>(&device, &stream, &Case::plain(&[8, 16], 1));
    complex::<f64>(&device, &stream, &Case::plain(&[5, 4], 3));
    real::<f32>(&device, &stream, &Case::plain(&[6, 8], 1));
    real::<f64>(&device, &stream, &Case::plain(&[4, 5], 2));
}

#[test]
fn three_dimensions() {
    let Some((device, stream)) = device() else { return };
    complex::<f32>(&device, &stream, &Case::plain(&[4, 6, 8], 1));
    real::<f32>(&device, &stream, &Case::plain(&[4, 4, 6], 2));
}

/// The columns of a matrix: they are interleaved.
#[test]
fn columns_of_a_matrix() {
    let Some((device, stream)) = device() else { return };
    let (rows, cols) = (16, 5);
    let column = || (vec![rows], cols, 1);
    complex::<f32>(&device, &stream, &Case { lengths: vec![rows], batch: cols, spacing: Some([column(), column()]) });
    // From columns to rows: transposed on the way.
    let row = (vec![rows], 1, rows);
    complex::<f32>(&device, &stream, &Case { lengths: vec![rows], batch: cols, spacing: Some([column(), row]) });
}

/// Overlapping windows, as in a spectrogram.
#[test]
fn windows_of_a_signal() {
    let Some((device, stream)) = device() else { return };
    let (window, step, count) = (16, 4, 7);
    let spacing = [(vec![window], 1, step), (vec![window], 1, window)];
    let case = Case { lengths: vec![window], batch: count, spacing: Some(spacing) };
    assert_eq!(case.layout().input_len::<C2C<f32>>(), (count - 1) * step + window);
    complex::<f32>(&device, &stream, &case);
}

/// Gaps of any size, with lengths that the library has planned before.
#[test]
fn arrays_within_arrays() {
    let Some((device, stream)) = device() else { return };
    let config = Config {
        cases: 6,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(18),
        max_shrink_iters: 0,
        ..Config::default()
    };
    let gap = || (0_usize..3, 0_usize..4, 1_usize..3, 0_usize..5);
    let shapes = (prop_oneof![Just(vec![16]), Just(vec![8, 16]), Just(vec![4, 4, 6])], 1_usize..4, gap(), gap());
    let found = TestRunner::new(config).run(&shapes, |(lengths, batch, input, output)| {
        let side = |(rows, cols, stride, between): (usize, usize, usize, usize), real: bool| {
            let mut embed = lengths.clone();
            *embed.last_mut().unwrap() += cols;
            if embed.len() > 1 {
                embed[0] += 3;
                let middle = embed.len() - 2;
                embed[middle] += rows;
            }
            let _ = real;
            let distance = embed.iter().product::<usize>() * stride + between;
            (embed, stride, distance)
        };
        let case = Case { spacing: Some([side(input, false), side(output, false)]), batch, lengths: lengths.clone() };
        complex::<f32>(&device, &stream, &case);
        real::<f64>(&device, &stream, &case);
        Ok(())
    });
    if let Err(error) = found {
        panic!("{error}");
    }
}

/// The sizes of workspaces: of the plan, asked for, estimated; the library's own and the caller's.
#[test]
fn workspaces_are_as_long_as_told() {
    let Some((device, stream)) = device() else { return };
    let layouts = [
        Layout::new([N_BLUESTEIN]).unwrap().batch(2).unwrap(),
        Layout::new([8, 16]).unwrap(),
        Layout::new([4, 6, 8]).unwrap(),
        Layout::new([8, 16]).unwrap().batch(2).unwrap(),
    ];
    for layout in &layouts {
        let plan = Plan::<C2C<f32>>::new(&stream, layout).unwrap();
        assert_eq!(layout.workspace_len::<C2C<f32>>(&device).unwrap(), plan.workspace_len(), "{layout:?}");
        assert_eq!(layout.estimate_workspace::<C2C<f32>>(&device).unwrap(), plan.workspace_len(), "{layout:?}");
        let library = Plan::<C2C<f32>>::with_library_workspace(&stream, layout).unwrap();
        assert_eq!(library.workspace_len(), plan.workspace_len(), "{layout:?}");
    }
    let half = Layout::new([16]).unwrap();
    let plan = Plan::<C2C<hipfft::half::f16>>::new(&stream, &half).unwrap();
    assert_eq!(half.workspace_len::<C2C<hipfft::half::f16>>(&device).unwrap(), plan.workspace_len());
    // The same results with each.
    let layout = &layouts[0];
    let len = layout.input_len::<C2C<f32>>();
    let numbers = linalg_testing::Rng::new(2).numbers::<hipfft::Complex32>(len);
    let from = DeviceBuffer::from_slice(&device, &numbers).unwrap();
    let mut results = Vec::new();
    let mut own = Plan::<C2C<f32>>::new(&stream, layout).unwrap();
    let mut library = Plan::<C2C<f32>>::with_library_workspace(&stream, layout).unwrap();
    let mut lent = Plan::<C2C<f32>>::without_workspace(&stream, layout).unwrap();
    assert!(lent.workspace_len() > 0, "a transform by convolution has a workspace");
    let mut to = DeviceBuffer::<hipfft::Complex32>::zeroed(&device, len).unwrap();
    let error = lent.forward(&from, &mut to).unwrap_err();
    assert!(error.to_string().contains("set_workspace"), "{error}");
    let short = DeviceBuffer::<u8>::uninit(&device, lent.workspace_len() - 1).unwrap();
    let error = lent.set_workspace(short).unwrap_err();
    assert!(error.to_string().contains("or more"), "{error}");
    assert!(library.set_workspace(DeviceBuffer::uninit(&device, 1 << 20).unwrap()).is_err());
    assert!(lent.set_workspace(DeviceBuffer::uninit(&device, lent.workspace_len()).unwrap()).unwrap().is_none());
    for plan in [&mut own, &mut library, &mut lent] {
        plan.forward(&from, &mut to).unwrap();
        results.push(to.to_vec().unwrap());
    }
    assert!(results[0] == results[1] && results[1] == results[2]);
    // Sets another one, which returns the previous one.
    let before = lent.set_workspace(DeviceBuffer::uninit(&device, lent.workspace_len() + 64).unwrap()).unwrap();
    assert_eq!(before.unwrap().len(), lent.workspace_len());
    lent.forward(&from, &mut to).unwrap();
    assert!(to.to_vec().unwrap() == results[0]);
}

/// A prime that the library has no kernel for.
const N_BLUESTEIN: usize = 37;

/// Layouts whose sizes need 64 bits, of little memory: the distance of one transform is not looked at by anyone but C.
#[test]
fn sizes_of_64_bits() {
    let Some((device, stream)) = device() else { return };
    let far = Spacing::new([16], 1, 1 << 33);
    let layout = Layout::new([16]).unwrap().spaced(far, far).unwrap();
    // It asks for as much memory as the distance.
    let error = Plan::<C2C<f32>>::new(&stream, &layout).unwrap_err();
    assert!(error.to_string().contains("the device's memory"), "{error}");
    let _ = device;
}

/// The traits are those of the types.
#[test]
fn types_have_their_sides() {
    fn sides<T: Transform>() -> [usize; 2] {
        [size_of::<T::Input>(), size_of::<T::Output>()]
    }
    assert_eq!(
        (sides::<C2C<f32>>(), sides::<R2C<f64>>(), sides::<C2R<hipfft::half::f16>>()),
        ([8, 8], [8, 16], [4, 2])
    );
    fn is_send<T: Send>() {}
    is_send::<Plan<C2C<f32>, Unnormalized>>();
}

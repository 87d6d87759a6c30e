//! Triangular solves and incomplete factorizations: results are inserted into the equations that they solve.

use hip::{Device, DeviceBuffer};
use hipsparse::{Base, Csr, Error, MatrixBuffer, Solvable, SpTriangle, Sparse, Value, format};
use linalg_testing::{Host, Number, Rng, assert_close};

use crate::bad_input::refused;
use crate::{
    Entries, Narrow, banded, column, column_of, dominant, download, for_all_types, laplacian_2d, places, random, sparse,
};

/// A triangle of the reference.
fn part(host: &Host, lower: bool, unit: bool) -> Host {
    host.triangle(lower, unit)
}

/// A X = α B, up to c·n·ε·(|A||X| + |B|).
#[track_caller]
fn solves<T: Number>(what: &str, a: &Host, x: &Host, b: &Host, alpha: T) {
    let want = b.scale(alpha.wide());
    let size = a.abs().mul(&x.abs()).add(&want.abs());
    assert_close::<T>(what, &a.mul(x), &want, &size, a.rows + 2);
}

fn generic<T: Number + Value, I: Narrow>(device: &Device, sparse: &Sparse, rng: &mut Rng, base: Base) {
    let order = 1 + rng.below(60);
    let places = places(order, order * 3, rng);
    let entries: Entries<T> = dominant(order, places, rng);
    let (csr, coo, host) = (entries.csr::<I>(device, base), entries.coo::<I>(device, base), entries.host());
    for case in 0..8 {
        let (lower, unit, transposed) = (case % 2 == 0, case / 2 % 2 == 0, case / 4 == 0);
        let stored = part(&host, lower, unit);
        let a = if transposed { stored.t() } else { stored };
        let alpha: T = T::narrow(0.5.into());
        let (x, x_host) = column::<T>(device, rng, order);
        let (b, b_host) = random::<T>(device, rng, order, 3);
        let mut y = DeviceBuffer::<T>::zeroed(device, order).unwrap();
        let mut z = MatrixBuffer::<T>::zeroed(device, order, 3).unwrap();
        let what = format!("order {order}, lower {lower}, unit {unit}, transposed {transposed}, {base:?}");
        let view = csr.view();
        let triangle = if lower { view.lower().unwrap() } else { view.upper().unwrap() };
        let triangle = if unit { triangle.unit() } else { triangle };
        let triangle = if transposed { triangle.t() } else { triangle };
        let mut solver = sparse.spsv(triangle).unwrap();
        for _ in 0..2 {
            solver.solve(alpha, &x, &mut y).unwrap();
            solves(&format!("spsv {what}"), &a, &column_of(&y), &x_host, alpha);
        }
        drop(solver);
        let mut solver = sparse.spsm(triangle, &b.view(), &z.view_mut()).unwrap();
        solver.solve(alpha, &b, &mut z).unwrap();
        solves(&format!("spsm {what}"), &a, &download(&z), &b_host, alpha);
        drop(solver);
        if !transposed {
            let view = coo.view();
            let triangle = if lower { view.lower().unwrap() } else { view.upper().unwrap() };
            let mut solver = sparse.spsv(if unit { triangle.unit() } else { triangle }).unwrap();
            solver.solve(alpha, &x, &mut y).unwrap();
            solves(&format!("spsv of COO {what}"), &a, &column_of(&y), &x_host, alpha);
        }
    }
}

fn all_generic<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    generic::<T, i32>(device, sparse, rng, Base::Zero);
    generic::<T, i32>(device, sparse, rng, Base::One);
    generic::<T, i64>(device, sparse, rng, Base::Zero);
}

#[test]
fn triangular_systems() {
    for_all_types!(all_generic);
}

fn legacy<F: Solvable, T: Number + Value>(
    device: &Device,
    sparse: &Sparse,
    rng: &mut Rng,
    triangle: SpTriangle<'_, F, T>,
    a: &Host,
) {
    let (x, x_host) = column::<T>(device, rng, a.rows);
    let mut y = DeviceBuffer::<T>::zeroed(device, a.rows).unwrap();
    let mut solver = sparse.triangular(triangle).unwrap();
    let alpha: T = T::narrow(0.5.into());
    solver.solve(alpha, &x, &mut y).unwrap();
    solver.wait().unwrap();
    solves(&format!("{triangle:?}"), a, &column_of(&y), &x_host, alpha);
}

fn older<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for base in [Base::Zero, Base::One] {
        let some = places(24, 70, rng);
        let entries: Entries<T> = dominant(24, some, rng);
        let host = entries.host();
        let csr = entries.csr::<i32>(device, base);
        legacy(device, sparse, rng, csr.view().lower().unwrap(), &part(&host, true, false));
        legacy(device, sparse, rng, csr.view().upper().unwrap().unit(), &part(&host, false, true));
        legacy(device, sparse, rng, csr.t().upper().unwrap(), &part(&host, true, false).t());
        for order in [hipsparse::BlockOrder::Rows, hipsparse::BlockOrder::Columns] {
            let block = format::Bsr { rows: 3, cols: 3, order };
            let bsr = entries.bsr(device, base, block);
            legacy(device, sparse, rng, bsr.view().lower().unwrap(), &part(&host, true, false));
            legacy(device, sparse, rng, bsr.view().upper().unwrap(), &part(&host, false, false));
        }
    }
}

#[test]
fn triangular_systems_of_blocks() {
    for_all_types!(older);
}

#[test]
fn zero_pivots_are_errors_with_the_row() {
    let Some((device, sparse)) = sparse() else { return };
    for base in [Base::Zero, Base::One] {
        let shift = i32::from(base == Base::One);
        let csr = |values: &[f64]| {
            let offsets = [0, 1, 3, 5].map(|at| at + shift);
            let cols = [0, 0, 1, 1, 2].map(|at| at + shift);
            Csr::from_host(&device, (3, 3), base, &offsets, &cols, values).unwrap()
        };
        let zero_in = |error: &Error, wanted: usize| matches!(error, Error::ZeroPivot { row, .. } if *row == wanted);
        let a = csr(&[1.0, 2.0, 0.0, 3.0, 4.0]);
        let x = DeviceBuffer::from_slice(&device, &[1.0; 3]).unwrap();
        let mut y = DeviceBuffer::<f64>::zeroed(&device, 3).unwrap();
        let mut solver = sparse.triangular(a.view().lower().unwrap()).unwrap();
        solver.solve(1.0, &x, &mut y).unwrap();
        let error = solver.wait().unwrap_err();
        assert!(zero_in(&error, 1), "{error}");
        drop(solver);
        let mut a = a;
        let factors = sparse.ilu0(&mut a).unwrap().factorize().unwrap();
        let error = factors.wait().unwrap_err();
        assert!(zero_in(&error, 1), "{error}");
        drop(factors);
        // Replaced by a number of the caller's.
        let factors = sparse.ilu0(&mut a).unwrap().boost(1e-3, 5.0).unwrap().factorize().unwrap();
        let values = factors.view().values().to_vec().unwrap();
        assert!((values[2] - 5.0).abs() < 1e-12, "{values:?}");
        drop(factors);
        // The diagonal of the last row is not stored.
        let (offsets, cols) = ([0, 1, 3, 4].map(|at| at + shift), [0, 0, 1, 1].map(|at| at + shift));
        let mut holes = Csr::from_host(&device, (3, 3), base, &offsets, &cols, &[1.0_f64; 4]).unwrap();
        let error = sparse.ilu0(&mut holes).unwrap_err();
        assert!(zero_in(&error, 2), "{error}");
        let error = sparse.triangular(holes.view().lower().unwrap()).unwrap_err();
        assert!(zero_in(&error, 2), "{error}");
        let error = sparse.ic0(&mut holes).unwrap_err();
        assert!(zero_in(&error, 2), "{error}");
    }
}

/// ILU(0) on the host: no entries but those of A.
fn ilu_of(entries: &Host, at: impl Fn(usize, usize) -> bool) -> Host {
    let mut a = entries.clone();
    let n = a.rows;
    for i in 1..n {
        for k in (0..i).filter(|&k| at(i, k)) {
            let factor = a.at(i, k) / a.at(k, k);
            a.data[k * n + i] = factor;
            for j in (k + 1..n).filter(|&j| at(i, j) && at(k, j)) {
                let less = factor * a.at(k, j);
                a.data[j * n + i] -= less;
            }
        }
    }
    a
}

fn incomplete<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for base in [Base::Zero, Base::One] {
        let some = places(30, 120, rng);
        let entries: Entries<T> = dominant(30, some, rng);
        let host = entries.host();
        let stored = |row: usize, col: usize| entries.entries.iter().any(|entry| (entry.0, entry.1) == (row, col));
        let want = ilu_of(&host, stored);
        let size = host.map(|_| (4.0 * 30.0).into());
        let mut a = entries.csr::<i32>(device, base);
        let mut factors = sparse.ilu0(&mut a).unwrap().factorize().unwrap();
        factors.wait().unwrap();
        let got = |values: Vec<T>| {
            let mut got = Host::from_fn(30, 30, |_, _| 0.0.into());
            entries
                .entries
                .iter()
                .zip(values)
                .for_each(|(entry, value)| got.data[entry.1 * 30 + entry.0] = value.wide());
            got
        };
        assert_close::<T>("ilu0", &got(factors.view().values().to_vec().unwrap()), &want, &size, 30);
        // Solves with the factors undo their product.
        let (x, x_host) = column::<T>(device, rng, 30);
        let (mut half, mut y) =
            (DeviceBuffer::<T>::zeroed(device, 30).unwrap(), DeviceBuffer::<T>::zeroed(device, 30).unwrap());
        {
            let mut lower = sparse.spsv(factors.lower().unwrap()).unwrap();
            let mut upper = sparse.spsv(factors.upper().unwrap()).unwrap();
            lower.solve(T::ONE, &x, &mut half).unwrap();
            upper.solve(T::ONE, &half, &mut y).unwrap();
        }
        let product = part(&want, true, true).mul(&part(&want, false, false));
        let size = product.abs().mul(&column_of(&y).abs()).add(&x_host.abs());
        assert_close::<T>("both solves", &product.mul(&column_of(&y)), &x_host, &size, 60);
        // Other values of the same pattern.
        let twice: Vec<T> = entries.entries.iter().map(|entry| T::narrow(entry.2.wide() * 2.0)).collect();
        let twice = DeviceBuffer::from_slice(device, &twice).unwrap();
        factors.refactorize(&twice).unwrap();
        factors.wait().unwrap();
        let doubled = ilu_of(&host.scale(2.0.into()), stored);
        let size = host.map(|_| (8.0 * 30.0).into());
        assert_close::<T>("again", &got(factors.view().values().to_vec().unwrap()), &doubled, &size, 30);
    }
}

#[test]
fn incomplete_lu() {
    for_all_types!(incomplete);
}

/// A band matrix has no fill-in: the factors are complete.
fn complete<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    let n = 24;
    let mut entries: Entries<T> = dominant(n, banded(n, 1), rng);
    let host = entries.host();
    let hermitian = host.add(&host.h());
    entries = Entries::of(&hermitian);
    let hermitian = entries.host();
    let size = hermitian.map(|_| (8.0 * n as f64).into());
    for base in [Base::Zero, Base::One] {
        let mut a = entries.csr::<i32>(device, base);
        let factors = sparse.ic0(&mut a).unwrap().factorize().unwrap();
        factors.wait().unwrap();
        let values = factors.view().values().to_vec().unwrap();
        let mut l = Host::from_fn(n, n, |_, _| 0.0.into());
        entries.entries.iter().zip(values).for_each(|(entry, value)| l.data[entry.1 * n + entry.0] = value.wide());
        let l = part(&l, true, false);
        assert_close::<T>("ic0", &l.mul(&l.h()), &hermitian, &size, n);
        drop(factors);
        // Blocks hold the band, padded with zeros: complete, too.
        let block = format::Bsr::square(2);
        for ic in [false, true] {
            let mut a = entries.bsr(device, base, block);
            let dense = if ic {
                let factors = sparse.ic0(&mut a).unwrap().factorize().unwrap();
                factors.wait().unwrap();
                drop(factors);
                crate::dense_of(&sparse.bsr_to_csr(&a).unwrap())
            } else {
                let factors = sparse.ilu0(&mut a).unwrap().factorize().unwrap();
                factors.wait().unwrap();
                drop(factors);
                crate::dense_of(&sparse.bsr_to_csr(&a).unwrap())
            };
            let lower = part(&dense, true, !ic);
            let upper = if ic { lower.h() } else { part(&dense, false, false) };
            assert_close::<T>(&format!("of blocks, ic {ic}"), &lower.mul(&upper), &hermitian, &size, n);
        }
    }
}

#[test]
fn factors_of_bands_are_complete() {
    for_all_types!(complete);
}

#[test]
fn what_cannot_be_factorised_or_solved_is_refused() {
    let Some((device, sparse)) = sparse() else { return };
    let csr = |size, offsets: &[i32], cols: &[i32]| {
        Csr::from_host(&device, size, Base::Zero, offsets, cols, &vec![1.0_f32; cols.len()]).unwrap()
    };
    let mut wide = csr((2, 3), &[0, 1, 2], &[0, 1]);
    refused(wide.view().lower(), "square");
    refused(sparse.ilu0(&mut wide), "square");
    let mut unsorted = csr((2, 2), &[0, 1, 3], &[0, 1, 0]);
    refused(sparse.ilu0(&mut unsorted), "not sorted");
    refused(sparse.spsv(unsorted.view().lower().unwrap()), "not sorted");
    let lower = csr((2, 2), &[0, 1, 3], &[0, 0, 1]);
    let mut solver = sparse.spsv(lower.view().lower().unwrap()).unwrap();
    let vector = |len| DeviceBuffer::<f32>::zeroed(&device, len).unwrap();
    refused(solver.solve(1.0, &vector(3), &mut vector(2)), "length of x");
    refused(solver.solve(1.0, &vector(2), &mut vector(1)), "length of y");
    let matrix = |rows, cols| MatrixBuffer::<f32>::zeroed(&device, rows, cols).unwrap();
    let mut x = matrix(2, 2);
    let mut solver = sparse.spsm(lower.view().lower().unwrap(), &matrix(2, 2).view(), &x.view_mut()).unwrap();
    refused(solver.solve(1.0, &matrix(2, 3), &mut matrix(2, 3)), "layout");
    refused(solver.solve(1.0, &matrix(3, 2), &mut x), "rows of B");
    let blocks = format::Bsr { rows: 1, cols: 2, order: hipsparse::BlockOrder::Rows };
    let entries: Entries<f32> = laplacian_2d(2, 2);
    let mut bsr = entries.bsr(&device, Base::Zero, blocks);
    refused(sparse.ilu0(&mut bsr), "square");
}

/// Returns the row of the error.
#[track_caller]
fn pivot_of<R>(result: hipsparse::Result<R>, words: &str) -> usize {
    match result {
        Err(Error::ZeroPivot { routine, row }) => {
            let text = Error::ZeroPivot { routine, row }.to_string();
            assert!(text.contains(words), "{text}");
            row
        }
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was accepted"),
    }
}

/// All elements of a dense matrix, row after row, zeros included.
fn full<T: Number + Value>(device: &Device, order: usize, base: Base, elements: &[f64]) -> Csr<T> {
    let shift = i32::from(base == Base::One);
    let offsets: Vec<i32> = (0..=order).map(|row| (row * order) as i32 + shift).collect();
    let cols: Vec<i32> = (0..order * order).map(|at| (at % order) as i32 + shift).collect();
    Csr::from_host(device, (order, order), base, &offsets, &cols, &narrowed::<T>(elements)).unwrap()
}

fn narrowed<T: Number>(elements: &[f64]) -> Vec<T> {
    elements.iter().map(|&x| T::narrow(x.into())).collect()
}

const NAN: f64 = f64::NAN;
const INFINITY: f64 = f64::INFINITY;

/// Row-major matrices without a factor, and the row with the first wrong pivot.
const NOT_POSITIVE: [(usize, &[f64], usize); 9] = [
    (1, &[-4.0], 0),
    (1, &[0.0], 0),
    (1, &[NAN], 0),
    (1, &[INFINITY], 0),
    (2, &[1.0, 2.0, 2.0, 1.0], 1),
    (2, &[-1.0, 2.0, 2.0, 1.0], 0),
    (2, &[4.0, 2.0, NAN, 9.0], 1),
    (3, &[4.0, 2.0, 0.0, 2.0, 5.0, 2.0, 0.0, 2.0, 1.0], 2),
    (4, &[9.0, 0.0, 3.0, 0.0, 0.0, 9.0, 0.0, 3.0, 3.0, 0.0, 0.5, 0.0, 0.0, 3.0, 0.0, 2.0], 2),
];

fn not_positive<T: Number + Value>(device: &Device, sparse: &Sparse, _: &mut Rng) {
    for base in [Base::Zero, Base::One] {
        for (order, elements, wanted) in NOT_POSITIVE {
            let mut a = full::<T>(device, order, base, elements);
            let factors = sparse.ic0(&mut a).unwrap().factorize().unwrap();
            assert_eq!(pivot_of(factors.wait(), "positive"), wanted, "{elements:?}, {base:?}");
            assert_eq!(pivot_of(factors.wait(), "positive"), wanted, "{elements:?}, {base:?}, again");
        }
        // Other values, with a factor and without.
        let mut a = full::<T>(device, 2, base, &[1.0, 2.0, 2.0, 1.0]);
        let mut factors = sparse.ic0(&mut a).unwrap().factorize().unwrap();
        for (elements, wanted) in [([4.0, 2.0, 2.0, 2.0], None), ([1.0, 2.0, 2.0, 1.0], Some(1)), ([9.0; 4], Some(1))] {
            let values = DeviceBuffer::from_slice(device, &narrowed::<T>(&elements)).unwrap();
            factors.refactorize(&values).unwrap();
            match wanted {
                None => factors.wait().unwrap(),
                Some(row) => assert_eq!(pivot_of(factors.wait(), "positive"), row, "{elements:?}"),
            }
        }
        drop(factors);
        // In the upper triangle, which is not used.
        let mut a = full::<T>(device, 2, base, &[4.0, NAN, 2.0, 2.0]);
        sparse.ic0(&mut a).unwrap().factorize().unwrap().wait().unwrap();
        // Blocks of 2 x 2: the error has the row of blocks.
        for order in [hipsparse::BlockOrder::Rows, hipsparse::BlockOrder::Columns] {
            let block = format::Bsr { rows: 2, cols: 2, order };
            let factors_of = |last: [f64; 4]| {
                let mut dense = [0.0; 16];
                dense[0] = 4.0;
                dense[5] = 4.0;
                (dense[10], dense[11], dense[14], dense[15]) = (last[0], last[1], last[2], last[3]);
                let csr = full::<T>(device, 4, base, &dense);
                let mut a = sparse.csr_to_bsr(&csr, block).unwrap();
                let factors = sparse.ic0(&mut a).unwrap().factorize().unwrap();
                factors.wait()
            };
            factors_of([4.0, 2.0, 2.0, 2.0]).unwrap();
            for last in [[1.0, 2.0, 2.0, 1.0], [-4.0, 0.0, 0.0, 1.0], [4.0, 2.0, 2.0, NAN]] {
                assert_eq!(pivot_of(factors_of(last), "positive"), 1, "{last:?}, {order:?}, {base:?}");
            }
        }
    }
}

#[test]
fn matrices_that_are_not_positive_definite_have_no_ic0() {
    for_all_types!(not_positive);
}

fn not_finite<T: Number + Value>(device: &Device, sparse: &Sparse, _: &mut Rng) {
    for base in [Base::Zero, Base::One] {
        let cases: [(usize, &[f64], usize); 6] = [
            (1, &[NAN], 0),
            (1, &[INFINITY], 0),
            (2, &[1.0, NAN, 0.0, 1.0], 0),
            (2, &[1.0, 1.0, NAN, 1.0], 1),
            (2, &[0.0, 1.0, 1.0, 0.0], 0),
            (2, &[2.0, 2.0, 2.0, 2.0], 1),
        ];
        for (order, elements, wanted) in cases {
            let mut a = full::<T>(device, order, base, elements);
            let factors = sparse.ilu0(&mut a).unwrap().factorize().unwrap();
            assert_eq!(pivot_of(factors.wait(), "ILU(0)"), wanted, "{elements:?}, {base:?}");
        }
        // Pivots of ILU(0) may be negative.
        let mut a = full::<T>(device, 2, base, &[1.0, 2.0, 2.0, 1.0]);
        sparse.ilu0(&mut a).unwrap().factorize().unwrap().wait().unwrap();
        let csr = full::<T>(device, 2, base, &[1.0, 2.0, NAN, 1.0]);
        let mut a = sparse.csr_to_bsr(&csr, format::Bsr::square(2)).unwrap();
        let factors = sparse.ilu0(&mut a).unwrap().factorize().unwrap();
        assert_eq!(pivot_of(factors.wait(), "ILU(0)"), 0, "blocks, {base:?}");
    }
}

#[test]
fn numbers_that_are_not_finite_are_errors_of_ilu0() {
    for_all_types!(not_finite);
}

fn generic_pivots<T: Number + Value, I: Narrow>(device: &Device, sparse: &Sparse, base: Base) {
    // The last diagonal is not stored, or the second one is zero.
    let stored = |entries: &[(usize, usize, f64)]| Entries::<T> {
        rows: 3,
        cols: 3,
        entries: entries.iter().map(|&(row, col, value)| (row, col, T::narrow(value.into()))).collect(),
    };
    let cases = [
        (stored(&[(0, 0, 1.0), (1, 0, 2.0), (1, 1, 3.0), (2, 1, 4.0)]), Some(2)),
        (stored(&[(0, 0, 1.0), (1, 0, 2.0), (1, 1, 0.0), (2, 2, 4.0)]), Some(1)),
        (stored(&[(0, 0, 1.0), (1, 1, -0.0)]), Some(1)),
        (stored(&[]), Some(0)),
        (stored(&[(0, 0, 1.0), (0, 2, 0.0), (1, 0, 2.0), (1, 1, -3.0), (2, 2, 1e-30)]), None),
    ];
    for (entries, wanted) in cases {
        let (csr, coo) = (entries.csr::<I>(device, base), entries.coo::<I>(device, base));
        let (b, mut x) =
            (MatrixBuffer::<T>::zeroed(device, 3, 2).unwrap(), MatrixBuffer::<T>::zeroed(device, 3, 2).unwrap());
        let views = [csr.view(), csr.t()];
        for triangle in views.iter().flat_map(|view| [view.lower().unwrap(), view.upper().unwrap()]) {
            let (vector, matrix) =
                (sparse.spsv(triangle).map(drop), sparse.spsm(triangle, &b.view(), &x.view_mut()).map(drop));
            match wanted {
                Some(row) => {
                    assert_eq!(pivot_of(vector, "spsv"), row, "{triangle:?}");
                    assert_eq!(pivot_of(matrix, "spsm"), row, "{triangle:?}");
                }
                None => {
                    vector.unwrap();
                    matrix.unwrap();
                }
            }
            // The stored diagonal is not used.
            sparse.spsv(triangle.unit()).map(drop).unwrap();
            sparse.spsm(triangle.unit(), &b.view(), &x.view_mut()).map(drop).unwrap();
        }
        let solver = sparse.spsv(coo.view().lower().unwrap()).map(drop);
        match wanted {
            Some(row) => assert_eq!(pivot_of(solver, "spsv"), row, "COO"),
            None => solver.unwrap(),
        }
    }
}

fn all_generic_pivots<T: Number + Value>(device: &Device, sparse: &Sparse, _: &mut Rng) {
    generic_pivots::<T, i32>(device, sparse, Base::Zero);
    generic_pivots::<T, i32>(device, sparse, Base::One);
    generic_pivots::<T, i64>(device, sparse, Base::Zero);
}

#[test]
fn triangles_without_a_pivot_are_errors_of_the_analysis() {
    for_all_types!(all_generic_pivots);
}

fn older_pivots<T: Number + Value>(device: &Device, sparse: &Sparse, _: &mut Rng) {
    let x = DeviceBuffer::from_slice(device, &[T::ONE; 4]).unwrap();
    let mut y = DeviceBuffer::<T>::zeroed(device, 4).unwrap();
    for (base, zero) in [(Base::Zero, 1), (Base::One, 2), (Base::Zero, 3)] {
        let mut elements = [0.5; 16];
        (0..4).for_each(|at| elements[at * 5] = if at == zero { 0.0 } else { 2.0 });
        let csr = full::<T>(device, 4, base, &elements);
        for view in [csr.view(), csr.t()] {
            for triangle in [view.lower().unwrap(), view.upper().unwrap()] {
                let mut solver = sparse.triangular(triangle).unwrap();
                solver.solve(T::ONE, &x, &mut y).unwrap();
                assert_eq!(pivot_of(solver.wait(), "a triangular solve"), zero, "{triangle:?}");
                let mut b = MatrixBuffer::<T>::zeroed(device, 4, 2).unwrap();
                assert_eq!(pivot_of(sparse.csrsm(T::ONE, triangle, &mut b), "csrsm"), zero, "{triangle:?}");
            }
        }
        for order in [hipsparse::BlockOrder::Rows, hipsparse::BlockOrder::Columns] {
            let bsr = sparse.csr_to_bsr(&csr, format::Bsr { rows: 2, cols: 2, order }).unwrap();
            for triangle in [bsr.view().lower().unwrap(), bsr.view().upper().unwrap()] {
                let mut solver = sparse.triangular(triangle).unwrap();
                solver.solve(T::ONE, &x, &mut y).unwrap();
                assert_eq!(pivot_of(solver.wait(), "a triangular solve"), zero / 2, "{triangle:?}");
                let b = MatrixBuffer::<T>::zeroed(device, 4, 2).unwrap();
                let mut x = MatrixBuffer::<T>::zeroed(device, 4, 2).unwrap();
                assert_eq!(pivot_of(sparse.bsrsm(T::ONE, triangle, &b, &mut x), "bsrsm"), zero / 2, "{triangle:?}");
            }
        }
    }
}

#[test]
fn zero_pivots_of_older_solves_are_errors_in_each_triangle() {
    for_all_types!(older_pivots);
}

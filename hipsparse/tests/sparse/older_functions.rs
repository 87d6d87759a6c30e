//! The older functions, most of which a generic one replaces: against dense references.

use hip::{Device, DeviceBuffer};
use hipsparse::{
    Base, BlockOrder, ComplexValue, Csr, Error, HybPartition, MatrixBuffer, RealValue, SpVec, Sparse, Value, format,
};
use linalg_testing::{Host, Number, Rng, assert_close};

use crate::bad_input::refused;
use crate::{
    Entries, Narrow, STRUCTURES, column, column_of, dense_of, dominant, download, for_all_types, places, random,
    sparse, structure,
};

/// A sparse vector of `len` elements: some indices, their values, and the vector on the device.
fn vector<T: Number + Value>(device: &Device, rng: &mut Rng, len: usize, base: Base) -> (Vec<usize>, Vec<T>, SpVec<T>) {
    let places: Vec<usize> = (0..len).filter(|_| rng.below(3) == 0).collect();
    let values = rng.numbers::<T>(places.len());
    let indices: Vec<i32> = places.iter().map(|&place| Narrow::of(place, base)).collect();
    let made = SpVec::from_host(device, len, base, &indices, &values).unwrap();
    (places, values, made)
}

fn vectors<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for (len, base) in [(1, Base::Zero), (40, Base::One), (700, Base::Zero)] {
        let (places, values, mut x) = vector::<T>(device, rng, len, base);
        let (y, y_host) = column::<T>(device, rng, len);
        let before = y.to_vec().unwrap();
        // α x + y
        let alpha: T = rng.number();
        let mut sum = y.try_clone().unwrap();
        sparse.axpyi(alpha, &x, &mut sum).unwrap();
        let dense = Host::from_fn(len, 1, |row, _| {
            places.iter().position(|&place| place == row).map_or(0.0.into(), |at| values[at].wide())
        });
        let want = dense.scale(alpha.wide()).add(&y_host);
        let size = dense.abs().scale(alpha.wide().norm().into()).add(&y_host.abs());
        assert_close::<T>("axpyi", &column_of(&sum), &want, &size, 2);
        let dot = Host::from_fn(1, 1, |_, _| sparse.doti(&x, &y).unwrap().wide());
        let size = dense.t().abs().mul(&y_host.abs());
        assert_close::<T>("doti", &dot, &dense.t().mul(&y_host), &size, len);
        // The scattered, gathered, and gathered-and-zeroed elements.
        let mut to = y.try_clone().unwrap();
        sparse.sctr(&x, &mut to).unwrap();
        let mut expected = before.clone();
        places.iter().zip(&values).for_each(|(&place, &value)| expected[place] = value);
        assert_eq!(to.to_vec().unwrap(), expected, "sctr");
        sparse.gthr(&y, &mut x).unwrap();
        assert_eq!(x.values().to_vec().unwrap(), places.iter().map(|&place| before[place]).collect::<Vec<_>>(), "gthr");
        sparse.gthrz(&mut to, &mut x).unwrap();
        assert_eq!(x.values().to_vec().unwrap(), values, "gthrz");
        places.iter().for_each(|&place| expected[place] = T::ZERO);
        assert_eq!(to.to_vec().unwrap(), expected, "gthrz");
        refused(sparse.axpyi(alpha, &x, &mut DeviceBuffer::<T>::zeroed(device, len + 1).unwrap()), "length of y");
        refused(sparse.doti(&x, &DeviceBuffer::<T>::zeroed(device, len + 1).unwrap()), "length of y");
    }
}

#[test]
fn sparse_vectors_of_the_older_functions() {
    for_all_types!(vectors);
}

fn conjugates<T: Number + ComplexValue>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    let (_, _, x) = vector::<T>(device, rng, 90, Base::One);
    let (y, _) = column::<T>(device, rng, 90);
    // Other tests compare the generic function with a reference.
    let one = |number: T| Host::from_fn(1, 1, |_, _| number.wide());
    let (older, generic) = (one(sparse.dotci(&x, &y).unwrap()), one(sparse.spvv_conj(&x, &y).unwrap()));
    assert_close::<T>("dotci", &older, &generic, &Host::from_fn(1, 1, |_, _| 90.0.into()), 90);
}

fn rotations<T: Number + RealValue>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    let (_, _, mut x) = vector::<T>(device, rng, 90, Base::Zero);
    let mut other = SpVec::from_host(device, 90, Base::Zero, &x.to_vecs().unwrap().0, &x.to_vecs().unwrap().1).unwrap();
    let (mut y, _) = column::<T>(device, rng, 90);
    let mut z = y.try_clone().unwrap();
    let (c, s): (T, T) = (T::narrow(0.6.into()), T::narrow(0.8.into()));
    sparse.roti(c, s, &mut x, &mut y).unwrap();
    sparse.rot(c, s, &mut other, &mut z).unwrap();
    assert_eq!(y.to_vec().unwrap(), z.to_vec().unwrap());
    assert_eq!(x.to_vecs().unwrap(), other.to_vecs().unwrap());
}

#[test]
fn conjugates_and_rotations() {
    let Some((device, sparse)) = sparse() else { return };
    let mut rng = Rng::new(11);
    conjugates::<num_complex::Complex32>(&device, &sparse, &mut rng);
    conjugates::<num_complex::Complex64>(&device, &sparse, &mut rng);
    rotations::<f32>(&device, &sparse, &mut rng);
    rotations::<f64>(&device, &sparse, &mut rng);
}

fn products<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for index in 0..STRUCTURES + 1 {
        let entries: Entries<T> = structure(index, rng);
        let host = entries.host();
        let base = if index % 2 == 0 { Base::Zero } else { Base::One };
        let csr = entries.csr::<i32>(device, base);
        let (alpha, beta): (T, T) = (rng.number(), rng.number());
        let norm = alpha.wide().norm();
        for (a, host) in [(csr.view(), host.clone()), (csr.t(), host.t()), (csr.h(), host.h())] {
            let ((x, x_host), (mut y, y_host)) =
                (column::<T>(device, rng, host.cols), column::<T>(device, rng, host.rows));
            sparse.csrmv(alpha, a, &x, beta, &mut y).unwrap();
            let want = host.mul(&x_host).scale(alpha.wide()).add(&y_host.scale(beta.wide()));
            let size = host.abs().mul(&x_host.abs()).scale(norm.into()).add(&y_host.abs());
            assert_close::<T>(&format!("csrmv {a:?}"), &column_of(&y), &want, &size, host.cols + 2);
        }
        let ((b, b_host), (mut c, c_host)) =
            (random::<T>(device, rng, host.cols, 3), random(device, rng, host.rows, 3));
        let want = host.mul(&b_host).scale(alpha.wide()).add(&c_host.scale(beta.wide()));
        let size = host.abs().mul(&b_host.abs()).scale(norm.into()).add(&c_host.abs());
        let mut other = copied(device, &c);
        sparse.csrmm(alpha, &csr, &b, beta, &mut c).unwrap();
        assert_close::<T>(&format!("csrmm {index}"), &download(&c), &want, &size, host.cols + 2);
        let turned = b_host.t();
        let elements: Vec<T> = turned.data.iter().map(|&element| T::narrow(element)).collect();
        let turned = MatrixBuffer::from_columns(device, &elements, turned.rows, turned.cols).unwrap();
        sparse.csrmm(alpha, &csr, turned.t(), beta, &mut other).unwrap();
        assert_close::<T>(&format!("csrmm2 {index}"), &download(&other), &want, &size, host.cols + 2);
    }
}

fn copied<T: Number>(device: &Device, matrix: &MatrixBuffer<T>) -> MatrixBuffer<T> {
    MatrixBuffer::from_columns(device, &matrix.to_vec().unwrap(), matrix.rows(), matrix.cols()).unwrap()
}

#[test]
fn products_of_the_older_functions() {
    for_all_types!(products);
}

fn some_rows<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for (size, order, base) in
        [(2, BlockOrder::Rows, Base::Zero), (3, BlockOrder::Columns, Base::One), (4, BlockOrder::Rows, Base::Zero)]
    {
        let some = places(24, 90, rng);
        let entries: Entries<T> = Entries::new(24, 24, some, rng);
        let block = format::Bsr { rows: size, cols: size, order };
        let (a, host) = (entries.bsr(device, base, block), entries.host());
        let ((x, x_host), (mut y, y_host)) = (column::<T>(device, rng, 24), column::<T>(device, rng, 24));
        let (alpha, beta): (T, T) = (rng.number(), rng.number());
        sparse.bsrxmv(&[3, 0, 5], alpha, &a, &x, beta, &mut y).unwrap();
        let all = host.mul(&x_host).scale(alpha.wide()).add(&y_host.scale(beta.wide()));
        let size_of = host.abs().mul(&x_host.abs()).scale(alpha.wide().norm().into()).add(&y_host.abs());
        let touched = |row: usize| [0, 3, 5].contains(&(row / size));
        let want = Host::from_fn(24, 1, |row, _| if touched(row) { all.at(row, 0) } else { y_host.at(row, 0) });
        assert_close::<T>("bsrxmv", &column_of(&y), &want, &size_of, 26);
        refused(sparse.bsrxmv(&[24 / size], alpha, &a, &x, beta, &mut y), "row of blocks");
        refused(sparse.bsrxmv(&[1, 1], alpha, &a, &x, beta, &mut y), "twice");
        let before = y.to_vec().unwrap();
        sparse.bsrxmv(&[], alpha, &a, &x, beta, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), before);
    }
}

#[test]
fn some_rows_of_blocks() {
    for_all_types!(some_rows);
}

fn solves<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for base in [Base::Zero, Base::One] {
        let some = places(24, 70, rng);
        let entries: Entries<T> = dominant(24, some, rng);
        let host = entries.host();
        let csr = entries.csr::<i32>(device, base);
        let alpha: T = T::narrow(0.5.into());
        let (b, b_host) = random::<T>(device, rng, 24, 3);
        let want = b_host.scale(alpha.wide());
        let check = |what: &str, a: &Host, x: &Host| {
            let size = a.abs().mul(&x.abs()).add(&want.abs());
            assert_close::<T>(what, &a.mul(x), &want, &size, 26);
        };
        for (triangle, a) in [
            (csr.view().lower().unwrap(), host.triangle(true, false)),
            (csr.view().upper().unwrap().unit(), host.triangle(false, true)),
            (csr.t().upper().unwrap(), host.triangle(true, false).t()),
        ] {
            let mut x = copied(device, &b);
            sparse.csrsm(alpha, triangle, &mut x).unwrap();
            check(&format!("csrsm {triangle:?}"), &a, &download(&x));
        }
        for order in [BlockOrder::Rows, BlockOrder::Columns] {
            let bsr = entries.bsr(device, base, format::Bsr { rows: 3, cols: 3, order });
            for (triangle, a) in [
                (bsr.view().lower().unwrap(), host.triangle(true, false)),
                (bsr.view().upper().unwrap(), host.triangle(false, false)),
            ] {
                let mut x = MatrixBuffer::<T>::zeroed(device, 24, 3).unwrap();
                sparse.bsrsm(alpha, triangle, &b, &mut x).unwrap();
                check(&format!("bsrsm {triangle:?}"), &a, &download(&x));
            }
        }
        refused(
            sparse.csrsm(alpha, csr.view().lower().unwrap(), &mut MatrixBuffer::zeroed(device, 23, 3).unwrap()),
            "rows of B",
        );
    }
}

#[test]
fn several_right_hand_sides() {
    for_all_types!(solves);
}

#[test]
fn a_zero_on_the_diagonal_is_told_with_its_row() {
    let Some((device, sparse)) = sparse() else { return };
    // 1 0 / 2 0
    let a = Csr::from_host(&device, (2, 2), Base::Zero, &[0, 1, 3], &[0, 0, 1], &[1.0_f64, 2.0, 0.0]).unwrap();
    let mut b = MatrixBuffer::from_columns(&device, &[1.0, 2.0, 3.0, 4.0], 2, 2).unwrap();
    let error = sparse.csrsm(1.0, a.view().lower().unwrap(), &mut b).unwrap_err();
    assert!(matches!(error, Error::ZeroPivot { row: 1, .. }), "{error}");
    let bsr = sparse.csr_to_bsr(&a, format::Bsr::square(1)).unwrap();
    let mut x = MatrixBuffer::<f64>::zeroed(&device, 2, 2).unwrap();
    let error = sparse.bsrsm(1.0, bsr.view().lower().unwrap(), &b, &mut x).unwrap_err();
    assert!(matches!(error, Error::ZeroPivot { row: 1, .. }), "{error}");
}

fn conversions<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for index in 0..STRUCTURES + 1 {
        let entries: Entries<T> = structure(index, rng);
        let host = entries.host();
        let base = if index % 2 == 0 { Base::Zero } else { Base::One };
        let (csr, csc) = (entries.csr::<i32>(device, base), entries.csc::<i32>(device, base));
        let turned = sparse.csr2csc(&csr).unwrap();
        assert_eq!(turned.to_vecs().unwrap(), csc.to_vecs().unwrap(), "csr2csc {index}");
        let mut dense = MatrixBuffer::<T>::zeroed(device, host.rows, host.cols).unwrap();
        sparse.csr2dense(&csr, &mut dense).unwrap();
        assert_eq!(download(&dense), host, "csr2dense {index}");
        let mut dense = MatrixBuffer::<T>::zeroed(device, host.rows, host.cols).unwrap();
        sparse.csc2dense(&csc, &mut dense).unwrap();
        assert_eq!(download(&dense), host, "csc2dense {index}");
        assert_eq!(dense_of(&sparse.dense2csr(&dense).unwrap()), host, "dense2csr {index}");
        let back = sparse.dense2csc(&dense).unwrap();
        back.validate().unwrap();
        let (_, _, values) = back.to_vecs().unwrap();
        // Zeros that are stored are not in the dense matrix.
        let stored = csc.to_vecs().unwrap().2.into_iter().filter(|value| *value != T::ZERO);
        assert_eq!(values, stored.collect::<Vec<_>>(), "dense2csc {index}");
        assert_eq!(dense_of(&sparse.csc_to_csr(&back).unwrap()), host, "dense2csc {index}");
    }
}

#[test]
fn conversions_of_the_older_functions() {
    for_all_types!(conversions);
}

fn sums<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for index in 0..STRUCTURES + 1 {
        let left: Entries<T> = structure(index, rng);
        let some = places(left.cols.max(9), 40, rng);
        let right: Entries<T> =
            Entries::new(left.cols, 9, some.into_iter().map(|(row, col)| (row % left.cols, col % 9)), rng);
        let some = places(left.rows.max(9), 30, rng);
        let third: Entries<T> =
            Entries::new(left.rows, 9, some.into_iter().map(|(row, col)| (row % left.rows, col % 9)), rng);
        let base = if index % 2 == 0 { Base::Zero } else { Base::One };
        let (a, b, d) = (left.csr::<i32>(device, base), right.csr::<i32>(device, base), third.csr::<i32>(device, base));
        let (a_host, b_host, d_host) = (left.host(), right.host(), third.host());
        let size = a_host.abs().mul(&b_host.abs());
        let made = sparse.csrgemm(&a, &b).unwrap();
        assert_close::<T>(&format!("csrgemm {index}"), &dense_of(&made), &a_host.mul(&b_host), &size, left.cols);
        let (alpha, beta): (T, T) = (rng.number(), rng.number());
        let made = sparse.csrgemm_add(alpha, &a, &b, beta, &d).unwrap();
        let want = a_host.mul(&b_host).scale(alpha.wide()).add(&d_host.scale(beta.wide()));
        let size = size.scale(2.0.into()).add(&d_host.abs().scale(2.0.into()));
        assert_close::<T>(&format!("csrgemm2 {index}"), &dense_of(&made), &want, &size, left.cols + 2);
        let some = places(left.rows.max(left.cols), 50, rng);
        let other: Entries<T> = Entries::new(
            left.rows,
            left.cols,
            some.into_iter().map(|(row, col)| (row % left.rows, col % left.cols)),
            rng,
        );
        let made = sparse.csrgeam(alpha, &a, beta, &other.csr::<i32>(device, base)).unwrap();
        let want = a_host.scale(alpha.wide()).add(&other.host().scale(beta.wide()));
        let size = a_host.abs().add(&other.host().abs()).scale(2.0.into());
        assert_close::<T>(&format!("csrgeam {index}"), &dense_of(&made), &want, &size, 2);
    }
}

#[test]
fn sums_and_products_of_the_older_functions() {
    for_all_types!(sums);
}

fn sorts<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for base in [Base::Zero, Base::One] {
        let shift = i32::from(base == Base::One);
        let offsets = [0, 3, 3, 5].map(|offset| offset + shift);
        let cols = [4, 0, 2, 3, 1].map(|col| col + shift);
        let values = rng.numbers::<T>(5);
        let unsorted = Csr::from_host(device, (3, 5), base, &offsets, &cols, &values).unwrap();
        let mut sorted = sparse.sort_to_undo(unsorted).unwrap();
        assert!(sorted.matrix().is_sorted());
        sorted.matrix().validate().unwrap();
        let order = [1, 2, 0, 4, 3];
        let (_, found, found_values) = sorted.matrix().to_vecs().unwrap();
        assert_eq!(found, order.map(|at| cols[at]));
        assert_eq!(found_values, order.map(|at| values[at]));
        // Other values go back with their entries.
        let doubled: Vec<T> = found_values.iter().map(|value| T::narrow(value.wide() * 2.0)).collect();
        sorted.values_mut().copy_from_slice(&doubled).unwrap();
        let back = sorted.undo().unwrap();
        let (_, found, found_values) = back.to_vecs().unwrap();
        assert_eq!(found, cols);
        assert_eq!(found_values, values.iter().map(|value| T::narrow(value.wide() * 2.0)).collect::<Vec<_>>());
        assert!(!back.is_sorted());
    }
}

#[test]
fn sorts_are_undone() {
    for_all_types!(sorts);
}

fn hybrids<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for index in [0, 3, 8, 9, 10, 11] {
        let entries: Entries<T> = structure(index, rng);
        let host = entries.host();
        let csr = entries.csr::<i32>(device, if index % 2 == 0 { Base::Zero } else { Base::One });
        // The library rejects an ELL part that is more than twice as wide as the average row.
        let wide = [8, 9, 10].contains(&index).then_some(HybPartition::Max);
        for partition in [HybPartition::Auto, HybPartition::Width(1)].into_iter().chain(wide) {
            let hyb = sparse.csr_to_hyb(&csr, partition).unwrap();
            assert_eq!((hyb.rows(), hyb.cols()), (host.rows, host.cols));
            let ((x, x_host), (mut y, y_host)) =
                (column::<T>(device, rng, host.cols), column::<T>(device, rng, host.rows));
            let (alpha, beta): (T, T) = (rng.number(), rng.number());
            hyb.multiply(alpha, &x, beta, &mut y).unwrap();
            let want = host.mul(&x_host).scale(alpha.wide()).add(&y_host.scale(beta.wide()));
            let size = host.abs().mul(&x_host.abs()).scale(alpha.wide().norm().into()).add(&y_host.abs());
            assert_close::<T>(&format!("{hyb:?}"), &column_of(&y), &want, &size, host.cols + 2);
            assert_eq!(dense_of(&hyb.to_csr().unwrap()), host, "{hyb:?}");
        }
    }
}

#[test]
fn hybrid_matrices() {
    for_all_types!(hybrids);
}

//! Products, against dense references.

use hip::{Device, DeviceBuffer};
use hipsparse::{Base, MatrixMut, MatrixRef, SpMatRef, SpVec, Sparse, Value, format::Generic};
use linalg_testing::{Host, Number, Rng, assert_close};

use crate::{Entries, Narrow, STRUCTURES, column, column_of, dense_of, download, for_all_types, random, structure};

/// A, Aᵀ or Aᴴ.
fn viewed<'a, F: Generic, T: Value, I: Narrow>(
    a: SpMatRef<'a, F, T, I>,
    host: &Host,
    op: usize,
) -> (SpMatRef<'a, F, T, I>, Host) {
    match op {
        0 => (a, host.clone()),
        1 => (a.t(), host.t()),
        _ => (a.h(), host.h()),
    }
}

fn check_spmv<F: Generic, T: Number + Value, I: Narrow>(
    device: &Device,
    sparse: &Sparse,
    rng: &mut Rng,
    a: SpMatRef<'_, F, T, I>,
    host: &Host,
    planned: bool,
) {
    for op in 0..3 {
        let (a, host) = viewed(a, host, op);
        let ((x, x_host), (mut y, y_host)) = (column::<T>(device, rng, host.cols), column::<T>(device, rng, host.rows));
        let (alpha, beta): (T, T) = (rng.number(), rng.number());
        if planned {
            let mut plan = sparse.spmv_plan(a).unwrap();
            // The second time, the plan is used again.
            let mut scratch = y.try_clone().unwrap();
            plan.run(alpha, &x, beta, &mut scratch).unwrap();
            plan.run(alpha, &x, beta, &mut y).unwrap();
        } else {
            sparse.spmv(alpha, a, &x, beta, &mut y).unwrap();
        }
        let want = host.mul(&x_host).scale(alpha.wide()).add(&y_host.scale(beta.wide()));
        let size = host.abs().mul(&x_host.abs()).scale(alpha.wide().norm().into()).add(&y_host.abs());
        assert_close::<T>(&format!("spmv op {op} {a:?}"), &column_of(&y), &want, &size, host.cols + 2);
    }
}

fn spmv<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng, planned: bool) {
    for index in 0..STRUCTURES + 2 {
        let entries: Entries<T> = structure(index, rng);
        let host = entries.host();
        let base = if index % 2 == 0 { Base::Zero } else { Base::One };
        check_spmv(device, sparse, rng, entries.csr::<i32>(device, base).view(), &host, planned);
        check_spmv(device, sparse, rng, entries.coo::<i32>(device, base).view(), &host, planned);
        if index % 3 == 0 {
            check_spmv(device, sparse, rng, entries.csc::<i32>(device, base).view(), &host, planned);
            check_spmv(device, sparse, rng, entries.csr::<i64>(device, base).view(), &host, planned);
            check_spmv(device, sparse, rng, entries.csc::<i64>(device, base).view(), &host, planned);
            check_spmv(device, sparse, rng, entries.coo::<i64>(device, base).view(), &host, planned);
        }
    }
}

#[test]
fn sparse_matrices_times_vectors() {
    for_all_types!(spmv, false);
}

#[test]
fn prepared_products_with_vectors() {
    for_all_types!(spmv, true);
}

#[allow(clippy::too_many_arguments, reason = "what a product is of")]
fn check_spmm<F: Generic, T: Number + Value, I: Narrow>(
    device: &Device,
    sparse: &Sparse,
    rng: &mut Rng,
    a: SpMatRef<'_, F, T, I>,
    host: &Host,
    op: usize,
    cols: usize,
) {
    let (a, host) = viewed(a, host, op);
    for layout in 0..4 {
        let (b_transposed, c_transposed) = (layout % 2 == 1, layout / 2 == 1);
        let shape = |rows: usize, transposed: bool| if transposed { (cols, rows) } else { (rows, cols) };
        let ((b_rows, b_cols), (c_rows, c_cols)) = (shape(host.cols, b_transposed), shape(host.rows, c_transposed));
        let (b, b_host) = random::<T>(device, rng, b_rows, b_cols);
        let (mut c, c_host) = random::<T>(device, rng, c_rows, c_cols);
        let (b_view, b_host) = if b_transposed { (b.t(), b_host.t()) } else { (b.view(), b_host) };
        let (alpha, beta): (T, T) = (rng.number(), rng.number());
        let c_view = if c_transposed { c.view_mut().t() } else { c.view_mut() };
        if layout == 3 {
            let mut plan = sparse.spmm_plan(a, &b_view, &c_view).unwrap();
            plan.run(alpha, b_view, beta, c_view).unwrap();
        } else {
            sparse.spmm(alpha, a, b_view, beta, c_view).unwrap();
        }
        let turned = |host: Host| if c_transposed { host.t() } else { host };
        let (c_host, got) = (turned(c_host), turned(download(&c)));
        let want = host.mul(&b_host).scale(alpha.wide()).add(&c_host.scale(beta.wide()));
        let size = host.abs().mul(&b_host.abs()).scale(alpha.wide().norm().into()).add(&c_host.abs());
        assert_close::<T>(&format!("spmm op {op} layout {layout} {a:?}"), &got, &want, &size, host.cols + 2);
    }
}

fn spmm<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for index in [0, 2, 3, 4, 8, STRUCTURES] {
        let entries: Entries<T> = structure(index, rng);
        let host = entries.host();
        let base = if index % 2 == 0 { Base::Zero } else { Base::One };
        let (op, cols) = (index % 3, 1 + rng.below(9));
        check_spmm(device, sparse, rng, entries.csr::<i32>(device, base).view(), &host, op, cols);
        check_spmm(device, sparse, rng, entries.csr::<i64>(device, base).view(), &host, (op + 1) % 3, cols);
        check_spmm(device, sparse, rng, entries.coo::<i32>(device, base).view(), &host, op, cols);
        check_spmm(device, sparse, rng, entries.csc::<i32>(device, base).view(), &host, op, cols);
    }
}

#[test]
fn sparse_matrices_times_dense_ones() {
    for_all_types!(spmm);
}

fn blocked_ell<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    let places: Vec<_> = (0..20).map(|_| (rng.below(12), rng.below(20))).collect();
    let entries: Entries<T> = Entries::new(12, 20, places, rng);
    let host = entries.host();
    for (block, base) in [(2, Base::Zero), (4, Base::One)] {
        let a = entries.blocked_ell::<i32>(device, base, block);
        check_spmm(device, sparse, rng, a.view(), &host, 0, 5);
    }
}

#[test]
fn blocked_ell_times_dense_matrices() {
    for_all_types!(blocked_ell);
}

fn batches<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    let entries: Entries<T> = structure(8, rng);
    let (host, n) = (entries.host(), entries.rows);
    let (b, c) = (rng.numbers::<T>(n * 3 * 4), rng.numbers::<T>(n * 3 * 4));
    let b_memory = DeviceBuffer::from_slice(device, &b).unwrap();
    for coordinates in [false, true] {
        let mut c_memory = DeviceBuffer::from_slice(device, &c).unwrap();
        let in_b = MatrixRef::strided_batch(&b_memory, (n, 3, n), n * 3, 4).unwrap();
        let in_c = MatrixMut::strided_batch(&mut c_memory, (n, 3, n), n * 3, 4).unwrap();
        let one = T::ONE;
        if coordinates {
            sparse.spmm(one, &entries.coo::<i32>(device, Base::Zero), in_b, one, in_c).unwrap();
        } else {
            sparse.spmm(one, &entries.csr::<i32>(device, Base::Zero), in_b, one, in_c).unwrap();
        }
        let got = c_memory.to_vec().unwrap();
        for member in 0..4 {
            let part = |all: &[T]| Host::of(&all[member * n * 3..], n, 3, n);
            let want = host.mul(&part(&b)).add(&part(&c));
            let size = host.abs().mul(&part(&b).abs()).add(&part(&c).abs());
            assert_close::<T>(&format!("member {member}, COO: {coordinates}"), &part(&got), &want, &size, n);
        }
    }
}

#[test]
fn one_matrix_times_batches() {
    for_all_types!(batches);
}

fn sddmm<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for index in [0, 3, 4, STRUCTURES, STRUCTURES] {
        let entries: Entries<T> = structure(index, rng);
        let c_host = entries.host();
        let k = 1 + rng.below(20);
        let (a, a_host) = random::<T>(device, rng, entries.rows, k);
        let (b, b_host) = random::<T>(device, rng, k, entries.cols);
        let (alpha, beta): (T, T) = (rng.number(), rng.number());
        let places = {
            let mut places = Host::from_fn(entries.rows, entries.cols, |_, _| 0.0.into());
            entries.entries.iter().for_each(|&(row, col, _)| places.data[col * entries.rows + row] = 1.0.into());
            places
        };
        let product = a_host.mul(&b_host).scale(alpha.wide());
        let masked = Host { data: product.data.iter().zip(&places.data).map(|(x, y)| x * y).collect(), ..product };
        let want = masked.add(&c_host.scale(beta.wide()));
        let size = a_host.abs().mul(&b_host.abs()).add(&c_host.abs());
        for base in [Base::Zero, Base::One] {
            let mut c = entries.csr::<i32>(device, base);
            sparse.sddmm(alpha, &a, &b, beta, &mut c).unwrap();
            assert_close::<T>("sddmm", &dense_of(&c), &want, &size, k);
            let mut c = entries.csr::<i64>(device, base);
            sparse.sddmm(alpha, &a, &b, beta, &mut c).unwrap();
            assert_close::<T>("sddmm i64", &dense_of(&c), &want, &size, k);
        }
        // The same with B in another order.
        let (b, _) = {
            let turned: Vec<T> = b_host.t().data.iter().map(|&x| T::narrow(x)).collect();
            (hipsparse::MatrixBuffer::from_columns(device, &turned, entries.cols, k).unwrap(), ())
        };
        let mut c = entries.csr::<i32>(device, Base::Zero);
        sparse.sddmm(alpha, &a, b.t(), beta, &mut c).unwrap();
        assert_close::<T>("sddmm of a transpose", &dense_of(&c), &want, &size, k);
    }
}

#[test]
fn dense_products_at_the_places_of_entries() {
    for_all_types!(sddmm);
}

fn vectors<T: Number + Value, I: Narrow>(device: &Device, sparse: &Sparse, rng: &mut Rng, base: Base) {
    let len = 300;
    let places: Vec<usize> = (0..len).filter(|_| rng.below(4) == 0).collect();
    let indices: Vec<I> = places.iter().map(|&place| I::of(place, base)).collect();
    let values = rng.numbers::<T>(places.len());
    let mut x = SpVec::from_host(device, len, base, &indices, &values).unwrap();
    let spread = |values: &[T]| {
        let mut host = Host::from_fn(len, 1, |_, _| 0.0.into());
        places.iter().zip(values).for_each(|(&place, value)| host.data[place] = value.wide());
        host
    };
    let x_host = spread(&values);
    let (mut y, y_host) = column::<T>(device, rng, len);
    // Inner products.
    let terms = places.len() + 2;
    let as_host = |number: T| Host::of(&[number], 1, 1, 1);
    let size = x_host.abs().t().mul(&y_host.abs());
    assert_close::<T>("spvv", &as_host(sparse.spvv(&x, &y).unwrap()), &x_host.t().mul(&y_host), &size, terms);
    assert_close::<T>("spvv_conj", &as_host(sparse.spvv_conj(&x, &y).unwrap()), &x_host.h().mul(&y_host), &size, terms);
    // Sums, with β in device memory.
    let (alpha, beta): (T, T) = (rng.number(), rng.number());
    let on_device = DeviceBuffer::from_slice(device, &[beta]).unwrap();
    sparse.axpby(alpha, &x, &on_device, &mut y).unwrap();
    let want = x_host.scale(alpha.wide()).add(&y_host.scale(beta.wide()));
    let size = x_host.abs().scale(alpha.wide().norm().into()).add(&y_host.abs().scale(beta.wide().norm().into()));
    assert_close::<T>("axpby", &column_of(&y), &want, &size, 2);
    // Elements there and back.
    let before = y.to_vec().unwrap();
    sparse.scatter(&x, &mut y).unwrap();
    let mut scattered = before.clone();
    places.iter().zip(&values).for_each(|(&place, &value)| scattered[place] = value);
    assert_eq!(y.to_vec().unwrap(), scattered);
    let y = DeviceBuffer::from_slice(device, &before).unwrap();
    sparse.gather(&y, &mut x).unwrap();
    let gathered: Vec<T> = places.iter().map(|&place| before[place]).collect();
    assert_eq!(x.to_vecs().unwrap(), (indices, gathered));
}

fn all_vectors<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for base in [Base::Zero, Base::One] {
        vectors::<T, i32>(device, sparse, rng, base);
        vectors::<T, i64>(device, sparse, rng, base);
    }
}

#[test]
fn sparse_vectors() {
    for_all_types!(all_vectors);
}

fn rotation<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    let indices = [1, 4, 5];
    let (x_values, y_values) = (rng.numbers::<T>(3), rng.numbers::<T>(8));
    let mut x = SpVec::from_host(device, 8, Base::Zero, &indices, &x_values).unwrap();
    let mut y = DeviceBuffer::from_slice(device, &y_values).unwrap();
    let (c, s) = (T::narrow(0.6.into()), T::narrow(0.8.into()));
    sparse.rot(c, s, &mut x, &mut y).unwrap();
    let (got_x, got_y) = (x.to_vecs().unwrap().1, y.to_vec().unwrap());
    let mut want_y: Vec<_> = y_values.iter().map(|y| y.wide()).collect();
    let mut want_x = Vec::new();
    for (&index, x) in indices.iter().zip(&x_values) {
        let (x, y) = (x.wide(), want_y[index as usize]);
        want_x.push(0.6 * x + 0.8 * y);
        want_y[index as usize] = 0.6 * y - 0.8 * x;
    }
    let host = |data: Vec<_>| Host { rows: data.len(), cols: 1, data };
    let two = |len: usize| Host::from_fn(len, 1, |_, _| 2.0.into());
    assert_close::<T>("rot x", &Host::of(&got_x, 3, 1, 3), &host(want_x), &two(3), 3);
    assert_close::<T>("rot y", &Host::of(&got_y, 8, 1, 8), &host(want_y), &two(8), 3);
}

#[test]
fn rotations_of_a_sparse_and_a_dense_vector() {
    for_all_types!(rotation);
}

//! Products and sums of sparse matrices.

use hip::{Device, DeviceBuffer};
use hipsparse::{Base, Csr, Sparse, Value};
use linalg_testing::{Number, Rng, assert_close};

use crate::bad_input::refused;
use crate::{Entries, Narrow, STRUCTURES, dense_of, for_all_types, is_5, sparse, structure};

fn product<T: Number + Value, I: Narrow>(device: &Device, sparse: &Sparse, rng: &mut Rng, index: usize, base: Base) {
    let left: Entries<T> = structure(index, rng);
    let (cols, count) = (1 + rng.below(30), left.cols * 2);
    let places: Vec<_> = (0..count).map(|_| (rng.below(left.cols), rng.below(cols))).collect();
    let right: Entries<T> = Entries::new(left.cols, cols, places, rng);
    let (a, b) = (left.csr::<I>(device, base), right.csr::<I>(device, base));
    let alpha: T = rng.number();
    let (a_host, b_host) = (left.host(), right.host());
    let size = a_host.abs().mul(&b_host.abs());
    let c = sparse.spgemm(alpha, &a, &b).unwrap();
    assert_close::<T>("spgemm", &dense_of(&c), &a_host.mul(&b_host).scale(alpha.wide()), &size, left.cols);
    if a.entries() == 0 || b.entries() == 0 {
        return refused(sparse.spgemm_plan(&a, &b), "without entries");
    }
    let mut plan = sparse.spgemm_plan(&a, &b).unwrap();
    let mut c = plan.output().unwrap();
    assert!(dense_of(&c).max() == 0.0);
    plan.run(alpha, &a, &b, T::ZERO, &mut c).unwrap();
    assert_close::<T>("reuse", &dense_of(&c), &a_host.mul(&b_host).scale(alpha.wide()), &size, left.cols);
    // Other values of A, added.
    let values: Vec<T> = left.entries.iter().map(|entry| T::narrow(entry.2.wide() * 2.0)).collect();
    let values = DeviceBuffer::from_slice(device, &values).unwrap();
    let again = plan.run(T::ONE, a.view().with_values(&values).unwrap(), &b, T::ONE, &mut c);
    if is_5() {
        return refused(again, "on ROCm 6");
    }
    again.unwrap();
    let want = a_host.mul(&b_host).scale(alpha.wide() + 2.0);
    assert_close::<T>("reuse again", &dense_of(&c), &want, &size.scale(4.0.into()), left.cols);
}

fn products<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for index in [0, 2, 3, 4, 7, 8, STRUCTURES] {
        let base = if index % 2 == 0 { Base::Zero } else { Base::One };
        product::<T, i32>(device, sparse, rng, index, base);
    }
    product::<T, i64>(device, sparse, rng, 8, Base::Zero);
}

#[test]
fn products_of_sparse_matrices() {
    for_all_types!(products);
}

fn sums<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for index in [0, 2, 3, 4, STRUCTURES, STRUCTURES] {
        let left: Entries<T> = structure(index, rng);
        let places: Vec<_> = (0..40).map(|_| (rng.below(left.rows), rng.below(left.cols))).collect();
        let right: Entries<T> = Entries::new(left.rows, left.cols, places, rng);
        let (alpha, beta): (T, T) = (rng.number(), rng.number());
        for (a_base, b_base) in [(Base::Zero, Base::One), (Base::One, Base::One)] {
            let (a, b) = (left.csr::<i32>(device, a_base), right.csr::<i32>(device, b_base));
            let c = sparse.geam(alpha, &a, beta, &b).unwrap();
            let want = left.host().scale(alpha.wide()).add(&right.host().scale(beta.wide()));
            let size = left.host().abs().add(&right.host().abs());
            assert_close::<T>("geam", &dense_of(&c), &want, &size, 2);
        }
    }
}

#[test]
fn sums_of_sparse_matrices() {
    for_all_types!(sums);
}

#[test]
fn what_cannot_be_multiplied_is_refused() {
    let Some((device, sparse)) = sparse() else { return };
    let csr = |size, cols: &[i32]| {
        let offsets: Vec<i32> = (0..=2).map(|at| at * cols.len() as i32 / 2).collect();
        Csr::from_host(&device, size, Base::Zero, &offsets, cols, &vec![1.0_f32; cols.len()]).unwrap()
    };
    let (a, b) = (csr((2, 3), &[0, 1]), csr((2, 3), &[2, 2]));
    refused(sparse.spgemm(1.0, &a, &b), "rows of B");
    refused(sparse.spgemm(1.0, a.t(), &b), "as it is in memory");
    let square = csr((2, 2), &[0, 1]);
    let other = csr((2, 2), &[0, 1]);
    let mut plan = sparse.spgemm_plan(&square, &square).unwrap();
    let mut c = plan.output().unwrap();
    refused(plan.run(1.0, &other, &square, 0.0, &mut c), "another pattern");
    let mut wrong = csr((2, 2), &[0, 1, 0, 1]);
    refused(plan.run(1.0, &square, &square, 0.0, &mut wrong), "`output`");
    refused(sparse.geam(1.0, &a, 1.0, &square), "columns of B");
    let unsorted = csr((2, 3), &[1, 0, 1, 2]);
    refused(sparse.geam(1.0, &a, 1.0, &unsorted), "not sorted");
}

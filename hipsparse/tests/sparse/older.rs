//! Operations that only the older functions have.

use hip::Device;
use hipsparse::{Base, BlockOrder, SpVec, Sparse, Value, format};
use linalg_testing::{Number, Rng, assert_close};

use crate::bad_input::refused;
use crate::{
    Entries, Narrow, STRUCTURES, column, column_of, download, for_all_types, is_5, laplacian_2d, random, sparse,
    structure,
};

fn blocks<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    let places: Vec<_> = (0..60).map(|_| (rng.below(24), rng.below(36))).collect();
    let entries: Entries<T> = Entries::new(24, 36, places, rng);
    let host = entries.host();
    for (size, order, base) in
        [(2, BlockOrder::Rows, Base::Zero), (3, BlockOrder::Columns, Base::One), (12, BlockOrder::Rows, Base::One)]
    {
        let a = entries.bsr(device, base, format::Bsr { rows: size, cols: size, order });
        let ((x, x_host), (mut y, y_host)) = (column::<T>(device, rng, 36), column::<T>(device, rng, 24));
        let (alpha, beta): (T, T) = (rng.number(), rng.number());
        sparse.bsrmv(alpha, &a, &x, beta, &mut y).unwrap();
        let want = host.mul(&x_host).scale(alpha.wide()).add(&y_host.scale(beta.wide()));
        let bound = host.abs().mul(&x_host.abs()).add(&y_host.abs());
        assert_close::<T>("bsrmv", &column_of(&y), &want, &bound, 38);
        for transposed in [false, true] {
            let (b, b_host) =
                if transposed { random::<T>(device, rng, 5, 36) } else { random::<T>(device, rng, 36, 5) };
            let (b_view, b_host) = if transposed { (b.t(), b_host.t()) } else { (b.view(), b_host) };
            let (mut c, c_host) = random::<T>(device, rng, 24, 5);
            sparse.bsrmm(alpha, &a, b_view, beta, &mut c).unwrap();
            let want = host.mul(&b_host).scale(alpha.wide()).add(&c_host.scale(beta.wide()));
            let bound = host.abs().mul(&b_host.abs()).add(&c_host.abs());
            assert_close::<T>(&format!("bsrmm, transposed {transposed}"), &download(&c), &want, &bound, 38);
        }
    }
}

#[test]
fn products_with_dense_blocks() {
    for_all_types!(blocks);
}

fn from_the_right<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for index in [3, 7, STRUCTURES] {
        let entries: Entries<T> = structure(index, rng);
        let b_host = entries.host();
        let (a, a_host) = random::<T>(device, rng, 6, entries.rows);
        let (mut c, c_host) = random::<T>(device, rng, 6, entries.cols);
        let (alpha, beta): (T, T) = (rng.number(), rng.number());
        sparse.gemmi(alpha, &a, &entries.csc::<i32>(device, Base::Zero), beta, &mut c).unwrap();
        let want = a_host.mul(&b_host).scale(alpha.wide()).add(&c_host.scale(beta.wide()));
        let bound = a_host.abs().mul(&b_host.abs()).add(&c_host.abs());
        assert_close::<T>("gemmi", &download(&c), &want, &bound, entries.rows + 2);
        let one = entries.csc::<i32>(device, Base::One);
        refused(sparse.gemmi(alpha, &a, &one, beta, &mut c), "base of B");
    }
    for base in [Base::Zero, Base::One] {
        let (a, a_host) = random::<T>(device, rng, 12, 40);
        let places: Vec<usize> = (0..40).filter(|_| rng.below(3) == 0).collect();
        let indices: Vec<i32> = places.iter().map(|&place| Narrow::of(place, base)).collect();
        let values = rng.numbers::<T>(places.len());
        let x = SpVec::from_host(device, 40, base, &indices, &values).unwrap();
        let mut x_host = linalg_testing::Host::from_fn(40, 1, |_, _| 0.0.into());
        places.iter().zip(&values).for_each(|(&place, value)| x_host.data[place] = value.wide());
        let (mut y, y_host) = column::<T>(device, rng, 12);
        let (alpha, beta): (T, T) = (rng.number(), rng.number());
        let done = sparse.gemvi(alpha, &a, &x, beta, &mut y);
        if is_5() {
            return refused(done, "on ROCm 6");
        }
        done.unwrap();
        let want = a_host.mul(&x_host).scale(alpha.wide()).add(&y_host.scale(beta.wide()));
        let bound = a_host.abs().mul(&x_host.abs()).add(&y_host.abs());
        assert_close::<T>("gemvi", &column_of(&y), &want, &bound, 42);
    }
}

#[test]
fn dense_matrices_times_sparse_operands() {
    for_all_types!(from_the_right);
}

fn coloured<T: Number + Value>(device: &Device, sparse: &Sparse, _: &mut Rng) {
    let entries: Entries<T> = laplacian_2d(6, 5);
    for base in [Base::Zero, Base::One] {
        let a = entries.csr::<i32>(device, base);
        let (count, colors) = sparse.colors(&a, 1.0).unwrap();
        let colors = colors.to_vec().unwrap();
        assert!((2..=30).contains(&count), "{count}");
        for &(row, col, _) in &entries.entries {
            assert!(row == col || colors[row] != colors[col], "{row} and {col} have colour {}", colors[row]);
        }
        let all: std::collections::BTreeSet<i32> = colors.iter().copied().collect();
        assert!(all.len() <= count, "{all:?}");
        refused(sparse.colors(&a, 2.0), "from 0 to 1");
    }
}

#[test]
fn neighbours_have_different_colours() {
    for_all_types!(coloured);
}

#[test]
fn shapes_of_blocks_that_do_not_fit() {
    let Some((device, sparse)) = sparse() else { return };
    let entries: Entries<f32> = laplacian_2d(2, 2);
    let oblong = entries.bsr(&device, Base::Zero, format::Bsr { rows: 2, cols: 1, order: BlockOrder::Rows });
    let square = entries.bsr(&device, Base::Zero, format::Bsr::square(2));
    let vector = |len| hip::DeviceBuffer::<f32>::zeroed(&device, len).unwrap();
    refused(sparse.bsrmv(1.0, &oblong, &vector(4), 0.0, &mut vector(4)), "square");
    refused(sparse.bsrmv(1.0, &square, &vector(3), 0.0, &mut vector(4)), "length of x");
    refused(sparse.bsrmv(1.0, square.t(), &vector(4), 0.0, &mut vector(4)), "as it is in memory");
}

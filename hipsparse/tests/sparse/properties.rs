//! Properties over structures that proptest makes, and makes smaller when one fails: rows without entries, one dense
//! row, no entries, 1 x 1, very wide, and any places.

use hip::DeviceBuffer;
use hipsparse::{Base, BlockOrder, Csr, Sparse, format};
use linalg_testing::{Rng, assert_close};
use proptest::collection::btree_map;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::{Entries, Narrow, column, column_of, dense_of, download, random, sparse};

/// A number that f32 has, too, and is not zero.
fn value() -> impl Strategy<Value = f64> {
    (1_i8..=64, any::<bool>()).prop_map(|(size, negative)| f64::from(size) / if negative { -16.0 } else { 16.0 })
}

/// A matrix whose entries are in some places of some rows.
fn placed(rows: usize, cols: usize, most: usize) -> impl Strategy<Value = Entries<f64>> {
    btree_map((0..rows, 0..cols), value(), 0..=most).prop_map(move |places| {
        let entries = places.into_iter().map(|((row, col), value)| (row, col, value)).collect();
        Entries { rows, cols, entries }
    })
}

/// The kinds of structures that go wrong most easily.
fn any_structure() -> impl Strategy<Value = Entries<f64>> {
    let any_size = (1_usize..40, 1_usize..40).prop_flat_map(|(rows, cols)| placed(rows, cols, rows * cols / 2 + 1));
    let empty = (1_usize..20, 1_usize..20).prop_flat_map(|(rows, cols)| placed(rows, cols, 0));
    let wide = (1_usize..4, 500_usize..3000).prop_flat_map(|(rows, cols)| placed(rows, cols, 60));
    let tall = (500_usize..3000, 1_usize..4).prop_flat_map(|(rows, cols)| placed(rows, cols, 60));
    // A few rows of many have entries.
    let with_gaps = (20_usize..200, 1_usize..20).prop_flat_map(|(rows, cols)| placed(rows, cols, 8));
    let dense_row = (2_usize..20, 50_usize..400, any::<prop::sample::Index>(), value()).prop_flat_map(
        |(rows, cols, dense, value)| {
            placed(rows, cols, 20).prop_map(move |mut made| {
                let row = dense.index(rows);
                made.entries.retain(|entry| entry.0 != row);
                made.entries.extend((0..cols).map(|col| (row, col, value)));
                made.entries.sort_by_key(|&(row, col, _)| (row, col));
                made
            })
        },
    );
    prop_oneof![4 => any_size, 1 => placed(1, 1, 1), 1 => empty, 2 => wide, 1 => tall, 2 => with_gaps, 2 => dense_row]
}

fn any_base() -> impl Strategy<Value = Base> {
    any::<bool>().prop_map(|one| if one { Base::One } else { Base::Zero })
}

/// Runs a property of one structure on the device.
fn holds<S: Strategy>(strategy: S, cases: u32, property: impl Fn(&hip::Device, &Sparse, &mut Rng, S::Value)) {
    let Some((device, sparse)) = sparse() else { return };
    let config = Config { cases, rng_seed: RngSeed::Fixed(18), failure_persistence: None, ..Config::default() };
    let found = TestRunner::new(config).run(&(strategy, any::<u64>()), |(value, seed)| {
        property(&device, &sparse, &mut Rng::new(seed), value);
        Ok(())
    });
    if let Err(error) = found {
        panic!("{error}");
    }
}

/// Operations on 64-bit floats with indices of one type.
fn products<I: Narrow>(device: &hip::Device, sparse: &Sparse, rng: &mut Rng, entries: &Entries<f64>, base: Base) {
    let host = entries.host();
    let (csr, coo) = (entries.csr::<I>(device, base), entries.coo::<I>(device, base));
    let (x, x_host) = column::<f64>(device, rng, entries.cols);
    let want = host.mul(&x_host);
    let size = host.abs().mul(&x_host.abs());
    let mut y = DeviceBuffer::<f64>::zeroed(device, entries.rows).unwrap();
    sparse.spmv(1.0, &csr, &x, 0.0, &mut y).unwrap();
    assert_close::<f64>("spmv of CSR", &column_of(&y), &want, &size, entries.cols);
    sparse.spmv(1.0, &coo, &x, 0.0, &mut y).unwrap();
    assert_close::<f64>("spmv of COO", &column_of(&y), &want, &size, entries.cols);
    let (x, x_host) = column::<f64>(device, rng, entries.rows);
    let mut y = DeviceBuffer::<f64>::zeroed(device, entries.cols).unwrap();
    sparse.spmv(1.0, csr.t(), &x, 0.0, &mut y).unwrap();
    let size = host.t().abs().mul(&x_host.abs());
    assert_close::<f64>("spmv of a transpose", &column_of(&y), &host.t().mul(&x_host), &size, entries.rows);
    let cols = 1 + rng.below(5);
    let (b, b_host) = random::<f64>(device, rng, entries.cols, cols);
    let mut c = hipsparse::MatrixBuffer::<f64>::zeroed(device, entries.rows, b.cols()).unwrap();
    sparse.spmm(2.0, &csr, &b, 0.0, &mut c).unwrap();
    let size = host.abs().mul(&b_host.abs()).scale(2.0.into());
    assert_close::<f64>("spmm", &download(&c), &host.mul(&b_host).scale(2.0.into()), &size, entries.cols + 1);
}

#[test]
fn products_are_those_of_dense_matrices() {
    holds((any_structure(), any_base()), 48, |device, sparse, rng, (entries, base)| {
        products::<i32>(device, sparse, rng, &entries, base);
        products::<i64>(device, sparse, rng, &entries, base);
    });
}

#[test]
fn conversions_lose_nothing() {
    holds((any_structure(), any_base()), 48, |device, sparse, _, (entries, base)| {
        let csr = entries.csr::<i32>(device, base);
        let host = entries.host();
        let csc = sparse.csr_to_csc(&csr).unwrap();
        csc.validate().unwrap();
        assert_eq!(sparse.csc_to_csr(&csc).unwrap().to_vecs().unwrap(), csr.to_vecs().unwrap());
        let coo = sparse.csr_to_coo(&csr).unwrap();
        coo.validate().unwrap();
        assert_eq!(sparse.coo_to_csr(&coo).unwrap().to_vecs().unwrap(), csr.to_vecs().unwrap());
        let mut dense = hipsparse::MatrixBuffer::<f64>::zeroed(device, entries.rows, entries.cols).unwrap();
        sparse.sparse_to_dense(&csr, &mut dense).unwrap();
        assert_eq!(download(&dense), host);
        let back: Csr<f64> = sparse.dense_to_sparse(&dense).unwrap();
        assert_eq!(dense_of(&back), host);
        assert_eq!(back.entries(), entries.entries.len());
        let block = format::Bsr { rows: 1, cols: 1, order: BlockOrder::Rows };
        let blocks = sparse.csr_to_bsr(&csr, block).unwrap();
        assert_eq!(sparse.bsr_to_csr(&blocks).unwrap().to_vecs().unwrap(), csr.to_vecs().unwrap());
    });
}

#[test]
fn shuffled_entries_are_sorted() {
    holds((any_structure().prop_map(|made| made.entries).prop_shuffle(), any_base()), 24, |device, sparse, _, made| {
        let (entries, base) = made;
        let (rows, cols) = (entries.iter().map(|entry| entry.0).max(), entries.iter().map(|entry| entry.1).max());
        let size = (rows.map_or(1, |row| row + 1), cols.map_or(1, |col| col + 1));
        let index = |index: usize| <i32 as Narrow>::of(index, base);
        let rows: Vec<i32> = entries.iter().map(|entry| index(entry.0)).collect();
        let cols: Vec<i32> = entries.iter().map(|entry| index(entry.1)).collect();
        let values: Vec<f64> = entries.iter().map(|entry| entry.2).collect();
        let coo = hipsparse::Coo::from_host(device, size, base, &rows, &cols, &values).unwrap();
        let sorted = sparse.sort(coo).unwrap();
        sorted.validate().unwrap();
        let mut want = entries;
        want.sort_by_key(|&(row, col, _)| (row, col));
        let want = Entries { rows: size.0, cols: size.1, entries: want };
        assert_eq!(sorted.to_vecs().unwrap(), want.coo::<i32>(device, base).to_vecs().unwrap());
    });
}

#[test]
fn triangles_are_solved_with() {
    let square = (1_usize..50).prop_flat_map(|order| placed(order, order, order * 4));
    holds((square, any_base(), any::<bool>()), 32, |device, sparse, rng, (mut entries, base, lower)| {
        let order = entries.rows;
        entries.entries.retain(|entry| entry.0 != entry.1);
        // The diagonal is larger than the sum of the others.
        entries.entries.extend((0..order).map(|at| (at, at, 4.0 * order as f64 + 1.0)));
        entries.entries.sort_by_key(|&(row, col, _)| (row, col));
        let host = entries.host().triangle(lower, false);
        let a = entries.csr::<i32>(device, base);
        let (x, x_host) = column::<f64>(device, rng, order);
        let mut y = DeviceBuffer::<f64>::zeroed(device, order).unwrap();
        let view = a.view();
        let triangle = if lower { view.lower().unwrap() } else { view.upper().unwrap() };
        sparse.spsv(triangle).unwrap().solve(1.0, &x, &mut y).unwrap();
        let y = column_of(&y);
        let size = host.abs().mul(&y.abs()).add(&x_host.abs());
        assert_close::<f64>("spsv", &host.mul(&y), &x_host, &size, order + 2);
    });
}

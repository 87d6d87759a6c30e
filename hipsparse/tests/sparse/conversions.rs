//! Conversions, there and back; sorts; matrices without small entries.

use hip::Device;
use hipsparse::{
    Base, BlockOrder, Coo, Csc, Csr, Defect, Error, MatrixBuffer, Prune, RealValue, Sparse, Value, format,
};
use linalg_testing::{Number, Rng};

use crate::bad_input::refused;
use crate::{Entries, Narrow, STRUCTURES, dense_of, download, for_all_types, random, sparse, structure};

fn between_formats<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for index in 0..STRUCTURES + 2 {
        let entries: Entries<T> = structure(index, rng);
        let base = if index % 2 == 0 { Base::Zero } else { Base::One };
        let csr = entries.csr::<i32>(device, base);
        let csc = sparse.csr_to_csc(&csr).unwrap();
        csc.validate().unwrap();
        assert_eq!(csc.to_vecs().unwrap(), entries.csc::<i32>(device, base).to_vecs().unwrap(), "{index}");
        assert_eq!(sparse.csc_to_csr(&csc).unwrap().to_vecs().unwrap(), csr.to_vecs().unwrap(), "{index}");
        let coo = sparse.csr_to_coo(&csr).unwrap();
        assert_eq!(coo.to_vecs().unwrap(), entries.coo::<i32>(device, base).to_vecs().unwrap(), "{index}");
        assert_eq!(sparse.coo_to_csr(&coo).unwrap().to_vecs().unwrap(), csr.to_vecs().unwrap(), "{index}");
    }
}

#[test]
fn compressed_rows_columns_and_coordinates() {
    for_all_types!(between_formats);
}

fn blocks<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    let places: Vec<_> = (0..50).map(|_| (rng.below(24), rng.below(36))).collect();
    let entries: Entries<T> = Entries::new(24, 36, places, rng);
    let host = entries.host();
    for (rows, cols) in [(2, 2), (3, 3), (2, 3), (4, 2), (1, 1)] {
        for (order, base) in [(BlockOrder::Rows, Base::Zero), (BlockOrder::Columns, Base::One)] {
            let block = format::Bsr { rows, cols, order };
            let bsr = sparse.csr_to_bsr(&entries.csr::<i32>(device, base), block).unwrap();
            let want = entries.bsr(device, base, block);
            assert_eq!(bsr.to_vecs().unwrap(), want.to_vecs().unwrap(), "{block:?}");
            let back = sparse.bsr_to_csr(&bsr).unwrap();
            assert_eq!(dense_of(&back), host, "{block:?}");
            let other = sparse.change_blocks(&bsr, 6, 4).unwrap();
            other.validate().unwrap();
            assert_eq!(dense_of(&sparse.bsr_to_csr(&other).unwrap()), host, "{block:?} to 6 x 4");
            if order == BlockOrder::Rows {
                let turned = sparse.transpose_blocks(&bsr).unwrap();
                turned.validate().unwrap();
                assert_eq!(dense_of(&sparse.bsr_to_csr(&turned).unwrap()), host.t(), "{block:?} transposed");
            } else {
                refused(sparse.transpose_blocks(&bsr), "row after row");
            }
        }
    }
}

#[test]
fn dense_blocks() {
    for_all_types!(blocks);
}

fn with_dense<T: Number + Value, I: Narrow>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for index in [0, 2, 3, 4, 7, STRUCTURES] {
        let entries: Entries<T> = structure(index, rng);
        // Zeros that are stored are no entries of the dense matrix.
        let entries = Entries::<T>::of(&entries.host());
        let host = entries.host();
        let elements: Vec<T> = host.data.iter().map(|&x| T::narrow(x)).collect();
        let dense = MatrixBuffer::from_columns(device, &elements, host.rows, host.cols).unwrap();
        let csr: Csr<T, I> = sparse.dense_to_sparse(&dense).unwrap();
        assert_eq!(csr.to_vecs().unwrap(), entries.csr::<I>(device, Base::Zero).to_vecs().unwrap(), "{index}");
        let csc: Csc<T, I> = sparse.dense_to_sparse(&dense).unwrap();
        assert_eq!(csc.to_vecs().unwrap(), entries.csc::<I>(device, Base::Zero).to_vecs().unwrap(), "{index}");
        let coo: Coo<T, I> = sparse.dense_to_sparse(&dense).unwrap();
        assert_eq!(coo.to_vecs().unwrap(), entries.coo::<I>(device, Base::Zero).to_vecs().unwrap(), "{index}");
        let (mut back, _) = random::<T>(device, rng, host.rows, host.cols);
        sparse.sparse_to_dense(&entries.csr::<I>(device, Base::One), &mut back).unwrap();
        assert_eq!(download(&back), host);
        let (mut back, _) = random::<T>(device, rng, host.rows, host.cols);
        sparse.sparse_to_dense(&entries.csc::<I>(device, Base::Zero), &mut back).unwrap();
        assert_eq!(download(&back), host);
        // Row-major.
        let (mut back, _) = random::<T>(device, rng, host.cols, host.rows);
        sparse.sparse_to_dense(&entries.coo::<I>(device, Base::One), back.view_mut().t()).unwrap();
        assert_eq!(download(&back), host.t());
        let counts: Vec<usize> =
            (0..host.rows).map(|row| entries.entries.iter().filter(|entry| entry.0 == row).count()).collect();
        assert_eq!(sparse.count_nonzeros(&dense).unwrap(), counts);
    }
}

fn all_with_dense<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    with_dense::<T, i32>(device, sparse, rng);
    with_dense::<T, i64>(device, sparse, rng);
}

#[test]
fn dense_matrices() {
    for_all_types!(all_with_dense);
}

/// The entries in another order within each row.
fn sorts<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for base in [Base::Zero, Base::One] {
        let entries: Entries<T> = structure(STRUCTURES, rng);
        let mut shuffled = entries.clone();
        shuffled.entries.sort_by_key(|&(row, col, _)| (row, usize::MAX - col));
        let sorted = sparse.sort(shuffled.csr::<i32>(device, base)).unwrap();
        assert!(sorted.is_sorted());
        assert_eq!(sorted.to_vecs().unwrap(), entries.csr::<i32>(device, base).to_vecs().unwrap());
        let mut mixed = entries.clone();
        for at in (1..mixed.entries.len()).rev() {
            mixed.entries.swap(at, rng.below(at + 1));
        }
        let sorted = sparse.sort(mixed.coo::<i32>(device, base)).unwrap();
        assert_eq!(sorted.to_vecs().unwrap(), entries.coo::<i32>(device, base).to_vecs().unwrap());
        let by_column = sparse.sort_by_column(mixed.coo::<i32>(device, base)).unwrap();
        let (rows, cols, values) = by_column.to_vecs().unwrap();
        let mut want = entries.entries.clone();
        want.sort_by_key(|&(row, col, _)| (col, row));
        let got: Vec<_> = (0..rows.len()).map(|at| (rows[at].back(base), cols[at].back(base), values[at])).collect();
        assert_eq!(got, want);
        let (offsets, mut indices, mut values) = entries.csc::<i32>(device, base).to_vecs().unwrap();
        for line in offsets.windows(2) {
            let (start, end) = (line[0].back(base), line[1].back(base));
            indices[start..end].reverse();
            values[start..end].reverse();
        }
        let size = (entries.rows, entries.cols);
        let reversed = Csc::from_host(device, size, base, &offsets, &indices, &values).unwrap();
        let sorted = sparse.sort(reversed).unwrap();
        assert_eq!(sorted.to_vecs().unwrap(), entries.csc::<i32>(device, base).to_vecs().unwrap());
    }
    let twice = Csr::from_host(device, (1, 3), Base::Zero, &[0, 3], &[2, 1, 2], &[T::ONE; 3]).unwrap();
    let sorted = sparse.sort(twice).unwrap();
    assert!(!sorted.is_sorted());
    let error = sorted.validate().unwrap_err();
    assert!(matches!(error, Error::Structure(Defect::Duplicate { position: 2 })), "{error}");
}

#[test]
fn entries_are_sorted() {
    for_all_types!(sorts);
}

fn compresses<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for (index, base) in [(3, Base::Zero), (STRUCTURES, Base::One)] {
        let entries: Entries<T> = structure(index, rng);
        let tolerance = T::narrow(0.4.into());
        let kept = entries.entries.iter().filter(|entry| entry.2.wide().norm() > 0.4).copied().collect();
        let want = Entries { entries: kept, ..entries.clone() };
        let got = sparse.compress(&entries.csr::<i32>(device, base), tolerance).unwrap();
        assert_eq!(got.to_vecs().unwrap(), want.csr::<i32>(device, base).to_vecs().unwrap());
    }
}

#[test]
fn small_entries_are_left_out() {
    for_all_types!(compresses);
}

fn prunes<T: Number + RealValue>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    let entries: Entries<T> = structure(STRUCTURES, rng);
    let threshold = T::narrow(0.3.into());
    let kept = |entries: &Entries<T>| {
        let entries = entries.entries.iter().filter(|entry| entry.2.wide().norm() > 0.3).copied().collect();
        Entries { entries, rows: 0, cols: 0 }
    };
    let want = Entries { rows: entries.rows, cols: entries.cols, ..kept(&entries) };
    for base in [Base::Zero, Base::One] {
        let pruned = sparse.prune(&entries.csr::<i32>(device, base), Prune::Threshold(threshold)).unwrap();
        assert_eq!(pruned.to_vecs().unwrap(), want.csr::<i32>(device, base).to_vecs().unwrap());
    }
    let (dense, host) = random::<T>(device, rng, 13, 9);
    let all = Entries::<T>::of(&host);
    let want = Entries { rows: 13, cols: 9, ..kept(&all) };
    let pruned = sparse.prune_dense(&dense, Prune::Threshold(threshold)).unwrap();
    assert_eq!(pruned.to_vecs().unwrap(), want.csr::<i32>(device, Base::Zero).to_vecs().unwrap());
    // The smaller half goes.
    let numbers: Vec<T> = (0..20).map(|at| T::narrow(f64::from((at * 7) % 20 + 1).into())).collect();
    let places = (0..20).map(|at| (at / 4, at % 4, numbers[at]));
    let entries = Entries { rows: 5, cols: 4, entries: places.collect() };
    let half = |pruned: &Csr<T>| {
        let mut values: Vec<f64> = pruned.to_vecs().unwrap().2.iter().map(|x| x.wide().re).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let fifty = Prune::Percentage(T::narrow(50.0.into()));
    let want: Vec<f64> = (11..=20).map(f64::from).collect();
    assert_eq!(half(&sparse.prune(&entries.csr::<i32>(device, Base::Zero), fifty).unwrap()), want);
    let host = entries.host();
    let elements: Vec<T> = host.data.iter().map(|&x| T::narrow(x)).collect();
    let dense = MatrixBuffer::from_columns(device, &elements, 5, 4).unwrap();
    assert_eq!(half(&sparse.prune_dense(&dense, fifty).unwrap()), want);
}

#[test]
fn matrices_are_pruned() {
    let Some((device, sparse)) = sparse() else { return };
    let mut rng = Rng::new(3);
    prunes::<f32>(&device, &sparse, &mut rng);
    prunes::<f64>(&device, &sparse, &mut rng);
}

#[test]
fn what_cannot_be_converted_is_refused() {
    let Some((device, sparse)) = sparse() else { return };
    let csr = Csr::from_host(&device, (2, 2), Base::Zero, &[0, 2, 2], &[1, 0], &[1.0_f32, 2.0]).unwrap();
    refused(sparse.csr_to_bsr(&csr, format::Bsr::square(1)), "not sorted");
    refused(sparse.csr_to_csc(csr.t()), "as it is in memory");
    let coo = Coo::from_host(&device, (2, 2), Base::Zero, &[1, 0], &[0, 0], &[1.0_f32, 2.0]).unwrap();
    refused(sparse.coo_to_csr(&coo), "not sorted");
    let sorted = sparse.sort(csr).unwrap();
    refused(sparse.csr_to_bsr(&sorted, format::Bsr::square(3)), "whole blocks");
    refused(sparse.csr_to_bsr(&sorted, format::Bsr::square(0)), "whole blocks");
    let mut small = MatrixBuffer::<f32>::zeroed(&device, 2, 1).unwrap();
    refused(sparse.sparse_to_dense(&sorted, &mut small), "columns of B");
}

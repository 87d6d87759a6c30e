//! Entries at the same position add up, in every product and conversion, or are refused.

use hip::{Device, DeviceBuffer};
use hipsparse::{Base, BlockOrder, Bsr, Csr, MatrixBuffer, Sparse, Value, format};
use linalg_testing::{Host, Number, Rng};

use crate::bad_input::refused;
use crate::{Entries, Narrow, column_of, dense_of, download, for_all_types, random, sparse};

/// Small whole numbers: their sums are exact in any order.
fn whole<T: Number>(rng: &mut Rng) -> T {
    T::narrow((rng.below(15) as f64 - 7.0).into())
}

fn whole_matrix<T: Number + Value>(
    device: &Device,
    rng: &mut Rng,
    rows: usize,
    cols: usize,
) -> (MatrixBuffer<T>, Host) {
    let elements: Vec<T> = (0..rows * cols).map(|_| whole(rng)).collect();
    let host = Host::of(&elements, rows, cols, rows.max(1));
    (MatrixBuffer::from_columns(device, &elements, rows, cols).unwrap(), host)
}

/// Entries row after row, of which many are there twice or more often; not in the order of columns if `shuffled`.
fn repeated<T: Number + Value>(rows: usize, cols: usize, shuffled: bool, rng: &mut Rng) -> Entries<T> {
    let mut entries: Vec<_> =
        (0..rows * cols * 3 / 4).map(|_| (rng.below(rows), rng.below(cols), whole(rng))).collect();
    entries.push(entries[0]);
    entries.sort_by_key(|&(row, col, _)| (row, if shuffled { (col * 7 + 3) % cols } else { col }));
    Entries { rows, cols, entries }
}

fn products<T: Number + Value, I: Narrow>(device: &Device, sparse: &Sparse, rng: &mut Rng, base: Base) {
    for shuffled in [false, true] {
        let entries: Entries<T> = repeated(9, 7, shuffled, rng);
        let host = entries.host();
        let (csr, csc, coo) =
            (entries.csr::<I>(device, base), entries.csc::<I>(device, base), entries.coo::<I>(device, base));
        assert!(!csr.is_sorted());
        for name in ["csr", "csc", "coo"] {
            // More memory than the matrix: the rest stays as it was.
            let (mut around, before) = random::<T>(device, rng, 12, 10);
            let part = around.view_mut().block(2..11, 1..8).unwrap();
            let (mut turned, _) = random::<T>(device, rng, 7, 9);
            let (x, x_host) = whole_matrix::<T>(device, rng, 7, 4);
            let (mut y, _) = whole_matrix::<T>(device, rng, 9, 4);
            let one = DeviceBuffer::from_slice(device, &x.to_vec().unwrap()[..7]).unwrap();
            let mut product = DeviceBuffer::<T>::zeroed(device, 9).unwrap();
            match name {
                "csr" => {
                    sparse.sparse_to_dense(&csr, part).unwrap();
                    sparse.sparse_to_dense(&csr, turned.view_mut().t()).unwrap();
                    sparse.spmm(T::ONE, &csr, &x, T::ZERO, &mut y).unwrap();
                    sparse.spmv(T::ONE, &csr, &one, T::ZERO, &mut product).unwrap();
                }
                "csc" => {
                    sparse.sparse_to_dense(&csc, part).unwrap();
                    sparse.sparse_to_dense(&csc, turned.view_mut().t()).unwrap();
                    sparse.spmm(T::ONE, &csc, &x, T::ZERO, &mut y).unwrap();
                    sparse.spmv(T::ONE, &csc, &one, T::ZERO, &mut product).unwrap();
                }
                _ => {
                    sparse.sparse_to_dense(&coo, part).unwrap();
                    sparse.sparse_to_dense(&coo, turned.view_mut().t()).unwrap();
                    sparse.spmm(T::ONE, &coo, &x, T::ZERO, &mut y).unwrap();
                    sparse.spmv(T::ONE, &coo, &one, T::ZERO, &mut product).unwrap();
                }
            }
            let mut want = before;
            for (row, col) in (0..9).flat_map(|row| (0..7).map(move |col| (row, col))) {
                want.data[(col + 1) * 12 + row + 2] = host.at(row, col);
            }
            assert_eq!(download(&around), want, "{name} to dense, {base:?}");
            assert_eq!(download(&turned), host.t(), "{name} to dense rows, {base:?}");
            let want = host.mul(&x_host);
            assert_eq!(download(&y), want, "spmm of {name}, {base:?}");
            assert_eq!(column_of(&product).data, want.data[..9], "spmv of {name}, {base:?}");
        }
        // All entries would get the whole element.
        let (mut csr, mut csc, mut coo) = (csr, csc, coo);
        let (a, b) = (whole_matrix::<T>(device, rng, 9, 2).0, whole_matrix::<T>(device, rng, 2, 7).0);
        refused(sparse.sddmm(T::ONE, &a, &b, T::ZERO, &mut csr), "at the same position");
        refused(sparse.sddmm(T::ONE, &a, &b, T::ZERO, &mut csc), "at the same position");
        refused(sparse.sddmm(T::ONE, &a, &b, T::ZERO, &mut coo), "at the same position");
    }
}

fn all<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    products::<T, i32>(device, sparse, rng, Base::Zero);
    products::<T, i32>(device, sparse, rng, Base::One);
    products::<T, i64>(device, sparse, rng, Base::One);
}

#[test]
fn duplicates_add_up_in_products_and_dense_matrices() {
    for_all_types!(all);
}

fn older<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for base in [Base::Zero, Base::One] {
        let entries: Entries<T> = repeated(8, 6, true, rng);
        let host = entries.host();
        let (csr, csc) = (entries.csr::<i32>(device, base), entries.csc::<i32>(device, base));
        for columns in [false, true] {
            let (mut dense, _) = random::<T>(device, rng, 8, 6);
            if columns {
                sparse.csc2dense(&csc, &mut dense).unwrap();
            } else {
                sparse.csr2dense(&csr, &mut dense).unwrap();
            }
            assert_eq!(download(&dense), host, "columns {columns}, {base:?}");
        }
        // Other formats keep all entries.
        for back in [
            sparse.csc_to_csr(&sparse.csr_to_csc(&csr).unwrap()).unwrap(),
            sparse.csc_to_csr(&sparse.csr2csc(&csr).unwrap()).unwrap(),
            sparse.csc_to_csr(&csc).unwrap(),
        ] {
            assert!(!back.is_sorted());
            assert_eq!(back.entries(), csr.entries());
            let mut dense = MatrixBuffer::<T>::zeroed(device, 8, 6).unwrap();
            sparse.sparse_to_dense(&back, &mut dense).unwrap();
            assert_eq!(download(&dense), host, "{base:?}");
        }
        let coo = sparse.csr_to_coo(&csr).unwrap();
        let mut dense = MatrixBuffer::<T>::zeroed(device, 8, 6).unwrap();
        sparse.sparse_to_dense(&coo, &mut dense).unwrap();
        assert_eq!(download(&dense), host, "{base:?}");
        refused(sparse.coo_to_csr(&coo), "twice");
        refused(sparse.csr_to_bsr(&csr, format::Bsr::square(2)), "twice");
        refused(sparse.csr_to_hyb(&csr, hipsparse::HybPartition::Auto), "twice");
        // Products with the older functions, and of sparse matrices.
        let (x, x_host) = whole_matrix::<T>(device, rng, 6, 3);
        let (mut y, _) = whole_matrix::<T>(device, rng, 8, 3);
        sparse.csrmm(T::ONE, &csr, &x, T::ZERO, &mut y).unwrap();
        assert_eq!(download(&y), host.mul(&x_host), "csrmm, {base:?}");
        let other: Entries<T> = repeated(6, 5, true, rng);
        let product = sparse.spgemm(T::ONE, &csr, &other.csr::<i32>(device, base)).unwrap();
        assert_eq!(dense_of(&product), host.mul(&other.host()), "spgemm, {base:?}");
        // Blocks of 2 x 2, of which two are at one place.
        let values: Vec<T> = (0..12).map(|_| whole(rng)).collect();
        let shift = i32::from(base == Base::One);
        let block = format::Bsr { rows: 2, cols: 2, order: BlockOrder::Rows };
        let (first, second) = ([0, 3].map(|at| at + shift), [1, 0, 1].map(|at| at + shift));
        let bsr = Bsr::from_host_with_format(device, block, (2, 4), base, &first, &second, &values).unwrap();
        let at = |block: usize, row: usize, col: usize| values[block * 4 + row * 2 + col].wide();
        let want = Host::from_fn(2, 4, |row, col| match col {
            0 | 1 => at(1, row, col),
            _ => at(0, row, col - 2) + at(2, row, col - 2),
        });
        let mut dense = MatrixBuffer::<T>::zeroed(device, 2, 4).unwrap();
        sparse.sparse_to_dense(&sparse.bsr_to_csr(&bsr).unwrap(), &mut dense).unwrap();
        assert_eq!(download(&dense), want, "{base:?}");
        let (x, x_host) = whole_matrix::<T>(device, rng, 4, 1);
        let x = DeviceBuffer::from_slice(device, &x.to_vec().unwrap()).unwrap();
        let mut y = DeviceBuffer::<T>::zeroed(device, 2).unwrap();
        sparse.bsrmv(T::ONE, &bsr, &x, T::ZERO, &mut y).unwrap();
        assert_eq!(column_of(&y), want.mul(&x_host), "bsrmv, {base:?}");
    }
}

#[test]
fn duplicates_add_up_in_older_functions_and_other_formats() {
    for_all_types!(older);
}

#[test]
fn more_entries_than_elements() {
    let Some((device, sparse)) = sparse() else { return };
    let a = Csr::from_host(&device, (1, 1), Base::Zero, &[0, 3], &[0; 3], &[1.0_f32, 2.0, 4.0]).unwrap();
    let mut dense = MatrixBuffer::<f32>::zeroed(&device, 1, 1).unwrap();
    sparse.sparse_to_dense(&a, &mut dense).unwrap();
    assert_eq!(dense.to_vec().unwrap(), [7.0]);
    let x = DeviceBuffer::from_slice(&device, &[1.0]).unwrap();
    let mut y = DeviceBuffer::<f32>::zeroed(&device, 1).unwrap();
    match sparse.spmv(1.0, &a, &x, 0.0, &mut y) {
        // The library of 5.7 accepts it.
        Ok(()) => assert_eq!(y.to_vec().unwrap(), [7.0]),
        Err(error) => refused::<()>(Err(error), "add the duplicates first"),
    }
}

/// Unsorted entries without duplicates are accepted everywhere that they were.
#[test]
fn entries_out_of_order_have_elements_of_products() {
    let Some((device, sparse)) = sparse() else { return };
    let mut c = Csr::from_host(&device, (2, 2), Base::Zero, &[0, 2, 3], &[1, 0, 1], &[0.0_f64; 3]).unwrap();
    assert!(!c.is_sorted());
    let a = MatrixBuffer::from_columns(&device, &[1.0, 2.0], 2, 1).unwrap();
    let b = MatrixBuffer::from_columns(&device, &[3.0, 5.0], 1, 2).unwrap();
    sparse.sddmm(1.0, &a, &b, 0.0, &mut c).unwrap();
    assert_eq!(c.values().to_vec().unwrap(), [5.0, 3.0, 10.0]);
}

//! Matrices and vectors from and to other crates.

#[cfg(feature = "ndarray")]
mod arrays {
    use hipsparse::{Base, Coo, Csc, Csr, Value};
    use linalg_testing::{Number, Rng};
    use ndarray::Array2;

    use crate::{Entries, Narrow, STRUCTURES, bad_input::refused, structure};

    fn same<T: Number + Value + std::ops::AddAssign, I: Narrow>(
        device: &hip::Device,
        entries: &Entries<T>,
        base: Base,
    ) {
        let mut dense = Array2::from_elem((entries.rows, entries.cols), T::ZERO);
        entries.entries.iter().for_each(|&(row, col, value)| dense[(row, col)] = value);
        assert_eq!(entries.csr::<I>(device, base).to_array().unwrap(), dense);
        assert_eq!(entries.csc::<I>(device, base).to_array().unwrap(), dense);
        assert_eq!(entries.coo::<I>(device, base).to_array().unwrap(), dense);
        let stored = dense.iter().filter(|value| **value != T::ZERO).count();
        let csr = Csr::<T, I>::from_array(device, &dense).unwrap();
        let csc = Csc::<T, I>::from_array(device, &dense).unwrap();
        let coo = Coo::<T, I>::from_array(device, &dense).unwrap();
        assert_eq!([csr.entries(), csc.entries(), coo.entries()], [stored; 3]);
        csr.validate().unwrap();
        csc.validate().unwrap();
        coo.validate().unwrap();
        assert_eq!(csr.to_array().unwrap(), dense);
        assert_eq!(csc.to_array().unwrap(), dense);
        assert_eq!(coo.to_array().unwrap(), dense);
    }

    #[test]
    fn arrays_go_in_and_come_out() {
        let Some(device) = linalg_testing::device() else { return };
        let mut rng = Rng::new(3);
        for index in 0..STRUCTURES + 3 {
            same::<f32, i32>(&device, &structure(index, &mut rng), Base::Zero);
            same::<num_complex::Complex64, i64>(&device, &structure(index, &mut rng), Base::One);
        }
    }

    #[test]
    fn entries_that_are_there_twice_are_added() {
        let Some(device) = linalg_testing::device() else { return };
        let coo = Coo::from_host(&device, (1, 2), Base::Zero, &[0, 0], &[1, 1], &[2.0_f64, 3.0]).unwrap();
        assert_eq!(coo.to_array().unwrap(), ndarray::array![[0.0, 5.0]]);
    }

    #[test]
    fn an_array_that_indices_cannot_count_is_refused() {
        let Some(device) = linalg_testing::device() else { return };
        // It takes no memory: all of its rows are the same.
        let row = ndarray::arr1(&[0.0_f32; 4]);
        let wide = row.broadcast((1 << 30, 4)).unwrap();
        refused(Csr::<f32, i32>::from_array(&device, &wide), "elements of an array");
    }
}

#[cfg(feature = "sprs")]
mod of_sprs {
    use hipsparse::{Base, Coo, Csc, Csr, SpVec};
    use linalg_testing::{Number, Rng};
    use sprs::{CsMat, CsVec, TriMat};

    use crate::{Entries, STRUCTURES, bad_input::refused, structure};

    fn triplets<T: Number + hipsparse::Value>(entries: &Entries<T>) -> TriMat<T> {
        let mut triplets = TriMat::new((entries.rows, entries.cols));
        entries.entries.iter().for_each(|&(row, col, value)| triplets.add_triplet(row, col, value));
        triplets
    }

    fn same<T: Number + hipsparse::Value + num_traits_of_sprs::Num>(device: &hip::Device, entries: &Entries<T>) {
        let triplets = triplets(entries);
        let (rows, cols): (CsMat<T>, CsMat<T>) = (triplets.to_csr(), triplets.to_csc());
        let csr = Csr::<T>::from_sprs(device, rows.view()).unwrap();
        let csc = Csc::<T, i64>::from_sprs(device, cols.view()).unwrap();
        let coo = Coo::<T>::from_sprs(device, triplets.view()).unwrap();
        assert_eq!(csr.to_sprs::<usize>().unwrap(), rows);
        assert_eq!(csc.to_sprs::<usize>().unwrap(), cols);
        let back: TriMat<T> = coo.to_sprs().unwrap();
        assert_eq!(back.to_csr::<usize>(), rows);
        for base in [Base::Zero, Base::One] {
            assert_eq!(entries.csr::<i64>(device, base).to_sprs::<usize>().unwrap(), rows);
            assert_eq!(entries.csc::<i32>(device, base).to_sprs::<usize>().unwrap(), cols);
        }
    }

    /// The trait that `sprs` requires to add numbers.
    mod num_traits_of_sprs {
        pub(super) trait Num: Clone + std::ops::Add<Output = Self> + PartialEq + std::fmt::Debug {}
        impl<T: Clone + std::ops::Add<Output = T> + PartialEq + std::fmt::Debug> Num for T {}
    }

    #[test]
    fn matrices_go_in_and_come_out() {
        let Some(device) = linalg_testing::device() else { return };
        let mut rng = Rng::new(4);
        for index in 0..STRUCTURES + 3 {
            same::<f64>(&device, &structure(index, &mut rng));
            same::<num_complex::Complex32>(&device, &structure(index, &mut rng));
        }
    }

    #[test]
    fn a_slice_of_rows_goes_in() {
        let Some(device) = linalg_testing::device() else { return };
        let rows: CsMat<f64> = triplets(&structure::<f64>(8, &mut Rng::new(5))).to_csr();
        // Its offsets do not begin at zero.
        let part = rows.slice_outer(5..9);
        let made: CsMat<f64> = Csr::<f64>::from_sprs(&device, part).unwrap().to_sprs().unwrap();
        assert_eq!((made.shape(), made.to_dense()), (part.shape(), part.to_dense()));
    }

    #[test]
    fn vectors_go_in_and_come_out() {
        let Some(device) = linalg_testing::device() else { return };
        let vector = CsVec::new(9, vec![2, 5, 8], vec![1.0_f32, 2.0, 3.0]);
        let made = SpVec::<f32>::from_sprs(&device, vector.view()).unwrap();
        assert_eq!(made.to_sprs::<usize>().unwrap(), vector);
        let unsorted = SpVec::from_host(&device, 9, Base::One, &[5, 2], &[1.0_f32, 2.0]).unwrap();
        refused(unsorted.to_sprs::<usize>(), "for sprs");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let Some(device) = linalg_testing::device() else { return };
        let rows: CsMat<f64> = triplets(&structure::<f64>(4, &mut Rng::new(6))).to_csr();
        refused(Csc::<f64>::from_sprs(&device, rows.view()), "`to_csc`");
        refused(Csr::<f64>::from_sprs(&device, rows.to_csc().view()), "`to_csr`");
        let wide = Csr::from_host(&device, (1, 40_000), Base::Zero, &[0, 1], &[39_999], &[1.0_f64]).unwrap();
        refused(wide.to_sprs::<i16>(), "the type that is asked for");
        let wide = Csr::from_host(&device, (1, 40_000), Base::Zero, &[0, 1], &[7], &[1.0_f64]).unwrap();
        refused(wide.to_sprs::<i16>(), "for sprs");
        let wide = CsMat::new((1, 1 << 40), vec![0, 1], vec![(1 << 40) - 1], vec![1.0_f64]);
        refused(Csr::<f64, i32>::from_sprs(&device, wide.view()), "an index");
        let unsorted = Csr::from_host(&device, (1, 3), Base::Zero, &[0, 2], &[1, 0], &[1.0_f64, 2.0]).unwrap();
        refused(unsorted.to_sprs::<usize>(), "for sprs");
    }
}

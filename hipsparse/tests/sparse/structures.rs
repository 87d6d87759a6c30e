//! Defects of index arrays are found, on the device as on the host.

use hip::DeviceBuffer;
use hipsparse::{Base, Coo, Csc, Csr, Defect, Error, SpMatRef, SpVec, format};

use crate::sparse;

#[track_caller]
fn defect<T>(result: hipsparse::Result<T>) -> Defect {
    match result {
        Err(Error::Structure(defect)) => defect,
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was accepted"),
    }
}

#[test]
fn what_is_unsafe_is_refused_and_the_rest_is_found() {
    let Some((device, _)) = sparse() else { return };
    let upload = |numbers: &[i32]| DeviceBuffer::from_slice(&device, numbers).unwrap();
    let values = |len: usize| DeviceBuffer::<f32>::zeroed(&device, len).unwrap();
    let csr =
        |offsets: &[i32], cols: &[i32]| Csr::new((2, 3), Base::Zero, upload(offsets), upload(cols), values(cols.len()));
    assert_eq!(defect(csr(&[1, 2, 3], &[0, 1, 2])), Defect::FirstOffset { found: 1 });
    assert_eq!(defect(csr(&[0, 2, 4], &[0, 1, 2])), Defect::LastOffset { found: 4, entries: 3 });
    assert_eq!(defect(csr(&[0, 4, 3], &[0, 1, 2])), Defect::OffsetDecreases { line: 1 });
    assert_eq!(defect(csr(&[0, 2, 3], &[0, 3, 2])), Defect::OutOfRange { position: 1, found: 3, size: 3 });
    assert_eq!(defect(csr(&[0, 2, 3], &[0, -1, 2])), Defect::OutOfRange { position: 1, found: -1, size: 3 });
    // These are safe, and `validate` reports them.
    let unsorted = csr(&[0, 2, 3], &[1, 0, 2]).unwrap();
    assert!(!unsorted.is_sorted());
    assert_eq!(defect(unsorted.validate()), Defect::Unsorted { position: 1 });
    let twice = csr(&[0, 2, 3], &[1, 1, 2]).unwrap();
    assert_eq!(defect(twice.validate()), Defect::Duplicate { position: 1 });
    let good = csr(&[0, 2, 3], &[0, 1, 2]).unwrap();
    assert!(good.is_sorted());
    good.validate().unwrap();
    // From one.
    let csc = Csc::new((3, 2), Base::One, upload(&[1, 3, 4]), upload(&[1, 4, 3]), values(3));
    assert_eq!(defect(csc), Defect::OutOfRange { position: 1, found: 3, size: 3 });
    let coo = Coo::new((3, 2), Base::One, upload(&[1, 3, 0]), upload(&[1, 2, 1]), values(3));
    assert_eq!(defect(coo), Defect::OutOfRange { position: 2, found: -1, size: 3 });
    let vector = SpVec::new(5, Base::One, upload(&[1, 6]), values(2));
    assert_eq!(defect(vector), Defect::OutOfRange { position: 1, found: 5, size: 5 });
    // Borrowed arrays.
    let (offsets, cols, of_view) = (upload(&[0, 1, 1]), upload(&[7]), values(1));
    let view = SpMatRef::new(format::Csr, (2, 3), Base::Zero, &offsets, &cols, &of_view);
    assert_eq!(defect(view), Defect::OutOfRange { position: 0, found: 7, size: 3 });
}

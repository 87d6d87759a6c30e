//! Other people's numbers: the tables of netlib's test program for level 1, `dblat1`.

use hip::{Device, DeviceBuffer};
use hipblas::{Blas, VectorMut, VectorRef};

use crate::blas;

fn near(got: f64, want: f64) {
    assert!((got - want).abs() < 1e-15 * 8.0, "{got}, not {want}");
}

/// `check1`: `dnrm2`, `dasum`, `idamax`, `dscal`, with increments of 1 and 2.
#[test]
fn vectors_alone() {
    let Some((device, _stream, blas)) = blas() else { return };
    let cases: [(&[f64], f64, f64, usize); 4] = [
        (&[0.3], 0.3, 0.3, 1),
        (&[0.3, -0.4], 0.5, 0.7, 2),
        (&[0.2, -0.6, 0.3], 0.7, 1.1, 2),
        (&[0.1, -0.3, 0.5, -0.1], 0.6, 1.0, 3),
    ];
    for (numbers, norm, sum, largest) in cases {
        for increment in [1, 2] {
            let mut memory = vec![9.0; (numbers.len() - 1) * increment + 1];
            memory.iter_mut().step_by(increment).zip(numbers).for_each(|(to, from)| *to = *from);
            let mut memory = DeviceBuffer::from_slice(&device, &memory).unwrap();
            let x = VectorRef::new(&memory, numbers.len(), increment as isize).unwrap();
            near(blas.nrm2(x).unwrap(), norm);
            near(blas.asum(x).unwrap(), sum);
            assert_eq!(blas.amax(x).unwrap(), Some(largest - 1), "counted from 0 here");
            let x = VectorMut::new(&mut memory, numbers.len(), increment as isize).unwrap();
            blas.scal(0.3, x).unwrap();
            let scaled = memory.to_vec().unwrap();
            scaled.iter().step_by(increment).zip(numbers).for_each(|(got, from)| near(*got, 0.3 * from));
            scaled.iter().skip(1).step_by(2).filter(|_| increment == 2).for_each(|gap| near(*gap, 9.0));
        }
    }
}

const X: [f64; 7] = [0.6, 0.1, -0.5, 0.8, 0.9, -0.3, -0.4];
const Y: [f64; 7] = [0.5, -0.9, 0.3, 0.7, -0.6, 0.2, 0.8];

fn pair(device: &Device, blas: &Blas, n: usize, (by_x, by_y): (isize, isize)) -> (f64, Vec<f64>) {
    let (x, mut y) = (DeviceBuffer::from_slice(device, &X).unwrap(), DeviceBuffer::from_slice(device, &Y).unwrap());
    let view = VectorRef::new(&x, n, by_x).unwrap();
    let dot = blas.dot(view, VectorRef::new(&y, n, by_y).unwrap()).unwrap();
    blas.axpy(0.3, view, VectorMut::new(&mut y, n, by_y).unwrap()).unwrap();
    (dot, y.to_vec().unwrap())
}

/// `check2`: `ddot` with its four pairs of increments, `daxpy` with increments of 1.
#[test]
fn vectors_in_pairs() {
    let Some((device, _stream, blas)) = blas() else { return };
    let products: [((isize, isize), [f64; 4]); 4] = [
        ((1, 1), [0.0, 0.30, 0.21, 0.62]),
        ((2, -2), [0.0, 0.30, -0.07, 0.85]),
        ((-2, 1), [0.0, 0.30, -0.79, -0.74]),
        ((-1, -2), [0.0, 0.30, 0.33, 1.27]),
    ];
    for (increments, wants) in products {
        for (n, want) in [0, 1, 2, 4].into_iter().zip(wants) {
            near(pair(&device, &blas, n, increments).0, want);
        }
    }
    let (_, y) = pair(&device, &blas, 4, (1, 1));
    y.iter().zip([0.68, -0.87, 0.15, 0.94, -0.6, 0.2, 0.8]).for_each(|(got, want)| near(*got, want));
}

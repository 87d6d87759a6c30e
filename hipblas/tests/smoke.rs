use hip::*; use hipblas::*;
#[test] fn smoke() {
    let Some(device) = linalg_testing::device() else { return };
    let t = std::time::Instant::now();
    let stream = Stream::new(&device).unwrap();
    let blas = Blas::new(&stream).unwrap();
    eprintln!("new {:?}", t.elapsed());
    let t = std::time::Instant::now();
    let a = MatrixBuffer::from_rows(&device, [[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]).unwrap();
    let mut c = MatrixBuffer::<f32>::zeroed(&device, 2, 2).unwrap();
    for _ in 0..3 {
    blas.gemm(1.0, a.t(), &a, 0.0, &mut c).unwrap();
    assert_eq!(c.to_vec().unwrap(), [35.0, 44.0, 44.0, 56.0]);
    eprintln!("gemm {:?}", t.elapsed()); }
    let x = DeviceBuffer::from_slice(&device, &[3.0f32, 4.0]).unwrap();
    for _ in 0..3 { assert_eq!(blas.nrm2(&x).unwrap(), 5.0); eprintln!("nrm2 {:?}", t.elapsed()); }
    let mut y = x.try_clone().unwrap();
    for _ in 0..3 { blas.axpy(2.0, &x, &mut y).unwrap();  y.to_vec().unwrap(); eprintln!("axpy {:?}", t.elapsed());}
    let a = DeviceBuffer::from_slice(&device, &[half::f16::ONE; 16]).unwrap();
    let mut c = DeviceBuffer::<f32>::zeroed(&device, 16).unwrap();
    let m = MatrixRef::new(&a, 4, 4).unwrap();
    for _ in 0..2 { let r = blas.gemm_ex(Compute::Default, 1.0f32, m, m, 0.0f32, MatrixMut::new(&mut c, 4, 4).unwrap());
    eprintln!("gemm_ex {:?} {r:?} {:?}", t.elapsed(), c.to_vec());}
}

//! Graphs and calls that need more workspace than the handle has: each graph keeps the workspace that it was captured
//! with, and computes correct results with it. Handles start with little memory here, so that small calls need more.

use hip::graph::Graph;
use hip::{DeviceBuffer, Stream};
use hipblas::{Blas, MatrixMut, MatrixRef, Pivots, Side, VectorMut};

/// The workspace of a new rocBLAS handle, in bytes.
const SMALL: &str = "64";

/// A stream, and a handle with little memory.
fn small(device: &hip::Device) -> (Stream, Blas) {
    let stream = Stream::new(device).unwrap();
    let blas = Blas::new(&stream).unwrap();
    (stream, blas)
}

/// The lower triangle of ones: a solve turns 1, 2, 3, ... into ones.
fn ones(order: usize) -> Vec<f32> {
    (0..order * order).map(|at| f32::from(u8::from(at % order >= at / order))).collect()
}

/// A matrix that is the larger, the closer to the diagonal: its factors are stable.
fn dominant(rows: usize, cols: usize) -> Vec<f32> {
    (0..rows * cols).map(|at| if at % rows == at / rows { 8.0 } else { 1.0 / (1.0 + at as f32) }).collect()
}

fn right_side(order: usize, cols: usize) -> Vec<f32> {
    (0..order * cols).map(|at| (at % order + 1) as f32).collect()
}

/// Some routine over operands of a size.
trait Problem: Sized {
    const NAME: &'static str;
    fn new(device: &hip::Device, size: usize) -> Self;
    /// As it was.
    fn reset(&mut self);
    fn queue(&mut self, blas: &Blas) -> hipblas::Result<()>;
    fn result(&self) -> Vec<f32>;
}

struct Solve {
    order: usize,
    a: DeviceBuffer<f32>,
    b: DeviceBuffer<f32>,
}

impl Problem for Solve {
    const NAME: &'static str = "hipblasStrsm";

    fn new(device: &hip::Device, order: usize) -> Self {
        let a = DeviceBuffer::from_slice(device, &ones(order)).unwrap();
        let b = DeviceBuffer::from_slice(device, &right_side(order, 7)).unwrap();
        Self { order, a, b }
    }

    fn reset(&mut self) {
        self.b.copy_from_slice(&right_side(self.order, 7)).unwrap();
    }

    fn queue(&mut self, blas: &Blas) -> hipblas::Result<()> {
        let triangle = MatrixRef::new(&self.a, self.order, self.order)?.lower()?;
        blas.trsm(Side::Left, 1.0, triangle, MatrixMut::new(&mut self.b, self.order, 7)?)
    }

    fn result(&self) -> Vec<f32> {
        self.b.to_vec().unwrap()
    }
}

/// LU, and a solve with it.
struct Lu {
    order: usize,
    a: DeviceBuffer<f32>,
    b: DeviceBuffer<f32>,
    pivots: Pivots,
    info: DeviceBuffer<i32>,
}

impl Problem for Lu {
    const NAME: &'static str = "hipblasSgetr";

    fn new(device: &hip::Device, order: usize) -> Self {
        Self {
            order,
            a: DeviceBuffer::from_slice(device, &dominant(order, order)).unwrap(),
            b: DeviceBuffer::from_slice(device, &right_side(order, 2)).unwrap(),
            pivots: Pivots::new(device, order, order).unwrap(),
            info: DeviceBuffer::zeroed(device, 1).unwrap(),
        }
    }

    fn reset(&mut self) {
        self.a.copy_from_slice(&dominant(self.order, self.order)).unwrap();
        self.b.copy_from_slice(&right_side(self.order, 2)).unwrap();
    }

    fn queue(&mut self, blas: &Blas) -> hipblas::Result<()> {
        let (order, a) = (self.order, MatrixMut::new(&mut self.a, self.order, self.order)?);
        blas.getrf(a, &mut self.pivots, &mut self.info)?;
        let a = MatrixRef::new(&self.a, order, order)?;
        blas.getrs(a, &self.pivots, MatrixMut::new(&mut self.b, order, 2)?)
    }

    fn result(&self) -> Vec<f32> {
        assert_eq!(self.info.to_vec().unwrap(), [0]);
        self.b.to_vec().unwrap()
    }
}

/// Of a matrix with few rows, which multiplies no matrices.
struct Qr {
    cols: usize,
    a: DeviceBuffer<f32>,
    tau: DeviceBuffer<f32>,
}

impl Qr {
    const ROWS: usize = 8;
}

impl Problem for Qr {
    const NAME: &'static str = "hipblasSgeqrf";

    fn new(device: &hip::Device, cols: usize) -> Self {
        let a = DeviceBuffer::from_slice(device, &dominant(Self::ROWS, cols)).unwrap();
        Self { cols, a, tau: DeviceBuffer::zeroed(device, Self::ROWS).unwrap() }
    }

    fn reset(&mut self) {
        self.a.copy_from_slice(&dominant(Self::ROWS, self.cols)).unwrap();
    }

    fn queue(&mut self, blas: &Blas) -> hipblas::Result<()> {
        let a = MatrixMut::new(&mut self.a, Self::ROWS, self.cols)?;
        blas.geqrf(a, VectorMut::new(&mut self.tau, Self::ROWS, 1)?)
    }

    fn result(&self) -> Vec<f32> {
        self.a.to_vec().unwrap()
    }
}

/// Captures a small problem, makes a large one through the same handle, and launches the graph among other memory.
fn a_graph_keeps_its_workspace<P: Problem>(device: &hip::Device, sizes: [usize; 3]) {
    let (stream, blas) = small(device);
    let mut problem = P::new(device, sizes[0]);
    match problem.queue(&blas) {
        Ok(()) => {}
        Err(error) if error.to_string().contains("NOT_SUPPORTED") => {
            return linalg_testing::skipped(&"this hipBLAS was built without rocSOLVER");
        }
        Err(error) => panic!("{error}"),
    }
    let want = problem.result();
    let capture = |problem: &mut P| -> Graph {
        let graph = stream.capture(|_| {
            problem.queue(&blas).expect("captured");
            Ok(())
        });
        graph.unwrap()
    };
    let graph = capture(&mut problem).instantiate().unwrap();
    let mut large = P::new(device, sizes[1]);
    // The memory that a captured call cannot get while a graph may use the current workspace.
    let refused = stream.capture(|_| {
        let error = large.queue(&blas).unwrap_err();
        assert!(matches!(error, hipblas::Error::Hip(hip::Error::Capture { .. })), "{error}");
        assert!(error.to_string().contains(P::NAME), "{error}");
        Ok(())
    });
    assert_eq!(refused.unwrap().nodes().unwrap().len(), 0, "{}", P::NAME);
    large.queue(&blas).unwrap();
    let large_want = large.result();
    // A second growth: hipBLAS has freed its own memory then.
    P::new(device, sizes[2]).queue(&blas).unwrap();
    let victims: Vec<_> =
        (9..20).map(|size| DeviceBuffer::from_slice(device, &vec![7_u8; 1 << size]).unwrap()).collect();
    problem.reset();
    graph.launch(&stream).unwrap();
    assert_eq!(problem.result(), want, "{}: wrong numbers", P::NAME);
    let whole = |victim: &DeviceBuffer<u8>| victim.to_vec().unwrap().iter().all(|byte| *byte == 7);
    assert!(victims.iter().all(whole), "{}: memory of others was written", P::NAME);
    // After a call of that size, one can be captured; and graphs outlive the handle.
    let captured = capture(&mut large).instantiate().unwrap();
    drop(blas);
    problem.reset();
    large.reset();
    graph.launch(&stream).unwrap();
    captured.launch(&stream).unwrap();
    assert_eq!(problem.result(), want, "{}: without its handle", P::NAME);
    assert_eq!(large.result(), large_want, "{}: captured after the growth", P::NAME);
}

#[test]
fn graphs_keep_the_workspace_that_they_were_captured_with() {
    // SAFETY: this is the program's only test, and its other threads read no variables.
    unsafe { std::env::set_var("ROCBLAS_DEVICE_MEMORY_SIZE", SMALL) };
    let Some(device) = linalg_testing::device() else { return };
    if !hipblas::is_available() {
        return linalg_testing::skipped(&"hipBLAS is not available");
    }
    a_graph_keeps_its_workspace::<Qr>(&device, [100, 400, 800]);
    if std::env::var("ROCM_RS_RELEASE").is_ok_and(|release| release == "5.7") {
        // Its rocBLAS loads all products of matrices with the first one: on the software GPU this takes minutes.
        return linalg_testing::skipped(&"calls that multiply matrices, the first of which takes minutes on ROCm 5.7");
    }
    a_graph_keeps_its_workspace::<Solve>(&device, [100, 150, 300]);
    a_graph_keeps_its_workspace::<Lu>(&device, [100, 200, 300]);
}

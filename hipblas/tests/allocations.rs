//! In steady state, calls allocate nothing: no memory of the host, counted by the allocator, and no memory of the device.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use hip::{DeviceBuffer, Stream};
use hipblas::{Blas, MatrixBuffer, MatrixMut, MatrixRef};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Counts what this thread allocates. Libraries in C have an allocator of their own.
struct Counting;

// SAFETY: the system's allocator, and a number that needs no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: what `alloc` has returned.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn calls_allocate_nothing_in_steady_state() {
    let Some(device) = linalg_testing::device() else { return };
    if !hipblas::is_available() {
        return linalg_testing::skipped(&"hipBLAS is not available");
    }
    let stream = Stream::new(&device).unwrap();
    let blas = Blas::new(&stream).unwrap();
    let a = MatrixBuffer::<f32>::zeroed(&device, 16, 16).unwrap();
    let mut c = MatrixBuffer::<f32>::zeroed(&device, 16, 16).unwrap();
    let many = DeviceBuffer::<f32>::zeroed(&device, 1024).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&device, 1024).unwrap();
    let alpha = DeviceBuffer::from_slice(&device, &[1.0_f32]).unwrap();
    let mut norm = DeviceBuffer::<f32>::zeroed(&device, 1).unwrap();
    let mut round = || {
        blas.gemm(1.0, &a, a.t(), 0.5, &mut c).unwrap();
        blas.gemm(&alpha, &a, &a, 0.5, &mut c).unwrap();
        let batch = MatrixRef::strided_batch(&many, (16, 16, 16), 256, 4).unwrap();
        let to = MatrixMut::strided_batch(&mut out, (16, 16, 16), 256, 4).unwrap();
        blas.gemm(1.0, batch, batch, 0.0, to).unwrap();
        blas.axpy(2.0, &many, &mut out).unwrap();
        blas.nrm2_into(&many, &mut norm).unwrap();
        blas.nrm2(&many).unwrap();
    };
    // The first rounds load code and make room for what is noted of the buffers' uses.
    (0..20).for_each(|_| round());
    stream.synchronize().unwrap();
    let before = COUNT.with(Cell::get);
    (0..20).for_each(|_| round());
    let allocated = COUNT.with(Cell::get) - before;
    assert_eq!(allocated, 0, "allocations in 120 calls");
}

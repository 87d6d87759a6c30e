//! The overhead of the crate over hipSPARSE: products through the crate and through the raw functions of the same
//! library.
//!
//! `cargo bench -p hipsparse`, with an AMD GPU and hipSPARSE. A small matrix shows the cost of a call, a large one the
//! whole. Both variants take turns within one run, `ROUNDS` times.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;

use hip::{Device, DeviceBuffer, Stream};
use hipsparse::{Base, Csr, Sparse};
use linalg_testing::Turns;

type Ptr = *mut c_void;
type Create = unsafe extern "C" fn(*mut Ptr) -> u32;
type Destroy = unsafe extern "C" fn(Ptr) -> u32;
type SetStream = unsafe extern "C" fn(Ptr, Ptr) -> u32;
type CreateCsr = unsafe extern "C" fn(*mut Ptr, i64, i64, i64, Ptr, Ptr, Ptr, u32, u32, u32, u32) -> u32;
type CreateDnVec = unsafe extern "C" fn(*mut Ptr, i64, Ptr, u32) -> u32;
type BufferSize = unsafe extern "C" fn(Ptr, u32, *const f32, Ptr, Ptr, *const f32, Ptr, u32, u32, *mut usize) -> u32;
type SpMv = unsafe extern "C" fn(Ptr, u32, *const f32, Ptr, Ptr, *const f32, Ptr, u32, u32, Ptr) -> u32;

/// HIPSPARSE_INDEX_32I, HIP_R_32F, HIPSPARSE_SPMV_CSR_ALG1.
const I32: u32 = 2;
const F32: u32 = 0;
const DEFAULT: u32 = 0;

/// Returns a function of the library that the crate has opened.
fn function<F: Copy>(name: &std::ffi::CStr) -> F {
    let address = hipsparse_sys::BINDING.symbol(name).expect("hipSPARSE has it");
    // SAFETY: a function pointer of the type that the caller names.
    unsafe { std::mem::transmute_copy(&address) }
}

/// Returns the address of a buffer's memory.
fn address<T: hip::Pod>(buffer: &DeviceBuffer<T>) -> Ptr {
    buffer.as_device_ptr().address() as Ptr
}

/// A tridiagonal matrix.
fn matrix(device: &Device, order: usize) -> Csr<f32> {
    let (mut offsets, mut cols) = (vec![0_i32], Vec::new());
    for row in 0..order {
        cols.extend((row.saturating_sub(1)..(row + 2).min(order)).map(|col| col as i32));
        offsets.push(cols.len() as i32);
    }
    let values = vec![1.0_f32; cols.len()];
    Csr::from_host(device, (order, order), Base::Zero, &offsets, &cols, &values).expect("a matrix")
}

fn main() {
    let Ok(device) = Device::get(0) else { return println!("no GPU is available") };
    if !hipsparse::is_available() {
        return println!("hipSPARSE is not available");
    }
    let stream = Stream::new(&device).expect("a stream");
    let sparse = Sparse::new(&stream).expect("a handle");
    let (create, set_stream): (Create, SetStream) = (function(c"hipsparseCreate"), function(c"hipsparseSetStream"));
    let (create_csr, create_vec): (CreateCsr, CreateDnVec) =
        (function(c"hipsparseCreateCsr"), function(c"hipsparseCreateDnVec"));
    let (buffer_size, spmv): (BufferSize, SpMv) = (function(c"hipsparseSpMV_bufferSize"), function(c"hipsparseSpMV"));
    let (destroy_mat, destroy_vec): (Destroy, Destroy) =
        (function(c"hipsparseDestroySpMat"), function(c"hipsparseDestroyDnVec"));
    let mut handle = ptr::null_mut();
    // SAFETY: the calls write a handle, and set it to a stream that is alive.
    assert_eq!(unsafe { create(&mut handle) | set_stream(handle, stream.as_raw().cast()) }, 0);
    let rounds: Option<usize> = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    let (one, zero) = (1.0_f32, 0.0_f32);
    for (order, calls, whole) in [(4, 1, false), (4, 32, false), (20_000, 1, true)] {
        let a = matrix(&device, order);
        let x = DeviceBuffer::<f32>::zeroed(&device, order).expect("memory");
        let mut y = DeviceBuffer::<f32>::zeroed(&device, order).expect("memory");
        let (at_x, at_y) = (address(&x), address(&y));
        let (first, second, values) = (a.pattern().first(), a.pattern().second(), a.values());
        let [first, second] = [first, second].map(|slice| slice.as_device_ptr().address() as Ptr);
        let (n, entries) = (order as i64, a.entries() as i64);
        let describe = |to: &mut [Ptr; 3]| {
            let [to_a, to_x, to_y] = to;
            let mut bytes = 0_usize;
            // SAFETY: a matrix and vectors that live to the end of the loop, and room for the descriptors and a size.
            unsafe {
                let made = create_csr(to_a, n, n, entries, first, second, address(values), I32, I32, 0, F32)
                    | create_vec(to_x, n, at_x, F32)
                    | create_vec(to_y, n, at_y, F32)
                    | buffer_size(handle, 0, &one, *to_a, *to_x, &zero, *to_y, F32, DEFAULT, &mut bytes);
                assert_eq!(made, 0);
            }
            bytes
        };
        let mut kept = [ptr::null_mut(); 3];
        let work = DeviceBuffer::<u8>::zeroed(&device, describe(&mut kept).max(1)).expect("memory");
        let multiply = |[of_a, of_x, of_y]: [Ptr; 3], bytes: usize| {
            let work = if bytes == 0 { ptr::null_mut() } else { address(&work) };
            // SAFETY: descriptors of operands that are alive, and a workspace of the required size.
            assert_eq!(unsafe { spmv(handle, 0, &one, of_a, of_x, &zero, of_y, F32, DEFAULT, work) }, 0);
        };
        let rounds = rounds.unwrap_or(if whole { 200 } else { 3000 / calls as usize });
        let turns = Turns { stream: &stream, rounds, whole, calls };
        // Both variants describe the operands for each product.
        let what = format!("spmv of order {order}, {calls} at once");
        turns.compare(
            &what,
            || sparse.spmv(1.0, &a, &x, 0.0, black_box(&mut y)).expect("spmv"),
            || {
                let mut new = [ptr::null_mut(); 3];
                let bytes = describe(&mut new);
                multiply(new, bytes);
                // SAFETY: descriptors that were just made.
                unsafe { assert_eq!(destroy_mat(new[0]) | destroy_vec(new[1]) | destroy_vec(new[2]), 0) };
            },
        );
        // The matrix is described and prepared once.
        let mut plan = sparse.spmv_plan(&a).expect("a plan");
        let what = format!("spmv with a plan, of order {order}, {calls} at once");
        let bytes = work.len() - usize::from(work.len() == 1);
        turns.compare(&what, || plan.run(1.0, &x, 0.0, black_box(&mut y)).expect("spmv"), || multiply(kept, bytes));
    }
}

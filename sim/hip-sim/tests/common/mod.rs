//! Shared by the tests: the simulator as HIP's provider, and the compiled test kernels.

#![allow(dead_code, missing_docs, unreachable_pub)] // each test uses its part

use std::ffi::{CString, c_void};
use std::ptr::null_mut;

use hip_sys::rocm_7_2::*;

pub const GFX90A: &[u8] = include_bytes!("../kernels/basic.gfx90a.co");
pub const COMPRESSED: &[u8] = include_bytes!("../kernels/basic.v3.hipfb");
pub const GFX942: &[u8] = include_bytes!("../kernels/basic.gfx942.co");

/// Installs the simulator as HIP's provider, once.
pub fn start() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| hip_sys::set_provider(hip_sim::provider()).unwrap());
}

/// Panics with the status's name and the simulator's description on failure.
#[track_caller]
pub fn ok(status: hipError_t) {
    assert_eq!(status, hipSuccess, "{:?}", hip_sim::last_fault());
}

/// Looks up a function that is newer than the lowest API level.
///
/// # Safety
/// `F` must be the type of the function's pointer.
pub unsafe fn newer<F: Copy>(name: &std::ffi::CStr) -> F {
    assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
    let address = hip_sim::provider().symbol(name).unwrap();
    // SAFETY: the address of a function of this type, as the caller vouches.
    unsafe { std::mem::transmute_copy(&address) }
}

pub fn malloc(bytes: usize) -> *mut c_void {
    start();
    let mut ptr = null_mut();
    // SAFETY: `ptr` is valid for the write.
    ok(unsafe { hipMalloc(&mut ptr, bytes) });
    ptr
}

pub fn free(ptr: *mut c_void) {
    // SAFETY: the simulator detects an invalid pointer.
    ok(unsafe { hipFree(ptr) });
}

/// A device copy of `data`.
pub fn upload<T: Copy>(data: &[T]) -> *mut c_void {
    let ptr = malloc(size_of_val(data));
    // SAFETY: both have the size of `data`.
    ok(unsafe { hipMemcpy(ptr, data.as_ptr().cast(), size_of_val(data), hipMemcpyHostToDevice) });
    ptr
}

/// `count` elements at `ptr`.
pub fn download<T: Copy + Default>(ptr: *mut c_void, count: usize) -> Vec<T> {
    let mut data = vec![T::default(); count];
    let bytes = size_of_val(&data[..]);
    // SAFETY: `data` has the size; the device's side is checked by the simulator.
    ok(unsafe { hipMemcpy(data.as_mut_ptr().cast(), ptr, bytes, hipMemcpyDeviceToHost) });
    data
}

pub fn load(image: &[u8]) -> hipModule_t {
    start();
    let mut module = null_mut();
    // SAFETY: `image` is a whole code object.
    ok(unsafe { hipModuleLoadData(&mut module, image.as_ptr().cast()) });
    module
}

pub fn kernel(module: hipModule_t, name: &str) -> hipFunction_t {
    let (name, mut function) = (CString::new(name).unwrap(), null_mut());
    // SAFETY: a C string and a place for the result.
    ok(unsafe { hipModuleGetFunction(&mut function, module, name.as_ptr()) });
    function
}

pub fn stream(flags: u32) -> hipStream_t {
    start();
    let mut stream = null_mut();
    // SAFETY: `stream` is valid for the write.
    ok(unsafe { hipStreamCreateWithFlags(&mut stream, flags) });
    stream
}

pub fn event() -> hipEvent_t {
    start();
    let mut event = null_mut();
    // SAFETY: `event` is valid for the write.
    ok(unsafe { hipEventCreate(&mut event) });
    event
}

/// A launch with arguments of any types.
#[macro_export]
macro_rules! launch {
    ($function:expr, $grid:expr, $block:expr, lds $lds:expr, $stream:expr, ($($arg:expr),*)) => {{
        let mut arguments: Vec<*mut std::ffi::c_void> = vec![$(std::ptr::from_ref(&$arg).cast_mut().cast()),*];
        let (grid, block): ([u32; 3], [u32; 3]) = ($grid, $block);
        let (function, lds, stream) = ($function, $lds, $stream);
        // SAFETY: a pointer to each argument; the simulator checks what the kernel does.
        #[allow(unused_unsafe)]
        unsafe {
            hip_sys::hipModuleLaunchKernel(
                function, grid[0], grid[1], grid[2], block[0], block[1], block[2], lds, stream,
                arguments.as_mut_ptr(), std::ptr::null_mut(),
            )
        }
    }};
    ($function:expr, $grid:expr, $block:expr, $stream:expr, ($($arg:expr),*)) => {
        launch!($function, $grid, $block, lds 0, $stream, ($($arg),*))
    };
}

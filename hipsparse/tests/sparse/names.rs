//! Functions under two names, and names of statuses.

use std::ffi::{CStr, c_void};
use std::ptr;

use hipsparse::Base;
use linalg_testing::Rng;

use crate::{is_5, sparse, structure};

type Ptr = *mut c_void;

/// A function of the library by its name.
fn raw<F: Copy>(name: &CStr) -> F {
    let address = hipsparse_sys::BINDING.symbol(name).unwrap();
    // SAFETY: a function pointer of the type that the caller names.
    unsafe { std::mem::transmute_copy(&address) }
}

/// The sizes that functions of one type say under two names.
macro_rules! same_size {
    ($name:literal, fn($($type:ty = $argument:expr),* $(,)?)) => {{
        let sizes = ["\0", "Ext\0"].map(|end| {
            let name = format!("hipsparse{}_bufferSize{end}", $name);
            let mut bytes = usize::MAX;
            let function: unsafe extern "C" fn($($type,)* *mut usize) -> u32 =
                raw(CStr::from_bytes_with_nul(name.as_bytes()).unwrap());
            // SAFETY: the function has these parameters; it looks at the sizes only.
            assert_eq!(unsafe { function($($argument,)* &mut bytes) }, 0, "{name}");
            bytes
        });
        assert!(sizes[0] != usize::MAX && sizes[0] == sizes[1], "{}: {sizes:?}", $name);
    }};
}

/// `HIPSPARSE_FUNCTIONS.md` counts each of these functions under one of its names.
#[test]
fn sizes_of_prunings_are_the_same_under_both_names() {
    let Some((device, _sparse)) = sparse() else { return };
    let a = structure::<f64>(8, &mut Rng::new(1)).csr::<i32>(&device, Base::Zero);
    let pattern = a.pattern();
    let (m, n, entries) = (a.rows() as i32, a.cols() as i32, a.entries() as i32);
    let [x, y] = [pattern.first(), pattern.second()].map(|slice| slice.as_device_ptr().address() as Ptr);
    let v = a.values().as_device_ptr().address() as Ptr;
    let (mut h, mut d, mut info): (Ptr, Ptr, Ptr) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    type Make = unsafe extern "C" fn(*mut Ptr) -> u32;
    type Unmake = unsafe extern "C" fn(Ptr) -> u32;
    let makers: [Make; 3] =
        [raw(c"hipsparseCreate"), raw(c"hipsparseCreateMatDescr"), raw(c"hipsparseCreatePruneInfo")];
    // SAFETY: each writes a pointer.
    let make = || unsafe { assert_eq!(makers[0](&mut h) | makers[1](&mut d) | makers[2](&mut info), 0) };
    device.with_current(make).unwrap();
    let (single, double) = (0.5_f32, 0.5_f64);
    let of_single: Ptr = (&raw const single).cast_mut().cast();
    let of_double: Ptr = (&raw const double).cast_mut().cast();
    same_size!("SpruneCsr2csr", fn(Ptr = h, i32 = m, i32 = n, i32 = entries, Ptr = d, Ptr = v, Ptr = x, Ptr = y,
        Ptr = of_single, Ptr = d, Ptr = v, Ptr = x, Ptr = y));
    same_size!("DpruneCsr2csr", fn(Ptr = h, i32 = m, i32 = n, i32 = entries, Ptr = d, Ptr = v, Ptr = x, Ptr = y,
        Ptr = of_double, Ptr = d, Ptr = v, Ptr = x, Ptr = y));
    same_size!("SpruneCsr2csrByPercentage", fn(Ptr = h, i32 = m, i32 = n, i32 = entries, Ptr = d, Ptr = v, Ptr = x,
        Ptr = y, f32 = 50.0, Ptr = d, Ptr = v, Ptr = x, Ptr = y, Ptr = info));
    same_size!("DpruneCsr2csrByPercentage", fn(Ptr = h, i32 = m, i32 = n, i32 = entries, Ptr = d, Ptr = v, Ptr = x,
        Ptr = y, f64 = 50.0, Ptr = d, Ptr = v, Ptr = x, Ptr = y, Ptr = info));
    same_size!("SpruneDense2csr", fn(Ptr = h, i32 = 4, i32 = 4, Ptr = v, i32 = 4, Ptr = of_single, Ptr = d, Ptr = v,
        Ptr = x, Ptr = y));
    same_size!("DpruneDense2csr", fn(Ptr = h, i32 = 4, i32 = 4, Ptr = v, i32 = 4, Ptr = of_double, Ptr = d, Ptr = v,
        Ptr = x, Ptr = y));
    same_size!("SpruneDense2csrByPercentage", fn(Ptr = h, i32 = 4, i32 = 4, Ptr = v, i32 = 4, f32 = 50.0, Ptr = d,
        Ptr = v, Ptr = x, Ptr = y, Ptr = info));
    same_size!("DpruneDense2csrByPercentage", fn(Ptr = h, i32 = 4, i32 = 4, Ptr = v, i32 = 4, f64 = 50.0, Ptr = d,
        Ptr = v, Ptr = x, Ptr = y, Ptr = info));
    let unmakers: [Unmake; 3] =
        [raw(c"hipsparseDestroy"), raw(c"hipsparseDestroyMatDescr"), raw(c"hipsparseDestroyPruneInfo")];
    // SAFETY: nothing uses them any more.
    let unmake = || unsafe { assert_eq!(unmakers[0](h) | unmakers[1](d) | unmakers[2](info), 0) };
    device.with_current(unmake).unwrap();
}

#[test]
fn the_library_says_what_a_status_is() {
    if sparse().is_none() {
        return;
    }
    let found = hipsparse::status_text(3);
    assert_eq!(found.is_none(), is_5());
    if let Some((name, text)) = found {
        assert!(name.contains("invalid_value"), "{name}");
        assert!(!text.is_empty());
        assert_ne!(hipsparse::status_text(0).unwrap().0, name);
    }
}

//! The bindings on the real hipBLASLt. Descriptors are made on the host, and need no GPU.

#[cfg(feature = "rocm-7-1")]
mod rocm_7_1 {
    use hipblaslt_sys::rocm_7_1 as sys;

    include!("real/library.rs");
}

#[cfg(feature = "rocm-7-2")]
mod rocm_7_2 {
    use hipblaslt_sys::rocm_7_2 as sys;

    include!("real/library.rs");
}

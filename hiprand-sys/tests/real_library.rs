//! The bindings on the real hipRAND. Its host generators compute on the CPU, but allocate memory with HIP, which fails
//! without a GPU: the tests that generate numbers use C functions as a stand-in for HIP.

#[cfg(feature = "rocm-5-7")]
mod rocm_5_7 {
    use hiprand_sys::rocm_5_7 as sys;

    include!("real/library.rs");
}

#[cfg(feature = "rocm-6-4")]
mod rocm_6_4 {
    use hiprand_sys::rocm_6_4 as sys;

    include!("real/library.rs");
}

#[cfg(feature = "rocm-7-2")]
mod rocm_7_2 {
    use hiprand_sys::rocm_7_2 as sys;

    include!("real/library.rs");
}

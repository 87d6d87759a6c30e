//! The bindings on the real rocTX. It works without a profiler and without a GPU.

#[cfg(feature = "rocm-5-7")]
mod rocm_5_7 {
    use roctx_sys::rocm_5_7 as sys;

    include!("real/library.rs");
}

#[cfg(feature = "rocm-6-4")]
mod rocm_6_4 {
    use roctx_sys::rocm_6_4 as sys;

    include!("real/library.rs");
}

#[cfg(feature = "rocm-7-2")]
mod rocm_7_2 {
    use roctx_sys::rocm_7_2 as sys;

    include!("real/library.rs");
}

//! The bindings on the real RCCL, on a machine with or without a GPU.

#[cfg(feature = "rocm-5-7")]
mod rocm_5_7 {
    use rccl_sys::rocm_5_7 as sys;

    include!("real/library.rs");
}

#[cfg(feature = "rocm-7-2")]
mod rocm_7_2 {
    use rccl_sys::rocm_7_2 as sys;

    include!("real/library.rs");
}

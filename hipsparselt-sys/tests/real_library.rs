//! The bindings on the real hipSPARSELt, on a machine with or without a GPU.

#[cfg(feature = "rocm-7-2")]
mod rocm_7_2 {
    use hipsparselt_sys::rocm_7_2 as sys;

    include!("real/library.rs");
}

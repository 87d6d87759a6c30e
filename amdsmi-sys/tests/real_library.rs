//! The bindings on the real AMD SMI, on a machine with or without a GPU. The structures differ between releases: one of
//! the fetched libraries belongs to ROCm 10, and one is newer than ROCm 5.7 and only suitable for a call.

#[cfg(feature = "rocm-5-7")]
mod rocm_5_7 {
    use amdsmi_sys::rocm_5_7 as sys;

    include!("real/library.rs");
}

#[cfg(feature = "rocm-10-0")]
mod rocm_10_0 {
    use amdsmi_sys::rocm_10_0 as sys;

    include!("real/library.rs");
    include!("real/rocm_10.rs");
}

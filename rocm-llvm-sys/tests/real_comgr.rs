//! The bindings on the real Comgr of the release, which compiles and inspects without a GPU.

#[cfg(feature = "rocm-5-7")]
mod rocm_5_7 {
    use rocm_llvm_sys::comgr::rocm_5_7 as sys;

    include!("real/comgr.rs");
}

#[cfg(feature = "rocm-6-4")]
mod rocm_6_4 {
    use rocm_llvm_sys::comgr::rocm_6_4 as sys;

    include!("real/comgr.rs");
}

#[cfg(feature = "rocm-7-2")]
mod rocm_7_2 {
    use rocm_llvm_sys::comgr::rocm_7_2 as sys;

    include!("real/comgr.rs");
}

//! The bindings on the real libclang of the release.

#[cfg(feature = "rocm-5-7")]
mod rocm_5_7 {
    use rocm_llvm_sys::clang::rocm_5_7 as sys;

    include!("real/clang.rs");
}

#[cfg(feature = "rocm-6-4")]
mod rocm_6_4 {
    use rocm_llvm_sys::clang::rocm_6_4 as sys;

    include!("real/clang.rs");
}

#[cfg(feature = "rocm-7-2")]
mod rocm_7_2 {
    use rocm_llvm_sys::clang::rocm_7_2 as sys;

    include!("real/clang.rs");
}

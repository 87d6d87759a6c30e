//! The bindings on the real LLVM of the release: no GPU is needed.

#[cfg(feature = "rocm-5-7")]
mod rocm_5_7 {
    use rocm_llvm_sys::llvm::rocm_5_7 as sys;

    include!("real/llvm.rs");
}

#[cfg(feature = "rocm-6-4")]
mod rocm_6_4 {
    use rocm_llvm_sys::llvm::rocm_6_4 as sys;

    include!("real/llvm.rs");
}

#[cfg(feature = "rocm-7-2")]
mod rocm_7_2 {
    use rocm_llvm_sys::llvm::rocm_7_2 as sys;

    include!("real/llvm.rs");
}

//! Names of Rust types in CUDA C++.

/// A type with a name in CUDA C++.
///
/// ```
/// use cuda_compat::types::CudaTypeName;
///
/// assert_eq!(<u8 as CudaTypeName>::NAME, "unsigned char");
/// ```
#[diagnostic::on_unimplemented(
    note = "`half::f16` and `bf16` need the feature `f16` of `cuda-compat`, types of `float8` the feature `f8`, of `float4` the feature `f4`"
)]
pub trait CudaTypeName {
    /// The name in CUDA C++.
    const NAME: &'static str;
}

macro_rules! names {
    ($($(#[$meta:meta])* $ty:ty: $name:literal,)*) => {$(
        $(#[$meta])*
        impl CudaTypeName for $ty {
            const NAME: &'static str = $name;
        }
    )*};
}

names! {
    bool: "bool",
    i8: "char",
    i16: "short",
    i32: "int",
    i64: "long",
    isize: "intptr_t",
    u8: "unsigned char",
    u16: "unsigned short",
    u32: "unsigned int",
    u64: "unsigned long",
    usize: "size_t",
    f32: "float",
    f64: "double",
    #[cfg(feature = "f16")] half::f16: "__half",
    #[cfg(feature = "f16")] half::bf16: "__nv_bfloat16",
    #[cfg(feature = "f8")] float8::F8E4M3: "__nv_fp8_e4m3",
    #[cfg(feature = "f8")] float8::F8E5M2: "__nv_fp8_e5m2",
    #[cfg(feature = "f4")] float4::F4E2M1: "__nv_fp4_e2m1",
    #[cfg(feature = "f4")] float4::F4E2M1x2: "__nv_fp4x2_e2m1",
    #[cfg(feature = "f4")] float4::E8M0: "__nv_fp8_e8m0",
}

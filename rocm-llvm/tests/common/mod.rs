//! Shared code of the tests.

#![allow(dead_code, missing_docs, unreachable_pub)] // each test uses a part of it

/// A kernel that needs the device libraries.
pub const SAXPY: &str = r#"extern "C" __global__ void saxpy(float a, const float *x, float *y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + fmaf(y[i], 2.0f, 1.0f);
}
"#;

/// Declares each test once for every release, in a separate process with the release's libraries.
#[macro_export]
macro_rules! on_each_release {
    ($($test:ident)*) => {
        on_each_release! { rocm_5_7 "5.7" "libamd_comgr.so.2" $($test)* }
        on_each_release! { rocm_6_4 "6.4" "libamd_comgr.so.3" $($test)* }
        on_each_release! { rocm_7_2 "7.2" "libamd_comgr.so.3" $($test)* }
    };
    ($module:ident $release:literal $library:literal $($test:ident)*) => {
        mod $module {
            $(
                #[test]
                fn $test() {
                    let path = concat!(module_path!(), "::", stringify!($test));
                    if !sys_testing::child::run_with_libraries(path, $release, &[$library]) {
                        rocm_llvm::comgr::available().unwrap();
                        super::$test();
                    }
                }
            )*
        }
    };
}

/// Returns whether this process has the libraries of that release.
pub fn is_release(release: &str) -> bool {
    sys_testing::child::inside().as_deref() == Some(release)
}

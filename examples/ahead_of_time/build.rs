//! Compiles the kernels with ROCm's clang or HIPRTC if one is installed, otherwise uses the committed bundle.

fn main() -> hiprtc::Result<()> {
    hiprtc::build::Build::new("kernels/blur.hip").archs(["gfx90a", "gfx942"]).committed("kernels/blur.hipfb").compile()
}

//! Compiles the kernels, or uses the committed bundles.

use hip_kernel_build::Build;

fn main() -> hip_kernel_build::Result<()> {
    let instinct = ["gfx90a", "gfx942"];
    // Without overflow checks, as in a release build: the comparison with HIP C++ counts instructions.
    let build = |source: &str| Build::new(source).archs(instinct).debug_assertions(false);
    build("src/kernels/mod.rs").committed("bundles/kernels.hipfb").compile()?;
    build("src/instinct.rs").committed("bundles/instinct.hipfb").compile()
}

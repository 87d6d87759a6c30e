//! Compiles the kernels, or takes the committed bundles.

use hip_kernel_build::Build;

fn main() -> hip_kernel_build::Result<()> {
    let instinct = ["gfx90a", "gfx942"];
    Build::new("src/kernels/mod.rs").archs(instinct).committed("bundles/kernels.hipfb").compile()?;
    Build::new("src/instinct.rs").archs(instinct).committed("bundles/instinct.hipfb").compile()
}

//! Compiles the kernels, or uses the committed bundle.

fn main() -> hip_kernel_build::Result<()> {
    let archs = ["gfx90a", "gfx942", "gfx1100", "gfx1201"];
    hip_kernel_build::Build::new("src/kernels/mod.rs").archs(archs).committed("kernels.hipfb").compile()
}

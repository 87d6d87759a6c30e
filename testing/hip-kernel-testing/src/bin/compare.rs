//! Compares the instructions of kernels in Rust and in HIP C++: `cargo run -p hip-kernel-testing --bin compare --
//! --record` writes `COMPARISON.md`.

use hip_kernel_testing::compare;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Ok(language) = std::env::var("HIP_KERNEL_COMPARE") {
        return compare::run(&language);
    }
    let page = compare::page(&compare::measure(&[])?);
    if std::env::args().nth(1).is_some_and(|argument| argument == "--record") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/COMPARISON.md"), &page)?;
    }
    print!("{page}");
    Ok(())
}

//! Prints the architectures that Comgr compiles for, with their registers and local memory.

use rocm_llvm::comgr;

fn main() -> comgr::Result<()> {
    println!("Comgr {}", comgr::version()?);
    for name in comgr::isas()? {
        let isa = comgr::isa_metadata(&name)?;
        let number = |key: &str| isa[key].as_u64().unwrap_or_default();
        println!(
            "{:<16} {} vector registers, {} bytes of local memory",
            isa["Processor"].as_str().unwrap_or(&name),
            number("TotalNumVGPRs"),
            number("LocalMemorySize")
        );
    }
    Ok(())
}

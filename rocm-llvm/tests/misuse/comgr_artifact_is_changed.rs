//! What the compiler made is changed before it is given back.
use rocm_llvm::comgr::{self, Options};

fn main() -> comgr::Result<()> {
    let mut built = comgr::assemble("a.s", "s_nop 0", "gfx90a", &Options::new())?;
    built.bytes[3] ^= 1;
    built.bytes.reverse();
    Ok(())
}

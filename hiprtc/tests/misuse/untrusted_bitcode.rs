//! Bitcode from a file is linked without an `unsafe` call.
use hiprtc::{LinkInput, Linker, Result};

fn link(linker: &mut Linker, bytes: &[u8]) -> Result<()> {
    linker.add_ir("define void @f() { ret void }", "text")?;
    linker.add(LinkInput::Bitcode, bytes, "file")?;
    linker.add_file(LinkInput::BitcodeArchive, "library.a")
}

fn main() {
    let _ = link;
}

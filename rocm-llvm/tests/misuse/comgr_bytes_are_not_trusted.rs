//! Bytes of a file are given to LLVM's readers.
use rocm_llvm::comgr::{self, Options};

fn main() {
    let file = vec![0_u8; 4];
    let _ = comgr::ir_to_object("file.bc", &file[..], "gfx90a", &Options::new());
    let _ = comgr::link_objects(&[("file.o", &file[..])], "gfx90a", &Options::new());
}

//! A symbolizer reads from its code object.
use rocm_llvm::comgr::{Data, DataKind, Symbolizer};

fn main() {
    let data = Data::new(DataKind::CodeObject, "code", b"").unwrap();
    let symbolizer = Symbolizer::new(&data).unwrap();
    drop(data);
    println!("{:?}", symbolizer.code(0));
}

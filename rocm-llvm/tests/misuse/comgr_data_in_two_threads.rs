//! Comgr allows no two threads to use an object at once.
use rocm_llvm::comgr::{Data, DataKind};

fn main() {
    let data = Data::new(DataKind::Source, "a.hip", b"int a;").unwrap();
    std::thread::spawn(move || println!("{:?}", data.name()));
}

//! A type borrows its unit, through all that leads to it.
use rocm_llvm::clang::{Index, Source};

fn main() {
    let index = Index::new().unwrap();
    let unit = index.parse(&Source::text("a.h", "int *x;")).unwrap();
    let ty = unit.cursor().children()[0].ty().unwrap().pointee().unwrap().canonical();
    drop(unit);
    println!("{ty}");
}

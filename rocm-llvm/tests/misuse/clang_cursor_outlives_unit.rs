//! A cursor borrows its unit.
use rocm_llvm::clang::{Index, Source};

fn main() {
    let index = Index::new().unwrap();
    let cursor = {
        let unit = index.parse(&Source::text("a.h", "int x;")).unwrap();
        unit.cursor().children()[0]
    };
    println!("{cursor:?}");
}

//! A unit borrows its index.
use rocm_llvm::clang::{Index, Source, TranslationUnit};

fn dangling() -> TranslationUnit<'static> {
    let index = Index::new().unwrap();
    index.parse(&Source::text("a.h", "int x;")).unwrap()
}

fn main() {
    dangling();
}

//! A unit's cursors are used by one thread.
use rocm_llvm::clang::{Index, Source};

fn main() {
    let index = Index::new().unwrap();
    let unit = index.parse(&Source::text("a.h", "int x;")).unwrap();
    let cursor = unit.cursor();
    std::thread::scope(|scope| {
        scope.spawn(|| cursor.spelling());
    });
}

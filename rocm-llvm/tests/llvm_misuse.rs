//! Misuse of `llvm`, `clang` and `comgr` that must not compile. The expected messages are those of one compiler.

use std::io::Write as _;
use std::process::Command;

/// Whether a type has a trait, told without an error: the inherent method comes first where its bound holds.
macro_rules! has {
    ($type:ty: $bound:path) => {{
        struct Asked<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "the one or the other is called")]
        impl<T: ?Sized + $bound> Asked<T> {
            fn answer(&self) -> bool {
                true
            }
        }
        #[allow(dead_code, reason = "the one or the other is called")]
        trait Otherwise {
            fn answer(&self) -> bool {
                false
            }
        }
        impl<T: ?Sized> Otherwise for Asked<T> {}
        Asked::<$type>(std::marker::PhantomData).answer()
    }};
}

/// LLVM, libclang and Comgr allow no two threads to use an object at once. Contexts and machines can move to another thread.
#[test]
fn objects_are_of_one_thread_at_a_time() {
    use rocm_llvm::{clang, comgr, llvm};

    assert!(has!(Vec<u8>: Send) && has!(Vec<u8>: Sync) && !has!(std::rc::Rc<u8>: Send));
    assert!(has!(llvm::Context: Send) && !has!(llvm::Context: Sync));
    assert!(!has!(llvm::Module<'static>: Send) && !has!(llvm::Module<'static>: Sync));
    assert!(has!(llvm::TargetMachine: Send) && !has!(llvm::TargetMachine: Sync));
    assert!(!has!(clang::Cursor<'static>: Send) && !has!(clang::Cursor<'static>: Sync));
    assert!(!has!(comgr::Data: Send) && !has!(comgr::Data: Sync));
}

/// The compiler whose messages are in `tests/misuse/*.stderr`.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn misuse_does_not_compile() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version =
        Command::new(rustc).arg("--version").output().map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    match version {
        Ok(version) if version.starts_with(COMPILER) => {}
        other => {
            let _ = writeln!(std::io::stdout(), "SKIPPED: the messages are those of {COMPILER}*, this is {other:?}");
            return;
        }
    }
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/misuse/llvm_*.rs");
    cases.compile_fail("tests/misuse/clang_*.rs");
    cases.compile_fail("tests/misuse/comgr_*.rs");
}

//! Misuse of `llvm`, `clang` and `comgr` that must not compile.

/// Tests whether a type implements a trait, without a compile error: the inherent method takes precedence if its bound
/// holds.
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

/// LLVM, libclang and Comgr do not allow two threads to use an object at once. Contexts and machines can move to
/// another thread.
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

#[test]
fn misuse_does_not_compile() {
    sys_testing::misuse::check("tests/misuse", &["rocm_llvm"]);
}

//! Who sees functions and global variables.

use rocm_llvm_sys::llvm as sys;

macro_rules! linkages {
    ($($(#[$doc:meta])* $name:ident = $raw:ident,)*) => {
        /// The visibility of a function or a global variable to other modules.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Linkage {
            $($(#[$doc])* $name,)*
        }

        impl Linkage {
            pub(super) fn raw(self) -> sys::LLVMLinkage {
                match self {
                    $(Self::$name => sys::$raw,)*
                }
            }

            pub(super) fn from_raw(raw: sys::LLVMLinkage) -> Self {
                match raw {
                    $(sys::$raw => Self::$name,)*
                    // LLVM returns no other number.
                    _ => Self::External,
                }
            }
        }
    };
}

linkages! {
    /// Visible to all modules.
    External = LLVMExternalLinkage,
    /// A copy of a definition elsewhere, for optimisation only.
    AvailableExternally = LLVMAvailableExternallyLinkage,
    /// Visible only to its module, like C's `static`.
    Internal = LLVMInternalLinkage,
    /// Visible only to its module; without a symbol in objects.
    Private = LLVMPrivateLinkage,
    /// Visible to all modules; another definition, which may differ, may replace it; it is removed if nothing uses it.
    LinkOnce = LLVMLinkOnceAnyLinkage,
    /// Visible to all modules; another definition may replace it, and it is removed if nothing uses it.
    LinkOnceOdr = LLVMLinkOnceODRLinkage,
    /// Visible to all modules; another definition, which may differ, may replace it.
    Weak = LLVMWeakAnyLinkage,
    /// Visible to all modules; another definition may replace it.
    WeakOdr = LLVMWeakODRLinkage,
    /// A declaration that is null if nothing defines it.
    ExternalWeak = LLVMExternalWeakLinkage,
    /// A variable with the value 0 that is merged with those of the same name, as C's tentative definitions.
    Common = LLVMCommonLinkage,
    /// An array that is concatenated with those of the same name.
    Appending = LLVMAppendingLinkage,
}

//! Who sees functions and global variables.

/// The visibility of a function or a global variable to other modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Linkage {
    /// Visible to all modules.
    External,
    /// Visible only to its module, like C's `static`.
    Internal,
    /// Visible only to its module; without a symbol in objects.
    Private,
    /// Visible to all modules; another definition may replace it, and it is removed if nothing uses it.
    LinkOnceOdr,
    /// Visible to all modules; another definition may replace it.
    WeakOdr,
}

impl Linkage {
    pub(super) fn raw(self) -> rocm_llvm_sys::llvm::LLVMLinkage {
        use rocm_llvm_sys::llvm::*;
        match self {
            Self::External => LLVMExternalLinkage,
            Self::Internal => LLVMInternalLinkage,
            Self::Private => LLVMPrivateLinkage,
            Self::LinkOnceOdr => LLVMLinkOnceODRLinkage,
            Self::WeakOdr => LLVMWeakODRLinkage,
        }
    }
}

//! LLVM through its C interface.

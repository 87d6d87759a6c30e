//! Where the symbols of a library are visible.

/// The scope in which the symbols of an opened library are visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Only through the library itself (`RTLD_LOCAL`). This suffices for every library of ROCm.
    Local,
    /// Also in every library opened later (`RTLD_GLOBAL`). On Windows the same as `Local`.
    Global,
}

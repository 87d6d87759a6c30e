//! Kinds of accesses and of memory.

/// The kind of access to an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Read,
    /// Writes, and possibly reads too.
    Write,
}

/// The other users that can access an allocation. They decide how a graph may use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MemoryKind {
    /// Only devices access it: whatever the order, no Rust reference observes a change.
    #[default]
    Device,
    /// The host borrows it as slices, which a graph that is launched later cannot know.
    Host,
    /// It ends with a borrow, so no graph can keep it.
    Borrowed,
    /// A module and its variables: any launch of its kernels may use them. Launches count as reads, and can run
    /// concurrently; all other uses of the variables count as writes.
    Module,
}

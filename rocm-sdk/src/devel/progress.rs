//! What an expansion reports.

/// Progress of [`Devel::expand`](super::Devel::expand).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The current step.
    pub step: Step,
    /// The amount done.
    pub done: u64,
    /// The total: bytes of the archive's file while unpacking, otherwise files. 0 if unknown.
    pub total: u64,
}

/// A step of [`Devel::expand`](super::Devel::expand).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Another process expands the same wheel.
    Waiting,
    /// Files of the archive are written.
    Unpacking,
    /// Links of the archive are made.
    Linking,
    /// The tree is recorded and put in its place.
    Recording,
    /// Files of device wheels are linked.
    DeviceFiles,
}

/// A wheel or file that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The wheel, or the wheel and the file.
    pub what: String,
    /// Why, and what to do.
    pub why: String,
}

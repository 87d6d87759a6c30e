//! The lanes that CI has.

/// A group of steps that CI runs in parallel with those of the other lane, each lane with its own target folder. Cargo
/// uses one processor for much of the time, and tests wait: one lane alone leaves the second processor idle for half of
/// the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Lane {
    /// Lints, documentation, generated files, and tests that need no library built for others
    Compiler,
    /// Tests that run on ROCm's libraries, and everything else
    Libraries,
}

//! The end of a group: its calls are compared with those of other ranks, where that is asked for, and made.

use crate::checks;
use crate::error::Result;
use crate::group::Group;

/// Makes the calls that `body` puts into a group, unless it returns an error.
///
/// # Errors
/// The errors of `body` and of [`Group::end`].
pub fn group<'a>(body: impl FnOnce(&mut Group<'a>) -> Result<()>) -> Result<()> {
    let mut group = Group::new();
    body(&mut group)?;
    group.end()
}

impl Group<'_> {
    /// Makes the calls, and returns when the library has queued their work. New connections are made first, if needed,
    /// within [`Config::timeout`](crate::Config::timeout).
    ///
    /// # Errors
    /// [`Error::Timeout`](crate::Error::Timeout) and [`Error::Asynchronous`](crate::Error::Asynchronous), after which
    /// the communicators are aborted; [`Error::Mismatch`](crate::Error::Mismatch); an error from the library;
    /// [`Error::Hip`](crate::Error::Hip) while a stream is captured, or if a device cannot access a buffer.
    pub fn end(self) -> Result<()> {
        let parts: Vec<_> = self.parts().collect();
        if parts.iter().any(|(communicator, _)| communicator.checks.is_some()) {
            checks::compare(&parts)?;
        }
        drop(parts);
        self.end_unchecked()
    }
}

//! Progress of an installation.

use std::path::Path;

use super::debian::Plan;

/// A progress event of an installation.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Another installation into the same directory is in progress, and this one waits for its end. Contains the
    /// directory.
    Waiting(&'a Path),
    /// A step begins: "Updating the package lists".
    Begin {
        /// The name of the step.
        what: &'a str,
        /// The total, if known.
        total: Option<Amount>,
    },
    /// The step continues: the number of bytes or packages done, of the announced total; 0 if there was none. Sent
    /// several times a second, whether or not the number has changed.
    Advance(u64),
    /// The step is done.
    End,
}

/// The total of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Packages.
    Packages(u64),
}

/// Receives progress events: a terminal ([`Bars`](super::Bars), feature `bars`), a closure `FnMut(Event)`, or nothing
/// ([`Silent`]).
pub trait Progress {
    /// Called at every step, and often within one.
    fn event(&mut self, event: Event<'_>);

    /// Called before the download, with the sizes, to show them or to ask. If it returns `false`, the installation ends
    /// with [`Error::Declined`](super::Error::Declined).
    fn approve(&mut self, plan: &Plan) -> bool {
        let _ = plan;
        true
    }
}

impl<F: FnMut(Event<'_>)> Progress for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}

/// Prints nothing, and approves every plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

/// Runs a step with `progress`.
pub(crate) fn step<T>(
    progress: &mut dyn Progress,
    what: &str,
    total: Option<Amount>,
    work: impl FnOnce(&mut dyn Progress) -> T,
) -> T {
    progress.event(Event::Begin { what, total });
    let result = work(progress);
    progress.event(Event::End);
    result
}

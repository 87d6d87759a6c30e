//! How far an installation is.

use std::path::Path;

use super::debian::Plan;

/// One thing to know of an installation under way.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Another installation into the same folder is under way, and this one waits for it to end; the folder.
    Waiting(&'a Path),
    /// A step begins: "Updating the package lists".
    Begin {
        /// What is being done.
        what: &'a str,
        /// How much there is to do, where that is known.
        total: Option<Amount>,
    },
    /// The step goes on: so many bytes or packages are done, of the total announced; 0 where there was none. Comes several times a
    /// second, with a new number or not.
    Advance(u64),
    /// The step is done.
    End,
}

/// How much there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Packages.
    Packages(u64),
}

/// Who wants to know how far an installation is: a program with a terminal ([`Bars`](super::Bars), behind the feature `bars`), a
/// closure `FnMut(Event)`, or nobody ([`Silent`]).
pub trait Progress {
    /// Called at every step, and often within one.
    fn event(&mut self, event: Event<'_>);

    /// Called once all is known and nothing is downloaded yet, with what will be: to announce the sizes, or to ask. `false` ends the
    /// installation with [`Error::Declined`](super::Error::Declined).
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

/// Says nothing and agrees to all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

/// A step under `progress`.
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

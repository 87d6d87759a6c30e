//! Launches on a stream, for errors that are returned late.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::core::geometry::LaunchConfig;

/// Maximum number of remembered launches.
const MOST: usize = 8;

/// A launch that is being queued.
#[derive(Clone, Copy)]
pub(crate) struct Launching<'a> {
    /// The kernel's name. Each kernel has its own `Arc`, so that the same `Arc` means the same kernel.
    pub(crate) kernel: &'a Arc<str>,
    /// `None` for a graph.
    pub(crate) config: Option<&'a LaunchConfig>,
}

/// A launch that may cause a later error.
struct Launch {
    kernel: Arc<str>,
    config: Option<LaunchConfig>,
}

/// The last launches since the host knew all work to be done, each once.
#[derive(Default)]
pub(super) struct Launches {
    list: VecDeque<Launch>,
    /// Launches that the host has come to know to be done, each with the ticket up to which it knew. If one has failed,
    /// another thread has the error and may not have named it yet.
    over: VecDeque<(u64, Launch)>,
    /// The address of the name and the size of the last launch in the list, for a fast comparison; `None` if the list
    /// is empty or ends with a graph.
    last: Option<(*const u8, LaunchConfig)>,
}

// SAFETY: the pointer is only compared, never dereferenced.
unsafe impl Send for Launches {}

impl Launches {
    /// Returns whether the last launch was the same in every respect that its checks depend on.
    #[inline]
    pub(super) fn is_last(&self, launch: &Launching<'_>) -> bool {
        // The list keeps the kernel's name alive, so that no other name has its address.
        match (&self.last, launch.config) {
            (Some((kernel, config)), Some(new)) => *kernel == launch.kernel.as_ptr() && config == new,
            _ => false,
        }
    }

    /// Records a launch, unless it repeats the last one.
    pub(super) fn remember(&mut self, launch: Launching<'_>) {
        let Launching { kernel, config } = launch;
        let config = config.copied();
        let again = |last: &Launch| Arc::ptr_eq(&last.kernel, kernel) && last.config == config;
        if self.list.back().is_some_and(again) {
            return;
        }
        if self.list.len() == MOST {
            self.list.pop_front();
        }
        self.list.push_back(Launch { kernel: Arc::clone(kernel), config });
        self.last = config.map(|config| (kernel.as_ptr(), config));
    }

    /// Records that all work up to `ticket`, the last one, is done.
    pub(super) fn end(&mut self, ticket: u64) {
        self.over.extend(self.list.drain(..).map(|launch| (ticket, launch)));
        self.over.drain(..self.over.len().saturating_sub(MOST));
        self.last = None;
    }

    /// Takes the names of the launches that an error may be of: those not known to be done when the work up to `since`
    /// was, whatever other threads came to know after that.
    pub(super) fn take(&mut self, since: u64) -> Vec<String> {
        let Self { list, over, .. } = std::mem::take(self);
        let over = over.into_iter().filter(|(until, _)| *until > since).map(|(_, launch)| launch);
        over.chain(list).map(|launch| launch.to_string()).collect()
    }
}

impl fmt::Display for Launching<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, config } = self;
        match config {
            Some(LaunchConfig { grid, block, .. }) => write!(f, "{kernel}<<<{grid}, {block}>>>"),
            None => write!(f, "{kernel}"),
        }
    }
}

impl fmt::Display for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Launching { kernel: &self.kernel, config: self.config.as_ref() }.fmt(f)
    }
}

impl Launches {
    /// Returns all launches.
    pub(super) fn iter(&self) -> impl Iterator<Item = impl fmt::Display> {
        self.list.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_launches_are_told_each_once() {
        let (first, second): (Arc<str>, Arc<str>) = ("first".into(), "second".into());
        let configs: Vec<_> = (0..20).map(|grid| LaunchConfig::new(grid, 64)).collect();
        let config = |grid: usize| Some(&configs[grid]);
        let mut launches = Launches::default();
        let one = Launching { kernel: &first, config: config(1) };
        assert!(!launches.is_last(&one));
        launches.remember(one);
        assert!(launches.is_last(&one));
        launches.remember(one);
        // Another size, another amount of shared memory, another kernel, a graph.
        assert!(!launches.is_last(&Launching { kernel: &first, config: config(2) }));
        let shared = configs[1].with_shared_bytes(4);
        assert!(!launches.is_last(&Launching { kernel: &first, config: Some(&shared) }));
        let two = Launching { kernel: &second, config: config(1) };
        assert!(!launches.is_last(&two));
        launches.remember(two);
        let graph = Launching { kernel: &first, config: None };
        launches.remember(graph);
        assert!(!launches.is_last(&graph) && !launches.is_last(&two));
        let names = ["first<<<(1, 1, 1), (64, 1, 1)>>>", "second<<<(1, 1, 1), (64, 1, 1)>>>", "first"];
        assert!(launches.iter().map(|launch| launch.to_string()).eq(names));
        // The last reference to a kernel may be dropped while it is the last launch.
        launches.end(4);
        assert!(launches.iter().next().is_none() && !launches.is_last(&one));
        for grid in 0..20 {
            launches.remember(Launching { kernel: &first, config: config(grid) });
        }
        assert_eq!(launches.take(4).len(), MOST);
        assert!(launches.take(0).is_empty());
    }

    #[test]
    fn a_launch_that_another_thread_knows_to_be_done_is_named_by_the_thread_that_has_its_error() {
        let names: [Arc<str>; 3] = ["done", "failed", "next"].map(Into::into);
        let mut launches = Launches::default();
        let launch = |launches: &mut Launches, at: usize| {
            launches.remember(Launching { kernel: &names[at], config: None });
        };
        launch(&mut launches, 0);
        launches.end(1);
        // A thread gets the error here: until then, the work up to 1 was known to be done.
        launch(&mut launches, 1);
        launches.end(2);
        launch(&mut launches, 2);
        assert_eq!(launches.take(1), ["failed", "next"]);
    }
}

//! Threads that help with dispatches.
//!
//! The thread that calls a dispatch runs it, and the pool's threads help. They are not bound to one dispatch: a thread
//! that helps with a dispatch which waits for another one switches to that one, and no dispatch ever waits for a helper
//! to arrive. So any number of concurrent dispatches make progress, whatever they wait for.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The work of a helper. Returns whether there may be more later, for it or another helper.
pub(crate) type Help<'a> = dyn Fn(&Others<'_>) -> bool + Sync + 'a;

/// A set of threads that are started on demand.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    most: usize,
}

struct Shared {
    state: Mutex<State>,
    /// Wakes helpers: there may be work.
    wake: Condvar,
    /// Wakes owners: a helper has left.
    left: Condvar,
    /// The number of dispatches that want a helper, as far as known without the lock.
    wanting: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// Dispatches that want helpers. The one that has been without help for longest is first.
    posts: VecDeque<Post>,
    next_id: u64,
    threads: usize,
    idle: usize,
    closed: bool,
}

/// A dispatch that wants helpers.
struct Post {
    id: u64,
    help: *const Help<'static>,
    /// The number of helpers still wanted.
    wanted: usize,
    /// The number of helpers at work.
    inside: usize,
    /// The owner is about to leave: no helper may join.
    closing: bool,
}

// SAFETY: `help` points to something that is `Sync`, which `Pool::share` keeps alive for as long as the post exists.
unsafe impl Send for Post {}

/// Lets a helper check whether another dispatch wants it.
pub(crate) struct Others<'a>(&'a Shared);

impl Others<'_> {
    /// Whether another dispatch wants a helper.
    pub(crate) fn want_help(&self) -> bool {
        self.0.wanting.load(Relaxed) > 0
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent whenever the lock is released: nothing that can panic runs under it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, state: &State) {
        self.wanting.store(state.posts.iter().filter(|post| post.wanted > 0).count(), Relaxed);
    }

    /// The main loop of a helper.
    fn serve(&self) {
        let mut state = self.lock();
        while !state.closed {
            let Some(post) = state.posts.iter_mut().find(|post| post.wanted > 0) else {
                state.idle += 1;
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            post.wanted -= 1;
            post.inside += 1;
            let (id, help) = (post.id, post.help);
            self.count(&state);
            drop(state);
            // SAFETY: the post's owner waits in `Posted::drop` until no helper is inside, so what `help` points to is alive.
            let help = unsafe { &*help };
            // A panic is a bug in this crate. The owner will find the work undone or do it itself.
            let more = catch_unwind(AssertUnwindSafe(|| help(&Others(self)))).unwrap_or(false);
            state = self.lock();
            let at = state.posts.iter().position(|post| post.id == id);
            if let Some(mut post) = at.and_then(|at| state.posts.remove(at)) {
                post.inside -= 1;
                post.wanted += usize::from(more && !post.closing);
                // Appended at the end, so that every dispatch gets a turn.
                state.posts.push_back(post);
            }
            self.count(&state);
            self.left.notify_all();
        }
    }
}

/// A post that is removed on drop, after all helpers have left.
struct Posted<'p> {
    shared: &'p Shared,
    id: u64,
}

impl Drop for Posted<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        loop {
            let Some(at) = state.posts.iter().position(|post| post.id == self.id) else { return };
            (state.posts[at].wanted, state.posts[at].closing) = (0, true);
            self.shared.count(&state);
            if state.posts[at].inside == 0 {
                state.posts.remove(at);
                return;
            }
            state = self.shared.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Pool {
    /// Creates a pool of at most `most` threads. None is started yet.
    pub(crate) fn new(most: usize) -> Self {
        let shared = Shared {
            state: Mutex::default(),
            wake: Condvar::new(),
            left: Condvar::new(),
            wanting: AtomicUsize::new(0),
        };
        Self { shared: Arc::new(shared), most }
    }

    /// Calls `own` on this thread, while up to `helpers` other threads call `help`. Returns when all have returned.
    ///
    /// `help` is called when a thread is free, possibly never. After it has returned `true` it is called again.
    pub(crate) fn share<R>(&self, helpers: usize, help: &Help<'_>, own: impl FnOnce() -> R) -> R {
        let help: *const Help<'_> = help;
        // SAFETY: only the lifetime changes. The post is gone, with all helpers, before this function returns or unwinds.
        let help: *const Help<'static> = unsafe { std::mem::transmute(help) };
        let mut state = self.shared.lock();
        let id = state.next_id;
        state.next_id += 1;
        state.posts.push_back(Post { id, help, wanted: helpers.min(self.most), inside: 0, closing: false });
        self.shared.count(&state);
        let asleep = state.idle.min(helpers);
        let missing = helpers.saturating_sub(asleep).min(self.most.saturating_sub(state.threads));
        for _ in 0..missing {
            let shared = Arc::clone(&self.shared);
            let name = format!("amdgpu-sim-{}", state.threads);
            // Without the thread, the owner does all the work.
            if std::thread::Builder::new().name(name).spawn(move || shared.serve()).is_err() {
                break;
            }
            state.threads += 1;
        }
        drop(state);
        let _posted = Posted { shared: &self.shared, id };
        for _ in 0..asleep {
            self.shared.wake.notify_one();
        }
        own()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.wake.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32};

    use super::*;

    /// Waits until `done` is set.
    fn wait_for(done: &AtomicBool) {
        while !done.load(Relaxed) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn helpers_help() {
        let pool = Pool::new(2);
        for _ in 0..100 {
            let helped = AtomicBool::new(false);
            let help = |_: &Others<'_>| {
                helped.store(true, Relaxed);
                false
            };
            pool.share(1, &help, || wait_for(&helped));
        }
    }

    #[test]
    fn an_owner_does_not_wait_for_a_helper_that_never_comes() {
        let pool = Pool::new(1);
        let (busy, done) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let help = |_: &Others<'_>| {
                    busy.store(true, Relaxed);
                    wait_for(&done);
                    false
                };
                pool.share(1, &help, || wait_for(&done));
            });
            wait_for(&busy);
            // The only helper waits for this one.
            pool.share(1, &|_| false, || ());
            done.store(true, Relaxed);
        });
    }

    #[test]
    fn a_helper_that_is_wanted_elsewhere_is_told_and_comes_back() {
        let pool = Pool::new(1);
        let (came, done) = (AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let help = |others: &Others<'_>| {
                    came.fetch_add(1, Relaxed);
                    while !others.want_help() && !done.load(Relaxed) {
                        std::thread::yield_now();
                    }
                    true
                };
                pool.share(1, &help, || wait_for(&done));
            });
            for round in 1..10 {
                while came.load(Relaxed) < round {
                    std::thread::yield_now();
                }
                let helped = AtomicBool::new(false);
                let help = |_: &Others<'_>| {
                    helped.store(true, Relaxed);
                    false
                };
                pool.share(1, &help, || wait_for(&helped));
            }
            done.store(true, Relaxed);
        });
    }
}

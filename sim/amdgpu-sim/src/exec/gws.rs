//! Global wave sync (GWS): 64 counters of a GPU that serve waves of all workgroups as barriers or semaphores.

use std::sync::{Mutex, PoisonError};

use crate::isa::Op;

/// The number of GWS resources.
pub(super) const RESOURCES: usize = 64;

/// One resource.
#[derive(Clone, Copy, Default)]
struct Resource {
    /// Barrier: the number of waves that have not arrived, minus one. Semaphore: the number of waves that may pass.
    counter: u32,
    /// Incremented each time a barrier releases its waves.
    generation: u64,
    /// The number of waves waiting at the semaphore.
    queue: u32,
}

/// The resources of a GPU.
pub(crate) struct Gws(Mutex<[Resource; RESOURCES]>);

impl Default for Gws {
    fn default() -> Self {
        Self(Mutex::new([Resource::default(); RESOURCES]))
    }
}

/// The condition that a wave waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GwsWait {
    /// The end of generation `1` of barrier `0`.
    Barrier(u8, u64),
    /// A pass of the semaphore.
    Semaphore(u8),
}

impl Gws {
    fn with<R>(&self, id: u8, f: impl FnOnce(&mut Resource) -> R) -> R {
        let mut resources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f(&mut resources[usize::from(id) % RESOURCES])
    }

    /// Initialises a resource as a barrier for `less_one + 1` waves.
    pub(crate) fn init(&self, id: u8, less_one: u32) {
        self.apply(Op::ds_gws_init, id, less_one);
    }

    /// Executes `op` with the first lane's value. Returns the condition that the wave must wait for.
    pub(super) fn apply(&self, op: Op, id: u8, value: u32) -> Option<GwsWait> {
        self.with(id, |r| match op {
            Op::ds_gws_init => {
                *r = Resource { counter: value, generation: r.generation + 1, queue: 0 };
                None
            }
            Op::ds_gws_barrier => {
                let wait = GwsWait::Barrier(id, r.generation);
                if r.counter > 0 {
                    r.counter -= 1;
                    return Some(wait);
                }
                // The last wave to arrive releases all, and sets the size of the next barrier.
                r.counter = value;
                r.generation += 1;
                None
            }
            Op::ds_gws_sema_v => {
                r.counter = r.counter.saturating_add(1);
                None
            }
            Op::ds_gws_sema_br => {
                r.counter = r.counter.saturating_add(value);
                None
            }
            Op::ds_gws_sema_release_all => {
                r.counter = r.queue;
                None
            }
            // ds_gws_sema_p
            _ if r.counter > 0 => {
                r.counter -= 1;
                None
            }
            _ => {
                r.queue += 1;
                Some(GwsWait::Semaphore(id))
            }
        })
    }

    /// Returns whether a waiting wave may continue.
    pub(crate) fn passes(&self, wait: GwsWait) -> bool {
        match wait {
            GwsWait::Barrier(id, generation) => self.with(id, |r| r.generation != generation),
            GwsWait::Semaphore(id) => self.with(id, |r| {
                let passes = r.counter > 0;
                if passes {
                    r.counter -= 1;
                    r.queue = r.queue.saturating_sub(1);
                }
                passes
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_lets_all_go_when_the_last_has_come_and_serves_again() {
        let gws = Gws::default();
        assert_eq!(gws.apply(Op::ds_gws_init, 3, 2), None);
        for round in 0..3 {
            let first = gws.apply(Op::ds_gws_barrier, 3, 2).unwrap();
            let second = gws.apply(Op::ds_gws_barrier, 3, 2).unwrap();
            assert!(!gws.passes(first) && !gws.passes(second), "{round}");
            assert_eq!(gws.apply(Op::ds_gws_barrier, 3, 2), None, "{round}: the last does not wait");
            // A wave that is already at the next barrier does not block the others.
            let next = gws.apply(Op::ds_gws_barrier, 3, 2).unwrap();
            assert!(gws.passes(first) && gws.passes(second) && !gws.passes(next), "{round}");
            gws.apply(Op::ds_gws_init, 3, 2);
        }
        // The value at the end is the size of the next barrier.
        gws.apply(Op::ds_gws_init, 3, 0);
        assert_eq!(gws.apply(Op::ds_gws_barrier, 3, 1), None);
        assert!(gws.apply(Op::ds_gws_barrier, 3, 0).is_some());
        assert_eq!(gws.apply(Op::ds_gws_barrier, 3, 0), None);
    }

    #[test]
    fn a_semaphore_lets_as_many_pass_as_have_been_released() {
        let gws = Gws::default();
        gws.apply(Op::ds_gws_init, 63, 1);
        assert_eq!(gws.apply(Op::ds_gws_sema_p, 63, 0), None);
        let waits: Vec<_> = (0..4).map(|_| gws.apply(Op::ds_gws_sema_p, 63, 0).unwrap()).collect();
        assert!(waits.iter().all(|w| !gws.passes(*w)));
        gws.apply(Op::ds_gws_sema_v, 63, 0);
        assert!(gws.passes(waits[1]) && !gws.passes(waits[0]));
        // Two more, of the three that are waiting.
        gws.apply(Op::ds_gws_sema_br, 63, 2);
        assert!(gws.passes(waits[0]) && gws.passes(waits[2]) && !gws.passes(waits[3]));
        let another = gws.apply(Op::ds_gws_sema_p, 63, 0).unwrap();
        gws.apply(Op::ds_gws_sema_release_all, 63, 0);
        assert!(gws.passes(waits[3]) && gws.passes(another));
        assert!(gws.apply(Op::ds_gws_sema_p, 63, 0).is_some());
        assert_eq!(gws.apply(Op::ds_gws_sema_p, 62, 0), Some(GwsWait::Semaphore(62)), "another resource");
    }
}

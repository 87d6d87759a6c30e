//! Tests of usages without a device.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

#[test]
fn memory_goes_when_its_owner_and_the_last_graph_are_gone() {
    let freed = Arc::new(AtomicU32::new(0));
    let free = |freed: &Arc<AtomicU32>| {
        let freed = Arc::clone(freed);
        move || {
            freed.fetch_add(1, Ordering::Relaxed);
        }
    };
    Usage::default().release(free(&freed));
    assert_eq!(freed.load(Ordering::Relaxed), 1, "no graph keeps it");

    let mut usage = Usage::default();
    let first = usage.keep(&Access::read(&usage)).unwrap();
    let second = first.clone();
    usage.release(free(&freed));
    drop(usage);
    drop(first);
    assert_eq!(freed.load(Ordering::Relaxed), 1, "a graph keeps it");
    drop(second);
    assert_eq!(freed.load(Ordering::Relaxed), 2);

    let mut usage = Usage::default();
    drop(usage.keep(&Access::write(&usage)).unwrap());
    assert_eq!(freed.load(Ordering::Relaxed), 2, "its owner has it");
    usage.release(free(&freed));
    assert_eq!(freed.load(Ordering::Relaxed), 3);
}

fn stream() -> Arc<StreamInner> {
    StreamInner::new(std::ptr::null_mut(), crate::core::device::Device::of_tests())
}

/// Returns the id and ticket of the work that an access has to wait for.
fn waits(usage: &Usage, kind: AccessKind) -> Vec<(u64, u64)> {
    let mut pending = Vec::new();
    usage.pending(kind, &mut pending);
    let mut waits: Vec<_> = pending.iter().map(|work| (work.stream.id(), work.ticket)).collect();
    waits.sort_unstable();
    waits
}

#[test]
fn streams_use_memory_beside_each_other_until_one_writes() {
    use AccessKind::{Read, Write};
    let (usage, first, second) = (Usage::default(), stream(), stream());
    assert!(usage.mark_alone(&first, Read, 1) && usage.mark_alone(&first, Read, 2));
    assert!(usage.mark_alone(&second, Read, 7), "both read");
    assert!(usage.mark_alone(&first, Read, 3));
    assert!(!usage.mark_alone(&second, Write, 8), "the first still reads");
    assert_eq!(waits(&usage, Read), []);
    assert_eq!(waits(&usage, Write), [(first.id(), 3), (second.id(), 7)]);
    first.credit(3).unwrap();
    assert!(!usage.mark_alone(&second, Write, 8), "an entry is to be left out");
    let mut retired = Vec::new();
    usage.mark(&second, Write, 8, &mut retired);
    assert_eq!(retired.len(), 1);
    assert!(Arc::ptr_eq(&retired[0], &first));
    assert_eq!(waits(&usage, Read), [(second.id(), 8)]);
    assert!(usage.mark_alone(&second, Write, 9), "it is alone now");
    assert!(!usage.mark_alone(&first, Read, 4));
}

#[test]
fn the_first_stream_stays_while_somebody_has_its_queue() {
    let (usage, first, second) = (Usage::default(), stream(), stream());
    assert!(usage.mark_alone(&first, AccessKind::Write, 1));
    first.credit(1).unwrap();
    let mut retired = Vec::new();
    let queue = first.try_lock();
    // In another thread, because the queue's owner runs in this one.
    std::thread::scope(|scope| {
        scope.spawn(|| usage.mark(&second, AccessKind::Write, 5, &mut retired));
    });
    assert!(retired.is_empty());
    assert!(!usage.mark_alone(&first, AccessKind::Write, 2), "no longer alone");
    drop(queue);
    usage.mark(&second, AccessKind::Write, 6, &mut retired);
    assert_eq!(retired.len(), 1);
    assert_eq!(waits(&usage, AccessKind::Read), [(second.id(), 6)]);
}

/// If two threads use it on two streams, at least one sees the other; otherwise their work would not be ordered.
#[test]
fn of_two_conflicting_uses_one_sees_the_other() {
    let rounds = if cfg!(miri) { 20 } else { 3_000 };
    for _ in 0..rounds {
        let usage = Usage::concurrent();
        let (first, second) = (stream(), stream());
        usage.mark(&first, AccessKind::Write, 1, &mut Vec::new());
        first.credit(1).unwrap();
        let seen = |waits: &[(u64, u64)], of: &Arc<StreamInner>| waits.iter().any(|&(id, _)| id == of.id());
        let (mine, theirs) = std::thread::scope(|scope| {
            let mine = scope.spawn(|| {
                let queue = first.try_lock();
                let alone = usage.mark_alone(&first, AccessKind::Write, 2);
                drop(queue);
                // Otherwise it checks the others, and sees the second.
                !alone
            });
            let theirs = scope.spawn(|| {
                let _order = order();
                usage.claim();
                let waits = waits(&usage, AccessKind::Write);
                let queue = second.try_lock();
                usage.mark(&second, AccessKind::Write, 1, &mut Vec::new());
                drop(queue);
                seen(&waits, &first)
            });
            (mine.join().unwrap(), theirs.join().unwrap())
        });
        assert!(mine || theirs);
    }
}

#[test]
fn no_ticket_is_lost_however_threads_interleave() {
    let (threads, steps) = if cfg!(miri) { (3, 30) } else { (4, 5_000) };
    let usage = Usage::default();
    let streams: Vec<_> = (0..threads).map(|_| stream()).collect();
    std::thread::scope(|scope| {
        for (index, stream) in streams.iter().enumerate() {
            let usage = &usage;
            scope.spawn(move || {
                let mut retired = Vec::new();
                for ticket in 1..=steps {
                    let kind = if (ticket + index as u64) % 3 == 0 { AccessKind::Write } else { AccessKind::Read };
                    let queue = loop {
                        if let Some(queue) = stream.try_lock() {
                            break queue;
                        }
                        std::thread::yield_now();
                    };
                    if !usage.mark_alone(stream, kind, ticket) {
                        usage.mark(stream, kind, ticket, &mut retired);
                    }
                    drop(queue);
                    let seen = waits(usage, AccessKind::Write);
                    assert!(seen.contains(&(stream.id(), ticket)), "{ticket} is not in {seen:?}");
                    if ticket % 4 == 0 && ticket != steps {
                        stream.credit(ticket).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(waits(&usage, AccessKind::Write), streams.iter().map(|s| (s.id(), steps)).collect::<Vec<_>>());
}

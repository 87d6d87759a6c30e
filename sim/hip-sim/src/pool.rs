//! Memory pools: the room that stream-ordered allocations take, and the statistics about it.
//!
//! A pool takes room from its device in chunks and keeps it for later allocations. When the program synchronises, or
//! trims the pool, unused room above a threshold goes back to the device. Only room is kept, not addresses: a kernel
//! that uses freed memory is a fault.

use std::sync::{Mutex, MutexGuard, PoisonError};

use amdgpu_sim::{Agent, Rights};

/// The smallest amount that a pool takes from its device at once, as in AMD's runtime.
const CHUNK: u64 = 32 << 20;

/// The pool behind a `hipMemPool_t`.
pub(crate) struct Pool {
    pub(crate) device: usize,
    /// It is the device's default pool.
    pub(crate) is_default: bool,
    /// The bytes that may be in use at once; 0 for no limit.
    limit: u64,
    room: Mutex<Room>,
}

/// The room that one allocation takes of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// The pool's handle, as a number.
    pub(crate) pool: usize,
    chunk: u64,
}

struct Chunk {
    serial: u64,
    size: u64,
    taken: u64,
}

/// A pool's room and its attributes.
pub(crate) struct Room {
    chunks: Vec<Chunk>,
    serial: u64,
    /// The bytes of all allocations, except those that `hipFreeAsync` has yet to free.
    pub(crate) used: u64,
    pub(crate) used_high: u64,
    pub(crate) reserved_high: u64,
    /// The bytes that are kept when the program synchronises.
    pub(crate) threshold: u64,
    /// The reuse attributes: by event dependencies, opportunistic, by new dependencies. They are only stored: memory is
    /// never reused before it is free.
    pub(crate) reuse: [i32; 3],
    /// The access rights of devices other than the pool's own.
    peers: Vec<(Agent, bool, bool)>,
}

impl Room {
    /// The bytes that the pool has taken from the device.
    pub(crate) fn reserved(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.size).sum()
    }

    /// The reserved bytes that no allocation uses.
    fn idle(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.size - chunk.taken).sum()
    }

    /// Returns unused chunks to the device while more than `keep` bytes are reserved.
    fn shrink(&mut self, keep: u64) {
        let mut reserved = self.reserved();
        self.chunks.retain(|chunk| {
            let goes = chunk.taken == 0 && reserved > keep;
            if goes {
                reserved -= chunk.size;
            }
            !goes
        });
    }
}

impl Pool {
    /// A pool of `device` with at most `limit` bytes in use at once (0: no limit).
    pub(crate) fn new(device: usize, limit: u64) -> Self {
        Self::with(device, limit, false)
    }

    /// The default pool of `device`.
    pub(crate) fn of_device(device: usize) -> Self {
        Self::with(device, 0, true)
    }

    fn with(device: usize, limit: u64, is_default: bool) -> Self {
        let room = Room {
            chunks: Vec::new(),
            serial: 0,
            used: 0,
            used_high: 0,
            reserved_high: 0,
            threshold: 0,
            reuse: [1; 3],
            peers: Vec::new(),
        };
        Self { device, is_default, limit, room: Mutex::new(room) }
    }

    pub(crate) fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes room for an allocation of `size` bytes, from the room that the pool keeps or from `free` bytes of the
    /// device. `pool` is the pool's handle. `None` if there is not enough.
    pub(crate) fn take(&self, pool: usize, size: u64, free: u64) -> Option<Share> {
        let mut room = self.room();
        if self.limit != 0 && room.used.saturating_add(size) > self.limit {
            return None;
        }
        let kept = room.chunks.iter_mut().find(|chunk| chunk.size - chunk.taken >= size);
        let chunk = if let Some(chunk) = kept {
            chunk.taken += size;
            chunk.serial
        } else {
            let chunk_size = if size.max(CHUNK) <= free { size.max(CHUNK) } else { size };
            if chunk_size > free {
                return None;
            }
            room.serial += 1;
            let serial = room.serial;
            room.chunks.push(Chunk { serial, size: chunk_size, taken: size });
            serial
        };
        room.used += size;
        room.used_high = room.used_high.max(room.used);
        room.reserved_high = room.reserved_high.max(room.reserved());
        Some(Share { pool, chunk })
    }

    /// Counts an allocation as freed by the program, whether or not the stream has reached the free.
    pub(crate) fn freed(&self, size: u64) {
        let mut room = self.room();
        room.used = room.used.saturating_sub(size);
    }

    /// Returns the room of an allocation whose memory is free.
    pub(crate) fn give_back(&self, share: Share, size: u64) {
        if let Some(chunk) = self.room().chunks.iter_mut().find(|chunk| chunk.serial == share.chunk) {
            chunk.taken = chunk.taken.saturating_sub(size);
        }
    }

    /// Returns unused room to the device, down to `keep` bytes in all.
    pub(crate) fn trim(&self, keep: u64) {
        self.room().shrink(keep);
    }

    /// Called when the program synchronises: returns unused room above the threshold.
    pub(crate) fn settle(&self) {
        let mut room = self.room();
        let threshold = room.threshold;
        room.shrink(threshold);
    }

    /// The reserved bytes that no allocation uses.
    pub(crate) fn idle(&self) -> u64 {
        self.room().idle()
    }

    /// Sets whether `agent`, another device, may read and write the pool's memory.
    pub(crate) fn admit(&self, agent: Agent, read: bool, write: bool) {
        let mut room = self.room();
        room.peers.retain(|(other, ..)| *other != agent);
        room.peers.push((agent, read, write));
    }

    /// Whether `agent`, another device, may read and write.
    pub(crate) fn admits(&self, agent: Agent) -> (bool, bool) {
        let room = self.room();
        room.peers.iter().find(|(other, ..)| *other == agent).map_or((false, false), |(_, read, write)| (*read, *write))
    }

    /// `rights`, with those that the pool grants to other devices.
    pub(crate) fn rights(&self, rights: Rights) -> Rights {
        self.room().peers.iter().fold(rights, |rights, (agent, read, write)| rights.set(*agent, *read, *write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: u64 = 1 << 20;

    fn reserved_and_used(pool: &Pool) -> (u64, u64) {
        let room = pool.room();
        (room.reserved(), room.used)
    }

    #[test]
    fn room_is_taken_in_chunks_and_kept_until_it_is_settled() {
        let pool = Pool::new(0, 0);
        let a = pool.take(1, M, 100 * M).unwrap();
        let b = pool.take(1, 2 * M, 0).unwrap();
        assert_eq!((reserved_and_used(&pool), pool.idle()), ((CHUNK, 3 * M), CHUNK - 3 * M));
        let c = pool.take(1, 40 * M, 68 * M).unwrap();
        assert_eq!(pool.room().reserved(), CHUNK + 40 * M);
        pool.freed(40 * M);
        pool.settle();
        assert_eq!(reserved_and_used(&pool), (CHUNK + 40 * M, 3 * M), "its stream is not there yet");
        pool.give_back(c, 40 * M);
        pool.settle();
        assert_eq!(pool.room().reserved(), CHUNK, "the other chunk is in use");
        for (share, size) in [(a, M), (b, 2 * M)] {
            pool.freed(size);
            pool.give_back(share, size);
        }
        pool.room().threshold = 5 * M;
        pool.settle();
        assert_eq!(pool.room().reserved(), 0, "one chunk is more than the threshold");
        let room = pool.room();
        assert_eq!((room.used_high, room.reserved_high), (43 * M, CHUNK + 40 * M));
    }

    #[test]
    fn a_small_device_and_a_limit_are_kept_to() {
        let pool = Pool::new(0, 10 * M);
        assert!(pool.take(1, 8 * M, 7 * M).is_none());
        pool.take(1, 8 * M, 9 * M).unwrap();
        assert_eq!(pool.room().reserved(), 8 * M, "no more than there is");
        assert!(pool.take(1, 3 * M, 100 * M).is_none(), "the limit");
        pool.take(1, 2 * M, 100 * M).unwrap();
    }
}

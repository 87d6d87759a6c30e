//! Memory for the records of calls that ranks compare.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hip::{Device, DeviceBuffer};

use crate::error::Result;

/// Words of a record before the counts of an all-to-all: position in the group, number of collectives in it, kind,
/// count, type, operator, root.
pub(crate) const WORDS: usize = 7;
/// Maximum number of sends and receives between two ranks in one group whose sizes are compared.
pub(crate) const LISTED: usize = 16;
/// Words of a record for another rank: the number of sends and of receives, then the bytes of each.
pub(crate) const PAIR: usize = 2 + 2 * LISTED;

/// Device memory for the comparison of calls.
pub(crate) struct Checks(Mutex<Buffers>);

pub(crate) struct Buffers {
    pub(crate) own: DeviceBuffer<u64>,
    pub(crate) all: DeviceBuffer<u64>,
    pub(crate) pairs: DeviceBuffer<u64>,
    /// One for each rank.
    pub(crate) theirs: Vec<DeviceBuffer<u64>>,
}

impl Checks {
    pub(crate) fn new(device: &Device, size: usize) -> Result<Self> {
        let record = WORDS + 2 * size;
        Ok(Self(Mutex::new(Buffers {
            own: DeviceBuffer::zeroed(device, record)?,
            all: DeviceBuffer::zeroed(device, record * size)?,
            pairs: DeviceBuffer::zeroed(device, PAIR * size)?,
            theirs: (0..size).map(|_| DeviceBuffer::zeroed(device, PAIR)).collect::<hip::Result<_>>()?,
        })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Buffers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

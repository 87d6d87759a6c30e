//! The check for reads of uninitialised memory.
//!
//! A lane's read is reported if it reads bytes of a word (four bytes, aligned) of which it reads no written byte. A
//! partly written word may contain padding that is copied with its structure, and is not reported.

use std::sync::Arc;

use super::access::{Kind, Touch};
use crate::fault::Space;
use crate::memory::{Allocation, Memory, Table, Written};

/// One bit per byte of LDS or scratch.
#[derive(Default)]
struct Bytes(Vec<u64>);

impl Bytes {
    fn clear(&mut self, bytes: usize) {
        self.0.clear();
        self.0.resize(bytes.div_ceil(64), 0);
    }

    fn is_written(&self, byte: u64) -> bool {
        // Accesses outside fault on their own.
        self.0.get((byte / 64) as usize).is_none_or(|word| word >> (byte % 64) & 1 == 1)
    }

    fn write(&mut self, from: u64, bytes: u32) {
        for byte in from..from.saturating_add(u64::from(bytes)) {
            if let Some(word) = self.0.get_mut((byte / 64) as usize) {
                *word |= 1 << (byte % 64);
            }
        }
    }
}

/// The state of a workgroup.
#[derive(Default)]
pub(super) struct Group {
    lds: Bytes,
    scratch: Vec<Bytes>,
}

impl Group {
    /// Resets the state for a workgroup with `lds` bytes of LDS and `waves` waves.
    pub(super) fn begin(&mut self, lds: usize, waves: usize) {
        self.lds.clear(lds);
        self.scratch.clear();
        self.scratch.resize_with(waves, Bytes::default);
    }
}

/// The state of a dispatch.
pub(super) struct Dispatch {
    table: Arc<Table>,
    memory: Arc<Memory>,
    /// The allocation that was used last.
    last: Option<(Allocation, Option<Arc<Written>>)>,
}

/// A read of uninitialised bytes: the lane, and the address of the first such byte.
pub(super) struct Unwritten {
    pub(super) lane: Option<u32>,
    pub(super) address: u64,
}

impl Dispatch {
    pub(super) fn new(memory: Arc<Memory>) -> Self {
        Self { table: memory.snapshot(), memory, last: None }
    }

    fn written(&mut self, address: u64) -> Option<(u64, &Written)> {
        if !self.last.as_ref().is_some_and(|(a, _)| a.contains(address)) {
            let find = |table: &Table| table.find(address).map(|r| (r.allocation, r.written.clone()));
            self.last = find(&self.table).or_else(|| {
                self.table = self.memory.snapshot();
                find(&self.table)
            });
        }
        let (allocation, written) = self.last.as_ref()?;
        Some((allocation.base, written.as_deref()?))
    }

    /// Checks the next access of wave `id` of `group`. Each of its lanes has `lane_bytes` bytes of scratch.
    pub(super) fn access(
        &mut self,
        group: &mut Group,
        touch: &Touch,
        id: usize,
        lane_bytes: u64,
        report: &mut dyn FnMut(Unwritten),
    ) {
        for (lane, address) in touch.lanes() {
            let found = match touch.space {
                Space::Global => match self.written(address) {
                    Some((base, written)) => {
                        let from = address - base;
                        let found = unwritten(touch, from, |byte| written.is_written(byte));
                        if touch.kind != Kind::Read {
                            written.write(from, u64::from(touch.bytes));
                        }
                        found
                    }
                    None => None,
                },
                Space::Lds => step(&mut group.lds, touch, address),
                Space::Private => {
                    let bytes = &mut group.scratch[id];
                    if bytes.0.is_empty() {
                        bytes.clear((lane_bytes * 64) as usize);
                    }
                    // Accesses outside a lane's scratch fault on their own.
                    let inside = address.checked_add(u64::from(touch.bytes)).is_some_and(|end| end <= lane_bytes);
                    if inside { step(bytes, touch, lane as u64 * lane_bytes + address) } else { None }
                }
            };
            if let Some(offset) = found {
                let lane = (!touch.scalar).then_some(lane as u32);
                report(Unwritten { lane, address: address + offset });
            }
        }
    }
}

fn step(bytes: &mut Bytes, touch: &Touch, from: u64) -> Option<u64> {
    let found = unwritten(touch, from, |byte| bytes.is_written(byte));
    if touch.kind != Kind::Read {
        bytes.write(from, touch.bytes);
    }
    found
}

/// The first byte of a read, from `from` on, in a word of which it reads no written byte.
fn unwritten(touch: &Touch, from: u64, is_written: impl Fn(u64) -> bool) -> Option<u64> {
    if touch.kind == Kind::Write {
        return None;
    }
    let end = from.saturating_add(u64::from(touch.bytes));
    let mut at = from;
    while at < end {
        let next = end.min((at / 4 + 1) * 4);
        if !(at..next).any(&is_written) {
            return Some(at - from);
        }
        at = next;
    }
    None
}

//! Copies and fills, at once or when signals allow.

use std::io::Error;

use amdgpu_sim::{AllocKind, Memory};

use super::pointer;
use crate::abi::{HSA_STATUS_ERROR_INVALID_ALLOCATION, HSA_STATUS_ERROR_INVALID_ARGUMENT};
use crate::result::Result;
use crate::runtime::Runtime;
use crate::signal::{Pending, Signal};

/// Bytes from an address on that are known to the GPUs, in allocations that touch each other; 0 where there is none. Memory that is
/// mapped piece by piece is used as one.
fn known(space: &Memory, address: u64, len: u64) -> u64 {
    let mut bytes = 0;
    while bytes < len {
        match space.find(address + bytes) {
            Some(allocation) => bytes = allocation.end() - address,
            None => break,
        }
    }
    bytes.min(len)
}

/// Whether a range is known to the GPUs; if not, it is the program's own. One that begins in an allocation must not leave it, and
/// where GPUs' memory is given from nothing is the program's own. What is locked of the program's memory is its own, too: HIP keeps
/// locks for a while, and in their place there may be other memory by then, which is longer.
fn is_known(space: &Memory, address: u64, len: u64) -> Result<bool> {
    if address == 0 || address.checked_add(len).is_none() {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    match known(space, address, len) {
        0 if space.is_device_range(address) || space.is_device_range(address + (len - 1)) => {
            Err(HSA_STATUS_ERROR_INVALID_ALLOCATION)
        }
        0 => Ok(false),
        bytes if bytes == len => Ok(true),
        _ if space.find(address).is_some_and(|allocation| allocation.kind == AllocKind::Registered) => Ok(false),
        _ => Err(HSA_STATUS_ERROR_INVALID_ALLOCATION),
    }
}

/// Bytes from an address on, `len` at most, that are in one allocation.
fn piece(space: &Memory, address: u64, len: u64) -> u64 {
    space.find(address).map_or(len, |allocation| (allocation.end() - address).min(len))
}

/// Copies `len` bytes; the ranges may overlap.
///
/// Memory that the GPUs do not know is the program's own, and may not be there at all: the kernel copies it, which then says so.
pub(crate) fn copy_bytes(space: &Memory, to: u64, from: u64, len: u64) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    if !is_known(space, to, len)? | !is_known(space, from, len)? {
        return copy_by_system(to, from, len);
    }
    let mut done = 0;
    while done < len {
        let part = piece(space, to + done, len - done).min(piece(space, from + done, len - done));
        space.copy(to + done, from + done, part).map_err(|error| super::status_of(&error))?;
        done += part;
    }
    Ok(())
}

fn copy_by_system(to: u64, from: u64, len: u64) -> Result<()> {
    // SAFETY: asks for the number of the process.
    let process = unsafe { libc::getpid() };
    let mut done = 0;
    while done < len {
        let bytes = (len - done).min(1 << 30) as usize;
        let local = libc::iovec { iov_base: pointer(to + done), iov_len: bytes };
        let remote = libc::iovec { iov_base: pointer(from + done), iov_len: bytes };
        // SAFETY: the kernel checks both ranges; the caller of HSA vouches that nobody else uses them meanwhile.
        let copied = unsafe { libc::process_vm_readv(process, &local, 1, &remote, 1, 0) };
        match u64::try_from(copied) {
            Ok(copied) if copied > 0 => done += copied,
            _ => {
                let refused = Error::last_os_error().raw_os_error();
                if refused == Some(libc::EFAULT) || copied == 0 {
                    return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
                }
                // Not allowed here: without the check, then.
                // SAFETY: the caller of HSA vouches for both ranges.
                unsafe { std::ptr::copy(pointer(from + done), pointer(to + done), (len - done) as usize) };
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Fills `count` words.
pub(crate) fn fill_words(space: &Memory, to: u64, value: u32, count: u64) -> Result<()> {
    let len = count.checked_mul(4).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
    let mut done = 0;
    while done < len {
        // Allocations end at words, so no word is cut.
        let part = (piece(space, to + done, len - done) / 4).max(1);
        space.fill(to + done, &value.to_le_bytes(), part).map_err(|error| super::status_of(&error))?;
        done += 4 * part;
    }
    Ok(())
}

/// A block of rows in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rect {
    /// Address of its first byte.
    pub(crate) base: u64,
    /// Bytes from row to row.
    pub(crate) pitch: u64,
    /// Bytes from slice to slice.
    pub(crate) slice: u64,
}

impl Rect {
    fn row(&self, y: u64, z: u64) -> Option<u64> {
        let offset = y.checked_mul(self.pitch)?.checked_add(z.checked_mul(self.slice)?)?;
        self.base.checked_add(offset)
    }
}

/// What to copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Copy {
    /// Bytes in a row: to, from, how many.
    Linear { to: u64, from: u64, len: u64 },
    /// Rows: to, from; bytes, rows, slices.
    Rect { to: Rect, from: Rect, range: [u64; 3] },
}

impl Copy {
    /// Whether all of it is within memory that is there, as far as that can be known.
    pub(crate) fn check(&self, space: &Memory) -> Result<()> {
        match *self {
            Self::Linear { to, from, len } if len > 0 => {
                is_known(space, to, len)?;
                is_known(space, from, len).map(drop)
            }
            Self::Rect { to, from, range: [bytes, rows, slices] } if bytes > 0 && rows > 0 && slices > 0 => {
                for rect in [to, from] {
                    // Rows that lie in one another would be as many as can be counted, in as little memory as one.
                    let plane = (rows - 1).checked_mul(rect.pitch).and_then(|last| last.checked_add(bytes));
                    if rows > 1 && rect.pitch < bytes || slices > 1 && plane.is_none_or(|plane| rect.slice < plane) {
                        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
                    }
                    let first = rect.row(0, 0).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
                    let last = rect.row(rows - 1, slices - 1).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
                    let len = (last - first).checked_add(bytes).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
                    is_known(space, first, len)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Does it.
    pub(crate) fn run(&self, space: &Memory) -> Result<()> {
        match *self {
            Self::Linear { to, from, len } => copy_bytes(space, to, from, len),
            Self::Rect { range: [0, ..] | [_, 0, _] | [.., 0], .. } => Ok(()),
            Self::Rect { to, from, range: [bytes, rows, slices] } => {
                for z in 0..slices {
                    for y in 0..rows {
                        let row = |rect: &Rect| rect.row(y, z).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT);
                        copy_bytes(space, row(&to)?, row(&from)?, bytes)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Bytes that it moves.
    fn bytes(&self) -> u64 {
        match *self {
            Self::Linear { len, .. } => len,
            Self::Rect { range, .. } => range.iter().fold(1, |product, d| product.saturating_mul(*d)),
        }
    }

    /// Does it when all signals of `after` are 0, then lowers `done`. What is small and can be done is done at once.
    pub(crate) fn start(self, runtime: &'static Runtime, after: Vec<Signal>, done: Option<Signal>) -> Result<()> {
        self.check(runtime.agents.space())?;
        let mut job = Job { runtime, copy: self, after, done };
        if self.bytes() <= AT_ONCE && runtime.delay.is_none() && job.ready() {
            job.run();
            return Ok(());
        }
        match runtime.copies.add(&runtime.signals, Box::new(job)) {
            true => Ok(()),
            false => Err(crate::abi::HSA_STATUS_ERROR_OUT_OF_RESOURCES),
        }
    }
}

/// Bytes of a copy up to which another thread is not worth waking.
const AT_ONCE: u64 = 256 << 10;

/// A copy that waits for its turn.
struct Job {
    runtime: &'static Runtime,
    copy: Copy,
    after: Vec<Signal>,
    done: Option<Signal>,
}

impl Pending for Job {
    fn ready(&self) -> bool {
        use std::sync::atomic::Ordering::SeqCst;
        self.after.iter().all(|signal| signal.value().load(SeqCst) == 0 || !signal.is_live())
    }

    fn run(&mut self) -> bool {
        let start = crate::events::now();
        let result = self.copy.run(self.runtime.agents.space());
        if let Some(done) = self.done {
            done.set_times(start, crate::events::now());
            match result {
                Ok(()) => done.decrement(),
                Err(status) => {
                    // A negative value is HSA's sign for a copy that failed.
                    eprintln!("hsa-sim: an asynchronous copy failed ({status:?}): {:x?}", self.copy);
                    done.store(-1);
                }
            }
        }
        false
    }
}

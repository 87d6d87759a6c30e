//! Copies and fills, immediate or after signals.

use std::io::Error;

use amdgpu_sim::{AllocKind, Memory};

use super::pointer;
use crate::abi::{HSA_STATUS_ERROR_INVALID_ALLOCATION, HSA_STATUS_ERROR_INVALID_ARGUMENT};
use crate::result::Result;
use crate::runtime::Runtime;
use crate::signal::{Pending, Signal};

/// The number of bytes from an address on that are known to the GPUs, across adjacent allocations; 0 if there are none.
/// Memory that is mapped piece by piece is treated as one.
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

/// Returns whether a range is known to the GPUs; otherwise it is memory of the program. A range that starts in an
/// allocation must not exceed it, and addresses reserved for GPU memory are never the program's. Locked memory counts
/// as the program's too: HIP keeps locks for a while, and other, larger memory may have taken its place.
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

/// The number of bytes from an address on, at most `len`, within one allocation.
fn piece(space: &Memory, address: u64, len: u64) -> u64 {
    space.find(address).map_or(len, |allocation| (allocation.end() - address).min(len))
}

/// Copies `len` bytes; the ranges may overlap.
///
/// Memory that the GPUs do not know belongs to the program and may not be mapped. So the kernel copies it and reports
/// unmapped addresses.
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
    // SAFETY: `getpid` has no preconditions.
    let process = unsafe { libc::getpid() };
    let mut done = 0;
    while done < len {
        let bytes = (len - done).min(1 << 30) as usize;
        let local = libc::iovec { iov_base: pointer(to + done), iov_len: bytes };
        let remote = libc::iovec { iov_base: pointer(from + done), iov_len: bytes };
        // SAFETY: the kernel checks both ranges; the caller of HSA vouches that nothing else accesses them meanwhile.
        let copied = unsafe { libc::process_vm_readv(process, &local, 1, &remote, 1, 0) };
        match u64::try_from(copied) {
            Ok(copied) if copied > 0 => done += copied,
            _ => {
                let refused = Error::last_os_error().raw_os_error();
                if refused == Some(libc::EFAULT) || copied == 0 {
                    return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
                }
                // The system call is not permitted here: copy without the check.
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
        // Allocations end at word boundaries, so no word is split.
        let part = (piece(space, to + done, len - done) / 4).max(1);
        space.fill(to + done, &value.to_le_bytes(), part).map_err(|error| super::status_of(&error))?;
        done += 4 * part;
    }
    Ok(())
}

/// A strided block of rows in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rect {
    /// The address of its first byte.
    pub(crate) base: u64,
    /// The row pitch in bytes.
    pub(crate) pitch: u64,
    /// The slice pitch in bytes.
    pub(crate) slice: u64,
}

impl Rect {
    fn row(&self, y: u64, z: u64) -> Option<u64> {
        let offset = y.checked_mul(self.pitch)?.checked_add(z.checked_mul(self.slice)?)?;
        self.base.checked_add(offset)
    }
}

/// A copy operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Copy {
    /// Contiguous bytes: to, from, length.
    Linear { to: u64, from: u64, len: u64 },
    /// Rows: to, from; bytes per row, rows, slices.
    Rect { to: Rect, from: Rect, range: [u64; 3] },
}

impl Copy {
    /// Checks that the ranges are valid memory, as far as that is known.
    pub(crate) fn check(&self, space: &Memory) -> Result<()> {
        match *self {
            Self::Linear { to, from, len } if len > 0 => {
                is_known(space, to, len)?;
                is_known(space, from, len).map(drop)
            }
            Self::Rect { to, from, range: [bytes, rows, slices] } if bytes > 0 && rows > 0 && slices > 0 => {
                for rect in [to, from] {
                    // Overlapping rows would allow huge counts in the memory of a single row.
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

    /// Performs the copy.
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

    /// The number of copied bytes.
    fn bytes(&self) -> u64 {
        match *self {
            Self::Linear { len, .. } => len,
            Self::Rect { range, .. } => range.iter().fold(1, |product, d| product.saturating_mul(*d)),
        }
    }

    /// Performs the copy when all signals in `after` are 0, then decrements `done`. Small copies that can run are
    /// performed immediately.
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

/// The size in bytes up to which waking another thread is not worthwhile.
const AT_ONCE: u64 = 256 << 10;

/// A copy that waits for signals.
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
                    // In HSA, a negative value marks a failed copy.
                    eprintln!("hsa-sim: an asynchronous copy failed ({status:?}): {:x?}", self.copy);
                    done.store(-1);
                }
            }
        }
        false
    }
}

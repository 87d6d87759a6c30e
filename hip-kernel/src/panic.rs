//! Panics of kernels: the first one is written to the place given by the launch, for the host's next wait, and the wave
//! ends.

use core::mem::MaybeUninit;
use core::panic::PanicInfo;

use crate::group::GridBarrier;
use crate::launched::{HAS_BARRIER, IS_CELL};
use crate::{block_idx, raw, thread_idx};

const FILE: usize = 208;
const MESSAGE: usize = 248;

/// The record that the host reads: `hip/src/stream/panic_record.rs` has the same structure.
#[repr(C)]
struct Record {
    /// 0: none; 1: a thread is writing it; 2: it is complete.
    state: u32,
    line: u32,
    column: u32,
    block: [u32; 3],
    thread: [u32; 3],
    file_len: u32,
    message_len: u32,
    unused: u32,
    file: [u8; FILE],
    message: [u8; MESSAGE],
    /// Used by the host.
    address: u64,
}

#[panic_handler]
#[inline(always)]
fn panic(info: &PanicInfo<'_>) -> ! {
    let (file, line, column) = info.location().map_or(("", 0, 0), |place| (place.file(), place.line(), place.column()));
    end(file, line, column, info.message().as_str().unwrap_or(""))
}

/// Panics with a fixed text.
#[doc(hidden)]
#[cold]
#[inline(never)]
#[track_caller]
pub fn with_text(text: &'static str) -> ! {
    core::panicking::panic(text)
}

/// Ends the wave if the kernel's stack has no room for another call. The code that `hip-kernel-build` makes calls it at
/// the start of each function, in modules with kernels that state a stack. `margin` is larger than the frame of any
/// function.
#[doc(hidden)]
#[inline(always)]
pub fn check_stack(margin: u32) {
    const USES_DYNAMIC_STACK: u16 = 1 << 11;
    let here = MaybeUninit::<u32>::uninit();
    // The low bits of a generic address of scratch memory are the offset in the lane's own scratch memory.
    let used = (&raw const here) as u64 as u32;
    // SAFETY: every launch has a packet, which contains the bytes of scratch of each lane at 24 and the address of the kernel's descriptor
    // at 32; the descriptor contains the code's properties at 56.
    let is_over = unsafe {
        let packet = raw::packet();
        let descriptor = packet.add(32).cast::<*const u8>().read();
        let is_dynamic = descriptor.add(56).cast::<u16>().read() & USES_DYNAMIC_STACK != 0;
        is_dynamic && used.wrapping_add(margin) > packet.add(24).cast::<u32>().read()
    };
    if is_over {
        end("", 0, 0, "stack overflow: calls are deeper than the kernel states (`#[kernel(stack(..))]`)");
    }
}

/// Writes the location and the message, and ends the wave.
#[inline(always)]
fn end(file: &str, line: u32, column: u32, message: &str) -> ! {
    // SAFETY: the arguments of a kernel of this crate begin with the address of a record that the host keeps until the launch is over, or
    // 0, and marks. With `IS_CELL`, it is the address of a word that contains such an address until then. With `HAS_BARRIER`, the second
    // argument is the state of the grid's barrier.
    unsafe {
        let arguments = raw::arguments();
        let first = arguments.read();
        let mut record = first & !(HAS_BARRIER | IS_CELL);
        if first & IS_CELL != 0 {
            record = (record as *const u64).read_volatile();
        }
        write(record as *mut Record, file, line, column, message);
        if first & HAS_BARRIER != 0 {
            GridBarrier::leave(arguments.add(1).read() as *mut u32);
        }
        raw::endpgm();
    }
    // SAFETY: the wave has ended.
    unsafe { core::hint::unreachable_unchecked() }
}

/// Writes the panic, unless another was written before.
///
/// # Safety
/// The record must be null, or the host's for this launch.
#[inline(always)]
unsafe fn write(record: *mut Record, file: &str, line: u32, column: u32, message: &str) {
    // SAFETY: only the thread that changed the state from 0 writes the rest, and the host reads it when the state is 2.
    unsafe {
        if record.is_null() || raw::system::cas_u32(record.cast(), 0, 1) != 0 {
            return;
        }
        (*record).line = line;
        (*record).column = column;
        // Of a long path, only the end is kept.
        let skipped = file.len().saturating_sub(FILE);
        (*record).file_len = copy(&raw mut (*record).file, file.as_ptr().add(skipped), file.len() - skipped);
        (*record).message_len = copy(&raw mut (*record).message, message.as_ptr(), message.len());
        let (block, thread) = (block_idx(), thread_idx());
        (*record).block = [block.x, block.y, block.z];
        (*record).thread = [thread.x, thread.y, thread.z];
        raw::system::fence_release();
        raw::system::store_u32(record.cast(), 2);
    }
}

/// Copies as much of a text as fits.
///
/// # Safety
/// The text must have `len` bytes.
#[inline(always)]
unsafe fn copy<const N: usize>(to: *mut [u8; N], from: *const u8, len: usize) -> u32 {
    let (to, len) = (to.cast::<u8>(), if len < N { len } else { N });
    let mut at = 0;
    while at < len {
        // SAFETY: both have more bytes. Volatile writes are not combined to larger ones.
        unsafe { to.add(at).write_volatile(from.add(at).read()) };
        at += 1;
    }
    len as u32
}

//! What a panic of a kernel does: the first one of a launch is written down, for the host to read; the wave ends.

use core::panic::PanicInfo;

use crate::{block_idx, raw, thread_idx};

/// What the host reads (`host::Record`).
#[repr(C)]
pub struct Record {
    /// 0: none; 1: one.
    state: u32,
    line: u32,
    column: u32,
    block: [u32; 3],
    thread: [u32; 3],
    message_len: u32,
    file_len: u32,
    unused: u32,
    file: u64,
    message: u64,
}

#[unsafe(export_name = "hip_kernel_panic")]
static mut PANIC: Record = Record {
    state: 0,
    line: 0,
    column: 0,
    block: [0; 3],
    thread: [0; 3],
    message_len: 0,
    file_len: 0,
    unused: 0,
    file: 0,
    message: 0,
};

#[panic_handler]
#[inline(always)]
fn panic(info: &PanicInfo<'_>) -> ! {
    let record = &raw mut PANIC;
    // SAFETY: only the first thread that comes here writes the rest, and the host reads it after the launch.
    unsafe {
        if raw::device::cas_u32(record.cast(), 0, 1) == 0 {
            if let Some(location) = info.location() {
                (*record).line = location.line();
                (*record).column = location.column();
                (*record).file = location.file().as_ptr() as u64;
                (*record).file_len = location.file().len() as u32;
            }
            if let Some(message) = info.message().as_str() {
                (*record).message = message.as_ptr() as u64;
                (*record).message_len = message.len() as u32;
            }
            let (block, thread) = (block_idx(), thread_idx());
            (*record).block = [block.x, block.y, block.z];
            (*record).thread = [thread.x, thread.y, thread.z];
        }
        raw::endpgm();
    }
    // SAFETY: the wave has ended.
    unsafe { core::hint::unreachable_unchecked() }
}

/// Copies what the record points to: the file's name and the message behind each other. Launched by `host::take_panic` with one thread.
#[unsafe(export_name = "hip_kernel_panic_text")]
unsafe extern "gpu-kernel" fn text(out: *mut u8, len: usize) {
    let record = &raw const PANIC;
    // SAFETY: the host passes memory of this length, and has seen that there is a record.
    unsafe {
        let (file, file_len) = ((*record).file as *const u8, (*record).file_len as usize);
        let (message, message_len) = ((*record).message as *const u8, (*record).message_len as usize);
        let mut at = 0;
        while at < len && at < file_len + message_len {
            let byte = if at < file_len { file.add(at) } else { message.add(at - file_len) };
            out.add(at).write(byte.read());
            at += 1;
        }
    }
}

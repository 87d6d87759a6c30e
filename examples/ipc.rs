//! A buffer that two processes share.
//!
//! `cargo run --example ipc`

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use hip::DeviceBuffer;
use hip::memory::IpcMemoryHandle;
use rocm_examples::{Result, check, if_supported, open_device};

const LEN: usize = 1000;

fn main() -> Result {
    if std::env::args().nth(1).as_deref() == Some("second") { second() } else { first() }
}

/// Shares a buffer, and waits until the other process has finished with it.
fn first() -> Result {
    let device = open_device()?;
    let numbers: Vec<u32> = (0..LEN as u32).collect();
    let buffer = DeviceBuffer::from_slice(&device, &numbers)?;
    let Some(handle) = if_supported(buffer.ipc_handle())? else { return Ok(()) };

    let mut other = this_program()?.arg("second").stdin(Stdio::piped()).spawn()?;
    // The pipe is closed when it is dropped here.
    other.stdin.take().ok_or("no pipe")?.write_all(handle.as_bytes())?;
    check(other.wait()?.success(), "the second process")?;

    let doubled = buffer.to_vec()?;
    check(doubled.iter().zip(&numbers).all(|(now, before)| *now == 2 * before), "what the second process wrote")?;
    println!("ipc: the second process has doubled {LEN} numbers: all right");
    Ok(())
}

/// Returns a command for this program without arguments. `rocm-sdk run` and `hip-sim run` start programs through the
/// loader of ROCm's packages: then that loader is the executable, and its own arguments are needed again.
fn this_program() -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    let own = std::env::args().skip(1).count();
    if let Ok(line) = std::fs::read("/proc/self/cmdline") {
        let words: Vec<&[u8]> = line.strip_suffix(&[0]).unwrap_or(&line).split(|&byte| byte == 0).collect();
        for word in &words[1..words.len() - own] {
            command.arg(std::str::from_utf8(word)?);
        }
    }
    Ok(command)
}

/// Doubles the numbers in the buffer of the first process.
fn second() -> Result {
    let device = open_device()?;
    let mut bytes = [0; 64];
    std::io::stdin().read_exact(&mut bytes)?;
    // SAFETY: the handle is that of a buffer with as many elements, which the first process does not use until this one has ended.
    let mut shared = unsafe { DeviceBuffer::<u32>::open_ipc(&device, &IpcMemoryHandle::from_bytes(bytes), LEN)? };
    let doubled: Vec<u32> = shared.to_vec()?.iter().map(|number| 2 * number).collect();
    shared.copy_from_slice(&doubled)?;
    Ok(())
}

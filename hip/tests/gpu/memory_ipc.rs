//! Buffers that two processes share through handles.

use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use hip::memory::IpcMemoryHandle;
use hip::memory::pool::{MemoryPool, PoolOptions, PoolPointer};
use hip::{Device, DeviceBuffer, Error, LaunchConfig, Stream};

use crate::process::{Peer, from_hex, hex, is_peer, serve};
use crate::{device, kernel, supported};

/// Not a whole number of pages.
const LEN: usize = 10_001;

fn open(device: &Device, handle: &str, len: usize) -> hip::Result<DeviceBuffer<u32>> {
    // SAFETY: the tests' processes take turns, and each keeps the shared memory until the other has closed it. Opening memory of another
    // size is an error.
    unsafe { DeviceBuffer::open_ipc(device, &IpcMemoryHandle::from_bytes(from_hex(handle)), len) }
}

/// The second process: `put HANDLE LEN VALUE` fills the first process's buffer with a value, and reports its first
/// element and whether all were the same.
fn serve_buffers(device: Device) {
    let stream = Stream::new(&device).unwrap();
    serve(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let (len, value): (usize, u32) = (words[2].parse().unwrap(), words[3].parse().unwrap());
        if words[0] == "reopen" {
            for round in 0..value {
                let mut buffer = open(&device, words[1], len).unwrap();
                buffer.fill_async(&stream, round).unwrap();
                drop(buffer);
                // The other thread closes it now.
                stream.synchronize().unwrap();
            }
            return format!("opened {value} times");
        }
        let mut buffer = match open(&device, words[1], len) {
            Ok(buffer) => buffer,
            Err(Error::InvalidValue { value, allowed, .. }) => return format!("refused: {value}, {allowed}"),
            Err(error) => return format!("error {:?}", error.status()),
        };
        let elements = buffer.to_vec().unwrap();
        // Closed after work that is still queued.
        for _ in 0..20 {
            buffer.fill_async(&stream, 1).unwrap();
        }
        buffer.fill_async(&stream, value).unwrap();
        drop(buffer);
        stream.synchronize().unwrap(); // the other process does not track this work
        format!("{} {}", elements[0], elements.iter().all(|element| *element == elements[0]))
    });
}

#[test]
fn a_buffer_is_used_by_two_processes() {
    let Some(device) = device() else { return };
    if is_peer() {
        return serve_buffers(device);
    }
    let mut ours = DeviceBuffer::from_slice(&device, &[1u32; LEN]).unwrap();
    let Some(handle) = supported(ours.ipc_handle()) else { return };
    assert_eq!(IpcMemoryHandle::from_bytes(*handle.as_bytes()), handle);
    let handle = hex(handle.as_bytes());
    let mut peer = Peer::start("memory_ipc::a_buffer_is_used_by_two_processes");
    for round in 1..4u32 {
        assert_eq!(peer.ask(&format!("put {handle} {LEN} {}", round + 1)), format!("{round} true"));
        assert_eq!(ours.to_vec().unwrap(), vec![round + 1; LEN], "written by the other process");
    }
    // A part of it can be opened, but not more than its size.
    assert_eq!(peer.ask(&format!("put {handle} 10 9")), "4 true");
    assert_eq!(ours.slice(8..12).unwrap().to_vec().unwrap(), [9, 9, 4, 4]);
    let answer = peer.ask(&format!("put {handle} {} 9", LEN * 1000));
    assert!(answer.starts_with("refused: 40004000 bytes, at most the "), "{answer}");
    assert!(peer.ask(&format!("put {handle} 0 9")).starts_with("refused: 0 bytes"));
    ours.fill(5).unwrap();
    assert_eq!(peer.ask(&format!("put {handle} {LEN} 6")), "5 true");
    peer.end();
    assert_eq!(ours.to_vec().unwrap(), vec![6; LEN]);
}

/// A buffer is closed when its work is over, by another thread: HIP 6.4 crashed if it was opened again meanwhile.
#[test]
fn a_buffer_is_opened_while_it_is_closed() {
    let Some(device) = device() else { return };
    if is_peer() {
        return serve_buffers(device);
    }
    let ours = DeviceBuffer::from_slice(&device, &[1u32; 64]).unwrap();
    let Some(handle) = supported(ours.ipc_handle()) else { return };
    let mut peer = Peer::start("memory_ipc::a_buffer_is_opened_while_it_is_closed");
    assert_eq!(peer.ask(&format!("reopen {} 64 500", hex(handle.as_bytes()))), "opened 500 times");
    peer.end();
    assert_eq!(ours.to_vec().unwrap(), [499; 64]);
}

/// Creating a handle waits for work on the buffer, so that the other process need not know of it.
#[test]
fn a_handle_comes_after_the_work() {
    let Some(device) = device() else { return };
    if is_peer() {
        return serve_buffers(device);
    }
    let Some(slow) = kernel("slow_store") else { return };
    let stream = Stream::new(&device).unwrap();
    let mut ours = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    if supported(ours.ipc_handle()).is_none() {
        return;
    }
    let mut peer = Peer::start("memory_ipc::a_handle_comes_after_the_work");
    for round in 1..4u32 {
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (&mut ours, 100_000u32, round)) }.unwrap();
        let handle = ours.ipc_handle().unwrap();
        assert_eq!(peer.ask(&format!("put {} 64 0", hex(handle.as_bytes()))), format!("{round} true"));
    }
    peer.end();
}

#[test]
fn bad_handles_are_errors() {
    let Some(device) = device() else { return };
    if is_peer() {
        return serve_buffers(device);
    }
    let ours = DeviceBuffer::from_slice(&device, &[1u32; LEN]).unwrap();
    let Some(handle) = supported(ours.ipc_handle()) else { return };
    let good = hex(handle.as_bytes());
    assert!(open(&device, &good, LEN).unwrap_err().status().is_some(), "this process has it already");
    let mut peer = Peer::start("memory_ipc::bad_handles_are_errors");
    for at in 0..32 {
        let mut bad = *handle.as_bytes();
        bad[at] ^= 0x10;
        let answer = peer.ask(&format!("put {} {LEN} 1", hex(&bad)));
        assert!(answer.starts_with("error Some"), "byte {at}: {answer}");
    }
    assert_eq!(peer.ask(&format!("put {good} {LEN} 1")), "1 true");
    drop(ours);
    // The runtime frees it when its own threads have released the last copy, which can be a little later.
    while !peer.ask(&format!("put {good} {LEN} 1")).starts_with("error Some") {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    peer.end();
}

unsafe extern "C" {
    fn dup(fd: RawFd) -> RawFd;
}

/// The second process: `put FD POINTER VALUE` fills a buffer of the first process's pool with a value, and reports its
/// first element.
fn serve_pool(device: Device) {
    let stream = Stream::new(&device).unwrap();
    let mut pool: Option<MemoryPool> = None;
    serve(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        // SAFETY: inherited from the first process, which keeps it open.
        let fd = unsafe { BorrowedFd::borrow_raw(words[1].parse().unwrap()) };
        if pool.is_none() {
            // SAFETY: the first process's pool, which it keeps.
            match unsafe { MemoryPool::import(&device, fd) } {
                Ok(imported) => pool = Some(imported),
                Err(error) => return format!("error {error}"),
            }
        }
        let pointer = PoolPointer::from_bytes(from_hex(words[2]));
        // SAFETY: a handle of a buffer of this length, which the first process keeps until this one has closed it.
        let mut buffer = match unsafe { pool.as_ref().unwrap().open::<u32>(&pointer, LEN) } {
            Ok(buffer) => buffer,
            Err(error) => return format!("error {error}"),
        };
        let elements = buffer.to_vec().unwrap();
        buffer.fill_async(&stream, words[3].parse().unwrap()).unwrap();
        buffer.synchronize().unwrap();
        format!("{} {}", elements[0], elements.iter().all(|element| *element == elements[0]))
    });
}

#[test]
fn a_pool_is_used_by_two_processes() {
    let Some(device) = device() else { return };
    if is_peer() {
        return serve_pool(device);
    }
    let Some(plain) = supported(MemoryPool::new(&device, PoolOptions::new())) else { return };
    // 5.7 shares every pool.
    assert!(plain.export().is_err() || hip::runtime_version().unwrap().0 < 6, "not made to be shared");
    let Some(pool) = supported(MemoryPool::new(&device, PoolOptions::new().shareable(true))) else { return };
    let Some(fd) = supported(pool.export()) else { return };
    let stream = Stream::new(&device).unwrap();
    let mut buffer = pool.uninit_async::<u32>(&stream, LEN).unwrap();
    buffer.fill_async(&stream, 1).unwrap();
    let pointer = hex(pool.export_buffer(&buffer).unwrap().as_bytes());
    let other = DeviceBuffer::<u32>::zeroed(&device, 4).unwrap();
    assert!(matches!(pool.export_buffer(&other), Err(Error::InvalidValue { .. })), "of no pool");
    // SAFETY: the descriptor is open; the copy is for the other process, which inherits it.
    let inherited = unsafe { dup(fd.as_raw_fd()) };
    let mut peer = Peer::start("memory_ipc::a_pool_is_used_by_two_processes");
    for round in 1..4u32 {
        assert_eq!(peer.ask(&format!("put {inherited} {pointer} {}", round + 1)), format!("{round} true"));
        assert_eq!(buffer.to_vec().unwrap(), vec![round + 1; LEN], "written by the other process");
    }
    peer.end();
    // SAFETY: from dup, with this as its only owner.
    drop(unsafe { OwnedFd::from_raw_fd(inherited) });
}

#[test]
fn only_device_memory_of_its_own_has_a_handle() {
    let Some(device) = device() else { return };
    let none = DeviceBuffer::<u32>::uninit(&device, 0).unwrap();
    assert!(matches!(none.ipc_handle(), Err(Error::InvalidValue { .. })));
    let queued = DeviceBuffer::<u32>::uninit_async(&Stream::new(&device).unwrap(), 10).unwrap();
    assert!(matches!(queued.ipc_handle(), Err(Error::InvalidValue { .. })));
    // SAFETY: rejected before anything is opened.
    let opened = unsafe { DeviceBuffer::<u64>::open_ipc(&device, &IpcMemoryHandle::from_bytes([0; 64]), usize::MAX) };
    assert!(matches!(opened, Err(Error::TooLarge { .. })));
}
